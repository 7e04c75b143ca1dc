#include "node/base/tier_text.h"

#include "node/base/duration_text.h"

namespace quipu {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Whole seconds, as windows have.
std::optional<std::chrono::seconds> to_seconds(std::string_view text) {
  const auto duration = to_duration(text, kMaxTtl);
  if (!duration || duration->count() % 1000 != 0) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::seconds>(*duration);
}

std::optional<Tier> to_tier(std::string_view text) {
  constexpr std::string_view kFor = " for ";
  const std::size_t at = text.find(kFor);
  if (at == std::string_view::npos) return std::nullopt;
  const auto length = to_seconds(trimmed(text.substr(0, at)));
  const std::string_view kept = trimmed(text.substr(at + kFor.size()));
  if (!length) return std::nullopt;
  if (kept == "ever") return Tier{*length, std::nullopt};
  const auto seconds = to_seconds(kept);
  return seconds ? std::optional(Tier{*length, seconds}) : std::nullopt;
}

}  // namespace

std::optional<std::vector<Tier>> to_tiers(std::string_view text) {
  std::vector<Tier> tiers;
  while (true) {
    const std::size_t comma = text.find(',');
    const auto tier = to_tier(trimmed(text.substr(0, comma)));
    if (!tier) return std::nullopt;
    tiers.push_back(*tier);
    if (comma == std::string_view::npos) return tiers;
    text.remove_prefix(comma + 1);
  }
}

std::string to_text(const std::vector<Tier>& tiers) {
  std::string text;
  for (const Tier& tier : tiers) {
    text.append(text.empty() ? "" : ", ").append(to_text(tier.length)).append(" for ");
    text += tier.kept ? to_text(*tier.kept) : "ever";
  }
  return text;
}

}  // namespace quipu
