// disk_faults.cpp: disks that fill up, fail, lose their power, are damaged, wiped, or
// come back from an old copy.
#include <algorithm>
#include <fstream>

#include "tests/chaos/nemesis.h"
#include "tests/node/eventually.h"
#include "tests/system/process.h"

namespace quipu::chaos {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

milliseconds down_time(Random& random) {
  return between(random, milliseconds(200), milliseconds(3000));
}

// ---- nothing that was synced is lost ----

Strike disk_full(Testbed& testbed, Random& random) {
  const std::size_t node = any_node(random);
  return {.what = "of " + name_of(node),
          .lasts = between(random, milliseconds(2000), testbed.longest),
          .begin = [&testbed, node] { testbed.disks[node].fill(); },
          .end = [&testbed, node] { testbed.disks[node].make_room(); }};
}

// Without power no process goes on, so they stand still first. One that did could be told
// by ext4 that a sync succeeded which the shutdown had thrown away: a transaction that
// was aborted looks to fdatasync like one that is committed (seen with Linux 6.18).
void lose_power(Testbed& testbed, const std::vector<std::size_t>& nodes) {
  for (const std::size_t node : nodes) testbed.cluster.pause(node);
  for (const std::size_t node : nodes) testbed.disks[node].power_off();
  for (const std::size_t node : nodes) testbed.cluster.kill(node);
  for (const std::size_t node : nodes) testbed.disks[node].power_on();
}

Strike power_loss(Testbed& testbed, Random& random, const std::vector<std::size_t>& nodes) {
  return {.what = "of " + names(nodes),
          .lasts = down_time(random),
          .begin = [&testbed, nodes] { lose_power(testbed, nodes); },
          .end =
              [&testbed, nodes] {
                for (const std::size_t node : nodes) testbed.cluster.start(node);
              }};
}

Strike power_loss_of_one(Testbed& testbed, Random& random) {
  return power_loss(testbed, random, {any_node(random)});
}
Strike power_loss_of_all(Testbed& testbed, Random& random) {
  return power_loss(testbed, random, nodes_in_random_order(random));
}

// The node must end. Then its power goes, so that what was not synced is really gone.
Strike sync_error(Testbed& testbed, Random& random) {
  const std::size_t node = any_node(random);
  return {.what = "of " + name_of(node) + ": fdatasync answers EIO",
          .lasts = down_time(random),
          .begin =
              [&testbed, node] {
                testbed.cluster.expect_end(node);
                testbed.cluster.break_sync(node);
                if (!testbed.cluster.ends(node, seconds(15))) {
                  testbed.cluster.find(
                      name_of(node) + " went on for 15 s although every sync fails: it should end");
                }
                if (testbed.why_no_loop.empty()) lose_power(testbed, {node});
                testbed.cluster.kill(node);
                testbed.cluster.mend_sync(node);
              },
          .end = [&testbed, node] { testbed.cluster.start(node); }};
}

// ---- a disk is lost ----

// Without the zeros at the end of a log, which wait for records.
std::uint64_t size_of_contents(const fs::path& file) {
  return test::read_file(file).find_last_not_of('\0') + 1;
}

// Any bit of any file of the store. A power cut cannot do this. The store must notice it.
void flip_a_bit(const fs::path& store, std::uint64_t draw) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(store)) {
    const std::string kind = entry.path().extension();
    if ((kind == ".log" || kind == ".ldb") && size_of_contents(entry.path()) > 0)
      files.push_back(entry.path());
  }
  if (files.empty()) return;
  std::sort(files.begin(), files.end());
  Random random(draw);
  const fs::path& path = files[random.below(files.size())];
  const auto at = static_cast<std::streamoff>(random.below(size_of_contents(path)));
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(at);
  const int byte = file.get();
  file.seekp(at);
  file.put(static_cast<char>(byte ^ (1 << random.below(8))));
}

Strike bit_flip(Testbed& testbed, Random& random) {
  const std::size_t node = any_node(random);
  return {.what = "in a store file of " + name_of(node) + ", after kill -9",
          .lasts = down_time(random),
          .begin =
              [&testbed, node, draw = random.next()] {
                testbed.cluster.expect_lost_disk(node);
                testbed.cluster.kill(node);
                flip_a_bit(testbed.disks[node].data() / "store", draw);
                testbed.disks[node].sync();
              },
          .end = [&testbed, node] { testbed.cluster.start(node); }};
}

Strike wipe(Testbed& testbed, Random& random) {
  const std::size_t node = any_node(random);
  // An operator who forgets it is told by the node.
  const bool forgets = random.below(2) == 0;
  return {.what = "of " + name_of(node) + (forgets ? ", started without --rebuild at first" : ""),
          .lasts = down_time(random),
          .begin =
              [&testbed, node] {
                testbed.cluster.expect_lost_disk(node);
                testbed.cluster.kill(node);
                fs::remove_all(testbed.disks[node].data());
                testbed.disks[node].sync();
              },
          .end =
              [&testbed, node, forgets] {
                testbed.cluster.start(node,
                                      forgets ? Cluster::Store::keep : Cluster::Store::rebuild);
              }};
}

// As the log has it.
constexpr const char* kNoticed = "this disk came back from an older copy";

fs::path copy_of(const Testbed& testbed, std::size_t node) {
  return testbed.disks[node].data().string() + ".copy";
}

Strike old_copy(Testbed& testbed, Random& random) {
  const std::size_t node = any_node(random);
  return {.what = "of " + name_of(node) + ", from when this began",
          .lasts = between(random, milliseconds(1500), milliseconds(6000)),
          .begin =
              [&testbed, node] {
                testbed.cluster.kill(node);
                fs::copy(testbed.disks[node].data(), copy_of(testbed, node),
                         fs::copy_options::recursive);
                testbed.cluster.start(node);
                const std::string wrong = testbed.cluster.nurse(seconds(60));
                if (!wrong.empty()) testbed.cluster.find(wrong);
              },
          .end =
              [&testbed, node] {
                testbed.cluster.expect_lost_disk(node);
                testbed.cluster.kill(node);
                fs::remove_all(testbed.disks[node].data());
                fs::rename(copy_of(testbed, node), testbed.disks[node].data());
                testbed.disks[node].sync();
                testbed.cluster.start(node);
              },
          .verify =
              [&testbed, node] {
                // It may be ready before it has met those who know.
                const bool noticed = test::eventually([&testbed, node] {
                  return testbed.cluster.words(node).find(kNoticed) != std::string::npos;
                });
                if (!noticed) {
                  testbed.cluster.find(name_of(node) + " got an old copy of its disk, its peers " +
                                       "knew more, and it did not say so");
                }
              }};
}

}  // namespace

std::vector<Nemesis> disk_nemeses() {
  using enum Nemesis::Family;
  using enum Nemesis::Needs;
  return {
      {"disk-full", disk, Loss::nothing, loop, "ENOSPC on one node's filesystem", disk_full},
      {"sync-error",
       disk,
       Loss::memory,
       {},
       "fdatasync answers EIO: the node must end",
       sync_error},
      {"power-loss", disk, Loss::memory, loop, "one node's filesystem forgets what was not synced",
       power_loss_of_one},
      {"power-loss-all", disk, Loss::memory, loop, "those of all nodes at once", power_loss_of_all},
      {"bit-flip",
       disk,
       Loss::disk,
       {},
       "one bit of a store file, while the node is down",
       bit_flip},
      {"wipe", disk, Loss::disk, {}, "a node's data directory is gone", wipe},
      {"old-copy", disk, Loss::disk, {}, "a node's data directory from seconds ago", old_copy},
  };
}

}  // namespace quipu::chaos
