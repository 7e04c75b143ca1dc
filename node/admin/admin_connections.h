// admin_connections.h: which connection of the admin port makes room for another.
//
// A few clients that send a byte a second would otherwise hold all connections, and a probe that
// gets no answer has a healthy node killed. So the oldest connection of the address that has most
// makes room, and none may take longer than kMostAge. Pure: no clock, no socket.
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "protocol/instant.h"

namespace quipu {

class AdminConnections {
 public:
  static constexpr std::size_t kMostOfAnAddress = 16;
  static constexpr std::size_t kMost = 56;
  static constexpr std::chrono::seconds kMostAge{5};

  // `from`: the client's address; of IPv6 the /64. Returns the connection that must be shut down,
  // if there are too many now. That counts no more.
  [[nodiscard]] std::optional<int> opened(Instant now, int descriptor, std::string from);
  void closed(int descriptor);
  // Those that must be shut down for their age. They count no more.
  [[nodiscard]] std::vector<int> take_old(Instant now);

 private:
  struct Connection {
    int descriptor;
    std::string from;
    Instant since;
  };
  [[nodiscard]] std::size_t count(const std::string& from) const;

  std::list<Connection> connections_;  // the oldest first
};

}  // namespace quipu
