// attention for answers and drafts from compressed caches: see packed_worker.cuh.
#include "base/checked.h"
#include "kernels/cuda/attention/packed_worker.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda::attention {

namespace {

// decode_tile() for a PackedWorker.
template <class Worker, KnownRows kKnown>
__device__ void decode_packed_tile(const Params& p, const PackedLayout& layout,
                                   typename Worker::Shared& shared) {
  let_next_start();
  const BlockPlace place(p);
  const int head_kv = blockIdx.y / p.tiling.parts;
  const int in_group = blockIdx.y % p.tiling.parts * p.tiling.heads;
  const int n_heads = min(p.tiling.heads, p.group - in_group);
  const int first = place.tile * p.tiling.tokens, end = min(p.n_tokens, first + p.tiling.tokens);
  const auto run_from = [&](int token) {
    if constexpr (kKnown != KnownRows::none) return TokenRun::of_token(p, token);
    return TokenRun(p, token, end);
  };
  if constexpr (kKnown != KnownRows::none) __builtin_assume(!p.main_pages);
  TokenRun run = run_from(first);  // sequences and positions are not what kernels write
  const typename Worker::Norms norms(p, head_kv);
  // Of a row alone, the keys before it are those of earlier steps.
  const bool starts_early = Worker::kPrepares || (p.n_tokens == 1 && !p.main_pages);
  auto* const bytes = reinterpret_cast<std::byte*>(&shared);
  const auto tables = Worker::tables_at(p, shared_address(bytes + layout.tables));
  const int stage_bytes = PackedLayout::stage_bytes(p.k_row_bytes, p.v_row_bytes);
  const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);  // the compiler knows it to be uniform
  PackedRing ring(bytes + layout.ring + warp * layout.n_stages * stage_bytes, shared.barriers[warp],
                  layout.n_stages, stage_bytes);
  const typename Worker::Parts parts(bytes + layout.parts, layout.n_parts);
  bool is_filled = false;
  for (;; run = run_from(run.last)) {
    // A recorded step is replayed at any position up to its bound: later blocks may have nothing to do.
    const SegmentRange range(p, run, place.split);
    const bool has_work = run.is_served && range.first < range.last;
    if (has_work && !is_filled) Worker::fill(p, tables), is_filled = true;
    if (run.first == first && !(starts_early && has_work)) wait_for_previous();
    if (has_work) {
      const BlockRows rows{run.first, run.last - run.first, head_kv * p.group + in_group, n_heads};
      RowsSoFar<typename Worker::Parts, Worker::kThreads> so_far[Worker::kRounds];
#pragma unroll
      for (int round = 0; round < Worker::kRounds; ++round)
        so_far[round].start(p, rows, round * Worker::kRoundRows, is_split(p, run));
      const auto shares = SegmentShares::of<Worker::kMayBeAlone>(run, range);
      Worker worker(p, shared, layout, parts, tables, ring, head_kv, run, range, shares, warp);
      if (starts_early) {
        // Whoever prepares the newest key and value puts them where copies brought something else.
        worker.start_before(Worker::kPrepares ? kAllKeys : p.pos[run.first], run.first, head_kv);
        wait_for_previous();
      }
      const bool has_last_keys = range.last == run.n_segments();
      worker.start(norms, rows, head_kv, has_last_keys);
      for (int segment = range.first, n; segment < range.last; segment += n) {
        const bool are_own = Worker::kMayBeAlone && segment < shares.first_shared;
        n = are_own ? min(shares.first_shared - segment, kPackedWarps) : 1;
        worker.add_segments(segment, n, are_own);
        const int n_busy = are_own ? n : worker.n_busy_warps(segment);
#pragma unroll
        for (int round = 0; round < Worker::kRounds; ++round) {
          so_far[round].start_segment();
#pragma unroll 1  // code that is not there takes longer to come than to run
          for (int first = 0; first < n_busy; first += parts.n_parts) {
            worker.leave(round, first);
            __syncthreads();
            const int n_there = min(parts.n_parts, n_busy - first);
            if (are_own) {
              for (int part = 0; part < n_there; ++part)
                so_far[round].add_part(parts, part, segment + first + part);
            } else {
              so_far[round].gather(parts, 0, 0, n_there);
            }
            __syncthreads();
          }
          if (!are_own) so_far[round].end_segment(segment);
        }
      }
#pragma unroll
      for (int round = 0; round < Worker::kRounds; ++round) {
        if constexpr (Worker::kPrepares) {
          if (p.preparation.is_joined) {
            so_far[round].store_joined([&](auto& values) {
              if (p.preparation.of_values == KvTransform::none) return;
              signed_hadamard_32_from_stored(values, threadIdx.x % 32);
            });
            continue;
          }
        }
        so_far[round].store();
      }
    }
    if (kKnown != KnownRows::none || run.last >= end) return;
  }
}

