// TLS at the admin port of a real quipud.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <asio/buffer.hpp>
#include <asio/write.hpp>
#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/node/eventually.h"
#include "tests/system/admin_client.h"
#include "tests/system/certificate_files.h"
#include "tests/system/daemons.h"
#include "tests/system/free_ports.h"
#include "tests/system/tls_connection.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;

class TlsAdminPort : public testing::Test {
 protected:
  void SetUp() override {
    daemons_.start_all();
    ASSERT_TRUE(eventually([this] { return get("/readyz").out == "ready\n"; })) << daemons_.log(0);
  }

  [[nodiscard]] Finished get(const std::string& path) const {
    return run({"curl", "--silent", "--show-error", "--fail-with-body", "--max-time", "1",
                "--cacert", files_.ca(), "https://" + address_ + path});
  }

  const CertificateFiles files_;
  const std::string certificate_ = files_.issue("node");
  const std::string address_ = "127.0.0.1:" + std::to_string(free_ports(1).front());
  Daemons daemons_{
      1, "[tls]\n" + files_.settings("node") + "[admin]\naddress = \"" + address_ + "\"\n"};
};

TEST_F(TlsAdminPort, ServesItsPagesByTls13Alone) {
  EXPECT_EQ(get("/livez").out, "ok\n");
  EXPECT_THAT(get("/metrics").out, HasSubstr("quipu_handshakes_total"));
  EXPECT_THAT(get("/api/v1/status").out, HasSubstr("\"ready\""));
  EXPECT_THAT(report_of_handshake(address_), HasSubstr(certificate_));
  for (const char* const older : {"-tls1_2", "-tls1_1"})
    EXPECT_THAT(report_of_handshake(address_, {older, "-cipher", "ALL:@SECLEVEL=0"}),
                HasSubstr("no peer certificate available"));
}

// One that OpenSSL accepts, and that the library of this port cannot use.
TEST_F(TlsAdminPort, KeepsItsCertificateIfItCannotUseTheNewOne) {
  (void)files_.issue("node", {.curve = "secp256k1"});
  daemons_.signal(0, SIGHUP);
  EXPECT_TRUE(eventually([this] {
    return daemons_.log(0).find("the certificate was not reloaded") != std::string::npos;
  }));
  EXPECT_THAT(report_of_handshake(address_), HasSubstr(certificate_));
  EXPECT_EQ(get("/livez").out, "ok\n");
  const std::string next = files_.issue("node");
  daemons_.signal(0, SIGHUP);
  EXPECT_TRUE(eventually([&] { return report_of_handshake(address_).find(next) != next.npos; }));
  EXPECT_EQ(get("/livez").out, "ok\n");
}

TEST_F(TlsAdminPort, GivesNothingInPlainText) {
  AdminClient plain(std::stoi(address_.substr(address_.find(':') + 1)));
  for (const char* const path : {"/livez", "/readyz", "/metrics", "/api/v1/status"})
    EXPECT_THAT(plain.get(path), testing::Not(HasSubstr("HTTP/"))) << path;
  EXPECT_EQ(get("/livez").out, "ok\n");
}

enum class Manner { says_nothing, slow_handshake, slow_request };

// A client that keeps a connection, and sends a byte now and then, or none.
class SlowClient {
 public:
  SlowClient(const std::string& to, const TlsConnection::Context& context, Manner manner,
             const std::string& from)
      : manner_(manner), socket_(io_) {
    if (manner == Manner::slow_request) {
      tls_ = std::make_unique<TlsConnection>(to, context, from);
      return;
    }
    TlsStream tls(context, TlsStream::Role::connect, "localhost");
    (void)tls.shake({});
    hello_ = tls.output();
    const auto port = static_cast<std::uint16_t>(std::stoi(to.substr(to.find(':') + 1)));
    asio::error_code error;
    socket_.open(asio::ip::tcp::v4());
    socket_.bind({asio::ip::make_address(from), 0}, error);
    if (!error) socket_.connect({asio::ip::address_v4::loopback(), port}, error);
    socket_.non_blocking(true);
  }

  // False: the other side has ended the connection.
  [[nodiscard]] bool go_on() {
    if (tls_ != nullptr) return tls_->open() && tls_->send("G");
    asio::error_code error;
    if (manner_ == Manner::slow_handshake)
      asio::write(socket_, asio::buffer(hello_.data() + sent_++ % hello_.size(), 1), error);
    std::array<char, 1> byte{};
    if (!error) (void)socket_.read_some(asio::buffer(byte), error);
    return error == asio::error::would_block;
  }

 private:
  const Manner manner_;
  asio::io_context io_;
  asio::ip::tcp::socket socket_;
  std::unique_ptr<TlsConnection> tls_;
  std::string hello_;
  std::size_t sent_ = 0;
};

// 100 slow clients. Each has its turn once a second, and comes again if its connection has ended.
class SlowCrowd {
 public:
  enum class From { one_address, many_addresses };
  SlowCrowd(const std::string& to, const std::string& ca, Manner manner, From from) {
    const TlsConnection::Context context = *TlsContext::for_client(read_file(ca), {});
    thread_ = std::thread([this, to, context, manner, from] {
      std::vector<std::unique_ptr<SlowClient>> clients(100);
      auto next = std::chrono::steady_clock::now();
      for (std::size_t i = 0; !stopping_; i = (i + 1) % clients.size()) {
        const std::size_t host = from == From::one_address ? 1 : i + 2;
        if (clients[i] == nullptr || !clients[i]->go_on())
          clients[i] =
              std::make_unique<SlowClient>(to, context, manner, "127.0.0." + std::to_string(host));
        ++turns_;
        next += std::chrono::milliseconds(10);
        (void)eventually([&] { return stopping_ || std::chrono::steady_clock::now() > next; });
      }
    });
  }
  ~SlowCrowd() {
    stopping_ = true;
    thread_.join();
  }
  SlowCrowd(const SlowCrowd&) = delete;
  SlowCrowd& operator=(const SlowCrowd&) = delete;

  // How often all have had their turn.
  [[nodiscard]] int rounds() const { return turns_ / 100; }

 private:
  std::atomic<bool> stopping_ = false;
  std::atomic<int> turns_ = 0;
  std::thread thread_;
};

// curl waits for at most 1 s.
TEST_F(TlsAdminPort, AnswersBesideManySlowConnectionsWithinASecond) {
  for (const Manner manner : {Manner::says_nothing, Manner::slow_handshake, Manner::slow_request}) {
    for (const auto from : {SlowCrowd::From::one_address, SlowCrowd::From::many_addresses}) {
      const SlowCrowd crowd(address_, files_.ca(), manner, from);
      ASSERT_TRUE(eventually([&] { return crowd.rounds() > 0; }));
      int asked = 0;
      while (crowd.rounds() < 3) {
        const Finished got = get("/livez");
        ++asked;
        ASSERT_EQ(got.out, "ok\n")
            << got.err << static_cast<int>(manner) << ' ' << static_cast<int>(from) << ' ' << asked;
      }
      EXPECT_GT(asked, 5);
    }
  }
}

}  // namespace
}  // namespace quipu::test
