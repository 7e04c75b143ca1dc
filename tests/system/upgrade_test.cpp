// A cluster that is restarted, node by node, while it counts: into the same release, into the next
// one (tests/next_release), and back. Also with TLS and a cluster secret.
#include <gtest/gtest.h>

#include <csignal>
#include <functional>

#include "tests/system/certificate_files.h"
#include "tests/system/cli_runner.h"
#include "tests/system/client_load.h"
#include "tests/system/daemons.h"

namespace quipu::test {
namespace {

class RollingRestart : public testing::Test {
 protected:
  RollingRestart() : RollingRestart(DaemonSettings(), ClientTls()) {}
  RollingRestart(const DaemonSettings& settings, ClientTls tls)
      : daemons_(3, settings), tls_(std::move(tls)) {}

  void SetUp() override {
    daemons_.start_all();
    ASSERT_TRUE(daemons_.all_ready());
    client_ = connect(
        {daemons_.client_address(0), daemons_.client_address(1), daemons_.client_address(2)}, tls_);
    load_ = std::make_unique<ClientLoad>(*client_, "likes:upgrade", Ack::quorum);
  }
  void count_some() {
    const std::int64_t before = load_->counted();
    ASSERT_TRUE(eventually([&] { return load_->counted() > before + 200; }))
        << daemons_.log(0) << daemons_.log(1) << daemons_.log(2);
  }
  void restart_each(const std::function<void(std::size_t node)>& start) {
    for (std::size_t node = 0; node < 3; ++node) {
      count_some();
      EXPECT_EQ(daemons_.end(node, SIGTERM), 0);
      count_some();  // no add must wait for its return
      start(node);
      ASSERT_TRUE(daemons_.all_ready());
    }
  }
  void expect_all_counted() {
    count_some();
    ASSERT_TRUE(load_->stop());
    EXPECT_EQ(load_->failed(), 0);
    EXPECT_EQ(load_->doubtful(), 0);
    const auto reading = client_->counter("likes:upgrade").read({.level = ReadLevel::strong});
    ASSERT_TRUE(reading.ok()) << reading.status().message();
    EXPECT_EQ(reading->value, load_->counted());
  }

  Daemons daemons_;
  const ClientTls tls_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<ClientLoad> load_;
};

TEST_F(RollingRestart, FailsNoAddAndLosesNone) {
  restart_each([this](std::size_t node) { daemons_.start(node); });
  expect_all_counted();
}

TEST_F(RollingRestart, IntoTheNextReleaseFailsNoAddAndLosesNone) {
  restart_each([this](std::size_t node) { daemons_.start_next_release(node); });
  expect_all_counted();
}

// Files that the settings name must be there before the daemons.
struct ProtectionFiles {
  ProtectionFiles() {
    (void)files.issue("node");
    replace_file(secret, run_cli({"secret"}).out);
  }
  [[nodiscard]] DaemonSettings settings() const {
    return {.clusters = std::vector<std::string>(3, "secret_file = \"" + secret + "\"\n"),
            .others = std::vector<std::string>(3, "[tls]\n" + files.settings("node"))};
  }
  const CertificateFiles files;
  const std::string secret = files / "cluster.secret";
};

class ProtectedRollingRestart : private ProtectionFiles, public RollingRestart {
 protected:
  ProtectedRollingRestart() : RollingRestart(settings(), {.ca = files.ca()}) {}
};

TEST_F(ProtectedRollingRestart, FailsNoAddAndLosesNone) {
  restart_each([this](std::size_t node) { daemons_.start(node); });
  expect_all_counted();
}

TEST_F(ProtectedRollingRestart, IntoTheNextReleaseFailsNoAddAndLosesNone) {
  restart_each([this](std::size_t node) { daemons_.start_next_release(node); });
  expect_all_counted();
}

TEST_F(RollingRestart, AMemberMayStayAtThisReleaseOrGoBackToIt) {
  for (const std::size_t node : {0, 1}) {
    EXPECT_EQ(daemons_.end(node, SIGTERM), 0);
    daemons_.start_next_release(node);
    ASSERT_TRUE(daemons_.all_ready());
  }
  count_some();
  EXPECT_EQ(daemons_.end(0, SIGTERM), 0);
  daemons_.start(0);
  ASSERT_TRUE(daemons_.all_ready());
  expect_all_counted();
}

}  // namespace
}  // namespace quipu::test
