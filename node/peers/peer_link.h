// peer_link.h: one TCP connection to another member.
//
//   readable ─▶ every frame of one read ─▶ core ─▶ effects, once ─▶ sends, gathered
//
// Peers are always read, even while clients are not: a peer that is not read seems dead. Bounds:
// what a peer leaves unread (then the link is closed), and how long an inbound link may go
// without a valid frame.
//
// With certificates, a peer that dialed us must show one for the host of the member that it claims
// to be. When we dial, the handshake checks this.
//
// Invariant: after open(), Events::closed is called exactly once, unless shut() was. Reactor
// thread. Owned by PeerLinks and by its pending callbacks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "node/base/clock.h"
#include "node/cores/core_port.h"
#include "node/net/channel.h"
#include "node/net/socket_output.h"
#include "protocol/frame.h"

namespace quipu {

// "host:port", for people.
[[nodiscard]] std::string describe_remote(const asio::ip::tcp::socket& socket);

class PeerLink : public std::enable_shared_from_this<PeerLink> {
 public:
  struct Identity {
    LinkId id{};
    std::optional<MemberIndex> dialed;  // the member that we called
  };
  struct Events {
    std::function<void(PeerLink&, const std::string& reason)> closed;
    // Why the other side may not be this member. Empty: it may.
    std::function<std::string(const Channel&, NodeId member)> objection;
  };

  // `port` outlives it. REQUIRES: port.core().
  PeerLink(Channel channel, Identity identity, CorePort& port, Events events);

  void open();
  // Sent at the next flush().
  void send(std::string&& frame) { output_.append(std::move(frame)); }
  void flush();
  // Sends what can be sent at once, then calls Events::closed. An empty reason: nothing unusual.
  void close(const std::string& reason);
  // The same without Events::closed.
  void shut();

  [[nodiscard]] const Identity& identity() const { return identity_; }
  [[nodiscard]] const std::string& remote() const { return remote_; }
  // As TlsStream::outdated().
  [[nodiscard]] bool outdated(const TlsContext& newer) const {
    return channel_.tls() != nullptr && channel_.tls()->outdated(newer);
  }
  [[nodiscard]] Instant opened() const { return opened_; }
  [[nodiscard]] bool heard() const { return heard_; }  // a valid frame
  // The link is in plain text, and the other side has begun a TLS handshake.
  [[nodiscard]] bool wants_tls() const { return wants_tls_; }

 private:
  void wait_readable();
  [[nodiscard]] bool begins_tls() const;
  void on_readable();
  void give_frames();
  [[nodiscard]] std::string objection(const FrameDecoder::Frame& frame) const;
  void refuse(const Status& why);
  void wait_writable();
  void wait_for_first_frame();

  Channel channel_;
  const Identity identity_;
  CorePort& port_;
  const Events events_;
  std::string remote_;
  const Instant opened_;
  FrameDecoder decoder_;
  SocketOutput output_;
  Timer first_frame_;
  bool heard_ = false;
  bool wants_tls_ = false;
  bool writing_ = false;
  bool closed_ = false;
};

}  // namespace quipu
