// Answers that follow a grammar: always a text of it, the same with drafts and without, and honest about
// their ends.
#include <algorithm>
#include <string>

#include "base/parameter.h"
#include "engine/answer_grammar.h"
#include "engine/generate.h"
#include "grammar/recogniser.h"
#include "support/drafter.h"
#include "support/json_file.h"
#include "support/text_model.h"

namespace parlance {
namespace {

constexpr const char* kFormSchema = R"({"type":"object","properties":{
  "name":{"type":"string","maxLength":12},"count":{"type":"integer","minimum":1,"maximum":20},
  "kind":{"enum":["city","animal","thing"]},"tags":{"type":"array","items":{"type":"boolean"},"maxItems":2}},
  "required":["name","kind"]})";

class AnswerGrammarTest : public testing::Test {
 protected:
  void SetUp() override {
    loaded_ = test::load_text_model(test::demo_text());
    ASSERT_TRUE(loaded_.model);
  }

  std::vector<Token> question(const std::string& text) const {
    return loaded_.model->tokenizer().encode(
        "<|im_start|>user\n" + text + "<|im_end|>\n<|im_start|>assistant\n",
        {.add_special = true, .parse_special = true});
  }
  std::shared_ptr<TokenMasks> masks(Result<std::shared_ptr<const Grammar>> grammar) const {
    EXPECT_TRUE(grammar) << grammar.error().message;
    return *TokenMasks::make(*grammar, loaded_.model->token_trie());
  }
  GenerateOptions options_for(std::shared_ptr<TokenMasks> grammar, uint64_t seed) const {
    GenerateOptions options;
    options.grammar = std::move(grammar);
    options.max_tokens = 120;
    options.sampling.seed = seed;
    options.sampling.temperature = seed == 0 ? 0.0f : 1.5f;
    options.sampling.repetition_penalty = seed % 3 == 0 ? 1.3f : 1.0f;
    options.draft.is_on = false;
    return options;
  }
  static bool is_text_of(const Result<std::shared_ptr<const Grammar>>& grammar, const std::string& text) {
    Recogniser recogniser(*grammar);
    RecogniserState state = recogniser.begin();
    for (const char byte : text) state = recogniser.step(state, static_cast<uint8_t>(byte));
    return recogniser.may_end(state);
  }

  test::LoadedModel loaded_;
};

TEST_F(AnswerGrammarTest, EveryAnswerIsInTheForm) {
  const auto form = Grammar::from_json_schema(kFormSchema);
  const auto grammar = masks(form);
  const auto session = test::make_session(*loaded_.model, {.n_ctx = 512});
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const auto result =
        generate(*session, question("What is the capital of France?"), options_for(grammar, seed));
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->finish_reason, FinishReason::stop) << result->text;
    EXPECT_FALSE(result->is_cut);
    EXPECT_TRUE(is_text_of(form, result->text)) << result->text;
    const auto json = nlohmann::json::parse(result->text, nullptr, false);
    ASSERT_TRUE(json.is_object()) << result->text;
    EXPECT_TRUE(json.contains("name") && json.contains("kind")) << result->text;
    EXPECT_LE(json.value("count", 1), 20);
  }
}

// The form is complete with the closing brace, and no step is made to hear that the model agrees.
TEST_F(AnswerGrammarTest, AnAnswerEndsWhereNothingMayFollow) {
  const auto session = test::make_session(*loaded_.model, {.n_ctx = 512});
  GenerateOptions options = options_for(masks(Grammar::from_regex("yes|no")), 0);
  options.ignore_eos = true;
  const auto result = generate(*session, question("Is the sky blue?"), options);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->text == "yes" || result->text == "no") << result->text;
  EXPECT_EQ(result->draft.n_steps, std::ssize(result->tokens));
}

TEST_F(AnswerGrammarTest, DraftsChangeNothing) {
  const auto drafter = test::load_demo_drafter(loaded_.model->model());
  ASSERT_TRUE(drafter);
  const auto grammar = masks(Grammar::from_json_schema(kFormSchema));
  const auto words = masks(Grammar::from_regex("([A-Za-z ,']{3,40}\\. ?){1,4}"));
  const auto plain = test::make_session(*loaded_.model, {.n_ctx = 512});
  int64_t n_accepted = 0, n_drafted = 0;
  for (const auto& [looks_up, model] : {std::pair{false, drafter}, {true, nullptr}, {true, drafter}}) {
    const auto session =
        test::make_session(*loaded_.model, {.n_ctx = 512, .looks_up = looks_up, .drafter = model});
    for (const auto& form : {grammar, words}) {
      for (uint64_t seed = 0; seed < 4; ++seed) {
        GenerateOptions options = options_for(form, seed);
        options.max_tokens = 40;
        const auto prompt = question(seed % 2 ? "Count from 1 to 12." : "What is the capital of France?");
        const auto expected = generate(*plain, prompt, options);
        options.draft.is_on = true;
        options.draft.most = 1 + static_cast<int64_t>(seed);
        options.draft.is_required = model != nullptr;
        const auto got = generate(*session, prompt, options);
        ASSERT_TRUE(expected && got) << (expected ? got : expected).error().message;
        EXPECT_EQ(got->tokens, expected->tokens) << got->text << " | " << expected->text;
        EXPECT_EQ(got->finish_reason, expected->finish_reason);
        EXPECT_EQ(got->is_cut, expected->is_cut);
        n_accepted += got->draft.n_accepted;
        n_drafted += got->draft.n_drafted;
      }
    }
  }
  EXPECT_GT(n_drafted, 100);
  EXPECT_GT(n_accepted, 20);
}

