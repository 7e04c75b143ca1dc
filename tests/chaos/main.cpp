// quipu_chaos: breaks a cluster of real processes for some minutes, and checks what
// its clients were told. `tests/chaos/run` builds and runs it.
//
//   network, disks ──▶ five quipud ──▶ load ──▶ calm ──▶ campaign of faults
//     ──▶ healed ──▶ every key on every node ──▶ checker ──▶ report, timeline, history
//
// Exit 0: passed. 1: failed. 2: usage. 130: interrupted.
#include <CLI/CLI.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <set>

#include "tests/chaos/aftermath.h"
#include "tests/chaos/campaign.h"
#include "tests/chaos/loopback.h"
#include "tests/chaos/namespaces.h"
#include "tests/chaos/report.h"
#include "tests/chaos/workload.h"

namespace quipu::chaos {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::steady_clock;

volatile std::sig_atomic_t interrupted = 0;

struct Arguments {
  double minutes = 3;
  std::uint64_t seed = 0;
  std::size_t reactors = 0;                                       // 0: one or two, as the seed says
  enum class Tls : std::uint8_t { any, no, yes } tls = Tls::any;  // any: as the seed says
  std::string nemesis = "mixed";
  std::string directory = "chaos-runs";
  unsigned kinds = 15;
  bool loopback = false;
  bool plain_disks = false;
  bool lying_syncs = false;
};

// The checks of sums need the rest.
constexpr unsigned kMostOfOtherKinds = 50;
constexpr seconds kCalmBefore{8};
constexpr seconds kToConverge{30};  // promised after healing (P3)

std::string seconds_text(const Recorder& recorder) {
  return std::to_string(std::chrono::duration_cast<seconds>(recorder.now()).count()) + " s ";
}

void say(const std::string& line) { std::cout << "chaos: " << line << std::endl; }

// ---- which faults ----

bool matches(const Nemesis& kind, const std::string& asked) {
  using enum Nemesis::Family;
  return asked == "mixed" || kind.name == asked || (asked == "process" && kind.family == process) ||
         (asked == "network" && kind.family == network) || (asked == "disk" && kind.family == disk);
}

// The faults that a list with commas names. Empty: one of its names is unknown.
std::vector<Nemesis> choose(const std::string& list) {
  std::set<std::string_view> chosen;
  std::istringstream names(list);
  for (std::string name; std::getline(names, name, ',');) {
    bool known = false;
    for (const Nemesis& kind : all_nemeses()) {
      if (!matches(kind, name)) continue;
      known = true;
      chosen.insert(kind.name);
    }
    if (!known) return {};
  }
  std::vector<Nemesis> kinds = all_nemeses();
  std::erase_if(kinds, [&](const Nemesis& kind) { return !chosen.contains(kind.name); });
  return kinds;
}

std::vector<Nemesis> possible(const std::vector<Nemesis>& asked, const Testbed& testbed, Run& run) {
  std::vector<Nemesis> kinds;
  for (const Nemesis& kind : asked) {
    const std::string why = kind.why_not(testbed);
    if (why.empty()) {
      kinds.push_back(kind);
    } else {
      run.skipped.emplace_back(kind.name, why);
      say("skipped " + std::string(kind.name) + ": " + why);
    }
  }
  return kinds;
}

// ---- the world ----

// Empty: this process is in a world of its own, where it may mount.
std::string why_no_private_world(const Arguments& arguments) {
  return arguments.loopback ? "--loopback was given" : enter_private_world();
}

std::unique_ptr<Network> make_network(std::string why_no_namespaces, const Arguments& arguments,
                                      Run& run) {
  if (why_no_namespaces.empty()) {
    try {
      auto namespaces = std::make_unique<Namespaces>(run.directory, arguments.seed);
      run.network = namespaces->describe();
      return namespaces;
    } catch (const std::exception& error) {
      why_no_namespaces = error.what();
    }
  }
  run.network = "loopback, through a proxy, as there are no namespaces: " + why_no_namespaces;
  say(run.network);
  return std::make_unique<Loopback>(arguments.seed);
}

// Mounts in a world that is not our own would outlive a kill -9.
std::string why_no_loop(const std::string& why_no_world, const Arguments& arguments,
                        const fs::path& directory) {
  if (arguments.plain_disks) return "--plain-disks was given";
  if (!why_no_world.empty()) return "no mount namespace: " + why_no_world;
  return Disk::why_no_loop(directory);
}

std::vector<Disk> make_disks(Disk::Kind kind, const fs::path& directory) {
  std::vector<Disk> disks;
  for (std::size_t node = 0; node < kNodes; ++node) {
    disks.emplace_back(kind, directory / (name_of(node) + "-disk"));
  }
  return disks;
}

Programs programs(const Arguments& arguments) {
  const fs::path bin = fs::read_symlink("/proc/self/exe").parent_path();
  return {bin / "quipud", bin / "quipu", bin.parent_path() / "lib" / "libquipu_faulty_machine.so",
          arguments.lying_syncs};
}

Nodes nodes_of(const Network& network, const ProtectionFiles& protection) {
  Nodes nodes{.addresses = {}, .tls = {.ca = protection.ca}};
  for (std::size_t node = 0; node < kNodes; ++node)
    nodes.addresses.push_back(network.dialed(node).client);
  return nodes;
}

ProtectionFiles protect(const Network& network, const fs::path& directory) {
  std::vector<std::string> hosts;
  for (std::size_t node = 0; node < kNodes; ++node) {
    const std::string address = network.dialed(node).client;
    hosts.push_back(address.substr(0, address.rfind(':')));
  }
  return write_protection(directory, hosts);
}

// ---- the run ----

// Kinds of which no add was acknowledged, or no strong read was answered: nothing was checked.
std::string untested_kinds(const History& history) {
  std::string names;
  for (const Kind kind : {Kind::distinct, Kind::frequency, Kind::top}) {
    const auto was_added = [&](const Add& add) {
      return kind_of(add.key) == kind && add.answer == Answer::ok;
    };
    const auto was_read = [&](const Read& one) {
      return kind_of(one.key) == kind && one.level == ReadLevel::strong && one.value;
    };
    if (std::ranges::none_of(history.adds, was_added) ||
        std::ranges::none_of(history.reads, was_read))
      names += std::string(" ") + name_of(kind);
  }
  return names;
}

void judge(Run& run, const History& history, const Arguments& arguments, const Cluster& cluster) {
  run.findings = cluster.findings();
  run.rebuilds = cluster.rebuilds();
  run.violations = check(history);
  run.invalid = why_invalid(history, {});
  if (const std::string kinds = untested_kinds(history); arguments.kinds > 0 && !kinds.empty())
    run.findings.push_back("no add was acknowledged and read strongly of the kind" + kinds);
  if (!run.agreed && run.violations.empty()) {
    run.findings.push_back("some keys were not complete on every node " +
                           std::to_string(kToConverge.count()) +
                           " s after healing (P3), although their totals agree");
  }
}

void write_all(const Run& run, const History& history) {
  std::ofstream history_file(run.directory / "history.tsv");
  write_history(history, history_file);
  std::ofstream timeline(run.directory / "timeline.svg");
  write_timeline(run, history, timeline);
  std::ofstream report(run.directory / "report.txt");
  write_report(run, history, report);
  write_report(run, history, std::cout);
  std::error_code ignored;
  const fs::path latest = run.directory.parent_path() / "latest";
  fs::remove(latest, ignored);
  fs::create_directory_symlink(run.directory.filename(), latest, ignored);
  say("wrote " + (run.directory / "report.txt").string() + ", timeline.svg and history.tsv");
}

// Out of the filesystems, which go when we end.
void keep_disks(const std::vector<Disk>& disks, const fs::path& directory) {
  for (std::size_t node = 0; node < disks.size(); ++node) {
    std::error_code ignored;
    fs::copy(disks[node].data(), directory / (name_of(node) + "-data"), fs::copy_options::recursive,
             ignored);
  }
}

std::vector<std::string> keys_of(const History& history) {
  std::set<std::string> keys;
  for (const Add& add : history.adds) keys.insert(add.key);
  return {keys.begin(), keys.end()};
}

// Everything between the first process and the last. False: interrupted.
bool wreck(const Arguments& arguments, const std::vector<Nemesis>& asked, const Nodes& nodes,
           Testbed& testbed, Recorder& recorder, Run& run) {
  const std::vector<Nemesis> kinds = possible(asked, testbed, run);
  if (kinds.empty()) {
    testbed.cluster.find("this machine allows none of the faults that were asked for");
    return true;
  }
  for (std::size_t node = 0; node < kNodes; ++node) testbed.cluster.start(node);
  if (const std::string wrong = testbed.cluster.nurse(seconds(60)); !wrong.empty()) {
    testbed.cluster.find(wrong);
    return true;
  }
  const auto time = std::chrono::duration_cast<milliseconds>(
      std::chrono::duration<double>(arguments.minutes * 60));
  // Some counters outlive the run, but not by a clock that is so far ahead.
  const minutes life = std::chrono::duration_cast<minutes>(time) + minutes(5);
  testbed.clock_off = std::max(minutes(10), life + minutes(1));
  Workload workload({.nodes = nodes,
                     .seed = arguments.seed,
                     .life = life,
                     .percent_of_other_kinds = arguments.kinds},
                    recorder);
  testbed.longest = std::clamp(time / 30, milliseconds(4000), milliseconds(15'000));
  testbed.longest_pause = std::clamp(time / 15, milliseconds(4000), milliseconds(60'000));
  Campaign campaign({.kinds = kinds,
                     .seed = arguments.seed,
                     .until = steady_clock::now() + std::max(time, milliseconds(kCalmBefore)),
                     .interrupted = [] { return interrupted != 0; },
                     .say = [&](const std::string& line) { say(seconds_text(recorder) + line); }},
                    testbed, recorder);
  say("load without faults, then faults");
  if (campaign.let_pass(kCalmBefore)) campaign.run();
  if (interrupted != 0) return false;
  workload.stop();
  say("healed: reading every key on every node");
  Aftermath after = read_everywhere(nodes, keys_of(recorder.copy()), recorder, kToConverge);
  recorder.add(std::move(after.earlier));
  recorder.set_finals(std::move(after.reads));
  run.final_keys = after.keys;
  run.converged = after.took;
  run.agreed = after.agreed;
  run.brief = workload.brief();
  if (run.brief == 0 && arguments.minutes >= 1)
    testbed.cluster.find("no counter was made that ends while the run lasts");
  if (const std::string left = await_empty_lists(nodes, kBriefPrefix, kToConverge); !left.empty())
    testbed.cluster.find(std::to_string(kToConverge.count()) +
                         " s after all agreed, not all that has ended is gone: " + left);
  return true;
}

int run(Arguments arguments, const std::vector<Nemesis>& kinds) {
  Run run;
  run.seed = arguments.seed;
  std::ostringstream command;
  run.reactors = arguments.reactors == 0 ? 1 + arguments.seed % 2 : arguments.reactors;
  using enum Arguments::Tls;
  run.tls = arguments.tls == any ? arguments.seed / 2 % 2 == 1 : arguments.tls == yes;
  command << "tests/chaos/run --minutes " << arguments.minutes << " --nemesis " << arguments.nemesis
          << " --seed " << arguments.seed << " --reactors " << run.reactors << " --kinds "
          << arguments.kinds << " --tls " << (run.tls ? "yes" : "no");
  run.command = command.str();
  run.directory = fs::absolute(arguments.directory) /
                  (arguments.nemesis.substr(0, 40) + "-" + std::to_string(arguments.seed) + "-" +
                   std::to_string(::getpid()));
  fs::create_directories(run.directory);
  say("seed " + std::to_string(arguments.seed) + "; to repeat its faults: " + run.command);

  const std::string no_world = why_no_private_world(arguments);
  const auto network = make_network(no_world, arguments, run);
  const std::string no_loop = why_no_loop(no_world, arguments, run.directory);
  std::vector<Disk> disks =
      make_disks(no_loop.empty() ? Disk::Kind::loop : Disk::Kind::directory, run.directory);
  run.disks = no_loop.empty() ? "an ext4 filesystem on a loop device for each node"
                              : "plain directories: " + no_loop;
  if (network->one_port_each()) run.reactors = 1;
  const ProtectionFiles protection = run.tls ? protect(*network, run.directory) : ProtectionFiles{};
  Cluster cluster(programs(arguments), {.reactors = run.reactors, .protection = protection},
                  run.directory, *network, disks);
  Testbed testbed{*network, disks, cluster, no_loop, run.tls};
  Recorder recorder;
  if (!wreck(arguments, kinds, nodes_of(*network, protection), testbed, recorder, run)) {
    say("interrupted: everything is being removed");
    return 130;
  }
  const History history = recorder.copy();
  judge(run, history, arguments, cluster);
  if (!run.passed()) keep_disks(disks, run.directory);
  write_all(run, history);
  return run.passed() ? 0 : 1;
}

std::string list_of_kinds() {
  std::string text = "\nNemeses (several with commas; or process, network, disk, mixed):\n";
  for (const Nemesis& kind : all_nemeses()) {
    std::string name(kind.name);
    name.resize(20, ' ');
    text += "  " + name + std::string(kind.about) + "\n";
  }
  return text;
}

}  // namespace
}  // namespace quipu::chaos

int main(int count, char** values) {
  using namespace quipu::chaos;
  Arguments arguments;
  CLI::App app("Breaks a cluster of five real quipud processes, and checks what clients are told.");
  app.footer(list_of_kinds());
  app.add_option("--minutes", arguments.minutes, "of faults under load")
      ->check(CLI::Range(0.5, 1440.0));
  app.add_option("--nemesis", arguments.nemesis, "which faults");
  app.add_option("--seed", arguments.seed, "repeats a run's faults and operations; 0: any");
  app.add_option("--reactors", arguments.reactors,
                 "of each node, in network namespaces; 0: one or two, as the seed says")
      ->check(CLI::Range(0, 8));
  using enum Arguments::Tls;
  const std::map<std::string, Arguments::Tls> answers{{"any", any}, {"no", no}, {"yes", yes}};
  app.add_option("--tls", arguments.tls,
                 "the nodes have a certificate and a cluster secret; any: as the seed says")
      ->transform(CLI::CheckedTransformer(answers));
  app.add_option("--kinds", arguments.kinds,
                 "percent of the load that goes to counters of other kinds than the sum")
      ->check(CLI::Range(0U, kMostOfOtherKinds));
  app.add_option("--directory", arguments.directory, "for what runs leave");
  app.add_flag("--loopback", arguments.loopback, "no network namespaces, though they be allowed");
  app.add_flag("--lying-syncs", arguments.lying_syncs,
               "plants a bug: nodes' syncs do nothing. A power loss must then be found out");
  app.add_flag("--plain-disks", arguments.plain_disks, "no loop devices, though they be allowed");
  try {
    app.parse(count, values);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const std::vector<Nemesis> kinds = choose(arguments.nemesis);
  if (kinds.empty()) {
    std::cerr << "chaos: no such nemesis: " << arguments.nemesis << '\n' << list_of_kinds();
    return 2;
  }
  if (arguments.seed == 0) arguments.seed = std::random_device()() + 1ULL;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    std::signal(number, [](int) { interrupted = 1; });
  }
  try {
    return run(arguments, kinds);
  } catch (const std::exception& error) {
    std::cerr << "chaos: " << error.what() << '\n';
    return 1;
  }
}
