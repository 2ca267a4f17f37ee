// src/kernels/vulkan/kv_copy.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
#pragma clang diagnostic ignored "-Wmissing-prototypes"
#pragma clang diagnostic ignored "-Wunused-variable"

#include <metal_stdlib>
#include <simd/simd.h>
#include <metal_atomic>

using namespace metal;

struct PageTable
{
    int page_table[1];
};

struct Push
{
    uint n;
    uint copies_first;
    uint table_first;
    uint n_head;
    uint max_pages;
    uint page_tokens;
    uint page_halves;
    uint first_half;
    uint row_halves;
};

struct Pages
{
    uint pages[1];
};

struct Copies
{
    int copies[1];
};

constant uint kHasWords_tmp [[function_constant(0)]];
constant uint kHasWords = is_function_constant_defined(kHasWords_tmp) ? kHasWords_tmp : 1u;
constant bool _187 = (kHasWords != 0u);
constant bool _238 = (kHasWords != 0u);
constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(128u, 1u, 1u);

static inline __attribute__((always_inline))
uint flat_group(thread uint3& gl_WorkGroupID, thread uint3& gl_NumWorkGroups)
{
    return (gl_WorkGroupID.y * gl_NumWorkGroups.x) + gl_WorkGroupID.x;
}

static inline __attribute__((always_inline))
uint row_at(thread const uint& seq, thread const uint& position, thread const uint& head, const device PageTable& v_44, constant Push& push)
{
    uint page = uint(v_44.page_table[(push.table_first + (seq * push.max_pages)) + (position / push.page_tokens)]);
    return (push.first_half + (page * push.page_halves)) + (((head * push.page_tokens) + (position % push.page_tokens)) * push.row_halves);
}

static inline __attribute__((always_inline))
void copy_half(thread const uint& from, thread const uint& to, device Pages& v_98)
{
    uint bits = (v_98.pages[from >> uint(1)] >> ((from & 1u) * 16u)) & 65535u;
    uint shift = (to & 1u) * 16u;
    uint _122 = atomic_fetch_and_explicit((device atomic_uint*)&v_98.pages[to >> uint(1)], ~(65535u << shift), memory_order_relaxed);
    uint _129 = atomic_fetch_or_explicit((device atomic_uint*)&v_98.pages[to >> uint(1)], bits << shift, memory_order_relaxed);
}

kernel void kv_copy(constant Push& push [[buffer(30)]], const device Copies& _160 [[buffer(0)]], const device PageTable& v_44 [[buffer(1)]], device Pages& v_98 [[buffer(2)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    uint group = flat_group(gl_WorkGroupID, gl_NumWorkGroups);
    if (group >= push.n)
    {
        return;
    }
    uint head = group % push.n_head;
    uint copy = push.copies_first + ((group / push.n_head) * 4u);
    uint from = uint(_160.copies[copy]);
    uint to = uint(_160.copies[copy + 1u]);
    uint first = uint(_160.copies[copy + 2u]);
    uint n_positions = uint(_160.copies[copy + 3u]);
    uint _188;
    if (_187)
    {
        _188 = push.row_halves / 2u;
    }
    else
    {
        _188 = push.row_halves;
    }
    uint n_units = _188;
    for (uint i = gl_LocalInvocationID.x; i < (n_positions * n_units); i += 128u)
    {
        uint position = first + (i / n_units);
        uint unit = i % n_units;
        uint param = from;
        uint param_1 = position;
        uint param_2 = head;
        uint from_row = row_at(param, param_1, param_2, v_44, push);
        uint param_3 = to;
        uint param_4 = position;
        uint param_5 = head;
        uint to_row = row_at(param_3, param_4, param_5, v_44, push);
        if (_238)
        {
            v_98.pages[(to_row / 2u) + unit] = v_98.pages[(from_row / 2u) + unit];
        }
        else
        {
            uint param_6 = from_row + unit;
            uint param_7 = to_row + unit;
            copy_half(param_6, param_7, v_98);
        }
    }
}

