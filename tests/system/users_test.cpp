// Users of real daemons, as operators and applications meet them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <string>

#include "tests/node/clients/raw_connection.h"
#include "tests/node/eventually.h"
#include "tests/system/admin_client.h"
#include "tests/system/cli_runner.h"
#include "tests/system/daemons.h"
#include "tests/system/free_ports.h"

namespace quipu::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string base64(const std::string& text) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "text") << text;
  return run({"base64", "-w0", directory / "text"}).out;
}

class UsersTest : public testing::Test {
 protected:
  void SetUp() override {
    make("web", {"--may", "read,count", "--keys", "likes:,views:"});
    make("ops", {"--may", "read,count,reset,observe,admin"});
    make("default", {"--may", "observe"});
    configure(0, "");
    configure(1, "open_metrics = true\n");
    for (std::size_t i : {0, 1, 2}) daemons_.start(i, {"--log-level", "debug"});
    // No node can be asked without a user.
    ASSERT_TRUE(eventually([this] {
      return quipu("ops", {"cluster", "status", "-o", "json"}).out.find("\"ready\"") !=
                 std::string::npos &&
             quipu("ops", {"add", "canary-counter", "1", "--ack", "quorum"}).exit == 0;
    })) << daemons_.log(0)
        << daemons_.log(1) << daemons_.log(2);
  }

  void make(const std::string& name, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"user", "new", name});
    const CliResult made = run_cli(arguments);
    ASSERT_EQ(made.exit, 0) << made.err;
    std::ofstream(users_, std::ios::app) << made.out;
    std::ofstream(secret_file(name)) << made.err;
  }
  void configure(std::size_t node, const std::string& admin) {
    std::ofstream(daemons_.settings(node), std::ios::app)
        << "[admin]\naddress = \"127.0.0.1:" << ports_[node] << "\"\n"
        << admin;
  }
  [[nodiscard]] std::string secret_file(const std::string& name) const {
    return directory_ / (name + ".secret");
  }
  [[nodiscard]] std::string secret(const std::string& name) const {
    const std::string text = read_file(secret_file(name));
    return text.substr(0, text.find('\n'));
  }
  [[nodiscard]] CliResult quipu(const std::string& user, std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"--user", user, "--secret-file", secret_file(user)});
    return run_cli(arguments, {.nodes = {daemons_.client_address(0), daemons_.client_address(1),
                                         daemons_.client_address(2)}});
  }
  // The whole answer of this node's admin port.
  [[nodiscard]] std::string get(std::size_t node, const std::string& path,
                                const std::string& authorization = "") {
    AdminClient client(ports_[node]);
    const std::string header =
        authorization.empty() ? "" : "Authorization: " + authorization + "\r\n";
    return client.ask("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + header + "\r\n");
  }

  const TemporaryDirectory directory_;
  const std::string users_ = directory_ / "users.toml";
  const std::vector<int> ports_ = free_ports(2);
  Daemons daemons_{3, "[client]\nusers_file = \"" + users_ + "\"\n"};
};

TEST_F(UsersTest, CountFromTheCommandLine) {
  EXPECT_EQ(quipu("web", {"add", "likes:1", "2"}).exit, 0);
  EXPECT_EQ(quipu("web", {"get", "likes:1", "--fresh"}).out, "2\n");
  const CliResult refused = quipu("web", {"add", "sales:1", "2"});
  EXPECT_EQ(refused.exit, 1);
  EXPECT_THAT(refused.err, HasSubstr("not_permitted: the user web may not use this key"));
  EXPECT_THAT(quipu("web", {"reset", "likes:1"}).err, HasSubstr("not_permitted"));
  EXPECT_THAT(
      quipu("web", {"cluster", "status"}).err,
      AllOf(HasSubstr("the user web lacks the permission observe"), Not(HasSubstr("majority"))));
  EXPECT_EQ(quipu("web", {"ls", "likes:"}).out, "likes:1\n");
  EXPECT_EQ(quipu("web", {"ls", "canary"}).out, "");
  EXPECT_EQ(quipu("ops", {"ls", "canary"}).out, "canary-counter\n");

  // A secret that is another user's, none at all, and a file that is missing.
  std::ofstream(directory_ / "wrong.secret") << secret("ops") << '\n';
  const std::vector<std::string> node{daemons_.client_address(0)};
  const CliResult wrong =
      run_cli({"--user", "web", "--secret-file", directory_ / "wrong.secret", "get", "likes:1"},
              {.nodes = node});
  EXPECT_EQ(wrong.exit, 1);
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("that is not its secret"),
                               HasSubstr("check --user and --secret-file")));
  EXPECT_THAT(run_cli({"get", "likes:1"}, {.nodes = node}).err,
              HasSubstr("asks for a user and a secret"));
  const CliResult without = run_cli({"--user", "web", "get", "likes:1"}, {.nodes = node});
  EXPECT_EQ(without.exit, 2);
  EXPECT_THAT(without.err, HasSubstr("--secret-file"));
  const CliResult missing =
      run_cli({"--secret-file", "/nowhere", "get", "likes:1"}, {.nodes = node});
  EXPECT_EQ(missing.exit, 2);
  EXPECT_THAT(missing.err, HasSubstr("/nowhere cannot be read"));

  const CliResult by_variables = run_cli(
      {"get", "likes:1", "--fresh"},
      {.nodes = node, .variables = {"QUIPU_USER=web", "QUIPU_SECRET_FILE=" + secret_file("web")}});
  EXPECT_EQ(by_variables.out, "2\n") << by_variables.err;
}

