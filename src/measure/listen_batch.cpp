#include "measure/listen_batch.h"

#include <algorithm>
#include <ctime>
#include <map>

#include "asr/audio_rows.h"
#include "asr/speech_decoder.h"
#include "base/checked.h"
#include "measure/stopwatch.h"
#include "measure/text_steps.h"

namespace parlance {

namespace {

constexpr double kTokensPerSecond = 3;
constexpr Token kScriptTokens = 90;  // the first ones: in any vocabulary of this model, printable characters

// Seconds of each stage, one for each round.
using StageTimes = std::map<std::string, std::vector<double>, std::less<>>;

template <class Function>
double seconds_for(const Function& function) {
  const Clock::time_point start = Clock::now();
  function();
  return seconds_since(start);
}

// The encoder's stages one after the other, over the clip's chunks and windows.
Result<void> time_encoder(SpeechEncoder& encoder, const AsrMode& mode, std::span<const float> samples,
                          StageTimes& times) {
  std::vector<float> frames;
  times["mel"].push_back(seconds_for([&] {
    MelFrontEnd mel(mode.mel);
    mel.push(samples);
    MelClip clip = mel.finish();
    const auto known = mel.frames(0, clip.first);
    frames.assign(known.begin(), known.end());
    frames.insert(frames.end(), clip.tail.begin(), clip.tail.end());
    normalise_mel(frames, clip.largest);
  }));

  const auto chunk = static_cast<size_t>(mode.chunk_frames * kMelBands);
  std::vector<float> tokens, rows;
  const Clock::time_point start = Clock::now();
  for (size_t at = 0; at < frames.size(); at += chunk) {
    const auto piece = std::span(frames).subspan(at, std::min(chunk, frames.size() - at));
    PARLANCE_CHECK(encoder.embed_chunk(piece, mode.chunk_frames, tokens));
  }
  times["convolutions"].push_back(seconds_since(start));

  const Clock::time_point middle = Clock::now();
  const auto window = static_cast<size_t>(encoder.window_tokens() * encoder.n_embd());
  for (size_t at = 0; at < tokens.size(); at += window) {
    const auto piece = std::span(tokens).subspan(at, std::min(window, tokens.size() - at));
    PARLANCE_CHECK(encoder.encode_window(piece, rows));
  }
  times["layers"].push_back(seconds_since(middle));
  return {};
}

// The decoder with an answer that ends at once, which is all prefill, and with the whole one.
Result<void> time_decoder(SpeechDecoder& decoder, const AudioRows& rows, const std::vector<Token>& answer,
                          StageTimes& times) {
  const auto time = [&](const std::vector<Token>& script) -> Result<double> {
    decoder.clear();
    decoder.session().truncate(0);
    const DecodeLimits limits{.max_tokens = kMaxAnswerTokens,
                              .max_new_tokens = kMaxAnswerTokens,
                              .stops_circles = false,
                              .script = &script};
    const Clock::time_point start = Clock::now();
    PARLANCE_CHECK(decoder.decode(rows, limits, true));
    return seconds_since(start);
  };
  PARLANCE_TRY(const double prefill_s, time({}));
  PARLANCE_TRY(const double whole_s, time(answer));
  times["prefill"].push_back(prefill_s);
  times["decode"].push_back(whole_s - prefill_s);
  return {};
}

// What the encoder's matrices cost for a clip: convolutions by the places they yield, the others by tokens.
class EncoderCost {
 public:
  EncoderCost(const GgufFile& file, const AudioEncoderParameters& hp, const AsrMode& mode, int64_t n_frames)
      : hp_(hp), mode_(mode), n_chunks_(div_up(n_frames, mode.chunk_frames)), n_frames_(n_frames) {
    for (const GgufTensor& tensor : file.tensors()) add(tensor);
    const double n = n_tokens(), window = static_cast<double>(mode.window_chunks) * chunk_tokens();
    layers_.f32_ops += 4 * static_cast<double>(hp.n_layer * hp.n_embd) * n * std::min(n, window);
  }

  const StepCost& convolutions() const { return convolutions_; }
  const StepCost& layers() const { return layers_; }

 private:
  double chunk_tokens() const { return static_cast<double>(AudioEncoder::n_tokens(mode_.chunk_frames)); }
  double n_tokens() const {
    return static_cast<double>(n_frames_) / static_cast<double>(mode_.chunk_frames) * chunk_tokens();
  }

  void add(const GgufTensor& tensor) {
    if (!tensor.name.ends_with(".weight") || tensor.n_dims < 2 || tensor.name.starts_with("a.position"))
      return;
    const bool is_convolution = tensor.name.starts_with("a.conv");
    double n_columns = n_tokens();
    if (tensor.name.starts_with("a.conv2d.")) {
      const int halvings = tensor.name[9] - '0';
      n_columns = static_cast<double>(n_chunks_);
      int64_t n_time = mode_.chunk_frames;
      for (int i = 0; i < halvings; ++i) n_time = div_up<int64_t>(n_time, 2);
      n_columns *= static_cast<double>(n_time * (hp_.n_mel >> halvings));
    }
    StepCost& cost = is_convolution ? convolutions_ : layers_;
    cost += product_cost(tensor, n_columns);
    const int64_t n_readings = is_convolution ? 1 : div_up(n_chunks_, mode_.window_chunks);
    cost.bytes += static_cast<double>(tensor.bytes.size()) * static_cast<double>(n_readings);
  }

