#include "node/cli/ingest_state.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "node/cli/output.h"

namespace quipu::cli {
namespace {

constexpr std::string_view kMagic = "quipu-ingest-state";
constexpr std::uint64_t kVersion = 1;
// When to write the file again: settled adds need no records.
constexpr std::size_t kMostWritten = std::size_t{16} << 20;
// The most ranges in one record of lost lines.
constexpr std::size_t kRangesARecord = 256;
constexpr std::size_t kChecksumDigits = 16;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

std::string error_text() { return std::strerror(errno); }

std::string in_use(const std::string& path) {
  return printable(path) + ": another quipu ingest is using it";
}

// ---- words of a record ----

std::string hex(std::uint64_t number) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

std::string ranges_text(std::span<const std::pair<std::uint64_t, std::uint64_t>> ranges) {
  std::string text;
  for (const auto& [first, last] : ranges) {
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (last != first) text += '-' + std::to_string(last);
  }
  return text;
}

// Parses a record from its front. A short or wrong word makes it invalid.
class Words {
 public:
  explicit Words(std::string_view rest) : rest_(rest) {}

  std::string_view word() {
    const std::size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view taken = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    if (taken.empty()) sound_ = false;
    return taken;
  }
  template <class Number = std::uint64_t>
  Number number(int base = 10) {
    return parse<Number>(word(), base);
  }
  std::uint64_t hex_number() { return number(16); }
  LineRanges ranges() {
    LineRanges ranges;
    std::string_view text = word();
    while (sound_ && !text.empty()) {
      const std::size_t comma = std::min(text.find(','), text.size());
      const std::string_view one = text.substr(0, comma);
      text.remove_prefix(std::min(comma + 1, text.size()));
      const std::size_t dash = one.find('-');
      const auto first = parse<std::uint64_t>(one.substr(0, dash));
      const auto last =
          dash == std::string_view::npos ? first : parse<std::uint64_t>(one.substr(dash + 1));
      if (first == 0 || last < first) sound_ = false;
      if (sound_) ranges.add(first, last);
    }
    return ranges;
  }
  std::string_view rest() { return std::exchange(rest_, {}); }
  // Everything was parsed and valid.
  [[nodiscard]] bool end() const { return sound_ && rest_.empty(); }

 private:
  template <class Number>
  Number parse(std::string_view text, int base = 10) {
    Number number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
    if (error != std::errc() || end != text.data() + text.size()) sound_ = false;
    return number;
  }

