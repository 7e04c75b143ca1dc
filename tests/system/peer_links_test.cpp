// Links between members of real daemons: by a cluster secret, and by certificates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <deque>
#include <fstream>
#include <string>
#include <vector>

#include "tests/node/eventually.h"
#include "tests/system/certificate_files.h"
#include "tests/system/cli_runner.h"
#include "tests/system/client_load.h"
#include "tests/system/daemons.h"
#include "tests/system/free_ports.h"

namespace quipu::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string new_secret() {
  const CliResult made = run_cli({"secret"});
  EXPECT_EQ(made.exit, 0) << made.err;
  return made.out;
}

// What a node has logged since another look.
class LogOf {
 public:
  LogOf(const Daemons& daemons, std::size_t node)
      : daemons_(daemons), node_(node), read_(daemons.log(node).size()) {}
  [[nodiscard]] std::string text() const { return daemons_.log(node_).substr(read_); }
  [[nodiscard]] bool has(const std::string& part) const {
    return text().find(part) != std::string::npos;
  }
  [[nodiscard]] std::size_t count(const std::string& part) const {
    const std::string all = text();
    std::size_t count = 0;
    for (std::size_t at = all.find(part); at != all.npos; at = all.find(part, at + 1)) ++count;
    return count;
  }
  [[nodiscard]] testing::AssertionResult will_have(const std::string& part) const {
    if (eventually([&] { return has(part); })) return testing::AssertionSuccess();
    return testing::AssertionFailure() << text();
  }

 private:
  const Daemons& daemons_;
  const std::size_t node_;
  const std::size_t read_;
};

constexpr const char* kNeedSecret = ": all members need the same cluster.secret_file";
constexpr const char* kNeedCertificates =
    ": all members need certificates of tls.peer_ca that name the host of their peer address";

// Whether a majority counts.
bool counts(const Daemons& daemons, std::size_t node) {
  return run_cli({"add", "likes:1", "--ack", "quorum", "--timeout", "2s"},
                 {.nodes = {daemons.client_address(node)}})
             .exit == 0;
}

// Three members, each with a file of its own for the secret.
class SecretLinks : public testing::Test {
 protected:
  void SetUp() override {
    for (std::size_t i : {0, 1, 2}) give(i, old_);
    daemons_.start_all();
    ASSERT_TRUE(daemons_.all_ready());
  }

  void give(std::size_t node, const std::string& text) {
    replace_file(directory_ / ("secret" + std::to_string(node)), text);
  }
  [[nodiscard]] std::string setting(std::size_t node) const {
    return "secret_file = \"" + directory_ / ("secret" + std::to_string(node)) + "\"\n";
  }
  // It comes back with this text in its secret file.
  void restart_with(std::size_t node, const std::string& text) {
    EXPECT_EQ(daemons_.end(node, SIGTERM), 0);
    give(node, text);
    daemons_.start(node);
  }
  void reload(std::size_t node) {
    const LogOf log(daemons_, node);
    daemons_.signal(node, SIGHUP);
    ASSERT_TRUE(log.will_have("TLS files were read"));
  }

  const TemporaryDirectory directory_;
  const std::string old_ = new_secret(), new_secret_ = new_secret();
  Daemons daemons_{3, DaemonSettings{.clusters = {setting(0), setting(1), setting(2)}}};
};

TEST_F(SecretLinks, AreRefusedToAMemberWithAnotherSecret) {
  EXPECT_TRUE(counts(daemons_, 0));
  // The first member dials the last one.
  for (const std::size_t stranger : {0, 2}) {
    const std::size_t other = 2 - stranger;
    const LogOf of_stranger(daemons_, stranger), of_other(daemons_, other);
    restart_with(stranger, new_secret());
    EXPECT_TRUE(of_stranger.will_have(kNeedSecret));
    EXPECT_TRUE(of_other.will_have(kNeedSecret));
    EXPECT_TRUE(counts(daemons_, other));
    EXPECT_FALSE(of_stranger.has("peer is up")) << of_stranger.text();
    restart_with(stranger, old_);
    ASSERT_TRUE(daemons_.all_ready());
  }
}

