// TLS at the client and admin ports of real daemons, as operators and applications meet it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <string>

#include "tests/node/clients/raw_connection.h"
#include "tests/node/eventually.h"
#include "tests/system/certificate_files.h"
#include "tests/system/cli_runner.h"
#include "tests/system/daemons.h"
#include "tests/system/tls_connection.h"

namespace quipu::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// One node with a certificate for localhost and 127.0.0.1.
class TlsClientPort : public testing::Test {
 protected:
  // `tls` and `client`: more lines of these tables.
  void start(const std::string& tls = "", const std::string& client = "") {
    files_.issue("node");
    daemons_ = std::make_unique<Daemons>(
        1, "[tls]\n" + files_.settings("node") + tls + "[client]\n" + client);
    daemons_->start(0, {"--log-level", "debug"});
    ASSERT_TRUE(eventually([this] {
      return report_of_handshake(address()).find("BEGIN CERTIFICATE") != std::string::npos;
    })) << daemons_->log(0);
  }

  [[nodiscard]] const std::string& address() const { return daemons_->client_address(0); }
  [[nodiscard]] std::string port() const { return address().substr(address().find(':') + 1); }
  [[nodiscard]] CliResult quipu(const std::vector<std::string>& arguments) const {
    return run_cli(arguments, {.nodes = {address()}});
  }
  [[nodiscard]] Finished redis_cli(const std::vector<std::string>& arguments) const {
    std::vector<std::string> words{"redis-cli", "-p", port()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return run(words);
  }

  const CertificateFiles files_;
  const std::string ca_ = files_.ca();
  std::unique_ptr<Daemons> daemons_;
};

TEST_F(TlsClientPort, CountsForQuipuAndRedisClientsOfAUser) {
  const CliResult made = run_cli({"user", "new", "web", "--may", "read,count"});
  replace_file(files_ / "users.toml", made.out);
  replace_file(files_ / "web.secret", made.err);
  start("", "users_file = \"" + files_ / "users.toml" + "\"\n");
  const std::vector<std::string> web{"--user", "web", "--secret-file", files_ / "web.secret",
                                     "--ca",   ca_};
  const auto as_web = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), web.begin(), web.end());
    return quipu(arguments);
  };
  ASSERT_TRUE(eventually([&] { return as_web({"add", "likes:1", "2"}).exit == 0; }));
  EXPECT_EQ(as_web({"get", "likes:1", "--fresh"}).out, "2\n");
  const std::string secret = made.err.substr(0, made.err.find('\n'));
  EXPECT_EQ(redis_cli({"--tls", "--cacert", ca_, "--user", "web", "--pass", secret,
                       "--no-auth-warning", "INCR", "likes:1"})
                .out,
            "3\n");
  EXPECT_THAT(redis_cli({"--tls", "--cacert", ca_, "INCR", "likes:1"}).out, StartsWith("NOAUTH "));
}

TEST_F(TlsClientPort, IsRefusedByClientsThatCannotTrustIt) {
  files_.issue("node");
  start();
  EXPECT_EQ(quipu({"add", "likes:1", "--ca", ca_}).exit, 0);
  const CertificateFiles others("another CA");
  const CliResult wrong_ca = quipu({"add", "likes:1", "--ca", others.ca(), "--timeout", "1s"});
  EXPECT_EQ(wrong_ca.exit, 1);
  EXPECT_THAT(wrong_ca.err, HasSubstr("certificate is not accepted"));
  EXPECT_THAT(quipu({"add", "likes:1", "--ca", "system", "--timeout", "1s"}).err,
              HasSubstr("certificate is not accepted"));
  EXPECT_NE(redis_cli({"--tls", "--cacert", others.ca(), "PING"}).exit_code, 0);

  files_.issue("node", {.names = "DNS:elsewhere.example"});
  daemons_->signal(0, SIGHUP);
  ASSERT_TRUE(eventually([&] {
    return quipu({"add", "likes:1", "--ca", ca_, "--timeout", "1s"}).exit == 1;
  }));
  EXPECT_THAT(quipu({"add", "likes:1", "--ca", ca_, "--timeout", "1s"}).err,
              AllOf(HasSubstr("certificate is not accepted"), HasSubstr("mismatch")));
}

