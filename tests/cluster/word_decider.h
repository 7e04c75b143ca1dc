// word_decider.h: a small language of decisions, for tests without a layer that speaks to clients:
//
//   KEY [new | below N] add N [for MS]    adds; a counter without an end gets one in MS
//   KEY [new | below N] set N [for MS]    sets the value, and its end
//   KEY reset
//
// The reply is the new total, "0 no" if the condition is not met, or "0 refused" and the reason.
// Several commands, with "; " between them, are one decision, and so are their replies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/changes/decision.h"

namespace quipu::test {

class WordDecider final : public Decider {
 public:
  std::string decide(std::string_view words, Decisions& on) const override {
    std::string reply;
    for_each(words, [&](std::string_view key, std::string_view command) {
      reply += (reply.empty() ? "" : "; ") + decide(command, *on.find(key));
    });
    return reply;
  }

  std::vector<std::string_view> keys(std::string_view words) const override {
    std::set<std::string_view> keys;
    if (words.find(';') != words.npos)
      for_each(words, [&](std::string_view key, std::string_view) { keys.insert(key); });
    return {keys.begin(), keys.end()};
  }

 private:
  template <class Visit>
  static void for_each(std::string_view words, Visit visit) {
    while (!words.empty()) {
      const std::string_view one = words.substr(0, words.find(';'));
      const std::size_t space = one.find(' ');
      visit(one.substr(0, space), one.substr(space + 1));
      words.remove_prefix(std::min(words.size(), one.size() + 2));
    }
  }

  static std::string decide(std::string_view words, Decision& on) {
    std::istringstream in{std::string(words)};
    std::string verb, rest;
    std::int64_t number = 0, ms = 0;
    const Decision::Held held = on.held();
    in >> verb;
    if (verb == "new") {
      if (held.exists) return "0 no";
      in >> verb;
    } else if (verb == "below") {
      std::int64_t bound = 0;
      in >> bound >> verb;
      if (held.total.value_or(bound) >= bound) return "0 no";
    }
    in >> number;
    if (in >> rest) in >> ms;
    const Wall::duration ttl = std::chrono::milliseconds(ms);
    Code code = Code::invalid_argument;
    if (verb == "reset") code = on.reset();
    if (verb == "set") code = on.set({.value = number, .ttl = ttl});
    if (verb == "add") {
      const auto from = on.lives_from();
      const bool ends = ms > 0 && held.ends == Wall{};
      code = ends && !from ? Code::unavailable : on.add(number);
      if (code == Code::ok && ends) code = on.expire(*from + ttl);
    }
    if (code != Code::ok) return "0 refused: " + on.reason(code);
    return std::to_string(on.held().total.value_or(0));
  }
};

}  // namespace quipu::test
