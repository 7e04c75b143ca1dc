// resp_questions.h: questions to the core that several commands share, and their replies.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "node/clients/resp/resp_command.h"
#include "protocol/keyed_hash.h"

namespace quipu {

inline constexpr RespCommand::Keys one_key(std::string_view access) { return {1, 1, 1, access}; }
inline constexpr RespCommand::Keys all_keys(std::string_view access) { return {1, -1, 1, access}; }
// As many as words[2] says.
inline constexpr RespCommand::Keys counted_keys(std::string_view access) {
  return {.access = access, .count = 2};
}

// What TYPE says of a counter that exists: of a sum, as Redis does.
[[nodiscard]] constexpr const char* type_of(Kind kind) {
  return kind == Kind::sum ? "string" : name_of(kind);
}

// The outcome of a question about one key.
[[nodiscard]] inline const Value& only_value(const RespAnswer& answer) {
  return answer.values.front();
}

// The reply is the total as this node sees it at that time.
void add(RespConnection& connection, const Op& op);
void add(RespConnection& connection, std::string_view key, std::int64_t amount);
// The same, but errors are for a client that may send the op again, or has done so.
void add_by_token(RespConnection& connection, const Op& op);

// ---- counters of other kinds ----

// `words` are borrowed until the op is sent.
[[nodiscard]] Op apply_of(const RespConnection& connection, Kind kind, std::string_view key,
                          std::string_view words);
// The key of elements' hashes (protocol/element.h).
[[nodiscard]] HashKey element_salt(const RespConnection& connection);
void write_query_failure(RespConnection& connection, const QueryReply& reply, RespWriter& to);
// The reply to a question about one counter. `absent`: the error if there is none. `write` gets the
// kind's answer, and says whether it could read it.
void write_answer(RespConnection& connection, const QueryReply& reply, std::string_view absent,
                  bool (*write)(std::string_view answer, RespWriter& to), RespWriter& to);

[[nodiscard]] Op reset_of(const RespConnection& connection, std::string_view key);

// For INFO's hits and misses.
inline void count_read(RespConnection& connection, const Value& value) {
  RespFigures& figures = connection.server().figures;
  ++(value.exists ? figures.hits : figures.misses);
}

void write_failure(RespConnection& connection, const Value& value, RespWriter& to);
// The reply of GET.
inline void write_value(RespConnection& connection, const Value& value, RespWriter& to) {
  if (value.code != Code::ok) return write_failure(connection, value, to);
  count_read(connection, value);
  value.exists ? to.bulk(value.value) : to.null();
}
void write_failure(RespConnection& connection, const Done& done, RespWriter& to);

// The reply of MGET.
void read_many(RespConnection& connection, RespConnection::Words keys, ReadLevel level);

// Reads any number of counters, in questions of the largest allowed size, within a Task of the
// connection.
class ReadAll {
 public:
  ReadAll(RespConnection& connection, RespConnection::Words keys, ReadLevel level)
      : connection_(connection), keys_(keys.begin(), keys.end()), level_(level) {}

  void ask();
  // True: all were read. Otherwise it has asked for the next ones.
  [[nodiscard]] bool take(const RespAnswer& answer);

  // The first counter that may or may not exist. nullptr: there is none.
  [[nodiscard]] const Value* failed() const;
  [[nodiscard]] const std::vector<std::string>& keys() const { return keys_; }
  [[nodiscard]] const std::vector<Value>& values() const { return values_; }

 private:
  RespConnection& connection_;
  const std::vector<std::string> keys_;
  const ReadLevel level_;
  std::vector<Value> values_;
};

}  // namespace quipu
