// What the bytes of one request and its answer cost.
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>

#include "protocol/frame.h"
#include "protocol/message_codec.h"

namespace quipu {
namespace {

Op an_add() {
  Op op;
  op.id = 1;
  op.kind = OpKind::add;
  op.key = "counter:123456";
  op.amount = 1;
  op.ack = Ack::disk;
  op.timeout_ms = 5000;
  op.token = {StoreId{1}, Serial{2}, 3, 1};
  return op;
}

void encode_op(benchmark::State& state) {
  const Op op = an_add();
  std::string out;
  for (auto _ : state) {
    out.clear();
    encode(out, op);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["bytes"] = static_cast<double>(out.size());
}
BENCHMARK(encode_op);

// From the socket's bytes to a verified struct.
void decode_op_frame(benchmark::State& state) {
  std::string bytes;
  encode(bytes, an_add());
  FrameDecoder decoder;
  for (auto _ : state) {
    const std::span<std::byte> room = decoder.prepare(bytes.size());
    std::memcpy(room.data(), bytes.data(), bytes.size());
    decoder.commit(bytes.size());
    const auto frame = decoder.next();
    benchmark::DoNotOptimize(decode_op((*frame)->payload));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(decode_op_frame);

}  // namespace
}  // namespace quipu
