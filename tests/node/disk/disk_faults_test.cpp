// A node whose disk is full, or fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <future>

#include "node/reactor/reactor.h"
#include "quipu/client.h"
#include "storage/memory_store.h"
#include "tests/node/clients/raw_connection.h"
#include "tests/node/eventually.h"

namespace quipu::test {
namespace {

using testing::Each;
using testing::HasSubstr;

enum class Fault { none, full, failed };

// A MemoryStore whose faults another thread may switch.
class FaultyStore final : public Store {
 public:
  FaultyStore(MemoryDisk& disk, std::atomic<Fault>& fault) : store_(disk), fault_(fault) {}

  Status write(const Batch& batch) override {
    switch (fault_.load()) {
      case Fault::full:
        return {Code::storage_full, "no space left"};
      case Fault::failed:
        return {Code::storage_failed, "fdatasync"};
      case Fault::none:
        break;
    }
    return store_.write(batch);
  }
  Result<std::optional<std::string>> read(std::string_view key) override {
    return store_.read(key);
  }
  Status scan(std::string_view from, std::string_view to, const Visit& visit) override {
    return store_.scan(from, to, visit);
  }

 private:
  MemoryStore store_;
  std::atomic<Fault>& fault_;
};

// A running node of a cluster of one over a FaultyStore.
class FaultyDisk : public testing::Test {
 protected:
  explicit FaultyDisk(std::size_t unsynced_bytes = NodeSettings{}.unsynced_bytes) {
    NodeOptions options;
    options.data_directory = "unused";
    options.client_address = "127.0.0.1:0";
    Result<NodePlan> plan = plan_node(options);
    plan->settings.unsynced_bytes = unsynced_bytes;
    auto store = std::make_unique<FaultyStore>(disk_, fault_);
    Random random(1);
    const Status initialized =
        initialize(*store, new_meta(plan->owner(), NewStore::unmarked, random));
    EXPECT_TRUE(initialized.ok());
    auto executor = recover(*store, plan->owner(), {}, random);
    EXPECT_TRUE(executor.ok());
    reactor_ = std::make_unique<Reactor>(
        std::move(*plan), Log(), random,
        Reactor::Events{.ready = [this](bool ready) { ready_ = ready; },
                        .failed = [this](const Status& why) { failed_ = why.code(); }});
    EXPECT_TRUE(reactor_->bind().ok());
    EXPECT_TRUE(reactor_->listen().ok());
    reactor_->start({std::move(store), {std::move(*executor)}},
                    std::filesystem::temp_directory_path());
    EXPECT_TRUE(eventually([this] { return ready_.load(); }));
    likes_.emplace(CounterBackend::make<Counter>(reactor_->calls(), "likes"));
  }

  // Fills the disk while an add of kHeld waits for it, until others are refused so. If
  // another record was on its way when the disk filled, the add itself is refused, and
  // tried again.
  void fill_under_an_add(Code refusal, std::chrono::milliseconds timeout) {
    EXPECT_TRUE(eventually([&] {
      fault_ = Fault::none;
      if (!likes_->add(1).ok()) return false;
      fault_ = Fault::full;
      held_ = kWaiting;
      likes_->add(kHeld, {.timeout = timeout},
                  [this](const Status& status) { held_ = status.code(); });
      const bool full = eventually([&] { return answer_to_hasty_add() == refusal; });
      return full && (held_ == kWaiting || held_ == Code::in_doubt);
    }));
  }

  Code answer_to_hasty_add() {
    std::promise<Code> code;
    likes_->add(1, {.timeout = std::chrono::milliseconds(1)},
                [&](const Status& status) { code.set_value(status.code()); });
    return code.get_future().get();
  }

  static Code answer_to_add(RawConnection& client) {
    Op op;
    op.key = "likes";
    op.amount = 1;
    std::string frame;
    encode(frame, op);
    EXPECT_TRUE(client.send(frame));
    const auto answer = client.receive();
    if (!answer) return Code::protocol_error;
    const auto payload = std::as_bytes(std::span(answer->payload));
    if (answer->type == FrameType::refusal) return decode_refusal(payload)->code;
    const Result<Done> done = decode_done(payload);
    return done.ok() ? done->code : Code::protocol_error;
  }

  static constexpr std::int64_t kHeld = 1'000'000;
  static constexpr Code kWaiting = Code::would_deadlock;

