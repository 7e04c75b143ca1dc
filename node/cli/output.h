// output.h: the output of `quipu`: data on stdout, diagnostics on stderr, and no characters from
// a key that control a terminal. With `--output json` there is always exactly one document on
// stdout. README.md beside this file describes all documents.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quipu/namespace.h"
#include "quipu/status.h"

namespace quipu::cli {

// One line on stderr, "quipu: …".
void complain(const std::string& text);
// One line on stdout.
void print(const std::string& text);
// One JSON value on stdout.
void print_json(const nlohmann::json& value);
// In ASCII; bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string json_text(const nlohmann::json& value);

// Escapes control and invisible characters, backslashes and bytes that are not UTF-8 (\x1b). So
// the text is one plain line, and two different keys never look the same.
[[nodiscard]] std::string printable(std::string_view bytes);
// Sets "value", and "value_text" for readers that cannot hold 64 bits. Nulls if there is none.
void put_value(nlohmann::json& object, std::optional<std::int64_t> value);
// Sets "key". If bytes must be replaced there, also "key_escaped", as printable() does it.
void put_key(nlohmann::json& object, const std::string& key);
// Sets "item" and, likewise, "item_escaped".
void put_item(nlohmann::json& object, const std::string& item);
// Sets "namespace" and, likewise, "namespace_escaped".
void put_namespace(nlohmann::json& object, const std::string& name);
// Its settings; null: not set.
void put_policy(nlohmann::json& object, const NamespacePolicy& policy);

// What to do if a key has a counter of another kind.
inline constexpr std::string_view kAddToOtherKinds =
    "quipu add adds to a sum; distinct add, frequency add and top add to the others";
inline constexpr std::string_view kReadOtherKinds =
    "read a sum with quipu get, others with distinct count, frequency query or top list; a maximum "
    "only with QUIPU.MAX, as a Redis client";

// Like status.message(), with advice for a person at a command line.
// `other_kind`: what to do if a key has a counter of another kind.
[[nodiscard]] std::string message_of(const Status& status, std::string_view other_kind = {});
// Warnings about an answer that a plain number cannot show. Empty: there are none.
[[nodiscard]] std::string caveat(bool complete, std::optional<std::chrono::milliseconds> age);
// Sets "exists", "complete", "age_ms" and "caveat", if there is an answer. Else they are null, and
// there is no caveat.
struct Answered {
  bool exists = false;
  bool complete = false;
  std::optional<std::chrono::milliseconds> age{};
};
void put_answer(nlohmann::json& object, const std::optional<Answered>& answer);
template <class Reading>
[[nodiscard]] std::optional<Answered> answered(const Result<Reading>& reading) {
  if (!reading.ok()) return std::nullopt;
  return Answered{reading->exists, reading->complete, reading->age};
}
// The outcome of a part, for a document: sets "code", "outcome" and "message".
void put_status(nlohmann::json& object, const Status& status);
// A new document, with the name of its command and its outcome.
[[nodiscard]] nlohmann::json document(std::string_view command, const Status& status = {});

// "850 ms", "3.2 s", "4 min"; "unknown" if there is none.
[[nodiscard]] std::string for_people(std::optional<std::chrono::milliseconds> duration);
// "1,234,567"
[[nodiscard]] std::string for_people(std::uint64_t number);

// Rows in columns. All cells but the last are padded.
class Table {
 public:
  explicit Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace quipu::cli
