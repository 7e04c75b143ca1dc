// question_cache.h: answers to questions about counters that other members own.
//
// The answer is kept and not the bodies: it is small, and a kind need not compute it again.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "cluster/reads/asked_cache.h"
#include "protocol/ids.h"
#include "protocol/instant.h"
#include "protocol/wall.h"
#include "quipu/status.h"

namespace quipu {

struct AskedQuestion {
  std::vector<ShardKey> shards{};  // sorted. Their numbers say the kind
  std::string words{};             // as its kind understands it

  auto operator<=>(const AskedQuestion&) const = default;
};

struct QuestionAnswer {
  Code code = Code::ok;
  std::string detail{};
  std::string reply{};  // as the kind writes it
  bool exists = false;  // some of the counters do
  Instant as_of{};      // age = now − as_of; meaningless if age_unknown
  bool age_unknown = false;
  bool complete = true;
  Wall ends{};  // the first end of these counters: it is another answer then. Wall{}: never
};

struct BytesOfQuestion {
  std::size_t operator()(const AskedQuestion& question, const QuestionAnswer* answer) const {
    constexpr std::size_t kEach = 400;  // of an entry, about
    std::size_t bytes = kEach + question.words.size();
    for (const ShardKey& shard : question.shards) bytes += sizeof shard + shard.key.size();
    return answer == nullptr ? bytes : bytes + answer->reply.size() + answer->detail.size();
  }
};

// Its room is for that many bytes, about.
using QuestionCache = AskedCache<AskedQuestion, QuestionAnswer, BytesOfQuestion>;

}  // namespace quipu
