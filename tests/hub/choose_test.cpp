#include "hub/choose.h"

#include "gtest/gtest.h"

namespace parlance {
namespace {

using Paths = std::vector<std::string>;

ModelName of(const std::string& tag, const std::string& file = "") {
  return {.repo = "a/b", .tag = tag, .file = file};
}

std::string model_of(const Paths& paths, const std::string& tag = "") {
  const auto chosen = choose_files(of(tag), paths);
  return chosen ? chosen->model : "refused: " + chosen.error().message;
}

TEST(Choose, TakesTheUsualQuantisationThenWhatThereIs) {
  EXPECT_EQ(model_of({"m-F16.gguf", "m-Q4_K_M.gguf", "m-Q8_0.gguf"}), "m-Q4_K_M.gguf");
  EXPECT_EQ(model_of({"m-F16.gguf", "m-Q8_0.gguf"}), "m-Q8_0.gguf");
  EXPECT_EQ(model_of({"m-F16.gguf", "m-Q2_K.gguf", "README.md"}), "m-F16.gguf");
  EXPECT_EQ(model_of({"mmproj-m-Q4_K_M.gguf", "m-Q6_K.gguf", "m.imatrix.gguf", "dflash-m-Q8_0.gguf"}),
            "m-Q6_K.gguf");
}

TEST(Choose, FindsATagWhereverItStands) {
  const Paths paths = {"IQ4_XS/m-IQ4_XS.gguf", "m-Q4_K_S.gguf", "m.q4_k_m.gguf", "m-UD-Q4_K_XL.gguf"};
  EXPECT_EQ(model_of(paths, "q4_k_m"), "m.q4_k_m.gguf");
  EXPECT_EQ(model_of(paths, "UD-Q4_K_XL"), "m-UD-Q4_K_XL.gguf");
  EXPECT_EQ(model_of(paths, "Q4_K_XL"), "m-UD-Q4_K_XL.gguf");
  EXPECT_EQ(model_of(paths, "iq4_xs"), "IQ4_XS/m-IQ4_XS.gguf");
  // The whole word before its end.
  EXPECT_EQ(model_of({"m-IQ4_0.gguf", "m-Q4_0.gguf"}, "Q4_0"), "m-Q4_0.gguf");
  const std::string refused = model_of(paths, "Q4_K_L");
  EXPECT_NE(refused.find("it has"), std::string::npos) << refused;
  EXPECT_NE(refused.find("UD-Q4_K_XL"), std::string::npos) << refused;
}

TEST(Choose, TakesAllPartsOrNone) {
  const Paths paths = {"q/m-Q4_K_M-00002-of-00003.gguf", "q/m-Q4_K_M-00001-of-00003.gguf",
                       "q/m-Q4_K_M-00003-of-00003.gguf"};
  const auto chosen = choose_files(of(""), paths);
  ASSERT_TRUE(chosen.has_value());
  EXPECT_EQ(chosen->model, paths[1]);
  EXPECT_EQ(chosen->paths, (Paths{paths[1], paths[0], paths[2]}));
  EXPECT_NE(model_of({paths[0], paths[1]}).find("part 3 of 3"), std::string::npos);
  EXPECT_NE(model_of({"m-00001-of-99999.gguf"}).find("part 2"), std::string::npos);
}

TEST(Choose, TakesWhatBelongsToTheModel) {
  const auto ears = choose_files(of("Q4_K_M"), {"m-Q4_K_M.gguf", "mmproj-m-Q8_0.gguf", "mmproj-m-f16.gguf"});
  ASSERT_TRUE(ears.has_value());
  EXPECT_EQ(ears->mmproj, "mmproj-m-Q8_0.gguf");
  const auto voice =
      choose_files(of("F32"), {"omnivoice-base-F32.gguf", "omnivoice-base-Q8_0.gguf",
                               "omnivoice-tokenizer-F32.gguf", "omnivoice-tokenizer-Q8_0.gguf"});
  ASSERT_TRUE(voice.has_value());
  EXPECT_EQ(voice->model, "omnivoice-base-F32.gguf");
  EXPECT_EQ(voice->codec, "omnivoice-tokenizer-F32.gguf");
  // Of another folder beside it: that is another model's.
  const auto apart = choose_files(of("", "x/m.gguf"), {"x/m.gguf", "y/mmproj-f16.gguf"});
  ASSERT_TRUE(apart.has_value());
  EXPECT_EQ(apart->mmproj, "");
}

TEST(Choose, KnowsBundlesAndWhatIsToBeConverted) {
  const auto bundle =
      choose_files(of(""), {"eliza-1.manifest.json", "text/a.gguf", ".gitattributes", "licenses/x"});
  ASSERT_TRUE(bundle.has_value());
  EXPECT_EQ(bundle->kind, RepoKind::bundle);
  EXPECT_EQ(bundle->paths, (Paths{"eliza-1.manifest.json", "licenses/x", "text/a.gguf"}));
  const auto sources =
      choose_files(of(""), {"config.json", "model.safetensors", "original/consolidated.safetensors",
                            "pytorch_model.bin", "merges.txt", "tokenizer.model", "README.md"});
  ASSERT_TRUE(sources.has_value());
  EXPECT_EQ(sources->kind, RepoKind::sources);
  EXPECT_EQ(sources->paths, (Paths{"config.json", "merges.txt", "model.safetensors", "tokenizer.model"}));
  EXPECT_FALSE(choose_files(of("Q8_0"), {"config.json", "model.safetensors"}).has_value());
  EXPECT_FALSE(choose_files(of(""), {"README.md"}).has_value());
  EXPECT_FALSE(choose_files(of(""), {}).has_value());
}

}  // namespace
}  // namespace parlance
