#include "cluster/client/resets.h"

#include <utility>

#include "protocol/check.h"

namespace quipu {
namespace {

Status whole(const ClientResets::Reset& reset) {
  const bool split = reset.worst.outcome() == Outcome::not_applied && reset.applied > 0;
  if (!split) return reset.worst;
  return Status(Code::in_doubt, std::to_string(reset.applied) + " of " +
                                    std::to_string(reset.parts) +
                                    " shards were reset; the others: " + reset.worst.message());
}

}  // namespace

CallId ClientResets::begin(Reset reset) {
  const CallId part{next_++};
  resets_.emplace(part, std::move(reset));
  return part;
}

ClientResets::Reset* ClientResets::find(CallId part) {
  const auto at = resets_.find(part);
  return at == resets_.end() ? nullptr : &at->second;
}

std::optional<ClientEffects::Completion> ClientResets::on_part(CallId part, Status status) {
  const auto at = resets_.find(part);
  if (at == resets_.end()) return std::nullopt;
  Reset& reset = at->second;
  QUIPU_CHECK(reset.open > 0 && reset.applied <= reset.parts, "each part of a reset ends once",
              part, reset.open, reset.applied);
  if (status.ok()) ++reset.applied;
  if (status.outcome() > reset.worst.outcome()) reset.worst = std::move(status);
  if (--reset.open > 0) return std::nullopt;
  ClientEffects::Completion done{reset.call, whole(reset)};
  resets_.erase(at);
  return done;
}

std::optional<ClientEffects::Completion> ClientResets::fail(CallId part, Status status) {
  const auto at = resets_.find(part);
  if (at == resets_.end()) return std::nullopt;
  ClientEffects::Completion done{at->second.call, std::move(status)};
  resets_.erase(at);
  return done;
}

}  // namespace quipu
