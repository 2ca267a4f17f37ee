// src/kernels/vulkan/attention_compressed.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
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

// Implementation of the unsigned GLSL findMSB() function
template<typename T>
inline T spvFindUMSB(T x)
{
    return select(clz(T(0)) - (clz(x) + T(1)), T(-1), x == T(0));
}

#ifndef SPIRV_CROSS_CONSTANT_ID_2
#define SPIRV_CROSS_CONSTANT_ID_2 4u
#endif
constant uint kValues = SPIRV_CROSS_CONSTANT_ID_2;
constant uint kKFormat_tmp [[function_constant(0)]];
constant uint kKFormat = is_function_constant_defined(kKFormat_tmp) ? kKFormat_tmp : 0u;
constant uint kVFormat_tmp [[function_constant(1)]];
constant uint kVFormat = is_function_constant_defined(kVFormat_tmp) ? kVFormat_tmp : 0u;

struct KvWords
{
    uint kv_words[1];
};

constant bool kWholeQuads_tmp [[function_constant(5)]];
constant bool kWholeQuads = is_function_constant_defined(kWholeQuads_tmp) ? kWholeQuads_tmp : false;
constant bool _306 = (!kWholeQuads);

struct Push
{
    uint kv_at;
    uint page_bytes;
    uint page_tokens;
    uint k_row_bytes;
    uint v_row_bytes;
    uint page_table_at;
    uint max_pages;
    uint seq_at;
    uint pos_at;
    uint q_at;
    uint out_at;
    uint softmax_at;
    uint head_dim_k;
    uint head_dim_v;
    uint n_head;
    uint n_head_kv;
    uint n_tokens;
    uint n_parts;
    uint has_first;
    uint first_at;
    float scale;
    uint keeps_sums;
    uint pages_of;
    uint main_pages_at;
};

#ifndef SPIRV_CROSS_CONSTANT_ID_7
#define SPIRV_CROSS_CONSTANT_ID_7 1u
#endif
constant uint kVLevels = SPIRV_CROSS_CONSTANT_ID_7;

struct Constants
{
    float constants[1];
};

#ifndef SPIRV_CROSS_CONSTANT_ID_8
#define SPIRV_CROSS_CONSTANT_ID_8 false
#endif
constant bool kHasResidual = SPIRV_CROSS_CONSTANT_ID_8;
constant int _441 = kHasResidual ? 128 : 1;
#ifndef SPIRV_CROSS_CONSTANT_ID_6
#define SPIRV_CROSS_CONSTANT_ID_6 1u
#endif
constant uint kKLevels = SPIRV_CROSS_CONSTANT_ID_6;
constant bool _1278 = (!kWholeQuads);

struct KvQuads
{
    uint4 kv_quads[1];
};

struct MainPages
{
    int main_pages[1];
};

constant uint _1609 = (32u * kValues);
#ifndef SPIRV_CROSS_CONSTANT_ID_3
#define SPIRV_CROSS_CONSTANT_ID_3 1u
#endif
constant uint kKPieces = SPIRV_CROSS_CONSTANT_ID_3;
constant uint row_floats = (kKPieces * 16u);
constant uint _1717 = (kValues * row_floats);

struct Q
{
    float q[1];
};

constant uint _1769 = (kValues * kKPieces);
constant uint _1770 = (_1769 * 4u);

struct PageTable
{
    int page_table[1];
};

#ifndef SPIRV_CROSS_CONSTANT_ID_4
#define SPIRV_CROSS_CONSTANT_ID_4 1u
#endif
constant uint kVPairs = SPIRV_CROSS_CONSTANT_ID_4;
constant uint _2081 = (kVPairs + 128u);
constant uint _2082 = (_2081 - 1u);
constant uint kPairsOfLane = (_2082 / 128u);
constant uint _2085 = (kValues * kPairsOfLane);
constant uint _2103 = (128u * kValues);
constant uint _2104 = (_2103 / 4u);
constant bool _2123 = (kVPairs < 128u);
constant uint kPairsAtOnce = _2123 ? kVPairs : 128u;
constant uint kStride = (128u / kPairsAtOnce);
constant uint _2126 = (kStride * kPairsAtOnce);
#ifndef SPIRV_CROSS_CONSTANT_ID_9
#define SPIRV_CROSS_CONSTANT_ID_9 8u
#endif
constant uint kValuesAtOnce = SPIRV_CROSS_CONSTANT_ID_9;
constant uint _2259 = (kValuesAtOnce * kStride);

struct First
{
    int firsts[1];
};

struct Pos
{
    int positions[1];
};

constant uint _2444 = (kValues * kPairsAtOnce);

struct Out
{
    float result[1];
};

struct Softmax
{
    float2 softmax[1];
};

struct Seq
{
    int seqs[1];
};

constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(128u, 1u, 1u);

static inline __attribute__((always_inline))
bool exists(thread const uint& row, constant Push& push, thread uint& first_row, thread uint& group_size)
{
    return (first_row + row) < (push.n_tokens * group_size);
}

static inline __attribute__((always_inline))
uint token_of(thread const uint& row, thread uint& first_row, thread uint& group_size)
{
    return (first_row + row) / group_size;
}

static inline __attribute__((always_inline))
uint head_of(thread const uint& row, thread uint& first_row, thread uint& group_size, thread uint& head_kv)
{
    return (head_kv * group_size) + ((first_row + row) % group_size);
}

