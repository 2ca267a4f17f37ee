#include "tts/speech_lm.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "base/parameter.h"

namespace parlance {

namespace {

constexpr int64_t kMostColumns =
    65536;  // 20 minutes of text, reference and speech at once are no use to anybody

// Tensors one behind the other in a buffer that is allocated when all are known.
class InputLayout {
 public:
  Tensor add(DType dtype, int64_t n0, int64_t n1 = 1) {
    Tensor tensor;
    tensor.dtype = dtype;
    tensor.ne = {n0, n1, 1, 1};
    tensor.data = reinterpret_cast<std::byte*>(size_);
    size_ = align_up(size_ + tensor.size(), Arena::kAlignment);
    return tensor;
  }
  static void place(Tensor& tensor, Buffer& buffer) {
    tensor.data = buffer.base() + reinterpret_cast<size_t>(tensor.data);
    tensor.buffer = &buffer;
  }
  size_t size() const { return size_; }

 private:
  size_t size_ = Arena::kAlignment;  // no tensor is at address 0, which means "absent"
};

// Of the scores [S, S + S]: nothing changes in the conditional row; in the other one the target's columns
// prefer each other, and padding prefers itself.
std::vector<float> soft_bias(int64_t n_row, int64_t n_target) {
  std::vector<float> bias(static_cast<size_t>(2 * n_row * n_row), 0.0f);
  float* row = bias.data() + n_row * n_row;
  for (int64_t i = 0; i < n_row; ++i, row += n_row) {
    if (i < n_target) std::fill_n(row, n_target, 1.0f);
    if (i >= n_target) row[i] = 1;
  }
  return bias;
}

}  // namespace

Result<void> check_speech_prompt(const OmniVoiceParameters& hp, const SpeechLmPrompt& prompt) {
  const int64_t n_columns =
      std::ssize(prompt.text) + std::ssize(prompt.reference) / hp.n_codebook + prompt.n_target;
  if (prompt.n_target < 1 || prompt.text.empty() || n_columns > kMostColumns) {
    return fail(
        ErrorCode::invalid_argument,
        "{} text tokens and {} frames of speech: expected some of each, and no more than {} columns in all",
        prompt.text.size(), prompt.n_target, kMostColumns);
  }
  const auto is_outside = [](int64_t limit) {
    return [limit](int32_t value) { return value < 0 || value >= limit; };
  };
  if (std::any_of(prompt.text.begin(), prompt.text.end(), is_outside(hp.n_text_vocab)) ||
      std::any_of(prompt.reference.begin(), prompt.reference.end(), is_outside(hp.n_audio_vocab)) ||
      std::ssize(prompt.reference) % hp.n_codebook != 0) {
    return fail(
        ErrorCode::invalid_argument,
        "the prompt has tokens beyond the model's {}, or a reference that is not {} rows of codes below {}",
        hp.n_text_vocab, hp.n_codebook, hp.n_audio_vocab);
  }
  return {};
}

Result<void> SpeechLm::prepare(const SpeechLmPrompt& prompt) {
  PARLANCE_CHECK(check_speech_prompt(parameters(), prompt));
  PARLANCE_CHECK(place_inputs(prompt));
  const Plan plan = stream_->dry_run([&] { model_.forward(*stream_, input_); });
  if (!plan.missing.empty()) {
    return fail(ErrorCode::unsupported, "device {} has no kernel for {}; use {} for speech", device_.name(),
                plan.missing.front(), set_to(Parameter::device, "cpu"));
  }
  workspace_bytes_ = plan.workspace_bytes + plan.scratch_bytes;
  return stream_->reserve(plan);
}

Result<void> SpeechLm::place_inputs(const SpeechLmPrompt& prompt) {
  const OmniVoiceParameters& hp = parameters();
  const bool is_soft = prompt.is_guided && prompt.mask == GuidanceMask::soft;
  n_reference_ = std::ssize(prompt.reference) / hp.n_codebook;
  const int64_t n_text = std::ssize(prompt.text), n_audio = n_reference_ + prompt.n_target,
                n_row = n_text + n_audio;
  const int64_t n_padding = is_soft ? n_row - prompt.n_target : 0;
  const int64_t n_second = prompt.is_guided ? prompt.n_target + n_padding : 0;

  InputLayout layout;
  input_ = {};
  input_.n_target = prompt.n_target;
  input_.is_guided = prompt.is_guided;
  input_.text = layout.add(DType::i32, n_text);
  input_.audio = layout.add(DType::i32, n_audio, hp.n_codebook);
  if (n_padding > 0) input_.padding = layout.add(DType::i32, n_padding);
  input_.pos = layout.add(DType::i32, n_row + n_second);
  input_.bounds = layout.add(DType::i32, prompt.is_guided ? 3 : 2);
  if (is_soft) input_.bias = layout.add(DType::f32, n_row, 2 * n_row);
  PARLANCE_TRY(inputs_, device_.allocate(layout.size()));
  for (Tensor* tensor :
       {&input_.text, &input_.audio, &input_.padding, &input_.pos, &input_.bounds, &input_.bias}) {
    if (*tensor) InputLayout::place(*tensor, *inputs_);
  }

  stream_->upload(input_.text, std::as_bytes(prompt.text));
  if (n_padding > 0) {  // the mask's number, taken for a token of text
    const std::vector<int32_t> padding(static_cast<size_t>(n_padding), hp.mask);
    stream_->upload(input_.padding, std::as_bytes(std::span(padding)));
  }
  std::vector<int32_t> pos(static_cast<size_t>(n_row + n_second));
  std::iota(pos.begin(), pos.begin() + n_row, 0);
  std::iota(pos.begin() + n_row, pos.end(), 0);
  stream_->upload(input_.pos, std::as_bytes(std::span(pos)));
  const int32_t bounds[3] = {0, static_cast<int32_t>(n_row), static_cast<int32_t>(n_row + n_second)};
  stream_->upload(input_.bounds, std::as_bytes(std::span(bounds).first(prompt.is_guided ? 3 : 2)));
  if (is_soft) {
    const std::vector<float> bias = soft_bias(n_row, prompt.n_target);
    stream_->upload(input_.bias, std::as_bytes(std::span(bias)));
  }

  audio_.assign(static_cast<size_t>(n_audio * hp.n_codebook), 0);
  for (int64_t k = 0; k < hp.n_codebook; ++k) {
    for (int64_t t = 0; t < n_reference_; ++t) {
      audio_[static_cast<size_t>(k * n_audio + t)] =
          static_cast<int32_t>(k * hp.n_audio_vocab) +
          prompt.reference[static_cast<size_t>(k * n_reference_ + t)];
    }
  }
  return stream_->synchronize();
}

Result<std::span<const float>> SpeechLm::step(std::span<const int32_t> codes, Cancellation cancellation) {
  const OmniVoiceParameters& hp = parameters();
  const int64_t n_target = input_.n_target, n_audio = n_reference_ + n_target;
  if (std::ssize(codes) != hp.n_codebook * n_target) {
    return fail(ErrorCode::invalid_argument, "{} codes for {} frames of {}", codes.size(), n_target,
                hp.n_codebook);
  }
  for (int64_t k = 0; k < hp.n_codebook; ++k) {
    for (int64_t t = 0; t < n_target; ++t) {
      audio_[static_cast<size_t>(k * n_audio + n_reference_ + t)] =
          static_cast<int32_t>(k * hp.n_audio_vocab) + codes[static_cast<size_t>(k * n_target + t)];
    }
  }
  const CancellableWork work(*stream_, cancellation);
  stream_->upload(input_.audio, std::as_bytes(std::span(audio_)));
  Tensor logits;
  stream_->step(Stream::kOnce, [&] { logits = model_.forward(*stream_, input_); });
  if (stream_->cancelled()) return fail(ErrorCode::cancelled, "speech was cancelled");
  logits_.resize(static_cast<size_t>(logits.n_elements()));
  PARLANCE_CHECK(stream_->download(std::as_writable_bytes(std::span(logits_)), logits));
  return std::span<const float>(logits_);
}

}  // namespace parlance
