#include "measure/say_steps.h"

#include <algorithm>
#include <random>

#include "measure/stopwatch.h"
#include "measure/system_info.h"
#include "measure/text_steps.h"
#include "tts/maskgit.h"
#include "tts/speech_codec.h"

namespace parlance {

namespace {

// What this process holds now; 0: the system does not say.
size_t resident_bytes() {
  return reset_peak_memory() ? peak_memory_bytes() : 0;
}

// The memory that is taken from now on, at most.
class PeakMeter {
 public:
  size_t bytes() const {
    const size_t peak = peak_memory_bytes();
    return before_ > 0 && peak > before_ ? peak - before_ : 0;
  }

 private:
  size_t before_ = resident_bytes();
};

std::vector<int32_t> random_numbers(int64_t n, int64_t limit) {
  std::mt19937 random(1);
  std::vector<int32_t> numbers(static_cast<size_t>(n));
  for (int32_t& number : numbers) number = static_cast<int32_t>(random() % static_cast<uint32_t>(limit));
  return numbers;
}

// Matrices of the layers see all columns, the heads those of the target in both rows; within a row, every
// column looks at every other.
Result<StepCost> pass_cost(const TtsModel& model, const SayCase& chunk, GuidanceMask mask,
                           int64_t& n_columns) {
  const HyperParameters& hp = model.lm().parameters().text;
  PARLANCE_TRY(const GgufFile file, GgufFile::open(model.base_name()));
  const int64_t n_row = chunk.n_text + chunk.n_reference + chunk.n_frames;
  const int64_t n_second = mask == GuidanceMask::hard ? chunk.n_frames : n_row;
  n_columns = n_row + n_second;
  StepCost cost;
  for (const GgufTensor& tensor : file.tensors()) {
    const bool is_head = tensor.name == "audio_heads.weight";
    if (is_head) {  // which is f32 to the kernels unless it is stored as floats
      GgufTensor head = tensor;
      if (traits(head.dtype).block_elements > 1) head.dtype = DType::f32;
      cost += product_cost(head, static_cast<double>(2 * chunk.n_frames));
    } else if (tensor.name.starts_with("llm.layers.") && tensor.n_dims == 2) {
      cost += product_cost(tensor, static_cast<double>(n_columns));
    }
    if (is_head || tensor.name.starts_with("llm.layers."))
      cost.bytes += static_cast<double>(tensor.bytes.size());
  }
  const auto n_looks = static_cast<double>(n_row * n_row + n_second * n_second);
  cost.f32_ops += 2 * n_looks * static_cast<double>(hp.n_layer * hp.n_head * (hp.head_dim_k + hp.head_dim_v));
  return cost;
}

// Filters of the decoder run at the rate that the blocks before them have come to.
StepCost decode_cost(const TtsModel& model, int64_t n_frames) {
  constexpr std::string_view kBlock = "acoustic_decoder.block.";
  const std::vector<int64_t>& ratios = model.codec().parameters().upsampling;
  StepCost cost;
  for (const GgufTensor& tensor : model.codec_file().tensors()) {
    const std::string_view name = tensor.name;
    if (!name.ends_with(".weight")) continue;
    const bool is_projection = name.starts_with("quantizer.") && name.ends_with("project_out.weight");
    if (!is_projection && !name.starts_with("fc2.") && !name.starts_with("acoustic_decoder.")) continue;
    auto n_places = static_cast<double>(n_frames);
    if (name.starts_with(kBlock)) {
      const auto block = static_cast<size_t>(name[kBlock.size()] - '0');
      const size_t n_before = name.find(".conv_t1.") == name.npos ? block + 1 : block;
      for (size_t i = 0; i < n_before; ++i) n_places *= static_cast<double>(ratios[i]);
    } else if (name == "acoustic_decoder.conv2.weight") {
      n_places *= static_cast<double>(model.codec().parameters().hop());
    }
    cost += product_cost(tensor, n_places);
    cost.bytes += static_cast<double>(tensor.bytes.size());
  }
  return cost;
}

}  // namespace

Result<SayStep> run_say_steps(const TtsModel& model, const SayCase& chunk, GuidanceMask mask,
                              int n_repetitions, std::vector<int32_t>& codes) {
  const OmniVoiceParameters& hp = model.lm().parameters();
  const std::vector<int32_t> text = random_numbers(chunk.n_text, hp.n_text_vocab);
  const std::vector<int32_t> reference = random_numbers(chunk.n_reference * hp.n_codebook, hp.mask);
  SayStep step;
  PARLANCE_TRY(step.cost, pass_cost(model, chunk, mask, step.n_columns));

  const PeakMeter memory;
  SpeechLm lm(model.lm(), model.device());
  PARLANCE_CHECK(
      lm.prepare({.text = text, .reference = reference, .n_target = chunk.n_frames, .mask = mask}));
  MaskGitOptions options;
  options.n_step = n_repetitions + 1;
  uint64_t noise_calls = 0;
  MaskGit decoder(options,
                  {.n_codebook = hp.n_codebook,
                   .n_frames = chunk.n_frames,
                   .n_vocab = hp.n_audio_vocab,
                   .mask_id = hp.mask},
                  noise_calls);
  std::vector<double> pass_s, decide_s;
  while (decoder.next()) {
    const Clock::time_point start = Clock::now();
    if (lm.decides()) {  // in the pass
      PARLANCE_CHECK(lm.advance(decoder.hand_over()));
      pass_s.push_back(seconds_since(start));
      decide_s.push_back(0);
      continue;
    }
    PARLANCE_TRY(const std::span<const float> logits, lm.step(decoder.tokens()));
    pass_s.push_back(seconds_since(start));
    const Clock::time_point middle = Clock::now();
    const size_t half = logits.size() / 2;
    PARLANCE_CHECK(decoder.take(logits.first(half), logits.subspan(half),
                                [&](int64_t n, FunctionRef<void(int64_t)> task) { lm.on_host(n, task); }));
    decide_s.push_back(seconds_since(middle));
  }
  step.memory_bytes = memory.bytes();
  if (pass_s.size() > 1) pass_s.erase(pass_s.begin());
  step.pass_s = median(pass_s);
  step.decide_s = median(decide_s);
  codes.assign(decoder.tokens().begin(), decoder.tokens().end());
  if (lm.decides()) {
    PARLANCE_TRY(codes, lm.codes());
  }
  return step;
}

Result<SayDecode> run_say_decode(const TtsModel& model, const std::vector<int32_t>& codes, int64_t n_frames,
                                 int n_repetitions) {
  SayDecode result;
  result.cost = decode_cost(model, n_frames);
  std::vector<float> pcm;
  std::vector<double> whole_s, windowed_s, first_s;
  {
    const PeakMeter memory;
    SpeechCodec codec(model.codec(), model.device());
    for (int i = 0; i <= n_repetitions; ++i) {
      pcm.clear();
      const Clock::time_point start = Clock::now();
      for (int64_t first = 0, n = kBenchFirstWindow; first < n_frames; first += n, n = kBenchWindow) {
        PARLANCE_CHECK(codec.decode(codes, n_frames, first, std::min(first + n, n_frames), pcm));
        if (first == 0) first_s.push_back(seconds_since(start));
      }
      windowed_s.push_back(seconds_since(start));
    }
    result.memory_bytes = memory.bytes();
  }
  SpeechCodec codec(model.codec(), model.device());
  for (int i = 0; i <= n_repetitions; ++i) {
    pcm.clear();
    const Clock::time_point start = Clock::now();
    PARLANCE_CHECK(codec.decode(codes, n_frames, 0, n_frames, pcm));
    whole_s.push_back(seconds_since(start));
  }
  for (std::vector<double>* times : {&whole_s, &windowed_s, &first_s}) times->erase(times->begin());
  result.whole_s = median(whole_s);
  result.windowed_s = median(windowed_s);
  result.first_window_s = median(first_s);
  return result;
}

Result<void> warm_up_speech(const TtsModel& model) {
  constexpr double kMostSeconds = 20;
  constexpr size_t kSettledBytes = size_t{4} << 20;
  const SayCase chunk{.name = "", .n_text = 10, .n_reference = 0, .n_frames = 25};
  const Clock::time_point start = Clock::now();
  std::vector<int32_t> codes;
  for (size_t grown = kSettledBytes; grown >= kSettledBytes && seconds_since(start) < kMostSeconds;) {
    const size_t before = resident_bytes();
    PARLANCE_CHECK(run_say_steps(model, chunk, GuidanceMask::hard, 1, codes));
    PARLANCE_CHECK(run_say_decode(model, codes, chunk.n_frames, 1));
    const size_t after = resident_bytes();
    grown = after > before ? after - before : 0;
  }
  return {};
}

}  // namespace parlance
