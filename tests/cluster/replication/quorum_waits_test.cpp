// An add is answered once a majority of its owners has its commit, and never before. What
// is waited for, held, lost and late is drawn, and a plain list tells what must be answered.
#include "cluster/replication/quorum_waits.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "cluster/membership/config.h"

namespace quipu::test {
namespace {

using namespace std::chrono_literals;

constexpr MemberIndex kSelf = 0, kMembers = 4;

ClusterConfig four_members() {
  std::vector<Member> members;
  for (int i = 0; i < kMembers; ++i) {
    const std::string name = "n" + std::to_string(i);
    members.push_back({node_id(name), name, name + ":1", name + ":2", "", 1});
  }
  return found_config("test", members, 3).value();
}

// In each four all hashes are alike, so that names decide.
PlacedRef waited(const std::string& key, std::uint64_t number) {
  return {{key, 0}, Placement(number / 4 * 0x9e3779b97f4a7c15)};
}

class Waits {
 public:
  void wait(std::uint64_t number, std::uint64_t commit, Instant deadline) {
    add(number, commit, deadline);
    check();
  }
  void add(std::uint64_t number, std::uint64_t commit, Instant deadline) {
    const std::string key = "key:" + std::to_string(number);
    const std::uint64_t id = next_id_++;
    Waiting one{id, number, Commit{commit}, deadline};
    for (const Waiting& other : model_) {
      const bool newer = other.number == number && other.commit > one.commit;
      if (newer && !met(one)) one.commit = other.commit;
    }
    model_.push_back(one);
    waits_.wait(waited(key, number), Commit{commit}, {.id = id}, {}, deadline);
  }
  void held(std::uint64_t number, MemberIndex owner, std::uint64_t commit) {
    const std::string key = "key:" + std::to_string(number);
    const auto waiting = [number](const Waiting& one) { return one.number == number; };
    if (std::ranges::any_of(model_, waiting)) {
      Commit& newest = held_[{number, owner}];
      newest = std::max(newest, Commit{commit});
    }
    waits_.on_held(waited(key, number), owner, Commit{commit});
    check();
  }
  void durable(std::uint64_t commit) {
    durable_ = std::max(durable_, Commit{commit});
    waits_.on_durable(durable_);
    check();
  }
  void restart() {
    held_.clear();
    std::set<ShardKey> names;
    for (const Waiting& one : model_) names.insert({"key:" + std::to_string(one.number), 0});
    RC_ASSERT(waits_.restart() == std::vector<ShardKey>(names.begin(), names.end()));
    check();
  }
  void tick(Instant now) {
    waits_.on_tick(now);
    std::multiset<std::uint64_t> late;
    for (const Waiting& one : model_) {
      if (now >= one.deadline) late.insert(one.id);
    }
    RC_ASSERT(answered(Code::in_doubt) == late);
    std::erase_if(model_, [&](const Waiting& one) { return late.contains(one.id); });
    forget();
  }

 private:
  struct Waiting {
    std::uint64_t id, number;
    Commit commit;
    Instant deadline;
  };

  [[nodiscard]] bool met(const Waiting& one) {
    std::size_t count = 0;
    for (const MemberIndex owner :
         config_.owners.of(waited("", one.number).placement.partition())) {
      const auto at = held_.find({one.number, owner});
      const bool holds = at != held_.end() && at->second >= one.commit;
      count += holds || (owner == kSelf && durable_ >= one.commit) ? 1 : 0;
    }
    return count >= config_.owners.majority();
  }
  void check() {
    std::multiset<std::uint64_t> due;
    for (const Waiting& one : model_) {
      if (met(one)) due.insert(one.id);
    }
    RC_ASSERT(answered(Code::ok) == due);
    std::erase_if(model_, [&](const Waiting& one) { return due.contains(one.id); });
    forget();
  }
  // What is held counts for those who wait meanwhile.
  void forget() {
    std::erase_if(held_, [this](const auto& row) {
      return std::ranges::none_of(
          model_, [&](const Waiting& one) { return one.number == row.first.first; });
    });
    RC_ASSERT(waits_.size() == model_.size());
    for (const Waiting& one : model_) {
      const std::string key = "key:" + std::to_string(one.number);
      RC_ASSERT(waits_.waits_for(waited(key, one.number)));
    }
  }
  std::multiset<std::uint64_t> answered(Code code) {
    Effects effects;
    out_.flush({}, {}, effects);
    std::multiset<std::uint64_t> ids;
    for (const Effects::Reply& reply : effects.replies) {
      const Done& done = std::get<Done>(reply.answer);
      RC_ASSERT(done.code == code);
      ids.insert(done.id);
    }
    return ids;
  }

  const ClusterConfig config_ = four_members();
  const View view_{config_, kSelf, BootId{77}};
  TaskQueue tasks_;
  Outbound out_{view_, tasks_, {}};
  QuorumWaits waits_{view_, out_};
  std::vector<Waiting> model_;
  std::map<std::pair<std::uint64_t, MemberIndex>, Commit> held_;
  Commit durable_{};
  std::uint64_t next_id_ = 1;
};

// Commits count up; a retry waits for one that is durable already.
RC_GTEST_PROP(QuorumWaits, AreAnsweredOnceAMajorityHasThem, ()) {
  Waits waits;
  Instant now{1h};
  std::uint64_t open = 1, durable = 0;
  const auto up_to = [](std::uint64_t most) {
    return *rc::gen::inRange<std::uint64_t>(most - std::min<std::uint64_t>(most, 3), most + 1);
  };
  for (int left = *rc::gen::inRange(1, 300); left > 0; --left) {
    const auto number = *rc::gen::inRange<std::uint64_t>(0, 40);
    const int what = *rc::gen::inRange(0, 20);
    if (what < 8) {
      waits.wait(number, open, now + *rc::gen::inRange(1, 60) * 1s);
    } else if (what < 9) {
      waits.wait(number, up_to(durable), now + 10s);
    } else if (what < 15) {
      waits.held(number, *rc::gen::inRange<MemberIndex>(1, kMembers), up_to(open));
    } else if (what < 16) {
      ++open;
    } else if (what < 18) {
      durable = std::max(durable, up_to(open - 1));
      waits.durable(durable);
    } else if (what < 19) {
      waits.restart();
    } else {
      now += 5s;
      waits.tick(now);
    }
  }
}

TEST(QuorumWaits, WorkAfterManyWereGivenUp) {
  Waits waits;
  for (std::uint64_t number = 0; number < 5000; ++number) waits.add(number, 5, Instant{2h});
  waits.tick(Instant{3h});
  waits.durable(5);
  waits.wait(1, 6, Instant{4h});
  waits.durable(6);
  waits.tick(Instant{4h});
}

}  // namespace
}  // namespace quipu::test
