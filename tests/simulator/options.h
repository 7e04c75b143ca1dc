// options.h: the parameters of one run. All of them follow from the seed. A shrunk run differs
// from its seed's run by knobs that were switched off, and by smaller sizes.
//
// Swarm testing (Groce et al. 2012): each seed switches off about half of the faults, since one
// kind of trouble often prevents another.
#pragma once

#include <bitset>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "protocol/instant.h"
#include "quipu/status.h"

namespace quipu::sim {

enum class Knob : std::uint8_t {
  // processes
  crashes,
  all_crash,
  pauses,
  // network
  cuts,
  splits,
  one_way_cuts,
  no_replies,
  breaks,
  delays,
  loss,
  doubles,
  reorders,
  strangers,
  // disks
  slow_disks,
  full_disks,
  failed_syncs,
  wipes,
  old_copies,
  lost_tails,
  bit_flips,
  relays,
  // clocks
  clock_jumps,
  drift,
  // requests
  crowds,
  resets,
  strong_reads,
  negative,
  shards,
  big_amounts,
  retries,
  // limits
  small_outbox,
  small_frames,
  small_checkpoint,
  small_tokens,
  small_queues,
  small_memory,
  // later knobs are at the end, so that the knobs of existing seeds did not change
  edge,
  unheard_tails,
  founding,
  namespaces,
  wrong_walls,
  ends,
  windows,
  transactions,
  homes,
  elements,
  upgrades,
  closes,
  count_  // how many there are
};

struct KnobInfo {
  Knob knob;
  std::string_view name;
  std::string_view meaning;
  unsigned percent;   // the part of the seeds that have it on
  unsigned more = 0;  // … and of the others, drawn later
  [[nodiscard]] unsigned share() const { return percent + (100 - percent) * more / 100; }
};
[[nodiscard]] std::span<const KnobInfo> knobs();

struct Options {
  std::uint64_t seed = 0;
  std::size_t nodes = 3;
  std::size_t owners = 3;
  std::size_t clients = 2;           // that use the client library
  std::size_t wire_clients = 2;      // that speak the protocol by themselves, and retry wildly
  std::size_t operations = 1000000;  // the most that are begun
  std::uint64_t pace_ms = 30;        // a client pauses for up to this long
  std::size_t open_keys = 3;         // that take adds at a time
  std::size_t faults = 1000000;      // the most that are injected
  std::uint64_t fault_ms = 500;      // the longest time between two
  Duration torment{};
  std::bitset<static_cast<std::size_t>(Knob::count_)> on;

  [[nodiscard]] bool has(Knob knob) const { return on[static_cast<std::size_t>(knob)]; }
  void set(Knob knob, bool to) { on[static_cast<std::size_t>(knob)] = to; }

  [[nodiscard]] static Options draw(std::uint64_t seed);
  // A run farther from the usual than any drawn one: with other sizes, and some knobs inverted.
  // Replaying it takes all of its arguments().
  [[nodiscard]] static Options stray(std::uint64_t seed);
  // For people.
  [[nodiscard]] std::string describe() const;
  // The arguments of quipu_sim that repeat this run.
  [[nodiscard]] std::string arguments() const;
  // Applies one of those arguments. Not ok: unknown, or an invalid value.
  [[nodiscard]] Status apply(std::string_view argument, std::string_view value);
};

}  // namespace quipu::sim
