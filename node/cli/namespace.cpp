// quipu namespace create, set, drop, show and ls.
//
//   drop: drop the definition ─▶ reset a page of counters ─▶ the next page ─▶ …
//
// A drop asks for one step at a time, and keeps nothing on a node. Counters that were reset are no
// longer listed, so another drop goes on where this one ended.
#include <array>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>

#include "cluster/membership/config.h"
#include "node/api/call_forms.h"
#include "node/api/namespaces.h"
#include "node/base/duration_text.h"
#include "node/base/level_names.h"
#include "node/base/tier_text.h"
#include "node/cli/arguments.h"
#include "node/cli/commands.h"
#include "node/cli/interrupts.h"
#include "node/cli/open_client.h"
#include "node/cli/output.h"
#include "node/cli/progress.h"

namespace quipu::cli {
namespace {

// The default namespace as on a command line.
std::string shown(const std::string& name) { return name.empty() ? "\"\"" : printable(name); }

// ---- settings ----

struct Setting {
  const char* name;
  std::optional<std::string> text;  // nullopt: not set
  std::string if_not_set;           // what holds then
};

template <class Value, class Show>
std::optional<std::string> text_of(const std::optional<Value>& value, Show show) {
  if (!value) return std::nullopt;
  return std::string(show(*value));
}

std::array<Setting, 10> settings_of(const NamespacePolicy& policy) {
  const auto level = [](auto one) { return level_name(one); };
  const auto number = [](auto one) { return std::to_string(one); };
  const auto choice = [](bool yes) { return yes ? "yes" : "no"; };
  std::optional<std::string> tiers;
  if (!policy.tiers.empty()) tiers = to_text(policy.tiers);
  const auto duration = [](auto one) { return to_text(one); };
  return {{{"ack", text_of(policy.ack, level), "disk"},
           {"read", text_of(policy.read, level), "local"},
           {"shards", text_of(policy.shards, number), "1"},
           {"ttl", text_of(policy.ttl, duration), "none"},
           {"decide", text_of(policy.decide, level), "local"},
           {"tiers", tiers, "none"},
           {"late", text_of(policy.late, duration), "none"},
           {"kind", text_of(policy.kind, level), "any"},
           {"precision", text_of(policy.precision, number), std::to_string(kUsualPrecision)},
           {"strict", text_of(policy.strict, choice), "no"}}};
}

// Whether a namespace of this name and policy may have the setting.
bool applies(const Setting& setting, std::string_view name, const NamespacePolicy& policy) {
  const std::string_view which = setting.name;
  if (which == "strict") return name.empty();
  if (which == "kind") return !name.empty();
  return which != "precision" || policy.kind == Kind::distinct;
}

// ---- changes ----

// Not ok only. Every change of a namespace may be repeated.
std::string message(const Status& status, const std::string& more) {
  if (status.code() != Code::in_doubt) return message_of(status) + more;
  return std::string(describe(status.code()).name) + ": " + status.detail() + more;
}

nlohmann::json change_document(std::string_view command, const std::string& name,
                               const Status& status, const std::string& why) {
  nlohmann::json json = document(command, status);
  if (!status.ok()) json["message"] = why;
  put_namespace(json, name);
  return json;
}

// Names the members that have missed a change.
void tell_absent(const std::vector<std::string>& absent, const char* one, const char* several) {
  if (!absent.empty())
    complain(printable(name_list(absent)) + ' ' + (absent.size() == 1 ? one : several));
}

// ---- drop ----

struct Dropped {
  Status status{};
  bool began = false;  // a node was asked
  std::uint64_t reset = 0;
  std::vector<std::string> absent{};
};

std::string how_many_reset(std::uint64_t count) {
  return for_people(count) + (count == 1 ? " counter was reset" : " counters were reset");
}

// Not ok only.
std::string why_not(const Dropped& dropped) {
  if (!dropped.began) return message_of(dropped.status);
  if (dropped.status.code() != Code::in_doubt) return message(dropped.status, "");
  return message(dropped.status, "; " + how_many_reset(dropped.reset) +
                                     " so far, and the same command goes on from there");
}

class Drop {
 public:
  Drop(const Environment& environment, const std::string& name)
      : environment_(environment), name_(name) {}

  Dropped run() {
    const OpenClient client(environment_);
    dropped_.status = wait_usable(client.thread(), environment_.timeout, interrupts_);
    dropped_.began = dropped_.status.ok();
    while (dropped_.status.ok() && from_ != ListCursor::end) step(client);
    progress_.clear();
    return std::move(dropped_);
  }

 private:
  void step(const OpenClient& client) {
    auto answer = begin_with_promise<NamespaceDrop>([&](std::function<void(NamespaceDrop)> done) {
      begin_drop(client.thread().shared_from_this(), name_, from_, environment_.timeout,
                 std::move(done));
    });
    while (answer.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) {
      // The first Ctrl-C ends the drop after this step, the second at once.
      if (interrupts_.count() > 1) client.thread().close();
      show();
    }
    NamespaceDrop told = answer.get();
    dropped_.reset += told.reset;
    dropped_.status = std::move(told.status);
    if (from_ == ListCursor::begin) dropped_.absent = std::move(told.absent);
    if (dropped_.status.ok() && told.next <= from_)
      dropped_.status = Status(Code::in_doubt, "the list of counters does not go on");
    from_ = told.next;
    if (dropped_.status.ok() && from_ != ListCursor::end && interrupts_.count() > 0)
      dropped_.status = Status(Code::in_doubt, "interrupted");
    show();
  }

