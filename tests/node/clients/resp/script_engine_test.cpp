// Scripts: what they can do, what they get, and where they are ended.
#include "node/clients/resp/script_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "tests/node/clients/resp/resp_reply.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Version = RespWriter::Version;

// Commands of the tests: `reply x` replies with x as it is, `words …` with the words themselves.
std::string execute_command(std::span<const std::string_view> words) {
  if (words[0] == "reply") return std::string(words[1]);
  if (words[0] == "throw") throw std::runtime_error("the command failed");
  std::string reply = '*' + std::to_string(words.size()) + "\r\n";
  for (const std::string_view word : words)
    reply.append("$").append(std::to_string(word.size())).append("\r\n").append(word) += "\r\n";
  return reply;
}

std::string run(ScriptEngine& engine, std::string_view text, Version version = Version::resp2) {
  const std::vector<std::string_view> keys{"k1", "k2"}, args{"7", "x"};
  const std::string reply =
      engine.run({.text = text, .keys = keys, .args = args}, version, execute_command);
  std::string_view rest = reply;
  EXPECT_TRUE(take_reply(rest) && rest.empty()) << text << "\n" << reply.substr(0, 200);
  EXPECT_LE(reply.size(), kMaxScriptReply);
  return reply;
}

std::string run(std::string_view text, Version version = Version::resp2) {
  ScriptEngine engine;
  return run(engine, text, version);
}

struct ScriptCase {
  const char* text;
  const char* reply;
};

TEST(ScriptEngine, ConvertsValuesToRepliesAsRedisDoes) {
  for (const ScriptCase& one : std::initializer_list<ScriptCase>{
           {"return 3", ":3\r\n"},
           {"return 3.99", ":3\r\n"},
           {"return -3.99", ":-3\r\n"},
           {"return 1e30", ":-9223372036854775808\r\n"},
           {"return 0/0", ":-9223372036854775808\r\n"},
           {"return -9223372036854775808", ":-9223372036854775808\r\n"},
           {"return 'a\\0b'", "$3\r\na\0b\r\n"},
           {"return ''", "$0\r\n\r\n"},
           {"return true", ":1\r\n"},
           {"return false", "$-1\r\n"},
           {"return nil", "$-1\r\n"},
           {"", "$-1\r\n"},
           {"return function() end", "$-1\r\n"},
           {"return {}", "*0\r\n"},
           {"return {1, 'b', {2}, nil, 3}", "*3\r\n:1\r\n$1\r\nb\r\n*1\r\n:2\r\n"},
           {"return {ok = 'fine\\r\\n'}", "+fine  \r\n"},
           {"return {err = 'CODE of\\nit'}", "-CODE of it\r\n"},
           {"return {a = 1}", "*0\r\n"},
           {"return redis.status_reply('yes')", "+yes\r\n"},
           {"return redis.error_reply('My text')", "-My text\r\n"},
           {"return redis.error_reply('-My text')", "-My text\r\n"},
           {"return redis.error_reply('Text')", "-ERR Text\r\n"},
           {"return redis.error_reply(1)", "-ERR wrong number or type of arguments\r\n"},
           {"return redis.status_reply()", "-ERR wrong number or type of arguments\r\n"},
       }) {
    const std::string_view expected = one.text == std::string_view("return 'a\\0b'")
                                          ? std::string_view("$3\r\na\0b\r\n", 9)
                                          : std::string_view(one.reply);
    EXPECT_EQ(run(one.text), expected) << one.text;
  }
  EXPECT_EQ(run("return nil", Version::resp3), "_\r\n");
  EXPECT_EQ(run("return {true, false, 'x'}", Version::resp3), "*3\r\n:1\r\n_\r\n$1\r\nx\r\n");
}

