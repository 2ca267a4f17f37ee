#include "kernels/cpu/matmul/activations.h"

#include <cstring>

namespace parlance::matmul {

namespace {

// Groups of kLanes runs of kPieces pieces of four values, each transposed.
template <int kLanes, int kPieces>
void transpose_groups(const int8_t* from, int8_t* to, int64_t n) {
  constexpr int64_t kPieceBytes = 4;
  constexpr int64_t kGroupBytes = kLanes * kPieces * kPieceBytes;
  for (int64_t group = 0; group < n; group += kGroupBytes) {
    for (int piece = 0; piece < kPieces; ++piece) {
      for (int lane = 0; lane < kLanes; ++lane) {
        std::memcpy(to + group + (piece * kLanes + lane) * kPieceBytes,
                    from + group + (lane * kPieces + piece) * kPieceBytes, kPieceBytes);
      }
    }
  }
}

}  // namespace

void reorder(Order order, const int8_t* natural, int8_t* codes, int64_t n) {
  switch (order) {
    case Order::natural:
      std::memcpy(codes, natural, static_cast<size_t>(n));
      break;
    case Order::by_runs:
      transpose_groups<4, 8>(natural, codes, n);
      break;
    case Order::by_half_runs:
      transpose_groups<16, 4>(natural, codes, n);
      break;
  }
}

}  // namespace parlance::matmul
