// Connections and their users: what a stranger may do, and what newer users change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <fstream>

#include "quipu/client.h"
#include "tests/node/api/nodes.h"
#include "tests/node/clients/raw_connection.h"
#include "tests/node/clients/some_users.h"
#include "tests/node/eventually.h"
#include "tests/node/temporary_directory.h"

namespace quipu::test {
namespace {

using testing::StartsWith;

const std::string kNoAuth = "-NOAUTH Authentication required.\r\n";
const std::string kWrong = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
const std::vector<SomeUser> kUsers{{"default", {"read"}},
                                   {"web", {"read", "count"}, "likes:"},
                                   {"ops", {"read", "count", "reset", "observe", "admin"}},
                                   {"adder", {"count"}},
                                   {"cleaner", {"reset"}}};

struct UserConnection : RawConnection {
  UserConnection(const std::string& address, const std::string& user) : RawConnection(address) {
    EXPECT_EQ(reply_to("AUTH " + user + ' ' + secret_of(user)), "+OK\r\n");
  }
};

// The parameter: how many reactors the node has.
class ClientUsers : public testing::TestWithParam<std::uint8_t> {
 protected:
  explicit ClientUsers(std::size_t connections = 1000) {
    write_users(path_, kUsers);
    NodeOptions options = alone(directory_ / "data");
    options.reactors = GetParam();
    options.users_file = path_;
    options.client_port.connections = connections;
    // Only the bound of strangers ends a connection that does not read.
    options.client_port.soft_output_time = std::chrono::hours(1);
    node_ = open_node(options);
    EXPECT_TRUE(node_->wait_ready(kPatience));
  }
  [[nodiscard]] RawConnection connect() const { return RawConnection(node_->client_address()); }
  [[nodiscard]] UserConnection connect(const std::string& user) const {
    return {node_->client_address(), user};
  }
  [[nodiscard]] Result<std::unique_ptr<Client>> open(const std::string& user,
                                                     const std::string& secret) const {
    return Client::connect(
        {.seeds = {node_->client_address()}, .credentials = {.user = user, .secret = secret}});
  }
  [[nodiscard]] std::uint64_t failures() const {
    for (const FigureFamily& family : node_->figures()) {
      if (family.name == "quipu_auth_failures_total")
        return static_cast<std::uint64_t>(family.samples.front().value);
    }
    return 0;
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_ / "users.toml";
  std::unique_ptr<Node> node_;
};

INSTANTIATE_TEST_SUITE_P(Reactors, ClientUsers, testing::Values(1, 3));

TEST_P(ClientUsers, AreAskedForBeforeAnythingElse) {
  RawConnection client = connect();
  for (const char* const request :
       {"PING", "GET likes:1", "INCR likes:1", "MULTI", "nonsense", "CLIENT ID", "COMMAND"})
    EXPECT_EQ(client.reply_to(request), kNoAuth) << request;
  EXPECT_EQ(client.reply_to("HELLO 3").substr(0, 8), "-NOAUTH ");
  EXPECT_EQ(client.reply_to("AUTH web " + secret_of("web")), "+OK\r\n");
  EXPECT_EQ(client.reply_to("INCR likes:1"), ":1\r\n");
  EXPECT_EQ(client.reply_to("ACL WHOAMI"), "$3\r\nweb\r\n");
  EXPECT_EQ(client.reply_to("RESET"), "+RESET\r\n");
  EXPECT_EQ(client.reply_to("INCR likes:1"), kNoAuth);
  EXPECT_EQ(client.reply_to("AUTH " + secret_of("default")), "+OK\r\n");
  EXPECT_EQ(client.reply_to("GET likes:1"), "$1\r\n1\r\n");
  EXPECT_EQ(client.reply_to("HELLO 3 AUTH ops " + secret_of("ops")).substr(0, 2), "%7");
  EXPECT_EQ(client.reply_to("ACL WHOAMI"), "$3\r\nops\r\n");
}

TEST_P(ClientUsers, HaveThreeWrongSecretsOnAConnection) {
  RawConnection client = connect();
  EXPECT_EQ(client.reply_to("AUTH web no"), kWrong);
  EXPECT_EQ(client.reply_to("AUTH nobody no"), kWrong);
  EXPECT_EQ(client.reply_to("AUTH web " + secret_of("web")), "+OK\r\n");  // counts anew
  EXPECT_EQ(client.reply_to("AUTH no"), kWrong);
  EXPECT_EQ(client.reply_to("HELLO 3 AUTH web no"), kWrong);
  EXPECT_EQ(client.reply_to("GET likes:1"), "$-1\r\n") << "it is still web";
  EXPECT_EQ(client.reply_to("AUTH web no"), kWrong);
  EXPECT_EQ(client.receive_text(), "");
  EXPECT_TRUE(eventually([&] { return failures() == 5; })) << failures();
}

TEST_P(ClientUsers, AreAskedForByNativeFrames) {
  RawConnection client = connect();
  std::string frame;
  encode(frame, ConfigRequest{.id = 1});
  ASSERT_TRUE(client.send(frame));
  const auto refusal = client.receive_until_closed();
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->code, Code::unauthenticated);
}

// ---- bounds ----

TEST_P(ClientUsers, MaySend16WordsBeforeTheyAuthenticate) {
  RawConnection client = connect();
  std::string most = "*16\r\n$4\r\nPING\r\n";
  for (int i = 1; i < 16; ++i) most += "$1\r\na\r\n";
  EXPECT_EQ(client.reply_to(most), kNoAuth);
  EXPECT_EQ(client.reply_to("*17\r\n"),
            "-ERR Protocol error: unauthenticated multibulk length\r\n");
  EXPECT_EQ(client.receive_text(), "");
  EXPECT_EQ(connect("web")
                .reply_to("*17\r\n$4\r\nMGET\r\n" +
                          [] {
                            std::string keys;
                            for (int i = 1; i < 17; ++i) keys += "$7\r\nlikes:1\r\n";
                            return keys;
                          }())
                .substr(0, 3),
            "*16");
}

TEST_P(ClientUsers, MaySend4KiBBeforeTheyAuthenticate) {
  RawConnection client = connect();
  ASSERT_TRUE(client.send("*2\r\n$4\r\nECHO\r\n$5000\r\n" + std::string(5000, 'x') + "\r\n"));
  EXPECT_EQ(client.receive_text().substr(0, 61),
            "-ERR Protocol error: a request before authentication has at m");
  RawConnection native = connect();
  std::string frame;
  encode(frame, Op{.id = 1, .key = "a", .words = std::string(5000, 'w'), .kind = OpKind::apply});
  ASSERT_TRUE(native.send(frame));
  const auto refusal = native.receive_until_closed();
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->code, Code::protocol_error);
}

// A stranger that never reads is disconnected once the sockets' buffers and 4 KiB are full.
TEST_P(ClientUsers, MayLeave4KiBUnreadBeforeTheyAuthenticate) {
  RawConnection client = connect();
  std::string requests;
  for (int i = 0; i < 10'000; ++i) requests += "PING\r\n";
  EXPECT_TRUE(eventually([&] { return !client.send(requests); }));
}

class FewClientUsers : public ClientUsers {
 protected:
  FewClientUsers() : ClientUsers(8) {}
};
INSTANTIATE_TEST_SUITE_P(Reactors, FewClientUsers, testing::Values(1));

TEST_P(FewClientUsers, KeepTheirPlacesAndStrangersGo) {
  const std::string node = node_->client_address();
  std::deque<UserConnection> known;
  std::deque<RawConnection> strangers;
  for (int i = 0; i < 4; ++i) known.emplace_back(node, "web");
  for (int i = 0; i < 20; ++i) strangers.emplace_back(node);
  // The oldest strangers left. The newest are here, and so is everybody who is known.
  EXPECT_EQ(strangers.front().receive_text(), "");
  EXPECT_EQ(strangers.back().reply_to("PING"), kNoAuth);
  for (UserConnection& client : known) EXPECT_EQ(client.reply_to("PING"), "+PONG\r\n");
  // Without strangers, the limit is the limit.
  for (RawConnection& client : strangers) client.shutdown_send();
  EXPECT_TRUE(eventually([&] { return connect("web").reply_to("PING") == "+PONG\r\n"; }));
  while (known.size() < 8) known.emplace_back(node, "web");
  EXPECT_EQ(connect().reply_to("PING"), "-ERR max number of clients reached\r\n");
}

// ---- reload ----

TEST_P(ClientUsers, ThatAreGoneLoseTheirConnections) {
  UserConnection web = connect("web"), ops = connect("ops"), adder = connect("adder");
  std::vector<SomeUser> fewer = kUsers;
  fewer.erase(fewer.begin() + 1);  // web
  fewer[1].may = {"read"};         // ops
  write_users(path_, fewer);
  ASSERT_TRUE(node_->reload().ok());
  EXPECT_EQ(web.receive_text().substr(0, 8), "-NOAUTH ");
  EXPECT_TRUE(eventually([&] { return ops.reply_to("DEL a").starts_with("-NOPERM"); }));
  EXPECT_EQ(ops.reply_to("GET a"), "$-1\r\n");
  EXPECT_EQ(adder.reply_to("INCR a"), ":1\r\n");
}

TEST_P(ClientUsers, StayIfTheFileIsWrong) {
  UserConnection web = connect("web");
  std::ofstream(path_) << "[[user]]\n";
  EXPECT_EQ(node_->reload().code(), Code::invalid_argument);
  EXPECT_EQ(web.reply_to("INCR likes:1"), ":1\r\n");
  EXPECT_EQ(connect("ops").reply_to("GET likes:1"), "$1\r\n1\r\n");
}

// What was queued was permitted when it was queued.
TEST_P(ClientUsers, WithFewerPermissionsCannotExecuteWhatTheyQueued) {
  UserConnection ops = connect("ops");
  EXPECT_EQ(ops.reply_to("MULTI"), "+OK\r\n");
  EXPECT_EQ(ops.reply_to("DEL a"), "+QUEUED\r\n");
  std::vector<SomeUser> users = kUsers;
  users[2].may = {"read"};
  write_users(path_, users);
  ASSERT_TRUE(node_->reload().ok());
  EXPECT_TRUE(eventually([&] { return connect("ops").reply_to("DEL a").starts_with("-NOPERM"); }));
  EXPECT_TRUE(ops.reply_to("EXEC").starts_with("-EXECABORT"));
}

// ---- transactions, scripts, databases, lists ----

TEST_P(ClientUsers, AreCheckedForEachCommandOfATransactionAndAScript) {
  UserConnection web = connect("web");
  EXPECT_EQ(web.reply_to("MULTI"), "+OK\r\n");
  EXPECT_EQ(web.reply_to("INCR likes:1"), "+QUEUED\r\n");
  EXPECT_EQ(web.reply_to("DEL likes:1").substr(0, 7), "-NOPERM");
  EXPECT_TRUE(web.reply_to("EXEC").starts_with("-EXECABORT"));
  EXPECT_EQ(web.reply_to("MULTI"), "+OK\r\n");
  EXPECT_EQ(web.reply_to("INCR views:1").substr(0, 7), "-NOPERM");
  EXPECT_TRUE(web.reply_to("EXEC").starts_with("-EXECABORT"));
  EXPECT_EQ(web.reply_to("GET likes:1"), "$-1\r\n");

  EXPECT_EQ(web.reply_to("EVAL \"return redis.call('incr',KEYS[1])\" 1 likes:1"), ":1\r\n");
  EXPECT_EQ(web.reply_to("EVAL \"return redis.call('del',KEYS[1])\" 1 likes:1").substr(0, 7),
            "-NOPERM");
  EXPECT_EQ(web.reply_to("EVAL \"return redis.call('incr',KEYS[1])\" 1 views:1").substr(0, 7),
            "-NOPERM");
  EXPECT_EQ(web.reply_to("GET likes:1"), "$1\r\n1\r\n");
}

TEST_P(ClientUsers, HavePrefixesOfFullNames) {
  UserConnection web = connect("web");
  EXPECT_EQ(web.reply_to("SELECT 3"), "+OK\r\n");
  EXPECT_EQ(web.reply_to("INCR likes:1").substr(0, 7), "-NOPERM");  // db3:likes:1
  EXPECT_EQ(web.reply_to("QUIPU.MGET likes:1").substr(0, 7), "-NOPERM");
  EXPECT_EQ(web.reply_to("EVAL \"return redis.call('get',KEYS[1])\" 1 likes:1").substr(0, 7),
            "-NOPERM");
}

TEST_P(ClientUsers, SeeOnlyTheirKeysInLists) {
  UserConnection ops = connect("ops"), web = connect("web");
  for (const char* const key : {"likes:1", "likes:2", "views:1"})
    EXPECT_EQ(ops.reply_to(std::string("INCR ") + key), ":1\r\n");
  EXPECT_TRUE(eventually([&] { return ops.reply_to("KEYS *").starts_with("*3"); }));
  EXPECT_EQ(web.reply_to("KEYS *").substr(0, 2), "*2");
  EXPECT_EQ(web.reply_to("KEYS views:*"), "*0\r\n");
  EXPECT_EQ(web.reply_to("SCAN 0 COUNT 100").find("views"), std::string::npos);
  const auto client = open("web", secret_of("web"));
  ASSERT_TRUE(client.ok()) << client.status().message();
  std::vector<std::string> listed;
  for (ListCursor at = ListCursor::begin; at != ListCursor::end;) {
    const ListPage page = (*client)->list({.cursor = at});
    ASSERT_TRUE(page.status.ok());
    listed.insert(listed.end(), page.keys.begin(), page.keys.end());
    at = page.next;
  }
  std::ranges::sort(listed);
  EXPECT_EQ(listed, (std::vector<std::string>{"likes:1", "likes:2"}));
}

// ---- what a review found ----

TEST_P(ClientUsers, AreCheckedForAnEmptyCommandName) {
  UserConnection ops = connect("ops");
  EXPECT_EQ(ops.reply_to("INCR sales:1"), ":1\r\n");
  EXPECT_EQ(ops.reply_to("GET sales:1"), "$1\r\n1\r\n");
  std::vector<SomeUser> users = kUsers;
  users[2] = {"ops", {"read"}, "likes:"};
  write_users(path_, users);
  ASSERT_TRUE(node_->reload().ok());
  EXPECT_TRUE(
      eventually([&] { return connect("ops").reply_to("GET sales:1").starts_with("-NOPERM"); }));
  EXPECT_THAT(ops.reply_to("*2\r\n$0\r\n\r\n$7\r\nsales:1\r\n"),
              StartsWith("-ERR unknown command"));
}

// An answer goes to the user that asked.
TEST_P(ClientUsers, CannotChangeWhileAnAnswerIsOwed) {
  RawConnection client = connect();
  std::string frames;
  encode_credentials(frames, {"cleaner", secret_of("cleaner")}, spoken_versions().from);
  encode(frames, Read{.id = 1, .level = ReadLevel::strong, .keys = {"a"}});
  encode_credentials(frames, {"default", secret_of("default")}, spoken_versions().from);
  ASSERT_TRUE(client.send(frames));
  const auto refusal = client.receive_until_closed();
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->code, Code::protocol_error);
}

TEST_P(ClientUsers, DoNotAuthenticateInATransaction) {
  UserConnection web = connect("web");
  EXPECT_EQ(web.reply_to("MULTI"), "+OK\r\n");
  EXPECT_THAT(web.reply_to("AUTH ops no"), StartsWith("-ERR Command not allowed"));
  EXPECT_THAT(web.reply_to("EXEC"), StartsWith("-EXECABORT"));
}

TEST_P(ClientUsers, ResetCountersOfAnyKindWithoutReading) {
  UserConnection ops = connect("ops");
  EXPECT_EQ(ops.reply_to("PFADD u a b c"), ":1\r\n");
  const auto cleaner = open("cleaner", secret_of("cleaner"));
  ASSERT_TRUE(cleaner.ok());
  EXPECT_TRUE((*cleaner)->counter("u").reset().ok());
  EXPECT_EQ(ops.reply_to("PFCOUNT u"), ":0\r\n");
}

// ---- CLIENT KILL ----

TEST_P(ClientUsers, AreKilledOnAllReactors) {
  UserConnection ops = connect("ops");
  std::deque<UserConnection> web;
  for (int i = 0; i < 9; ++i) web.emplace_back(node_->client_address(), "web");
  EXPECT_EQ(ops.reply_to("CLIENT KILL USER web"), ":9\r\n");
  for (UserConnection& client : web) EXPECT_EQ(client.receive_text(), "");
  EXPECT_EQ(ops.reply_to("CLIENT KILL USER web"), ":0\r\n");
  EXPECT_EQ(ops.reply_to("CLIENT KILL 127.0.0.1:1"), "-ERR No such client\r\n");
  EXPECT_EQ(ops.reply_to("CLIENT KILL USER wbe"), "-ERR No such user 'wbe'\r\n");
  EXPECT_EQ(ops.reply_to("CLIENT KILL ID 0"), "-ERR client-id should be greater than 0\r\n");
  EXPECT_EQ(ops.reply_to("CLIENT KILL USER ops SKIPME maybe"), "-ERR syntax error\r\n");
  UserConnection other = connect("web");
  const std::string id = other.reply_to("CLIENT ID");
  EXPECT_EQ(ops.reply_to("CLIENT KILL ID " + id.substr(1, id.size() - 3)), ":1\r\n");
  EXPECT_EQ(other.receive_text(), "");
  EXPECT_EQ(ops.reply_to("CLIENT KILL USER ops"), ":0\r\n") << "itself is left out";
  EXPECT_EQ(ops.reply_to("CLIENT KILL USER ops SKIPME no"), ":1\r\n");
  EXPECT_EQ(ops.receive_text(), "");
}

// ---- the library ----

TEST_P(ClientUsers, AreThoseOfTheLibrary) {
  const auto web = open("web", secret_of("web"));
  ASSERT_TRUE(web.ok()) << web.status().message();
  EXPECT_TRUE((*web)->counter("likes:1").add(2).ok());
  EXPECT_EQ((*web)->counter("likes:1").read()->value, 2);
  EXPECT_EQ((*web)->counter("views:1").add(1).code(), Code::not_permitted);
  EXPECT_EQ((*web)->counter("views:1").read().status().code(), Code::not_permitted);
  EXPECT_EQ((*web)->counter("likes:1").reset().code(), Code::not_permitted);
  EXPECT_EQ((*web)->distinct("likes:u").add("a").code(), Code::ok);
  EXPECT_EQ((*web)->distinct("views:u").add("a").code(), Code::not_permitted);
  EXPECT_EQ((*web)->distinct("views:u").count().status().code(), Code::not_permitted);
}

// A change needs the number of shards, and no permission to read.
TEST_P(ClientUsers, MayChangeWithoutReading) {
  const auto adder = open("adder", secret_of("adder"));
  const auto cleaner = open("cleaner", secret_of("cleaner"));
  ASSERT_TRUE(adder.ok() && cleaner.ok());
  EXPECT_TRUE((*adder)->counter("a").add(2).ok());
  EXPECT_TRUE((*adder)->counter("a").add(2, {.affinity = "user 7"}).ok());
  EXPECT_EQ((*adder)->counter("a").read().status().code(), Code::not_permitted);
  EXPECT_EQ((*adder)->counter("a").reset().code(), Code::not_permitted);
  EXPECT_EQ(connect("ops").reply_to("GET a"), "$1\r\n4\r\n");
  EXPECT_TRUE((*cleaner)->counter("a").reset().ok());
  EXPECT_EQ((*cleaner)->counter("a").add(1).code(), Code::not_permitted);
}

TEST_P(ClientUsers, WithAWrongSecretCannotConnect) {
  for (const auto& [user, secret] : {std::pair("web", "wrong"), std::pair("web", "")}) {
    const auto client = open(user, secret);
    ASSERT_FALSE(client.ok());
    EXPECT_EQ(client.status().code(), Code::unauthenticated) << client.status().message();
  }
}

TEST_P(ClientUsers, ThatAreGoneEndTheCallsOfTheLibrary) {
  const auto web = open("web", secret_of("web"));
  ASSERT_TRUE(web.ok());
  ASSERT_TRUE((*web)->counter("likes:1").add(1).ok());
  write_users(path_, {kUsers[2]});
  ASSERT_TRUE(node_->reload().ok());
  EXPECT_TRUE(eventually(
      [&] { return (*web)->counter("likes:1").read().status().code() == Code::unauthenticated; }));
  EXPECT_EQ((*web)->counter("likes:1").add(1).code(), Code::unauthenticated);
  write_users(path_, kUsers);  // the client tries again by itself
  ASSERT_TRUE(node_->reload().ok());
  EXPECT_TRUE(eventually([&] { return (*web)->counter("likes:1").add(1).ok(); }));
}

TEST_P(ClientUsers, MayObserveOrNot) {
  EXPECT_TRUE(node_->may_observe("ops", secret_of("ops")).ok());
  EXPECT_EQ(node_->may_observe("web", secret_of("web")).code(), Code::not_permitted);
  EXPECT_EQ(node_->may_observe("web", "").code(), Code::unauthenticated);
}

// By a member that is a user of theirs.
TEST(ClusterUsers, AreAskedForBetweenNodesThatAskForTheStatus) {
  const TemporaryDirectory directory;
  const std::string path = directory / "users.toml";
  write_users(path, kUsers);
  std::vector<NodeOptions> cluster = cluster_of(3, directory / "data");
  const std::vector<std::string> addresses = free_addresses(3);
  for (std::size_t i = 0; i < 3; ++i) {
    cluster[i].users_file = path;
    cluster[i].client_address = addresses[i];
    for (std::size_t k = 0; k < 3; ++k) cluster[i].members[k].client_address = addresses[k];
  }
  cluster[0].credentials = {.user = "ops", .secret = secret_of("ops")};
  const Nodes nodes = open_all(cluster);
  const auto told = nodes[0]->status();
  ASSERT_TRUE(told.ok()) << told.status().message();
  for (const MemberStatus& member : told->members) {
    EXPECT_TRUE(member.reached.ok()) << member.name << ": " << member.reached.message();
    EXPECT_EQ(member.users_digest, told->members.front().users_digest);
    EXPECT_EQ(member.users_digest.size(), 8u) << member.name;
  }
  const auto refused = nodes[1]->status();
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ(refused->members[0].reached.code(), Code::unauthenticated)
      << refused->members[0].reached.message();
}

TEST(NoUsers, LetEverybodyInWithAnySecret) {
  const TemporaryDirectory directory;
  const auto node = open_node(alone(directory / "data"));
  ASSERT_TRUE(node->wait_ready(kPatience));
  const auto client = Client::connect(
      {.seeds = {node->client_address()}, .credentials = {.user = "web", .secret = "any"}});
  ASSERT_TRUE(client.ok()) << client.status().message();
  EXPECT_TRUE((*client)->counter("a").add(1).ok());
  EXPECT_TRUE(node->may_observe("", "").ok());
  EXPECT_TRUE(node->reload().ok());
}

TEST(Users, ThatCannotBeReadKeepTheNodeFromStarting) {
  const TemporaryDirectory directory;
  NodeOptions options = alone(directory / "data");
  options.users_file = directory / "missing.toml";
  const auto node = Node::open(options);
  ASSERT_FALSE(node.ok());
  EXPECT_NE(node.status().detail().find("missing.toml"), std::string::npos);
}

}  // namespace
}  // namespace quipu::test
