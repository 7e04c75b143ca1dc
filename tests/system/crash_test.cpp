// Real processes, really killed.
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <filesystem>

#include "tests/node/eventually.h"
#include "tests/system/client_load.h"
#include "tests/system/daemons.h"
#include "tests/system/resp_pipeline.h"

namespace quipu::test {
namespace {

TEST(Crash, KillingTheOnlyNodeUnderLoadLosesNoAckedAddAndDoublesNone) {
  Daemons daemons(1);
  daemons.start_all();
  ASSERT_TRUE(daemons.all_ready());
  const auto client = connect({daemons.client_address(0)});
  ClientLoad load(*client, "likes:crash", Ack::disk);
  for (int round = 1; round <= 3; ++round) {
    const std::int64_t before = load.counted();
    ASSERT_TRUE(eventually([&] { return load.counted() > before + 500; }));
    EXPECT_EQ(daemons.end(0, SIGKILL), 128 + SIGKILL);
    daemons.start(0);
  }
  const std::int64_t after = load.counted();
  ASSERT_TRUE(eventually([&] { return load.counted() > after + 500; }));
  ASSERT_TRUE(load.stop());
  EXPECT_EQ(load.doubtful(), 0) << "the store is there, so every outcome can be found out";
  const auto reading = client->counter("likes:crash").read();
  ASSERT_TRUE(reading.ok()) << reading.status().message();
  EXPECT_EQ(reading->value, load.counted());
}

// A Redis client's INCRs, a pipeline of 32 that is never empty.
class RespLoad {
 public:
  RespLoad(const std::string& address, const std::string& key)
      : request_("INCR " + key), client_({address}, 0, std::chrono::seconds(30)) {
    for (int i = 0; i < 32; ++i) add();
  }
  // No more requests; what is open ends.
  [[nodiscard]] bool stop() {
    stopping_ = true;
    return eventually([this] { return open_ == 0; }, std::chrono::seconds(60));
  }
  [[nodiscard]] std::int64_t counted() const { return counted_; }
  [[nodiscard]] std::int64_t doubtful() const { return doubtful_; }

