#include "node/cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "node/base/level_names.h"
#include "node/base/tier_text.h"
#include "node/cli/argument_values.h"
#include "node/cli/ingest_elements.h"
#include "node/cli/ingest_line.h"
#include "node/cli/other_words.h"
#include "node/cli/output.h"
#include "node/net/address.h"
#include "node/settings/settings.h"
#include "protocol/frequency_words.h"
#include "protocol/ids.h"
#include "protocol/top_words.h"
#include "quipu/counters.h"

namespace quipu::cli {
namespace {

template <class Level>
std::map<std::string, Level> all_levels() {
  std::map<std::string, Level> all;
  for (const std::string_view name : level_names(Level{})) {
    if (const auto level = level_named<Level>(name)) all.emplace(name, *level);
  }
  return all;
}
const std::map<std::string, Ack> kAcks = all_levels<Ack>();
const std::map<std::string, ReadLevel> kLevels = all_levels<ReadLevel>();
const std::map<std::string, Decide> kDecides = all_levels<Decide>();
const std::map<std::string, Kind> kKindChoices = all_levels<Kind>();
const std::map<std::string, Kind> kElementKindChoices = [] {
  std::map<std::string, Kind> all;
  for (const Kind kind : kElementKinds) all.emplace(name_of(kind), kind);
  return all;
}();

constexpr const char* kCommands =
    "write a command: add, get, distinct, frequency, top, reset, shards, ls, ingest, namespace, "
    "cluster status, config show, user new, secret or bench (see quipu --help)";
constexpr const char* kDistinctCommands = "write quipu distinct add or count";
constexpr const char* kFrequencyCommands = "write quipu frequency add, begin or query";
constexpr const char* kTopCommands = "write quipu top add, begin or list";
constexpr const char* kNamespaceCommands =
    "write quipu namespace create, set, apply, drop, show or ls";
constexpr const char* kAckHelp =
    "memory, disk or quorum: what a counted add survives\n"
    "(default: what the counter's namespace says, else disk)";
constexpr const char* kResetAckHelp =
    "memory, disk or quorum: what the reset survives\n"
    "(default: what the counter's namespace says, else disk)";
constexpr const char* kBenchAckHelp =
    "memory, disk or quorum: what a counted add survives (default: disk)";
constexpr const char* kConnectionsHelp = "how many connections, 1 to 10,000 (default: 50)";

constexpr std::int64_t kMostARate = 1'000'000'000;
constexpr std::int64_t kMostKeys = 1'000'000'000'000;
constexpr std::chrono::milliseconds kMaxTimeout = std::chrono::hours(24);

constexpr const char* kExitCodes =
    "Exit codes: 0 done; 1 failed: a change that failed was not applied; 2 not understood;\n"
    "3 unknown: a change may have happened, so repeat it only if the message says so";

// Option texts that CLI11 cannot check with our wording. A missing text was not given. An empty
// text was given, and is invalid.
struct Raw {
  std::optional<std::vector<std::string>> nodes;
  std::optional<std::string> timeout;
  std::optional<std::string> user, secret_file;
  std::optional<std::string> ca, certificate, certificate_key;
  std::optional<std::string> may, prefixes;
  std::string output = "table";
  std::optional<std::string> ack;
  std::string level = "local";
  bool local = false;
  bool fresh = false;
  bool strong = false;
  std::optional<std::string> count;
  std::optional<std::string> kind;
  std::optional<std::string> key;
  std::optional<std::string> affinity;
  std::optional<std::string> width, depth, length;
  std::optional<std::string> rate;
  std::optional<std::string> report;
  std::optional<std::string> resume;
  std::optional<std::string> at;
  std::optional<std::string> last;
  std::optional<std::string> from;
  std::optional<std::string> to;
  std::optional<std::string> step;
  bool adds = false;
  bool reads = false;
  std::optional<std::string> connections;
  std::optional<std::string> pipeline;
  std::optional<std::string> keys;
  std::optional<std::string> seconds;
  // For quipu namespace.
  std::optional<std::string> name;
  std::optional<std::string> read;
  std::optional<std::string> shards;
  std::optional<std::string> ttl;
  std::optional<std::string> tiers;
  std::optional<std::string> late;
  std::optional<std::string> precision;
  std::optional<std::string> decide;
  std::optional<std::string> strict;
};

// Takes a negative number, which CLI11 left over because it looks like an option.
void take_number(std::vector<std::string>& extras, std::optional<std::string>& number) {
  const auto at = std::find_if(extras.begin(), extras.end(), [](const std::string& text) {
    return text.size() > 1 && text[0] == '-' && text[1] >= '0' && text[1] <= '9';
  });
  if (number || at == extras.end()) return;
  number = *at;
  extras.erase(at);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Whether JSON is wanted; also for an invalid command line.
bool wants_json(int count, const char* const* arguments) {
  bool json = false;
  for (int i = 1; i < count; ++i) {
    const std::string_view word(arguments[i]);
    if (word == "--") break;
    if ((word == "-o" || word == "--output") && i + 1 < count) {
      json = std::string_view(arguments[++i]) == "json";
    } else if (word.starts_with("--output=") || (word.starts_with("-o") && word.size() > 2)) {
      json = word.ends_with("json");
    }
  }
  return json;
}

// Each has a value.
constexpr std::array kCommonOptions{
    "--node",        "--timeout",         "--user",  "--secret-file", "--ca",
    "--certificate", "--certificate-key", "--output"};

// The first word that is not an option of all commands; end() if there is none.
std::vector<std::string>::iterator command_in(std::vector<std::string>& words) {
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (*word == "-o" || std::ranges::find(kCommonOptions, *word) != kCommonOptions.end()) {
      if (++word == words.end()) break;  // its value
    } else if (!word->starts_with('-')) {
      return word;
    }
  }
  return words.end();
}

int refuse(const std::string& why, int count, const char* const* arguments) {
  complain(why);
  if (!wants_json(count, arguments)) return kUsage;
  nlohmann::json json = document("", Status(Code::invalid_argument, why));
  json["command"] = nullptr;
  print_json(json);
  return kUsage;
}

// Help for people: the value of an option has our name for it, or none.
class PlainHelp : public CLI::Formatter {
 public:
  PlainHelp() {
    label("OPTIONS", "options");
    label("SUBCOMMAND", "COMMAND");
    label("Positionals", "Arguments");
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    const bool shown = !option->get_positional() && option->get_type_size() != 0;
    return shown ? " " + option->get_type_name() : "";
  }
  // With its only command: "cluster status".
  std::string make_subcommand(const CLI::App* command) const override {
    const auto inner = command->get_subcommands({});
    if (inner.size() != 1) return CLI::Formatter::make_subcommand(command);
    std::ostringstream line;
    CLI::detail::format_help(line, command->get_name() + ' ' + inner.front()->get_name(),
                             inner.front()->get_description(), get_column_width());
    return line.str();
  }
};

// CLI11's errors, as far as our checks leave any.
std::string plain(const CLI::Error& error) {
  std::string what = first_line(error.what());
  const std::string option = what.substr(0, what.find(':'));
  if (error.get_name() == "ArgumentMismatch" && what.ends_with("missing"))
    return option + " needs a value";
  if (error.get_name() == "ArgumentMismatch") return option + " is given more than once";
  if (error.get_name() == "ConversionError") {  // "Could not convert: --hot = x"
    const std::string flag = what.substr(std::min(what.find(": ") + 2, what.size()));
    return flag.substr(0, flag.find(' ')) + " takes no value";
  }
  return what;
}

class Arguments {
 public:
  Arguments() { describe(); }

