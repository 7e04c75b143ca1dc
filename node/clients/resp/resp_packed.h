// resp_packed.h: commands as bytes: to be queued, or to travel to the node that decides.
//
//   | form and version 1 | number of words 2, each word behind its length 4 | the next command | …
//
// Pure. Reading accepts any bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/resp.h"

namespace quipu {

enum class PackedForm : std::uint8_t {
  command = 0x00,      // one, about the counter words[1]; the reply is its reply
  transaction = 0x10,  // any number; the reply is an array of their replies
  script = 0x20,       // see PackedScript
  read_only_script = 0x30,
};

inline constexpr std::size_t kMaxPackedWords = 2048;  // in all its commands

class PackedCommands {
 public:
  PackedCommands(PackedForm form, RespWriter::Version version)
      : bytes_(1, static_cast<char>(static_cast<std::uint8_t>(form) |
                                    static_cast<std::uint8_t>(version))) {}

  // False: with this command there would be too many words. Nothing was added.
  [[nodiscard]] bool add(std::span<const std::string_view> words);
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] std::string take() { return std::move(bytes_); }
  [[nodiscard]] std::size_t commands() const { return commands_; }

 private:
  std::string bytes_;
  std::size_t words_ = 0;
  std::size_t commands_ = 0;
};

class PackedReader {
 public:
  explicit PackedReader(std::string_view bytes);

  // False: these are no such bytes. It may turn out after some commands.
  [[nodiscard]] bool sound() const { return sound_; }
  [[nodiscard]] PackedForm form() const { return form_; }
  [[nodiscard]] RespWriter::Version version() const { return version_; }
  // The next command, of at least one word. They borrow the bytes. False: there is none.
  [[nodiscard]] bool next(std::vector<std::string_view>& words);

 private:
  [[nodiscard]] std::size_t number(std::size_t bytes);

  std::string_view rest_;
  bool sound_ = false;
  PackedForm form_{};
  RespWriter::Version version_ = RespWriter::Version::resp2;
  std::size_t left_ = kMaxPackedWords;
};

}  // namespace quipu
