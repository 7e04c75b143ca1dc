// shard_list.h: the names of many shards, packed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/check.h"
#include "protocol/ids.h"
#include "protocol/keyed_hash.h"
#include "protocol/window.h"

namespace quipu {

class ShardList {
 public:
  void push(const ShardRef& ref) {
    QUIPU_CHECK(ref.key.size() <= kMaxName, "a name's length fits 16 bits", ref.key.size());
    keys_.append(ref.key);
    names_.push_back({static_cast<std::uint16_t>(ref.key.size()), ref.shard});
  }

  // In the order of push.
  template <class Visit>
  void for_each(Visit&& visit) const {
    std::size_t at = 0;
    for (const Name& name : names_) {
      visit(ShardRef(std::string_view(keys_).substr(at, name.key_size), name.shard));
      at += name.key_size;
    }
    QUIPU_CHECK(at == keys_.size(), "each byte is of one name", at, keys_.size());
  }
  bool operator==(const ShardList&) const = default;

 private:
  struct Name {
    std::uint16_t key_size;
    ShardIndex shard;
    bool operator==(const Name&) const = default;
  };

  std::string keys_;
  std::vector<Name> names_;
};

}  // namespace quipu
