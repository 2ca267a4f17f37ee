#include "eval/questions.h"

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

std::vector<EvalQuestion> questions_of(const std::vector<std::string>& categories) {
  std::vector<EvalQuestion> questions;
  for (size_t i = 0; i < categories.size(); ++i)
    questions.push_back({std::to_string(i), categories[i], {}, {"x"}});
  return questions;
}

std::string ids_of(const std::vector<EvalQuestion>& questions) {
  std::string ids;
  for (const EvalQuestion& question : questions) ids += question.id;
  return ids;
}

TEST(EvalQuestions, AreChosenByCategory) {
  const auto all = questions_of({"a", "b", "a", "c", "b"});
  EXPECT_EQ(ids_of(*of_categories(all, {})), "01234");
  EXPECT_EQ(ids_of(*of_categories(all, {"b", "a"})), "0124");
  const auto unknown = of_categories(all, {"a", "d"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(unknown.error().message.find("'d'; choose one of a, b, c"), std::string::npos)
      << unknown.error().message;
}

TEST(EvalQuestions, AreSpreadEvenly) {
  const auto all = questions_of(std::vector<std::string>(9, "a"));
  EXPECT_EQ(ids_of(evenly_spread(all, 0)), "012345678");
  EXPECT_EQ(ids_of(evenly_spread(all, 9)), "012345678");
  EXPECT_EQ(ids_of(evenly_spread(all, 100)), "012345678");
  EXPECT_EQ(ids_of(evenly_spread(all, 3)), "036");
  EXPECT_EQ(ids_of(evenly_spread(all, 1)), "0");
}

TEST(EvalQuestions, TheFirstOfEachCategory) {
  const auto all = questions_of({"a", "b", "a", "a", "b", "c"});
  EXPECT_EQ(ids_of(first_of_each(all, 1)), "015");
  EXPECT_EQ(ids_of(first_of_each(all, 2)), "01245");
  EXPECT_EQ(ids_of(first_of_each(all, 0)), "");
}

}  // namespace
}  // namespace parlance
