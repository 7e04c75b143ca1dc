// nemesis.h: the faults, and their times. It keeps the limits of the promises: only a minority
// of a partition's owners loses its disks before the others have filled the replacements.
#pragma once

#include <optional>
#include <vector>

#include "tests/simulator/client_host.h"
#include "tests/simulator/ledger.h"
#include "tests/simulator/node.h"

namespace quipu::sim {

class Nemesis {
 public:
  Nemesis(const Shared& shared, std::vector<SimNode*> nodes, Ledger& ledger, const Options& options,
          Random random);

  // Begins, until heal(). While the cluster is not founded, no disk is lost: no node could fill
  // the next one.
  enum class Disks { kept, lost };
  void start(Disks disks);
  // Ends every fault. Nodes that are down start.
  void heal();
  // Called with the node that clients should prefer for a while, and with its store: its disk went
  // back, or no other node hears it.
  void on_favoured(std::function<void(MemberIndex, StoreId)> told) {
    on_favoured_ = std::move(told);
  }
  // Does what its status asks: rebuilds a replacement again that other nodes take for retired,
  // since they know an earlier replacement that was lost before it was filled.
  void rebuild_refused();
  // After healing: nodes that came back from an older copy, while newer cells were known.
  void check_identities() const;
  // Ready, filled, and linked to all: its disk may be relied on again.
  [[nodiscard]] bool is_whole(std::size_t node) const;

 private:
  struct Fault {
    Knob knob;
    void (Nemesis::*strike)(SimNode&);
    Disks disks = Disks::kept;
  };
  void strike();
  void injected(const SimNode& node, const char* kind, Duration length = {});

  void crash(SimNode& node);
  void crash_all(SimNode&);
  void close(SimNode& node);
  void restart_later(SimNode& node);
  void restart(SimNode& node);
  void pause(SimNode& node);
  void cut(SimNode& node);
  void split(SimNode& node);
  void tear(SimNode& node);
  void cut_one_way(SimNode& node);
  void cut_replies(SimNode& node);
  void isolate(const SimNode& node, const std::vector<MemberIndex>& from, Duration least);
  void heal_network_later(Duration least = Duration::zero());
  void stranger(SimNode& node);
  void slow_disk(SimNode& node);
  void full_disk(SimNode& node);
  void fail_sync(SimNode& node);
  void wipe(SimNode& node);
  void replace_unseen(SimNode& node);
  void return_to_one(SimNode& node, const std::vector<SimNode*>& replaced, MemberIndex first);
  void lose_all(SimNode& node);
  void relay(SimNode& node);
  void strike_down(SimNode& node);
  void take_copy(std::size_t node);
  void restore_copy(SimNode& node);
  void lose_tail(SimNode& node);
  void drop_unheard_tail(SimNode& node, MemberIndex witness, Instant latest);
  void drop_tail(SimNode& node, std::size_t writes);
  void lose_what_was_read(SimNode& node);
  void go_back_unheard(SimNode& node, SimNode& reader, MemoryDisk older);
  void let_reader_write(const SimNode& node, const SimNode& reader, Instant latest);
  [[nodiscard]] std::vector<std::string> newest_keys_of(const SimNode& node,
                                                        const SimNode& not_of) const;
  void go_back(SimNode& node, MemoryDisk older, const char* kind);
  [[nodiscard]] std::vector<MemberIndex> put_back(SimNode& node, MemoryDisk older,
                                                  const char* kind);
  void strike_when_whole(SimNode& node, MemoryDisk old);
  void swap_disks(SimNode& node, MemoryDisk replaced);
  void swap_back();
  void watch_swapped();
  void check_identity(const SimNode& node) const;
  void await_notice(const SimNode& node, std::size_t which);
  void flip_bit(SimNode& node);
  void jump_clock(SimNode& node);
  void new_clock(SimNode& node);
  void set_walls();
  void change_wall();
  [[nodiscard]] std::int64_t draw_ppm();

  // Whether one more disk may be lost now.
  [[nodiscard]] bool may_lose_a_disk();
  // How many of the owners' disks may be lost at one time.
  [[nodiscard]] std::size_t spare_disks() const;
  [[nodiscard]] std::vector<SimNode*> shuffled_others(const SimNode& node);
  void lose_disk(SimNode& node, MemoryDisk by, bool rebuild);
  [[nodiscard]] Duration upto(std::uint64_t ms) {
    return std::chrono::milliseconds(1 + random_.below(ms));
  }

  Shared shared_;
  std::vector<SimNode*> nodes_;
  std::vector<MemberIndex> all_;
  Ledger& ledger_;
  const Options& options_;
  Random strikes_;
  Random random_;  // of the current strike
  Random walls_;
  Random closes_;
  std::size_t wrong_wall_ = 0;  // the node whose wall clock may be wrong
  std::size_t hosts_;
  bool active_ = false;
  Disks disks_ = Disks::lost;
  std::uint64_t starts_ = 0;  // the partition of the next strike
  std::size_t left_;
  Instant undisturbed_until_{};  // by other strikes
  std::uint64_t cuts_ = 0;       // the node of the next healing
  // By node.
  std::vector<bool> restarting_;
  std::vector<Instant> slow_until_, full_until_;  // the end of the last of overlapping ones
  std::vector<bool> lost_;                        // its disk was lost, and not filled again yet
  std::vector<MemoryDisk> copies_;                // its disk is an older one
  // Its disk went back: the name of the store that it must give up once it has met the holders
  // of cells from later records.
  struct Away {
    StoreId store{};
    std::vector<MemberIndex> witnesses;
  };
  std::vector<Away> away_;
  // A replaced disk runs in its successor's place, for now.
  struct Swapped {
    SimNode* node;
    MemoryDisk right;
  };
  std::optional<Swapped> swapped_;
  std::function<void(MemberIndex, StoreId)> on_favoured_;
};

}  // namespace quipu::sim
