// Masks over a vocabulary are what following each token by itself says, wherever a text is cut into tokens.
#include "grammar/token_masks.h"

#include <algorithm>
#include <random>
#include <string>

#include "grammar/following.h"
#include "gtest/gtest.h"
#include "support/fixtures.h"

namespace parlance {
namespace {

constexpr const char* kSchema = R"({"type":"object","properties":{
  "name":{"type":"string"},"text":{"type":"string","maxLength":40},"n":{"type":"integer","minimum":-5,"maximum":1200},
  "list":{"type":"array","items":{"anyOf":[{"type":"number"},{"$ref":"#"}]},"maxItems":30},
  "day":{"type":"string","format":"date"},"kind":{"enum":["one","other","é"]}},"required":["name","kind"]})";

struct Source {
  const char* name;
  Result<std::shared_ptr<const Grammar>> (*make)(std::string_view);
  const char* text;
};

const Source kSources[] = {
    {"schema", Grammar::from_json_schema, kSchema},
    {"any JSON", Grammar::from_json_schema, "{}"},
    {"words", Grammar::from_regex, "([A-Z][a-z]+(, | )){3,40}and that is (all|it)\\."},
    {"any text", Grammar::from_regex, "(.|\\n)*"},
    {"arithmetic", Grammar::from_gbnf, "root ::= e\ne ::= t ([-+*/] t)*\nt ::= [0-9]+ | \"(\" e \")\""},
    {"pairs", Grammar::from_gbnf, "root ::= \"a\" root \"b\" | \"a\" root \"c\" | \"x\""},
    {"counted", Grammar::from_gbnf, "root ::= ([a-z]{1,9} \" \"){200,2000} \"end\""},
};

class TokenMasksTest : public testing::Test {
 protected:
  void SetUp() override {
    auto file = GgufFile::open(test::source_root() / "models/demo/text/parlance-demo-text-q8_0.gguf");
    ASSERT_TRUE(file) << file.error().message;
    auto tokenizer = Tokenizer::load(*file);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    tokenizer_ = std::make_unique<Tokenizer>(*std::move(tokenizer));
    trie_ = std::make_shared<TokenTrie>(*tokenizer_);
  }

  std::shared_ptr<TokenMasks> masks_of(const Source& source) {
    auto grammar = source.make(source.text);
    EXPECT_TRUE(grammar) << source.name;
    return *TokenMasks::make(*std::move(grammar), trie_);
  }

  // A token that the mask allows; -1 when there is none.
  Token any_allowed(const TokenMask& mask) {
    std::vector<Token> allowed;
    for (Token token = 0; token < tokenizer_->n_vocab(); ++token) {
      if (mask.allows(token)) allowed.push_back(token);
    }
    return allowed.empty() ? -1 : allowed[random_() % allowed.size()];
  }

  std::unique_ptr<Tokenizer> tokenizer_;
  std::shared_ptr<const TokenTrie> trie_;
  std::mt19937_64 random_{11};
};

TEST_F(TokenMasksTest, TheTreeHasEveryTextOnce) {
  std::vector<std::string> texts(static_cast<size_t>(tokenizer_->n_vocab()));
  std::string path;
  for (uint32_t node = 0; node < trie_->nodes().size(); ++node) {
    path.resize(trie_->nodes()[node].depth - 1u);
    path += static_cast<char>(trie_->nodes()[node].byte);
    for (const Token token : trie_->tokens_at(node)) texts[static_cast<size_t>(token)] = path;
    ASSERT_GT(trie_->nodes()[node].end, node);
    ASSERT_LE(trie_->nodes()[node].end, trie_->nodes().size());
  }
  for (Token token = 0; token < tokenizer_->n_vocab(); ++token) {
    EXPECT_EQ(texts[static_cast<size_t>(token)], trie_->is_text(token) ? tokenizer_->piece(token) : "")
        << token;
    EXPECT_FALSE(tokenizer_->kind(token) == TokenKind::control && trie_->is_text(token)) << token;
  }
}

TEST_F(TokenMasksTest, AMaskIsWhatEachTokenByItselfSays) {
  for (const Source& source : kSources) {
    SCOPED_TRACE(source.name);
    const auto masks = masks_of(source);
    for (int walk = 0; walk < 3; ++walk) {
      GrammarState state = masks->begin();
      for (int step = 0; step < 25; ++step) {
        const auto mask = state.allowed();
        ASSERT_TRUE(mask) << mask.error().message;
        for (Token token = 0; token < tokenizer_->n_vocab(); ++token) {
          const bool ends = tokenizer_->is_end_of_generation(token);
          const bool expected = ends ? state.may_end() : GrammarState(state).advance(token);
          ASSERT_EQ((*mask)->allows(token), expected) << step << " " << tokenizer_->piece(token);
        }
        const Token token = any_allowed(**mask);
        ASSERT_GE(token, 0);
        if (!state.advance(token)) break;
      }
    }
  }
}

