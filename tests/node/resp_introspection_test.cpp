// What a node tells Redis clients of itself: INFO, CONFIG, CLIENT LIST, COMMAND, FUNCTION.
#include <gmock/gmock.h>

#include <array>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "node/resp/resp_command.h"
#include "tests/node/resp_conversation.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class RespIntrospection : public Resp {};

TEST_P(RespIntrospection, TellsOfItself) {
  RawConnection client = connect();
  (void)client.reply_to("INCR a");
  const std::string info = client.reply_to("INFO");
  for (const char* line :
       {"redis_version:7.4.0\r\n", "quipu_version:0.1.0\r\n", "redis_mode:standalone\r\n",
        "role:master\r\n", "loading:0\r\n", "connected_clients:1\r\n", "# Keyspace\r\n",
        "db0:keys=1,expires=0,avg_ttl=0\r\n"})
    EXPECT_THAT(info, HasSubstr(line));
  EXPECT_THAT(client.reply_to("INFO server"), Not(HasSubstr("# Clients")));
  EXPECT_THAT(client.reply_to("CLIENT LIST"),
              HasSubstr(" laddr=" + node_->client_address() + " fd="));
  converse(connect(),
           {{"CONFIG GET save", "*2 $4 save $0  "},
            {"CONFIG GET append*", "*4 $11 appendfsync $6 always $10 appendonly $3 yes "},
            {"CONFIG GET nonsense", "*0 "},
            {"CONFIG GET MaxMemory", "*2 $9 MaxMemory $1 0 "},
            {"FUNCTION FLUSH", "+OK "},
            {"FUNCTION FLUSH async", "+OK "},
            {"FUNCTION FLUSH soon", "-ERR FUNCTION FLUSH only supports SYNC|ASYNC option "},
            {"FUNCTION FLUSH async x",
             "-ERR unknown subcommand or wrong number of arguments for 'flush'. Try FUNCTION "
             "HELP. "},
            {"FUNCTION LOAD x", "-ERR unknown subcommand 'LOAD'. Try FUNCTION HELP. "},
            {"COMMAND INFO nonsense", "*1 $-1 "},
            {"COMMAND LIST FILTERBY PATTERN 'CLIENT|NO*'",
             "*2 $15 client|no-evict $15 client|no-touch "},
            {"COMMAND LIST FILTERBY ACLCAT Admin",
             "*3 $10 config|get $16 config|resetstat $10 config|set "},
            {"COMMAND LIST FILTERBY MODULE json", "*0 "},
            {"COMMAND LIST FILTERBY PATTERN", "-ERR syntax error "},
            {"COMMAND LIST FILTERBY COLOUR blue", "-ERR syntax error "}});
  EXPECT_THAT(
      client.reply_to("CLIENT LIST"),
      HasSubstr(" watch=0 qbuf=13 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 "
                "omem=0 tot-mem=0 events=r cmd=client|list "));
  EXPECT_THAT(client.reply_to("COMMAND LIST"), HasSubstr("$9\r\nclient|id"));
  EXPECT_THAT(client.reply_to("CLIENT HELP"),
              StartsWith("*19\r\n+CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"
                         "\r\n+ID\r\n+    Tells this connection's number.\r\n"));
  const std::string get = client.reply_to("COMMAND INFO get");
  EXPECT_THAT(
      get,
      StartsWith("*1\r\n*10\r\n$3\r\nget\r\n:2\r\n*2\r\n+readonly\r\n+fast\r\n:1\r\n:1\r\n:1\r\n"));
  EXPECT_THAT(get, HasSubstr("$5\r\nflags\r\n*2\r\n+RO\r\n+access\r\n"));
  EXPECT_THAT(client.reply_to("COMMAND DOCS incr"), HasSubstr("Adds 1 to a counter"));
}

// Of a reply's words, without their lengths, those behind the first `word`.
std::string words_behind(const std::string& reply, std::string_view word) {
  std::istringstream lines(reply.substr(std::min(reply.find(word), reply.size())));
  std::string words;
  std::string line;
  for (std::getline(lines, line); std::getline(lines, line);) {
    if (line.starts_with('$')) continue;
    words.append(words.empty() ? "" : " ").append(line, 0, line.find('\r'));
  }
  return words;
}