static inline __attribute__((always_inline))
void load_q_tile(constant Push& push, thread uint3& gl_LocalInvocationID, thread uint& first_row, thread uint& group_size, thread uint& head_kv, const device Q& v_1741, threadgroup float4 (&q_tile)[_1770])
{
    for (uint i = gl_LocalInvocationID.x; i < _1717; i += 128u)
    {
        uint row = i / row_floats;
        uint dimension = i % row_floats;
        float value = 0.0;
        uint param = row;
        bool _1728 = exists(param, push, first_row, group_size);
        bool _1735;
        if (_1728)
        {
            _1735 = dimension < push.head_dim_k;
        }
        else
        {
            _1735 = _1728;
        }
        if (_1735)
        {
            uint param_1 = row;
            uint param_2 = row;
            value = v_1741.q[(push.q_at + (((token_of(param_1, first_row, group_size) * push.n_head) + head_of(param_2, first_row, group_size, head_kv)) * push.head_dim_k)) + dimension] * push.scale;
        }
        ((threadgroup float*)&q_tile[i / 4u])[i % 4u] = value;
    }
}

static inline __attribute__((always_inline))
uint v_format()
{
    return kVFormat;
}

static inline __attribute__((always_inline))
uint n_levels(thread const uint& format)
{
    switch (format)
    {
        case 5u:
        {
            return 8u;
        }
        case 6u:
        case 9u:
        case 10u:
        {
            return 16u;
        }
        case 7u:
        {
            return 512u;
        }
    }
    return 0u;
}

static inline __attribute__((always_inline))
uint first_level(thread const uint& format)
{
    switch (format)
    {
        case 5u:
        {
            return 0u;
        }
        case 6u:
        {
            return 8u;
        }
        case 7u:
        {
            return 512u;
        }
    }
    return 24u;
}

static inline __attribute__((always_inline))
void load_v_levels(thread uint3& gl_LocalInvocationID, threadgroup float (&v_levels)[kVLevels], const device Constants& v_413, threadgroup float (&residual_signs)[_441])
{
    uint i = gl_LocalInvocationID.x;
    for (;;)
    {
        uint _401 = v_format();
        uint param = _401;
        uint _403 = n_levels(param);
        if (i < _403)
        {
            uint param_1 = v_format();
            v_levels[i] = v_413.constants[first_level(param_1) + i];
            i += 128u;
            continue;
        }
        else
        {
            break;
        }
    }
    for (uint i_1 = gl_LocalInvocationID.x; kHasResidual && (i_1 < 128u); i_1 += 128u)
    {
        residual_signs[i_1] = v_413.constants[352u + i_1];
    }
}

static inline __attribute__((always_inline))
uint k_format()
{
    return kKFormat;
}

static inline __attribute__((always_inline))
void load_levels(thread uint3& gl_LocalInvocationID, threadgroup float (&v_levels)[kVLevels], const device Constants& v_413, threadgroup float (&residual_signs)[_441], threadgroup float (&k_levels)[kKLevels])
{
    load_v_levels(gl_LocalInvocationID, v_levels, v_413, residual_signs);
    uint i = gl_LocalInvocationID.x;
    for (;;)
    {
        uint _807 = k_format();
        uint param = _807;
        uint _809 = n_levels(param);
        if (i < _809)
        {
            uint param_1 = k_format();
            k_levels[i] = v_413.constants[first_level(param_1) + i];
            i += 128u;
            continue;
        }
        else
        {
            break;
        }
    }
}

static inline __attribute__((always_inline))
int keys_before(thread const uint& seq, thread const int& position, constant Push& push, const device MainPages& v_1462)
{
    if (push.pages_of == 0u)
    {
        return position;
    }
    int first = v_1462.main_pages[push.main_pages_at + (2u * seq)] * int(push.page_tokens);
    int last = v_1462.main_pages[(push.main_pages_at + (2u * seq)) + 1u] * int(push.page_tokens);
    int n_main = min(max((position - first), 0), max((last - first), 0));
    int _1502;
    if (push.pages_of == 2u)
    {
        _1502 = position - n_main;
    }
    else
    {
        _1502 = n_main;
    }
    return _1502;
}

static inline __attribute__((always_inline))
int keys_of(thread const uint& seq, thread const uint& token, constant Push& push, const device MainPages& v_1462, const device Pos& v_2294)
{
    uint param = seq;
    int param_1 = v_2294.positions[push.pos_at + token] + 1;
    return keys_before(param, param_1, push, v_1462);
}

static inline __attribute__((always_inline))
uint part_positions(thread const uint& n, constant Push& push)
{
    if (push.n_parts == 1u)
    {
        return 2147483647u;
    }
    uint _2620;
    if (n <= 1u)
    {
        _2620 = 1u;
    }
    else
    {
        _2620 = 2u << uint(int(spvFindUMSB(n - 1u)));
    }
    return max(128u, (_2620 / 32u));
}

static inline __attribute__((always_inline))
uint first_of(thread const uint& seq, thread const uint& token, constant Push& push, const device MainPages& v_1462, const device First& v_2274)
{
    uint _2268;
    if (push.has_first > 0u)
    {
        uint param = seq;
        int param_1 = v_2274.firsts[push.first_at + token];
        _2268 = uint(keys_before(param, param_1, push, v_1462));
    }
    else
    {
        _2268 = 0u;
    }
    return _2268;
}

static inline __attribute__((always_inline))
uint page_of(thread const uint& seq, thread const uint& key, constant Push& push, const device MainPages& v_1462)
{
    uint index = key / push.page_tokens;
    if (push.pages_of == 0u)
    {
        return index;
    }
    int first = v_1462.main_pages[push.main_pages_at + (2u * seq)];
    int last = v_1462.main_pages[(push.main_pages_at + (2u * seq)) + 1u];
    if (push.pages_of == 1u)
    {
        return index + uint(first);
    }
    uint _1556;
    if (index < uint(first))
    {
        _1556 = index;
    }
    else
    {
        _1556 = index + uint(max((last - first), 0));
    }
    return _1556;
}

static inline __attribute__((always_inline))
uint half_at(thread const uint& at, const device KvWords& v_245)
{
    return (v_245.kv_words[at >> uint(2)] >> (8u * (at & 2u))) & 65535u;
}

