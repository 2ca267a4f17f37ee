// attention for answers and drafts from compressed caches on tensor cores: a block takes the query heads of
// one KV head, of a token or of some of a draft, and some segments of the keys, or all of them. Its warps
// take turns at sixteen keys of a segment, whose bytes are on their way to shared memory while they work on
// those before. Keys are rows of the first matrix of a product, and so are the elements of values: what is
// stored becomes registers (codes.cuh), once for all of the block's rows, which are columns, eight a tile.
//
// Queries and weights are rounded to one f16 each, as levels and their products with steps are.
#pragma once

#include "kernels/cuda/attention/codes.cuh"
#include "kernels/cuda/attention/combine.cuh"
#include "kernels/cuda/attention/packed_layout.cuh"
#include "kernels/cuda/attention/packed_preparation.cuh"
#include "kernels/cuda/attention/packed_queries.cuh"
#include "kernels/cuda/attention/packed_ring.cuh"
#include "kernels/cuda/attention/packed_sums.cuh"
#include "kernels/cuda/kv_transform.cuh"

namespace parlance::cuda::attention {

// The rows of a matrix of 8 by 8 16-bit elements become its columns; a lane has two neighbours of a row.
__device__ inline uint32_t transposed(uint32_t two) {
  uint32_t result;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(two));
  return result;
}

// kHasTurns: warps may have segments alone and take the turns of all others at them.
template <int kDim, int kMostRows, class Formats, bool kHasPreparation = false, bool kHasTurns = false>
class PackedWorker {
 public:
  static constexpr bool kPrepares = kHasPreparation, kMayBeAlone = kHasTurns;
  using Tables = PairTables<Formats::kKeys>;
  static constexpr int kRows = kMostRows, kHeadDim = kDim, kThreads = 32 * kPackedWarps;
  using Columns = RowColumns<kRows>;
  using Queries = QueryFragments<kRows, kHeadDim, has_query_rows<kHeadDim, Formats>() && kRows == kDraftRows>;
  static constexpr int kTiles = Columns::kTiles, kSides = Columns::kSides, kTileRows = Columns::kTileRows;
  static constexpr int kRoundRows = kRows <= 8 ? 4 : kRows;  // that leave what they have at once
  static constexpr int kRounds = kRows / kRoundRows;
  static constexpr bool kKeepsParts = !Formats::kIsAny && kTiles == 1;
  static constexpr bool kHasQueryWarps = has_query_warps<kDim, kMostRows, Formats>();
  static constexpr bool kMayPrepare = has_preparation<kDim, kMostRows, Formats>();
  using Heads = PreparedHeads<kHeadDim, Formats>;
  using Norms = HeadNorms<kHeadDim, kPrepares>;
  // In shared memory: of queries, and where segments are left otherwise.
  static constexpr int kPreparedBytes = kHasQueryWarps ? kRows * Heads::kQueryBytes : 0;
  static constexpr int kEncodingBytes = kMayPrepare ? Heads::kRoomBytes : 0;
  using Parts = PackedParts<kRoundRows, kHeadDim>;
  using Sums = PackedSums<kRows, kHeadDim, kMayBeAlone>;
  struct Shared {
    QueryNumbers<kRows> of_rows;
    int visible[kTiles * kTileRows];  // keys that a row sees
    uint64_t barriers[kPackedWarps][kMostStages];
    NewestRows<kMayPrepare> newest;
  };

  // In shared memory from an address on.
  __device__ static Tables tables_at(const Params& p, uint32_t at) {
    return Tables(at, k_format(p), v_format(p));
  }
  // By the whole block.
  __device__ static void fill(const Params& p, const Tables& tables) {
    tables.template fill<kThreads>(k_format(p), v_format(p));
  }

  // `tables` may be filled at the same time. `warp`: of the block.
  __device__ PackedWorker(const Params& p, Shared& shared, const PackedLayout& layout, const Parts& parts,
                          const Tables& tables, PackedRing& ring, int head_kv, const TokenRun& run,
                          const SegmentRange& range, const SegmentShares& shares, int warp)
      : p_(p),
        warp_(warp),
        shared_(shared),
        parts_(parts),
        tables_(tables),
        ring_(ring),
        cursor_(p, layout, p.seq[run.first], head_kv, run, range, shares, warp),
        n_keys_(run.n_keys),
        segment_keys_(run.segment_keys),
        queries_{p, shared.of_rows, shared_address(reinterpret_cast<std::byte*>(&shared) + layout.queries)} {}

