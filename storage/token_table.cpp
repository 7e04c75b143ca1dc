#include "storage/token_table.h"

#include <algorithm>
#include <array>
#include <limits>

#include "protocol/check.h"
#include "protocol/state_codec.h"
#include "storage/stored_keys.h"

namespace quipu {
namespace {

// A recorded floor above all numbers: the session was dropped.
constexpr std::uint64_t kDropped = std::numeric_limits<std::uint64_t>::max();

constexpr std::uint64_t bit(std::uint8_t lane) { return std::uint64_t{1} << lane; }

}  // namespace

TokenTable::Session& TokenTable::obtain(Serial serial) {
  const auto [at, fresh] = sessions_.try_emplace(serial);
  if (fresh) {
    at->second.serial = serial;
    at->second.use = by_use_.insert(by_use_.end(), serial);
  }
  return at->second;
}

// False for a session with an open note: it is in use now, and its note must get into the
// record.
bool TokenTable::drop_oldest() {
  QUIPU_CHECK(sessions_.size() == by_use_.size() && !by_use_.empty(), "each session is listed once",
              sessions_.size(), by_use_.size());
  const Serial oldest = by_use_.front();
  if (sessions_.at(oldest).open) return false;
  drop(oldest);
  just_dropped_.push_back(oldest);
  return true;
}

void TokenTable::drop(Serial serial) {
  const auto at = sessions_.find(serial);
  if (at == sessions_.end()) return;
  QUIPU_CHECK(!at->second.open, "a session that the open record names is not dropped", serial);
  if (at->second.lanes != 0) {
    dropped_.emplace(serial, at->second.lanes);
    dirty_.push_back(serial);
  }
  by_use_.erase(at->second.use);
  sessions_.erase(at);
}

void TokenTable::mark_dirty(Session& session, std::uint8_t lane) {
  QUIPU_CHECK(lane < kLanes, "a session has 64 lanes", session.serial, lane);
  if (session.dirty == 0) dirty_.push_back(session.serial);
  session.dirty |= bit(lane);
}

void TokenTable::mark_open(Session& session) {
  if (session.open) return;
  session.open = true;
  open_.push_back(session.serial);
  open_bytes_ += sizeof(Session);
}

std::vector<TokenTable::Held>::iterator TokenTable::lower(Session& session, std::uint64_t number) {
  return std::lower_bound(session.held.begin(), session.held.end(), number,
                          [](const Held& held, std::uint64_t n) { return held.entry.number < n; });
}

void TokenTable::raise_floor(Session& session, std::uint64_t floor) {
  if (floor <= session.floor) return;
  QUIPU_CHECK(floor < kDropped, "only a session that was dropped has the last floor",
              session.serial, floor);
  session.floor = floor;
  mark_dirty(session, 0);
  forget_below_floor(session);
}

void TokenTable::forget_below_floor(Session& session) {
  const auto end = lower(session, session.floor);
  for (auto at = session.held.begin(); at != end; ++at) mark_dirty(session, at->entry.lane);
  session.held.erase(session.held.begin(), end);
  QUIPU_CHECK(session.held.empty() || session.held.front().entry.number >= session.floor,
              "nothing below the floor is remembered", session.serial, session.floor);
}

TokenTable::Found TokenTable::check(const Token& token, std::uint32_t fingerprint, bool confirmed) {
  // This start knows every serial that it issued. Another life may know more about the others.
  const bool certain = confirmed || serials_.issued(token.serial);
  const auto at = sessions_.find(token.serial);
  if (at == sessions_.end()) return {certain ? TokenStatus::expired : TokenStatus::doubtful};
  Session& session = at->second;
  by_use_.splice(by_use_.end(), by_use_, session.use);

  const auto held = lower(session, token.number);
  if (held != session.held.end() && held->entry.number == token.number) {
    if (held->entry.fingerprint != fingerprint) return {TokenStatus::reused};
    return {TokenStatus::duplicate, held->entry.code, held->commit};
  }
  if (token.number < session.floor) return {TokenStatus::expired};
  if (!certain) return {TokenStatus::doubtful};
  raise_floor(session, std::min({token.floor, token.number, kDropped - 1}));
  QUIPU_CHECK(session.floor <= token.number, "a token raises the floor no further than itself",
              token.serial, token.number, session.floor);
  if (token.number - session.floor >= limits_.window) return {TokenStatus::window_full};
  return {TokenStatus::fresh};
}

void TokenTable::note(const Token& token, const TokenEntry& entry, Commit open) {
  Session& session = sessions_.at(token.serial);
  const auto at = lower(session, entry.number);
  QUIPU_CHECK(entry.number == token.number && entry.number >= session.floor && entry.lane < kLanes,
              "what is noted was found fresh", token.number, entry.number, session.floor,
              entry.lane);
  QUIPU_CHECK(at == session.held.end() || at->entry.number != entry.number,
              "a number is applied once", token.serial, entry.number);
  QUIPU_CHECK(entry.number - session.floor < limits_.window, "a session's window is bounded",
              entry.number, session.floor);
  session.held.insert(at, Held{entry, open});
  mark_dirty(session, entry.lane);
  mark_open(session);
  open_bytes_ += sizeof(Held);
}

Serial TokenTable::issue() {
  Serial serial{};
  do {
    serial = serials_.issue();
  } while (sessions_.contains(serial));  // by an earlier start
  Session& session = obtain(serial);
  mark_dirty(session, 0);
  mark_open(session);
  while (sessions_.size() > limits_.sessions && drop_oldest()) {
  }
  QUIPU_CHECK(sessions_.size() == by_use_.size() && has_open(),
              "a session that was issued is in the open record", serial, sessions_.size(),
              by_use_.size());
  return serial;
}

std::vector<TokenRecord> TokenTable::take_open(Commit sealing) {
  std::vector<TokenRecord> records;
  records.reserve(open_.size() + just_dropped_.size());
  for (const Serial serial : open_) {
    Session& session = sessions_.at(serial);
    QUIPU_CHECK(session.open, "an open session is listed once", serial);
    session.open = false;
    TokenRecord& record = records.emplace_back(TokenRecord{serial, session.floor, {}});
    for (const Held& held : session.held) {
      QUIPU_CHECK(held.commit <= sealing, "what is noted goes with the open record", serial,
                  held.commit, sealing);
      if (held.commit == sealing) record.entries.push_back(held.entry);
    }
  }
  open_.clear();
  for (const Serial serial : just_dropped_) {
    QUIPU_CHECK(!sessions_.contains(serial), "a session is held whole or not at all", serial);
    records.push_back({serial, kDropped, {}});
  }
  just_dropped_.clear();
  open_bytes_ = 0;
  return records;
}

void TokenTable::take_in(Session& session, const TokenEntry& entry) {
  const auto at = lower(session, entry.number);
  if (at != session.held.end() && at->entry.number == entry.number) return;
  session.held.insert(at, Held{entry, Commit{}});
}

// Here and in replay(), no session is dropped for lack of room: later records would bring
// back part of it.
void TokenTable::load(const TokenRecord& lane) {
  Session& session = obtain(lane.serial);
  session.lanes |= bit(0);
  for (const TokenEntry& entry : lane.entries) {
    take_in(session, entry);
    session.lanes |= bit(entry.lane);
  }
  session.floor = std::max(session.floor, lane.floor);
  forget_below_floor(session);
}

void TokenTable::replay(const TokenRecord& record) {
  if (record.floor == kDropped) return drop(record.serial);
  Session& session = obtain(record.serial);
  by_use_.splice(by_use_.end(), by_use_, session.use);
  if (session.lanes == 0) mark_dirty(session, 0);
  for (const TokenEntry& entry : record.entries) {
    take_in(session, entry);
    mark_dirty(session, entry.lane);
  }
  raise_floor(session, record.floor);
  forget_below_floor(session);
}

// Returns how many entries that was, about.
std::size_t TokenTable::put(Serial serial, Batch& batch) {
  if (const auto at = sessions_.find(serial); at != sessions_.end())
    return put_lanes(at->second, batch);
  const auto at = dropped_.find(serial);
  if (at == dropped_.end()) return 0;
  QUIPU_CHECK(at->second != 0, "only a session at rest is deleted there", serial);
  for (std::uint8_t lane = 0; lane < kLanes; ++lane) {
    if ((at->second & bit(lane)) != 0) batch.deletes.push_back(stored::token(serial, lane));
  }
  dropped_.erase(at);
  return 1;
}

// Lane 0 stays for the floor. Any other lane is deleted when it is empty.
std::size_t TokenTable::put_lanes(Session& session, Batch& batch) {
  std::array<TokenRecord, kLanes> lanes;
  for (const Held& held : session.held) lanes[held.entry.lane].entries.push_back(held.entry);
  QUIPU_CHECK(session.held.empty() || session.held.back().entry.number >= session.floor,
              "what is put at rest is above the floor that is put with it", session.serial,
              session.floor);
  for (std::uint8_t lane = 0; lane < kLanes; ++lane) {
    if ((session.dirty & bit(lane)) == 0) continue;
    std::string key = stored::token(session.serial, lane);
    if (lane != 0 && lanes[lane].entries.empty()) {
      if ((session.lanes & bit(lane)) != 0) batch.deletes.push_back(std::move(key));
      session.lanes &= ~bit(lane);
      continue;
    }
    lanes[lane].serial = session.serial;
    lanes[lane].floor = session.floor;
    std::string value = encode_token_record(key, lanes[lane]);
    batch.puts.push_back({std::move(key), std::move(value)});
    session.lanes |= bit(lane);
  }
  session.dirty = 0;
  return 1 + session.held.size();
}

bool TokenTable::checkpoint(Batch& batch, std::size_t limit) {
  if (putting_.empty()) putting_.swap(dirty_);
  for (std::size_t written = 0; !putting_.empty() && written < limit;) {
    written += put(putting_.back(), batch);
    putting_.pop_back();
  }
  return putting_.empty();
}

}  // namespace quipu
