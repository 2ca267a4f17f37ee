// Drafters as the command line names them: a smaller model's file among them, and what it says of others.
#include <fstream>

#include "cli/cli_run.h"
#include "support/drafter.h"
#include "support/temporary_folder.h"
#include "support/tiny_model.h"

namespace parlance {
namespace {

using test::expect_error;
using test::run;

class DraftingOptions : public testing::Test {
 protected:
  void SetUp() override {
    test::write_tiny_model(folder_.path() / "model.gguf", {.n_layer = 2});
    test::write_tiny_model(folder_.path() / "smaller.gguf", {.n_layer = 1});
  }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  test::Outcome chat(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {
        "chat", "-m", path("model.gguf"), "-p", "he he", "-n", "40", "-t", "1", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }

  test::TemporaryFolder folder_;
};

TEST_F(DraftingOptions, AFileMayBeASmallerModel) {
  const auto plain = chat({"--temp", "0.8", "-s", "5", "--draft", "none"}).json();
  EXPECT_EQ(plain["drafted_tokens"], 0);
  for (const char* name : {"--draft", "-md", "--model-draft", "--spec-draft-model"}) {
    const auto drafted = chat({"--temp", "0.8", "-s", "5", name, path("smaller.gguf") + ",required"}).json();
    EXPECT_EQ(drafted["text"], plain["text"]);
    EXPECT_GT(drafted["drafted_tokens"], 0);
  }
}

TEST_F(DraftingOptions, TheRuleSaysWhenATokenIsTaken) {
  const std::string itself = path("model.gguf") + ",required";
  const auto by = [&](const char* rule) {
    return chat({"--temp", "1", "-s", "5", "--draft", itself, "--draft-rule", rule}).json();
  };
  const auto exact = by("exact"), sampling = by("sampling");
  EXPECT_EQ(by("sampling")["text"], sampling["text"]);
  EXPECT_LT(exact["drafted_tokens_accepted"], exact["drafted_tokens"]);
  EXPECT_EQ(sampling["drafted_tokens_accepted"], sampling["drafted_tokens"]);  // of the model itself
  expect_error(run({"chat", "-m", path("model.gguf"), "-p", "he", "--draft-rule", "guess"}), kUsage,
               {"--draft-rule", "'guess'", "exact, sampling"});
}

// What a model is made to say is what the other one says, drafted or not.
TEST_F(DraftingOptions, AnswersMayBeThoseOfAnotherModel) {
  const std::string demo = test::demo_text().string();
  const auto eval = [&](const std::string& model, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"eval", "drafting", "-m", model,     "--limit", "6",     "-n",
                                          "24",   "-t",       "1",  "--draft", "lookup",  "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  };
  const auto own = eval(demo, {}).json()["all"], given = eval(demo, {"--answers-of", demo}).json()["all"];
  EXPECT_EQ(given["different"], 0);
  EXPECT_GE(given["tokens"], own["tokens"]);  // the ends of turns are tokens as others here
  EXPECT_LE(given["tokens"], own["tokens"].get<int>() + 6);
  expect_error(eval(path("model.gguf"), {"--answers-of", demo}), kFailure,
               {"--answers-of", "model.gguf", "259"});
}

TEST_F(DraftingOptions, WhatDoesNotFitIsSaidInALine) {
  const auto refuse = [&](const std::string& file, std::initializer_list<std::string> words) {
    expect_error(chat({"--draft", file}), kFailure, words);
  };
  refuse(path("absent.gguf"), {"absent.gguf"});
  std::ofstream(path("text.gguf")) << "no model";
  refuse(path("text.gguf"), {"text.gguf"});
  std::filesystem::copy_file(path("smaller.gguf"), path("cut.gguf"));
  std::filesystem::resize_file(path("cut.gguf"), std::filesystem::file_size(path("cut.gguf")) / 2);
  refuse(path("cut.gguf"), {"cut.gguf"});
  refuse(test::demo_text().string(), {"parlance-demo-text", "tokenizer.ggml.", "vocabulary"});
  refuse(test::demo_drafter().string(), {"parlance-demo-drafter"});
  expect_error(chat({"--draft", path("smaller.gguf") + ",required", "--draft-p-min", "1"}), kFailure,
               {"nothing was drafted", "--draft", "--max-tokens"});
}

}  // namespace
}  // namespace parlance
