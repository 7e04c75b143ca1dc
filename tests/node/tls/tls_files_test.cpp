#include "node/tls/tls_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/node/temporary_directory.h"
#include "tests/node/tls/test_certificates.h"

namespace quipu::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

void fill(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  std::filesystem::permissions(path, std::filesystem::perms(0600));
}

class TlsFilesTest : public testing::Test {
 protected:
  void SetUp() override { put(ca_.issue()); }
  void put(const KeyPair& pair) {
    fill(paths_.certificate, pair.certificate);
    fill(paths_.key, pair.key);
  }
  std::unique_ptr<TlsFiles> open(const TlsPaths& paths) {
    const Log log([this](LogLevel level, std::string_view message, std::string_view fields) {
      if (level >= LogLevel::warning) log_.append(message).append(" ").append(fields).append("\n");
    });
    auto files = TlsFiles::open(paths, log);
    EXPECT_TRUE(files.ok()) << files.status().detail();
    return files.ok() ? std::move(*files) : nullptr;
  }
  std::string why_not(const TlsPaths& paths) {
    const auto files = TlsFiles::open(paths, Log());
    return files.ok() ? "it opened" : files.status().detail();
  }

  const TemporaryDirectory directory_;
  const TestCa ca_;
  const TlsPaths paths_{.certificate = directory_ / "n.crt", .key = directory_ / "n.key"};
  const std::string secret_ = directory_ / "cluster.secret";
  std::string log_;
  Instant now_{1h};
};

TEST_F(TlsFilesTest, KeepWhatTheyHadWhileAFileIsWrong) {
  const auto files = open(paths_);
  std::size_t told = 0;
  files->on_change([&](const TlsFiles::Material&) { ++told; });
  const TlsFiles::Material first = files->material();
  files->look(now_);
  EXPECT_EQ(files->material(), first) << "nothing has changed";

  for (const KeyPair& wrong :
       {KeyPair{"no PEM", "no PEM"}, ca_.issue({.until = -1s}), ca_.issue({.from = 1h})}) {
    put(wrong);
    files->look(now_);
    EXPECT_EQ(files->material(), first);
    EXPECT_THAT(log_, HasSubstr(paths_.certificate));
    log_.clear();
  }
  EXPECT_EQ(files->refused(), 3u);
  EXPECT_EQ(std::remove(paths_.key.c_str()), 0);
  EXPECT_EQ(files->read_again(now_).code(), Code::invalid_argument);

  const KeyPair next = ca_.issue();
  put(next);
  files->look(now_);
  EXPECT_EQ(files->material()->own.certificate, next.certificate);
  EXPECT_EQ(told, 1u);
}

TEST_F(TlsFilesTest, AreTriedAgainForAMinuteIfTheKeyDoesNotFitYet) {
  const auto files = open(paths_);
  const TlsFiles::Material first = files->material();
  const KeyPair next = ca_.issue();
  fill(paths_.certificate, next.certificate);  // … and the key later
  for (const auto after : {0s, 10s, 49s}) {
    now_ += after;
    files->look(now_);
  }
  EXPECT_EQ(files->read_again(now_).code(), Code::unavailable);
  EXPECT_EQ(log_, "");
  EXPECT_EQ(files->refused(), 0u);
  now_ += 2s;
  files->look(now_);
  files->look(now_);
  EXPECT_EQ(files->refused(), 1u) << "once";
  EXPECT_THAT(log_, HasSubstr("do not match"));
  EXPECT_EQ(files->material(), first);
  fill(paths_.key, next.key);
  files->look(now_);
  EXPECT_EQ(files->material()->own.certificate, next.certificate);
}

TEST_F(TlsFilesTest, WarnOfACertificateThatOtherMembersRefuse) {
  fill(directory_ / "ca.crt", ca_.certificate());
  TlsPaths paths{.certificate = paths_.certificate,
                 .key = paths_.key,
                 .peer_ca = directory_ / "ca.crt",
                 .peer_host = "localhost"};
  (void)open(paths);
  EXPECT_EQ(log_, "");
  paths.peer_host = "n1.example";
  (void)open(paths);
  EXPECT_THAT(log_, AllOf(HasSubstr("n.crt"), HasSubstr("n1.example")));
}

