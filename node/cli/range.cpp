// quipu range KEY: what was added in each step of a range of time.
#include <nlohmann/json.hpp>

#include "node/base/time_text.h"
#include "node/cli/commands.h"
#include "node/cli/open_client.h"
#include "node/cli/output.h"

namespace quipu::cli {
namespace {

Result<Range> ask(const Environment& environment, const RangeCommand& command) {
  const auto client = open_client(environment);
  if (!client.ok()) return client.status();
  const auto ask_of = [&](auto counter) {
    const ReadOptions options{.level = command.level, .timeout = environment.timeout};
    return command.last.count() > 0
               ? counter.last(command.last, command.step, options)
               : counter.range(command.from, command.to, command.step, options);
  };
  Result<Range> range = command.of_union ? ask_of((*client)->distinct(command.key))
                                         : ask_of((*client)->counter(command.key));
  if (!range.ok()) complain(printable(command.key) + ": " + message_of(range.status()));
  return range;
}

std::string summary(const Range& range) {
  std::string text = range.complete ? "complete"
                                    : "not complete: a node that may have counted cannot be heard, "
                                      "or some of these windows are no longer kept";
  return text + (range.settled_until ? "; settled until " + to_text(*range.settled_until)
                                     : "; it is not known until when it is settled");
}

nlohmann::json to_json(const std::string& key, const Result<Range>& range) {
  nlohmann::json json = document("range", range.status());
  put_key(json, key);
  for (const char* const name : {"step_s", "complete", "settled_until"}) json[name] = nullptr;
  json["steps"] = nlohmann::json::array();
  if (!range.ok()) return json;
  json["step_s"] = range->step.count();
  json["complete"] = range->complete;
  if (range->settled_until) json["settled_until"] = to_text(*range->settled_until);
  for (std::size_t i = 0; i < range->counts.size(); ++i) {
    nlohmann::json step;
    step["begin"] = to_text(range->begin + range->step * static_cast<std::int64_t>(i));
    put_value(step, range->counts[i]);
    json["steps"].push_back(std::move(step));
  }
  return json;
}

}  // namespace

int run(const Environment& environment, const RangeCommand& command) {
  const Result<Range> range = ask(environment, command);
  if (environment.json) {
    print_json(to_json(command.key, range));
  } else if (range.ok()) {
    for (std::size_t i = 0; i < range->counts.size(); ++i) {
      print(to_text(range->begin + range->step * static_cast<std::int64_t>(i)) + '\t' +
            std::to_string(range->counts[i]));
    }
    print(summary(*range));
  }
  return range.ok() ? kOk : kFailed;
}

}  // namespace quipu::cli
