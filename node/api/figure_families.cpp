#include "node/api/figure_families.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "node/base/version.h"
#include "node/tls/hashes.h"
#include "quipu/kind.h"

namespace quipu {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

double seconds(Wall moment) {
  return std::chrono::duration<double>(moment.time_since_epoch()).count();
}

double number(std::uint64_t value) { return static_cast<double>(value); }

// ---- all reactors together ----

// One peer, as all reactors see it.
struct Peer {
  bool up = true;
  std::optional<Duration> age{Duration::zero()};
  std::optional<Duration> round_trip{};
  std::optional<Wall> repaired{};
  std::uint64_t outbox = 0, outboxes_lost = 0, frames_sent = 0, frames_merged = 0;
};

void add(Peer& to, const PeerFigures& more, Wall at) {
  to.up = to.up && more.up;
  if (!more.age || !to.age) {
    to.age.reset();
  } else {
    to.age = std::max(*to.age, *more.age);
  }
  to.round_trip = std::max(to.round_trip, more.round_trip);
  if (more.since_repair) {
    const Wall then = at - std::chrono::round<Wall::duration>(*more.since_repair);
    to.repaired = to.repaired ? std::min(*to.repaired, then) : then;
  }
  to.outbox += more.outbox;
  to.outboxes_lost += more.outboxes_lost;
  to.frames_sent += more.frames_sent;
  to.frames_merged += more.frames_merged;
}

struct Sums {
  Figures added{};  // its status, clients and port
  std::map<std::string, Peer> peers{};
  std::optional<Duration> rollup_age{Duration::zero()};
  bool rollup_complete = true;
  ReadSources reads{};
  Collector::Durations shard_answers{};
  bool store_full = false;
  std::uint64_t states_in_memory = 0, evictions = 0, journal_bytes = 0, records = 0,
                record_bytes = 0;
  std::optional<Wall> checkpointed{};  // the reactor whose last checkpoint is the oldest
  std::uint64_t memory_limit = 0, peer_connections = 0, peers_refused = 0;
  std::uint64_t peer_handshakes = 0, peer_handshakes_failed = 0;
  std::optional<std::uint64_t> disk_free{};
  Duration disk_under_way{};  // the longest

  [[nodiscard]] std::uint64_t stat(std::string_view name) const {
    const auto at = std::ranges::find(added.status.stats, name, &Stat::name);
    return at == added.status.stats.end() ? 0 : at->value;
  }
};

void add(Sums& to, const CoreFigures& core, Wall at) {
  for (const PeerFigures& peer : core.peers) add(to.peers[peer.name], peer, at);
  if (!core.rollup.age || !to.rollup_age) {
    to.rollup_age.reset();
  } else {
    to.rollup_age = std::max(*to.rollup_age, *core.rollup.age);
  }
  to.rollup_complete = to.rollup_complete && core.rollup.complete;
  to.reads.add(core.reads);
  to.shard_answers.one.add(core.shard_answers.one);
  to.shard_answers.majority.add(core.shard_answers.majority);
  to.store_full = to.store_full || core.store_full;
  to.states_in_memory += core.states_in_memory;
  to.evictions += core.evictions;
  to.journal_bytes += core.journal_bytes;
  to.records += core.records;
  to.record_bytes += core.record_bytes;
  if (core.since_checkpoint) {
    const Wall then = at - std::chrono::round<Wall::duration>(*core.since_checkpoint);
    to.checkpointed = to.checkpointed ? std::min(*to.checkpointed, then) : then;
  }
}

// The stores of a node may be on disks of their own.
void add(Sums& to, const HostFigures& host) {
  to.memory_limit += host.memory_limit;
  to.disk_under_way = std::max(to.disk_under_way, host.disk_under_way);
  to.peer_connections += host.peer_connections;
  to.peers_refused += host.peers_refused;
  to.peer_handshakes += host.peer_handshakes;
  to.peer_handshakes_failed += host.peer_handshakes_failed;
  if (host.disk_free)
    to.disk_free = to.disk_free ? std::min(*to.disk_free, *host.disk_free) : host.disk_free;
}

Sums sum_of(std::span<const Figures> reactors) {
  Sums sums;
  for (const Figures& one : reactors) {
    if (&one == reactors.data()) {
      sums.added = one;
    } else {
      sums.added.add(one);
    }
    add(sums, one.core, one.host.at);
    add(sums, one.host);
  }
  return sums;
}

// ---- families ----

class Families {
 public:
  void counter(std::string name, std::string help, std::uint64_t value, Labels labels = {}) {
    sample(FigureKind::counter, std::move(name), std::move(help), std::move(labels)).value =
        number(value);
  }
  void gauge(std::string name, std::string help, double value, Labels labels = {}) {
    sample(FigureKind::gauge, std::move(name), std::move(help), std::move(labels)).value = value;
  }
  void histogram(const std::string& name, std::string help, const DurationHistogram& from,
                 Labels labels = {}) {
    FigureSample& to = sample(FigureKind::histogram, name, std::move(help), std::move(labels));
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < DurationHistogram::kMost.size(); ++i)
      to.buckets.push_back({seconds(DurationHistogram::kMost[i]), all += from.in_bucket(i)});
    to.count = from.count();
    to.sum = from.sum();
  }
  [[nodiscard]] std::vector<FigureFamily> take() { return std::move(families_); }

