// scripts.cpp: hostile scripts, with hostile arguments, whose commands give hostile replies.
//
// What must hold: the reply is one whole reply of RESP, and bounded; no more commands are executed
// than may be; and the same script in the same engine gives the same reply again.
#include <array>
#include <string>
#include <vector>

#include "node/clients/resp/script_engine.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/chunks.h"
#include "tests/node/clients/resp/resp_reply.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace quipu::fuzz {
namespace {

// What mutations would not find by themselves.
constexpr std::array<std::string_view, 48> kPieces{"local a = ",
                                                   "return ",
                                                   "if a then ",
                                                   "for i = 1, 9 do ",
                                                   "while true do ",
                                                   "end ",
                                                   "function() ",
                                                   "redis.call(",
                                                   "redis.pcall(",
                                                   "redis.error_reply(",
                                                   "redis.status_reply(",
                                                   "KEYS[1]",
                                                   "ARGV[1]",
                                                   "KEYS",
                                                   "pcall(",
                                                   "xpcall(",
                                                   "error(",
                                                   "setmetatable(",
                                                   "getmetatable(",
                                                   "rawset(_G, ",
                                                   "unpack(",
                                                   "select(",
                                                   "next(",
                                                   "tostring(",
                                                   "tonumber(",
                                                   "string.rep(",
                                                   "string.find(",
                                                   "string.gsub(",
                                                   "string.gmatch(",
                                                   "string.match(",
                                                   "string.format(",
                                                   "string.byte(",
                                                   "table.concat(",
                                                   "table.insert(",
                                                   "table.sort(",
                                                   "table.remove(",
                                                   "math.random(",
                                                   "{",
                                                   "}",
                                                   "(",
                                                   ") ",
                                                   ", ",
                                                   " .. ",
                                                   "a",
                                                   "'%a*(.-)[^x]%1%b()'",
                                                   "1e9",
                                                   "-1",
                                                   "'x'"};

std::string some_script(Bytes& bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t which = bytes.below(64);
    if (which < kPieces.size())
      text += kPieces[which];
    else
      text += bytes.text(which - kPieces.size());
  }
  return text;
}

std::string some_reply(Bytes& bytes) {
  switch (bytes.below(6)) {
    case 0:
      return ':' + std::to_string(bytes.amount()) + "\r\n";
    case 1:
      return "*2\r\n" + some_reply(bytes) + some_reply(bytes);
    case 2:
      return "-CODE x\r\n";
    case 3:
      return "$-1\r\n";
    case 4:
      return '*' + std::to_string(bytes.amount()) + "\r\n";
    default:
      return std::string(bytes.text(bytes.below(32)));
  }
}

enum Kind : std::uint8_t { raw_script, script, arguments, replies, kKinds };

class Story {
 public:
  void run(const std::string& text) {
    const std::string reply = once(text);
    check(reply == once(text), "a script leaves nothing behind");
    const auto objection = engine_.objection(text);
    check(!objection || reply.starts_with('-'), "a script with an objection does not run");
  }
  void set_arguments(std::string_view words) { arguments_.assign(1 + words.size() % 4, words); }
  void set_replies(std::string_view replies) { replies_ = replies; }

 private:
  std::string once(const std::string& text) {
    std::size_t commands = 0;
    Bytes replies(replies_);
    const auto version =
        text.size() % 2 == 0 ? RespWriter::Version::resp2 : RespWriter::Version::resp3;
    std::string reply = engine_.run({.text = text, .keys = arguments_, .args = arguments_}, version,
                                    [&](std::span<const std::string_view> words) {
                                      check(!words.empty(), "a command has a name");
                                      ++commands;
                                      return some_reply(replies);
                                    });
    check(commands <= kMaxScriptCommands, "the commands are bounded");
    check(reply.size() <= kMaxScriptReply, "the reply is bounded");
    std::string_view rest = reply;
    check(test::take_reply(rest) && rest.empty(), "the reply is one whole reply of RESP");
    return reply;
  }

  ScriptEngine engine_;
  std::vector<std::string_view> arguments_;
  std::string_view replies_;
};

}  // namespace
}  // namespace quipu::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quipu::fuzz;
  Story story;
  for (const Chunk& chunk : split({reinterpret_cast<const char*>(data), size})) {
    Bytes bytes(chunk.bytes);
    switch (chunk.kind % kKinds) {
      case raw_script:
        story.run(std::string(chunk.bytes));
        break;
      case script:
        story.run(some_script(bytes));
        break;
      case arguments:
        story.set_arguments(chunk.bytes);
        break;
      case replies:
        story.set_replies(chunk.bytes);
        break;
    }
  }
  return 0;
}