TEST(ScriptEngine, ConvertsRepliesOfCommandsToValues) {
  for (const ScriptCase& one : std::initializer_list<ScriptCase>{
           {"return type(redis.call('reply', ':5\\r\\n')) .. redis.call('reply', ':-5\\r\\n')",
            "$8\r\nnumber-5\r\n"},
           {"return redis.call('reply', '$2\\r\\nab\\r\\n') .. 'c'", "$3\r\nabc\r\n"},
           {"return tostring(redis.call('reply', '$-1\\r\\n'))", "$5\r\nfalse\r\n"},
           {"return tostring(redis.call('reply', '*-1\\r\\n'))", "$5\r\nfalse\r\n"},
           {"return redis.call('reply', '+OK\\r\\n').ok", "$2\r\nOK\r\n"},
           {"return redis.pcall('reply', '-CODE x\\r\\n').err", "$6\r\nCODE x\r\n"},
           {"return redis.call('reply', '*2\\r\\n:1\\r\\n-E x\\r\\n')[2].err", "$3\r\nE x\r\n"},
           {"return #redis.call('reply', '*0\\r\\n')", ":0\r\n"},
           {"return redis.call('a', 1, 1.5, 1e20, 1/3)",
            "*5\r\n$1\r\na\r\n$1\r\n1\r\n$3\r\n1.5\r\n$5\r\n1e+20\r\n"
            "$19\r\n0.33333333333333331\r\n"},
           {"return {KEYS[1], KEYS[2], #KEYS, ARGV[1] + 1, ARGV[2], #ARGV}",
            "*6\r\n$2\r\nk1\r\n$2\r\nk2\r\n:2\r\n:8\r\n$1\r\nx\r\n:2\r\n"},
       })
    EXPECT_EQ(run(one.text), one.reply) << one.text;
}

TEST(ScriptEngine, SurvivesRepliesThatAreNotResp) {
  std::string deep;
  for (std::size_t i = 0; i <= kMaxScriptDepth; ++i) deep += "*1\\r\\n";
  for (const std::string& reply :
       {std::string(), std::string("x"), std::string("+OK"), std::string(":\\r\\n"),
        std::string(":1x\\r\\n"), std::string("$3\\r\\nab\\r\\n"), std::string("$-2\\r\\n"),
        std::string("$9223372036854775807\\r\\n"), std::string("*1000000000\\r\\n"),
        std::string("*2\\r\\n:1\\r\\n"), std::string(":1\\r\\n:2\\r\\n"), std::string("_\\r\\n"),
        deep + ":1\\r\\n"}) {
    const std::string text = "redis.call('reply', '" + reply + "')";
    EXPECT_THAT(run(text), StartsWith("-ERR the reply of a command cannot be read script: "))
        << text;
  }
}

// Compared with a Redis server of 7.0.15.
TEST(ScriptEngine, SaysWhatIsWrongAsRedisDoes) {
  for (const ScriptCase& one : std::initializer_list<ScriptCase>{
           {"return x",
            "ERR user_script:1: Script attempted to access nonexistent global variable 'x'"},
           {"return _G.x",
            "ERR user_script:1: Script attempted to access nonexistent global variable 'x'"},
           {"a.b = 1",
            "ERR user_script:1: Script attempted to access nonexistent global variable 'a'"},
           {"x = 1", "ERR user_script:1: Attempt to modify a readonly table"},
           {"KEYS = {}", "ERR user_script:1: Attempt to modify a readonly table"},
           {"string.x = 1", "ERR user_script:1: Attempt to modify a readonly table"},
           {"redis.call = nil", "ERR user_script:1: Attempt to modify a readonly table"},
           {"rawset(_G, 'x', 1)", "ERR Attempt to modify a readonly table"},
           {"setmetatable(_G, {})", "ERR Attempt to modify a readonly table"},
           {"error('boo')", "ERR user_script:1: boo"},
           {"error('boo', 0)", "ERR boo"},
           {"error()", "ERR nil"},
           {"error({err = 'My boo'})", "My boo"},
           {"local t = nil; return t.x",
            "ERR user_script:1: attempt to index local 't' (a nil value)"},
           {"redis.call()", "ERR Please specify at least one argument for this redis lib call"},
           {"redis.call('a', {})",
            "ERR Lua redis lib command arguments must be strings or integers"},
           {"redis.call('reply', '-CODE of it\\r\\n')", "CODE of it"},
           {"redis.log(1)", "ERR redis.log() requires two arguments or more."},
           {"redis.log('a', 'b')", "ERR First argument must be a number (log level)."},
           {"redis.log(9, 'b')", "ERR Invalid debug level."},
           {"redis.sha1hex()", "ERR wrong number of arguments"},
           {"return unpack({}, 1, 1e8)", "ERR user_script:1: too many results to unpack"},
           {"return table.concat({1, {}})",
            "ERR user_script:1: invalid value (table) at index 2 in table for 'concat'"},
       })
    EXPECT_EQ(run(one.text), '-' + std::string(one.reply) + " script: " + sha1_hex(one.text) +
                                 ", on @user_script:1.\r\n");
  EXPECT_THAT(run("\n\nerror('x')"), HasSubstr("user_script:3: x script: "));
  EXPECT_THAT(run("error({})"), StartsWith("-ERR the script raised an error without a text"));
}

