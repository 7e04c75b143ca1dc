// certificate_files.h: a CA of a test's own, with the files that nodes and clients read.
#pragma once

#include <string>
#include <vector>

#include "tests/node/temporary_directory.h"
#include "tests/node/tls/test_certificates.h"

namespace quipu::test {

// A reader sees the old text or the new one, and never a part.
void replace_file(const std::string& path, const std::string& text);

class CertificateFiles {
 public:
  explicit CertificateFiles(const std::string& name = "a CA of a test");

  [[nodiscard]] std::string ca() const { return directory_ / "ca.crt"; }
  [[nodiscard]] std::string certificate(const std::string& name) const {
    return directory_ / (name + ".crt");
  }
  [[nodiscard]] std::string key(const std::string& name) const {
    return directory_ / (name + ".key");
  }
  // Another file in the same directory.
  [[nodiscard]] std::string operator/(const std::string& name) const { return directory_ / name; }

  // Writes NAME.crt and NAME.key, also over older ones. Returns the certificate.
  std::string issue(const std::string& name, const TestCa::Order& order = {}) const;
  // The lines `certificate` and `key` of the settings' [tls].
  [[nodiscard]] std::string settings(const std::string& name) const;

 private:
  TestCa ca_;
  TemporaryDirectory directory_;
};

// What `openssl s_client` reports about a handshake with "host:port", a client that is not ours.
// Its report includes the certificate that it was shown.
[[nodiscard]] std::string report_of_handshake(const std::string& address,
                                              const std::vector<std::string>& flags = {});

}  // namespace quipu::test