// By the other rule drafts make other choices; they are texts of the grammar too, and those of their seed.
TEST_F(AnswerGrammarTest, DrawnDraftsAreInTheFormToo) {
  const auto drafter = test::load_demo_drafter(loaded_.model->model());
  ASSERT_TRUE(drafter);
  const auto form = Grammar::from_json_schema(kFormSchema);
  const auto grammar = masks(form);
  const auto session = test::make_session(*loaded_.model, {.n_ctx = 512, .drafter = drafter});
  for (uint64_t seed = 1; seed < 10; ++seed) {
    GenerateOptions options = options_for(grammar, seed);
    options.draft = {.rule = DraftRule::sampling, .is_required = true};
    const auto first = generate(*session, question("Count from 1 to 12."), options);
    const auto again = generate(*session, question("Count from 1 to 12."), options);
    ASSERT_TRUE(first && again) << first.error().message;
    EXPECT_EQ(first->tokens, again->tokens);
    EXPECT_TRUE(is_text_of(form, first->text)) << first->text;
  }
}

TEST_F(AnswerGrammarTest, AnAnswerThatIsCutSaysSo) {
  const auto session = test::make_session(*loaded_.model, {.n_ctx = 512});
  const auto grammar = masks(Grammar::from_json_schema(kFormSchema));
  for (const int64_t most : {0, 1, 4}) {
    GenerateOptions options = options_for(grammar, 0);
    options.max_tokens = most;
    const auto result = generate(*session, question("Hi"), options);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->finish_reason, FinishReason::length);
    EXPECT_TRUE(result->is_cut);
  }
  GenerateOptions options = options_for(grammar, 0);
  options.stop = {"\""};
  const auto stopped = generate(*session, question("Hi"), options);
  ASSERT_TRUE(stopped);
  EXPECT_TRUE(stopped->is_cut);
  options.grammar.reset();
  EXPECT_FALSE(generate(*session, question("Hi"), options)->is_cut);
}

TEST_F(AnswerGrammarTest, ADeadEndIsAnErrorThatSaysSo) {
  const auto session = test::make_session(*loaded_.model, {.n_ctx = 1024});
  // More calls inside of each other than are followed.
  const auto deep = generate(*session, question("Hi"), [&] {
    GenerateOptions options =
        options_for(masks(Grammar::from_gbnf("root ::= \"<\" root \">\"{2} | \"x\"{900}")), 0);
    options.max_tokens = 900;
    options.sampling.logit_bias = {{loaded_.model->tokenizer().encode("x")[0], -INFINITY}};
    return options;
  }());
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().code, ErrorCode::unsupported);
  GenerateOptions options = options_for(masks(Grammar::from_regex("a")), 0);
  options.sampling.logit_bias = {{loaded_.model->tokenizer().encode("a")[0], -INFINITY}};
  const auto forbidden = generate(*session, question("Hi"), options);
  ASSERT_FALSE(forbidden);
  EXPECT_EQ(first_parameter(forbidden.error().message), Parameter::logit_bias);
}

TEST_F(AnswerGrammarTest, ThoughtsComeBeforeTheForm) {
  const auto session = test::make_session(*loaded_.model, {.n_ctx = 512});
  const auto prompt = question("What is the capital of France?");
  const auto plain = generate(*session, prompt, options_for(nullptr, 0));
  ASSERT_TRUE(plain) << plain.error().message;
  ASSERT_GE(plain->tokens.size(), 4u);
  GenerateOptions options = options_for(masks(Grammar::from_regex("[0-9]{2}")), 0);
  options.grammar_begins_after = plain->tokens[2];
  const auto result = generate(*session, prompt, options);
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_GE(result->tokens.size(), 4u);
  EXPECT_TRUE(std::equal(plain->tokens.begin(), plain->tokens.begin() + 3, result->tokens.begin()));
  const std::string form =
      loaded_.model->tokenizer().decode({result->tokens.begin() + 3, result->tokens.end()});
  EXPECT_TRUE(is_text_of(Grammar::from_regex("[0-9]{2}"), form)) << result->text;
  EXPECT_FALSE(result->is_cut);
  options.grammar_begins_after = loaded_.model->tokenizer().n_vocab() - 1;  // which does not come
  EXPECT_TRUE(generate(*session, prompt, options)->is_cut);
}

// Answers beside each other, each with its own grammar or none, say what they say alone.
TEST_F(AnswerGrammarTest, AnswersBesideEachOtherFollowTheirOwn) {
  const auto context = Context::create(*loaded_.model, {.n_ctx = 256, .n_seq = 4});
  ASSERT_TRUE(context) << context.error().message;
  const auto grammar = masks(Grammar::from_json_schema(kFormSchema));
  const auto numbers = masks(Grammar::from_regex("[0-9]{1,20}"));
  const auto alone = test::make_session(*loaded_.model, {.n_ctx = 256});
  std::vector<std::unique_ptr<Request>> requests;
  std::vector<std::vector<Token>> expected;
  for (uint64_t i = 0; i < 8; ++i) {
    GenerateOptions options = options_for(i % 3 == 0 ? grammar : i % 3 == 1 ? numbers : nullptr, i);
    options.max_tokens = 50;
    const auto prompt = question("Say something about " + std::to_string(i) + ".");
    expected.push_back(generate(*alone, prompt, options)->tokens);
    auto request = Request::start(*context, prompt, options);
    ASSERT_TRUE(request) << request.error().message;
    requests.push_back(*std::move(request));
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    while (requests[i]->next()) {
    }
    const auto result = requests[i]->result();
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->tokens, expected[i]) << i;
  }
}

}  // namespace
}  // namespace parlance
