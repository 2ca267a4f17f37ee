// The root mean square norm. Shaders that have it share these, so that a row gets the same bits from each of them:
// norm_lanes() lanes (norm.h) sum up the squares of every n-th value, and reduce.glsl puts their sums together.

float added_square(float sum, float value) {
  precise const float square = value * value;
  precise const float added = sum + square;
  return added;
}

float norm_scale(float sum_of_squares, uint n, float eps) { return 1.0 / sqrt(sum_of_squares / float(n) + eps); }

float normalised(float value, float scale, float weight) {
  precise const float scaled = value * scale;
  precise const float weighed = scaled * weight;
  return weighed;
}

vec4 normalised(vec4 values, float scale, vec4 weights) {
  precise const vec4 scaled = values * scale;
  precise const vec4 weighed = scaled * weights;
  return weighed;
}