TEST_F(UsersTest, AreMadeWithASecretOfOnesOwn) {
  const CliResult made = run_cli({"user", "new", "me", "--may", "read", "--secret-stdin"},
                                 {.text = "0123456789abcdefghij\n"});
  EXPECT_EQ(made.exit, 0);
  EXPECT_THAT(made.out, StartsWith("[[user]]\nname = \"me\"\nsecrets = [\"sha256:"));
  EXPECT_THAT(made.err, AllOf(HasSubstr("only a random secret"), Not(HasSubstr("0123456789abc"))));
  const CliResult too_short = run_cli({"user", "new", "me", "--may", "read", "--secret-stdin"},
                                      {.text = "0123456789abcdefghi\n"});
  EXPECT_EQ(too_short.exit, 2);
  EXPECT_EQ(too_short.out, "");
  EXPECT_EQ(run_cli({"user", "new", "me", "--may", "write"}).exit, 2);
  EXPECT_EQ(run_cli({"user", "new", "m e", "--may", "read"}).exit, 2);
  EXPECT_EQ(run_cli({"user", "new", "me"}).exit, 2);
  EXPECT_EQ(run_cli({"user"}).exit, 2);
}

TEST_F(UsersTest, ThatMayObserveGetTheMetrics) {
  const std::string ops = "Basic " + base64("ops:" + secret("ops"));
  EXPECT_THAT(get(0, "/livez"), StartsWith("HTTP/1.1 200 "));
  EXPECT_TRUE(eventually([&] { return get(0, "/readyz").starts_with("HTTP/1.1 200 "); }));
  for (const char* const path : {"/metrics", "/api/v1/status"}) {
    EXPECT_THAT(get(0, path),
                AllOf(StartsWith("HTTP/1.1 401 "), HasSubstr("\r\nWWW-Authenticate: Basic")));
    EXPECT_THAT(get(0, path, ops), StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(get(0, path, "Bearer " + secret("default")), StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(get(0, path, "Bearer " + secret("ops")), StartsWith("HTTP/1.1 401 "));
    EXPECT_THAT(get(0, path, "Basic " + base64("ops:wrong")), StartsWith("HTTP/1.1 401 "));
    EXPECT_THAT(get(0, path, "Basic " + base64("web:" + secret("web"))),
                StartsWith("HTTP/1.1 403 "));
    EXPECT_THAT(get(0, path, "Basic"), StartsWith("HTTP/1.1 401 "));
  }
  EXPECT_THAT(get(1, "/metrics"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(get(1, "/api/v1/status"), StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(get(0, "/metrics", ops),
              HasSubstr("\nquipu_auth_failures_total{port=\"admin\"} 4\n"));
}

// By a signal, and because the node looks at the file.
TEST_F(UsersTest, AreReadAgain) {
  make("late", {"--may", "read"});
  daemons_.signal(0, SIGHUP);
  const auto late = [&](std::size_t node) {
    RawConnection client(daemons_.client_address(node));
    return client.reply_to("AUTH late " + secret("late")) == "+OK\r\n";
  };
  EXPECT_TRUE(eventually([&] { return late(0); }));
  EXPECT_TRUE(eventually([&] { return late(1) && late(2); }));
}

// Unique texts in each secret file and in one counter's name, nowhere where operators look.
TEST_F(UsersTest, HaveSecretsThatAreNowhereToBeSeen) {
  for (const char* const user : {"web", "ops", "default"}) {
    RawConnection client(daemons_.client_address(0));
    EXPECT_EQ(client.reply_to("AUTH " + std::string(user) + ' ' + secret(user)), "+OK\r\n");
    (void)client.reply_to("AUTH " + secret(user) + ' ' + secret(user));
    (void)client.reply_to(secret(user));
  }
  RawConnection ops(daemons_.client_address(0));
  EXPECT_EQ(ops.reply_to("AUTH ops " + secret("ops")), "+OK\r\n");
  const std::string all_told = ops.reply_to("INFO everything") + ops.reply_to("CONFIG GET *") +
                               ops.reply_to("CLIENT LIST") +
                               get(0, "/metrics", "Bearer " + secret("default")) +
                               get(0, "/api/v1/status", "Bearer " + secret("default")) +
                               run_cli({"config", "show", "--config", daemons_.settings(0)}).out +
                               quipu("ops", {"cluster", "status", "-o", "json"}).out;
  std::string logs;
  for (std::size_t i : {0, 1, 2}) logs += read_file(daemons_.settings(i) + ".log");
  EXPECT_THAT(logs, HasSubstr("users were read"));
  EXPECT_THAT(logs, HasSubstr("an authentication was refused"));
  EXPECT_THAT(all_told, HasSubstr("quipu_ready 1"));
  for (const char* const user : {"web", "ops", "default"}) {
    EXPECT_THAT(all_told, Not(HasSubstr(secret(user))));
    EXPECT_THAT(logs, Not(HasSubstr(secret(user))));
  }
  EXPECT_THAT(all_told, Not(HasSubstr("canary-counter")));
  EXPECT_THAT(logs, Not(HasSubstr("canary-counter")));
}

}  // namespace
}  // namespace quipu::test