static inline __attribute__((always_inline))
float f32_from_f16(thread const uint& half_bits)
{
    uint _sign = (half_bits & 32768u) << uint(16);
    uint magnitude = half_bits & 32767u;
    uint subnormal = as_type<uint>(float(magnitude) * 5.9604644775390625e-08);
    uint exponent_offset = (magnitude < 31744u) ? 939524096u : 1879048192u;
    uint _227;
    if (magnitude < 1024u)
    {
        _227 = subnormal;
    }
    else
    {
        _227 = (magnitude << uint(13)) + exponent_offset;
    }
    return as_type<float>(_sign | _227);
}

static inline __attribute__((always_inline))
float residual_step(thread const uint& block, const device KvWords& v_245)
{
    uint param = block + 66u;
    return ((half_at(param, v_245) & 1u) != 0u) ? 0.0441941730678081512451171875 : (-0.0441941730678081512451171875);
}

static inline __attribute__((always_inline))
uint two_halves_at(thread const uint& at, const device KvWords& v_245)
{
    uint param = at;
    uint param_1 = at + 2u;
    return half_at(param, v_245) | (half_at(param_1, v_245) << uint(16));
}

static inline __attribute__((always_inline))
uint bits_from(thread const uint& low, thread const uint& high, thread const uint& at)
{
    uint _828;
    if (at == 0u)
    {
        _828 = low;
    }
    else
    {
        uint _835;
        if (at < 32u)
        {
            _835 = (low >> at) | (high << (32u - at));
        }
        else
        {
            _835 = high >> (at - 32u);
        }
        _828 = _835;
    }
    return _828;
}

static inline __attribute__((always_inline))
void load_compressed_k(thread const uint& format, thread const uint& row, thread const uint& piece, thread spvUnsafeArray<float4, 4>& k, const device KvWords& v_245, threadgroup float (&residual_signs)[_441], threadgroup float (&k_levels)[kKLevels])
{
    switch (format)
    {
        case 4u:
        case 6u:
        {
            uint block = row + ((piece / 2u) * 18u);
            uint shift = (piece % 2u) * 4u;
            uint param = block;
            uint param_1 = half_at(param, v_245);
            float _step = f32_from_f16(param_1);
            float4 _913;
            for (uint i = 0u; i < 4u; i++)
            {
                uint param_2 = (block + 2u) + (4u * i);
                uint codes = two_halves_at(param_2, v_245) >> shift;
                uint4 code = uint4(codes, codes >> uint(8), codes >> uint(16), codes >> uint(24)) & uint4(15u);
                if (format == 4u)
                {
                    _913 = (float4(code) - float4(8.0)) * _step;
                }
                else
                {
                    _913 = float4(k_levels[code.x], k_levels[code.y], k_levels[code.z], k_levels[code.w]) * _step;
                }
                k[i] = _913;
            }
            break;
        }
        case 5u:
        case 7u:
        {
            bool is_path = format == 7u;
            uint _953;
            if (is_path)
            {
                _953 = row + ((piece / 8u) * 52u);
            }
            else
            {
                _953 = row + ((piece / 2u) * 14u);
            }
            uint block_1 = _953;
            uint _972;
            if (is_path)
            {
                _972 = piece % 8u;
            }
            else
            {
                _972 = piece % 2u;
            }
            uint at = (block_1 + 2u) + (_972 * 6u);
            uint param_3 = at;
            uint low = two_halves_at(param_3, v_245);
            uint _989;
            if (is_path)
            {
                uint param_4 = at + 4u;
                _989 = two_halves_at(param_4, v_245);
            }
            else
            {
                uint param_5 = at + 4u;
                _989 = half_at(param_5, v_245);
            }
            uint high = _989;
            uint mask = uint(is_path ? 511 : 7);
            uint param_6 = block_1;
            uint param_7 = half_at(param_6, v_245);
            float _step_1 = f32_from_f16(param_7);
            for (uint i_1 = 0u; i_1 < 4u; i_1++)
            {
                for (uint j = 0u; j < 4u; j++)
                {
                    uint param_8 = low;
                    uint param_9 = high;
                    uint param_10 = 3u * ((4u * i_1) + j);
                    k[i_1][j] = _step_1 * k_levels[bits_from(param_8, param_9, param_10) & mask];
                }
            }
            break;
        }
        case 8u:
        {
            uint block_2 = row + ((piece / 16u) * 34u);
            uint param_11 = block_2 + 32u;
            float norm = as_type<float>(half_at(param_11, v_245) << uint(16));
            uint param_12 = block_2 + ((piece % 16u) * 2u);
            uint signs = half_at(param_12, v_245);
            for (uint i_2 = 0u; i_2 < 4u; i_2++)
            {
                bool4 is_positive = (uint4(signs >> (4u * i_2)) & uint4(1u, 2u, 4u, 8u)) != uint4(0u);
                k[i_2] = select(float4(-norm), float4(norm), is_positive);
            }
            break;
        }
        default:
        {
            uint block_3 = row + ((piece / 8u) * 82u);
            uint first = (piece % 8u) * 16u;
            uint param_13 = block_3;
            uint param_14 = half_at(param_13, v_245);
            float norm_1 = f32_from_f16(param_14);
            for (uint i_3 = 0u; i_3 < 4u; i_3++)
            {
                uint param_15 = ((block_3 + 2u) + (first / 2u)) + (2u * i_3);
                uint codes_1 = half_at(param_15, v_245);
                float4 levels = float4(k_levels[codes_1 & 15u], k_levels[(codes_1 >> uint(4)) & 15u], k_levels[(codes_1 >> uint(8)) & 15u], k_levels[codes_1 >> uint(12)]);
                if (format == 10u)
                {
                    uint at_1 = first + (4u * i_3);
                    uint param_16 = block_3;
                    levels += (float4(residual_signs[at_1], residual_signs[at_1 + 1u], residual_signs[at_1 + 2u], residual_signs[at_1 + 3u]) * residual_step(param_16, v_245));
                }
                k[i_3] = levels * norm_1;
            }
            break;
        }
    }
}

