// EVAL, EVALSHA and SCRIPT: what a script may do with counters, and what becomes of it. What Lua
// itself may do is in script_engine_test.cpp, and tests/redis_clients/redis_words compares replies
// with those of a Redis server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/clients/resp/resp_command.h"
#include "node/clients/resp/script_engine.h"
#include "tests/node/clients/resp/resp_conversation.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// A limiter as libraries send it: the first request sets the end.
const std::string kLimiter =
    "local n = redis.call('incrby', KEYS[1], ARGV[1]) "
    "if n == tonumber(ARGV[1]) then redis.call('pexpire', KEYS[1], ARGV[2]) end "
    "return {n, redis.call('pttl', KEYS[1]) > 0 and 1 or 0}";

std::string eval(const std::string& script, const std::string& rest) {
  return "EVAL \"" + script + "\" " + rest;
}

const std::string kCount = "return redis.call('incr', KEYS[1])";
const std::string kNoWrites = "#!lua flags=no-writes\n";

// EVAL and its like, with a text that may have any bytes.
std::string send_script(RawConnection& client, std::string_view command, const std::string& text,
                        const std::vector<std::string>& rest) {
  std::string request = "*" + std::to_string(2 + rest.size()) + "\r\n";
  const auto add = [&request](std::string_view word) {
    request += "$" + std::to_string(word.size()) + "\r\n" + std::string(word) + "\r\n";
  };
  add(command);
  add(text);
  for (const std::string& word : rest) add(word);
  EXPECT_TRUE(client.send(request));
  return client.receive_reply();
}

class RespScripting : public Resp {};

INSTANTIATE_TEST_SUITE_P(Reactors, RespScripting, testing::Values(1, 2));

TEST_P(RespScripting, AScriptReadsAndChangesItsCounters) {
  converse(connect(), {{eval(kLimiter, "1 a 1 60000"), "*2 :1 :1 "},
                       {eval(kLimiter, "1 a 1 60000"), "*2 :2 :1 "},
                       {"GET a", "$1 2 "},
                       {eval("return redis.call('del', KEYS[1])", "1 a"), ":1 "},
                       {"EXISTS a", ":0 "},
                       {eval("return 1", "0"), ":1 "},
                       {eval("return {KEYS, ARGV}", "1 a b c"), "*2 *1 $1 a *2 $1 b $1 c "},
                       {"eval 'return ARGV[1]' 0 x", "$1 x "}});
}

TEST_P(RespScripting, AreRememberedByTheirSha1) {
  RawConnection client = connect();
  const std::string text = "return redis.call('incr', KEYS[1])";
  const std::string sha1 = sha1_hex(text);
  const std::string unknown = "-NOSCRIPT No matching script. Please use EVAL. ";
  converse(connect(), {{"EVALSHA " + sha1 + " 1 a", unknown},
                       {"SCRIPT EXISTS " + sha1 + " x", "*2 :0 :0 "},
                       {"SCRIPT LOAD \"" + text + '"', "$40 " + sha1 + ' '},
                       {"EVALSHA " + sha1 + " 1 a", ":1 "},
                       {"SCRIPT EXISTS " + raised(sha1), "*1 :1 "},
                       {"EVALSHA " + raised(sha1) + " 1 a", ":2 "},
                       {"SCRIPT FLUSH", "+OK "},
                       {"EVALSHA " + sha1 + " 1 a", unknown},
                       {eval(text, "1 a"), ":3 "},
                       {"EVALSHA " + sha1 + " 1 a", ":4 "},
                       {"SCRIPT FLUSH ASYNC", "+OK "},
                       {"SCRIPT FLUSH NOW", "-ERR SCRIPT FLUSH only support SYNC|ASYNC option "}});
}

