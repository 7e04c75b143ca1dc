// Every message of both ports, and what becomes of it when it is damaged.
#include "protocol/message_codec.h"

#include <gtest/gtest.h>

#include <cstring>

#include "protocol/shard_number.h"
#include "tests/protocol/messages.h"

namespace quipu::test {
namespace {

class EveryMessage : public testing::TestWithParam<Sample> {
 protected:
  const Message message_ = GetParam().message;
  const std::string frame_ = encoded(message_);
  const FrameType type_ = type_of_frame(frame_);
  const std::string_view payload_ = std::string_view(frame_).substr(kFrameHeader);
};

INSTANTIATE_TEST_SUITE_P(Samples, EveryMessage, testing::ValuesIn(all_messages()),
                         [](const auto& one) { return one.param.name; });

TEST_P(EveryMessage, arrives_as_it_was_sent) {
  FrameDecoder decoder;
  feed(decoder, frame_);
  const auto frame = decoder.next(raw(kCluster));
  ASSERT_TRUE(frame.ok()) << frame.status().message();
  ASSERT_TRUE(frame->has_value());
  const auto arrived = decoded_as(message_, (*frame)->type, (*frame)->payload);
  ASSERT_TRUE(arrived.ok()) << arrived.status().message();
  EXPECT_TRUE(*arrived == message_);
}

TEST_P(EveryMessage, encodes_to_the_same_bytes_each_time) { EXPECT_EQ(encoded(message_), frame_); }

TEST_P(EveryMessage, is_appended_behind_what_is_there) {
  std::string out = "before";
  if (const auto* client = std::get_if<ClientMessage>(&message_)) {
    std::visit([&](const auto& one) { encode(out, one); }, *client);
  } else {
    encode_peer(out, std::get<PeerMessage>(message_), kCluster);
  }
  EXPECT_EQ(out, "before" + frame_);
}

TEST_P(EveryMessage, cut_at_any_byte_is_refused_unless_only_padding_went) {
  for (std::size_t length = 0; length < payload_.size(); ++length) {
    const OwnPayload cut(payload_.substr(0, length));
    const auto arrived = decoded_as(message_, type_, cut.get());
    if (!arrived.ok()) {
      EXPECT_EQ(arrived.status().code(), Code::protocol_error);
      EXPECT_FALSE(arrived.status().detail().empty());
    } else {
      EXPECT_TRUE(*arrived == message_) << "cut to " << length;
      EXPECT_LT(payload_.size() - length, 8U);
    }
  }
}

TEST_P(EveryMessage, followed_by_other_bytes_is_refused) {
  for (const std::string& tail :
       {std::string(8, '\0'), std::string(1, 'x'), std::string(64, 'x')}) {
    const OwnPayload longer(std::string(payload_) + tail);
    EXPECT_FALSE(decoded_as(message_, type_, longer.get()).ok());
  }
}

// Without the checksum a flipped bit may make another valid message. That one
// must be whole: sent on, it arrives as it is.
TEST_P(EveryMessage, with_any_bit_flipped_is_refused_or_another_whole_message) {
  const std::size_t step = 1 + payload_.size() / 4096;
  for (std::size_t bit = 0; bit < payload_.size() * 8; bit += step) {
    std::string flipped(payload_);
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const OwnPayload payload(flipped);
    const auto arrived = decoded_as(message_, type_, payload.get());
    if (!arrived.ok()) continue;
    const std::string again = encoded(*arrived);
    const OwnPayload sent_on(std::string_view(again).substr(kFrameHeader));
    const auto back = decoded_as(message_, type_, sent_on.get());
    ASSERT_TRUE(back.ok()) << "bit " << bit << back.status().message();
    EXPECT_TRUE(*back == *arrived) << "bit " << bit;
  }
}

TEST_P(EveryMessage, with_any_bit_flipped_does_not_pass_the_frame) {
  const std::size_t step = 1 + frame_.size() / 4096;
  for (std::size_t bit = 0; bit < frame_.size() * 8; bit += step) {
    std::string flipped = frame_;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    FrameDecoder decoder;
    feed(decoder, flipped);
    auto frame = decoder.next(raw(kCluster));
    if (frame.ok() && !frame->has_value()) {  // now claims to be longer
      std::uint32_t length = 0;
      std::memcpy(&length, flipped.data() + 4, sizeof length);
      feed(decoder, std::string(length, '\0'));
      frame = decoder.next(raw(kCluster));
    }
    ASSERT_FALSE(frame.ok()) << "bit " << bit;
    EXPECT_EQ(frame.status().code(), Code::protocol_error);
  }
}

TEST_P(EveryMessage, at_a_misaligned_address_is_refused) {
  std::vector<std::uint64_t> words(payload_.size() / 8 + 1);
  auto* const bytes = reinterpret_cast<std::byte*>(words.data()) + 4;
  std::memcpy(bytes, payload_.data(), payload_.size());
  EXPECT_FALSE(decoded_as(message_, type_, {bytes, payload_.size()}).ok());
}

TEST(PeerCodec, refuses_a_frame_that_has_no_business_on_its_port) {
  for (const FrameType type : {FrameType::op, FrameType::done, FrameType::config_reply}) {
    const auto decoded = decode_peer(type, {});
    ASSERT_FALSE(decoded.ok());
    EXPECT_EQ(decoded.status().code(), Code::protocol_error);
  }
}

TEST(PeerCodec, salts_all_but_greetings_with_the_cluster) {
  for (const PeerMessage& message : peer_messages()) {
    std::string frame;
    encode_peer(frame, message, kCluster);
    FrameDecoder stranger;
    feed(stranger, frame);
    EXPECT_EQ(stranger.next(raw(ClusterId{0xc2})).ok(), is_greeting(type_of_frame(frame)));
  }
}

TEST(ClientCodec, pays_no_heed_to_a_salt) {
  for (const ClientMessage& message : client_messages()) {
    const std::string frame = encoded(message);
    FrameDecoder decoder;
    feed(decoder, frame);
    EXPECT_TRUE(decoder.next(raw(kCluster)).ok());
  }
}

// The coordinator answers such a key for itself; closing the connection would
// cost the requests beside it.
TEST(ClientCodec, lets_bad_keys_through_to_be_answered) {
  const std::string endless(100'000, 'x');
  for (const std::string_view key : {std::string_view(), std::string_view(endless)}) {
    const OwnPayload op(encoded(ClientMessage(Op{.key = key})).substr(kFrameHeader));
    EXPECT_EQ(decode_op(op.get())->key, key);
    const OwnPayload read(encoded(ClientMessage(Read{.keys = {"a", key}})).substr(kFrameHeader));
    EXPECT_EQ(decode_read(read.get())->keys, (std::vector<std::string_view>{"a", key}));
  }
}

TEST(ClientCodec, takes_as_many_keys_as_a_read_may_have_and_no_more) {
  Read read{.keys = std::vector<std::string_view>(kMaxReadKeys, kLongestKey)};
  const OwnPayload most(encoded(ClientMessage(read)).substr(kFrameHeader));
  EXPECT_EQ(decode_read(most.get())->keys.size(), kMaxReadKeys);
  read.keys = std::vector<std::string_view>(kMaxReadKeys + 1, "k");
  const OwnPayload more(encoded(ClientMessage(read)).substr(kFrameHeader));
  EXPECT_EQ(decode_read(more.get()).status().detail(), "Read: keys is 1025: must be 0 to 1024");
}

TEST(ClientCodec, takes_the_kinds_of_the_list_and_no_number_between_or_after_them) {
  for (unsigned number = 1; number <= 255; ++number) {  // a sum has no questions
    const Kind kind{static_cast<std::uint8_t>(number)};
    const bool known = number == 1 || number == 2 || number == 3 || number == 6;
    const OwnPayload query(encoded(ClientMessage(Query{.kind = kind})).substr(kFrameHeader));
    const auto decoded = decode_query(query.get());
    EXPECT_EQ(decoded.ok(), known) << number;
    EXPECT_EQ(decoded.status().detail(), known ? "" : "Query: kind is no known kind");
    if (number >= 32) continue;  // the number of a shard has no room for it
    const OwnPayload op(
        encoded(ClientMessage(Op{.key = "k", .shard = shard_of(kind)})).substr(kFrameHeader));
    EXPECT_EQ(decode_op(op.get()).ok(), known) << number;
  }
}

// The node answers a bad one.
TEST(ClientCodec, lets_bad_names_of_namespaces_through_to_be_answered) {
  const std::string endless(100'000, 'x');
  for (const std::string_view name : {std::string_view("a:b"), std::string_view(endless)}) {
    const OwnPayload request(
        encoded(ClientMessage(NamespaceRequest{.name = name})).substr(kFrameHeader));
    EXPECT_EQ(decode_namespace_request(request.get())->name, name);
  }
}

TEST(ClientCodec, fits_the_longest_list_of_namespaces_into_a_frame) {
  NamespaceReply reply{.detail = std::string(5000, 'd')};
  reply.namespaces.assign(3 * kMaxNamespaces + 1, {kLongestNamespace, sample_policy()});
  const std::string frame = encoded(ClientMessage(reply));
  EXPECT_LE(frame.size(), kMaxFrame);
  const OwnPayload payload(std::string_view(frame).substr(kFrameHeader));
  EXPECT_EQ(decode_namespace_reply(payload.get())->namespaces, reply.namespaces);
}

TEST(PeerCodec, fits_the_longest_definitions_into_a_frame) {
  Namespaces all;
  all.definitions.assign(kMaxDefinitions, largest_definition());
  const std::string frame = encoded(PeerMessage(all));
  EXPECT_LE(frame.size(), kMaxFrame);
  const OwnPayload payload(std::string_view(frame).substr(kFrameHeader));
  const auto decoded = decode_peer(FrameType::definitions, payload.get());
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_TRUE(std::get<Namespaces>(*decoded) == all);
}

TEST(ClientCodec, cuts_a_limit_that_is_too_high) {
  const OwnPayload list(encoded(ClientMessage(List{.limit = 5000})).substr(kFrameHeader));
  EXPECT_EQ(decode_list(list.get())->limit, kMaxListKeys);
}

TEST(ClientCodec, fits_the_longest_keys_into_a_frame) {
  const Keys keys{.keys = std::vector<std::string>(kMaxListKeys, kLongestKey),
                  .detail = std::string(5000, 'd')};
  const std::string frame = encoded(ClientMessage(keys));
  EXPECT_LE(frame.size(), kMaxFrame);
  const OwnPayload payload(std::string_view(frame).substr(kFrameHeader));
  EXPECT_EQ(decode_keys(payload.get())->keys.size(), kMaxListKeys);
}

TEST(ClientCodec, cuts_a_long_detail_between_characters) {
  const std::string umlauts = "x" + [] {
    std::string text;
    for (int i = 0; i < 200; ++i) text += "ö";
    return text;
  }();
  const OwnPayload done(
      encoded(ClientMessage(Done{.code = Code::in_doubt, .detail = umlauts})).substr(kFrameHeader));
  EXPECT_EQ(decode_done(done.get())->detail, umlauts.substr(0, 255));
}

TEST(ClientCodec, fits_the_longest_answer_to_a_read_into_a_frame) {
  Values values{
      .values = std::vector<Value>(
          kMaxReadKeys, Value{.code = Code::no_quorum, .detail = std::string(5000, 'd')})};
  const std::string frame = encoded(ClientMessage(values));
  EXPECT_LE(frame.size(), kMaxFrame);
  const OwnPayload payload(std::string_view(frame).substr(kFrameHeader));
  EXPECT_EQ(decode_values(payload.get())->values.size(), kMaxReadKeys);
}

// A Forward that fills a frame, each of its ops refused with a long text.
TEST(PeerCodec, fits_the_longest_answer_to_a_forward_into_a_frame) {
  Forward forward;
  for (std::uint64_t id = 0; id < 12'000; ++id) {
    forward.ops.push_back({.id = id, .key = "k", .amount = 1, .token = largest_token()});
  }
  EXPECT_GT(encoded(PeerMessage(forward)).size(), kMaxFrame / 2);
  Forwarded forwarded;
  for (const Op& op : forward.ops) {
    forwarded.done.push_back({op.id, Code::overloaded, std::string(5000, 'd'), kMaxShards});
  }
  EXPECT_LE(encoded(PeerMessage(forwarded)).size(), kMaxFrame);
}

}  // namespace
}  // namespace quipu::test
