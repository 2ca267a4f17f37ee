#include "assistant/choice.h"

#include "gtest/gtest.h"

namespace parlance {
namespace {

TEST(Choice, RegionsAreKnownByTheirNames) {
  for (int i = 0; i < kRegions; ++i) {
    const auto region = static_cast<Region>(i);
    EXPECT_EQ(region_from_name(name_of(region)), region);
  }
  EXPECT_EQ(region_from_name("dflash"), Region::drafter);
  EXPECT_EQ(region_from_name("mtp"), Region::drafter);
  for (const char* name : {"", "Text", "text ", "wakeword"}) EXPECT_FALSE(region_from_name(name)) << name;
}

TEST(Choice, FilesOfOneModelComeTogether) {
  EXPECT_TRUE(check(ModelFiles{}));
  EXPECT_TRUE(check(ModelFiles{.asr = "a", .mmproj = "b", .base = "c", .codec = "d"}));
  struct Case {
    ModelFiles files;
    std::string given, missing;
  };
  for (const Case& half : {Case{{.asr = "a"}, "asr", "mmproj"},
                           {{.mmproj = "b"}, "mmproj", "asr"},
                           {{.base = "c"}, "base", "codec"},
                           {{.codec = "d"}, "codec", "base"}}) {
    const auto checked = check(half.files);
    ASSERT_FALSE(checked) << half.given;
    EXPECT_EQ(checked.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(checked.error().message.find(half.given), std::string::npos) << checked.error().message;
    EXPECT_NE(checked.error().message.find(half.missing), std::string::npos) << checked.error().message;
  }
}

}  // namespace
}  // namespace parlance