TEST_P(RespScripting, OnlySoManyAreRemembered) {
  RawConnection client = connect();
  const auto load = [&client](int i) {
    const std::string reply = client.reply_to("SCRIPT LOAD 'return " + std::to_string(i) + "'");
    return reply.substr(5, 40);
  };
  const std::string first = load(0), second = load(1);
  for (int i = 2; i < 256; ++i) (void)load(i);
  EXPECT_EQ(client.reply_to("EVALSHA " + first + " 0"), ":0\r\n");
  (void)load(256);
  EXPECT_EQ(client.reply_to("EVALSHA " + first + " 0"), ":0\r\n") << "it was used a moment ago";
  EXPECT_THAT(client.reply_to("EVALSHA " + second + " 0"), StartsWith("-NOSCRIPT"));
}

TEST_P(RespScripting, WrongRequestsAreRefused) {
  converse(connect(),
           {{eval("return 1", "x"), kNotInteger},
            {eval("return 1", "-1"), "-ERR Number of keys can't be negative "},
            {eval("return 1", "2 a"), "-ERR Number of keys can't be greater than number of args "},
            {eval("return 1", "1 ''"), "-ERR a key has 1 to 512 bytes "},
            {eval("return 1", "1 " + std::string(513, 'k')), "-ERR a key has 1 to 512 bytes "},
            {"EVAL 'return 1'", wrong_number_of_words("eval")},
            {"SCRIPT LOAD", wrong_number_of_words("script|load")}});
  RawConnection client = connect();
  EXPECT_THAT(client.reply_to("SCRIPT LOAD 'return return'"),
              StartsWith("-ERR Error compiling script (new function): user_script:1:"));
  EXPECT_THAT(client.reply_to("EVAL 'return return' 0"),
              StartsWith("-ERR Error compiling script (new function): user_script:1:"));
  EXPECT_THAT(client.reply_to("EVAL 'return return' 1 a"),
              StartsWith("-ERR Error compiling script (new function): user_script:1:"));
}

TEST_P(RespScripting, OnlyDeclaredCountersAndSimpleCommandsMayBeUsed) {
  RawConnection client = connect();
  for (const auto& [call, error] : std::vector<std::pair<std::string, std::string>>{
           {"'incr', 'b'", "-ERR Script attempted to access a non local key in a cluster node"},
           {"'mset', KEYS[1], 1, 'b', 2",
            "-ERR Script attempted to access a non local key in a cluster node"},
           {"'nonsense'", "-ERR Unknown Redis command called from script"},
           {"'incr'", "-ERR Wrong number of args calling Redis command from script"},
           {"'keys', '*'", "-ERR This Redis command is not allowed from script"},
           {"'eval', 'return 1', 0", "-ERR This Redis command is not allowed from script"},
           {"'multi'", "-ERR This Redis command is not allowed from script"},
           {"'select', 1", "-ERR This Redis command is not allowed from script"},
           {"'incrby', KEYS[1], 'x'", "-ERR value is not an integer or out of range"},
           {"'incr', ''", "-ERR a key has 1 to 512 bytes"}}) {
    EXPECT_THAT(client.reply_to(eval("return redis.call(" + call + ")", "1 a")), StartsWith(error))
        << call;
    const std::string caught =
        client.reply_to(eval("return redis.pcall(" + call + ")['err'] ~= nil and 1 or 0", "1 a"));
    EXPECT_EQ(caught, ":1\r\n") << call;
  }
  converse(std::move(client), {{"DBSIZE", ":0 "}});
}

TEST_P(RespScripting, AReadOnlyScriptChangesNothing) {
  const std::string refused = "-ERR Write commands are not allowed from read-only scripts.";
  RawConnection client = connect();
  EXPECT_EQ(client.reply_to("SET a 5"), "+OK\r\n");
  for (const char* call : {"'incr', KEYS[1]", "'del', KEYS[1]", "'getex', KEYS[1], 'ex', 5"}) {
    const std::string script = std::string("return redis.call(") + call + ")";
    EXPECT_THAT(client.reply_to("EVAL_RO \"" + script + "\" 1 a"), StartsWith(refused)) << call;
    (void)client.reply_to("SCRIPT LOAD \"" + script + '"');
    EXPECT_THAT(client.reply_to("EVALSHA_RO " + sha1_hex(script) + " 1 a"), StartsWith(refused));
  }
  converse(std::move(client),
           {{"EVAL_RO \"return {redis.call('get', KEYS[1]), redis.call('ttl', KEYS[1])}\" 1 a",
             "*2 $1 5 :-1 "}});
}

