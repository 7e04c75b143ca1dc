// resp.h: RESP2 and RESP3, what Redis clients speak: requests out of bytes, replies
// into bytes. The format is Redis's: redis.io/docs/latest/develop/reference/protocol-spec
//
//   *2\r\n$3\r\nGET\r\n$5\r\nlikes\r\n      a request, as clients write it: RespRequests
//   GET likes\r\n                           … and inline, as people do
//   $2\r\n42\r\n                            its reply: RespWriter
//
// Invariant: a request takes at most kMaxRespRequest bytes; what will be longer is
// refused as soon as that can be told, before it is buffered.
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

// As Redis reads numbers: the text that it would print, nothing else.
[[nodiscard]] std::optional<std::int64_t> to_integer(std::string_view word);

// Cuts requests; one per connection, as it remembers how far it has understood a
// request that is not whole yet.
class RespRequests {
 public:
  using Words = std::span<const std::string_view>;  // the first names the command

  // The next whole request, of no words if the line was empty; nothing if more bytes
  // are needed, or if what came is refused(). The list of words is valid until the next
  // call; each word, which is in the buffer (quotes are taken off in place), as long as
  // that stands still.
  [[nodiscard]] std::optional<Words> next(ReadBuffer& in);
  // Redis's text for it, after which the connection must be closed; empty: it is not.
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

  // Of the request that is being read, or was read last; offsets count from its first byte.
  std::size_t at_ = 0;              // understood up to here; 0: nothing yet
  std::size_t missing_ = 0;         // words that are still to come
  std::size_t length_ = kNoLength;  // of the word at at_, if it is known
  std::vector<std::string_view> words_;
  std::uintptr_t base_ = 0;  // where its first byte stood when it was last seen
  std::string refused_;
};

// Appends replies. What RESP2 has no form for takes the one that Redis gives it.
class RespWriter {
 public:
  enum class Version : std::uint8_t { resp2 = 2, resp3 = 3 };
  RespWriter(std::string& out, Version version) : out_(out), version_(version) {}

  void simple(std::string_view text);
  // `text` begins with its code: "ERR unknown command …". Kept to one line.
  void error(std::string_view text);
  void integer(std::int64_t number);
  void bulk(std::string_view bytes);
  // A number as the text that Redis would store.
  void bulk(std::int64_t number);
  void verbatim(std::string_view text);
  void boolean(bool value);
  void null();
  void null_array();
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
