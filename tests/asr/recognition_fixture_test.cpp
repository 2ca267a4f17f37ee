// Prompts, logits and greedy answers against what llama.cpp's fork and transformers computed.
#include "asr/recognizer.h"
#include "asr/support/fixture_clips.h"
#include "support/json_file.h"
#include "support/tested_device.h"

namespace parlance::test {
namespace {

constexpr int64_t kSteps = 24;  // tokens that the references wrote, at most

class RecognitionFixture : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_FIXTURES("asr/manifest.json");
    manifest_ = asr_manifest();
    device_ = std::move(*make_tested_device({.n_threads = 2, .isa = name_of(GetParam())}));
  }

  std::unique_ptr<AsrModel> load(const std::string& name, WeightPrecision precision) {
    return load_asr(name, *device_, {.huge_pages = false, .precision = precision});
  }

  // Logits [steps][n_vocab] behind a clip's prompt, with the tokens of the reference fed one by one.
  std::vector<std::vector<float>> forced_logits(const AsrModel& model, const AsrMode& mode, KvFormat cache,
                                                const AsrPrompt& prompt, const std::vector<float>& samples,
                                                const std::vector<Token>& tokens) {
    SessionOptions options{.n_ctx = 1024};
    options.cache.k = options.cache.v = KvCoding{.format = cache};
    options.takes_embeddings = true;
    options.sectioned_positions = mode.sectioned_positions;
    const auto session = *Session::create(model.text(), options);
    const auto encoder = *SpeechEncoder::create(model.encoder(), *device_, mode);
    AudioRows rows(*encoder, mode);
    rows.push(samples);
    EXPECT_TRUE(rows.refresh(RowsKind::exact));

    std::vector<std::vector<float>> logits;
    const auto add = [&](std::span<const Token> more) {
      const auto row = session->append(more);
      EXPECT_TRUE(row) << row.error().message;
      logits.emplace_back(row->begin(), row->end());
    };
    EXPECT_TRUE(session->set_prompt(prompt.head));
    for (const AudioWindow& window : rows.windows()) {
      const std::vector<Token> places(static_cast<size_t>(rows.n_tokens(window)), kEmbedded);
      EXPECT_TRUE(session->append(places, 1, {.rows = window.rows}));
    }
    add(prompt.tail);
    for (size_t i = 0; i + 1 < tokens.size(); ++i) add({&tokens[i], 1});
    return logits;
  }

  nlohmann::json manifest_;
  std::unique_ptr<Device> device_;
};

// The largest difference; for a token by token comparison the tokens that won.
double largest_difference(const std::vector<std::vector<float>>& got, const NpyArray& want) {
  EXPECT_EQ(want.shape.size(), 2u);
  if (want.shape.size() != 2) return INFINITY;
  EXPECT_EQ(std::ssize(got), want.shape[0]);
  double largest = 0;
  const auto n = static_cast<size_t>(want.shape[1]);
  for (size_t step = 0; step < std::min(got.size(), static_cast<size_t>(want.shape[0])); ++step) {
    for (size_t i = 0; i < n; ++i)
      largest = std::max(largest, std::fabs(static_cast<double>(got[step][i]) - want.values[step * n + i]));
  }
  return largest;
}

// The tokens of an answer as the references list them: with the one that ends it.
void expect_answer(const AsrSegment& got, const nlohmann::json& expected) {
  auto tokens = expected.get<std::vector<Token>>();
  if (got.is_complete) tokens.pop_back();
  EXPECT_EQ(got.tokens, tokens);
  EXPECT_TRUE(got.is_complete || std::ssize(tokens) == kSteps);
}

TEST_P(RecognitionFixture, PromptsHaveTheTokensOfTheReference) {
  if (IsSkipped()) return;
  const auto model = load(asr_bundles().front(), WeightPrecision::as_stored);  // all have one vocabulary
  for (const auto& [name, waves] : manifest_.at("fork").items()) {
    for (const auto& [wave, runs] : waves.items()) {
      for (const auto& [run, expected] : runs.items()) {
        if (!expected.is_object()) continue;
        const std::string context =
            run.find("ctx") == std::string::npos ? "" : manifest_.at("prompt").at("ctx_system_text");
        const auto prompt =
            make_asr_prompt(model->text().tokenizer(), context, run.starts_with("auto") ? "" : "english");
        ASSERT_TRUE(prompt) << prompt.error().message;
        EXPECT_EQ(prompt->head, expected.at("text_tokens").front().get<std::vector<Token>>())
            << wave << " " << run;
        EXPECT_EQ(prompt->tail, expected.at("text_tokens").back().get<std::vector<Token>>())
            << wave << " " << run;
      }
    }
  }
}

