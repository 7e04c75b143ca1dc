#include "node/clients/client_sessions.h"

#include <algorithm>
#include <asio/buffer.hpp>
#include <asio/post.hpp>
#include <map>
#include <utility>

#include "node/clients/native_protocol.h"
#include "node/clients/resp/resp_connection.h"

namespace quipu {
namespace {

using asio::ip::tcp;

// Redis's own text, if there is one.
RejectedConnections::Reason no_room(std::size_t connections) {
  return {{Code::overloaded, "the node has " + std::to_string(connections) +
                                 " client connections, its limit: share connections, use another "
                                 "node, or let it open more files (ulimit -n)"},
          "ERR max number of clients reached"};
}

RejectedConnections::Reason only_tls() {
  constexpr const char* kWhy = "this node takes TLS connections only";
  return {{Code::protocol_error, std::string(kWhy) + ": name the CA of its certificate (--ca)"},
          std::string("ERR ") + kWhy};
}

RejectedConnections::Reason not_serving() {
  constexpr const char* kWhy = "the node starts or stops";
  return {{Code::unavailable, kWhy}, std::string("ERR ") + kWhy};
}

}  // namespace

ClientSessions::ClientSessions(asio::io_context& io, CorePort& port, SessionLimits limits,
                               RespSettings resp, Random random)
    : shared_{
          .io = io,
          .sockets = {io, [this](ClientId client,
                                 ReadySockets::Interest ready) { on_ready(client, ready); }},
          .context = {port},
          .limits = limits,
          .buffer = {},
          .unflushed = {},
          .holding = {},
          .paused = {},
          .on_closed =
              [this](ClientId id) {
                sessions_.erase(id);
                set_stranger(id, false);
                --taken_;
                count_connected();
              },
          .on_held_too_much = [this] { evict_largest(); },
          .speak = [this](ClientSession& session, char first) { return speak(session, first); }},
      resp_{.context = shared_.context, .settings = std::move(resp), .random = random},
      rejected_(limits.rejected, limits.rejected_time) {
  AccessShared& access = shared_.context.access;
  access.on_wrong_secret = [this](ClientId client) { on_wrong_secret(client); };
  access.on_change = [this](ClientId client, bool known) { set_stranger(client, !known); };
}

void ClientSessions::set_limits(SessionLimits limits, RespSettings resp) {
  shared_.limits = limits;
  resp_.settings = std::move(resp);
}

void ClientSessions::set_users(std::shared_ptr<const Users> users) {
  shared_.context.access.users = std::move(users);
  for (const auto& session : all()) session->renew_access();
}

// The oldest first, independent of the hash.
std::vector<std::shared_ptr<ClientSession>> ClientSessions::all() const {
  const std::map<ClientId, std::shared_ptr<ClientSession>> by_id(sessions_.begin(),
                                                                 sessions_.end());
  std::vector<std::shared_ptr<ClientSession>> list;
  list.reserve(by_id.size());
  for (const auto& [id, session] : by_id) list.push_back(session);
  return list;
}

void ClientSessions::set_stranger(ClientId client, bool stranger) {
  if (stranger) {
    strangers_.insert(client);
  } else {
    strangers_.erase(client);
  }
  stranger_count_ = strangers_.size();
}

void ClientSessions::on_wrong_secret(ClientId client) {
  ++shared_.context.figures.wrong_secrets;
  const auto at = sessions_.find(client);
  if (at == sessions_.end() || log_refused_ == nullptr) return;
  // Connections of one host have different ports.
  const std::string remote = at->second->remote();
  const std::string host = remote.substr(0, remote.rfind(':'));
  if (const auto unlogged = refusals_.admit(NodeClock::now(), host)) log_refused_(host, *unlogged);
}

std::size_t ClientSessions::kill(const ClientFilter& which) {
  std::size_t killed = 0;
  for (const auto& session : all()) {
    const bool other = session->id() != which.asker && !session->ending();
    if (!other ||
        !which.matches(session->id(), session->remote(), session->local(), session->user()))
      continue;
    ++killed;
    session->close();
  }
  return killed;
}

void ClientSessions::set_tls(std::shared_ptr<const TlsContext> context) {
  if (!encryption_) return;
  const std::lock_guard lock(context_mutex_);
  encryption_->context = std::move(context);
}

void ClientSessions::encrypt_by(Encryption encryption) {
  encryption_.emplace(std::move(encryption));
  shared_.on_first = [this](ClientSession& session, char first) {
    return on_first(session, first);
  };
}

// TLS goes to the handshakes. Plain text is served if the settings allow it from that address.
SessionsShared::First ClientSessions::on_first(ClientSession& session, char first) {
  const bool tls = static_cast<std::uint8_t>(first) == kTlsFirstByte;
  if (!tls && may_be_plain(session)) return SessionsShared::First::read;
  if (tls) expect();  // leave() counts the session off, and its socket comes back
  tcp::socket socket = session.leave();
  if (tls) {
    begin_handshake(std::move(socket), true);
  } else {
    ++shared_.context.figures.plaintext_refused;
    rejected_.add(moved_to(shared_.io, std::move(socket)), only_tls());
  }
  return SessionsShared::First::leave;
}

bool ClientSessions::may_be_plain(const ClientSession& session) const {
  return encryption_->plaintext == Plaintext::allow ||
         (encryption_->plaintext == Plaintext::loopback && is_loopback(session.address()));
}

bool ClientSessions::take_tls(tcp::socket& socket) {
  std::uint8_t first = 0;
  asio::error_code error;
  (void)socket.receive(asio::buffer(&first, 1), tcp::socket::message_peek, error);
  if (error || first != kTlsFirstByte) return false;
  begin_handshake(std::move(socket), false);
  return true;
}

// `received`: it was counted among the connections that this node received.
void ClientSessions::begin_handshake(tcp::socket socket, bool received) {
  const auto done = [this, received, from = remote_address(socket)](Result<SecuredSocket> result) {
    if (result.ok()) result->socket = moved_to(encryption_->sockets, std::move(result->socket));
    asio::post(shared_.io, [this, received, from, result = std::move(result)]() mutable {
      on_handshake(std::move(result), received, from);
    });
  };
  ++handshakes_;
  const std::lock_guard lock(context_mutex_);
  encryption_->handshakes.start(std::move(socket), {.context = encryption_->context,
                                                    .role = TlsStream::Role::accept,
                                                    .port = this,
                                                    .done = done});
}

void ClientSessions::on_handshake(Result<SecuredSocket> result, bool received,
                                  const asio::ip::address& from) {
  PortFigures& figures = shared_.context.figures;
  if (!received) ++figures.received;
  ++(result.ok() ? figures.handshakes : figures.handshakes_failed);
  --handshakes_;
  if (!result.ok() && room_asked_ > 0) --room_asked_;
  room_asked_ = std::min(room_asked_, handshakes_.load());
  if (!result.ok()) {
    --taken_;
    if (log_failed_ == nullptr) return;
    const std::string address = from.to_string();
    if (const auto unlogged = failures_.admit(NodeClock::now(), address))
      log_failed_(address, *unlogged, result.status());
    return;
  }
  const CorePort::Event event(shared_.context.port);
  accept(Channel(std::move(result->socket), std::move(result->tls)));
}

// Connections that have not authenticated make room, the oldest first. A handshake takes a moment
// to end, so the new connection may be one more for that long.
bool ClientSessions::make_room() {
  const auto full = [this] { return sessions_.size() + handshakes_ >= shared_.limits.sessions; };
  while (full() && !strangers_.empty()) {
    const std::shared_ptr<ClientSession> oldest = sessions_.at(*strangers_.begin());
    oldest->close();
  }
  if (!full()) return true;
  if (room_asked_ >= std::min(handshakes_.load(), shared_.limits.rejected)) return false;
  ++room_asked_;
  encryption_->handshakes.make_room(this);
  return true;
}

void ClientSessions::accept(Channel channel) {
  const bool serving = shared_.context.port.core() != nullptr && !shared_.context.closing;
  if (!serving || !make_room()) {
    --taken_;
    if (serving) ++shared_.context.figures.rejected;
    if (channel.tls() != nullptr) return;  // no room to encrypt an error
    return rejected_.add(moved_to(shared_.io, std::move(channel.socket())),
                         serving ? no_room(shared_.limits.sessions) : not_serving());
  }
  const ClientId id = std::exchange(next_, ClientId{raw(next_) + step_});
  if (channel.tls() == nullptr) ++shared_.context.figures.received;  // before its handshake, too
  const auto session = std::make_shared<ClientSession>(std::move(channel), id, shared_);
  sessions_.emplace(id, session);
  if (shared_.context.access.users != nullptr) set_stranger(id, true);
  count_connected();
  session->go_on();
}

std::unique_ptr<ClientProtocol> ClientSessions::speak(ClientSession& session, char first) {
  if (static_cast<std::uint8_t>(first) == kFrameMagic)
    return std::make_unique<NativeProtocol>(session.id(), shared_.context);
  const auto buffered = [&session] {  // which owns the connection
    return RespPeer::Buffered{.requests = session.held(),
                              .replies = session.unfetched(),
                              .reply_room = session.reply_room(),
                              .session = sizeof(ClientSession)};
  };
  return std::make_unique<RespConnection>(session.id(),
                                          RespPeer{.remote = session.remote(),
                                                   .local = session.local(),
                                                   .descriptor = session.descriptor(),
                                                   .since = session.opened(),
                                                   .buffered = buffered},
                                          resp_);
}

// Also for a session that has gone meanwhile.
void ClientSessions::on_ready(ClientId client, ReadySockets::Interest ready) {
  const auto at = sessions_.find(client);
  if (at == sessions_.end()) return;
  const std::shared_ptr<ClientSession> session = at->second;
  session->on_ready(ready);
}

void ClientSessions::reply(ClientId client, const Answer& answer) {
  const auto at = sessions_.find(client);
  if (at != sessions_.end()) at->second->reply(answer);
}

void ClientSessions::on_released(Instant now, Commit durable) {
  shared_.context.meter.on_released(now, durable);
  shared_.released = durable;
  const auto go = [durable](const std::shared_ptr<ClientSession>& session) {
    session->on_released(durable);
  };
  shared_.holding.release(durable, go);
}

void ClientSessions::flush(Instant now) {
  shared_.context.meter.on_batch_end(now);
  for (const auto& session : std::exchange(shared_.unflushed, {})) session->flush();
}

void ClientSessions::resume() {
  for (const auto& session : std::exchange(shared_.paused, {})) session->on_core_resumed();
}

void ClientSessions::on_tick(Instant now) {
  constexpr std::chrono::seconds kLook{1};
  if (now < next_look_) return;
  next_look_ = now + kLook;
  resp_.on_second();
  const auto idle = shared_.limits.idle;
  if (idle == std::chrono::milliseconds::zero()) return;
  for (const auto& session : all()) {
    if (session->idle_since(now - idle)) session->close();
  }
}

void ClientSessions::begin_closing() {
  if (std::exchange(shared_.context.closing, true)) return;
  for (const auto& session : all()) session->part();
}

bool ClientSessions::ending() const {
  return std::ranges::any_of(sessions_, [](const auto& one) { return one.second->ending(); });
}

// Among equal ones the newest.
void ClientSessions::evict_largest() {
  const auto smaller = [](const auto& a, const auto& b) {
    return std::pair(a.second->held(), raw(a.first)) < std::pair(b.second->held(), raw(b.first));
  };
  const auto largest = std::max_element(sessions_.begin(), sessions_.end(), smaller);
  if (largest == sessions_.end()) return;
  largest->second->evict({Code::overloaded,
                          "the node holds too many unfinished requests, and the largest "
                          "goes: send smaller ones"});
}

void ClientSessions::close_all() {
  const auto closing = all();
  sessions_.clear();
  for (const auto& session : closing) session->close();
  shared_.paused.clear();
  shared_.holding.clear();
  shared_.released = {};  // the next core may number from lower on
  shared_.context.meter.forget_waiting();
  rejected_.clear();
}

}  // namespace quipu
