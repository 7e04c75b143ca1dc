#include "tests/simulator/client_host.h"

#include <cstring>

namespace quipu::sim {

ClientHost::ClientHost(Timeline& time, Network& network, std::vector<SimNode*> nodes, HostId host,
                       Events events)
    : time_(time),
      network_(network),
      nodes_(std::move(nodes)),
      host_(host),
      events_(std::move(events)) {}

void ClientHost::connect(ConnectionId connection, MemberIndex node) {
  time_.in(std::chrono::milliseconds(1), [this, connection, node] {
    SimNode& to = *nodes_[node];
    const auto conn = std::make_shared<ConnId>();
    std::optional<Ears> theirs;
    if (network_.reachable(host_, to.host())) theirs = to.accept_client([conn] { return *conn; });
    if (!theirs) {
      events_.on_closed(connection);
      return;
    }
    Ears mine{[this, connection](const std::string& bytes) { on_bytes(connection, bytes); },
              [this, connection] {
                if (connections_.erase(connection) > 0) events_.on_closed(connection);
              }};
    *conn = network_.connect(host_, std::move(mine), to.host(), std::move(*theirs));
    connections_[connection].conn = *conn;
    events_.on_connected(connection);
  });
}

void ClientHost::send(ConnectionId connection, std::string frames) {
  const auto at = connections_.find(connection);
  if (at != connections_.end()) network_.send(at->second.conn, host_, std::move(frames));
}

void ClientHost::close(ConnectionId connection) {
  const auto at = connections_.find(connection);
  if (at == connections_.end()) return;
  network_.close(at->second.conn, host_);
  connections_.erase(at);
}

void ClientHost::on_bytes(ConnectionId connection, const std::string& bytes) {
  const auto at = connections_.find(connection);
  if (at == connections_.end()) return;
  std::memcpy(at->second.decoder.prepare(bytes.size()).data(), bytes.data(), bytes.size());
  at->second.decoder.commit(bytes.size());
  for (auto here = connections_.find(connection); here != connections_.end();
       here = connections_.find(connection)) {
    const auto frame = here->second.decoder.next();
    if (!frame.ok() || !*frame) return;
    events_.on_frame(connection, **frame);
  }
}

}  // namespace quipu::sim
