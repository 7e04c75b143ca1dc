#include "cluster/reads/key_counts.h"

#include "protocol/check.h"

namespace quipu {

std::uint64_t KeyCounts::counters_here() const { return counters_in(view_.owned()); }

std::uint64_t KeyCounts::counters_in(const Partitions& partitions) const {
  std::uint64_t counters = 0;
  for (const Partition partition : executor_.map().ledger().held_in()) {
    if (partitions.contains(partition)) counters += executor_.map().ledger().counters(partition);
  }
  return counters;
}

void KeyCounts::on_count_keys(Instant now, ClientId client, const CountKeys& size) {
  Sum sum;
  sum.client = client;
  sum.id = size.id;
  sum.deadline = settings_.deadline(now, size.timeout_ms);
  const Partitions all = Partitions::all(), mine = view_.answers_for(all),
                   others = all.without(mine);
  sum.counters = counters_in(mine);
  if (others.empty()) return out_.answer(client, KeyCount{sum.id, sum.counters});
  if (sums_.size() >= settings_.pending_operations ||
      questions_.size() * sizeof(Question) > settings_.pending_read_bytes) {
    return out_.answer(client,
                       KeyCount{sum.id, 0, Code::overloaded, "too many counts wait for peers"});
  }
  const std::uint64_t number = next_number_++;
  sums_.emplace(number, std::move(sum));
  ask(number, others);
}

// ---- which owners to ask ----

std::optional<MemberIndex> KeyCounts::owner_for(const Sum& sum, Partition partition) const {
  for (const MemberIndex owner : view_.owners(partition)) {
    if (owner != view_.self() && view_.up(owner) && !sum.vain.contains(owner)) return owner;
  }
  return std::nullopt;
}

std::optional<KeyCounts::Shares> KeyCounts::share_out(const Sum& sum, const Partitions& partitions,
                                                      Partition& missing) const {
  Shares shares;
  for (const Partition partition : partitions) {
    const auto owner = owner_for(sum, partition);
    if (!owner) {
      missing = partition;
      return std::nullopt;
    }
    shares[*owner].insert(partition);
  }
  return shares;
}

void KeyCounts::ask(std::uint64_t number, const Partitions& partitions) {
  Partition missing{};
  if (const auto shares = share_out(sums_.at(number), partitions, missing)) {
    ask(number, *shares);
  } else {
    finish(number, Code::unavailable,
           "no owner of partition " + std::to_string(raw(missing)) +
               " can tell: " + view_.owner_names(missing));
  }
}

void KeyCounts::ask(std::uint64_t number, const Shares& shares) {
  for (const auto& [member, partitions] : shares) {
    QUIPU_CHECK(!partitions.empty() && member != view_.self(),
                "another member is asked about some partition", number, member);
    const std::uint64_t question = next_number_++;
    questions_[question] = {number, member, partitions};
    ++sums_.at(number).questions;
    out_.send(member, CountKeysPart{question, partitions});
  }
}

KeyCounts::Question KeyCounts::take(Questions::iterator at) {
  Question question = at->second;
  QUIPU_CHECK(sums_.at(question.sum).questions > 0, "each question belongs to a sum", question.sum);
  --sums_.at(question.sum).questions;
  questions_.erase(at);
  return question;
}

// ---- answers ----

void KeyCounts::on_count_keys_part(MemberIndex from, const CountKeysPart& ask) {
  KeyCountPart answer;
  answer.id = ask.id;
  answer.counted = view_.answers_for(ask.partitions);
  answer.counters = counters_in(answer.counted);
  out_.send(from, answer);
}

// A peer may send anything. At most the partitions that it was asked for count.
void KeyCounts::on_key_count_part(MemberIndex from, const KeyCountPart& answer) {
  const auto at = questions_.find(answer.id);
  if (at == questions_.end() || at->second.member != from) return;
  const Question question = take(at);
  Sum& sum = sums_.at(question.sum);
  const bool sound = answer.counted.without(question.partitions).empty();
  if (sound) sum.counters += answer.counters;
  const Partitions rest = sound ? question.partitions.without(answer.counted) : question.partitions;
  if (!rest.empty()) {
    sum.vain.insert(from);
    ask(question.sum, rest);
  } else if (sum.questions == 0) {
    finish(question.sum, Code::ok, {});
  }
}

void KeyCounts::on_link_lost(MemberIndex member) {
  std::vector<std::uint64_t> lost;
  for (const auto& [number, question] : questions_) {
    if (question.member == member) lost.push_back(number);
  }
  for (const std::uint64_t number : lost) {
    const auto at = questions_.find(number);
    if (at == questions_.end()) continue;  // ended with another of its sum
    const Question question = take(at);
    ask(question.sum, question.partitions);
  }
}

// A silent owner loses its partitions to other owners, if those can answer for all of them. It
// may be slow for a good reason, and is then better than none.
void KeyCounts::on_tick(Instant now) {
  std::vector<std::uint64_t> late, slow;
  for (const auto& [number, sum] : sums_) {
    if (now >= sum.deadline) late.push_back(number);
  }
  for (const std::uint64_t number : late)
    finish(number, Code::unavailable, "an owner did not answer in time");
  for (auto& [number, question] : questions_) {
    if (std::exchange(question.ticked, true)) slow.push_back(number);
  }
  for (const std::uint64_t number : slow) {
    const auto at = questions_.find(number);
    Sum others = sums_.at(at->second.sum);
    others.vain.insert(at->second.member);
    Partition missing{};
    const auto shares = share_out(others, at->second.partitions, missing);
    if (!shares) continue;
    const Question question = take(at);
    sums_.at(question.sum).vain.insert(question.member);
    ask(question.sum, *shares);
  }
}

void KeyCounts::finish(std::uint64_t number, Code code, std::string why) {
  const auto at = sums_.find(number);
  QUIPU_CHECK(at != sums_.end(), "each key count is answered once", number, code);
  QUIPU_CHECK(code != Code::ok || at->second.questions == 0,
              "a key count is answered when no partition is missing", number, at->second.questions);
  const Sum& sum = at->second;
  const std::uint64_t counters = code == Code::ok ? sum.counters : 0;
  out_.answer(sum.client, KeyCount{sum.id, counters, code, std::move(why)});
  if (sum.questions != 0)
    std::erase_if(questions_, [number](const auto& row) { return row.second.sum == number; });
  sums_.erase(at);
}

}  // namespace quipu
