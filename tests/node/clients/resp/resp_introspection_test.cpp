// What a node tells Redis clients of itself: INFO, CONFIG, CLIENT LIST, COMMAND, FUNCTION.
#include <gmock/gmock.h>

#include <array>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "node/clients/resp/resp_command.h"
#include "tests/node/clients/resp/resp_conversation.h"

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
  (void)client.reply_to("SCRIPT LOAD 'return 1'");
  EXPECT_THAT(client.reply_to("INFO memory"), HasSubstr("number_of_cached_scripts:1\r\n"));
  EXPECT_THAT(client.reply_to("CLIENT LIST"),
              HasSubstr(" laddr=" + node_->client_address() + " fd="));
  converse(
      connect(),
      {{"CONFIG GET save", "*2 $4 save $0  "},
       {"CONFIG GET append*", "*4 $11 appendfsync $6 always $10 appendonly $3 yes "},
       {"CONFIG GET nonsense", "*0 "},
       {"CONFIG GET MaxMemory", "*2 $9 MaxMemory $1 0 "},
       {"FUNCTION FLUSH", "+OK "},
       {"FUNCTION FLUSH async", "+OK "},
       {"FUNCTION FLUSH soon", "-ERR FUNCTION FLUSH only supports SYNC|ASYNC option "},
       {"FUNCTION FLUSH async x",
        "-ERR unknown subcommand or wrong number of arguments for 'FLUSH'. Try FUNCTION "
        "HELP. "},
       {"FUNCTION LOAD x", "-ERR unknown subcommand 'LOAD'. Try FUNCTION HELP. "},
       {"COMMAND INFO nonsense", "*1 $-1 "},
       {"COMMAND LIST FILTERBY PATTERN 'CLIENT|NO*'",
        "*2 $15 client|no-evict $15 client|no-touch "},
       {"COMMAND LIST FILTERBY ACLCAT Scripting",
        "*10 $4 eval $7 eval_ro $7 evalsha $10 evalsha_ro $14 function|flush $13 function|help "
        "$11 script|load $13 script|exists $12 script|flush $11 script|help "},
       {"COMMAND LIST FILTERBY MODULE json", "*0 "},
       {"CONFIG REWRITE", "-ERR The server is running without a config file "},
       {"CONFIG REWRITE now", "-ERR wrong number of arguments for 'config|rewrite' command "},
       {"CONFIG SET maxmemory 1 databases", "-ERR syntax error "},
       {"CONFIG SET maxmemory 1 colour blue",
        "-ERR Unknown option or number of arguments for CONFIG SET - 'colour' "},
       {"CONFIG SET maxmemory 1",
        "-ERR CONFIG SET is not supported: change the node's settings file, and send the "
        "node SIGHUP, or restart it "},
       {"COMMAND LIST FILTERBY PATTERN", "-ERR syntax error "},
       {"COMMAND LIST FILTERBY COLOUR blue", "-ERR syntax error "}});
  EXPECT_THAT(client.reply_to("COMMAND LIST"), HasSubstr("$9\r\nclient|id"));
  EXPECT_THAT(client.reply_to("CLIENT HELP"),
              StartsWith("*21\r\n+CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"
                         "\r\n+ID\r\n+    Tells this connection's number.\r\n"));
  const std::string get = client.reply_to("COMMAND INFO get");
  EXPECT_THAT(
      get,
      StartsWith("*1\r\n*10\r\n$3\r\nget\r\n:2\r\n*2\r\n+readonly\r\n+fast\r\n:1\r\n:1\r\n:1\r\n"));
  EXPECT_THAT(get, HasSubstr("$5\r\nflags\r\n*2\r\n+RO\r\n+access\r\n"));
  EXPECT_THAT(client.reply_to("COMMAND DOCS incr"), HasSubstr("Adds 1 to a counter"));
}

// The words of a reply behind the first `word`, without their lengths.
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

