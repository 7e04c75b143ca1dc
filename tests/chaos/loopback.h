// loopback.h: the network if namespaces are not allowed: every node listens on 127.0.0.1, and
// the other nodes get the address of a proxy in front of it.
//
// A connection to a proxy does not show which node dialed it, so the proxy looks up the owner
// of its port in /proc.
#pragma once

#include <array>
#include <atomic>
#include <memory>

#include "tests/chaos/network.h"
#include "tests/chaos/proxy.h"

namespace quipu::chaos {

class Loopback final : public Network {
 public:
  explicit Loopback(std::uint64_t seed);

  [[nodiscard]] Addresses dialed(std::size_t node) const override;
  [[nodiscard]] bool one_port_each() const override { return true; }
  [[nodiscard]] Addresses listened(std::size_t node) const override;
  pid_t start(std::size_t node, const std::vector<std::string>& arguments,
              const std::string& log) override;
  void cut(std::size_t from, std::size_t to) override { weather_.cut[from][to] = true; }
  void heal() override;
  void disturb(Disturbance disturbance) override;
  void calm() override;
  [[nodiscard]] std::string why_undisturbed() const override { return ""; }

 private:
  struct Ports {
    std::uint16_t client = 0, peer = 0;
  };
  [[nodiscard]] std::size_t who_has(std::uint16_t port) const;

  Weather weather_;
  std::array<std::atomic<pid_t>, kNodes> pids_{};
  std::array<Ports, kNodes> listened_, dialed_;
  std::unique_ptr<Proxy> proxy_;
};

}  // namespace quipu::chaos