TEST_F(TokenMasksTest, HowATextIsCutIntoTokensDoesNotMatter) {
  const Source& source = kSources[0];
  const auto masks = masks_of(source);
  const auto grammar = *source.make(source.text);
  for (const std::string text :
       {R"({"name":"A b","text":"x\n\u00e9é","n":-5,"list":[1.5, {"name":"","kind":"one"}],"kind":"é"})",
        R"({"name":"A b", "kind":"one"})", R"({"name":"A b", "kind":"two"})", R"({"name":"A b"})",
        R"({"name":"😀","n":1201,"kind":"one"})"}) {
    const bool expected = test::follows(grammar, text);
    for (int cut = 0; cut < 12; ++cut) {
      GrammarState state = masks->begin();
      bool is_good = true;
      for (size_t at = 0; at < text.size() && is_good;) {
        std::vector<Token> fitting;
        for (Token token = 0; token < tokenizer_->n_vocab(); ++token) {
          if (trie_->is_text(token) &&
              std::string_view(text).substr(at).starts_with(tokenizer_->piece(token)))
            fitting.push_back(token);
        }
        ASSERT_FALSE(fitting.empty());
        const Token token = fitting[random_() % fitting.size()];
        const auto mask = state.allowed();
        ASSERT_TRUE(mask);
        EXPECT_EQ((*mask)->allows(token), GrammarState(state).advance(token));
        is_good = state.advance(token);
        at += tokenizer_->piece(token).size();
      }
      EXPECT_EQ(is_good && state.may_end(), expected) << text;
    }
  }
}

TEST_F(TokenMasksTest, ACopyIsAPlaceToComeBackTo) {
  const auto masks = masks_of(kSources[0]);
  GrammarState state = masks->begin();
  for (int step = 0; step < 40; ++step) {
    const GrammarState before = state;
    const auto first = *GrammarState(before).allowed();
    for (int ahead = 0; ahead < 5; ++ahead) {
      const auto mask = state.allowed();
      ASSERT_TRUE(mask);
      if (!state.advance(any_allowed(**mask))) break;
    }
    state = before;
    const auto again = *state.allowed();
    EXPECT_TRUE(std::ranges::equal(first->bits(), again->bits()));
    if (!state.advance(any_allowed(*again))) break;
  }
}

// Texts go on where they were when the table that they were followed in has been replaced, and what is
// remembered stays bounded.
TEST_F(TokenMasksTest, WhatIsRememberedIsBounded) {
  constexpr const char* kManyStates =
      "root ::= \"<\" root \">\" | \"(\" root \")\" | \"[\" root \"]\" | [a-z]{1,30}";
  const auto masks = *TokenMasks::make(*Grammar::from_gbnf(kManyStates), trie_);
  GrammarState early = masks->begin();
  for (const char bracket : std::string("<([<")) {
    const std::string_view text(&bracket, 1);
    ASSERT_TRUE(early.advance(tokenizer_->encode(text)[0]));
  }
  size_t most = 0;
  bool has_shrunk = false;
  for (int walk = 0; walk < 600; ++walk) {
    const size_t before = masks->bytes();
    GrammarState state = masks->begin();
    for (int step = 0; step < 200; ++step) {
      const Token token = tokenizer_->encode(std::string(1, "<(["[random_() % 3]))[0];
      if (step == 100) {
        const auto mask = state.allowed();
        ASSERT_TRUE(mask) << mask.error().message;
        ASSERT_TRUE((*mask)->allows(token));
      }
      ASSERT_TRUE(state.advance(token));
    }
    has_shrunk |= masks->bytes() < before;
    most = std::max(most, masks->bytes());
  }
  EXPECT_TRUE(has_shrunk);
  EXPECT_LT(most, size_t{32} << 20);
  for (const char letter : std::string("ab>])>")) {
    const auto mask = early.allowed();
    ASSERT_TRUE(mask);
    const Token token = tokenizer_->encode(std::string(1, letter))[0];
    EXPECT_TRUE((*mask)->allows(token));
    ASSERT_TRUE(early.advance(token)) << letter;
  }
  EXPECT_TRUE(early.must_end());
}

TEST_F(TokenMasksTest, GrammarsMayNameTokens) {
  const auto masks_for = [&](const std::string& text) {
    return TokenMasks::make(*Grammar::from_gbnf(text), trie_);
  };
  const Token start = *tokenizer_->find("<|im_start|>");
  const auto masks =
      masks_for("root ::= <|im_start|> (!<|im_start|>)* <[" + std::to_string(start) + "]> \"end\"");
  ASSERT_TRUE(masks) << masks.error().message;
  GrammarState state = (*masks)->begin();
  EXPECT_EQ((*state.allowed())->n_allowed(), 1);
  EXPECT_FALSE(state.advance(tokenizer_->encode("<")[0]));  // its text is not the token
  ASSERT_TRUE(state.advance(start));
  ASSERT_TRUE(state.advance(tokenizer_->encode("a")[0]));
  ASSERT_TRUE(state.advance(start));
  for (const Token token : tokenizer_->encode("end")) ASSERT_TRUE(state.advance(token));
  EXPECT_TRUE(state.must_end());
  EXPECT_FALSE(masks_for("root ::= <nonsense>"));
  EXPECT_FALSE(masks_for("root ::= <[99999999]>"));
}

TEST_F(TokenMasksTest, AGrammarThatIsReadInTooManyWaysIsGivenUp) {
  // After n letters, each of 60 counters may be anywhere up to n.
  std::string text = "root ::= ";
  for (int i = 0; i < 60; ++i) text += "[a-z]{0," + std::to_string(300 + i) + "} ";
  const auto grammar = Grammar::from_gbnf(text);
  ASSERT_TRUE(grammar) << grammar.error().message;
  GrammarState state = (*TokenMasks::make(*grammar, trie_))->begin();
  bool is_given_up = false;
  for (int step = 0; step < 400 && !is_given_up; ++step) {
    const auto mask = state.allowed();
    if (!mask) {
      EXPECT_EQ(mask.error().code, ErrorCode::too_complex);
      is_given_up = true;
    } else if (!state.advance(tokenizer_->encode("a")[0])) {
      is_given_up = true;
    }
  }
  EXPECT_TRUE(is_given_up);
}

}  // namespace
}  // namespace parlance