  Parsed parse(int count, const char* const* arguments) {
    std::vector<std::string> words(arguments + std::min(count, 1), arguments + count);
    translate(words);
    std::reverse(words.begin(), words.end());  // the type that CLI11 accepts
    app_.parse(std::move(words));
    check_extras();
    Parsed parsed;
    if (!config_->parsed() && !user_->parsed() && !secret_->parsed()) {
      parsed.environment.nodes = nodes_of(raw_.nodes);
      parsed.environment.credentials = credentials_of(raw_.user, raw_.secret_file);
      parsed.environment.tls = tls_of(raw_.ca, raw_.certificate, raw_.certificate_key);
    }
    if (raw_.timeout)
      parsed.environment.timeout = check_duration("--timeout", *raw_.timeout, kMaxTimeout);
    parsed.environment.json =
        check_choice<bool>({{"table", false}, {"json", true}}, "--output", raw_.output);
    parsed.command = command();
    return parsed;
  }

  // Prints the requested text: help, or the version.
  int help(const CLI::Error& error) { return app_.exit(error); }
  // CLI11 may have taken an unknown option for a missing argument.
  [[nodiscard]] std::string complaint(const CLI::Error& error) const {
    if (error.get_name() != "RequiredError") return plain(error);
    for (const std::string& word : app_.remaining(true)) {
      const bool number = word.size() > 1 && word[1] >= '0' && word[1] <= '9';
      if (word.size() > 1 && word[0] == '-' && word != "--" && !number) return not_expected(word);
    }
    return plain(error);
  }
  // Where to read more.
  [[nodiscard]] std::string see_help() const {
    std::string name = "quipu";
    const CLI::App* at = &app_;
    while (!at->get_subcommands().empty()) {
      at = at->get_subcommands().front();
      name += ' ' + at->get_name();
    }
    return " (see " + name + " --help)";
  }

 private:
  void check_extras() {
    std::vector<std::string> extras = app_.remaining(true);
    std::erase(extras, "--");
    if (takes_words()) return take_words(std::move(extras));
    if (add_->parsed() || shards_->parsed()) take_number(extras, raw_.count);
    if (extras.empty()) return;
    const std::string& word = extras.front();
    if (app_.get_subcommands().empty() && !word.starts_with('-')) throw unknown_command(word);
    throw Usage{not_expected(word) + see_help()};
  }

  // Keys, elements or items, as many as one likes.
  [[nodiscard]] bool takes_words() const {
    return get_->parsed() || count_->parsed() || add_elements_->parsed() || query_->parsed() ||
           adds_item();
  }

  [[nodiscard]] bool adds_item() const { return add_item_->parsed() || add_to_top_->parsed(); }

  // What may follow a command that has several words.
  [[nodiscard]] const char* words_after(const CLI::App* command) const {
    if (command == distinct_) return kDistinctCommands;
    if (command == top_) return kTopCommands;
    return command == frequency_ ? kFrequencyCommands : kNamespaceCommands;
  }

  static std::string names_of(const std::map<std::string, Kind>& kinds) {
    std::string names;
    for (const auto& [name, kind] : kinds) names += (names.empty() ? "" : ", ") + name;
    return names;
  }

  static std::vector<std::string> names_of(const CLI::App& commands) {
    std::vector<std::string> names;
    for (const CLI::App* one : commands.get_subcommands({})) names.push_back(one->get_name());
    return names;
  }

  // An unknown word, with suggestions from everything that is allowed there.
  [[nodiscard]] Usage unknown_command(const std::string& word) const {
    std::vector<std::string> names = names_of(app_);
    names.insert(names.end(), {"help", "version"});
    const auto meant = meant_command(word, names);
    return {in_quotes(word) + " is not a command: " +
            (meant ? "did you mean " + *meant + "? (see quipu --help)" : kCommands)};
  }

  [[nodiscard]] std::string not_expected(const std::string& word) const {
    const std::string text = in_quotes(word) + " is not expected";
    std::vector<std::string> names;
    for (const CLI::App* at = &app_;; at = at->get_subcommands().front()) {
      for (const CLI::Option* option : at->get_options({})) {
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
      }
      if (!at->get_subcommands().empty()) continue;
      const auto inner = at->get_subcommands({});
      if (word.starts_with('-') || inner.empty()) break;
      // cluster and config are followed by one word only.
      const auto meant = inner.size() == 1  ? std::optional(inner.front()->get_name())
                         : at == namespace_ ? meant_namespace_command(word, names_of(*at))
                                            : similar_word(word, names_of(*at));
      if (!meant) return text + ": " + words_after(at);
      return text + ": did you mean " + at->get_name() + ' ' + *meant + '?';
    }
    const auto meant = similar_word(word.substr(0, word.find('=')), names);
    return meant ? text + ": did you mean " + *meant + '?' : text;
  }