// Blocks of a multiprocessor: where rows are few, as many as share its registers.
template <int kRows>
constexpr int kResident = kRows <= 8 ? 2 : 1;

// Blocks (…, 0) of two take exact pages, which are few, the others main ones.
template <int kHeadDim, int kRows, class Formats, KnownRows kKnown, bool kMayBeAlone>
__global__ void __launch_bounds__(32 * kPackedWarps, kResident<kRows>)
    decode_packed(const __grid_constant__ Params main, const __grid_constant__ PackedLayout main_layout,
                  const __grid_constant__ Params exact, const __grid_constant__ PackedLayout exact_layout) {
  extern __shared__ uint4 dynamic[];
  using Main = PackedWorker<kHeadDim, kRows, Formats, kKnown == KnownRows::prepared, kMayBeAlone>;
  using Exact = PackedWorker<kHeadDim, kRows, CodesOf<KvFormat::f16, KvFormat::f16>>;
  auto& of_main = *reinterpret_cast<typename Main::Shared*>(dynamic);
  if constexpr (kKnown != KnownRows::none) {
    decode_packed_tile<Main, kKnown>(main, main_layout, of_main);
    return;
  }
  const bool is_exact = blockIdx.z + 1 < gridDim.z;
  if (static_cast<int>(blockIdx.x) >= blocks_of_tiles(is_exact ? exact : main)) {
    let_next_start();
    wait_for_previous();
  } else if (is_exact) {
    decode_packed_tile<Exact, kKnown>(exact, exact_layout,
                                      *reinterpret_cast<typename Exact::Shared*>(dynamic));
  } else {
    decode_packed_tile<Main, kKnown>(main, main_layout, of_main);
  }
}

// Calls visit(rows of a block) for tiles of so many rows.
template <class Visit>
auto with_packed_rows(int n_rows, const Visit& visit) {
  if (n_rows <= 4) return visit(std::integral_constant<int, 4>());
  if (n_rows <= kDecodeHeads) return visit(std::integral_constant<int, kDecodeHeads>());
  return visit(std::integral_constant<int, kDraftRows>());
}

// Bytes of shared memory of a block, where a multiprocessor is to have so many.
size_t share_of(size_t room, int n_blocks) {
  constexpr size_t kReserved = 1024;  // of each block
  return (room + kReserved) / static_cast<size_t>(n_blocks) - kReserved;
}

template <int kHeadDim, int kRows, class Formats>
PackedLayout layout_of(const KvView& kv, size_t room) {
  using Worker = PackedWorker<kHeadDim, kRows, Formats>;
  const int stage_bytes = kPackedWarps * PackedLayout::stage_bytes(static_cast<int>(kv.k_row_bytes),
                                                                   static_cast<int>(kv.v_row_bytes));
  const auto with = [&](int n_parts, int n_stages) {
    constexpr int kFragment = 32 * 2 * sizeof(uint32_t), kReadBehind = 16;
    const auto whole_pieces = [](int n) { return (n + kPieceBytes - 1) / kPieceBytes * kPieceBytes; };
    PackedLayout layout;
    layout.parts = whole_pieces(sizeof(typename Worker::Shared));
    layout.queries =
        layout.parts + whole_pieces(std::max(n_parts * Worker::Parts::kPartBytes, Worker::kEncodingBytes));
    layout.ring = layout.queries + std::max(Worker::kTiles * static_cast<int>(kv.head_dim_k) / 16 * kFragment,
                                            Worker::kPreparedBytes);
    layout.tables = layout.ring + n_stages * stage_bytes;
    const typename Worker::Tables tables(static_cast<uint32_t>(layout.tables), kv.k.format, kv.v.format);
    layout.end = static_cast<int>(tables.end) + kReadBehind;
    layout.n_parts = n_parts;
    layout.n_stages = n_stages;
    layout.page_runs = kv.page_tokens / kPackedKeys;
    layout.runs_factor =
        static_cast<uint32_t>((uint64_t{1} << 32) / static_cast<uint32_t>(layout.page_runs) + 1);
    layout.page_pieces = static_cast<uint32_t>(kv.page_bytes / kPieceBytes);
    return layout;
  };
  for (const size_t limit : {share_of(room, kResident<kRows>), room}) {
    for (const int n_parts : {kPackedWarps, kPackedWarps / 2}) {
      const int least_stages = n_parts == kPackedWarps ? 2 : 1;
      for (int n_stages = kMostStages; n_stages >= least_stages; --n_stages) {
        const PackedLayout layout = with(n_parts, n_stages);
        if (static_cast<size_t>(layout.end) <= limit) return layout;
      }
    }
  }
  int n_stages = kMostStages;  // of many rows in two formats with large tables
  while (n_stages > 1 && static_cast<size_t>(with(kLeastParts, n_stages).end) > room) --n_stages;
  return with(kLeastParts, n_stages);
}