// As Redis 7.4 answers, where it knows the command.
TEST_P(RespIntrospection, TellsWhichKeysARequestNames) {
  converse(connect(),
           {{"COMMAND GETKEYS GET a", "*1 $1 a "},
            {"command getkeys mget a b a", "*3 $1 a $1 b $1 a "},
            {"COMMAND GETKEYS SET a 1 EX 5", "*1 $1 a "},
            {"COMMAND GETKEYS INCRBY a b", "*1 $1 a "},
            {"COMMAND GETKEYS QUIPU.ADD a 1", "*1 $1 a "},
            {"COMMAND GETKEYS DEL a b", "*2 $1 a $1 b "},
            {"COMMAND GETKEYS EVAL x 2 a b c", "*2 $1 a $1 b "},
            {"COMMAND GETKEYS EVALSHA x 1 a", "*1 $1 a "},
            {"COMMAND GETKEYS EVAL x 0 a", "*0 "},
            {"COMMAND GETKEYS EVAL x 2 a", "*0 "},
            {"COMMAND GETKEYS EVAL x -1 a", "*0 "},
            {"COMMAND GETKEYS EVAL x y a", "*0 "},
            {"COMMAND GETKEYS EVAL x 9223372036854775807 a", "*0 "},
            {"COMMAND GETKEYS EVAL x", "-ERR Invalid number of arguments specified for command "},
            {"COMMAND GETKEYS GET a b", "-ERR Invalid number of arguments specified for command "},
            {"COMMAND GETKEYS PING a", "-ERR The command has no key arguments "},
            {"COMMAND GETKEYS CONFIG GET save", "-ERR The command has no key arguments "},
            {"COMMAND GETKEYS CONFIG nonsense", "-ERR Invalid command specified "},
            {"COMMAND GETKEYS nonsense a", "-ERR Invalid command specified "},
            {"COMMAND GETKEYS '' a", "-ERR Invalid command specified "},
            {"COMMAND GETKEYS DEL", "-ERR Invalid number of arguments specified for command "},
            {"COMMAND GETKEYS PING", "-ERR The command has no key arguments "},
            {"COMMAND GETKEYS CONFIG", "-ERR The command has no key arguments "},
            {"COMMAND GETKEYS nonsense", "-ERR Invalid command specified "},
            {"COMMAND GETKEYS", "-ERR wrong number of arguments for 'command|getkeys' command "}});
}

TEST_P(RespIntrospection, TellsWhatARequestDoesToItsKeys) {
  converse(
      connect(),
      {{"COMMAND GETKEYSANDFLAGS GET a", "*1 *2 $1 a *2 +RO +access "},
       {"COMMAND GETKEYSANDFLAGS INCRBY a 1", "*1 *2 $1 a *3 +RW +access +update "},
       {"COMMAND GETKEYSANDFLAGS DEL a b", "*2 *2 $1 a *2 +RM +delete *2 $1 b *2 +RM +delete "},
       {"COMMAND GETKEYSANDFLAGS EVALSHA x 1 a b", "*1 *2 $1 a *3 +RW +access +update "},
       {"COMMAND GETKEYSANDFLAGS EVAL_RO x 1 a", "*1 *2 $1 a *2 +RO +access "},
       {"COMMAND GETKEYSANDFLAGS PING a", "-ERR The command has no key arguments "}});
}

TEST_P(RespIntrospection, TellsWhatRedisTellsOfCommands) {
  const std::string admin = "*4 +admin +noscript +loading +stale ";
  converse(
      connect(),
      {{"COMMAND INFO client|list",
        "*1 *10 $11 client|list :-2 " + admin +
            ":0 :0 :0 *4 +@admin +@slow +@dangerous +@connection *1 $23 nondeterministic_output "
            "*0 *0 "},
       {"COMMAND INFO client|help",
        "*1 *10 $11 client|help :2 *2 +loading +stale :0 :0 :0 *2 +@slow +@connection *0 *0 *0 "},
       {"COMMAND INFO config|rewrite",
        "*1 *10 $14 config|rewrite :2 " + admin +
            ":0 :0 :0 *3 +@admin +@slow +@dangerous *2 $24 request_policy:all_nodes $29 "
            "response_policy:all_succeeded *0 *0 "},
       {"COMMAND INFO set",
        "*1 *10 $3 set :-3 *2 +write +denyoom :1 :1 :1 *3 +@write +@string +@slow *0 *1 *8 $5 "
        "notes $48 RW and ACCESS due to the optional `GET` argument $5 flags *4 +RW +access "
        "+update +variable_flags $12 begin_search *4 $4 type $5 index $4 spec *2 $5 index :1 $9 "
        "find_keys *4 $4 type $5 range $4 spec *6 $7 lastkey :0 $7 keystep :1 $5 limit :0 *0 "},
       {"COMMAND INFO evalsha_ro",
        "*1 *10 $10 evalsha_ro :-3 *6 +readonly +noscript +stale +skip_monitor +no_mandatory_keys "
        "+movablekeys :0 :0 :0 *2 +@slow +@scripting *0 *1 *6 $5 flags *2 +RO +access $12 "
        "begin_search *4 $4 type $5 index $4 spec *2 $5 index :2 $9 find_keys *4 $4 type $6 "
        "keynum $4 spec *6 $9 keynumidx :0 $8 firstkey :1 $7 keystep :1 *0 "},
       {"COMMAND INFO script|exists",
        "*1 *10 $13 script|exists :-3 *1 +noscript :0 :0 :0 *2 +@slow +@scripting *2 $25 "
        "request_policy:all_shards $31 response_policy:agg_logical_and *0 *0 "},
       {"COMMAND GETKEYSANDFLAGS SET a 1", "*1 *2 $1 a *2 +OW +update "}});
}

