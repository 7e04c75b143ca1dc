#include "node/base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "node/base/stderr_log.h"
#include "tests/node/temporary_directory.h"

namespace quipu::test {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string logfmt(std::string value) {
  const std::array fields{LogField{"k", std::move(value)}};
  return to_logfmt(fields);
}

TEST(Logfmt, QuotesWhatIsNoPlainWord) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"plain", "k=plain"},
      {"127.0.0.1:7400", "k=127.0.0.1:7400"},
      {"", R"(k="")"},
      {"two words", R"(k="two words")"},
      {"a=b", R"(k="a=b")"},
      {R"(say "hi")", R"(k="say \"hi\"")"},
      {R"(back\slash)", R"(k="back\\slash")"},
      {"line\nbreak\r\ttab", R"(k="line\nbreak\r\ttab")"},
      {std::string("\0\x1b\x7f", 3), R"(k="\x00\x1b\x7f")"},
      {"Grüße", "k=Grüße"},
  };
  for (const auto& [value, line] : cases) EXPECT_EQ(logfmt(value), line);
}

TEST(Logfmt, AForgedLineStaysInsideItsField) {
  const std::string line = logfmt("x\ntime=2020 level=error msg=forged");
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(parse_logfmt(line), (Pairs{{"k", "x\ntime=2020 level=error msg=forged"}}));
}

TEST(Logfmt, EveryByteSurvivesTheRoundTrip) {
  std::string every;
  for (int byte = 0; byte < 256; ++byte) every.push_back(static_cast<char>(byte));
  const std::array fields{LogField{"a", every}, LogField{"b", ""}, LogField{"c", "plain"}};
  EXPECT_EQ(parse_logfmt(to_logfmt(fields)), (Pairs{{"a", every}, {"b", ""}, {"c", "plain"}}));
}

TEST(Logfmt, ParsingEndsOnAnyText) {
  for (const char* text :
       {"", " ", "=", "a", "a=", "a=\"", "a=\"\\", "a=\"\\x", "a=\"\\xz", "=\"\"=", "a=b c"}) {
    static_cast<void>(parse_logfmt(text));
  }
}

TEST(FormatLine, LogfmtPutsTheMessageFirst) {
  EXPECT_EQ(format_line(LogFormat::logfmt, "peer is up", "peer=n2"), R"(msg="peer is up" peer=n2)");
  EXPECT_EQ(format_line(LogFormat::logfmt, "ready", ""), "msg=ready");
}

TEST(FormatLine, JsonIsValidWhateverTheFieldsHold) {
  const std::string odd = "quote \" brace } newline \n not utf-8 \xff end";
  const std::array fields{LogField{"why", odd}, LogField{"peer", "n2"}};
  const std::string line = format_line(LogFormat::json, "link \"closed\"", to_logfmt(fields));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  // stderr_log opens the object with time and level.
  const auto parsed = nlohmann::json::parse("{" + line);
  EXPECT_EQ(parsed["msg"], "link \"closed\"");
  EXPECT_EQ(parsed["peer"], "n2");
  EXPECT_EQ(parsed["why"], "quote \" brace } newline \n not utf-8 \xEF\xBF\xBD end");
}

TEST(StderrLog, WritesOneLineWithTimeAndLevelFromTheLeastLevelOn) {
  testing::internal::CaptureStderr();
  {
    const StderrLog log(LogFormat::json, LogLevel::warning);
    log.write(LogLevel::info, "too small", "");
    log.write(LogLevel::warning, "said", "n=1");
  }
  const std::string text = testing::internal::GetCapturedStderr();
  const auto line = nlohmann::json::parse(text);
  EXPECT_EQ(line["level"], "warning");
  EXPECT_EQ(line["msg"], "said");
  EXPECT_EQ(line["n"], "1");
  EXPECT_EQ(line["time"].get<std::string>().back(), 'Z');
}

TEST(StderrLog, BeginsEachLineWithItsPriorityUnderTheJournal) {
  testing::internal::CaptureStderr();
  {
    const StderrLog log(LogFormat::logfmt, LogLevel::debug, LogReader::journal);
    log.write(LogLevel::debug, "d", "");
    log.write(LogLevel::info, "i", "");
    log.write(LogLevel::warning, "w", "");
    log.write(LogLevel::error, "e", "");
  }
  std::istringstream lines(testing::internal::GetCapturedStderr());
  std::string line;
  for (const char* const begin : {"<7>time=", "<6>time=", "<4>time=", "<3>time="}) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_TRUE(line.starts_with(begin)) << line;
  }
  EXPECT_FALSE(std::getline(lines, line)) << line;
}

TEST(StderrLog, KnowsTheJournalByDeviceAndInode) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stream";
  const int stream = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(stream, 0);
  struct stat file {};
  ASSERT_EQ(::fstat(stream, &file), 0);
  const std::string device = std::to_string(file.st_dev), inode = std::to_string(file.st_ino);
  EXPECT_EQ(reader_of(stream, device + ':' + inode), LogReader::journal);
  EXPECT_EQ(reader_of(stream, device + ':' + inode + '0'), LogReader::people);
  EXPECT_EQ(reader_of(stream, inode), LogReader::people);
  EXPECT_EQ(reader_of(stream, std::nullopt), LogReader::people);
  EXPECT_EQ(reader_of(-1, device + ':' + inode), LogReader::people);
  ::close(stream);
}

TEST(StderrLog, CountsTheLinesOfEachLevel) {
  testing::internal::CaptureStderr();
  {
    const StderrLog log(LogFormat::logfmt, LogLevel::info);
    const Log::Sink sink = log.sink();
    sink(LogLevel::debug, "too small", "");
    sink(LogLevel::info, "said", "");
    log.write(LogLevel::error, "said", "");
    log.write(LogLevel::error, "said", "");
    EXPECT_EQ(log.lines(LogLevel::debug), 0u);
    EXPECT_EQ(log.lines(LogLevel::info), 1u);
    EXPECT_EQ(log.lines(LogLevel::warning), 0u);
    EXPECT_EQ(log.lines(LogLevel::error), 2u);
  }
  (void)testing::internal::GetCapturedStderr();
}

TEST(Log, WithAFieldEveryLineHasItFirst) {
  std::string said;
  const Log log([&said](LogLevel, std::string_view message, std::string_view fields) {
    said.append(message).append(": ").append(fields).append("\n");
  });
  log.with({"reactor", "1"}).info("ready");
  log.with({"reactor", "the 2nd"}).error("failed", {{"why", "x"}});
  EXPECT_EQ(said, "ready: reactor=1\nfailed: reactor=\"the 2nd\" why=x\n");
}

TEST(Log, WithoutASinkSaysNothing) { Log().error("nobody listens", {{"k", "v"}}); }

}  // namespace
}  // namespace quipu::test
