// items.h: clients that count items in counters of the kinds `frequency` and `top`, and what must
// come of it.
//
// There are so few items in each counter that no two of them share all their cells, and each has a
// slot: estimates are exact. The i-th increment of an item is by 4^i, as on the ledger's witness
// keys, so an estimate shows which increments are in it, and whether one is in it twice.
//
// A quarter of the counters of the kind `frequency` begin with a small matrix, which is soon dense,
// and a quarter with one in slices. Half of all begin with greater increments, so their counts soon
// take more than 32 bits.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/keyed_hash.h"
#include "quipu/kind.h"
#include "tests/simulator/ledger.h"
#include "tests/simulator/node.h"
#include "tests/simulator/options.h"

namespace quipu::sim {

// No other counter has this prefix.
inline constexpr std::string_view kItemsPrefix = "items:";

// Any would do, as all clients use it.
inline constexpr HashKey kItemSalt{7};

// The counts in the answer to question_about() (protocol/item_words.h). nullopt: it is malformed,
// or gives an interval.
[[nodiscard]] std::optional<std::vector<std::uint64_t>> counts_in(Kind kind,
                                                                  std::string_view reply);

class ItemClients {
 public:
  // All must outlive it.
  ItemClients(const Shared& shared, const std::vector<SimNode*>& nodes, const Ledger& ledger,
              const Options& options);

  // Until stop().
  void work();
  void stop() { stopped_ = true; }
  [[nodiscard]] std::size_t counters() const { return counters_.size(); }
  [[nodiscard]] std::size_t waiting() const { return waiting_; }

  // ---- once nothing fails any more, and the owners agree ----
  // Asks a node about each counter, strongly. Then waiting() goes to 0.
  void ask_all();
  // Nothing, or which counter lacks something, or has too much, or differs between owners.
  [[nodiscard]] std::string what_is_wrong() const;

 private:
  static constexpr std::size_t kItems = 4;
  struct Increment {
    Instant begun{};
    Instant acked = kNever;
    bool at_quorum = false;
    bool refused = false;
    bool shown = false;  // by a strong query that has ended
  };
  struct Counter {
    std::string key;
    Kind kind{};
    std::size_t first = 0;  // increment 0 is by 4^first
    std::array<std::vector<Increment>, kItems> increments{};
    bool answered = false;
    bool refused = false;  // for want of room
  };

  void open();
  void add(Counter& counter);
  void ask(Counter& counter, bool last);
  [[nodiscard]] std::string who_differs(const Counter& counter) const;
  [[nodiscard]] std::string who_lacks(const Counter& counter, std::size_t item,
                                      std::size_t digit) const;
  void on_counts(Counter& counter, Instant begun, const QueryReply& reply);
  [[nodiscard]] bool survives(const Increment& one) const;
  void fail(const std::string& what) const {
    shared_.trace.fail(shared_.time.now(), Invariant::items_count_once, what);
  }

  Shared shared_;
  const std::vector<SimNode*>& nodes_;
  const Ledger& ledger_;
  Random random_;
  Random sizes_;
  Random slices_;
  std::list<Counter> counters_;
  std::size_t waiting_ = 0;
  bool stopped_ = false;
};

}  // namespace quipu::sim
