// namespaces.h: the network of namespaces.
//
//    clients (this process)           bridge 198.18.0.254
//    ───┬────────┬────────┬────────┬────────┬───
//      n1 .1    n2 .2    n3 .3    n4 .4    n5 .5      one namespace each
//
//   cut(from, to)   nftables in `to` drops what comes from `from`
//   disturb         nftables in each place redirects what it dials to its own proxy,
//                   and resets the connections that were there before
//
// First the process enters a network and a mount namespace of its own. So nothing that it
// makes is visible outside, two runs cannot collide, and the kernel removes everything with
// the last process, no matter how that ends.
#pragma once

#include <array>
#include <filesystem>
#include <memory>

#include "tests/chaos/network.h"
#include "tests/chaos/proxy.h"

namespace quipu::chaos {

// Call it before any thread starts. Empty: done. Otherwise the reason why it is impossible;
// then nothing was changed.
[[nodiscard]] std::string enter_private_world();

class Namespaces final : public Network {
 public:
  // REQUIRES: enter_private_world() succeeded. Throws if a command fails.
  Namespaces(std::filesystem::path directory, std::uint64_t seed);
  ~Namespaces() override;

  [[nodiscard]] Addresses dialed(std::size_t node) const override;
  [[nodiscard]] bool one_port_each() const override { return false; }
  [[nodiscard]] Addresses listened(std::size_t node) const override { return dialed(node); }
  pid_t start(std::size_t node, const std::vector<std::string>& arguments,
              const std::string& log) override;
  void cut(std::size_t from, std::size_t to) override;
  void heal() override;
  void disturb(Disturbance disturbance) override;
  void calm() override;
  [[nodiscard]] std::string why_undisturbed() const override { return why_undisturbed_; }
  [[nodiscard]] std::string describe() const;

 private:
  void make_place(std::size_t place);
  void make_proxy(std::size_t place, std::uint64_t seed);
  void enter(std::size_t place) const;
  void nft(std::size_t place, const std::string& rules) const;
  [[nodiscard]] std::string detour(std::size_t place) const;

  std::filesystem::path directory_;
  std::array<int, kPlaces> namespaces_{};  // descriptors
  Weather weather_;
  std::array<std::unique_ptr<Proxy>, kPlaces> proxies_;
  std::array<std::array<std::uint16_t, kNodes>, kPlaces> ports_{};  // of the proxy to each node
  std::string why_undisturbed_;
};

}  // namespace quipu::chaos
