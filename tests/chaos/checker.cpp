#include "tests/chaos/checker.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>

namespace quipu::chaos {
namespace {

__extension__ using Sum = __int128;  // what may have counted can leave 64 bits

// An age is told in whole ones, and may have been a little more.
constexpr std::chrono::milliseconds kAgeUnit{1};

std::string decimal(Sum sum) {
  if (sum < 0) return "-" + decimal(-sum);
  const std::string last(1, static_cast<char>('0' + static_cast<int>(sum % 10)));
  return sum < 10 ? last : decimal(sum / 10) + last;
}

std::string describe(const Add& add) {
  const std::string what = kind_of(add.key) == Kind::distinct
                               ? "element " + add.item
                               : (add.amount < 0 ? "" : "+") + std::to_string(add.amount);
  std::string text = what + " at " + std::string(to_text(add.ack)) + ", by client " +
                     std::to_string(add.client) + " (prefers n" + std::to_string(add.node) +
                     "), invoked at " + seconds(add.invoked);
  switch (add.answer) {
    case Answer::ok:
      return text + ", acknowledged at " + seconds(add.ended);
    case Answer::fail:
      return text + ", refused for certain at " + seconds(add.ended) + ": " + add.said;
    case Answer::unknown:
      return text + ", answered \"unknown\" at " + seconds(add.ended) + ": " + add.said;
    default:
      return text + ", never answered";
  }
}

std::string describe(const Read& read) {
  std::string text = std::string(to_text(read.level)) + " read by client " +
                     std::to_string(read.client) + " (prefers n" + std::to_string(read.node) +
                     "), from " + seconds(read.began) + " to " + seconds(read.ended) + ": " +
                     (read.value ? std::to_string(*read.value) : "no answer, " + read.said);
  if (read.level != ReadLevel::strong && read.complete && read.age) {
    text += ", complete, age " + std::to_string(read.age->count()) + " ms";
  }
  return text;
}

// "top:3/b" is item b of top:3.
std::string part_of(const std::string& key, const std::string& item) { return key + "/" + item; }

// What a read of a counter of items says of each, as reads of their own.
std::vector<Read> split(const Read& read, const std::set<std::string>& known) {
  std::vector<Read> parts;
  std::set<std::string> absent = known;
  const auto add = [&](const std::string& item, std::int64_t count) -> Read& {
    Read& part = parts.emplace_back(read);
    part.key = part_of(read.key, item);
    part.items.clear();
    if (read.value) part.value = count;
    return part;
  };
  for (const ItemBounds& one : read.items) {
    absent.erase(one.item);
    add(one.item, one.upper).items = {one};
  }
  for (const std::string& item : absent) add(item, 0);
  return parts;
}

// One part of the history: of a key, or of an item of a key.
class KeyCheck {
 public:
  KeyCheck(const History& history, std::string key)
      : history_(history), key_(std::move(key)), rule_(rule_of(key_)) {}

  void take(const Add& add) { adds_.push_back(&add); }
  void take_read(const Read& read) { reads_.push_back(&read); }
  void take_final(const Read& read) { finals_.push_back(&read); }

  std::optional<Violation> run() {
    note_seen();
    std::stable_sort(reads_.begin(), reads_.end(),
                     [](const Read* a, const Read* b) { return a->began < b->began; });
    for (const Read* read : reads_) {
      if (read->value) check_read(*read, false);
      if (found_) return found_;
    }
    for (const Read* read : finals_) {
      check_final(*read);
      if (found_) return found_;
    }
    return found_;
  }

 private:
  enum class Rule { total, digits, elements };
  static Rule rule_of(std::string_view key) {
    const Kind kind = kind_of(key);
    if (kind == Kind::distinct) return Rule::elements;
    return counts_items(kind) || is_witness(key) ? Rule::digits : Rule::total;
  }

  // Whether no fault that began by `by` may have taken this acked add.
  [[nodiscard]] bool survives(const Add& add, Time by) const {
    if (add.ack == Ack::quorum) return true;
    const Loss bearable = add.ack == Ack::disk ? Loss::memory : Loss::nothing;
    return std::none_of(history_.faults.begin(), history_.faults.end(), [&](const Fault& fault) {
      return fault.loss > bearable && fault.began <= by && fault.ended >= add.invoked;
    });
  }

  [[nodiscard]] bool must_have(const Add& add, const Read& read, bool after_healing) const {
    if (add.answer != Answer::ok || add.ended >= read.began) return false;
    if (after_healing) return survives(add, read.ended);
    if (read.level == ReadLevel::strong) return add.ack == Ack::quorum;
    return read.level == ReadLevel::local && read.complete && read.age &&
           add.ended < read.began - (*read.age + kAgeUnit) && survives(add, read.ended);
  }

