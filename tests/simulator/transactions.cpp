#include "tests/simulator/transactions.h"

#include <chrono>

namespace quipu::sim {
namespace {

using std::chrono::milliseconds;

// So that the other draws of a seed stay as they are.
constexpr std::uint64_t kTogetherDraws = 0x746f;
constexpr std::uint64_t kTogetherPauseMs = 80;
constexpr std::size_t kMostGroups = 8, kMostTransactions = 30;
constexpr std::uint32_t kTogetherMs = 1000;

}  // namespace

TransactionClients::TransactionClients(const Shared& shared, const std::vector<SimNode*>& nodes,
                                       const Ledger& ledger, const Options& options)
    : shared_(shared), nodes_(nodes), ledger_(ledger), random_(options.seed ^ kTogetherDraws) {}

void TransactionClients::work() {
  if (stopped_) return;
  act();
  shared_.time.in(milliseconds(1 + random_.below(kTogetherPauseMs)), [this] { work(); });
}

void TransactionClients::act() {
  if (groups_.empty() || (groups_.size() < kMostGroups && random_.below(20) == 0))
    groups_.push_back({std::string(kTogetherPrefix) + std::to_string(groups_.size()), {}});
  const std::size_t at = random_.below(groups_.size());
  SimNode& node = *nodes_[random_.below(nodes_.size())];
  Group& group = groups_[at];
  const std::size_t digit = group.transactions.size();
  if (digit == kMostTransactions || !node.running()) return;
  group.transactions.emplace_back();
  const std::string amount = std::to_string(std::int64_t{1} << (2 * digit));
  const std::string first = group.key("first"), middle = group.key("middle");
  const std::string words = first + " add " + amount + "; " + middle + " set 1; " + middle +
                            " set 2; " + group.key("second") + " add " + amount;
  const auto ack = Ack{static_cast<std::uint8_t>(random_.below(3))};
  ++shared_.trace.operations["transactions"];
  node.ask(Op{.key = first,
              .words = words,
              .timeout_ms = kTogetherMs,
              .kind = OpKind::decide,
              .ack = ack},
           [this, at, digit, ack, &node](const Answer& answer) {
             const auto& done = std::get<Done>(answer);
             Transaction& transaction = groups_[at].transactions[digit];
             shared_.trace.say(shared_.time.now(), [&] {
               return node.name() + " answers transaction " + std::to_string(digit) + " of " +
                      groups_[at].name + ": " + std::string(quipu::describe(done.code).name) + " " +
                      done.detail;
             });
             // Where namespaces must be defined, each of its changes is refused.
             const bool forbidden = done.detail.starts_with("0 refused");
             const Outcome outcome = forbidden && done.code == Code::ok
                                         ? Outcome::not_applied
                                         : quipu::describe(done.code).outcome;
             transaction.acked = outcome == Outcome::applied && ack != Ack::memory;
             transaction.refused = outcome == Outcome::not_applied;
           });
}

std::vector<TransactionClients::Pair> TransactionClients::pairs() const {
  std::vector<Pair> pairs;
  for (const Group& group : groups_) pairs.push_back({group.key("first"), group.key("second")});
  return pairs;
}

// A disk that was lost, or came back as an older copy, may have told its peers of one half alone.
std::string TransactionClients::what_is_torn(std::size_t pair, std::int64_t first,
                                             std::int64_t second) const {
  if (ledger_.disks_lost_since(Instant::min()) > 0 || ledger_.came_back()) return {};
  const Group& group = groups_[pair];
  for (std::size_t digit = 0; digit < group.transactions.size(); ++digit) {
    const Transaction& transaction = group.transactions[digit];
    const std::uint64_t in_first = digit_of(first, digit), in_second = digit_of(second, digit);
    const std::string what = "transaction " + std::to_string(digit) + " of " + group.name;
    if (in_first != in_second)
      return what + " counts " + std::to_string(in_first) + " times in one counter, and " +
             std::to_string(in_second) + " times in the other";
    if (in_first > 1) return what + " counts " + std::to_string(in_first) + " times";
    if (in_first == 1 && transaction.refused) return what + " counts, though it was refused";
    if (in_first == 0 && transaction.acked) return what + " was acknowledged, and does not count";
  }
  return {};
}

}  // namespace quipu::sim
