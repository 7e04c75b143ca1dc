// What a listener on the network, and a reader of logs and metrics, learns of a cluster with TLS,
// users and a cluster secret. And what somebody can do who changes bits on the way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "node/tls/base64.h"
#include "node/tls/hashes.h"
#include "tests/node/clients/raw_connection.h"
#include "tests/node/eventually.h"
#include "tests/system/certificate_files.h"
#include "tests/system/cli_runner.h"
#include "tests/system/client_load.h"
#include "tests/system/daemons.h"
#include "tests/system/free_ports.h"
#include "tests/system/wire.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// Three nodes, whose members and clients reach them over wires.
class OverWires : public testing::Test {
 protected:
  // `others`: what follows in the settings of each node.
  void start(const std::vector<std::string>& others) {
    const std::vector<int> ports = free_ports(6);
    DaemonSettings settings{.others = others};
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string client = "127.0.0.1:" + std::to_string(ports[2 * i]);
      const std::string peer = "127.0.0.1:" + std::to_string(ports[2 * i + 1]);
      clients_[i].lead_to(client);
      peers_[i].lead_to(peer);
      settings.clients.push_back(clients_[i].address());
      settings.peers.push_back(peers_[i].address());
      settings.clusters.push_back("secret_file = \"" + files_ / "cluster.secret" + "\"\n");
      settings.nodes.push_back("client_address = \"" + client + "\"\npeer_address = \"" + peer +
                               "\"\n");
    }
    daemons_ = std::make_unique<Daemons>(3, settings);
    for (const std::size_t i : {0, 1, 2}) daemons_->start(i, {"--log-level", "debug"});
  }
  [[nodiscard]] std::vector<std::string> nodes() const {
    return {clients_[0].address(), clients_[1].address(), clients_[2].address()};
  }
  [[nodiscard]] std::string tls() const { return "[tls]\n" + files_.settings("node"); }
  [[nodiscard]] std::string logs() const {
    return daemons_->log(0) + daemons_->log(1) + daemons_->log(2);
  }

  const CertificateFiles files_;
  const std::string certificate_ = files_.issue("node");
  const std::string cluster_secret_ = [this] {
    const std::string made = run_cli({"secret"}).out;
    replace_file(files_ / "cluster.secret", made);
    return made.substr(0, made.find('\n'));
  }();
  std::array<Wire, 3> clients_, peers_;
  std::unique_ptr<Daemons> daemons_;
};

// Texts that are in secret files, and in one counter's name, and should be nowhere else.
class Secrecy : public OverWires {
 protected:
  void SetUp() override {
    for (const char* const user : {"ops", "default"}) {
      const CliResult made =
          run_cli({"user", "new", user, "--may", "read,count,reset,observe,admin"});
      std::ofstream(files_ / "users.toml", std::ios::app) << made.out;
      replace_file(files_ / (std::string(user) + ".secret"), made.err);
      secrets_.push_back(made.err.substr(0, made.err.find('\n')));
    }
    std::vector<std::string> others;
    for (const int port : ports_)
      others.push_back(tls() + "[client]\nusers_file = \"" + files_ / "users.toml" +
                       "\"\n[admin]\naddress = \"127.0.0.1:" + std::to_string(port) + "\"\n");
    start(others);
    ASSERT_TRUE(eventually([this] {
      return quipu({"add", kCounter, "1", "--ack", "quorum"}).exit == 0 &&
             quipu({"get", kCounter, "--strong"}).exit == 0;
    })) << logs();
  }

  [[nodiscard]] CliResult quipu(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--user", "ops", "--secret-file", files_ / "ops.secret",
                                       "--ca", files_.ca(), "--timeout", "2s"});
    return run_cli(arguments, {.nodes = nodes()});
  }
  [[nodiscard]] std::string redis_cli(const std::vector<std::string>& arguments) const {
    const std::string& address = clients_[0].address();
    std::vector<std::string> words{"redis-cli",
                                   "-p",
                                   address.substr(address.find(':') + 1),
                                   "--tls",
                                   "--cacert",
                                   files_.ca(),
                                   "--no-auth-warning",
                                   "--user",
                                   "ops",
                                   "--pass",
                                   secrets_[0]};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return run(words).out;
  }
  [[nodiscard]] std::string admin_page(const std::string& path) const {
    return run({"curl", "--silent", "--cacert", files_.ca(), "--user", "ops:" + secrets_[0],
                "https://127.0.0.1:" + std::to_string(ports_[0]) + path})
        .out;
  }
  // In the forms in which files, programs and networks have them.
  [[nodiscard]] std::vector<std::string> canaries() const {
    std::vector<std::string> all = secrets_;
    all.emplace_back(kCounter);
    all.push_back(cluster_secret_);
    std::array<std::uint8_t, 32> raw{};
    EXPECT_TRUE(from_hex(cluster_secret_, raw));
    all.emplace_back(raw.begin(), raw.end());
    const std::string pem = read_file(files_.key("node"));
    const std::size_t begin = pem.find('\n') + 1;
    const std::string lines = pem.substr(begin, 64);  // the first one
    all.push_back(lines);
    const auto bytes = from_base64(lines);
    EXPECT_TRUE(bytes);
    if (bytes) all.push_back(bytes->substr(36));  // the beginning of the secret number
    return all;
  }

  static constexpr const char* kCounter = "canary-counter";
  const std::vector<int> ports_ = free_ports(3);
  std::vector<std::string> secrets_;
};

