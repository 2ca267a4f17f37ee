#include "kernels/cpu/matmul/activations.h"

#include <cstring>

namespace parlance::matmul {

namespace {

// Groups of n_pieces pieces; piece i of the result is piece source[i] of the group.
template <int64_t kPieceBytes, int kPieces>
void permute_pieces(const int (&source)[kPieces], const int8_t* from, int8_t* to, int64_t n) {
  for (int64_t group = 0; group < n; group += kPieceBytes * kPieces) {
    for (int i = 0; i < kPieces; ++i) {
      std::memcpy(to + group + i * kPieceBytes, from + group + source[i] * kPieceBytes, kPieceBytes);
    }
  }
}

}  // namespace

void reorder(Order order, const int8_t* natural, int8_t* codes, int64_t n) {
  switch (order) {
    case Order::natural:
      std::memcpy(codes, natural, static_cast<size_t>(n));
      break;
    case Order::halves_of_32:
      permute_pieces<16>({0, 2, 4, 6, 1, 3, 5, 7}, natural, codes, n);
      break;
    case Order::pairs_of_32:
      permute_pieces<32>({0, 2, 1, 3}, natural, codes, n);
      break;
    case Order::halves_of_256:
      permute_pieces<32>({0, 4, 1, 5, 2, 6, 3, 7}, natural, codes, n);
      break;
  }
}

}  // namespace parlance::matmul