  // For each add of a witness, when the first strong read that counted it ended.
  void note_seen() {
    seen_.assign(adds_.size(), nullptr);
    if (rule_ != Rule::digits) return;
    for (const Read* read : reads_) {
      if (!read->value || read->level != ReadLevel::strong) continue;
      for (std::size_t i = 0; i < adds_.size(); ++i) {
        const bool first = seen_[i] == nullptr || read->ended < seen_[i]->ended;
        if (digit(*read->value, i) == 1 && first) seen_[i] = read;
      }
    }
  }

  [[nodiscard]] static int digit(std::int64_t value, std::size_t i) {
    return static_cast<int>((value >> (2 * i)) & 3);
  }

  void check_read(const Read& read, bool after_healing) {
    if (rule_ == Rule::elements) return check_elements(read, after_healing);
    if (rule_ == Rule::digits) {
      check_interval(read);
      if (!found_) check_digits(read, after_healing);
    }
    if (!found_) check_bounds(read, after_healing);
  }

  void check_interval(const Read& read) {
    for (const ItemBounds& one : read.items) {
      if (one.lower == one.upper) continue;
      fail(read, "a list with room for every item does not know a count exactly",
           {"bounds: it came " + std::to_string(one.lower) + " to " + std::to_string(one.upper) +
            " times"});
    }
  }

  void check_elements(const Read& read, bool after_healing) {
    std::set<std::string_view> least, most;
    for (const Add* add : adds_) {
      const bool must = must_have(*add, read, after_healing);
      if (must) least.insert(add->item);
      if (must || (add->invoked <= read.ended && add->answer != Answer::fail))
        most.insert(add->item);
    }
    const std::string bounds =
        "bounds: " + std::to_string(least.size()) + " elements to " + std::to_string(most.size());
    if (*read.value < static_cast<std::int64_t>(least.size()))
      return fail(read, lost_title(read, after_healing) + ": too few elements are counted",
                  {bounds});
    if (*read.value > static_cast<std::int64_t>(most.size()))
      return fail(read, "more elements are counted than were added (P2)", {bounds});
    for (const Read* other : reads_) {
      const bool both_strong = read.level == ReadLevel::strong && other->level == ReadLevel::strong;
      if (!both_strong || !other->value || other->ended >= read.began) continue;
      if (*other->value > *read.value)
        return fail(read, "a strong read counts fewer elements than an earlier strong read (P4)",
                    {"before: " + describe(*other)});
    }
  }

  void check_digits(const Read& read, bool after_healing) {
    const std::int64_t value = *read.value;
    if (value < 0 || value >> (2 * adds_.size()) != 0) {
      return fail(read, "a total contains what nobody added",
                  {adds_.empty() ? "added: nothing"
                                 : "added: only " + std::to_string(adds_.size()) +
                                       " adds, 4^0 to 4^" + std::to_string(adds_.size() - 1)});
    }
    for (std::size_t i = 0; i < adds_.size() && !found_; ++i) {
      const Add& add = *adds_[i];
      const int count = digit(value, i);
      if (count >= 2) {
        fail(read, "an add was counted twice (P2)",
             {"twice: " + describe(add), "how: this key's adds are 4^i, and base-4 digit " +
                                             std::to_string(i) + " is " + std::to_string(count)});
      } else if (count == 1 && add.answer == Answer::fail) {
        fail(read, "an add was counted although the client was told that it was not (P2)",
             {"counted: " + describe(add)});
      } else if (count == 1 && add.invoked > read.ended) {
        fail(read, "an add was counted before it was invoked", {"counted: " + describe(add)});
      } else if (count == 0) {
        check_absence(read, i, after_healing);
      }
    }
  }

  void check_absence(const Read& read, std::size_t i, bool after_healing) {
    const Add& add = *adds_[i];
    if (must_have(add, read, after_healing)) {
      fail(read, lost_title(read, after_healing), {"missing: " + describe(add)});
    } else if (read.level == ReadLevel::strong && seen_[i] != nullptr &&
               seen_[i]->ended < read.began) {
      fail(read, "a strong read misses an add that an earlier strong read counted (P4)",
           {"missing: " + describe(add), "counted before by: " + describe(*seen_[i])});
    }
  }

  [[nodiscard]] static std::string lost_title(const Read& read, bool after_healing) {
    if (after_healing) return "an acknowledged add is lost after healing (P1, P3)";
    if (read.level == ReadLevel::strong) {
      return "a strong read misses an add acknowledged at quorum before it began (P4)";
    }
    return "a complete local read misses an add acknowledged longer ago than its age (P5)";
  }

  void check_bounds(const Read& read, bool after_healing) {
    Sum least = 0, most = 0;
    std::size_t musts = 0, mays = 0;
    for (const Add* add : adds_) {
      if (must_have(*add, read, after_healing)) {
        ++musts;
        least += add->amount;
        most += add->amount;
      } else if (add->invoked <= read.ended && add->answer != Answer::fail) {
        ++mays;
        (add->amount < 0 ? least : most) += add->amount;
      }
    }
    if (*read.value >= least && *read.value <= most) return;
    fail(read,
         *read.value < least ? lost_title(read, after_healing) + ": the total is too small"
                             : "a total is too large (P2, or a negative add is missing)",
         {"possible: " + decimal(least) + " to " + decimal(most) + ", from " +
          std::to_string(musts) + " adds that it must have and " + std::to_string(mays) +
          " that it may have"});
  }

