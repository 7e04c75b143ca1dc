// decisions.cpp: words of decisions from a peer, for one counter of this node.
//
// What must hold, whatever they are: the reply is one whole reply of RESP that fits a frame; and a
// reply that is an error, of no script, has changed nothing. The clock moves as the input says, and
// is trusted or not.
#include <algorithm>
#include <array>
#include <functional>

#include "cluster/changes/decision.h"
#include "node/clients/resp/resp_decisions.h"
#include "node/clients/resp/resp_packed.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/chunks.h"
#include "tests/node/clients/resp/resp_reply.h"
#include "tests/storage/today.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace quipu::fuzz {
namespace {

constexpr HashKey kPlacement{0x5eed};
// ---- words ----

// Numbers are often moments near the present, so that deadlines pass.
std::string some_argument(Bytes& bytes, Wall now) {
  constexpr std::array<std::string_view, 18> kWords{
      "NX",      "XX",      "GT",    "LT",      "GET",    "EX",     "PX",       "EXAT", "PXAT",
      "KEEPTTL", "PERSIST", "BYINT", "BYFLOAT", "LBOUND", "UBOUND", "SATURATE", "ENX",  ""};
  const std::size_t which = bytes.below(kWords.size() + 6);
  if (which < kWords.size()) return std::string(kWords[which]);
  const std::int64_t ms = now.time_since_epoch().count();
  switch (which - kWords.size()) {
    case 0:
      return std::string(bytes.text(bytes.byte()));
    case 1:
      return std::to_string(ms + bytes.number<std::int8_t>());
    case 2:
      return std::to_string(ms / 1000 + bytes.number<std::int8_t>());
    default:
      return std::to_string(bytes.amount());
  }
}

std::vector<std::string> some_command(Bytes& bytes, std::string_view key, Wall now) {
  std::vector<RespRule> rules;
  for (const auto family : {expiry_rules(), value_rules(), reset_rules(), counter_rules()})
    rules.insert(rules.end(), family.begin(), family.end());
  std::vector<std::string> words{std::string(rules[bytes.below(rules.size())].name),
                                 std::string(key)};
  for (std::size_t more = bytes.below(10); more > 0; --more)
    words.push_back(some_argument(bytes, now));
  return words;
}

// Scripts that pass one command on; the target `scripts` has others.
constexpr std::array<std::string_view, 3> kScripts{
    "return redis.call(unpack(ARGV))",
    "redis.call('incr', KEYS[1]) return redis.pcall(unpack(ARGV))",
    "return {redis.call('get', KEYS[1]), redis.call(unpack(ARGV)), redis.call('ttl', KEYS[1])}"};

std::string some_words(Bytes& bytes, std::string_view key, Wall now) {
  constexpr std::array kForms{PackedForm::command, PackedForm::transaction, PackedForm::script,
                              PackedForm::read_only_script};
  const PackedForm form = kForms[bytes.below(kForms.size())];
  PackedCommands packed(form,
                        bytes.flag() ? RespWriter::Version::resp3 : RespWriter::Version::resp2);
  const bool scripted = form == PackedForm::script || form == PackedForm::read_only_script;
  std::size_t commands = form == PackedForm::transaction ? 1 + bytes.below(5) : 1;
  for (; commands > 0; --commands) {
    const std::vector<std::string> command = some_command(bytes, key, now);
    std::vector<std::string_view> words;
    if (scripted) words = {kScripts[bytes.below(kScripts.size())], "", "1", key};
    words.insert(words.end(), command.begin(), command.end());
    check(packed.add(words), "a few words fit");
  }
  return packed.take();
}

// ---- the counter ----

// What its namespace says: nothing; that new counters end; that it must be defined, and is not.
class Counter {
 public:
  explicit Counter(std::uint8_t how)
      : key_(std::array{"a", "ttl:a", "undefined:a"}[how % 3]),
        clock_(Instant{}, test::kToday, {.others = {false, true}}) {
    executor_.judge_dates_by(calendar_);
    NamespaceDefinition ending{.name = "ttl", .changed = {1, NodeId{1}}};
    ending.policy.ttl = std::chrono::seconds(1);
    executor_.merge_namespace(ending);
    NamespaceDefinition strict{.name = "", .changed = {1, NodeId{1}}};
    strict.policy.strict = true;
    if (how % 3 == 2) {
      add(5);
      executor_.merge_namespace(strict);
    }
  }

