// output.h: how `quipu` speaks: data on stdout, diagnostics on stderr, nothing that
// a key could do to a terminal. With `--output json` there is one document on stdout,
// whatever happened; README.md beside this file describes them all.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// With control and invisible characters, backslashes and what is not UTF-8 escaped (\x1b),
// so that it stays one line and plain, and no two keys differ only in what cannot be seen.
[[nodiscard]] std::string printable(std::string_view bytes);
// Sets "value", and "value_text" for readers that hold no whole 64 bits; nulls if there is none.
void put_value(nlohmann::json& object, std::optional<std::int64_t> value);
// Sets "key"; and if its bytes must be replaced there, "key_escaped" as printable().
void put_key(nlohmann::json& object, const std::string& key);

// As status.message(), with what somebody at a command line can do.
[[nodiscard]] std::string message_of(const Status& status);
// How something ended, for a document: sets "code", "outcome" and "message".
void put_status(nlohmann::json& object, const Status& status);
// A document that so far says which command it is of, and how that ended.
[[nodiscard]] nlohmann::json document(std::string_view command, const Status& status = {});

// "850 ms", "3.2 s", "4 min"; "unknown" if there is none.
[[nodiscard]] std::string for_people(std::optional<std::chrono::milliseconds> duration);
// "1,234,567"
[[nodiscard]] std::string for_people(std::uint64_t number);

// Rows in columns; all but the last padded.
class Table {
 public:
  explicit Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace quipu::cli