  // help and version are commands elsewhere. And what takes several words must know where they
  // begin.
  void translate(std::vector<std::string>& words) {
    const auto command = command_in(words);
    if (command == words.end()) return;
    if (*command == "get" || *command == "distinct" || *command == "frequency" || *command == "top")
      return cut_words(words);
    if (*command != "help" && *command != "version") return;
    const std::string flag = "--" + *command;
    words.erase(command);
    words.push_back(flag);
  }

  // CLI11 would split a key such as [a,b] if it accepted several. So it accepts one, and leaves
  // the others over. Behind "--" nothing is an option.
  void cut_words(std::vector<std::string>& words) {
    const auto mark = std::find(words.begin(), words.end(), "--");
    if (mark == words.end()) return;
    last_words_.assign(std::next(mark), words.end());
    words.erase(mark, words.end());
  }

  void take_words(std::vector<std::string> extras) {
    for (const std::string& word : extras) {
      if (word.size() > 1 && word[0] == '-') throw Usage{not_expected(word) + see_help()};
    }
    if (first_word_) words_.push_back(*first_word_);
    words_.insert(words_.end(), extras.begin(), extras.end());
    words_.insert(words_.end(), last_words_.begin(), last_words_.end());
    if (words_.empty()) throw Usage{"KEY is required" + see_help()};
    if (words_.size() == 1 && add_elements_->parsed())
      throw Usage{"ELEMENT is required" + see_help()};
    if (words_.size() == 1 && (adds_item() || query_->parsed()))
      throw Usage{"ITEM is required" + see_help()};
    if (words_.size() > 3 && adds_item()) throw Usage{not_expected(words_[3]) + see_help()};
  }

  // CLI11 itself treats an empty text as none.
  static CLI::Option& add_text(CLI::App& app, const std::string& name,
                               std::optional<std::string>& to, const std::string& help) {
    return *app.add_option_function<std::string>(
        name, [&to](const std::string& text) { to = text; }, help);
  }

  void describe() {
    // Our own texts for missing and extra arguments are better.
    app_.require_subcommand(0, 1);
    app_.allow_extras();
    app_.set_version_flag("--version", "quipu " QUIPU_VERSION, "show the version");
    app_.footer(kExitCodes);
    CLI::Option* node = app_.add_option_function<std::vector<std::string>>(
        "--node", [this](const std::vector<std::string>& nodes) { raw_.nodes = nodes; },
        "host:port of a node, or several with commas; the first is preferred\n"
        "(default: QUIPU_NODES, else 127.0.0.1:7400)");
    node->allow_extra_args(false)->type_name("HOST:PORT");
    add_text(app_, "--timeout", raw_.timeout,
             "how long to wait, such as 500ms, 5s or 2m (default: 5s; ingest: 30s)")
        .type_name("DURATION");
    add_text(app_, "--user", raw_.user,
             "the user of the nodes' users file (default: QUIPU_USER, else default)")
        .type_name("NAME");
    add_text(app_, "--secret-file", raw_.secret_file,
             "a file with the user's secret (default: QUIPU_SECRET_FILE)")
        .type_name("FILE");
    add_text(app_, "--ca", raw_.ca,
             "encrypt, and check the nodes with the CAs of this file, or of the system\n"
             "(default: QUIPU_CA, else plain text)")
        .type_name("FILE|system");
    add_text(app_, "--certificate", raw_.certificate,
             "what to show to nodes with a client_ca (default: QUIPU_CERTIFICATE)")
        .type_name("FILE");
    add_text(app_, "--certificate-key", raw_.certificate_key,
             "its key (default: QUIPU_CERTIFICATE_KEY)")
        .type_name("FILE");
    app_.add_option("-o,--output", raw_.output, "table or json (default: table)")
        ->type_name("FORMAT");
    describe_changes();
    describe_questions();
    describe_config();
    describe_users();
    describe_ingest();
    describe_namespaces();
    describe_bench();
    describe_help(app_);
    const std::string common = common_options();
    for (CLI::App* command : app_.get_subcommands({})) {
      command->group("Commands")->fallthrough()->footer(common);
      describe_help(*command);
      for (CLI::App* inner : command->get_subcommands({})) {
        inner->group("Commands")->fallthrough()->footer(common);
        describe_help(*inner);
      }
    }
  }

  static void describe_help(CLI::App& app) {
    app.formatter(std::make_shared<PlainHelp>());
    app.set_help_flag("-h,--help", "show this help");
  }

  // For the help of each command, which shows only the command's own options.
  [[nodiscard]] std::string common_options() const {
    std::vector<const CLI::Option*> options;
    options.reserve(kCommonOptions.size());
    for (const char* const name : kCommonOptions) options.push_back(app_.get_option(name));
    return PlainHelp().make_group("Options of all commands", false, std::move(options)) + "\n" +
           kExitCodes;
  }

  void describe_changes() {
    add_->add_option("KEY", add_command_.key, "the counter")->required();
    add_text(*add_, "N", raw_.count, "the amount, may be negative (default: 1)");
    add_text(*add_, "--ack", raw_.ack, kAckHelp).type_name("LEVEL");
    add_text(*add_, "--affinity", raw_.affinity,
             "an affinity, such as a user's id: all adds with one NAME go to one shard")
        .type_name("NAME");
    add_text(*add_, "--at", raw_.at,
             "when it happened, such as 2026-11-26T10:41 (UTC): it counts in the windows of\n"
             "that time, if the counter's namespace has tiers, up to its --late ago")
        .type_name("TIME");
    reset_->add_option("KEY", reset_command_.key, "the counter")->required();
    add_text(*reset_, "--ack", raw_.ack, kResetAckHelp).type_name("LEVEL");
    reset_->add_flag("--windows", reset_command_.windows,
                     "reset what it counted in time, too (quipu range), window by window");
    shards_->add_option("KEY", shards_command_.key, "the counter")->required();
    add_text(*shards_, "N", raw_.count, "how many shards, 1 to 1024; never shrinks");
  }

