// figure_families.h: the figures of a node's reactors as families with names, units and labels.
//
// This is the one place that names them. Numbers of several reactors are added up; of ages and
// round trips the longest counts, and a peer is up while all reactors hear it. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "node/cores/figures.h"
#include "node/tls/tls_files.h"
#include "quipu/figures.h"
#include "quipu/node_options.h"

namespace quipu {

struct NodeState {
  bool ready = false;
  bool failed = false;
  std::string settings{};  // their digest
  std::string users{};     // theirs; empty: there is no users file
  std::uint64_t users_refused = 0;
  std::uint64_t tls_refused = 0;
  // When they were read last; none: there are none.
  std::optional<Wall> users_read{}, tls_read{};
  // Until when the certificates of each file are valid.
  std::vector<TlsMaterial::Expiry> expiries{};
};

// `reactors`: those that have a core.
[[nodiscard]] std::vector<FigureFamily> figure_families(const NodeState& state,
                                                        std::span<const Figures> reactors);

// 8 hex digits of a hash of what must be the same on all members. No name, address or path is in
// it, so it tells nothing about them.
[[nodiscard]] std::string settings_digest(const NodeOptions& options);

}  // namespace quipu
