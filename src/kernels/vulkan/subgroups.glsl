// What a shader that reduces asks of a device; the first thing that it includes.
#extension GL_EXT_control_flow_attributes : require
#ifndef PARLANCE_NO_SUBGROUPS
#extension GL_KHR_shader_subgroup_arithmetic : require
#endif