  void decide(std::string_view words) {
    if (words.empty() || words.size() > kMaxDecisionWords) return;  // the coordinator refuses them
    Decision decision(executor_, clock_, key_, placement_);
    Decisions only({&decision, 1}, executor_);
    const ShardState before = state();
    const std::vector<std::string_view> keys = decider_.keys(words);
    check(std::ranges::adjacent_find(keys, std::greater_equal<>()) == keys.end(),
          "keys come in order, each once");
    std::string reply;
    executor_.together([&] { reply = decider_.decide(words, only); });
    check(!reply.empty() && reply.size() <= kMaxDecisionReply, "a reply fits a frame");
    std::string_view rest = reply;
    check(test::take_reply(rest) && rest.empty(), "the reply is one whole reply of RESP");
    const bool whole = words.front() < 0x20;  // no script: one may fail after a command of it
    check(reply.front() != '-' || !whole || state() == before, "an error has changed nothing");
    check_held(decision);
  }
  void add(std::int64_t amount) {
    (void)executor_.apply({.kind = OpKind::add, .ref = {key_, 0}, .amount = amount}, placement_);
  }
  void reset() { (void)executor_.apply({.kind = OpKind::reset, .ref = {key_, 0}}, placement_); }
  void seal() {
    executor_.seal();
    (void)executor_.take_sealed();
  }
  [[nodiscard]] const std::string& key() const { return key_; }
  [[nodiscard]] test::Today& calendar() { return calendar_; }

 private:
  static Executor executor() {
    Meta meta;
    meta.store = StoreId{1};
    meta.lineage = {{BootId{1}, Commit{1}}};
    ExecutorOptions options;
    options.placement = kPlacement;
    return Executor(std::move(meta), options, Random(1));
  }
  // As it is at this moment: what has passed has ended, whether or not it was noticed.
  [[nodiscard]] ShardState state() const {
    ShardState held;
    (void)executor_.map().read(placement_, {key_, 0}, held);
    if (calendar_.trusted) (void)realize(held, calendar_.wall);
    return held;
  }
  // A counter that exists ends later than now, or never.
  void check_held(const Decision& decision) const {
    const Decision::Held held = decision.held();
    if (calendar_.trusted && held.exists && held.ends != Wall{})
      check(held.ends > calendar_.wall, "what has ended does not exist");
    check(held.ends <= kLatestDate, "a counter ends at the latest date");
  }

  const RespDecider decider_;
  const std::string key_;
  test::Today calendar_;
  WallClock clock_;  // for the words of a refusal
  Executor executor_ = executor();
  const Placement placement_ = executor_.map().place({key_, 0});
};

enum Kind : std::uint8_t { raw_bytes, words, later, trust, change, kKinds };

}  // namespace
}  // namespace quipu::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quipu::fuzz;
  const std::string_view input{reinterpret_cast<const char*>(data), size};
  Counter counter(input.empty() ? 0 : data[0]);
  for (const Chunk& chunk : split(input.substr(std::min<std::size_t>(1, size)))) {
    Bytes bytes(chunk.bytes);
    quipu::test::Today& calendar = counter.calendar();
    switch (chunk.kind % kKinds) {
      case raw_bytes:
        counter.decide(chunk.bytes);
        break;
      case words:
        counter.decide(some_words(bytes, counter.key(), calendar.wall));
        break;
      case later:  // up to a year
        calendar.wall += std::chrono::milliseconds(bytes.number<std::uint32_t>() * 8ull);
        break;
      case trust:
        calendar.trusted = bytes.flag();
        break;
      case change:
        if (bytes.flag()) counter.seal();
        bytes.flag() ? counter.reset() : counter.add(bytes.amount());
        break;
    }
  }
  return 0;
}
