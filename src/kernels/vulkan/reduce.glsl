// Sums and maxima over the invocations of a group, of kValues values of each. Those of a subgroup come first and are
// put together in their order; with PARLANCE_NO_SUBGROUPS, for devices without subgroup arithmetic, halves of the
// group are added through shared memory. Needs kValues and kMostThreads, and the declaration of the local size.
#ifdef PARLANCE_NO_SUBGROUPS

shared float reduced[kMostThreads * kValues];

void reduce(float values[kValues], bool is_sum) {
  const uint thread = gl_LocalInvocationID.x;
  for (uint i = 0; i < kValues; ++i) reduced[thread * kValues + i] = values[i];
  for (uint n = gl_WorkGroupSize.x; n > 1;) {
    barrier();
    const uint half_n = (n + 1) / 2;
    for (uint i = 0; i < kValues && thread + half_n < n; ++i) {
      const uint at = thread * kValues + i;
      const float other = reduced[at + half_n * kValues];
      reduced[at] = is_sum ? reduced[at] + other : max(reduced[at], other);
    }
    n = half_n;
  }
  barrier();
}

uint n_reduced() { return 1; }

#else

// Subgroups of fewer than four lanes are not used.
shared float reduced[(kMostThreads + 3) / 4 * kValues];

// Leaves n_reduced() results for each value behind; all invocations find them.
void reduce(float values[kValues], bool is_sum) {
  float results[kValues];
  [[unroll]] for (uint i = 0; i < kValues; ++i)
    results[i] = is_sum ? subgroupAdd(values[i]) : subgroupMax(values[i]);
  if (subgroupElect()) {
    [[unroll]] for (uint i = 0; i < kValues; ++i) reduced[gl_SubgroupID * kValues + i] = results[i];
  }
  barrier();
}

uint n_reduced() { return gl_NumSubgroups; }

#endif

float reduced_sum(uint i) {
  float sum = 0;
  for (uint part = 0; part < n_reduced(); ++part) sum += reduced[part * kValues + i];
  return sum;
}

float reduced_max(uint i, float so_far) {
  for (uint part = 0; part < n_reduced(); ++part) so_far = max(so_far, reduced[part * kValues + i]);
  return so_far;
}
