// What a forwarder sends borrows the ops that wait in it, so it sends at the end of an
// event, and an op that ended before was never sent.
#include "cluster/changes/forwarder.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "protocol/message_codec.h"
#include "tests/cluster/frames.h"

namespace quipu::test {
namespace {

using namespace std::chrono_literals;

constexpr MemberIndex kSelf = 0, kOther = 1;
constexpr LinkId kLink{7};

ClusterConfig two_members() {
  std::vector<Member> members;
  for (const std::string name : {"a", "b"})
    members.push_back({node_id(name), name, name + ":1", name + ":2", "", 1});
  return found_config("test", members, 2).value();
}

class Forwarding : public ::testing::Test {
 protected:
  Forwarding() { view_.set_up(kOther, true); }

  void forward(std::string key, Instant deadline) {
    Op op;
    op.key = key;  // which is gone when this returns
    op.token = {StoreId{1}, Serial{2}, 3, 1};
    forwarder_.forward(op, kOther, {Origin::Kind::client, 5, 9}, deadline);
  }
  // The end of an event.
  Effects finish() {
    Effects effects;
    tasks_.run(now_);
    forwarder_.flush(now_);
    const std::array<std::optional<LinkId>, 2> links{std::nullopt, kLink};
    const std::array<FrameVersion, 2> versions{FrameVersion{}, spoken_versions().to};
    out_.flush(links, versions, effects);
    return effects;
  }

  Instant now_{1h};
  const ClusterConfig config_ = two_members();
  View view_{config_, kSelf, BootId{77}};
  TaskQueue tasks_;
  Outbound out_{view_, tasks_, {}};
  Forwarder forwarder_{view_, out_, tasks_, {}};
};

TEST_F(Forwarding, SendsAnOpThatItOwns) {
  forward("likes:42", now_ + 1s);
  const Effects effects = finish();
  ASSERT_EQ(effects.sends.size(), 1u);
  EXPECT_EQ(effects.sends[0].link, kLink);
  for_each_frame(
      effects.sends[0].frame,
      [&](FrameType type, Payload payload) {
        const Result<PeerMessage> sent = decode_peer(type, payload);
        ASSERT_TRUE(sent.ok());
        const auto& ops = std::get<Forward>(*sent).ops;
        ASSERT_EQ(ops.size(), 1u);
        EXPECT_EQ(ops[0].key, "likes:42");
        EXPECT_EQ(ops[0].token.number, 3u);
      },
      raw(config_.id));
}

// A client may name a timeout that ends within the event that brought its op.
TEST_F(Forwarding, DoesNotSendAnOpThatEndedInTheSameEvent) {
  forward("likes:42", now_ + 1ms);
  now_ += 2ms;
  forwarder_.on_tick(now_);
  const Effects effects = finish();
  EXPECT_TRUE(effects.sends.empty());
  ASSERT_EQ(effects.replies.size(), 1u);
  const Done& done = std::get<Done>(effects.replies[0].answer);
  EXPECT_EQ(done.id, 9u);
  EXPECT_EQ(done.code, Code::unavailable) << "it was certainly not sent";
}

}  // namespace
}  // namespace quipu::test
