// Numbers of groups and invocations in a launch that grid.h folded into two dimensions. Included below the
// declaration of the local size, whose value the compiler takes from there.

uint flat_group() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }

uint flat_invocation() { return flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x; }
