// quipu top list KEY
#include <nlohmann/json.hpp>

#include "node/cli/commands.h"
#include "node/cli/open_client.h"
#include "node/cli/output.h"

namespace quipu::cli {
namespace {

nlohmann::json to_json(const TopListCommand& command, const Result<TopReading>& reading) {
  nlohmann::json json = document("top list", reading.status());
  put_key(json, command.key);
  json["items"] = nlohmann::json::array();
  put_answer(json, answered(reading));
  if (!reading.ok()) return json;
  for (const TopItem& one : reading->items) {
    nlohmann::json item;
    put_item(item, one.item);
    item["lower"] = one.lower;
    item["upper"] = one.upper;
    item["certain"] = one.certain;
    json["items"].push_back(std::move(item));
  }
  return json;
}

void show(const TopListCommand& command, const TopReading& reading) {
  Table table({"ITEM", "AT LEAST", "AT MOST", "CERTAIN"});
  for (const TopItem& one : reading.items) {
    table.add({printable(one.item), std::to_string(one.lower), std::to_string(one.upper),
               one.certain ? "yes" : "no"});
  }
  table.print();
  const std::string text = caveat(reading.complete, reading.age);
  if (!text.empty()) complain(printable(command.key) + ": " + text);
}

Result<TopReading> ask(const Environment& environment, const TopListCommand& command) {
  const auto client = open_client(environment);
  if (!client.ok()) return client.status();
  Result<TopReading> reading =
      (*client)->top(command.key).list({.level = command.level, .timeout = environment.timeout});
  if (!reading.ok())
    complain(printable(command.key) + ": " + message_of(reading.status(), kReadOtherKinds));
  return reading;
}

}  // namespace

int run(const Environment& environment, const TopListCommand& command) {
  const Result<TopReading> reading = ask(environment, command);
  if (environment.json) {
    print_json(to_json(command, reading));
  } else if (reading.ok()) {
    show(command, *reading);
  }
  return reading.ok() ? kOk : kFailed;
}

}  // namespace quipu::cli