  MemoryDisk disk_;
  std::atomic<Fault> fault_{Fault::none};
  std::atomic<Code> held_{kWaiting};
  std::atomic<bool> ready_{false};
  std::atomic<Code> failed_{Code::ok};
  std::unique_ptr<Reactor> reactor_;
  std::optional<Counter> likes_;
};

TEST_F(FaultyDisk, FullAddsAreInDoubtOrRefusedReadsGoOnAndRoomMendsIt) {
  fill_under_an_add(Code::storage_full, std::chrono::milliseconds(50));
  EXPECT_TRUE(eventually([this] { return held_ == Code::in_doubt; }));
  EXPECT_EQ(likes_->add(kHeld).code(), Code::storage_full);
  EXPECT_TRUE(likes_->read().ok());
  fault_ = Fault::none;
  EXPECT_TRUE(eventually([&] { return likes_->add(1).ok(); }));
  // What was in doubt was never abandoned; what was refused was not applied.
  EXPECT_EQ(likes_->read()->value / kHeld, 1);
  EXPECT_EQ(failed_, Code::ok);
}

// Not only to who embeds the node.
TEST_F(FaultyDisk, FullIsWhatEveryClientAndTheStatusSay) {
  fill_under_an_add(Code::storage_full, std::chrono::minutes(10));
  const auto client = Client::connect({.seeds = {reactor_->client_address()}});
  ASSERT_TRUE(client.ok()) << client.status().message();
  const auto timeout = kPatience;  // which the answers do not wait for
  Counter remote = (*client)->counter("likes");
  EXPECT_EQ(remote.add(1, {.timeout = timeout}).code(), Code::storage_full);
  EXPECT_EQ(remote.add(1, {.ack = Ack::quorum, .timeout = timeout}).code(), Code::storage_full);
  EXPECT_EQ(remote.reset({.timeout = timeout}).code(), Code::storage_full);
  EXPECT_TRUE(remote.read().ok());

  RawConnection native(reactor_->client_address());
  std::string frame;
  encode(frame, StatusRequest{5});
  ASSERT_TRUE(native.send(frame));
  const auto answer = native.receive();
  ASSERT_TRUE(answer.has_value());
  const auto status = decode_status_reply(std::as_bytes(std::span(answer->payload)));
  ASSERT_TRUE(status.ok());
  EXPECT_THAT(status->state, HasSubstr("disk is full"));
  RawConnection redis(reactor_->client_address());
  const std::string info = redis.reply_to("INFO\r\n");
  EXPECT_THAT(info, HasSubstr("node_state:the disk is full"));
  EXPECT_THAT(info, HasSubstr("aof_last_write_status:err"));

  fault_ = Fault::none;
  EXPECT_TRUE(eventually([&] { return remote.add(1).ok(); }));
  EXPECT_THAT(redis.reply_to("INFO\r\n"), HasSubstr("node_state:ready"));
}

TEST_F(FaultyDisk, FailedEveryCallSaysSoAndTheClientPortIsClosed) {
  ASSERT_TRUE(likes_->add(1).ok());
  RawConnection client(reactor_->client_address());
  fault_ = Fault::failed;
  EXPECT_EQ(likes_->add(1).code(), Code::storage_failed);
  EXPECT_EQ(likes_->add(1).outcome(), Outcome::unknown);
  EXPECT_EQ(likes_->read().status().code(), Code::storage_failed);
  EXPECT_TRUE(eventually([&] { return failed_ == Code::storage_failed; }));
  EXPECT_FALSE(ready_);
  EXPECT_FALSE(client.receive().has_value());
}

TEST_F(FaultyDisk, FailedAnswersTheCallsThatWaited) {
  constexpr int kCalls = 100;
  std::mutex mutex;
  std::vector<Code> codes;
  fault_ = Fault::failed;
  for (int i = 0; i < kCalls; ++i) {
    likes_->add(1, {}, [&](const Status& status) {
      const std::lock_guard lock(mutex);
      codes.push_back(status.code());
    });
  }
  ASSERT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return codes.size() == kCalls;
  }));
  EXPECT_THAT(codes, Each(Code::storage_failed));
}

TEST_F(FaultyDisk, FullDoesNotKeepTheNodeFromStoppingAndLateRequestsAreToldToGoElsewhere) {
  RawConnection client(reactor_->client_address());
  fill_under_an_add(Code::storage_full, std::chrono::minutes(10));
  auto stopped = std::async(std::launch::async, [this] { reactor_->stop(); });
  EXPECT_TRUE(eventually([&] { return answer_to_add(client) == Code::unavailable; }));
  stopped.get();
  EXPECT_EQ(held_, Code::in_doubt);
  // Either that was a refusal of all that is not answered, or one follows.
  if (const auto last = client.receive()) {
    EXPECT_EQ(last->type, FrameType::refusal);
  }
  EXPECT_FALSE(client.receive().has_value());
}

