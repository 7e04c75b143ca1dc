#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <locale>
#include <optional>
#include <sstream>
#include <string>

#include "node/admin/metrics_text.h"

namespace quipu {
namespace {

// proc(5): the numbers of /proc/self/stat behind the command, which may hold any characters.
struct ProcessStat {
  double cpu_ticks = 0, start_ticks = 0, virtual_bytes = 0, resident_pages = 0;
};

std::optional<ProcessStat> read_stat() {
  std::ifstream file("/proc/self/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t end = text.rfind(')');
  if (end == std::string::npos) return {};
  std::istringstream rest(text.substr(end + 1));
  rest.imbue(std::locale::classic());
  char state = 0;
  rest >> state;
  ProcessStat stat;
  double number = 0;
  for (int field = 4; field <= 24 && rest >> number; ++field) {
    if (field == 14 || field == 15) stat.cpu_ticks += number;  // of users, of the system
    if (field == 22) stat.start_ticks = number;
    if (field == 23) stat.virtual_bytes = number;
    if (field == 24) stat.resident_pages = number;
  }
  return rest ? std::optional(stat) : std::nullopt;
}

// When this machine was started, in seconds since 1970.
std::optional<double> boot_time() {
  std::ifstream file("/proc/stat");
  std::string word;
  for (double seconds = 0; file >> word;) {
    if (word == "btime" && file >> seconds) return seconds;
  }
  return {};
}

std::optional<double> open_files() {
  std::error_code failed;
  const std::filesystem::directory_iterator all("/proc/self/fd", failed);
  if (failed) return {};
  return static_cast<double>(std::distance(begin(all), end(all)) - 1);  // without that of `all`
}

FigureFamily family(std::string name, std::string help, FigureKind kind, double value) {
  return {std::move(name), std::move(help), kind, {{.value = value}}};
}

}  // namespace

std::vector<FigureFamily> process_figures() {
  constexpr auto kGauge = FigureKind::gauge;
  std::vector<FigureFamily> all;
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  if (const auto stat = read_stat()) {
    all.push_back(family("process_cpu_seconds_total",
                         "Total user and system CPU time spent in seconds.", FigureKind::counter,
                         stat->cpu_ticks / ticks));
    all.push_back(family("process_virtual_memory_bytes", "Virtual memory size in bytes.", kGauge,
                         stat->virtual_bytes));
    all.push_back(family("process_resident_memory_bytes", "Resident memory size in bytes.", kGauge,
                         stat->resident_pages * static_cast<double>(::sysconf(_SC_PAGESIZE))));
    if (const auto boot = boot_time())
      all.push_back(family("process_start_time_seconds",
                           "Start time of the process since unix epoch in seconds.", kGauge,
                           *boot + stat->start_ticks / ticks));
  }
  if (const auto files = open_files())
    all.push_back(family("process_open_fds", "Number of open file descriptors.", kGauge, *files));
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0)
    all.push_back(family("process_max_fds", "Maximum number of open file descriptors.", kGauge,
                         static_cast<double>(limit.rlim_cur)));
  return all;
}

}  // namespace quipu