  void describe_questions() {
    add_text(*get_, "KEY...", first_word_, "the counters");
    describe_levels(*get_);
    distinct_->require_subcommand(0, 1);
    add_text(*add_elements_, "KEY ELEMENT...", first_word_,
             "the counter, and elements such as users' ids");
    add_text(*add_elements_, "--ack", raw_.ack, kAckHelp).type_name("LEVEL");
    add_text(*count_, "KEY...", first_word_, "the counters, which are counted together");
    describe_levels(*count_);
    frequency_->require_subcommand(0, 1);
    add_text(*add_item_, "KEY ITEM [N]", first_word_,
             "the counter, an item such as a query, and how often it came (default: 1)");
    add_text(*add_item_, "--ack", raw_.ack, kAckHelp).type_name("LEVEL");
    begin_item_->add_option("KEY", item_begin_command_.key, "the counter")->required();
    add_text(*begin_item_, "--width", raw_.width,
             "counts in a row: an estimate is too high by about 2.72 / N of all that was added\n"
             "(default: 2000)")
        .type_name("N");
    add_text(*begin_item_, "--depth", raw_.depth,
             "rows, 1 to 10: that bound holds with the probability 1 - 0.37^N (default: 7)")
        .type_name("N");
    add_text(*begin_item_, "--ack", raw_.ack, kAckHelp).type_name("LEVEL");
    add_text(*query_, "KEY ITEM...", first_word_, "the counter, and items");
    describe_levels(*query_);
    top_->require_subcommand(0, 1);
    add_text(*add_to_top_, "KEY ITEM [N]", first_word_,
             "the counter, an item of at most 128 bytes, and how often it came (default: 1)");
    add_text(*add_to_top_, "--ack", raw_.ack, kAckHelp).type_name("LEVEL");
    begin_top_->add_option("KEY", item_begin_command_.key, "the counter")->required();
    add_text(*begin_top_, "--length", raw_.length, "items in the list, 1 to 100 (default: 10)")
        .type_name("N");
    add_text(*begin_top_, "--ack", raw_.ack, kAckHelp).type_name("LEVEL");
    top_list_->add_option("KEY", top_list_command_.key, "the counter")->required();
    describe_levels(*top_list_);
    range_->add_option("KEY", range_command_.key, "the counter")->required();
    add_text(*range_, "--last", raw_.last, "the time until now, such as 1h").type_name("DURATION");
    add_text(*range_, "--from", raw_.from, "or: from that time on, such as 2026-11-26T10:41 (UTC)")
        .type_name("TIME");
    add_text(*range_, "--to", raw_.to, "until that time").type_name("TIME");
    add_text(*range_, "--step", raw_.step,
             "the length of each step, such as 1m: a multiple of the shortest windows\n"
             "(default: the shortest that are kept for all of it)")
        .type_name("DURATION");
    range_->add_flag("--union", range_command_.of_union,
                     "of a `distinct`: how many different elements were added in each step");
    describe_levels(*range_);
    ls_->add_option("PREFIX", list_command_.prefix, "only counters that begin with it");
    add_text(*ls_, "--kind", raw_.kind, "only counters of this kind: " + names_of(kKindChoices))
        .type_name("KIND");
    cluster_->require_subcommand(0, 1);
    cluster_->add_subcommand("status", "show every member, its links and its figures");
  }

  void describe_levels(CLI::App& command) {
    command.add_flag("--strong", raw_.strong,
                     "ask a majority: includes everything acknowledged at quorum");
    command.add_flag("--fresh", raw_.fresh, "ask one owner of each shard now");
    command.add_flag(
        "--local", raw_.local,
        "ask this node's memory\n(default: what the counter's namespace says, else --local)");
  }

  void describe_users() {
    user_->require_subcommand(0, 1);
    CLI::App* const make = user_->add_subcommand(
        "new", "make a user for quipud's users file: its table on stdout, its secret on stderr");
    make->add_option("NAME", user_new_command_.name, "the user's name")->required();
    add_text(*make, "--may", raw_.may,
             "what the user may do, with commas: read, count, reset, observe, admin")
        .type_name("PERMISSIONS");
    add_text(*make, "--keys", raw_.prefixes,
             "prefixes of the keys that it may use, with commas (default: all keys)")
        .type_name("PREFIXES");
    make->add_flag("--secret-stdin", user_new_command_.secret_from_stdin,
                   "take the secret from standard input: at least 20 random characters");
  }

  UserNewCommand user_new_command() {
    if (!raw_.may) throw Usage{"--may is needed: read, count, reset, observe, admin"};
    user_new_command_.may = split_list(*raw_.may);
    if (raw_.prefixes) user_new_command_.keys = split_list(*raw_.prefixes);
    return user_new_command_;
  }

  // With quipud's own flags, so that a quipud command line can be checked.
  void describe_config() {
    config_->require_subcommand(0, 1);
    CLI::App* const show = config_->add_subcommand(
        "show", "show the settings that quipud would run with, and where each comes from");
    show->add_option("--config", config_show_command_.file,
                     "the settings file, in TOML [QUIPU_CONFIG]")
        ->envname("QUIPU_CONFIG")
        ->type_name("FILE");
    for (const SettingFlag& setting : setting_flags()) {
      const std::string flag(setting.flag);
      const auto set = [this, flag](const std::string& text) {
        config_show_command_.flags.emplace_back(flag, text);
      };
      const std::string help =
          std::string(setting.help) + " [" + std::string(setting.variable) + "]";
      if (setting.takes_value) {
        show->add_option_function<std::string>(flag, set, help)->type_name("VALUE");
      } else {
        show->add_flag_callback(
            flag, [set] { set("true"); }, help);
      }
    }
  }

