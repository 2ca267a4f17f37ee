#include "quant/tbq.h"

#include "quant/block32.h"
#include "quant/codebook.h"
#include "quant/kv_transform.h"

namespace parlance {

namespace {

const auto& centroids_of(const BlockTbq3_0&) {
  return kCentroids3;
}
const auto& centroids_of(const BlockTbq4_0&) {
  return kCentroids4;
}

void pack(const uint8_t* codes, BlockTbq3_0& block) {
  for (int group = 0; group < 4; ++group) {  // eight codes are three bytes
    uint32_t bits = 0;
    for (int i = 0; i < 8; ++i) bits |= static_cast<uint32_t>(codes[8 * group + i]) << (3 * i);
    for (int byte = 0; byte < 3; ++byte)
      block.codes[3 * group + byte] = static_cast<uint8_t>(bits >> (8 * byte));
  }
}

void pack(const uint8_t* codes, BlockTbq4_0& block) {
  pack_nibbles(codes, block.codes);
}

void unpack(const BlockTbq3_0& block, uint8_t* codes) {
  for (int group = 0; group < 4; ++group) {
    const uint8_t* bytes = block.codes + 3 * group;
    const uint32_t bits =
        bytes[0] | static_cast<uint32_t>(bytes[1]) << 8 | static_cast<uint32_t>(bytes[2]) << 16;
    for (int i = 0; i < 8; ++i) codes[8 * group + i] = (bits >> (3 * i)) & 7;
  }
}

void unpack(const BlockTbq4_0& block, uint8_t* codes) {
  for (int i = 0; i < 32; ++i) codes[i] = static_cast<uint8_t>(nibble(block.codes, i));
}

template <class Block>
void decode_block(const Block& block, float* y) {
  uint8_t codes[32];
  unpack(block, codes);
  const float d = f32_from_f16(block.d);
  for (int i = 0; i < 32; ++i) y[i] = d * centroids_of(block)[codes[i]];
}

// The codes of y in steps of d. A block without length has codes 0.
template <class Block>
void round_to_codes(const float* y, float d, Block& block) {
  uint8_t codes[32] = {};
  if (d != 0) {
    const float inverse = 1 / d;
    for (int i = 0; i < 32; ++i) codes[i] = nearest_code(centroids_of(block), y[i] * inverse);
  }
  pack(codes, block);
}

template <class Block>
void encode_block(const float* x, Block& block) {
  float y[32];
  to_stored(KvTransform::signed_hadamard_32, x, y, 32);
  const float d = root_mean_square(y, 32);
  block.d = f16_from_f32(d);
  round_to_codes(y, d, block);
}

template <class Block>
void encode_block_searched(const float* x, Block& block) {
  float y[32];
  to_stored(KvTransform::signed_hadamard_32, x, y, 32);
  block.d = search_step(centroids_of(block), y, 32);
  round_to_codes(y, f32_from_f16(block.d), block);
}

}  // namespace

void decode_stored(const BlockTbq3_0& block, float* y) {
  decode_block(block, y);
}
void decode_stored(const BlockTbq4_0& block, float* y) {
  decode_block(block, y);
}

void encode(const float* x, BlockTbq3_0& block) {
  encode_block(x, block);
}
void encode(const float* x, BlockTbq4_0& block) {
  encode_block(x, block);
}

void encode_searched(const float* x, BlockTbq3_0& block) {
  encode_block_searched(x, block);
}
void encode_searched(const float* x, BlockTbq4_0& block) {
  encode_block_searched(x, block);
}

}  // namespace parlance
