#include "tests/system/certificate_files.h"

#include <filesystem>
#include <fstream>

#include "tests/system/process.h"

namespace quipu::test {

void replace_file(const std::string& path, const std::string& text) {
  const std::string written = path + ".new";
  std::ofstream(written) << text;
  std::filesystem::permissions(
      written, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::rename(written, path);
}

CertificateFiles::CertificateFiles(const std::string& name) : ca_(name) {
  replace_file(ca(), ca_.certificate());
}

std::string CertificateFiles::issue(const std::string& name, const TestCa::Order& order) const {
  const KeyPair pair = ca_.issue(order);
  replace_file(certificate(name), pair.certificate);
  replace_file(key(name), pair.key);
  return pair.certificate;
}

std::string CertificateFiles::settings(const std::string& name) const {
  return "certificate = \"" + certificate(name) + "\"\nkey = \"" + key(name) + "\"\n";
}

std::string report_of_handshake(const std::string& address, const std::vector<std::string>& flags) {
  std::vector<std::string> words{"openssl", "s_client", "-connect", address};
  words.insert(words.end(), flags.begin(), flags.end());
  const Finished done = run(words);
  return done.out + done.err;
}

}  // namespace quipu::test
