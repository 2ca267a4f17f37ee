#include "tts/block_maskgit.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "tts/gumbel.h"
#include "tts/schedule.h"

namespace parlance {

namespace {

constexpr float kLeastMarginal = 1e-6f;

// How much a codebook's codes are heard: coarse ones make the sound, fine ones its finish.
float weight_of(int64_t codebook) {
  return 1.0f / static_cast<float>(1 + codebook);
}

}  // namespace

BlockMaskGit::BlockMaskGit(const BlockOptions& options, const CodeGridShape& shape, uint64_t& noise_calls,
                           Isa isa)
    : options_(options),
      shape_(shape),
      noise_calls_(&noise_calls),
      guided_log_probs_(guided_log_probs_of(isa)),
      tokens_(static_cast<size_t>(shape.n_codebook * shape.n_frames), shape.mask_id) {
  assert(!tokens_.empty() && shape.mask_id >= 0 && shape.mask_id < shape.n_vocab && shape.n_vocab > 1);
}

void BlockMaskGit::begin(int64_t first, int64_t end, int n_step) {
  assert(undecided_.empty() && first >= 0 && first < end && end <= shape_.n_frames);
  first_ = first;
  end_ = end;
  for (int64_t k = 0; k < shape_.n_codebook; ++k) {
    for (int64_t t = first; t < end; ++t) undecided_.push_back({k, t});
  }
  slots_per_step_ = slots_per_step(n_step, options_.decoding.t_shift, std::ssize(undecided_));
  step_ = 0;
}

bool BlockMaskGit::next() {
  while (step_ < slots_per_step_.size() && slots_per_step_[step_] == 0) ++step_;
  return !undecided_.empty() && step_ < slots_per_step_.size();
}

// A few slots each; where they are summed up by codebook, all of one, so that sums have one order.
std::vector<BlockMaskGit::Slots> BlockMaskGit::tasks() const {
  std::vector<Slots> tasks;
  const size_t n = undecided_.size();
  for (size_t first = 0, end = 0; first < n; first = end) {
    if (options_.marginal > 0) {
      while (end < n && undecided_[end].codebook == undecided_[first].codebook) ++end;
    } else {
      end = std::min(n, first + static_cast<size_t>(kSlotsOfTask));
    }
    tasks.push_back({first, end});
  }
  return tasks;
}

// The likeliest code of each of these slots, or one that is drawn, and what speaks for it.
void BlockMaskGit::choose(const std::function<SlotLogits(size_t i)>& logits, const Slots& slots,
                          uint64_t class_calls, SlotRoom& room) {
  const MaskGitOptions& decoding = options_.decoding;
  std::vector<float>& log_probs = room.log_probs;
  for (size_t i = slots.first; i < slots.end; ++i) {
    const CodeSlot& slot = undecided_[i];
    const SlotLogits given = logits(i);
    assert((given.unconditional == nullptr) == (decoding.guidance == 0));
    const float best = guided_log_probs_({.cond = given.conditional,
                                          .uncond = given.unconditional,
                                          .guidance = decoding.guidance,
                                          .n_vocab = shape_.n_vocab,
                                          .mask_id = shape_.mask_id},
                                         log_probs.data());
    choices_[i] = {.score = best, .probability = std::exp(best), .token = 0, .slot = i};
    if (std::isnan(best)) return;
    if (decoding.class_temperature > 0) {
      choices_[i].token = drawn_code(log_probs, decoding, class_calls + index_of(slot), room.scratch);
    } else {
      choices_[i].token = static_cast<int32_t>(std::ranges::find(log_probs, best) - log_probs.begin());
    }
    if (options_.marginal == 0) continue;
    float* sums = marginals_.data() + slot.codebook * shape_.n_vocab;
    for (int64_t id = 0; id < shape_.n_vocab; ++id) sums[id] += std::exp(log_probs[static_cast<size_t>(id)]);
  }
}

Result<void> BlockMaskGit::choose(const std::function<SlotLogits(size_t i)>& logits, uint64_t class_calls,
                                  ShareOut share_out) {
  if (options_.marginal > 0) marginals_.assign(static_cast<size_t>(shape_.n_codebook * shape_.n_vocab), 0.0f);
  choices_.assign(undecided_.size(), {});
  const std::vector<Slots> all = tasks();
  make_rooms(rooms_, std::ssize(all), shape_.n_vocab);
  share_out(std::ssize(all), [&](int64_t task) {
    const auto i = static_cast<size_t>(task);
    choose(logits, all[i], class_calls, rooms_[i]);
  });
  for (const Choice& choice : choices_) {
    if (!std::isnan(choice.score)) continue;
    const CodeSlot& slot = undecided_[choice.slot];
    return damaged_logits(slot.frame, slot.codebook);
  }
  return {};
}

void BlockMaskGit::subtract_marginals() {
  if (options_.marginal == 0) return;
  std::vector<float> n_slots(static_cast<size_t>(shape_.n_codebook), 0.0f);
  for (const CodeSlot& slot : undecided_) n_slots[static_cast<size_t>(slot.codebook)] += 1;
  for (Choice& choice : choices_) {
    const int64_t k = undecided_[choice.slot].codebook;
    const float sum = marginals_[static_cast<size_t>(k * shape_.n_vocab + choice.token)];
    const float share = std::max(sum / n_slots[static_cast<size_t>(k)], kLeastMarginal);
    choice.score -= options_.marginal * std::log(share);
  }
}

void BlockMaskGit::add_noise(uint64_t call) {
  const MaskGitOptions& decoding = options_.decoding;
  for (Choice& choice : choices_) {
    const CodeSlot& slot = undecided_[choice.slot];
    choice.score -= static_cast<float>(slot.codebook) * decoding.layer_penalty;
    if (decoding.position_temperature > 0) {
      choice.score =
          gumbel_score(choice.score, decoding.position_temperature, decoding.seed, call, index_of(slot));
    }
  }
}

bool BlockMaskGit::is_sure_of(std::span<const Choice> rest) const {
  if (options_.confidence >= 1) return false;
  float right = 0, all = 0;
  for (const Choice& choice : rest) {
    const float weight = weight_of(undecided_[choice.slot].codebook);
    right += weight * choice.probability;
    all += weight;
  }
  return right >= options_.confidence * all;
}

void BlockMaskGit::decide(std::span<const Choice> chosen) {
  for (const Choice& choice : chosen) tokens_[index_of(undecided_[choice.slot])] = choice.token;
}

void BlockMaskGit::end_step() {
  n_decided_ += std::erase_if(
      undecided_, [&](const CodeSlot& slot) { return tokens_[index_of(slot)] != shape_.mask_id; });
  step_ += 1;
  n_steps_done_ += 1;
}

// Noise calls as MaskGit has them.
MaskGitMove BlockMaskGit::next_move() {
  const MaskGitOptions& decoding = options_.decoding;
  const uint64_t class_calls = *noise_calls_;
  const uint64_t position_call = class_calls + (decoding.class_temperature > 0 ? tokens_.size() : 0);
  *noise_calls_ = position_call + (decoding.position_temperature > 0 ? 1 : 0);
  return {.n_chosen = static_cast<int32_t>(slots_per_step_[step_]),
          .fault = std::numeric_limits<int32_t>::max(),
          .seed = decoding.seed,
          .class_calls = class_calls,
          .position_call = position_call,
          .guidance = decoding.guidance,
          .layer_penalty = decoding.layer_penalty,
          .position_temperature = decoding.position_temperature,
          .class_temperature = decoding.class_temperature};
}

BlockMove BlockMaskGit::hand_over() {
  assert(next());
  return {.step = next_move(),
          .first_frame = static_cast<int32_t>(first_),
          .n_frames = static_cast<int32_t>(shape_.n_frames),
          .marginal = options_.marginal,
          .confidence = options_.confidence};
}

void BlockMaskGit::accept(std::span<const int32_t> codes) {
  const int64_t n_block = end_ - first_;
  assert(next() && std::ssize(codes) == shape_.n_codebook * n_block);
  for (const CodeSlot& slot : undecided_) {
    tokens_[index_of(slot)] = codes[static_cast<size_t>(slot.codebook * n_block + slot.frame - first_)];
  }
  end_step();
}

Result<void> BlockMaskGit::take(const std::function<SlotLogits(size_t i)>& logits, ShareOut share_out) {
  assert(next());
  const MaskGitMove move = next_move();
  PARLANCE_CHECK(choose(logits, move.class_calls, share_out));
  subtract_marginals();
  add_noise(move.position_call);

  auto n_chosen = static_cast<size_t>(move.n_chosen);
  assert(n_chosen <= choices_.size());
  std::ranges::nth_element(choices_, choices_.begin() + static_cast<ptrdiff_t>(n_chosen) - 1,
                           [](const Choice& a, const Choice& b) {
                             return a.score != b.score ? a.score > b.score : a.slot < b.slot;
                           });
  if (is_sure_of(std::span(choices_).subspan(n_chosen))) n_chosen = choices_.size();
  decide(std::span(choices_).first(n_chosen));
  end_step();
  return {};
}

}  // namespace parlance
