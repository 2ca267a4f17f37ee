// Puts the parts of attention.glsl together: each part's sums are weighed by what its scores weigh under the softmax of
// all parts. For shaders that have softmax_of_part() (largest score and sum of weights) and sum_of_part().

// Parts that are loaded before the first is used, which hides the latency of memory.
const uint kPartsAtOnce = 8;

// One dimension of the vector that a row attends to.
float put_together(uint vector, uint dimension, uint n_parts) {
  float largest = softmax_of_part(0, vector).x;
  for (uint first = 1; first < n_parts; first += kPartsAtOnce) {
    float scores[kPartsAtOnce];
    [[unroll]] for (uint i = 0; i < kPartsAtOnce; ++i)
      scores[i] = softmax_of_part(min(first + i, n_parts - 1), vector).x;
    [[unroll]] for (uint i = 0; i < kPartsAtOnce; ++i) largest = max(largest, scores[i]);
  }
  float sum = 0;
  float weight_sum = 0;
  for (uint first = 0; first < n_parts; first += kPartsAtOnce) {
    vec2 softmaxes[kPartsAtOnce];
    float sums[kPartsAtOnce];
    [[unroll]] for (uint i = 0; i < kPartsAtOnce; ++i) {
      const uint part = min(first + i, n_parts - 1);
      softmaxes[i] = softmax_of_part(part, vector);
      sums[i] = sum_of_part(part, vector, dimension);
    }
    [[unroll]] for (uint i = 0; i < kPartsAtOnce; ++i) {
      if (first + i >= n_parts) break;
      const float weight = softmaxes[i].x == largest ? 1 : exp(softmaxes[i].x - largest);
      sum += weight * sums[i];
      weight_sum += weight * softmaxes[i].y;
    }
  }
  return sum / weight_sum;
}
