#include "storage/serials.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace quipu::test {
namespace {

RC_GTEST_PROP(Serials, AreDifferentAndKnownToThisStart, (std::uint64_t key)) {
  Serials serials(key);
  std::set<Serial> all;
  for (int i = 0; i < 1000; ++i) {
    const Serial serial = serials.issue();
    RC_ASSERT(raw(serial) >= 1);
    RC_ASSERT(raw(serial) <= std::uint64_t{1} << 62);
    RC_ASSERT(all.insert(serial).second);
    RC_ASSERT(serials.issued(serial));
  }
}

TEST(Serials, OfOthersCannotBeGuessedFromOnesOwn) {
  Serials serials(7);
  std::set<Serial> all;
  for (int i = 0; i < 10'000; ++i) all.insert(serials.issue());
  for (const Serial own : all) {
    for (std::uint64_t near = 1; near <= 64; ++near) {
      EXPECT_FALSE(all.contains(Serial{raw(own) + near}));
      EXPECT_FALSE(serials.issued(Serial{raw(own) + near}));
    }
  }
}

TEST(Serials, ThatThisStartHasNotIssuedAreNotKnown) {
  Serials before(1), now(2);
  for (int i = 0; i < 10'000; ++i) EXPECT_FALSE(now.issued(before.issue()));
  Serials ahead(2);
  (void)now.issue();
  (void)ahead.issue();
  EXPECT_FALSE(now.issued(ahead.issue())) << "later, perhaps";
  for (const std::uint64_t never :
       {std::uint64_t{0}, (std::uint64_t{1} << 62) + 1, ~std::uint64_t{0}})
    EXPECT_FALSE(now.issued(Serial{never}));
}

}  // namespace
}  // namespace quipu::test
