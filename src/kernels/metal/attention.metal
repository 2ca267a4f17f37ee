// src/kernels/vulkan/attention.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
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
constant bool _397 = (!kWholeQuads);

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
    uint merged_at;
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
constant int _531 = kHasResidual ? 128 : 1;
#ifndef SPIRV_CROSS_CONSTANT_ID_6
#define SPIRV_CROSS_CONSTANT_ID_6 1u
#endif
constant uint kKLevels = SPIRV_CROSS_CONSTANT_ID_6;
constant bool _684 = (!kWholeQuads);

struct KvQuads
{
    uint4 kv_quads[1];
};

constant uint _898 = (32u * kValues);

struct MainPages
{
    int main_pages[1];
};

struct Seq
{
    int seqs[1];
};

struct First
{
    int firsts[1];
};

struct Pos
{
    int positions[1];
};

#ifndef SPIRV_CROSS_CONSTANT_ID_3
#define SPIRV_CROSS_CONSTANT_ID_3 1u
#endif
constant uint kKPieces = SPIRV_CROSS_CONSTANT_ID_3;
constant uint row_floats = (kKPieces * 16u);
constant uint _1209 = (kValues * row_floats);

struct Q
{
    float q[1];
};

constant uint _1253 = (kValues * kKPieces);
constant uint _1254 = (_1253 * 4u);

struct PageTable
{
    int page_table[1];
};

#ifndef SPIRV_CROSS_CONSTANT_ID_11
#define SPIRV_CROSS_CONSTANT_ID_11 1u
#endif
constant uint kPiecesAtOnce = SPIRV_CROSS_CONSTANT_ID_11;
constant uint _1419 = (kKPieces - 1u);
#ifndef SPIRV_CROSS_CONSTANT_ID_4
#define SPIRV_CROSS_CONSTANT_ID_4 1u
#endif
constant uint kVPairs = SPIRV_CROSS_CONSTANT_ID_4;
constant uint _1635 = (kVPairs + 128u);
constant uint _1636 = (_1635 - 1u);
constant uint kPairsOfLane = (_1636 / 128u);
constant uint _1639 = (kValues * kPairsOfLane);
constant uint _1657 = (128u * kValues);
constant uint _1658 = (_1657 / 4u);
constant uint _1659 = (_1658 * 1u);
constant bool _1803 = (kVPairs < 128u);
constant uint kPairsAtOnce = _1803 ? kVPairs : 128u;
#ifndef SPIRV_CROSS_CONSTANT_ID_9
#define SPIRV_CROSS_CONSTANT_ID_9 8u
#endif
constant uint kValuesAtOnce = SPIRV_CROSS_CONSTANT_ID_9;
constant uint kStride = (128u / kPairsAtOnce);
constant uint _1843 = (kStride * kPairsAtOnce);
constant uint _2003 = (kValuesAtOnce * kStride);
constant uint n = (kPairsAtOnce * 1u);
constant uint _2212 = (kValues * n);

struct Merged
{
    float merged[1];
};

struct Out
{
    float result[1];
};

struct Softmax
{
    float2 softmax[1];
};

#ifndef SPIRV_CROSS_CONSTANT_ID_10
#define SPIRV_CROSS_CONSTANT_ID_10 false
#endif
constant bool kMerges = SPIRV_CROSS_CONSTANT_ID_10;
constant uint _2416 = (kValues * 32u);
constant uint _2417 = kMerges ? _2416 : 1u;

struct Done
{
    uint n_done[1];
};

constant uint _2853 = (kValues * kPairsOfLane);
constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(128u, 1u, 1u);

static inline __attribute__((always_inline))
void find_rows(thread uint& first_row, thread uint3& gl_WorkGroupID)
{
    first_row = gl_WorkGroupID.x * kValues;
}

static inline __attribute__((always_inline))
uint token_of(thread const uint& row, thread uint& first_row, thread uint& group_size)
{
    return (first_row + row) / group_size;
}

static inline __attribute__((always_inline))
uint last_token_of_tile(constant Push& push, thread uint& first_row, thread uint& group_size)
{
    uint param = min(kValues, ((push.n_tokens * group_size) - first_row)) - 1u;
    return token_of(param, first_row, group_size);
}

static inline __attribute__((always_inline))
uint seq_of(thread const uint& token, constant Push& push, const device Seq& v_1143)
{
    return uint(v_1143.seqs[push.seq_at + token]);
}

static inline __attribute__((always_inline))
int keys_before(thread const uint& seq, thread const int& position, constant Push& push, const device MainPages& v_1031)
{
    if (push.pages_of == 0u)
    {
        return position;
    }
    int first = v_1031.main_pages[push.main_pages_at + (2u * seq)] * int(push.page_tokens);
    int last = v_1031.main_pages[(push.main_pages_at + (2u * seq)) + 1u] * int(push.page_tokens);
    int n_main = min(max((position - first), 0), max((last - first), 0));
    int _1071;
    if (push.pages_of == 2u)
    {
        _1071 = position - n_main;
    }
    else
    {
        _1071 = n_main;
    }
    return _1071;
}

static inline __attribute__((always_inline))
int keys_of(thread const uint& seq, thread const uint& token, constant Push& push, const device MainPages& v_1031, const device Pos& v_1184)
{
    uint param = seq;
    int param_1 = v_1184.positions[push.pos_at + token] + 1;
    return keys_before(param, param_1, push, v_1031);
}

static inline __attribute__((always_inline))
uint part_positions(thread const uint& n_1, constant Push& push)
{
    if (push.n_parts == 1u)
    {
        return 2147483647u;
    }
    uint _2761;
    if (n_1 <= 1u)
    {
        _2761 = 1u;
    }
    else
    {
        _2761 = 2u << uint(int(spvFindUMSB(n_1 - 1u)));
    }
    return max(128u, (_2761 / 32u));
}

