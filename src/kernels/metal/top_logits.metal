// src/kernels/vulkan/top_logits.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
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

#ifndef SPIRV_CROSS_CONSTANT_ID_0
#define SPIRV_CROSS_CONSTANT_ID_0 128u
#endif
constant uint kThreads = SPIRV_CROSS_CONSTANT_ID_0;
constant uint _119 = (kThreads - 1u);

struct Push
{
    uint n;
    uint n_rows;
    uint x_first;
    uint out_first;
    uint k;
};

struct X
{
    uint x[1];
};

constant uint _296 = (8u * kThreads);

struct Out
{
    uint result[1];
};

constant uint _695 = (8u * kThreads);
constant uint _749_tmp [[function_constant(0)]];
constant uint _749 = is_function_constant_defined(_749_tmp) ? _749_tmp : 1u;
constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(_749, 1u, 1u);

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
    uint _59;
    if ((bits & 2147483648u) != 0u)
    {
        _59 = ~bits;
    }
    else
    {
        _59 = bits | 2147483648u;
    }
    return _59;
}

static inline __attribute__((always_inline))
uint n_up_to(thread const uint& own, thread uint3& gl_LocalInvocationID, threadgroup uint (&counts)[kThreads])
{
    uint thread0 = gl_LocalInvocationID.x;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    counts[thread0] = own;
    uint _96;
    for (uint n = 1u; n < kThreads; n *= 2u)
    {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (thread0 >= n)
        {
            _96 = counts[thread0 - n];
        }
        else
        {
            _96 = 0u;
        }
        uint before = _96;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        counts[thread0] += before;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return counts[thread0];
}

static inline __attribute__((always_inline))
uint n_all(threadgroup uint (&counts)[kThreads])
{
    return counts[_119];
}

static inline __attribute__((always_inline))
bool is_taken(thread const uint& own, thread const uint& i, thread const uint& least, thread const uint& most_at)
{
    bool _126 = own > least;
    bool _137;
    if (!_126)
    {
        _137 = (own == least) && (i <= most_at);
    }
    else
    {
        _137 = _126;
    }
    return _137;
}

static inline __attribute__((always_inline))
uint n_taken(thread const uint& row_first, thread const uint& least, thread const uint& most_at, thread uint3& gl_LocalInvocationID, constant Push& push, const device X& v_162)
{
    uint n_own = 0u;
    for (uint i = gl_LocalInvocationID.x; i < push.n; i += kThreads)
    {
        uint param = v_162.x[row_first + i];
        uint _170 = rank(param);
        uint param_1 = _170;
        uint param_2 = i;
        uint param_3 = least;
        uint param_4 = most_at;
        n_own += uint(is_taken(param_1, param_2, param_3, param_4));
    }
    return n_own;
}

kernel void top_logits(constant Push& push [[buffer(30)]], const device X& v_162 [[buffer(0)]], device Out& _313 [[buffer(1)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    threadgroup uint counts[kThreads];
    threadgroup uint kth;
    threadgroup uint found[1024];
    threadgroup uint found_at[1024];
    uint row = flat_group(gl_WorkGroupID, gl_NumWorkGroups);
    if (row >= push.n_rows)
    {
        return;
    }
    uint thread0 = gl_LocalInvocationID.x;
    uint row_first = push.x_first + (row * push.n);
    uint told = push.out_first + (row * (2u + (2u * push.k)));
    uint own = 0u;
    uint n_bad = 0u;
    spvUnsafeArray<uint, 8> loaded;
    for (uint first = thread0; first < push.n; first += _296)
    {
        for (uint j = 0u; j < 8u; j++)
        {
            loaded[j] = v_162.x[row_first + min((first + (j * kThreads)), (push.n - 1u))];
        }
        for (uint j_1 = 0u; j_1 < 8u; j_1++)
        {
            if ((loaded[j_1] & 2139095040u) == 2139095040u)
            {
                n_bad = 1u;
            }
            if ((first + (j_1 * kThreads)) < push.n)
            {
                uint param = loaded[j_1];
                uint _292 = rank(param);
                own = max(own, _292);
            }
        }
    }
    uint param_1 = n_bad;
    uint _301 = n_up_to(param_1, gl_LocalInvocationID, counts);
    if (n_all(counts) > 0u)
    {
        if (thread0 == 0u)
        {
            _313.result[told] = 4294967295u;
        }
        return;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    counts[thread0] = own;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint n_before = 0u;
    for (uint j_2 = 0u; j_2 < kThreads; j_2++)
    {
        uint param_2 = counts[j_2];
        uint param_3 = j_2;
        uint param_4 = own;
        uint param_5 = thread0;
        n_before += uint(is_taken(param_2, param_3, param_4, param_5) && (j_2 != thread0));
    }
    if (n_before == (push.k - 1u))
    {
        kth = own;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint least = kth;
    uint most_at = 4294967295u;
    uint _366;
    if (own >= least)
    {
        uint param_6 = row_first;
        uint param_7 = least;
        uint param_8 = most_at;
        _366 = n_taken(param_6, param_7, param_8, gl_LocalInvocationID, push, v_162);
    }
    else
    {
        _366 = 0u;
    }
    uint n_own = _366;
    uint param_9 = n_own;
    uint _381 = n_up_to(param_9, gl_LocalInvocationID, counts);
    uint end = _381;
    if (n_all(counts) > 1024u)
    {
        uint above = 4294967295u;
        while ((above - least) > 1u)
        {
            uint middle = least + ((above - least) / 2u);
            uint param_10 = row_first;
            uint param_11 = middle;
            uint param_12 = 4294967295u;
            uint param_13 = n_taken(param_10, param_11, param_12, gl_LocalInvocationID, push, v_162);
            uint _411 = n_up_to(param_13, gl_LocalInvocationID, counts);
            if (n_all(counts) >= push.k)
            {
                least = middle;
            }
            else
            {
                above = middle;
            }
        }
        uint from = 0u;
        most_at = push.n - 1u;
        while (from < most_at)
        {
            uint middle_1 = from + ((most_at - from) / 2u);
            uint param_14 = row_first;
            uint param_15 = least;
            uint param_16 = middle_1;
            uint param_17 = n_taken(param_14, param_15, param_16, gl_LocalInvocationID, push, v_162);
            uint _448 = n_up_to(param_17, gl_LocalInvocationID, counts);
            if (n_all(counts) >= push.k)
            {
                most_at = middle_1;
            }
            else
            {
                from = middle_1 + 1u;
            }
        }
        uint _462;
        if (own >= least)
        {
            uint param_18 = row_first;
            uint param_19 = least;
            uint param_20 = most_at;
            _462 = n_taken(param_18, param_19, param_20, gl_LocalInvocationID, push, v_162);
        }
        else
        {
            _462 = 0u;
        }
        n_own = _462;
        uint param_21 = n_own;
        uint _476 = n_up_to(param_21, gl_LocalInvocationID, counts);
        end = _476;
    }
    uint n_found = n_all(counts);
    uint at = end - n_own;
    for (uint i = thread0; (i < push.n) && (at < end); i += kThreads)
    {
        uint param_22 = v_162.x[row_first + i];
        uint _505 = rank(param_22);
        uint its = _505;
        uint param_23 = its;
        uint param_24 = i;
        uint param_25 = least;
        uint param_26 = most_at;
        if (!is_taken(param_23, param_24, param_25, param_26))
        {
            continue;
        }
        found[at] = its;
        found_at[at] = i;
        at++;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i_1 = thread0; i_1 < n_found; i_1 += kThreads)
    {
        uint place = 0u;
        for (uint j_3 = 0u; j_3 < n_found; j_3++)
        {
            uint param_27 = found[j_3];
            uint param_28 = found_at[j_3];
            uint param_29 = found[i_1];
            uint param_30 = found_at[i_1];
            place += uint(is_taken(param_27, param_28, param_29, param_30) && (j_3 != i_1));
        }
        if (place >= push.k)
        {
            continue;
        }
        _313.result[(told + 2u) + place] = found_at[i_1];
        _313.result[((told + 2u) + push.k) + place] = v_162.x[row_first + found_at[i_1]];
        if (place == 0u)
        {
            kth = found_at[i_1];
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float highest = as_type<float>(v_162.x[row_first + kth]);
    float sum = 0.0;
    spvUnsafeArray<float, 8> loaded_1;
    for (uint first_1 = thread0; first_1 < push.n; first_1 += _695)
    {
        for (uint j_4 = 0u; j_4 < 8u; j_4++)
        {
            loaded_1[j_4] = as_type<float>(v_162.x[row_first + min((first_1 + (j_4 * kThreads)), (push.n - 1u))]);
        }
        for (uint j_5 = 0u; j_5 < 8u; j_5++)
        {
            if ((first_1 + (j_5 * kThreads)) < push.n)
            {
                sum += exp(loaded_1[j_5] - highest);
            }
        }
    }
    counts[thread0] = as_type<uint>(sum);
    uint n = kThreads;
    while (n > 1u)
    {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        uint half_n = (n + 1u) / 2u;
        if ((thread0 + half_n) < n)
        {
            counts[thread0] = as_type<uint>(as_type<float>(counts[thread0]) + as_type<float>(counts[thread0 + half_n]));
        }
        n = half_n;
    }
    if (thread0 == 0u)
    {
        _313.result[told] = push.k;
        _313.result[told + 1u] = counts[0];
    }
}