  void describe_ingest() {
    ingest_->add_option("FILE", ingest_command_.file,
                        "lines of KEY [N], or with --kind and --key, one element on each line;\n"
                        "blank lines are skipped (default: standard input)");
    add_text(*ingest_, "--kind", raw_.kind,
             "each line is one element, such as a word, of a counter of this kind:\n" +
                 names_of(kElementKindChoices))
        .type_name("KIND");
    add_text(*ingest_, "--key", raw_.key, "that counter").type_name("KEY");
    add_text(*ingest_, "--ack", raw_.ack, kAckHelp).type_name("LEVEL");
    add_text(*ingest_, "--rate", raw_.rate, "count at most N lines a second").type_name("N");
    add_text(*ingest_, "--report", raw_.report, "name every line that was not counted in FILE")
        .type_name("FILE");
    add_text(*ingest_, "--resume", raw_.resume,
             "record in STATE what was counted; a further run with it goes on from there")
        .type_name("STATE");
  }

  void describe_namespaces() {
    namespace_->require_subcommand(0, 1);
    const std::string any = "the namespace; \"\" is the default one";
    describe_name(*create_, "what is before the first ':' of its counters' keys");
    describe_name(*set_, any);
    describe_name(*apply_, any);
    describe_name(*drop_, "the namespace");
    describe_name(*show_, any);
    describe_policy(*create_, "");
    add_text(*create_, "--kind", raw_.kind,
             "fix the kind of its new counters for good:\n" + names_of(kKindChoices))
        .type_name("KIND");
    add_text(*create_, "--precision", raw_.precision,
             "of the kind distinct: 2^N registers in each counter, 10 to 16 (default: 14)")
        .type_name("N");
    describe_policy(*set_, ", or default");
    // Known, so that the error says why they cannot be set.
    for (const auto& [name, to] :
         {std::pair("--kind", &raw_.kind), {"--precision", &raw_.precision}})
      add_text(*set_, name, *to, "").group("");
    add_text(*set_, "--strict", raw_.strict,
             "whether adds to undefined namespaces are refused: yes, no or default\n"
             "(only of the default namespace)")
        .type_name("CHOICE");
  }

  void describe_name(CLI::App& command, const std::string& help) {
    add_text(command, "NAME", raw_.name, help).required();
  }

  // `more`: what else each setting may be.
  void describe_policy(CLI::App& command, const std::string& more) {
    add_text(command, "--ack", raw_.ack,
             "of adds and resets without --ack: memory, disk, quorum" + more)
        .type_name("LEVEL");
    add_text(command, "--read", raw_.read,
             "of reads that name no level: local, fresh, strong" + more)
        .type_name("LEVEL");
    add_text(command, "--shards", raw_.shards,
             "spread new counters over N shards: 1 to 1024" + more)
        .type_name("N");
    add_text(command, "--ttl", raw_.ttl,
             "how long a new counter lives, such as 500ms, 30s, 12h or 7d" + more)
        .type_name("DURATION");
    add_text(command, "--decide", raw_.decide,
             "where conditional commands decide: local, home" + more +
                 "\n(home: the first owner that is up gets every change of a counter)")
        .type_name("PLACE");
    add_text(command, "--tiers", raw_.tiers,
             "windows in which each add also counts, from short to long, such as\n\"" +
                 std::string(kTiersExample) + '"' + more)
        .type_name("TIERS");
    add_text(command, "--late", raw_.late,
             "how long ago an add may say that it happened (--at), such as 10m" + more)
        .type_name("DURATION");
  }

  void describe_bench() {
    bench_->add_flag("--adds", raw_.adds, "measure adds, as it does without --reads");
    bench_->add_flag("--reads", raw_.reads, "measure reads");
    add_text(*bench_, "--connections", raw_.connections, kConnectionsHelp).type_name("N");
    add_text(*bench_, "--pipeline", raw_.pipeline,
             "requests open on each, 1 to 1,024 (default: 64)")
        .type_name("N");
    add_text(*bench_, "--keys", raw_.keys,
             "use N counters at random, named bench:... (default: 1,000,000)")
        .type_name("N");
    bench_->add_flag("--hot", bench_command_.hot, "use one counter");
    bench_->add_flag("--tokens", bench_command_.tokens,
                     "give each add a token, as the library does");
    add_text(*bench_, "--ack", raw_.ack, kBenchAckHelp).type_name("LEVEL");
    bench_->add_option("--read-level", raw_.level, "local, fresh or strong (default: local)")
        ->type_name("LEVEL");
    add_text(*bench_, "--seconds", raw_.seconds, "how long to measure, 1 to 3,600 (default: 5)")
        .type_name("N");
  }

  static void check_together(bool one, bool other, const char* names) {
    if (one && other) throw Usage{std::string("give only one of ") + names};
  }

  Command command() {
    if (add_->parsed()) return add_command();
    if (get_->parsed()) return get_command();
    if (add_elements_->parsed()) return distinct_add_command();
    if (count_->parsed()) return distinct_count_command();
    if (add_item_->parsed()) return item_add_command(Kind::frequency);
    if (begin_item_->parsed() || begin_top_->parsed()) return item_begin_command();
    if (query_->parsed()) return frequency_query_command();
    if (add_to_top_->parsed()) return item_add_command(Kind::top);
    if (top_list_->parsed()) {
      check_key(top_list_command_.key);
      top_list_command_.level = level();
      return top_list_command_;
    }
    for (const CLI::App* const group : {distinct_, frequency_, top_}) {
      if (group->parsed()) throw Usage{words_after(group) + see_help()};
    }
    if (range_->parsed()) return range_command();
    if (reset_->parsed()) {
      check_key(reset_command_.key);
      reset_command_.ack = ack_or(reset_command_.ack);
      return reset_command_;
    }
    if (shards_->parsed()) return shards_command();
    if (ls_->parsed()) {
      if (raw_.kind) list_command_.kind = check_choice(kKindChoices, "--kind", *raw_.kind);
      return list_command_;
    }
    if (ingest_->parsed()) return ingest_command();
    if (bench_->parsed()) return bench_command();
    if (namespace_->parsed()) return namespace_command();
    if (!cluster_->get_subcommands().empty()) return StatusCommand{};
    if (!config_->get_subcommands().empty()) return config_show_command_;
    if (!user_->get_subcommands().empty()) return user_new_command();
    if (secret_->parsed()) return SecretCommand{};
    if (cluster_->parsed()) throw Usage{"write quipu cluster status (see quipu cluster --help)"};
    if (config_->parsed()) throw Usage{"write quipu config show (see quipu config --help)"};
    if (user_->parsed()) throw Usage{"write quipu user new (see quipu user --help)"};
    throw Usage{kCommands};
  }