// A running node, of a cluster of one with counters, that was started on a full disk.
class StartedOnAFullDisk : public testing::Test {
 protected:
  StartedOnAFullDisk() {
    NodeOptions options;
    options.data_directory = "unused";
    options.client_address = "127.0.0.1:0";
    Result<NodePlan> plan = plan_node(options);
    const StoreOwner owner = plan->owner();
    Random random(1);
    {  // an earlier life
      auto store = std::make_unique<FaultyStore>(disk_, fault_);
      EXPECT_TRUE(initialize(*store, new_meta(owner, NewStore::unmarked, random)).ok());
      start(*plan, std::move(store), random);
      EXPECT_TRUE(eventually([this] { return ready_.load(); }));
      EXPECT_TRUE(counter().add(3).ok());
      reactor_.reset();
    }
    ready_ = false;
    fault_ = Fault::full;
    start(*plan, std::make_unique<FaultyStore>(disk_, fault_), random);
  }

  void start(const NodePlan& plan, std::unique_ptr<Store> store, Random& random) {
    auto recovered = recover_or_read(*store, plan.owner(), {}, random);
    ASSERT_TRUE(recovered.ok()) << recovered.status().message();
    reactor_ = std::make_unique<Reactor>(
        plan, Log([this](LogLevel, std::string_view message, std::string_view) {
          const std::lock_guard lock(mutex_);
          said_.append(message).append("\n");
        }),
        random.split(),
        Reactor::Events{.ready = [this](bool ready) { ready_ = ready; },
                        .failed = [this](const Status& why) { failed_ = why.code(); }});
    EXPECT_TRUE(reactor_->bind().ok());
    EXPECT_TRUE(reactor_->listen().ok());
    reactor_->start({std::move(store), std::move(*recovered)},
                    std::filesystem::temp_directory_path());
  }
  [[nodiscard]] Counter counter() const {
    return CounterBackend::make<Counter>(reactor_->calls(), "likes");
  }
  [[nodiscard]] std::string said() {
    const std::lock_guard lock(mutex_);
    return said_;
  }

  MemoryDisk disk_;
  std::atomic<Fault> fault_{Fault::none};
  std::atomic<bool> ready_{false};
  std::atomic<Code> failed_{Code::ok};
  std::mutex mutex_;
  std::string said_;
  std::unique_ptr<Reactor> reactor_;
};

TEST_F(StartedOnAFullDisk, ServesLocalReadsRefusesAddsAndJoinsOnceThereIsRoom) {
  Counter likes = counter();
  const auto local = likes.read();
  ASSERT_TRUE(local.ok()) << local.status().message();
  EXPECT_EQ(local->value, 3);
  EXPECT_EQ(likes.add(1).code(), Code::storage_full);
  EXPECT_FALSE(ready_);
  EXPECT_THAT(said(), HasSubstr("the disk is full"));
  RawConnection redis(reactor_->client_address());
  EXPECT_EQ(redis.reply_to("GET likes\r\n"), "$1\r\n3\r\n");
  EXPECT_THAT(redis.reply_to("INCR likes\r\n"), HasSubstr("storage_full"));
  EXPECT_THAT(redis.reply_to("INFO\r\n"), HasSubstr("waiting for room"));

  fault_ = Fault::none;
  ASSERT_TRUE(eventually([this] { return ready_.load(); })) << said();
  EXPECT_TRUE(likes.add(1).ok());
  EXPECT_EQ(likes.read()->value, 4);
  EXPECT_EQ(failed_, Code::ok);
}

TEST_F(StartedOnAFullDisk, StopsAtOnce) {
  reactor_->stop();
  EXPECT_EQ(counter().add(1).code(), Code::unavailable);
  EXPECT_EQ(failed_, Code::ok);
}

TEST_F(StartedOnAFullDisk, FailsIfTheDiskFails) {
  fault_ = Fault::failed;
  EXPECT_TRUE(eventually([this] { return failed_ == Code::storage_failed; }));
}

// Pauses its clients as soon as anything waits for the disk.
class PausingNode : public FaultyDisk {
 protected:
  PausingNode() : FaultyDisk(0) { fill_under_an_add(Code::overloaded, std::chrono::minutes(10)); }
};

TEST_F(PausingNode, RefusesCallbacksAndLetsBlockingCallsWaitForRoom) {
  const Status too_short = likes_->add(1, {.timeout = std::chrono::milliseconds(20)});
  EXPECT_EQ(too_short.code(), Code::overloaded);
  auto patient = std::async(std::launch::async, [this] { return likes_->add(1000); });
  fault_ = Fault::none;
  EXPECT_EQ(patient.get().code(), Code::ok);
  EXPECT_TRUE(eventually([this] { return held_ == Code::ok; }));
  EXPECT_GE(likes_->read()->value, kHeld + 1000);
}

TEST_F(PausingNode, ReadsItsClientsAgainOnceThereIsRoom) {
  RawConnection client(reactor_->client_address());
  std::string frame;
  encode(frame, StatusRequest{5});
  ASSERT_TRUE(client.send(frame));
  fault_ = Fault::none;
  const auto answer = client.receive();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->type, FrameType::status_reply);
}

}  // namespace
}  // namespace quipu::test
