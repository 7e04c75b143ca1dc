// asked_cache.h: what other members answered to questions of local reads.
//
// The first reader asks an owner, and concurrent readers share the question. Questions that were
// read since the last interval are asked again, so a hot one costs each reading node one question
// an interval. Bounded: what was not asked for longest is dropped first. (What is read stays.)
#pragma once

#include <list>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "cluster/reads/collector.h"
#include "protocol/check.h"
#include "protocol/instant.h"

namespace quipu {

// SizeOf{}(question, answer): what both take of the room. The answer may be a null pointer.
template <class Question, class Answer, class SizeOf>
class AskedCache {
 public:
  AskedCache(std::size_t room, Duration interval) : room_(room), interval_(interval) {
    QUIPU_CHECK(room > 0, "a cache has room for what was asked last");
  }

  // Null if it was never answered, or so long ago that it is not current. Valid until the next
  // call.
  [[nodiscard]] const Answer* read(Instant now, const Question& question) {
    const auto at = entries_.find(question);
    if (at == entries_.end()) return nullptr;
    Entry& entry = at->second;
    if (!entry.due) entry.due = due_.insert(due_.end(), &at->first);
    if (!entry.answer || now - entry.answered > 3 * interval_) return nullptr;
    return &*entry.answer;
  }
  // The round that asks for it now.
  [[nodiscard]] std::optional<RoundId> asking(const Question& question) const {
    const auto at = entries_.find(question);
    return at == entries_.end() ? std::nullopt : at->second.asking;
  }

  void on_asked(const Question& question, RoundId round) {
    touch(question).asking = round;
    forget_excess();
  }
  void on_answered(Instant now, const Question& question, Answer answer) {
    Entry& entry = touch(question);
    entry.asking.reset();
    entry.answer = std::move(answer);
    entry.answered = now;
    resize(entry, SizeOf{}(question, &*entry.answer));
    forget_excess();
  }
  // The round brought no answer.
  void on_unanswered(const Question& question) {
    const auto at = entries_.find(question);
    if (at != entries_.end()) at->second.asking.reset();
  }

  // The questions that were read since the last call and are not asked now: ask them.
  [[nodiscard]] std::vector<Question> take_due() {
    std::vector<Question> due;
    for (const Question* const question : due_) {
      Entry& entry = entries_.at(*question);
      entry.due.reset();
      if (!entry.asking) due.push_back(*question);
    }
    due_.clear();
    QUIPU_CHECK(due.size() <= entries_.size(), "a question is due once", due.size(),
                entries_.size());
    return due;
  }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  // How much of the room is taken.
  [[nodiscard]] std::size_t used() const { return used_; }

 private:
  using Questions = std::list<const Question*>;  // keys of the map
  struct Entry {
    std::optional<Answer> answer{};
    Instant answered{};
    std::optional<RoundId> asking{};
    std::size_t size = 0;
    typename Questions::iterator use{};
    std::optional<typename Questions::iterator> due{};  // was read since the last take_due
  };

  Entry& touch(const Question& question) {
    const auto [at, fresh] = entries_.try_emplace(question);
    Entry& entry = at->second;
    if (!fresh) {
      by_use_.splice(by_use_.end(), by_use_, entry.use);
      return entry;
    }
    entry.use = by_use_.insert(by_use_.end(), &at->first);
    resize(entry, SizeOf{}(question, nullptr));
    return entry;
  }
  void resize(Entry& entry, std::size_t size) {
    used_ += size - entry.size;
    entry.size = size;
  }
  void forget_excess() {
    while (used_ > room_) forget_oldest();
  }
  void forget_oldest() {
    QUIPU_CHECK(by_use_.size() == entries_.size() && !by_use_.empty(), "each entry is listed once",
                by_use_.size(), entries_.size());
    const auto at = entries_.find(*by_use_.front());
    QUIPU_CHECK(at != entries_.end(), "each question that is listed has an entry", entries_.size());
    QUIPU_CHECK(used_ >= at->second.size, "each entry takes its room", used_, at->second.size);
    used_ -= at->second.size;
    if (at->second.due) due_.erase(*at->second.due);
    by_use_.pop_front();
    entries_.erase(at);
  }

  std::size_t room_;
  Duration interval_;
  std::map<Question, Entry> entries_;
  Questions by_use_;  // least recently asked or answered first
  Questions due_;     // in the order of their first read
  std::size_t used_ = 0;
};

}  // namespace quipu
