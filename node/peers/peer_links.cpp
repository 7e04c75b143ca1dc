#include "node/peers/peer_links.h"

#include <algorithm>
#include <asio/post.hpp>
#include <utility>

#include "node/base/sockets.h"
#include "protocol/check.h"

namespace quipu {
namespace {

using asio::ip::tcp;

constexpr std::chrono::minutes kSameReason{1};
// For a link to be closed and up again. A turn has time for two.
constexpr std::chrono::milliseconds kRenewal{500};
constexpr std::chrono::milliseconds kTurn = 2 * kRenewal;
constexpr unsigned kTurns = 5;
// The most peers with a remembered log line. Beyond, all are forgotten.
constexpr std::size_t kMaxSaid = 1024;

// Without the port, which changes each time.
std::string host_of(const std::string& remote) { return remote.substr(0, remote.rfind(':')); }

}  // namespace

PeerLinks::PeerLinks(asio::io_context& io, CorePort& port, Log log, Random random,
                     std::size_t most_inbound)
    : names_(io),
      port_(port),
      log_(std::move(log)),
      random_(random),
      most_inbound_(most_inbound),
      renew_(io),
      watch_(log_) {}

void PeerLinks::start() {
  QUIPU_CHECK(port_.core() != nullptr, "peers are dialed for a core");
  const std::vector<Member>& members = port_.core()->cluster().members;
  dialers_.resize(members.size());
  unreachable_.assign(members.size(), {});
  watch_.begin(*port_.core(), siblings_);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto member = static_cast<MemberIndex>(i);
    if (!port_.core()->dials(member)) continue;
    const Result<Address> address = parse_address(members[i].peer_address);
    if (!address.ok()) continue;  // refused by the settings
    dialers_[i] = std::make_shared<Dialer>(
        names_, *address,
        Dialer::Events{
            .connected = [this, member](tcp::socket socket) { secure(std::move(socket), member); },
            .failed = [this, member](const std::string& why) { on_dial_failed(member, why); }},
        random_.split());
    dialers_[i]->start();
  }
}

void PeerLinks::stop() {
  for (const auto& dialer : dialers_) {
    if (dialer != nullptr) dialer->stop();
  }
  dialers_.clear();
  unflushed_.clear();
  renew_.cancel();
  ++run_;
  inbound_handshakes_ = room_asked_ = 0;
  for (const auto& [id, link] : std::exchange(links_, {})) link->shut();
}

void PeerLinks::accept(tcp::socket socket) {
  if (port_.core() == nullptr) return;
  if (!has_room()) {
    ++refused_;
    return warn("peer connection turned away", {"remote", host_of(describe_remote(socket))},
                std::to_string(most_inbound_) + " have called already");
  }
  secure(std::move(socket), std::nullopt);
}

// Strangers that do not finish their handshake keep no member out.
bool PeerLinks::has_room() {
  if (inbound() + inbound_handshakes_ < most_inbound_) return true;
  if (room_asked_ >= std::min(inbound_handshakes_, kMaxRoomAsked)) return false;
  ++room_asked_;
  protection_->handshakes.make_room(this);
  return true;
}

void PeerLinks::secure(tcp::socket socket, std::optional<MemberIndex> dialed) {
  if (!protection_) return open(Channel(std::move(socket)), dialed);
  if (!dialed) ++inbound_handshakes_;
  const std::string remote = describe_remote(socket);
  const auto done = [this, dialed, remote, run = run_](Result<SecuredSocket> result) {
    if (result.ok()) result->socket = moved_to(names_.loop(), std::move(result->socket));
    asio::post(names_.loop(), [this, dialed, remote, run, result = std::move(result)]() mutable {
      if (run == run_) on_handshake(std::move(result), dialed, remote);
    });
  };
  protection_->handshakes.start(
      std::move(socket), {.context = protection_->context,
                          .role = dialed ? TlsStream::Role::connect : TlsStream::Role::accept,
                          .host = dialed ? protection_->hosts[*dialed] : std::string(),
                          .port = this,
                          .done = done});
}

void PeerLinks::on_handshake(Result<SecuredSocket> result, std::optional<MemberIndex> dialed,
                             const std::string& remote) {
  // It may have begun before the last reload.
  if (result.ok() && result->tls->outdated(*protection_->context))
    result = Status(Code::unavailable, "its cluster secret was replaced");
  ++(result.ok() ? handshakes_.done : handshakes_.failed);
  if (!dialed) {
    --inbound_handshakes_;
    if (!result.ok() && room_asked_ > 0) --room_asked_;
    room_asked_ = std::min(room_asked_, inbound_handshakes_);
  }
  if (result.ok()) return open(Channel(std::move(result->socket), std::move(result->tls)), dialed);
  const std::string why =
      result.status().detail() +
      (protection_->context->names_matter()
           ? ": all members need certificates of tls.peer_ca that name the host of their peer "
             "address"
           : ": all members need the same cluster.secret_file");
  if (!dialed) return warn("peer connection refused", {"remote", host_of(remote)}, why);
  on_dial_failed(*dialed, why);
  dialers_[*dialed]->start_again({});
}

// Only with certificates: each node with the cluster secret may be any member.
std::string PeerLinks::objection(const Channel& channel, NodeId claimed) const {
  const auto member = port_.core()->cluster().find(claimed);
  if (!protection_->context->names_matter() || !member) return {};  // the core refuses strangers
  const std::string& host = protection_->hosts[*member];
  if (channel.tls()->other_side_is(host)) return {};
  return "the certificate of member " + port_.core()->cluster().members[*member].name +
         " does not name " + host + ", the host of its peer address";
}

