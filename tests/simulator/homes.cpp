#include "tests/simulator/homes.h"

#include <algorithm>
#include <chrono>

namespace quipu::sim {
namespace {

using std::chrono::milliseconds;

// So that the other draws of a seed stay as they are.
constexpr std::uint64_t kHomeDraws = 0x686f;
constexpr std::uint64_t kHomePauseMs = 60;
constexpr std::size_t kMostLimits = 12;
constexpr std::uint32_t kHomeMs = 1000;
constexpr std::string_view kBy = " by ";

}  // namespace

HomeClients::HomeClients(const Shared& shared, const std::vector<SimNode*>& nodes,
                         const Ledger& ledger, const Options& options)
    : shared_(shared), nodes_(nodes), ledger_(ledger), random_(options.seed ^ kHomeDraws) {}

void HomeClients::work() {
  if (stopped_) return;
  defined_ ? act() : define();
  shared_.time.in(milliseconds(1 + random_.below(kHomePauseMs)), [this] { work(); });
}

// A node that has not heard of it decides by itself. So the decisions begin when all hold it.
void HomeClients::define() {
  const std::string name(kHomesPrefix.substr(0, kHomesPrefix.size() - 1));
  const auto holds = [&name](const SimNode* node) {
    return node->running() && node->core()->executor().namespaces().find(name) != nullptr;
  };
  defined_ = std::ranges::all_of(nodes_, holds);
  SimNode& node = *nodes_[random_.below(nodes_.size())];
  if (defined_ || std::ranges::any_of(nodes_, holds)) return;
  NamespacePolicy policy;
  policy.decide = Decide::home;
  node.ask(NamespaceRequest{.action = NamespaceAction::create, .name = name, .policy = policy},
           {[](const NamespaceTable&) {}, [](const NamespaceReply&) {}});
}

void HomeClients::act() {
  if (limits_.empty() || (limits_.size() < kMostLimits && random_.below(15) == 0)) {
    limits_.push_back({.key = std::string(kHomesPrefix) + std::to_string(limits_.size()),
                       .limit = static_cast<std::int64_t>(1 + random_.below(12))});
  }
  const std::size_t at =
      limits_.size() - 1 - random_.below(std::min<std::size_t>(3, limits_.size()));
  SimNode& node = *nodes_[random_.below(nodes_.size())];
  if (!node.running() || node.asleep()) return;
  std::erase_if(open_, [](const Open& one) { return one.incarnation != one.asked->incarnation(); });
  const auto open = open_.insert(open_.end(), {&node, node.incarnation(), at});
  look(*open);
  const Limit& limit = limits_[at];
  const std::string words = limit.key + " below " + std::to_string(limit.limit) + " add 1";
  const auto ack = Ack{static_cast<std::uint8_t>(random_.below(3))};
  ++shared_.trace.operations["decisions at home"];
  node.ask(Op{.key = limit.key,
              .words = words,
              .timeout_ms = kHomeMs,
              .kind = OpKind::decide,
              .ack = ack},
           [this, open](const Answer& answer) { on_answer(open, std::get<Done>(answer)); });
}

void HomeClients::on_turn(const SimNode& node) {
  for (Open& open : open_) {
    if (open.asked == &node && open.incarnation == node.incarnation()) look(open);
  }
}

void HomeClients::look(Open& open) {
  Limit& limit = limits_[open.limit];
  const std::string& key = limit.key;
  const NodeCore& core = *open.asked->core();
  const Partition partition = Placement{shared_.oracle.placement(), {key, 0}}.partition();
  const auto home = core.view().home(partition);
  open.at_home = open.at_home && home && core.executor().namespaces().decides_at_home(key);
  limit.at_home = limit.at_home && open.at_home;
  if (!home) return;
  open.homes.insert(nodes_[*home]->name());
  limit.homes.insert(nodes_[*home]->name());
}

void HomeClients::on_answer(Opens::iterator open, const Done& done) {
  const std::string& key = limits_[open->limit].key;
  const std::string& asked = open->asked->name();
  shared_.trace.say(shared_.time.now(), [&] {
    return asked + " answers a decision about " + key + ": " +
           std::string(quipu::describe(done.code).name) + " " + done.detail;
  });
  const std::size_t by = done.detail.find(kBy);
  if (describe(done.code).outcome == Outcome::applied && by != done.detail.npos && open->at_home) {
    const std::string decider = done.detail.substr(by + kBy.size());
    if (!open->homes.contains(decider))
      shared_.trace.fail(shared_.time.now(), Invariant::decided_at_home,
                         decider + " has decided about " + key + ", whose home is " +
                             *open->homes.begin() + " to " + asked);
  }
  open_.erase(open);
}

std::vector<std::string> HomeClients::keys() const {
  std::vector<std::string> keys;
  for (const Limit& limit : limits_) keys.push_back(limit.key);
  return keys;
}

// A disk that was lost, or came back as an older copy, takes what its node had allowed along.
std::string HomeClients::what_is_passed(std::size_t counter, std::int64_t total) const {
  const Limit& limit = limits_[counter];
  if (!limit.at_home || ledger_.disks_lost_since(Instant::min()) > 0 || ledger_.came_back())
    return {};
  const std::int64_t most = limit.limit * static_cast<std::int64_t>(limit.homes.size());
  if (total <= most) return {};
  return limit.key + " is " + std::to_string(total) + ", though its limit is " +
         std::to_string(limit.limit) + " and it had " + std::to_string(limit.homes.size()) +
         " homes";
}

}  // namespace quipu::sim
