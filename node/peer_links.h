// peer_links.h: all connections to other members: those that this node dials, and
// those that dialed it.
//
//   start: a Dialer for each member that the core dials ──connected──▶ PeerLink
//                       ▲──────────────── lost ────────────────────────┘
//
// Bounds: inbound links, and of those the ones that have not yet said anything
// sound: of these the oldest goes when another comes, so that strangers who say nothing
// keep no member out. Reactor thread.
#pragma once

#include <asio/io_context.hpp>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "node/dialer.h"
#include "node/log.h"
#include "node/peer_link.h"

namespace quipu {

inline constexpr std::size_t kMaxUnheardLinks = 64;

class PeerLinks {
 public:
  PeerLinks(asio::io_context& io, CorePort& port, Log log, Random random, std::size_t most_inbound);

  // Begins to dial, for a core that has just begun. REQUIRES: port.core.
  void start();
  // `socket` is non-blocking and dialed our peer port.
  void accept(asio::ip::tcp::socket socket);

  // The core's effects. A link that is gone already is no error.
  void send(LinkId link, std::string&& frame);
  void close(LinkId link, const std::string& reason);
  // At the end of each batch.
  void flush();

  // Closes all links and stops to dial; the core is not told.
  void stop();

 private:
  void open(asio::ip::tcp::socket socket, std::optional<MemberIndex> dialed);
  void on_closed(PeerLink& link, const std::string& reason);
  void on_dial_failed(MemberIndex member, const std::string& why);
  [[nodiscard]] std::size_t inbound() const;
  void make_room_for_unheard();
  void warn(std::string_view message, const std::string& remote, const std::string& why);
  void log_closed(const PeerLink& link, const std::string& reason);

  NameLookup names_;
  CorePort& port_;
  const Log log_;
  Random random_;
  const std::size_t most_inbound_;
  std::vector<std::shared_ptr<Dialer>> dialers_;  // by member; null: it dials us
  std::vector<bool> unreachable_;                 // by member: logged already
  std::map<LinkId, std::shared_ptr<PeerLink>> links_;
  std::vector<std::shared_ptr<PeerLink>> unflushed_;
  std::uint64_t last_link_ = 0;
  // The last reason that was logged, and when: a refused peer comes every 2 s.
  std::string said_;
  Instant said_at_{};
};

}  // namespace quipu