TEST_P(RecognitionFixture, LogitsOfTheElizaProgram) {
  if (IsSkipped()) return;
  for (const auto& [name, waves] : manifest_.at("fork").items()) {
    const auto model = load(name, WeightPrecision::as_stored);
    const bool is_rounded = is_quantised(model->text().file());
    for (const auto& [wave, runs] : waves.items()) {
      for (const auto& [run, expected] : runs.items()) {
        const auto file = fixtures_root() / "asr/fork" / name / (wave + "." + run + ".logits.npy");
        if (!std::filesystem::exists(file)) continue;
        SCOPED_TRACE(name + " " + wave + " " + run);
        const bool is_f32 = run.ends_with("kvf32");
        const auto tokens = expected.at("tokens").get<std::vector<Token>>();
        const auto prompt = make_asr_prompt(model->text().tokenizer(), "", "English");
        const auto got = forced_logits(*model, kElizaAsr, is_f32 ? KvFormat::f32 : KvFormat::f16, *prompt,
                                       fixture_wave(manifest_, wave), tokens);
        const double tolerance = is_rounded ? 0.8 : run.ends_with("fa") ? 0.06 : is_f32 ? 1e-4 : 0.02;
        EXPECT_LE(largest_difference(got, read_npy(file)), tolerance);
        for (size_t step = 0; step < got.size(); ++step) {
          if (is_rounded && expected.at("top1_margin")[step].get<double>() <= 1.5) continue;
          EXPECT_EQ(std::max_element(got[step].begin(), got[step].end()) - got[step].begin(), tokens[step])
              << step;
        }
      }
    }
  }
}

TEST_P(RecognitionFixture, LogitsOfTheReference) {
  if (IsSkipped()) return;
  for (const auto& [name, waves] : manifest_.at("ref").items()) {
    const auto model = load(name, WeightPrecision::f32);
    for (const auto& [wave, expected] : waves.items()) {
      const auto file = fixtures_root() / "asr/ref" / name / (wave + ".forced.logits.npy");
      if (!std::filesystem::exists(file)) continue;
      SCOPED_TRACE(name + " " + wave);
      const auto prompt = make_asr_prompt(model->text().tokenizer(), "", "English");
      const auto got = forced_logits(*model, kReferenceAsr, KvFormat::f32, *prompt,
                                     fixture_wave(manifest_, wave), expected.at("forced_tokens"));
      EXPECT_LE(largest_difference(got, read_npy(file)), 2e-4);
    }
  }
}

TEST_P(RecognitionFixture, AnswersOfTheReference) {
  if (IsSkipped()) return;
  for (const auto& [name, waves] : manifest_.at("ref").items()) {
    const auto model = load(name, WeightPrecision::f32);
    RecognizerOptions options;
    options.max_tokens = kSteps;
    options.cache.k = options.cache.v = KvCoding{.format = KvFormat::f32};
    const auto recognizer = Recognizer::create(*model, options);
    ASSERT_TRUE(recognizer) << recognizer.error().message;
    for (const auto& [wave, expected] : waves.items()) {
      SCOPED_TRACE(name + " " + wave);
      const auto samples = fixture_wave(manifest_, wave);
      for (const std::string language : {"English", ""}) {
        const auto heard = (*recognizer)->transcribe(samples, {"", language});
        ASSERT_TRUE(heard) << heard.error().message;
        ASSERT_EQ(heard->segments.size(), 1u);
        expect_answer(heard->segments[0], expected.at(language.empty() ? "auto_tokens" : "forced_tokens"));
      }
    }
  }
}

// Rounded weights decide otherwise where the two best tokens are close: only what comes before is compared.
TEST_P(RecognitionFixture, AnswersOfTheElizaProgram) {
  if (IsSkipped()) return;
  constexpr double kCloseMargin = 1.5;
  for (const auto& [name, waves] : manifest_.at("fork").items()) {
    const auto model = load(name, WeightPrecision::as_stored);
    const bool is_rounded = is_quantised(model->text().file());
    RecognizerOptions options;
    options.mode = kElizaAsr;
    options.max_tokens = kSteps;
    options.cache.k = options.cache.v = KvCoding{.format = KvFormat::f16};
    const auto recognizer = Recognizer::create(*model, options);
    ASSERT_TRUE(recognizer) << recognizer.error().message;
    for (const auto& [wave, runs] : waves.items()) {
      const auto samples = fixture_wave(manifest_, wave);
      for (const auto& [run, expected] : runs.items()) {
        if (run != "auto" && run != "forced" && run != "forced.ctx") continue;
        SCOPED_TRACE(name + " " + wave + " " + run);
        AsrRequest request{"", run == "auto" ? "" : "English"};
        if (run == "forced.ctx") request.context = manifest_.at("prompt").at("ctx_system_text");
        const auto heard = (*recognizer)->transcribe(samples, request);
        ASSERT_TRUE(heard) << heard.error().message;
        ASSERT_EQ(heard->segments.size(), 1u);
        if (!is_rounded) {
          expect_answer(heard->segments[0], expected.at("tokens"));
          EXPECT_EQ(heard->segments[0].is_complete, expected.at("eog").get<bool>());
          continue;
        }
        const auto tokens = expected.at("tokens").get<std::vector<Token>>();
        const auto& got = heard->segments[0].tokens;
        for (size_t i = 0; i < tokens.size(); ++i) {
          if (expected.at("top1_margin").at(i).get<double>() <= kCloseMargin || i >= got.size()) break;
          EXPECT_EQ(got[i], tokens[i]) << i;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, RecognitionFixture, ::testing::ValuesIn(available_isas()),
                         [](const auto& param) { return std::string(name_of(param.param)); });

}  // namespace
}  // namespace parlance::test
