#include "tokenizer/tokenizer.h"

#include <cmath>

#include "gtest/gtest.h"
#include "tokenizer/gguf_bytes.h"

namespace parlance {
namespace {

using Tokens = std::vector<Token>;
using test::tiny_bpe;
using test::tiny_sentencepiece;
using test::TinyVocabulary;

// A tokenizer and the bytes that it views.
struct Loaded {
  explicit Loaded(const TinyVocabulary& vocabulary) : Loaded(vocabulary.bytes()) {}
  explicit Loaded(std::string file_bytes) : bytes(std::move(file_bytes)), tokenizer(load(bytes)) {}

  static Result<Tokenizer> load(const std::string& bytes) {
    Result<GgufFile> file = GgufFile::parse(std::as_bytes(std::span(bytes)), "vocabulary.gguf");
    if (!file) return tl::unexpected(file.error());
    return Tokenizer::load(*file);
  }
  std::string error() const { return tokenizer ? "" : tokenizer.error().message; }
  Tokenizer* operator->() { return &*tokenizer; }

  std::string bytes;
  Result<Tokenizer> tokenizer;
};

void expect_error(const TinyVocabulary& vocabulary, std::initializer_list<std::string_view> words) {
  const Loaded loaded(vocabulary);
  ASSERT_FALSE(loaded.tokenizer);
  EXPECT_EQ(loaded.error().find('\n'), std::string::npos);
  for (const std::string_view word : words) {
    EXPECT_NE(loaded.error().find(word), std::string::npos) << loaded.error() << "\nlacks " << word;
  }
}

TEST(Tokenizer, MergesInTheOrderOfTheList) {
  Loaded loaded(tiny_bpe("qwen2"));
  ASSERT_TRUE(loaded.tokenizer) << loaded.error();
  // Token b is byte b; 256.. are what the merges make: he ll hell hello " w" or " wor" ld " world" 12.
  EXPECT_EQ(loaded->encode("hello world"), (Tokens{259, 264}));
  EXPECT_EQ(loaded->encode("hell"), Tokens{258});
  EXPECT_EQ(loaded->encode("hel"), (Tokens{256, 'l'}));
  EXPECT_EQ(loaded->encode("llo"), (Tokens{257, 'o'}));
  EXPECT_EQ(loaded->encode("Hello"), (Tokens{'H', 'e', 257, 'o'}));
  EXPECT_EQ(loaded->encode(""), Tokens{});
  EXPECT_EQ(loaded->encode("\n"), Tokens{'\n'});
  // One digit is one pre-token, so that the merge "1 2" is never used.
  EXPECT_EQ(loaded->encode("12"), (Tokens{'1', '2'}));
  EXPECT_EQ(Loaded(tiny_bpe("llama-bpe"))->encode("12"), Tokens{265});
  // An invalid byte reads as U+FFFD.
  EXPECT_EQ(loaded->encode("\xFF"), (Tokens{0xEF, 0xBF, 0xBD}));
}

TEST(Tokenizer, SpecialTokensInText) {
  Loaded loaded(tiny_bpe("qwen2"));
  ASSERT_TRUE(loaded.tokenizer);
  const Token start = *loaded->find("<|im_start|>"), think = *loaded->find("<think>");
  EXPECT_EQ(loaded->encode("<|im_start|>ld", {.parse_special = true}), (Tokens{start, 263}));
  EXPECT_EQ(loaded->encode("<think>ld"), (Tokens{think, 263}));
  EXPECT_EQ(loaded->encode("<think>\nld"), (Tokens{think + 1, 263}));
  EXPECT_GT(loaded->encode("<|im_start|>").size(), 1u);
}

TEST(Tokenizer, WholeWordsComeFirstWhereThePreTokenizerSaysSo) {
  TinyVocabulary vocabulary = tiny_bpe("llama-bpe");
  vocabulary.add("hexx");
  EXPECT_EQ(Loaded(vocabulary)->encode("hexx"), Tokens{*Loaded(vocabulary)->find("hexx")});
  vocabulary.file.set_string("tokenizer.ggml.pre", "qwen2");
  EXPECT_EQ(Loaded(vocabulary)->encode("hexx"), (Tokens{256, 'x', 'x'}));
}

TEST(Tokenizer, ListedTwiceAMergeKeepsItsFirstRank) {
  TinyVocabulary vocabulary = tiny_bpe("qwen2");
  vocabulary.merges.push_back("h e");
  // The same string cut elsewhere is another merge: "hell o" has rank 3, "he llo" comes last.
  vocabulary.merges.push_back("he llo");
  vocabulary.merges.push_back("no_space");
  vocabulary.merges.push_back("");
  EXPECT_EQ(Loaded(vocabulary)->encode("hello"), Tokens{259});
}

TEST(Tokenizer, SymbolsThatAreNoTokensFallBackToBytes) {
  TinyVocabulary vocabulary = tiny_bpe("qwen2");
  vocabulary.merges.push_back("x y");
  vocabulary.merges.push_back("xy z");
  vocabulary.merges.push_back("\xC4\xA0 xy");
  EXPECT_EQ(Loaded(vocabulary)->encode("axyb"), (Tokens{'a', 'x', 'y', 'b'}));
  EXPECT_EQ(Loaded(vocabulary)->encode(" xy"), (Tokens{' ', 'x', 'y'}));
  // xyz is reached through xy, which is none.
  vocabulary.add("xyz");
  EXPECT_EQ(Loaded(vocabulary)->encode("axyzb"), (Tokens{'a', *Loaded(vocabulary)->find("xyz"), 'b'}));
  // A byte that is no token is dropped.
  vocabulary.tokens['q'] = "not q";
  EXPECT_EQ(Loaded(vocabulary)->encode("aqb"), (Tokens{'a', 'b'}));
}

TEST(Tokenizer, PiecesAreTheBytesOfTokens) {
  TinyVocabulary vocabulary = tiny_bpe("qwen2");
  vocabulary.add("odd \xE4\xBD\xA0");  // neither character is in the byte alphabet
  vocabulary.add("[PAD1]", 5);
  vocabulary.add("", 1);
  Loaded loaded(vocabulary);
  ASSERT_TRUE(loaded.tokenizer) << loaded.error();
  for (int byte = 0; byte < 256; ++byte)
    EXPECT_EQ(loaded->piece(byte), std::string(1, static_cast<char>(byte)));
  EXPECT_EQ(loaded->piece(264), " world");
  const Token end = *loaded->find("<|im_end|>");
  EXPECT_EQ(loaded->piece(end), "");
  EXPECT_EQ(loaded->piece(end, true), "<|im_end|>");
  EXPECT_EQ(loaded->piece(*loaded->find("<think>")), "<think>");
  EXPECT_EQ(loaded->piece(*loaded->find("odd \xE4\xBD\xA0")), "odd[UNK_BYTE_0x20][UNK_BYTE_0xe4bda0]");
  EXPECT_EQ(loaded->piece(*loaded->find("[PAD1]"), true), "");
  EXPECT_EQ(loaded->decode({259, 264, end}), "hello world");
  EXPECT_EQ(loaded->decode({259, 264, end}, true), "hello world<|im_end|>");
  EXPECT_FALSE(loaded->find(""));
  EXPECT_FALSE(loaded->find("nowhere"));
  EXPECT_EQ(loaded->text(264), "\xC4\xA0world");
  for (const Token outside : {-1, loaded->n_vocab(), INT32_MAX, INT32_MIN}) {
    EXPECT_EQ(loaded->piece(outside, true), "");
    EXPECT_EQ(loaded->text(outside), "");
    EXPECT_EQ(loaded->kind(outside), TokenKind::undefined);
    EXPECT_FALSE(loaded->is_end_of_generation(outside));
  }
}

TEST(Tokenizer, SentencePieceMergesByScore) {
  Loaded loaded(tiny_sentencepiece());
  ASSERT_TRUE(loaded.tokenizer) << loaded.error();
  const auto id = [&](std::string_view text) { return *loaded->find(text); };
  EXPECT_EQ(loaded->encode("hello"), Tokens{id("\xE2\x96\x81hello")});
  EXPECT_EQ(loaded->encode("helo"), (Tokens{id("\xE2\x96\x81hel"), id("o")}));  // "el" before "lo"
  EXPECT_EQ(loaded->encode("hel"), Tokens{id("\xE2\x96\x81hel")});
  EXPECT_EQ(loaded->encode("h", {.add_special = true}), (Tokens{1, id("\xE2\x96\x81h")}));
  EXPECT_EQ(loaded->encode(""), Tokens{});
  EXPECT_EQ(loaded->encode("", {.add_special = true}), Tokens{1});
  // Characters that are no token are bytes; so are broken ones.
  EXPECT_EQ(loaded->encode("\xC3\xA9\xC3\xA8\xE4"),
            (Tokens{id("\xE2\x96\x81"), id("\xC3\xA9"), 3 + 0xC3, 3 + 0xA8, 3 + 0xE4}));
  // The space before a text comes again after a special token.
  EXPECT_EQ(loaded->encode("h<think>h"), (Tokens{id("\xE2\x96\x81h"), id("<think>"), id("\xE2\x96\x81h")}));
  EXPECT_EQ(loaded->decode({id("\xE2\x96\x81h"), id("el")}), "hel");
  EXPECT_EQ(loaded->decode({1, id("\xE2\x96\x81h"), id("el")}), " hel");
  EXPECT_EQ(loaded->piece(3 + 0xE4), "\xE4");
  EXPECT_EQ(loaded->model(), "llama");
  EXPECT_EQ(loaded->pre(), "");
}

TEST(Tokenizer, ByteTokensMayBeMissing) {
  TinyVocabulary vocabulary = tiny_sentencepiece();
  for (int byte = 0; byte < 256; ++byte) vocabulary.tokens[static_cast<size_t>(3 + byte)] += " unused";
  vocabulary.add("z");  // the raw byte is the second choice, the unknown token the last
  Loaded loaded(vocabulary);
  EXPECT_EQ(loaded->encode("zq"), (Tokens{*loaded->find("\xE2\x96\x81"), *loaded->find("z"), 0}));
}

TEST(Tokenizer, DefaultsAndFlags) {
  Loaded bpe(tiny_bpe("qwen2"));
  EXPECT_EQ(bpe->bos(), 11);
  EXPECT_EQ(bpe->eos(), 11);
  EXPECT_FALSE(bpe->adds_bos());
  EXPECT_FALSE(bpe->unknown());
  EXPECT_TRUE(Loaded(tiny_bpe("llama-v3"))->adds_bos());
  EXPECT_FALSE(Loaded(tiny_bpe("dbrx"))->adds_bos());
  Loaded spm(tiny_sentencepiece());
  EXPECT_EQ(spm->bos(), 1);
  EXPECT_EQ(spm->eos(), 2);
  EXPECT_EQ(spm->unknown(), 0);
  EXPECT_TRUE(spm->adds_bos());
  EXPECT_FALSE(spm->adds_eos());

  TinyVocabulary changed = tiny_sentencepiece();
  changed.file.set_u32("tokenizer.ggml.bos_token_id", 5);
  changed.file.set_bool("tokenizer.ggml.add_bos_token", false);
  changed.file.set_bool("tokenizer.ggml.add_eos_token", true);
  changed.file.set_bool("tokenizer.ggml.add_space_prefix", false);
  changed.file.set_string("tokenizer.chat_template", "{{ messages }}");
  Loaded loaded(changed);
  EXPECT_EQ(loaded->bos(), 5);
  EXPECT_EQ(loaded->encode("h", {.add_special = true}), (Tokens{*loaded->find("h"), 2}));
  EXPECT_EQ(loaded->decode({*loaded->find("\xE2\x96\x81h")}), " h");
  EXPECT_EQ(loaded->chat_template(), "{{ messages }}");
  EXPECT_EQ(bpe->chat_template(), std::nullopt);
}

TEST(Tokenizer, IdsOutsideTheVocabularyAreIgnored) {
  TinyVocabulary vocabulary = tiny_bpe("llama-bpe");
  vocabulary.file.set_u32("tokenizer.ggml.bos_token_id", 100000);
  vocabulary.file.set_i32("tokenizer.ggml.padding_token_id", -1);
  vocabulary.file.set_u32("tokenizer.ggml.mask_token_id", 0xFFFFFFFF);
  Loaded loaded(vocabulary);
  ASSERT_TRUE(loaded.tokenizer) << loaded.error();
  EXPECT_EQ(loaded->bos(), 11);
  EXPECT_FALSE(loaded->padding());
  EXPECT_FALSE(loaded->mask());

  // The default ids may be outside, too.
  TinyVocabulary small;
  small.file = vocabulary.file;
  small.add("a");
  small.merges = {"a b"};
  Loaded few(small);
  ASSERT_TRUE(few.tokenizer) << few.error();
  EXPECT_FALSE(few->bos());
  EXPECT_FALSE(few->adds_bos());
  EXPECT_EQ(few->encode("a", {.add_special = true}), Tokens{0});
}

TEST(Tokenizer, EndOfGeneration) {
  TinyVocabulary vocabulary = tiny_bpe("qwen2");
  vocabulary.file.set_u32("tokenizer.ggml.eos_token_id", 'z');
  vocabulary.add("<|fim_pad|>", 4);
  vocabulary.add("<|fim_prefix|>", 4);
  Loaded loaded(vocabulary);
  ASSERT_TRUE(loaded.tokenizer) << loaded.error();
  const auto id = [&](std::string_view text) { return *loaded->find(text); };
  EXPECT_EQ(loaded->end_of_generation(),
            (Tokens{'z', id("<|endoftext|>"), id("<|im_end|>"), id("<|fim_pad|>")}));
  EXPECT_TRUE(loaded->is_end_of_generation('z'));
  EXPECT_FALSE(loaded->is_end_of_generation('y'));
  EXPECT_EQ(loaded->end_of_turn(), id("<|im_end|>"));
  // What ends generation is made a control token, whatever the file says; so are the fill-in-the-middle
  // tokens.
  EXPECT_EQ(loaded->kind(id("<|fim_pad|>")), TokenKind::control);
  EXPECT_EQ(loaded->kind(id("<|fim_prefix|>")), TokenKind::control);
  EXPECT_EQ(loaded->kind('z'), TokenKind::normal);

  // With these <|end|> ends a message only.
  for (const char* text : {"<|return|>", "<|call|>", "<|end|>"}) vocabulary.add(text, 3);
  Loaded harmony(vocabulary);
  EXPECT_TRUE(harmony->is_end_of_generation(*harmony->find("<|return|>")));
  EXPECT_FALSE(harmony->is_end_of_generation(*harmony->find("<|end|>")));

  TinyVocabulary gemma = tiny_bpe("qwen2");
  gemma.add("</s>");
  EXPECT_TRUE(Loaded(gemma)->is_end_of_generation(*Loaded(gemma)->find("</s>")));
  gemma.add("<|tool_response>");
  EXPECT_FALSE(Loaded(gemma)->is_end_of_generation(*Loaded(gemma)->find("</s>")));
}

TEST(Tokenizer, ErrorsNameTheKey) {
  const auto changed = [](auto change, TinyVocabulary vocabulary = tiny_bpe("qwen2")) {
    change(vocabulary);
    return vocabulary;
  };
  expect_error(changed([](auto& v) { v.file.erase("tokenizer.ggml.model"); }),
               {"vocabulary.gguf", "tokenizer.ggml.model"});
  expect_error(changed([](auto& v) { v.file.set_string("tokenizer.ggml.model", "bert"); }),
               {"tokenizer.ggml.model", "\"bert\"", "gpt2", "llama"});
  expect_error(changed([](auto& v) { v.file.set_string("tokenizer.ggml.pre", "nope"); }),
               {"tokenizer.ggml.pre", "\"nope\"", "qwen2", "llama-bpe"});
  expect_error(changed([](auto& v) { v.merges.clear(); }), {"tokenizer.ggml.merges", "missing"});
  expect_error(changed([](auto& v) { v.tokens.clear(); }), {"tokenizer.ggml.tokens", "0 tokens"});
  expect_error(changed([](auto& v) { v.tokens[70] = v.tokens[68]; }),
               {"tokenizer.ggml.tokens", "68", "70", "\"D\""});
  expect_error(changed([](auto& v) { v.tokens[70] = v.tokens[68] = "\n" + std::string(100, 'x'); }),
               {"\"\\x0axx", "...\""});
  expect_error(changed([](auto& v) { v.kinds.pop_back(); }), {"tokenizer.ggml.token_type", "272", "273"});
  expect_error(changed([](auto& v) { v.scores.pop_back(); }, tiny_sentencepiece()),
               {"tokenizer.ggml.scores", "272", "273"});
  expect_error(changed([](auto& v) { v.scores[7] = NAN; }, tiny_sentencepiece()),
               {"tokenizer.ggml.scores", "entry 7"});
  expect_error(changed([](auto& v) { v.scores.clear(); }, tiny_sentencepiece()),
               {"tokenizer.ggml.scores", "missing"});

  // Arrays of the wrong type or none at all.
  test::GgufBytes file = tiny_bpe("qwen2").file;
  EXPECT_NE(Loaded(file.bytes()).error().find("tokenizer.ggml.tokens"), std::string::npos);
  file.set_i32s("tokenizer.ggml.tokens", std::vector<int32_t>{1, 2});
  EXPECT_NE(Loaded(file.bytes()).error().find("tokenizer.ggml.tokens"), std::string::npos);
}

TEST(Tokenizer, WithoutAPreTokenizerTheDefaultRulesApply) {
  Loaded loaded(tiny_bpe(""));
  ASSERT_TRUE(loaded.tokenizer) << loaded.error();
  EXPECT_EQ(loaded->pre(), "default");
  EXPECT_EQ(loaded->encode("12"), Tokens{265});
}

TEST(Tokenizer, KindsThatAreUnknownAreUndefined) {
  TinyVocabulary vocabulary = tiny_bpe("qwen2");
  vocabulary.kinds['a'] = 77;
  vocabulary.kinds['b'] = -5;
  Loaded loaded(vocabulary);
  EXPECT_EQ(loaded->kind('a'), TokenKind::undefined);
  EXPECT_EQ(loaded->kind('b'), TokenKind::undefined);
  EXPECT_EQ(loaded->piece('a'), "");
}

}  // namespace
}  // namespace parlance
