#include "node/admin/credentials.h"

#include <gtest/gtest.h>

namespace quipu::test {
namespace {

struct Header {
  std::string name;
  std::string value;
  std::string told;  // "user|secret"; empty: nothing
};

class Authorization : public testing::TestWithParam<Header> {};

TEST_P(Authorization, HasAUserAndASecretOrNothing) {
  const auto found = read_authorization(GetParam().value);
  EXPECT_EQ(found ? found->user + '|' + found->secret : "", GetParam().told);
}

INSTANTIATE_TEST_SUITE_P(
    Http, Authorization,
    testing::Values(Header{"none", "", ""}, Header{"basic", "Basic d2ViOnNlY3JldA==", "web|secret"},
                    Header{"any_case", "bASIC d2ViOnNlY3JldA==", "web|secret"},
                    Header{"spaces", "Basic   d2ViOnNlY3JldA==", "web|secret"},
                    Header{"no_padding_needed", "Basic d2ViOnNlY3JldDE=", "web|secret1"},
                    Header{"colon_in_secret", "Basic d2ViOnNlY3I6dA==", "web|secr:t"},
                    Header{"empty_secret", "Basic d2ViOg==", "web|"},
                    Header{"no_colon", "Basic d2Vi", ""}, Header{"no_base64", "Basic d2V!", ""},
                    Header{"cut", "Basic d2ViOnNlY3JldA=", ""},
                    Header{"padding_inside", "Basic d2Vi=nNl", ""},
                    Header{"only_padding", "Basic ====", ""}, Header{"no_value", "Basic", ""},
                    Header{"empty_value", "Basic ", ""},
                    Header{"bearer", "Bearer quipu_x", "default|quipu_x"},
                    Header{"bearer_any_case", "bearer quipu_x", "default|quipu_x"},
                    Header{"other", "Digest quipu_x", ""},
                    Header{"too_long", "Bearer " + std::string(2000, 'x'), ""}),
    [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace quipu::test