static inline __attribute__((always_inline))
float load_float(thread const uint& format, thread const uint& row, thread const uint& i, const device KvWords& v_245)
{
    switch (format)
    {
        case 1u:
        {
            uint param = row + (2u * i);
            uint param_1 = half_at(param, v_245);
            return f32_from_f16(param_1);
        }
        case 2u:
        {
            uint param_2 = row + (2u * i);
            return as_type<float>(half_at(param_2, v_245) << uint(16));
        }
    }
    return as_type<float>(v_245.kv_words[(row / 4u) + i]);
}

static inline __attribute__((always_inline))
void load_k(thread const uint& row, thread const uint& piece, thread spvUnsafeArray<float4, 4>& k, const device KvWords& v_245, constant Push& push, threadgroup float (&residual_signs)[_441], threadgroup float (&k_levels)[kKLevels], const device KvQuads& v_1345)
{
    uint format = k_format();
    if (format > 3u)
    {
        uint param = format;
        uint param_1 = row;
        uint param_2 = piece;
        spvUnsafeArray<float4, 4> param_3;
        load_compressed_k(param, param_1, param_2, param_3, v_245, residual_signs, k_levels);
        k = param_3;
        return;
    }
    if (format == 3u)
    {
        uint block = row + ((piece / 2u) * 34u);
        uint param_4 = block;
        uint param_5 = half_at(param_4, v_245);
        float _step = f32_from_f16(param_5);
        uint first = (block + 2u) + (16u * (piece % 2u));
        for (uint i = 0u; i < 4u; i++)
        {
            uint param_6 = first + (4u * i);
            int codes = int(two_halves_at(param_6, v_245));
            k[i] = float4(float(extract_bits(codes, uint(0), uint(8))), float(extract_bits(codes, uint(8), uint(8))), float(extract_bits(codes, uint(16), uint(8))), float(extract_bits(codes, uint(24), uint(8)))) * _step;
        }
    }
    else
    {
        if (_1278)
        {
            float _1311;
            for (uint i_1 = 0u; i_1 < 4u; i_1++)
            {
                for (uint j = 0u; j < 4u; j++)
                {
                    uint dimension = ((16u * piece) + (4u * i_1)) + j;
                    if (dimension < push.head_dim_k)
                    {
                        uint param_7 = format;
                        uint param_8 = row;
                        uint param_9 = dimension;
                        _1311 = load_float(param_7, param_8, param_9, v_245);
                    }
                    else
                    {
                        _1311 = 0.0;
                    }
                    k[i_1][j] = _1311;
                }
            }
        }
        else
        {
            if (format == 0u)
            {
                for (uint i_2 = 0u; i_2 < 4u; i_2++)
                {
                    k[i_2] = as_type<float4>(v_1345.kv_quads[((row / 16u) + (4u * piece)) + i_2]);
                }
            }
            else
            {
                for (uint i_3 = 0u; i_3 < 2u; i_3++)
                {
                    uint4 pairs = v_1345.kv_quads[((row / 16u) + (2u * piece)) + i_3];
                    if (format == 1u)
                    {
                        k[2u * i_3] = float4(float2(as_type<half2>(pairs.x)), float2(as_type<half2>(pairs.y)));
                        k[(2u * i_3) + 1u] = float4(float2(as_type<half2>(pairs.z)), float2(as_type<half2>(pairs.w)));
                    }
                    else
                    {
                        k[2u * i_3] = as_type<float4>(uint4(pairs.x << uint(16), pairs.x & 4294901760u, pairs.y << uint(16), pairs.y & 4294901760u));
                        k[(2u * i_3) + 1u] = as_type<float4>(uint4(pairs.z << uint(16), pairs.z & 4294901760u, pairs.w << uint(16), pairs.w & 4294901760u));
                    }
                }
            }
        }
    }
}

