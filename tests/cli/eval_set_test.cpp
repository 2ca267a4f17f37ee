#include "cli/eval_set.h"

#include <fstream>

#include "support/fixtures.h"
#include "support/temporary_folder.h"

namespace parlance {
namespace {

constexpr const char* kGood =
    R"({"id": "1", "category": "facts", "messages": [{"role": "user", "content": "Capital of France?"}], "answers": ["Paris", "It is Paris."]})";

TEST(NormaliseReply, ForgivesCaseSpaceAndTheLastMark) {
  EXPECT_EQ(normalise_reply("  Paris.\n"), "paris");
  EXPECT_EQ(normalise_reply("It  is\n\tParis !?"), "it is paris");
  EXPECT_EQ(normalise_reply("ÉCOLE"), normalise_reply("école"));
  EXPECT_EQ(normalise_reply("Straße"), normalise_reply("STRASSE"));
  EXPECT_EQ(normalise_reply("3.5"), "3.5");
  EXPECT_NE(normalise_reply("3.5"), normalise_reply("35"));
  EXPECT_EQ(normalise_reply(""), "");
  EXPECT_EQ(normalise_reply("..."), "");
  EXPECT_EQ(normalise_reply("\xff"), "\xff");
}

TEST(EvalSet, ReadsQuestions) {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "eval.jsonl") << kGood << "\n\n" << kGood;
  const auto questions = read_eval_set(folder / "eval.jsonl");
  ASSERT_TRUE(questions) << questions.error().message;
  ASSERT_EQ(questions->size(), 2u);
  const EvalQuestion& question = questions->front();
  EXPECT_EQ(question.id, "1");
  EXPECT_EQ(question.category, "facts");
  EXPECT_EQ(question.messages.front().content, "Capital of France?");
  EXPECT_TRUE(is_right(question, "paris"));
  EXPECT_TRUE(is_right(question, " it is Paris!"));
  EXPECT_FALSE(is_right(question, "London"));
  EXPECT_FALSE(is_right(question, ""));
}

TEST(EvalSet, NamesTheLineThatIsWrong) {
  for (const std::string bad :
       {"{", "[]", "7", R"({"id": 1})", R"({"id": "1", "category": "c", "messages": [], "answers": ["a"]})",
        R"({"id": "1", "category": "c", "messages": "x", "answers": ["a"]})",
        R"({"id": "1", "category": "c", "messages": [{"role": "user"}], "answers": ["a"]})",
        R"({"id": "1", "category": "c", "messages": [{"role": "user", "content": "q"}], "answers": []})",
        R"({"id": "1", "category": "c", "messages": [{"role": "user", "content": "q"}], "answers": [1]})",
        R"({"id": "1", "category": "c", "messages": [{"role": "user", "content": "q"}]})", "\xff\xfe"}) {
    const test::TemporaryFolder folder;
    std::ofstream(folder / "eval.jsonl") << kGood << "\n" << bad << "\n";
    const auto questions = read_eval_set(folder / "eval.jsonl");
    ASSERT_FALSE(questions) << bad;
    EXPECT_NE(questions.error().message.find("eval.jsonl:2: "), std::string::npos)
        << questions.error().message;
  }
}

TEST(EvalSet, RefusesAnEmptyFile) {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "eval.jsonl") << "\n";
  EXPECT_FALSE(read_eval_set(folder / "eval.jsonl"));
  EXPECT_FALSE(read_eval_set(folder / "absent.jsonl"));
}

}  // namespace
}  // namespace parlance