TEST_P(RespScripting, KeysAreThoseOfTheDatabase) {
  converse(
      connect(),
      {{"SELECT 3", "+OK "},
       {eval("return {KEYS[1], redis.call('incr', KEYS[1]), redis.call('mget', KEYS[1])}", "1 a"),
        "*3 $1 a :1 *1 $1 1 "}});
  converse(connect(), {{"GET a", "$-1 "}, {"GET db3:a", "$1 1 "}});
}

TEST_P(RespScripting, ABoundThatIsPassedSaysWhatWasDone) {
  RawConnection client = connect();
  EXPECT_THAT(client.reply_to(eval("while true do end", "1 a")),
              StartsWith("-ERR the script needs more than 100000 instructions"));
  EXPECT_THAT(client.reply_to(eval("redis.call('incr', KEYS[1]) while true do end", "1 a")),
              StartsWith("-PARTIAL the script needs more than 100000 instructions"));
  EXPECT_THAT(
      client.reply_to(eval("for i = 1, 1001 do redis.call('incr', KEYS[1]) end return 1", "1 a")),
      AllOf(StartsWith("-PARTIAL "), HasSubstr("1000 commands")));
  converse(std::move(client), {{"GET a", "$4 1001 "}});
}

TEST_P(RespScripting, APipelineOfThemKeepsItsOrder) {
  RawConnection client = connect();
  std::string requests, replies;
  for (int i = 1; i <= 500; ++i) {
    requests += eval(
                    "local n = redis.call('get', KEYS[1]) or 0 redis.call('set', KEYS[1], 3) "
                    "redis.call('set', KEYS[1], n) return redis.call('incr', KEYS[1])",
                    "1 a") +
                "\r\nGET a\r\n";
    const std::string total = std::to_string(i);
    replies += ":" + total + "\r\n$" + std::to_string(total.size()) + "\r\n" + total + "\r\n";
  }
  EXPECT_EQ(client.replies_to(requests), replies);
}

TEST_P(RespScripting, ASpreadCounterIsRefused) {
  ASSERT_TRUE(node_->counter("hot").raise_shards(4).ok());
  converse(connect(), {{eval("return redis.call('get', KEYS[1])", "1 hot"),
                        "-ERR a counter that is spread over shards cannot be changed on a "
                        "condition "}});
}

TEST_P(RespScripting, MayBeInATransaction) {
  converse(connect(), {{"MULTI", "+OK "},
                       {"INCR a", "+QUEUED "},
                       {eval("return redis.call('incr', KEYS[1])", "1 a"), "+QUEUED "},
                       {"EVAL 'return return' 0", "+QUEUED "},
                       {"INCR a", "+QUEUED "},
                       {"EXEC",
                        "*4 :1 :2 -ERR Error compiling script (new function): user_script:1: "
                        "unexpected symbol near 'return' :3 "}});
}

TEST_P(RespScripting, TheNumberOfKeysIsCheckedBeforeTheScriptIsLookedFor) {
  const std::string unknown = "EVALSHA ffffffffffffffffffffffffffffffffffffffff ";
  const std::string no_script = "-NOSCRIPT No matching script. Please use EVAL. ";
  converse(connect(), {{unknown + "0", no_script},
                       {unknown + "1", "-ERR Number of keys can't be greater than number of args "},
                       {unknown + "-1", "-ERR Number of keys can't be negative "},
                       {unknown + "x", "-ERR value is not an integer or out of range "},
                       {"EVALSHA f -1", no_script}});  // no script has such a name
}

