// src/kernels/vulkan/top_logits.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
#pragma clang diagnostic ignored "-Wmissing-prototypes"
#pragma clang diagnostic ignored "-Wmissing-braces"
#pragma clang diagnostic ignored "-Wunused-variable"

#include <metal_stdlib>
#include <simd/simd.h>
#include <metal_atomic>

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

struct PartRange
{
    uint first;
    uint end;
};

constant uint kPartThreads_tmp [[function_constant(1)]];
constant uint kPartThreads = is_function_constant_defined(kPartThreads_tmp) ? kPartThreads_tmp : 128u;
constant uint kGroupLanes = (kPartThreads / 16u);

struct Push
{
    uint n;
    uint n_rows;
    uint n_parts;
    uint x_first;
    uint out_first;
    uint k;
};

struct X
{
    uint x[1];
};

constant uint _303 = (8u * kPartThreads);
constant uint kThreads_tmp [[function_constant(0)]];
constant uint kThreads = is_function_constant_defined(kThreads_tmp) ? kThreads_tmp : 128u;
constant uint _307 = (kThreads / kGroupLanes);

struct Parts
{
    uint parts[1];
};

struct Out
{
    uint result[1];
};

constant uint _716 = (kThreads - 1u);
constant uint _777_tmp [[function_constant(0)]];
constant uint _777 = is_function_constant_defined(_777_tmp) ? _777_tmp : 1u;
constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(_777, 1u, 1u);

static inline __attribute__((always_inline))
uint flat_group(thread uint3& gl_WorkGroupID, thread uint3& gl_NumWorkGroups)
{
    return (gl_WorkGroupID.y * gl_NumWorkGroups.x) + gl_WorkGroupID.x;
}