  void check_final(const Read& read) {
    if (!read.value) {
      return fail(read, "a key cannot be read after healing (P3)", {"said: " + read.said});
    }
    for (const Read* other : finals_) {
      if (!other->value || *other->value == *read.value) continue;
      return fail(read, "nodes do not agree after healing (P3)", {"but: " + describe(*other)});
    }
    check_read(read, true);
  }

  void fail(const Read& read, std::string title, std::vector<std::string> facts) {
    Violation violation{std::move(title), key_, {"read: " + describe(read)}, read.began};
    std::move(facts.begin(), facts.end(), std::back_inserter(violation.facts));
    Time since = read.began;
    for (const Add* add : adds_) since = std::min(since, add->invoked);
    bool any = false;
    for (const Fault& fault : history_.faults) {
      if (fault.began > read.ended || fault.ended < since) continue;
      any = true;
      const bool during = fault.ended >= read.began;
      violation.facts.push_back(
          std::string(during ? "fault during the read: " : "fault since the key's first add: ") +
          fault.kind + ", " + fault.what + ", from " + seconds(fault.began) + " to " +
          (fault.ended == kNever ? "the end" : seconds(fault.ended)));
    }
    if (!any) violation.facts.emplace_back("faults: none since the key's first add");
    found_ = std::move(violation);
  }

  const History& history_;
  std::string key_;
  Rule rule_;
  std::vector<const Add*> adds_;
  std::vector<const Read*> seen_;  // per add; null: no strong read counted it
  std::vector<const Read*> reads_;
  std::vector<const Read*> finals_;
  std::optional<Violation> found_;
};

}  // namespace

std::vector<Violation> check(const History& history) {
  std::map<std::string, KeyCheck> keys;
  const auto at = [&](const std::string& key) -> KeyCheck& {
    return keys.try_emplace(key, history, key).first->second;
  };
  std::map<std::string, std::set<std::string>> items;  // that were added, by key
  for (const Add& add : history.adds) {
    if (counts_items(kind_of(add.key))) {
      items[add.key].insert(add.item);
      at(part_of(add.key, add.item)).take(add);
    } else {
      at(add.key).take(add);
    }
  }
  std::deque<Read> parts;  // KeyChecks refer to them
  const auto take = [&](const Read& read, void (KeyCheck::*take_read)(const Read&)) {
    if (!counts_items(kind_of(read.key))) return (at(read.key).*take_read)(read);
    for (Read& part : split(read, items[read.key])) {
      parts.push_back(std::move(part));
      (at(parts.back().key).*take_read)(parts.back());
    }
  };
  for (const Read& read : history.reads) take(read, &KeyCheck::take_read);
  for (const Read& read : history.finals) take(read, &KeyCheck::take_final);
  std::vector<Violation> found;
  for (auto& [key, one] : keys) {
    if (auto violation = one.run()) found.push_back(std::move(*violation));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Violation& a, const Violation& b) { return a.at < b.at; });
  return found;
}

std::string to_text(const Violation& violation) {
  std::string text = "VIOLATION: " + violation.title + "\n  key " + violation.key + "\n";
  for (const std::string& fact : violation.facts) text += "  " + fact + "\n";
  return text;
}

std::size_t overlapping(const History& history, const Fault& fault) {
  std::size_t count = 0;
  for (const Add& add : history.adds)
    count += add.invoked <= fault.ended && add.ended >= fault.began;
  for (const Read& read : history.reads) {
    count += read.began <= fault.ended && read.ended >= fault.began;
  }
  return count;
}

std::string why_invalid(const History& history, const Floor& floor) {
  Time first = kNever;
  for (const Fault& fault : history.faults) first = std::min(first, fault.began);
  if (first == kNever) return "no fault was injected";
  const bool met = std::any_of(history.faults.begin(), history.faults.end(),
                               [&](const Fault& fault) { return overlapping(history, fault) > 0; });
  if (!met) return "no fault overlapped an operation";
  Time begin = kNever;
  std::size_t before = 0;
  for (const Add& add : history.adds) {
    begin = std::min(begin, add.invoked);
    before += add.ended < first && add.answer == Answer::ok;
  }
  for (const Read& read : history.reads) {
    begin = std::min(begin, read.began);
    before += read.ended < first && read.value.has_value();
  }
  const double calm = begin < first ? std::chrono::duration<double>(first - begin).count() : 0;
  const double rate = calm > 0 ? static_cast<double>(before) / calm : 0;
  if (rate >= floor.operations_per_second) return "";
  return "only " + std::to_string(static_cast<int>(rate)) + " operations/s before the first fault";
}

}  // namespace quipu::chaos