  // Has those of the first n_keys on their way, as far as they come first.
  __device__ void start_before(int n_keys, int token, int head_kv) {
    while (n_started_ < ring_.n_ahead() && cursor_.has_more_of(n_keys)) load_next(), ++n_started_;
    if constexpr (kPrepares) newest_row_ = Heads::find_newest_row(p_, token, head_kv);
  }

  // By the whole block. `has_last_keys`: of the sequence; with a Preparation, the newest key and value are
  // written by who reads them.
  __device__ void start(const Norms& norms, const BlockRows& rows, int head_kv, bool has_last_keys) {
    for (; n_started_ < ring_.n_ahead(); ++n_started_) load_next();
    own_key_ = order().first(lane() / 4);
    own_value_ = order().first(2 * (lane() % 4));
    if constexpr (kKeepsParts) {
      with_k([&](auto format) { k_part_ = kept(key_part<decltype(format)::value>()); });
      with_v([&](auto format) { v_part_ = kept(value_part<decltype(format)::value>()); });
    }
    own_copy_ = kept(Tables::own_copy());
    least_visible_ = n_keys_;
    if constexpr (kPrepares) {
      prepare(norms, rows, head_kv, has_last_keys);
    } else {
      find_visible(rows);
      if constexpr (kHasQueryWarps) {
        heads().take_queries(rows, shared_.of_rows.factors);
      } else {
        static_assert(kRows * kHeadDim <= kLeastParts * kRoundRows * Parts::kStride);
        queries_.store(rows, parts_.out, warp_, [&](const auto& visit) { with_k(visit); });
      }
      __syncthreads();
#pragma unroll
      for (int row = 0; row < kRows; ++row)
        if (rows.exists(row)) least_visible_ = min(least_visible_, shared_.visible[row]);
    }
    if constexpr (kHasQueryWarps) {
      heads().load_queries(rows, Columns::row_of_column(), q_);
    } else if constexpr (kTiles == 1) {
#pragma unroll
      for (int step = 0; step < kSteps; ++step) queries_.load(0, step, q_[step]);
    }
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int side = 0; side < kSides; ++side) {
        const int row = tile * kTileRows + Columns::own_row(side);
        factors_[tile][side] = !kHasQueryWarps || rows.exists(row) ? shared_.of_rows.factors[row] : 1.0f;
      }
    }
  }

  // Warps that have keys of a segment that they share: the first ones.
  __device__ int n_busy_warps(int segment) const {
    const int n = min(n_keys_ - segment * segment_keys_, segment_keys_);
    return min((n + kPackedKeys - 1) / kPackedKeys, kPackedWarps);
  }

  // A segment that warps share, or of n segments the one that this warp has alone.
  __device__ void add_segments(int first, int n, bool are_own) {
    sums_.start();
    if (are_own && warp_ >= n) return;
    const int segment = are_own ? first + warp_ : first, start = segment * segment_keys_;
    const auto end = static_cast<int>(kept(min(n_keys_, start + segment_keys_)));
    const int n_turns = are_own ? n_busy_warps(segment) : 1;
    typename Sums::Joined joined;
    for (int turn = 0; turn < n_turns; ++turn) {
      for (int key = start + (are_own ? turn : warp_) * kPackedKeys; key < end; key += kTurnKeys) {
        load_next();
        cursor_.keep_up();
        const uint32_t at = ring_.wait();
        if constexpr (kPrepares) {
          if (key + kPackedKeys >= n_keys_)
            heads().put_newest(shared_.newest, at, n_keys_ - 1 - key, k_row_bytes(), v_row_bytes());
        }
        add_keys(at, key);
        ring_.release();
      }
      if (are_own) sums_.join(joined);
    }
    if (are_own) sums_.take_joined(joined);
  }

  // What warps from the first one on, as many as there is room for, have of their segment, of a round's rows.
  __device__ void leave(int round, int first) {
    if (static_cast<unsigned>(warp_ - first) >= static_cast<unsigned>(parts_.n_parts)) return;
#pragma unroll
    for (int i = 0; i < kRounds; ++i)
      if (i == round)
        sums_.leave(parts_, warp_ % parts_.n_parts, i * kRoundRows,
                    [&](const auto& visit) { with_v(visit); });
  }

 private:
  static constexpr int kSteps = kHeadDim / 16;

  __device__ static int lane() {
    return threadIdx.x % 32;
  }
  template <class Visit>
  __device__ void with_k(const Visit& visit) const {
    if constexpr (Formats::kIsAny) {
      with_key_codes<kHeadDim>(p_.k_format, visit);
    } else {
      visit(std::integral_constant<KvFormat, Formats::kK>());
    }
  }
  template <class Visit>
  __device__ void with_v(const Visit& visit) const {
    if constexpr (Formats::kIsAny) {
      with_codes<kHeadDim>(p_.v_format, visit);
    } else {
      visit(std::integral_constant<KvFormat, Formats::kV>());
    }
  }
  __device__ KeyOrder order() const {
    return KeyOrder(k_format(p_));
  }
  __device__ static KvFormat k_format(const Params& p) {
    if constexpr (Formats::kIsAny)
      return p.k_format;
    else
      return Formats::kK;
  }
  __device__ static KvFormat v_format(const Params& p) {
    if constexpr (Formats::kIsAny)
      return p.v_format;
    else
      return Formats::kV;
  }
  __device__ int k_row_bytes() const {
    if constexpr (Formats::kIsAny)
      return p_.k_row_bytes;
    else
      return kCodesBytes<Formats::kK, kHeadDim>;
  }
  __device__ int v_row_bytes() const {
    if constexpr (Formats::kIsAny)
      return p_.v_row_bytes;
    else
      return kCodesBytes<Formats::kV, kHeadDim>;
  }

  __device__ void load_next() {
    if (cursor_.has_more()) {
      const std::byte *k, *v;
      cursor_.take(k, v);
      ring_.copy(k, kPackedKeys * k_row_bytes(), v, kPackedKeys * v_row_bytes());
    }
    ring_.end_copy();
  }

  // ---- Queries ----

  __device__ Heads heads() const {
    return {p_, queries_.address, n_keys_, segment_keys_, newest_row_};
  }

  // By the whole block: queries, a warp for each head; where a block has the last keys, the newest key and
  // value, too, for which there is room where segments are left later.
  __device__ void prepare(const Norms& norms, const BlockRows& rows, int head_kv, bool has_last_keys) {
    if (threadIdx.x < kTileRows) shared_.visible[threadIdx.x] = rows.exists(threadIdx.x) ? n_keys_ : 0;
    heads().prepare(norms, rows, head_kv, has_last_keys, reinterpret_cast<std::byte*>(parts_.stats),
                    shared_.newest, shared_.of_rows.factors);
  }
  __device__ void find_visible(const BlockRows& rows) {
    if (threadIdx.x >= kTiles * kTileRows) return;
    const int row = threadIdx.x;
    shared_.visible[row] = row < kRows && rows.exists(row) ? visible_keys(p_, rows.token(row)) : 0;
  }

  // ---- Sixteen keys ----

  // Whether a row has one step, which scores, or weights, are multiplied with in place of its elements.
  template <class Row>
  __device__ static constexpr bool has_row_step() {
    return Row::kHasStep && Row::kBlockElements == kHeadDim;
  }

  // What this lane has of its first key, and of its first value.
  template <KvFormat format>
  __device__ RowPart key_part() const {
    RowPart part = Codes<format, kKeyPairs<kHeadDim>>::part(lane() % 4);
    const uint32_t row = own_key_ * kCodesBytes<format, kHeadDim>;
    part.at += row, part.step += row;
    return part;
  }
  template <KvFormat format>
  __device__ RowPart value_part() const {
    RowPart part = Codes<format, kValuePairs<kHeadDim>>::part(lane() / 4);
    const uint32_t row = own_value_ * kCodesBytes<format, kHeadDim>;
    part.at += row, part.step += row;
    return part;
  }
  // In a register: the compiler would work it out anew for each sixteen keys.
  __device__ static uint32_t kept(uint32_t x) {
    if constexpr (kKeepsParts) asm volatile("" : "+r"(x));
    return x;
  }
  __device__ static RowPart kept(const RowPart& part) {
    return {kept(part.at), kept(part.step), kept(part.how), part.signs};
  }

  using Scores =
      float[kTiles][2][kSides];         // keys that are rows lane / 4 and + 8, columns of Columns::own_row()
  using Weights = uint32_t[kTiles][2];  // of keys 2 * (lane % 4).., and + 8, of column lane / 4

  __device__ void add_keys(uint32_t at, int first) {
    Scores scores;
    with_k([&](auto format) {
      if constexpr (decltype(format)::value == KvFormat::qjl1_256) {
        multiply_signs(at, scores);
      } else {
        multiply_keys<decltype(format)::value>(at, scores);
      }
    });
    const bool is_end = first + kPackedKeys > least_visible_;  // of what some row sees, or of all keys
    if (is_end) hide_keys(scores, first);
    with_v([&](auto format) {
      // Values are on their way to registers while scores become weights.
      Values<decltype(format)::value> v;
      load_values<decltype(format)::value>(at + kPackedKeys * k_row_bytes(), v);
      if (is_end) clear_values<decltype(format)::value>(n_keys_ - first, v);
      exchange_values<decltype(format)::value>(v);
      Weights weights;
      turn_into_weights(scores, reference_of<Codes<decltype(format)::value, kValuePairs<kHeadDim>>>(),
                        weights);
      add_values<decltype(format)::value>(v, weights);
    });
  }

  // Scores but for their factors.
  template <KvFormat format>
  __device__ void multiply_keys(uint32_t at, Scores& scores) const {
    constexpr int kPairs = kKeyPairs<kHeadDim>;
    constexpr int kRowBytes = kCodesBytes<format, kHeadDim>;
    using K = Codes<format, kPairs>;
    constexpr bool kHasRowStep = has_row_step<K>();  // which scores are multiplied with
    const RowPart part = kKeepsParts ? k_part_ : key_part<format>();
    K k[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) k[i].load(at + i * order().apart() * kRowBytes, part);
    uint32_t steps[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) steps[i] = K::kIsBlock ? k[i].step : pair_of(k[i].step, k[i].step);
    // Two sums each, so that products need not wait for each other.
    float sums[kTiles][2][4] = {};
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      uint32_t a[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        a[i] = k[i % 2].pair(2 * step + i / 2, tables_, own_copy_);
        if constexpr (K::kHasStep && !kHasRowStep) a[i] = scaled(a[i], as_half2(steps[i % 2]));
      }
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        uint32_t b[2];
        if constexpr (kTiles == 1) {
          b[0] = q_[step][0], b[1] = q_[step][1];
        } else {
          queries_.load(tile, step, b);
        }
        multiply_add_f16(sums[tile][step % 2], a, b[0], b[1]);
      }
    }
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int key = 0; key < 2; ++key) {
#pragma unroll
        for (int side = 0; side < kSides; ++side) {
          float& score = scores[tile][key][side];
          score = sums[tile][0][2 * key + side] + sums[tile][1][2 * key + side];
          if constexpr (kHasRowStep) score *= __low2float(as_half2(k[key].step));
        }
      }
    }
  }

  // The same with signs, of which a query's number counts those that meet ones of a plane: for each of them
  // 2^plane, but for the highest, which is the sign of integers.
  __device__ void multiply_signs(uint32_t at, Scores& scores) const {
    using K = Codes<KvFormat::qjl1_256, 2>;
    constexpr int kRowBytes = kCodesBytes<KvFormat::qjl1_256, kHeadDim>, kHalves = kSides;
    const RowPart part = kKeepsParts ? k_part_ : key_part<KvFormat::qjl1_256>();
    K k[2];
    float norms[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const uint32_t row = at + i * order().apart() * kRowBytes;
      k[i].load(row, part);
      norms[i] = K::norm(row, part);
    }
    const uint32_t a[4] = {k[0].words[0], k[1].words[0], k[0].words[1], k[1].words[1]};
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      float own[2][2] = {};  // keys; row lane % 4 of either half of the tile
#pragma unroll
      for (int half = 0; half < kHalves; ++half) {
        int sums[2] = {};
#pragma unroll
        for (int pair = 0; pair < kPlanes / 2; ++pair) {
          uint32_t b[2];
          if constexpr (kTiles * kHalves == 1) {
            b[0] = q_[pair][0], b[1] = q_[pair][1];
          } else {
            queries_.load_planes(tile, half, pair, b);
          }
          int counts[4] = {};
          count_common_bits(counts, a, b[0], b[1]);
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int plane = 2 * pair + i % 2;
            sums[i / 2] += plane == kPlanes - 1 ? -(counts[i] << plane) : counts[i] << plane;
          }
        }
        const int total = shared_.of_rows.totals[tile * kTileRows + half * 4 + lane() % 4];
#pragma unroll
        for (int i = 0; i < 2; ++i) own[i][half] = static_cast<float>(2 * sums[i] - total) * norms[i];
      }
