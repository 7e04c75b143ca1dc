// quipu get KEY…: the values, one on each line, with warnings about them.
#include <future>
#include <memory>
#include <nlohmann/json.hpp>

#include "node/cli/commands.h"
#include "node/cli/open_client.h"
#include "node/cli/output.h"

namespace quipu::cli {
namespace {

std::vector<Result<Reading>> read_all(const OpenClient& client, const Environment& environment,
                                      const GetCommand& command) {
  std::vector<std::future<Result<Reading>>> answers;
  for (const std::string& key : command.keys) {
    const auto promise = std::make_shared<std::promise<Result<Reading>>>();
    answers.push_back(promise->get_future());
    client.counter(key).read(
        {.level = command.level, .timeout = environment.timeout},
        [promise](Result<Reading> reading) { promise->set_value(std::move(reading)); });
  }
  std::vector<Result<Reading>> readings;
  readings.reserve(answers.size());
  for (auto& answer : answers) readings.push_back(answer.get());
  return readings;
}

nlohmann::json to_json(const std::string& key, const Result<Reading>& reading) {
  nlohmann::json json;
  put_status(json, reading.status());
  put_key(json, key);
  put_value(json, reading.ok() ? std::optional(reading->value) : std::nullopt);
  put_answer(json, answered(reading));
  json["shards"] = nullptr;
  if (reading.ok()) json["shards"] = reading->shards;
  return json;
}

void show(const std::string& key, const Reading& reading, bool alone) {
  print(alone ? std::to_string(reading.value)
              : printable(key) + "\t" + std::to_string(reading.value));
  const std::string text = caveat(reading.complete, reading.age);
  if (!text.empty()) complain(printable(key) + ": " + text);
}

}  // namespace

int run(const Environment& environment, const GetCommand& command) {
  const auto client = open_client(environment);
  std::vector<Result<Reading>> readings(command.keys.size(), client.status());
  if (client.ok()) readings = read_all(**client, environment, command);
  Status worst = client.status();
  nlohmann::json counters = nlohmann::json::array();
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const std::string& key = command.keys[i];
    const Result<Reading>& reading = readings[i];
    if (client.ok() && !reading.ok())
      complain(printable(key) + ": " + message_of(reading.status(), kReadOtherKinds));
    if (reading.ok() && !environment.json) show(key, *reading, readings.size() == 1);
    if (environment.json) counters.push_back(to_json(key, reading));
    if (worst.ok()) worst = reading.status();
  }
  if (environment.json) {
    nlohmann::json json = document("get", worst);
    json["counters"] = std::move(counters);
    print_json(json);
  }
  return worst.ok() ? kOk : kFailed;
}

}  // namespace quipu::cli
