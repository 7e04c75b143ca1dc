#include "node/clients/resp/resp_scripts.h"

#include <algorithm>
#include <array>
#include <deque>

#include "node/clients/resp/resp_decisions.h"
#include "node/clients/resp/resp_questions.h"

namespace quipu {
namespace {

using Words = RespConnection::Words;

constexpr std::string_view kNoScript = "NOSCRIPT No matching script. Please use EVAL.";

bool writes(const RespCommand& command) { return command.flags.starts_with("write"); }

// ---- one run ----

// Executes the commands of one script.
class ScriptCommands {
 public:
  ScriptCommands(const PackedScript& script, Decisions& on) : script_(script), on_(on) {}

  std::string execute(Words words) {
    std::string reply;
    RespWriter to(reply, RespWriter::Version::resp2);
    const RespCommand* const command = find_command(words[0]);
    const RespRule* const rule = command == nullptr ? nullptr : rule_of(*command);
    if (command == nullptr) {
      to.error("ERR Unknown Redis command called from script");
    } else if (!command->accepts(words.size())) {
      to.error("ERR Wrong number of args calling Redis command from script");
    } else if (rule == nullptr) {
      to.error("ERR This Redis command is not allowed from script");
    } else if (!script_.may.has(command->needs)) {
      to.error("NOPERM ACL failure in script: the user has no permissions to run the '" +
               std::string(command->name) + "' command");
    } else if (script_.read_only && writes(*command)) {
      to.error("ERR Write commands are not allowed from read-only scripts.");
    } else {
      carry_out(*command, *rule, with_prefix(*command, words), on_, to);
      if (writes(*command) && !reply.starts_with('-')) ++applied_;
    }
    return reply;
  }
  // How many changed something.
  [[nodiscard]] std::size_t applied() const { return applied_; }

 private:
  Words with_prefix(const RespCommand& command, Words words) {
    if (script_.prefix.empty() || !command.keys.any()) return words;
    words_.assign(words.begin(), words.end());
    names_.clear();
    for_each_key(command, std::span(words_), [this](std::string_view& key) {
      if (!key.empty()) key = names_.emplace_back(std::string(script_.prefix) + std::string(key));
    });
    return words_;
  }

