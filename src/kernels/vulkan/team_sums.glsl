// Sums over the lanes of teams, of up to kTeamValues values of each, for groups of kThreads invocations that are
// several teams; in the order of reduce.glsl, as if each team were a group. A team has whole subgroups.
#ifdef PARLANCE_NO_SUBGROUPS

shared float team_reduced[kThreads * kTeamValues];

void add_up(float values[kTeamValues], uint n_values, uint n_lanes) {
  const uint thread = gl_LocalInvocationID.x;
  const uint lane = thread % n_lanes;
  for (uint i = 0; i < n_values; ++i) team_reduced[thread * kTeamValues + i] = values[i];
  for (uint n = n_lanes; n > 1;) {
    barrier();
    const uint half_n = (n + 1) / 2;
    for (uint i = 0; i < n_values && lane + half_n < n; ++i) {
      const uint at = thread * kTeamValues + i;
      team_reduced[at] = team_reduced[at] + team_reduced[at + half_n * kTeamValues];
    }
    n = half_n;
  }
  barrier();
}

float sum_of_team(uint team, uint i, uint n_lanes) { return 0 + team_reduced[team * n_lanes * kTeamValues + i]; }

#else

// Subgroups of fewer than four lanes are not used.
shared float team_reduced[(kThreads + 3) / 4 * kTeamValues];

// All invocations find the sums afterwards.
void add_up(float values[kTeamValues], uint n_values, uint n_lanes) {
  float results[kTeamValues];
  [[unroll]] for (uint i = 0; i < kTeamValues; ++i)
    if (i < n_values) results[i] = subgroupAdd(values[i]);
  if (subgroupElect()) {
    [[unroll]] for (uint i = 0; i < kTeamValues; ++i)
      if (i < n_values) team_reduced[gl_SubgroupID * kTeamValues + i] = results[i];
  }
  barrier();
}

float sum_of_team(uint team, uint i, uint n_lanes) {
  const uint n_parts = gl_NumSubgroups * n_lanes / kThreads;
  float sum = 0;
  for (uint first = 0; first < n_parts; first += 4) {
    float parts[4];  // all are loaded before the first is added
    [[unroll]] for (uint j = 0; j < 4; ++j)
      parts[j] = team_reduced[(team * n_parts + min(first + j, n_parts - 1)) * kTeamValues + i];
    [[unroll]] for (uint j = 0; j < 4; ++j)
      if (first + j < n_parts) sum += parts[j];
  }
  return sum;
}

#endif
