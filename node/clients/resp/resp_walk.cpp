#include "node/clients/resp/resp_walk.h"

namespace quipu {

std::string_view literal_prefix(std::string_view pattern) {
  return pattern.substr(0, pattern.find_first_of("*?[\\"));
}

bool ResetAll::take(const RespAnswer& answer) {
  if (const Keys* const step = answer.keys) {
    if (step->code != Code::ok) {
      failure_ = reason(step->code, step->detail);
      return true;
    }
    const std::vector<std::string> found = walk_.take(*step);
    std::vector<Op> resets;
    resets.reserve(found.size());
    for (const std::string& key : found) resets.push_back(reset_of(connection_, key));
    open_ = resets.size();
    connection_.again(std::move(resets));
  } else {
    const Done& done = *answer.done;
    if (done.code == Code::ok) ++reset_;
    if (describe(done.code).outcome > describe(worst_.code).outcome) worst_ = done;
    --open_;
  }
  if (open_ > 0) return false;
  if (worst_.code != Code::ok) failure_ = reason(worst_.code, worst_.detail);
  if (!failure_.empty() || walk_.ended()) return true;
  walk_.ask();
  return false;
}

}  // namespace quipu
