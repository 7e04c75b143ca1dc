// What a node tells Redis clients of itself: INFO, CONFIG, CLIENT LIST, COMMAND, FUNCTION.
#include <gmock/gmock.h>

#include "tests/node/resp_conversation.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class RespIntrospection : public Resp {};

TEST_F(RespIntrospection, TellsOfItself) {
  RawConnection client = connect();
  (void)client.reply_to("INCR a");
  const std::string info = client.reply_to("INFO");
  for (const char* line :
       {"redis_version:7.4.0\r\n", "quipu_version:0.1.0\r\n", "redis_mode:standalone\r\n",
        "role:master\r\n", "loading:0\r\n", "connected_clients:1\r\n", "# Keyspace\r\n",
        "db0:keys=1,expires=0,avg_ttl=0\r\n"})
    EXPECT_THAT(info, HasSubstr(line));
  EXPECT_THAT(client.reply_to("INFO server"), testing::Not(HasSubstr("# Clients")));
  EXPECT_THAT(client.reply_to("CLIENT LIST"), HasSubstr(" laddr=" + node_->client_address()));
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
      HasSubstr(" watch=0 qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 "
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

// As Redis 7.0.15 answers, where it knows the command.
TEST_F(RespIntrospection, TellsWhichKeysARequestNames) {
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

}  // namespace
}  // namespace quipu::test
