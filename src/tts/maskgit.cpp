#include "tts/maskgit.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "tts/gumbel.h"
#include "tts/schedule.h"

namespace parlance {

namespace {

constexpr float kClassRatio = 0.1f;  // with a class temperature, the part of the codes that may be drawn

Result<void> check_range(const char* name, float value, float least, float most) {
  if (value >= least && value <= most) return {};
  return fail(ErrorCode::invalid_argument, "{} {} is not between {} and {}", name, value, least, most);
}

Result<void> check_temperature(const char* name, float value) {
  return value == 0 ? Result<void>() : check_range(name, value, 1e-3f, 1e3f);
}

}  // namespace

Result<void> check_options(const MaskGitOptions& options) {
  PARLANCE_CHECK(check_range("the number of steps", static_cast<float>(options.n_step), 1, 1000));
  PARLANCE_CHECK(check_range("the guidance scale", options.guidance, -100, 100));
  PARLANCE_CHECK(check_range("the time shift", options.t_shift, 1e-3f, 1e3f));
  PARLANCE_CHECK(check_range("the layer penalty", options.layer_penalty, -1e3f, 1e3f));
  PARLANCE_CHECK(check_temperature("the position temperature", options.position_temperature));
  return check_temperature("the class temperature", options.class_temperature);
}

int32_t drawn_code(std::span<const float> log_probs, const MaskGitOptions& options, uint64_t noise_call,
                   std::vector<float>& scratch) {
  const float smallest = smallest_kept(log_probs, kClassRatio, scratch);
  float best_score = -std::numeric_limits<float>::infinity();
  int32_t chosen = 0;
  for (size_t id = 0; id < log_probs.size(); ++id) {
    if (log_probs[id] < smallest) continue;
    const float score = gumbel_score(log_probs[id], options.class_temperature, options.seed, noise_call, id);
    if (score <= best_score) continue;
    best_score = score;
    chosen = static_cast<int32_t>(id);
  }
  return chosen;
}

void make_rooms(std::vector<SlotRoom>& rooms, int64_t n_tasks, int64_t n_vocab) {
  const auto wanted = static_cast<size_t>(n_tasks), n = static_cast<size_t>(n_vocab);
  while (rooms.size() < wanted) rooms.push_back({std::vector<float>(n), std::vector<float>(n)});
}

tl::unexpected<Error> damaged_logits(int64_t frame, int64_t codebook) {
  return fail(ErrorCode::corrupt_file,
              "the speech model's logits of frame {}, codebook {}, are no finite numbers; its weights are "
              "damaged or too coarse for this device",
              frame, codebook);
}

MaskGit::MaskGit(const MaskGitOptions& options, const CodeGridShape& shape, uint64_t& noise_calls, Isa isa)
    : options_(options),
      shape_(shape),
      noise_calls_(&noise_calls),
      guided_log_probs_(guided_log_probs_of(isa)),
      tokens_(static_cast<size_t>(shape.n_codebook * shape.n_frames), shape.mask_id) {
  assert(check_options(options));
  assert(!tokens_.empty() && shape.mask_id >= 0 && shape.mask_id < shape.n_vocab && shape.n_vocab > 1);
  slots_per_step_ = slots_per_step(options.n_step, options.t_shift, static_cast<int64_t>(tokens_.size()));
  n_steps_total_ = static_cast<int>(std::ranges::count_if(slots_per_step_, [](int64_t n) { return n > 0; }));
}

bool MaskGit::next() {
  while (step_ < slots_per_step_.size() && slots_per_step_[step_] == 0) ++step_;
  return step_ < slots_per_step_.size();
}

// Leaves a slot's log-probabilities in the room and yields the largest.
float MaskGit::find_log_probs(const Slot& slot, std::span<const float> cond, std::span<const float> uncond,
                              SlotRoom& room) const {
  const int64_t row = (slot.frame * shape_.n_codebook + slot.codebook) * shape_.n_vocab;
  return guided_log_probs_({.cond = cond.data() + row,
                            .uncond = uncond.empty() ? nullptr : uncond.data() + row,
                            .guidance = options_.guidance,
                            .n_vocab = shape_.n_vocab,
                            .mask_id = shape_.mask_id},
                           room.log_probs.data());
}

// The code of the slot whose log-probabilities are in the room, `best` the largest of them.
int32_t MaskGit::choose_token(float best, uint64_t noise_call, SlotRoom& room) const {
  if (options_.class_temperature == 0)
    return static_cast<int32_t>(std::ranges::find(room.log_probs, best) - room.log_probs.begin());
  return drawn_code(room.log_probs, options_, noise_call, room.scratch);
}

// Every slot has its own noise call for the choice of its code, decided or not; one follows for the choice
// among slots.
MaskGitMove MaskGit::next_move() {
  const uint64_t class_calls = *noise_calls_;
  const uint64_t position_call = class_calls + (options_.class_temperature > 0 ? tokens_.size() : 0);
  *noise_calls_ = position_call + (options_.position_temperature > 0 ? 1 : 0);
  return {.n_chosen = static_cast<int32_t>(slots_per_step_[step_]),
          .fault = std::numeric_limits<int32_t>::max(),
          .seed = options_.seed,
          .class_calls = class_calls,
          .position_call = position_call,
          .guidance = options_.guidance,
          .layer_penalty = options_.layer_penalty,
          .position_temperature = options_.position_temperature,
          .class_temperature = options_.class_temperature};
}

MaskGitMove MaskGit::hand_over() {
  assert(next());
  const MaskGitMove move = next_move();
  step_ += 1;
  n_steps_done_ += 1;
  return move;
}

Result<void> MaskGit::take(std::span<const float> cond, std::span<const float> uncond, ShareOut share_out) {
  assert(next());
  assert(cond.size() == tokens_.size() * static_cast<size_t>(shape_.n_vocab));
  assert(uncond.size() == (options_.guidance == 0 ? 0 : cond.size()));

  const MaskGitMove move = next_move();
  undecided_.clear();
  for (int64_t frame = 0; frame < shape_.n_frames; ++frame) {
    for (int64_t codebook = 0; codebook < shape_.n_codebook; ++codebook) {
      const Slot slot{.score = 0, .codebook = codebook, .frame = frame};
      if (tokens_[static_cast<size_t>(index_of(slot))] == shape_.mask_id) undecided_.push_back(slot);
    }
  }
  for_each_slot(share_out, undecided_,
                [&](Slot& slot, SlotRoom& room) { slot.score = find_log_probs(slot, cond, uncond, room); });
  for (Slot& slot : undecided_) {
    if (std::isnan(slot.score)) return damaged_logits(slot.frame, slot.codebook);
    slot.score -= static_cast<float>(slot.codebook) * options_.layer_penalty;
    if (options_.position_temperature > 0) {
      slot.score = gumbel_score(slot.score, options_.position_temperature, options_.seed, move.position_call,
                                static_cast<uint64_t>(index_of(slot)));
    }
  }

  const auto n_chosen = static_cast<size_t>(move.n_chosen);
  assert(n_chosen <= undecided_.size());
  const auto last_chosen = undecided_.begin() + static_cast<ptrdiff_t>(n_chosen) - 1;
  std::ranges::nth_element(undecided_, last_chosen, [&](const Slot& a, const Slot& b) {
    return a.score != b.score ? a.score > b.score : index_of(a) < index_of(b);
  });
  for_each_slot(share_out, std::span(undecided_).first(n_chosen), [&](const Slot& slot, SlotRoom& room) {
    const float best = find_log_probs(slot, cond, uncond, room);
    const auto index = static_cast<uint64_t>(index_of(slot));
    tokens_[index] = choose_token(best, move.class_calls + index, room);
  });
  step_ += 1;
  n_steps_done_ += 1;
  return {};
}

}  // namespace parlance
