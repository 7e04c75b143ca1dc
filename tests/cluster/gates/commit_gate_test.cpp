#include "cluster/gates/commit_gate.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace quipu {
namespace {

std::vector<std::string> released(CommitGate<std::string>& gate, std::uint64_t durable) {
  std::vector<std::string> gone;
  gate.release(Commit{durable}, [&](std::string&& item) { gone.push_back(std::move(item)); });
  return gone;
}

TEST(CommitGate, LetsAnItemGoWhenItsCommitIsDurable) {
  CommitGate<std::string> gate;
  gate.hold("a", Commit{5});
  EXPECT_TRUE(released(gate, 4).empty());
  EXPECT_EQ(released(gate, 5), std::vector<std::string>{"a"});
  EXPECT_TRUE(gate.empty());
}

TEST(CommitGate, KeepsTheOrderOfItemsWhateverTheirCommits) {
  CommitGate<std::string> gate;
  gate.hold("a", Commit{7});
  gate.hold("b", Commit{3});
  gate.hold("c", Commit{7});
  gate.hold("d", Commit{9});
  EXPECT_TRUE(released(gate, 6).empty());
  EXPECT_EQ(released(gate, 8), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(gate.front(), "d");
  EXPECT_EQ(gate.last(), Commit{9});
}

TEST(CommitGate, TakesAnItemWhileItReleasesOthers) {
  CommitGate<std::string> gate;
  gate.hold("a", Commit{1});
  std::vector<std::string> gone;
  gate.release(Commit{1}, [&](std::string&& item) {
    gone.push_back(std::move(item));
    if (gone.size() == 1) gate.hold("held meanwhile", Commit{2});
  });
  EXPECT_EQ(gone, std::vector<std::string>{"a"});
  EXPECT_EQ(gate.front(), "held meanwhile");
}

}  // namespace
}  // namespace quipu
