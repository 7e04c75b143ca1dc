// directory.h: what a client knows of the cluster, and so which shard an
// add goes to and who executes it.
//
//   shard      0 until the counter is known to be spread; then any of the usable
//              ones at random, rather one that the nearest member owns; or the one
//              that the add's affinity says
//   executor   the nearest member if it owns the shard, or the connected one, else the
//              first owner, else the connected member anyway; never one that is suspected
//   nearest    of the members at the connected one's address (a node's reactors) the one
//              that owns shard 0, and so answers reads; else the connected one
//
// Suspicion is the client's own, short, and only steers new adds. It remembers of an
// executor that has no room what that said.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cluster/client/change.h"
#include "cluster/client/settings.h"
#include "cluster/membership/config.h"
#include "protocol/client_messages.h"
#include "protocol/instant.h"
#include "protocol/keyed_hash.h"
#include "protocol/random.h"

namespace quipu {

class ClientDirectory {
 public:
  // `settings` must outlive it.
  ClientDirectory(const ClientSettings& settings, Random random);

  // Whether it makes sense in itself.
  [[nodiscard]] static bool sound(const ConfigReply& reply);
  // Takes over what the connected node says. REQUIRES: sound(reply)
  void learn(const ConfigReply& reply);
  // Something was learnt.
  [[nodiscard]] bool known() const { return owners_.replication() != 0; }
  // The connected node's cluster is founded: before, no counter has a place.
  [[nodiscard]] bool founded() const { return placement_key_ != HashKey{}; }
  // Why it is not, with the members that it waits for. REQUIRES: known()
  [[nodiscard]] std::string founding() const;

  // How many shards of a counter adds may use; 0 says nothing.
  void learn_usable(Instant now, std::string_view key, ShardIndex usable);
  // An executor has not heard of so many.
  void forget_usable(const std::string& key) { spreads_.erase(key); }
  // Whether that is known, and how lately: all that an affinity needs.
  enum class Knowledge : std::uint8_t { none, old, recent };
  [[nodiscard]] Knowledge knows_usable(Instant now, const std::string& key) const;

  void suspect(StoreId store, Instant now) { suspect(store, now, {}); }
  // It said that its disk is full, in these words.
  void suspect_full(StoreId store, Instant now, std::string detail) {
    suspect(store, now, Status(Code::storage_full, std::move(detail)));
  }
  void trust(StoreId store) { suspects_.erase(store); }
  [[nodiscard]] bool suspected(StoreId store, Instant now) const {
    return now < suspected_until(store);
  }
  [[nodiscard]] Instant suspected_until(StoreId store) const;

  struct Choice {
    ShardIndex shard = 0;
    StoreId executor{};
  };
  // storage_full: all that could are suspected, and one of them has said that. unavailable:
  // they are suspected or not known yet; ask again later.
  [[nodiscard]] Result<Choice> choose(Instant now, const ClientChange& change);

  [[nodiscard]] bool is_member(StoreId store) const;
  // REQUIRES: known()
  [[nodiscard]] StoreId connected_store() const { return members_[connected_].store; }
  [[nodiscard]] bool is_connected(StoreId store) const;
  [[nodiscard]] const std::string& name_of(StoreId store) const;
  [[nodiscard]] const std::string& connected_name() const;

 private:
  struct Suspect {
    Instant until{};
    Status why;  // storage_full, or ok: no answer
  };
  struct Spread {
    ShardIndex usable = 1;
    Instant as_of{};
  };
  [[nodiscard]] Partition place(std::string_view key, ShardIndex shard) const;
  [[nodiscard]] MemberIndex nearest(std::string_view key) const;
  [[nodiscard]] ShardIndex pick_shard(const ClientChange& change);
  [[nodiscard]] bool can_execute(MemberIndex member, Instant now) const;
  void suspect(StoreId store, Instant now, Status why);
  [[nodiscard]] Status why_nobody(Partition partition) const;

  const ClientSettings& settings_;
  Random random_;
  std::vector<MemberInfo> members_;
  OwnerTable owners_;
  HashKey placement_key_{};
  MemberIndex connected_ = 0;
  std::map<StoreId, Suspect> suspects_;
  std::unordered_map<std::string, Spread> spreads_;  // never iterated
};

}  // namespace quipu
