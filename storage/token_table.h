// token_table.h: remembers the changes that this executor applied, so that a retry counts once.
//
// A session is a serial issued here, and the applied numbers at or above its floor (RIFL,
// Lee et al. 2015, with a bounded window). A noted token goes into the same record as its
// change.
//
//   check ── fresh ──▶ apply ──▶ note ──▶ take_open (at the seal)
//     └── duplicate / reused / expired / doubtful / window_full: nothing applied
//
// Invariants
//   1. A number is noted at most once, and never after its floor passed it.
//   2. A session is held whole or not at all. If it had forgotten some of its numbers, they
//      would pass for new. So dropping a session is recorded, too.
//   3. A serial is issued once, by all lives of all stores (serials.h). If this start has issued
//      one that it does not hold, it has dropped it.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "protocol/state.h"
#include "storage/serials.h"
#include "storage/store.h"

namespace quipu {

struct TokenLimits {
  std::size_t window = 1024;     // numbers above a session's floor
  std::size_t sessions = 65536;  // the least recently used are dropped first
};

// What the table says of a token.
enum class TokenStatus : std::uint8_t {
  fresh,        // apply it, then note it
  duplicate,    // was applied (or refused for good) with these arguments
  reused,       // was applied with other arguments
  expired,      // below the floor, or its session was dropped: cannot be known
  doubtful,     // may be in what this store lost; ask again once it is confirmed
  window_full,  // open another session
};

class TokenTable {
 public:
  // `key`: of this start's serials, drawn at random.
  TokenTable(TokenLimits limits, std::uint64_t key) : limits_(limits), serials_(key) {}

  struct Found {
    TokenStatus status;
    Code code = Code::ok;  // duplicate: the result of the first attempt
    Commit commit{};       // duplicate: its record
  };

  // Also applies the token's floor. `confirmed`: the version vectors of all other owners show
  // that this store lost nothing.
  [[nodiscard]] Found check(const Token& token, std::uint32_t fingerprint, bool confirmed);
  // REQUIRES: check() found it fresh.
  void note(const Token& token, const TokenEntry& entry, Commit open);

  // Opens a session; its empty record is part of the open one.
  [[nodiscard]] Serial issue();

  [[nodiscard]] bool has_open() const { return !open_.empty() || !just_dropped_.empty(); }
  // About how much was noted since the last take_open, and so cannot be dropped yet.
  [[nodiscard]] std::size_t open_bytes() const { return open_bytes_; }
  // What was noted since the last call, for the record with that number.
  [[nodiscard]] std::vector<TokenRecord> take_open(Commit sealing);

  // For a start: call it for the lanes at rest, then for what records contain, in order.
  void load(const TokenRecord& lane);
  void replay(const TokenRecord& record);

  // Puts the lanes that had changed when this round of calls began, and deletes those of dropped
  // sessions, at most about `limit` entries. True if this call was the last of the round.
  bool checkpoint(Batch& batch, std::size_t limit);

  [[nodiscard]] std::size_t sessions() const { return sessions_.size(); }

 private:
  struct Held {
    TokenEntry entry;
    Commit commit{};
  };
  struct Session {
    Serial serial{};
    std::uint64_t floor = 0;
    std::vector<Held> held;   // ascending by number
    std::uint64_t lanes = 0;  // that have a record at rest; lane 0 always does, for the floor
    std::uint64_t dirty = 0;  // lanes to be put
    bool open = false;        // noted since the last take_open
    std::list<Serial>::iterator use;
  };

  Session& obtain(Serial serial);
  void mark_open(Session& session);
  void mark_dirty(Session& session, std::uint8_t lane);
  void raise_floor(Session& session, std::uint64_t floor);
  void forget_below_floor(Session& session);
  static void take_in(Session& session, const TokenEntry& entry);
  static std::vector<Held>::iterator lower(Session& session, std::uint64_t number);
  bool drop_oldest();
  void drop(Serial serial);
  std::size_t put(Serial serial, Batch& batch);
  std::size_t put_lanes(Session& session, Batch& batch);

  TokenLimits limits_;
  Serials serials_;
  std::unordered_map<Serial, Session> sessions_;  // never iterated: see by_use_
  std::list<Serial> by_use_;                      // least recently used first
  std::vector<Serial> open_;
  std::size_t open_bytes_ = 0;
  std::vector<Serial> just_dropped_;                   // since the last take_open
  std::unordered_map<Serial, std::uint64_t> dropped_;  // their lanes at rest; never iterated
  // Sessions, including dropped ones, that differ from their state at rest. `putting_` is
  // this round's part of them: otherwise traffic would keep the round from ending.
  std::vector<Serial> dirty_;
  std::vector<Serial> putting_;
};

}  // namespace quipu