TEST_F(Secrecy, OfSecretsAndNamesIsKeptFromListenersAndReaders) {
  EXPECT_EQ(quipu({"add", kCounter, "2"}).exit, 0);
  EXPECT_EQ(redis_cli({"INCR", kCounter}), "4\n");
  EXPECT_EQ(quipu({"get", kCounter, "--strong"}).out, "4\n");
  EXPECT_EQ(quipu({"ls", "canary"}).out, std::string(kCounter) + "\n");
  EXPECT_THAT(redis_cli({"AUTH", "ops", secrets_[1]}), HasSubstr("WRONGPASS"));
  EXPECT_THAT(redis_cli({secrets_[0], kCounter}), HasSubstr("ERR unknown command"));
  // One that does not have the secret, and one who listens to plain text: it is a test of the wire.
  RawConnection plain(clients_[0].address());
  EXPECT_THAT(plain.reply_to("PING in-plain-text"), HasSubstr("NOAUTH"));
  EXPECT_TRUE(clients_[0].has_carried("PING in-plain-text"));
  EXPECT_TRUE(clients_[0].has_carried("-NOAUTH"));

  const std::string told = redis_cli({"INFO", "everything"}) + redis_cli({"CONFIG", "GET", "*"}) +
                           redis_cli({"CLIENT", "LIST"}) + admin_page("/metrics") +
                           admin_page("/api/v1/status") +
                           run_cli({"config", "show", "--config", daemons_->settings(0)}).out +
                           quipu({"cluster", "status", "-o", "json"}).out;
  for (const char* const part : {"redis_version", "quipu_ready 1", "cluster.secret", "\"weight\""})
    EXPECT_THAT(told, HasSubstr(part));
  const std::string logs = this->logs();
  EXPECT_THAT(logs, HasSubstr("level=debug"));
  for (const std::string& canary : canaries()) {
    EXPECT_EQ(told.find(canary), std::string::npos) << canary;
    EXPECT_EQ(logs.find(canary), std::string::npos) << canary;
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_FALSE(clients_[i].has_carried(canary)) << canary;
      EXPECT_FALSE(peers_[i].has_carried(canary)) << canary;
    }
  }
  std::size_t between_members = 0;
  for (const Wire& wire : peers_) between_members += wire.bytes(Wire::there);
  EXPECT_GT(between_members, 1000U);
}

class ChangedBits : public OverWires {
 protected:
  void SetUp() override { start(std::vector<std::string>(3, tls())); }

  void change_on_each_way_after(std::size_t bytes) {
    for (auto* const wires : {&clients_, &peers_}) {
      for (Wire& wire : *wires) {
        for (const Wire::Way way : {Wire::there, Wire::back}) wire.flip_after(way, bytes);
      }
    }
  }
  [[nodiscard]] Wire::Changed changed() const {
    Wire::Changed sum;
    for (const auto* const wires : {&clients_, &peers_}) {
      for (const Wire& wire : *wires) {
        sum.all += wire.changed().all;
        sum.ended += wire.changed().ended;
      }
    }
    return sum;
  }
};

TEST_F(ChangedBits, EndConnectionsAndChangeNoTotal) {
  ASSERT_TRUE(daemons_->all_ready()) << logs();
  const auto client = connect(nodes(), {.ca = files_.ca()});
  ClientLoad load(*client, "likes:1", Ack::quorum);
  for (const std::size_t bytes : {0, 1, 3, 4, 100, 1000, 20'000}) {
    const int before = changed().all;
    change_on_each_way_after(bytes);
    // The client's connection, and those that two members have accepted.
    EXPECT_TRUE(eventually([&] { return changed().all >= before + 3; })) << bytes;
    EXPECT_TRUE(eventually([&] { return changed().ended == changed().all; })) << bytes;
    const std::int64_t counted = load.counted();
    EXPECT_TRUE(eventually([&] { return load.counted() > counted + 100; })) << bytes;
  }
  ASSERT_TRUE(load.stop());
  EXPECT_EQ(load.failed(), 0);
  const auto reading = client->counter("likes:1").read({.level = ReadLevel::strong});
  ASSERT_TRUE(reading.ok()) << reading.status().message();
  EXPECT_EQ(reading->value, load.counted());
}

}  // namespace
}  // namespace quipu::test