// A client in cluster mode repeats its question for ever if the command is unknown.
TEST_P(RespIntrospection, IsNoRedisCluster) {
  const std::string disabled = "-ERR This instance has cluster support disabled ";
  converse(connect(),
           {{"CLUSTER INFO", disabled},
            {"CLUSTER SLOTS", disabled},
            {"CLUSTER SHARDS", disabled},
            {"CLUSTER NODES", disabled},
            {"CLUSTER MYID", disabled},
            {"CLUSTER KEYSLOT a", disabled},
            {"CLUSTER HELP", disabled},
            {"CLUSTER MEET 127.0.0.1 7000", disabled},
            {"READONLY", disabled},
            {"READWRITE", disabled},
            {"ASKING", disabled},
            {"CLUSTER", "-ERR wrong number of arguments for 'cluster' command "},
            {"CLUSTER INFO x", "-ERR wrong number of arguments for 'cluster|info' command "},
            {"CLUSTER NONSENSE", "-ERR unknown subcommand 'NONSENSE'. Try CLUSTER HELP. "},
            {"READONLY x", "-ERR wrong number of arguments for 'readonly' command "}});
}

// The 12 of a line "… name=12 …". -1: the name is not there.
std::int64_t number_in(const std::string& line, const std::string& name) {
  const std::size_t at = line.find(name);
  return at == line.npos ? -1 : std::stoll(line.substr(at + name.size()));
}

TEST_P(RespIntrospection, TellsOfAClientWhatIsTrue) {
  RawConnection client = connect();
  (void)client.reply_to("PING");
  const std::string line = client.reply_to("CLIENT LIST");
  EXPECT_THAT(line, HasSubstr(" flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 watch=0 qbuf=13 "
                              "qbuf-free=0 argv-mem=10 multi-mem=0 rbs="));
  EXPECT_THAT(line, HasSubstr(" obl=0 oll=0 omem=0 tot-mem="));
  EXPECT_THAT(line, HasSubstr(" events=r cmd=client|list "));
  EXPECT_GT(number_in(line, " tot-mem="), 500);
  EXPECT_GT(number_in(line, " tot-mem="), number_in(line, " rbs="));
  for (const char* since : {" age=", " idle="}) {
    EXPECT_GE(number_in(line, since), 0);
    EXPECT_LT(number_in(line, since), 600);
  }
  // What another connection has sent of a request.
  RawConnection other = connect();
  EXPECT_EQ(other.reply_to("PING"), "+PONG\r\n");
  ASSERT_TRUE(other.send("GET half"));
  EXPECT_TRUE(eventually([&] {
    const std::string lines = client.reply_to("CLIENT LIST");
    const std::size_t second = lines.find("id=2 ");
    if (second == lines.npos) return false;
    const std::string of_other = lines.substr(second);
    return number_in(of_other, " qbuf=") == 8 && number_in(of_other, " argv-mem=") == 0;
  }));
}

INSTANTIATE_TEST_SUITE_P(OneReactor, RespIntrospection, testing::Values(1));

// With several reactors, INFO through any tells of all, up to 100 ms late.
class RespInfo : public Resp {
 protected:
  explicit RespInfo(ClientPortOptions port = {}) : Resp(port) {}
  [[nodiscard]] bool info_has(RawConnection& client, const std::string& section,
                              const std::string& line) {
    return eventually([&] {
      return client.reply_to("INFO " + section).find("\r\n" + line) != std::string::npos;
    });
  }
};