// Whether tables that save an instruction for each pair are worth filling. A block that prepares heads comes
// behind a product that leaves it no room to do so before: it needs more keys, which are all of a row's where
// rows are many.
bool has_large_tables(const AttentionArgs& args, bool prepares) {
  constexpr int64_t kManyKeys = 744, kBlocks = 2 * 132;  // of a large GPU
  const int64_t n_blocks_of_rows = std::min(args.q.ne[2] * args.kv.n_head_kv, kBlocks);
  return !prepares || args.batch.n_kv_bound * n_blocks_of_rows > kManyKeys * kBlocks;
}

// Calls visit(formats) for what serves these: heads of 128 have kernels for the pairs that are likely to be
// met.
template <int kHeadDim, int kRows, class Visit>
auto with_formats(const AttentionArgs& args, bool prepares, const Visit& visit) {
  const KvView& kv = args.kv;
  using enum KvFormat;
  using enum PairKeys;
  if constexpr (kHeadDim == 128 && (kRows == 4 || kRows == kDraftRows)) {
    const auto is = [&](KvFormat k, KvFormat v) { return kv.k.format == k && kv.v.format == v; };
    if (is(q8_0, q8_0)) return visit(CodesOf<q8_0, q8_0>());
    if (is(q8_0, tbq4_0)) return visit(CodesOf<q8_0, tbq4_0>());
    if (is(q4_0, q4_0)) return visit(CodesOf<q4_0, q4_0>());
    if constexpr (kRows == 4) {
      if (has_large_tables(args, prepares)) {
        if (is(tbq4_0, tbq4_0)) return visit(CodesOf<tbq4_0, tbq4_0, by_side>());
        if (is(tbq3_0, tbq3_0)) return visit(CodesOf<tbq3_0, tbq3_0, by_place>());
      }
    }
    if (is(tbq4_0, tbq4_0)) return visit(CodesOf<tbq4_0, tbq4_0>());
    if (is(tbq3_0, tbq3_0)) return visit(CodesOf<tbq3_0, tbq3_0>());
    if (is(q4_polar, q4_polar)) return visit(CodesOf<q4_polar, q4_polar>());
    if (is(tbq3_tcq, tbq3_tcq)) return visit(CodesOf<tbq3_tcq, tbq3_tcq>());
    constexpr PairKeys kBehindSketches = kRows == 4 ? by_place : by_field;  // no kernel prepares these
    if (is(qjl1_256, tbq3_0)) return visit(CodesOf<qjl1_256, tbq3_0, kBehindSketches>());
    if (is(qjl1_256, q4_polar)) return visit(CodesOf<qjl1_256, q4_polar>());
  }
  return visit(AnyCodes());
}

// Whether a block's segments are so many that warps have some alone. Not those of an only token, whose block
// asks for older keys early: RunCursor tells these by the last ones that a warp has a turn at. Nor where what
// blocks wait for is memory, as for q8_0, which is slower with each warp's keys elsewhere.
bool have_some_alone(const Params& p, const AttentionArgs& args) {
  const auto n_keys = static_cast<int>(args.batch.n_kv_bound);
  const int keys = segment_keys(1, n_keys, p.many_rows, p.most_segments);
  const int n_of_block = div_up(div_up(n_keys, keys), p.n_splits);
  const bool has_many_bytes = p.k_row_bytes + p.v_row_bytes >= 2 * p.head_dim_v;
  return p.n_tokens > 1 && !has_many_bytes && !SegmentShares::are_shared(n_of_block, keys);
}