 private:
  // Joins the family of that name, if there is one.
  FigureSample& sample(FigureKind kind, std::string name, std::string help, Labels labels) {
    auto at = std::ranges::find(families_, name, &FigureFamily::name);
    if (at == families_.end()) {
      families_.push_back({std::move(name), std::move(help), kind, {}});
      at = families_.end() - 1;
    }
    return at->samples.emplace_back(FigureSample{.labels = std::move(labels)});
  }

  std::vector<FigureFamily> families_;
};

void put_state(Families& to, const NodeState& state) {
  to.gauge("quipu_build_info", "The release and the revision of this build.", 1,
           {{"version", std::string(kVersion)}, {"revision", QUIPU_REVISION}});
  to.gauge("quipu_config_info",
           "Digests of the settings that all members must share, and of the users file.", 1,
           {{"users", state.users}, {"settings", state.settings}});
  const std::string wrong = "Changed files that were wrong, and not taken.";
  to.counter("quipu_reloads_refused_total", wrong, state.users_refused, {{"file", "users"}});
  to.counter("quipu_reloads_refused_total", wrong, state.tls_refused, {{"file", "tls"}});
  for (const auto& [file, at] : {std::pair{"users", state.users_read}, {"tls", state.tls_read}}) {
    if (at)
      to.gauge("quipu_reload_last_success_timestamp_seconds",
               "When the file was last read and taken, at the start or later.", seconds(*at),
               {{"file", file}});
  }
  for (const auto& [file, at] : state.expiries)
    to.gauge("quipu_tls_certificate_expiry_timestamp_seconds",
             "When the first certificate of the file expires.",
             number(static_cast<std::uint64_t>(at.time_since_epoch().count())), {{"file", file}});
  to.gauge("quipu_ready", "1 while the node serves and has its share of the counters.",
           state.ready ? 1 : 0);
  to.gauge("quipu_store_failed", "1 after a failed write: the node has stopped serving.",
           state.failed ? 1 : 0);
}

constexpr std::array<const char*, kProtocols> kProtocolNames{"native", "resp", "embedded"};

// An operation that succeeded is always there; a code that is not ok, once it came.
void put_requests(Families& to, const RequestFigures& requests) {
  for (std::size_t protocol = 0; protocol < kProtocols; ++protocol) {
    for (std::size_t i = 0; i < kOperations; ++i) {
      for (std::size_t code = 0; code < kCodes; ++code) {
        const std::uint64_t count = requests.requests[protocol][i][code];
        if (count == 0 && static_cast<Code>(code) != Code::ok) continue;
        to.counter("quipu_requests_total",
                   "Requests about counters that were answered, by the result of each.", count,
                   {{"protocol", kProtocolNames[protocol]},
                    {"op", name_of(static_cast<Operation>(i))},
                    {"code", std::string(describe(static_cast<Code>(code)).name)}});
      }
    }
  }
  for (std::size_t i = 0; i < kOperations; ++i) {
    const auto operation = static_cast<Operation>(i);
    if (operation != Operation::other)
      to.histogram("quipu_request_duration_seconds",
                   "From when the core got a request until its answer could be sent.",
                   requests.durations[i], {{"op", name_of(operation)}});
  }
}