TEST(ScriptEngine, ObjectsToTextsThatCannotBeRun) {
  ScriptEngine engine;
  const std::string compiling = "ERR Error compiling script (new function): ";
  EXPECT_EQ(engine.objection("return 1"), std::nullopt);
  EXPECT_EQ(engine.objection("#!lua flags=no-writes,allow-stale\nreturn 1"), std::nullopt);
  EXPECT_EQ(engine.objection("return (("),
            compiling + "user_script:1: unexpected symbol near '<eof>'");
  EXPECT_EQ(engine.objection("\033Lua"),
            compiling + "user_script:1: unexpected symbol near 'char(27)'");
  EXPECT_EQ(engine.objection("#!foo\nreturn 1"), "ERR Unexpected engine in script shebang: #!foo");
  EXPECT_EQ(engine.objection("#!lua flags=zz\n"), "ERR Unexpected flag in script shebang: zz");
  EXPECT_EQ(engine.objection("#!lua"), "ERR Invalid script shebang");
  EXPECT_THAT(engine.objection(std::string(kMaxScriptText + 1, ' ')).value_or(""),
              HasSubstr("more than 65536 bytes"));
  EXPECT_EQ(engine.objection(std::string(kMaxScriptText, ' ')), std::nullopt);
  EXPECT_EQ(run(engine, "return (("), '-' + *engine.objection("return ((") + "\r\n");
}

TEST(ScriptEngine, HasNothingThatReachesOutside) {
  for (const char* name : {"os",      "io",        "debug",          "package",  "require",
                           "module",  "dofile",    "loadfile",       "load",     "loadstring",
                           "print",   "newproxy",  "collectgarbage", "gcinfo",   "getfenv",
                           "setfenv", "coroutine", "cjson",          "cmsgpack", "bit",
                           "struct"})
    EXPECT_THAT(run("return " + std::string(name)), HasSubstr("nonexistent global variable"))
        << name;
  for (const char* name : {"string.dump", "redis.set_repl", "redis.setresp", "table.foreach",
                           "getmetatable('')", "getmetatable(_G)", "getmetatable(string)"})
    EXPECT_EQ(run("return " + std::string(name)), "$-1\r\n") << name;
}

TEST(ScriptEngine, LeavesNothingToTheNextScript) {
  ScriptEngine engine;
  const std::string look =
      "return {#KEYS, tostring(rawget(_G, 'x')), string.format('%d', 1), ('a'):upper(),"
      " tostring(table.x), math.random(1000000), type(redis.call)}";
  const std::string before = run(engine, look);
  for (const char* text :
       {"pcall(table.insert, _G, 1) pcall(table.insert, string, 1)", "KEYS[3] = 'z'",
        "pcall(rawset, _G, 'x', 1) pcall(rawset, table, 'x', 1)", "math.random() math.random()",
        "math.randomseed(7)", "pcall(setmetatable, string, {})", "while true do end",
        "local s = 'x' while true do s = s .. s end", "error('x')"}) {
    (void)run(engine, text);
    EXPECT_EQ(run(engine, look), before) << text;
  }
  // Also where it has to compile: more texts than it remembers.
  for (int i = 0; i < 200; ++i) {
    const std::string text = "local a = " + std::to_string(i) + " return a";
    EXPECT_EQ(run(engine, text), ':' + std::to_string(i) + "\r\n");
  }
  EXPECT_EQ(run(engine, look), before);
}

TEST(ScriptEngine, GivesTheSameResultInEachEngine) {
  for (const char* text : {"return math.random(1000000)", "return tostring({})",
                           "return {tostring(pairs), tostring(function() end)}"})
    EXPECT_EQ(run(text), run(text)) << text;
  EXPECT_EQ(run("return math.random(1000000)"), ":396465\r\n") << "as a new Redis server has it";
  EXPECT_EQ(run("math.randomseed(5) return {math.random(100), math.random(100)}"),
            "*2\r\n:53\r\n:28\r\n");
}

constexpr const char* kInstructions = "the script needs more than 100000 instructions";
constexpr const char* kMemory = "the script needs more than 1 MiB of memory";

