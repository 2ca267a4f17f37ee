// src/kernels/vulkan/argmax.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
#pragma clang diagnostic ignored "-Wmissing-prototypes"

#include <metal_stdlib>
#include <simd/simd.h>

using namespace metal;

struct Push
{
    uint n;
    uint n_rows;
    uint x_first;
    uint out_first;
    uint n_told;
};

struct X
{
    uint x[1];
};

#ifndef SPIRV_CROSS_CONSTANT_ID_0
#define SPIRV_CROSS_CONSTANT_ID_0 128u
#endif
constant uint kThreads = SPIRV_CROSS_CONSTANT_ID_0;

struct Out
{
    int result[1];
};

constant uint _372_tmp [[function_constant(0)]];
constant uint _372 = is_function_constant_defined(_372_tmp) ? _372_tmp : 1u;
constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(_372, 1u, 1u);

static inline __attribute__((always_inline))
uint flat_group(thread uint3& gl_WorkGroupID, thread uint3& gl_NumWorkGroups)
{
    return (gl_WorkGroupID.y * gl_NumWorkGroups.x) + gl_WorkGroupID.x;
}

static inline __attribute__((always_inline))
uint rank(thread uint& bits)
{
    if (bits == 2147483648u)
    {
        bits = 0u;
    }
    uint _41;
    if ((bits & 2147483648u) != 0u)
    {
        _41 = ~bits;
    }
    else
    {
        _41 = bits | 2147483648u;
    }
    return _41;
}

kernel void argmax(constant Push& push [[buffer(30)]], const device X& _91 [[buffer(0)]], device Out& _225 [[buffer(1)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    threadgroup uint largest[kThreads];
    threadgroup uint at[kThreads];
    uint row = flat_group(gl_WorkGroupID, gl_NumWorkGroups);
    if (row >= push.n_rows)
    {
        return;
    }
    uint thread0 = gl_LocalInvocationID.x;
    uint own = 0u;
    uint own_at = push.n;
    for (uint i = thread0; i < push.n; i += kThreads)
    {
        uint bits = _91.x[(push.x_first + (row * push.n)) + i];
        if ((bits & 2139095040u) == 2139095040u)
        {
            own_at = 4294967295u;
        }
        bool _113 = own_at != 4294967295u;
        bool _121;
        if (_113)
        {
            uint param = bits;
            uint _118 = rank(param);
            _121 = _118 > own;
        }
        else
        {
            _121 = _113;
        }
        if (_121)
        {
            uint param_1 = bits;
            uint _126 = rank(param_1);
            own = _126;
            own_at = i;
        }
    }
    largest[thread0] = own;
    at[thread0] = own_at;
    uint n = kThreads;
    while (n > 1u)
    {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        uint half_n = (n + 1u) / 2u;
        if ((thread0 + half_n) < n)
        {
            uint other = largest[thread0 + half_n];
            uint other_at = at[thread0 + half_n];
            if ((at[thread0] == 4294967295u) || (other_at == 4294967295u))
            {
                at[thread0] = 4294967295u;
            }
            else
            {
                bool _191 = other > largest[thread0];
                bool _208;
                if (!_191)
                {
                    bool _199 = other == largest[thread0];
                    bool _207;
                    if (_199)
                    {
                        _207 = other_at < at[thread0];
                    }
                    else
                    {
                        _207 = _199;
                    }
                    _208 = _207;
                }
                else
                {
                    _208 = _191;
                }
                if (_208)
                {
                    largest[thread0] = other;
                    at[thread0] = other_at;
                }
            }
        }
        n = half_n;
    }
    if (thread0 == 0u)
    {
        int _239;
        if (at[0] == 4294967295u)
        {
            _239 = -1;
        }
        else
        {
            _239 = int(at[0]);
        }
        _225.result[push.out_first + (row * push.n_told)] = _239;
    }
    if (push.n_told < 2u)
    {
        return;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    bool is_bad = at[0] == 4294967295u;
    uint row_first = push.x_first + (row * push.n);
    float _273;
    if (is_bad)
    {
        _273 = 0.0;
    }
    else
    {
        _273 = as_type<float>(_91.x[row_first + at[0]]);
    }
    float most = _273;
    float sum = 0.0;
    for (uint i_1 = thread0; i_1 < push.n; i_1 += kThreads)
    {
        sum += exp(as_type<float>(_91.x[row_first + i_1]) - most);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    largest[thread0] = as_type<uint>(sum);
    uint n_1 = kThreads;
    while (n_1 > 1u)
    {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        uint half_n_1 = (n_1 + 1u) / 2u;
        if ((thread0 + half_n_1) < n_1)
        {
            largest[thread0] = as_type<uint>(as_type<float>(largest[thread0]) + as_type<float>(largest[thread0 + half_n_1]));
        }
        n_1 = half_n_1;
    }
    if (thread0 == 0u)
    {
        int _360;
        if (is_bad)
        {
            _360 = 0;
        }
        else
        {
            _360 = as_type<int>(1.0 / as_type<float>(largest[0]));
        }
        _225.result[(push.out_first + (row * 2u)) + 1u] = _360;
    }
}

