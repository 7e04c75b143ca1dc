#include "node/disk/storage_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>

#include "tests/node/eventually.h"

namespace quipu::test {
namespace {

using testing::ElementsAre;

// What a store was asked to do, and what it is to answer. Outlives the store.
struct Script {
  std::mutex mutex;
  std::deque<Status> answers;        // then ok
  std::vector<std::string> written;  // "put a", "delete b", one line per write: "put a, delete b"
  Status read;                       // not ok: every read's answer
  bool held = false;                 // write() waits
  std::atomic<int> waiting{0};
  std::atomic<bool> closed{false};
};

class ScriptedStore final : public Store {
 public:
  explicit ScriptedStore(Script& script) : script_(script) {}
  ~ScriptedStore() override { script_.closed = true; }

  Status write(const Batch& batch) override {
    ++script_.waiting;
    EXPECT_TRUE(eventually([this] { return !held(); }));
    --script_.waiting;
    const std::lock_guard lock(script_.mutex);
    std::string line;
    for (const auto& put : batch.puts)
      line.append(line.empty() ? "" : ", ").append("put " + put.key);
    for (const auto& key : batch.deletes)
      line.append(line.empty() ? "" : ", ").append("delete " + key);
    script_.written.push_back(line);
    if (script_.answers.empty()) return {};
    Status answer = script_.answers.front();
    script_.answers.pop_front();
    return answer;
  }
  Result<std::optional<std::string>> read(std::string_view) override {
    const std::lock_guard lock(script_.mutex);
    if (!script_.read.ok()) return script_.read;
    return std::optional<std::string>();
  }
  Status scan(std::string_view, std::string_view, const Visit&) override { return {}; }

