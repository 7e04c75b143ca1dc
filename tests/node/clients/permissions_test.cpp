// Every command and every request × every permission × a key inside, outside and on the edge of
// the user's prefix.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "node/clients/resp/resp_command.h"
#include "tests/node/api/nodes.h"
#include "tests/node/clients/raw_connection.h"
#include "tests/node/clients/some_users.h"
#include "tests/node/eventually.h"
#include "tests/node/temporary_directory.h"

namespace quipu::test {
namespace {

const std::string kPrefix = "likes:";
// The first is on the edge: the prefix itself. So is the fourth: one byte short.
const std::vector<std::pair<std::string, bool>> kAskedKeys{
    {"likes:", true}, {"likes:42", true}, {"views:42", false}, {"likes", false}};

const std::vector<std::string> kEvery{"read", "count", "reset", "observe", "admin"};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// All sets of permissions, each as a user with all keys, and one with the prefix.
std::vector<SomeUser> all_users() {
  std::vector<SomeUser> users;
  for (unsigned set = 0; set < 32; ++set) {
    SomeUser user{"u" + std::to_string(set), {}};
    for (std::size_t i = 0; i < kEvery.size(); ++i)
      if ((set >> i & 1) != 0) user.may.push_back(kEvery[i]);
    users.push_back(user);
    user.name += "p";
    user.prefix = kPrefix;
    users.push_back(user);
  }
  return users;
}

// The words that a row has: permissions, of which the user needs all, or "any" and permissions, of
// which it needs one; "all-keys"; "keys": the command names some.
struct Needed {
  std::set<std::string> words;