  // The given level, or `otherwise`.
  [[nodiscard]] Ack ack_or(Ack otherwise) const {
    return raw_.ack ? check_choice(kAcks, "--ack", *raw_.ack) : otherwise;
  }

  Command add_command() {
    check_key(add_command_.key);
    if (raw_.count) add_command_.amount = check_amount(*raw_.count);
    add_command_.ack = ack_or(add_command_.ack);
    if (raw_.affinity && raw_.affinity->empty())
      throw Usage{"--affinity \"\": write a name, or leave it out"};
    add_command_.affinity = raw_.affinity.value_or("");
    if (raw_.at) add_command_.at = check_time("--at", *raw_.at);
    return add_command_;
  }

  Command get_command() {
    for (const std::string& key : words_) check_key(key);
    return GetCommand{words_, level()};
  }

  Command distinct_add_command() {
    check_key(words_.front());
    if (words_.size() - 1 > kMaxElements)
      throw Usage{
          "one command adds at most 16384 elements: quipu ingest --kind distinct takes more"};
    return DistinctAddCommand{
        words_.front(), {std::next(words_.begin()), words_.end()}, ack_or(Ack::by_default)};
  }

  Command distinct_count_command() {
    for (const std::string& key : words_) check_key(key);
    if (words_.size() > kMaxBatch) throw Usage{"one command counts at most 1024 counters"};
    return DistinctCountCommand{words_, level()};
  }

  Command item_add_command(Kind kind) {
    check_key(words_[0]);
    const std::optional<std::string> count =
        words_.size() > 2 ? std::optional(words_[2]) : std::nullopt;
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    return ItemAddCommand{kind, words_[0], words_[1],
                          static_cast<std::uint64_t>(check_number("N", count, {0, kMost}, 1)),
                          ack_or(Ack::by_default)};
  }

  Command item_begin_command() {
    ItemBeginCommand& begin = item_begin_command_;
    check_key(begin.key);
    begin.kind = begin_top_->parsed() ? Kind::top : Kind::frequency;
    const auto number = [](const char* name, const std::optional<std::string>& text,
                           std::uint32_t most, std::uint32_t usual) {
      return static_cast<std::uint32_t>(check_number(name, text, {1, most}, usual));
    };
    begin.size = {number("--width", raw_.width, frequency::kMostWidth, begin.size.width),
                  number("--depth", raw_.depth, frequency::kMostDepth, begin.size.depth)};
    const std::uint32_t most = frequency::most_width(begin.size.depth);
    if (begin.size.width > most) {
      throw Usage{"--width " + std::to_string(begin.size.width) + ": with this depth, 1 to " +
                  std::to_string(most)};
    }
    begin.length = number("--length", raw_.length, top::kMostListed, begin.length);
    begin.ack = ack_or(begin.ack);
    return begin;
  }

  Command frequency_query_command() {
    check_key(words_.front());
    if (words_.size() - 1 > kMaxItems) throw Usage{"one command asks about at most 1024 items"};
    return FrequencyQueryCommand{
        words_.front(), {std::next(words_.begin()), words_.end()}, level()};
  }

  [[nodiscard]] ReadLevel level() const {
    if (int{raw_.strong} + int{raw_.fresh} + int{raw_.local} > 1)
      throw Usage{"give only one of --strong, --fresh and --local"};
    if (raw_.local) return ReadLevel::local;
    if (raw_.strong) return ReadLevel::strong;
    return raw_.fresh ? ReadLevel::fresh : ReadLevel::by_default;
  }

  Command range_command() {
    check_key(range_command_.key);
    if (raw_.last.has_value() == (raw_.from || raw_.to))
      throw Usage{"give either --last, or --from and --to" + see_help()};
    if (raw_.last) {
      range_command_.last = check_seconds("--last", *raw_.last);
    } else {
      if (!raw_.from) throw Usage{"--from is missing" + see_help()};
      range_command_.from = check_time("--from", *raw_.from);
      range_command_.to = raw_.to ? check_time("--to", *raw_.to) : std::chrono::system_clock::now();
    }
    if (raw_.step) range_command_.step = check_seconds("--step", *raw_.step);
    range_command_.level = level();
    return range_command_;
  }

  Command shards_command() {
    check_key(shards_command_.key);
    std::int64_t count = 0;
    if (!parse_amount(raw_.count.value_or(""), count) || count < 1 || count > kMaxShards) {
      throw Usage{(raw_.count ? "N is " + in_quotes(*raw_.count) : "N is missing") +
                  ": write how many shards, 1 to 1024"};
    }
    shards_command_.count = static_cast<std::uint16_t>(count);
    return shards_command_;
  }

  Command ingest_command() {
    ingest_command_.ack = ack_or(ingest_command_.ack);
    if (raw_.kind || raw_.key) take_subject();
    if (raw_.timeout)
      ingest_command_.timeout = check_duration("--timeout", *raw_.timeout, kMaxTimeout);
    if (raw_.rate) ingest_command_.rate = check_number("--rate", raw_.rate, {1, kMostARate}, 0);
    ingest_command_.report = file_name("--report", raw_.report);
    ingest_command_.resume = file_name("--resume", raw_.resume);
    return ingest_command_;
  }

