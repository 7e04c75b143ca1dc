// quipu ingest [FILE]: counts a line at a time, each exactly once, whatever dies
// meanwhile.
//
//   file ─▶ lines ─▶ combiner ─▶ adds in flight ─▶ report
//           (rate)   (bounded)   (bounded; retried by the client until --timeout)
//
// Reading stops when a whole add could not be placed anywhere for the timeout: then
// the cluster is gone, and the rest of the file should not be thrown after it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

#include "node/cli/commands.h"
#include "node/cli/ingest_combiner.h"
#include "node/cli/ingest_line.h"
#include "node/cli/ingest_report.h"
#include "node/cli/interrupts.h"
#include "node/cli/line_reader.h"
#include "node/cli/open_client.h"
#include "node/cli/output.h"
#include "node/client.h"

namespace quipu::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kInFlight = 16'384;
static_assert(kInFlight < ClientSettings{}.max_in_flight, "the client never says overloaded");
// Between two looks at the progress, the rate and Ctrl-C.
constexpr milliseconds kLook{50};

// Adds that ended, from the client's thread to ours.
class Endings {
 public:
  struct Ending {
    std::size_t slot;
    Status status;
  };

  void push(std::size_t slot, Status status) {
    const std::lock_guard lock(mutex_);
    endings_.push_back({slot, std::move(status)});
    if (endings_.size() == 1) some_.notify_one();
  }
  std::vector<Ending> take(milliseconds wait) {
    std::unique_lock lock(mutex_);
    if (wait > milliseconds::zero())
      some_.wait_for(lock, wait, [this] { return !endings_.empty(); });
    return std::exchange(endings_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable some_;
  std::vector<Ending> endings_;
};

// How many lines may have been read by now.
class Pace {
 public:
  Pace(Clock::time_point began, std::optional<std::uint64_t> rate) : began_(began), rate_(rate) {}
  [[nodiscard]] bool allows(std::uint64_t lines) const {
    if (!rate_) return true;
    const std::chrono::duration<double> since = Clock::now() - began_;
    return static_cast<double>(lines) < since.count() * static_cast<double>(*rate_);
  }

 private:
  Clock::time_point began_;
  std::optional<std::uint64_t> rate_;
};

bool is_final(Code code) {
  return code == Code::out_of_range || code == Code::invalid_argument || code == Code::token_reused;
}

class Ingest {
 public:
  Ingest(const IngestCommand& command, int descriptor, ClientThread& client, Progress& progress)
      : command_(command),
        client_(client),
        reader_(descriptor),
        progress_(progress),
        report_(progress),
        pace_(Clock::now(), command.rate) {}

  void run(Interrupts& interrupts) {
    while (reading_ || !combiner_.empty() || in_flight_ > 0) {
      obey(interrupts.count());
      const bool can_read = reading_ && !combiner_.full() && pace_.allows(lines_);
      if (can_read) read_some();
      send_some();
      collect(can_read ? milliseconds(0) : kLook);
      progress_.show(Clock::now(), {.lines = report_.settled(), .bytes = reader_.bytes_read()});
    }
    report_.flush();
  }

  [[nodiscard]] const IngestReport& report() const { return report_; }

 private:
  // The first Ctrl-C: no more is read. The second: nothing is waited for.
  void obey(int interrupts) {
    if (interrupts > 0) stop("interrupted");
    if (interrupts > 1) client_.close();
  }

  void stop(std::string_view why) {
    if (!reading_) return;
    reading_ = false;
    report_.on_stopped(lines_, why);
  }

  // What one read of the file brought, as far as there is room.
  void read_some() {
    while (!combiner_.full() && pace_.allows(lines_)) {
      const std::optional<LineReader::Line> line = reader_.next();
      if (!line) {
        fill();
        return;
      }
      lines_ = line->number;
      take(*line);
    }
  }

  void fill() {
    const bool idle = in_flight_ == 0 && combiner_.empty();
    switch (reader_.fill(idle ? kLook : milliseconds(0))) {
      case LineReader::Fill::more:
        return;
      case LineReader::Fill::nothing_yet:
        // Somebody types, or a pipe is slow: wait for what is in flight instead.
        if (!idle) collect(milliseconds(1));
        return;
      case LineReader::Fill::end:
        if (const auto last = reader_.next()) {
          lines_ = last->number;
          take(*last);
        }
        reading_ = false;
        return;
      case LineReader::Fill::failed:
        return stop(std::strerror(errno));
    }
  }

  void take(const LineReader::Line& line) {
    if (line.too_long) return report_.on_bad(line.number, "the line is longer than 1024 bytes");
    const auto parsed = parse_ingest_line(line.text);
    if (const auto* bad = std::get_if<BadLine>(&parsed)) {
      report_.on_bad(line.number, bad->why);
    } else if (const auto* sound = std::get_if<IngestLine>(&parsed)) {
      combiner_.put(line.number, sound->key, sound->amount);
    } else {
      report_.on_blank();
    }
  }

  void send_some() {
    while (in_flight_ < kInFlight) {
      std::optional<CombinedAdd> add = combiner_.take();
      if (!add) return;
      CounterChange change{
          .key = add->key, .amount = add->amount, .ack = command_.ack, .timeout = command_.timeout};
      std::size_t slot = slots_.size();
      if (free_.empty()) {
        slots_.push_back(std::move(*add));
      } else {
        slot = free_.back();
        free_.pop_back();
        slots_[slot] = std::move(*add);
      }
      ++in_flight_;
      client_.submit(std::move(change),
                     [this, slot](Status status) { endings_.push(slot, std::move(status)); });
    }
  }

  void collect(milliseconds wait) {
    // With nothing in flight nothing ends; then it is only the rate that may bid us wait.
    const bool paced = reading_ && !pace_.allows(lines_);
    if (in_flight_ == 0) wait = std::min(wait, milliseconds(paced ? 1 : 0));
    for (Endings::Ending& ending : endings_.take(wait)) {
      --in_flight_;
      const CombinedAdd add = std::exchange(slots_[ending.slot], {});
      free_.push_back(ending.slot);
      if (ending.status.ok()) {
        report_.on_counted(add);
        continue;
      }
      report_.on_failed(add, ending.status);
      const bool gone =
          ending.status.outcome() == Outcome::not_applied && !is_final(ending.status.code());
      if (gone) give_up();
    }
  }

  void give_up() {
    stop("no add could be placed for " + for_people(command_.timeout));
    while (const std::optional<CombinedAdd> add = combiner_.take()) report_.on_unsent(*add);
  }

  const IngestCommand& command_;
  ClientThread& client_;
  LineReader reader_;
  Progress& progress_;
  IngestReport report_;
  Pace pace_;
  IngestCombiner combiner_;
  Endings endings_;
  std::vector<CombinedAdd> slots_;  // in flight
  std::vector<std::size_t> free_;
  std::size_t in_flight_ = 0;
  std::uint64_t lines_ = 0;
  bool reading_ = true;
};

// The size of what is a file.
std::optional<std::uint64_t> size_of(int descriptor) {
  struct stat found {};
  if (fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(found.st_size);
}

// In slices, between which it looks at Ctrl-C. Not ok: the detail has been said.
Status wait_usable(ClientThread& client, milliseconds timeout, Interrupts& interrupts) {
  const auto give_up = Clock::now() + timeout;
  auto reach = ClientThread::Reach::trying;
  Status status;
  while (reach == ClientThread::Reach::trying && interrupts.count() == 0 && Clock::now() < give_up)
    reach = client.wait_usable(kLook);
  if (interrupts.count() > 0) {
    status = Status(Code::unavailable, "interrupted; no line was read");
  } else if (reach != ClientThread::Reach::usable) {
    status = unusable(client);
  }
  if (!status.ok()) complain(status.detail());
  return status;
}

int exit_code(const Status& status) {
  if (status.ok()) return kOk;
  return status.outcome() == Outcome::unknown ? kUnknown : kFailed;
}

int ingest(const Environment& environment, const IngestCommand& command, int descriptor) {
  Interrupts interrupts;
  ClientSettings settings;
  settings.seeds = environment.nodes;
  settings.wait_for_room = true;
  const OpenClient open(settings);
  ClientThread& client = open.thread();
  const auto began = Clock::now();
  Status status = wait_usable(client, environment.timeout, interrupts);
  const bool usable = status.ok();
  Progress progress(began, size_of(descriptor));
  Ingest ingest(command, descriptor, client, progress);
  if (usable) ingest.run(interrupts);
  client.close();
  progress.clear();
  if (usable) status = ingest.report().status();
  const std::size_t connects = client.core().connects();
  const IngestReport::Totals totals{.took = Clock::now() - began,
                                    .reconnects = connects > 0 ? connects - 1 : 0,
                                    .client = client.core().stats()};
  if (environment.json) {
    ingest.report().print_json(totals, status);
  } else if (usable) {
    ingest.report().print_text(totals);
  }
  return exit_code(status);
}

}  // namespace

int run(const Environment& environment, const IngestCommand& command) {
  if (command.file == "-") return ingest(environment, command, STDIN_FILENO);
  const int descriptor = open(command.file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    const Status status(Code::invalid_argument,
                        printable(command.file) + ": " + std::strerror(errno));
    complain(status.detail());
    Progress none(Clock::now(), std::nullopt);
    if (environment.json) IngestReport(none).print_json({}, status);
    return kUsage;
  }
  const int code = ingest(environment, command, descriptor);
  close(descriptor);
  return code;
}

}  // namespace quipu::cli
