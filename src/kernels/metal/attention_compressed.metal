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
constant bool _364 = (!kWholeQuads);

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
constant int _499 = kHasResidual ? 128 : 1;
#ifndef SPIRV_CROSS_CONSTANT_ID_6
#define SPIRV_CROSS_CONSTANT_ID_6 1u
#endif
constant uint kKLevels = SPIRV_CROSS_CONSTANT_ID_6;
constant bool _1335 = (!kWholeQuads);

struct KvQuads
{
    uint4 kv_quads[1];
};

struct MainPages
{
    int main_pages[1];
};

constant uint _1666 = (32u * kValues);
#ifndef SPIRV_CROSS_CONSTANT_ID_3
#define SPIRV_CROSS_CONSTANT_ID_3 1u
#endif
constant uint kKPieces = SPIRV_CROSS_CONSTANT_ID_3;
constant uint row_floats = (kKPieces * 16u);
constant uint _1796 = (kValues * row_floats);

struct Q
{
    float q[1];
};

constant uint _1848 = (kValues * kKPieces);
constant uint _1849 = (_1848 * 4u);

struct PageTable
{
    int page_table[1];
};

#ifndef SPIRV_CROSS_CONSTANT_ID_4
#define SPIRV_CROSS_CONSTANT_ID_4 1u
#endif
constant uint kVPairs = SPIRV_CROSS_CONSTANT_ID_4;
constant uint _2150 = (kVPairs + 128u);
constant uint _2151 = (_2150 - 1u);
constant uint kPairsOfLane = (_2151 / 128u);
constant uint _2154 = (kValues * kPairsOfLane);
constant uint _2172 = (128u * kValues);
constant uint _2173 = (_2172 / 4u);
constant bool _2261 = (kVPairs < 128u);
constant uint kPairsAtOnce = _2261 ? kVPairs : 128u;
constant uint kStride = (128u / kPairsAtOnce);
constant uint _2264 = (kStride * kPairsAtOnce);
#ifndef SPIRV_CROSS_CONSTANT_ID_9
#define SPIRV_CROSS_CONSTANT_ID_9 8u
#endif
constant uint kValuesAtOnce = SPIRV_CROSS_CONSTANT_ID_9;
constant uint _2431 = (kValuesAtOnce * kStride);

struct First
{
    int firsts[1];
};

struct Pos
{
    int positions[1];
};

constant uint _2638 = (kValues * kPairsAtOnce);

struct Out
{
    float result[1];
};

struct Softmax
{
    float2 softmax[1];
};

