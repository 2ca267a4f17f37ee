#include "quant/kv_format.h"

#include <array>
#include <cassert>
#include <vector>

#include "quant/block_rows.h"
#include "quant/float_rows.h"
#include "quant/q4_0.h"
#include "quant/q4_polar.h"
#include "quant/q8_0.h"
#include "quant/qjl1_256.h"
#include "quant/tbq.h"
#include "quant/tbq3_tcq.h"

namespace parlance {

namespace {

template <class Block>
void decode_stored_row(const std::byte* in, float* y, int64_t n) {
  const auto* blocks = reinterpret_cast<const Block*>(in);
  for (int64_t b = 0; b < n / Block::kElements; ++b) decode_stored(blocks[b], y + b * Block::kStored);
}

template <class Block>
void search_row(const float* x, std::byte* out, int64_t n) {
  auto* blocks = reinterpret_cast<Block*>(out);
  for (int64_t b = 0; b < n / Block::kElements; ++b) encode_searched(x + b * Block::kElements, blocks[b]);
}

template <class Block>
constexpr KvFormatTraits compressed(std::string_view name, KvTransform transform) {
  KvFormatTraits t{name,
                   Block::kElements,
                   sizeof(Block),
                   transform,
                   encode_row<Block>,
                   encode_row<Block>,
                   decode_stored_row<Block>};
  if constexpr (requires(const float* x, Block& block) { encode_searched(x, block); }) {
    t.search_row = search_row<Block>;
  }
  return t;
}

// In the order of KvFormat.
constexpr std::array<KvFormatTraits, kKvFormatCount> kFormatTraits = {{
    {"f32", 1, 4, KvTransform::none, encode_row_f32, encode_row_f32, decode_row_f32},
    {"f16", 1, 2, KvTransform::none, encode_row_f16, encode_row_f16, decode_row_f16},
    {"bf16", 1, 2, KvTransform::none, encode_row_bf16, encode_row_bf16, decode_row_bf16},
    {"q8_0", BlockQ8_0::kElements, sizeof(BlockQ8_0), KvTransform::none, encode_row<BlockQ8_0>,
     encode_row<BlockQ8_0>, decode_row<BlockQ8_0>},
    {"q4_0", BlockQ4_0::kElements, sizeof(BlockQ4_0), KvTransform::none, encode_row<BlockQ4_0>,
     search_row<BlockQ4_0>, decode_row<BlockQ4_0>},
    compressed<BlockTbq3_0>("tbq3_0", KvTransform::signed_hadamard_32),
    compressed<BlockTbq4_0>("tbq4_0", KvTransform::signed_hadamard_32),
    compressed<BlockTbq3Tcq>("tbq3_tcq", KvTransform::signed_hadamard_128),
    compressed<BlockQjl1_256>("qjl1_256", KvTransform::sketch),
    compressed<BlockQ4Polar>("q4_polar", KvTransform::hadamard_128),
    compressed<BlockQ4PolarResidual>("q4_polar_residual", KvTransform::hadamard_128),
}};

}  // namespace

const KvFormatTraits& traits(KvFormat format) {
  assert(static_cast<size_t>(format) < kKvFormatCount);
  return kFormatTraits[static_cast<size_t>(format)];
}

std::optional<KvFormat> kv_format_from_name(std::string_view name) {
  for (size_t i = 0; i < kKvFormatCount; ++i) {
    if (kFormatTraits[i].name == name) return static_cast<KvFormat>(i);
  }
  return std::nullopt;
}

std::string kv_format_names() {
  std::string names;
  for (const KvFormatTraits& format : kFormatTraits) {
    if (!names.empty()) names += ", ";
    names += format.name;
  }
  return names;
}

KvTransform KvCoding::transform() const {
  const KvTransform own = traits(format).transform;
  if (own == KvTransform::none && rotated) return KvTransform::hadamard;
  if (own == KvTransform::sketch && least_squares) return KvTransform::sketch_least_squares;
  return own;
}

void KvCoding::encode(const float* x, std::byte* out, int64_t n) const {
  const KvFormatTraits& t = traits(format);
  const auto encode = encoder == KvEncoder::search ? t.search_row : t.encode_row;
  if (transform() != KvTransform::hadamard) return encode(x, out, n);
  std::vector<float> turned(static_cast<size_t>(n));
  to_stored(KvTransform::hadamard, x, turned.data(), n);
  encode(turned.data(), out, n);
}

void KvCoding::decode(const std::byte* in, float* x, int64_t n) const {
  std::vector<float> stored(static_cast<size_t>(stored_elements(transform(), n)));
  traits(format).decode_stored_row(in, stored.data(), n);
  from_stored(transform(), stored.data(), x, n);
}

}  // namespace parlance
