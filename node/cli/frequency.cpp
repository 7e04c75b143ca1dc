// quipu frequency query KEY ITEM…
#include <algorithm>
#include <nlohmann/json.hpp>

#include "node/cli/commands.h"
#include "node/cli/open_client.h"
#include "node/cli/output.h"

namespace quipu::cli {
namespace {

nlohmann::json to_json(const FrequencyQueryCommand& command,
                       const Result<FrequencyReading>& reading) {
  nlohmann::json json = document("frequency query", reading.status());
  put_key(json, command.key);
  json["items"] = nlohmann::json::array();
  for (std::size_t i = 0; i < command.items.size(); ++i) {
    nlohmann::json item;
    put_item(item, command.items[i]);
    item["count"] = nullptr;
    if (reading.ok()) item["count"] = reading->counts[i];
    json["items"].push_back(std::move(item));
  }
  for (const char* const name : {"bound", "confidence"}) json[name] = nullptr;
  put_answer(json, answered(reading));
  if (!reading.ok()) return json;
  json["bound"] = reading->bound;
  json["confidence"] = reading->confidence;
  return json;
}

void show(const FrequencyQueryCommand& command, const FrequencyReading& reading) {
  Table table({"ITEM", "COUNT", "AT LEAST"});
  for (std::size_t i = 0; i < command.items.size(); ++i) {
    const std::uint64_t count = reading.counts[i];
    table.add({printable(command.items[i]), std::to_string(count),
               std::to_string(count - std::min(count, reading.bound))});
  }
  table.print();
  const std::string text = caveat(reading.complete, reading.age);
  if (!text.empty()) complain(printable(command.key) + ": " + text);
}

Result<FrequencyReading> ask(const Environment& environment, const FrequencyQueryCommand& command) {
  const auto client = open_client(environment);
  if (!client.ok()) return client.status();
  const std::vector<std::string_view> items(command.items.begin(), command.items.end());
  Result<FrequencyReading> reading =
      (*client)
          ->frequency(command.key)
          .query(items, {.level = command.level, .timeout = environment.timeout});
  if (!reading.ok())
    complain(printable(command.key) + ": " + message_of(reading.status(), kReadOtherKinds));
  return reading;
}

}  // namespace

int run(const Environment& environment, const FrequencyQueryCommand& command) {
  const Result<FrequencyReading> reading = ask(environment, command);
  if (environment.json) {
    print_json(to_json(command, reading));
  } else if (reading.ok()) {
    show(command, *reading);
  }
  return reading.ok() ? kOk : kFailed;
}

}  // namespace quipu::cli