  // Where an ingest of elements adds them.
  void take_subject() {
    if (raw_.kind && raw_.kind == name_of(Kind::sum))
      throw Usage{"--kind sum: leave it out, and write lines of KEY [N]"};
    if (!raw_.kind) {
      throw Usage{"--key: write --kind, too: " + names_of(kElementKindChoices) +
                  " (without both, each line is KEY [N])"};
    }
    ingest_command_.kind = check_choice(kElementKindChoices, "--kind", *raw_.kind);
    if (!raw_.key) throw Usage{"--kind: write --key KEY, too: the counter that gets the elements"};
    ingest_command_.key = check_key(*raw_.key);
    // The keys of sums come from lines. And a state (--resume) has a record on each line.
    if (raw_.key->find('\n') != std::string::npos)
      throw Usage{"--key " + in_quotes(*raw_.key) + ": use a key without a newline"};
  }

  Command namespace_command() {
    if (create_->parsed()) return namespace_change(NamespaceAction::create);
    if (set_->parsed()) return namespace_change(NamespaceAction::set);
    // A set that changes nothing: it is answered once all members hold what there is.
    if (apply_->parsed()) {
      return NamespaceChangeCommand{.action = NamespaceAction::set,
                                    .name = check_namespace(*raw_.name)};
    }
    if (drop_->parsed()) {
      refuse_default("cannot be dropped");
      return NamespaceDropCommand{check_namespace(*raw_.name)};
    }
    if (show_->parsed()) return NamespaceShowCommand{check_namespace(*raw_.name)};
    if (list_->parsed()) return NamespaceListCommand{};
    throw Usage{kNamespaceCommands + see_help()};
  }

  void refuse_default(const std::string& why) const {
    if (raw_.name->empty())
      throw Usage{"NAME is \"\": the default namespace " + why +
                  "; quipu namespace set changes it"};
  }

  Command namespace_change(NamespaceAction action) {
    using Request = NamespaceRequest;
    const bool sets = action == NamespaceAction::set;
    if (!sets) refuse_default("always exists");
    NamespaceChangeCommand change{.action = action, .name = check_namespace(*raw_.name)};
    NamespacePolicy& policy = change.policy;
    if (raw_.ack) {
      change.fields |= Request::kAck;
      policy.ack = sets ? check_choice(or_default(kAcks), "--ack", *raw_.ack)
                        : check_choice(kAcks, "--ack", *raw_.ack);
    }
    if (raw_.read) {
      change.fields |= Request::kRead;
      policy.read = sets ? check_choice(or_default(kLevels), "--read", *raw_.read)
                         : check_choice(kLevels, "--read", *raw_.read);
    }
    if (raw_.shards) {
      change.fields |= Request::kShards;
      if (!sets || raw_.shards != "default") {
        policy.shards =
            static_cast<std::uint16_t>(check_number("--shards", raw_.shards, {1, kMaxShards}, 1));
      }
    }
    if (raw_.ttl) {
      change.fields |= Request::kTtl;
      if (!sets || raw_.ttl != "default") policy.ttl = check_duration("--ttl", *raw_.ttl, kMaxTtl);
    }
    if (raw_.decide) {
      change.fields |= Request::kDecide;
      policy.decide = sets ? check_choice(or_default(kDecides), "--decide", *raw_.decide)
                           : check_choice(kDecides, "--decide", *raw_.decide);
    }
    if (raw_.tiers) {
      change.fields |= Request::kTiers;
      if (!sets || raw_.tiers != "default") policy.tiers = check_tiers(*raw_.tiers);
    }
    if (raw_.late) {
      change.fields |= Request::kLate;
      if (!sets || raw_.late != "default")
        policy.late = check_duration("--late", *raw_.late, kMaxTtl);
    }
    if (raw_.kind || raw_.precision) {
      if (sets) {
        throw Usage{
            std::string(raw_.kind ? "--kind" : "--precision") +
            ": the kind of a namespace's counters, and their precision, are fixed when it is "
            "created"};
      }
      set_kind(policy);
    }
    if (raw_.strict) {
      change.fields |= Request::kStrict;
      policy.strict =
          check_choice(or_default<bool>({{"yes", true}, {"no", false}}), "--strict", *raw_.strict);
      if (!change.name.empty()) throw Usage{"--strict: only the default namespace, \"\", has it"};
    }
    if (sets && change.fields == 0)
      throw Usage{
          "nothing to set: give --ack, --read, --shards, --ttl, --decide, --tiers, --late or "
          "--strict" +
          see_help()};
    return change;
  }

  void set_kind(NamespacePolicy& policy) const {
    if (raw_.kind) policy.kind = check_choice(kKindChoices, "--kind", *raw_.kind);
    if (!raw_.precision) return;
    policy.precision = static_cast<std::uint8_t>(
        check_number("--precision", raw_.precision, {kLeastPrecision, kMostPrecision}, 0));
    if (policy.kind != Kind::distinct)
      throw Usage{"--precision: only counters of --kind distinct have one"};
  }

