// effects.h: the work that a core wants done. The core appends. Its shell does it, in order,
// and clears. Everything here may be done at once: the core held back what had to wait for a
// commit until that commit was durable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cluster/membership/config.h"
#include "protocol/client_messages.h"
#include "storage/executor.h"

namespace quipu {

// A TCP connection to another member, numbered by the shell, never reused.
enum class LinkId : std::uint64_t {};
// The asker: a client connection, or a call of the embedding program.
enum class ClientId : std::uint64_t {};

using Answer = std::variant<Done, Values, Keys, KeyCount, NamespaceReply, RangeReply,
                            QueryReply>;  // carries the asker's id

// An answer that is known at once, but may be sent only when `after` is durable:
// Effects::released says so.
struct AtOnce {
  AtOnce(Done&& known, Commit until) : done(std::move(known)), after(until) {}
  // For an add.
  AtOnce(std::uint64_t id, ShardIndex usable, std::optional<std::int64_t> total, Commit until)
      : done{.id = id, .usable = usable, .total = total}, after(until) {}
  Done done;
  Commit after;  // 0: now
};

struct Effects {
  struct Send {
    LinkId link;
    std::string frame;
  };
  struct Close {
    LinkId link;
    std::string reason;  // for the log; empty: nothing unusual
  };
  struct Reply {
    ClientId client;
    Answer answer;
  };

  std::vector<Sealed> writes;  // to the store, in order; report each as durable
  // To read from the store (storage/loader.h), independent of pending writes. One at a time.
  std::optional<LoadRequest> load;
  std::vector<Send> sends;
  std::vector<Close> closes;  // after the sends
  std::vector<Reply> replies;
  // AtOnce answers up to this commit may be sent. 0: nothing new.
  Commit released{};
  // This store may not be itself any more (lineage.h). Its new identity is durable: drop the
  // core and recover a new one from the store.
  bool restart = false;

  void clear() { *this = {}; }
};

}  // namespace quipu