TEST_P(RespInfo, CountsConnectionsThatSayNothing) {
  RawConnection client = connect();
  std::vector<std::unique_ptr<RawConnection>> silent;
  for (int i = 0; i < 7; ++i)
    silent.push_back(std::make_unique<RawConnection>(node_->client_address()));
  EXPECT_TRUE(info_has(client, "clients", "connected_clients:8\r\n"));
  EXPECT_TRUE(info_has(client, "stats", "total_connections_received:8\r\n"));
  silent.clear();
  EXPECT_TRUE(info_has(client, "clients", "connected_clients:1\r\n"));
  EXPECT_TRUE(info_has(client, "stats", "total_connections_received:8\r\n"));
}

TEST_P(RespInfo, TellsStatesAndTheirMemoryByKind) {
  RawConnection client = connect();
  (void)client.reply_to("INCR likes");
  (void)client.reply_to("INCR views");
  (void)client.reply_to("PFADD visitors ann bob");
  EXPECT_TRUE(info_has(client, "kinds", "kind_sum:states=2,state_memory_bytes=48\r\n"))
      << client.reply_to("INFO kinds");
  EXPECT_TRUE(info_has(client, "kinds", "kind_distinct:states=1,state_memory_bytes="));
  EXPECT_TRUE(info_has(client, "kinds", "kind_top:states=0,state_memory_bytes=0\r\n"));
  EXPECT_TRUE(info_has(client, "stats", "quipu_states_in_memory_distinct:1\r\n"));
  EXPECT_THAT(client.reply_to("INFO"), HasSubstr("# Kinds\r\n"));
}

class RespInfoOfAFullPort : public RespInfo {
 protected:
  RespInfoOfAFullPort() : RespInfo({.connections = 3}) {}
};

TEST_P(RespInfoOfAFullPort, CountsConnectionsThatFoundNoRoom) {
  RawConnection client = connect();
  EXPECT_EQ(client.reply_to("PING"), "+PONG\r\n");
  RawConnection second = connect();
  RawConnection third = connect();
  EXPECT_TRUE(info_has(client, "clients", "connected_clients:3\r\n"));
  for (int i = 0; i < 2; ++i) {
    RawConnection rejected = connect();
    EXPECT_THAT(rejected.reply_to("PING"), StartsWith("-ERR max number of clients"));
  }
  EXPECT_TRUE(info_has(client, "stats", "rejected_connections:2\r\n"));
  EXPECT_TRUE(info_has(client, "clients", "maxclients:3\r\n"));
}

// "cmdstat_incr:calls=3,usec=…,…,rejected_calls=0,failed_calls=0", without the time.
std::string without_time(std::string line) {
  const std::size_t at = line.find(",usec=");
  const std::size_t end = line.find(",rejected_calls");
  return at == line.npos || end == line.npos ? "" : line.erase(at, end - at);
}

std::string line_of(const std::string& info, const std::string& name) {
  const std::size_t at = info.find("\r\n" + name + ':');
  if (at == info.npos) return "";
  return info.substr(at + 2, info.find("\r\n", at + 2) - at - 2);
}

