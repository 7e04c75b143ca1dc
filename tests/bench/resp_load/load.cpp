#include "tests/bench/resp_load/load.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace quipu::bench {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kDigits = 12;  // of a key, as redis-benchmark's
constexpr std::size_t kMgetKeys = 10;
constexpr std::size_t kReadBytes = std::size_t{64} << 10;
constexpr milliseconds kPatience{30'000};  // without any reply: it hangs

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

std::string encode(const std::vector<std::string>& words) {
  std::string out = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words)
    out.append("$" + std::to_string(word.size()) + "\r\n").append(word).append("\r\n");
  return out;
}

std::string key_name() { return "counter:" + std::string(kDigits, '0'); }

std::string encode_all(const std::string& commands) {
  std::string out;
  std::istringstream all(commands);
  for (std::string command; std::getline(all, command, ';');) {
    std::istringstream in(command);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word == "KEY" ? key_name() : word);
    out += encode(words);
  }
  return out;
}

std::string request(const LoadOptions& options) {
  const std::string key = key_name();
  std::vector<std::string> words;
  switch (options.what) {
    case LoadOptions::What::add:
      return encode({"INCRBY", key, "1"});
    case LoadOptions::What::get:
      return encode({"GET", key});
    case LoadOptions::What::mget:
      words.assign(kMgetKeys + 1, key);
      words.front() = "MGET";
      return encode(words);
    case LoadOptions::What::ping:
      return encode({"PING"});
    case LoadOptions::What::commands:
      return encode_all(options.commands);
  }
  throw std::logic_error("no such load");
}

Replies replies_of(const LoadOptions& options) {
  switch (options.what) {
    case LoadOptions::What::add:
      return Replies(":");
    case LoadOptions::What::get:
      return Replies("$");
    case LoadOptions::What::mget:
      return Replies("*");
    case LoadOptions::What::ping:
      return Replies("+");
    case LoadOptions::What::commands:
      return Replies(options.kinds, options.item);
  }
  throw std::logic_error("no such load");
}

}  // namespace

struct Load::Connection {
  explicit Connection(Replies expected) : replies(std::move(expected)) {}

  int socket = -1;
  Replies replies;
  std::string batch;
  std::size_t written = 0;
  bool blocked = false;         // until it is writable
  std::size_t outstanding = 0;  // replies
  Clock::time_point sent{};
};

Load::Load(const LoadOptions& options)
    : options_(options),
      random_(options.seed),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      digits_(std::to_string(options.keys - 1).size()),
      buffer_(kReadBytes, '\0') {
  if (epoll_ < 0) fail("epoll");
  std::string batch;
  for (std::size_t i = 0; i < options_.pipeline; ++i) batch += request(options_);
  const std::string digits(kDigits, '0');
  for (std::size_t at = batch.find(digits); at != std::string::npos;
       at = batch.find(digits, at + kDigits))
    keys_at_.push_back(at);
  for (std::size_t i = 0; i < options_.connections; ++i) {
    connections_.push_back(std::make_unique<Connection>(replies_of(options_)));
    connections_.back()->batch = batch;
    connect(*connections_.back());
  }
}

Load::~Load() {
  for (const auto& connection : connections_) {
    if (connection->socket >= 0) ::close(connection->socket);
  }
  if (epoll_ >= 0) ::close(epoll_);
}

void Load::connect(Connection& connection) const {
  connection.socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection.socket < 0) fail("socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(options_.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(connection.socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
      0)
    fail("connect");
  if (!options_.user.empty()) authenticate(connection);
  const int on = 1;
  ::setsockopt(connection.socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  epoll_event event{.events = EPOLLIN, .data = {.ptr = &connection}};
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, connection.socket, &event) != 0) fail("epoll_ctl");
}

void Load::authenticate(Connection& connection) const {
  const std::string request = encode({"AUTH", options_.user, options_.secret});
  constexpr std::string_view kFine = "+OK\r\n";
  std::array<char, kFine.size()> reply{};
  if (::send(connection.socket, request.data(), request.size(), MSG_NOSIGNAL) !=
          static_cast<ssize_t>(request.size()) ||
      ::recv(connection.socket, reply.data(), reply.size(), MSG_WAITALL) != kFine.size() ||
      std::string_view(reply.data(), reply.size()) != kFine)
    fail("AUTH");
}

