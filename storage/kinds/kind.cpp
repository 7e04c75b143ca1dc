#include "storage/kinds/kind.h"

#include <array>

#include "protocol/check.h"
#include "protocol/shard_number.h"
#include "protocol/varint.h"
#include "storage/kinds/distinct.h"
#include "storage/kinds/frequency.h"
#include "storage/kinds/maximum.h"
#include "storage/kinds/top.h"

namespace quipu {
namespace {

// By number. A kind that this build does not know has no row, and no name of a shard has its number
// (is_name()).
constexpr std::array<const KindRules*, 7> kRules = {
    nullptr,  // the sum
    &kDistinct, &kFrequency, &kTop,
    nullptr,  // 4 and 5 are reserved
    nullptr,    &kMaximum,
};
static_assert(kRules.size() == static_cast<std::size_t>(kLastKind) + 1);

}  // namespace

const KindRules& rules_of(Kind kind) {
  const auto number = static_cast<std::size_t>(kind);
  QUIPU_CHECK(number < kRules.size() && kRules[number] != nullptr, "the kind has bodies", kind);
  return *kRules[number];
}

Code answer_alone(const KindRules& rules, std::string_view body, DerivedPlace derived,
                  std::string_view question, std::string& reply) {
  if (rules.derivation != nullptr && question.empty()) {
    std::optional<Derived> known = derived.get();
    if (!known) {
      known = rules.derivation->derive(body);
      if (known) derived.set(*known);
    }
    if (known) {
      reply.clear();
      append_varint(reply, rules.derivation->number(body, *known));
      return Code::ok;
    }
  }
  return rules.answer({&body, 1}, question, reply);
}

}  // namespace quipu
