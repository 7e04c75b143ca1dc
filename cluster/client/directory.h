// directory.h: a client's knowledge of the cluster. It chooses an add's shard and executor
// from it.
//
//   shard      0 until the counter is known to be spread. Then a random usable shard,
//              preferably one that the nearest member owns; or the shard of the add's
//              affinity
//   executor   the nearest member if it owns the shard, or the connected one, else the
//              first owner, else the connected member anyway; never a suspected one
//   nearest    of the members at the connected one's address (a node's reactors), the one
//              that owns shard 0, and so answers reads; else the connected one
//
// Suspicion is local to the client, short, and only steers new adds. The client remembers the
// error of an executor whose disk is full.
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
#include "protocol/check.h"
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
  // Applies the connected node's answer. REQUIRES: sound(reply)
  void learn(const ConfigReply& reply);
  // Something has changed.
  [[nodiscard]] bool known() const { return owners_.replication() != 0; }
  // The connected node's cluster is founded. Before, no counter has a place.
  [[nodiscard]] bool founded() const { return placement_key_ != HashKey{}; }
  [[nodiscard]] HashKey placement_key() const { return placement_key_; }
  // Why it is not founded, with the members that it waits for. REQUIRES: known()
  [[nodiscard]] std::string founding() const;

  // How many shards of a counter adds may use. 0: ignored.
  void learn_usable(Instant now, std::string_view key, ShardIndex usable);
  // An executor does not know of that many shards.
  void forget_usable(const std::string& key) { spreads_.erase(key); }
  // Whether that is known, and recently: an affinity needs no more.
  enum class Knowledge : std::uint8_t { none, old, recent };
  [[nodiscard]] Knowledge knows_usable(Instant now, const std::string& key) const;

  void suspect(StoreId store, Instant now) { suspect(store, now, {}); }
  // It answered that its disk is full, with this text.
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
  // storage_full: all possible executors are suspected, and one of them has a full disk.
  // unavailable: they are suspected or not known yet; ask again later.
  [[nodiscard]] Result<Choice> choose(Instant now, const ClientChange& change);

  [[nodiscard]] bool is_member(StoreId store) const;
  // REQUIRES: known()
  [[nodiscard]] StoreId connected_store() const {
    QUIPU_CHECK(known(), "a node has been connected");
    return members_[connected_].store;
  }
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
