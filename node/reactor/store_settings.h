// store_settings.h: the settings that a store belongs to, in words.
//
//   id=7c… cluster=shop replication=3 reactors=1 node=n1
//   member=n1 peer=10.0.0.1:7401 zone=a weight=1
//   member=n2 …
//
// A store knows its cluster and its node by hashes alone. These lines stand beside it
// (data_directory.h), so that a node whose settings have changed can say which of them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "node/reactor/node_plan.h"

namespace quipu {

[[nodiscard]] std::string store_settings(const NodeOptions& options, const NodePlan& plan);

// What has changed from `before`, as "cluster.replication is 2 and was 3; …". Empty: the cluster
// and the node are the same, or `before` does not say.
[[nodiscard]] std::string changed_settings(std::string_view before, std::string_view now);

// Why a node with these settings cannot use the data in a directory; empty: it can, or
// nothing there says with which settings it was made.
[[nodiscard]] std::string why_foreign(const std::filesystem::path& data, std::string_view settings);

}  // namespace quipu