TEST(ScriptEngine, EndsScriptsThatPassABound) {
  for (const ScriptCase& one : std::initializer_list<ScriptCase>{
           {"while true do end", kInstructions},
           {"while true do pcall(function() while true do end end) end", kInstructions},
           {"pcall(function() while true do end end) return 1", kInstructions},
           {"return pcall(function() while true do end end)", kInstructions},
           {"xpcall(function() while true do end end, function() while true do end end)",
            kInstructions},
           {"local function f() xpcall(f, f) f() end f()", kInstructions},
           {"setmetatable({}, {__index = function(t, k) return t[k] end}).x = 1 while true do end",
            kInstructions},
           {"local s = 'x' while true do s = s .. s end", kMemory},
           {"return pcall(function() local s = 'x' while true do s = s .. s end end)", kMemory},

           {"local t while true do t = {t, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12} end", kMemory},
           {"return ('x'):rep(60000):gsub('x', ('y'):rep(1000))", kMemory},
           {"return ('a'):rep(60000):find('a*a*a*a*a*b')", kInstructions},
           {"return ('a'):rep(300):match('(.-)(.-)(.-)(.-)(.-)x')", kInstructions},
           {"return ('a'):rep(60000):gsub('.-.-b', '')", kInstructions},
           {"for w in ('a'):rep(60000):gmatch('a-a-b') do end", kInstructions},
           {"while true do ('a'):rep(60000):find(('a'):rep(127) .. 'b', 1, true) end",
            kInstructions},
           {"table.insert({}, -1e9, 1)", kInstructions},
           {"local t = {} for i = 1, 8000 do t[i] = i * 7919 % 8001 end table.sort(t)",
            kInstructions},
           {"local t = {} for i = 1, 7000 do t[i] = 1 end while true do table.concat(t) end",
            kInstructions},
           {"local t = {} for i = 1, 7000 do t[i] = 1.5 end "
            "('%99.99f'):rep(7000):format(unpack(t))",
            kInstructions},
           {"while true do local t = {unpack({}, 1, 7000)} end", kInstructions},
           {"local s = ('1'):rep(65536) s = s .. s .. s while true do local n = s + 1 end",
            kInstructions},
           {"return ('x'):rep(65000) .. ('x'):rep(65000)",
            "the script's reply has more than 65536 bytes"},
           {"local t = {} for i = 1, 30 do t = {t, t} end return t",
            "the script's reply has more than 65536 bytes"},
       })
    EXPECT_EQ(run(one.text).substr(0, std::string_view(one.reply).size() + 5),
              "-ERR " + std::string(one.reply))
        << one.text;
}

TEST(ScriptEngine, SaysHowManyCommandsWereExecutedBeforeABound) {
  EXPECT_EQ(run("redis.call('a') redis.call('b') while true do end"),
            "-PARTIAL the script needs more than 100000 instructions; it was ended after 2 "
            "commands, whose changes remain\r\n");
  EXPECT_EQ(run("redis.call('a') return ('x'):rep(65536)"),
            "-PARTIAL the script's reply has more than 65536 bytes; it was ended after 1 command, "
            "whose changes remain\r\n");
  EXPECT_EQ(run("for i = 1, 1000 do redis.call('a') end return 5"), ":5\r\n");
  EXPECT_EQ(run("for i = 1, 1001 do pcall(redis.call, 'a') end return 5"),
            "-PARTIAL the script calls more than 1000 commands; it was ended after 1000 commands, "
            "whose changes remain\r\n");
}

TEST(ScriptEngine, RefusesLongSubjectsAndPatterns) {
  const std::string subject = "local s = ('x'):rep(65536) .. 'x' ";
  for (const char* call :
       {"s:byte()", "s:sub(1)", "s:len()", "s:upper()", "s:lower()", "s:reverse()", "s:find('x')",
        "s:match('x')", "s:gmatch('x')", "s:gsub('x', '')", "s:rep(1)", "s:format()"})
    EXPECT_THAT(run(subject + "return " + call), HasSubstr("(string is over 65536 bytes)")) << call;
  for (const char* call : {"find", "match", "gmatch"}) {
    EXPECT_THAT(run("return ('x')." + std::string(call) + "('x', ('x'):rep(129))"),
                HasSubstr("(pattern is over 128 bytes)"));
    EXPECT_THAT(run("return ('x')." + std::string(call) + "('x', ('x'):rep(128))"),
                Not(StartsWith("-")));
  }
  EXPECT_THAT(run("return ('x'):rep(65537)"), HasSubstr("(resulting string is over 65536 bytes)"));
  EXPECT_EQ(run("return #('x'):rep(65536)"), ":65536\r\n");
  EXPECT_EQ(run("return ('').rep('', 1e9) .. ('x'):rep(-1)"), "$0\r\n\r\n");
}

