// effects.h: the work that the client core wants done. The core appends. Its shell does it
// (journal, connects, sends, closes, then completions) and clears.
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
// A call of the caller, numbered by the shell.
enum class CallId : std::uint64_t {};

// Wire ids of everything that awaits a Done or another answer.
struct RequestIds {
  std::uint64_t last = 0;  // ClientLinks::kConfigId is never given out
  std::uint64_t take() { return ++last; }
};

// A change ends in a Status. A read, a query, a range, a list, a request about namespaces and a
// question for the config end in their answer, or in a Status that is not ok.
using ClientAnswer = std::variant<Status, Values, QueryReply, RangeReply, Keys, NamespaceReply,
                                  std::shared_ptr<const ConfigReply>>;

struct ClientEffects {
  struct Connect {
    ConnectionId connection;
    std::string address;
  };
  struct Send {
    ConnectionId connection;
    std::string frames;  // whole frames
  };
  struct Completion {
    CallId call;
    ClientAnswer answer;
    std::optional<std::int64_t> total{};  // for an add that was applied: as in Done
  };

  std::vector<ClientJournalEntry> journal;  // durable before anything is sent
  std::vector<Connect> connects;            // each gets on_connected or on_closed
  std::vector<Send> sends;
  std::vector<ConnectionId> closes;  // no event follows
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
