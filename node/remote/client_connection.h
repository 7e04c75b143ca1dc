// client_connection.h: one TCP connection of a client to a node.
//
//   dialing ─▶ [TLS handshake] ─▶ open: frames in, frames out ─▶ closed
//
// The core limits how long any of it may take. Invariant: either Events::closed or close() ends
// it, and nothing is called afterwards. The client's thread. Owned by ClientThread and by its
// pending callbacks.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <string>

#include "node/net/address.h"
#include "node/net/socket_output.h"
#include "node/net/tcp_dial.h"
#include "node/tls/tls_handshake.h"
#include "protocol/frame.h"

namespace quipu {

class ClientConnection : public std::enable_shared_from_this<ClientConnection> {
 public:
  struct Events {
    std::function<void()> connected;
    std::function<void(std::string why)> closed;  // also if the input is no frame
    std::function<void(const FrameDecoder::Frame&)> frame;
    std::function<void()> turn_over;  // after all frames of one read, and after each of the others
  };

  // `tls`: null for plain text.
  using Tls = std::shared_ptr<const TlsContext>;

  // `names` outlives it: for an owner that dials again and again.
  ClientConnection(NameLookup& names, Tls tls, Events events);
  // Looks up names by itself.
  ClientConnection(asio::io_context& io, Tls tls, Events events);

  void dial(const Address& address);
  // Written at the next flush(). REQUIRES: connected was called.
  void send(std::string&& frames) { output_.append(std::move(frames)); }
  void flush();
  void close();

 private:
  void on_dialed(const asio::error_code& error, asio::ip::tcp::socket socket);
  void on_secured(Result<SecuredSocket> secured);
  void open(Channel channel);
  void wait_readable();
  void on_readable();
  void give_frames();
  void wait_writable();
  void end(std::string why);

  const std::unique_ptr<NameLookup> own_names_;  // null: names_ belongs to another object
  NameLookup& names_;
  const Tls tls_;
  std::string host_;
  std::shared_ptr<TcpDial> dial_;
  std::shared_ptr<TlsHandshake> handshake_;
  Channel channel_;
  Events events_;
  FrameDecoder decoder_;
  SocketOutput output_;
  bool writing_ = false;
  bool closed_ = false;
};

}  // namespace quipu