TEST_P(RespInfo, CountsCallsAndErrorsOfEachCommand) {
  // Several connections, which several reactors share.
  for (int i = 0; i < 6; ++i) {
    RawConnection client = connect();
    ASSERT_TRUE(
        client.send("INCR a\r\nINCR a\r\nGET a\r\nINCRBY a x\r\nINCR\r\nNONSENSE\r\n"
                    "CLIENT SETNAME me\r\nCLIENT SETNAME\r\nINCRBY full "
                    "9223372036854775807\r\nMULTI\r\nNONSENSE\r\nEXEC\r\nSELECT 16\r\n"
                    "GET a\r\nRESET\r\nPING end\r\n"));
    (void)client.receive_text("$3\r\nend\r\n");
  }
  RawConnection client = connect();
  for (const char* line : {
           "cmdstat_incr:calls=12,rejected_calls=6,failed_calls=0",
           "cmdstat_get:calls=6,rejected_calls=0,failed_calls=0",
           "cmdstat_incrby:calls=12,rejected_calls=0,failed_calls=11",
           "cmdstat_client|setname:calls=6,rejected_calls=6,failed_calls=0",
           "cmdstat_select:calls=6,rejected_calls=0,failed_calls=6",
           "cmdstat_ping:calls=6,rejected_calls=0,failed_calls=0",
       }) {
    const std::string name(line, std::string_view(line).find(':'));
    EXPECT_TRUE(eventually([&] {
      return without_time(line_of(client.reply_to("INFO commandstats"), name)) == line;
    })) << line
        << "\n"
        << client.reply_to("INFO commandstats");
  }
  // ERR: INCRBY a x, INCR, NONSENSE, SETNAME, NONSENSE again, SELECT of each; and 5 overflows.
  EXPECT_TRUE(info_has(client, "errorstats", "errorstat_ERR:count=41\r\n"));
  EXPECT_TRUE(info_has(client, "errorstats", "errorstat_NOTAPPLIED:count=6\r\n"));
  EXPECT_TRUE(info_has(client, "errorstats", "errorstat_EXECABORT:count=6\r\n"));
  EXPECT_TRUE(info_has(client, "stats", "total_error_replies:53\r\n"));
  EXPECT_THAT(client.reply_to("INFO commandstats"), Not(HasSubstr("cmdstat_nonsense")));
  EXPECT_THAT(client.reply_to("INFO commandstats"), Not(HasSubstr("cmdstat_mget")));
  const std::string info = client.reply_to("INFO");
  EXPECT_THAT(info, HasSubstr("# Errorstats\r\n"));
  EXPECT_THAT(info, Not(HasSubstr("# Commandstats\r\n")));
  EXPECT_THAT(client.reply_to("INFO all"), HasSubstr("# Commandstats\r\n"));
  EXPECT_THAT(client.reply_to("INFO everything"), HasSubstr("# Commandstats\r\n"));
}

TEST_P(RespInfo, TimesCommandsAndCountsBytes) {
  RawConnection client = connect();
  std::string requests;
  for (int i = 0; i < 20'000; ++i) requests += "INCR a\r\n";
  ASSERT_TRUE(client.send(requests + "PING end\r\n"));
  const std::size_t replied = client.receive_text("$3\r\nend\r\n").size();
  std::string stats;
  EXPECT_TRUE(eventually([&] {
    stats = line_of(client.reply_to("INFO commandstats"), "cmdstat_incr");
    return stats.find("calls=20000,") != stats.npos;
  }));
  EXPECT_GT(number_in(stats, ",usec="), 100);  // 5 ns each would be as many
  EXPECT_THAT(stats, testing::ContainsRegex(",usec_per_call=[0-9]+\\.[0-9][0-9],"));
  const std::string info = client.reply_to("INFO stats");
  EXPECT_GE(number_in(info, "total_net_input_bytes:"), static_cast<std::int64_t>(requests.size()));
  EXPECT_GE(number_in(info, "total_net_output_bytes:"), static_cast<std::int64_t>(replied));
  EXPECT_GT(number_in(info, "total_reads_processed:"), 0);
  EXPECT_GT(number_in(info, "total_writes_processed:"), 0);
}

// CONFIG RESETSTAT sets the figures of the reactor that is asked.
TEST_P(RespIntrospection, SetsItsFiguresTo0) {
  RawConnection client = connect();
  EXPECT_EQ(client.reply_to("INCR a"), ":1\r\n");
  EXPECT_THAT(client.reply_to("NONSENSE"), StartsWith("-ERR"));
  EXPECT_EQ(client.reply_to("CONFIG RESETSTAT"), "+OK\r\n");
  const std::string info = client.reply_to("INFO everything");
  EXPECT_EQ(line_of(info, "cmdstat_incr"), "");
  EXPECT_EQ(without_time(line_of(info, "cmdstat_config|resetstat")),
            "cmdstat_config|resetstat:calls=1,rejected_calls=0,failed_calls=0");
  EXPECT_THAT(info, Not(HasSubstr("errorstat_")));
  EXPECT_EQ(line_of(info, "total_error_replies"), "total_error_replies:0");
  EXPECT_EQ(line_of(info, "total_connections_received"), "total_connections_received:0");
  EXPECT_EQ(line_of(info, "connected_clients"), "connected_clients:1");
}

INSTANTIATE_TEST_SUITE_P(Reactors, RespInfo, testing::Values(1, 3));
INSTANTIATE_TEST_SUITE_P(Reactors, RespInfoOfAFullPort, testing::Values(1, 3));

}  // namespace
}  // namespace quipu::test
