// A run of weights (weights.glsl) times 32 rounded activations (rounding.glsl): the integer sums are exact, and what is
// made of them is the same in every shader that has it.
float run_product(Run run, uvec4 low, uvec4 high, vec4 scales) {
  const uint w[8] = run.codes;
  const int first = dot4(w[0], low.x) + dot4(w[1], low.y) + dot4(w[2], low.z) + dot4(w[3], low.w);
  const int last = dot4(w[4], high.x) + dot4(w[5], high.y) + dot4(w[6], high.z) + dot4(w[7], high.w);
  if (kStepsOfHalves) return scales.x * dot(run.step, vec2(first, last)) + dot(run.minimum, scales.yz);
  return scales.x * run.step.x * float(first + last) + run.minimum.x * scales.w;
}
