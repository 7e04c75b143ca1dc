// history.h: the events of one run: every add and read with the client's answer, and every
// fault. All times are monotonic, since the run began.
//
//   invoked ───── in flight ───── ended          an add that never ended is `open`
//
// Witness keys: the i-th add on one adds 4^i. A total's base-4 digits then show exactly which
// adds it has. 0: no. 1: yes. 2 or more: counted twice.
//
// Counters of other kinds: a key's prefix tells its kind, and each add names an item. Each item of
// a `frequency` or `top` is a witness of its own: its i-th increment is by 4^i. An element of a
// `distinct` counts once, however often it is added.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quipu/kind.h"
#include "quipu/levels.h"

namespace quipu::chaos {

using Time = std::chrono::nanoseconds;
inline constexpr Time kNever = Time::max();

inline constexpr std::string_view kWitnessPrefix = "witness:";
inline constexpr std::size_t kAddsPerWitness = 30;  // 4^30 fits a sum

[[nodiscard]] constexpr std::int64_t witness_amount(std::size_t digit) {
  return std::int64_t{1} << (2 * digit);
}
[[nodiscard]] inline bool is_witness(std::string_view key) {
  return key.starts_with(kWitnessPrefix);
}

inline constexpr std::string_view kDistinctPrefix = "distinct:";
inline constexpr std::string_view kFrequencyPrefix = "frequency:";
inline constexpr std::string_view kTopPrefix = "top:";

[[nodiscard]] Kind kind_of(std::string_view key);
// Whether each add counts an item of its key.
[[nodiscard]] bool counts_items(Kind kind);

// ok: applied. fail: certainly not applied. unknown, open: it may have been.
enum class Answer : std::uint8_t { open, ok, fail, unknown };

struct Add {
  std::string key{};
  std::string item{};  // or element; none: the key has a sum
  std::int64_t amount = 0;
  Ack ack = Ack::disk;
  int client = 0;
  int node = 0;  // the client's preferred one, from 1; while that is down it uses another
  Time invoked{};
  Time ended = kNever;
  Answer answer = Answer::open;
  std::string said{};  // the status, if it is not ok
};

// How often an item came, at least and at most.
struct ItemBounds {
  std::string item;
  std::int64_t lower = 0;
  std::int64_t upper = 0;

  bool operator==(const ItemBounds&) const = default;
};

struct Read {
  std::string key;
  ReadLevel level = ReadLevel::local;
  int client = 0;
  int node = 0;
  Time began{};
  Time ended = kNever;
  // A sum, or how many elements, or what all items have together. None: refused, or not answered.
  std::optional<std::int64_t> value{};
  std::vector<ItemBounds> items{};  // of a counter of items, those that came
  bool complete = false;
  std::optional<std::chrono::milliseconds> age{};
  std::string said{};
};

// What a fault may take under the promises: acks at `memory` are lost with a process, those at
// `disk` with their executor's disk.
enum class Loss : std::uint8_t { nothing, memory, disk };

struct Fault {
  std::string kind;
  std::string what;  // for people: the nodes, and how
  Loss loss = Loss::nothing;
  Time began{};
  Time ended = kNever;  // all nodes were ready again
};

struct History {
  std::vector<Add> adds;
  std::vector<Read> reads;
  std::vector<Fault> faults;
  // After healing: the last local read of each key on each node, and a strong one.
  std::vector<Read> finals;
};

[[nodiscard]] std::string_view to_text(Answer answer);
[[nodiscard]] std::string_view to_text(Ack ack);
[[nodiscard]] std::string_view to_text(ReadLevel level);
// "12.345 s"
[[nodiscard]] std::string seconds(Time time);

// One line per operation, in the order of their beginning.
void write_history(const History& history, std::ostream& out);

}  // namespace quipu::chaos