void put_reads(Families& to, const Sums& sums) {
  const std::string sources = "Reads by where they found their answers; owner: others were asked.";
  const auto put_source = [&](const char* source, std::uint64_t reads) {
    to.counter("quipu_reads_by_source_total", sources, reads, {{"source", source}});
  };
  put_source("memory", sums.reads.memory + sums.added.requests.memory_reads);
  put_source("cache", sums.reads.cache);
  put_source("owner", sums.reads.owner);
  const std::string shards =
      "How long owners took to answer for a shard: one of them (fresh, also "
      "for local reads), or a majority (strong).";
  to.histogram("quipu_shard_answer_seconds", shards, sums.shard_answers.one, {{"level", "fresh"}});
  to.histogram("quipu_shard_answer_seconds", shards, sums.shard_answers.majority,
               {{"level", "strong"}});
  if (sums.rollup_age)
    to.gauge("quipu_rollup_age_seconds", "The age that a local read would report now.",
             seconds(*sums.rollup_age));
  to.gauge("quipu_rollup_complete", "1 while a local read would report that it is complete.",
           sums.rollup_complete ? 1 : 0);
  to.gauge("quipu_rollup_shards", "Shards of other owners whose totals are cached for local reads.",
           number(sums.stat("rollup_shards")));
}

void put_disk(Families& to, const Sums& sums) {
  to.gauge("quipu_store_full", "1 while the disk has no room: changes are refused.",
           sums.store_full ? 1 : 0);
  to.counter("quipu_records_total", "Journal records given to the store.", sums.records);
  to.counter("quipu_record_bytes_total", "Bytes of these records.", sums.record_bytes);
  to.gauge("quipu_unsynced_bytes", "Bytes of records that are not durable yet.",
           number(sums.stat("unsynced_bytes")));
  to.histogram("quipu_sync_duration_seconds", "How long the disk took for a write and its sync.",
               sums.added.syncs);
  to.gauge("quipu_disk_under_way_seconds",
           "How long the write, with its sync, or the read under way has taken. 0: there is none.",
           seconds(sums.disk_under_way));
  to.gauge("quipu_journal_bytes", "Bytes of journal since the last checkpoint began.",
           number(sums.journal_bytes));
  if (sums.checkpointed)
    to.gauge("quipu_checkpoint_last_success_timestamp_seconds",
             "When a checkpoint was finished last, since the start.", seconds(*sums.checkpointed));
  if (sums.disk_free)
    to.gauge("quipu_disk_free_bytes", "Free bytes on the disk of the data directory.",
             number(*sums.disk_free));
}

void put_memory(Families& to, const Sums& sums) {
  to.gauge("quipu_counters", "Counters that this node counts as an owner.",
           number(sums.stat("counters")));
  const std::uint64_t shards = sums.stat("shards");
  const std::uint64_t in_memory = std::min(sums.states_in_memory, shards);
  const std::string help = "Shards that this node holds, in memory or only on disk.";
  to.gauge("quipu_shards", help, number(in_memory), {{"state", "memory"}});
  to.gauge("quipu_shards", help, number(shards - in_memory), {{"state", "disk"}});
  std::uint64_t rest = sums.stat("memory_used_bytes");
  const std::string bytes =
      "Memory in use, by kind of counter; other: indexes. memory_limit "
      "bounds the sum.";
  for (const Kind kind : kKinds) {
    const std::uint64_t used = sums.stat(std::string("state_memory_bytes_") + name_of(kind));
    to.gauge("quipu_memory_bytes", bytes, number(used), {{"kind", name_of(kind)}});
    rest -= std::min(rest, used);
  }
  to.gauge("quipu_memory_bytes", bytes, number(rest), {{"kind", "other"}});
  to.gauge("quipu_memory_limit_bytes", "The setting memory_limit; 0: no limit.",
           number(sums.memory_limit));
  to.counter("quipu_loads_total", "Shards that were read back from disk.",
             sums.stat("shards_loaded"));
  to.counter("quipu_evictions_total", "Shards that left memory and stay on disk.", sums.evictions);
}

