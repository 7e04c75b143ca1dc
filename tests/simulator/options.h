// options.h: what one run is made of. All of it follows from the seed; a shrunk run
// differs from its seed's by what was switched off, and by how much it does.
//
// Swarm testing (Groce et al. 2012): each seed switches off about half of the
// faults, since one kind of trouble often keeps another from ever happening.
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
  // what is asked
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
  // what came later is at the end, so that no other knob of a seed moved
  edge,
  unheard_tails,
  founding,
  count_  // how many there are
};

struct KnobInfo {
  Knob knob;
  std::string_view name;
  std::string_view meaning;
  unsigned percent;  // of the seeds that have it on
};
[[nodiscard]] std::span<const KnobInfo> knobs();

struct Options {
  std::uint64_t seed = 0;
  std::size_t nodes = 3;
  std::size_t owners = 3;
  std::size_t clients = 2;           // that use the client library
  std::size_t wire_clients = 2;      // that speak the protocol by themselves, and retry wildly
  std::size_t operations = 1000000;  // no more than so many are begun
  std::uint64_t pace_ms = 30;        // a client pauses for up to so long
  std::size_t open_keys = 3;         // that take adds at a time
  std::size_t faults = 1000000;      // no more than so many are injected
  std::uint64_t fault_ms = 500;      // they come up to so far apart
  Duration torment{};
  std::bitset<static_cast<std::size_t>(Knob::count_)> on;

  [[nodiscard]] bool has(Knob knob) const { return on[static_cast<std::size_t>(knob)]; }
  void set(Knob knob, bool to) { on[static_cast<std::size_t>(knob)] = to; }

  [[nodiscard]] static Options draw(std::uint64_t seed);
  // One further off than any that is drawn: of other sizes, and with some knobs turned over.
  // To replay it takes all of its arguments().
  [[nodiscard]] static Options stray(std::uint64_t seed);
  // For people.
  [[nodiscard]] std::string describe() const;
  // The arguments of quipu_sim that give this run again.
  [[nodiscard]] std::string arguments() const;
  // One argument of those and its value. not ok: unknown, or no such value.
  [[nodiscard]] Status apply(std::string_view argument, std::string_view value);
};

}  // namespace quipu::sim
