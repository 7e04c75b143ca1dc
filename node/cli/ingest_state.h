// ingest_state.h: what an ingest has read, sent and learnt, in a file, so that the next
// one goes on where it stopped and counts no line twice.
//
//   lines ─▶ block of adds ─▶ each add: bound to a token ─sync─▶ sent ─▶ settled
//
// Invariants
//   1. A line is in a block, blank or unsound up to the position, or behind it.
//   2. A token is in the file, synced, before it is sent, and an add is settled or
//      unbound there before a floor is sent that passes its number (journal.h).
//   3. The file, cut anywhere behind its last sync, is what an earlier moment left.
//
// The file is text, a record to a line: the checksum of what follows, and
//   quipu-ingest-state 1 CLUSTER PLACEMENT   whose tokens these are; the first record
//   sums COUNTED ADDS REFUSED                what became of settled lines
//   lost RANGES                              lines of which nobody can tell any more
//   add TICKET AMOUNT RANGES KEY             of the block that ends next
//   block LINES DIGEST OPEN BLANK REFUSED    the position; adds before it are in force
//   bound TICKET SHARD STORE SERIAL NUMBER
//   unbound TICKET
//   settled TICKET CODE
//   synced                                   all before it was durable when it was written
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "node/api/client_journal.h"
#include "node/cli/ingest_combiner.h"
#include "protocol/ids.h"
#include "protocol/keyed_hash.h"

namespace quipu::cli {

class IngestState final : public ClientJournal {
 public:
  // Whose executors the tokens are of: a cluster, and how it was founded.
  struct Cluster {
    ClusterId id{};
    HashKey placement{};
    bool operator==(const Cluster&) const = default;
  };
  // How far the input was read.
  struct Position {
    std::uint64_t lines = 0;
    std::uint64_t digest = 0;  // of them
    bool open = false;         // the last one had no newline
    std::uint64_t blank = 0;
    std::uint64_t refused = 0;  // unsound ones
    bool operator==(const Position&) const = default;
  };
  // What became of the adds that are settled.
  struct Sums {
    std::uint64_t counted = 0;  // lines
    std::uint64_t adds = 0;     // that were counted
    std::uint64_t refused = 0;  // lines
    LineRanges lost{};
  };
  struct OpenAdd {
    CombinedAdd add;
    std::optional<ClientBinding> bound{};
  };

  // Takes over what is at `path`, or begins anew if nothing is. invalid_argument: it is
  // none of ours, of another cluster, or in use; cannot_start: it cannot be read or written.
  [[nodiscard]] static Result<std::unique_ptr<IngestState>> open(const std::string& path,
                                                                 const Cluster& cluster);
  ~IngestState() override;

  // ---- what an earlier ingest left, before the first block ----
  [[nodiscard]] const Position& position() const { return position_; }
  [[nodiscard]] const Sums& sums() const { return sums_; }
  // By ticket; the bound ones with the floor that they may be sent with.
  [[nodiscard]] std::map<std::uint64_t, OpenAdd> open_adds() const;

  // ---- the reader's thread ----
  // The ticket of the first; the others follow. Nothing is written yet.
  std::uint64_t add_block(const std::vector<CombinedAdd>& adds, const Position& position);
  // Why nothing can be written any more; empty: it can.
  [[nodiscard]] std::string trouble() const;

  // ---- the client's thread, or after its end ----
  void note(const ClientJournalEntry& entry) override;
  [[nodiscard]] bool sync() override;

 private:
  class Loader;

  IngestState(std::string path, const Cluster& cluster);
  [[nodiscard]] Status take_over(int descriptor);
  [[nodiscard]] Status load(int descriptor);
  void settle(std::map<std::uint64_t, OpenAdd>::iterator at, Code code);
  [[nodiscard]] std::string everything() const;
  // Puts the file anew. `fresh`: only if there is none, else descriptor_ stays as it was.
  [[nodiscard]] Status rewrite(bool fresh);
  [[nodiscard]] bool fail(const std::string& why);

  const std::string path_;
  const Cluster cluster_;
  int descriptor_ = -1;
  std::size_t written_ = 0;  // since the file was put anew

  mutable std::mutex mutex_;  // what follows
  Position position_;
  Sums sums_;
  std::map<std::uint64_t, OpenAdd> open_;
  std::uint64_t next_ticket_ = 1;
  std::string buffer_;  // records that are not in the file
  std::string trouble_;
};

}  // namespace quipu::cli
