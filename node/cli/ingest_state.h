// ingest_state.h: a file with what an ingest has read, sent and learnt, so that the next ingest
// goes on where it stopped and counts no line twice.
//
//   lines ─▶ block of adds ─▶ each add: bound to a token ─sync─▶ sent ─▶ settled
//
// Invariants
//   1. A line up to the position is in a block, blank or invalid.
//   2. A token is in the file, synced, before it is sent. An add is settled or unbound there
//      before a floor above its number is sent (journal.h).
//   3. The file, cut anywhere behind its last sync, equals an earlier file.
//
// The file is text, with a record on each line: a checksum of the rest, and
//   quipu-ingest-state 1 CLUSTER PLACEMENT   the cluster of the tokens; the first record
//   elements KIND KEY                        the lines are elements of KEY; no such record: sums
//   sums COUNTED ADDS REFUSED                the outcomes of settled lines
//   lost RANGES                              lines whose outcome cannot be found out any more
//   add TICKET AMOUNT RANGES KEY             an add of the block that ends next; its elements,
//                                            AMOUNT of them, are in the input
//   block LINES DIGEST OPEN BLANK REFUSED    the position; adds before it are valid now
//   bound TICKET SHARD STORE SERIAL NUMBER
//   unbound TICKET
//   settled TICKET CODE
//   synced                                   all before it was durable when this was written
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
#include "quipu/kind.h"

namespace quipu::cli {

class IngestState final : public ClientJournal {
 public:
  // The tokens' cluster, and how it was founded.
  struct Cluster {
    ClusterId id{};
    HashKey placement{};
    bool operator==(const Cluster&) const = default;
  };
  // What the ingest counts.
  struct Subject {
    Kind kind = Kind::sum;
    std::string key{};  // of the kind's counter; sums have theirs in the lines
    bool operator==(const Subject&) const = default;
  };
  // How far the input was read.
  struct Position {
    std::uint64_t lines = 0;
    std::uint64_t digest = 0;  // of these lines
    bool open = false;         // the last one had no newline
    std::uint64_t blank = 0;
    std::uint64_t refused = 0;  // invalid ones
    bool operator==(const Position&) const = default;
  };
  // The outcomes of settled adds.
  struct Sums {
    std::uint64_t counted = 0;  // lines
    std::uint64_t adds = 0;     // counted ones
    std::uint64_t refused = 0;  // lines
    LineRanges lost{};
  };
  struct OpenAdd {
    CombinedAdd add;
    std::optional<ClientBinding> bound{};
  };

  // Reads the file at `path`, or creates it. invalid_argument: not such a file, one of another
  // cluster or subject, or in use. cannot_start: it cannot be read or written.
  [[nodiscard]] static Result<std::unique_ptr<IngestState>> open(const std::string& path,
                                                                 const Cluster& cluster,
                                                                 const Subject& subject);
  ~IngestState() override;

  // ---- the state left by an earlier ingest, before the first block ----
  [[nodiscard]] const Position& position() const { return position_; }
  [[nodiscard]] const Sums& sums() const { return sums_; }
  // By ticket, without their elements. The bound ones have the floor that they may be sent with.
  [[nodiscard]] std::map<std::uint64_t, OpenAdd> open_adds() const;

  // ---- the reader's thread ----
  // Returns the ticket of the first; the others follow. Nothing is written yet.
  std::uint64_t add_block(const std::vector<CombinedAdd>& adds, const Position& position);
  // Why nothing can be written any more. Empty: it can.
  [[nodiscard]] std::string trouble() const;

  // ---- the client's thread, or after its end ----
  void note(const ClientJournalEntry& entry) override;
  [[nodiscard]] bool sync() override;

 private:
  class Loader;

  IngestState(std::string path, const Cluster& cluster, Subject subject);
  [[nodiscard]] Status take_over(int descriptor);
  [[nodiscard]] Status load(int descriptor);
  void settle(std::map<std::uint64_t, OpenAdd>::iterator at, Code code);
  [[nodiscard]] std::string everything() const;
  // Writes the file again. `fresh`: only if there is none; otherwise descriptor_ is unchanged.
  [[nodiscard]] Status rewrite(bool fresh);
  [[nodiscard]] bool fail(const std::string& why);

  const std::string path_;
  const Cluster cluster_;
  const Subject subject_;
  int descriptor_ = -1;
  std::size_t written_ = 0;  // since the file was written again

  mutable std::mutex mutex_;  // guards the rest
  Position position_;
  Sums sums_;
  std::map<std::uint64_t, OpenAdd> open_;
  std::uint64_t next_ticket_ = 1;
  std::string buffer_;  // records that are not in the file yet
  std::string trouble_;
};

}  // namespace quipu::cli
