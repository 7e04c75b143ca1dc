// client_host.h: a machine with clients: its connections to the nodes' client ports, as
// frames.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cluster/client/effects.h"
#include "protocol/message_codec.h"
#include "tests/simulator/node.h"

namespace quipu::sim {

class ClientHost {
 public:
  struct Events {
    std::function<void(ConnectionId)> on_connected;
    std::function<void(ConnectionId)> on_closed;  // also if it could not be opened
    std::function<void(ConnectionId, const FrameDecoder::Frame&)> on_frame;
  };
  ClientHost(Timeline& time, Network& network, std::vector<SimNode*> nodes, HostId host,
             Events events);

  void connect(ConnectionId connection, MemberIndex node);
  void send(ConnectionId connection, std::string frames);
  // While a frame is being delivered: when the node sent it.
  [[nodiscard]] Instant sent() const { return network_.sent(); }
  // No on_closed follows.
  void close(ConnectionId connection);

 private:
  struct Connection {
    ConnId conn{};
    FrameDecoder decoder;
  };
  void on_bytes(ConnectionId connection, const std::string& bytes);

  Timeline& time_;
  Network& network_;
  std::vector<SimNode*> nodes_;
  HostId host_;
  Events events_;
  std::map<ConnectionId, Connection> connections_;
};

}  // namespace quipu::sim