  const AudioEncoderParameters& hp_;
  const AsrMode& mode_;
  int64_t n_chunks_, n_frames_;
  StepCost convolutions_, layers_;
};

// The language model's part: the windows as they close, then what is open with the prompt's end, then tokens.
StepCost prefill_cost(const CostModel& model, const AudioRows& rows, const AsrPrompt& prompt,
                      int64_t& n_before) {
  StepCost cost = model.step(std::ssize(prompt.head), 0);
  n_before = std::ssize(prompt.head);
  int64_t n_last = std::ssize(prompt.tail);
  for (const AudioWindow& window : rows.windows()) {
    const int64_t n = rows.n_tokens(window);
    if (!window.is_closed) {
      n_last += n;
      continue;
    }
    cost += model.step(n, n_before);
    n_before += n;
  }
  cost += model.step(n_last, n_before);
  n_before += n_last;
  return cost;
}

}  // namespace

std::vector<Token> scripted_answer(double seconds) {
  std::vector<Token> tokens(static_cast<size_t>(seconds * kTokensPerSecond));
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<Token>(i) % kScriptTokens;
  return tokens;
}

Result<std::unique_ptr<Recognizer>> make_bench_recognizer(const AsrModel& model) {
  RecognizerOptions options;
  options.n_streams = 1;
  options.script = scripted_answer;
  return Recognizer::create(model, options);
}

Result<std::unique_ptr<Session>> make_speech_session(const AsrModel& model, const AsrMode& mode,
                                                     double seconds) {
  constexpr int64_t kPromptTokens = 128;
  const int64_t n_chunks = static_cast<int64_t>(seconds * kMelSampleRateHz) / kMelHop / mode.chunk_frames + 1;
  SessionOptions options;
  options.n_ctx = kPromptTokens + n_chunks * AudioEncoder::n_tokens(mode.chunk_frames) +
                  std::ssize(scripted_answer(seconds)) + static_cast<int64_t>(kDraftTokens);
  options.n_outputs = static_cast<int64_t>(kDraftTokens) + 1;
  options.takes_embeddings = true;
  options.sectioned_positions = mode.sectioned_positions;
  return Session::create(model.text(), options);
}

double ListenBatch::seconds_of(std::string_view stage) const {
  for (const ListenStage& one : stages) {
    if (one.name == stage) return one.seconds;
  }
  return 0;
}

Result<ListenBatch> run_listen_batch(const AsrModel& model, const AsrFiles& files,
                                     std::span<const float> samples, int n_repetitions) {
  const AsrMode mode = kReferenceAsr;
  const double seconds = static_cast<double>(samples.size()) / kMelSampleRateHz;
  const std::vector<Token> answer = scripted_answer(seconds);
  PARLANCE_TRY(const auto recognizer, make_bench_recognizer(model));
  PARLANCE_TRY(const auto encoder, SpeechEncoder::create(model.encoder(), model.device(), mode));
  AudioRows rows(*encoder, mode);
  rows.push(samples);
  PARLANCE_CHECK(rows.refresh(RowsKind::exact));
  ListenBatch batch;
  for (const AudioWindow& window : rows.windows()) batch.n_audio_tokens += rows.n_tokens(window);
  batch.n_answer_tokens = std::ssize(answer);
  PARLANCE_TRY(AsrPrompt prompt, make_asr_prompt(model.text().tokenizer(), "", kBenchLanguage));
  PARLANCE_TRY(auto session, make_speech_session(model, mode, seconds));
  SpeechDecoder decoder(std::move(session), std::move(prompt));

  StageTimes times;
  std::vector<double> total_s, processor_s;
  for (int i = 0; i <= n_repetitions; ++i) {
    if (i == 1) times.clear();  // the first round was to warm up
    PARLANCE_CHECK(time_encoder(*encoder, mode, samples, times));
    PARLANCE_CHECK(time_decoder(decoder, rows, answer, times));
    const std::clock_t before = std::clock();
    const Clock::time_point start = Clock::now();
    PARLANCE_CHECK(recognizer->transcribe(samples, {.context = {}, .language = std::string(kBenchLanguage)}));
    if (i == 0) continue;
    total_s.push_back(seconds_since(start));
    processor_s.push_back(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC);
  }
  batch.total_s = median(total_s);
  batch.processor_s = median(processor_s);

  PARLANCE_TRY(const GgufFile encoder_file, GgufFile::open(files.encoder));
  const EncoderCost encoder_cost(encoder_file, encoder->parameters(), mode, std::ssize(samples) / kMelHop);
  const CostModel text_cost(model.text(), decoder.session().kv_bytes_per_token(), 0);
  int64_t n_before = 0;
  const StepCost prefill = prefill_cost(text_cost, rows, decoder.prompt(), n_before);
  StepCost decode;
  for (int64_t i = 0; i < batch.n_answer_tokens; ++i) decode += text_cost.step(1, n_before + i);
  batch.stages = {{"mel", median(times["mel"]), {}},
                  {"convolutions", median(times["convolutions"]), encoder_cost.convolutions()},
                  {"layers", median(times["layers"]), encoder_cost.layers()},
                  {"prefill", median(times["prefill"]), prefill},
                  {"decode", median(times["decode"]), decode}};
  return batch;
}

}  // namespace parlance
