#include "tests/simulator/elements.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "protocol/element.h"
#include "storage/kinds/distinct.h"
#include "tests/simulator/holders.h"

namespace quipu::sim {
namespace {

using std::chrono::milliseconds;

// So that the other draws of a seed stay as they are.
constexpr std::uint64_t kElementDraws = 0x656c, kLocalDraws = 0x6c6f, kFoldDraws = 0x666f;
constexpr unsigned kCoarse = 12;  // a precision below the usual
constexpr std::uint64_t kElementPauseMs = 60;
constexpr std::size_t kMostCounters = 5;
constexpr std::uint32_t kElementMs = 1000;
constexpr HashKey kSalt{7};

std::string words_of(std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> hashes;
  hashes.reserve(count);
  for (std::uint64_t one = first; one < first + count; ++one)
    hashes.push_back(element_hash(kSalt, std::to_string(one)));
  return distinct::words_of(hashes);
}

}  // namespace

void join_bodies(std::string& into, std::string_view from) {
  if (from.empty()) return;
  Edit edit(into.data(), into.size());
  kDistinct.join(edit, from);
  if (edit.replaced()) into = std::move(*edit.replaced());
}

std::string body_of(std::string_view words, unsigned precision) {
  Edit edit;
  std::string reply;
  (void)kDistinct.apply(edit, {.words = words, .precision = precision}, reply);
  return edit.replaced().value_or(std::string());
}

bool covers(const std::string& body, const std::string& other) {
  std::string both = body;
  join_bodies(both, other);
  return both == body;
}

ElementClients::ElementClients(const Shared& shared, const std::vector<SimNode*>& nodes,
                               const Ledger& ledger, const Options& options)
    : shared_(shared),
      nodes_(nodes),
      ledger_(ledger),
      random_(options.seed ^ kElementDraws),
      local_random_(options.seed ^ kLocalDraws),
      folds_(options.seed ^ kFoldDraws),
      few_(random_.below(2) == 0) {}

std::vector<std::string> ElementClients::keys() const {
  std::vector<std::string> keys;
  for (const Counter& counter : counters_) keys.push_back(counter.key);
  return keys;
}

void ElementClients::work() {
  if (stopped_) return;
  if (counters_.empty() || (counters_.size() < kMostCounters && random_.below(15) == 0))
    counters_.push_back({.key = std::string(kElementsPrefix) + std::to_string(counters_.size()),
                         .folds = folds_.below(3) == 0});
  const auto at =
      std::next(counters_.begin(), static_cast<std::ptrdiff_t>(random_.below(counters_.size())));
  random_.below(5) == 0 ? ask(*at, false) : add(*at);
  if (local_random_.below(2) == 0) ask_locally(*at);
  shared_.time.in(milliseconds(1 + random_.below(kElementPauseMs)), [this] { work(); });
}

// One in three adds elements that were sent before: it relies on what another add may have changed.
void ElementClients::add(Counter& counter) {
  SimNode& node = *nodes_[random_.below(nodes_.size())];
  if (!node.running() || node.asleep()) return;
  Added op{.first = counter.next, .count = 1 + random_.below(3)};
  if (!few_ && random_.below(8) == 0) op.count = 200 + random_.below(3'000);
  if (counter.next > 10 && random_.below(3) == 0) {
    op.first = counter.next - 1 - random_.below(10);
    op.count = 1;
  }
  op.begun = shared_.time.now();
  counter.next = std::max(counter.next, op.first + op.count);
  const auto ack = Ack{static_cast<std::uint8_t>(random_.below(3))};
  op.coarse = counter.folds && folds_.below(6) == 0;
  const std::string elements = words_of(op.first, op.count);
  const std::string words =
      op.coarse ? distinct::words_to_merge(sim::body_of(elements, kCoarse)) : elements;
  ++shared_.trace.operations["elements"];
  const auto added = counter.added.insert(counter.added.end(), op);
  node.ask(Op{.key = counter.key,
              .words = words,
              .timeout_ms = kElementMs,
              .shard = kDistinctShard,
              .kind = OpKind::apply,
              .ack = ack},
           [this, &counter, added, ack](const Answer& answer) {
             const Done& done = std::get<Done>(answer);
             shared_.trace.say(shared_.time.now(), [&] {
               return "an add of elements " + std::to_string(added->first) + " to " +
                      std::to_string(added->first + added->count - 1) + " to " + counter.key +
                      ": " + std::string(quipu::describe(done.code).name);
             });
             if (done.code != Code::ok || ack == Ack::memory) return;
             added->acked = shared_.time.now();
             added->at_quorum = ack == Ack::quorum;
             if (const std::string lacking = who_lacks(counter, *added); !lacking.empty())
               shared_.trace.fail(shared_.time.now(), Invariant::quorum_ack_is_on_a_majority,
                                  lacking);
           });
}

std::string ElementClients::who_lacks(const Counter& counter, const Added& added) const {
  if (!added.at_quorum || ledger_.came_back() || ledger_.disks_lost_since(added.begun) > 0)
    return {};
  const std::string body =
      sim::body_of(words_of(added.first, added.count), added.coarse ? kCoarse : 0);
  return quipu::sim::who_lacks(
      shared_, nodes_, {counter.key, kDistinctShard}, [&](const ShardMap&, const ShardState& held) {
        return !held.parts.empty() && covers(held.parts.front().body, body);
      });
}

void ElementClients::ask(Counter& counter, bool last) {
  SimNode& node = *nodes_[random_.below(nodes_.size())];
  if (!node.running() || node.asleep()) return;
  const Instant begun = shared_.time.now();
  std::string before = counter.shown;
  if (last) ++waiting_;
  node.ask(Query{.level = ReadLevel::strong,
                 .timeout_ms = kElementMs,
                 .words = distinct::kUnionQuestion,
                 .keys = {counter.key}},
           [this, &counter, begun, before, last](const Answer& answer) {
             if (last) --waiting_;
             on_shown(counter, begun, before, std::get<QueryReply>(answer), last);
           });
}

// Through a node that does not own the counter, so many of these are answered from a cache.
void ElementClients::ask_locally(const Counter& counter) {
  SimNode& node = *nodes_[local_random_.below(nodes_.size())];
  if (!node.running() || node.asleep()) return;
  const Placement place(shared_.oracle.placement(), {counter.key, kDistinctShard});
  if (shared_.config.owners.owns(node.member(), place.partition())) return;
  node.ask(Query{.level = ReadLevel::local,
                 .timeout_ms = kElementMs,
                 .words = distinct::kUnionQuestion,
                 .keys = {counter.key}},
           [this, &counter, &node](const Answer& answer) {
             on_shown_locally(counter, node, std::get<QueryReply>(answer));
           });
}

void ElementClients::on_shown_locally(const Counter& counter, const SimNode& node,
                                      const QueryReply& reply) {
  if (reply.code != Code::ok || !reply.complete || ledger_.came_back()) return;
  // Clocks drift, and ages are cut to milliseconds.
  const Instant as_of = shared_.time.now() - milliseconds(reply.age_ms + 2 + reply.age_ms / 1000);
  for (const Added& added : counter.added) {
    if (added.acked >= as_of || ledger_.disks_lost_since(added.begun) > 0) continue;
    if (covers(reply.reply,
               sim::body_of(words_of(added.first, added.count), added.coarse ? kCoarse : 0)))
      continue;
    shared_.trace.fail(shared_.time.now(), Invariant::complete_read_is_complete,
                       "a local query of " + counter.key + " at " + node.name() +
                           " lacks elements " + std::to_string(added.first) +
                           " and on, though it says complete and " + std::to_string(reply.age_ms) +
                           " ms old");
  }
}

void ElementClients::on_shown(Counter& counter, Instant begun, const std::string& before,
                              const QueryReply& reply, bool last) {
  counter.refused = reply.code == Code::overloaded;
  if (reply.code != Code::ok) return;
  const auto complain = [&](const std::string& what) {
    shared_.trace.fail(shared_.time.now(), Invariant::distinct_is_exact,
                       "a strong query of " + counter.key + ' ' + what);
  };
  if (!reply.reply.empty() && !kDistinct.sound(reply.reply)) return complain("gives no body");
  // A majority may be one with a disk that went back unnoticed to before this was added.
  const bool fooled = ledger_.came_back();
  if (!fooled && !covers(reply.reply, before)) complain("lacks what an earlier one had");
  if (!fooled && !covers(reply.reply, body_of(counter, begun, true)))
    complain("lacks what was acknowledged at quorum before");
  join_bodies(counter.shown, reply.reply);
  if (!last) return;
  counter.in_the_end = reply.reply;
  counter.answered = true;
}

bool ElementClients::survives(const Added& added) const {
  if (added.acked == kNever) return false;
  // A disk that was lost while its answer travelled may have been the only one that had it.
  return added.at_quorum || (ledger_.disks_lost_since(added.begun) == 0 && !ledger_.came_back());
}

std::string ElementClients::body_of(const Counter& counter, Instant acked_before,
                                    bool at_quorum) const {
  std::string body;
  for (const Added& added : counter.added) {
    if (added.acked >= acked_before || (at_quorum ? !added.at_quorum : !survives(added))) continue;
    join_bodies(body, sim::body_of(words_of(added.first, added.count), added.coarse ? kCoarse : 0));
  }
  return body;
}

void ElementClients::ask_all() {
  for (Counter& counter : counters_) {
    counter.answered = false;
    ask(counter, true);
  }
}

std::string ElementClients::what_is_wrong() const {
  for (const Counter& counter : counters_) {
    if (!counter.answered && !counter.refused)
      return counter.key + " cannot be queried though nothing fails";
    std::vector<std::string> bodies;
    if (counter.answered) bodies.push_back(counter.in_the_end);
    const std::string sent =
        counter.next == 0 ? std::string()
                          : sim::body_of(words_of(0, counter.next), counter.folds ? kCoarse : 0);
    const Placement place(shared_.oracle.placement(), {counter.key, kDistinctShard});
    for (const SimNode* node : nodes_) {
      if (!node->running() || !shared_.config.owners.owns(node->member(), place.partition()))
        continue;
      const ShardMap& map = node->core()->executor().map();
      if (!map.resident(place, {counter.key, kDistinctShard})) continue;
      ShardState held;
      map.read(place, {counter.key, kDistinctShard}, held);
      bodies.push_back(held.parts.empty() ? std::string() : held.parts.front().body);
      if (held.parts.size() > 1 || bodies.back() != bodies.front())
        return counter.key + " differs at " + node->name();
    }
    if (bodies.empty()) continue;
    if (!covers(bodies.front(), body_of(counter, kNever, false)))
      return counter.key + " lacks what was acknowledged";
    if (!covers(sent, bodies.front())) return counter.key + " has what nobody sent";
  }
  return {};
}

}  // namespace quipu::sim
