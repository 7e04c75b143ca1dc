// The metrics of a real cluster, as a monitoring system scrapes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/node/eventually.h"
#include "tests/system/admin_client.h"
#include "tests/system/cli_runner.h"
#include "tests/system/daemons.h"
#include "tests/system/free_ports.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

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
  if (run({"which", "promtool"}).exit_code != 0) GTEST_SKIP() << "promtool is not installed";
  const TemporaryDirectory directory;
  std::ofstream(directory / "scrape") << client_.page("/metrics");
  const Finished checked = run({"sh", "-c", "promtool check metrics < " + (directory / "scrape")});
  EXPECT_EQ(checked.exit_code, 0);
  EXPECT_THAT(checked.out + checked.err, IsEmpty());
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
