// metrics_text.h: figures as the text that Prometheus reads.
//
// prometheus-cpp writes the text; this file and the process's own numbers are all that quipud
// adds to Node::figures(). Any thread.
#pragma once

#include <string>
#include <vector>

#include "quipu/figures.h"

namespace quipu {

[[nodiscard]] std::string metrics_text(const std::vector<FigureFamily>& figures);

// What the kernel tells of this process, with the names that all clients of Prometheus use. What
// cannot be read is left out.
[[nodiscard]] std::vector<FigureFamily> process_figures();

}  // namespace quipu
