// quipud: a node as a program. Exits with 0 after a requested stop, with 1 if it could not start
// or has failed, with 2 if the command line is invalid.
#include <unistd.h>  // environ

#include <exception>
#include <iostream>

#include "node/base/line_writer.h"
#include "node/base/standard_descriptors.h"
#include "node/daemon/arguments.h"
#include "node/daemon/dev.h"
#include "node/daemon/serve.h"
#include "node/daemon/signals.h"
#include "node/disk/data_directory.h"
#include "node/reactor/store_settings.h"
#include "node/settings/settings.h"
#include "node/settings/variables.h"
#include "node/tls/tls_files.h"
#include "node/users/users_file.h"

namespace quipu {
namespace {

// Like a node's log, it does not wait for a reader that hangs.
void say(const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  LineWriter out(STDERR_FILENO);
  for (const std::string& line : lines) out.put("quipud: " + line + '\n');
}

int complain(const std::vector<std::string>& errors) {
  say(errors);
  return 1;
}

int run_dev(const Arguments& arguments) {
  Signals signals(Hangup::stops);  // first, or a signal would leave the directory behind
  const TemporaryDirectory data;
  if (data.path().empty()) {
    return complain(
        {"cannot create a temporary directory: set TMPDIR to a directory that this "
         "user may write to"});
  }
  const LoadedSettings loaded = dev_settings(arguments.flags, data.path());
  if (!loaded.errors.empty()) return complain(loaded.errors);
  const auto greet = [](Node& node) {
    static_cast<void>(node.wait_ready(std::chrono::seconds(1)));
    return dev_banner(node);
  };
  return serve({.settings = loaded.settings, .greet = greet}, signals);
}

// Why a node with these settings could not use its data directory. Empty: it could.
std::string unusable_data(const LoadedSettings& loaded) {
  const NodeOptions& node = loaded.settings.node;
  const auto at = loaded.places.find("node.data_directory");
  const std::string where = at == loaded.places.end() ? "" : at->second + ": ";
  if (const Status usable = DataDirectory::check(node.data_directory); !usable.ok())
    return where + usable.detail();
  const Result<NodePlan> plan = plan_node(node);  // it is valid, or there would be errors
  const std::string foreign = why_foreign(node.data_directory, store_settings(node, *plan));
  return foreign.empty() ? "" : where + foreign;
}

int run(const Arguments& arguments) {
  if (arguments.dev) return run_dev(arguments);
  Signals signals(Hangup::reloads);
  say(mistyped_variables(names_of(environ)));
  const auto load = [&arguments] {
    return load_settings({.file = arguments.config,
                          .environment = read_variable,
                          .flags = arguments.flags,
                          .rebuild = arguments.rebuild});
  };
  const LoadedSettings loaded = load();
  if (!loaded.errors.empty()) return complain(loaded.errors);
  if (arguments.check_config) {
    const std::string why = unusable_data(loaded);
    if (!why.empty()) return complain({why});
    const std::string& users = loaded.settings.node.users_file;
    const Status read = users.empty() ? Status() : read_users_file(users).status();
    if (!read.ok()) return complain({read.detail()});
    const auto tls = TlsFiles::read(tls_paths(loaded.settings.node), wall_now());
    if (!tls.ok()) return complain({tls.status().detail()});
    say((*tls)->warnings);
    std::cout << "ok\n";
    return 0;
  }
  return serve({.settings = loaded.settings, .read_again = load}, signals);
}

}  // namespace
}  // namespace quipu

int main(int count, char** values) {
  quipu::open_standard_descriptors();
  try {
    quipu::Arguments arguments;
    const int status = quipu::parse_arguments(count, values, arguments);
    return status == quipu::kGoOn ? quipu::run(arguments) : status;
  } catch (const std::exception& error) {  // from a library: out of memory, no thread
    return quipu::complain({error.what()});
  }
}
