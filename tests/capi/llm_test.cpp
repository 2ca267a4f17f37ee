// Answers of the language model through the C library.
#include <atomic>
#include <cmath>
#include <fstream>
#include <thread>

#include "assistant/regions.h"
#include "assistant/text_stream.h"
#include "capi/support/client.h"
#include "support/temporary_folder.h"

namespace parlance::test {
namespace {

struct Said {
  std::vector<int> tokens;
  std::string text;
  int n_drafted = 0, n_accepted = 0;
  int status = 0;
};

struct Event {
  std::vector<int> accepted, corrected;
  int from, to;
  bool operator==(const Event&) const = default;
};

void take_event(const EliVerifierEvent* event, void* user_data) {
  static_cast<std::vector<Event>*>(user_data)->push_back(
      {{event->accepted_token_ids, event->accepted_token_ids + event->n_accepted},
       {event->corrected_token_ids, event->corrected_token_ids + event->n_corrected},
       event->rejected_from,
       event->rejected_to});
}

class CapiLlm : public testing::Test {
 protected:
  static void SetUpTestSuite() { owned_ = demo_context({"text"}); }
  static void TearDownTestSuite() { owned_.reset(); }
  static EliInferenceContext* ctx() { return owned_.get(); }

  static EliLlmStreamConfig greedy() {
    EliLlmStreamConfig config = {};
    config.max_tokens = 40;
    config.n_gpu_layers = -1;
    config.slot_id = -1;
    return config;
  }

  struct Close {
    void operator()(EliLlmStream* stream) const { eliza_inference_llm_stream_close(stream); }
  };
  using Stream = std::unique_ptr<EliLlmStream, Close>;
  Stream open(const EliLlmStreamConfig& config = greedy()) {
    Stream stream(eliza_inference_llm_stream_open(ctx(), &config, error_));
    EXPECT_TRUE(stream) << error_.text();
    return stream;
  }
  void prefill(const Stream& stream, const std::vector<int>& tokens) {
    EXPECT_EQ(eliza_inference_llm_stream_prefill(stream.get(), tokens.data(), tokens.size(), error_),
              ELIZA_OK)
        << error_.text();
  }
  Said rest_of(const Stream& stream, size_t capacity = 32, size_t text_capacity = 1024) {
    Said said;
    std::vector<int> tokens(capacity);
    std::vector<char> text(text_capacity);
    while (said.status == 0) {
      size_t n = 99;
      int drafted = -1, accepted = -1;
      said.status = eliza_inference_llm_stream_next(stream.get(), tokens.data(), capacity, &n, text.data(),
                                                    text_capacity, &drafted, &accepted, error_);
      EXPECT_LE(n, capacity);
      said.tokens.insert(said.tokens.end(), tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(n));
      said.text += text.data();
      said.n_drafted += drafted;
      said.n_accepted += accepted;
    }
    return said;
  }
  std::vector<int> question(const std::string& text = kQuestion) { return tokens_of(ctx(), prompt_of(text)); }

  ErrorText error_;

