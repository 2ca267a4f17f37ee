#include "tts/speech_lm.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "base/parameter.h"
#include "tts/maskgit.h"

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
  const Shape shape{.n_text = std::ssize(prompt.text),
                    .n_reference = std::ssize(prompt.reference) / parameters().n_codebook,
                    .n_target = prompt.n_target,
                    .is_guided = prompt.is_guided,
                    .is_soft = prompt.is_guided && prompt.mask == GuidanceMask::soft};
  if (!is_ready_ || shape != shape_) {
    is_ready_ = false;
    PARLANCE_CHECK(lay_out(shape));
    PARLANCE_CHECK(plan());
    is_ready_ = true;
  }
  upload_prompt(prompt);
  return stream_->synchronize();
}

Result<void> SpeechLm::plan() {
  const Plan plan = stream_->dry_run([&] { pass(); });
  if (!plan.missing.empty()) {
    return fail(ErrorCode::unsupported, "device {} has no kernel for {}; use {} for speech", device_.name(),
                plan.missing.front(), set_to(Parameter::device, "cpu"));
  }
  workspace_bytes_ = plan.workspace_bytes + plan.scratch_bytes;
  return stream_->reserve(plan);
}

// The logits; where the device decides, also its decisions.
Tensor SpeechLm::pass() {
  const Tensor logits = model_.forward(*stream_, input_);
  if (decides_) {
    const OmniVoiceParameters& hp = parameters();
    maskgit_step(*stream_, logits.reshaped(logits.ne[0], input_.n_target, input_.is_guided ? 2 : 1),
                 input_.audio, move_, hp.mask);
  }
  return logits;
}

Result<void> SpeechLm::lay_out(const Shape& shape) {
  const OmniVoiceParameters& hp = parameters();
  const int64_t n_audio = shape.n_reference + shape.n_target, n_row = shape.n_text + n_audio;
  const int64_t n_padding = shape.is_soft ? n_row - shape.n_target : 0;
  const int64_t n_second = shape.is_guided ? shape.n_target + n_padding : 0;

  InputLayout layout;
  shape_ = shape;
  input_ = {};
  input_.n_target = shape.n_target;
  input_.is_guided = shape.is_guided;
  input_.text = layout.add(DType::i32, shape.n_text);
  input_.audio = layout.add(DType::i32, n_audio, hp.n_codebook);
  if (n_padding > 0) input_.padding = layout.add(DType::i32, n_padding);
  input_.pos = layout.add(DType::i32, n_row + n_second);
  input_.bounds = layout.add(DType::i32, shape.is_guided ? 3 : 2);
  if (shape.is_soft) input_.bias = layout.add(DType::f32, n_row, 2 * n_row);
  move_ = layout.add(DType::i8, sizeof(MaskGitMove));
  PARLANCE_CHECK(stream_->synchronize());  // of the inputs before nobody reads any more
  if (!inputs_ || inputs_->size() < layout.size()) {
    PARLANCE_TRY(inputs_, device_.allocate(layout.size()));
  }
  for (Tensor* tensor :
       {&input_.text, &input_.audio, &input_.padding, &input_.pos, &input_.bounds, &input_.bias, &move_}) {
    if (*tensor) InputLayout::place(*tensor, *inputs_);
  }
  return {};
}

void SpeechLm::upload_prompt(const SpeechLmPrompt& prompt) {
  const OmniVoiceParameters& hp = parameters();
  const int64_t n_target = shape_.n_target, n_reference = shape_.n_reference,
                n_audio = n_reference + n_target;
  const int64_t n_row = shape_.n_text + n_audio, n_second = input_.pos.ne[0] - n_row;
  stream_->upload(input_.text, std::as_bytes(prompt.text));
  if (input_.padding) {  // the mask's number, taken for a token of text
    const std::vector<int32_t> padding(static_cast<size_t>(input_.padding.n_elements()), hp.mask);
    stream_->upload(input_.padding, std::as_bytes(std::span(padding)));
  }
  std::vector<int32_t> pos(static_cast<size_t>(n_row + n_second));
  std::iota(pos.begin(), pos.begin() + n_row, 0);
  std::iota(pos.begin() + n_row, pos.end(), 0);
  stream_->upload(input_.pos, std::as_bytes(std::span(pos)));
  const int32_t bounds[3] = {0, static_cast<int32_t>(n_row), static_cast<int32_t>(n_row + n_second)};
  stream_->upload(input_.bounds, std::as_bytes(std::span(bounds).first(shape_.is_guided ? 3 : 2)));
  if (shape_.is_soft) {
    const std::vector<float> bias = soft_bias(n_row, n_target);
    stream_->upload(input_.bias, std::as_bytes(std::span(bias)));
  }

  audio_.assign(static_cast<size_t>(n_audio * hp.n_codebook), 0);
  for (int64_t k = 0; k < hp.n_codebook; ++k) {
    const auto first = static_cast<int32_t>(k * hp.n_audio_vocab);
    const auto row = audio_.begin() + k * n_audio;
    for (int64_t t = 0; t < n_reference; ++t)
      row[t] = first + prompt.reference[static_cast<size_t>(k * n_reference + t)];
    std::fill(row + n_reference, row + n_audio, first + hp.mask);
  }
  stream_->upload(input_.audio, std::as_bytes(std::span(audio_)));
}

Result<void> SpeechLm::advance(const MaskGitMove& move, Cancellation cancellation) {
  const CancellableWork work(*stream_, cancellation);
  stream_->upload(move_, std::as_bytes(std::span(&move, 1)));
  constexpr uint64_t kStep = 1;  // reserve() has forgotten those of other shapes
  stream_->step(kStep, [&] { pass(); });
  if (stream_->cancelled()) return fail(ErrorCode::cancelled, "speech was cancelled");
  MaskGitMove after;
  PARLANCE_CHECK(stream_->download(std::as_writable_bytes(std::span(&after, 1)), move_));
  if (after.fault == move.fault) return {};
  const int64_t n_codebook = parameters().n_codebook;
  return damaged_logits(after.fault / n_codebook, after.fault % n_codebook);
}

Result<std::vector<int32_t>> SpeechLm::codes() {
  const OmniVoiceParameters& hp = parameters();
  const int64_t n_audio = input_.audio.ne[0], n_target = shape_.n_target;
  PARLANCE_CHECK(stream_->download(std::as_writable_bytes(std::span(audio_)), input_.audio));
  std::vector<int32_t> codes;
  for (int64_t k = 0; k < hp.n_codebook; ++k) {
    for (int64_t t = n_audio - n_target; t < n_audio; ++t)
      codes.push_back(audio_[static_cast<size_t>(k * n_audio + t)] -
                      static_cast<int32_t>(k * hp.n_audio_vocab));
  }
  return codes;
}

Result<std::span<const float>> SpeechLm::step(std::span<const int32_t> codes, Cancellation cancellation) {
  const OmniVoiceParameters& hp = parameters();
  const int64_t n_target = shape_.n_target, n_reference = shape_.n_reference,
                n_audio = n_reference + n_target;
  if (std::ssize(codes) != hp.n_codebook * n_target) {
    return fail(ErrorCode::invalid_argument, "{} codes for {} frames of {}", codes.size(), n_target,
                hp.n_codebook);
  }
  for (int64_t k = 0; k < hp.n_codebook; ++k) {
    for (int64_t t = 0; t < n_target; ++t) {
      audio_[static_cast<size_t>(k * n_audio + n_reference + t)] =
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