  std::string_view rest_;
  bool sound_ = true;
};

std::string record(const std::string& text) {
  return hex(hash64(HashKey{}, text)) + ' ' + text + '\n';
}

// The content of a line, if its checksum is right.
std::optional<std::string_view> checked(std::string_view line) {
  if (line.size() <= kChecksumDigits || line[kChecksumDigits] != ' ') return std::nullopt;
  const std::string_view text = line.substr(kChecksumDigits + 1);
  if (line.substr(0, kChecksumDigits) != hex(hash64(HashKey{}, text))) return std::nullopt;
  return text;
}

// ---- records ----

std::string header_record(const IngestState::Cluster& cluster) {
  return record(std::string(kMagic) + ' ' + std::to_string(kVersion) + ' ' + hex(raw(cluster.id)) +
                ' ' + hex(raw(cluster.placement)));
}

// Empty for sums.
std::string subject_record(const IngestState::Subject& subject) {
  if (subject.kind == Kind::sum) return {};
  return record("elements " + std::to_string(static_cast<unsigned>(subject.kind)) + ' ' +
                subject.key);
}

std::string options_of(const IngestState::Subject& subject) {
  if (subject.kind == Kind::sum) return "without --kind";
  return std::string("with --kind ") + name_of(subject.kind) + " --key " + printable(subject.key);
}

std::string add_record(std::uint64_t ticket, const CombinedAdd& add) {
  return record("add " + std::to_string(ticket) + ' ' + std::to_string(add.amount) + ' ' +
                ranges_text(add.lines.ranges()) + ' ' + add.key);
}

std::string bound_record(std::uint64_t ticket, const ClientBinding& bound) {
  return record("bound " + std::to_string(ticket) + ' ' + std::to_string(bound.shard) + ' ' +
                hex(raw(bound.token.store)) + ' ' + hex(raw(bound.token.serial)) + ' ' +
                std::to_string(bound.token.number));
}

std::string block_record(const IngestState::Position& position) {
  return record("block " + std::to_string(position.lines) + ' ' + hex(position.digest) + ' ' +
                (position.open ? '1' : '0') + ' ' + std::to_string(position.blank) + ' ' +
                std::to_string(position.refused));
}

// ---- files ----

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// So that its name survives a power loss.
bool sync_directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  std::string directory = slash == std::string::npos ? "." : path.substr(0, slash);
  if (directory.empty()) directory = "/";
  const Descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return opened.get() >= 0 && ::fsync(opened.get()) == 0;
}

// Whether `path` still names the open file: another may have been put there.
bool is_at(int descriptor, const std::string& path) {
  struct stat open {};
  struct stat named {};
  return ::fstat(descriptor, &open) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

struct stat look_at(int descriptor) {
  struct stat found {};
  if (::fstat(descriptor, &found) != 0) found = {};
  return found;
}

// Reads a file line by line.
class StateLines {
 public:
  explicit StateLines(int descriptor) : descriptor_(descriptor) {}
  // Ignores text behind the last newline.
  std::optional<std::string_view> next() {
    for (;;) {
      const std::size_t newline = buffer_.find('\n', begin_);
      if (newline != std::string::npos) {
        const std::string_view line = std::string_view(buffer_).substr(begin_, newline - begin_);
        begin_ = newline + 1;
        return line;
      }
      buffer_.erase(0, std::exchange(begin_, 0));
      const std::size_t held = buffer_.size();
      buffer_.resize(held + kChunkSize);
      const ssize_t got = ::read(descriptor_, buffer_.data() + held, kChunkSize);
      buffer_.resize(held + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
      failed_ = got < 0;
      if (got <= 0) return std::nullopt;
    }
  }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  static constexpr std::size_t kChunkSize = std::size_t{64} << 10;

  int descriptor_;
  std::string buffer_;
  std::size_t begin_ = 0;
  bool failed_ = false;
};

}  // namespace

// Applies records to a state that is being loaded.
class IngestState::Loader {
 public:
  explicit Loader(IngestState& state) : state_(state) {}

  // False: the record is invalid.
  bool take(std::string_view text) {
    Words words(text);
    const std::string_view kind = words.word();
    if (kind == "elements") return elements(words);
    if (kind == "sums") return sums(words);
    if (kind == "lost") return lost(words);
    if (kind == "add") return add(words);
    if (kind == "block") return block(words);
    if (kind == "bound") return bound(words);
    if (kind == "unbound") return unbound(words);
    if (kind == "settled") return settled(words);
    return kind == "synced" && words.end();
  }
  [[nodiscard]] const Subject& subject() const { return subject_; }

 private:
  bool elements(Words& words) {
    const auto number = words.number<unsigned>();
    const auto* const kind =
        std::ranges::find(kKinds, number, [](Kind one) { return static_cast<unsigned>(one); });
    if (kind == kKinds.end()) return false;
    subject_ = {*kind, std::string(words.rest())};
    return words.end();
  }
  bool sums(Words& words) {
    state_.sums_.counted = words.number();
    state_.sums_.adds = words.number();
    state_.sums_.refused = words.number();
    return words.end();
  }
  bool lost(Words& words) {
    state_.sums_.lost.add(words.ranges());
    return words.end();
  }
  bool add(Words& words) {
    const std::uint64_t ticket = words.number();
    CombinedAdd add;
    add.amount = words.number<std::int64_t>();
    add.lines = words.ranges();
    add.key = words.rest();
    const bool sound = words.end() && !add.key.empty() && add.key.size() <= kMaxKey;
    return sound && block_.emplace(ticket, OpenAdd{std::move(add)}).second;
  }
  bool block(Words& words) {
    Position& position = state_.position_;
    position.lines = words.number();
    position.digest = words.hex_number();
    position.open = words.number() == 1;
    position.blank = words.number();
    position.refused = words.number();
    state_.open_.merge(block_);
    const bool all = block_.empty();
    if (!state_.open_.empty())
      state_.next_ticket_ = std::max(state_.next_ticket_, state_.open_.rbegin()->first + 1);
    return words.end() && all;
  }
  bool bound(Words& words) {
    const auto at = state_.open_.find(words.number());
    ClientBinding bound;
    bound.shard = words.number<ShardIndex>();
    bound.token.store = StoreId{words.hex_number()};
    bound.token.serial = Serial{words.hex_number()};
    bound.token.number = words.number();
    if (!words.end() || at == state_.open_.end()) return false;
    at->second.bound = bound;
    return true;
  }
  bool unbound(Words& words) {
    const auto at = state_.open_.find(words.number());
    if (!words.end() || at == state_.open_.end()) return false;
    at->second.bound.reset();
    return true;
  }
  bool settled(Words& words) {
    const auto at = state_.open_.find(words.number());
    const auto code = words.number<std::uint16_t>();
    if (!words.end() || at == state_.open_.end()) return false;
    state_.settle(at, Code{code});
    return true;
  }

  IngestState& state_;
  Subject subject_;
  std::map<std::uint64_t, OpenAdd> block_;  // not valid yet
};

// ---- opening ----

IngestState::IngestState(std::string path, const Cluster& cluster, Subject subject)
    : path_(std::move(path)), cluster_(cluster), subject_(std::move(subject)) {}

IngestState::~IngestState() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::unique_ptr<IngestState>> IngestState::open(const std::string& path,
                                                       const Cluster& cluster,
                                                       const Subject& subject) {
  std::unique_ptr<IngestState> state(new IngestState(path, cluster, subject));
  const std::string where = printable(path) + ": ";
  for (;;) {
    const Descriptor found(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (found.get() < 0 && errno != ENOENT) return Status(Code::cannot_start, where + error_text());
    if (found.get() < 0) {
      if (Status begun = state->rewrite(true); !begun.ok()) return begun;
      if (state->descriptor_ < 0) continue;  // another ingest was faster
      return state;
    }
    if (!S_ISREG(look_at(found.get()).st_mode))
      return Status(Code::invalid_argument, where + "this is not a file");
    if (::flock(found.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return Status(Code::cannot_start, where + error_text());
      return Status(Code::invalid_argument, in_use(path));
    }
    if (!is_at(found.get(), path)) continue;
    if (Status taken = state->take_over(found.get()); !taken.ok()) return taken;
    return state;
  }
}

// The file stays locked until the new one, which is also locked, has replaced it.
Status IngestState::take_over(int descriptor) {
  if (look_at(descriptor).st_size > 0) {
    if (Status loaded = load(descriptor); !loaded.ok())
      return {loaded.code(), printable(path_) + ": " + loaded.detail()};
  }
  return rewrite(false);
}

Status IngestState::load(int descriptor) {
  const auto refuse = [](const char* why) { return Status(Code::invalid_argument, why); };
  StateLines lines(descriptor);
  const auto first = lines.next();
  const auto header = first ? checked(*first) : std::nullopt;
  Words words(header.value_or(""));
  if (words.word() != kMagic) return refuse("this is not the state of an ingest");
  if (words.number() != kVersion) return refuse("it was written by another version of quipu");
  Cluster cluster;
  cluster.id = ClusterId{words.hex_number()};
  cluster.placement = HashKey{words.hex_number()};
  if (!words.end()) return refuse("it is damaged");
  if (cluster != cluster_)
    return refuse("it is about another cluster, or about one that was founded anew since");
  Loader loader(*this);
  bool cut = false;  // a record is incomplete: the rest was never durable
  while (const auto line = lines.next()) {
    const auto text = checked(*line);
    cut |= !text;
    const bool unsound = cut ? text == "synced" : !loader.take(*text);
    if (unsound) return refuse("it is damaged");
  }
  if (lines.failed()) return {Code::cannot_start, error_text()};
  if (loader.subject() == subject_) return {};
  return {Code::invalid_argument, "it is about an ingest " + options_of(loader.subject())};
}

std::map<std::uint64_t, IngestState::OpenAdd> IngestState::open_adds() const {
  std::map<std::uint64_t, OpenAdd> open = open_;
  std::map<std::pair<StoreId, Serial>, std::uint64_t> floors;
  for (const auto& [ticket, one] : open) {
    if (!one.bound) continue;
    const Token& token = one.bound->token;
    const auto [at, fresh] = floors.try_emplace({token.store, token.serial}, token.number);
    if (!fresh) at->second = std::min(at->second, token.number);
  }
  for (auto& [ticket, one] : open) {
    if (!one.bound) continue;
    Token& token = one.bound->token;
    token.floor = floors.at({token.store, token.serial});
  }
  return open;
}

// ---- going on ----

std::uint64_t IngestState::add_block(const std::vector<CombinedAdd>& adds,
                                     const Position& position) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t first = next_ticket_;
  for (const CombinedAdd& add : adds) {
    buffer_ += add_record(next_ticket_, add);
    open_.emplace(next_ticket_++, OpenAdd{{add.key, add.amount, add.lines}});
  }
  buffer_ += block_record(position);
  position_ = position;
  return first;
}

void IngestState::note(const ClientJournalEntry& entry) {
  const std::lock_guard lock(mutex_);
  const auto at = open_.find(entry.ticket);
  if (at == open_.end()) return;
  switch (entry.kind) {
    case ClientJournalEntry::Kind::bound:
      at->second.bound = entry.binding;
      buffer_ += bound_record(entry.ticket, entry.binding);
      return;
    case ClientJournalEntry::Kind::unbound:
      at->second.bound.reset();
      buffer_ += record("unbound " + std::to_string(entry.ticket));
      return;
    case ClientJournalEntry::Kind::settled:
      buffer_ += record("settled " + std::to_string(entry.ticket) + ' ' +
                        std::to_string(static_cast<std::uint16_t>(entry.code)));
      return settle(at, entry.code);
  }
}

void IngestState::settle(std::map<std::uint64_t, OpenAdd>::iterator at, Code code) {
  const LineRanges& lines = at->second.add.lines;
  switch (describe(code).outcome) {
    case Outcome::applied:
      sums_.counted += lines.lines();
      ++sums_.adds;
      break;
    case Outcome::not_applied:
      sums_.refused += lines.lines();
      break;
    case Outcome::unknown:
      sums_.lost.add(lines);
      break;
  }
  open_.erase(at);
}

bool IngestState::sync() {
  std::string records;
  {
    const std::lock_guard lock(mutex_);
    if (!trouble_.empty()) return false;
    if (buffer_.empty()) return true;
    records.swap(buffer_);
  }
  if (written_ > 0) records.insert(0, record("synced"));
  if (!write_all(descriptor_, records) || ::fdatasync(descriptor_) != 0)
    return fail(printable(path_) + ": " + error_text());
  written_ += records.size();
  if (written_ < kMostWritten) return true;
  const Status put = rewrite(false);
  return put.ok() || fail(put.detail());
}

bool IngestState::fail(const std::string& why) {
  const std::lock_guard lock(mutex_);
  trouble_ = why;
  return false;
}

std::string IngestState::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

std::string IngestState::everything() const {
  std::string text = header_record(cluster_) + subject_record(subject_);
  text += record("sums " + std::to_string(sums_.counted) + ' ' + std::to_string(sums_.adds) + ' ' +
                 std::to_string(sums_.refused));
  std::span ranges(sums_.lost.ranges());
  while (!ranges.empty()) {
    const std::size_t some = std::min(ranges.size(), kRangesARecord);
    text += record("lost " + ranges_text(ranges.first(some)));
    ranges = ranges.subspan(some);
  }
  for (const auto& [ticket, one] : open_) text += add_record(ticket, one.add);
  text += block_record(position_);
  for (const auto& [ticket, one] : open_) {
    if (one.bound) text += bound_record(ticket, *one.bound);
  }
  return text;
}

// The writer of the file holds the lock of the file that replaces it.
Status IngestState::rewrite(bool fresh) {
  const std::lock_guard lock(mutex_);
  const std::string next = path_ + ".quipu-new";
  const auto failed = [this] {
    return Status(Code::cannot_start, printable(path_) + ": " + error_text());
  };
  Descriptor made(::open(next.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (made.get() < 0) return failed();
  const bool locked = ::flock(made.get(), LOCK_EX | LOCK_NB) == 0;
  if (!locked && errno != EWOULDBLOCK) return failed();
  if (!locked || !is_at(made.get(), next)) return {Code::invalid_argument, in_use(path_)};
  if (fresh && ::access(path_.c_str(), F_OK) == 0) return {};
  if (::ftruncate(made.get(), 0) != 0 || !write_all(made.get(), everything()) ||
      ::fsync(made.get()) != 0 || ::rename(next.c_str(), path_.c_str()) != 0 ||
      !sync_directory_of(path_))
    return failed();
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = made.release();
  written_ = 0;
  buffer_.clear();  // everything() holds it
  return {};
}

}  // namespace quipu::cli
