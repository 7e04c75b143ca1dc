// test_certificates.h: a CA of a test's own, and certificates that it issues.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "node/tls/tls_context.h"

namespace quipu::test {

class TestCa {
 public:
  explicit TestCa(const std::string& name = "a CA of a test");
  ~TestCa();
  TestCa(const TestCa&) = delete;
  TestCa& operator=(const TestCa&) = delete;

  // In PEM.
  [[nodiscard]] const std::string& certificate() const { return pem_; }

  struct Order {
    std::string names = "DNS:localhost,IP:127.0.0.1";    // as in an openssl configuration
    std::chrono::seconds from = -std::chrono::hours(1);  // from now on
    std::chrono::seconds until = std::chrono::hours(24);
    std::string subject = "a certificate of a test";  // its common name
    std::string curve = "P-256";
    std::string usage{};  // extended, such as "serverAuth"; empty: any
  };
  [[nodiscard]] KeyPair issue(const Order& order) const;
  [[nodiscard]] KeyPair issue() const { return issue(Order{}); }

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  std::string pem_;
};

}  // namespace quipu::test
