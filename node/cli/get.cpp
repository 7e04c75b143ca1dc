// quipu get KEY…: the values, one a line; and what is to be known about them.
#include <future>
#include <memory>
#include <nlohmann/json.hpp>

#include "node/cli/commands.h"
#include "node/cli/open_client.h"
#include "node/cli/output.h"

namespace quipu::cli {
namespace {

// A reading this old is worth a word; a live cluster's are of the last interval.
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
  for (auto& answer : answers) readings.push_back(answer.get());
  return readings;
}

nlohmann::json describe(const std::string& key, const Result<Reading>& reading) {
  if (!reading.ok()) {
    nlohmann::json json = to_json(reading.status());
    json.erase("outcome");  // of a change
    put_key(json, key);
    return json;
  }
  nlohmann::json json{{"value", reading->value},
                      {"exists", reading->exists},
                      {"complete", reading->complete},
                      {"age_ms", nullptr},
                      {"shards", reading->shards}};
  put_key(json, key);
  if (reading->age) json["age_ms"] = reading->age->count();
  return json;
}

// What a plain number does not say.
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

void show(const std::string& key, const Result<Reading>& reading, bool alone) {
  if (!reading.ok()) {
    complain(printable(key) + ": " + reading.status().message());
    return;
  }
  print(alone ? std::to_string(reading->value)
              : printable(key) + "\t" + std::to_string(reading->value));
  const std::string text = caveat(*reading);
  if (!text.empty()) complain(printable(key) + ": " + text);
}

}  // namespace

int run(const Environment& environment, const GetCommand& command) {
  const auto client = open_client(environment);
  if (!client) return kFailed;
  const std::vector<Result<Reading>> readings = read_all(*client, environment, command);
  nlohmann::json all = nlohmann::json::array();
  bool failed = false;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    failed |= !readings[i].ok();
    if (environment.json) {
      all.push_back(describe(command.keys[i], readings[i]));
    } else {
      show(command.keys[i], readings[i], readings.size() == 1);
    }
  }
  if (environment.json) print_json(all);
  return failed ? kFailed : kOk;
}

}  // namespace quipu::cli
