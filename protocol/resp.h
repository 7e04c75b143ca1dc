// resp.h: RESP2 and RESP3, the protocol of Redis clients: parses requests and writes
// replies. The format is Redis's: redis.io/docs/latest/develop/reference/protocol-spec
//
//   *2\r\n$3\r\nGET\r\n$5\r\nlikes\r\n      a request, as clients write it: RespRequests
//   GET likes\r\n                           … and inline, as people do
//   $2\r\n42\r\n                            its reply: RespWriter
//
// Invariant: a request takes at most kMaxRespRequest bytes. A longer one is refused as
// soon as its length is known, before it is buffered.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/read_buffer.h"

namespace quipu {

inline constexpr std::size_t kMaxRespRequest = std::size_t{1} << 20;
inline constexpr std::size_t kMaxRespInline = std::size_t{64} << 10;

// Accepts numbers as Redis does: only the text that Redis would print.
[[nodiscard]] std::optional<std::int64_t> to_integer(std::string_view word);

// Splits bytes into requests. One per connection, since it remembers how far it has parsed
// an incomplete request.
class RespRequests {
 public:
  // "$0\r\n\r\n" is the shortest word of an array.
  static constexpr std::size_t kMaxWords = kMaxRespRequest / 6;
  using Words = std::span<const std::string_view>;  // the first names the command

  // The next complete request; no words if the line was empty. Nothing if more bytes are
  // needed, or if the input is refused(). The list of words is valid until the next call. The
  // words are in the buffer (quotes are removed in place), and valid as long as its bytes do
  // not move.
  [[nodiscard]] std::optional<Words> next(ReadBuffer& in);
  // From now on a request has at most this many words.
  void set_most_words(std::size_t most) { most_words_ = most; }
  // Redis's error text, after which the connection must be closed. Empty: no error.
  [[nodiscard]] const std::string& refused() const { return refused_; }

 private:
  enum class Read { whole, incomplete, too_long, refused };
  static constexpr std::size_t kNoLength = std::numeric_limits<std::size_t>::max();

  [[nodiscard]] Read read_array(std::string_view bytes);
  [[nodiscard]] Read read_count(std::string_view bytes);
  [[nodiscard]] Read read_length(std::string_view rest);
  [[nodiscard]] Read read_word(std::string_view bytes);
  [[nodiscard]] Read read_inline(ReadBuffer& in);
  void forget_words();
  void move_words(const char* to);
  [[nodiscard]] Read refuse(std::string_view why);
  [[nodiscard]] Read refuse_type(char type);

  // About the request that is read now, or was read last. Offsets count from its first byte.
  std::size_t at_ = 0;       // parsed up to here; 0: nothing yet
  std::size_t missing_ = 0;  // words still missing
  std::size_t most_words_ = kMaxWords;
  std::size_t length_ = kNoLength;  // of the word at at_, if known
  std::vector<std::string_view> words_;
  std::uintptr_t base_ = 0;  // the address of its first byte at the last look
  std::string refused_;
};

// Appends replies. Where RESP2 has no form, it uses the one that Redis uses.
class RespWriter {
 public:
  enum class Version : std::uint8_t { resp2 = 2, resp3 = 3 };
  RespWriter(std::string& out, Version version) : out_(out), version_(version) {}

  void simple(std::string_view text);
  // `text` begins with its code: "ERR unknown command …". Kept to one line.
  void error(std::string_view text);
  void integer(std::int64_t number);
  void bulk(std::string_view bytes);
  // A number as the text that Redis would print.
  void bulk(std::int64_t number);
  void verbatim(std::string_view text);
  void boolean(bool value);
  // A whole reply of this version.
  void encoded(std::string_view reply) { out_.append(reply); }
  void null();
  // So many items, or pairs of items, follow.
  void array(std::size_t items);
  void set(std::size_t items);
  void map(std::size_t pairs);

  [[nodiscard]] Version version() const { return version_; }

 private:
  void head(char type, std::int64_t number);

  std::string& out_;
  Version version_;
};

}  // namespace quipu
