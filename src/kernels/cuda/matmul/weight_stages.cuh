// Weights on their way to shared memory, as they are: each warp has stages of its own, which are filled in
// the order in which it goes through its tiles, unit by unit, and filled again when it has released them.
#pragma once

#include "kernels/cuda/matmul/arrivals.cuh"
#include "kernels/cuda/matmul/row_tiles.cuh"

namespace parlance::cuda {

// Of the kernel's blocks: warps that have tiles, and stages of each.
struct StagePlan {
  int n_warps, n_stages, stage_bytes;
};
inline constexpr int kMostRowWarps = 16, kMostRowStages = 8;

// What the kernel multiplies, and in which pieces.
struct RowWeights {
  CUtensorMap maps[MatmulArgs::kMaxOutputs];  // of the outputs' weights, for BoxStages
  Products products;
  RowShape shape;
  StagePlan stages;
};

// A warp's tiles: the first one, which is behind the last where the warp has none, and from one to the next.
__device__ inline int first_tile(const RowWeights& w) {
  const int warp = threadIdx.x / 32;
  return warp < w.stages.n_warps ? warp * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x)
                                 : w.products.n_tiles;
}
__device__ inline int tile_stride(const StagePlan& plan) {
  return plan.n_warps * static_cast<int>(gridDim.x);
}

// A warp on its way through its tiles: the next one, and which output it is of.
class WarpTiles {
 public:
  __device__ explicit WarpTiles(const RowWeights& w) : w_(w), tile_(first_tile(w)) { find_output(); }

  __device__ bool has_more() const { return tile_ < w_.products.n_tiles; }
  __device__ int tile() const { return tile_; }
  __device__ int output() const { return output_; }
  __device__ void advance() {
    tile_ += tile_stride(w_.stages);
    find_output();
  }

 private:
  // The last one behind all tiles.
  __device__ void find_output() {
    const Products& p = w_.products;
    while (tile_ >= end_ && output_ + 1 < p.n_outputs) {
      ++output_;
      end_ = output_ + 1 < p.n_outputs ? p.outputs[output_ + 1].first_tile : p.n_tiles;
    }
  }

  const RowWeights& w_;
  int tile_, output_ = -1, end_ = 0;  // behind the output's last tile
};

// Where a warp is in its stages, in the order in which it takes them.
struct StageCursor {
  int stage = 0, phase = 0;

  __device__ void advance(int n_stages) {
    if (++stage == n_stages) stage = 0, ++phase;
  }
};

// A stage is one copy, or two where gates meet what they let through: one instruction. Of weights whose units
// are whole pieces, and parts short enough for the steps of a box.
template <class Type>
class BoxStages {
 public:
  static constexpr int kMostStages = kMostRowStages;
  static constexpr int kWanted = 3;  // of a warp: while one is taken, two are on their way
  static constexpr bool kAreBoxes = true;

  __device__ BoxStages(const RowWeights& w, uint8_t* memory, Arrivals* arrivals)
      : w_(w), arrivals_(kept_pointer(arrivals)), to_(memory), memory_(memory), next_(w) {
    const int lane = threadIdx.x % 32;
    if (lane < w.stages.n_stages) arrivals[lane].init(1);
    __syncwarp();
    find_row();
    for (int i = 0; i < w.stages.n_stages; ++i) fill();
  }

  // Stages that are there already need not be waited for, of those that were filled first.
  __device__ void look() {
    const int lane = threadIdx.x % 32;
    const bool is_there = lane < w_.stages.n_stages && arrivals_[lane].is_complete(0);
    const unsigned are_there = __ballot_sync(kAllLanes, is_there);
    __syncwarp();
    n_there_ = __ffs(static_cast<int>(~are_there)) - 1;
  }
  // The oldest stage, when it is there. It holds units of the tile.
  __device__ const uint8_t* wait(const LanePlace&, const Tile&, int) {
    if (n_there_ > 0) {
      --n_there_;
    } else {
      arrivals_[taken_.stage].wait(taken_.phase);
    }
    return memory_ + taken_.stage * w_.stages.stage_bytes + threadIdx.x % 32 * w_.shape.lane_bytes;
  }
  __device__ void release() {
    __syncwarp();
    fill();
    taken_.advance(w_.stages.n_stages);
  }

 private:
  __device__ void find_row() {
    row_ = (next_.tile() - w_.products.outputs[next_.output()].first_tile) << w_.shape.log_strip_rows;
  }

  __device__ void fill() {
    if (!next_.has_more()) return;
    if (is_elected()) {
      Arrivals& there = arrivals_[stage_];
      there.arrive_before(static_cast<uint32_t>(w_.stages.stage_bytes));
      there.copy_box(to_, w_.maps[next_.output()], unit_, row_);
      if (w_.products.is_gated) there.copy_box(to_ + w_.stages.stage_bytes / 2, w_.maps[1], unit_, row_);
    }
    to_ += w_.stages.stage_bytes;
    if (++stage_ == w_.stages.n_stages) stage_ = 0, to_ = memory_;
    if (++unit_ < w_.shape.part_units) return;
    unit_ = 0;
    next_.advance();
    find_row();
  }

