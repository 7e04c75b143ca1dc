// peer_frames.cpp: strangers in the place of the two other members of three: with
// links that were greeted as they should be, and with others that were not.
#include "tests/fuzz/answers.h"
#include "tests/fuzz/chunks.h"
#include "tests/fuzz/node.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace quipu::fuzz {
namespace {

enum Kind : std::uint8_t {
  raw_bytes,
  framed,
  message,
  answer,
  honest_hello,
  strange_hello,
  connection,
  client_op,
  client_read,
  later,
  disk,
  client_namespaces,
  kKinds
};

class Strangers {
 public:
  explicit Strangers(Node& node) : node_(node) {}

  void act(const Chunk& chunk) {
    Bytes bytes(chunk.bytes);
    const auto member = static_cast<MemberIndex>(1 + (chunk.kind >> 7));
    const auto kind = static_cast<Kind>((chunk.kind & 0x7f) % kKinds);
    std::string stream;
    switch (kind) {
      case raw_bytes:
        node_.peer_bytes(member, chunk.bytes);
        break;
      case framed: {
        const FrameType type{bytes.number<std::uint16_t>()};
        const std::string_view payload = bytes.rest();
        append_frame(stream, type, std::as_bytes(std::span(payload)), spoken_versions().to,
                     node_.core().frame_salt());
        node_.peer_bytes(member, stream);
        break;
      }
      case message:
        say(member, some_peer_message(bytes, node_.known()));
        break;
      case answer:
        if (const auto asked = node_.take_asked(member)) {
          const auto said = some_answer(*asked, bytes, node_.known());
          if (said) say(member, *said);
        }
        break;
      case honest_hello:
        say(member, node_.hello(member));
        break;
      case strange_hello:
        say(member, some_hello(bytes, node_.hello(member)));
        break;
      case connection:
        bytes.flag() ? node_.disconnect(member) : node_.connect(member);
        break;
      case client_op:
        encode(stream, some_op(bytes, node_.known()));
        node_.client_bytes(stream);
        break;
      case client_read:
        encode(stream, some_read(bytes));
        node_.client_bytes(stream);
        break;
      case client_namespaces:
        encode(stream, some_namespace_request(bytes));
        node_.client_bytes(stream);
        break;
      case later:
        node_.pass(std::chrono::milliseconds(bytes.number<std::uint16_t>()));
        break;
      case disk:
        node_.stall(bytes.flag());
        break;
      case kKinds:
        break;
    }
  }

 private:
  void say(MemberIndex member, const PeerMessage& message) {
    std::string stream;
    encode_peer(stream, message, node_.core().cluster().id);
    node_.peer_bytes(member, stream);
  }

  Node& node_;
};

}  // namespace
}  // namespace quipu::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quipu::fuzz;
  if (size == 0) return 0;
  Node node(3);
  Strangers strangers(node);
  for (quipu::MemberIndex member = 1; member <= 2; ++member) {
    if ((data[0] & member) == 0) continue;
    node.connect(member);
    if ((data[0] & 4) == 0) strangers.act({static_cast<std::uint8_t>(4 | (member - 1) << 7), {}});
  }
  for (const Chunk& chunk : split({reinterpret_cast<const char*>(data) + 1, size - 1}))
    strangers.act(chunk);
  node.finish();
  return 0;
}
