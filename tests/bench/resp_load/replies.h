// replies.h: counts the replies in a stream of RESP2, exactly and with little work.
//
//   bytes ──▶ lines and bulks ──▶ items ──▶ a reply is whole with its last item
//
// A reply of another kind than the requested one, such as an error, throws
// std::runtime_error: it must end the run, not be counted.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace quipu::bench {

class Replies {
 public:
  // An operation has a reply for each of `kinds`, which are their first bytes, and `item` is that
  // of an array's items.
  explicit Replies(std::string kinds, char item = '$') : kinds_(std::move(kinds)), item_(item) {}

  // How many operations these bytes have completed.
  [[nodiscard]] std::size_t take(std::string_view bytes);

 private:
  [[nodiscard]] std::size_t read_line(std::string_view line);
  [[nodiscard]] std::size_t end_item();

  std::string kinds_;
  char item_;
  std::size_t next_ = 0;   // of kinds_
  std::string partial_;    // a line whose end has not come yet
  std::size_t skip_ = 0;   // bytes that are left of a bulk, its end of line included
  std::size_t items_ = 0;  // that are left of an array
};

}  // namespace quipu::bench
