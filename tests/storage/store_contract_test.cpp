// One suite for everything that calls itself a Store: LevelDB on a disk that
// forgets what was not synced, and the model of it that the simulator uses.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "protocol/random.h"
#include "storage/leveldb/leveldb_store.h"
#include "storage/memory_store.h"
#include "tests/storage/contents.h"
#include "tests/storage/leveldb/forgetting_env.h"

namespace quipu::test {
namespace {

// A computer with one disk and a store on it.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual Store& store() = 0;
  // Power fails and comes back, and the store is opened on what lasted.
  virtual Status lose_power() = 0;
  // Power will fail within one of the writes to come, if there are enough.
  virtual void lose_power_soon() = 0;
  virtual void set_full(bool full) = 0;
  virtual void set_sync_fails(bool fails) = 0;
};

enum class Sync { works, is_swallowed };

class MemoryMachine final : public Machine {
 public:
  MemoryMachine(std::uint64_t seed, Sync sync)
      : random_(seed), store_(std::make_unique<MemoryStore>(disk_)) {
    disk_.sync = sync == Sync::works;
  }

  Store& store() override { return *store_; }
  Status lose_power() override {
    disk_.fault = MemoryDisk::Fault::none;
    store_ = std::make_unique<MemoryStore>(disk_);
    return {};
  }
  void lose_power_soon() override {
    if (random_.below(2) == 0) disk_.fault = MemoryDisk::Fault::failed_sync;
  }
  void set_full(bool full) override {
    disk_.fault = full ? MemoryDisk::Fault::full : MemoryDisk::Fault::none;
  }
  void set_sync_fails(bool fails) override {
    disk_.fault = fails ? MemoryDisk::Fault::failed_sync : MemoryDisk::Fault::none;
  }

 private:
  Random random_;
  MemoryDisk disk_;
  std::unique_ptr<MemoryStore> store_;
};

class LevelDbMachine final : public Machine {
 public:
  LevelDbMachine(std::uint64_t seed, Sync sync) : random_(seed), env_(seed) {
    EXPECT_TRUE(open(LevelDbOptions::Open::create).ok());
    if (sync == Sync::is_swallowed) env_.swallow_syncs();
  }
  ~LevelDbMachine() override { env_.power_off(); }

  Store& store() override { return *store_; }

  // It may fail again while the store is being opened.
  Status lose_power() override {
    for (std::uint64_t again = random_.below(3); again > 0; --again) {
      restart_power();
      env_.power_off_after(random_.below(100));
      (void)open(LevelDbOptions::Open::existing);
    }
    restart_power();
    return open(LevelDbOptions::Open::existing);
  }
  void lose_power_soon() override { env_.power_off_after(random_.below(500)); }
  void set_full(bool full) override {
    env_.set_capacity(full ? std::optional(env_.used() + 100) : std::nullopt);
  }
  void set_sync_fails(bool fails) override { env_.fail_syncs(fails ? "Input/output error" : ""); }

 private:
  void restart_power() {
    env_.power_off();
    store_.reset();
    env_.power_on(random_.below(2) == 0 ? ForgettingEnv::Loss::everything
                                        : ForgettingEnv::Loss::torn);
  }

  // The write buffer is LevelDB's smallest, so that logs rotate.
  Status open(LevelDbOptions::Open how) {
    auto opened = open_leveldb({.directory = std::string(ForgettingEnv::kRoot) + "/store",
                                .open = how,
                                .write_buffer = 64 << 10,
                                .env = &env_});
    if (opened.ok()) store_ = std::move(*opened);
    return opened.status();
  }

