// The bundled demo, from spoken questions to spoken answers: ten questions in wordings that no training had.
#include <filesystem>
#include <fstream>

#include "assistant/default_model.h"
#include "audio/audio_file.h"
#include "cli/cli_run.h"
#include "eval/questions.h"
#include "eval/word_error.h"
#include "support/json_file.h"
#include "support/temporary_folder.h"
#include "text/spoken_form.h"

namespace parlance {
namespace {

namespace fs = std::filesystem;
using test::run;

struct SpokenQuestion {
  fs::path audio;
  std::string text;
  EvalQuestion expected;
};

std::vector<SpokenQuestion> questions_of(const fs::path& folder) {
  std::vector<SpokenQuestion> questions;
  std::ifstream lines(folder / "index.jsonl");
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    questions.push_back({folder / json["audio"].get<std::string>(),
                         json["text"],
                         {.id = "", .category = "", .messages = {}, .answers = json["answers"]}});
  }
  return questions;
}

class DemoConversation : public testing::Test {
 protected:
  void SetUp() override {
    if (find_demo_folder("tts").empty()) GTEST_SKIP() << "the demo bundle has no voice: models/demo/tts";
    questions_ = questions_of(find_demo_set("conversation"));
    ASSERT_EQ(questions_.size(), 10u);
  }

  // The turn of a question; its answer is spoken into `wav`.
  static nlohmann::json ask(const SpokenQuestion& question, const fs::path& wav) {
    const auto outcome =
        run({"talk", "-t", "2", "--fast", "--json", "-o", wav.string(), question.audio.string()});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.json();
  }

  std::vector<SpokenQuestion> questions_;
  const test::TemporaryFolder folder_;
};

TEST_F(DemoConversation, QuestionsAreHeardAnsweredAndSpoken) {
  int n_right = 0;
  WordErrors errors;
  std::string report;
  for (const SpokenQuestion& question : questions_) {
    const fs::path wav = folder_ / "answer.wav";
    const nlohmann::json turn = ask(question, wav);
    const std::string answer = turn["answer"];
    const bool is_answer = is_right(question.expected, answer);
    n_right += is_answer;
    const auto heard = run({"listen", "-t", "2", wav.string()});
    EXPECT_EQ(heard.code, 0) << heard.err;
    errors += count_word_errors(spoken(answer), spoken(heard.out));
    report += fmt::format("{} {} -> {} -> {} -> {}", is_answer ? "right" : "WRONG", question.text,
                          std::string(turn["question"]), answer, heard.out);
  }
  EXPECT_GE(n_right, 9) << report;
  EXPECT_LE(errors.rate(), 0.15) << report;
}

}  // namespace
}  // namespace parlance
