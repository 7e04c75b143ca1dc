#include "protocol/resp.h"

#include <gtest/gtest.h>

#include <cstring>

namespace quipu::test {
namespace {

using Request = std::vector<std::string>;

// All requests that are there, and how the stream ended.
struct Parsed {
  std::vector<Request> requests;
  std::string error;
};

void put(ReadBuffer& in, std::string_view bytes) {
  std::memcpy(in.prepare(bytes.size()).data(), bytes.data(), bytes.size());
  in.commit(bytes.size());
}

void drain(RespRequests& requests, ReadBuffer& in, Parsed& into) {
  while (const auto request = requests.next(in))
    into.requests.emplace_back(request->begin(), request->end());
  into.error = requests.refused();
}

Parsed parse(std::string_view bytes, std::size_t step = ~std::size_t{0}) {
  RespRequests requests;
  ReadBuffer in;
  Parsed parsed;
  for (std::size_t at = 0; at < bytes.size() && parsed.error.empty(); at += step) {
    put(in, bytes.substr(at, step));
    drain(requests, in, parsed);
    if (step >= bytes.size() - at) break;
  }
  return parsed;
}

struct Sound {
  const char* name;
  std::string bytes;
  std::vector<Request> requests;
};
class RespSound : public testing::TestWithParam<Sound> {};

TEST_P(RespSound, is_read_alike_however_it_is_cut) {
  const Sound& sound = GetParam();
  for (const std::size_t step : {std::size_t{1}, std::size_t{3}, ~std::size_t{0}}) {
    const Parsed parsed = parse(sound.bytes, step);
    EXPECT_EQ(parsed.error, "");
    EXPECT_EQ(parsed.requests, sound.requests) << "in steps of " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Resp, RespSound,
    testing::Values(
        Sound{"array", "*2\r\n$3\r\nGET\r\n$1\r\na\r\n", {{"GET", "a"}}},
        Sound{"pipeline",
              "*1\r\n$4\r\nPING\r\nGET a\r\n*1\r\n$4\r\nQUIT\r\n",
              {{"PING"}, {"GET", "a"}, {"QUIT"}}},
        Sound{"any_bytes",
              std::string("*2\r\n$3\r\nGET\r\n$4\r\n\r\n\0*\r\n", 23),
              {{"GET", std::string("\r\n\0*", 4)}}},
        Sound{"empty_word", "*2\r\n$3\r\nGET\r\n$0\r\n\r\n", {{"GET", ""}}},
        Sound{"empty_arrays", "*0\r\n*-1\r\n", {{}, {}}},
        Sound{"empty_lines", "\r\n\n  \r\nPING\n", {{}, {}, {}, {"PING"}}},
        Sound{"inline_spaces", "  GET\t a  \r\n", {{"GET", "a"}}},
        Sound{"quotes", "SET \"a b\" 'c d' x\"y\"\r\n", {{"SET", "a b", "c d", "xy"}}},
        Sound{"escapes",
              R"(GET "\x41\n\r\t\b\a\\\"\q\xzz" 'it\'s \n')"
              "\r\n",
              {{"GET", "A\n\r\t\b\a\\\"qxzz", "it's \\n"}}},
        Sound{"inline_spaces_only_between_words", "\v GET\f a\vb\fc\r\n", {{"GET\f", "a\vb\fc"}}},
        Sound{"empty_quotes", "GET \"\" ''\r\n", {{"GET", "", ""}}}),
    [](const auto& sound) { return std::string(sound.param.name); });

struct RefusedRequest {
  const char* name;
  std::string bytes;
  std::string error;
};
class RespRefused : public testing::TestWithParam<RefusedRequest> {};

TEST_P(RespRefused, has_the_text_that_redis_says) {
  EXPECT_EQ(parse(GetParam().bytes).error, GetParam().error);
  EXPECT_EQ(parse(GetParam().bytes, 1).error, GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Resp, RespRefused,
    testing::Values(
        RefusedRequest{"no_count", "*x\r\n", "invalid multibulk length"},
        RefusedRequest{"empty_count", "*\r\n", "invalid multibulk length"},
        RefusedRequest{"count_too_large", "*1048577\r\n", "invalid multibulk length"},
        RefusedRequest{"count_with_leading_zero", "*01\r\n", "invalid multibulk length"},
        RefusedRequest{"length_with_leading_zero", "*1\r\n$04\r\n", "invalid bulk length"},
        RefusedRequest{"count_overflows", "*99999999999999999999\r\n", "invalid multibulk length"},
        RefusedRequest{"endless_count", "*" + std::string(40, '1'), "too big mbulk count string"},
        RefusedRequest{"no_word", "*1\r\n:1\r\n", "expected '$', got ':'"},
        RefusedRequest{"negative_word", "*1\r\n$-1\r\n", "invalid bulk length"},
        RefusedRequest{"word_too_long", "*1\r\n$1048577\r\n", "invalid bulk length"},
        RefusedRequest{"request_too_long", "*2\r\n$3\r\nGET\r\n$1048570\r\n",
                       "a request has more than 1048576 bytes"},
        RefusedRequest{"endless_length", "*1\r\n$" + std::string(40, '1'),
                       "too big bulk count string"},
        RefusedRequest{"open_quote", "GET \"a\r\n", "unbalanced quotes in request"},
        RefusedRequest{"text_behind_quote", "GET \"a\"b\r\n", "unbalanced quotes in request"},
        RefusedRequest{"endless_line", std::string(kMaxRespInline + 1, 'a'),
                       "too big inline request"}),
    [](const auto& refused) { return std::string(refused.param.name); });

TEST(Resp, WaitsForTheRestOfWhatIsCutAnywhere) {
  const std::string bytes = "*2\r\n$3\r\nGET\r\n$5\r\nlikes\r\n";
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Parsed parsed = parse(std::string_view(bytes).substr(0, size));
    EXPECT_EQ(parsed.error, "") << size;
    EXPECT_TRUE(parsed.requests.empty()) << size;
  }
}

TEST(Resp, TheLongestRequestIsRead) {
  const std::size_t word = kMaxRespRequest - std::string_view("*1\r\n$1048560\r\n\r\n").size();
  const std::string bytes =
      "*1\r\n$" + std::to_string(word) + "\r\n" + std::string(word, 'k') + "\r\n";
  ASSERT_EQ(bytes.size(), kMaxRespRequest);
  EXPECT_EQ(parse(bytes).requests, std::vector<Request>{{std::string(word, 'k')}});
}

std::string written(RespWriter::Version version, void (*write)(RespWriter&)) {
  std::string out;
  RespWriter writer(out, version);
  write(writer);
  return out;
}

struct Written {
  const char* name;
  void (*write)(RespWriter&);
  const char* resp2;
  const char* resp3;
};
class RespWritten : public testing::TestWithParam<Written> {};

TEST_P(RespWritten, in_both_versions) {
  EXPECT_EQ(written(RespWriter::Version::resp2, GetParam().write), GetParam().resp2);
  EXPECT_EQ(written(RespWriter::Version::resp3, GetParam().write), GetParam().resp3);
}

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

INSTANTIATE_TEST_SUITE_P(
    Resp, RespWritten,
    testing::Values(
        Written{"simple", [](RespWriter& to) { to.simple("OK"); }, "+OK\r\n", "+OK\r\n"},
        Written{"error", [](RespWriter& to) { to.error("ERR a\r\nb"); }, "-ERR a  b\r\n",
                "-ERR a  b\r\n"},
        Written{"integer", [](RespWriter& to) { to.integer(kLeast); }, ":-9223372036854775808\r\n",
                ":-9223372036854775808\r\n"},
        Written{"bulk", [](RespWriter& to) { to.bulk("a\r\n"); }, "$3\r\na\r\n\r\n",
                "$3\r\na\r\n\r\n"},
        Written{"number", [](RespWriter& to) { to.bulk(std::int64_t{-42}); }, "$3\r\n-42\r\n",
                "$3\r\n-42\r\n"},
        Written{"longest_number", [](RespWriter& to) { to.bulk(kLeast); },
                "$20\r\n-9223372036854775808\r\n", "$20\r\n-9223372036854775808\r\n"},
        Written{"verbatim", [](RespWriter& to) { to.verbatim("ab"); }, "$2\r\nab\r\n",
                "=6\r\ntxt:ab\r\n"},
        Written{"boolean", [](RespWriter& to) { to.boolean(true); }, ":1\r\n", "#t\r\n"},
        Written{"null", [](RespWriter& to) { to.null(); }, "$-1\r\n", "_\r\n"},
        Written{"array", [](RespWriter& to) { to.array(2); }, "*2\r\n", "*2\r\n"},
        Written{"set", [](RespWriter& to) { to.set(2); }, "*2\r\n", "~2\r\n"},
        Written{"map", [](RespWriter& to) { to.map(2); }, "*4\r\n", "%2\r\n"}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace quipu::test