 private:
  inline static OwnedContext owned_;
};

TEST_F(CapiLlm, SaysWhatTheEngineSays) {
  EXPECT_EQ(eliza_inference_llm_stream_supported(), 1);
  EXPECT_EQ(eliza_inference_llm_mtp_supported(), 1);
  EXPECT_EQ(eliza_inference_llm_kv_quant_supported(), 1);
  Choice choice;
  choice.files.folder = demo_bundle();
  Regions regions(choice);
  const auto own = *TextStream::open(*regions.text.acquire());
  GenerateOptions options;
  options.sampling.temperature = 0;
  options.max_tokens = 40;
  const std::vector<int> prompt = question();
  ASSERT_TRUE(own->answer(prompt, options));
  while (own->next()) continue;
  const auto expected = own->result();
  ASSERT_FALSE(expected->text.empty());

  std::vector<Event> events;
  int n_accepted_in_all = 0;
  ASSERT_EQ(eliza_inference_set_verifier_callback(ctx(), take_event, &events, error_), ELIZA_OK);
  for (const size_t capacity : {size_t{1}, size_t{3}, size_t{32}}) {
    for (const size_t text_capacity : {size_t{5}, size_t{1024}}) {
      events.clear();
      const Stream stream = open();
      prefill(stream, prompt);
      const Said said = rest_of(stream, capacity, text_capacity);
      EXPECT_EQ(said.status, 1);
      EXPECT_EQ(said.tokens, expected->tokens);
      EXPECT_EQ(said.text, expected->text);
      EXPECT_EQ(rest_of(stream).tokens.size(), 0u) << "it has ended";
      n_accepted_in_all += said.n_accepted;
      EXPECT_LE(said.n_accepted, said.n_drafted);
      int n_accepted = 0, n_drafted = 0;
      for (const Event& event : events) {
        n_accepted += static_cast<int>(event.accepted.size());
        n_drafted += static_cast<int>(event.accepted.size()) + event.to - event.from;
        EXPECT_LE(event.corrected.size(), 1u);
        EXPECT_EQ(event.from < 0, event.to < 0);
      }
      EXPECT_EQ(said.n_accepted, n_accepted);
      EXPECT_EQ(said.n_drafted, n_drafted);
    }
  }
  // The bundle has a drafter. Whether it pays is measured, and on a busy machine that may take a while.
  for (int again = 0; again < 500 && n_accepted_in_all == 0; ++again) {
    const Stream stream = open();
    prefill(stream, prompt);
    n_accepted_in_all += rest_of(stream).n_accepted;
  }
  EXPECT_GT(n_accepted_in_all, 0);
  events.clear();
  ASSERT_EQ(eliza_inference_set_verifier_callback(ctx(), nullptr, nullptr, error_), ELIZA_OK);
  const Stream stream = open();
  prefill(stream, prompt);
  rest_of(stream);
  EXPECT_TRUE(events.empty());
}

// What is put in piece by piece is one prompt; what begins like it is the whole prompt.
TEST_F(CapiLlm, PromptsComeInPiecesOrWhole) {
  const std::vector<int> prompt = question("What is the capital of Spain?");
  const Stream whole = open();
  prefill(whole, prompt);
  const Said expected = rest_of(whole);
  for (size_t cut = 1; cut < prompt.size(); cut += 3) {
    const Stream stream = open();
    prefill(stream, {prompt.begin(), prompt.begin() + static_cast<ptrdiff_t>(cut)});
    prefill(stream, {prompt.begin() + static_cast<ptrdiff_t>(cut), prompt.end()});
    EXPECT_EQ(rest_of(stream).tokens, expected.tokens) << cut;
  }
  const Stream one_by_one = open();  // some of which are the first one again
  for (const int token : prompt) prefill(one_by_one, {token});
  EXPECT_EQ(rest_of(one_by_one).tokens, expected.tokens);
  // A second turn, as the whole conversation and as what is new of it.
  std::vector<int> conversation = prompt;
  conversation.insert(conversation.end(), expected.tokens.begin(), expected.tokens.end());
  const std::vector<int> further = tokens_of(ctx(), "<|im_end|>\n" + prompt_of("And of Italy?"));
  std::vector<int> all = conversation;
  all.insert(all.end(), further.begin(), further.end());
  const Stream second = open();
  prefill(second, all);
  const Said answer = rest_of(second);
  prefill(whole, all);
  EXPECT_EQ(rest_of(whole).tokens, answer.tokens);
}

TEST_F(CapiLlm, SlotsGoOnFromFiles) {
  const TemporaryFolder folder;
  const std::string file = (folder / "slot.bin").string();
  const std::vector<int> prompt = question();
  const Stream stream = open();
  prefill(stream, prompt);
  ASSERT_EQ(eliza_inference_llm_stream_save_slot(stream.get(), file.c_str(), error_), ELIZA_OK)
      << error_.text();
  {
    const Stream at_once = open(), asked = open();
    ASSERT_EQ(eliza_inference_llm_stream_restore_slot(at_once.get(), file.c_str(), error_), ELIZA_OK);
    prefill(asked, prompt);
    EXPECT_EQ(rest_of(at_once).tokens, rest_of(asked).tokens);
  }
  const std::vector<int> more = tokens_of(ctx(), "The");
  prefill(stream, more);
  const Said expected = rest_of(stream);

  for (const bool is_whole : {false, true}) {
    const Stream other = open();
    ASSERT_EQ(eliza_inference_llm_stream_restore_slot(other.get(), file.c_str(), error_), ELIZA_OK)
        << error_.text();
    std::vector<int> tokens = is_whole ? prompt : std::vector<int>();
    tokens.insert(tokens.end(), more.begin(), more.end());
    prefill(other, tokens);
    EXPECT_EQ(rest_of(other).tokens, expected.tokens);
  }

  const Stream other = open();
  const auto restore = [&](const char* name) {
    return eliza_inference_llm_stream_restore_slot(other.get(), name, error_);
  };
  EXPECT_EQ(restore((folder / "none").c_str()), ELIZA_ERR_INVALID_ARG);
  EXPECT_EQ(restore(nullptr), ELIZA_ERR_INVALID_ARG);
  EXPECT_EQ(restore(""), ELIZA_ERR_INVALID_ARG);
  EXPECT_EQ(eliza_inference_llm_stream_save_slot(other.get(), "/no/such/folder/slot", error_),
            ELIZA_ERR_FFI_FAULT)
      << error_.text();
  std::string bytes = read_text(file);
  bytes[8] ^= 1;  // the version, behind the word that the file begins with
  std::ofstream(folder / "newer", std::ios::binary) << bytes;
  EXPECT_EQ(restore((folder / "newer").c_str()), ELIZA_ERR_ABI_MISMATCH) << error_.text();
  bytes[8] ^= 1;
  bytes[bytes.size() / 2] ^= 1;
  std::ofstream(folder / "damaged", std::ios::binary) << bytes;
  EXPECT_EQ(restore((folder / "damaged").c_str()), ELIZA_ERR_INVALID_ARG) << error_.text();
}

TEST_F(CapiLlm, IsCancelledUntilSomethingIsPutIn) {
  EliLlmStreamConfig endless = greedy();
  endless.max_tokens = 0;
  const Stream stream = open(endless);
  prefill(stream, question());
  EXPECT_EQ(eliza_inference_llm_stream_cancel(stream.get()), ELIZA_OK);
  EXPECT_EQ(rest_of(stream).status, ELIZA_ERR_CANCELLED);
  prefill(stream, question("And of Spain?"));
  int token;
  size_t n;
  char text[16];
  EXPECT_EQ(eliza_inference_llm_stream_next(stream.get(), &token, 1, &n, text, sizeof text, nullptr, nullptr,
                                            error_),
            0);
  EXPECT_EQ(n, 1u);
  std::thread([&] { EXPECT_EQ(eliza_inference_llm_stream_cancel(stream.get()), ELIZA_OK); }).join();
  EXPECT_EQ(rest_of(stream).status, ELIZA_ERR_CANCELLED);
  EXPECT_EQ(rest_of(stream).status, ELIZA_ERR_CANCELLED);
  // An answer that nobody took all of ends with the next prompt.
  prefill(stream, question());
  EXPECT_EQ(eliza_inference_llm_stream_next(stream.get(), &token, 1, &n, text, sizeof text, nullptr, nullptr,
                                            error_),
            0);
  prefill(stream, question("What is the capital of Spain?"));
  EXPECT_EQ(rest_of(stream).status, 1);
}

TEST_F(CapiLlm, OptionsAreHonouredOrRefused) {
  const std::vector<int> prompt = question();
  const auto said_with = [&](auto change) {
    EliLlmStreamConfig config = greedy();
    change(config);
    const Stream stream = open(config);
    prefill(stream, prompt);
    return rest_of(stream);
  };
  const Said usual = said_with([](auto&) {});
  EXPECT_EQ(said_with([](auto& c) { c.max_tokens = 3; }).tokens.size(), 3u);
  EXPECT_EQ(said_with([](auto& c) { c.draft_max = -1; }).n_drafted, 0);
  EXPECT_EQ(said_with([](auto& c) { c.draft_max = -1; }).tokens, usual.tokens);
  EXPECT_LE(said_with([](auto& c) { c.draft_max = 2; }).n_drafted, 2 * static_cast<int>(usual.tokens.size()));
  EXPECT_EQ(said_with([](auto& c) {
              c.prompt_cache_key = "room 1";
              c.slot_id = 7;
            }).tokens,
            usual.tokens);
  EXPECT_FALSE(said_with([](auto& c) {
                 c.cache_type_k = "tbq4_0";
                 c.cache_type_v = "q8_0";
               }).tokens.empty());
  const std::string drafter = demo_bundle() + "/dflash/parlance-demo-drafter-q8_0.gguf";
  EXPECT_EQ(said_with([&](auto& c) { c.drafter_path = drafter.c_str(); }).tokens, usual.tokens);
  EXPECT_EQ(said_with([](auto& c) {
              c.disable_thinking = 1;
              c.n_gpu_layers = 0;
            }).tokens,
            usual.tokens);

  // A grammar holds, with drafts and without.
  for (const int draft_max : {0, -1}) {
    const Said said = said_with([&](auto& c) {
      c.gbnf_grammar = "root ::= \"Rome\" | \"Oslo, \" [0-9]";
      c.draft_max = draft_max;
    });
    EXPECT_EQ(said.status, 1);
    EXPECT_TRUE(said.text == "Rome" || said.text.starts_with("Oslo, ")) << said.text;
  }

  const auto refused = [&](auto change) {
    EliLlmStreamConfig config = greedy();
    change(config);
    EXPECT_EQ(eliza_inference_llm_stream_open(ctx(), &config, error_), nullptr);
    EXPECT_FALSE(error_.is_null());
    return error_.text();
  };
  EXPECT_NE(refused([](auto& c) { c.temperature = -1; }).find("temperature"), std::string::npos);
  refused([](auto& c) { c.temperature = NAN; });
  refused([](auto& c) { c.top_p = 2; });
  refused([](auto& c) { c.repeat_penalty = -1; });
  refused([](auto& c) { c.draft_max = 1000; });
  EXPECT_NE(refused([](auto& c) { c.cache_type_k = "q9"; }).find("cache_type_k: 'q9'"), std::string::npos)
      << error_.text();
  refused([](auto& c) { c.gbnf_grammar = "root ::= \"a"; });
  refused([](auto& c) { c.gbnf_grammar = "\xff"; });
  refused([](auto& c) { c.drafter_path = "/no/such.gguf"; });
  EXPECT_EQ(eliza_inference_llm_stream_open(ctx(), nullptr, error_), nullptr);
}

TEST_F(CapiLlm, RefusesPromptsThatCannotBe) {
  const Stream stream = open();
  int tokens[4] = {1, 2, 3, 4};
  size_t n;
  char text[16];
  EXPECT_EQ(eliza_inference_llm_stream_next(stream.get(), tokens, 4, &n, text, sizeof text, nullptr, nullptr,
                                            error_),
            ELIZA_ERR_INVALID_ARG)
      << "nothing was put in";
  EXPECT_EQ(eliza_inference_llm_stream_prefill(stream.get(), tokens, 0, error_), ELIZA_ERR_INVALID_ARG);
  EXPECT_EQ(eliza_inference_llm_stream_prefill(stream.get(), nullptr, 4, error_), ELIZA_ERR_INVALID_ARG);
  EXPECT_EQ(eliza_inference_llm_stream_prefill(stream.get(), tokens, SIZE_MAX, error_),
            ELIZA_ERR_INVALID_ARG);
  for (const int bad : {-1, -20, 1 << 30}) {
    tokens[2] = bad;
    EXPECT_EQ(eliza_inference_llm_stream_prefill(stream.get(), tokens, 4, error_), ELIZA_ERR_INVALID_ARG)
        << bad;
  }
  const std::vector<int> too_long(5000, 1);
  EXPECT_EQ(eliza_inference_llm_stream_prefill(stream.get(), too_long.data(), too_long.size(), error_),
            ELIZA_ERR_INVALID_ARG);
  EXPECT_NE(error_.text().find("4096"), std::string::npos) << error_.text();
  prefill(stream, question());
  EXPECT_EQ(rest_of(stream).status, 1) << "it is as good as before";
}

// Memory for as many as the region has sequences; who comes then is told so.
TEST_F(CapiLlm, AsManyAsThereIsRoomFor) {
  std::vector<Stream> streams;
  const EliLlmStreamConfig config = greedy();
  while (EliLlmStream* stream = eliza_inference_llm_stream_open(ctx(), &config, error_)) {
    streams.emplace_back(stream);
    ASSERT_LT(streams.size(), 100u);
  }
  EXPECT_GE(streams.size(), 4u);
  const int token = 1;
  EXPECT_EQ(eliza_inference_llm_eot_score(ctx(), &token, 1, 1, nullptr, nullptr, nullptr, error_),
            ELIZA_ERR_OOM)
      << error_.text();
  streams.pop_back();
  EXPECT_EQ(eliza_inference_llm_eot_score(ctx(), &token, 1, 1, nullptr, nullptr, nullptr, error_), ELIZA_OK);
}

TEST_F(CapiLlm, ScoresTheEndOfATurn) {
  EXPECT_EQ(eliza_inference_llm_eot_supported(), 1);
  std::vector<int> tokens = question();
  const Stream stream = open();
  prefill(stream, tokens);
  const Said answer = rest_of(stream);
  float p_target = -1, p_top = -1;
  int top = -1;
  ASSERT_EQ(eliza_inference_llm_eot_score(ctx(), tokens.data(), tokens.size(), answer.tokens[0], &p_target,
                                          &top, &p_top, error_),
            ELIZA_OK)
      << error_.text();
  EXPECT_EQ(top, answer.tokens[0]) << "what the model says next";
  EXPECT_EQ(p_target, p_top);
  EXPECT_GT(p_top, 0.2f);
  EXPECT_LE(p_top, 1.0f);
  ASSERT_EQ(eliza_inference_llm_eot_score(ctx(), tokens.data(), tokens.size(), answer.tokens[0] + 1,
                                          &p_target, nullptr, nullptr, error_),
            ELIZA_OK);
  EXPECT_LT(p_target, 1 - p_top + 1e-6f);
  EXPECT_EQ(
      eliza_inference_llm_eot_score(ctx(), tokens.data(), tokens.size(), -1, &p_target, &top, &p_top, error_),
      ELIZA_ERR_INVALID_ARG);
  EXPECT_EQ(eliza_inference_llm_eot_score(ctx(), tokens.data(), 0, 1, &p_target, &top, &p_top, error_),
            ELIZA_ERR_INVALID_ARG);
}

TEST_F(CapiLlm, TextBecomesTokensAndText) {
  EXPECT_EQ(eliza_inference_tokenize_supported(), 1);
  const std::string text = prompt_of("Zürich, naïve: 東京 😀");
  const std::vector<int> tokens = tokens_of(ctx(), text);
  std::vector<char> back(256);
  EXPECT_EQ(
      eliza_inference_detokenize(ctx(), tokens.data(), tokens.size(), 0, 1, back.data(), back.size(), error_),
      static_cast<int>(text.size()))
      << error_.text();
  EXPECT_EQ(back.data(), text);
  EXPECT_EQ(
      eliza_inference_detokenize(ctx(), tokens.data(), tokens.size(), 0, 0, back.data(), back.size(), error_),
      static_cast<int>(strlen("user\nZürich, naïve: 東京 😀\nassistant\n")));
  EXPECT_EQ(
      eliza_inference_detokenize(ctx(), tokens.data(), tokens.size(), 0, 1, back.data(), text.size(), error_),
      ELIZA_ERR_INVALID_ARG);
  EXPECT_NE(error_.text().find("required bytes=" + std::to_string(text.size() + 1)), std::string::npos)
      << error_.text();
  EXPECT_EQ(eliza_inference_detokenize(ctx(), tokens.data(), 0, 0, 1, back.data(), 1, error_), 0);
  const int bad = 1 << 30;
  EXPECT_EQ(eliza_inference_detokenize(ctx(), &bad, 1, 0, 1, back.data(), back.size(), error_),
            ELIZA_ERR_INVALID_ARG);
  int* none = nullptr;
  size_t n = 9;
  EXPECT_EQ(eliza_inference_tokenize(ctx(), nullptr, 0, 0, 0, &none, &n, error_), ELIZA_OK);
  EXPECT_EQ(n, 0u);
  eliza_inference_free_tokens(none);
}

TEST_F(CapiLlm, EmbedsTexts) {
  EXPECT_EQ(eliza_inference_embed_supported(), 1);
  const auto embedded = [&](const std::string& text, int pooling) {
    std::vector<float> values(4096);
    int dim = -1;
    EXPECT_EQ(eliza_inference_embed(ctx(), text.data(), text.size(), pooling, values.data(), values.size(),
                                    &dim, error_),
              ELIZA_OK)
        << error_.text();
    values.resize(static_cast<size_t>(dim));
    double square = 0;
    for (const float value : values) square += value * value;
    EXPECT_NEAR(square, 1, 1e-4);
    return values;
  };
  EXPECT_EQ(embedded(kQuestion, -1), embedded(kQuestion, 3)) << "the file names no way of pooling";
  EXPECT_NE(embedded(kQuestion, 1), embedded(kQuestion, 3));
  EXPECT_EQ(embedded("The", 1), embedded("The", 2)) << "of one token, all are the same";
  std::string text;  // of more tokens than the region yields rows at once
  for (int i = 0; i < 60; ++i) text += kQuestion;
  embedded(text, 1);
  float few[4];
  int dim = -1;
  EXPECT_EQ(eliza_inference_embed(ctx(), "a", 1, 1, few, 4, &dim, error_), ELIZA_ERR_INVALID_ARG);
  EXPECT_EQ(dim, 512);
  for (const int pooling : {0, 4, -2}) {
    EXPECT_EQ(eliza_inference_embed(ctx(), "a", 1, pooling, few, 4, &dim, error_), ELIZA_ERR_INVALID_ARG);
  }
}

}  // namespace
}  // namespace parlance::test
