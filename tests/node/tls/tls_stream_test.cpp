#include "node/tls/tls_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>

#include "tests/node/tls/test_certificates.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;
using Role = TlsStream::Role;
using Shake = TlsStream::Shake;
using Context = std::shared_ptr<const TlsContext>;

Context made(TlsContext::Made context) {
  EXPECT_TRUE(context.ok()) << context.status().detail();
  return context.ok() ? *context : nullptr;
}

// The next bytes of `from`: at most `most`, and no more than one record.
class Records {
 public:
  std::string take(std::string& from, std::size_t most) {
    const std::size_t wanted = header_.size() < 5 ? 5 - header_.size() : body_;
    const std::string piece = from.substr(0, std::min({most, wanted, from.size()}));
    from.erase(0, piece.size());
    if (header_.size() < 5) {
      header_ += piece;
      if (header_.size() == 5)
        body_ = static_cast<std::size_t>(static_cast<unsigned char>(header_[3])) << 8 |
                static_cast<unsigned char>(header_[4]);
    } else {
      body_ -= piece.size();
    }
    if (header_.size() == 5 && body_ == 0) header_.clear();
    return piece;
  }

 private:
  std::string header_;
  std::size_t body_ = 0;
};

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// Both sides of a connection, whose network gives `most` bytes at a time.
struct Pair {
  Pair(Context accepts, Context connects, const std::string& host = "localhost",
       std::size_t most_bytes = kTlsRecord)
      : server(std::move(accepts), Role::accept, {}),
        client(std::move(connects), Role::connect, host),
        most(most_bytes) {}

  // True: both are done.
  bool shake() {
    Shake of_client = client.shake({});
    Shake of_server = Shake::wants_input;
    Records to_server, to_client;
    while (of_client != Shake::failed && of_server != Shake::failed) {
      if (of_server == Shake::wants_input && !client.output().empty()) {
        of_server = server.shake(bytes_of(to_server.take(client.output(), most)));
      } else if (of_client == Shake::wants_input && !server.output().empty()) {
        of_client = client.shake(bytes_of(to_client.take(server.output(), most)));
      } else {
        break;
      }
    }
    return of_client == Shake::done && of_server == Shake::done;
  }

  // What arrives, until all was sent or one side gives up.
  std::string pass(TlsStream& from, TlsStream& to) {
    std::string all;
    std::vector<std::byte> room(most + kTlsRecord);
    std::string& output = from.output();
    while (!output.empty() && !got.broken && !got.ended) {
      const std::string piece = output.substr(0, most);
      output.erase(0, piece.size());
      got = to.decrypt(bytes_of(piece), room);
      all.append(reinterpret_cast<const char*>(room.data()), got.bytes);
    }
    return all;
  }

  TlsStream server;
  TlsStream client;
  std::size_t most;
  TlsStream::Decrypted got;
};

class TlsStreamTest : public testing::Test {
 protected:
  const TestCa ca_;
  const Context port_ = made(TlsContext::for_port(ca_.issue(), {}));
  const Context client_ = made(TlsContext::for_client(ca_.certificate(), {}));
};

TEST_F(TlsStreamTest, CarriesBytesBothWaysInPiecesOfAnySize) {
  for (const std::size_t most : {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{60},
                                 std::size_t{1000}, std::size_t{61440}}) {
    Pair pair(port_, client_, "localhost", most);
    ASSERT_TRUE(pair.shake()) << pair.client.why() << pair.server.why();
    for (const std::size_t size :
         {std::size_t{1}, std::size_t{15}, std::size_t{1000}, kTlsPlaintext}) {
      const std::string text(size, 'x');
      ASSERT_TRUE(pair.client.encrypt(bytes_of(text)));
      ASSERT_TRUE(pair.client.encrypt(bytes_of("and more")));
      EXPECT_EQ(pair.pass(pair.client, pair.server), text + "and more");
      ASSERT_TRUE(pair.server.encrypt(bytes_of(text)));
      EXPECT_EQ(pair.pass(pair.server, pair.client), text);
    }
    EXPECT_FALSE(pair.got.ended);
    pair.client.end();
    EXPECT_EQ(pair.pass(pair.client, pair.server), "");
    EXPECT_TRUE(pair.got.ended);
    EXPECT_FALSE(pair.got.broken);
  }
}

TEST_F(TlsStreamTest, BreaksIfAnyBitOfACiphertextIsChanged) {
  for (std::size_t bit = 0; bit < 8 * 30; bit += 7) {
    Pair pair(port_, client_);
    ASSERT_TRUE(pair.shake());
    ASSERT_TRUE(pair.client.encrypt(bytes_of("add 1")));
    std::string& output = pair.client.output();
    output[bit / 8 % output.size()] ^= static_cast<char>(1 << bit % 8);
    output += std::string(kTlsRecord, '\0');  // a longer record would be waited for
    EXPECT_EQ(pair.pass(pair.client, pair.server), "") << bit;
    EXPECT_TRUE(pair.got.broken) << bit;
  }
}