LoadResult Load::run() {
  began_ = Clock::now();
  for (const auto& connection : connections_) begin(*connection, began_);
  std::array<epoll_event, 64> events{};
  while (open_ > 0 || !paused_.empty()) {
    const int count = ::epoll_wait(epoll_, events.data(), events.size(), patience());
    if (count < 0 && errno != EINTR) fail("epoll_wait");
    if (count == 0 && paused_.empty()) throw std::runtime_error("no reply for 30 s");
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      auto& connection = *static_cast<Connection*>(event.data.ptr);
      if ((event.events & EPOLLOUT) != 0) write(connection);
      if ((event.events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) read(connection);
    }
    if (!paused_.empty()) resume(Clock::now());
  }
  result_.took = last_reply_.value_or(began_) - began_;
  return std::move(result_);
}

// For epoll_wait; rounded up, as a pause is at least what was asked for.
int Load::patience() const {
  if (paused_.empty()) return static_cast<int>(kPatience.count());
  const auto left = std::chrono::ceil<milliseconds>(paused_.front().first - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

bool Load::over(Clock::time_point now) const {
  return options_.requests > 0 ? sent_ >= options_.requests : now - began_ >= options_.time;
}

void Load::begin(Connection& connection, Clock::time_point now) {
  if (over(now)) return;
  for (const std::size_t at : keys_at_) {
    std::uint64_t key = random_.below(options_.keys);
    for (std::size_t digit = 1; digit <= digits_; ++digit, key /= 10)
      connection.batch[at + kDigits - digit] = static_cast<char>('0' + key % 10);
  }
  ++open_;
  sent_ += options_.pipeline;
  connection.outstanding = options_.pipeline;
  connection.written = 0;
  connection.sent = now;
  write(connection);
}

void Load::write(Connection& connection) {
  while (connection.written < connection.batch.size()) {
    const ssize_t some =
        ::send(connection.socket, connection.batch.data() + connection.written,
               connection.batch.size() - connection.written, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (some < 0 && errno == EINTR) continue;
    if (some < 0 && errno != EAGAIN) fail("send");
    if (some < 0) break;
    connection.written += static_cast<std::size_t>(some);
  }
  const bool blocked = connection.written < connection.batch.size();
  if (blocked == connection.blocked) return;
  connection.blocked = blocked;
  epoll_event event{.events = EPOLLIN, .data = {.ptr = &connection}};
  if (blocked) event.events |= EPOLLOUT;
  if (::epoll_ctl(epoll_, EPOLL_CTL_MOD, connection.socket, &event) != 0) fail("epoll_ctl");
}

void Load::read(Connection& connection) {
  const ssize_t size = ::recv(connection.socket, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size < 0) fail("recv");
  if (size == 0) throw std::runtime_error("the server closed a connection");
  const std::size_t count =
      connection.replies.take({buffer_.data(), static_cast<std::size_t>(size)});
  if (count > 0) on_replies(connection, count);
}

void Load::on_replies(Connection& connection, std::size_t count) {
  if (count > connection.outstanding)
    throw std::runtime_error("the server answered what was not asked");
  const Clock::time_point now = Clock::now();
  note_gap(now);
  result_.latency.add(now - connection.sent, count);
  connection.outstanding -= count;
  if (connection.outstanding > 0) return;
  --open_;
  if (options_.pause.count() == 0) return begin(connection, now);
  if (!over(now)) paused_.emplace_back(now + options_.pause, &connection);
}

// All pauses are as long, so the first began first.
void Load::resume(Clock::time_point now) {
  while (!paused_.empty() && paused_.front().first <= now) {
    Connection& connection = *paused_.front().second;
    paused_.pop_front();
    begin(connection, now);
  }
}

void Load::note_gap(Clock::time_point now) {
  const Clock::duration length = now - last_reply_.value_or(now);
  last_reply_ = now;
  result_.longest_gap = std::max(result_.longest_gap, length);
  if (length <= LoadResult::kLengths.front()) return;
  for (std::size_t i = 0; i < LoadResult::kLengths.size(); ++i) {
    if (length > LoadResult::kLengths[i]) ++result_.gaps_over[i];
  }
  if (result_.gaps.size() < LoadResult::kMaxGaps)
    result_.gaps.push_back({std::chrono::system_clock::now(), length});
}

}  // namespace quipu::bench
