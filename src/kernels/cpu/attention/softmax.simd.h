// The running softmax of a tile (Milakov and Gimelshein, 2018), in powers of 2.

PARLANCE_SIMD void softmax_row(const Tile& tile, int64_t row, int64_t n_keys) {
  float* scores = tile.scores + row * kKeyBlock;
  const int64_t n = tile.visible[row];
  const int64_t n_whole = align_up<int64_t>(n, kWidth);
  // Lanes past the visible ones are set so that whole vectors can be taken: they weigh nothing.
  constexpr float kUnseen = -std::numeric_limits<float>::infinity();
  for (int64_t j = n; j < n_whole; ++j) scores[j] = kUnseen;

  F largest_of_lanes = Lanes::broadcast(kUnseen);
  for (int64_t j = 0; j < n; j += kWidth)
    largest_of_lanes = Lanes::maximum(largest_of_lanes, Lanes::load(scores + j));
  const float block_largest = Lanes::largest(largest_of_lanes);
  float factor[kWidth];
  if (block_largest > tile.largest[row]) {
    const F shrink = Lanes::exp2(Lanes::broadcast(tile.largest[row] - block_largest));
    float* out = tile.out + row * tile.out_stride;
    for (int64_t i = 0; i < tile.out_stride; i += kWidth) {
      Lanes::store(out + i, Lanes::multiply(Lanes::load(out + i), shrink));
    }
    Lanes::store(factor, shrink);
    tile.sum[row] *= factor[0];
    tile.largest[row] = block_largest;
    tile.block_largest[row] = 1;
  } else {
    Lanes::store(factor, Lanes::exp2(Lanes::broadcast(block_largest - tile.largest[row])));
    tile.block_largest[row] = factor[0];
  }

  const F shift = Lanes::broadcast(tile.largest[row]);
  F sum = Lanes::zero();
  for (int64_t j = 0; j < n; j += kWidth) {
    const F weight = Lanes::exp2(Lanes::subtract(Lanes::load(scores + j), shift));
    Lanes::store(scores + j, weight);
    sum = Lanes::add(sum, weight);
  }
  tile.block_sum[row] = Lanes::sum(sum);
  tile.sum[row] += tile.block_sum[row];
  std::fill(scores + n_whole, scores + align_up(n_keys, kStrideElements), 0.0f);
}

PARLANCE_SIMD void softmax(const Tile& tile, int64_t n_keys) {
  for (int64_t row = 0; row < tile.n_rows; ++row) {
    if (tile.visible[row] > 0) {
      softmax_row(tile, row, n_keys);
    } else {
      tile.block_largest[row] = 0;
      tile.block_sum[row] = 0;
      std::fill_n(tile.scores + row * kKeyBlock, align_up(n_keys, kStrideElements), 0.0f);
    }
  }
}
