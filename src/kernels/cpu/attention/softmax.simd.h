// The running softmax of a tile (Milakov and Gimelshein, 2018), in powers of 2. In three passes over the
// rows, so that the processor works on several at once: a row alone is one long chain.

// block_largest = the largest score that each row sees, and minus infinity in lanes past the last of these.
PARLANCE_SIMD inline void find_largest(const Tile& tile) {
  constexpr float kUnseen = -std::numeric_limits<float>::infinity();
  for (int64_t row = 0; row < tile.n_rows; ++row) {
    float* scores = tile.scores + row * kKeyBlock;
    const int64_t n = tile.visible[row];
    for (int64_t j = n; j < align_up<int64_t>(n, kWidth); ++j) scores[j] = kUnseen;
    F largest = Lanes::broadcast(kUnseen);
    for (int64_t j = 0; j < n; j += kWidth) largest = Lanes::maximum(largest, Lanes::load(scores + j));
    tile.block_largest[row] = Lanes::largest(largest);
  }
}

// Takes block_largest into `largest` and makes a weight of it; what was summed up before shrinks with it.
PARLANCE_SIMD inline void raise_largest(const Tile& tile) {
  for (int64_t first = 0; first < tile.n_rows; first += kWidth) {
    const F before = Lanes::load(tile.largest + first), block = Lanes::load(tile.block_largest + first);
    const F largest = Lanes::maximum(before, block);
    const F shrink = Lanes::exp2(Lanes::subtract(before, largest));
    Lanes::store(tile.largest + first, largest);
    Lanes::store(tile.block_largest + first, Lanes::exp2(Lanes::subtract(block, largest)));
    Lanes::store(tile.sum + first, Lanes::multiply(Lanes::load(tile.sum + first), shrink));
    float factors[kWidth];
    Lanes::store(factors, shrink);
    for (int64_t row = first; row < std::min(first + kWidth, tile.n_rows); ++row) {
      if (factors[row - first] == 1) continue;
      const F factor = Lanes::broadcast(factors[row - first]);
      float* out = tile.out + row * tile.out_stride;
      for (int64_t i = 0; i < tile.out_stride; i += kWidth) {
        Lanes::store(out + i, Lanes::multiply(Lanes::load(out + i), factor));
      }
    }
  }
}

PARLANCE_SIMD void softmax(const Tile& tile, int64_t n_keys) {
  find_largest(tile);
  raise_largest(tile);
  for (int64_t row = 0; row < tile.n_rows; ++row) {
    float* scores = tile.scores + row * kKeyBlock;
    const int64_t n = tile.visible[row];
    const F shift = Lanes::broadcast(tile.largest[row]);
    F sum = Lanes::zero();
    for (int64_t j = 0; j < n; j += kWidth) {
      const F weight = Lanes::exp2(Lanes::subtract(Lanes::load(scores + j), shift));
      Lanes::store(scores + j, weight);
      sum = Lanes::add(sum, weight);
    }
    for (int64_t j = n; j < align_up(n_keys, kStrideElements); ++j) scores[j] = 0;
    tile.block_sum[row] = Lanes::sum(sum);
    tile.sum[row] += tile.block_sum[row];
  }
}
