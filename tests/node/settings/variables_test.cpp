#include "node/settings/variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quipu::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> mistyped(const std::vector<std::string>& names) {
  return mistyped_variables(names);
}

TEST(Variables, ThatAreASlipOrTwoAwayAreNamedWithTheClosest) {
  EXPECT_THAT(mistyped({"QUIPU_CLIENT_ADRESS", "QUIPU_NODES_", "QUIPU_LOGLEVEL"}),
              ElementsAre("QUIPU_CLIENT_ADRESS is set, but means nothing: did you mean "
                          "QUIPU_CLIENT_ADDRESS?",
                          "QUIPU_NODES_ is set, but means nothing: did you mean QUIPU_NODES?",
                          "QUIPU_LOGLEVEL is set, but means nothing: did you mean "
                          "QUIPU_LOG_LEVEL?"));
}

TEST(Variables, ThatAreReadAreSound) { EXPECT_THAT(mistyped(known_variables()), IsEmpty()); }

TEST(Variables, OfOthersAreNoneOfOurBusiness) {
  EXPECT_THAT(mistyped({"PATH", "IPU_NODES", "QUIPU_SERVICE_HOST", "QUIPU_PORT_7400_TCP_ADDR",
                        "QUIPU_PORT", "QUIPU_"}),
              IsEmpty());
}

TEST(Variables, AreFoundInAnEnvironmentInOrder) {
  const char* const environment[] = {"B=1", "A=x=y", "C", nullptr};
  EXPECT_THAT(names_of(environment), ElementsAre("A", "B", "C"));
}

}  // namespace
}  // namespace quipu::test
