// network.h: the network between the nodes, and between them and the clients.
//
//   Namespaces   each node in a network namespace of its own on a bridge, cut by
//                nftables; bytes pass a proxy only while they must be delayed
//   Loopback     if namespaces are not allowed: all bytes pass through our proxies
//
// Places are the nodes, 0 to 4, and kClients.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tests/chaos/weather.h"

namespace quipu::chaos {

class Network {
 public:
  virtual ~Network() = default;

  struct Addresses {
    std::string client, peer;  // host:port
  };
  [[nodiscard]] virtual Addresses dialed(std::size_t node) const = 0;
  // Whether it has exactly one peer port for each node.
  [[nodiscard]] virtual bool one_port_each() const = 0;
  [[nodiscard]] virtual Addresses listened(std::size_t node) const = 0;

  // Starts a node's program in its place.
  virtual pid_t start(std::size_t node, const std::vector<std::string>& arguments,
                      const std::string& log) = 0;

  // No data gets from one node to another, in this direction.
  virtual void cut(std::size_t from, std::size_t to) = 0;
  // Ends all cuts.
  virtual void heal() = 0;

  struct Disturbance {
    int delay_ms = 0;
    int lost_in_100 = 0;  // answers after which a connection is dead
  };
  // Until calm(). Connections may break at both.
  virtual void disturb(Disturbance disturbance) = 0;
  virtual void calm() = 0;
  // Why disturb() cannot work here; empty: it can.
  [[nodiscard]] virtual std::string why_undisturbed() const = 0;
};

}  // namespace quipu::chaos
