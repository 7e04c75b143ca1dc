// store_settings.h: the settings that a store belongs to, as text.
//
//   id=7c… cluster=shop replication=3 reactors=1 node=n1
//   member=n1 peer=10.0.0.1:7401 zone=a weight=1
//   member=n2 …
//
// A store has only hashes of its cluster and its node. These lines are stored beside it
// (data_directory.h), so that a node can say which of its settings have changed.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "node/reactor/node_plan.h"

namespace quipu {

[[nodiscard]] std::string store_settings(const NodeOptions& options, const NodePlan& plan);

// The changes since `before`, as "cluster.replication is 2 and was 3; …". Empty: cluster and
// node are the same, or `before` does not say.
[[nodiscard]] std::string changed_settings(std::string_view before, std::string_view now);

// Why a node with these settings cannot use the data in a directory. Empty: it can, or the
// directory does not say with which settings it was made.
[[nodiscard]] std::string why_foreign(const std::filesystem::path& data, std::string_view settings);

}  // namespace quipu
