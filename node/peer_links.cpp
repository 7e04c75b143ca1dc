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
    : names_(io), port_(port), log_(std::move(log)), random_(random), most_inbound_(most_inbound) {}

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
        names_, *address,
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
  if (inbound() >= most_inbound_) {
    return warn("peer connection turned away", describe_remote(socket),
                std::to_string(most_inbound_) + " have called already");
  }
  make_room_for_unheard();
  open(std::move(socket), std::nullopt);
}

std::size_t PeerLinks::inbound() const {
  return static_cast<std::size_t>(std::count_if(links_.begin(), links_.end(), [](const auto& link) {
    return !link.second->identity().dialed;
  }));
}

// Links are in the order in which they came.
void PeerLinks::make_room_for_unheard() {
  std::size_t unheard = 0;
  std::shared_ptr<PeerLink> oldest;
  for (const auto& [id, link] : links_) {
    if (link->identity().dialed || link->heard()) continue;
    if (unheard++ == 0) oldest = link;
  }
  if (unheard < kMaxUnheardLinks) return;
  const std::string why = std::to_string(unheard) + " connections say nothing: who opens them?";
  warn("silent peer connection closed for the next one", oldest->remote(), why);
  oldest->close({});
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
  if (link.heard() || link.identity().dialed) {
    return warn("peer link closed", link.remote(), reason);
  }
  log_.debug("peer link closed", {{"remote", link.remote()}, {"why", reason}});
}

void PeerLinks::warn(std::string_view message, const std::string& remote, const std::string& why) {
  const Instant now = NodeClock::now();
  if (why == said_ && now - said_at_ < kSameReason) {
    return log_.debug(message, {{"remote", remote}, {"why", why}});
  }
  said_ = why;
  said_at_ = now;
  log_.warning(message, {{"remote", remote}, {"why", why}});
}

}  // namespace quipu
