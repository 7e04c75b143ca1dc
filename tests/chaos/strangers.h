// strangers.h: the files that protect a cluster's ports, and programs that dial the peer ports
// with other ones.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "node/tls/tls_context.h"

namespace quipu::chaos {

struct ProtectionFiles {
  std::string secret{};  // of the cluster; empty: the ports are not protected
  std::string certificate{};
  std::string key{};
  std::string ca{};
};
// Makes new ones. The certificate is for these hosts, which are IP addresses.
[[nodiscard]] ProtectionFiles write_protection(const std::filesystem::path& directory,
                                               const std::vector<std::string>& hosts);

// One thread that dials the ports in turn, with another secret or a certificate of another CA.
class Strangers {
 public:
  explicit Strangers(std::vector<std::string> ports);
  ~Strangers() { stop(); }
  Strangers(const Strangers&) = delete;
  Strangers& operator=(const Strangers&) = delete;

  // Returns when the last handshake has ended.
  void stop();
  // REQUIRES: stop()
  [[nodiscard]] std::size_t refused() const { return refused_; }
  // The ports that accepted one.
  [[nodiscard]] const std::vector<std::string>& accepted() const { return accepted_; }

 private:
  void run();
  void dial(const std::string& port, const std::shared_ptr<const TlsContext>& as);

  const std::vector<std::string> ports_;
  std::size_t refused_ = 0;
  std::vector<std::string> accepted_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace quipu::chaos