template <int kHeadDim>
PackedLayout layout_of(const AttentionArgs& args, int n_rows, size_t room) {
  return with_packed_rows(n_rows, [&](auto rows) {
    constexpr int kRows = decltype(rows)::value;
    return with_formats<kHeadDim, kRows>(args, false, [&](auto formats) {
      return layout_of<kHeadDim, kRows, decltype(formats)>(args.kv, room);
    });
  });
}

template <int kHeadDim>
void launch_packed(Stream& stream, const Params& main, const AttentionArgs& args, const Params* exact,
                   const KvView* exact_kv) {
  const KvView& kv = args.kv;
  const int n_blocks = std::max(blocks_of_tiles(main), exact ? blocks_of_tiles(*exact) : 0);
  const dim3 grid(static_cast<unsigned>(n_blocks), static_cast<unsigned>(kv.n_head_kv * main.tiling.parts),
                  exact ? 2 : 1);
  const size_t room = gpu_of(stream).shared_bytes_per_block;
  with_packed_rows(main.tiling.heads * main.tiling.tokens, [&](auto rows) {
    constexpr int kRows = decltype(rows)::value;
    using Halves = CodesOf<KvFormat::f16, KvFormat::f16>;
    with_formats<kHeadDim, kRows>(args, main.preparation.k != nullptr, [&](auto formats) {
      using Formats = decltype(formats);
      const PackedLayout layout = layout_of<kHeadDim, kRows, Formats>(kv, room);
      const PackedLayout exact_layout = exact ? layout_of<kHeadDim, kRows, Halves>(*exact_kv, room) : layout;
      const auto of_known = [&](auto known) {
        constexpr KnownRows kKnown = decltype(known)::value;
        if constexpr (kRows == 4 && !std::is_same_v<Formats, CodesOf<KvFormat::q8_0, KvFormat::q8_0>>) {
          if (have_some_alone(main, args)) return decode_packed<kHeadDim, kRows, Formats, kKnown, true>;
        }
        return decode_packed<kHeadDim, kRows, Formats, kKnown, false>;
      };
      const auto kernel = [&] {
        if constexpr (has_preparation<kHeadDim, kRows, Formats>()) {
          if (main.preparation.k) return of_known(std::integral_constant<KnownRows, KnownRows::prepared>());
        }
        if constexpr (kRows <= kDecodeHeads) {
          const bool are_known = main.are_alone && main.tiling.tokens == 1 && !exact && !main.main_pages;
          if (are_known) return of_known(std::integral_constant<KnownRows, KnownRows::alone>());
        }
        return decode_packed<kHeadDim, kRows, Formats, KnownRows::none, false>;
      }();
      launch(stream, kernel,
             {.grid = grid,
              .block = dim3(32 * kPackedWarps),
              .shared_bytes = static_cast<size_t>(std::max(layout.end, exact_layout.end))},
             main, layout, exact ? *exact : main, exact_layout);
    });
  });
}

}  // namespace

bool decode_packed_serves(const AttentionArgs& args, int n_rows, size_t room) {
  const KvView& kv = args.kv;
  if (!has_codes(kv)) return false;
  const PackedLayout layout =
      kv.head_dim_v == 64 ? layout_of<64>(args, n_rows, room) : layout_of<128>(args, n_rows, room);
  return static_cast<size_t>(layout.end) <= room;
}

bool decode_packed_prepares(const AttentionArgs& args, int n_rows, size_t room) {
  const KvView& kv = args.kv;
  return kv.head_dim_v == kPreparedDim && with_packed_rows(n_rows, [&](auto rows) {
           constexpr int kRows = decltype(rows)::value;
           return with_formats<kPreparedDim, kRows>(args, true, [&](auto formats) {
             using Formats = decltype(formats);
             return has_preparation<kPreparedDim, kRows, Formats>() &&
                    static_cast<size_t>(layout_of<kPreparedDim, kRows, Formats>(kv, room).end) <= room;
           });
         });
}

void run_decode_packed(Stream& stream, const Params& params, const AttentionArgs& args) {
  const auto launch = args.kv.head_dim_v == 64 ? launch_packed<64> : launch_packed<128>;
  launch(stream, params, args, nullptr, nullptr);
}

void run_decode_joined(Stream& stream, const Params& main, const Params& exact, const AttentionArgs& args,
                       const KvView& exact_kv) {
  const auto launch = args.kv.head_dim_v == 64 ? launch_packed<64> : launch_packed<128>;
  launch(stream, main, args, &exact, &exact_kv);
}

}  // namespace parlance::cuda::attention