#pragma unroll
      for (int key = 0; key < 2; ++key) {
#pragma unroll
        for (int side = 0; side < kSides; ++side) {
          if constexpr (kSides == 1) {
            scores[tile][key][side] = own[key][0];
          } else {
            const int from = lane() / 4 * 4 + Columns::own_row(side) % 4;
            const float first = __shfl_sync(0xffffffff, own[key][0], from);
            const float second = __shfl_sync(0xffffffff, own[key][kHalves - 1], from);
            scores[tile][key][side] = lane() % 4 < 2 ? first : second;
          }
        }
      }
    }
  }

  // Where weights are multiplied with steps, as 16-bit floats, they are 1 at most, so that no product is
  // larger than what is stored.
  template <class Row>
  __device__ static constexpr WeightReference reference_of() {
    return has_row_step<Row>() ? WeightReference{0, 2} : WeightReference{8, 0};
  }

  __device__ void turn_into_weights(const Scores& scores, const WeightReference& reference,
                                    Weights& weights) {
    Scores more;  // than that score
    const auto compare = [&] {
      bool is_larger = false;
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
        for (int key = 0; key < 2; ++key) {
#pragma unroll
          for (int side = 0; side < kSides; ++side) {
            float& beyond = more[tile][key][side];
            beyond = fmaf(scores[tile][key][side], factors_[tile][side], -sums_.largest[tile][side]);
            is_larger |= beyond > reference.below;
          }
        }
      }
      return is_larger;
    };
    if (__any_sync(0xffffffff, compare())) {
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        float largest[kSides];
#pragma unroll
        for (int side = 0; side < kSides; ++side)
          largest[side] = fmaxf(scores[tile][0][side], scores[tile][1][side]) * factors_[tile][side];
        sums_.raise(tile, largest, reference);
      }
      compare();
    }
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int key = 0; key < 2; ++key) {
        float weight[2] = {};
#pragma unroll
        for (int side = 0; side < kSides; ++side) {
          weight[side] = exp2_flushed(more[tile][key][side]);
          sums_.sum[tile][side] += weight[side];
        }
        weights[tile][key] = transposed(bits_of(__floats2half2_rn(weight[0], weight[1])));
      }
    }
  }

  __device__ void hide_keys(Scores& scores, int first) const {
#pragma unroll
    for (int side = 0; side < kSides; ++side) {
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        const int n_visible = shared_.visible[tile * kTileRows + Columns::own_row(side)] - first - own_key_;
#pragma unroll
        for (int key = 0; key < 2; ++key)
          if (key * order().apart() >= n_visible) scores[tile][key][side] = -INFINITY;
      }
    }
  }

  template <KvFormat format>
  using Values = Codes<format, kValuePairs<kHeadDim>>[4];  // of keys that are columns of this lane

  template <KvFormat format>
  __device__ void load_values(uint32_t at, Values<format>& v) const {
    constexpr int kRowBytes = kCodesBytes<format, kHeadDim>;
    const RowPart part = kKeepsParts ? v_part_ : value_part<format>();
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i].load(at + (i % 2 + i / 2 * order().apart()) * kRowBytes, part);
  }
  // Only n_keys of these are there. Weights of others are 0, and 0 times what lies there need not be.
  template <KvFormat format>
  __device__ void clear_values(int n_keys, Values<format>& v) const {
    using V = Codes<format, kValuePairs<kHeadDim>>;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (own_value_ + i % 2 + i / 2 * order().apart() < n_keys) continue;
      v[i].step = 0;
      if constexpr (!V::kHasStep) {
        for (uint32_t& word : v[i].words) word = 0;
      }
    }
  }
  template <KvFormat format>
  __device__ static void exchange_values(Values<format>& v) {
    using V = Codes<format, kValuePairs<kHeadDim>>;
    if constexpr (V::kTwoRows == TwoRows::by_codes) {
#pragma unroll
      for (int half = 0; half < 2; ++half) V::exchange_halves(v[2 * half], v[2 * half + 1]);
    }
  }

  // Pairs of two rows' elements of number 2 t and of number 2 t + 1.
  template <class V>
  __device__ void pairs_of(const V& x, const V& y, int t, uint32_t own_copy, uint32_t (&pairs)[2]) const {
    if constexpr (V::kTwoRows == TwoRows::by_ones) {
#pragma unroll
      for (int i = 0; i < 2; ++i)
        pairs[i] = pair_of(x.one(2 * t + i, tables_, own_copy), y.one(2 * t + i, tables_, own_copy));
    } else {
      const uint32_t of_x = x.pair(t, tables_, own_copy), of_y = y.pair(t, tables_, own_copy);
      const bool are_exchanged = V::kTwoRows == TwoRows::by_codes;
      pairs[0] = are_exchanged ? of_x : pair_of(of_x, of_y);
      pairs[1] = are_exchanged ? of_y : __byte_perm(of_x, of_y, 0x7632);
    }
  }

  template <KvFormat format>
  __device__ void add_values(const Values<format>& v, Weights& weights) {
    constexpr int kPairs = kValuePairs<kHeadDim>;
    using V = Codes<format, kPairs>;
    constexpr bool kHasRowStep = has_row_step<V>();
    const uint32_t own_copy = own_copy_ + Tables::copies_apart(format);
    uint32_t steps[2];
    if constexpr (V::kHasStep) {
#pragma unroll
      for (int half = 0; half < 2; ++half) steps[half] = pair_of(v[2 * half].step, v[2 * half + 1].step);
    }
    if constexpr (kHasRowStep) {
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
        for (int half = 0; half < 2; ++half)
          weights[tile][half] = scaled(weights[tile][half], as_half2(steps[half]));
      }
    }