TEST_F(TlsFilesTest, AreTriedAgainWhileTheyAreWrong) {
  const auto files = open(paths_);
  const KeyPair next = ca_.issue();
  put(next);
  std::filesystem::rename(paths_.key, directory_ / "away");
  files->look(now_);
  files->look(now_);
  EXPECT_EQ(files->refused(), 1u) << "the same again is not counted";
  std::filesystem::rename(directory_ / "away", paths_.key);
  files->look(now_);
  EXPECT_EQ(files->material()->own.certificate, next.certificate);
}

TEST_F(TlsFilesTest, NameTheFileThatCannotBeUsed) {
  EXPECT_THAT(why_not({.certificate = directory_ / "none", .key = paths_.key}),
              AllOf(HasSubstr("/none"), HasSubstr("cannot be read")));
  fill(directory_ / "empty", "");
  EXPECT_THAT(why_not({.certificate = directory_ / "empty", .key = paths_.key}),
              AllOf(HasSubstr("/empty"), HasSubstr("is empty")));
  EXPECT_THAT(
      why_not({.certificate = paths_.certificate, .key = paths_.key, .client_ca = paths_.key}),
      HasSubstr("client_ca"));
  EXPECT_THAT(
      why_not({.certificate = paths_.certificate, .key = paths_.key, .peer_ca = paths_.key}),
      HasSubstr("peer_ca"));
  put(ca_.issue({.until = -1s}));
  EXPECT_THAT(why_not(paths_), AllOf(HasSubstr("n.crt"), HasSubstr("has expired")));
  fill(secret_, "short\n");
  EXPECT_THAT(why_not({.cluster_secret = secret_}),
              AllOf(HasSubstr("cluster.secret"), HasSubstr("quipu secret")));
}

TEST_F(TlsFilesTest, SayUntilWhenTheyAreValid) {
  put(ca_.issue({.until = 48h}));
  const std::string ca = directory_ / "ca.crt";
  fill(ca, ca_.certificate());
  const auto files = open({.certificate = paths_.certificate, .key = paths_.key, .peer_ca = ca});
  const auto& expiries = files->material()->expiries;
  ASSERT_EQ(expiries.size(), 2u);
  EXPECT_STREQ(expiries[0].file, "certificate");
  const auto in = expiries[0].at - std::chrono::system_clock::now();
  EXPECT_GT(in, 47h);
  EXPECT_LE(in, 48h);
  EXPECT_STREQ(expiries[1].file, "peer_ca");
}

TEST_F(TlsFilesTest, WarnOfASecretThatOthersMayRead) {
  fill(secret_, std::string(64, 'a') + "\n");
  std::filesystem::permissions(secret_, std::filesystem::perms(0600));
  (void)open({.cluster_secret = secret_});
  EXPECT_EQ(log_, "");
  std::filesystem::permissions(secret_, std::filesystem::perms(0644));
  (void)open({.cluster_secret = secret_});
  EXPECT_THAT(log_,
              AllOf(HasSubstr("cluster.secret"), HasSubstr("others on this machine may read")));
}

TEST_F(TlsFilesTest, WarnOfACertificateThatExpiresSoon) {
  put(ca_.issue({.from = -24h * 60, .until = 24h * 15}));
  (void)open(paths_);
  EXPECT_EQ(log_, "");
  put(ca_.issue({.from = -24h * 60, .until = 24h * 13}));
  const auto files = open(paths_);
  EXPECT_THAT(log_, AllOf(HasSubstr("n.crt"), HasSubstr("expires on 20")));
  log_.clear();
  put(ca_.issue({.from = -1h, .until = 1h}));
  files->look(now_);
  EXPECT_EQ(log_, "") << "it was not issued for longer";
}

TEST(ClusterSecrets, AreOneOrTwoLinesOf32BytesInHex) {
  const std::string a(64, 'a'), b(64, 'B');
  struct Case {
    std::string text;
    std::size_t secrets;  // 0: refused
  };
  for (const auto& [text, secrets] : std::initializer_list<Case>{
           {a, 1},
           {a + "\n", 1},
           {a + "\r\n" + b + "\r\n", 2},
           {"\n" + a + "\n\n" + b, 2},
           {a + "\n" + b + "\n" + a, 0},
           {"", 0},
           {"\n", 0},
           {a.substr(1), 0},
           {a + "a", 0},
           {a + " " + b, 0},
           {"g" + a.substr(1), 0},
       }) {
    const auto parsed = parse_cluster_secrets(text);
    EXPECT_EQ(parsed ? parsed->size() : 0, secrets) << text;
  }
  EXPECT_EQ(parse_cluster_secrets(b)->front()[31], 0xbb);
}

}  // namespace
}  // namespace quipu::test
