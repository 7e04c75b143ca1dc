// Bodies, words and questions of each kind of counter, of any bytes: refused, or all laws hold.
//
// The first chunks are bodies: as they are, or what any words made. The others are words and
// questions.
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "storage/kinds/kind.h"
#include "storage/kinds/parts.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/chunks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace quipu::fuzz {
namespace {

std::string joined(const KindRules& rules, std::string into, std::string_view from) {
  Edit edit(into.data(), into.size());
  rules.join(edit, from);
  return edit.replaced() ? std::move(*edit.replaced()) : into;
}

// What an op makes of a body; the same body, if it is refused.
Code apply(const KindRules& rules, std::string& body, const KindOp& op) {
  std::string changed = body;
  Edit edit(changed.data(), changed.size());
  std::string reply;
  const Code code = rules.apply(edit, op, reply);
  check(code == Code::ok || !edit.changed(), "what is refused changes nothing");
  if (edit.replaced()) changed = std::move(*edit.replaced());
  if (code != Code::ok) check(changed == body, "what is refused changes no byte");
  if (!changed.empty()) {
    check(rules.sound(changed), "an op makes a body of a body");
    check(body.empty() || joined(rules, changed, body) == changed, "an op moves up");
  }
  body = std::move(changed);
  return code;
}

KindOp op_of(std::string_view words) {
  return {.words = words, .actor = ActorId{1}};
}

std::string body_of(const KindRules& rules, std::string_view bytes) {
  if (!bytes.empty() && rules.sound(bytes)) return std::string(bytes);
  std::string body;
  (void)apply(rules, body, op_of(bytes));
  return body;
}

// A counter in slices (storage/kinds/kind.h): what its first shard takes, all of them take.
class Sliced {
 public:
  explicit Sliced(const KindRules& rules) : rules_(rules) {}

  void take(std::string_view words) {
    std::string& first = bodies_[0];
    const std::vector<SliceWords> split = rules_.slices->split(first, op_of(words));
    if (apply(rules_, first, op_of(words)) != Code::ok) return;
    for (const SliceWords& one : split) {
      check(one.slice > 0 && one.slice <= count(), "words are split among the slices");
      KindOp op = op_of(one.words);
      op.like = first;
      op.slice = one.slice;
      std::string& body = bodies_[one.slice];
      check(apply(rules_, body, op) == Code::ok, "what a counter takes, its slices take");
      check(body.empty() || rules_.slices->slice(body) == one.slice,
            "a slice says which one it is");
    }
    if (count() > 0) (void)rules_.slices->tell(asked(words), words);
  }

  void ask(std::string_view question) const {
    std::string reply;
    if (count() > 0) (void)rules_.answer(asked(question), question, reply);
  }

 private:
  [[nodiscard]] std::uint32_t count() const {
    const std::string& first = bodies_.at(0);
    if (first.empty()) return 0;
    return rules_.slices->count(std::array{std::string_view(first)});
  }
  // The first body, and those that these words or this question need.
  [[nodiscard]] std::vector<std::string_view> asked(std::string_view words) const {
    std::vector<std::string_view> bodies{bodies_.at(0)};
    for (const ShardIndex slice : rules_.slices->asked(bodies, words)) {
      check(slice > 0 && slice <= count(), "only slices are asked");
      const auto found = bodies_.find(slice);
      if (found != bodies_.end() && !found->second.empty()) bodies.push_back(found->second);
    }
    return bodies;
  }

  const KindRules& rules_;
  std::map<ShardIndex, std::string> bodies_{{0, {}}};
};

void check_laws(const KindRules& rules, const std::array<std::string, 3>& bodies) {
  const auto& [a, b, c] = bodies;
  for (const std::string& body : bodies)
    if (body.empty()) return;
  check(joined(rules, a, b) == joined(rules, b, a), "the join is commutative");
  check(joined(rules, joined(rules, a, b), c) == joined(rules, a, joined(rules, b, c)),
        "the join is associative");
  check(joined(rules, a, a) == a, "the join is idempotent");
  check(joined(rules, {}, a) == a, "nothing is the least body, and forms are canonical");
  const std::vector<std::string_view> apart{a, b}, at_once{b, a};
  std::string one, other;
  check(rules.answer(apart, {}, one) == Code::ok && rules.answer(at_once, {}, other) == Code::ok &&
            one == other,
        "an answer does not depend on the order");
}

void try_kind(const KindRules& rules, const std::vector<Chunk>& chunks) {
  std::array<std::string, 3> bodies;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (i < bodies.size()) {
      bodies[i] = body_of(rules, chunks[i].bytes);
      continue;
    }
    std::string& body = bodies[i % bodies.size()];
    (void)apply(rules, body, op_of(chunks[i].bytes));
    std::string reply;
    if (!body.empty())
      (void)rules.answer(std::array{std::string_view(body)}, chunks[i].bytes, reply);
    Bytes bytes(chunks[i].bytes);
    std::vector<Unit> units;
    while (!bytes.empty()) units.push_back(bytes.number<std::uint32_t>());
    if (body.empty()) continue;
    const std::string some = rules.extract(body, units);
    check(rules.sound(some) && joined(rules, body, some) == body, "a part adds nothing");
    if (rules.share == nullptr) continue;
    const std::string share = rules.share(body, ActorId{1});
    check(share.empty() || (rules.sound(share) && joined(rules, body, share) == body),
          "a share adds nothing");
  }
  check_laws(rules, bodies);
  if (rules.slices == nullptr) return;
  Sliced sliced(rules);
  for (const Chunk& chunk : chunks) {
    sliced.take(chunk.bytes);
    sliced.ask(chunk.bytes);
  }
}

}  // namespace
}  // namespace quipu::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quipu::fuzz;
  const std::vector<Chunk> chunks = split({reinterpret_cast<const char*>(data), size});
  for (const quipu::Kind kind : quipu::kKinds)
    if (kind != quipu::Kind::sum) try_kind(quipu::rules_of(kind), chunks);
  return 0;
}
