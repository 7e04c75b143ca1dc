// script_engine.h: runs the Lua scripts of EVAL and EVALSHA.
//
//   text, keys, args ─▶ ScriptEngine::run ─▶ reply
//                        │ ▲
//                  words ▼ │ reply in RESP2
//                       Command: executes one command of the script
//
// Replies and error texts are those of Redis 7.0. A script runs to its end within run(). It has no
// clock, no file and no randomness, so the same replies of its commands give the same result.
//
// Each run begins with the bytes of a prepared interpreter (script_memory.h). So no script can
// leave anything to the next one, whatever it does to its tables.
//
// A script has redis.call, pcall, error_reply, status_reply, sha1hex, log and replicate_commands;
// KEYS and ARGV; and of Lua 5.1 the libraries string, table, math and the basic functions.
// It has nothing that loads code (load, loadstring, require, string.dump), changes environments
// (getfenv, setfenv), or steers the collector. It also lacks coroutine, cjson, cmsgpack, bit,
// struct, redis.setresp, redis.set_repl, and four functions of table without a use today
// (foreach, foreachi, maxn, setn). Tables with the field `double`, `map`, `set`, `big_number` or
// `verbatim_string` have no special meaning in a reply.
//
// Every script is bounded (below). After a bound, the reply is an error whose first word gives the
// outcome: ERR if no command was executed; PARTIAL otherwise, and the error says how many were.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "protocol/resp.h"

namespace quipu {

// The compiler's time for one long chain of conditions grows with the square of its length.
inline constexpr std::size_t kMaxScriptText = std::size_t{64} << 10;
// A script keeps the node's thread busy. One instruction of Lua takes some 10 ns.
//
// Some instructions and functions take as long as many instructions. They count as more:
// * A script whose largest block has n × 2 KiB has n + 1 for each instruction, since comparing,
//   joining or converting a string, or copying a table, is one instruction.
// * Each word of a command counts as 20.
// * Matching patterns, sorting, formatting, and moving parts of tables count by their work.
inline constexpr std::size_t kMaxScriptInstructions = 100'000;
// All of them take effect together, in one record of the journal.
inline constexpr std::size_t kMaxScriptCommands = 1'000;
// It may travel to another node, in one message.
inline constexpr std::size_t kMaxScriptReply = std::size_t{64} << 10;
// Tables in tables, in the script's reply or in a command's. Each level is a level of recursion.
inline constexpr std::size_t kMaxScriptDepth = 32;
// What string functions work on, and what string.rep may make.
inline constexpr std::size_t kMaxScriptSubject = std::size_t{64} << 10;
// Each item of a pattern may be a level of recursion.
inline constexpr std::size_t kMaxScriptPattern = 128;
// Its memory (1 MiB) is bounded in script_memory.h.

// All is borrowed for the run.
struct ScriptCall {
  std::string_view text;
  std::span<const std::string_view> keys, args;
};

// Belongs to one thread. Takes about 30 KiB, as much again for each of the scripts that it
// remembers, and up to 4 MiB for what scripts have allocated.
class ScriptEngine {
 public:
  // Executes one command of the script, and returns its reply in RESP2; errors, too:
  // "-ERR …\r\n". It may throw: this ends the script, and run() throws the same. It must not use
  // this engine.
  using Command = std::function<std::string(std::span<const std::string_view> words)>;

  ScriptEngine();
  ~ScriptEngine();
  ScriptEngine(const ScriptEngine&) = delete;
  ScriptEngine& operator=(const ScriptEngine&) = delete;

  // The script's reply, encoded by `version`. It has at most kMaxScriptReply bytes.
  [[nodiscard]] std::string run(const ScriptCall& call, RespWriter::Version version,
                                const Command& command);
  // Why this text cannot be run: the error for SCRIPT LOAD and EVAL, without the "-" that precedes
  // it on the wire. Nothing if it can be.
  [[nodiscard]] std::optional<std::string> objection(std::string_view text);

 private:
  class Interpreter;
  const std::unique_ptr<Interpreter> interpreter_;
};

// What the first line of a script, "#!lua flags=…", says about writes.
enum class ScriptPromise {
  none,            // there is no such line, or run() refuses it
  may_write,       // it lacks the flag no-writes
  writes_nothing,  // it has it: run the script as one of EVAL_RO
};
[[nodiscard]] ScriptPromise promise_of_script(std::string_view text);

// 40 digits: what EVALSHA names a script by.
[[nodiscard]] std::string sha1_hex(std::string_view text);

}  // namespace quipu