TEST(ScriptEngine, MatchesPatternsAsLuaDoes) {
  for (const ScriptCase& one : std::initializer_list<ScriptCase>{
           {"('hello'):find('l')", "3,3"},
           {"('hello'):find('l', -2)", "4,4"},
           {"('hello'):find('xyz')", "nil"},
           {"('hello'):find('', 10)", "6,5"},
           {"('a.b'):find('.', 2, true)", "2,2"},
           {"('hello'):find('(h)(.)')", "1,2,h,e"},
           {"('key = value'):match('^(%w+)%s*=%s*(%w+)$')", "key,value"},
           {"('THE (quick) fox'):find('%((%a+)%)')", "5,11,quick"},
           {"('f(a(b)c)d'):match('%b()')", "(a(b)c)"},
           {"('THE (quick) fox'):gsub('%f[%a]%a+', 'w')", "w (w) w,3"},
           {"('[x]'):match('[]]')", "]"},
           {"('a-z'):gsub('[a%-]', '_')", "__z,2"},
           {"('abc'):gsub('', '-')", "-a-b-c-,4"},
           {"('abc'):gsub('%w', '%0%0', 2)", "aabbc,2"},
           {"('a b'):gsub('(%w) (%w)', '%2 %1')", "b a,1"},
           {"('a b'):gsub('%w', {a = 'A', b = false})", "A b,2"},
           {"('a b'):gsub('%w', function(c) if c == 'b' then return 7 end end)", "a 7,2"},
           {"('abcabc'):match('(abc)%1')", "abc"},
           {"('abc'):match('()b()')", "2,3"},
           {"('aaa'):match('^a-$')", "aaa"},
           {"('aaab'):match('a?a?b')", "aab"},
           {"('^a'):gmatch('^a')()", "^a"},
           {"pcall(string.find, 'a', '[a')", "false,malformed pattern (missing ']')"},
           {"pcall(string.find, 'a', '%')", "false,malformed pattern (ends with '%')"},
           {"pcall(string.find, 'a', '(a')", "false,unfinished capture"},
           {"pcall(string.match, 'a', 'a)')", "false,invalid pattern capture"},
           {"pcall(string.find, 'a', '%1')", "false,invalid capture index"},
       }) {
    const std::string text = "local t = {" + std::string(one.text) +
                             "} if #t == 0 then t[1] = nil end"
                             " for i = 1, #t do t[i] = tostring(t[i]) end return #t == 0 and 'nil' "
                             "or table.concat(t, ',')";
    const std::string expected(one.reply);
    EXPECT_EQ(run(text), '$' + std::to_string(expected.size()) + "\r\n" + expected + "\r\n")
        << one.text;
  }
}

TEST(ScriptEngine, ThrowsWhatACommandThrows) {
  ScriptEngine engine;
  EXPECT_THROW((void)run(engine, "return pcall(redis.call, 'throw')"), std::runtime_error);
  EXPECT_THROW((void)run(engine, "redis.pcall('throw') return 1"), std::runtime_error);
  EXPECT_EQ(run(engine, "return 1"), ":1\r\n");
}

TEST(ScriptEngine, RunsALimiterOfRateLimiterFlexible) {
  std::vector<std::string> called;
  const auto command = [&](std::span<const std::string_view> words) {
    called.emplace_back(words[0]);
    return std::string(words[0] == "set" ? "+OK\r\n" : words[0] == "pttl" ? ":-1\r\n" : ":1\r\n");
  };
  const std::string_view text =
      "redis.call('set', KEYS[1], 0, 'EX', ARGV[2], 'NX')\n"
      "local consumed = redis.call('incrby', KEYS[1], ARGV[1])\n"
      "local ttl = redis.call('pttl', KEYS[1])\n"
      "if ttl == -1 then\n"
      "  redis.call('expire', KEYS[1], ARGV[2])\n"
      "  ttl = 1000 * ARGV[2]\n"
      "end\n"
      "return {consumed, ttl}";
  const std::vector<std::string_view> keys{"rl:7"}, args{"1", "60"};
  ScriptEngine engine;
  EXPECT_EQ(engine.run({.text = text, .keys = keys, .args = args}, Version::resp2, command),
            "*2\r\n:1\r\n:60000\r\n");
  EXPECT_THAT(called, testing::ElementsAre("set", "incrby", "pttl", "expire"));
}

TEST(Sha1, NamesScriptsAsRedisDoes) {
  EXPECT_EQ(sha1_hex(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(sha1_hex("a"), "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8");
}

}  // namespace
}  // namespace quipu::test
