#include "protocol/frame.h"

#include <gtest/gtest.h>

#include "protocol/random.h"
#include "tests/protocol/messages.h"

namespace quipu::test {
namespace {

const std::uint8_t kVersion = raw(spoken_versions().to);

std::string frame_of(std::string_view payload, std::uint64_t salt = 0) {
  std::string frame;
  append_frame(frame, FrameType::beat, std::as_bytes(std::span(payload)), FrameVersion{kVersion},
               salt);
  return frame;
}

std::string header(std::uint8_t magic, std::uint8_t version, std::uint16_t type,
                   std::uint32_t length) {
  std::string bytes(kFrameHeader, '\0');
  std::memcpy(bytes.data(), &magic, 1);
  std::memcpy(bytes.data() + 1, &version, 1);
  std::memcpy(bytes.data() + 2, &type, 2);
  std::memcpy(bytes.data() + 4, &length, 4);
  return bytes;
}

std::string text(Payload payload) {
  return {reinterpret_cast<const char*>(payload.data()), payload.size()};
}

// All frames that are there, and how the stream ended.
struct Drained {
  std::vector<std::string> payloads;
  Status status;
};
void drain(FrameDecoder& decoder, Drained& into, std::uint64_t salt = 0) {
  for (;;) {
    const auto frame = decoder.next(salt);
    into.status = frame.status();
    if (!frame.ok() || !frame->has_value()) return;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>((*frame)->payload.data()) % 8, 0U);
    into.payloads.push_back(text((*frame)->payload));
  }
}

TEST(Frame, is_a_16_byte_header_and_a_payload_padded_with_zeros) {
  const std::string frame = frame_of("nine bytes");
  EXPECT_EQ(frame.size(), 32U);
  EXPECT_EQ(frame.substr(0, 8), header(kFrameMagic, kVersion, 204, 16).substr(0, 8));
  EXPECT_EQ(frame.substr(16), std::string("nine bytes\0\0\0\0\0\0", 16));
}

TEST(Frame, of_an_empty_payload_passes) {
  FrameDecoder decoder;
  feed(decoder, frame_of(""));
  const auto frame = decoder.next();
  ASSERT_TRUE(frame.ok() && frame->has_value());
  EXPECT_TRUE((*frame)->payload.empty());
  EXPECT_EQ((*frame)->type, FrameType::beat);
}

TEST(FrameDecoder, cuts_a_stream_that_comes_in_any_pieces) {
  std::string stream;
  std::vector<std::string> sent;
  for (const std::size_t size :
       std::initializer_list<std::size_t>{0, 8, 16, 1000, 8, 70'000, 0, 24}) {
    sent.emplace_back(size, static_cast<char>('a' + sent.size()));
    stream += frame_of(sent.back());
  }
  for (const std::size_t piece :
       std::initializer_list<std::size_t>{1, 2, 3, 7, 15, 16, 17, 4096, 65'536, 1'000'000}) {
    FrameDecoder decoder;
    Drained got;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      feed(decoder, std::string_view(stream).substr(at, piece));
      drain(decoder, got);
    }
    EXPECT_TRUE(got.status.ok());
    EXPECT_EQ(got.payloads, sent) << "in pieces of " << piece;
    EXPECT_EQ(decoder.buffered(), 0U);
  }
}

TEST(FrameDecoder, waits_at_every_byte_of_an_unfinished_frame) {
  const std::string frame = frame_of("a payload of some bytes.");
  for (std::size_t length = 0; length < frame.size(); ++length) {
    FrameDecoder decoder;
    feed(decoder, frame.substr(0, length));
    for (int i = 0; i < 2; ++i) {
      const auto next = decoder.next();
      ASSERT_TRUE(next.ok());
      EXPECT_FALSE(next->has_value());
    }
    feed(decoder, frame.substr(length));
    EXPECT_TRUE(decoder.next()->has_value());
  }
}

TEST(FrameDecoder, keeps_earlier_payloads_while_it_hands_out_later_ones) {
  FrameDecoder decoder;
  feed(decoder, frame_of("one first") + frame_of("one later"));
  const auto first = decoder.next();
  const auto later = decoder.next();
  EXPECT_EQ(text((*first)->payload).substr(0, 9), "one first");
  EXPECT_EQ(text((*later)->payload).substr(0, 9), "one later");
}

struct Refused {
  const char* what;
  std::string bytes;
  const char* detail;
  friend void PrintTo(const Refused& one, std::ostream* os) { *os << one.what; }
};

class RefusedStream : public testing::TestWithParam<Refused> {};

INSTANTIATE_TEST_SUITE_P(
    Headers, RefusedStream,
    testing::Values(
        Refused{"over_long", header(kFrameMagic, kVersion, 1, (5U << 20) - kFrameHeader),
                "frame of 5242880 bytes: the limit is 1048576"},
        Refused{"just_over_long", header(kFrameMagic, kVersion, 1, kMaxFrame - kFrameHeader + 8),
                "frame of 1048584 bytes: the limit is 1048576"},
        Refused{"longest_possible", header(kFrameMagic, kVersion, 1, 0xffffffff),
                "frame of 4294967311 bytes: the limit is 1048576"},
        Refused{"odd_length", header(kFrameMagic, kVersion, 1, 12),
                "frame with a payload of 12 bytes: not a multiple of 8"},
        Refused{"next_version", header(kFrameMagic, 3, 1, 8),
                "frame of version 3: this side speaks 2 to 2"},
        Refused{"version_before", header(kFrameMagic, 1, 1, 8),
                "frame of version 1: this side speaks 2 to 2"},
        Refused{"version_0", header(kFrameMagic, 0, 1, 8),
                "frame of version 0: this side speaks 2 to 2"},
        Refused{"unknown_type", header(kFrameMagic, kVersion, 99, 8), "frame of unknown type 99"},
        Refused{"no_payload_and_wrong_checksum", header(kFrameMagic, kVersion, 1, 0),
                "frame with a wrong checksum: damaged on the way, or of another cluster"},
        Refused{"resp", "*", "not Quipu's protocol: a frame begins with byte 0xfe"},
        Refused{"http", "GET / HTTP/1.1\r\n",
                "not Quipu's protocol: a frame begins with byte 0xfe"}),
    [](const auto& one) { return one.param.what; });

TEST_P(RefusedStream, is_refused_from_its_first_bytes_alone_and_for_good) {
  FrameDecoder decoder;
  feed(decoder, GetParam().bytes);
  for (int i = 0; i < 2; ++i) {
    const auto frame = decoder.next();
    ASSERT_FALSE(frame.ok());
    EXPECT_EQ(frame.status().code(), Code::protocol_error);
    EXPECT_EQ(frame.status().detail(), GetParam().detail);
  }
  EXPECT_EQ(decoder.buffered(), GetParam().bytes.size());
}

TEST(FrameDecoder, passes_the_longest_frame) {
  const std::string longest(kMaxFrame - kFrameHeader, 'x');
  FrameDecoder decoder;
  feed(decoder, frame_of(longest));
  EXPECT_EQ(text((*decoder.next())->payload), longest);
}

// A stranger does not have the cluster's salt, and neither does the client port.
TEST(FrameDecoder, passes_a_longer_one_of_a_member_to_who_has_the_salt) {
  constexpr std::uint64_t kSalt = 7;
  const std::string longest(kMaxPeerFrame - kFrameHeader, 'x');
  std::string frame;
  append_frame(frame, FrameType::delta, std::as_bytes(std::span(longest)), FrameVersion{kVersion},
               kSalt);
  FrameDecoder member, client;
  feed(member, frame);
  EXPECT_EQ(text((*member.next(kSalt))->payload), longest);
  feed(client, frame.substr(0, kFrameHeader));
  EXPECT_EQ(client.next().status().code(), Code::protocol_error);
  FrameDecoder answer;
  feed(answer, header(kFrameMagic, kVersion, 1, kMaxFrame));
  EXPECT_FALSE(answer.next(kSalt).ok()) << "of any other type";
}

TEST(FrameDecoder, takes_no_memory_for_a_length_that_is_only_claimed) {
  FrameDecoder decoder;
  feed(decoder, header(kFrameMagic, kVersion, 1, kMaxFrame - kFrameHeader));
  EXPECT_FALSE(decoder.next()->has_value());
  EXPECT_LT(decoder.prepare(64).size(), 1024U);
}

TEST(FrameDecoder, frees_the_room_of_a_long_frame_once_idle) {
  FrameDecoder decoder;
  feed(decoder, frame_of(std::string(900'000, 'x')));
  EXPECT_TRUE(decoder.next()->has_value());
  EXPECT_LE(decoder.prepare(4096).size(), 65'536U);
}

TEST(FrameDecoder, refuses_a_frame_of_another_salt) {
  FrameDecoder decoder;
  feed(decoder, frame_of("a payload", 7));
  EXPECT_FALSE(decoder.next(8).ok());
  EXPECT_FALSE(decoder.next(0).ok());
  EXPECT_TRUE(decoder.next(7).ok());
}

// Noise as such, and behind a sound beginning.
TEST(FrameDecoder, makes_nothing_of_random_bytes) {
  const std::uint64_t seed = 20240607;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int round = 0; round < 20'000; ++round) {
    std::string noise(random.below(200), '\0');
    for (char& byte : noise) byte = static_cast<char>(random.next());
    const std::string begin =
        header(kFrameMagic, kVersion, 204, static_cast<std::uint32_t>(random.below(16) * 8));
    noise.replace(0, random.below(9), begin, 0, random.below(9));
    FrameDecoder decoder;
    Drained got;
    for (std::size_t at = 0; at < noise.size() && got.status.ok();) {
      const std::size_t piece = 1 + random.below(64);
      feed(decoder, std::string_view(noise).substr(at, piece));
      drain(decoder, got);
      at += piece;
    }
    EXPECT_TRUE(got.payloads.empty());
  }
}

}  // namespace
}  // namespace quipu::test