TEST_F(SecretLinks, GetANewSecretInThreeReloadsWhileTheyCount) {
  const std::string next = new_secret();
  const auto client =
      connect({daemons_.client_address(0), daemons_.client_address(1), daemons_.client_address(2)});
  ClientLoad load(*client, "likes:2", Ack::quorum);
  const LogOf throughout(daemons_, 0);
  for (const std::string& text : {old_ + next, next + old_, next}) {
    give(0, text);
    reload(0);
    // A member that still has the file of the step before links up with both others.
    EXPECT_EQ(daemons_.end(1, SIGTERM), 0);
    daemons_.start(1);
    ASSERT_TRUE(daemons_.all_ready());
    for (const std::size_t node : {1, 2}) {
      give(node, text);
      reload(node);
    }
    const std::int64_t before = load.counted();
    EXPECT_TRUE(eventually([&] { return load.counted() > before + 200; }));
  }
  EXPECT_TRUE(throughout.will_have("its cluster secret was replaced")) << "links are made anew";
  ASSERT_TRUE(load.stop());
  EXPECT_EQ(load.failed(), 0);
  const auto reading = client->counter("likes:2").read({.level = ReadLevel::strong});
  ASSERT_TRUE(reading.ok()) << reading.status().message();
  EXPECT_EQ(reading->value, load.counted());

  const LogOf of_first(daemons_, 0), of_last(daemons_, 2);
  restart_with(2, old_);
  EXPECT_TRUE(of_first.will_have(kNeedSecret));
  EXPECT_TRUE(of_last.will_have(kNeedSecret));
  EXPECT_TRUE(counts(daemons_, 0));
  EXPECT_FALSE(of_last.has("peer is up")) << of_last.text();
}

// Also while it runs.
TEST_F(SecretLinks, AreClosedToAMemberWhoseSecretIsGone) {
  const std::string next = new_secret();
  const LogOf of_first(daemons_, 0), of_last(daemons_, 2);
  for (const std::size_t node : {0, 1}) {
    give(node, next);
    reload(node);
  }
  for (const std::size_t peer : {1, 2})
    EXPECT_TRUE(of_last.will_have("\"peer is down\" peer=n" + std::to_string(peer)));
  EXPECT_TRUE(of_first.will_have(kNeedSecret));
  EXPECT_TRUE(of_last.will_have(kNeedSecret));
  EXPECT_TRUE(eventually([this] { return counts(daemons_, 0); }));
}

TEST_F(SecretLinks, AreMadeAnewOneAfterTheOtherSoThatNoMemberLosesItsMajority) {
  const std::deque<LogOf> logs{{daemons_, 0}, {daemons_, 1}, {daemons_, 2}};
  const auto reload_all = [this](const std::string& text) {
    for (std::size_t node : {0, 1, 2}) give(node, text);
    for (std::size_t node : {0, 1, 2}) reload(node);
  };
  reload_all(old_ + new_secret_);
  reload_all(new_secret_ + old_);
  const auto renewed = [&] {
    std::size_t links = 0;
    for (const LogOf& log : logs) links += log.count("its cluster secret was replaced");
    return links;
  };
  EXPECT_TRUE(eventually([&] { return renewed() >= 3; }));
  ASSERT_TRUE(daemons_.all_ready());
  reload_all(new_secret_);
  EXPECT_TRUE(counts(daemons_, 0));
  EXPECT_EQ(renewed(), 3u) << "none had the old secret any more";
  for (const LogOf& log : logs) EXPECT_FALSE(log.has("no majority")) << log.text();
}

TEST_F(SecretLinks, AreNotMadeWithAMemberThatHasNone) {
  for (const std::size_t plain : {0, 2}) {
    const std::size_t other = 2 - plain;
    EXPECT_EQ(daemons_.end(plain, SIGTERM), 0);
    const std::string settings = read_file(daemons_.settings(plain));
    std::string without = settings;
    without.erase(without.find(setting(plain)), setting(plain).size());
    replace_file(daemons_.settings(plain), without);
    const LogOf of_plain(daemons_, plain), of_other(daemons_, other);
    daemons_.start(plain);
    EXPECT_TRUE(of_other.will_have(kNeedSecret));
    if (plain == 2) {  // the first member dials it
      EXPECT_TRUE(of_plain.will_have("it speaks TLS, and this node does not"));
    }
    EXPECT_TRUE(counts(daemons_, other));
    EXPECT_FALSE(of_plain.has("peer is up")) << of_plain.text();
    EXPECT_EQ(daemons_.end(plain, SIGTERM), 0);
    replace_file(daemons_.settings(plain), settings);
    daemons_.start(plain);
    ASSERT_TRUE(daemons_.all_ready());
  }
}

