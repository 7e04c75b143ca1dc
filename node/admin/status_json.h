// status_json.h: the status of a node's members as JSON, as `quipu cluster status -o json` shows
// each of them. Any thread.
#pragma once

#include <string>
#include <vector>

#include "quipu/cluster_status.h"

namespace quipu {

// {"members":[{"name":"n1", …}]}
[[nodiscard]] std::string status_json(const std::vector<MemberStatus>& members);

}  // namespace quipu