static inline __attribute__((always_inline))
uint parts_of_tile(constant Push& push, thread uint& first_row, thread uint& group_size, const device MainPages& v_1031, const device Seq& v_1143, const device Pos& v_1184)
{
    uint n_parts = 1u;
    uint param = 0u;
    uint _2810 = token_of(param, first_row, group_size);
    for (uint token = _2810; token <= last_token_of_tile(push, first_row, group_size); token++)
    {
        uint param_1 = token;
        uint param_2 = seq_of(param_1, push, v_1143);
        uint param_3 = token;
        uint n_keys = uint(max(keys_of(param_2, param_3, push, v_1031, v_1184), 1));
        uint param_4 = n_keys;
        n_parts = max(n_parts, (((n_keys - 1u) / part_positions(param_4, push)) + 1u));
    }
    return min(n_parts, push.n_parts);
}

static inline __attribute__((always_inline))
bool exists(thread const uint& row, constant Push& push, thread uint& first_row, thread uint& group_size)
{
    return (first_row + row) < (push.n_tokens * group_size);
}

static inline __attribute__((always_inline))
uint vector_of(thread const uint& row, constant Push& push, thread uint& first_row, thread uint& group_size, thread uint& head_kv)
{
    uint param = row;
    return ((token_of(param, first_row, group_size) * push.n_head) + (head_kv * group_size)) + ((first_row + row) % group_size);
}

