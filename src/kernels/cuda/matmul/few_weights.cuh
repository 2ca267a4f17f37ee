// Quantised weights on their way to shared memory for a few tokens: a warp's tiles of 16 rows, unit by unit,
// each in a stage of the warp's own, which is filled again when it has been released.
#pragma once

#include <type_traits>

#include "kernels/cuda/matmul/arrivals.cuh"
#include "kernels/cuda/matmul/row_tiles.cuh"

namespace parlance::cuda {

inline constexpr int kFewRows = 16;  // of a tile
inline constexpr int kMostFewStages = kMostStagesOfCopies;

// What a warp goes through: units [begin, end) of tiles from `tile` on, every stride-th.
struct WarpUnits {
  int begin, end;
  int tile, stride;

  __device__ bool has(int n_tiles) const { return begin < end && tile < n_tiles; }
  // The next unit; true where it is of another tile.
  __device__ bool advance(int& unit) {
    if (++unit < end) return false;
    unit = begin;
    tile += stride;
    return true;
  }
};

// A stage is one copy of a box, or two where gates meet what they let through. Of weights whose units are
// whole pieces: rows that follow each other are an odd number of these apart in most types, and lie in
// different banks.
template <class Type>
class FewBoxes {
 public:
  static constexpr int kPitch = kUnitBytes<Type>;  // of a row in a stage
  static constexpr int kStageBytes = kFewRows * kPitch;
  static constexpr bool kAreBoxes = true;
  static_assert(kStageBytes / 2 % kBoxAlignment == 0);

  __device__ FewBoxes(const Products& products, const CUtensorMap* maps, const WarpUnits& units, int n_stages,
                      uint8_t* memory, Arrivals* arrivals)
      : p_(products),
        maps_(maps),
        next_(units),
        n_stages_(n_stages),
        memory_(memory),
        arrivals_(kept_pointer(arrivals)),
        unit_(units.begin) {
    const int lane = threadIdx.x % 32;
    if (lane < n_stages) arrivals[lane].init(1);
    __syncwarp();
    if (next_.has(p_.n_tiles)) find_output();
    for (int i = 0; i < n_stages; ++i) fill();
  }

  // The oldest stage, when it is there.
  __device__ const uint8_t* wait(int /*tile*/, int /*unit*/) {
    arrivals_[taken_].wait(phase_);
    return memory_ + taken_ * kStageBytes;
  }
  __device__ void release() {
    __syncwarp();
    fill();
    if (++taken_ == n_stages_) taken_ = 0, ++phase_;
  }
  // Of rows lane / 4 and lane / 4 + 8, which a lane multiplies, the second for 1; of row lane % 16, whose
  // scales it unpacks.
  __device__ const uint8_t* multiplied_row(const uint8_t* stage, int second) const {
    return stage + (threadIdx.x % 32 / 4 + 8 * second) * kPitch;
  }
  __device__ const uint8_t* scaled_row(const uint8_t* stage) const {
    return stage + threadIdx.x % kFewRows * kPitch;
  }

 private:
  // Of the next tile.
  __device__ void find_output() {
    while (output_ + 1 < p_.n_outputs && next_.tile >= p_.outputs[output_ + 1].first_tile) ++output_;
    row_ = (next_.tile - p_.outputs[output_].first_tile) * (p_.is_gated ? kFewRows / 2 : kFewRows);
  }

  __device__ void fill() {
    if (!next_.has(p_.n_tiles)) return;
    if (is_elected()) {
      Arrivals& there = arrivals_[stage_];
      there.arrive_before(kStageBytes);
      uint8_t* const to = memory_ + stage_ * kStageBytes;
      there.copy_box(to, maps_[output_], unit_, row_);
      if (p_.is_gated) there.copy_box(to + kStageBytes / 2, maps_[1], unit_, row_);
    }
    if (++stage_ == n_stages_) stage_ = 0;
    if (next_.advance(unit_) && next_.has(p_.n_tiles)) find_output();
  }

  const Products& p_;
  const CUtensorMap* const maps_;
  WarpUnits next_;
  const int n_stages_;
  uint8_t* const memory_;
  Arrivals* const arrivals_;
  int unit_, row_ = 0, output_ = 0, stage_ = 0;  // of what is filled next
  int taken_ = 0, phase_ = 0;
};

// Where units begin anywhere: each row's in the pieces that hold it, by two lanes.
template <class Type>
class FewPieces {
 public:
  // Eight rows' pieces lie in different banks: an odd number of pieces apart.
  static constexpr int kPitch = (kUnitPieces<Type> | 1) * kPieceBytes;
  static constexpr int kStageBytes = kFewRows * kPitch;
  static constexpr bool kAreBoxes = false;

  __device__ FewPieces(const Products& products, const CUtensorMap*, const WarpUnits& units, int n_stages,
                       uint8_t* memory, Arrivals*)
      : p_(products), next_(units), n_stages_(n_stages), memory_(memory), unit_(units.begin) {
    for (int i = 0; i < n_stages; ++i) fill();
  }

  __device__ const uint8_t* wait(int tile, int unit) {
    wait_for_oldest(n_stages_);
    __syncwarp();
    const int row = threadIdx.x % kFewRows;
    const int past = bytes_past_piece(find_row(p_, tile, kFewRows, row) + unit * kUnitBytes<Type>);
    past_scaled_ = past;
    for (int second = 0; second < 2; ++second)
      past_multiplied_[second] = __shfl_sync(kAllLanes, past, threadIdx.x % 32 / 4 + 8 * second);
    return memory_ + taken_ * kStageBytes;
  }
  __device__ void release() {
    __syncwarp();
    fill();
    if (++taken_ == n_stages_) taken_ = 0;
  }
  __device__ const uint8_t* multiplied_row(const uint8_t* stage, int second) const {
    return stage + (threadIdx.x % 32 / 4 + 8 * second) * kPitch + past_multiplied_[second];
  }
  __device__ const uint8_t* scaled_row(const uint8_t* stage) const {
    return stage + threadIdx.x % kFewRows * kPitch + past_scaled_;
  }

 private:
  __device__ void fill() {
    if (next_.has(p_.n_tiles)) {
      const int lane = threadIdx.x % 32 / kFewRows, row = threadIdx.x % kFewRows;
      stage_bytes<kUnitBytes<Type>, 32 / kFewRows>(
          memory_ + stage_ * kStageBytes + row * kPitch,
          find_row(p_, next_.tile, kFewRows, row) + unit_ * kUnitBytes<Type>, kUnitBytes<Type>, lane);
      next_.advance(unit_);
    }
    if (++stage_ == n_stages_) stage_ = 0;
    end_copy_group();
  }

  const Products& p_;
  WarpUnits next_;
  const int n_stages_;
  uint8_t* const memory_;
  int unit_, stage_ = 0, taken_ = 0;
  int past_scaled_ = 0, past_multiplied_[2] = {};  // how far behind a piece rows of the stage begin
};

template <class Type>
using FewStages = std::conditional_t<kHasWholePieces<Type>, FewBoxes<Type>, FewPieces<Type>>;

}  // namespace parlance::cuda