  [[nodiscard]] bool permits(const SomeUser& user, bool inside) const {
    const auto has = [&](const std::string& word) {
      return std::ranges::find(user.may, word) != user.may.end();
    };
    const auto counts = [&](const std::string& word) {
      return std::ranges::find(kEvery, word) == kEvery.end() || has(word);
    };
    const bool any = words.contains("any");
    const bool enough = any ? std::ranges::any_of(words, has) : std::ranges::all_of(words, counts);
    const bool all_keys = !words.contains("all-keys") || !user.prefix;
    return enough && all_keys && (!words.contains("keys") || !user.prefix || inside);
  }
};

// Written anew here, and not made of the product's table.
const std::map<std::string, std::string> kCommands{{"acl|help", ""},
                                                   {"acl|whoami", ""},
                                                   {"asking", ""},
                                                   {"client|getname", ""},
                                                   {"client|help", ""},
                                                   {"client|id", ""},
                                                   {"client|info", ""},
                                                   {"client|kill", "admin"},
                                                   {"client|list", "observe"},
                                                   {"client|no-evict", ""},
                                                   {"client|no-touch", ""},
                                                   {"client|setinfo", ""},
                                                   {"client|setname", ""},
                                                   {"cms.incrby", "count keys"},
                                                   {"cms.info", "read keys"},
                                                   {"cms.initbydim", "count keys"},
                                                   {"cms.initbyprob", "count keys"},
                                                   {"cms.query", "read keys"},
                                                   {"command", ""},
                                                   {"command|count", ""},
                                                   {"command|docs", ""},
                                                   {"command|getkeys", ""},
                                                   {"command|getkeysandflags", ""},
                                                   {"command|help", ""},
                                                   {"command|info", ""},
                                                   {"command|list", ""},
                                                   {"config|get", "admin"},
                                                   {"config|help", ""},
                                                   {"config|resetstat", "admin"},
                                                   {"config|rewrite", "admin"},
                                                   {"config|set", "admin"},
                                                   {"dbsize", "read all-keys"},
                                                   {"decr", "count keys"},
                                                   {"decrby", "count keys"},
                                                   {"del", "reset keys"},
                                                   {"discard", ""},
                                                   {"echo", ""},
                                                   {"eval", "keys"},
                                                   {"eval_ro", "keys"},
                                                   {"evalsha", "keys"},
                                                   {"evalsha_ro", "keys"},
                                                   {"exec", ""},
                                                   {"exists", "read keys"},
                                                   {"expire", "reset keys"},
                                                   {"expireat", "reset keys"},
                                                   {"expiretime", "read keys"},
                                                   {"flushall", "admin all-keys"},
                                                   {"flushdb", "admin all-keys"},
                                                   {"function|flush", ""},
                                                   {"function|help", ""},
                                                   {"get", "read keys"},
                                                   {"getdel", "read reset keys"},
                                                   {"getex", "read reset keys"},
                                                   {"getset", "count reset keys"},
                                                   {"incr", "count keys"},
                                                   {"incrby", "count keys"},
                                                   {"increx", "count reset keys"},
                                                   {"info", "observe"},
                                                   {"keys", "read"},
                                                   {"mget", "read keys"},
                                                   {"mset", "count reset keys"},
                                                   {"multi", ""},
                                                   {"persist", "reset keys"},
                                                   {"pexpire", "reset keys"},
                                                   {"pexpireat", "reset keys"},
                                                   {"pexpiretime", "read keys"},
                                                   {"pfadd", "count keys"},
                                                   {"pfcount", "read keys"},
                                                   {"pfmerge", "read count keys"},
                                                   {"ping", ""},
                                                   {"psetex", "count reset keys"},
                                                   {"pttl", "read keys"},
                                                   {"quipu.add", "count keys"},
                                                   {"quipu.get", "read keys"},
                                                   {"quipu.max", "read keys"},
                                                   {"quipu.mget", "read keys"},
                                                   {"quipu.namespace|create", "admin keys"},
                                                   {"quipu.namespace|drop", "admin keys"},
                                                   {"quipu.namespace|help", ""},
                                                   {"quipu.namespace|ls", "read"},
                                                   {"quipu.namespace|set", "admin keys"},
                                                   {"quipu.namespace|show", "read"},
                                                   {"quipu.range", "read keys"},
                                                   {"quipu.rate", "read keys"},
                                                   {"quipu.reset", "reset keys"},
                                                   {"quipu.session", "any count reset keys"},
                                                   {"randomkey", "read all-keys"},
                                                   {"readonly", ""},
                                                   {"readwrite", ""},
                                                   {"scan", "read"},
                                                   {"script|exists", ""},
                                                   {"script|flush", "admin"},
                                                   {"script|help", ""},
                                                   {"script|load", ""},
                                                   {"select", ""},
                                                   {"set", "count reset keys"},
                                                   {"setex", "count reset keys"},
                                                   {"setnx", "count reset keys"},
                                                   {"strlen", "read keys"},
                                                   {"time", ""},
                                                   {"topk.add", "count keys"},
                                                   {"topk.count", "read keys"},
                                                   {"topk.incrby", "count keys"},
                                                   {"topk.info", "read keys"},
                                                   {"topk.list", "read keys"},
                                                   {"topk.query", "read keys"},
                                                   {"topk.reserve", "count keys"},
                                                   {"touch", "read keys"},
                                                   {"ttl", "read keys"},
                                                   {"type", "read keys"},
                                                   {"unlink", "reset keys"},
                                                   {"unwatch", ""},
                                                   {"watch", "keys"}};
// They need no user.
const std::set<std::string> kApart{"auth", "hello", "quit", "reset"};

// Enough words for the command, with the key wherever it names some.
std::vector<std::string> request(const RespCommand& command, const RespCommand* container,
                                 const std::string& key) {
  std::vector<std::string> words;
  if (container != nullptr) words.emplace_back(container->name);
  words.emplace_back(command.name);
  if (command.name == "quipu.mget") words.push_back(key);
  if (container != nullptr && container->name == "quipu.namespace" && !command.accepts(2))
    words.push_back(key.substr(0, key.find(':')));
  // The third is the key that follows the number of keys.
  if (command.keys.count > 0) return {words[0], "return 1", "1", key};
  while (!command.accepts(words.size())) words.emplace_back(command.name == "select" ? "0" : "1");
  const std::vector<std::string_view> views(words.begin(), words.end());
  const KeyPlaces places = key_places(command, views);
  for (std::size_t i = places.first; i < places.end; i += places.step) words[i] = key;
  return words;
}

std::string in_resp(const std::vector<std::string>& words) {
  std::string text = '*' + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words)
    text += '$' + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  return text;
}

class Permissions : public testing::Test {
 protected:
  Permissions() {
    write_users(directory_ / "users.toml", all_users());
    NodeOptions options = alone(directory_ / "data");
    options.users_file = directory_ / "users.toml";
    node_ = open_node(options);
    EXPECT_TRUE(node_->wait_ready(kPatience));
  }
  [[nodiscard]] std::unique_ptr<RawConnection> connect(const std::string& user) const {
    auto client = std::make_unique<RawConnection>(node_->client_address());
    EXPECT_EQ(client->reply_to("AUTH " + user + ' ' + secret_of(user)), "+OK\r\n");
    return client;
  }

