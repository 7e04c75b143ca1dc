// client_frames.cpp: a stranger on the client port of a node, alone or one of three
// whose peers are silent.
#include "tests/fuzz/chunks.h"
#include "tests/fuzz/node.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace quipu::fuzz {
namespace {

enum Kind : std::uint8_t {
  raw_bytes,
  framed,
  op,
  read,
  list,
  turn,
  later,
  disk,
  namespaces,
  range,
  kKinds
};

class Stranger {
 public:
  explicit Stranger(Node& node) : node_(node) {}

  void act(const Chunk& chunk) {
    Bytes bytes(chunk.bytes);
    switch (chunk.kind % kKinds) {
      case raw_bytes:
        stream_.append(chunk.bytes);
        break;
      case framed: {
        const FrameType type{bytes.number<std::uint16_t>()};
        const std::string_view payload = bytes.rest();
        append_frame(stream_, type, std::as_bytes(std::span(payload)), spoken_versions().to);
        break;
      }
      case op:
        encode(stream_, some_op(bytes, node_.known()));
        break;
      case read:
        encode(stream_, some_read(bytes));
        break;
      case list:
        encode(stream_, some_list(bytes));
        break;
      case namespaces:
        encode(stream_, some_namespace_request(bytes));
        break;
      case range:
        encode(stream_, some_range(bytes));
        break;
      case turn:
        send();
        break;
      case later:
        send();
        node_.pass(std::chrono::milliseconds(bytes.number<std::uint16_t>()));
        break;
      case disk: {
        send();
        const std::uint8_t state = bytes.byte();
        node_.stall((state & 1) != 0);
        node_.on_storage_full((state & 2) != 0);
        break;
      }
    }
  }

  void send() {
    node_.client_bytes(stream_);
    stream_.clear();
  }

 private:
  Node& node_;
  std::string stream_;
};

}  // namespace
}  // namespace quipu::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quipu::fuzz;
  if (size == 0) return 0;
  const bool alone = (data[0] & 1) == 0;
  Node node(alone ? 1 : 3);
  Stranger stranger(node);
  for (const Chunk& chunk : split({reinterpret_cast<const char*>(data) + 1, size - 1}))
    stranger.act(chunk);
  stranger.send();
  node.finish();
  if (alone) node.check_sums();
  return 0;
}