// A client that is not ours, since ours never changes its keys.
class OpenSslClient {
 public:
  OpenSslClient() : context_(SSL_CTX_new(TLS_client_method())), ssl_(SSL_new(context_)) {
    SSL_set_bio(ssl_, from_server_, to_server_);
    SSL_set_connect_state(ssl_);
  }
  ~OpenSslClient() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }
  OpenSslClient(const OpenSslClient&) = delete;
  OpenSslClient& operator=(const OpenSslClient&) = delete;

  // True: done, on both sides.
  bool shake(TlsStream& server) {
    Records records;
    Shake of_server = Shake::wants_input;
    while (of_server == Shake::wants_input) {
      SSL_do_handshake(ssl_);
      for (std::string sent = take(); !sent.empty() && of_server == Shake::wants_input;)
        of_server = server.shake(bytes_of(records.take(sent, kTlsRecord)));
      if (server.output().empty()) break;
      BIO_write(from_server_, server.output().data(), static_cast<int>(server.output().size()));
      server.output().clear();
    }
    return of_server == Shake::done;
  }
  void change_keys() {
    SSL_key_update(ssl_, SSL_KEY_UPDATE_NOT_REQUESTED);
    SSL_do_handshake(ssl_);
  }
  void write(const std::string& text) {
    SSL_write(ssl_, text.data(), static_cast<int>(text.size()));
  }
  // What it has sent.
  std::string take() {
    std::string sent(BIO_ctrl_pending(to_server_), '\0');
    BIO_read(to_server_, sent.data(), static_cast<int>(sent.size()));
    return sent;
  }

 private:
  BIO* from_server_ = BIO_new(BIO_s_mem());
  BIO* to_server_ = BIO_new(BIO_s_mem());
  SSL_CTX* context_;
  SSL* ssl_;  // owns the BIOs
};

TEST_F(TlsStreamTest, EndsAConnectionThatChangesItsKeysAllTheTime) {
  TlsStream server(port_, Role::accept, {});
  OpenSslClient client;
  ASSERT_TRUE(client.shake(server)) << server.why();
  std::vector<std::byte> room(std::size_t{100} << 10);
  const auto changes = [&](int count) {
    for (int i = 0; i < count; ++i) client.change_keys();
    return server.decrypt(bytes_of(client.take()), room);
  };
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(changes(32).broken);
    client.write("data");
    EXPECT_EQ(server.decrypt(bytes_of(client.take()), room).bytes, 4u);
  }
  EXPECT_TRUE(changes(33).broken);
  EXPECT_THAT(server.why(), HasSubstr("changes its keys"));
}

TEST_F(TlsStreamTest, SpeaksOnlyTls13) {
  Pair pair(port_, client_);
  (void)pair.client.shake({});
  std::string& hello = pair.client.output();
  const std::string versions =
      std::string("\x00\x2b\x00\x03\x02\x03\x04", 7);  // supported_versions
  const std::size_t at = hello.find(versions);
  ASSERT_NE(at, std::string::npos);
  hello[at + 6] = '\x03';  // TLS 1.2
  EXPECT_EQ(pair.server.shake(bytes_of(hello.substr(0, 5))), Shake::wants_input);
  EXPECT_EQ(pair.server.shake(bytes_of(hello.substr(5))), Shake::failed);
  EXPECT_FALSE(pair.server.output().empty()) << "an alert says why";
}

TEST_F(TlsStreamTest, ChecksTheCertificateAndItsName) {
  const TestCa other("another CA");
  struct Case {
    Context port;
    std::string host;
    std::string why;  // empty: accepted
  };
  const auto port = [](const TestCa& of, TestCa::Order order) {
    return made(TlsContext::for_port(of.issue(order), {}));
  };
  for (const auto& [context, host, why] : std::initializer_list<Case>{
           {port_, "localhost", ""},
           {port_, "127.0.0.1", ""},
           {port_, "127.0.0.2", "IP address mismatch"},
           {port_, "n1.example", "hostname mismatch"},
           {port(ca_, {.names = "DNS:*.nodes.example"}), "n1.nodes.example", ""},
           {port(ca_, {.names = "DNS:*.nodes.example"}), "a.n1.nodes.example", "hostname mismatch"},
           {port(ca_, {.names = "IP:::1"}), "::1", ""},
           // A common name is no name of a host.
           {port(ca_, {.names = "email:a@b.example", .subject = "n1.example"}), "n1.example",
            "hostname mismatch"},
           {port(other, {}), "localhost", "unable to get local issuer certificate"},
           {port(ca_, {.usage = "clientAuth"}), "localhost", "unsuitable certificate purpose"},
           {port(ca_, {.until = std::chrono::seconds(-1)}), "localhost", "certificate has expired"},
       }) {
    Pair pair(context, client_, host);
    EXPECT_EQ(pair.shake(), why.empty()) << host << ": " << why;
    EXPECT_THAT(pair.client.why(), HasSubstr(why));
  }
}

