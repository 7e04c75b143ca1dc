// quipu ingest [FILE]: counts one line at a time, each exactly once, also if a process dies
// meanwhile. A line is "KEY [N]", or with --kind and --key, an element of that counter.
//
//   file ─▶ lines ─▶ combiner ─▶ block of adds ─▶ adds in flight ─▶ report
//           (rate)   (bounded)   (--resume: in    (bounded; retried by the client
//                                 the state)       until --timeout)
//
// Reading stops when no add could be placed anywhere for the whole timeout: then the cluster is
// gone, and sending the rest of the file would be useless.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "node/api/client.h"
#include "node/cli/commands.h"
#include "node/cli/ingest_combiner.h"
#include "node/cli/ingest_elements.h"
#include "node/cli/ingest_line.h"
#include "node/cli/ingest_report.h"
#include "node/cli/ingest_state.h"
#include "node/cli/interrupts.h"
#include "node/cli/line_reader.h"
#include "node/cli/node_session.h"
#include "node/cli/open_client.h"
#include "node/cli/output.h"

namespace quipu::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kInFlight = 16'384;
static_assert(kInFlight < kMostInFlight, "the client never says overloaded");
// As hashes, these take 1 MiB in the client, and in a node.
constexpr std::size_t kElementsInFlight = 131'072;
static_assert(kElementsInFlight >= IngestCombiner::kMaxElements, "each add can be sent");
static_assert(IngestCombiner::kMaxElements <= std::min(kMaxElements, kMaxItems),
              "each add is one change");
// The pause between two checks of the progress, the rate and Ctrl-C.
constexpr milliseconds kLook{50};

// Adds that ended, passed from the client's thread to ours.
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

// It says nothing about other adds.
bool is_final(Code code) {
  return code == Code::out_of_range || code == Code::invalid_argument ||
         code == Code::undefined_namespace || code == Code::wrong_type ||
         code == Code::not_permitted || code == Code::token_reused;
}

// A digest of all lines up to this one. The text of a line that is too long is not available.
std::uint64_t digest_of(std::uint64_t before, const LineReader::Line& line) {
  return line.too_long ? hash64(HashKey{~before}, std::string_view())
                       : hash64(HashKey{before}, line.text);
}

std::string input_name(const IngestCommand& command) {
  return command.file == "-" ? "standard input" : printable(command.file);
}