 private:
  // Until it is connected, it tries again; once the node has died, it does not.
  void add() {
    ++open_;
    client_.ask({{request_, [this](RespPipeline::Fate fate, std::string_view reply) {
                    if (reply.starts_with(':')) ++counted_;
                    if (fate == RespPipeline::Fate::unknown || reply.starts_with("-INDOUBT"))
                      ++doubtful_;
                    const bool connected = fate == RespPipeline::Fate::replied;
                    if (!stopping_ && (connected || counted_ == 0)) add();
                    --open_;
                  }}});
  }
  const std::string request_;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> open_ = 0;
  std::atomic<std::int64_t> counted_ = 0, doubtful_ = 0;
  RespPipeline client_;
};

// A reply that comes before its record is durable is lost in one of two such kills.
TEST(Crash, KillingANodeLosesNoAddThatARedisClientWasAnswered) {
  Daemons daemons(1);
  daemons.start_all();
  ASSERT_TRUE(daemons.all_ready());
  const std::string node = daemons.client_address(0);
  std::int64_t counted = 0, doubtful = 0;
  for (int round = 1; round <= 10; ++round) {
    RespLoad load(node, "likes:resp");
    ASSERT_TRUE(eventually([&] { return load.counted() > 200; }));
    EXPECT_EQ(daemons.end(0, SIGKILL), 128 + SIGKILL);
    ASSERT_TRUE(load.stop());
    counted += load.counted();
    doubtful += load.doubtful();
    daemons.start(0);
    ASSERT_TRUE(daemons.all_ready());
    const auto reading = connect({node})->counter("likes:resp").read();
    ASSERT_TRUE(reading.ok()) << reading.status().message();
    ASSERT_GE(reading->value, counted) << "lost in round " << round;
    ASSERT_LE(reading->value, counted + doubtful);
  }
}

TEST(Crash, AllThreeNodesKilledAtOnceComeBackWithEveryAckedAdd) {
  Daemons daemons(3);
  daemons.start_all();
  ASSERT_TRUE(daemons.all_ready());
  const auto client =
      connect({daemons.client_address(0), daemons.client_address(1), daemons.client_address(2)});
  // A strong read owes us the adds that a majority has; what one disk has may be younger than its
  // majority.
  ClientLoad load(*client, "likes:all", Ack::quorum);
  ASSERT_TRUE(eventually([&] { return load.counted() > 1000; }));
  for (std::size_t i = 0; i < 3; ++i) daemons.signal(i, SIGKILL);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(daemons.end(i, SIGKILL), 128 + SIGKILL);
  daemons.start_all();
  const std::int64_t before = load.counted();
  ASSERT_TRUE(eventually([&] { return load.counted() > before + 1000; }));
  ASSERT_TRUE(load.stop());
  EXPECT_EQ(load.doubtful(), 0);
  const auto reading = client->counter("likes:all").read({.level = ReadLevel::strong});
  ASSERT_TRUE(reading.ok()) << reading.status().message();
  EXPECT_EQ(reading->value, load.counted());
}

TEST(Crash, AQuorumAddNeedsNoAckOfAPausedNodeWhichCatchesUp) {
  Daemons daemons(3);
  daemons.start_all();
  ASSERT_TRUE(daemons.all_ready());
  daemons.pause(2);
  const auto client = connect({daemons.client_address(0), daemons.client_address(1)});
  for (int i = 0; i < 200; ++i)
    ASSERT_TRUE(client->counter("paused").add(1, {.ack = Ack::quorum}).ok());
  daemons.signal(2, SIGCONT);
  const auto late = connect({daemons.client_address(2)});
  EXPECT_TRUE(eventually([&] {
    const auto reading = late->counter("paused").read();
    return reading.ok() && reading->value == 200 && reading->complete;
  }));
}

TEST(Crash, ANodeThatMissedTenThousandAddsIsRepairedWithABoundedOutbox) {
  Daemons daemons(3, "outbox_shards = 100\n");
  daemons.start_all();
  ASSERT_TRUE(daemons.all_ready());
  daemons.end(2, SIGKILL);
  const auto client = connect({daemons.client_address(0)});
  constexpr int kKeys = 10'000;
  std::atomic<int> counted = 0, answered = 0;
  for (int i = 0; i < kKeys; ++i) {
    client->counter("missed:" + std::to_string(i))
        .add(i, {.timeout = std::chrono::seconds(30)}, [&](const Status& status) {
          if (status.ok()) ++counted;
          ++answered;
        });
  }
  ASSERT_TRUE(eventually([&] { return answered == kKeys; }, std::chrono::seconds(60)));
  ASSERT_EQ(counted, kKeys);
  EXPECT_GT(daemons.stat(0, "outboxes_lost"), 0U);

  daemons.start(2);
  const auto late = connect({daemons.client_address(2)});
  EXPECT_TRUE(
      eventually([&] { return daemons.stat(2, "shards") == kKeys; }, std::chrono::seconds(40)));
  EXPECT_GE(daemons.stat(2, "repair_shards"), static_cast<std::uint64_t>(kKeys) / 2);
  for (int i = 0; i < kKeys; i += 997) {
    const auto reading = late->counter("missed:" + std::to_string(i)).read();
    ASSERT_TRUE(reading.ok());
    EXPECT_EQ(reading->value, i);
  }
}

// n3's disk A is replaced by B, and then comes back.
TEST(Rebuild, AStoreThatWasOnceRebuiltAndIsNowReplacedIsRebuiltAgain) {
  namespace fs = std::filesystem;
  Daemons daemons(3);
  const auto restart_third = [&](const std::vector<std::string>& flags) {
    daemons.start(2, flags);
    return eventually([&] { return daemons.state(2) == "ready"; });
  };
  daemons.start_all();
  ASSERT_TRUE(daemons.all_ready());
  daemons.end(2, SIGTERM);
  ASSERT_TRUE(restart_third({"--rebuild"}));
  daemons.end(2, SIGTERM);
  const std::string disk = daemons.data_directory(2);
  fs::rename(disk, disk + ".a");
  ASSERT_TRUE(restart_third({"--rebuild"}));
  daemons.end(2, SIGTERM);
  fs::rename(disk, disk + ".b");
  fs::rename(disk + ".a", disk);

  daemons.start(2);
  ASSERT_TRUE(eventually([&] { return daemons.state(2).find("--rebuild") != std::string::npos; }))
      << daemons.state(2);
  daemons.end(2, SIGTERM);
  EXPECT_TRUE(restart_third({"--rebuild"})) << daemons.state(2);
}

TEST(Stop, SigtermEndsGracefullyAndKeepsEverything) {
  Daemons daemons(1);
  daemons.start_all();
  ASSERT_TRUE(daemons.all_ready());
  const std::string node = daemons.client_address(0);
  EXPECT_EQ(run({QUIPU_CLI_PATH, "add", "kept", "7", "--ack", "memory", "--node", node}).exit_code,
            0);
  EXPECT_EQ(daemons.end(0, SIGTERM), 0);
  daemons.start(0);
  ASSERT_TRUE(daemons.all_ready());
  EXPECT_EQ(run({QUIPU_CLI_PATH, "get", "kept", "--node", node}).out, "7\n");
}

}  // namespace
}  // namespace quipu::test
