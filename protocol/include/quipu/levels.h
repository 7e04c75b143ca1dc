// levels.h: the levels of adds and of reads. Plain numbers, for any thread.
#pragma once

#include <cstdint>

namespace quipu {

// What an acknowledged add survives. Wire numbers; do not renumber.
enum class Ack : std::uint8_t {
  memory = 0,      // nothing: it may be lost with the executor's process
  disk = 1,        // kill -9 and power loss of every node (not the loss of its executor's disk)
  quorum = 2,      // also the permanent loss of any minority of the shard's owners
  by_default = 3,  // what the counter's namespace says (namespace.h), else `disk`
};

// Where the answer to a read comes from. Wire numbers; do not renumber.
enum class ReadLevel : std::uint8_t {
  local = 0,       // this node's memory; says its age and whether it is complete
  fresh = 1,       // one live owner of each shard, asked now
  strong = 2,      // a majority of each shard's owners: counts every add acked at quorum before
  by_default = 3,  // what the counter's namespace says (namespace.h), else `local`
};

}  // namespace quipu
