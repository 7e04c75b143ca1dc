// Certificates that are replaced while a real quipud serves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "tests/node/eventually.h"
#include "tests/system/certificate_files.h"
#include "tests/system/client_load.h"
#include "tests/system/daemons.h"
#include "tests/system/free_ports.h"
#include "tests/system/tls_connection.h"

namespace quipu::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A node whose clients add without a pause, and connections that must live on.
class TlsReload : public testing::Test {
 protected:
  void SetUp() override {
    daemons_.start_all();
    ASSERT_TRUE(eventually([this] { return serves(certificate_); })) << daemons_.log(0);
    client_ = connect({clients_}, {.ca = files_.ca()});
    load_ = std::make_unique<ClientLoad>(*client_, "likes:1", Ack::disk);
    const auto context = TlsContext::for_client(read_file(files_.ca()), {});
    for (int i = 0; i < 16; ++i) {
      redis_.push_back(std::make_unique<TlsConnection>(clients_, *context));
      ASSERT_TRUE(redis_.back()->open());
    }
    expect_all_alive();
  }

  // To connections that are made now, on both ports.
  [[nodiscard]] bool serves(const std::string& certificate) const {
    return report_of_handshake(clients_).find(certificate) != std::string::npos &&
           report_of_handshake(admin_).find(certificate) != std::string::npos;
  }
  [[nodiscard]] std::string metrics() const {
    return run({"curl", "--silent", "--cacert", files_.ca(), "https://" + admin_ + "/metrics"}).out;
  }
  // How many are over.
  [[nodiscard]] std::size_t reloads() const {
    const std::string log = daemons_.log(0), line = "the settings were reloaded";
    std::size_t count = 0;
    for (std::size_t at = log.find(line); at != std::string::npos; at = log.find(line, at + 1))
      ++count;
    return count;
  }
  void expect_all_alive() {
    const std::string next = ":" + std::to_string(++turns_);
    for (std::size_t i = 0; i < redis_.size(); ++i)
      EXPECT_EQ(redis_[i]->line_after("INCR turns:" + std::to_string(i)), next);
    const std::int64_t before = load_->counted();
    EXPECT_TRUE(eventually([&] { return load_->counted() > before; }));
  }
  void expect_all_counted() {
    expect_all_alive();
    ASSERT_TRUE(load_->stop());
    EXPECT_EQ(load_->failed(), 0);
    EXPECT_EQ(load_->doubtful(), 0);
    const auto reading = client_->counter("likes:1").read({.level = ReadLevel::strong});
    ASSERT_TRUE(reading.ok()) << reading.status().message();
    EXPECT_EQ(reading->value, load_->counted());
  }

  const CertificateFiles files_;
  const std::string certificate_ = files_.issue("node");
  const std::string admin_ = "127.0.0.1:" + std::to_string(free_ports(1).front());
  Daemons daemons_{1,
                   "[tls]\n" + files_.settings("node") + "[admin]\naddress = \"" + admin_ + "\"\n"};
  const std::string clients_ = daemons_.client_address(0);
  std::unique_ptr<Client> client_;
  std::unique_ptr<ClientLoad> load_;
  std::vector<std::unique_ptr<TlsConnection>> redis_;
  int turns_ = 0;
};

TEST_F(TlsReload, ServesANewCertificateSoonAfterItWasReplaced) {
  const std::string next = files_.issue("node");
  EXPECT_TRUE(eventually([&] { return serves(next); }));
  expect_all_counted();
}

TEST_F(TlsReload, ServesANewCertificateAtOnceAfterASignal) {
  for (int i = 0; i < 10; ++i) {
    const std::string next = files_.issue("node");
    daemons_.signal(0, SIGHUP);
    EXPECT_TRUE(eventually([&] { return serves(next); }, std::chrono::seconds(5)));
    expect_all_alive();
  }
  expect_all_counted();
}

TEST_F(TlsReload, KeepsTheOldCertificateIfTheNewOneCannotBeUsed) {
  const std::string old_certificate = read_file(files_.certificate("node"));
  const std::string old_key = read_file(files_.key("node"));
  int refused = 0;
  const auto expect_refused = [&](const std::string& why) {
    const std::string count =
        "\nquipu_reloads_refused_total{file=\"tls\"} " + std::to_string(++refused) + "\n";
    daemons_.signal(0, SIGHUP);
    EXPECT_TRUE(eventually([&] { return metrics().find(count) != std::string::npos; })) << why;
    EXPECT_THAT(
        daemons_.log(0),
        testing::ContainsRegex(
            "the TLS files were refused, and everything stays as it is[^\n]*audit=true[^\n]*" +
            why));
    EXPECT_TRUE(serves(certificate_));
    expect_all_alive();
  };
  replace_file(files_.certificate("node"), old_certificate.substr(0, old_certificate.size() / 2));
  expect_refused("is no PEM file");
  (void)files_.issue("node", {.from = -std::chrono::hours(2), .until = -std::chrono::hours(1)});
  expect_refused("has expired");
  (void)files_.issue("node", {.from = std::chrono::hours(1)});
  expect_refused("is not valid yet");

  // Somebody may be replacing one after the other: this is logged later (tests/node/tls).
  (void)files_.issue("other");
  replace_file(files_.certificate("node"), old_certificate);
  replace_file(files_.key("node"), read_file(files_.key("other")));
  const std::size_t before = reloads();
  daemons_.signal(0, SIGHUP);
  ASSERT_TRUE(eventually([&] { return reloads() > before; }));
  EXPECT_TRUE(serves(certificate_));

  const std::string next = files_.issue("node");
  daemons_.signal(0, SIGHUP);
  EXPECT_TRUE(eventually([&] { return serves(next); }));
  expect_all_counted();
}

}  // namespace
}  // namespace quipu::test