TEST_F(TlsStreamTest, MayWantACertificateOfTheClient) {
  const TestCa clients("a CA of clients"), others("another CA");
  const Context port = made(TlsContext::for_port(ca_.issue(), clients.certificate()));
  const auto as = [&](const KeyPair& own) {
    Pair pair(port, made(TlsContext::for_client(ca_.certificate(), own)));
    return pair.shake();
  };
  EXPECT_TRUE(as(clients.issue()));
  EXPECT_FALSE(as(others.issue()));
  EXPECT_FALSE(as({}));
}

ClusterSecret secret(std::uint8_t byte) {
  ClusterSecret secret;
  secret.fill(byte);
  return secret;
}

TEST_F(TlsStreamTest, AcceptsAMemberByEachOfTwoSecretsAndNobodyElse) {
  const auto members = [](std::vector<ClusterSecret> secrets) {
    return made(TlsContext::for_members(secrets));
  };
  const ClusterSecret a = secret(1), b = secret(2);
  const auto meet = [&members](const Context& accepts, const Context& connects) {
    Pair pair(accepts, connects, "n1.example");
    if (!pair.shake()) return false;
    EXPECT_TRUE(pair.client.encrypt(bytes_of("Hello")));
    EXPECT_EQ(pair.pass(pair.client, pair.server), "Hello");
    for (const TlsStream* const side : {&pair.client, &pair.server}) {
      EXPECT_FALSE(side->outdated(side == &pair.client ? *connects : *accepts));
      EXPECT_TRUE(side->outdated(*members({secret(3)})));
    }
    return true;
  };
  EXPECT_TRUE(meet(members({a}), members({a})));
  EXPECT_TRUE(meet(members({a, b}), members({b, a})));
  EXPECT_TRUE(meet(members({b, a}), members({a})));
  EXPECT_FALSE(meet(members({a}), members({b, a}))) << "it dials with its first one";
  EXPECT_FALSE(meet(members({a}), members({b})));
  EXPECT_FALSE(meet(members({a}), client_)) << "no secret at all";
  EXPECT_FALSE(meet(port_, members({a}))) << "a certificate in place of the secret";
}

TEST_F(TlsStreamTest, TellsForWhichHostsAMemberHasACertificate) {
  const TestCa other("another CA");
  const auto member = [](const TestCa& of, TestCa::Order order) {
    return made(TlsContext::for_members(of.issue(order), of.certificate()));
  };
  const Context n1 = member(ca_, {.names = "DNS:n1.example,IP:10.0.0.1"});
  // As public CAs issue them.
  const Context n2 = member(ca_, {.names = "DNS:n2.example", .usage = "serverAuth"});
  Pair pair(n1, n2, "n1.example");
  ASSERT_TRUE(pair.shake()) << pair.client.why() << pair.server.why();
  EXPECT_TRUE(pair.server.other_side_is("n2.example"));
  EXPECT_FALSE(pair.server.other_side_is("n1.example"));
  EXPECT_FALSE(pair.server.other_side_is("10.0.0.1"));
  EXPECT_TRUE(pair.client.other_side_is("10.0.0.1"));
  EXPECT_FALSE(Pair(n1, n2, "n3.example").shake()) << "it called another member";
  EXPECT_FALSE(Pair(n1, member(other, {}), "n1.example").shake()) << "another CA";
  EXPECT_FALSE(Pair(n1, client_, "n1.example").shake()) << "no certificate";
}

TEST_F(TlsStreamTest, ATextThatIsNoCertificateIsRefusedByName) {
  const KeyPair good = ca_.issue(), other = ca_.issue();
  const auto why = [](const TlsContext::Made& made) {
    EXPECT_FALSE(made.ok());
    return made.status().detail();
  };
  EXPECT_THAT(why(TlsContext::for_port({"", good.key}, "")), HasSubstr("the certificate"));
  EXPECT_THAT(why(TlsContext::for_port({good.certificate.substr(0, 200), good.key}, "")),
              HasSubstr("the certificate"));
  EXPECT_THAT(why(TlsContext::for_port({good.certificate, good.certificate}, "")),
              HasSubstr("the key"));
  EXPECT_THAT(why(TlsContext::for_port(good, "x")), HasSubstr("client_ca"));
  const TlsContext::Made misfit = TlsContext::for_port({good.certificate, other.key}, "");
  EXPECT_EQ(misfit.status().code(), Code::unavailable);
}

// Strangers may send anything.
RC_GTEST_FIXTURE_PROP(TlsStreamTest, AnyBytesEndTheHandshakeOrWaitForMore, (std::string text)) {
  TlsStream server(port_, Role::accept, {});
  Records records;
  while (!text.empty()) {
    const std::string piece = records.take(text, kTlsRecord);
    const Shake result = server.shake(bytes_of(piece));
    RC_ASSERT(result != Shake::done);
    if (result == Shake::failed) break;
  }
}

}  // namespace
}  // namespace quipu::test