  void show() {
    const auto now = std::chrono::steady_clock::now();
    if (!progress_.due(now)) return;
    constexpr auto kEnd = static_cast<double>(ListCursor::end);
    progress_.show(now, {.share = static_cast<double>(from_) / kEnd,
                         .words = {for_people(dropped_.reset) + " counters reset"}});
  }

  const Environment& environment_;
  const std::string& name_;
  Interrupts interrupts_;  // before the client's thread, which inherits the blocked signals
  Progress progress_;
  ListCursor from_ = ListCursor::begin;
  Dropped dropped_;
};

// ---- show and ls ----

Result<std::vector<Namespace>> defined(const Environment& environment) {
  const auto client = open_client(environment);
  if (!client.ok()) return client.status();
  NamespaceReply reply = ask(**client, {.timeout = environment.timeout});
  if (reply.code == Code::ok) return std::move(reply.namespaces);
  Status why(reply.code, std::move(reply.detail));
  complain(printable(message_of(why)));
  return why;
}

}  // namespace

int run(const Environment& environment, const NamespaceChangeCommand& command) {
  const auto client = open_client(environment);
  NamespaceReply reply;
  if (client.ok()) {
    reply = ask(**client, {.action = command.action,
                           .name = command.name,
                           .policy = command.policy,
                           .fields = command.fields,
                           .timeout = environment.timeout});
  }
  const Status status = client.ok() ? Status(reply.code, reply.detail) : client.status();
  const bool doubt = status.code() == Code::in_doubt;
  const std::string why =
      message(status, doubt ? " (it may have been changed: the same command may be repeated)" : "");
  if (client.ok() && !status.ok()) complain(shown(command.name) + ": " + printable(why));
  if (status.ok())
    tell_absent(reply.absent, "does not hold it yet: it gets it when it is back",
                "do not hold it yet: they get it when they are back");
  if (environment.json) {
    nlohmann::json json = change_document(name_of(command), command.name, status, why);
    json["absent"] = reply.absent;
    print_json(json);
  }
  return exit_code(status);
}

int run(const Environment& environment, const NamespaceDropCommand& command) {
  const Dropped dropped = Drop(environment, command.name).run();
  const std::string why = why_not(dropped);
  if (dropped.status.ok()) {
    tell_absent(dropped.absent, "has not dropped it yet: it does when it is back",
                "have not dropped it yet: they do when they are back");
  } else {
    complain(dropped.began ? shown(command.name) + ": " + printable(why) : dropped.status.detail());
  }
  if (environment.json) {
    nlohmann::json json = change_document("namespace drop", command.name, dropped.status, why);
    json["reset"] = dropped.reset;
    json["absent"] = dropped.absent;
    print_json(json);
  } else if (dropped.status.ok()) {
    print(how_many_reset(dropped.reset));
  }
  return exit_code(dropped.status);
}

int run(const Environment& environment, const NamespaceShowCommand& command) {
  const Result<std::vector<Namespace>> all = defined(environment);
  Status status = all.status();
  std::optional<NamespacePolicy> policy;
  for (const Namespace& one : all.ok() ? *all : std::vector<Namespace>()) {
    if (one.name == command.name) policy = one.policy;
  }
  if (all.ok() && !policy) {
    status = Status(Code::invalid_argument,
                    "it is not defined, so its counters use the default namespace");
    complain(shown(command.name) + ": " + message_of(status));
  }
  if (environment.json) {
    nlohmann::json json = document("namespace show", status);
    put_namespace(json, command.name);
    put_policy(json, policy.value_or(NamespacePolicy{}));
    print_json(json);
  } else if (policy) {
    Table table({"SETTING", "VALUE"});
    for (const Setting& setting : settings_of(*policy)) {
      if (!applies(setting, command.name, *policy)) continue;
      table.add({setting.name, setting.text.value_or(setting.if_not_set + " (not set)")});
    }
    table.print();
  }
  return status.ok() ? kOk : kFailed;
}

int run(const Environment& environment, const NamespaceListCommand&) {
  const Result<std::vector<Namespace>> all = defined(environment);
  nlohmann::json list = nlohmann::json::array();
  Table table({"NAMESPACE", "ACK", "READ", "SHARDS", "TTL", "DECIDE", "TIERS", "LATE", "KIND",
               "PRECISION", "STRICT"});
  for (const Namespace& one : all.ok() ? *all : std::vector<Namespace>()) {
    nlohmann::json object;
    put_namespace(object, one.name);
    put_policy(object, one.policy);
    list.push_back(std::move(object));
    std::vector<std::string> row{shown(one.name)};
    for (const Setting& setting : settings_of(one.policy))
      row.push_back(setting.text.value_or("-"));
    table.add(std::move(row));
  }
  if (environment.json) {
    nlohmann::json json = document("namespace ls", all.status());
    json["namespaces"] = std::move(list);
    print_json(json);
  } else if (all.ok()) {
    table.print();
  }
  return all.ok() ? kOk : kFailed;
}

}  // namespace quipu::cli