#pragma unroll
    for (int t = 0; t < kPairs; ++t) {
      uint32_t of_rows[2][2], a[4];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        pairs_of(v[2 * half], v[2 * half + 1], t, own_copy, of_rows[half]);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const uint32_t pair = of_rows[half][i];
          a[2 * half + i] = V::kHasStep && !kHasRowStep ? scaled(pair, as_half2(steps[half])) : pair;
        }
      }
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile)
        multiply_add_f16(sums_.out[tile][t], a, weights[tile][0], weights[tile][1]);
    }
  }

  const Params& p_;
  const int warp_;
  Shared& shared_;
  const Parts parts_;
  const Tables& tables_;
  PackedRing& ring_;
  RunCursor<kMayBeAlone> cursor_;
  int n_started_ = 0;                // runs that are on their way before the first is waited for
  std::byte* newest_row_ = nullptr;  // see PreparedHeads
  const int n_keys_, segment_keys_;
  const Queries queries_;
  int least_visible_;
  int own_key_, own_value_;  // see KeyOrder
  RowPart k_part_, v_part_;  // where they are kept
  uint32_t own_copy_;        // see PairTables
  float factors_[kTiles][kSides];
  uint32_t q_[kSteps][2];  // of the only tile
  Sums sums_;
};

}  // namespace parlance::cuda::attention
