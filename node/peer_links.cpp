#include "node/peer_links.h"

#include <algorithm>
#include <utility>

namespace quipu {
namespace {

using asio::ip::tcp;

constexpr std::chrono::minutes kSameReason{1};

}  // namespace

PeerLinks::PeerLinks(asio::io_context& io, CorePort& port, Log log, Random random,
                     std::size_t most_inbound)
    : io_(io),
      port_(port),
      log_(std::move(log)),
      random_(random),
      most_inbound_(most_inbound) {}

void PeerLinks::start() {
  const std::vector<Member>& members = port_.core->cluster().members;
  dialers_.resize(members.size());
  unreachable_.assign(members.size(), false);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto member = static_cast<MemberIndex>(i);
    if (!port_.core->dials(member)) continue;
    const Result<Address> address = parse_address(members[i].peer_address);
    if (!address.ok()) continue;  // refused by the settings
    dialers_[i] = std::make_shared<Dialer>(
        io_, *address,
        Dialer::Events{
            .connected = [this, member](tcp::socket socket) { open(std::move(socket), member); },
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
  for (const auto& [id, link] : std::exchange(links_, {})) link->shut();
}

void PeerLinks::accept(tcp::socket socket) {
  if (port_.core == nullptr) return;
  if (!may_accept()) {
    log_.debug("peer connection turned away: too many");
    return;
  }
  open(std::move(socket), std::nullopt);
}

bool PeerLinks::may_accept() const {
  std::size_t inbound = 0;
  std::size_t unheard = 0;
  for (const auto& [id, link] : links_) {
    if (link->identity().dialed) continue;
    ++inbound;
    if (!link->heard()) ++unheard;
  }
  return inbound < most_inbound_ && unheard < kMaxUnheardLinks;
}

void PeerLinks::open(tcp::socket socket, std::optional<MemberIndex> dialed) {
  if (dialed) unreachable_[*dialed] = false;
  const LinkId id{++last_link_};
  const auto link = std::make_shared<PeerLink>(
      std::move(socket), PeerLink::Identity{id, dialed}, port_,
      [this](PeerLink& closed, const std::string& reason) { on_closed(closed, reason); });
  links_.emplace(id, link);
  log_.debug("peer link opened", {{"remote", link->remote()}});
  link->open();
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
  log_closed(link, reason);
  links_.erase(identity.id);
  if (identity.dialed) dialers_[*identity.dialed]->start_again(NodeClock::now() - link.opened());
  port_.core->on_link_closed(NodeClock::now(), identity.id, port_.effects);
  port_.finish();
}

void PeerLinks::on_dial_failed(MemberIndex member, const std::string& why) {
  if (unreachable_[member]) return;  // said once, until it has been reached
  unreachable_[member] = true;
  const Member& peer = port_.core->cluster().members[member];
  log_.warning("peer cannot be reached",
               {{"peer", peer.name}, {"address", peer.peer_address}, {"why", why}});
}

void PeerLinks::log_closed(const PeerLink& link, const std::string& reason) {
  if (reason.empty()) return;
  // Strangers come and go.
  const bool known = link.heard() || link.identity().dialed;
  const Instant now = NodeClock::now();
  const bool repeated = reason == said_ && now - said_at_ < kSameReason;
  if (!known || repeated)
    return log_.debug("peer link closed", {{"remote", link.remote()}, {"why", reason}});
  said_ = reason;
  said_at_ = now;
  log_.warning("peer link closed", {{"remote", link.remote()}, {"why", reason}});
}

}  // namespace quipu
