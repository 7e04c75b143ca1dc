// effects.h: what the client core wants done. The core appends; its shell
// does: journal, connects, sends, closes, then completions, and clears.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cluster/client/journal.h"
#include "protocol/client_messages.h"
#include "quipu/status.h"

namespace quipu {

// A TCP connection, numbered by the core, never reused.
enum class ConnectionId : std::uint64_t {};
// What the caller asked for, numbered by the shell.
enum class CallId : std::uint64_t {};

// Wire ids of whatever awaits a Done or an answer.
struct RequestIds {
  std::uint64_t last = 0;  // ClientLinks::kConfigId is never given out
  std::uint64_t take() { return ++last; }
};

// A change ends in a Status. A read, a list and a question for the config end in their
// answer, or in a Status that is not ok.
using ClientAnswer = std::variant<Status, Values, Keys, std::shared_ptr<const ConfigReply>>;

struct ClientEffects {
  struct Connect {
    ConnectionId connection;
    std::string address;
  };
  struct Send {
    ConnectionId connection;
    std::string frames;  // whole ones
  };
  struct Completion {
    CallId call;
    ClientAnswer answer;
    std::optional<std::int64_t> total{};  // of an add that was applied: as in Done
  };

  std::vector<ClientJournalEntry> journal;  // durable before anything is sent
  std::vector<Connect> connects;            // each is answered by on_connected or on_closed
  std::vector<Send> sends;
  std::vector<ConnectionId> closes;  // not answered
  std::vector<Completion> completions;

  // Where to append a frame for `connection`.
  [[nodiscard]] std::string& frames(ConnectionId connection) {
    if (sends.empty() || sends.back().connection != connection) sends.push_back({connection, {}});
    return sends.back().frames;
  }
  void complete(CallId call, ClientAnswer answer, std::optional<std::int64_t> total = {}) {
    completions.push_back({call, std::move(answer), total});
  }
  void clear() {
    journal.clear();
    connects.clear();
    sends.clear();
    closes.clear();
    completions.clear();
  }
};

}  // namespace quipu