void put_peers(Families& to, const Sums& sums) {
  for (const auto& [name, peer] : sums.peers) {
    const Labels labels{{"peer", name}};
    to.gauge("quipu_peer_up", "1 while this node hears the peer.", peer.up ? 1 : 0, labels);
    if (peer.age)
      to.gauge("quipu_peer_age_seconds", "This node has all that the peer acknowledged longer ago.",
               seconds(*peer.age), labels);
    if (peer.round_trip)
      to.gauge("quipu_peer_round_trip_seconds", "How long a heartbeat and its answer took.",
               seconds(*peer.round_trip), labels);
    to.gauge("quipu_peer_outbox_shards", "Changed shards that the peer has not acknowledged yet.",
             number(peer.outbox), labels);
    to.counter("quipu_outboxes_lost_total",
               "Changes for the peer that found no room in its outbox: repair sends them.",
               peer.outboxes_lost, labels);
    const std::string frames = "Frames of states, sent to the peer or received from it.";
    to.counter("quipu_peer_frames_total", frames, peer.frames_sent,
               {{"peer", name}, {"direction", "sent"}});
    to.counter("quipu_peer_frames_total", frames, peer.frames_merged,
               {{"peer", name}, {"direction", "received"}});
    if (peer.repaired)
      to.gauge("quipu_repair_last_success_timestamp_seconds",
               "When a comparison with the peer was finished last, since the start.",
               seconds(*peer.repaired), labels);
  }
  to.counter("quipu_repair_bytes_total", "Bytes of states that repair fetched.",
             sums.stat("repair_bytes"));
  to.counter("quipu_repair_shards_total", "Shards that repair changed.",
             sums.stat("repair_shards"));
  to.counter("quipu_conflicts_total", "States that contradict each other: replicas diverge.",
             sums.stat("conflicts"));
}

void put_clients(Families& to, const Sums& sums) {
  const std::string open = "Open connections.";
  to.gauge("quipu_connections", open, number(sums.added.port.connected), {{"port", "client"}});
  to.gauge("quipu_connections", open, number(sums.peer_connections), {{"port", "peer"}});
  const std::string refused = "Connections that found no room, or did not encrypt.";
  to.counter("quipu_connections_refused_total", refused, sums.added.port.rejected,
             {{"port", "client"}, {"reason", "limit"}});
  to.counter("quipu_connections_refused_total", refused, sums.peers_refused,
             {{"port", "peer"}, {"reason", "limit"}});
  to.counter("quipu_connections_refused_total", refused, sums.added.port.plaintext_refused,
             {{"port", "client"}, {"reason", "plaintext"}});
  const std::string handshakes = "TLS handshakes, by their result.";
  const auto put = [&](const char* port, std::uint64_t done, std::uint64_t failed) {
    to.counter("quipu_handshakes_total", handshakes, done, {{"port", port}, {"result", "ok"}});
    to.counter("quipu_handshakes_total", handshakes, failed,
               {{"port", port}, {"result", "failed"}});
  };
  put("client", sums.added.port.handshakes, sums.added.port.handshakes_failed);
  put("peer", sums.peer_handshakes, sums.peer_handshakes_failed);
  to.counter("quipu_auth_failures_total", "Refused authentications.", sums.added.port.wrong_secrets,
             {{"port", "client"}});
  to.gauge("quipu_sessions", "Sessions of clients that number their changes.",
           number(sums.stat("sessions")));
  to.gauge("quipu_quorum_waiting", "Changes that wait for a majority of owners.",
           number(sums.stat("quorum_waiting")));
  to.counter("quipu_forwarded_total", "Changes that were forwarded to another node.",
             sums.stat("ops_forwarded"));
}

}  // namespace

std::vector<FigureFamily> figure_families(const NodeState& state,
                                          std::span<const Figures> reactors) {
  Families families;
  put_state(families, state);
  if (!reactors.empty()) {
    const Sums sums = sum_of(reactors);
    put_requests(families, sums.added.requests);
    put_reads(families, sums);
    put_disk(families, sums);
    put_memory(families, sums);
    put_peers(families, sums);
    put_clients(families, sums);
  }
  return families.take();
}

std::string settings_digest(const NodeOptions& options) {
  std::map<std::string, std::string> members;  // by name
  for (const NodeMember& member : options.members)
    members[member.name] = std::to_string(member.weight) + ' ' + member.zone;
  const char* const links = !options.cluster_secret_file.empty() ? "secret"
                            : !options.tls_peer_ca.empty()       ? "certificates"
                                                                 : "plain";
  std::string text = "replication=" + std::to_string(options.replication) +
                     " reactors=" + std::to_string(options.reactors) +
                     " gossip_interval_ms=" + std::to_string(options.gossip_interval.count()) +
                     " clock_skew_ms=" + std::to_string(options.clock_skew.count()) +
                     " links=" + links;
  for (const auto& [name, place] : members) text.append("\n").append(name + ' ' + place);
  return short_digest(text);
}

}  // namespace quipu