// Words in the order of Redis 7.0.15, which leaves it to redis-cli to make a line of them.
TEST_P(RespIntrospection, TellsTheArgumentsOfCommands) {
  struct Told {
    const char* command;
    const char* arguments;
  };
  constexpr auto kTold = std::to_array<Told>({
      {"incrby", "*2 *6 name key type key key_spec_index :0 *4 name increment type integer"},
      {"mget", "*1 *8 name key type key key_spec_index :0 flags *1 +multiple"},
      {"scan",
       "*4 *4 name cursor type integer *8 name pattern type pattern token MATCH flags *1 "
       "+optional *8 name count type integer token COUNT flags *1 +optional *8 name type type "
       "string token TYPE flags *1 +optional"},
      {"flushall",
       "*1 *8 name async type oneof flags *1 +optional arguments *2 *6 name async type "
       "pure-token token ASYNC *6 name sync type pure-token token SYNC"},
      {"hello",
       "*1 *8 name protover type block flags *1 +optional arguments *3 *4 name protover type "
       "integer *10 name auth type block token AUTH flags *1 +optional arguments *2 *4 name "
       "username type string *4 name password type string *8 name clientname type string token "
       "SETNAME flags *1 +optional"},
      {"quipu.reset",
       "*2 *6 name key type key key_spec_index :0 *10 name ack type oneof token ACK flags *1 "
       "+optional arguments *3 *6 name memory type pure-token token MEMORY *6 name disk type "
       "pure-token token DISK *6 name quorum type pure-token token QUORUM"},
  });
  auto client = connect();
  for (const Told& told : kTold) {
    const std::string reply = client.reply_to(std::string("COMMAND DOCS ") + told.command);
    EXPECT_EQ(words_behind(reply, "arguments"), told.arguments);
  }
  EXPECT_THAT(client.reply_to("COMMAND DOCS dbsize"), Not(HasSubstr("arguments")));
}

// What must be there, by how it is written and by the arity that is checked.
TEST(RespCommands, AreWrittenWithAsManyWordsAsTheyTake) {
  const auto check = [](const RespCommand& command, int names) {
    int needed = names;
    int depth = 0;
    bool within = false;
    for (const char c : command.syntax) {
      const bool begins = c != ' ' && c != '[' && c != ']' && !std::exchange(within, true);
      if (c == '[') ++depth;
      if (c == ']') --depth;
      if (begins && depth == 0) ++needed;
      if (c == ' ' || c == '[' || c == ']') within = false;
    }
    EXPECT_EQ(depth, 0) << command.name;
    if (!command.subcommands.empty()) return;
    EXPECT_EQ(std::abs(command.arity), needed) << command.name << ' ' << command.syntax;
  };
  for (const RespCommand& command : resp_commands()) {
    check(command, 1);
    for (const RespCommand& sub : command.subcommands) check(sub, 2);
  }
}

// As Redis 7.0.15 answers, where it knows the command.
TEST_P(RespIntrospection, TellsWhichKeysARequestNames) {
  converse(
      connect(),
      {{"COMMAND GETKEYS GET a", "*1 $1 a "},
       {"command getkeys mget a b a", "*3 $1 a $1 b $1 a "},
       {"COMMAND GETKEYS SET a 1 EX 5", "*1 $1 a "},
       {"COMMAND GETKEYS INCRBY a b", "*1 $1 a "},
       {"COMMAND GETKEYS QUIPU.ADD a 1", "*1 $1 a "},
       {"COMMAND GETKEYS DEL a b", "*2 $1 a $1 b "},
       {"COMMAND GETKEYS GET a b", "-ERR Invalid number of arguments specified for command "},
       {"COMMAND GETKEYS PING a", "-ERR The command has no key arguments "},
       {"COMMAND GETKEYS CONFIG GET save", "-ERR The command has no key arguments "},
       {"COMMAND GETKEYS CONFIG nonsense", "-ERR Invalid command specified "},
       {"COMMAND GETKEYS nonsense a", "-ERR Invalid command specified "},
       {"COMMAND GETKEYS '' a", "-ERR Invalid command specified "},
       {"COMMAND GETKEYS DEL", "-ERR wrong number of arguments for 'command|getkeys' command "}});
}

TEST_P(RespIntrospection, TellsWhatARequestDoesToItsKeys) {
  converse(
      connect(),
      {{"COMMAND GETKEYSANDFLAGS GET a", "*1 *2 $1 a *2 +RO +access "},
       {"COMMAND GETKEYSANDFLAGS INCRBY a 1", "*1 *2 $1 a *3 +RW +access +update "},
       {"COMMAND GETKEYSANDFLAGS DEL a b", "*2 *2 $1 a *2 +RM +delete *2 $1 b *2 +RM +delete "},
       {"COMMAND GETKEYSANDFLAGS PING a", "-ERR The command has no key arguments "}});
}

INSTANTIATE_TEST_SUITE_P(OneReactor, RespIntrospection, testing::Values(1));

}  // namespace
}  // namespace quipu::test