  Random random_;
  ForgettingEnv env_;
  std::unique_ptr<Store> store_;
};

enum class Kind { memory, leveldb };

std::unique_ptr<Machine> make_machine(Kind kind, std::uint64_t seed = 1, Sync sync = Sync::works) {
  if (kind == Kind::memory) return std::make_unique<MemoryMachine>(seed, sync);
  return std::make_unique<LevelDbMachine>(seed, sync);
}

// Up to 20 keys of 2,000; now and then so much that it spans blocks and logs.
Batch random_batch(Random& random) {
  Batch batch;
  std::map<std::string, bool> chosen;
  for (std::uint64_t n = 1 + random.below(20); n > 0; --n) {
    chosen["key" + std::to_string(random.below(2000))] = random.below(4) != 0;
  }
  const std::uint64_t longest = random.below(50) == 0 ? 40'000 : 400;
  for (const auto& [key, is_put] : chosen) {
    if (is_put) {
      std::string value(random.below(longest), '\0');
      for (char& c : value) c = static_cast<char>(random.next());
      batch.puts.push_back({key, value});
    } else {
      batch.deletes.push_back(key);
    }
  }
  return batch;
}

// Loses power again and again in `bytes` of writes. True if each time exactly the
// acknowledged batches were there, and of the one under way all or nothing.
bool acknowledged_survives(Machine& machine, std::uint64_t seed, std::size_t bytes) {
  Random random(seed);
  Contents acknowledged;
  for (std::size_t written = 0; written < bytes;) {
    machine.lose_power_soon();
    Batch under_way;
    do {
      const Batch batch = random_batch(random);
      written += batch.bytes();
      if (machine.store().write(batch).ok()) {
        apply_batch(batch, acknowledged);
      } else {
        under_way = batch;
      }
    } while (under_way.empty() && random.below(100) != 0);
    if (const Status opened = machine.lose_power(); !opened.ok()) {
      std::cout << "after " << written << " bytes: " << opened.message() << "\n";
      return false;
    }
    const std::optional<Contents> found = contents(machine.store());
    if (found == acknowledged) continue;
    apply_batch(under_way, acknowledged);
    if (found != acknowledged) return false;
  }
  return true;
}

std::uint64_t choose_seed() {
  const char* given = std::getenv("QUIPU_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::cout << "seed " << seed << "; replay with QUIPU_SEED=" << seed
            << " storage_test --gtest_filter="
            << "*" << testing::UnitTest::GetInstance()->current_test_info()->name() << "\n";
  return seed;
}

class StoreContract : public testing::TestWithParam<Kind> {};

TEST_P(StoreContract, KeepsAWrittenBatchThroughPowerLoss) {
  const auto machine = make_machine(GetParam());
  ASSERT_TRUE(machine->store().write({.puts = {{"a", "1"}, {"b", "2"}}, .deletes = {}}).ok());
  ASSERT_TRUE(machine->lose_power().ok());
  EXPECT_EQ(contents(machine->store()), (Contents{{"a", "1"}, {"b", "2"}}));
}

TEST_P(StoreContract, OverwritesAndDeletes) {
  const auto machine = make_machine(GetParam());
  ASSERT_TRUE(
      machine->store().write({.puts = {{"a", "1"}, {"b", "2"}, {"c", "3"}}, .deletes = {}}).ok());
  ASSERT_TRUE(
      machine->store().write({.puts = {{"a", "new"}}, .deletes = {"b", "never there"}}).ok());
  const Contents expected{{"a", "new"}, {"c", "3"}};
  EXPECT_EQ(contents(machine->store()), expected);
  ASSERT_TRUE(machine->lose_power().ok());
  EXPECT_EQ(contents(machine->store()), expected);
}

TEST_P(StoreContract, ScansInTheOrderOfUnsignedBytes) {
  const auto machine = make_machine(GetParam());
  const std::vector<std::string> ordered{std::string(1, '\0'),
                                         std::string("\0\xff", 2),
                                         "\x01",
                                         "A",
                                         std::string("A\0", 2),
                                         "AA",
                                         "\x7f",
                                         "\x80",
                                         "\xfe\xff"};
  Batch batch;
  for (auto key = ordered.rbegin(); key != ordered.rend(); ++key)
    batch.puts.push_back({*key, *key});
  ASSERT_TRUE(machine->store().write(batch).ok());
  std::vector<std::string> found;
  ASSERT_TRUE(machine->store()
                  .scan("", "\xff",
                        [&](std::string_view key, std::string_view value) {
                          EXPECT_EQ(key, value);
                          found.emplace_back(key);
                          return Status();
                        })
                  .ok());
  EXPECT_EQ(found, ordered);
}

TEST_P(StoreContract, ScansFromTheFirstKeyUpToButNotTheLast) {
  const auto machine = make_machine(GetParam());
  ASSERT_TRUE(
      machine->store().write({.puts = {{"b", ""}, {"d", ""}, {"f", ""}}, .deletes = {}}).ok());
  struct Case {
    std::string from, to, found;
  };
  for (const auto& [from, to, expected] : std::vector<Case>{{"", "", ""},
                                                            {"", "z", "bdf"},
                                                            {"b", "f", "bd"},
                                                            {"a", "b", ""},
                                                            {"c", "e", "d"},
                                                            {"d", "d", ""},
                                                            {"f", "b", ""},
                                                            {"f", "g", "f"},
                                                            {"g", "z", ""}}) {
    std::string found;
    EXPECT_TRUE(machine->store()
                    .scan(from, to,
                          [&](std::string_view key, std::string_view) {
                            found += key;
                            return Status();
                          })
                    .ok());
    EXPECT_EQ(found, expected) << "[" << from << ", " << to << ")";
  }
}

TEST_P(StoreContract, StopsAScanAtTheVisitorsRefusalAndReturnsIt) {
  const auto machine = make_machine(GetParam());
  ASSERT_TRUE(
      machine->store().write({.puts = {{"a", ""}, {"b", ""}, {"c", ""}}, .deletes = {}}).ok());
  int visits = 0;
  const Status status = machine->store().scan("", "\xff", [&](std::string_view, std::string_view) {
    return ++visits == 2 ? Status(Code::overloaded, "enough") : Status();
  });
  EXPECT_EQ(status.code(), Code::overloaded);
  EXPECT_EQ(visits, 2);
}

TEST_P(StoreContract, ReadsOneKey) {
  const auto machine = make_machine(GetParam());
  const auto read = [&](std::string_view key) { return machine->store().read(key).value(); };
  EXPECT_EQ(read("a"), std::nullopt);
  ASSERT_TRUE(machine->store().write({.puts = {{"a", "1"}, {"b", ""}}, .deletes = {}}).ok());
  EXPECT_EQ(read("a"), "1");
  EXPECT_EQ(read("b"), "");
  EXPECT_EQ(read(""), std::nullopt);
  EXPECT_EQ(read("aa"), std::nullopt);
  ASSERT_TRUE(machine->store().write({.puts = {{"a", "2"}}, .deletes = {"b"}}).ok());
  ASSERT_TRUE(machine->lose_power().ok());
  EXPECT_EQ(read("a"), "2");
  EXPECT_EQ(read("b"), std::nullopt);
  machine->set_full(true);
  EXPECT_EQ(machine->store().write(put("c", std::string(5000, 'c'))).code(), Code::storage_full);
  EXPECT_EQ(read("a"), "2") << "reads go on";
  EXPECT_EQ(read("c"), std::nullopt);
}

TEST_P(StoreContract, KeepsAnyBytesOfAnySize) {
  const auto machine = make_machine(GetParam());
  Contents expected;
  Random random(7);
  for (const std::size_t size : {0U, 1U, 6U, 7U, 32'760U, 32'761U, 32'768U, 100'000U, 1U << 20}) {
    std::string value(size, '\0');
    for (char& c : value) c = static_cast<char>(random.next());
    const std::string key = std::string("\0\n\x80", 3) + std::to_string(size);
    expected[key] = value;
    ASSERT_TRUE(machine->store().write(put(key, value)).ok());
  }
  ASSERT_TRUE(machine->lose_power().ok());
  EXPECT_EQ(contents(machine->store()), expected);
}

TEST_P(StoreContract, ShowsNothingOfABatchForWhichThereWasNoSpace) {
  const auto machine = make_machine(GetParam());
  const Batch large{.puts = {{"b", std::string(5000, 'b')}, {"c", "3"}}, .deletes = {"a"}};
  ASSERT_TRUE(machine->store().write(put("a", "1")).ok());
  machine->set_full(true);
  for (int attempt = 0; attempt < 3; ++attempt) {
    ASSERT_EQ(machine->store().write(large).code(), Code::storage_full);
    EXPECT_EQ(contents(machine->store()), (Contents{{"a", "1"}})) << "reads go on";
  }
  machine->set_full(false);
  ASSERT_TRUE(machine->lose_power().ok());
  EXPECT_EQ(contents(machine->store()), (Contents{{"a", "1"}}));
}

TEST_P(StoreContract, WritesTheSameBatchOnceThereIsSpaceAgain) {
  const auto machine = make_machine(GetParam());
  const Batch large = put("b", std::string(5000, 'b'));
  ASSERT_TRUE(machine->store().write(put("a", "1")).ok());
  machine->set_full(true);
  ASSERT_EQ(machine->store().write(large).code(), Code::storage_full);
  machine->set_full(false);
  ASSERT_TRUE(machine->store().write(large).ok());
  ASSERT_TRUE(machine->store().write(put("c", "3")).ok());
  ASSERT_TRUE(machine->lose_power().ok());
  EXPECT_EQ(contents(machine->store()),
            (Contents{{"a", "1"}, {"b", large.puts[0].value}, {"c", "3"}}));
}

TEST_P(StoreContract, WritesNothingEverAgainAfterAFailedSync) {
  const auto machine = make_machine(GetParam());
  ASSERT_TRUE(machine->store().write(put("a", "1")).ok());
  machine->set_sync_fails(true);
  EXPECT_EQ(machine->store().write(put("b", "2")).code(), Code::storage_failed);
  machine->set_sync_fails(false);
  EXPECT_EQ(machine->store().write(put("c", "3")).code(), Code::storage_failed);
  ASSERT_TRUE(machine->lose_power().ok());
  auto found = contents(machine->store());
  ASSERT_TRUE(found.has_value());
  found->erase("b");  // unknown
  EXPECT_EQ(found, (Contents{{"a", "1"}}));
}

TEST_P(StoreContract, LosesNothingAcknowledgedWhereverPowerFails) {
  const std::uint64_t seed = choose_seed();
  const auto machine = make_machine(GetParam(), seed);
  EXPECT_TRUE(acknowledged_survives(*machine, seed, 16 << 20));
}

// What the test above is worth.
TEST_P(StoreContract, IsSeenToBeBrokenWithoutSync) {
  const auto machine = make_machine(GetParam(), 1, Sync::is_swallowed);
  EXPECT_FALSE(acknowledged_survives(*machine, 1, 16 << 20));
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreContract, testing::Values(Kind::memory, Kind::leveldb),
                         [](const auto& given) {
                           return std::string(given.param == Kind::memory ? "Memory" : "LevelDb");
                         });

}  // namespace
}  // namespace quipu::test