  Command bench_command() {
    check_together(raw_.adds, raw_.reads, "--adds and --reads");
    check_together(raw_.keys.has_value(), bench_command_.hot, "--keys and --hot");
    if (raw_.reads) bench_command_.what = BenchCommand::What::reads;
    BenchCommand& bench = bench_command_;
    bench.connections =
        check_number("--connections", raw_.connections, {1, 10'000}, bench.connections);
    bench.pipeline = check_number("--pipeline", raw_.pipeline, {1, 1024}, bench.pipeline);
    bench.keys = check_number("--keys", raw_.keys, {1, kMostKeys}, bench.keys);
    bench.seconds = std::chrono::seconds(check_number("--seconds", raw_.seconds, {1, 3600}, 5));
    bench_command_.ack = ack_or(bench_command_.ack);
    bench_command_.level = check_choice(kLevels, "--read-level", raw_.level);
    return bench_command_;
  }

  // The words of a command that takes several: the first one, those behind "--", and all of them.
  std::optional<std::string> first_word_;
  std::vector<std::string> last_words_;
  std::vector<std::string> words_;
  CLI::App app_{"Counts in a Quipu cluster.", "quipu"};
  CLI::App* add_ = app_.add_subcommand("add", "add a number to a counter");
  CLI::App* get_ = app_.add_subcommand("get", "read counters");
  CLI::App* distinct_ =
      app_.add_subcommand("distinct", "count how many different elements counters have");
  CLI::App* add_elements_ = distinct_->add_subcommand("add", "add elements to a counter");
  CLI::App* count_ =
      distinct_->add_subcommand("count", "count the different elements of counters, about");
  CLI::App* frequency_ = app_.add_subcommand("frequency", "count how often each item came, about");
  CLI::App* add_item_ = frequency_->add_subcommand("add", "count an item");
  CLI::App* begin_item_ = frequency_->add_subcommand("begin", "begin a counter with a size");
  CLI::App* query_ = frequency_->add_subcommand("query", "tell how often items came, at most");
  CLI::App* top_ = app_.add_subcommand("top", "list the most frequent items");
  CLI::App* add_to_top_ = top_->add_subcommand("add", "count an item");
  CLI::App* begin_top_ = top_->add_subcommand("begin", "begin a counter with a length");
  CLI::App* top_list_ = top_->add_subcommand("list", "list the most frequent items of a counter");
  CLI::App* range_ = app_.add_subcommand("range", "show what a counter counted in time");
  CLI::App* reset_ = app_.add_subcommand("reset", "clear what a counter has counted so far");
  CLI::App* shards_ = app_.add_subcommand("shards", "spread a hot counter over N shards");
  CLI::App* ls_ = app_.add_subcommand("ls", "list counters");
  CLI::App* ingest_ = app_.add_subcommand("ingest", "count a file's lines, each exactly once");
  CLI::App* namespace_ =
      app_.add_subcommand("namespace", "define settings for all counters with one key prefix");
  CLI::App* create_ = namespace_->add_subcommand("create", "define a namespace");
  CLI::App* set_ = namespace_->add_subcommand("set", "change the settings that are given");
  CLI::App* apply_ = namespace_->add_subcommand("apply", "see that all members hold its settings");
  CLI::App* drop_ =
      namespace_->add_subcommand("drop", "drop its definition, and reset all its counters");
  CLI::App* show_ = namespace_->add_subcommand("show", "show its settings");
  CLI::App* list_ = namespace_->add_subcommand("ls", "list all namespaces and their settings");
  CLI::App* cluster_ = app_.add_subcommand("cluster", "look at the cluster");
  CLI::App* config_ = app_.add_subcommand("config", "look at quipud's settings");
  CLI::App* user_ = app_.add_subcommand("user", "make users for quipud's users file");
  CLI::App* secret_ =
      app_.add_subcommand("secret", "make a secret for the links between quipud's members");
  CLI::App* bench_ =
      app_.add_subcommand("bench", "measure how many adds or reads a running cluster does");

  Raw raw_;
  AddCommand add_command_;
  TopListCommand top_list_command_;
  ItemBeginCommand item_begin_command_;
  RangeCommand range_command_;
  ResetCommand reset_command_;
  ShardsCommand shards_command_;
  ListCommand list_command_;
  IngestCommand ingest_command_;
  ConfigShowCommand config_show_command_;
  UserNewCommand user_new_command_;
  BenchCommand bench_command_;
};

}  // namespace

std::variant<Parsed, int> parse_arguments(int count, const char* const* arguments) {
  Arguments all;
  try {
    return all.parse(count, arguments);
  } catch (const CLI::Error& error) {
    if (error.get_exit_code() == 0) return all.help(error);
    return refuse(all.complaint(error) + all.see_help(), count, arguments);
  } catch (const Usage& usage) {
    return refuse(usage.text, count, arguments);
  }
}

std::string_view name_of(const Command& command) {
  struct Name {
    std::string_view operator()(const AddCommand&) const { return "add"; }
    std::string_view operator()(const GetCommand&) const { return "get"; }
    std::string_view operator()(const DistinctAddCommand&) const { return "distinct add"; }
    std::string_view operator()(const DistinctCountCommand&) const { return "distinct count"; }
    std::string_view operator()(const ItemAddCommand& command) const {
      return command.kind == Kind::top ? "top add" : "frequency add";
    }
    std::string_view operator()(const ItemBeginCommand& command) const {
      return command.kind == Kind::top ? "top begin" : "frequency begin";
    }
    std::string_view operator()(const FrequencyQueryCommand&) const { return "frequency query"; }
    std::string_view operator()(const TopListCommand&) const { return "top list"; }
    std::string_view operator()(const RangeCommand&) const { return "range"; }
    std::string_view operator()(const ResetCommand&) const { return "reset"; }
    std::string_view operator()(const ShardsCommand&) const { return "shards"; }
    std::string_view operator()(const ListCommand&) const { return "ls"; }
    std::string_view operator()(const IngestCommand&) const { return "ingest"; }
    std::string_view operator()(const NamespaceChangeCommand& command) const {
      if (command.action == NamespaceAction::create) return "namespace create";
      return command.fields == 0 ? "namespace apply" : "namespace set";
    }
    std::string_view operator()(const NamespaceDropCommand&) const { return "namespace drop"; }
    std::string_view operator()(const NamespaceShowCommand&) const { return "namespace show"; }
    std::string_view operator()(const NamespaceListCommand&) const { return "namespace ls"; }
    std::string_view operator()(const StatusCommand&) const { return "cluster status"; }
    std::string_view operator()(const ConfigShowCommand&) const { return "config show"; }
    std::string_view operator()(const BenchCommand&) const { return "bench"; }
    std::string_view operator()(const UserNewCommand&) const { return "user new"; }
    std::string_view operator()(const SecretCommand&) const { return "secret"; }
  };
  return std::visit(Name{}, command);
}

}  // namespace quipu::cli
