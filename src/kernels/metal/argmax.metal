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
    uint rank;
};

struct Out
{
    int result[1];
};

struct X
{
    uint x[1];
};

#ifndef SPIRV_CROSS_CONSTANT_ID_0
#define SPIRV_CROSS_CONSTANT_ID_0 128u
#endif
constant uint kThreads = SPIRV_CROSS_CONSTANT_ID_0;
constant uint _497_tmp [[function_constant(0)]];
constant uint _497 = is_function_constant_defined(_497_tmp) ? _497_tmp : 1u;
constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(_497, 1u, 1u);

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

kernel void argmax(constant Push& push [[buffer(30)]], const device X& _128 [[buffer(0)]], device Out& _108 [[buffer(1)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    threadgroup uint largest[kThreads];
    threadgroup uint at[kThreads];
    uint row = flat_group(gl_WorkGroupID, gl_NumWorkGroups);
    if (row >= push.n_rows)
    {
        return;
    }
    uint thread0 = gl_LocalInvocationID.x;
    uint row_first = push.x_first + (row * push.n);
    uint told = (push.out_first + (row * push.n_told)) + (2u * push.rank);
    int _102;
    if (push.rank > 0u)
    {
        _102 = _108.result[told - 2u];
    }
    else
    {
        _102 = -1;
    }
    int before = _102;
    uint _120;
    if (before < 0)
    {
        _120 = 4294967295u;
    }
    else
    {
        uint param = _128.x[row_first + uint(before)];
        uint _137 = rank(param);
        _120 = _137;
    }
    uint most_rank = _120;
    uint own = 0u;
    uint own_at = push.n;
    for (uint i = thread0; i < push.n; i += kThreads)
    {
        uint bits = _128.x[row_first + i];
        bool _161 = before >= 0;
        bool _185;
        if (_161)
        {
            uint param_1 = bits;
            uint _166 = rank(param_1);
            bool _168 = _166 > most_rank;
            bool _184;
            if (!_168)
            {
                uint param_2 = bits;
                uint _174 = rank(param_2);
                bool _176 = _174 == most_rank;
                bool _183;
                if (_176)
                {
                    _183 = i <= uint(before);
                }
                else
                {
                    _183 = _176;
                }
                _184 = _183;
            }
            else
            {
                _184 = _168;
            }
            _185 = _184;
        }
        else
        {
            _185 = _161;
        }
        if (_185)
        {
            continue;
        }
        if ((bits & 2139095040u) == 2139095040u)
        {
            own_at = 4294967295u;
        }
        bool _196 = own_at != 4294967295u;
        bool _204;
        if (_196)
        {
            uint param_3 = bits;
            uint _201 = rank(param_3);
            _204 = _201 > own;
        }
        else
        {
            _204 = _196;
        }
        if (_204)
        {
            uint param_4 = bits;
            uint _209 = rank(param_4);
            own = _209;
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
                bool _273 = other > largest[thread0];
                bool _290;
                if (!_273)
                {
                    bool _281 = other == largest[thread0];
                    bool _289;
                    if (_281)
                    {
                        _289 = other_at < at[thread0];
                    }
                    else
                    {
                        _289 = _281;
                    }
                    _290 = _289;
                }
                else
                {
                    _290 = _273;
                }
                if (_290)
                {
                    largest[thread0] = other;
                    at[thread0] = other_at;
                }
            }
        }
        n = half_n;
    }
    bool _304 = at[0] == 4294967295u;
    bool _313;
    if (!_304)
    {
        _313 = at[0] == push.n;
    }
    else
    {
        _313 = _304;
    }
    bool _323;
    if (!_313)
    {
        _323 = (push.rank > 0u) && (before < 0);
    }
    else
    {
        _323 = _313;
    }
    bool is_bad = _323;
    if (thread0 == 0u)
    {
        int _330;
        if (is_bad)
        {
            _330 = -1;
        }
        else
        {
            _330 = int(at[0]);
        }
        _108.result[told] = _330;
    }
    if (push.n_told < 2u)
    {
        return;
    }
    if (push.rank > 0u)
    {
        if (thread0 != 0u)
        {
            return;
        }
        float share = as_type<float>(_108.result[told - 1u]);
        float _365;
        if (is_bad)
        {
            _365 = 0.0;
        }
        else
        {
            _365 = as_type<float>(_128.x[row_first + at[0]]) - as_type<float>(_128.x[row_first + uint(before)]);
        }
        float less = _365;
        int _389;
        if (is_bad)
        {
            _389 = 0;
        }
        else
        {
            _389 = as_type<int>(share * exp(less));
        }
        _108.result[told + 1u] = _389;
        return;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float _403;
    if (is_bad)
    {
        _403 = 0.0;
    }
    else
    {
        _403 = as_type<float>(_128.x[row_first + at[0]]);
    }
    float most = _403;
    float sum = 0.0;
    for (uint i_1 = thread0; i_1 < push.n; i_1 += kThreads)
    {
        sum += exp(as_type<float>(_128.x[row_first + i_1]) - most);
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
        int _485;
        if (is_bad)
        {
            _485 = 0;
        }
        else
        {
            _485 = as_type<int>(1.0 / as_type<float>(largest[0]));
        }
        _108.result[told + 1u] = _485;
    }
}

