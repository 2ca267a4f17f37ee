// Encoders of q4_polar and qjl1_256, whose blocks hold 128 values.

using Block128 = F[128 / kWidth];
constexpr float kLeastLength = 1e-10f;  // what q4_polar and tbq3_tcq take for zero below

// ---- q4_polar ----

// Takes the block's bytes but for its length. Yields the product of the values with their levels over that of
// the levels with themselves: by how much the length is to be stretched for the least error.
PARLANCE_SIMD PARLANCE_INLINE float round_polar(const Block128& v, BlockQ4Polar& block) {
  uint8_t bytes[128];
  F residual = Lanes::zero(), product = Lanes::zero(), squares = Lanes::zero();
#pragma GCC unroll 4
  for (int i = 0; i < 128 / kWidth; ++i) {
    const I codes = boundaries_below(kPolarBoundaries, v[i]);
    const F level = Lanes::look_up_16(kPolarCentroids.data(), codes);
    const F direction = Lanes::load(kPolarResidual.data() + i * kWidth);
    Lanes::store_bytes(bytes + i * kWidth, codes);
    residual = Lanes::multiply_add(Lanes::subtract(v[i], level), direction, residual);
    product = Lanes::multiply_add(v[i], level, product);
    squares = Lanes::multiply_add(level, level, squares);
  }
  for (int group = 0; group < 16; ++group) {
    const auto codes = static_cast<uint32_t>(join_codes<4>(bytes + 8 * group));
    std::memcpy(block.codes + 4 * group, &codes, sizeof codes);
  }
  std::memset(block.residual, 0, sizeof block.residual);
  block.residual[0] = Lanes::sum(residual) >= 0;
  return Lanes::sum(product) / Lanes::sum(squares);
}

template <KvEncoder kEncoder>
PARLANCE_SIMD void encode_polar(const float* x, std::byte* out, int64_t n) {
  for (int64_t first = 0; first < n; first += 128, x += 128, out += sizeof(BlockQ4Polar)) {
    auto& block = *reinterpret_cast<BlockQ4Polar*>(out);
    Block128 v;
    load_block(x, v);
    const float length = std::sqrt(sum_of_squares(v));
    multiply_block(v, Lanes::broadcast(length > kLeastLength ? 1 / length : 0));
    hadamard(v);
    const float stretch = round_polar(v, block);
    block.l2 = f16_from_f32(kEncoder == KvEncoder::search ? length * stretch : length);
  }
}

// ---- qjl1_256 ----

PARLANCE_SIMD void encode_qjl(const float* x, std::byte* out, int64_t n) {
  for (int64_t first = 0; first < n; first += 128, x += 128, out += sizeof(BlockQjl1_256)) {
    auto& block = *reinterpret_cast<BlockQjl1_256*>(out);
    float sketch[kSketchOutputs];
    multiply_transposed(sketch_projection(), x, sketch);
    for (int64_t j = 0; j < kSketchOutputs; j += 32) {
      uint32_t signs = 0;
#pragma GCC unroll 8
      for (int i = 0; i < 32; i += kWidth)
        signs |= Lanes::lanes_above(Lanes::load(sketch + j + i), Lanes::zero()) << i;
      std::memcpy(block.signs + j / 8, &signs, sizeof signs);
    }
    Block128 v;
    load_block(x, v);
    block.norm = bf16_from_f32(std::sqrt(sum_of_squares(v)));
  }
}
