#include "asr/languages.h"

#include <set>

#include "support/fixtures.h"
#include "support/json_file.h"

namespace parlance {
namespace {

TEST(SpeechLanguages, AreFoundByNameAndCodeInAnyCase) {
  EXPECT_EQ(speech_languages().size(), 30u);
  std::set<std::string_view> names, codes;
  for (const SpeechLanguage& language : speech_languages()) {
    EXPECT_TRUE(names.insert(language.name).second) << language.name;
    EXPECT_TRUE(codes.insert(language.code).second) << language.code;
    EXPECT_EQ(find_speech_language(language.name)->code, language.code);
    EXPECT_EQ(find_speech_language(language.code)->name, language.name);
    EXPECT_EQ(normalise_language(language.name), language.name);
  }
  EXPECT_EQ(find_speech_language(" gERMAN\n")->name, "German");
  EXPECT_EQ(find_speech_language("YUE")->name, "Cantonese");
}

TEST(SpeechLanguages, ErrorsListWhatThereIs) {
  for (const char* unknown : {"", " ", "Klingon", "Englsh", "\xff\xfe", "\xf0\x9f"}) {
    const auto language = find_speech_language(unknown);
    ASSERT_FALSE(language) << unknown;
    EXPECT_EQ(language.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(language.error().message.find("give one of Chinese, English"), std::string::npos);
    EXPECT_NE(language.error().message.find("Macedonian"), std::string::npos);
  }
  EXPECT_NE(find_speech_language("englsh").error().message.find("(did you mean English?)"),
            std::string::npos);
  EXPECT_EQ(find_speech_language("Klingon").error().message.find("did you mean"), std::string::npos);
  EXPECT_LT(find_speech_language(std::string(1 << 20, 'x')).error().message.size(), 1000u);
}

TEST(SpeechLanguages, AreMergedWhateverIsAroundThem) {
  const auto merged = [](std::vector<std::string> languages) { return merge_languages(languages); };
  EXPECT_EQ(merged({" English", "English"}), "English");
  EXPECT_EQ(merged({"English", " ", "English\n", "German "}), "English,German");
  EXPECT_EQ(merged({" ", ""}), "");
}

TEST(SpeechLanguages, AreNormalisedAndMergedAsRecorded) {
  PARLANCE_REQUIRE_FIXTURES("asr/text_rules.json");
  const auto rules = test::read_json(test::fixtures_root() / "asr/text_rules.json");
  for (const auto& row : rules.at("normalize_language")) {
    EXPECT_EQ(normalise_language(row.at("in").get<std::string>()), row.at("out").get<std::string>());
  }
  for (const auto& row : rules.at("merge_languages")) {
    std::vector<std::string> languages;
    for (const auto& name : row.at("in")) {
      languages.push_back(name.is_null() ? "" : name.get<std::string>());
    }
    EXPECT_EQ(merge_languages(languages), row.at("out").get<std::string>());
  }
}

TEST(SpeechLanguages, NormaliseOddNames) {
  EXPECT_EQ(normalise_language(""), "");
  EXPECT_EQ(normalise_language(" \u3000"), "");
  EXPECT_EQ(normalise_language("ÉTRANGE"), "Étrange");
  EXPECT_EQ(normalise_language("ß"), "SS");
}

}  // namespace
}  // namespace parlance
