// protocol/README.md, held against the code, so that it cannot go stale.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/protocol/messages.h"

namespace quipu::test {
namespace {

std::string readme() {
  const std::ifstream file("protocol/README.md");  // tests run in the project's root
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The bytes of the dump behind <!-- name -->: lines of "offset  hex bytes   remark".
std::string dump(const std::string& name) {
  std::istringstream text(readme());
  std::string line, bytes;
  while (std::getline(text, line) && line != "<!-- " + name + " -->") continue;
  std::getline(text, line);  // the opening fence
  while (std::getline(text, line) && line != "```") {
    EXPECT_EQ(std::stoul(line.substr(0, 4), nullptr, 16), bytes.size()) << line;
    std::istringstream hex(line.substr(6, 24));
    for (std::string byte; hex >> byte;) {
      bytes.push_back(static_cast<char>(std::stoul(byte, nullptr, 16)));
    }
  }
  return bytes;
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    static constexpr char kDigits[] = "0123456789abcdef";
    const auto value = static_cast<unsigned char>(byte);
    text.append({kDigits[value >> 4], kDigits[value & 15], ' '});
  }
  return text;
}

const char* words(Outcome outcome) {
  switch (outcome) {
    case Outcome::applied:
      return "applied";
    case Outcome::not_applied:
      return "not applied";
    case Outcome::unknown:
      return "unknown";
  }
  return "";
}

TEST(Readme, shows_the_bytes_of_an_add) {
  const Op op{.id = 1,
              .key = "likes:42",
              .amount = 5,
              .token = {StoreId{0x1122334455667788}, Serial{3}, 7, 6},
              .shard = 0};
  EXPECT_EQ(hex(dump("op")), hex(encoded(ClientMessage(op))));
}

TEST(Readme, shows_the_bytes_of_its_answer) {
  EXPECT_EQ(hex(dump("done")), hex(encoded(ClientMessage(Done{.id = 1, .usable = 1}))));
}

// The rows of all tables whose first cell is a number, by cell.
std::vector<std::vector<std::string>> numbered_rows(std::size_t width) {
  std::istringstream text(readme());
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with("| ") || line.find_first_of("0123456789") != 2) continue;
    std::vector<std::string> cells;
    for (std::size_t at = 2, end; (end = line.find('|', at)) != std::string::npos; at = end + 2) {
      const std::string cell = line.substr(at, end - at);
      cells.push_back(cell.substr(0, cell.find_last_not_of(' ') + 1));
    }
    if (cells.size() == width) rows.push_back(std::move(cells));
  }
  return rows;
}

TEST(Readme, lists_every_code_as_it_is) {
  const auto rows = numbered_rows(4);
  ASSERT_EQ(rows.size(), std::size_t{static_cast<std::uint16_t>(Code::not_permitted)} + 1);
  for (std::uint16_t number = 0; number < rows.size(); ++number) {
    const CodeInfo& info = describe(Code{number});
    EXPECT_EQ(rows[number],
              (std::vector<std::string>{std::to_string(number), "`" + std::string(info.name) + "`",
                                        words(info.outcome), std::string(info.advice)}));
  }
}

// Type number → table, by what the samples are encoded as.
std::map<int, std::string> types_in_use() {
  std::map<int, std::string> types;
  for (const Sample& sample : all_messages()) {
    const auto type = static_cast<int>(type_of_frame(encoded(sample.message)));
    types.emplace(type, name_of(sample.message));
  }
  return types;
}

TEST(Readme, lists_every_frame_type) {
  std::map<int, std::string> listed;
  for (const auto& row : numbered_rows(3)) {
    listed.emplace(std::stoi(row[0]), row[1]);
  }
  EXPECT_EQ(listed, types_in_use());
}

TEST(FrameDecoder, knows_the_types_that_are_listed_and_no_others) {
  const std::map<int, std::string> types = types_in_use();
  for (int type = 0; type <= 0xffff; ++type) {
    std::string header("\xfe\2\0\0\0\0\0\0", 8);
    header[2] = static_cast<char>(type & 0xff);
    header[3] = static_cast<char>(type >> 8);
    FrameDecoder decoder;
    feed(decoder, header + std::string(8, '\0'));
    const std::string detail = decoder.next().status().detail();
    EXPECT_EQ(detail == "frame of unknown type " + std::to_string(type), !types.contains(type));
  }
}

}  // namespace
}  // namespace quipu::test