constant uint _2846 = (kValues * kPairsOfLane);

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
void load_q_tile(constant Push& push, thread uint3& gl_LocalInvocationID, thread uint& first_row, thread uint& group_size, thread uint& head_kv, const device Q& v_1820, threadgroup float4 (&q_tile)[_1849])
{
    for (uint i = gl_LocalInvocationID.x; i < _1796; i += 128u)
    {
        uint row = i / row_floats;
        uint dimension = i % row_floats;
        float value = 0.0;
        uint param = row;
        bool _1807 = exists(param, push, first_row, group_size);
        bool _1814;
        if (_1807)
        {
            _1814 = dimension < push.head_dim_k;
        }
        else
        {
            _1814 = _1807;
        }
        if (_1814)
        {
            uint param_1 = row;
            uint param_2 = row;
            value = v_1820.q[(push.q_at + (((token_of(param_1, first_row, group_size) * push.n_head) + head_of(param_2, first_row, group_size, head_kv)) * push.head_dim_k)) + dimension] * push.scale;
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
void load_v_levels(thread uint3& gl_LocalInvocationID, threadgroup float (&v_levels)[kVLevels], const device Constants& v_471, threadgroup float (&residual_signs)[_499])
{
    uint i = gl_LocalInvocationID.x;
    for (;;)
    {
        uint _459 = v_format();
        uint param = _459;
        uint _461 = n_levels(param);
        if (i < _461)
        {
            uint param_1 = v_format();
            v_levels[i] = v_471.constants[first_level(param_1) + i];
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
        residual_signs[i_1] = v_471.constants[352u + i_1];
    }
}

static inline __attribute__((always_inline))
uint k_format()
{
    return kKFormat;
}

static inline __attribute__((always_inline))
void load_levels(thread uint3& gl_LocalInvocationID, threadgroup float (&v_levels)[kVLevels], const device Constants& v_471, threadgroup float (&residual_signs)[_499], threadgroup float (&k_levels)[kKLevels])
{
    load_v_levels(gl_LocalInvocationID, v_levels, v_471, residual_signs);
    uint i = gl_LocalInvocationID.x;
    for (;;)
    {
        uint _864 = k_format();
        uint param = _864;
        uint _866 = n_levels(param);
        if (i < _866)
        {
            uint param_1 = k_format();
            k_levels[i] = v_471.constants[first_level(param_1) + i];
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
int keys_before(thread const uint& seq, thread const int& position, constant Push& push, const device MainPages& v_1519)
{
    if (push.pages_of == 0u)
    {
        return position;
    }
    int first = v_1519.main_pages[push.main_pages_at + (2u * seq)] * int(push.page_tokens);
    int last = v_1519.main_pages[(push.main_pages_at + (2u * seq)) + 1u] * int(push.page_tokens);
    int n_main = min(max((position - first), 0), max((last - first), 0));
    int _1559;
    if (push.pages_of == 2u)
    {
        _1559 = position - n_main;
    }
    else
    {
        _1559 = n_main;
    }
    return _1559;
}

static inline __attribute__((always_inline))
int keys_of(thread const uint& seq, thread const uint& token, constant Push& push, const device MainPages& v_1519, const device Pos& v_2466)
{
    uint param = seq;
    int param_1 = v_2466.positions[push.pos_at + token] + 1;
    return keys_before(param, param_1, push, v_1519);
}

static inline __attribute__((always_inline))
uint part_positions(thread const uint& n, constant Push& push)
{
    if (push.n_parts == 1u)
    {
        return 2147483647u;
    }
    uint _2813;
    if (n <= 1u)
    {
        _2813 = 1u;
    }
    else
    {
        _2813 = 2u << uint(int(spvFindUMSB(n - 1u)));
    }
    return max(128u, (_2813 / 32u));
}

static inline __attribute__((always_inline))
uint first_of(thread const uint& seq, thread const uint& token, constant Push& push, const device MainPages& v_1519, const device First& v_2446)
{
    uint _2440;
    if (push.has_first > 0u)
    {
        uint param = seq;
        int param_1 = v_2446.firsts[push.first_at + token];
        _2440 = uint(keys_before(param, param_1, push, v_1519));
    }
    else
    {
        _2440 = 0u;
    }
    return _2440;
}

static inline __attribute__((always_inline))
uint page_of(thread const uint& seq, thread const uint& key, constant Push& push, const device MainPages& v_1519)
{
    uint index = key / push.page_tokens;
    if (push.pages_of == 0u)
    {
        return index;
    }
    int first = v_1519.main_pages[push.main_pages_at + (2u * seq)];
    int last = v_1519.main_pages[(push.main_pages_at + (2u * seq)) + 1u];
    if (push.pages_of == 1u)
    {
        return index + uint(first);
    }
    uint _1613;
    if (index < uint(first))
    {
        _1613 = index;
    }
    else
    {
        _1613 = index + uint(max((last - first), 0));
    }
    return _1613;
}

static inline __attribute__((always_inline))
uint half_at(thread const uint& at, const device KvWords& v_303)
{
    return (v_303.kv_words[at >> uint(2)] >> (8u * (at & 2u))) & 65535u;
}

static inline __attribute__((always_inline))
float f32_from_f16(thread const uint& half_bits)
{
    uint _sign = (half_bits & 32768u) << uint(16);
    uint magnitude = half_bits & 32767u;
    uint subnormal = as_type<uint>(float(magnitude) * 5.9604644775390625e-08);
    uint exponent_offset = (magnitude < 31744u) ? 939524096u : 1879048192u;
    uint _285;
    if (magnitude < 1024u)
    {
        _285 = subnormal;
    }
    else
    {
        _285 = (magnitude << uint(13)) + exponent_offset;
    }
    return as_type<float>(_sign | _285);
}

static inline __attribute__((always_inline))
float residual_step(thread const uint& block, const device KvWords& v_303)
{
    uint param = block + 66u;
    return ((half_at(param, v_303) & 1u) != 0u) ? 0.0441941730678081512451171875 : (-0.0441941730678081512451171875);
}

static inline __attribute__((always_inline))
uint two_halves_at(thread const uint& at, const device KvWords& v_303)
{
    uint param = at;
    uint param_1 = at + 2u;
    return half_at(param, v_303) | (half_at(param_1, v_303) << uint(16));
}

static inline __attribute__((always_inline))
uint bits_from(thread const uint& low, thread const uint& high, thread const uint& at)
{
    uint _885;
    if (at == 0u)
    {
        _885 = low;
    }
    else
    {
        uint _892;
        if (at < 32u)
        {
            _892 = (low >> at) | (high << (32u - at));
        }
        else
        {
            _892 = high >> (at - 32u);
        }
        _885 = _892;
    }
    return _885;
}

static inline __attribute__((always_inline))
void load_compressed_k(thread const uint& format, thread const uint& row, thread const uint& piece, thread spvUnsafeArray<float4, 4>& k, const device KvWords& v_303, threadgroup float (&residual_signs)[_499], threadgroup float (&k_levels)[kKLevels])
{
    switch (format)
    {
        case 4u:
        case 6u:
        {
            uint block = row + ((piece / 2u) * 18u);
            uint shift = (piece % 2u) * 4u;
            uint param = block;
            uint param_1 = half_at(param, v_303);
            float _step = f32_from_f16(param_1);
            float4 _970;
            for (uint i = 0u; i < 4u; i++)
            {
                uint param_2 = (block + 2u) + (4u * i);
                uint codes = two_halves_at(param_2, v_303) >> shift;
                uint4 code = uint4(codes, codes >> uint(8), codes >> uint(16), codes >> uint(24)) & uint4(15u);
                if (format == 4u)
                {
                    _970 = (float4(code) - float4(8.0)) * _step;
                }
                else
                {
                    _970 = float4(k_levels[code.x], k_levels[code.y], k_levels[code.z], k_levels[code.w]) * _step;
                }
                k[i] = _970;
            }
            break;
        }
        case 5u:
        case 7u:
        {
            bool is_path = format == 7u;
            uint _1010;
            if (is_path)
            {
                _1010 = row + ((piece / 8u) * 52u);
            }
            else
            {
                _1010 = row + ((piece / 2u) * 14u);
            }
            uint block_1 = _1010;
            uint _1029;
            if (is_path)
            {
                _1029 = piece % 8u;
            }
            else
            {
                _1029 = piece % 2u;
            }
            uint at = (block_1 + 2u) + (_1029 * 6u);
            uint param_3 = at;
            uint low = two_halves_at(param_3, v_303);
            uint _1046;
            if (is_path)
            {
                uint param_4 = at + 4u;
                _1046 = two_halves_at(param_4, v_303);
            }
            else
            {
                uint param_5 = at + 4u;
                _1046 = half_at(param_5, v_303);
            }
            uint high = _1046;
            uint mask = uint(is_path ? 511 : 7);
            uint param_6 = block_1;
            uint param_7 = half_at(param_6, v_303);
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
            float norm = as_type<float>(half_at(param_11, v_303) << uint(16));
            uint param_12 = block_2 + ((piece % 16u) * 2u);
            uint signs = half_at(param_12, v_303);
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
            uint param_14 = half_at(param_13, v_303);
            float norm_1 = f32_from_f16(param_14);
            for (uint i_3 = 0u; i_3 < 4u; i_3++)
            {
                uint param_15 = ((block_3 + 2u) + (first / 2u)) + (2u * i_3);
                uint codes_1 = half_at(param_15, v_303);
                float4 levels = float4(k_levels[codes_1 & 15u], k_levels[(codes_1 >> uint(4)) & 15u], k_levels[(codes_1 >> uint(8)) & 15u], k_levels[codes_1 >> uint(12)]);
                if (format == 10u)
                {
                    uint at_1 = first + (4u * i_3);
                    uint param_16 = block_3;
                    levels += (float4(residual_signs[at_1], residual_signs[at_1 + 1u], residual_signs[at_1 + 2u], residual_signs[at_1 + 3u]) * residual_step(param_16, v_303));
                }
                k[i_3] = levels * norm_1;
            }
            break;
        }
    }
}

static inline __attribute__((always_inline))
float load_float(thread const uint& format, thread const uint& row, thread const uint& i, const device KvWords& v_303)
{
    switch (format)
    {
        case 1u:
        {
            uint param = row + (2u * i);
            uint param_1 = half_at(param, v_303);
            return f32_from_f16(param_1);
        }
        case 2u:
        {
            uint param_2 = row + (2u * i);
            return as_type<float>(half_at(param_2, v_303) << uint(16));
        }
    }
    return as_type<float>(v_303.kv_words[(row / 4u) + i]);
}

static inline __attribute__((always_inline))
void load_k(thread const uint& row, thread const uint& piece, thread spvUnsafeArray<float4, 4>& k, const device KvWords& v_303, constant Push& push, threadgroup float (&residual_signs)[_499], threadgroup float (&k_levels)[kKLevels], const device KvQuads& v_1402)
{
    uint format = k_format();
    if (format > 3u)
    {
        uint param = format;
        uint param_1 = row;
        uint param_2 = piece;
        spvUnsafeArray<float4, 4> param_3;
        load_compressed_k(param, param_1, param_2, param_3, v_303, residual_signs, k_levels);
        k = param_3;
        return;
    }
    if (format == 3u)
    {
        uint block = row + ((piece / 2u) * 34u);
        uint param_4 = block;
        uint param_5 = half_at(param_4, v_303);
        float _step = f32_from_f16(param_5);
        uint first = (block + 2u) + (16u * (piece % 2u));
        for (uint i = 0u; i < 4u; i++)
        {
            uint param_6 = first + (4u * i);
            int codes = int(two_halves_at(param_6, v_303));
            k[i] = float4(float(extract_bits(codes, uint(0), uint(8))), float(extract_bits(codes, uint(8), uint(8))), float(extract_bits(codes, uint(16), uint(8))), float(extract_bits(codes, uint(24), uint(8)))) * _step;
        }
    }
    else
    {
        if (_1335)
        {
            float _1368;
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
                        _1368 = load_float(param_7, param_8, param_9, v_303);
                    }
                    else
                    {
                        _1368 = 0.0;
                    }
                    k[i_1][j] = _1368;
                }
            }
        }
        else
        {
            if (format == 0u)
            {
                for (uint i_2 = 0u; i_2 < 4u; i_2++)
                {
                    k[i_2] = as_type<float4>(v_1402.kv_quads[((row / 16u) + (4u * piece)) + i_2]);
                }
            }
            else
            {
                for (uint i_3 = 0u; i_3 < 2u; i_3++)
                {
                    uint4 pairs = v_1402.kv_quads[((row / 16u) + (2u * piece)) + i_3];
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
bool is_seen(thread const uint& row, thread const uint& position, threadgroup int (&first_seen)[kValues], threadgroup int (&last_seen)[kValues])
{
    bool _1772 = int(position) >= first_seen[row];
    bool _1782;
    if (_1772)
    {
        _1782 = int(position) <= last_seen[row];
    }
    else
    {
        _1782 = _1772;
    }
    return _1782;
}

static inline __attribute__((always_inline))
uint magnitude_bits(thread const float& value)
{
    return as_type<uint>(value) & 2147483647u;
}

static inline __attribute__((always_inline))
bool is_finite(thread const float& value)
{
    float param = value;
    return magnitude_bits(param) < 2139095040u;
}

static inline __attribute__((always_inline))
float finite_or_nan(thread const float& value)
{
    float param = value;
    uint _214;
    if (is_finite(param))
    {
        _214 = as_type<uint>(value);
    }
    else
    {
        _214 = 2143289344u;
    }
    return as_type<float>(_214);
}

static inline __attribute__((always_inline))
void reduce(thread const spvUnsafeArray<float, kValues>& values, thread const bool& is_sum, threadgroup float (&reduced)[_1666], thread uint& gl_SubgroupID)
{
    spvUnsafeArray<float, kValues> results;
    float _1639;
    for (uint i = 0u; i < kValues; i++)
    {
        if (is_sum)
        {
            _1639 = simd_sum(values[i]);
        }
        else
        {
            _1639 = simd_max(values[i]);
        }
        results[i] = _1639;
    }
    bool _1655 = simd_is_first();
    if (_1655)
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
float reduced_max(thread const uint& i, thread float& so_far, threadgroup float (&reduced)[_1666], thread uint& gl_NumSubgroups)
{
    for (uint part = 0u; part < n_reduced(gl_NumSubgroups); part++)
    {
        so_far = fast::max(so_far, reduced[(part * kValues) + i]);
    }
    return so_far;
}

static inline __attribute__((always_inline))
void weigh(thread const uint& seq, thread const uint& first, thread const uint& end, const device KvWords& v_303, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup float (&residual_signs)[_499], threadgroup float (&k_levels)[kKLevels], const device KvQuads& v_1402, const device MainPages& v_1519, threadgroup float (&reduced)[_1666], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& head_kv, threadgroup int (&first_seen)[kValues], threadgroup int (&last_seen)[kValues], threadgroup float4 (&q_tile)[_1849], const device PageTable& v_1890, threadgroup uint (&v_rows)[128], threadgroup float (&largest)[kValues], threadgroup float (&shrink)[kValues], thread spvUnsafeArray<float, kValues>& weight_sum, thread spvUnsafeArray<float2, _2154>& value_sum, threadgroup float4 (&weights)[_2173])
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
        uint page = uint(v_1890.page_table[(push.page_table_at + (seq * push.max_pages)) + page_of(param, param_1, push, v_1519)]);
        uint keys = push.kv_at + (page * push.page_bytes);
        uint values = keys + ((push.n_head_kv * push.page_tokens) * push.k_row_bytes);
        uint slot = (head_kv * push.page_tokens) + (position % push.page_tokens);
        v_rows[lane] = values + (slot * push.v_row_bytes);
        spvUnsafeArray<float4, 4> param_4;
        for (uint piece = 0u; piece < kKPieces; piece++)
        {
            uint param_2 = keys + (slot * push.k_row_bytes);
            uint param_3 = piece;
            load_k(param_2, param_3, param_4, v_303, push, residual_signs, k_levels, v_1402);
            spvUnsafeArray<float4, 4> k;
            k = param_4;
            for (uint r_1 = 0u; r_1 < kValues; r_1++)
            {
                uint at = ((r_1 * kKPieces) + piece) * 4u;
                scores[r_1] += (((dot(q_tile[at], k[0]) + dot(q_tile[at + 1u], k[1])) + dot(q_tile[at + 2u], k[2])) + dot(q_tile[at + 3u], k[3]));
            }
        }
    }
    float _2046;
    for (uint r_2 = 0u; r_2 < kValues; r_2++)
    {
        bool _2037 = position < end;
        bool _2045;
        if (_2037)
        {
            uint param_5 = r_2;
            uint param_6 = position;
            _2045 = is_seen(param_5, param_6, first_seen, last_seen);
        }
        else
        {
            _2045 = _2037;
        }
        if (_2045)
        {
            float param_7 = scores[r_2];
            _2046 = finite_or_nan(param_7);
        }
        else
        {
            _2046 = -1000000015047466219876688855040.0;
        }
        scores[r_2] = _2046;
    }
    spvUnsafeArray<float, kValues> param_8;
    param_8 = scores;
    bool param_9 = false;
    reduce(param_8, param_9, reduced, gl_SubgroupID);
    if (lane < kValues)
    {
        uint param_10 = lane;
        float param_11 = largest[lane];
        float _2078 = reduced_max(param_10, param_11, reduced, gl_NumSubgroups);
        float top = _2078;
        float _2086;
        if (largest[lane] == top)
        {
            _2086 = 1.0;
        }
        else
        {
            _2086 = exp(largest[lane] - top);
        }
        shrink[lane] = _2086;
        largest[lane] = top;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float _2115;
    for (uint r_3 = 0u; r_3 < kValues; r_3++)
    {
        if (scores[r_3] == (-1000000015047466219876688855040.0))
        {
            _2115 = 0.0;
        }
        else
        {
            _2115 = exp(scores[r_3] - largest[r_3]);
        }
        float weight = _2115;
        weight_sum[r_3] = (weight_sum[r_3] * shrink[r_3]) + weight;
        for (uint p = 0u; p < kPairsOfLane; p++)
        {
            uint _2161 = (r_3 * kPairsOfLane) + p;
            value_sum[_2161] *= shrink[r_3];
        }
        ((threadgroup float*)&weights[((lane * kValues) + r_3) / 4u])[r_3 % 4u] = weight;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

static inline __attribute__((always_inline))
float2 load_pair_of_floats(thread const uint& format, thread const uint& row, thread const uint& pair, const device KvWords& v_303, constant Push& push)
{
    if (_364)
    {
        uint param = format;
        uint param_1 = row;
        uint param_2 = 2u * pair;
        float _386;
        if (((2u * pair) + 1u) < push.head_dim_v)
        {
            uint param_3 = format;
            uint param_4 = row;
            uint param_5 = (2u * pair) + 1u;
            _386 = load_float(param_3, param_4, param_5, v_303);
        }
        else
        {
            _386 = 0.0;
        }
        return float2(load_float(param, param_1, param_2, v_303), _386);
    }
    uint word = v_303.kv_words[(row / 4u) + pair];
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
    return as_type<float2>(uint2(v_303.kv_words[(row / 4u) + (2u * pair)], v_303.kv_words[((row / 4u) + (2u * pair)) + 1u]));
}

static inline __attribute__((always_inline))
float2 load_v(thread const uint& row, thread const uint& pair, const device KvWords& v_303, constant Push& push, threadgroup float (&v_levels)[kVLevels], threadgroup float (&residual_signs)[_499])
{
    uint format = v_format();
    switch (format)
    {
        case 3u:
        {
            uint block = row + ((pair / 16u) * 34u);
            uint param = (block + 2u) + (2u * (pair % 16u));
            int codes = int(half_at(param, v_303));
            uint param_1 = block;
            uint param_2 = half_at(param_1, v_303);
            return float2(float(extract_bits(codes, uint(0), uint(8))), float(extract_bits(codes, uint(8), uint(8)))) * f32_from_f16(param_2);
        }
        case 4u:
        case 6u:
        {
            uint block_1 = row + ((pair / 16u) * 18u);
            uint param_3 = (block_1 + 2u) + (2u * (pair % 8u));
            uint codes_1 = half_at(param_3, v_303) >> (((pair % 16u) / 8u) * 4u);
            uint param_4 = block_1;
            uint param_5 = half_at(param_4, v_303);
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
            uint _653;
            if ((bit % 16u) > 10u)
            {
                uint param_7 = at + 2u;
                _653 = half_at(param_7, v_303) << uint(16);
            }
            else
            {
                _653 = 0u;
            }
            uint bits = half_at(param_6, v_303) | _653;
            uint codes_2 = bits >> (bit % 16u);
            uint param_8 = block_2;
            uint param_9 = half_at(param_8, v_303);
            return float2(v_levels[codes_2 & 7u], v_levels[(codes_2 >> uint(3)) & 7u]) * f32_from_f16(param_9);
        }
        case 7u:
        {
            uint block_3 = row + ((pair / 64u) * 52u);
            uint bit_1 = 6u * (pair % 64u);
            uint param_10 = (block_3 + 2u) + ((bit_1 / 16u) * 2u);
            uint states = two_halves_at(param_10, v_303) >> (bit_1 % 16u);
            uint param_11 = block_3;
            uint param_12 = half_at(param_11, v_303);
            return float2(v_levels[states & 511u], v_levels[(states >> uint(3)) & 511u]) * f32_from_f16(param_12);
        }
        case 8u:
        {
            uint block_4 = row + ((pair / 128u) * 34u);
            uint param_13 = block_4 + 32u;
            float norm = as_type<float>(half_at(param_13, v_303) << uint(16));
            uint param_14 = block_4 + (((pair % 128u) / 8u) * 2u);
            uint signs = half_at(param_14, v_303) >> ((pair % 8u) * 2u);
            float _760;
            if ((signs & 1u) != 0u)
            {
                _760 = norm;
            }
            else
            {
                _760 = -norm;
            }
            float _771;
            if ((signs & 2u) != 0u)
            {
                _771 = norm;
            }
            else
            {
                _771 = -norm;
            }
            return float2(_760, _771);
        }
        case 9u:
        case 10u:
        {
            uint block_5 = row + ((pair / 64u) * 82u);
            uint i = pair % 64u;
            uint param_15 = (block_5 + 2u) + (i & 4294967294u);
            uint codes_3 = half_at(param_15, v_303) >> (8u * (i & 1u));
            float2 levels = float2(v_levels[codes_3 & 15u], v_levels[(codes_3 >> uint(4)) & 15u]);
            if (format == 10u)
            {
                uint param_16 = block_5;
                levels += (float2(residual_signs[2u * i], residual_signs[(2u * i) + 1u]) * residual_step(param_16, v_303));
            }
            uint param_17 = block_5;
            uint param_18 = half_at(param_17, v_303);
            return levels * f32_from_f16(param_18);
        }
    }
    uint param_19 = format;
    uint param_20 = row;
    uint param_21 = pair;
    return load_pair_of_floats(param_19, param_20, param_21, v_303, push);
}

static inline __attribute__((always_inline))
void leave_out(thread const uint& position, thread const uint& p, thread float2& v, threadgroup int (&first_seen)[kValues], threadgroup int (&last_seen)[kValues], thread spvUnsafeArray<uint, kPairsOfLane>& damaged)
{
    float param = v.x;
    bool is_first = !is_finite(param);
    float param_1 = v.y;
    bool is_second = !is_finite(param_1);
    if ((!is_first) && (!is_second))
    {
        return;
    }
    uint seeing = 0u;
    uint _2222;
    for (uint r = 0u; r < kValues; r++)
    {
        uint param_2 = r;
        uint param_3 = position;
        if (is_seen(param_2, param_3, first_seen, last_seen))
        {
            _2222 = 1u << r;
        }
        else
        {
            _2222 = 0u;
        }
        seeing |= _2222;
    }
    if (is_first)
    {
        damaged[p] |= seeing;
        v.x = 0.0;
    }
    if (is_second)
    {
        damaged[p] |= (seeing << 16u);
        v.y = 0.0;
    }
}

static inline __attribute__((always_inline))
void add_values(thread const uint& block, thread const uint& n, const device KvWords& v_303, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup float (&v_levels)[kVLevels], threadgroup float (&residual_signs)[_499], threadgroup int (&first_seen)[kValues], threadgroup int (&last_seen)[kValues], threadgroup uint (&v_rows)[128], thread spvUnsafeArray<float2, _2154>& value_sum, threadgroup float4 (&weights)[_2173], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, thread bool& is_careful)
{
    uint lane = gl_LocalInvocationID.x;
    if (lane >= _2264)
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
        uint _2293 = lane / kPairsAtOnce;
        for (uint first = _2293; first < n; first += _2431)
        {
            for (uint i = 0u; i < kValuesAtOnce; i++)
            {
                uint param = v_rows[min((first + (i * kStride)), (n - 1u))];
                uint param_1 = pair;
                v[i] = load_v(param, param_1, v_303, push, v_levels, residual_signs);
            }
            if (is_careful)
            {
                for (uint i_1 = 0u; i_1 < kValuesAtOnce; i_1++)
                {
                    uint param_2 = block + min((first + (i_1 * kStride)), (n - 1u));
                    uint param_3 = p;
                    float2 param_4 = v[i_1];
                    leave_out(param_2, param_3, param_4, first_seen, last_seen, damaged);
                    v[i_1] = param_4;
                }
            }
            for (uint i_2 = 0u; i_2 < kValuesAtOnce; i_2++)
            {
                uint position = first + (i_2 * kStride);
                if (position >= n)
                {
                    break;
                }
                for (uint r = 0u; r < kValues; r += 4u)
                {
                    float4 weight = weights[((position * kValues) + r) / 4u];
                    for (uint j = 0u; j < 4u; j++)
                    {
                        uint _2413 = ((r + j) * kPairsOfLane) + p;
                        value_sum[_2413] += (v[i_2] * weight[j]);
                    }
                }
            }
        }
    }
}

static inline __attribute__((always_inline))
void attend(thread const uint& first_token, thread const uint& last_token, thread const uint& seq, thread const uint& first, thread const uint& end, const device KvWords& v_303, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup float (&v_levels)[kVLevels], threadgroup float (&residual_signs)[_499], threadgroup float (&k_levels)[kKLevels], const device KvQuads& v_1402, const device MainPages& v_1519, threadgroup float (&reduced)[_1666], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup int (&first_seen)[kValues], threadgroup int (&last_seen)[kValues], threadgroup float4 (&q_tile)[_1849], const device PageTable& v_1890, threadgroup uint (&v_rows)[128], threadgroup float (&largest)[kValues], threadgroup float (&shrink)[kValues], thread spvUnsafeArray<float, kValues>& weight_sum, thread spvUnsafeArray<float2, _2154>& value_sum, threadgroup float4 (&weights)[_2173], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, thread bool& is_careful, const device First& v_2446, const device Pos& v_2466)
{
    uint lane = gl_LocalInvocationID.x;
    if (lane < kValues)
    {
        uint param = lane;
        bool _2490 = exists(param, push, first_row, group_size);
        bool _2498;
        if (_2490)
        {
            uint param_1 = lane;
            _2498 = token_of(param_1, first_row, group_size) >= first_token;
        }
        else
        {
            _2498 = _2490;
        }
        bool _2506;
        if (_2498)
        {
            uint param_2 = lane;
            _2506 = token_of(param_2, first_row, group_size) <= last_token;
        }
        else
        {
            _2506 = _2498;
        }
        bool is_among = _2506;
        int _2509;
        if (is_among)
        {
            uint param_3 = lane;
            uint param_4 = seq;
            uint param_5 = token_of(param_3, first_row, group_size);
            _2509 = keys_of(param_4, param_5, push, v_1519, v_2466) - 1;
        }
        else
        {
            _2509 = -1;
        }
        last_seen[lane] = _2509;
        int _2526;
        if (is_among)
        {
            uint param_6 = lane;
            uint param_7 = seq;
            uint param_8 = token_of(param_6, first_row, group_size);
            _2526 = int(first_of(param_7, param_8, push, v_1519, v_2446));
        }
        else
        {
            _2526 = 0;
        }
        first_seen[lane] = _2526;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint block = first; block < end; block += 128u)
    {
        uint param_9 = seq;
        uint param_10 = block;
        uint param_11 = end;
        weigh(param_9, param_10, param_11, v_303, push, gl_LocalInvocationID, residual_signs, k_levels, v_1402, v_1519, reduced, gl_SubgroupID, gl_NumSubgroups, head_kv, first_seen, last_seen, q_tile, v_1890, v_rows, largest, shrink, weight_sum, value_sum, weights);
        uint param_12 = block;
        uint param_13 = min(128u, (end - block));
        add_values(param_12, param_13, v_303, push, gl_LocalInvocationID, v_levels, residual_signs, first_seen, last_seen, v_rows, value_sum, weights, damaged, is_careful);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

static inline __attribute__((always_inline))
void sum_up(thread const uint& part, const device KvWords& v_303, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup float (&v_levels)[kVLevels], threadgroup float (&residual_signs)[_499], threadgroup float (&k_levels)[kKLevels], const device KvQuads& v_1402, const device MainPages& v_1519, threadgroup float (&reduced)[_1666], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup int (&first_seen)[kValues], threadgroup int (&last_seen)[kValues], threadgroup float4 (&q_tile)[_1849], const device PageTable& v_1890, threadgroup uint (&v_rows)[128], threadgroup float (&largest)[kValues], threadgroup float (&shrink)[kValues], thread spvUnsafeArray<float, kValues>& weight_sum, thread spvUnsafeArray<float2, _2154>& value_sum, threadgroup float4 (&weights)[_2173], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, thread bool& is_careful, const device First& v_2446, const device Pos& v_2466, const device Seq& v_2945)
{
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
    uint n_rows = min(kValues, ((push.n_tokens * group_size) - first_row));
    uint param = n_rows - 1u;
    uint last_of_tile = token_of(param, first_row, group_size);
    uint param_1 = 0u;
    uint token = token_of(param_1, first_row, group_size);
    uint _3029;
    while (token <= last_of_tile)
    {
        uint seq = uint(v_2945.seqs[push.seq_at + token]);
        uint param_2 = seq;
        uint param_3 = token;
        int n_keys = keys_of(param_2, param_3, push, v_1519, v_2466);
        uint param_4 = uint(n_keys);
        uint n_positions = part_positions(param_4, push);
        uint last_token = token;
        uint param_5 = seq;
        uint param_6 = token;
        uint first_position = first_of(param_5, param_6, push, v_1519, v_2446);
        for (;;)
        {
            bool _2979 = last_token < last_of_tile;
            bool _2992;
            if (_2979)
            {
                _2992 = uint(v_2945.seqs[(push.seq_at + last_token) + 1u]) == seq;
            }
            else
            {
                _2992 = _2979;
            }
            if (_2992)
            {
                uint param_7 = seq;
                uint param_8 = last_token + 1u;
                int keys_of_next = keys_of(param_7, param_8, push, v_1519, v_2466);
                uint param_9 = uint(keys_of_next);
                if (part_positions(param_9, push) != n_positions)
                {
                    break;
                }
                last_token++;
                n_keys = max(n_keys, keys_of_next);
                uint param_10 = seq;
                uint param_11 = last_token;
                first_position = min(first_position, first_of(param_10, param_11, push, v_1519, v_2446));
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
            _3029 = ((first_position - first) / 128u) * 128u;
        }
        else
        {
            _3029 = 0u;
        }
        uint left_out = _3029;
        uint param_12 = token;
        uint param_13 = last_token;
        uint param_14 = seq;
        uint param_15 = first + left_out;
        uint param_16 = min(uint(n_keys), (first + n_positions));
        attend(param_12, param_13, param_14, param_15, param_16, v_303, push, gl_LocalInvocationID, v_levels, residual_signs, k_levels, v_1402, v_1519, reduced, gl_SubgroupID, gl_NumSubgroups, first_row, group_size, head_kv, first_seen, last_seen, q_tile, v_1890, v_rows, largest, shrink, weight_sum, value_sum, weights, damaged, is_careful, v_2446, v_2466);
        token = last_token + 1u;
    }
}

static inline __attribute__((always_inline))
bool are_sums_damaged(threadgroup float (&reduced)[_1666], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread spvUnsafeArray<float2, _2154>& value_sum)
{
    spvUnsafeArray<float, kValues> found;
    for (uint r = 0u; r < kValues; r++)
    {
        found[r] = 0.0;
    }
    for (uint i = 0u; i < _2846; i++)
    {
        float param = value_sum[i].x;
        bool _2853 = !is_finite(param);
        bool _2863;
        if (!_2853)
        {
            float param_1 = value_sum[i].y;
            _2863 = !is_finite(param_1);
        }
        else
        {
            _2863 = _2853;
        }
        if (_2863)
        {
            found[0] = 1.0;
        }
    }
    spvUnsafeArray<float, kValues> param_2;
    param_2 = found;
    bool param_3 = false;
    reduce(param_2, param_3, reduced, gl_SubgroupID);
    uint param_4 = 0u;
    float param_5 = 0.0;
    float _2876 = reduced_max(param_4, param_5, reduced, gl_NumSubgroups);
    bool are_damaged = _2876 > 0.0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return are_damaged;
}

static inline __attribute__((always_inline))
void share_sums(thread const uint& p, thread const uint& component, thread uint3& gl_LocalInvocationID, thread spvUnsafeArray<float2, _2154>& value_sum, threadgroup float4 (&weights)[_2173], thread spvUnsafeArray<uint, kPairsOfLane>& damaged)
{
    uint lane = gl_LocalInvocationID.x;
    float4 sums;
    float _2602;
    for (uint r = 0u; r < kValues; r += 4u)
    {
        for (uint j = 0u; j < 4u; j++)
        {
            bool is_damaged = ((damaged[p] >> ((r + j) + (component * 16u))) & 1u) != 0u;
            if (is_damaged)
            {
                _2602 = as_type<float>(2143289344u);
            }
            else
            {
                _2602 = value_sum[((r + j) * kPairsOfLane) + p][component];
            }
            sums[j] = _2602;
        }
        weights[((lane * kValues) + r) / 4u] = sums;
    }
}

static inline __attribute__((always_inline))
float reduced_sum(thread const uint& i, threadgroup float (&reduced)[_1666], thread uint& gl_NumSubgroups)
{
    float sum = 0.0;
    for (uint part = 0u; part < n_reduced(gl_NumSubgroups); part++)
    {
        sum += reduced[(part * kValues) + i];
    }
    return sum;
}

static inline __attribute__((always_inline))
void store_sums(thread const uint& p, thread const uint& component, thread const uint& part, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup float (&reduced)[_1666], thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup float (&largest)[kValues], threadgroup float4 (&weights)[_2173], device Out& v_2716, device Softmax& v_2752)
{
    float _2731;
    for (uint i = gl_LocalInvocationID.x; i < _2638; i += 128u)
    {
        uint row = i / kPairsAtOnce;
        uint dimension = (2u * ((i % kPairsAtOnce) + (p * 128u))) + component;
        uint param = row;
        bool _2655 = !exists(param, push, first_row, group_size);
        bool _2663;
        if (!_2655)
        {
            _2663 = dimension >= push.head_dim_v;
        }
        else
        {
            _2663 = _2655;
        }
        if (_2663)
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
            _2731 = sum / total;
        }
        else
        {
            _2731 = sum;
        }
        v_2716.result[(push.out_at + (vector * push.head_dim_v)) + dimension] = _2731;
        if ((push.keeps_sums != 0u) && (dimension == 0u))
        {
            v_2752.softmax[push.softmax_at + vector] = float2(largest[row], total);
        }
    }
}

static inline __attribute__((always_inline))
void store(thread const uint& part, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup float (&reduced)[_1666], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup float (&largest)[kValues], thread spvUnsafeArray<float, kValues>& weight_sum, thread spvUnsafeArray<float2, _2154>& value_sum, threadgroup float4 (&weights)[_2173], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, device Out& v_2716, device Softmax& v_2752)
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
            share_sums(param_2, param_3, gl_LocalInvocationID, value_sum, weights, damaged);
            threadgroup_barrier(mem_flags::mem_threadgroup);
            uint param_4 = p;
            uint param_5 = component;
            uint param_6 = part;
            store_sums(param_4, param_5, param_6, push, gl_LocalInvocationID, reduced, gl_NumSubgroups, first_row, group_size, head_kv, largest, weights, v_2716, v_2752);
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
    }
}

kernel void attention_compressed(const device KvWords& v_303 [[buffer(0)]], constant Push& push [[buffer(30)]], const device KvQuads& v_1402 [[buffer(1)]], const device PageTable& v_1890 [[buffer(2)]], const device Seq& v_2945 [[buffer(3)]], const device Pos& v_2466 [[buffer(4)]], const device Q& v_1820 [[buffer(5)]], device Out& v_2716 [[buffer(6)]], device Softmax& v_2752 [[buffer(7)]], const device First& v_2446 [[buffer(8)]], const device Constants& v_471 [[buffer(9)]], const device MainPages& v_1519 [[buffer(10)]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]], uint gl_SubgroupID [[simdgroup_index_in_threadgroup]], uint gl_NumSubgroups [[simdgroups_per_threadgroup]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]])
{
    threadgroup float v_levels[kVLevels];
    threadgroup float residual_signs[_499];
    threadgroup float k_levels[kKLevels];
    threadgroup float reduced[_1666];
    threadgroup int first_seen[kValues];
    threadgroup int last_seen[kValues];
    threadgroup float4 q_tile[_1849];
    threadgroup uint v_rows[128];
    threadgroup float largest[kValues];
    threadgroup float shrink[kValues];
    threadgroup float4 weights[_2173];
    uint head_kv = gl_WorkGroupID.y;
    uint group_size = push.n_head / push.n_head_kv;
    uint first_row = gl_WorkGroupID.x * kValues;
    uint part = gl_WorkGroupID.z;
    spvUnsafeArray<float, kValues> weight_sum;
    spvUnsafeArray<float2, _2154> value_sum;
    spvUnsafeArray<uint, kPairsOfLane> damaged;
    bool is_careful;
    for (uint p = 0u; p < kPairsOfLane; p++)
    {
        damaged[p] = 0u;
    }
    load_q_tile(push, gl_LocalInvocationID, first_row, group_size, head_kv, v_1820, q_tile);
    load_levels(gl_LocalInvocationID, v_levels, v_471, residual_signs, k_levels);
    is_careful = false;
    for (;;)
    {
        uint param = part;
        sum_up(param, v_303, push, gl_LocalInvocationID, v_levels, residual_signs, k_levels, v_1402, v_1519, reduced, gl_SubgroupID, gl_NumSubgroups, first_row, group_size, head_kv, first_seen, last_seen, q_tile, v_1890, v_rows, largest, shrink, weight_sum, value_sum, weights, damaged, is_careful, v_2446, v_2466, v_2945);
        bool _3100;
        if (!is_careful)
        {
            bool _3098 = are_sums_damaged(reduced, gl_SubgroupID, gl_NumSubgroups, value_sum);
            _3100 = !_3098;
        }
        else
        {
            _3100 = is_careful;
        }
        if (_3100)
        {
            break;
        }
        is_careful = true;
        continue;
    }
    uint param_1 = part;
    store(param_1, push, gl_LocalInvocationID, reduced, gl_SubgroupID, gl_NumSubgroups, first_row, group_size, head_kv, largest, weight_sum, value_sum, weights, damaged, v_2716, v_2752);
}

