#include "node/daemon/arguments.h"

#include <CLI/CLI.hpp>
#include <map>

#include "node/settings/settings.h"

namespace quipu {
namespace {

constexpr int kUsageError = 2;

constexpr const char* kAbout =
    "quipud keeps counters, together with the other members of its cluster.\n\n"
    "Settings come from the file, then from QUIPU_* variables, then from flags; the\n"
    "later wins. To try it out: quipud --dev";

constexpr const char* kSignals =
    "Signals:\n"
    "  Every signal whose default action ends a process stops the node gracefully:\n"
    "  SIGTERM, SIGINT (Ctrl-C), SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM and the like.\n"
    "  SIGTERM drains it first: it serves for drain_delay_ms as before, so that clients\n"
    "  and load balancers can go elsewhere. If another one comes later than half a\n"
    "  second after the first, quipud ends at once.\n"
    "  SIGHUP makes quipud read its settings again. With --dev it stops the node, as\n"
    "  closing the terminal does.";

struct Given {
  std::map<std::string, std::string> texts;
  std::map<std::string, bool> switches;
};

void add_settings(CLI::App& app, Given& given) {
  for (const SettingFlag& setting : setting_flags()) {
    const std::string flag(setting.flag);
    const std::string help = std::string(setting.help) + " [" + std::string(setting.variable) + "]";
    if (setting.takes_value) {
      app.add_option(flag, given.texts[flag], help);
    } else {
      app.add_flag(flag, given.switches[flag], help);
    }
  }
}

void collect(const CLI::App& app, const Given& given, Arguments& arguments) {
  for (const auto& [flag, text] : given.texts) {
    if (app.count(flag) > 0) arguments.flags.emplace_back(flag, text);
  }
  for (const auto& [flag, on] : given.switches) {
    if (on) arguments.flags.emplace_back(flag, "true");
  }
}

}  // namespace

int parse_arguments(int count, const char* const* values, Arguments& arguments) {
  CLI::App app(kAbout, "quipud");
  app.footer(kSignals);
  Given given;
  app.set_version_flag("--version", "quipud " QUIPU_VERSION);
  app.add_option("--config", arguments.config, "the settings file, in TOML [QUIPU_CONFIG]")
      ->envname("QUIPU_CONFIG");
  add_settings(app, given);
  app.add_flag("--rebuild", arguments.rebuild,
               "move a store that is damaged, or that the peers refuse, aside, and fill a new one "
               "from them");
  auto* const dev = app.add_flag("--dev", arguments.dev,
                                 "one node to try things out, on 127.0.0.1:7400 or --client; its "
                                 "data goes when it stops");
  auto* const check = app.add_flag("--check-config", arguments.check_config,
                                   "say whether the settings are sound, and end");
  for (const char* const flag : {"--name", "--data", "--peer", "--rebuild"}) {
    dev->excludes(app.get_option(flag));
  }
  dev->excludes(check);
  try {
    app.parse(count, values);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageError;
  }
  collect(app, given, arguments);
  return kGoOn;
}

}  // namespace quipu