// The size of a regular file.
std::optional<std::uint64_t> size_of(int descriptor) {
  struct stat found {};
  if (fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(found.st_size);
}

class Ingest {
 public:
  // `state`: null if it cannot be resumed. All must outlive it.
  Ingest(const IngestCommand& command, int descriptor, ClientThread& client, Progress& progress,
         IngestReport& report, IngestState* state)
      : command_(command),
        client_(client),
        reader_(descriptor),
        size_(size_of(descriptor)),
        progress_(progress),
        report_(report),
        state_(state),
        pace_(Clock::now(), command.rate) {}

  // Reads the lines of an earlier ingest again, and takes over its state. Not ok: this is not
  // the same input.
  [[nodiscard]] Status resume(Interrupts& interrupts) {
    const IngestState::Position& to = state_->position();
    OpenElements::OpenAdds open = state_->open_adds();
    OpenElements elements(command_.kind, open);
    const auto pass = [&](const LineReader::Line& line) {
      advance(line);
      if (has_elements()) elements.take(line);
    };
    while (position_.lines < to.lines) {
      if (const auto line = reader_.next()) {
        pass(*line);
        continue;
      }
      const LineReader::Fill filled = reader_.fill(kLook);
      if (filled == LineReader::Fill::failed)
        return {Code::cannot_start, input_name(command_) + ": " + std::strerror(errno)};
      if (interrupts.count() > 0) return {Code::unavailable, "interrupted; no line was read"};
      if (filled != LineReader::Fill::end) continue;
      const auto last = reader_.next();
      if (!last) break;
      pass(*last);
    }
    if (position_.lines != to.lines || position_.digest != to.digest) {
      return {Code::invalid_argument,
              printable(command_.resume) + " is about another input: its first " +
                  for_people(to.lines) + " lines are not those that were counted"};
    }
    if (has_elements() && !elements.complete())
      return {Code::invalid_argument, printable(command_.resume) + " is damaged"};
    position_ = to;
    report_.restore(to, state_->sums());
    for (auto& [ticket, one] : open) block_.push_back({std::move(one.add), ticket, one.bound});
    return {};
  }

  void run(Interrupts& interrupts) {
    began_ = Clock::now();
    pace_ = Pace(began_, command_.rate);
    settled_before_ = report_.settled();
    read_before_ = reader_.bytes_read();
    while (reading_ || !combiner_.empty() || !block_.empty() || in_flight_ > 0) {
      obey(interrupts.count());
      watch_state();
      const bool can_read = reading_ && !combiner_.full() && pace_.allows(lines_read_);
      if (can_read) read_some();
      send_some();
      collect(can_read ? milliseconds(0) : kLook);
      if (const auto now = Clock::now(); progress_.due(now)) progress_.show(now, how_far(now));
    }
    report_.flush();
    // All lines since the last block were no adds.
    if (state_ != nullptr && !gave_up_ && position_ != state_->position())
      state_->add_block({}, position_);
  }

 private:
  struct Waiting {
    CombinedAdd add;
    std::uint64_t ticket = 0;
    std::optional<ClientBinding> bound{};
  };

  [[nodiscard]] bool has_elements() const { return command_.kind != Kind::sum; }

  [[nodiscard]] Progress::State how_far(Clock::time_point now) const {
    const double seconds = std::max(std::chrono::duration<double>(now - began_).count(), 0.001);
    const auto settled = static_cast<double>(report_.settled() - settled_before_);
    Progress::State state;
    state.words = {for_people(report_.settled()) + " lines",
                   for_people(static_cast<std::uint64_t>(settled / seconds)) + "/s"};
    if (size_.value_or(0) == 0) return state;
    const auto size = static_cast<double>(*size_);
    state.share = std::min(static_cast<double>(reader_.bytes_read()) / size, 1.0);
    const double now_read = static_cast<double>(reader_.bytes_read() - read_before_) / size;
    if (now_read > 0.01) {
      const std::chrono::duration<double> left(seconds * (1 - *state.share) / now_read);
      state.words.push_back("ETA " + for_people(std::chrono::round<milliseconds>(left)));
    }
    return state;
  }

  // The first Ctrl-C ends reading. The second ends all waiting.
  void obey(int interrupts) {
    if (interrupts > 0) stop("interrupted");
    if (interrupts > 1) client_.close();
  }

  // Nothing may be sent before it is in the state.
  void watch_state() {
    if (state_ == nullptr || gave_up_) return;
    const std::string trouble = state_->trouble();
    if (trouble.empty()) return;
    give_up(trouble);
    client_.close();
  }

  void stop(std::string_view why) {
    if (!reading_) return;
    reading_ = false;
    report_.on_stopped(position_.lines, why);
  }

  // The lines of one read, as far as there is room.
  void read_some() {
    while (!combiner_.full() && pace_.allows(lines_read_)) {
      const std::optional<LineReader::Line> line = reader_.next();
      if (!line) {
        fill();
        return;
      }
      take(*line);
    }
  }

  void fill() {
    const bool idle = in_flight_ == 0 && combiner_.empty() && block_.empty();
    switch (reader_.fill(idle ? kLook : milliseconds(0))) {
      case LineReader::Fill::more:
        return;
      case LineReader::Fill::nothing_yet:
        // A person types, or a pipe is slow: wait for adds in flight instead.
        if (!idle) collect(milliseconds(1));
        return;
      case LineReader::Fill::end:
        if (const auto last = reader_.next()) take(*last);
        reading_ = false;
        return;
      case LineReader::Fill::failed:
        return stop(input_name(command_) + ": " + std::strerror(errno));
    }
  }

  void advance(const LineReader::Line& line) {
    position_.lines = line.number;
    position_.open = line.open;
    if (state_ != nullptr) position_.digest = digest_of(position_.digest, line);
  }

  void take(const LineReader::Line& line) {
    ++lines_read_;
    advance(line);
    if (line.too_long) {
      report_.on_bad(line.number, "the line is longer than 1024 bytes");
    } else if (has_elements()) {
      take_element(line);
    } else {
      take(line, parse_ingest_line(line.text));
    }
    position_.blank = report_.blank();
    position_.refused = report_.bad();
  }

  void take(const LineReader::Line& line,
            const std::variant<IngestLine, BlankLine, BadLine>& parsed) {
    if (const auto* bad = std::get_if<BadLine>(&parsed)) {
      report_.on_bad(line.number, bad->why);
    } else if (const auto* sound = std::get_if<IngestLine>(&parsed)) {
      combiner_.put(line.number, sound->key, sound->amount);
    } else {
      report_.on_blank();
    }
  }

  void take_element(const LineReader::Line& line) {
    const auto parsed = parse_element_line(line.text, longest_element(command_.kind));
    if (const auto* bad = std::get_if<BadLine>(&parsed)) {
      report_.on_bad(line.number, bad->why);
    } else if (const auto* element = std::get_if<std::string_view>(&parsed)) {
      combiner_.put_element(line.number, command_.key, *element);
    } else {
      report_.on_blank();
    }
  }

  // All lines read become a block, so that its lines end at the position.
  void begin_block() {
    std::vector<CombinedAdd> adds;
    while (std::optional<CombinedAdd> add = combiner_.take()) adds.push_back(std::move(*add));
    std::uint64_t ticket = 0;
    if (state_ != nullptr) ticket = state_->add_block(adds, position_);
    for (CombinedAdd& add : adds) block_.push_back({std::move(add), ticket++});
  }

  void send_some() {
    while (in_flight_ < kInFlight && elements_in_flight_ < kElementsInFlight) {
      if (block_.empty() && !combiner_.empty()) begin_block();
      if (block_.empty()) return;
      std::size_t slot = slots_.size();
      if (free_.empty()) {
        slots_.push_back(std::make_unique<Waiting>());
      } else {
        slot = free_.back();
        free_.pop_back();
      }
      Waiting& sent = *slots_[slot];
      sent = std::move(block_.front());
      block_.pop_front();
      ++in_flight_;
      if (has_elements()) elements_in_flight_ += sent.add.elements.size();
      client_.submit(change_of(sent),
                     [this, slot](Status status) { endings_.push(slot, std::move(status)); });
    }
  }

  // Takes its elements. Its amount says how many they were.
  [[nodiscard]] CounterChange change_of(Waiting& sent) const {
    std::vector<Item> items;
    items.reserve(sent.add.elements.size());
    for (std::string& element : sent.add.elements) items.push_back({std::move(element)});
    sent.add.elements = {};
    return {.kind = has_elements() ? OpKind::apply : OpKind::add,
            .key = sent.add.key,
            .amount = has_elements() ? 0 : sent.add.amount,
            .ack = command_.ack,
            .timeout = command_.timeout,
            .counter = command_.kind,
            .items = std::move(items),
            .ticket = sent.ticket,
            .bound = sent.bound ? &*sent.bound : nullptr};
  }

  void collect(milliseconds wait) {
    // With nothing in flight, nothing ends. Then only the rate can require a wait.
    const bool paced = reading_ && !pace_.allows(lines_read_);
    if (in_flight_ == 0) wait = std::min(wait, milliseconds(paced ? 1 : 0));
    for (Endings::Ending& ending : endings_.take(wait)) {
      --in_flight_;
      const Waiting ended = std::exchange(*slots_[ending.slot], {});
      free_.push_back(ending.slot);
      if (has_elements()) elements_in_flight_ -= static_cast<std::size_t>(ended.add.amount);
      if (ending.status.ok()) {
        report_.on_counted(ended.add, ended.bound.has_value());
        continue;
      }
      report_.on_failed(ended.add, ending.status);
      if (ending.status.outcome() != Outcome::not_applied) continue;
      const Code code = ending.status.code();
      if (code == Code::unauthenticated) {
        give_up(ending.status.detail());
      } else if (!is_final(code)) {
        give_up("no add could be placed for " + for_people(command_.timeout));
      } else if (has_elements() && code != Code::token_reused) {
        // The rest has the same key.
        give_up(printable(command_.key) + " takes no elements");
      }
    }
  }

  void give_up(const std::string& why) {
    gave_up_ = true;
    report_.on_gave_up(why);
    stop(why);
    for (const Waiting& one : block_) report_.on_unsent(one.add);
    block_.clear();
    while (const std::optional<CombinedAdd> add = combiner_.take()) report_.on_unsent(*add);
  }

  const IngestCommand& command_;
  ClientThread& client_;
  LineReader reader_;
  const std::optional<std::uint64_t> size_;  // of the input
  Progress& progress_;
  IngestReport& report_;
  IngestState* const state_;
  Pace pace_;
  IngestCombiner combiner_;
  std::deque<Waiting> block_;  // to send before the combiner's adds
  Endings endings_;
  std::vector<std::unique_ptr<Waiting>> slots_;  // in flight; the client borrows their bindings
  std::vector<std::size_t> free_;
  std::size_t in_flight_ = 0;           // adds
  std::size_t elements_in_flight_ = 0;  // those of these adds
  IngestState::Position position_;
  std::uint64_t lines_read_ = 0;  // by this ingest
  Clock::time_point began_{};
  std::uint64_t settled_before_ = 0;
  std::uint64_t read_before_ = 0;  // bytes
  bool reading_ = true;
  bool gave_up_ = false;
};

// The state for the cluster that answers.
Result<std::unique_ptr<IngestState>> open_state(const Environment& environment,
                                                const IngestCommand& command) {
  const Result<Reached> reached = open_any(environment);
  if (!reached.ok()) return unreachable(reached.status());
  return IngestState::open(command.resume, {reached->config.cluster, reached->config.placement_key},
                           {command.kind, command.key});
}

// One ingest, from its files to its report.
class IngestRun {
 public:
  IngestRun(const Environment& environment, const IngestCommand& command)
      : environment_(environment),
        command_(command),
        details_(progress_),
        report_(details_, command.resume,
                command.kind == Kind::sum ? "write KEY [N]" : "write an element") {}

  int run(int descriptor) {
    const Status ended = count(descriptor);
    if (!ended.ok()) complain(ended.detail());
    if (environment_.json) {
      report_.print_json(totals_, ended);
    } else if (began_) {
      report_.print_text(totals_);
    }
    if (!began_ && ended.code() == Code::invalid_argument) return kUsage;
    return exit_code(ended);
  }

 private:
  Status count(int descriptor) {
    if (descriptor < 0)
      return {Code::invalid_argument, printable(command_.file) + ": " + std::strerror(errno)};
    Interrupts interrupts;
    ClientSettings settings;
    settings.wait_for_room = true;
    std::unique_ptr<IngestState> state;
    if (!command_.resume.empty()) {
      // A state belongs to a founded cluster.
      Status usable = wait_usable(OpenClient(environment_, settings).thread(), environment_.timeout,
                                  interrupts);
      if (!usable.ok()) return usable;
      auto opened = open_state(environment_, command_);
      if (!opened.ok()) return opened.status();
      state = std::move(*opened);
    }
    if (Status opened = open_report(state.get()); !opened.ok()) return opened;
    const OpenClient open(environment_, settings, state.get());
    if (Status usable = wait_usable(open.thread(), environment_.timeout, interrupts); !usable.ok())
      return usable;
    Ingest ingest(command_, descriptor, open.thread(), progress_, report_, state.get());
    if (state != nullptr) {
      if (Status same = ingest.resume(interrupts); !same.ok()) return same;
    }
    began_ = true;
    const auto began = Clock::now();
    ingest.run(interrupts);
    open.thread().close();
    const bool kept = state == nullptr || state->sync();
    progress_.clear();
    const std::size_t connects = open.thread().core().connects();
    totals_ = {.took = Clock::now() - began,
               .reconnects = connects > 0 ? connects - 1 : 0,
               .client = open.thread().core().stats()};
    const Status told = details_.finish();
    Status ended = report_.status();
    if (ended.ok() && !kept) ended = Status(Code::in_doubt, state->trouble());
    return ended.ok() ? told : ended;
  }

  Status open_report(const IngestState* state) {
    if (command_.report.empty()) return {};
    const bool resumed = state != nullptr && state->position() != IngestState::Position{};
    return details_.open(command_.report, resumed);
  }

  const Environment& environment_;
  const IngestCommand& command_;
  Progress progress_;
  IngestDetails details_;
  IngestReport report_;
  IngestReport::Totals totals_{};
  bool began_ = false;  // to read lines that will be counted
};

}  // namespace

int run(const Environment& environment, const IngestCommand& command) {
  IngestRun ingest(environment, command);
  if (command.file == "-") return ingest.run(STDIN_FILENO);
  int descriptor = open(command.file.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat found {};
  if (descriptor >= 0 && fstat(descriptor, &found) == 0 && S_ISDIR(found.st_mode)) {
    close(std::exchange(descriptor, -1));
    errno = EISDIR;
  }
  const int code = ingest.run(descriptor);
  if (descriptor >= 0) close(descriptor);
  return code;
}

}  // namespace quipu::cli