 private:
  bool held() {
    const std::lock_guard lock(script_.mutex);
    return script_.held;
  }
  Script& script_;
};

// The events, as words.
class Told {
 public:
  StorageThread::Events events() {
    return {.durable = [this](Commit commit) { say("durable " + std::to_string(raw(commit))); },
            .full = [this](const Status& status) { say(status.ok() ? "room" : "full"); },
            .loaded =
                [this](const Loaded& loaded) {
                  say("loaded " + std::to_string(loaded.number) + " with " +
                      std::to_string(loaded.shards.size()));
                },
            .failed = [this](const Status& status) { say("failed " + status.detail()); }};
  }
  void say(std::string word) {
    const std::lock_guard lock(mutex_);
    words_.push_back(std::move(word));
  }
  std::vector<std::string> words() {
    const std::lock_guard lock(mutex_);
    return words_;
  }
  bool has(const std::string& word) {
    return eventually([&] {
      const auto said = words();
      return std::find(said.begin(), said.end(), word) != said.end();
    });
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> words_;
};

Sealed put(std::uint64_t commit, const std::string& key) {
  return {.commit = Commit{commit}, .batch = {.puts = {{key, "v"}}, .deletes = {}}, .local = {}};
}

Sealed remove(std::uint64_t commit, const std::string& key) {
  return {.commit = Commit{commit}, .batch = {.puts = {}, .deletes = {key}}, .local = {}};
}

void hold(Script& script, bool held) {
  const std::lock_guard lock(script.mutex);
  script.held = held;
}

TEST(StorageThread, WritesAllThatWaitsAsOneBatchAndTellsTheLastCommit) {
  Script script;
  Told told;
  script.held = true;
  StorageThread storage(std::make_unique<ScriptedStore>(script), told.events());
  storage.write({put(1, "a")});
  ASSERT_TRUE(eventually([&] { return script.waiting == 1; }));
  EXPECT_GT(storage.under_way(NodeClock::now() + std::chrono::seconds(9)), std::chrono::seconds(8));
  storage.write({put(2, "b"), put(3, "c")});
  storage.write({put(4, "d")});
  hold(script, false);
  ASSERT_TRUE(told.has("durable 4"));
  EXPECT_TRUE(eventually([&] { return storage.under_way(NodeClock::now()) == Duration::zero(); }));
  EXPECT_THAT(script.written, ElementsAre("put a", "put b, put c, put d"));
  EXPECT_THAT(told.words(), ElementsAre("durable 1", "durable 4"));
}

// A store puts before it deletes, so a put must never stand with an older delete.
TEST(StorageThread, WhatDeletesEndsItsBatch) {
  Script script;
  Told told;
  script.held = true;
  StorageThread storage(std::make_unique<ScriptedStore>(script), told.events());
  storage.write({put(1, "x")});
  ASSERT_TRUE(eventually([&] { return script.waiting == 1; }));
  storage.write({put(2, "a"), remove(3, "k"), put(4, "k"), put(5, "b")});
  hold(script, false);
  ASSERT_TRUE(told.has("durable 5"));
  EXPECT_THAT(script.written, ElementsAre("put x", "put a, delete k", "put k, put b"));
}

TEST(StorageThread, AFullDiskIsTriedAgainWithTheSameBatchUntilThereIsRoom) {
  Script script;
  Told told;
  const Status full{Code::storage_full, "no space"};
  script.answers = {full, full, {}};
  StorageThread storage(std::make_unique<ScriptedStore>(script), told.events());
  storage.write({put(1, "a")});
  ASSERT_TRUE(told.has("full"));
  storage.write({put(2, "b")});
  ASSERT_TRUE(told.has("durable 2"));
  EXPECT_THAT(script.written, ElementsAre("put a", "put a", "put a", "put b"));
  EXPECT_THAT(told.words(), ElementsAre("full", "room", "durable 1", "durable 2"));
}

TEST(StorageThread, StopsAtOnceWhileTheDiskIsFull) {
  Script script;
  Told told;
  script.answers.assign(1000, {Code::storage_full, "no space"});
  StorageThread storage(std::make_unique<ScriptedStore>(script), told.events());
  storage.write({put(1, "a")});
  ASSERT_TRUE(told.has("full"));
  storage.stop();
  EXPECT_TRUE(script.closed);
  EXPECT_THAT(told.words(), ElementsAre("full"));
}

TEST(StorageThread, AfterAFailureNothingIsWrittenEverAgain) {
  Script script;
  Told told;
  script.answers = {{Code::storage_failed, "fdatasync"}};
  StorageThread storage(std::make_unique<ScriptedStore>(script), told.events());
  storage.write({put(1, "a")});
  ASSERT_TRUE(told.has("failed fdatasync"));
  storage.write({put(2, "b")});
  storage.run([&](Store&) { told.say("task"); });
  storage.stop();
  EXPECT_THAT(script.written, ElementsAre("put a"));
  EXPECT_THAT(told.words(), ElementsAre("failed fdatasync"));
}

TEST(StorageThread, ARetryThatFailsIsAFailure) {
  Script script;
  Told told;
  script.answers = {{Code::storage_full, "no space"}, {Code::storage_failed, "fdatasync"}};
  StorageThread storage(std::make_unique<ScriptedStore>(script), told.events());
  storage.write({put(1, "a")});
  ASSERT_TRUE(told.has("failed fdatasync"));
  EXPECT_THAT(told.words(), ElementsAre("full", "failed fdatasync"));
}

TEST(StorageThread, ATaskRunsBehindWhatWasWrittenBeforeIt) {
  Script script;
  Told told;
  StorageThread storage(std::make_unique<ScriptedStore>(script), told.events());
  storage.write({put(1, "a")});
  storage.run([&](Store&) { told.say("task"); });
  ASSERT_TRUE(told.has("task"));
  EXPECT_THAT(told.words(), ElementsAre("durable 1", "task"));
}

TEST(StorageThread, ReadsWhatIsAskedForWhileTheDiskIsFull) {
  Script script;
  script.answers.assign(1'000, {Code::storage_full, "no room"});
  Told told;
  StorageThread thread(std::make_unique<ScriptedStore>(script), told.events());
  thread.write({put(1, "a")});
  ASSERT_TRUE(told.has("full"));
  thread.load(HashKey{}, {7, {{"likes", 0}, {"views", 0}}, {}});
  EXPECT_TRUE(told.has("loaded 7 with 2"));
  thread.load(HashKey{}, {8, {{"likes", 0}}, {}});
  EXPECT_TRUE(told.has("loaded 8 with 1"));
}

TEST(StorageThread, AReadThatFindsDamageIsTheEnd) {
  Script script;
  script.read = {Code::corrupt, "damaged"};
  Told told;
  StorageThread thread(std::make_unique<ScriptedStore>(script), told.events());
  thread.load(HashKey{}, {1, {{"likes", 0}}, {}});
  EXPECT_TRUE(told.has("failed damaged"));
  thread.load(HashKey{}, {2, {{"likes", 0}}, {}});
  thread.write({put(1, "a")});
  thread.stop();
  EXPECT_THAT(told.words(), ElementsAre("failed damaged"));
  EXPECT_TRUE(script.written.empty());
}

TEST(StorageThread, WritesWhatIsQueuedBeforeItStops) {
  Script script;
  Told told;
  StorageThread storage(std::make_unique<ScriptedStore>(script), told.events());
  for (std::uint64_t commit = 1; commit <= 100; ++commit) storage.write({put(commit, "k")});
  storage.stop();
  EXPECT_TRUE(script.closed);
  EXPECT_EQ(told.words().back(), "durable 100");
}

}  // namespace
}  // namespace quipu::test
