// quipu distinct add KEY ELEMENT…, quipu distinct count KEY…
#include <nlohmann/json.hpp>

#include "node/api/distinct_calls.h"
#include "node/cli/commands.h"
#include "node/cli/open_client.h"
#include "node/cli/output.h"

namespace quipu::cli {
namespace {

std::string names_of(const std::vector<std::string>& keys) {
  constexpr std::size_t kMost = 3;
  std::string names;
  for (std::size_t i = 0; i < std::min(keys.size(), kMost); ++i)
    names += (i == 0 ? "" : ", ") + printable(keys[i]);
  return keys.size() > kMost ? names + ", …" : names;
}

nlohmann::json to_json(const std::vector<std::string>& keys,
                       const Result<DistinctReading>& reading) {
  nlohmann::json json = document("distinct count", reading.status());
  json["counters"] = nlohmann::json::array();
  for (const std::string& key : keys) {
    nlohmann::json counter;
    put_key(counter, key);
    json["counters"].push_back(std::move(counter));
  }
  for (const char* const name : {"estimate", "standard_error"}) json[name] = nullptr;
  put_answer(json, answered(reading));
  if (!reading.ok()) return json;
  json["estimate"] = reading->estimate;
  json["standard_error"] = reading->standard_error;
  return json;
}

Result<DistinctReading> ask(const Environment& environment, const DistinctCountCommand& command) {
  const auto client = open_client(environment);
  if (!client.ok()) return client.status();
  Result<DistinctReading> reading =
      count_and_wait((*client)->shared_thread(), command.keys,
                     {.level = command.level, .timeout = environment.timeout});
  if (!reading.ok()) {
    complain(names_of(command.keys) + ": " +
             printable(message_of(reading.status(), kReadOtherKinds)));
  }
  return reading;
}

}  // namespace

int run(const Environment& environment, const DistinctAddCommand& command) {
  const std::vector<std::string_view> elements(command.elements.begin(), command.elements.end());
  const ElementOptions options{.ack = command.ack, .timeout = environment.timeout};
  return change(environment,
                {.command = "distinct add", .key = command.key, .other_kind = kAddToOtherKinds},
                [&](const OpenClient& client) {
                  return client.distinct(command.key).add_many(elements, options);
                });
}

int run(const Environment& environment, const DistinctCountCommand& command) {
  const Result<DistinctReading> reading = ask(environment, command);
  if (environment.json) {
    print_json(to_json(command.keys, reading));
  } else if (reading.ok()) {
    print(std::to_string(reading->estimate));
    const std::string text = caveat(reading->complete, reading->age);
    if (!text.empty()) complain(names_of(command.keys) + ": " + text);
  }
  return reading.ok() ? kOk : kFailed;
}

}  // namespace quipu::cli