// Members at 127.0.0.1, .2 and .3, each with a certificate for its address alone.
class CertificateLinks : public testing::Test {
 protected:
  void start(const std::string& cluster = "") {
    const std::vector<int> ports = free_ports(3);
    DaemonSettings settings;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string name = "n" + std::to_string(i + 1);
      issue(i, {.names = "IP:" + host(i), .usage = usage_});
      settings.clusters.push_back(cluster);
      settings.peers.push_back(host(i) + ':' + std::to_string(ports[i]));
      settings.others.push_back("[tls]\n" + files_.settings(name) + "peer_ca = \"" + files_.ca() +
                                "\"\n");
    }
    daemons_ = std::make_unique<Daemons>(3, settings);
    daemons_->start_all();
    ASSERT_TRUE(daemons_->all_ready());
  }
  void issue(std::size_t node, const TestCa::Order& order) {
    (void)files_.issue("n" + std::to_string(node + 1), order);
  }
  [[nodiscard]] static std::string host(std::size_t node) {
    return "127.0.0." + std::to_string(node + 1);
  }

  // It comes back with the files that it has then.
  void restart(std::size_t node) {
    EXPECT_EQ(daemons_->end(node, SIGTERM), 0);
    daemons_->start(node);
  }

  const CertificateFiles files_;
  std::string usage_;  // of the certificates
  std::unique_ptr<Daemons> daemons_;
};

TEST_F(CertificateLinks, CountAtQuorum) {
  start();
  for (const std::size_t node : {0, 1, 2}) EXPECT_TRUE(counts(*daemons_, node));
}

TEST_F(CertificateLinks, NeedNoMoreThanCertificatesForServers) {
  usage_ = "serverAuth";
  start();
  for (const std::size_t node : {0, 1, 2}) EXPECT_TRUE(counts(*daemons_, node));
}

TEST_F(CertificateLinks, ConnectAllReactors) {
  start("reactors = 2\n");
  for (const std::size_t node : {0, 1, 2}) EXPECT_TRUE(counts(*daemons_, node));
}

class CertificateOfAnotherHost : public CertificateLinks,
                                 public testing::WithParamInterface<std::string> {};

TEST_P(CertificateOfAnotherHost, IsRefusedWhicheverSideDials) {
  start(GetParam());
  // The first member dials the last one.
  {
    const LogOf of_first(*daemons_, 0), of_last(*daemons_, 2);
    issue(0, {.names = "IP:" + host(1)});
    restart(0);
    const std::string why =
        "the certificate of member n1 does not name 127.0.0.1, the host of "
        "its peer address";
    EXPECT_TRUE(of_last.will_have(why));
    EXPECT_TRUE(of_first.will_have(why));
    EXPECT_TRUE(counts(*daemons_, 2));
    EXPECT_FALSE(of_first.has("\"peer is up\" peer=n3")) << of_first.text();
  }
  issue(0, {.names = "IP:" + host(0)});
  restart(0);
  ASSERT_TRUE(daemons_->all_ready());
  {
    const LogOf of_first(*daemons_, 0), of_last(*daemons_, 2);
    issue(2, {.names = "IP:" + host(1)});
    restart(2);
    EXPECT_TRUE(of_first.will_have(std::string("IP address mismatch") + kNeedCertificates));
    EXPECT_TRUE(of_first.has("peer=n3 address=127.0.0.3:"));
    EXPECT_TRUE(of_last.will_have(kNeedCertificates));
    EXPECT_TRUE(counts(*daemons_, 0));
    EXPECT_FALSE(of_last.has("\"peer is up\" peer=n1")) << of_last.text();
  }
}

INSTANTIATE_TEST_SUITE_P(Reactors, CertificateOfAnotherHost, testing::Values("", "reactors = 2\n"));

TEST_F(CertificateLinks, AreRefusedToAMemberOfAnotherCa) {
  const CertificateFiles others("another CA");
  start();
  for (const std::size_t stranger : {0, 2}) {
    const std::size_t other = 2 - stranger;
    const std::string name = "n" + std::to_string(stranger + 1);
    (void)others.issue(name, {.names = "IP:" + host(stranger)});
    replace_file(files_.certificate(name), read_file(others.certificate(name)));
    replace_file(files_.key(name), read_file(others.key(name)));
    const LogOf of_stranger(*daemons_, stranger), of_other(*daemons_, other);
    restart(stranger);
    EXPECT_TRUE(of_other.will_have("the other side's certificate is not accepted"));
    EXPECT_TRUE(of_stranger.will_have("does not trust the CA"));
    EXPECT_TRUE(counts(*daemons_, other));
    EXPECT_FALSE(of_stranger.has("peer is up")) << of_stranger.text();
    issue(stranger, {.names = "IP:" + host(stranger)});
    restart(stranger);
    ASSERT_TRUE(daemons_->all_ready());
  }
}

}  // namespace
}  // namespace quipu::test