static inline __attribute__((always_inline))
void load_q_tile(constant Push& push, thread uint3& gl_LocalInvocationID, thread uint& first_row, thread uint& group_size, thread uint& head_kv, const device Q& v_1233, threadgroup float4 (&q_tile)[_1254])
{
    for (uint i = gl_LocalInvocationID.x; i < _1209; i += 128u)
    {
        uint row = i / row_floats;
        uint dimension = i % row_floats;
        float value = 0.0;
        uint param = row;
        bool _1220 = exists(param, push, first_row, group_size);
        bool _1227;
        if (_1220)
        {
            _1227 = dimension < push.head_dim_k;
        }
        else
        {
            _1227 = _1220;
        }
        if (_1227)
        {
            uint param_1 = row;
            value = v_1233.q[(push.q_at + (vector_of(param_1, push, first_row, group_size, head_kv) * push.head_dim_k)) + dimension] * push.scale;
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
void load_v_levels(thread uint3& gl_LocalInvocationID, threadgroup float (&v_levels)[kVLevels], const device Constants& v_503, threadgroup float (&residual_signs)[_531])
{
    uint i = gl_LocalInvocationID.x;
    for (;;)
    {
        uint _491 = v_format();
        uint param = _491;
        uint _493 = n_levels(param);
        if (i < _493)
        {
            uint param_1 = v_format();
            v_levels[i] = v_503.constants[first_level(param_1) + i];
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
        residual_signs[i_1] = v_503.constants[352u + i_1];
    }
}

static inline __attribute__((always_inline))
uint k_format()
{
    return kKFormat;
}

static inline __attribute__((always_inline))
void load_levels(thread uint3& gl_LocalInvocationID, threadgroup float (&v_levels)[kVLevels], const device Constants& v_503, threadgroup float (&residual_signs)[_531], threadgroup float (&k_levels)[kKLevels])
{
    load_v_levels(gl_LocalInvocationID, v_levels, v_503, residual_signs);
    uint i = gl_LocalInvocationID.x;
    for (;;)
    {
        uint _601 = k_format();
        uint param = _601;
        uint _603 = n_levels(param);
        if (i < _603)
        {
            uint param_1 = k_format();
            k_levels[i] = v_503.constants[first_level(param_1) + i];
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
uint first_of(thread const uint& seq, thread const uint& token, constant Push& push, const device MainPages& v_1031, const device First& v_1164)
{
    uint _1158;
    if (push.has_first > 0u)
    {
        uint param = seq;
        int param_1 = v_1164.firsts[push.first_at + token];
        _1158 = uint(keys_before(param, param_1, push, v_1031));
    }
    else
    {
        _1158 = 0u;
    }
    return _1158;
}

static inline __attribute__((always_inline))
uint2 seen_positions(thread const uint& part, thread const uint& n_keys, thread const uint& first_position, constant Push& push)
{
    uint param = n_keys;
    uint n_positions = part_positions(param, push);
    uint first = part * n_positions;
    uint _2786;
    if (first_position > first)
    {
        _2786 = ((first_position - first) / 128u) * 128u;
    }
    else
    {
        _2786 = 0u;
    }
    uint left_out = _2786;
    return uint2(first + left_out, min(n_keys, (first + n_positions)));
}

static inline __attribute__((always_inline))
uint page_of(thread const uint& seq, thread const uint& key, constant Push& push, const device MainPages& v_1031)
{
    uint index = key / push.page_tokens;
    if (push.pages_of == 0u)
    {
        return index;
    }
    int first = v_1031.main_pages[push.main_pages_at + (2u * seq)];
    int last = v_1031.main_pages[(push.main_pages_at + (2u * seq)) + 1u];
    if (push.pages_of == 1u)
    {
        return index + uint(first);
    }
    uint _1125;
    if (index < uint(first))
    {
        _1125 = index;
    }
    else
    {
        _1125 = index + uint(max((last - first), 0));
    }
    return _1125;
}

static inline __attribute__((always_inline))
void find_block(thread const uint& seq, thread const uint& first, thread const uint& end, constant Push& push, thread uint3& gl_LocalInvocationID, thread uint& head_kv, const device MainPages& v_1031, const device PageTable& v_1303, thread uint& key_row, threadgroup uint (&v_rows)[128])
{
    uint position = first + gl_LocalInvocationID.x;
    if (position >= end)
    {
        return;
    }
    uint param = seq;
    uint param_1 = position;
    uint page = uint(v_1303.page_table[(push.page_table_at + (seq * push.max_pages)) + page_of(param, param_1, push, v_1031)]);
    uint keys = push.kv_at + (page * push.page_bytes);
    uint values = keys + ((push.n_head_kv * push.page_tokens) * push.k_row_bytes);
    uint slot = (head_kv * push.page_tokens) + (position % push.page_tokens);
    key_row = keys + (slot * push.k_row_bytes);
    v_rows[gl_LocalInvocationID.x] = values + (slot * push.v_row_bytes);
}

static inline __attribute__((always_inline))
uint half_at(thread const uint& at, const device KvWords& v_336)
{
    return (v_336.kv_words[at >> uint(2)] >> (8u * (at & 2u))) & 65535u;
}

static inline __attribute__((always_inline))
float f32_from_f16(thread const uint& half_bits)
{
    uint _sign = (half_bits & 32768u) << uint(16);
    uint magnitude = half_bits & 32767u;
    uint subnormal = as_type<uint>(float(magnitude) * 5.9604644775390625e-08);
    uint exponent_offset = (magnitude < 31744u) ? 939524096u : 1879048192u;
    uint _318;
    if (magnitude < 1024u)
    {
        _318 = subnormal;
    }
    else
    {
        _318 = (magnitude << uint(13)) + exponent_offset;
    }
    return as_type<float>(_sign | _318);
}

static inline __attribute__((always_inline))
float load_float(thread const uint& format, thread const uint& row, thread const uint& i, const device KvWords& v_336)
{
    switch (format)
    {
        case 1u:
        {
            uint param = row + (2u * i);
            uint param_1 = half_at(param, v_336);
            return f32_from_f16(param_1);
        }
        case 2u:
        {
            uint param_2 = row + (2u * i);
            return as_type<float>(half_at(param_2, v_336) << uint(16));
        }
    }
    return as_type<float>(v_336.kv_words[(row / 4u) + i]);
}

static inline __attribute__((always_inline))
float2 load_pair_of_floats(thread const uint& format, thread const uint& row, thread const uint& pair, const device KvWords& v_336, constant Push& push)
{
    if (_397)
    {
        uint param = format;
        uint param_1 = row;
        uint param_2 = 2u * pair;
        float _419;
        if (((2u * pair) + 1u) < push.head_dim_v)
        {
            uint param_3 = format;
            uint param_4 = row;
            uint param_5 = (2u * pair) + 1u;
            _419 = load_float(param_3, param_4, param_5, v_336);
        }
        else
        {
            _419 = 0.0;
        }
        return float2(load_float(param, param_1, param_2, v_336), _419);
    }
    uint word = v_336.kv_words[(row / 4u) + pair];
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
    return as_type<float2>(uint2(v_336.kv_words[(row / 4u) + (2u * pair)], v_336.kv_words[((row / 4u) + (2u * pair)) + 1u]));
}

static inline __attribute__((always_inline))
float2 load_v(thread const uint& row, thread const uint& pair, const device KvWords& v_336, constant Push& push)
{
    uint format = v_format();
    switch (format)
    {
        case 3u:
        {
            uint block = row + ((pair / 16u) * 34u);
            uint param = (block + 2u) + (2u * (pair % 16u));
            int codes = int(half_at(param, v_336));
            uint param_1 = block;
            uint param_2 = half_at(param_1, v_336);
            return float2(float(extract_bits(codes, uint(0), uint(8))), float(extract_bits(codes, uint(8), uint(8)))) * f32_from_f16(param_2);
        }
    }
    uint param_3 = format;
    uint param_4 = row;
    uint param_5 = pair;
    return load_pair_of_floats(param_3, param_4, param_5, v_336, push);
}

static inline __attribute__((always_inline))
float2 value_of(thread const uint& position, thread const uint& pair, thread const uint& n_1, const device KvWords& v_336, constant Push& push, threadgroup uint (&v_rows)[128])
{
    uint param = v_rows[min(position, (n_1 - 1u))];
    uint param_1 = pair;
    return load_v(param, param_1, v_336, push);
}

static inline __attribute__((always_inline))
void ask_for_values(thread const uint& n_1, const device KvWords& v_336, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup uint (&v_rows)[128], thread spvUnsafeArray<float2, kValuesAtOnce>& first_values)
{
    uint lane = gl_LocalInvocationID.x;
    uint pair = min((lane % kPairsAtOnce), ((push.head_dim_v - 1u) / 2u));
    for (uint i = 0u; i < kValuesAtOnce; i++)
    {
        uint param = (lane / kPairsAtOnce) + (i * kStride);
        uint param_1 = pair;
        uint param_2 = n_1;
        first_values[i] = value_of(param, param_1, param_2, v_336, push, v_rows);
    }
}

static inline __attribute__((always_inline))
uint two_halves_at(thread const uint& at, const device KvWords& v_336)
{
    uint param = at;
    uint param_1 = at + 2u;
    return half_at(param, v_336) | (half_at(param_1, v_336) << uint(16));
}

static inline __attribute__((always_inline))
void load_k(thread const uint& row, thread const uint& piece, thread spvUnsafeArray<float4, 4>& k, const device KvWords& v_336, constant Push& push, const device KvQuads& v_753)
{
    uint format = k_format();
    if (format == 3u)
    {
        uint block = row + ((piece / 2u) * 34u);
        uint param = block;
        uint param_1 = half_at(param, v_336);
        float _step = f32_from_f16(param_1);
        uint first = (block + 2u) + (16u * (piece % 2u));
        for (uint i = 0u; i < 4u; i++)
        {
            uint param_2 = first + (4u * i);
            int codes = int(two_halves_at(param_2, v_336));
            k[i] = float4(float(extract_bits(codes, uint(0), uint(8))), float(extract_bits(codes, uint(8), uint(8))), float(extract_bits(codes, uint(16), uint(8))), float(extract_bits(codes, uint(24), uint(8)))) * _step;
        }
    }
    else
    {
        if (_684)
        {
            float _718;
            for (uint i_1 = 0u; i_1 < 4u; i_1++)
            {
                for (uint j = 0u; j < 4u; j++)
                {
                    uint dimension = ((16u * piece) + (4u * i_1)) + j;
                    if (dimension < push.head_dim_k)
                    {
                        uint param_3 = format;
                        uint param_4 = row;
                        uint param_5 = dimension;
                        _718 = load_float(param_3, param_4, param_5, v_336);
                    }
                    else
                    {
                        _718 = 0.0;
                    }
                    k[i_1][j] = _718;
                }
            }
        }
        else
        {
            if (format == 0u)
            {
                for (uint i_2 = 0u; i_2 < 4u; i_2++)
                {
                    k[i_2] = as_type<float4>(v_753.kv_quads[((row / 16u) + (4u * piece)) + i_2]);
                }
            }
            else
            {
                for (uint i_3 = 0u; i_3 < 2u; i_3++)
                {
                    uint4 pairs = v_753.kv_quads[((row / 16u) + (2u * piece)) + i_3];
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
    bool _1275 = int(position) >= first_seen[row];
    bool _1285;
    if (_1275)
    {
        _1285 = int(position) <= last_seen[row];
    }
    else
    {
        _1285 = _1275;
    }
    return _1285;
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
    uint _247;
    if (is_finite(param))
    {
        _247 = as_type<uint>(value);
    }
    else
    {
        _247 = 2143289344u;
    }
    return as_type<float>(_247);
}

static inline __attribute__((always_inline))
void reduce(thread const spvUnsafeArray<float, kValues>& values, thread const bool& is_sum, threadgroup float (&reduced)[_898], thread uint& gl_SubgroupID)
{
    spvUnsafeArray<float, kValues> results;
    float _870;
    for (uint i = 0u; i < kValues; i++)
    {
        if (is_sum)
        {
            _870 = simd_sum(values[i]);
        }
        else
        {
            _870 = simd_max(values[i]);
        }
        results[i] = _870;
    }
    bool _886 = simd_is_first();
    if (_886)
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
float reduced_max(thread const uint& i, thread float& so_far, threadgroup float (&reduced)[_898], thread uint& gl_NumSubgroups)
{
    for (uint part = 0u; part < n_reduced(gl_NumSubgroups); part++)
    {
        so_far = fast::max(so_far, reduced[(part * kValues) + i]);
    }
    return so_far;
}

static inline __attribute__((always_inline))
void weigh(thread const uint& first, thread const uint& end, const device KvWords& v_336, constant Push& push, thread uint3& gl_LocalInvocationID, const device KvQuads& v_753, threadgroup float (&reduced)[_898], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, threadgroup float4 (&q_tile)[_1254], threadgroup int (&first_seen)[kValues], threadgroup int (&last_seen)[kValues], thread uint& key_row, threadgroup float (&largest)[kValues], threadgroup float (&shrink)[kValues], thread spvUnsafeArray<float, kValues>& weight_sum, thread spvUnsafeArray<float2, _1639>& value_sum, threadgroup float4 (&weights)[_1659])
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
        spvUnsafeArray<spvUnsafeArray<float4, 4>, kPiecesAtOnce> k;
        spvUnsafeArray<float4, 4> param_2;
        for (uint first_piece = 0u; first_piece < kKPieces; first_piece += kPiecesAtOnce)
        {
            for (uint i = 0u; i < kPiecesAtOnce; i++)
            {
                uint param = key_row;
                uint param_1 = min((first_piece + i), _1419);
                load_k(param, param_1, param_2, v_336, push, v_753);
                k[i] = param_2;
            }
            for (uint i_1 = 0u; i_1 < kPiecesAtOnce; i_1++)
            {
                uint piece = first_piece + i_1;
                if (piece >= kKPieces)
                {
                    break;
                }
                for (uint r_1 = 0u; r_1 < kValues; r_1++)
                {
                    uint at = ((r_1 * kKPieces) + piece) * 4u;
                    scores[r_1] += (((dot(q_tile[at], k[i_1][0]) + dot(q_tile[at + 1u], k[i_1][1])) + dot(q_tile[at + 2u], k[i_1][2])) + dot(q_tile[at + 3u], k[i_1][3]));
                }
            }
        }
    }
    float _1531;
    for (uint r_2 = 0u; r_2 < kValues; r_2++)
    {
        bool _1522 = position < end;
        bool _1530;
        if (_1522)
        {
            uint param_3 = r_2;
            uint param_4 = position;
            _1530 = is_seen(param_3, param_4, first_seen, last_seen);
        }
        else
        {
            _1530 = _1522;
        }
        if (_1530)
        {
            float param_5 = scores[r_2];
            _1531 = finite_or_nan(param_5);
        }
        else
        {
            _1531 = -1000000015047466219876688855040.0;
        }
        scores[r_2] = _1531;
    }
    spvUnsafeArray<float, kValues> param_6;
    param_6 = scores;
    bool param_7 = false;
    reduce(param_6, param_7, reduced, gl_SubgroupID);
    if (lane < kValues)
    {
        uint param_8 = lane;
        float param_9 = largest[lane];
        float _1563 = reduced_max(param_8, param_9, reduced, gl_NumSubgroups);
        float top = _1563;
        float _1571;
        if (largest[lane] == top)
        {
            _1571 = 1.0;
        }
        else
        {
            _1571 = exp(largest[lane] - top);
        }
        shrink[lane] = _1571;
        largest[lane] = top;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float _1600;
    for (uint r_3 = 0u; r_3 < kValues; r_3++)
    {
        if (scores[r_3] == (-1000000015047466219876688855040.0))
        {
            _1600 = 0.0;
        }
        else
        {
            _1600 = exp(scores[r_3] - largest[r_3]);
        }
        float weight = _1600;
        weight_sum[r_3] = (weight_sum[r_3] * shrink[r_3]) + weight;
        for (uint p = 0u; p < kPairsOfLane; p++)
        {
            uint _1646 = (r_3 * kPairsOfLane) + p;
            value_sum[_1646] *= shrink[r_3];
        }
        ((threadgroup float*)&weights[((lane * kValues) + r_3) / 4u])[r_3 % 4u] = weight;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
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
    uint _1708;
    for (uint r = 0u; r < kValues; r++)
    {
        uint param_2 = r;
        uint param_3 = position;
        if (is_seen(param_2, param_3, first_seen, last_seen))
        {
            _1708 = 1u << r;
        }
        else
        {
            _1708 = 0u;
        }
        seeing |= _1708;
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
void add_value(thread const uint& position, thread const uint& p, thread const float2& v, thread spvUnsafeArray<float2, _1639>& value_sum, threadgroup float4 (&weights)[_1659])
{
    for (uint r = 0u; r < kValues; r += 4u)
    {
        float4 weight = weights[((position * kValues) + r) / 4u];
        for (uint j = 0u; j < 4u; j++)
        {
            uint _1772 = ((r + j) * kPairsOfLane) + p;
            value_sum[_1772] += (v * weight[j]);
        }
    }
}

static inline __attribute__((always_inline))
void add_values(thread const uint& block, thread const uint& n_1, const device KvWords& v_336, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup int (&first_seen)[kValues], threadgroup int (&last_seen)[kValues], threadgroup uint (&v_rows)[128], thread spvUnsafeArray<float2, _1639>& value_sum, threadgroup float4 (&weights)[_1659], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, thread spvUnsafeArray<float2, kValuesAtOnce>& first_values, thread bool& is_careful)
{
    uint lane = gl_LocalInvocationID.x;
    if (lane >= _1843)
    {
        return;
    }
    spvUnsafeArray<float2, kValuesAtOnce> values;
    for (uint p = 0u; p < kPairsOfLane; p++)
    {
        uint pair = (lane % kPairsAtOnce) + (p * 128u);
        if ((2u * pair) >= push.head_dim_v)
        {
            continue;
        }
        if (is_careful)
        {
            uint _1877 = lane / kPairsAtOnce;
            for (uint position = _1877; position < n_1; position += kStride)
            {
                uint param = v_rows[position];
                uint param_1 = pair;
                float2 value = load_v(param, param_1, v_336, push);
                uint param_2 = block + position;
                uint param_3 = p;
                float2 param_4 = value;
                leave_out(param_2, param_3, param_4, first_seen, last_seen, damaged);
                value = param_4;
                uint param_5 = position;
                uint param_6 = p;
                float2 param_7 = value;
                add_value(param_5, param_6, param_7, value_sum, weights);
            }
            continue;
        }
        uint _1916 = lane / kPairsAtOnce;
        for (uint first = _1916; first < n_1; first += _2003)
        {
            if ((false && (p == 0u)) && (first < kStride))
            {
                for (uint i = 0u; i < kValuesAtOnce; i++)
                {
                    values[i] = first_values[i];
                }
            }
            else
            {
                for (uint i_1 = 0u; i_1 < kValuesAtOnce; i_1++)
                {
                    uint param_8 = first + (i_1 * kStride);
                    uint param_9 = pair;
                    uint param_10 = n_1;
                    values[i_1] = value_of(param_8, param_9, param_10, v_336, push, v_rows);
                }
            }
            for (uint i_2 = 0u; i_2 < kValuesAtOnce; i_2++)
            {
                uint position_1 = first + (i_2 * kStride);
                if (position_1 >= n_1)
                {
                    break;
                }
                uint param_11 = position_1;
                uint param_12 = p;
                float2 param_13 = values[i_2];
                add_value(param_11, param_12, param_13, value_sum, weights);
            }
        }
    }
}

static inline __attribute__((always_inline))
void attend(thread const uint& first_token, thread const uint& last_token, thread const uint& seq, thread const uint& first, thread const uint& end, const device KvWords& v_336, constant Push& push, thread uint3& gl_LocalInvocationID, const device KvQuads& v_753, threadgroup float (&reduced)[_898], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, const device MainPages& v_1031, const device First& v_1164, const device Pos& v_1184, threadgroup float4 (&q_tile)[_1254], threadgroup int (&first_seen)[kValues], threadgroup int (&last_seen)[kValues], const device PageTable& v_1303, thread uint& key_row, threadgroup uint (&v_rows)[128], threadgroup float (&largest)[kValues], threadgroup float (&shrink)[kValues], thread spvUnsafeArray<float, kValues>& weight_sum, thread spvUnsafeArray<float2, _1639>& value_sum, threadgroup float4 (&weights)[_1659], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, thread spvUnsafeArray<float2, kValuesAtOnce>& first_values, thread bool& is_careful)
{
    uint lane = gl_LocalInvocationID.x;
    if (lane < kValues)
    {
        uint param = lane;
        bool _2018 = exists(param, push, first_row, group_size);
        bool _2026;
        if (_2018)
        {
            uint param_1 = lane;
            _2026 = token_of(param_1, first_row, group_size) >= first_token;
        }
        else
        {
            _2026 = _2018;
        }
        bool _2034;
        if (_2026)
        {
            uint param_2 = lane;
            _2034 = token_of(param_2, first_row, group_size) <= last_token;
        }
        else
        {
            _2034 = _2026;
        }
        bool is_among = _2034;
        int _2037;
        if (is_among)
        {
            uint param_3 = lane;
            uint param_4 = seq;
            uint param_5 = token_of(param_3, first_row, group_size);
            _2037 = keys_of(param_4, param_5, push, v_1031, v_1184) - 1;
        }
        else
        {
            _2037 = -1;
        }
        last_seen[lane] = _2037;
        int _2054;
        if (is_among)
        {
            uint param_6 = lane;
            uint param_7 = seq;
            uint param_8 = token_of(param_6, first_row, group_size);
            _2054 = int(first_of(param_7, param_8, push, v_1031, v_1164));
        }
        else
        {
            _2054 = 0;
        }
        first_seen[lane] = _2054;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint block = first; block < end; block += 128u)
    {
        uint n_1 = min(128u, (end - block));
        bool is_found = (false && (block == first)) && (!is_careful);
        if (!is_found)
        {
            uint param_9 = seq;
            uint param_10 = block;
            uint param_11 = end;
            find_block(param_9, param_10, param_11, push, gl_LocalInvocationID, head_kv, v_1031, v_1303, key_row, v_rows);
        }
        if (false)
        {
            if (!is_found)
            {
                threadgroup_barrier(mem_flags::mem_threadgroup);
            }
            uint param_12 = n_1;
            ask_for_values(param_12, v_336, push, gl_LocalInvocationID, v_rows, first_values);
        }
        uint param_13 = block;
        uint param_14 = end;
        weigh(param_13, param_14, v_336, push, gl_LocalInvocationID, v_753, reduced, gl_SubgroupID, gl_NumSubgroups, q_tile, first_seen, last_seen, key_row, largest, shrink, weight_sum, value_sum, weights);
        uint param_15 = block;
        uint param_16 = n_1;
        add_values(param_15, param_16, v_336, push, gl_LocalInvocationID, first_seen, last_seen, v_rows, value_sum, weights, damaged, first_values, is_careful);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

static inline __attribute__((always_inline))
void sum_up(thread const uint& part, const device KvWords& v_336, constant Push& push, thread uint3& gl_LocalInvocationID, const device KvQuads& v_753, threadgroup float (&reduced)[_898], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, const device MainPages& v_1031, const device Seq& v_1143, const device First& v_1164, const device Pos& v_1184, threadgroup float4 (&q_tile)[_1254], threadgroup int (&first_seen)[kValues], threadgroup int (&last_seen)[kValues], const device PageTable& v_1303, thread uint& key_row, threadgroup uint (&v_rows)[128], threadgroup float (&largest)[kValues], threadgroup float (&shrink)[kValues], thread spvUnsafeArray<float, kValues>& weight_sum, thread spvUnsafeArray<float2, _1639>& value_sum, threadgroup float4 (&weights)[_1659], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, thread spvUnsafeArray<float2, kValuesAtOnce>& first_values, thread bool& is_careful)
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
    uint last_of_tile = last_token_of_tile(push, first_row, group_size);
    uint param = 0u;
    uint token = token_of(param, first_row, group_size);
    while (token <= last_of_tile)
    {
        uint param_1 = token;
        uint seq = seq_of(param_1, push, v_1143);
        uint param_2 = seq;
        uint param_3 = token;
        int n_keys = keys_of(param_2, param_3, push, v_1031, v_1184);
        uint param_4 = uint(n_keys);
        uint n_positions = part_positions(param_4, push);
        uint last_token = token;
        uint param_5 = seq;
        uint param_6 = token;
        uint first_position = first_of(param_5, param_6, push, v_1031, v_1164);
        for (;;)
        {
            bool _2957 = last_token < last_of_tile;
            bool _2966;
            if (_2957)
            {
                uint param_7 = last_token + 1u;
                _2966 = seq_of(param_7, push, v_1143) == seq;
            }
            else
            {
                _2966 = _2957;
            }
            if (_2966)
            {
                uint param_8 = seq;
                uint param_9 = last_token + 1u;
                int keys_of_next = keys_of(param_8, param_9, push, v_1031, v_1184);
                uint param_10 = uint(keys_of_next);
                if (part_positions(param_10, push) != n_positions)
                {
                    break;
                }
                last_token++;
                n_keys = max(n_keys, keys_of_next);
                uint param_11 = seq;
                uint param_12 = last_token;
                first_position = min(first_position, first_of(param_11, param_12, push, v_1031, v_1164));
                continue;
            }
            else
            {
                break;
            }
        }
        uint param_13 = part;
        uint param_14 = uint(n_keys);
        uint param_15 = first_position;
        uint2 seen = seen_positions(param_13, param_14, param_15, push);
        uint param_16 = token;
        uint param_17 = last_token;
        uint param_18 = seq;
        uint param_19 = seen.x;
        uint param_20 = seen.y;
        attend(param_16, param_17, param_18, param_19, param_20, v_336, push, gl_LocalInvocationID, v_753, reduced, gl_SubgroupID, gl_NumSubgroups, first_row, group_size, head_kv, v_1031, v_1164, v_1184, q_tile, first_seen, last_seen, v_1303, key_row, v_rows, largest, shrink, weight_sum, value_sum, weights, damaged, first_values, is_careful);
        token = last_token + 1u;
    }
}

static inline __attribute__((always_inline))
void note_damage(thread spvUnsafeArray<float2, _1639>& value_sum, threadgroup short& are_damaged)
{
    for (uint i = 0u; i < _2853; i++)
    {
        float param = value_sum[i].x;
        bool _2860 = !is_finite(param);
        bool _2870;
        if (!_2860)
        {
            float param_1 = value_sum[i].y;
            _2870 = !is_finite(param_1);
        }
        else
        {
            _2870 = _2860;
        }
        if (_2870)
        {
            are_damaged = short(true);
        }
    }
}

static inline __attribute__((always_inline))
void share_sums(thread const uint& p, thread const uint& first_component, thread uint3& gl_LocalInvocationID, thread spvUnsafeArray<float2, _1639>& value_sum, threadgroup float4 (&weights)[_1659], thread spvUnsafeArray<uint, kPairsOfLane>& damaged)
{
    uint lane = gl_LocalInvocationID.x;
    float4 sums;
    float _2170;
    for (uint c = 0u; c < 1u; c++)
    {
        uint component = first_component + c;
        for (uint r = 0u; r < kValues; r += 4u)
        {
            for (uint j = 0u; j < 4u; j++)
            {
                bool is_damaged = ((damaged[p] >> ((r + j) + (component * 16u))) & 1u) != 0u;
                if (is_damaged)
                {
                    _2170 = as_type<float>(2143289344u);
                }
                else
                {
                    _2170 = value_sum[((r + j) * kPairsOfLane) + p][component];
                }
                sums[j] = _2170;
            }
            weights[((((c * 128u) + lane) * kValues) + r) / 4u] = sums;
        }
    }
}

static inline __attribute__((always_inline))
float reduced_sum(thread const uint& i, threadgroup float (&reduced)[_898], thread uint& gl_NumSubgroups)
{
    float sum = 0.0;
    for (uint part = 0u; part < n_reduced(gl_NumSubgroups); part++)
    {
        sum += reduced[(part * kValues) + i];
    }
    return sum;
}

static inline __attribute__((always_inline))
void store_sums(thread const uint& p, thread const uint& first_component, thread const uint& part, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup float (&reduced)[_898], thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup float (&largest)[kValues], threadgroup float4 (&weights)[_1659], thread bool& is_only_part, device Merged& v_2302, volatile device Out& v_2320, volatile device Softmax& v_2356)
{
    float _2335;
    for (uint i = gl_LocalInvocationID.x; i < _2212; i += 128u)
    {
        uint row = i / n;
        uint c = i % 1u;
        uint pair = (i % n) / 1u;
        uint dimension = ((2u * (pair + (p * 128u))) + first_component) + c;
        uint param = row;
        bool _2237 = !exists(param, push, first_row, group_size);
        bool _2245;
        if (!_2237)
        {
            _2245 = dimension >= push.head_dim_v;
        }
        else
        {
            _2245 = _2237;
        }
        if (_2245)
        {
            continue;
        }
        float sum = 0.0;
        for (uint j = 0u; j < kStride; j++)
        {
            uint lane = ((c * 128u) + (j * kPairsAtOnce)) + pair;
            sum += ((threadgroup float*)&weights[((lane * kValues) + row) / 4u])[row % 4u];
        }
        uint param_1 = row;
        float total = reduced_sum(param_1, reduced, gl_NumSubgroups);
        uint param_2 = row;
        uint vector = ((part * push.n_tokens) * push.n_head) + vector_of(param_2, push, first_row, group_size, head_kv);
        if (is_only_part)
        {
            v_2302.merged[(push.merged_at + (vector * push.head_dim_v)) + dimension] = sum / total;
            continue;
        }
        if (push.keeps_sums == 0u)
        {
            _2335 = sum / total;
        }
        else
        {
            _2335 = sum;
        }
        v_2320.result[(push.out_at + (vector * push.head_dim_v)) + dimension] = _2335;
        if ((push.keeps_sums != 0u) && (dimension == 0u))
        {
            v_2356.softmax[push.softmax_at + vector] = float2(largest[row], total);
        }
    }
}

static inline __attribute__((always_inline))
void store(thread const uint& part, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup float (&reduced)[_898], thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup float (&largest)[kValues], thread spvUnsafeArray<float2, _1639>& value_sum, threadgroup float4 (&weights)[_1659], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, thread bool& is_only_part, device Merged& v_2302, volatile device Out& v_2320, volatile device Softmax& v_2356)
{
    for (uint p = 0u; p < kPairsOfLane; p++)
    {
        for (uint component = 0u; component < 2u; component++)
        {
            uint param = p;
            uint param_1 = component;
            share_sums(param, param_1, gl_LocalInvocationID, value_sum, weights, damaged);
            threadgroup_barrier(mem_flags::mem_threadgroup);
            uint param_2 = p;
            uint param_3 = component;
            uint param_4 = part;
            store_sums(param_2, param_3, param_4, push, gl_LocalInvocationID, reduced, gl_NumSubgroups, first_row, group_size, head_kv, largest, weights, is_only_part, v_2302, v_2320, v_2356);
            bool _2401 = (p + 1u) < kPairsOfLane;
            bool _2408;
            if (!_2401)
            {
                _2408 = (component + 1u) < 2u;
            }
            else
            {
                _2408 = _2401;
            }
            if (_2408)
            {
                threadgroup_barrier(mem_flags::mem_threadgroup);
            }
        }
    }
}

static inline __attribute__((always_inline))
float2 softmax_of_part(thread const uint& part, thread const uint& row, threadgroup float2 (&softmaxes)[_2417])
{
    return softmaxes[(row * 32u) + part];
}

static inline __attribute__((always_inline))
float sum_of_part(thread const uint& part, thread const uint& row, thread const uint& dimension, constant Push& push, thread uint& first_row, thread uint& group_size, thread uint& head_kv, volatile device Out& v_2320)
{
    uint param = row;
    return v_2320.result[(push.out_at + ((((part * push.n_tokens) * push.n_head) + vector_of(param, push, first_row, group_size, head_kv)) * push.head_dim_v)) + dimension];
}

static inline __attribute__((always_inline))
float put_together(thread const uint& vector, thread const uint& dimension, thread const uint& n_parts, constant Push& push, thread uint& first_row, thread uint& group_size, thread uint& head_kv, volatile device Out& v_2320, threadgroup float2 (&softmaxes)[_2417])
{
    uint param = 0u;
    uint param_1 = vector;
    float largest = softmax_of_part(param, param_1, softmaxes).x;
    spvUnsafeArray<float, 8> scores;
    for (uint first = 1u; first < n_parts; first += 8u)
    {
        for (uint i = 0u; i < 8u; i++)
        {
            uint param_2 = min((first + i), (n_parts - 1u));
            uint param_3 = vector;
            scores[i] = softmax_of_part(param_2, param_3, softmaxes).x;
        }
        for (uint i_1 = 0u; i_1 < 8u; i_1++)
        {
            largest = fast::max(largest, scores[i_1]);
        }
    }
    float sum = 0.0;
    float weight_sum = 0.0;
    spvUnsafeArray<float2, 8> softmaxes_1;
    spvUnsafeArray<float, 8> sums;
    float _2581;
    for (uint first_1 = 0u; first_1 < n_parts; first_1 += 8u)
    {
        for (uint i_2 = 0u; i_2 < 8u; i_2++)
        {
            uint part = min((first_1 + i_2), (n_parts - 1u));
            uint param_4 = part;
            uint param_5 = vector;
            softmaxes_1[i_2] = softmax_of_part(param_4, param_5, softmaxes);
            uint param_6 = part;
            uint param_7 = vector;
            uint param_8 = dimension;
            sums[i_2] = sum_of_part(param_6, param_7, param_8, push, first_row, group_size, head_kv, v_2320);
        }
        for (uint i_3 = 0u; i_3 < 8u; i_3++)
        {
            if ((first_1 + i_3) >= n_parts)
            {
                break;
            }
            if (softmaxes_1[i_3].x == largest)
            {
                _2581 = 1.0;
            }
            else
            {
                _2581 = exp(softmaxes_1[i_3].x - largest);
            }
            float weight = _2581;
            sum += (weight * sums[i_3]);
            weight_sum += (weight * softmaxes_1[i_3].y);
        }
    }
    return sum / weight_sum;
}

static inline __attribute__((always_inline))
void merge(thread const uint& n_parts, constant Push& push, thread uint3& gl_LocalInvocationID, thread uint& first_row, thread uint3& gl_WorkGroupID, thread uint& group_size, thread uint& head_kv, device Merged& v_2302, volatile device Out& v_2320, volatile device Softmax& v_2356, threadgroup float2 (&softmaxes)[_2417], thread uint3& gl_NumWorkGroups, threadgroup uint& n_done_before, volatile device Done& v_2635)
{
    threadgroup_barrier(mem_flags::mem_device);
    uint tile = (gl_WorkGroupID.y * gl_NumWorkGroups.x) + gl_WorkGroupID.x;
    if (gl_LocalInvocationID.x == 0u)
    {
        uint _2638 = atomic_fetch_add_explicit((volatile device atomic_uint*)&v_2635.n_done[tile], 1u, memory_order_relaxed);
        n_done_before = _2638;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if ((n_done_before + 1u) < n_parts)
    {
        return;
    }
    threadgroup_barrier(mem_flags::mem_device);
    if (gl_LocalInvocationID.x == 0u)
    {
        v_2635.n_done[tile] = 0u;
    }
    for (uint i = gl_LocalInvocationID.x; i < (kValues * n_parts); i += 128u)
    {
        uint row = i / n_parts;
        uint part = i % n_parts;
        uint param = row;
        if (exists(param, push, first_row, group_size))
        {
            uint param_1 = row;
            softmaxes[(row * 32u) + part] = v_2356.softmax[(push.softmax_at + ((part * push.n_tokens) * push.n_head)) + vector_of(param_1, push, first_row, group_size, head_kv)];
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i_1 = gl_LocalInvocationID.x; i_1 < (kValues * push.head_dim_v); i_1 += 128u)
    {
        uint row_1 = i_1 / push.head_dim_v;
        uint dimension = i_1 % push.head_dim_v;
        uint param_2 = row_1;
        if (!exists(param_2, push, first_row, group_size))
        {
            continue;
        }
        uint param_3 = row_1;
        uint param_4 = row_1;
        uint param_5 = dimension;
        uint param_6 = n_parts;
        v_2302.merged[(push.merged_at + (vector_of(param_3, push, first_row, group_size, head_kv) * push.head_dim_v)) + dimension] = put_together(param_4, param_5, param_6, push, first_row, group_size, head_kv, v_2320, softmaxes);
    }
}

kernel void attention(const device KvWords& v_336 [[buffer(0)]], constant Push& push [[buffer(30)]], const device KvQuads& v_753 [[buffer(1)]], const device PageTable& v_1303 [[buffer(2)]], const device Seq& v_1143 [[buffer(3)]], const device Pos& v_1184 [[buffer(4)]], const device Q& v_1233 [[buffer(5)]], volatile device Out& v_2320 [[buffer(6)]], volatile device Softmax& v_2356 [[buffer(7)]], const device First& v_1164 [[buffer(8)]], const device Constants& v_503 [[buffer(9)]], const device MainPages& v_1031 [[buffer(10)]], volatile device Done& v_2635 [[buffer(11)]], device Merged& v_2302 [[buffer(12)]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]], uint gl_SubgroupID [[simdgroup_index_in_threadgroup]], uint gl_NumSubgroups [[simdgroups_per_threadgroup]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]])
{
    threadgroup float v_levels[kVLevels];
    threadgroup float residual_signs[_531];
    threadgroup float k_levels[kKLevels];
    threadgroup float reduced[_898];
    threadgroup float4 q_tile[_1254];
    threadgroup int first_seen[kValues];
    threadgroup int last_seen[kValues];
    threadgroup uint v_rows[128];
    threadgroup float largest[kValues];
    threadgroup float shrink[kValues];
    threadgroup float4 weights[_1659];
    threadgroup float2 softmaxes[_2417];
    threadgroup uint n_done_before;
    threadgroup short are_damaged;
    uint head_kv = gl_WorkGroupID.y;
    uint group_size = push.n_head / push.n_head_kv;
    uint first_row;
    find_rows(first_row, gl_WorkGroupID);
    uint part = gl_WorkGroupID.z;
    uint key_row;
    spvUnsafeArray<float, kValues> weight_sum;
    spvUnsafeArray<float2, _1639> value_sum;
    spvUnsafeArray<uint, kPairsOfLane> damaged;
    spvUnsafeArray<float2, kValuesAtOnce> first_values;
    bool is_careful;
    bool is_only_part;
    uint _3032;
    if (kMerges)
    {
        _3032 = parts_of_tile(push, first_row, group_size, v_1031, v_1143, v_1184);
    }
    else
    {
        _3032 = push.n_parts;
    }
    uint n_parts = _3032;
    if (part >= n_parts)
    {
        return;
    }
    is_only_part = kMerges && (n_parts == 1u);
    for (uint p = 0u; p < kPairsOfLane; p++)
    {
        damaged[p] = 0u;
    }
    if (gl_LocalInvocationID.x == 0u)
    {
        are_damaged = short(false);
    }
    load_q_tile(push, gl_LocalInvocationID, first_row, group_size, head_kv, v_1233, q_tile);
    load_levels(gl_LocalInvocationID, v_levels, v_503, residual_signs, k_levels);
    is_careful = false;
    for (;;)
    {
        uint param = part;
        sum_up(param, v_336, push, gl_LocalInvocationID, v_753, reduced, gl_SubgroupID, gl_NumSubgroups, first_row, group_size, head_kv, v_1031, v_1143, v_1164, v_1184, q_tile, first_seen, last_seen, v_1303, key_row, v_rows, largest, shrink, weight_sum, value_sum, weights, damaged, first_values, is_careful);
        note_damage(value_sum, are_damaged);
        spvUnsafeArray<float, kValues> param_1;
        param_1 = weight_sum;
        bool param_2 = true;
        reduce(param_1, param_2, reduced, gl_SubgroupID);
        bool _3086;
        if (!is_careful)
        {
            _3086 = !bool(are_damaged);
        }
        else
        {
            _3086 = is_careful;
        }
        if (_3086)
        {
            break;
        }
        is_careful = true;
        continue;
    }
    uint param_3 = part;
    store(param_3, push, gl_LocalInvocationID, reduced, gl_NumSubgroups, first_row, group_size, head_kv, largest, value_sum, weights, damaged, is_only_part, v_2302, v_2320, v_2356);
    if (kMerges && (!is_only_part))
    {
        uint param_4 = n_parts;
        merge(param_4, push, gl_LocalInvocationID, first_row, gl_WorkGroupID, group_size, head_kv, v_2302, v_2320, v_2356, softmaxes, gl_NumWorkGroups, n_done_before, v_2635);
    }
}