  const RowWeights& w_;
  Arrivals* const arrivals_;
  uint8_t *to_, *const memory_;
  StageCursor taken_;
  WarpTiles next_;  // whose units are filled
  int stage_ = 0, unit_ = 0, row_, n_there_ = 0;
};

// What the other stages share: the tile and unit that is filled next.
template <class Type, class Copies>
class CopiedStages : Copies {
 public:
  static constexpr int kMostStages = Copies::kMostStages;
  static constexpr int kWanted = 1;  // rather than fewer warps, of which each has much to do for a stage
  static constexpr bool kAreBoxes = false;

  __device__ CopiedStages(const RowWeights& w, uint8_t* memory, Arrivals* arrivals)
      : Copies{w, arrivals}, w_(w), memory_(memory), tile_(first_tile(w)) {
    Copies::init();
    for (int i = 0; i < w.stages.n_stages; ++i) fill();
  }

  __device__ void look() {}
  __device__ const uint8_t* wait(const LanePlace& place, const Tile& tile, int unit) {
    Copies::wait(taken_);
    const uint8_t* own =
        memory_ + taken_.stage * w_.stages.stage_bytes + threadIdx.x % 32 * w_.shape.lane_bytes;
    if (!kHasWholePieces<Type>) {
      const auto row_bytes = static_cast<int>(w_.products.outputs[0].row_bytes);
      own += bytes_past_piece(place.template find<Type>(w_.shape, tile, row_bytes, unit));
    }
    return own;
  }
  __device__ void release() {
    __syncwarp();
    fill();
    taken_.advance(w_.stages.n_stages);
  }

 private:
  __device__ void fill() {
    if (tile_ < w_.products.n_tiles) {
      Copies::start(Tile(w_.products, w_.shape, tile_), unit_, memory_ + stage_ * w_.stages.stage_bytes,
                    stage_);
    } else {
      Copies::start_nothing();
    }
    unit_ += w_.shape.units_at_once;
    if (unit_ >= w_.shape.part_units) unit_ = 0, tile_ += tile_stride(w_.stages);
    if (++stage_ == w_.stages.n_stages) stage_ = 0;
  }

  const RowWeights& w_;
  uint8_t* const memory_;
  StageCursor taken_;
  int stage_ = 0, unit_ = 0, tile_;
};

// A copy for each lane, where units are whole pieces.
template <class Type>
struct LaneCopies {
  static constexpr int kMostStages = kMostRowStages;
  const RowWeights& w;
  Arrivals* arrivals;  // of the warp's stages

  __device__ void init() const {
    const int lane = threadIdx.x % 32;
    if (lane < w.stages.n_stages) arrivals[lane].init(1);
    __syncwarp();
  }
  __device__ void start(const Tile& tile, int unit, uint8_t* to, int stage) const {
    const RowShape& shape = w.shape;
    const int lane = threadIdx.x % 32;
    const LanePlace place(shape, lane);
    const int n_units = place.exists(tile) ? max(min(shape.units_at_once, place.n_units - unit), 0) : 0;
    const auto n = static_cast<unsigned>(n_units * kUnitBytes<Type>);
    const unsigned n_all = __reduce_add_sync(kAllLanes, n);
    if (lane == 0) arrivals[stage].arrive_before(n_all);
    __syncwarp();
    const auto row_bytes = static_cast<int>(w.products.outputs[0].row_bytes);
    if (n > 0)
      arrivals[stage].copy(to + lane * shape.lane_bytes,
                           place.template find<Type>(shape, tile, row_bytes, unit), n);
  }
  __device__ void start_nothing() const {}
  __device__ void wait(const StageCursor& taken) const { arrivals[taken.stage].wait(taken.phase); }
};

// Where units begin anywhere: one at once, in the pieces that hold it, by lanes next to each other.
template <class Type>
struct PieceCopies {
  static constexpr int kMostStages = kMostStagesOfCopies;
  const RowWeights& w;
  Arrivals* arrivals;  // unused

  __device__ void init() const {}
  __device__ void start(const Tile& tile, int unit, uint8_t* to, int) const {
    const RowShape& shape = w.shape;
    const int lane = threadIdx.x % 32;
    const auto row_bytes = static_cast<int>(w.products.outputs[0].row_bytes);
#pragma unroll 1
    for (int i = lane; i < 32 * kUnitPieces<Type>; i += 32) {
      const int owner = i / kUnitPieces<Type>, at = i % kUnitPieces<Type> * kPieceBytes;
      const LanePlace of_owner(shape, owner);
      if (unit >= of_owner.n_units || !of_owner.exists(tile)) continue;
      const uint8_t* const from = of_owner.template find<Type>(shape, tile, row_bytes, unit);
      const int before = bytes_past_piece(from), n = min(kPieceBytes, before + kUnitBytes<Type> - at);
      if (n > 0) copy_piece(to + owner * shape.lane_bytes + at, from - before + at, n);
    }
    end_copy_group();
  }
  __device__ void start_nothing() const {
    end_copy_group();
  }
  __device__ void wait(const StageCursor&) const {
    wait_for_oldest(w.stages.n_stages);
    __syncwarp();
  }
};

template <class Type>
using LaneStages = CopiedStages<Type, LaneCopies<Type>>;
template <class Type>
using PieceStages = CopiedStages<Type, PieceCopies<Type>>;

}  // namespace parlance::cuda
