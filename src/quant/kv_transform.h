// What stands between a head vector x and what a cache format stores of it. A format decodes to "stored"
// values y, and x = M y with a matrix M that is the same for every row. So a query is transformed once,
// q' = M^T q, and q' . y = q . x for all keys; a weighted sum of values is transformed back once, M (sum w
// y).
#pragma once

#include <cstdint>
#include <string_view>

namespace parlance {

enum class KvTransform : uint8_t {
  none,                 // M = I
  hadamard,             // normalised Hadamard of the largest power of two that divides the head; any format
  signed_hadamard_32,   // signs and Hadamard of 32: tbq3_0, tbq4_0
  signed_hadamard_128,  // signs, Hadamard of 128, signs: tbq3_tcq
  hadamard_128,         // Hadamard of 128 over 128: q4_polar
  sketch,               // 128 to 256 gaussian projections, the unbiased estimate: qjl1_256
  sketch_least_squares  // the same sketch, read by least squares
};

inline constexpr int kKvTransformCount = 7;

// How many stored values stand for a head vector of n.
constexpr int64_t stored_elements(KvTransform transform, int64_t n) {
  return transform == KvTransform::sketch || transform == KvTransform::sketch_least_squares ? 2 * n : n;
}

// The block in which KvTransform::hadamard rotates head vectors of n; below 64 it would mix too little, and
// nothing is rotated.
constexpr int64_t hadamard_block(int64_t n) {
  const int64_t block = n & -n;
  return block >= 64 ? block : 1;
}

// stored [stored_elements] = M^T q [n].
void to_stored(KvTransform transform, const float* q, float* stored, int64_t n);

// x [n] = M stored [stored_elements].
void from_stored(KvTransform transform, const float* stored, float* x, int64_t n);

}  // namespace parlance