  TemporaryDirectory directory_;
  std::unique_ptr<Node> node_;
};

template <class Visit>
void for_each_command(Visit visit) {
  for (const RespCommand& command : resp_commands()) {
    if (command.run != nullptr) visit(command, static_cast<const RespCommand*>(nullptr));
    for (const RespCommand& sub : command.subcommands) visit(sub, &command);
  }
}

TEST_F(Permissions, OfEveryRedisCommandAreThoseOfTheTable) {
  std::set<std::string> seen;
  for (const SomeUser& user : all_users()) {
    const auto client = connect(user.name);
    for_each_command([&](const RespCommand& command, const RespCommand* container) {
      const std::string name = command_name(command, container);
      seen.insert(name);
      if (kApart.contains(name)) return;
      const bool cluster = container != nullptr && container->name == "cluster";
      const auto row = kCommands.find(name);
      ASSERT_TRUE(cluster || row != kCommands.end()) << name << " has no row in this test";
      const std::vector<std::string> listed = words_of(cluster ? "" : row->second);
      const Needed needed{{listed.begin(), listed.end()}};
      for (const auto& [key, inside] : kAskedKeys) {
        // A namespace is inside if all of its keys are: "likes", and not "views".
        const bool space = container != nullptr && container->name == "quipu.namespace";
        const bool covered = space ? key.starts_with("likes") : inside;
        const std::string reply = client->reply_to(in_resp(request(command, container, key)));
        EXPECT_EQ(!reply.starts_with("-NOPERM"), needed.permits(user, covered))
            << user.name << ": " << name << ' ' << key << " answers " << reply;
        if (command.name == "multi") (void)client->reply_to("DISCARD");
        if (command.name == "watch") (void)client->reply_to("UNWATCH");
        if (!needed.words.contains("keys")) break;
      }
    });
  }
  for (const auto& [name, needed] : kCommands) EXPECT_TRUE(seen.contains(name)) << name;
}

TEST_F(Permissions, OfEveryNativeRequestAreThoseOfTheTable) {
  struct Row {
    std::string name;
    std::string needed;
    // Its answer has this code.
    std::function<Code(RawConnection&, const std::string& key)> ask;
  };
  const auto change = [](OpKind kind) {
    return [kind](RawConnection& client, const std::string& key) {
      Op op{.id = 1, .key = key, .amount = 1, .kind = kind};
      if (kind == OpKind::apply) op.shard = shard_of(Kind::maximum);
      std::string frame;
      encode(frame, op);
      EXPECT_TRUE(client.send(frame));
      const auto answer = client.receive();
      return decode_done(std::as_bytes(std::span(answer->payload)))->code;
    };
  };
  const auto question = [](auto request, auto decode) {
    return [request, decode](RawConnection& client, const std::string& key) {
      std::string frame;
      encode(frame, request(key));
      EXPECT_TRUE(client.send(frame));
      const auto answer = client.receive();
      return decode(std::as_bytes(std::span(answer->payload)));
    };
  };
  const std::vector<Row> rows{
      {"add", "count keys", change(OpKind::add)},
      {"apply", "count keys", change(OpKind::apply)},
      {"reset", "reset keys", change(OpKind::reset)},
      {"expire", "reset keys", change(OpKind::expire)},
      {"raise", "admin keys", change(OpKind::raise)},
      {"open_session", "any count reset", change(OpKind::open_session)},
      {"read", "read keys",
       question([](const std::string& key) { return Read{.id = 1, .keys = {key}}; },
                [](Payload bytes) { return decode_values(bytes)->values.front().code; })},
      {"query", "read keys",
       question(
           [](const std::string& key) {
             return Query{.id = 1, .kind = Kind::maximum, .keys = {key}};
           },
           [](Payload bytes) { return decode_query_reply(bytes)->code; })},
      {"range", "read keys",
       question(
           [](const std::string& key) {
             return RangeRequest{.id = 1, .key = key, .last = std::chrono::seconds(60)};
           },
           [](Payload bytes) { return decode_range_reply(bytes)->code; })},
      {"list", "read",
       question([](const std::string&) { return List{.id = 1}; },
                [](Payload bytes) { return decode_keys(bytes)->code; })},
      {"size", "read all-keys",
       question([](const std::string&) { return CountKeys{.id = 1}; },
                [](Payload bytes) { return decode_key_count(bytes)->code; })},
      {"namespaces", "read",
       question([](const std::string&) { return NamespaceRequest{.id = 1}; },
                [](Payload bytes) { return decode_namespace_reply(bytes)->code; })},
      {"namespace drop", "admin keys",
       question(
           [](const std::string& key) {
             return NamespaceRequest{.id = 1,
                                     .action = NamespaceAction::drop,
                                     .name = std::string_view(key).substr(0, 5)};
           },
           [](Payload bytes) { return decode_namespace_reply(bytes)->code; })},
      {"config", "",
       question([](const std::string&) { return ConfigRequest{.id = 1}; },
                [](Payload bytes) { return decode_config_reply(bytes).status().code(); })},
  };
  for (const SomeUser& user : all_users()) {
    RawConnection client(node_->client_address());
    std::string frame;
    encode_credentials(frame, {user.name, secret_of(user.name)}, spoken_versions().from);
    ASSERT_TRUE(client.send(frame));
    const auto told = client.receive();
    ASSERT_EQ(decode_authenticated(std::as_bytes(std::span(told->payload)))->code, Code::ok);
    for (const Row& row : rows) {
      const std::vector<std::string> listed = words_of(row.needed);
      const Needed needed{{listed.begin(), listed.end()}};
      for (const auto& [key, inside] : kAskedKeys) {
        const bool covered = row.name == "namespace drop" ? key.starts_with("likes") : inside;
        EXPECT_EQ(row.ask(client, key) != Code::not_permitted, needed.permits(user, covered))
            << user.name << ": " << row.name << ' ' << key;
      }
    }
    // It has no code: the connection ends.
    std::string status;
    encode(status, StatusRequest{.id = 1});
    ASSERT_TRUE(client.send(status));
    const auto answer = client.receive();
    const bool observes = std::ranges::find(user.may, "observe") != user.may.end();
    EXPECT_EQ(answer->type == FrameType::status_reply, observes) << user.name;
  }
}

}  // namespace
}  // namespace quipu::test
