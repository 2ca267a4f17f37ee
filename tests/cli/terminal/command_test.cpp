#include "cli/terminal/command.h"

#include "support/fixtures.h"

namespace parlance {
namespace {

TEST(Spellings, AreSeparatedByCommas) {
  const Option option{.names = "-m, --model", .value = "FILE", .help = "", .fallback = "", .set = {}};
  EXPECT_EQ(spellings(option), (std::vector<std::string>{"-m", "--model"}));
  EXPECT_EQ(main_name(option), "--model");
}

TEST(NumberOption, ShowsItsDefaultAndRefusesWhatIsOutside) {
  int value = 4;
  const Option option = number_option<int>("-t, --threads", "N", "", value, 1, 8);
  EXPECT_EQ(option.fallback, "4");
  EXPECT_TRUE(option.set("8"));
  EXPECT_EQ(value, 8);
  for (const std::string bad : {"0", "9", "two", "", "1e3", "nan"}) {
    const auto result = option.set(bad);
    ASSERT_FALSE(result) << bad;
    EXPECT_NE(
        result.error().message.find("--threads: expected a whole number from 1 to 8, got '" + bad + "'"),
        std::string::npos)
        << result.error().message;
  }
  EXPECT_EQ(value, 8);
}

TEST(NumberOption, RefusesWhatIsNoNumber) {
  float value = 1;
  const Option option = number_option<float>("--temp", "X", "", value, 0.0f, 2.0f);
  EXPECT_FALSE(option.set("nan"));
  EXPECT_FALSE(option.set("inf"));
  EXPECT_TRUE(option.set("0.25"));
  EXPECT_EQ(value, 0.25f);
}

TEST(NumberListOption, ReplacesTheWholeList) {
  std::vector<int64_t> values = {1, 2};
  const Option option = number_list_option("--depths", "LIST", "", values, 0, 100);
  EXPECT_EQ(option.fallback, "1,2");
  EXPECT_TRUE(option.set("3,4,5"));
  EXPECT_EQ(values, (std::vector<int64_t>{3, 4, 5}));
  for (const char* bad : {"", "1,", ",1", "1,,2", "101", "1 2"}) EXPECT_FALSE(option.set(bad)) << bad;
  EXPECT_EQ(values, (std::vector<int64_t>{3, 4, 5}));
}

}  // namespace
}  // namespace parlance