  const PackedScript& script_;
  Decisions& on_;
  std::size_t applied_ = 0;
  std::vector<std::string_view> words_;
  std::deque<std::string> names_;
};

// ---- EVAL, EVALSHA, EVAL_RO, EVALSHA_RO ----

void run_without_keys(RespConnection& connection, const PackedScript& script) {
  connection.count_decision();
  Decisions none({}, connection.server().context.port.core()->executor());
  Done done;
  done.detail =
      run_script(connection.server().scripts.engine(), script, connection.version(), none);
  RespWriter to = connection.writer();
  write_decided(connection, done, to);
}

void run_with_keys(RespConnection& connection, const PackedScript& script) {
  PackedCommands packed(script.read_only ? PackedForm::read_only_script : PackedForm::script,
                        connection.version());
  const std::string count = std::to_string(script.keys.size());
  const std::string may = std::to_string(script.may.bits());
  std::vector<std::string_view> words{script.text, script.prefix, may, count};
  words.insert(words.end(), script.keys.begin(), script.keys.end());
  words.insert(words.end(), script.args.begin(), script.args.end());
  if (!packed.add(words) || packed.bytes().size() > kMaxDecisionWords)
    return connection.error("ERR a script has at most 2044 keys and arguments, of 256 KiB");
  Op op{.key = script.keys.front(),
        .words = connection.keep(packed.take()),
        .kind = OpKind::decide,
        .ack = Ack::memory};
  for (const std::string_view key : script.keys)
    op.ack = std::max(op.ack, connection.server().ack_for(key));
  ask_decision(connection, op);
}

// How many of the words are keys. Nothing: it is no such number, and the client has the error.
std::optional<std::size_t> count_keys(RespConnection& connection, Words words) {
  const auto count = to_integer(words[2]);
  if (!count) {
    connection.error(kNotAnInteger);
  } else if (*count > static_cast<std::int64_t>(words.size()) - 3) {
    connection.error("ERR Number of keys can't be greater than number of args");
  } else if (*count < 0) {
    connection.error("ERR Number of keys can't be negative");
  } else {
    return static_cast<std::size_t>(*count);
  }
  return std::nullopt;
}

enum class Writes { allowed, refused };

// REQUIRES: the words have the full names of their keys.
void evaluate(RespConnection& connection, std::string_view text, std::size_t keys, Words words,
              Writes writes) {
  const ScriptPromise promise = promise_of_script(text);
  if (writes == Writes::refused && promise == ScriptPromise::may_write)
    return connection.error("ERR Can not execute a script with write flag using *_ro command.");
  PackedScript script{
      .read_only = writes == Writes::refused || promise == ScriptPromise::writes_nothing,
      // The keys that it names are permitted.
      .may = connection.permit().rights() | kEveryKey,
      .text = text,
      .prefix = connection.prefix()};
  const auto args = words.begin() + 3 + static_cast<std::ptrdiff_t>(keys);
  script.keys.assign(words.begin() + 3, args);
  script.args.assign(args, words.end());
  if (!std::ranges::all_of(script.keys, is_key)) return connection.error(kImpossibleKey);
  script.keys.empty() ? run_without_keys(connection, script) : run_with_keys(connection, script);
}

template <Writes kWrites>
void eval(RespConnection& connection, Words words) {
  const auto keys = count_keys(connection, words);
  if (!keys) return;
  if (words[1].size() <= kMaxScriptText) (void)connection.server().scripts.remember(words[1]);
  evaluate(connection, words[1], *keys, words, kWrites);
}

constexpr std::size_t kSha1Digits = 40;

// As in Redis, a wrong number of keys comes before a script that is not known.
template <Writes kWrites>
void evalsha(RespConnection& connection, Words words) {
  if (words[1].size() != kSha1Digits) return connection.error(kNoScript);
  const auto keys = count_keys(connection, words);
  if (!keys) return;
  const std::string* const text = connection.server().scripts.find(lowered(words[1]));
  if (text == nullptr) return connection.error(kNoScript);
  evaluate(connection, connection.keep(*text), *keys, words, kWrites);
}

// ---- SCRIPT ----

void load(RespConnection& connection, Words words) {
  RespScripts& scripts = connection.server().scripts;
  if (const auto why = scripts.engine().objection(words[2])) return connection.error(*why);
  connection.writer().bulk(scripts.remember(words[2]));
}

void exist(RespConnection& connection, Words words) {
  RespWriter to = connection.writer();
  to.array(words.size() - 2);
  for (const std::string_view sha1 : words.subspan(2))
    to.integer(connection.server().scripts.find(lowered(sha1)) != nullptr ? 1 : 0);
}

void flush(RespConnection& connection, Words words) {
  if (words.size() > 3 ||
      (words.size() == 3 && !same_word(words[2], "async") && !same_word(words[2], "sync")))
    return connection.error("ERR SCRIPT FLUSH only support SYNC|ASYNC option");
  connection.server().scripts.forget_all();
  connection.ok();
}

constexpr std::string_view kScriptCategories = "@slow @scripting";
constexpr std::string_view kEvalSyntax = "script numkeys:integer [key...] [arg...]";
constexpr std::string_view kEvalShaSyntax = "sha1 numkeys:integer [key...] [arg...]";

constexpr std::array kScriptSubcommands{
    RespCommand{"load",
                3,
                load,
                kAuthenticated,
                "noscript stale",
                {},
                kScriptCategories,
                "scripting",
                "2.6.0",
                "Remembers a script at this node, and tells its SHA1.",
                "script"},
    RespCommand{"exists",
                -3,
                exist,
                kAuthenticated,
                "noscript",
                {},
                kScriptCategories,
                "scripting",
                "2.6.0",
                "Tells which scripts this node remembers.",
                "sha1..."},
    RespCommand{"flush",
                -2,
                flush,
                kMayAdminister,
                "noscript",
                {},
                kScriptCategories,
                "scripting",
                "2.6.0",
                "Forgets all scripts at this node.",
                "[ASYNC|SYNC]"},
    help_row("scripting", "5.0.0", kScriptCategories),
};

constexpr std::array kScriptCommands{
    RespCommand{"eval", -3, eval<Writes::allowed>, kAuthenticated,
                "noscript stale skip_monitor no_mandatory_keys movablekeys",
                counted_keys("RW access update"), kScriptCategories, "scripting", "2.6.0",
                "Runs a Lua script about counters, as one change.", kEvalSyntax},
    RespCommand{"evalsha", -3, evalsha<Writes::allowed>, kAuthenticated,
                "noscript stale skip_monitor no_mandatory_keys movablekeys",
                counted_keys("RW access update"), kScriptCategories, "scripting", "2.6.0",
                "Runs a script that this node remembers.", kEvalShaSyntax},
    RespCommand{"eval_ro", -3, eval<Writes::refused>, kAuthenticated,
                "readonly noscript stale skip_monitor no_mandatory_keys movablekeys",
                counted_keys("RO access"), kScriptCategories, "scripting", "7.0.0",
                "Runs a Lua script that changes nothing.", kEvalSyntax},
    RespCommand{"evalsha_ro", -3, evalsha<Writes::refused>, kAuthenticated,
                "readonly noscript stale skip_monitor no_mandatory_keys movablekeys",
                counted_keys("RO access"), kScriptCategories, "scripting", "7.0.0",
                "Runs a script that this node remembers and that changes nothing.", kEvalShaSyntax},
    RespCommand{"script",
                -2,
                nullptr,
                kAuthenticated,
                "",
                {},
                "@slow",
                "scripting",
                "2.6.0",
                "A container for commands about scripts.",
                "",
                kScriptSubcommands},
};

}  // namespace

std::string RespScripts::remember(std::string_view text) {
  std::string sha1 = sha1_hex(text);
  if (const auto known = scripts_.find(sha1); known != scripts_.end()) {
    known->second.used = ++uses_;
    return sha1;
  }
  if (scripts_.size() == kMost) {
    scripts_.erase(std::ranges::min_element(scripts_, {},
                                            [](const auto& script) { return script.second.used; }));
  }
  scripts_[sha1] = {std::string(text), ++uses_};
  return sha1;
}

const std::string* RespScripts::find(std::string_view sha1) {
  const auto at = scripts_.find(sha1);
  if (at == scripts_.end()) return nullptr;
  at->second.used = ++uses_;
  return &at->second.text;
}

ScriptEngine& RespScripts::engine() {
  if (!engine_) engine_ = std::make_unique<ScriptEngine>();
  return *engine_;
}

std::optional<PackedScript> read_script(PackedReader& from) {
  std::vector<std::string_view> words, none;
  constexpr std::size_t kFixed = 4;
  if (!from.next(words) || words.size() < kFixed || from.next(none) || !from.sound())
    return std::nullopt;
  const auto may = to_integer(words[2]), count = to_integer(words[3]);
  if (!may || *may < 0 || *may > kAllRights.bits()) return std::nullopt;
  if (!count || *count < 1 || *count > static_cast<std::int64_t>(words.size() - kFixed))
    return std::nullopt;
  PackedScript script{.read_only = from.form() == PackedForm::read_only_script,
                      .may = Rights(static_cast<std::uint16_t>(*may)),
                      .text = words[0],
                      .prefix = words[1]};
  const auto keys = words.begin() + kFixed;
  const auto end_of_keys = keys + static_cast<std::ptrdiff_t>(*count);
  script.keys.assign(keys, end_of_keys);
  script.args.assign(end_of_keys, words.end());
  const auto is_sound = [&script](std::string_view key) {
    return is_key(key) && key.starts_with(script.prefix);
  };
  return std::ranges::all_of(script.keys, is_sound) ? std::optional(std::move(script))
                                                    : std::nullopt;
}

std::string run_script(ScriptEngine& engine, const PackedScript& script,
                       RespWriter::Version version, Decisions& on) {
  std::vector<std::string_view> keys;
  for (const std::string_view key : script.keys) keys.push_back(key.substr(script.prefix.size()));
  ScriptCommands commands(script, on);
  std::string reply = engine.run({script.text, keys, script.args}, version,
                                 [&commands](Words words) { return commands.execute(words); });
  // The error of one command, which says that nothing was changed, is now that of the script.
  constexpr std::string_view kNotApplied = "-NOTAPPLIED ";
  if (commands.applied() > 0 && reply.starts_with(kNotApplied)) {
    reply.replace(0, kNotApplied.size(),
                  "-PARTIAL " + std::to_string(commands.applied()) +
                      " commands of the script changed something before this error: ");
    if (const std::size_t at = reply.find(kNothingChanged); at != reply.npos)
      reply.erase(at, kNothingChanged.size());
  }
  return reply;
}

std::span<const RespCommand> script_commands() { return kScriptCommands; }

}  // namespace quipu
