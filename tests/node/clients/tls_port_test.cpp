// The client port with a certificate: who gets in, and who makes room.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <fstream>

#include "node/tls/tls_handshake.h"
#include "quipu/client.h"
#include "tests/node/api/nodes.h"
#include "tests/node/clients/raw_connection.h"
#include "tests/node/eventually.h"
#include "tests/node/temporary_directory.h"
#include "tests/node/tls/test_certificates.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;

// A record that begins a handshake, and is never finished.
const std::string kStalled("\x16\x03\x01\x02\x00\x01", 6);

class TlsPort : public testing::TestWithParam<std::uint8_t> {
 protected:
  void open(const std::function<void(NodeOptions&)>& change = [](NodeOptions&) {}) {
    write(ca_.issue());
    NodeOptions options = alone(directory_ / "data");
    options.reactors = GetParam();
    options.tls_certificate = directory_ / "n.crt";
    options.tls_key = directory_ / "n.key";
    change(options);
    node_ = open_node(options);
    ASSERT_TRUE(node_->wait_ready(kPatience));
  }
  void write(const KeyPair& pair) const {
    std::ofstream(directory_ / "n.crt") << pair.certificate;
    std::ofstream(directory_ / "n.key") << pair.key;
    std::ofstream(directory_ / "ca.crt") << ca_.certificate();
  }
  [[nodiscard]] Result<std::unique_ptr<Client>> connect(ClientTls tls) const {
    return Client::connect({.seeds = {node_->client_address()},
                            .connect_timeout = std::chrono::milliseconds(2000),
                            .tls = std::move(tls)});
  }
  [[nodiscard]] Result<std::unique_ptr<Client>> connect() const {
    return connect({.ca = directory_ / "ca.crt"});
  }
  [[nodiscard]] RawConnection raw() const { return RawConnection(node_->client_address()); }
  // The value of the sample with this label.
  [[nodiscard]] double figure(const std::string& name, const std::string& label) const {
    for (const FigureFamily& family : node_->figures()) {
      if (family.name != name) continue;
      for (const FigureSample& sample : family.samples) {
        for (const auto& [key, value] : sample.labels) {
          if (value == label) return sample.value;
        }
      }
    }
    return -1;
  }

  const TestCa ca_;
  const TemporaryDirectory directory_;
  std::unique_ptr<Node> node_;
};

TEST_P(TlsPort, ServesClientsThatEncryptAndThoseOfThisMachineThatDoNot) {
  open();
  const auto client = connect();
  ASSERT_TRUE(client.ok()) << client.status().message();
  EXPECT_TRUE((*client)->counter("likes").add(5).ok());
  EXPECT_EQ(raw().reply_to("GET likes"), "$1\r\n5\r\n");
  EXPECT_TRUE(eventually([&] { return figure("quipu_handshakes_total", "ok") >= 1; }));
}

TEST_P(TlsPort, TellsWhoFindsNoRoomAlsoFarAboveTheLimit) {
  open();
  std::deque<RawConnection> clients;
  for (int i = 0; i < 2 * 64; ++i) {
    clients.emplace_back(node_->client_address());
    ASSERT_EQ(clients.back().reply_to("PING"), "+PONG\r\n");
  }
  ClientPortOptions few;
  few.connections = 8;
  ASSERT_TRUE(node_->set_client_limits(few).ok());
  ASSERT_TRUE(eventually([&] { return raw().reply_to("PING") != "+PONG\r\n"; }));
  EXPECT_EQ(raw().reply_to("PING"), "-ERR max number of clients reached\r\n");
}

TEST_P(TlsPort, TellsTheOthersWhatIsWrong) {
  open([](NodeOptions& options) { options.client_port.plaintext = Plaintext::refuse; });
  const std::string only = "this node takes TLS connections only";
  EXPECT_THAT(raw().reply_to("PING"), HasSubstr(only));
  EXPECT_THAT(connect({}).status().detail(), HasSubstr(only));
  const TestCa other("another CA");
  std::ofstream(directory_ / "other.crt") << other.certificate();
  EXPECT_THAT(connect({.ca = directory_ / "other.crt"}).status().detail(),
              HasSubstr("unable to get local issuer certificate"));
  EXPECT_EQ(connect({.ca = directory_ / "none.crt"}).status().code(), Code::invalid_argument);
  EXPECT_TRUE(
      eventually([&] { return figure("quipu_connections_refused_total", "plaintext") >= 2; }));
}

TEST_P(TlsPort, MayWantCertificatesOfItsClients) {
  const TestCa clients("a CA of clients");
  std::ofstream(directory_ / "clients.crt") << clients.certificate();
  open([this](NodeOptions& options) { options.tls_client_ca = directory_ / "clients.crt"; });
  const KeyPair web = clients.issue({.names = "DNS:web", .usage = "clientAuth"});
  std::ofstream(directory_ / "web.crt") << web.certificate;
  std::ofstream(directory_ / "web.key") << web.key;
  EXPECT_THAT(connect().status().detail(), HasSubstr("requires a certificate"));
  const auto client = connect({.ca = directory_ / "ca.crt",
                               .certificate = directory_ / "web.crt",
                               .key = directory_ / "web.key"});
  ASSERT_TRUE(client.ok()) << client.status().message();
  EXPECT_TRUE((*client)->counter("likes").add(5).ok());
}

TEST_P(TlsPort, TakesANewCertificateForNewConnectionsAndKeepsOldOnes) {
  open();
  const auto last_read = [this] {
    return figure("quipu_reload_last_success_timestamp_seconds", "tls");
  };
  const double opened = last_read();
  const auto before = connect();
  ASSERT_TRUE(before.ok());
  const TestCa next("the next CA");
  std::ofstream(directory_ / "next.crt") << next.certificate();
  const KeyPair pair = next.issue();
  std::ofstream(directory_ / "n.crt") << pair.certificate;
  EXPECT_EQ(node_->reload().code(), Code::unavailable) << "the key comes later";
  EXPECT_TRUE(connect().ok());
  EXPECT_EQ(last_read(), opened);
  std::ofstream(directory_ / "n.key") << pair.key;
  // Until the clock shows another millisecond.
  EXPECT_TRUE(eventually([&] { return node_->reload().ok() && last_read() != opened; }));
  const double renewed = last_read();
  EXPECT_TRUE(eventually([&] { return connect({.ca = directory_ / "next.crt"}).ok(); }));
  EXPECT_FALSE(connect().ok());
  EXPECT_TRUE((*before)->counter("likes").add(1).ok());
  std::ofstream(directory_ / "n.crt") << "no certificate";
  EXPECT_EQ(node_->reload().code(), Code::invalid_argument);
  EXPECT_TRUE(connect({.ca = directory_ / "next.crt"}).ok());
  EXPECT_EQ(figure("quipu_reloads_refused_total", "tls"), 1);
  EXPECT_EQ(last_read(), renewed);
}

TEST_P(TlsPort, IsNotFilledByHandshakesThatStall) {
  open([](NodeOptions& options) { options.client_port.connections = 8; });
  std::deque<RawConnection> stalled;
  for (int i = 0; i < 40; ++i) {
    stalled.emplace_back(node_->client_address());
    (void)stalled.back().send(kStalled);
  }
  // Before they time out.
  EXPECT_TRUE(
      eventually([&] { return connect().ok(); }, kTlsHandshakeTime - std::chrono::seconds(2)));
}

INSTANTIATE_TEST_SUITE_P(Reactors, TlsPort, testing::Values(std::uint8_t{1}, std::uint8_t{2}));

}  // namespace
}  // namespace quipu::test