static inline __attribute__((always_inline))
uint choose_groups(thread uint3& gl_LocalInvocationID, threadgroup uint& n_groups, constant Push& push, threadgroup uint (&groups)[512], threadgroup uint& lowest, threadgroup uint (&highest)[512])
{
    uint n_all = push.n_parts * 16u;
    if (gl_LocalInvocationID.x == 0u)
    {
        n_groups = 0u;
        lowest = 4294967295u;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = gl_LocalInvocationID.x; i < n_all; i += kThreads)
    {
        uint own = highest[i];
        uint n_above = 0u;
        for (uint first = 0u; first < n_all; first += 16u)
        {
            for (uint j = 0u; j < 16u; j++)
            {
                n_above += uint(highest[first + j] > own);
            }
        }
        if (n_above >= push.k)
        {
            continue;
        }
        uint _389 = atomic_fetch_add_explicit((threadgroup atomic_uint*)&n_groups, 1u, memory_order_relaxed);
        groups[_389] = i;
        uint _393 = atomic_fetch_min_explicit((threadgroup atomic_uint*)&lowest, own, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return (n_all < push.k) ? 0u : lowest;
}

static inline __attribute__((always_inline))
PartRange range_of_part(thread const uint& n, thread const uint& part, thread const uint& n_parts)
{
    uint each = n / n_parts;
    uint more = n % n_parts;
    uint first = (part * each) + min(part, more);
    return PartRange{ first, (first + each) + uint(part < more) };
}

static inline __attribute__((always_inline))
uint rank(thread uint& bits)
{
    if (bits == 2147483648u)
    {
        bits = 0u;
    }
    uint _71;
    if ((bits & 2147483648u) != 0u)
    {
        _71 = ~bits;
    }
    else
    {
        _71 = bits | 2147483648u;
    }
    return _71;
}

static inline __attribute__((always_inline))
bool is_taken(thread const uint& own, thread const uint& i, thread const uint& least, thread const uint& most_at)
{
    bool _112 = own > least;
    bool _123;
    if (!_112)
    {
        _123 = (own == least) && (i <= most_at);
    }
    else
    {
        _123 = _112;
    }
    return _123;
}

static inline __attribute__((always_inline))
uint look_again(thread const uint& row_first, thread const uint& least, thread const uint& most_at, thread const bool& keeps, thread uint3& gl_LocalInvocationID, threadgroup uint& n_met, threadgroup uint& n_groups, constant Push& push, threadgroup uint (&groups)[512], const device X& v_219, threadgroup uint (&found)[1024], threadgroup uint (&found_at)[1024])
{
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (gl_LocalInvocationID.x == 0u)
    {
        n_met = 0u;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint lane = gl_LocalInvocationID.x % kGroupLanes;
    uint n_own = 0u;
    uint _147 = gl_LocalInvocationID.x / kGroupLanes;
    spvUnsafeArray<uint, 8> loaded;
    for (uint j = _147; j < n_groups; j += _307)
    {
        uint param = push.n;
        uint param_1 = groups[j] / 16u;
        uint param_2 = push.n_parts;
        PartRange range = range_of_part(param, param_1, param_2);
        uint _192 = (range.first + ((groups[j] % 16u) * kGroupLanes)) + lane;
        for (uint first = _192; first < range.end; first += _303)
        {
            for (uint e = 0u; e < 8u; e++)
            {
                loaded[e] = v_219.x[row_first + min((first + (e * kPartThreads)), (range.end - 1u))];
            }
            for (uint e_1 = 0u; e_1 < 8u; e_1++)
            {
                uint i = first + (e_1 * kPartThreads);
                uint param_3 = loaded[e_1];
                uint _254 = rank(param_3);
                uint its = _254;
                bool _258 = i >= range.end;
                bool _272;
                if (!_258)
                {
                    uint param_4 = its;
                    uint param_5 = i;
                    uint param_6 = least;
                    uint param_7 = most_at;
                    _272 = !is_taken(param_4, param_5, param_6, param_7);
                }
                else
                {
                    _272 = _258;
                }
                if (_272)
                {
                    continue;
                }
                n_own++;
                if (!keeps)
                {
                    continue;
                }
                uint _284 = atomic_fetch_add_explicit((threadgroup atomic_uint*)&n_met, 1u, memory_order_relaxed);
                uint at = _284;
                if (at >= 1024u)
                {
                    continue;
                }
                found[at] = its;
                found_at[at] = i;
            }
        }
    }
    if ((!keeps) && (n_own > 0u))
    {
        uint _318 = atomic_fetch_add_explicit((threadgroup atomic_uint*)&n_met, n_own, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return n_met;
}

static inline __attribute__((always_inline))
void narrow(thread const uint& row_first, thread uint& least, thread uint& most_at, thread uint3& gl_LocalInvocationID, threadgroup uint& n_met, threadgroup uint& n_groups, constant Push& push, threadgroup uint (&groups)[512], const device X& v_219, threadgroup uint (&found)[1024], threadgroup uint (&found_at)[1024])
{
    uint above = 4294967295u;
    while ((above - least) > 1u)
    {
        uint middle = least + ((above - least) / 2u);
        uint param = row_first;
        uint param_1 = middle;
        uint param_2 = 4294967295u;
        bool param_3 = false;
        uint _428 = look_again(param, param_1, param_2, param_3, gl_LocalInvocationID, n_met, n_groups, push, groups, v_219, found, found_at);
        if (_428 >= push.k)
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
        uint param_4 = row_first;
        uint param_5 = least;
        uint param_6 = middle_1;
        bool param_7 = false;
        uint _463 = look_again(param_4, param_5, param_6, param_7, gl_LocalInvocationID, n_met, n_groups, push, groups, v_219, found, found_at);
        if (_463 >= push.k)
        {
            most_at = middle_1;
        }
        else
        {
            from = middle_1 + 1u;
        }
    }
}

kernel void top_logits(constant Push& push [[buffer(30)]], const device X& v_219 [[buffer(0)]], const device Parts& _533 [[buffer(1)]], device Out& _600 [[buffer(2)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    threadgroup uint n_met;
    threadgroup uint n_groups;
    threadgroup uint groups[512];
    threadgroup uint found[1024];
    threadgroup uint found_at[1024];
    threadgroup uint lowest;
    threadgroup uint highest[512];
    threadgroup uint n_bad;
    threadgroup float part_highest[32];
    threadgroup float part_sums[32];
    uint row = flat_group(gl_WorkGroupID, gl_NumWorkGroups);
    if (row >= push.n_rows)
    {
        return;
    }
    uint thread0 = gl_LocalInvocationID.x;
    uint row_first = push.x_first + (row * push.n);
    uint parts_first = (row * push.n_parts) * 19u;
    uint told = push.out_first + (row * (2u + (2u * push.k)));
    if (thread0 == 0u)
    {
        n_bad = 0u;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = thread0; i < (push.n_parts * 16u); i += kThreads)
    {
        highest[i] = _533.parts[((parts_first + ((i / 16u) * 19u)) + 3u) + (i % 16u)];
    }
    if (thread0 < push.n_parts)
    {
        uint first = parts_first + (thread0 * 19u);
        part_highest[thread0] = as_type<float>(_533.parts[first + 0u]);
        part_sums[thread0] = as_type<float>(_533.parts[first + 1u]);
        if (_533.parts[first + 2u] != 0u)
        {
            uint _588 = atomic_fetch_or_explicit((threadgroup atomic_uint*)&n_bad, 1u, memory_order_relaxed);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (n_bad != 0u)
    {
        if (thread0 == 0u)
        {
            _600.result[told] = 4294967295u;
        }
        return;
    }
    uint _605 = choose_groups(gl_LocalInvocationID, n_groups, push, groups, lowest, highest);
    uint least = _605;
    uint most_at = 4294967295u;
    uint param = row_first;
    uint param_1 = least;
    uint param_2 = most_at;
    bool param_3 = true;
    uint _615 = look_again(param, param_1, param_2, param_3, gl_LocalInvocationID, n_met, n_groups, push, groups, v_219, found, found_at);
    if (_615 > 1024u)
    {
        uint param_4 = row_first;
        uint param_5 = least;
        uint param_6;
        narrow(param_4, param_5, param_6, gl_LocalInvocationID, n_met, n_groups, push, groups, v_219, found, found_at);
        least = param_5;
        most_at = param_6;
        uint param_7 = row_first;
        uint param_8 = least;
        uint param_9 = most_at;
        bool param_10 = true;
        uint _634 = look_again(param_7, param_8, param_9, param_10, gl_LocalInvocationID, n_met, n_groups, push, groups, v_219, found, found_at);
    }
    uint n_found = n_met;
    for (uint i_1 = thread0; i_1 < n_found; i_1 += kThreads)
    {
        uint place = 0u;
        for (uint j = 0u; j < n_found; j++)
        {
            uint param_11 = found[j];
            uint param_12 = found_at[j];
            uint param_13 = found[i_1];
            uint param_14 = found_at[i_1];
            place += uint(is_taken(param_11, param_12, param_13, param_14) && (j != i_1));
        }
        if (place >= push.k)
        {
            continue;
        }
        _600.result[(told + 2u) + place] = found_at[i_1];
        _600.result[((told + 2u) + push.k) + place] = v_219.x[row_first + found_at[i_1]];
    }
    if (thread0 != _716)
    {
        return;
    }
    float most = part_highest[0];
    float sum = 0.0;
    for (uint part = 1u; part < push.n_parts; part++)
    {
        most = fast::max(most, part_highest[part]);
    }
    for (uint part_1 = 0u; part_1 < push.n_parts; part_1++)
    {
        sum += (part_sums[part_1] * exp(part_highest[part_1] - most));
    }
    _600.result[told] = push.k;
    _600.result[told + 1u] = as_type<uint>(sum);
}

