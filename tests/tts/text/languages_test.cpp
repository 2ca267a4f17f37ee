#include "support/json_file.h"
#include "tts/text/languages.h"

#include <fstream>
#include <set>

#include "support/fixtures.h"

namespace parlance {
namespace {

TEST(TtsLanguages, AreFoundAsRecorded) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/text/lang.json");
  const auto rows = test::read_json(test::fixtures_root() / "omnivoice/text/lang.json");
  ASSERT_GE(rows.size(), 19u);
  for (const auto& row : rows) {
    EXPECT_EQ(find_tts_language(row.at("lang").get<std::string>()), row.at("out").get<std::string>()) << row;
  }
}

TEST(TtsLanguages, AreThoseOfTheRecordedTable) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/data/lang_map.tsv");
  std::ifstream file(test::fixtures_root() / "omnivoice/data/lang_map.tsv");
  std::string line;
  std::getline(file, line);  // titles
  size_t n = 0;
  for (; std::getline(file, line); ++n) {
    const size_t tab = line.find('\t');
    ASSERT_LT(n, tts_languages().size());
    EXPECT_EQ(tts_languages()[n].name, line.substr(0, tab));
    EXPECT_EQ(tts_languages()[n].code, line.substr(tab + 1));
  }
  EXPECT_EQ(n, tts_languages().size());
}

TEST(TtsLanguages, AreFoundByNameAndCode) {
  EXPECT_EQ(tts_languages().size(), 646u);
  std::set<std::string_view> names, codes;
  for (const TtsLanguage& language : tts_languages()) {
    EXPECT_TRUE(names.insert(language.name).second) << language.name;
    EXPECT_TRUE(codes.insert(language.code).second) << language.code;
    EXPECT_EQ(find_tts_language(language.name), language.code);
    EXPECT_EQ(find_tts_language(language.code), language.code);
  }
  EXPECT_EQ(find_tts_language("GERMAN"), "de");
  EXPECT_EQ(find_tts_language("DE"), "");
  EXPECT_EQ(find_tts_language(" german"), "");
  EXPECT_EQ(find_tts_language("\xFF\xFE"), "");
}

TEST(TtsLanguages, NoneIsNoLanguage) {
  for (const char* none : {"", "None", "none", "NONE"}) {
    EXPECT_TRUE(is_no_language(none));
    EXPECT_EQ(find_tts_language(none), "");
  }
  EXPECT_FALSE(is_no_language("klingon"));
  EXPECT_FALSE(is_no_language("nones"));
}

}  // namespace
}  // namespace parlance
