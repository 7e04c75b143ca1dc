// quipu get KEY…: the values, one on each line, with warnings about them.
#include <future>
#include <memory>
#include <nlohmann/json.hpp>

#include "node/cli/commands.h"
#include "node/cli/open_client.h"
#include "node/cli/output.h"

namespace quipu::cli {
namespace {

// A reading this old gets a warning. In a live cluster it is at most some intervals old.
constexpr std::chrono::milliseconds kStale{1000};

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

// Warnings that a plain number cannot show.
std::string caveat(const Reading& reading) {
  std::string text;
  if (!reading.complete) text = "adds counted by a node that cannot be heard now may be missing";
  if (!reading.age || *reading.age > kStale) {
    if (!text.empty()) text += "; ";
    text += reading.age ? "this is how it was " + for_people(reading.age) + " ago"
                        : "its age is unknown";
  }
  return text.empty() ? text : text + " (read with --fresh or --strong)";
}

nlohmann::json to_json(const std::string& key, const Result<Reading>& reading) {
  nlohmann::json json;
  put_status(json, reading.status());
  put_key(json, key);
  put_value(json, reading.ok() ? std::optional(reading->value) : std::nullopt);
  for (const char* const name : {"exists", "complete", "age_ms", "shards"}) json[name] = nullptr;
  json["caveat"] = reading.ok() ? caveat(*reading) : "";
  if (!reading.ok()) return json;
  json["exists"] = reading->exists;
  json["complete"] = reading->complete;
  json["shards"] = reading->shards;
  if (reading->age) json["age_ms"] = reading->age->count();
  return json;
}

void show(const std::string& key, const Reading& reading, bool alone) {
  print(alone ? std::to_string(reading.value)
              : printable(key) + "\t" + std::to_string(reading.value));
  const std::string text = caveat(reading);
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
      complain(printable(key) + ": " + message_of(reading.status()));
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
