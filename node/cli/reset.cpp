// quipu reset KEY
#include <future>
#include <memory>
#include <nlohmann/json.hpp>

#include "node/api/call_forms.h"
#include "node/api/call_parts.h"
#include "node/cli/commands.h"
#include "node/cli/open_client.h"
#include "node/cli/output.h"
#include "protocol/shard_number.h"

namespace quipu::cli {
namespace {

using Time = std::chrono::system_clock::time_point;

// Resets the windows of one key, from old to new: those of each kind, since the key may have had
// counters of several.
class WindowReset {
 public:
  WindowReset(const OpenClient& client, const Environment& environment, const ResetCommand& command)
      : client_(client), environment_(environment), command_(command) {}

  Status run() {
    const NamespaceReply all = ask(client_, {.timeout = environment_.timeout});
    if (all.code != Code::ok) return {all.code, all.detail};
    const Result<Reading> counter =
        client_.counter(command_.key)
            .read({.level = ReadLevel::fresh, .timeout = environment_.timeout});
    // An owner may not have heard yet that a counter of another kind was reset.
    if (!counter.ok() && counter.status().code() != Code::wrong_type) return counter.status();
    const std::int64_t shards = counter.ok() ? counter->shards : 1;
    steps_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(kMaxRange) / shards - 1);
    const auto steps_of_bodies = static_cast<std::int64_t>(kMaxBodyRange) - 1;
    const std::vector<Tier> tiers = tiers_of(all.namespaces);
    if (tiers.empty()) return {};
    if (Status failed = look_at_the_clock(tiers.front().length); !failed.ok()) return failed;
    for (const Kind kind : kKinds) {
      kind_ = kind;
      if (kind_ != Kind::sum) steps_ = steps_of_bodies;
      // A moment has a window of each tier. Where the longest begins, shorter ones seldom count.
      for (auto tier = tiers.rbegin(); tier != tiers.rend(); ++tier) {
        if (Status failed = reset_tier(*tier); !failed.ok()) return failed;
      }
    }
    return {};
  }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  [[nodiscard]] std::vector<Tier> tiers_of(const std::vector<Namespace>& all) const {
    std::vector<Tier> by_default;
    for (const Namespace& one : all) {
      if (one.name == namespace_of(command_.key)) return one.policy.tiers;
      if (one.name.empty()) by_default = one.policy.tiers;
    }
    return by_default;
  }

  // The node's: this machine's may be wrong.
  Status look_at_the_clock(std::chrono::seconds shortest) {
    Status failed;
    for (const Kind kind : kKinds) {
      kind_ = kind;
      const Result<Range> latest = ask_range({.last = shortest, .step = shortest});
      if (latest.ok()) {
        now_ = latest->begin + latest->step * static_cast<std::int64_t>(latest->counts.size());
        return {};
      }
      failed = latest.status();
      if (!counted_nothing(failed)) break;
    }
    return failed;
  }

  // Nothing of this kind, and there is a counter of another one: it is spread over shards, which
  // outlive a reset, or an owner has not heard of its reset.
  static bool counted_nothing(const Status& status) { return status.code() == Code::wrong_type; }

  Result<Range> ask_range(RangeQuestion question) {
    question.key = command_.key;
    question.level = ReadLevel::fresh;
    question.timeout = environment_.timeout;
    question.kind = kind_;
    return begin_with_promise<Result<Range>>([&](RangeCall::Done done) {
             client_.thread().begin(RangeCall{std::move(question), std::move(done)});
           })
        .get();
  }

  // In ranges of the largest size.
  Status reset_tier(const Tier& tier) {
    const auto page = tier.length * steps_;
    Time from = tier.kept ? std::max(Time{}, now_ - *tier.kept - tier.length) : Time{};
    for (; from <= now_; from += page) {
      const Result<Range> range =
          ask_range({.from = wall_of(from), .to = wall_of(from + page), .step = tier.length});
      if (counted_nothing(range.status())) continue;
      if (!range.ok()) return range.status();
      for (std::size_t i = 0; i < range->counts.size(); ++i) {
        const Time begin = range->begin + range->step * static_cast<std::int64_t>(i);
        const Status done = range->counts[i] == 0 ? Status() : reset(begin);
        if (!done.ok()) return done;
      }
    }
    return {};
  }

  Status reset(Time moment) {
    const auto since_1970 =
        std::chrono::floor<std::chrono::milliseconds>(moment.time_since_epoch());
    const auto promise = std::make_shared<std::promise<Status>>();
    CounterChange change{.kind = OpKind::reset, .key = command_.key, .counter = kind_};
    // A majority has no say about windows.
    change.ack = command_.ack == Ack::memory ? Ack::memory : Ack::disk;
    change.timeout = environment_.timeout;
    change.at_ms = std::max<std::int64_t>(1, since_1970.count());
    client_.thread().submit(std::move(change),
                            [promise](Status status) { promise->set_value(std::move(status)); });
    Status status = promise->get_future().get();
    if (status.ok()) ++count_;
    return status;
  }

  const OpenClient& client_;
  const Environment& environment_;
  const ResetCommand& command_;
  Kind kind_ = Kind::sum;
  std::int64_t steps_ = 1;  // of a range that a node answers
  Time now_{};
  std::size_t count_ = 0;
};

}  // namespace

int run(const Environment& environment, const ResetCommand& command) {
  const auto client = open_client(environment);
  const ChangeOptions options{.ack = command.ack, .timeout = environment.timeout};
  Status status = client.ok() ? (*client)->counter(command.key).reset(options) : client.status();
  std::optional<std::size_t> windows;
  if (status.ok() && command.windows) {
    WindowReset reset(**client, environment, command);
    status = reset.run();
    windows = reset.count();
  }
  const char* const advice = command.windows ? " (the same command may be repeated)" : "";
  if (client.ok() && !status.ok())
    complain(printable(command.key) + ": " + printable(message_of(status)) + advice);
  if (environment.json) {
    nlohmann::json json = document("reset", status);
    put_key(json, command.key);
    json["windows"] = nullptr;
    if (windows) json["windows"] = *windows;
    print_json(json);
  } else if (status.ok() && windows) {
    print(for_people(std::uint64_t{*windows}) + (*windows == 1 ? " window was" : " windows were") +
          " reset");
  }
  return exit_code(status);
}

}  // namespace quipu::cli
