#include "kernels/cpu/attention/damage.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "kernels/cpu/attention/kernels.h"
#include "kernels/cpu/attention/pieces.h"
#include "quant/kv_format.h"

namespace parlance::attention {

namespace {

constexpr int64_t kBits = 64;

int64_t words_of(int64_t n_stored) {
  return div_up(n_stored, kBits);
}

}  // namespace

size_t Damage::bytes(int64_t n_rows, int64_t n_stored, size_t v_row_bytes) {
  const auto masks = [&](int64_t n) {
    return align_up(static_cast<size_t>(n * words_of(n_stored)) * sizeof(uint64_t), kLine);
  };
  return masks(kKeyBlock) + masks(n_rows) + align_up(kKeyBlock * v_row_bytes, kLine) + kLine;
}

Damage::Damage(std::byte* memory, int64_t n_rows, int64_t n_stored)
    : n_rows_(n_rows), n_words_(words_of(n_stored)) {
  Pieces pieces(memory);
  of_values_ = pieces.take<uint64_t>(kKeyBlock * n_words_);
  of_rows_ = pieces.take<uint64_t>(n_rows * n_words_);
  mended_ = pieces.take<std::byte>(0);  // with a line behind it, since kernels load whole vectors
}

void Damage::begin() {
  std::fill_n(of_rows_, n_rows_ * n_words_, 0);
}

bool Damage::is_damaged(const KvView& kv, const std::byte* value, int64_t number, float* stored) {
  traits(kv.v.format).decode_stored_row(value, stored, kv.head_dim_v);
  const int64_t n = stored_elements(kv.v.transform(), kv.head_dim_v);
  const std::span<uint64_t> channels = of_value(number);
  std::ranges::fill(channels, 0);
  for (int64_t i = 0; i < n; ++i) {
    channels[static_cast<size_t>(i / kBits)] |= uint64_t{!std::isfinite(stored[i])} << (i % kBits);
  }
  return std::ranges::any_of(channels, [](uint64_t word) { return word != 0; });
}

const std::byte* Damage::mend(const KvView& kv, const std::byte* values, int64_t n_values, float* stored) {
  is_in_block_ = false;
  for (int64_t j = 0; j < n_values; ++j) {
    const size_t at = static_cast<size_t>(j) * kv.v_row_bytes;
    if (!is_damaged(kv, values + at, j, stored)) continue;
    if (!is_in_block_) std::memcpy(mended_, values, static_cast<size_t>(n_values) * kv.v_row_bytes);
    is_in_block_ = true;
    // Blocks of zeros, with a step of zero where there is one, decode to zeros in every format.
    const KvFormatTraits& format = traits(kv.v.format);
    const int64_t n_blocks = kv.head_dim_v / format.block_elements;
    const int64_t n_each = stored_elements(kv.v.transform(), format.block_elements);
    for (int64_t b = 0; b < n_blocks; ++b) {
      const float* of_block = stored + b * n_each;
      if (std::all_of(of_block, of_block + n_each, [](float x) { return std::isfinite(x); })) continue;
      std::memset(mended_ + at + static_cast<size_t>(b) * format.block_bytes, 0, format.block_bytes);
    }
  }
  return is_in_block_ ? mended_ : values;
}

void Damage::see(int64_t row, int64_t first, int64_t last) {
  if (!is_in_block_) return;
  const std::span<uint64_t> seen = of_row(row);
  for (int64_t j = first; j < last; ++j) {
    for (size_t word = 0; word < seen.size(); ++word) seen[word] |= of_value(j)[word];
  }
}

void Damage::show(int64_t row, float* sums) const {
  const std::span<const uint64_t> seen = of_row(row);
  for (size_t word = 0; word < seen.size(); ++word) {
    for (uint64_t bits = seen[word]; bits != 0; bits &= bits - 1) {
      sums[word * kBits + static_cast<size_t>(std::countr_zero(bits))] =
          std::numeric_limits<float>::quiet_NaN();
    }
  }
}

}  // namespace parlance::attention
