// The metrics of a real cluster, as a monitoring system scrapes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <asio/ip/udp.hpp>
#include <csignal>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/node/eventually.h"
#include "tests/node/tls/test_certificates.h"
#include "tests/system/admin_client.h"
#include "tests/system/cli_runner.h"
#include "tests/system/daemons.h"
#include "tests/system/free_ports.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class MetricsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(daemons_.settings(0), std::ios::app)
        << "[admin]\naddress = \"127.0.0.1:" << port_ << "\"\n";
    daemons_.start_all();
    ASSERT_TRUE(daemons_.all_ready());
    for (const char* const level : {"memory", "disk", "quorum"})
      ASSERT_EQ(run_cli({"add", "hidden-name", "1", "--ack", level},
                        {.nodes = {daemons_.client_address(0)}})
                    .exit,
                0);
    ASSERT_TRUE(eventually([this] {
      const std::string page = client_.page("/metrics");
      return has(page, "quipu_counters 1") && has(page, "quipu_ready 1") &&
             page.find("quipu_peer_round_trip_seconds{peer=\"n3\"}") != std::string::npos &&
             page.find("quipu_disk_free_bytes ") != std::string::npos;
    })) << client_.page("/metrics");
  }

  [[nodiscard]] static bool has(const std::string& page, const std::string& line) {
    return page.find('\n' + line + '\n') != std::string::npos;
  }

  const int port_ = free_ports(1).front();
  Daemons daemons_{3};
  AdminClient client_{port_};
};

TEST_F(MetricsTest, SatisfyPromtool) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "scrape") << client_.page("/metrics");
  const Finished checked = run({"sh", "-c", "promtool check metrics < " + (directory / "scrape")});
  EXPECT_EQ(checked.exit_code, 0);
  EXPECT_THAT(checked.out + checked.err, IsEmpty());
}

TEST_F(MetricsTest, HaveAllThatTheAlertsAndTheDashboardAskFor) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "scrape") << client_.page("/metrics");
  const Finished compared = run({"tests/monitoring/run", "--scrape", directory / "scrape"});
  EXPECT_EQ(compared.exit_code, 0) << compared.out << compared.err;
}

TEST_F(MetricsTest, AreFewAndNameNoCounter) {
  const std::string page = client_.page("/metrics");
  EXPECT_THAT(page, Not(HasSubstr("hidden-name")));
  EXPECT_THAT(client_.get("/metrics"),
              HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  std::istringstream lines(page);
  std::size_t series = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.front() != '#') ++series;
  }
  EXPECT_LE(series, 600u);
  EXPECT_GE(series, 40u);
  for (const char* const peer : {"n2", "n3"})
    EXPECT_TRUE(has(page, std::string("quipu_peer_up{peer=\"") + peer + "\"} 1")) << page;
}

TEST_F(MetricsTest, DescribeTheProcessAsPrometheussOwnClientsDo) {
  const std::string page = client_.page("/metrics");
  const auto value = [&page](const std::string& name) {
    const std::size_t at = page.find('\n' + name + ' ');
    return at == std::string::npos ? -1 : std::stod(page.substr(at + name.size() + 2));
  };
  EXPECT_GT(value("process_cpu_seconds_total"), 0);
  EXPECT_GT(value("process_open_fds"), 10);
  EXPECT_GE(value("process_max_fds"), value("process_open_fds"));
  EXPECT_GT(value("process_resident_memory_bytes"), 1e6);
  EXPECT_GT(value("process_virtual_memory_bytes"), value("process_resident_memory_bytes"));
  const auto now = static_cast<double>(std::time(nullptr));
  EXPECT_GT(value("process_start_time_seconds"), now - 300);
  EXPECT_LE(value("process_start_time_seconds"), now + 2);
}

TEST_F(MetricsTest, CountTheLinesOfTheLog) {
  const std::string page = client_.page("/metrics");
  EXPECT_TRUE(has(page, "quipu_log_lines_total{level=\"error\"} 0")) << page;
  EXPECT_FALSE(has(page, "quipu_log_lines_total{level=\"info\"} 0")) << page;
}

