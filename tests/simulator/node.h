// node.h: one simulated node: the same NodeCore that quipud runs, on a disk and a
// network that fail, and whose process can die at any moment.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/node_core.h"
#include "storage/memory_store.h"
#include "storage/recovery.h"
#include "tests/simulator/network.h"

namespace quipu::sim {

struct DiskFaults {
  Duration sync_min{std::chrono::microseconds(100)};
  Duration sync_max{std::chrono::milliseconds(3)};
};

class SimNode {
 public:
  SimNode(Timeline& time, Network& network, const ClusterConfig& config, MemberIndex self,
          NodeSettings settings, DiskFaults faults, Random random);

  // Connections to all members go through here.
  void meet(std::vector<SimNode*> nodes) { nodes_ = std::move(nodes); }

  void start();
  // Loses what was not synced; of the write under way, chance decides.
  void crash();
  [[nodiscard]] bool running() const { return core_ != nullptr; }
  [[nodiscard]] HostId host() const { return self_; }

  // The disk as it is now, and its replacement: wiped, or an older copy.
  [[nodiscard]] const MemoryDisk& disk() const { return disk_; }
  // REQUIRES: !running()
  void replace_disk(MemoryDisk disk, bool rebuild);

  // A client's connection arrives. Nothing if the process is down.
  std::optional<Ears> accept_client(std::function<ConnId()> connection);

  [[nodiscard]] const NodeCore* core() const { return core_.get(); }
  // What this node's memory says now; nothing while it is down or not ready.
  [[nodiscard]] std::optional<Value> local_read(const std::string& key);

 private:
  struct Client {
    FrameDecoder decoder;
    std::function<ConnId()> connection;
  };
  struct Link {
    FrameDecoder decoder;
    ConnId connection{};
  };

  void recover_core();
  void dial();
  Ears link_ears(LinkId link);
  void on_link_bytes(LinkId link, const std::string& bytes);
  void on_link_closed(LinkId link);
  void on_client_bytes(ClientId client, const std::string& bytes);
  void answer_client(ClientId client, const std::string& bytes);
  void perform(Effects& effects);
  void begin_write();
  void arm();
  // Runs `what` later unless the process has died meanwhile.
  void later(Instant when, std::function<void()> what);

  Timeline& time_;
  Network& network_;
  const ClusterConfig& config_;
  MemberIndex self_;
  NodeSettings settings_;
  DiskFaults faults_;
  Random random_;
  std::vector<SimNode*> nodes_;

  MemoryDisk disk_;
  bool rebuild_ = false;
  std::unique_ptr<MemoryStore> store_;
  std::unique_ptr<NodeCore> core_;
  std::uint64_t incarnation_ = 0;
  std::deque<Sealed> queued_;
  std::vector<Sealed> writing_;
  std::map<LinkId, Link> links_;
  std::map<ClientId, Client> clients_;
  std::map<MemberIndex, LinkId> dialed_;
  std::uint64_t next_id_ = 1;
  Instant armed_ = kNever;
  std::vector<Value> own_answer_;
};

}  // namespace quipu::sim