std::size_t PeerLinks::inbound() const {
  return static_cast<std::size_t>(std::count_if(links_.begin(), links_.end(), [](const auto& link) {
    return !link.second->identity().dialed;
  }));
}

// Links are in the order of their arrival.
void PeerLinks::make_room_for_unheard() {
  std::size_t unheard = 0;
  std::shared_ptr<PeerLink> oldest;
  for (const auto& [id, link] : links_) {
    if (link->identity().dialed || link->heard()) continue;
    if (unheard++ == 0) oldest = link;
  }
  if (unheard < kMaxUnheardLinks) return;
  const std::string why =
      std::to_string(unheard) + " connections sent nothing: find out which program opens them";
  warn("silent peer connection closed for the next one", {"remote", host_of(oldest->remote())},
       why);
  oldest->close({});
}

void PeerLinks::open(Channel channel, std::optional<MemberIndex> dialed) {
  if (!dialed) make_room_for_unheard();
  if (dialed) unreachable_[*dialed].clear();
  const LinkId id{++last_link_};
  const auto link = std::make_shared<PeerLink>(
      std::move(channel), PeerLink::Identity{id, dialed}, port_,
      PeerLink::Events{.closed = [this](PeerLink& closed,
                                        const std::string& reason) { on_closed(closed, reason); },
                       .objection = [this](const Channel& with,
                                           NodeId claimed) { return objection(with, claimed); }});
  links_.emplace(id, link);
  log_.debug("peer link opened", {{"remote", link->remote()}});
  link->open();
}

// Members that reload at the same time take turns.
void PeerLinks::set_tls(std::shared_ptr<const TlsContext> context) {
  if (!protection_) return;
  protection_->context = std::move(context);
  if (port_.core() != nullptr) renew_after(port_.core()->view().self() % kTurns * kTurn);
}

void PeerLinks::renew_after(Duration wait) {
  renew_.expires_after(wait);
  renew_.async_wait([this](const asio::error_code& error) {
    if (!error && port_.core() != nullptr) renew_one();
  });
}

void PeerLinks::renew_one() {
  const auto outdated = [this](const auto& link) {
    return link.second->outdated(*protection_->context);
  };
  const auto at = std::ranges::find_if(links_, outdated);
  if (at == links_.end()) return;
  const std::shared_ptr<PeerLink> link = at->second;
  const CorePort::Event event(port_);
  link->close("its cluster secret was replaced");
  renew_after(kRenewal);
}

void PeerLinks::send(LinkId link, std::string&& frame) {
  const auto at = links_.find(link);
  if (at == links_.end()) return;
  at->second->send(std::move(frame));
  if (unflushed_.empty() || unflushed_.back() != at->second) unflushed_.push_back(at->second);
}

void PeerLinks::close(LinkId link, const std::string& reason) {
  const auto at = links_.find(link);
  if (at == links_.end()) return;
  const std::shared_ptr<PeerLink> closing = at->second;
  closing->close(reason);
}

void PeerLinks::flush() {
  for (const auto& link : std::exchange(unflushed_, {})) link->flush();
}

void PeerLinks::on_closed(PeerLink& link, const std::string& reason) {
  const PeerLink::Identity identity = link.identity();
  const std::optional<MemberIndex> member = port_.core()->peer_of(identity.id);
  if (identity.dialed) dialers_[*identity.dialed]->start_again(NodeClock::now() - link.opened());
  const CorePort::Event event(port_);
  event->on_link_closed(NodeClock::now(), identity.id, event.effects());
  log_closed(link, member, reason);
  links_.erase(identity.id);
}

void PeerLinks::on_dial_failed(MemberIndex member, const std::string& why) {
  if (unreachable_[member] == why) return;  // logged already
  unreachable_[member] = why;
  const Member& peer = port_.core()->cluster().members[member];
  watch_.set_reason(member, why);
  if (is_sibling(member)) return;
  log_.warning("peer cannot be reached",
               {{"peer", peer.name}, {"address", peer.peer_address}, {"why", why}});
}

bool PeerLinks::is_sibling(MemberIndex member) const {
  return std::find(siblings_.begin(), siblings_.end(), member) != siblings_.end();
}

// The watch logs peers that are down.
void PeerLinks::log_closed(const PeerLink& link, std::optional<MemberIndex> member,
                           const std::string& reason) {
  if (reason.empty()) return;
  if (member && watch_.up(*member)) {
    if (!port_.core()->view().up(*member)) watch_.set_reason(*member, reason);
  } else if (member && !is_sibling(*member)) {
    return warn("peer link closed", {"peer", port_.core()->cluster().members[*member].name},
                reason);
  } else if (!member && (link.heard() || link.wants_tls())) {  // silent strangers come and go
    return warn("peer link closed", {"remote", host_of(link.remote())}, reason);
  }
  log_.debug("peer link closed", {{"remote", link.remote()}, {"why", reason}});
}

void PeerLinks::warn(std::string_view message, const LogField& who, const std::string& why) {
  const Instant now = NodeClock::now();
  if (said_.size() >= kMaxSaid) said_.clear();
  Said& said = said_[who.value];
  if (why == said.why && now - said.at < kSameReason)
    return log_.debug(message, {who, {"why", why}});
  said = {why, now};
  log_.warning(message, {who, {"why", why}});
}

}  // namespace quipu