TEST_F(MetricsTest, HaveAStatusBesideThemThatSaysWhatTheCommandLineSays) {
  ASSERT_TRUE(eventually([this] {
    const std::string page = client_.page("/api/v1/status");
    return page.find("\"counters\":1,") != std::string::npos;
  }));
  const std::string page = client_.page("/api/v1/status");
  EXPECT_THAT(page, Not(HasSubstr("hidden-name")));
  EXPECT_THAT(client_.get("/api/v1/status"), HasSubstr("Content-Type: application/json\r\n"));
  const nlohmann::json own = nlohmann::json::parse(page);
  ASSERT_EQ(own.at("members").size(), 1u);
  const nlohmann::json told = nlohmann::json::parse(
      run_cli({"cluster", "status", "-o", "json"}, {.nodes = {daemons_.client_address(0)}}).out);
  const nlohmann::json& member = told.at("members").at(0);
  for (const auto& [key, value] : own.at("members").at(0).items()) {
    ASSERT_TRUE(member.contains(key)) << key;
    EXPECT_EQ(member.at(key).type_name(), std::string(value.type_name())) << key;
    const bool varies = key == "peers" || key == "stats" || key == "clock_ms";
    if (!varies) {
      EXPECT_EQ(member.at(key), value) << key;
    }
  }
  const auto names = [](const nlohmann::json& of) {
    std::vector<std::string> all;
    for (const auto& [key, value] : of.items()) all.push_back(key);
    return all;
  };
  const nlohmann::json& mine = own.at("members").at(0);
  EXPECT_EQ(names(mine.at("stats")), names(member.at("stats")));
  EXPECT_EQ(names(mine.at("peers").at(1)), names(member.at("peers").at(1)));
}

// A page in the operator's browser may give its own name the address 127.0.0.1.
TEST_F(MetricsTest, AreNotForPagesOfOtherSitesInTheBrowser) {
  for (const std::string path : {"/metrics", "/api/v1/status"}) {
    EXPECT_THAT(client_.get(path, "rebound.example.com"), StartsWith("HTTP/1.1 403 ")) << path;
    EXPECT_THAT(client_.get(path, ""), StartsWith("HTTP/1.1 403 ")) << path;
    EXPECT_THAT(client_.get(path, "127.0.0.1:" + std::to_string(port_)),
                StartsWith("HTTP/1.1 200 "))
        << path;
  }
  EXPECT_THAT(client_.get("/livez", "rebound.example.com"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(client_.get("/readyz", "rebound.example.com"), StartsWith("HTTP/1.1 200 "));
}

// An address of this machine that is not loopback; none: it has none. Nothing is sent.
std::optional<asio::ip::address> own_address() {
  asio::io_context io;
  asio::ip::udp::socket socket(io);
  asio::error_code failed;
  socket.connect({asio::ip::make_address("192.0.2.1"), 9}, failed);
  const asio::ip::address own = failed ? asio::ip::address() : socket.local_endpoint().address();
  return own.is_loopback() || own.is_unspecified() ? std::nullopt : std::optional(own);
}

TEST(AdminPortOnOtherAddresses, TellsTheStatusOnlyWithInsecure) {
  const auto address = own_address();
  if (!address) GTEST_SKIP() << "this machine has no other address";
  const TemporaryDirectory directory;
  const TestCa ca;
  const KeyPair pair = ca.issue({.names = "IP:127.0.0.1,IP:" + address->to_string()});
  std::ofstream(directory / "ca.crt") << ca.certificate();
  std::ofstream(directory / "n.crt") << pair.certificate;
  std::ofstream(directory / "n.key") << pair.key;
  for (const bool insecure : {false, true}) {
    const std::string port = std::to_string(free_ports(1).front());
    Daemons daemons(1, std::string(insecure ? "insecure = true\n" : "") +
                           "[admin]\nopen_metrics = true\naddress = \"0.0.0.0:" + port +
                           "\"\n[tls]\ncertificate = \"" + (directory / "n.crt") + "\"\nkey = \"" +
                           (directory / "n.key") + "\"\n");
    daemons.start(0);
    ASSERT_TRUE(daemons.all_ready());
    const auto answer = [&](const std::string& host, const std::string& path) {
      return run({"curl", "-si", "--cacert", directory / "ca.crt",
                  "https://" + host + ':' + port + path})
          .out;
    };
    EXPECT_THAT(answer(address->to_string(), "/metrics"), StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(answer(address->to_string(), "/api/v1/status"),
                StartsWith(insecure ? "HTTP/1.1 200 " : "HTTP/1.1 403 "));
    EXPECT_THAT(answer("127.0.0.1", "/api/v1/status"), StartsWith("HTTP/1.1 200 "));
  }
}

TEST_F(MetricsTest, TellThatTheNodeDrains) {
  EXPECT_TRUE(has(client_.page("/metrics"), "quipu_draining 0"));
  EXPECT_EQ(daemons_.end(0, SIGINT), 0);
  std::string settings = read_file(daemons_.settings(0));
  const std::string none = "drain_delay_ms = 0";
  settings.replace(settings.find(none), none.size(), "drain_delay_ms = 600000");
  std::ofstream(daemons_.settings(0)) << settings;
  daemons_.start(0);
  ASSERT_TRUE(eventually([this] { return has(client_.page("/metrics"), "quipu_ready 1"); }));
  daemons_.signal(0, SIGTERM);
  EXPECT_TRUE(eventually([this] { return has(client_.page("/metrics"), "quipu_draining 1"); }));
}

}  // namespace
}  // namespace quipu::test
