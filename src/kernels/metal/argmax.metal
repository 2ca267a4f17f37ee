// src/kernels/vulkan/argmax.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
#pragma clang diagnostic ignored "-Wmissing-prototypes"
#pragma clang diagnostic ignored "-Wmissing-braces"

#include <metal_stdlib>
#include <simd/simd.h>

using namespace metal;

template<typename T, size_t Num>
struct spvUnsafeArray
{
    T elements[Num ? Num : 1];

    thread T& operator [] (size_t pos) thread
    {
        return elements[pos];
    }
    constexpr const thread T& operator [] (size_t pos) const thread
    {
        return elements[pos];
    }

    device T& operator [] (size_t pos) device
    {
        return elements[pos];
    }
    constexpr const device T& operator [] (size_t pos) const device
    {
        return elements[pos];
    }

    constexpr const constant T& operator [] (size_t pos) const constant
    {
        return elements[pos];
    }

    threadgroup T& operator [] (size_t pos) threadgroup
    {
        return elements[pos];
    }
    constexpr const threadgroup T& operator [] (size_t pos) const threadgroup
    {
        return elements[pos];
    }
};

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
constant uint _260 = (8u * kThreads);
constant uint _546_tmp [[function_constant(0)]];
constant uint _546 = is_function_constant_defined(_546_tmp) ? _546_tmp : 1u;
constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(_546, 1u, 1u);

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
    spvUnsafeArray<uint, 8> loaded;
    for (uint first = thread0; first < push.n; first += _260)
    {
        for (uint j = 0u; j < 8u; j++)
        {
            loaded[j] = _128.x[row_first + min((first + (j * kThreads)), (push.n - 1u))];
        }
        for (uint j_1 = 0u; j_1 < 8u; j_1++)
        {
            uint i = first + (j_1 * kThreads);
            uint bits = loaded[j_1];
            if (i >= push.n)
            {
                break;
            }
            bool _208 = before >= 0;
            bool _232;
            if (_208)
            {
                uint param_1 = bits;
                uint _213 = rank(param_1);
                bool _215 = _213 > most_rank;
                bool _231;
                if (!_215)
                {
                    uint param_2 = bits;
                    uint _221 = rank(param_2);
                    bool _223 = _221 == most_rank;
                    bool _230;
                    if (_223)
                    {
                        _230 = i <= uint(before);
                    }
                    else
                    {
                        _230 = _223;
                    }
                    _231 = _230;
                }
                else
                {
                    _231 = _215;
                }
                _232 = _231;
            }
            else
            {
                _232 = _208;
            }
            if (_232)
            {
                continue;
            }
            if ((bits & 2139095040u) == 2139095040u)
            {
                own_at = 4294967295u;
            }
            bool _243 = own_at != 4294967295u;
            bool _251;
            if (_243)
            {
                uint param_3 = bits;
                uint _248 = rank(param_3);
                _251 = _248 > own;
            }
            else
            {
                _251 = _243;
            }
            if (_251)
            {
                uint param_4 = bits;
                uint _256 = rank(param_4);
                own = _256;
                own_at = i;
            }
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
                bool _322 = other > largest[thread0];
                bool _339;
                if (!_322)
                {
                    bool _330 = other == largest[thread0];
                    bool _338;
                    if (_330)
                    {
                        _338 = other_at < at[thread0];
                    }
                    else
                    {
                        _338 = _330;
                    }
                    _339 = _338;
                }
                else
                {
                    _339 = _322;
                }
                if (_339)
                {
                    largest[thread0] = other;
                    at[thread0] = other_at;
                }
            }
        }
        n = half_n;
    }
    bool _353 = at[0] == 4294967295u;
    bool _362;
    if (!_353)
    {
        _362 = at[0] == push.n;
    }
    else
    {
        _362 = _353;
    }
    bool _372;
    if (!_362)
    {
        _372 = (push.rank > 0u) && (before < 0);
    }
    else
    {
        _372 = _362;
    }
    bool is_bad = _372;
    if (thread0 == 0u)
    {
        int _379;
        if (is_bad)
        {
            _379 = -1;
        }
        else
        {
            _379 = int(at[0]);
        }
        _108.result[told] = _379;
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
        float _414;
        if (is_bad)
        {
            _414 = 0.0;
        }
        else
        {
            _414 = as_type<float>(_128.x[row_first + at[0]]) - as_type<float>(_128.x[row_first + uint(before)]);
        }
        float less = _414;
        int _438;
        if (is_bad)
        {
            _438 = 0;
        }
        else
        {
            _438 = as_type<int>(share * exp(less));
        }
        _108.result[told + 1u] = _438;
        return;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float _452;
    if (is_bad)
    {
        _452 = 0.0;
    }
    else
    {
        _452 = as_type<float>(_128.x[row_first + at[0]]);
    }
    float most = _452;
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
        int _534;
        if (is_bad)
        {
            _534 = 0;
        }
        else
        {
            _534 = as_type<int>(1.0 / as_type<float>(largest[0]));
        }
        _108.result[told + 1u] = _534;
    }
}

