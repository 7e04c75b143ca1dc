#include "cluster/replication/anti_entropy.h"

#include <algorithm>
#include <functional>

#include "cluster/replication/replica.h"
#include "protocol/check.h"

namespace quipu {
namespace {

template <class T>
std::vector<T> front(const std::deque<T>& queue, std::size_t count) {
  const auto end = queue.begin() + static_cast<std::ptrdiff_t>(std::min(count, queue.size()));
  return {queue.begin(), end};
}

template <class T>
void drop_front(std::deque<T>& queue, std::size_t count) {
  queue.erase(queue.begin(),
              queue.begin() + static_cast<std::ptrdiff_t>(std::min(count, queue.size())));
}

std::size_t cost(const Pulled& answer) {
  return 64 + answer.partitions.size() * 24 + answer.leaves.size() * 24 +
         answer.shards.size() * 64 + answer.states.bytes();
}

}  // namespace

AntiEntropy::AntiEntropy(Instant now, const View& view, Executor& executor, Outbound& out,
                         const NodeSettings& settings, Random random)
    : view_(view),
      executor_(executor),
      out_(out),
      settings_(settings),
      random_(random),
      peers_(view.size()),
      finished_(view.size()),
      next_id_(view.first_number()) {
  for (Pulling& pulling : peers_) schedule(now, pulling);
}

void AntiEntropy::schedule(Instant now, Pulling& pulling) {
  const auto interval = static_cast<std::uint64_t>(settings_.repair_interval.count());
  pulling.next =
      now +
      Duration(static_cast<std::int64_t>(interval * 4 / 5 + random_.below(interval * 2 / 5 + 1)));
}

void AntiEntropy::urge(Instant now, MemberIndex peer, std::uint64_t epoch) {
  Pulling& pulling = peers_[peer];
  // Losses in the meantime are pulled after this pull. Otherwise it would never end.
  if (pulling.stage != Stage::idle && pulling.urgent) return;
  pulling = Pulling{};
  pulling.urgent = true;
  pulling.epoch = epoch;
  begin(now, peer);
}

// What was pulled over the old link says nothing about the node at the next one.
void AntiEntropy::on_link_lost(MemberIndex peer) {
  std::erase_if(merged_, [peer](const Merged& one) { return one.repaired.peer == peer; });
  peers_[peer] = Pulling{};
  peers_[peer].next = kNever;  // the next link makes it urgent
}

void AntiEntropy::all_shared(MemberIndex peer, std::deque<Partition>& partitions) const {
  partitions.clear();
  // Even if this node owns nothing there, it may still hold what it executed meanwhile.
  const bool all = peers_[peer].urgent;
  for (const Partition partition : view_.config().owners.owned_by(view_.self())) {
    if (all || view_.owns(peer, partition)) partitions.push_back(partition);
  }
}

void AntiEntropy::begin(Instant now, MemberIndex peer) {
  Pulling& pulling = peers_[peer];
  QUIPU_CHECK(peer != view_.self() && !pulling.asked, "one pull from a peer at a time", peer);
  QUIPU_CHECK(pulling.stage == Stage::idle && pulling.shards.empty(),
              "a pull begins with nothing left from the one before", peer, pulling.stage);
  ++counts_.pulls;
  pulling.stage = Stage::root;
  pulling.next = now;
  if (executor_.map().ledger().dirty() > kDirtyForRoot) {
    pulling.stage = Stage::partitions;
    all_shared(peer, pulling.partitions);
  }
  ask(peer);
}

void AntiEntropy::ask(MemberIndex peer) {
  Pulling& pulling = peers_[peer];
  QUIPU_CHECK(!pulling.asked && view_.up(peer), "one question is open at a time", peer);
  Pull& pull = pulling.asked.emplace();
  pull.id = next_id_++;
  switch (pulling.stage) {
    case Stage::idle:
    case Stage::root:
      pull.kind = PullKind::root;
      break;
    case Stage::partitions:
    case Stage::second_look:
      pull.kind = PullKind::partitions;
      pull.partitions = front(pulling.partitions, kPartitionsPerPull);
      break;
    case Stage::leaves:
      pull.kind = PullKind::leaves;
      pull.partitions = front(pulling.differing, kLeafPartitionsPerPull);
      break;
    case Stage::keys:
      pull.kind = PullKind::keys;
      pull.leaves = front(pulling.leaves, kLeavesPerPull);
      if (pulling.after) pull.shards.push_back(*pulling.after);
      break;
    case Stage::states:
      pull.kind = PullKind::states;
      pull.shards = front(pulling.shards, kStatesPerPull);
      break;
  }
  QUIPU_CHECK(pull.kind == PullKind::root || pull.kind == PullKind::partitions ||
                  !pull.partitions.empty() || !pull.leaves.empty() || !pull.shards.empty(),
              "a question names what it is about", peer, pull.kind);
  out_.send(peer, pull);
}

// The answer must have the kind and order of the question, and contain only the part that it
// claims (`begun`: and some of the next item, whose rest is asked for again). An empty part
// would repeat for ever; only a root may be empty.
bool AntiEntropy::answers(const Pull& asked, const Pulled& answer) const {
  if (answer.kind != asked.kind) return false;
  const auto names = [&](const auto& questions, const auto& told, auto&& question_of,
                         std::size_t begun = 0) {
    if (answer.answered > questions.size()) return false;
    if (answer.answered == 0 && (begun == 0 || told.empty())) return false;
    auto at = questions.begin();
    const auto end =
        at + static_cast<std::ptrdiff_t>(std::min(answer.answered + begun, questions.size()));
    return std::ranges::all_of(told, [&](const auto& one) {
      at = std::find(at, end, std::invoke(question_of, one));
      return at != end;
    });
  };
  switch (asked.kind) {
    case PullKind::root:
      return true;
    case PullKind::partitions:
      return names(asked.partitions, answer.partitions, &PartitionDigest::partition);
    case PullKind::leaves:
      return names(asked.partitions, answer.leaves,
                   [](const LeafDigest& one) { return one.leaf.partition; });
    case PullKind::keys: {
      const auto leaf = [this](const ShardDigest& one) { return leaf_of(one.shard); };
      const bool again = !asked.shards.empty() && !answer.shards.empty() &&
                         leaf(answer.shards.front()) == asked.leaves.front() &&
                         answer.shards.front().shard <= asked.shards.front();
      return !again && names(asked.leaves, answer.shards, leaf, 1);
    }
    case PullKind::states: {
      std::vector<ShardKey> told;
      answer.states.for_each([&](const DeltaEntry& one) {
        told.push_back({std::string(one.ref.key), one.ref.shard});
      });
      return names(asked.shards, told, std::identity{});
    }
  }
  return false;
}

void AntiEntropy::on_pulled(Instant now, MemberIndex from, const Pulled& answer) {
  Pulling& pulling = peers_[from];
  if (!pulling.asked || answer.id != pulling.asked->id) return;
  const Pull asked = *std::exchange(pulling.asked, std::nullopt);
  if (!answers(asked, answer)) {
    pulling = Pulling{};
    schedule(now, pulling);
    return;
  }
  counts_.bytes_pulled += cost(answer);
  pulling.whole = pulling.whole && answer.whole;
  const auto pause = std::chrono::nanoseconds(std::chrono::seconds(1)) *
                     static_cast<std::int64_t>(cost(answer)) /
                     static_cast<std::int64_t>(settings_.repair_bytes_per_second);
  pulling.next = now + pause;
  switch (answer.kind) {
    case PullKind::root:
      if (answer.answered == 1 &&
          answer.root == Replica::shared_root(view_, executor_.map(), from, view_.self())) {
        finish(now, from);
        return;
      }
      pulling.stage = Stage::partitions;
      all_shared(from, pulling.partitions);
      break;
    case PullKind::partitions:
      compare_partitions(from, answer);
      break;
    case PullKind::leaves:
      compare_leaves(pulling, answer);
      break;
    case PullKind::keys:
      compare_keys(pulling, answer);
      break;
    case PullKind::states:
      counts_.shards_repaired += take_states(pulling, answer);
      break;
  }
  advance(now, from);
}

LeafId AntiEntropy::leaf_of(const ShardKey& shard) const {
  const Placement place = executor_.map().place(shard);
  return {place.partition(), place.leaf()};
}

void AntiEntropy::compare_partitions(MemberIndex peer, const Pulled& answer) {
  Pulling& pulling = peers_[peer];
  drop_front(pulling.partitions, answer.answered);
  for (const PartitionDigest& theirs : answer.partitions) {
    if (!view_.owned(theirs.partition)) continue;
    if (executor_.map().ledger().digest(theirs.partition) != theirs.hash)
      pulling.differing.push_back(theirs.partition);
  }
}

void AntiEntropy::compare_leaves(Pulling& pulling, const Pulled& answer) {
  drop_front(pulling.differing, answer.answered);
  std::optional<Partition> at;
  Digest::Leaves mine;
  for (const LeafDigest& theirs : answer.leaves) {
    if (at != theirs.leaf.partition) {
      at = theirs.leaf.partition;
      mine = executor_.map().ledger().leaves(*at);
    }
    if (mine[theirs.leaf.leaf] != theirs.hash) pulling.leaves.push_back(theirs.leaf);
  }
}

void AntiEntropy::compare_keys(Pulling& pulling, const Pulled& answer) {
  drop_front(pulling.leaves, answer.answered);
  pulling.after.reset();
  if (!pulling.leaves.empty() && !answer.shards.empty() &&
      leaf_of(answer.shards.back().shard) == pulling.leaves.front())
    pulling.after = answer.shards.back().shard;
  const ShardMap& map = executor_.map();
  for (const ShardDigest& theirs : answer.shards) {
    const Entry* mine = map.find(map.place(theirs.shard), theirs.shard);
    if (mine == nullptr || map.ledger().hash(*mine) != theirs.hash)
      pulling.shards.push_back(theirs.shard);
  }
}

std::size_t AntiEntropy::take_states(Pulling& pulling, const Pulled& answer) {
  drop_front(pulling.shards, answer.answered);
  executor_.merge(answer.states);
  return answer.states.size();
}

// Depth first: differences are fetched before more are looked for, so that the queues stay
// short with any number of differences.
void AntiEntropy::advance(Instant now, MemberIndex peer) {
  Pulling& pulling = peers_[peer];
  const bool looked = pulling.partitions.empty();
  if (!pulling.shards.empty()) {
    pulling.stage = Stage::states;
  } else if (!pulling.leaves.empty()) {
    pulling.stage = Stage::keys;
  } else if (!pulling.differing.empty() && (pulling.urgent || looked)) {
    if (!pulling.urgent && pulling.stage == Stage::partitions) {
      pulling.stage = Stage::second_look;
      pulling.partitions = std::exchange(pulling.differing, {});
      pulling.next = std::max(pulling.next, now + settings_.repair_second_look);
      return;
    }
    pulling.stage = Stage::leaves;
  } else if (!looked) {
    if (pulling.stage != Stage::second_look) pulling.stage = Stage::partitions;
  } else {
    finish(now, peer);
  }
}

void AntiEntropy::finish(Instant now, MemberIndex peer) {
  Pulling& pulling = peers_[peer];
  QUIPU_CHECK(pulling.shards.empty() && pulling.leaves.empty() && pulling.differing.empty(),
              "a pull ends when nothing is left to be fetched", peer, pulling.shards.size());
  QUIPU_CHECK(!pulling.asked && pulling.partitions.empty(), "a pull ends with no question left",
              peer, pulling.partitions.size());
  if (pulling.urgent)
    merged_.push_back({{peer, pulling.epoch, pulling.whole}, executor_.covering()});
  pulling = Pulling{};
  finished_[peer] = now;
  schedule(now, pulling);
}

std::vector<AntiEntropy::Repaired> AntiEntropy::take_repaired(Commit durable) {
  std::vector<Repaired> repaired;
  std::erase_if(merged_, [&](const Merged& one) {
    if (one.commit > durable) return false;
    repaired.push_back(one.repaired);
    return true;
  });
  return repaired;
}

bool AntiEntropy::about_to_repair(MemberIndex peer, std::uint64_t epoch) const {
  return std::any_of(merged_.begin(), merged_.end(), [&](const Merged& one) {
    return one.repaired.peer == peer && one.repaired.epoch == epoch;
  });
}

void AntiEntropy::on_tick(Instant now) {
  for (MemberIndex peer = 0; peer < peers_.size(); ++peer) {
    Pulling& pulling = peers_[peer];
    if (peer == view_.self() || !view_.up(peer) || pulling.asked || now < pulling.next) continue;
    if (pulling.stage == Stage::idle) {
      begin(now, peer);
    } else {
      ask(peer);
    }
  }
}

Instant AntiEntropy::deadline() const {
  Instant earliest = kNever;
  for (MemberIndex peer = 0; peer < peers_.size(); ++peer) {
    if (peer == view_.self() || !view_.up(peer) || peers_[peer].asked) continue;
    earliest = std::min(earliest, peers_[peer].next);
  }
  return earliest;
}

}  // namespace quipu
