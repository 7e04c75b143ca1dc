// peer_links.h: all connections to other members, dialed by this node or by them.
//
//   start: a Dialer for each member that the core dials ──connected──▶ PeerLink
//                       ▲──────────────── lost ────────────────────────┘
//
// With a cluster secret or a peer_ca, Handshakes has each socket first, whichever side dialed.
//
// Bounds: the number of inbound links, and of those without a valid frame so far. A new one
// replaces the oldest of these, so silent strangers keep no member out. Reactor thread.
#pragma once

#include <asio/io_context.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/base/log.h"
#include "node/net/dialer.h"
#include "node/peers/peer_link.h"
#include "node/peers/peer_watch.h"
#include "node/tls/handshakes.h"

namespace quipu {

inline constexpr std::size_t kMaxUnheardLinks = 64;
// How many links there may be above the limit while handshakes end to make room for them. They are
// among kOtherDescriptors.
inline constexpr std::size_t kMaxRoomAsked = 32;

class PeerLinks {
 public:
  PeerLinks(asio::io_context& io, CorePort& port, Log log, Random random, std::size_t most_inbound);

  // `members` are the reactors of this node. Before start().
  void set_siblings(std::vector<MemberIndex> members) { siblings_ = std::move(members); }
  // What protects the links. `hosts`: the peer host of each member, as in the settings. Its
  // certificate must name it. Before start().
  struct Protection {
    Handshakes& handshakes;
    std::vector<std::string> hosts;
    std::shared_ptr<const TlsContext> context;
  };
  void protect_by(Protection protection) { protection_.emplace(std::move(protection)); }
  // For handshakes from now on, if links are protected. Closes those whose secret is gone.
  // REQUIRES: within an event of the port
  void set_tls(std::shared_ptr<const TlsContext> context);
  // Begins to dial, for a core that has just begun. REQUIRES: port.core().
  void start();
  // `socket` is non-blocking and dialed our peer port.
  void accept(asio::ip::tcp::socket socket);

  // The core's effects. It is no error if the link has gone already.
  void send(LinkId link, std::string&& frame);
  void close(LinkId link, const std::string& reason);
  // At the end of each batch.
  void flush();
  // Behind it: logs what has become of the peers. REQUIRES: port.core(), if it was started.
  void tell_changes() {
    if (!dialers_.empty()) watch_.look(*port_.core());
  }

  [[nodiscard]] std::size_t size() const { return links_.size(); }
  // Connections that found no room, so far.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  struct HandshakeCounts {
    std::uint64_t done = 0, failed = 0;
  };
  [[nodiscard]] const HandshakeCounts& handshakes() const { return handshakes_; }

  // Closes all links and stops dialing. The core gets no events.
  void stop();

 private:
  [[nodiscard]] bool has_room();
  void secure(asio::ip::tcp::socket socket, std::optional<MemberIndex> dialed);
  void on_handshake(Result<SecuredSocket> result, std::optional<MemberIndex> dialed,
                    const std::string& remote);
  [[nodiscard]] std::string objection(const Channel& channel, NodeId claimed) const;
  void open(Channel channel, std::optional<MemberIndex> dialed);
  void on_closed(PeerLink& link, const std::string& reason);
  void on_dial_failed(MemberIndex member, const std::string& why);
  [[nodiscard]] std::size_t inbound() const;
  [[nodiscard]] bool is_sibling(MemberIndex member) const;
  void make_room_for_unheard();
  void renew_after(Duration wait);
  void renew_one();
  void warn(std::string_view message, const LogField& who, const std::string& why);
  void log_closed(const PeerLink& link, std::optional<MemberIndex> member,
                  const std::string& reason);

  NameLookup names_;
  CorePort& port_;
  const Log log_;
  Random random_;
  const std::size_t most_inbound_;
  std::uint64_t refused_ = 0;
  std::vector<std::shared_ptr<Dialer>> dialers_;  // by member; null: it dials us
  std::vector<std::string> unreachable_;          // by member: why, as was logged
  std::map<LinkId, std::shared_ptr<PeerLink>> links_;
  std::vector<std::shared_ptr<PeerLink>> unflushed_;
  std::uint64_t last_link_ = 0;
  std::optional<Protection> protection_;  // none: links are in plain text
  Timer renew_;                           // until the next outdated link is closed
  HandshakeCounts handshakes_;
  std::size_t inbound_handshakes_ = 0;  // under way
  std::size_t room_asked_ = 0;          // of these, how many will end to make room
  std::uint64_t run_ = 0;               // how often it was stopped: older handshakes are dropped
  PeerWatch watch_;
  std::vector<MemberIndex> siblings_;
  // What was logged for each, and when: a refused peer comes again every 2 s.
  struct Said {
    std::string why;
    Instant at{};
  };
  std::map<std::string, Said, std::less<>> said_;
};

}  // namespace quipu
