// request_meter.h: counts the requests of a reactor's clients, and how long they took.
//
//   a batch's answers that are known at once ──gate opens, or they are written──▶ one sample
//   an answer that comes later ───────────────────────────────────────────────▶ one sample
//
// A sample of a batch is weighted by its requests, so no request reads a clock for itself. A
// duration begins when the request is given to the core. Reactor thread.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "cluster/changes/coordinator.h"
#include "cluster/gates/effects.h"
#include "protocol/asked.h"
#include "protocol/duration_histogram.h"

namespace quipu {

enum class Protocol : std::uint8_t { native, resp, embedded };
inline constexpr std::size_t kProtocols = 3;
inline constexpr std::size_t kCodes = 22;  // of Code

struct RequestFigures {
  using ByCode = std::array<std::uint64_t, kCodes>;
  std::array<std::array<ByCode, kOperations>, kProtocols> requests{};
  std::array<DurationHistogram, kOperations> durations{};
  std::uint64_t memory_reads = 0;  // through read_now(), which the core does not count

  void add(const RequestFigures& other);
};

class RequestMeter {
 public:
  // Answers of one batch, given to the core at `since`. Some may wait for a commit. `plain` of them
  // are of plain adds, and only the others say what was asked.
  void on_known(Protocol protocol, Instant since, const Coordinator::PlainAdds& plain,
                std::span<const AtOnce> known);
  // The same for local reads that wait for nothing.
  void on_read(Protocol protocol, Instant since, std::uint64_t reads);
  // An answer that the core gave later. `plain`: what was asked, if the answer does not say.
  void on_answer(Protocol protocol, Instant now, const Answer& answer, Asked plain = {});
  // A request that never reached the core.
  void on_refused(Protocol protocol, Operation operation, Code code) {
    count(protocol, operation, code, 1);
  }
  // What was known in a batch is being written now, as far as it waits for no commit …
  void on_batch_end(Instant now);
  // … and what waits for a commit up to this.
  void on_released(Instant now, Commit durable);

  // The core has gone: nothing that waited will be sent.
  void forget_waiting();

  [[nodiscard]] const RequestFigures& figures() const { return figures_; }

 private:
  struct Batch {
    Instant since{};
    Commit after{};
    std::array<std::uint32_t, kOperations> weights{};
  };
  // Batches that wait. Beyond this, the last one takes over what comes, which makes its operations
  // a little too slow.
  static constexpr std::size_t kMaxWaiting = 4096;

  void count(Protocol protocol, Operation operation, Code code, std::uint64_t requests);
  void wait(const Batch& batch);
  void observe(Instant now, const Batch& batch);

  RequestFigures figures_;
  std::vector<Batch> known_;   // of this batch; they wait for nothing
  std::deque<Batch> waiting_;  // ascending by commit
  Commit released_{};
};

}  // namespace quipu