static inline __attribute__((always_inline))
void reduce(thread const spvUnsafeArray<float, kValues>& values, thread const bool& is_sum, threadgroup float (&reduced)[_1609], thread uint& gl_SubgroupID)
{
    spvUnsafeArray<float, kValues> results;
    float _1582;
    for (uint i = 0u; i < kValues; i++)
    {
        if (is_sum)
        {
            _1582 = simd_sum(values[i]);
        }
        else
        {
            _1582 = simd_max(values[i]);
        }
        results[i] = _1582;
    }
    bool _1598 = simd_is_first();
    if (_1598)
    {
        for (uint i_1 = 0u; i_1 < kValues; i_1++)
        {
            reduced[(gl_SubgroupID * kValues) + i_1] = results[i_1];
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

static inline __attribute__((always_inline))
uint n_reduced(thread uint& gl_NumSubgroups)
{
    return gl_NumSubgroups;
}

static inline __attribute__((always_inline))
float reduced_max(thread const uint& i, thread float& so_far, threadgroup float (&reduced)[_1609], thread uint& gl_NumSubgroups)
{
    for (uint part = 0u; part < n_reduced(gl_NumSubgroups); part++)
    {
        so_far = fast::max(so_far, reduced[(part * kValues) + i]);
    }
    return so_far;
}

static inline __attribute__((always_inline))
void weigh(thread const uint& seq, thread const uint& first, thread const uint& end, const device KvWords& v_245, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup float (&residual_signs)[_441], threadgroup float (&k_levels)[kKLevels], const device KvQuads& v_1345, const device MainPages& v_1462, threadgroup float (&reduced)[_1609], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& head_kv, threadgroup float4 (&q_tile)[_1770], const device PageTable& v_1811, threadgroup uint (&v_rows)[128], threadgroup int (&first_seen)[kValues], threadgroup int (&last_seen)[kValues], threadgroup float (&largest)[kValues], threadgroup float (&shrink)[kValues], thread spvUnsafeArray<float, kValues>& weight_sum, thread spvUnsafeArray<float2, _2085>& value_sum, threadgroup float4 (&weights)[_2104])
{
    uint lane = gl_LocalInvocationID.x;
    uint position = first + lane;
    spvUnsafeArray<float, kValues> scores;
    for (uint r = 0u; r < kValues; r++)
    {
        scores[r] = 0.0;
    }
    if (position < end)
    {
        uint param = seq;
        uint param_1 = position;
        uint page = uint(v_1811.page_table[(push.page_table_at + (seq * push.max_pages)) + page_of(param, param_1, push, v_1462)]);
        uint keys = push.kv_at + (page * push.page_bytes);
        uint values = keys + ((push.n_head_kv * push.page_tokens) * push.k_row_bytes);
        uint slot = (head_kv * push.page_tokens) + (position % push.page_tokens);
        v_rows[lane] = values + (slot * push.v_row_bytes);
        spvUnsafeArray<float4, 4> param_4;
        for (uint piece = 0u; piece < kKPieces; piece++)
        {
            uint param_2 = keys + (slot * push.k_row_bytes);
            uint param_3 = piece;
            load_k(param_2, param_3, param_4, v_245, push, residual_signs, k_levels, v_1345);
            spvUnsafeArray<float4, 4> k;
            k = param_4;
            for (uint r_1 = 0u; r_1 < kValues; r_1++)
            {
                uint at = ((r_1 * kKPieces) + piece) * 4u;
                scores[r_1] += (((dot(q_tile[at], k[0]) + dot(q_tile[at + 1u], k[1])) + dot(q_tile[at + 2u], k[2])) + dot(q_tile[at + 3u], k[3]));
            }
        }
    }
    for (uint r_2 = 0u; r_2 < kValues; r_2++)
    {
        bool _1958 = position < end;
        bool _1971;
        if (_1958)
        {
            _1971 = int(position) >= first_seen[r_2];
        }
        else
        {
            _1971 = _1958;
        }
        bool _1981;
        if (_1971)
        {
            _1981 = int(position) <= last_seen[r_2];
        }
        else
        {
            _1981 = _1971;
        }
        bool is_seen = _1981;
        if (!is_seen)
        {
            scores[r_2] = -1000000015047466219876688855040.0;
        }
    }
    spvUnsafeArray<float, kValues> param_5;
    param_5 = scores;
    bool param_6 = false;
    reduce(param_5, param_6, reduced, gl_SubgroupID);
    if (lane < kValues)
    {
        uint param_7 = lane;
        float param_8 = largest[lane];
        float _2009 = reduced_max(param_7, param_8, reduced, gl_NumSubgroups);
        float top = _2009;
        float _2017;
        if (largest[lane] == top)
        {
            _2017 = 1.0;
        }
        else
        {
            _2017 = exp(largest[lane] - top);
        }
        shrink[lane] = _2017;
        largest[lane] = top;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float _2046;
    for (uint r_3 = 0u; r_3 < kValues; r_3++)
    {
        if (scores[r_3] == (-1000000015047466219876688855040.0))
        {
            _2046 = 0.0;
        }
        else
        {
            _2046 = exp(scores[r_3] - largest[r_3]);
        }
        float weight = _2046;
        weight_sum[r_3] = (weight_sum[r_3] * shrink[r_3]) + weight;
        for (uint p = 0u; p < kPairsOfLane; p++)
        {
            uint _2092 = (r_3 * kPairsOfLane) + p;
            value_sum[_2092] *= shrink[r_3];
        }
        ((threadgroup float*)&weights[((lane * kValues) + r_3) / 4u])[r_3 % 4u] = weight;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

static inline __attribute__((always_inline))
float2 load_pair_of_floats(thread const uint& format, thread const uint& row, thread const uint& pair, const device KvWords& v_245, constant Push& push)
{
    if (_306)
    {
        uint param = format;
        uint param_1 = row;
        uint param_2 = 2u * pair;
        float _328;
        if (((2u * pair) + 1u) < push.head_dim_v)
        {
            uint param_3 = format;
            uint param_4 = row;
            uint param_5 = (2u * pair) + 1u;
            _328 = load_float(param_3, param_4, param_5, v_245);
        }
        else
        {
            _328 = 0.0;
        }
        return float2(load_float(param, param_1, param_2, v_245), _328);
    }
    uint word = v_245.kv_words[(row / 4u) + pair];
    switch (format)
    {
        case 1u:
        {
            return float2(as_type<half2>(word));
        }
        case 2u:
        {
            return as_type<float2>(uint2(word << uint(16), word & 4294901760u));
        }
    }
    return as_type<float2>(uint2(v_245.kv_words[(row / 4u) + (2u * pair)], v_245.kv_words[((row / 4u) + (2u * pair)) + 1u]));
}

static inline __attribute__((always_inline))
float2 load_v(thread const uint& row, thread const uint& pair, const device KvWords& v_245, constant Push& push, threadgroup float (&v_levels)[kVLevels], threadgroup float (&residual_signs)[_441])
{
    uint format = v_format();
    switch (format)
    {
        case 3u:
        {
            uint block = row + ((pair / 16u) * 34u);
            uint param = (block + 2u) + (2u * (pair % 16u));
            int codes = int(half_at(param, v_245));
            uint param_1 = block;
            uint param_2 = half_at(param_1, v_245);
            return float2(float(extract_bits(codes, uint(0), uint(8))), float(extract_bits(codes, uint(8), uint(8)))) * f32_from_f16(param_2);
        }
        case 4u:
        case 6u:
        {
            uint block_1 = row + ((pair / 16u) * 18u);
            uint param_3 = (block_1 + 2u) + (2u * (pair % 8u));
            uint codes_1 = half_at(param_3, v_245) >> (((pair % 16u) / 8u) * 4u);
            uint param_4 = block_1;
            uint param_5 = half_at(param_4, v_245);
            float _step = f32_from_f16(param_5);
            uint a = codes_1 & 15u;
            uint b = (codes_1 >> uint(8)) & 15u;
            if (format == 4u)
            {
                return (float2(float(a), float(b)) - float2(8.0)) * _step;
            }
            return float2(v_levels[a], v_levels[b]) * _step;
        }
        case 5u:
        {
            uint block_2 = row + ((pair / 16u) * 14u);
            uint bit = 6u * (pair % 16u);
            uint at = (block_2 + 2u) + ((bit / 16u) * 2u);
            uint param_6 = at;
            uint _595;
            if ((bit % 16u) > 10u)
            {
                uint param_7 = at + 2u;
                _595 = half_at(param_7, v_245) << uint(16);
            }
            else
            {
                _595 = 0u;
            }
            uint bits = half_at(param_6, v_245) | _595;
            uint codes_2 = bits >> (bit % 16u);
            uint param_8 = block_2;
            uint param_9 = half_at(param_8, v_245);
            return float2(v_levels[codes_2 & 7u], v_levels[(codes_2 >> uint(3)) & 7u]) * f32_from_f16(param_9);
        }
        case 7u:
        {
            uint block_3 = row + ((pair / 64u) * 52u);
            uint bit_1 = 6u * (pair % 64u);
            uint param_10 = (block_3 + 2u) + ((bit_1 / 16u) * 2u);
            uint states = two_halves_at(param_10, v_245) >> (bit_1 % 16u);
            uint param_11 = block_3;
            uint param_12 = half_at(param_11, v_245);
            return float2(v_levels[states & 511u], v_levels[(states >> uint(3)) & 511u]) * f32_from_f16(param_12);
        }
        case 8u:
        {
            uint block_4 = row + ((pair / 128u) * 34u);
            uint param_13 = block_4 + 32u;
            float norm = as_type<float>(half_at(param_13, v_245) << uint(16));
            uint param_14 = block_4 + (((pair % 128u) / 8u) * 2u);
            uint signs = half_at(param_14, v_245) >> ((pair % 8u) * 2u);
            float _702;
            if ((signs & 1u) != 0u)
            {
                _702 = norm;
            }
            else
            {
                _702 = -norm;
            }
            float _713;
            if ((signs & 2u) != 0u)
            {
                _713 = norm;
            }
            else
            {
                _713 = -norm;
            }
            return float2(_702, _713);
        }
        case 9u:
        case 10u:
        {
            uint block_5 = row + ((pair / 64u) * 82u);
            uint i = pair % 64u;
            uint param_15 = (block_5 + 2u) + (i & 4294967294u);
            uint codes_3 = half_at(param_15, v_245) >> (8u * (i & 1u));
            float2 levels = float2(v_levels[codes_3 & 15u], v_levels[(codes_3 >> uint(4)) & 15u]);
            if (format == 10u)
            {
                uint param_16 = block_5;
                levels += (float2(residual_signs[2u * i], residual_signs[(2u * i) + 1u]) * residual_step(param_16, v_245));
            }
            uint param_17 = block_5;
            uint param_18 = half_at(param_17, v_245);
            return levels * f32_from_f16(param_18);
        }
    }
    uint param_19 = format;
    uint param_20 = row;
    uint param_21 = pair;
    return load_pair_of_floats(param_19, param_20, param_21, v_245, push);
}

static inline __attribute__((always_inline))
void add_values(thread const uint& n, const device KvWords& v_245, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup float (&v_levels)[kVLevels], threadgroup float (&residual_signs)[_441], threadgroup uint (&v_rows)[128], thread spvUnsafeArray<float2, _2085>& value_sum, threadgroup float4 (&weights)[_2104])
{
    uint lane = gl_LocalInvocationID.x;
    if (lane >= _2126)
    {
        return;
    }
    spvUnsafeArray<float2, kValuesAtOnce> v;
    for (uint p = 0u; p < kPairsOfLane; p++)
    {
        uint pair = (lane % kPairsAtOnce) + (p * 128u);
        if ((2u * pair) >= push.head_dim_v)
        {
            continue;
        }
        uint _2155 = lane / kPairsAtOnce;
        for (uint first = _2155; first < n; first += _2259)
        {
            for (uint i = 0u; i < kValuesAtOnce; i++)
            {
                uint param = v_rows[min((first + (i * kStride)), (n - 1u))];
                uint param_1 = pair;
                v[i] = load_v(param, param_1, v_245, push, v_levels, residual_signs);
            }
            for (uint i_1 = 0u; i_1 < kValuesAtOnce; i_1++)
            {
                uint position = first + (i_1 * kStride);
                if (position >= n)
                {
                    break;
                }
                for (uint r = 0u; r < kValues; r += 4u)
                {
                    float4 weight = weights[((position * kValues) + r) / 4u];
                    for (uint j = 0u; j < 4u; j++)
                    {
                        uint _2241 = ((r + j) * kPairsOfLane) + p;
                        value_sum[_2241] += (v[i_1] * weight[j]);
                    }
                }
            }
        }
    }
}

static inline __attribute__((always_inline))
void attend(thread const uint& first_token, thread const uint& last_token, thread const uint& seq, thread const uint& first, thread const uint& end, const device KvWords& v_245, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup float (&v_levels)[kVLevels], threadgroup float (&residual_signs)[_441], threadgroup float (&k_levels)[kKLevels], const device KvQuads& v_1345, const device MainPages& v_1462, threadgroup float (&reduced)[_1609], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup float4 (&q_tile)[_1770], const device PageTable& v_1811, threadgroup uint (&v_rows)[128], threadgroup int (&first_seen)[kValues], threadgroup int (&last_seen)[kValues], threadgroup float (&largest)[kValues], threadgroup float (&shrink)[kValues], thread spvUnsafeArray<float, kValues>& weight_sum, thread spvUnsafeArray<float2, _2085>& value_sum, threadgroup float4 (&weights)[_2104], const device First& v_2274, const device Pos& v_2294)
{
    uint lane = gl_LocalInvocationID.x;
    if (lane < kValues)
    {
        uint param = lane;
        bool _2318 = exists(param, push, first_row, group_size);
        bool _2326;
        if (_2318)
        {
            uint param_1 = lane;
            _2326 = token_of(param_1, first_row, group_size) >= first_token;
        }
        else
        {
            _2326 = _2318;
        }
        bool _2334;
        if (_2326)
        {
            uint param_2 = lane;
            _2334 = token_of(param_2, first_row, group_size) <= last_token;
        }
        else
        {
            _2334 = _2326;
        }
        bool is_among = _2334;
        int _2337;
        if (is_among)
        {
            uint param_3 = lane;
            uint param_4 = seq;
            uint param_5 = token_of(param_3, first_row, group_size);
            _2337 = keys_of(param_4, param_5, push, v_1462, v_2294) - 1;
        }
        else
        {
            _2337 = -1;
        }
        last_seen[lane] = _2337;
        int _2354;
        if (is_among)
        {
            uint param_6 = lane;
            uint param_7 = seq;
            uint param_8 = token_of(param_6, first_row, group_size);
            _2354 = int(first_of(param_7, param_8, push, v_1462, v_2274));
        }
        else
        {
            _2354 = 0;
        }
        first_seen[lane] = _2354;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint block = first; block < end; block += 128u)
    {
        uint param_9 = seq;
        uint param_10 = block;
        uint param_11 = end;
        weigh(param_9, param_10, param_11, v_245, push, gl_LocalInvocationID, residual_signs, k_levels, v_1345, v_1462, reduced, gl_SubgroupID, gl_NumSubgroups, head_kv, q_tile, v_1811, v_rows, first_seen, last_seen, largest, shrink, weight_sum, value_sum, weights);
        uint param_12 = min(128u, (end - block));
        add_values(param_12, v_245, push, gl_LocalInvocationID, v_levels, residual_signs, v_rows, value_sum, weights);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

static inline __attribute__((always_inline))
void share_sums(thread const uint& p, thread const uint& component, thread uint3& gl_LocalInvocationID, thread spvUnsafeArray<float2, _2085>& value_sum, threadgroup float4 (&weights)[_2104])
{
    uint lane = gl_LocalInvocationID.x;
    float4 sums;
    for (uint r = 0u; r < kValues; r += 4u)
    {
        for (uint j = 0u; j < 4u; j++)
        {
            sums[j] = value_sum[((r + j) * kPairsOfLane) + p][component];
        }
        weights[((lane * kValues) + r) / 4u] = sums;
    }
}

static inline __attribute__((always_inline))
float reduced_sum(thread const uint& i, threadgroup float (&reduced)[_1609], thread uint& gl_NumSubgroups)
{
    float sum = 0.0;
    for (uint part = 0u; part < n_reduced(gl_NumSubgroups); part++)
    {
        sum += reduced[(part * kValues) + i];
    }
    return sum;
}

static inline __attribute__((always_inline))
void store_sums(thread const uint& p, thread const uint& component, thread const uint& part, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup float (&reduced)[_1609], thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup float (&largest)[kValues], threadgroup float4 (&weights)[_2104], device Out& v_2522, device Softmax& v_2558)
{
    float _2537;
    for (uint i = gl_LocalInvocationID.x; i < _2444; i += 128u)
    {
        uint row = i / kPairsAtOnce;
        uint dimension = (2u * ((i % kPairsAtOnce) + (p * 128u))) + component;
        uint param = row;
        bool _2461 = !exists(param, push, first_row, group_size);
        bool _2469;
        if (!_2461)
        {
            _2469 = dimension >= push.head_dim_v;
        }
        else
        {
            _2469 = _2461;
        }
        if (_2469)
        {
            continue;
        }
        float sum = 0.0;
        for (uint n = 0u; n < kStride; n++)
        {
            sum += ((threadgroup float*)&weights[((((n * kPairsAtOnce) + (i % kPairsAtOnce)) * kValues) + row) / 4u])[row % 4u];
        }
        uint param_1 = row;
        float total = reduced_sum(param_1, reduced, gl_NumSubgroups);
        uint param_2 = row;
        uint param_3 = row;
        uint vector = (((part * push.n_tokens) + token_of(param_2, first_row, group_size)) * push.n_head) + head_of(param_3, first_row, group_size, head_kv);
        if (push.keeps_sums == 0u)
        {
            _2537 = sum / total;
        }
        else
        {
            _2537 = sum;
        }
        v_2522.result[(push.out_at + (vector * push.head_dim_v)) + dimension] = _2537;
        if ((push.keeps_sums != 0u) && (dimension == 0u))
        {
            v_2558.softmax[push.softmax_at + vector] = float2(largest[row], total);
        }
    }
}

static inline __attribute__((always_inline))
void store(thread const uint& part, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup float (&reduced)[_1609], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup float (&largest)[kValues], thread spvUnsafeArray<float, kValues>& weight_sum, thread spvUnsafeArray<float2, _2085>& value_sum, threadgroup float4 (&weights)[_2104], device Out& v_2522, device Softmax& v_2558)
{
    spvUnsafeArray<float, kValues> param;
    param = weight_sum;
    bool param_1 = true;
    reduce(param, param_1, reduced, gl_SubgroupID);
    for (uint p = 0u; p < kPairsOfLane; p++)
    {
        for (uint component = 0u; component < 2u; component++)
        {
            uint param_2 = p;
            uint param_3 = component;
            share_sums(param_2, param_3, gl_LocalInvocationID, value_sum, weights);
            threadgroup_barrier(mem_flags::mem_threadgroup);
            uint param_4 = p;
            uint param_5 = component;
            uint param_6 = part;
            store_sums(param_4, param_5, param_6, push, gl_LocalInvocationID, reduced, gl_NumSubgroups, first_row, group_size, head_kv, largest, weights, v_2522, v_2558);
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
    }
}

kernel void attention_compressed(const device KvWords& v_245 [[buffer(0)]], constant Push& push [[buffer(30)]], const device KvQuads& v_1345 [[buffer(1)]], const device PageTable& v_1811 [[buffer(2)]], const device Seq& _2713 [[buffer(3)]], const device Pos& v_2294 [[buffer(4)]], const device Q& v_1741 [[buffer(5)]], device Out& v_2522 [[buffer(6)]], device Softmax& v_2558 [[buffer(7)]], const device First& v_2274 [[buffer(8)]], const device Constants& v_413 [[buffer(9)]], const device MainPages& v_1462 [[buffer(10)]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]], uint gl_SubgroupID [[simdgroup_index_in_threadgroup]], uint gl_NumSubgroups [[simdgroups_per_threadgroup]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]])
{
    threadgroup float v_levels[kVLevels];
    threadgroup float residual_signs[_441];
    threadgroup float k_levels[kKLevels];
    threadgroup float reduced[_1609];
    threadgroup float4 q_tile[_1770];
    threadgroup uint v_rows[128];
    threadgroup int first_seen[kValues];
    threadgroup int last_seen[kValues];
    threadgroup float largest[kValues];
    threadgroup float shrink[kValues];
    threadgroup float4 weights[_2104];
    uint head_kv = gl_WorkGroupID.y;
    uint group_size = push.n_head / push.n_head_kv;
    uint first_row = gl_WorkGroupID.x * kValues;
    uint part = gl_WorkGroupID.z;
    spvUnsafeArray<float, kValues> weight_sum;
    spvUnsafeArray<float2, _2085> value_sum;
    for (uint r = 0u; r < kValues; r++)
    {
        weight_sum[r] = 0.0;
        for (uint p = 0u; p < kPairsOfLane; p++)
        {
            value_sum[(r * kPairsOfLane) + p] = float2(0.0);
        }
    }
    if (gl_LocalInvocationID.x < kValues)
    {
        largest[gl_LocalInvocationID.x] = -1000000015047466219876688855040.0;
    }
    load_q_tile(push, gl_LocalInvocationID, first_row, group_size, head_kv, v_1741, q_tile);
    load_levels(gl_LocalInvocationID, v_levels, v_413, residual_signs, k_levels);
    uint n_rows = min(kValues, ((push.n_tokens * group_size) - first_row));
    uint param = n_rows - 1u;
    uint last_of_tile = token_of(param, first_row, group_size);
    uint param_1 = 0u;
    uint token = token_of(param_1, first_row, group_size);
    uint _2797;
    while (token <= last_of_tile)
    {
        uint seq = uint(_2713.seqs[push.seq_at + token]);
        uint param_2 = seq;
        uint param_3 = token;
        int n_keys = keys_of(param_2, param_3, push, v_1462, v_2294);
        uint param_4 = uint(n_keys);
        uint n_positions = part_positions(param_4, push);
        uint last_token = token;
        uint param_5 = seq;
        uint param_6 = token;
        uint first_position = first_of(param_5, param_6, push, v_1462, v_2274);
        for (;;)
        {
            bool _2747 = last_token < last_of_tile;
            bool _2760;
            if (_2747)
            {
                _2760 = uint(_2713.seqs[(push.seq_at + last_token) + 1u]) == seq;
            }
            else
            {
                _2760 = _2747;
            }
            if (_2760)
            {
                uint param_7 = seq;
                uint param_8 = last_token + 1u;
                int keys_of_next = keys_of(param_7, param_8, push, v_1462, v_2294);
                uint param_9 = uint(keys_of_next);
                if (part_positions(param_9, push) != n_positions)
                {
                    break;
                }
                last_token++;
                n_keys = max(n_keys, keys_of_next);
                uint param_10 = seq;
                uint param_11 = last_token;
                first_position = min(first_position, first_of(param_10, param_11, push, v_1462, v_2274));
                continue;
            }
            else
            {
                break;
            }
        }
        uint first = part * n_positions;
        if (first_position > first)
        {
            _2797 = ((first_position - first) / 128u) * 128u;
        }
        else
        {
            _2797 = 0u;
        }
        uint left_out = _2797;
        uint param_12 = token;
        uint param_13 = last_token;
        uint param_14 = seq;
        uint param_15 = first + left_out;
        uint param_16 = min(uint(n_keys), (first + n_positions));
        attend(param_12, param_13, param_14, param_15, param_16, v_245, push, gl_LocalInvocationID, v_levels, residual_signs, k_levels, v_1345, v_1462, reduced, gl_SubgroupID, gl_NumSubgroups, first_row, group_size, head_kv, q_tile, v_1811, v_rows, first_seen, last_seen, largest, shrink, weight_sum, value_sum, weights, v_2274, v_2294);
        token = last_token + 1u;
    }
    uint param_17 = part;
    store(param_17, push, gl_LocalInvocationID, reduced, gl_SubgroupID, gl_NumSubgroups, first_row, group_size, head_kv, largest, weight_sum, value_sum, weights, v_2522, v_2558);
}

