// One sum over all kThreads invocations of a group.
const uint kValues = 1, kMostThreads = kThreads;
#include "reduce.glsl"

float sum_of_group(float value) {
  float values[1];
  values[0] = value;
  reduce(values, true);
  return reduced_sum(0);
}
