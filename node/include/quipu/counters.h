// counters.h: all counters of a cluster: what a Node and a Client have in common.
//
//   void fold(quipu::Counters& counters) {  // takes a Node or a Client
//     counters.add_many({{"likes:42", 1}, {"views:42", 7}});
//   }
//
// Each call has the three forms of counter.h: it waits, calls back, or returns a future. What
// that file says about room, callbacks, futures and deadlocks holds here, too.
//
// Threads: all functions may be called from any thread, by several at once.
//
// Ownership: arguments are taken over, and answers belong to the caller. Only
// AddOptions::affinity is borrowed, until the call has begun.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quipu/cluster_status.h"
#include "quipu/counter.h"
#include "quipu/export.h"

namespace quipu {

// The most items of one add_many, and keys of one read_many. A call with more of them is
// refused: each item gets invalid_argument.
inline constexpr std::size_t kMaxBatch = 1024;
// The most keys on one page of a list.
inline constexpr std::size_t kMaxPageKeys = 1000;
// The most calls of status() that are under way through one Node or Client at a time.
inline constexpr std::size_t kMaxStatusCalls = 4;

// One item of add_many.
struct Addition {
  std::string key{};
  std::int64_t amount = 1;
};

// A place in the list of counters. It means the same through every node and client of a
// cluster, and may be kept.
enum class ListCursor : std::uint32_t { begin = 0, end = 1'048'576 };

struct ListOptions {
  std::string prefix{};  // of the keys to list; empty: all
  ListCursor cursor = ListCursor::begin;
  // How many keys the page should have, about: 1 to kMaxPageKeys. It may have a few more.
  std::size_t limit = kMaxPageKeys;
  std::chrono::milliseconds timeout{5000};
};

struct ListPage {
  // ok: the page has all keys from the cursor up to `next`.
  // unavailable: the list is incomplete. No owner of the counters at `next` answered in time.
  // Other errors: nothing was listed.
  Status status{};
  std::vector<std::string> keys{};  // in no order; may be empty before the end
  // Where to go on, or to ask again if status is not ok. end: this was the last page.
  ListCursor next = ListCursor::end;
  // If status is not ok: where to go on without the counters that could not be listed.
  ListCursor skip = ListCursor::end;
};

class CounterBackend;

class QUIPU_EXPORT Counters {
 public:
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  // Does not ask the cluster: the counter need not exist yet.
  [[nodiscard]] Counter counter(std::string key);

  // Adds each item to its counter, as Counter::add does, and answers each in the order of the
  // items. This is no transaction: some items may be counted and others not. But the adds begin
  // together, so those that one node executes share a sync of its disk. Items may name the same
  // counter.
  std::vector<Status> add_many(std::vector<Addition> items, AddOptions options = {});
  void add_many(std::vector<Addition> items, AddOptions options,
                std::function<void(std::vector<Status>)> done);
  std::future<std::vector<Status>> add_many_async(std::vector<Addition> items,
                                                  AddOptions options = {});

  // Reads each counter as Counter::read does, and answers each in the order of the keys. This is
  // no snapshot: adds may be counted between two of the readings.
  std::vector<Result<Reading>> read_many(std::vector<std::string> keys, ReadOptions options = {});
  void read_many(std::vector<std::string> keys, ReadOptions options,
                 std::function<void(std::vector<Result<Reading>>)> done);
  std::future<std::vector<Result<Reading>>> read_many_async(std::vector<std::string> keys,
                                                            ReadOptions options = {});

  // Lists one page of the counters of the whole cluster. Begin at ListCursor::begin, and go on at
  // ListPage::next until that is ListCursor::end. A counter that exists from the first page to
  // the last is listed once. One that is new, or was just reset, may be missing or still there.
  // Errors: see ListPage::status; invalid_argument (a limit, a cursor or a prefix of more than
  // 512 bytes that no list has).
  ListPage list(ListOptions options = {});
  void list(ListOptions options, std::function<void(ListPage)> done);
  std::future<ListPage> list_async(ListOptions options = {});

  // Asks every member how it is, at its client port, over a connection of its own. A Node knows
  // about itself without asking. Members that do not answer within the timeout are in the
  // result, too: see MemberStatus::reached. Errors: unavailable (nobody could say who the
  // members are), overloaded (kMaxStatusCalls are under way).
  Result<ClusterStatus> status(std::chrono::milliseconds timeout = std::chrono::seconds(5));
  void status(std::chrono::milliseconds timeout, std::function<void(Result<ClusterStatus>)> done);
  std::future<Result<ClusterStatus>> status_async(
      std::chrono::milliseconds timeout = std::chrono::seconds(5));

  // The version of this library, such as "0.1.0".
  [[nodiscard]] static std::string_view version();

 protected:
  // A counter is given to one of them by its key. REQUIRES: at least one.
  QUIPU_HIDDEN explicit Counters(std::vector<std::shared_ptr<CounterBackend>> backends);
  QUIPU_HIDDEN ~Counters();

 private:
  [[nodiscard]] QUIPU_HIDDEN const std::shared_ptr<CounterBackend>& backend(
      std::string_view key) const;

  const std::vector<std::shared_ptr<CounterBackend>> backends_;
};

}  // namespace quipu
