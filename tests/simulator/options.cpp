#include "tests/simulator/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "protocol/random.h"

namespace quipu::sim {
namespace {

// What was made more frequent draws from a stream of its own, so that the other seeds stay as they
// are. This one leaves alone most of the seeds in planted/seeds.txt.
constexpr std::uint64_t kMoreDraws = 0x6c656d'6070'0000;

constexpr std::array kKnobs = {
    KnobInfo{Knob::crashes, "crashes", "a process dies and starts again", 60},
    KnobInfo{Knob::all_crash, "all-crash", "all processes die at once", 30},
    KnobInfo{Knob::pauses, "pauses", "a process stops for a while and goes on", 40},
    KnobInfo{Knob::cuts, "cuts", "hosts cannot reach each other for a while", 50},
    KnobInfo{Knob::splits, "splits", "two sides, or some pairs of nodes, are apart for a while",
             40},
    KnobInfo{Knob::one_way_cuts, "one-way-cuts", "one host does not hear another", 40},
    KnobInfo{Knob::no_replies, "no-replies", "nothing that a node says arrives", 30},
    KnobInfo{Knob::breaks, "breaks", "connections break, with what was on its way", 50},
    KnobInfo{Knob::delays, "delays", "some messages take up to half a second", 50},
    KnobInfo{Knob::loss, "loss", "up to 30% of what nodes say to each other is lost", 25},
    KnobInfo{Knob::doubles, "doubles", "some of what nodes say arrives twice", 40},
    KnobInfo{Knob::reorders, "reorders", "some of what nodes say overtakes the rest", 40},
    KnobInfo{Knob::strangers, "strangers", "a member of another cluster calls", 40},
    KnobInfo{Knob::slow_disks, "slow-disks", "a sync takes up to 3 s", 50},
    KnobInfo{Knob::full_disks, "full-disks", "a disk has no room for a while", 40},
    KnobInfo{Knob::failed_syncs, "failed-syncs", "a sync fails, and with it the node", 30},
    KnobInfo{Knob::wipes, "wipes", "a disk is lost, and rebuilt from the others", 35},
    KnobInfo{Knob::old_copies, "old-copies",
             "a disk is replaced by an older copy, or one that it replaced", 35},
    KnobInfo{Knob::lost_tails, "lost-tails", "a disk loses the last records that it had synced",
             35},
    KnobInfo{Knob::bit_flips, "bit-flips", "a bit of a stored value flips", 30},
    KnobInfo{Knob::relays, "relays",
             "who missed something is back as those who did not are lost or cut off", 35},
    KnobInfo{Knob::clock_jumps, "clock-jumps", "a clock jumps by up to a year", 40},
    KnobInfo{Knob::drift, "drift", "clocks run up to 500 ppm fast or slow", 50},
    KnobInfo{Knob::crowds, "crowds", "all counters are in 4 of the 4,096 partitions", 40},
    KnobInfo{Knob::resets, "resets", "counters are cleared", 50},
    KnobInfo{Knob::strong_reads, "strong-reads", "many reads are strong, and mend copies", 60},
    KnobInfo{Knob::negative, "negative", "amounts below zero", 50},
    KnobInfo{Knob::shards, "shards", "counters get up to 8 shards", 50},
    KnobInfo{Knob::big_amounts, "big-amounts", "amounts near the end of 64 bits", 25},
    KnobInfo{Knob::retries, "retries", "requests are sent again though nobody failed", 60},
    KnobInfo{Knob::small_outbox, "small-outbox", "outboxes of 3 shards", 40},
    KnobInfo{Knob::small_frames, "small-frames", "a shard to a frame", 40},
    KnobInfo{Knob::small_checkpoint, "small-checkpoint", "a checkpoint each 4 KiB", 50},
    KnobInfo{Knob::small_tokens, "small-tokens", "8 numbers a session, 6 sessions", 30},
    KnobInfo{Knob::small_queues, "small-queues", "tiny bounds on all that waits", 25},
    KnobInfo{Knob::small_memory, "small-memory", "room for about 6 counters in memory", 40},
    KnobInfo{Knob::edge, "edge", "a node beyond the owners owns nothing, and forwards", 40},
    KnobInfo{Knob::unheard_tails, "unheard-tails",
             "a disk loses records that one peer has heard of, who is out of reach", 50},
    KnobInfo{Knob::founding, "founding", "faults that lose no disk, from the first moment on", 40},
    KnobInfo{Knob::namespaces, "namespaces", "namespaces are defined, changed and dropped", 30},
    KnobInfo{Knob::wrong_walls, "wrong-walls", "a node's wall clock is off by up to 20 minutes",
             40},
    KnobInfo{Knob::ends, "ends", "some counters end", 40},
    KnobInfo{Knob::windows, "windows", "some counters count in windows of time", 40},
    KnobInfo{Knob::transactions, "transactions", "some counters are changed together", 25},
    KnobInfo{Knob::homes, "homes", "some counters are decided about at their home", 25},
    KnobInfo{Knob::elements, "elements", "some counters count elements and items", 15, 30},
    KnobInfo{Knob::upgrades, "upgrades", "nodes start into the next release, one by one", 0, 30},
    KnobInfo{Knob::closes, "closes", "half of the crashes are closes, as at SIGTERM", 0, 30},
};
static_assert(kKnobs.size() == static_cast<std::size_t>(Knob::count_));

bool parse(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::span<const KnobInfo> knobs() { return kKnobs; }

Options Options::draw(std::uint64_t seed) {
  Random random(seed);
  Options options;
  options.seed = seed;
  const std::uint64_t shape = random.below(16);
  const bool all_own = random.below(2) == 0;
  options.nodes = shape == 0 ? 1 : shape < 5 ? 3 : shape < 8 ? 4 : 5;
  options.owners = options.nodes > 3 && all_own ? options.nodes : 3;
  options.clients = 1 + random.below(3);
  options.wire_clients = 1 + random.below(2);
  options.pace_ms = 5 + random.below(40);
  options.open_keys = std::size_t{1} << (1 + random.below(5));
  options.fault_ms = 200 + random.below(1500);
  options.torment = std::chrono::seconds(4 + random.below(12));
  for (const KnobInfo& knob : knobs()) options.set(knob.knob, random.below(100) < knob.percent);
  Random more(seed ^ kMoreDraws);
  for (const KnobInfo& knob : knobs()) {
    if (knob.more > 0 && more.below(100) < knob.more) options.set(knob.knob, true);
  }
  return options;
}

Options Options::stray(std::uint64_t seed) {
  constexpr std::array<std::size_t, 8> kNodes{2, 3, 4, 4, 5, 5, 5, 7};
  constexpr std::array<std::uint64_t, 6> kPaces{5, 10, 20, 50, 100, 200};  // ms
  constexpr std::array<std::size_t, 4> kFaults{10, 30, 100, 1000};
  constexpr std::array<int, 4> kTorments{3, 6, 12, 20};  // s
  Random random(~seed);
  const auto one_of = [&random](const auto& these) { return these[random.below(these.size())]; };
  Options options = draw(seed);
  options.nodes = one_of(kNodes);
  const std::array<std::size_t, 4> owners{3, 3, 5, options.nodes};
  options.owners = std::min(options.nodes, one_of(owners));
  options.clients = random.below(4);
  options.wire_clients = random.below(4) + (options.clients == 0 ? 1 : 0);
  options.pace_ms = one_of(kPaces);
  options.faults = one_of(kFaults);
  options.torment = std::chrono::seconds(one_of(kTorments));
  for (std::uint64_t turned = 2 + random.below(12); turned > 0; --turned) {
    const Knob knob = one_of(kKnobs).knob;
    options.set(knob, !options.has(knob));
  }
  return options;
}

std::string Options::describe() const {
  std::string text = std::to_string(nodes) + " nodes, " + std::to_string(owners) + " owners, " +
                     std::to_string(clients) + "+" + std::to_string(wire_clients) + " clients";
  for (const KnobInfo& knob : knobs()) {
    if (has(knob.knob)) text += ", " + std::string(knob.name);
  }
  return text;
}

std::string Options::arguments() const {
  const Options drawn = draw(seed);
  std::string text = "--seed " + std::to_string(seed);
  const auto number = [&](const char* name, std::uint64_t mine, std::uint64_t theirs) {
    if (mine != theirs) text += std::string(" --") + name + " " + std::to_string(mine);
  };
  number("nodes", nodes, drawn.nodes);
  number("owners", owners, drawn.owners);
  number("clients", clients, drawn.clients);
  number("wire-clients", wire_clients, drawn.wire_clients);
  number("pace-ms", pace_ms, drawn.pace_ms);
  number("operations", operations, drawn.operations);
  number("faults", faults, drawn.faults);
  const auto ms = [](Duration span) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(span).count());
  };
  number("torment-ms", ms(torment), ms(drawn.torment));
  for (const KnobInfo& knob : knobs()) {
    if (has(knob.knob) != drawn.has(knob.knob))
      text += (has(knob.knob) ? " --with " : " --without ") + std::string(knob.name);
  }
  return text;
}

Status Options::apply(std::string_view argument, std::string_view value) {
  if (argument == "--with" || argument == "--without") {
    for (const KnobInfo& knob : knobs()) {
      if (knob.name != value) continue;
      set(knob.knob, argument == "--with");
      return {};
    }
    return {Code::invalid_argument, "no knob is called '" + std::string(value) + "'"};
  }
  std::uint64_t count = 0;
  if (!parse(value, count))
    return {Code::invalid_argument, std::string(argument) + " needs a number"};
  if (argument == "--nodes" && count >= 1 && count <= 9) {
    nodes = count;
  } else if (argument == "--owners" && count >= 1 && count <= 7) {
    owners = count;
  } else if (argument == "--clients") {
    clients = count;
  } else if (argument == "--wire-clients") {
    wire_clients = count;
  } else if (argument == "--operations") {
    operations = count;
  } else if (argument == "--faults") {
    faults = count;
  } else if (argument == "--pace-ms" && count >= 1) {
    pace_ms = count;
  } else if (argument == "--torment-ms") {
    torment = std::chrono::milliseconds(count);
  } else {
    return {Code::invalid_argument, "no argument " + std::string(argument) + ", or not that value"};
  }
  return {};
}

}  // namespace quipu::sim