TEST_F(TlsClientPort, SpeaksTls13Alone) {
  start();
  EXPECT_THAT(report_of_handshake(address(), {"-tls1_3"}), HasSubstr("Cipher is TLS_AES_"));
  for (const char* const older : {"-tls1_2", "-tls1_1"})
    EXPECT_THAT(report_of_handshake(address(), {older, "-cipher", "ALL:@SECLEVEL=0"}),
                AllOf(HasSubstr("no peer certificate available"), HasSubstr("Cipher is (NONE)")));
  EXPECT_THAT(report_of_handshake(address(), {"-tls1_2"}), HasSubstr("alert protocol version"));
  EXPECT_TRUE(eventually([&] {
    return daemons_->log(0).find("does not speak TLS 1.3") != std::string::npos;
  })) << daemons_->log(0);
}

TEST_F(TlsClientPort, AcceptsPlainTextFromThisMachine) {
  start();
  EXPECT_EQ(quipu({"add", "likes:1"}).exit, 0);
  EXPECT_EQ(redis_cli({"INCR", "likes:1"}).out, "2\n");
}

TEST_F(TlsClientPort, TellsClientsThatMustUseTls) {
  start("", "plaintext = \"refuse\"\n");
  const CliResult native = quipu({"add", "likes:1", "--timeout", "1s"});
  EXPECT_EQ(native.exit, 1);
  EXPECT_THAT(native.err, HasSubstr("this node takes TLS connections only: name the CA of its "
                                    "certificate (--ca)"));
  EXPECT_THAT(quipu({"cluster", "status", "--timeout", "1s"}).err,
              HasSubstr("takes TLS connections only"));
  EXPECT_THAT(redis_cli({"INCR", "likes:1"}).out,
              StartsWith("ERR this node takes TLS connections only"));
  RawConnection redis(address());
  EXPECT_EQ(redis.reply_to("PING"), "-ERR this node takes TLS connections only\r\n");
  EXPECT_EQ(redis.receive_text(), "");
  EXPECT_EQ(quipu({"get", "likes:1", "--ca", ca_}).out, "0\n");
}

TEST_F(TlsClientPort, WithoutACertificateIsRecognizedByClients) {
  Daemons plain(1);
  plain.start_all();
  ASSERT_TRUE(plain.all_ready());
  const CliResult refused = run_cli({"add", "likes:1", "--ca", ca_, "--timeout", "2s"},
                                    {.nodes = {plain.client_address(0)}});
  EXPECT_EQ(refused.exit, 1);
  EXPECT_THAT(refused.err, HasSubstr("does it speak TLS there?"));
  EXPECT_THAT(report_of_handshake(plain.client_address(0)),
              HasSubstr("no peer certificate available"));
}

TEST_F(TlsClientPort, WithAClientCaNeedsACertificateOfIt) {
  const CertificateFiles clients("the CA of clients");
  clients.issue("app", {.names = "DNS:app"});
  files_.issue("app", {.names = "DNS:app"});
  start("client_ca = \"" + clients.ca() + "\"\n");
  const auto add = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"add", "likes:1", "--timeout", "2s", "--ca", ca_};
    words.insert(words.end(), more.begin(), more.end());
    return quipu(words);
  };
  const CliResult without = add({});
  EXPECT_EQ(without.exit, 1);
  EXPECT_THAT(without.err, HasSubstr("requires a certificate"));
  EXPECT_EQ(
      add({"--certificate", clients.certificate("app"), "--certificate-key", clients.key("app")})
          .exit,
      0);
  // One of another CA.
  const CliResult wrong =
      add({"--certificate", files_.certificate("app"), "--certificate-key", files_.key("app")});
  EXPECT_EQ(wrong.exit, 1);
  EXPECT_THAT(wrong.err, HasSubstr("does not trust the CA"));

  EXPECT_EQ(redis_cli({"--tls", "--cacert", ca_, "--cert", clients.certificate("app"), "--key",
                       clients.key("app"), "INCR", "likes:1"})
                .out,
            "2\n");
  EXPECT_THAT(redis_cli({"--tls", "--cacert", ca_, "INCR", "likes:1"}).out, Not(HasSubstr("3")));
  EXPECT_EQ(redis_cli({"GET", "likes:1"}).out, "2\n");
}

}  // namespace
}  // namespace quipu::test
