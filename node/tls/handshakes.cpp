#include "node/tls/handshakes.h"

#include <sys/resource.h>
#include <unistd.h>

#include <asio/post.hpp>
#include <utility>

#include "node/base/sockets.h"
#include "node/base/start_thread.h"

namespace quipu {
namespace {

constexpr std::chrono::milliseconds kSweep{100};

// This gives the thread about a tenth of a reactor's weight. On Linux, each thread has its own.
constexpr int kNice = 10;
void give_way() { (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice); }

}  // namespace

Handshakes::Handshakes()
    : work_(asio::make_work_guard(io_)), sweep_(io_), thread_(start_thread("quipu-tls", [this] {
        give_way();
        io_.run();
      })) {}

Handshakes::~Handshakes() { stop(); }

void Handshakes::stop() {
  io_.stop();
  if (thread_.joinable()) thread_.join();
  for (const auto& [id, one] : std::exchange(under_way_, {})) one.handshake->cancel();
  waiting_.clear();
}

void Handshakes::start(asio::ip::tcp::socket socket, Job job) {
  asio::post(io_, [this, moved = moved_to(io_, std::move(socket)), job = std::move(job)]() mutable {
    take(std::move(moved), std::move(job));
  });
}

void Handshakes::make_room(const void* port) {
  asio::post(io_, [this, port] {
    const auto is_of_port = [this, port](Id id) {
      const auto at = under_way_.find(id);
      return (at != under_way_.end() ? at->second.port : waiting_.at(id).job.port) == port;
    };
    if (const auto oldest = slots_.take_oldest(is_of_port))
      end(*oldest, "it made room for another connection during the TLS handshake");
    begin_ready();
  });
}

void Handshakes::take(asio::ip::tcp::socket socket, Job job) {
  const Id id{++last_};
  slots_.arrived(NodeClock::now(), id, source_of(remote_address(socket)));
  waiting_.emplace(id, Waiting{std::move(socket), std::move(job)});
  begin_ready();
}

void Handshakes::begin_ready() {
  for (const Id id : slots_.take_ready()) begin(id);
  if (slots_.waiting() && !sweeping_) sweep();
}

void Handshakes::begin(Id id) {
  auto waited = waiting_.extract(id);
  auto& [socket, job] = waited.mapped();
  auto tls = std::make_unique<TlsStream>(job.context, job.role, job.host);
  const auto done = [this, id, done = std::move(job.done)](Result<SecuredSocket> result) {
    under_way_.erase(id);
    slots_.ended(id);
    done(std::move(result));
    asio::post(io_, [this] { begin_ready(); });
  };
  const auto handshake = std::make_shared<TlsHandshake>(std::move(socket), std::move(tls), done);
  under_way_.emplace(id, UnderWay{handshake, job.port});
  handshake->start();
}

// While some wait for a slot.
void Handshakes::sweep() {
  sweeping_ = true;
  sweep_.expires_after(kSweep);
  sweep_.async_wait([this](const asio::error_code& error) {
    sweeping_ = false;
    if (error) return;
    const auto waits_since = [this](Id id) { return under_way_.at(id).handshake->waits_since(); };
    for (const Id id : slots_.take_late(NodeClock::now(), waits_since))
      end(id, "too many TLS handshakes were under way");
    begin_ready();
  });
}

// The slots do not count it any more.
void Handshakes::end(Id id, const char* why) {
  if (const auto at = under_way_.find(id); at != under_way_.end()) {
    const std::shared_ptr<TlsHandshake> ending = at->second.handshake;
    return ending->fail(why);
  }
  const auto waited = waiting_.extract(id);
  waited.mapped().job.done(Status(Code::unavailable, why));
}

}  // namespace quipu
