#include "tests/simulator/items.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "protocol/frequency_words.h"
#include "protocol/item_words.h"
#include "protocol/shard_number.h"
#include "protocol/top_words.h"
#include "storage/kinds/kind.h"
#include "storage/kinds/parts.h"
#include "tests/simulator/holders.h"

namespace quipu::sim {
namespace {

using std::chrono::milliseconds;

// So that the other draws of a seed stay as they are.
constexpr std::uint64_t kItemDraws = 0x6974, kSizeDraws = 0x7369, kSliceDraws = 0x736c;
constexpr std::uint64_t kItemPauseMs = 90;
// In a matrix of this size, each of the items has a cell of its own in some row.
constexpr frequency::Size kSmallSize{16, 3};
constexpr frequency::Size kSlicedSize{20'000, 1};  // and here, some in each of two slices
constexpr std::size_t kGreat = 12;                 // 4^12
constexpr std::size_t kMostItemCounters = 3, kMostIncrements = 27;
constexpr std::uint32_t kItemMs = 1000;

std::string words_to_add(Kind kind, std::size_t item, std::uint64_t count) {
  const std::vector<Item> one{{std::to_string(item), count}};
  return quipu::words_to_add(kind, kItemSalt, one);
}

std::string question_about_all(Kind kind, std::size_t items) {
  std::vector<std::string> names;
  for (std::size_t item = 0; item < items; ++item) names.push_back(std::to_string(item));
  return question_about(kind, kItemSalt, names);
}

}  // namespace

std::optional<std::vector<std::uint64_t>> counts_in(Kind kind, std::string_view reply) {
  if (kind == Kind::frequency) {
    auto told = frequency::estimates(reply);
    return told ? std::optional(std::move(told->counts)) : std::nullopt;
  }
  const auto told = top::standings(reply);
  if (!told) return std::nullopt;
  std::vector<std::uint64_t> counts;
  for (const top::Standing& one : *told) {
    if (one.lower != one.upper) return std::nullopt;
    counts.push_back(one.upper);
  }
  return counts;
}

ItemClients::ItemClients(const Shared& shared, const std::vector<SimNode*>& nodes,
                         const Ledger& ledger, const Options& options)
    : shared_(shared),
      nodes_(nodes),
      ledger_(ledger),
      random_(options.seed ^ kItemDraws),
      sizes_(options.seed ^ kSizeDraws),
      slices_(options.seed ^ kSliceDraws) {}

void ItemClients::work() {
  if (stopped_) return;
  if (counters_.empty() || (counters_.size() < kMostItemCounters && random_.below(30) == 0)) open();
  const auto at =
      std::next(counters_.begin(), static_cast<std::ptrdiff_t>(random_.below(counters_.size())));
  random_.below(4) == 0 ? ask(*at, false) : add(*at);
  shared_.time.in(milliseconds(1 + random_.below(kItemPauseMs)), [this] { work(); });
}

void ItemClients::open() {
  Counter& counter = counters_.emplace_back();
  counter.key = std::string(kItemsPrefix) + std::to_string(counters_.size() - 1);
  counter.kind = counters_.size() % 2 == 1 ? Kind::frequency : Kind::top;
  if (sizes_.below(2) == 0) counter.first = kGreat;
  SimNode& node = *nodes_[sizes_.below(nodes_.size())];
  if (counter.kind != Kind::frequency || sizes_.below(2) == 0 || !node.running() || node.asleep())
    return;
  const bool sliced = slices_.below(2) == 0;
  const std::string words = frequency::words_to_begin(sliced ? kSlicedSize : kSmallSize);
  node.ask(Op{.key = counter.key,
              .words = words,
              .timeout_ms = kItemMs,
              .shard = shard_of(counter.kind),
              .kind = OpKind::apply},
           [](const Answer&) {});
}

void ItemClients::add(Counter& counter) {
  SimNode& node = *nodes_[random_.below(nodes_.size())];
  const std::size_t item = random_.below(kItems);
  std::vector<Increment>& increments = counter.increments[item];
  if (!node.running() || node.asleep() || increments.size() == kMostIncrements - counter.first)
    return;
  const std::size_t digit = increments.size();
  increments.push_back({.begun = shared_.time.now()});
  const auto ack = Ack{static_cast<std::uint8_t>(random_.below(3))};
  const std::string words =
      words_to_add(counter.kind, item, std::uint64_t{1} << (2 * (counter.first + digit)));
  ++shared_.trace.operations["items"];
  node.ask(Op{.key = counter.key,
              .words = words,
              .timeout_ms = kItemMs,
              .shard = shard_of(counter.kind),
              .kind = OpKind::apply,
              .ack = ack},
           [this, &counter, item, digit, ack](const Answer& answer) {
             const Done& done = std::get<Done>(answer);
             shared_.trace.say(shared_.time.now(), [&] {
               return "increment " + std::to_string(digit) + " of item " + std::to_string(item) +
                      " of " + counter.key + ": " + std::string(quipu::describe(done.code).name);
             });
             Increment& increment = counter.increments[item][digit];
             increment.refused = quipu::describe(done.code).outcome == Outcome::not_applied;
             if (done.code != Code::ok || ack == Ack::memory) return;
             increment.acked = shared_.time.now();
             increment.at_quorum = ack == Ack::quorum;
             if (const std::string lacking = who_lacks(counter, item, digit); !lacking.empty())
               shared_.trace.fail(shared_.time.now(), Invariant::quorum_ack_is_on_a_majority,
                                  lacking);
           });
}

void ItemClients::ask(Counter& counter, bool last) {
  SimNode& node = *nodes_[random_.below(nodes_.size())];
  if (!node.running() || node.asleep()) return;
  const Instant begun = shared_.time.now();
  const std::string words = question_about_all(counter.kind, kItems);
  if (last) ++waiting_;
  node.ask(Query{.kind = counter.kind,
                 .level = ReadLevel::strong,
                 .timeout_ms = kItemMs,
                 .words = words,
                 .keys = {counter.key}},
           [this, &counter, begun, last](const Answer& answer) {
             const auto& reply = std::get<QueryReply>(answer);
             if (last) --waiting_;
             counter.refused = reply.code == Code::overloaded;
             if (last && reply.code == Code::ok) counter.answered = true;
             if (reply.code == Code::ok) on_counts(counter, begun, reply);
           });
}

std::string ItemClients::who_lacks(const Counter& counter, std::size_t item,
                                   std::size_t digit) const {
  const Increment& one = counter.increments[item][digit];
  if (!one.at_quorum || ledger_.came_back() || ledger_.disks_lost_since(one.begun) > 0) return {};
  const auto has = [&](const ShardMap& map, const ShardState& held) {
    const auto bodies = bodies_at(map, {counter.key, shard_of(counter.kind)}, held);
    if (!bodies) return true;
    const std::string question = question_about_all(counter.kind, kItems);
    const std::vector<std::string_view> views(bodies->begin(), bodies->end());
    std::string reply;
    (void)rules_of(counter.kind).answer(views, question, reply);
    const auto counts = counts_in(counter.kind, reply);
    if (!counts || counts->size() != kItems) return false;
    return digit_of(static_cast<std::int64_t>((*counts)[item]), counter.first + digit) > 0;
  };
  return quipu::sim::who_lacks(shared_, nodes_, {counter.key, shard_of(counter.kind)}, has);
}

bool ItemClients::survives(const Increment& one) const {
  if (one.acked == kNever) return false;
  // A disk that was lost while its answer travelled may have been the only one that had it.
  return one.at_quorum || (ledger_.disks_lost_since(one.begun) == 0 && !ledger_.came_back());
}

void ItemClients::on_counts(Counter& counter, Instant begun, const QueryReply& reply) {
  const auto told = counts_in(counter.kind, reply.reply);
  if (!told || told->size() != kItems) return fail(counter.key + " has no counts");
  // A majority may be one with a disk that went back unnoticed to before an increment.
  const bool fooled = ledger_.came_back();
  for (std::size_t item = 0; item < kItems; ++item) {
    const auto count = static_cast<std::int64_t>((*told)[item] >> (2 * counter.first));
    if ((*told)[item] != static_cast<std::uint64_t>(count) << (2 * counter.first))
      return fail(counter.key + " has a count that nobody added");
    const auto what = [&](const std::string& about) {
      return "a strong query of " + counter.key + " tells " + std::to_string(count) + " for item " +
             std::to_string(item) + ", which " + about;
    };
    std::vector<Increment>& increments = counter.increments[item];
    if (count >> (2 * increments.size()) != 0) return fail(what("nobody added"));
    for (std::size_t digit = 0; digit < increments.size(); ++digit) {
      Increment& one = increments[digit];
      const std::string name = "increment " + std::to_string(digit);
      const std::uint64_t times = digit_of(count, digit);
      if (times > 1) return fail(what("has " + name + " more than once"));
      if (times == 1 && one.refused) return fail(what("has " + name + ", which was refused"));
      const bool acked_before = one.at_quorum && one.acked < begun;
      if (times == 0 && acked_before && !fooled)
        return fail(what("lacks " + name + ", acknowledged at quorum before"));
      one.shown = one.shown || times == 1;
    }
  }
}

void ItemClients::ask_all() {
  for (Counter& counter : counters_) {
    counter.answered = false;
    ask(counter, true);
  }
}

std::string ItemClients::who_differs(const Counter& counter) const {
  std::vector<ShardKey> shards{{counter.key, shard_of(counter.kind)}};
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const Placement place(shared_.oracle.placement(), shards[i]);
    std::optional<ShardState> first;
    for (const SimNode* node : nodes_) {
      if (!node->running() || !shared_.config.owners.owns(node->member(), place.partition()))
        continue;
      const ShardMap& map = node->core()->executor().map();
      if (!map.resident(place, shards[i])) continue;
      ShardState held;
      map.read(place, shards[i], held);
      if (first && held.parts != first->parts) return node->name();
      first = std::move(held);
    }
    if (i == 0 && first) {
      for (ShardKey& slice : slices_of(shards[0], *first)) shards.push_back(std::move(slice));
    }
  }
  return {};
}

std::string ItemClients::what_is_wrong() const {
  for (const Counter& counter : counters_) {
    if (!counter.answered && !counter.refused)
      return counter.key + " cannot be queried though nothing fails";
    if (const std::string who = who_differs(counter); !who.empty())
      return counter.key + " differs at " + who;
    for (std::size_t item = 0; item < kItems; ++item) {
      const std::vector<Increment>& increments = counter.increments[item];
      for (std::size_t digit = 0; digit < increments.size() && counter.answered; ++digit) {
        if (survives(increments[digit]) && !increments[digit].shown) {
          return counter.key + " lacks increment " + std::to_string(digit) + " of item " +
                 std::to_string(item) + ", which was acknowledged";
        }
      }
    }
  }
  return {};
}

}  // namespace quipu::sim
