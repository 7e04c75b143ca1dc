#include "node/net/channel.h"

#include <gtest/gtest.h>

#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "node/tls/tls_handshake.h"
#include "protocol/random.h"
#include "tests/node/eventually.h"
#include "tests/node/tls/test_certificates.h"

namespace quipu::test {
namespace {

using asio::ip::tcp;

// Two ends of a TLS connection over TCP.
class ChannelTest : public testing::Test {
 protected:
  void SetUp() override {
    const TestCa ca;
    const auto port = TlsContext::for_port(ca.issue(), {});
    const auto client = TlsContext::for_client(ca.certificate(), {});
    tcp::acceptor acceptor(io_, {asio::ip::address_v4::loopback(), 0});
    tcp::socket dialed(io_);
    dialed.connect(acceptor.local_endpoint());
    tcp::socket accepted = acceptor.accept();
    const auto shake = [this](tcp::socket socket, const auto& context, TlsStream::Role role,
                              std::optional<Channel>& to) {
      socket.non_blocking(true);
      std::make_shared<TlsHandshake>(std::move(socket),
                                     std::make_unique<TlsStream>(*context, role, "localhost"),
                                     [this, role, &to](Result<SecuredSocket> done) {
                                       ASSERT_TRUE(done.ok()) << done.status().detail();
                                       if (role == TlsStream::Role::connect)
                                         client_tls_ = done->tls.get();
                                       to.emplace(std::move(done->socket), std::move(done->tls));
                                     })
          ->start();
    };
    shake(std::move(dialed), client, TlsStream::Role::connect, client_);
    shake(std::move(accepted), port, TlsStream::Role::accept, server_);
    io_.run();
    ASSERT_TRUE(client_ && server_);
  }

  // Reads what is there.
  asio::error_code read(Channel& from, std::string& to, std::size_t most) {
    std::vector<std::byte> room(from.room_for(most));
    asio::error_code error;
    const std::size_t read = from.read_some(room, error);
    to.append(reinterpret_cast<const char*>(room.data()), read);
    return error;
  }

  asio::io_context io_;
  std::optional<Channel> client_, server_;
  TlsStream* client_tls_ = nullptr;  // of client_
};

TEST_F(ChannelTest, CarriesMoreThanTheSocketTakesAtOnce) {
  Random random(7);
  std::string sent(std::size_t{20} << 20, '\0');
  for (char& byte : sent) byte = static_cast<char>(random.below(256));
  std::size_t written = 0;
  std::string got;
  bool was_full = false;
  while (got.size() < sent.size()) {
    asio::error_code error = client_->send_pending();
    while (!error && written < sent.size())
      written += client_->write_some(std::as_bytes(std::span(sent).subspan(written)), error);
    was_full |= error == asio::error::would_block;
    ASSERT_TRUE(!error || error == asio::error::would_block) << error.message();
    ASSERT_TRUE(written == sent.size() || was_full);
    error = read(*server_, got, 1 + random.below(100'000));
    ASSERT_TRUE(!error || error == asio::error::would_block) << error.message();
  }
  EXPECT_TRUE(was_full);
  EXPECT_EQ(got, sent);
}

TEST_F(ChannelTest, TellsOfTheEndBehindAllBytes) {
  asio::error_code error;
  EXPECT_EQ(client_->write_some(std::as_bytes(std::span("PING", 4)), error), 4u);
  client_->shut_down_sending();
  std::string got;
  EXPECT_TRUE(eventually([&] { return read(*server_, got, 1024) == asio::error::eof; }));
  EXPECT_EQ(got, "PING");
}

// The socket has nothing more then, and nobody would be woken.
TEST_F(ChannelTest, SaysThatItIsOverIfTheEndCameTogetherWithBytes) {
  ASSERT_TRUE(client_tls_->encrypt(std::as_bytes(std::span("PING", 4))));
  client_tls_->end();
  client_->socket().send(asio::buffer(client_tls_->output()));
  std::string got;
  EXPECT_TRUE(eventually([&] {
    (void)read(*server_, got, 1024);
    return !got.empty();
  }));
  EXPECT_EQ(got, "PING");
  EXPECT_TRUE(server_->over());
  EXPECT_EQ(read(*server_, got, 1024), asio::error::eof);
}

TEST_F(ChannelTest, SaysWhetherARecordIsIncomplete) {
  EXPECT_FALSE(server_->incomplete());
  client_->socket().send(asio::buffer(std::string("\x17\x03\x03\x40\x00 and a part", 16)));
  std::string got;
  EXPECT_TRUE(eventually([&] {
    EXPECT_FALSE(server_->over());
    (void)read(*server_, got, 1024);
    return server_->incomplete();
  }));
}

TEST_F(ChannelTest, BreaksIfSomebodyWritesIntoTheConnection) {
  client_->socket().send(asio::buffer(std::string(100, 'x')));
  std::string got;
  EXPECT_TRUE(
      eventually([&] { return read(*server_, got, 1024) == asio::error::connection_aborted; }));
  EXPECT_EQ(got, "");
}

}  // namespace
}  // namespace quipu::test