TEST_P(RespScripting, ARequestWithAWrongNumberOfKeysRemembersNoScript) {
  RawConnection client = connect();
  EXPECT_THAT(send_script(client, "EVAL", kCount, {"2", "a"}), StartsWith("-ERR Number of keys"));
  EXPECT_EQ(client.reply_to("SCRIPT EXISTS " + sha1_hex(kCount)), "*1\r\n:0\r\n");
  EXPECT_EQ(send_script(client, "EVAL", kCount, {"1", "a"}), ":1\r\n");
  EXPECT_EQ(client.reply_to("SCRIPT EXISTS " + sha1_hex(kCount)), "*1\r\n:1\r\n");
}

TEST_P(RespScripting, AScriptThatPromisesNoWritesCannotWrite) {
  RawConnection client = connect();
  const std::string refused = "-ERR Write commands are not allowed from read-only scripts.";
  EXPECT_THAT(send_script(client, "EVAL", kNoWrites + kCount, {"1", "a"}), StartsWith(refused));
  EXPECT_THAT(send_script(client, "EVALSHA", sha1_hex(kNoWrites + kCount), {"1", "a"}),
              StartsWith(refused));
  EXPECT_EQ(client.reply_to("EXISTS a"), ":0\r\n");
  EXPECT_EQ(send_script(client, "EVAL", "#!lua\n" + kCount, {"1", "a"}), ":1\r\n");
  EXPECT_EQ(
      send_script(client, "EVAL", kNoWrites + "return redis.call('get', KEYS[1])", {"1", "a"}),
      "$1\r\n1\r\n");
}

TEST_P(RespScripting, AReadOnlyCommandNeedsThatPromiseInAFirstLine) {
  RawConnection client = connect();
  const std::string refused =
      "-ERR Can not execute a script with write flag using *_ro command.\r\n";
  EXPECT_EQ(send_script(client, "EVAL_RO", "#!lua\nreturn 1", {"0"}), refused);
  EXPECT_EQ(send_script(client, "EVAL_RO", "#!lua flags=allow-oom\nreturn 1", {"0"}), refused);
  EXPECT_EQ(send_script(client, "EVALSHA_RO", sha1_hex("#!lua\nreturn 1"), {"0"}), refused);
  EXPECT_EQ(send_script(client, "EVAL_RO", kNoWrites + "return 1", {"0"}), ":1\r\n");
  EXPECT_EQ(send_script(client, "EVAL_RO", "return 1", {"0"}), ":1\r\n");
  EXPECT_THAT(send_script(client, "EVAL_RO", "#!lua flags=foo\nreturn 1", {"0"}),
              StartsWith("-ERR Unexpected flag in script shebang: foo"));
}

TEST(RespScriptingOfThree, ANodeThatOwnsAllKeysRunsThem) {
  const TemporaryDirectory directory;
  const Nodes nodes = three_with_one_copy(directory / "data");
  RawConnection last(nodes[2]->client_address());
  int apart = 0;
  for (int key = 0; key < 20; ++key) {
    const std::string a = "a" + std::to_string(key), b = "b" + std::to_string(key);
    EXPECT_EQ(last.reply_to(eval(kLimiter, "1 " + a + " 2 60000")), "*2\r\n:2\r\n:1\r\n");
    const std::string both =
        last.reply_to(eval("return redis.call('exists', KEYS[1], KEYS[2])", "2 " + a + ' ' + b));
    if (both != ":1\r\n") {
      EXPECT_THAT(both, StartsWith("-CROSSSLOT Keys in request don't hash to the same slot"));
      ++apart;
    }
  }
  EXPECT_GT(apart, 0) << "with one copy of each, two counters are often on two nodes";
  EXPECT_LT(apart, 20);
}

}  // namespace
}  // namespace quipu::test
