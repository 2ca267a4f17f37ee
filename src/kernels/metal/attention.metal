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
constant bool _372 = (!kWholeQuads);

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
constant int _507 = kHasResidual ? 128 : 1;
#ifndef SPIRV_CROSS_CONSTANT_ID_6
#define SPIRV_CROSS_CONSTANT_ID_6 1u
#endif
constant uint kKLevels = SPIRV_CROSS_CONSTANT_ID_6;
constant bool _660 = (!kWholeQuads);

struct KvQuads
{
    uint4 kv_quads[1];
};

struct MainPages
{
    int main_pages[1];
};

constant uint _995 = (32u * kValues);
#ifndef SPIRV_CROSS_CONSTANT_ID_3
#define SPIRV_CROSS_CONSTANT_ID_3 1u
#endif
constant uint kKPieces = SPIRV_CROSS_CONSTANT_ID_3;
constant uint row_floats = (kKPieces * 16u);
constant uint _1138 = (kValues * row_floats);

struct Q
{
    float q[1];
};

constant uint _1182 = (kValues * kKPieces);
constant uint _1183 = (_1182 * 4u);

struct PageTable
{
    int page_table[1];
};

#ifndef SPIRV_CROSS_CONSTANT_ID_11
#define SPIRV_CROSS_CONSTANT_ID_11 1u
#endif
constant uint kPiecesAtOnce = SPIRV_CROSS_CONSTANT_ID_11;
constant uint _1313 = (kKPieces - 1u);
#ifndef SPIRV_CROSS_CONSTANT_ID_4
#define SPIRV_CROSS_CONSTANT_ID_4 1u
#endif
constant uint kVPairs = SPIRV_CROSS_CONSTANT_ID_4;
constant uint _1528 = (kVPairs + 128u);
constant uint _1529 = (_1528 - 1u);
constant uint kPairsOfLane = (_1529 / 128u);
constant uint _1532 = (kValues * kPairsOfLane);
constant uint _1550 = (128u * kValues);
constant uint _1551 = (_1550 / 4u);
constant bool _1639 = (kVPairs < 128u);
constant uint kPairsAtOnce = _1639 ? kVPairs : 128u;
constant uint kStride = (128u / kPairsAtOnce);
constant uint _1642 = (kStride * kPairsAtOnce);
#ifndef SPIRV_CROSS_CONSTANT_ID_9
#define SPIRV_CROSS_CONSTANT_ID_9 8u
#endif
constant uint kValuesAtOnce = SPIRV_CROSS_CONSTANT_ID_9;
constant uint _1809 = (kValuesAtOnce * kStride);

struct First
{
    int firsts[1];
};

struct Pos
{
    int positions[1];
};

constant uint _2016 = (kValues * kPairsAtOnce);

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

struct Done
{
    uint n_done[1];
};

struct Seq
{
    int seqs[1];
};

constant uint _2593 = (kValues * kPairsOfLane);
constant bool kMerges_tmp [[function_constant(10)]];
constant bool kMerges = is_function_constant_defined(kMerges_tmp) ? kMerges_tmp : false;
constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(128u, 1u, 1u);

static inline __attribute__((always_inline))
uint token_of(thread const uint& row, thread uint& first_row, thread uint& group_size)
{
    return (first_row + row) / group_size;
}

static inline __attribute__((always_inline))
uint rows_of_tile(constant Push& push, thread uint& first_row, thread uint& group_size)
{
    return min(kValues, ((push.n_tokens * group_size) - first_row));
}

static inline __attribute__((always_inline))
int keys_before(thread const uint& seq, thread const int& position, constant Push& push, const device MainPages& v_847)
{
    if (push.pages_of == 0u)
    {
        return position;
    }
    int first = v_847.main_pages[push.main_pages_at + (2u * seq)] * int(push.page_tokens);
    int last = v_847.main_pages[(push.main_pages_at + (2u * seq)) + 1u] * int(push.page_tokens);
    int n_main = min(max((position - first), 0), max((last - first), 0));
    int _887;
    if (push.pages_of == 2u)
    {
        _887 = position - n_main;
    }
    else
    {
        _887 = n_main;
    }
    return _887;
}

static inline __attribute__((always_inline))
int keys_of(thread const uint& seq, thread const uint& token, constant Push& push, const device MainPages& v_847, const device Pos& v_1844)
{
    uint param = seq;
    int param_1 = v_1844.positions[push.pos_at + token] + 1;
    return keys_before(param, param_1, push, v_847);
}

static inline __attribute__((always_inline))
uint part_positions(thread const uint& n, constant Push& push)
{
    if (push.n_parts == 1u)
    {
        return 2147483647u;
    }
    uint _2500;
    if (n <= 1u)
    {
        _2500 = 1u;
    }
    else
    {
        _2500 = 2u << uint(int(spvFindUMSB(n - 1u)));
    }
    return max(128u, (_2500 / 32u));
}

static inline __attribute__((always_inline))
uint parts_of_tile(constant Push& push, const device MainPages& v_847, thread uint& first_row, thread uint& group_size, const device Pos& v_1844, const device Seq& v_2541)
{
    uint n_parts = 1u;
    uint param = 0u;
    uint token = token_of(param, first_row, group_size);
    for (;;)
    {
        uint _2532 = rows_of_tile(push, first_row, group_size);
        uint _2533 = _2532 - 1u;
        uint param_1 = _2533;
        uint _2535 = token_of(param_1, first_row, group_size);
        if (token <= _2535)
        {
            uint param_2 = uint(v_2541.seqs[push.seq_at + token]);
            uint param_3 = token;
            uint n_keys = uint(max(keys_of(param_2, param_3, push, v_847, v_1844), 1));
            uint param_4 = n_keys;
            n_parts = max(n_parts, (((n_keys - 1u) / part_positions(param_4, push)) + 1u));
            token++;
            continue;
        }
        else
        {
            break;
        }
    }
    return min(n_parts, push.n_parts);
}

static inline __attribute__((always_inline))
bool exists(thread const uint& row, constant Push& push, thread uint& first_row, thread uint& group_size)
{
    return (first_row + row) < (push.n_tokens * group_size);
}

static inline __attribute__((always_inline))
uint head_of(thread const uint& row, thread uint& first_row, thread uint& group_size, thread uint& head_kv)
{
    return (head_kv * group_size) + ((first_row + row) % group_size);
}

static inline __attribute__((always_inline))
uint vector_of(thread const uint& row, constant Push& push, thread uint& first_row, thread uint& group_size, thread uint& head_kv)
{
    uint param = row;
    uint param_1 = row;
    return (token_of(param, first_row, group_size) * push.n_head) + head_of(param_1, first_row, group_size, head_kv);
}

static inline __attribute__((always_inline))
void load_q_tile(constant Push& push, thread uint3& gl_LocalInvocationID, thread uint& first_row, thread uint& group_size, thread uint& head_kv, const device Q& v_1162, threadgroup float4 (&q_tile)[_1183])
{
    for (uint i = gl_LocalInvocationID.x; i < _1138; i += 128u)
    {
        uint row = i / row_floats;
        uint dimension = i % row_floats;
        float value = 0.0;
        uint param = row;
        bool _1149 = exists(param, push, first_row, group_size);
        bool _1156;
        if (_1149)
        {
            _1156 = dimension < push.head_dim_k;
        }
        else
        {
            _1156 = _1149;
        }
        if (_1156)
        {
            uint param_1 = row;
            value = v_1162.q[(push.q_at + (vector_of(param_1, push, first_row, group_size, head_kv) * push.head_dim_k)) + dimension] * push.scale;
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
void load_v_levels(thread uint3& gl_LocalInvocationID, threadgroup float (&v_levels)[kVLevels], const device Constants& v_479, threadgroup float (&residual_signs)[_507])
{
    uint i = gl_LocalInvocationID.x;
    for (;;)
    {
        uint _467 = v_format();
        uint param = _467;
        uint _469 = n_levels(param);
        if (i < _469)
        {
            uint param_1 = v_format();
            v_levels[i] = v_479.constants[first_level(param_1) + i];
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
        residual_signs[i_1] = v_479.constants[352u + i_1];
    }
}

static inline __attribute__((always_inline))
uint k_format()
{
    return kKFormat;
}

static inline __attribute__((always_inline))
void load_levels(thread uint3& gl_LocalInvocationID, threadgroup float (&v_levels)[kVLevels], const device Constants& v_479, threadgroup float (&residual_signs)[_507], threadgroup float (&k_levels)[kKLevels])
{
    load_v_levels(gl_LocalInvocationID, v_levels, v_479, residual_signs);
    uint i = gl_LocalInvocationID.x;
    for (;;)
    {
        uint _577 = k_format();
        uint param = _577;
        uint _579 = n_levels(param);
        if (i < _579)
        {
            uint param_1 = k_format();
            k_levels[i] = v_479.constants[first_level(param_1) + i];
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
uint first_of(thread const uint& seq, thread const uint& token, constant Push& push, const device MainPages& v_847, const device First& v_1824)
{
    uint _1818;
    if (push.has_first > 0u)
    {
        uint param = seq;
        int param_1 = v_1824.firsts[push.first_at + token];
        _1818 = uint(keys_before(param, param_1, push, v_847));
    }
    else
    {
        _1818 = 0u;
    }
    return _1818;
}

static inline __attribute__((always_inline))
uint page_of(thread const uint& seq, thread const uint& key, constant Push& push, const device MainPages& v_847)
{
    uint index = key / push.page_tokens;
    if (push.pages_of == 0u)
    {
        return index;
    }
    int first = v_847.main_pages[push.main_pages_at + (2u * seq)];
    int last = v_847.main_pages[(push.main_pages_at + (2u * seq)) + 1u];
    if (push.pages_of == 1u)
    {
        return index + uint(first);
    }
    uint _941;
    if (index < uint(first))
    {
        _941 = index;
    }
    else
    {
        _941 = index + uint(max((last - first), 0));
    }
    return _941;
}

static inline __attribute__((always_inline))
uint half_at(thread const uint& at, const device KvWords& v_311)
{
    return (v_311.kv_words[at >> uint(2)] >> (8u * (at & 2u))) & 65535u;
}

static inline __attribute__((always_inline))
float f32_from_f16(thread const uint& half_bits)
{
    uint _sign = (half_bits & 32768u) << uint(16);
    uint magnitude = half_bits & 32767u;
    uint subnormal = as_type<uint>(float(magnitude) * 5.9604644775390625e-08);
    uint exponent_offset = (magnitude < 31744u) ? 939524096u : 1879048192u;
    uint _293;
    if (magnitude < 1024u)
    {
        _293 = subnormal;
    }
    else
    {
        _293 = (magnitude << uint(13)) + exponent_offset;
    }
    return as_type<float>(_sign | _293);
}

static inline __attribute__((always_inline))
uint two_halves_at(thread const uint& at, const device KvWords& v_311)
{
    uint param = at;
    uint param_1 = at + 2u;
    return half_at(param, v_311) | (half_at(param_1, v_311) << uint(16));
}

static inline __attribute__((always_inline))
float load_float(thread const uint& format, thread const uint& row, thread const uint& i, const device KvWords& v_311)
{
    switch (format)
    {
        case 1u:
        {
            uint param = row + (2u * i);
            uint param_1 = half_at(param, v_311);
            return f32_from_f16(param_1);
        }
        case 2u:
        {
            uint param_2 = row + (2u * i);
            return as_type<float>(half_at(param_2, v_311) << uint(16));
        }
    }
    return as_type<float>(v_311.kv_words[(row / 4u) + i]);
}

static inline __attribute__((always_inline))
void load_k(thread const uint& row, thread const uint& piece, thread spvUnsafeArray<float4, 4>& k, const device KvWords& v_311, constant Push& push, const device KvQuads& v_729)
{
    uint format = k_format();
    if (format == 3u)
    {
        uint block = row + ((piece / 2u) * 34u);
        uint param = block;
        uint param_1 = half_at(param, v_311);
        float _step = f32_from_f16(param_1);
        uint first = (block + 2u) + (16u * (piece % 2u));
        for (uint i = 0u; i < 4u; i++)
        {
            uint param_2 = first + (4u * i);
            int codes = int(two_halves_at(param_2, v_311));
            k[i] = float4(float(extract_bits(codes, uint(0), uint(8))), float(extract_bits(codes, uint(8), uint(8))), float(extract_bits(codes, uint(16), uint(8))), float(extract_bits(codes, uint(24), uint(8)))) * _step;
        }
    }
    else
    {
        if (_660)
        {
            float _694;
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
                        _694 = load_float(param_3, param_4, param_5, v_311);
                    }
                    else
                    {
                        _694 = 0.0;
                    }
                    k[i_1][j] = _694;
                }
            }
        }
        else
        {
            if (format == 0u)
            {
                for (uint i_2 = 0u; i_2 < 4u; i_2++)
                {
                    k[i_2] = as_type<float4>(v_729.kv_quads[((row / 16u) + (4u * piece)) + i_2]);
                }
            }
            else
            {
                for (uint i_3 = 0u; i_3 < 2u; i_3++)
                {
                    uint4 pairs = v_729.kv_quads[((row / 16u) + (2u * piece)) + i_3];
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
    bool _1114 = int(position) >= first_seen[row];
    bool _1124;
    if (_1114)
    {
        _1124 = int(position) <= last_seen[row];
    }
    else
    {
        _1124 = _1114;
    }
    return _1124;
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
    uint _222;
    if (is_finite(param))
    {
        _222 = as_type<uint>(value);
    }
    else
    {
        _222 = 2143289344u;
    }
    return as_type<float>(_222);
}

static inline __attribute__((always_inline))
void reduce(thread const spvUnsafeArray<float, kValues>& values, thread const bool& is_sum, threadgroup float (&reduced)[_995], thread uint& gl_SubgroupID)
{
    spvUnsafeArray<float, kValues> results;
    float _967;
    for (uint i = 0u; i < kValues; i++)
    {
        if (is_sum)
        {
            _967 = simd_sum(values[i]);
        }
        else
        {
            _967 = simd_max(values[i]);
        }
        results[i] = _967;
    }
    bool _983 = simd_is_first();
    if (_983)
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
float reduced_max(thread const uint& i, thread float& so_far, threadgroup float (&reduced)[_995], thread uint& gl_NumSubgroups)
{
    for (uint part = 0u; part < n_reduced(gl_NumSubgroups); part++)
    {
        so_far = fast::max(so_far, reduced[(part * kValues) + i]);
    }
    return so_far;
}

static inline __attribute__((always_inline))
void weigh(thread const uint& seq, thread const uint& first, thread const uint& end, const device KvWords& v_311, constant Push& push, thread uint3& gl_LocalInvocationID, const device KvQuads& v_729, const device MainPages& v_847, threadgroup float (&reduced)[_995], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& head_kv, threadgroup int (&first_seen)[kValues], threadgroup int (&last_seen)[kValues], threadgroup float4 (&q_tile)[_1183], const device PageTable& v_1224, threadgroup uint (&v_rows)[128], threadgroup float (&largest)[kValues], threadgroup float (&shrink)[kValues], thread spvUnsafeArray<float, kValues>& weight_sum, thread spvUnsafeArray<float2, _1532>& value_sum, threadgroup float4 (&weights)[_1551])
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
        uint page = uint(v_1224.page_table[(push.page_table_at + (seq * push.max_pages)) + page_of(param, param_1, push, v_847)]);
        uint keys = push.kv_at + (page * push.page_bytes);
        uint values = keys + ((push.n_head_kv * push.page_tokens) * push.k_row_bytes);
        uint slot = (head_kv * push.page_tokens) + (position % push.page_tokens);
        v_rows[lane] = values + (slot * push.v_row_bytes);
        spvUnsafeArray<spvUnsafeArray<float4, 4>, kPiecesAtOnce> k;
        spvUnsafeArray<float4, 4> param_4;
        for (uint first_piece = 0u; first_piece < kKPieces; first_piece += kPiecesAtOnce)
        {
            for (uint i = 0u; i < kPiecesAtOnce; i++)
            {
                uint param_2 = keys + (slot * push.k_row_bytes);
                uint param_3 = min((first_piece + i), _1313);
                load_k(param_2, param_3, param_4, v_311, push, v_729);
                k[i] = param_4;
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
    float _1424;
    for (uint r_2 = 0u; r_2 < kValues; r_2++)
    {
        bool _1415 = position < end;
        bool _1423;
        if (_1415)
        {
            uint param_5 = r_2;
            uint param_6 = position;
            _1423 = is_seen(param_5, param_6, first_seen, last_seen);
        }
        else
        {
            _1423 = _1415;
        }
        if (_1423)
        {
            float param_7 = scores[r_2];
            _1424 = finite_or_nan(param_7);
        }
        else
        {
            _1424 = -1000000015047466219876688855040.0;
        }
        scores[r_2] = _1424;
    }
    spvUnsafeArray<float, kValues> param_8;
    param_8 = scores;
    bool param_9 = false;
    reduce(param_8, param_9, reduced, gl_SubgroupID);
    if (lane < kValues)
    {
        uint param_10 = lane;
        float param_11 = largest[lane];
        float _1456 = reduced_max(param_10, param_11, reduced, gl_NumSubgroups);
        float top = _1456;
        float _1464;
        if (largest[lane] == top)
        {
            _1464 = 1.0;
        }
        else
        {
            _1464 = exp(largest[lane] - top);
        }
        shrink[lane] = _1464;
        largest[lane] = top;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float _1493;
    for (uint r_3 = 0u; r_3 < kValues; r_3++)
    {
        if (scores[r_3] == (-1000000015047466219876688855040.0))
        {
            _1493 = 0.0;
        }
        else
        {
            _1493 = exp(scores[r_3] - largest[r_3]);
        }
        float weight = _1493;
        weight_sum[r_3] = (weight_sum[r_3] * shrink[r_3]) + weight;
        for (uint p = 0u; p < kPairsOfLane; p++)
        {
            uint _1539 = (r_3 * kPairsOfLane) + p;
            value_sum[_1539] *= shrink[r_3];
        }
        ((threadgroup float*)&weights[((lane * kValues) + r_3) / 4u])[r_3 % 4u] = weight;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

static inline __attribute__((always_inline))
float2 load_pair_of_floats(thread const uint& format, thread const uint& row, thread const uint& pair, const device KvWords& v_311, constant Push& push)
{
    if (_372)
    {
        uint param = format;
        uint param_1 = row;
        uint param_2 = 2u * pair;
        float _394;
        if (((2u * pair) + 1u) < push.head_dim_v)
        {
            uint param_3 = format;
            uint param_4 = row;
            uint param_5 = (2u * pair) + 1u;
            _394 = load_float(param_3, param_4, param_5, v_311);
        }
        else
        {
            _394 = 0.0;
        }
        return float2(load_float(param, param_1, param_2, v_311), _394);
    }
    uint word = v_311.kv_words[(row / 4u) + pair];
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
    return as_type<float2>(uint2(v_311.kv_words[(row / 4u) + (2u * pair)], v_311.kv_words[((row / 4u) + (2u * pair)) + 1u]));
}

static inline __attribute__((always_inline))
float2 load_v(thread const uint& row, thread const uint& pair, const device KvWords& v_311, constant Push& push)
{
    uint format = v_format();
    switch (format)
    {
        case 3u:
        {
            uint block = row + ((pair / 16u) * 34u);
            uint param = (block + 2u) + (2u * (pair % 16u));
            int codes = int(half_at(param, v_311));
            uint param_1 = block;
            uint param_2 = half_at(param_1, v_311);
            return float2(float(extract_bits(codes, uint(0), uint(8))), float(extract_bits(codes, uint(8), uint(8)))) * f32_from_f16(param_2);
        }
    }
    uint param_3 = format;
    uint param_4 = row;
    uint param_5 = pair;
    return load_pair_of_floats(param_3, param_4, param_5, v_311, push);
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
    uint _1600;
    for (uint r = 0u; r < kValues; r++)
    {
        uint param_2 = r;
        uint param_3 = position;
        if (is_seen(param_2, param_3, first_seen, last_seen))
        {
            _1600 = 1u << r;
        }
        else
        {
            _1600 = 0u;
        }
        seeing |= _1600;
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
void add_values(thread const uint& block, thread const uint& n, const device KvWords& v_311, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup int (&first_seen)[kValues], threadgroup int (&last_seen)[kValues], threadgroup uint (&v_rows)[128], thread spvUnsafeArray<float2, _1532>& value_sum, threadgroup float4 (&weights)[_1551], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, thread bool& is_careful)
{
    uint lane = gl_LocalInvocationID.x;
    if (lane >= _1642)
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
        uint _1671 = lane / kPairsAtOnce;
        for (uint first = _1671; first < n; first += _1809)
        {
            for (uint i = 0u; i < kValuesAtOnce; i++)
            {
                uint param = v_rows[min((first + (i * kStride)), (n - 1u))];
                uint param_1 = pair;
                v[i] = load_v(param, param_1, v_311, push);
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
                        uint _1791 = ((r + j) * kPairsOfLane) + p;
                        value_sum[_1791] += (v[i_2] * weight[j]);
                    }
                }
            }
        }
    }
}

static inline __attribute__((always_inline))
void attend(thread const uint& first_token, thread const uint& last_token, thread const uint& seq, thread const uint& first, thread const uint& end, const device KvWords& v_311, constant Push& push, thread uint3& gl_LocalInvocationID, const device KvQuads& v_729, const device MainPages& v_847, threadgroup float (&reduced)[_995], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup int (&first_seen)[kValues], threadgroup int (&last_seen)[kValues], threadgroup float4 (&q_tile)[_1183], const device PageTable& v_1224, threadgroup uint (&v_rows)[128], threadgroup float (&largest)[kValues], threadgroup float (&shrink)[kValues], thread spvUnsafeArray<float, kValues>& weight_sum, thread spvUnsafeArray<float2, _1532>& value_sum, threadgroup float4 (&weights)[_1551], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, thread bool& is_careful, const device First& v_1824, const device Pos& v_1844)
{
    uint lane = gl_LocalInvocationID.x;
    if (lane < kValues)
    {
        uint param = lane;
        bool _1868 = exists(param, push, first_row, group_size);
        bool _1876;
        if (_1868)
        {
            uint param_1 = lane;
            _1876 = token_of(param_1, first_row, group_size) >= first_token;
        }
        else
        {
            _1876 = _1868;
        }
        bool _1884;
        if (_1876)
        {
            uint param_2 = lane;
            _1884 = token_of(param_2, first_row, group_size) <= last_token;
        }
        else
        {
            _1884 = _1876;
        }
        bool is_among = _1884;
        int _1887;
        if (is_among)
        {
            uint param_3 = lane;
            uint param_4 = seq;
            uint param_5 = token_of(param_3, first_row, group_size);
            _1887 = keys_of(param_4, param_5, push, v_847, v_1844) - 1;
        }
        else
        {
            _1887 = -1;
        }
        last_seen[lane] = _1887;
        int _1904;
        if (is_among)
        {
            uint param_6 = lane;
            uint param_7 = seq;
            uint param_8 = token_of(param_6, first_row, group_size);
            _1904 = int(first_of(param_7, param_8, push, v_847, v_1824));
        }
        else
        {
            _1904 = 0;
        }
        first_seen[lane] = _1904;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint block = first; block < end; block += 128u)
    {
        uint param_9 = seq;
        uint param_10 = block;
        uint param_11 = end;
        weigh(param_9, param_10, param_11, v_311, push, gl_LocalInvocationID, v_729, v_847, reduced, gl_SubgroupID, gl_NumSubgroups, head_kv, first_seen, last_seen, q_tile, v_1224, v_rows, largest, shrink, weight_sum, value_sum, weights);
        uint param_12 = block;
        uint param_13 = min(128u, (end - block));
        add_values(param_12, param_13, v_311, push, gl_LocalInvocationID, first_seen, last_seen, v_rows, value_sum, weights, damaged, is_careful);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

static inline __attribute__((always_inline))
void sum_up(thread const uint& part, const device KvWords& v_311, constant Push& push, thread uint3& gl_LocalInvocationID, const device KvQuads& v_729, const device MainPages& v_847, threadgroup float (&reduced)[_995], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup int (&first_seen)[kValues], threadgroup int (&last_seen)[kValues], threadgroup float4 (&q_tile)[_1183], const device PageTable& v_1224, threadgroup uint (&v_rows)[128], threadgroup float (&largest)[kValues], threadgroup float (&shrink)[kValues], thread spvUnsafeArray<float, kValues>& weight_sum, thread spvUnsafeArray<float2, _1532>& value_sum, threadgroup float4 (&weights)[_1551], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, thread bool& is_careful, const device First& v_1824, const device Pos& v_1844, const device Seq& v_2541)
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
    uint param = rows_of_tile(push, first_row, group_size) - 1u;
    uint last_of_tile = token_of(param, first_row, group_size);
    uint param_1 = 0u;
    uint token = token_of(param_1, first_row, group_size);
    uint _2764;
    while (token <= last_of_tile)
    {
        uint seq = uint(v_2541.seqs[push.seq_at + token]);
        uint param_2 = seq;
        uint param_3 = token;
        int n_keys = keys_of(param_2, param_3, push, v_847, v_1844);
        uint param_4 = uint(n_keys);
        uint n_positions = part_positions(param_4, push);
        uint last_token = token;
        uint param_5 = seq;
        uint param_6 = token;
        uint first_position = first_of(param_5, param_6, push, v_847, v_1824);
        for (;;)
        {
            bool _2714 = last_token < last_of_tile;
            bool _2727;
            if (_2714)
            {
                _2727 = uint(v_2541.seqs[(push.seq_at + last_token) + 1u]) == seq;
            }
            else
            {
                _2727 = _2714;
            }
            if (_2727)
            {
                uint param_7 = seq;
                uint param_8 = last_token + 1u;
                int keys_of_next = keys_of(param_7, param_8, push, v_847, v_1844);
                uint param_9 = uint(keys_of_next);
                if (part_positions(param_9, push) != n_positions)
                {
                    break;
                }
                last_token++;
                n_keys = max(n_keys, keys_of_next);
                uint param_10 = seq;
                uint param_11 = last_token;
                first_position = min(first_position, first_of(param_10, param_11, push, v_847, v_1824));
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
            _2764 = ((first_position - first) / 128u) * 128u;
        }
        else
        {
            _2764 = 0u;
        }
        uint left_out = _2764;
        uint param_12 = token;
        uint param_13 = last_token;
        uint param_14 = seq;
        uint param_15 = first + left_out;
        uint param_16 = min(uint(n_keys), (first + n_positions));
        attend(param_12, param_13, param_14, param_15, param_16, v_311, push, gl_LocalInvocationID, v_729, v_847, reduced, gl_SubgroupID, gl_NumSubgroups, first_row, group_size, head_kv, first_seen, last_seen, q_tile, v_1224, v_rows, largest, shrink, weight_sum, value_sum, weights, damaged, is_careful, v_1824, v_1844);
        token = last_token + 1u;
    }
}

static inline __attribute__((always_inline))
bool are_sums_damaged(threadgroup float (&reduced)[_995], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread spvUnsafeArray<float2, _1532>& value_sum)
{
    spvUnsafeArray<float, kValues> found;
    for (uint r = 0u; r < kValues; r++)
    {
        found[r] = 0.0;
    }
    for (uint i = 0u; i < _2593; i++)
    {
        float param = value_sum[i].x;
        bool _2600 = !is_finite(param);
        bool _2610;
        if (!_2600)
        {
            float param_1 = value_sum[i].y;
            _2610 = !is_finite(param_1);
        }
        else
        {
            _2610 = _2600;
        }
        if (_2610)
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
    float _2623 = reduced_max(param_4, param_5, reduced, gl_NumSubgroups);
    bool are_damaged = _2623 > 0.0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return are_damaged;
}

static inline __attribute__((always_inline))
void share_sums(thread const uint& p, thread const uint& component, thread uint3& gl_LocalInvocationID, thread spvUnsafeArray<float2, _1532>& value_sum, threadgroup float4 (&weights)[_1551], thread spvUnsafeArray<uint, kPairsOfLane>& damaged)
{
    uint lane = gl_LocalInvocationID.x;
    float4 sums;
    float _1980;
    for (uint r = 0u; r < kValues; r += 4u)
    {
        for (uint j = 0u; j < 4u; j++)
        {
            bool is_damaged = ((damaged[p] >> ((r + j) + (component * 16u))) & 1u) != 0u;
            if (is_damaged)
            {
                _1980 = as_type<float>(2143289344u);
            }
            else
            {
                _1980 = value_sum[((r + j) * kPairsOfLane) + p][component];
            }
            sums[j] = _1980;
        }
        weights[((lane * kValues) + r) / 4u] = sums;
    }
}

static inline __attribute__((always_inline))
float reduced_sum(thread const uint& i, threadgroup float (&reduced)[_995], thread uint& gl_NumSubgroups)
{
    float sum = 0.0;
    for (uint part = 0u; part < n_reduced(gl_NumSubgroups); part++)
    {
        sum += reduced[(part * kValues) + i];
    }
    return sum;
}

static inline __attribute__((always_inline))
void store_sums(thread const uint& p, thread const uint& component, thread const uint& part, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup float (&reduced)[_995], thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup float (&largest)[kValues], threadgroup float4 (&weights)[_1551], thread bool& is_only_part, device Merged& v_2094, volatile device Out& v_2112, volatile device Softmax& v_2148)
{
    float _2127;
    for (uint i = gl_LocalInvocationID.x; i < _2016; i += 128u)
    {
        uint row = i / kPairsAtOnce;
        uint dimension = (2u * ((i % kPairsAtOnce) + (p * 128u))) + component;
        uint param = row;
        bool _2033 = !exists(param, push, first_row, group_size);
        bool _2041;
        if (!_2033)
        {
            _2041 = dimension >= push.head_dim_v;
        }
        else
        {
            _2041 = _2033;
        }
        if (_2041)
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
        uint vector = ((part * push.n_tokens) * push.n_head) + vector_of(param_2, push, first_row, group_size, head_kv);
        if (is_only_part)
        {
            v_2094.merged[(push.merged_at + (vector * push.head_dim_v)) + dimension] = sum / total;
            continue;
        }
        if (push.keeps_sums == 0u)
        {
            _2127 = sum / total;
        }
        else
        {
            _2127 = sum;
        }
        v_2112.result[(push.out_at + (vector * push.head_dim_v)) + dimension] = _2127;
        if ((push.keeps_sums != 0u) && (dimension == 0u))
        {
            v_2148.softmax[push.softmax_at + vector] = float2(largest[row], total);
        }
    }
}

static inline __attribute__((always_inline))
void store(thread const uint& part, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup float (&reduced)[_995], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup float (&largest)[kValues], thread spvUnsafeArray<float, kValues>& weight_sum, thread spvUnsafeArray<float2, _1532>& value_sum, threadgroup float4 (&weights)[_1551], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, thread bool& is_only_part, device Merged& v_2094, volatile device Out& v_2112, volatile device Softmax& v_2148)
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
            store_sums(param_4, param_5, param_6, push, gl_LocalInvocationID, reduced, gl_NumSubgroups, first_row, group_size, head_kv, largest, weights, is_only_part, v_2094, v_2112, v_2148);
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
    }
}

static inline __attribute__((always_inline))
float2 softmax_of_part(thread const uint& part, thread const uint& vector, constant Push& push, volatile device Softmax& v_2148)
{
    return v_2148.softmax[(push.softmax_at + ((part * push.n_tokens) * push.n_head)) + vector];
}

static inline __attribute__((always_inline))
float sum_of_part(thread const uint& part, thread const uint& vector, thread const uint& dimension, constant Push& push, volatile device Out& v_2112)
{
    return v_2112.result[(push.out_at + ((((part * push.n_tokens) * push.n_head) + vector) * push.head_dim_v)) + dimension];
}

static inline __attribute__((always_inline))
float put_together(thread const uint& vector, thread const uint& dimension, thread const uint& n_parts, constant Push& push, volatile device Out& v_2112, volatile device Softmax& v_2148)
{
    uint param = 0u;
    uint param_1 = vector;
    float largest = softmax_of_part(param, param_1, push, v_2148).x;
    spvUnsafeArray<float, 8> scores;
    for (uint first = 1u; first < n_parts; first += 8u)
    {
        for (uint i = 0u; i < 8u; i++)
        {
            uint param_2 = min((first + i), (n_parts - 1u));
            uint param_3 = vector;
            scores[i] = softmax_of_part(param_2, param_3, push, v_2148).x;
        }
        for (uint i_1 = 0u; i_1 < 8u; i_1++)
        {
            largest = fast::max(largest, scores[i_1]);
        }
    }
    float sum = 0.0;
    float weight_sum = 0.0;
    spvUnsafeArray<float2, 8> softmaxes;
    spvUnsafeArray<float, 8> sums;
    float _2365;
    for (uint first_1 = 0u; first_1 < n_parts; first_1 += 8u)
    {
        for (uint i_2 = 0u; i_2 < 8u; i_2++)
        {
            uint part = min((first_1 + i_2), (n_parts - 1u));
            uint param_4 = part;
            uint param_5 = vector;
            softmaxes[i_2] = softmax_of_part(param_4, param_5, push, v_2148);
            uint param_6 = part;
            uint param_7 = vector;
            uint param_8 = dimension;
            sums[i_2] = sum_of_part(param_6, param_7, param_8, push, v_2112);
        }
        for (uint i_3 = 0u; i_3 < 8u; i_3++)
        {
            if ((first_1 + i_3) >= n_parts)
            {
                break;
            }
            if (softmaxes[i_3].x == largest)
            {
                _2365 = 1.0;
            }
            else
            {
                _2365 = exp(softmaxes[i_3].x - largest);
            }
            float weight = _2365;
            sum += (weight * sums[i_3]);
            weight_sum += (weight * softmaxes[i_3].y);
        }
    }
    return sum / weight_sum;
}

static inline __attribute__((always_inline))
void merge(thread const uint& n_parts, constant Push& push, thread uint3& gl_LocalInvocationID, thread uint& first_row, thread uint& group_size, thread uint& head_kv, device Merged& v_2094, volatile device Out& v_2112, volatile device Softmax& v_2148, thread uint3& gl_WorkGroupID, thread uint3& gl_NumWorkGroups, threadgroup uint& n_done_before, volatile device Done& v_2420)
{
    threadgroup_barrier(mem_flags::mem_device);
    uint tile = (gl_WorkGroupID.y * gl_NumWorkGroups.x) + gl_WorkGroupID.x;
    if (gl_LocalInvocationID.x == 0u)
    {
        uint _2423 = atomic_fetch_add_explicit((volatile device atomic_uint*)&v_2420.n_done[tile], 1u, memory_order_relaxed);
        n_done_before = _2423;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if ((n_done_before + 1u) < n_parts)
    {
        return;
    }
    threadgroup_barrier(mem_flags::mem_device);
    if (gl_LocalInvocationID.x == 0u)
    {
        v_2420.n_done[tile] = 0u;
    }
    for (uint i = gl_LocalInvocationID.x; i < (kValues * push.head_dim_v); i += 128u)
    {
        uint row = i / push.head_dim_v;
        uint dimension = i % push.head_dim_v;
        uint param = row;
        if (!exists(param, push, first_row, group_size))
        {
            continue;
        }
        uint param_1 = row;
        uint vector = vector_of(param_1, push, first_row, group_size, head_kv);
        uint param_2 = vector;
        uint param_3 = dimension;
        uint param_4 = n_parts;
        v_2094.merged[(push.merged_at + (vector * push.head_dim_v)) + dimension] = put_together(param_2, param_3, param_4, push, v_2112, v_2148);
    }
}

kernel void attention(const device KvWords& v_311 [[buffer(0)]], constant Push& push [[buffer(30)]], const device KvQuads& v_729 [[buffer(1)]], const device PageTable& v_1224 [[buffer(2)]], const device Seq& v_2541 [[buffer(3)]], const device Pos& v_1844 [[buffer(4)]], const device Q& v_1162 [[buffer(5)]], volatile device Out& v_2112 [[buffer(6)]], volatile device Softmax& v_2148 [[buffer(7)]], const device First& v_1824 [[buffer(8)]], const device Constants& v_479 [[buffer(9)]], const device MainPages& v_847 [[buffer(10)]], volatile device Done& v_2420 [[buffer(11)]], device Merged& v_2094 [[buffer(12)]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]], uint gl_SubgroupID [[simdgroup_index_in_threadgroup]], uint gl_NumSubgroups [[simdgroups_per_threadgroup]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]])
{
    threadgroup float v_levels[kVLevels];
    threadgroup float residual_signs[_507];
    threadgroup float k_levels[kKLevels];
    threadgroup float reduced[_995];
    threadgroup int first_seen[kValues];
    threadgroup int last_seen[kValues];
    threadgroup float4 q_tile[_1183];
    threadgroup uint v_rows[128];
    threadgroup float largest[kValues];
    threadgroup float shrink[kValues];
    threadgroup float4 weights[_1551];
    threadgroup uint n_done_before;
    uint head_kv = gl_WorkGroupID.y;
    uint group_size = push.n_head / push.n_head_kv;
    uint first_row = gl_WorkGroupID.x * kValues;
    uint part = gl_WorkGroupID.z;
    spvUnsafeArray<float, kValues> weight_sum;
    spvUnsafeArray<float2, _1532> value_sum;
    spvUnsafeArray<uint, kPairsOfLane> damaged;
    bool is_careful;
    bool is_only_part;
    uint _2809;
    if (kMerges)
    {
        _2809 = parts_of_tile(push, v_847, first_row, group_size, v_1844, v_2541);
    }
    else
    {
        _2809 = push.n_parts;
    }
    uint n_parts = _2809;
    if (part >= n_parts)
    {
        return;
    }
    is_only_part = kMerges && (n_parts == 1u);
    for (uint p = 0u; p < kPairsOfLane; p++)
    {
        damaged[p] = 0u;
    }
    load_q_tile(push, gl_LocalInvocationID, first_row, group_size, head_kv, v_1162, q_tile);
    load_levels(gl_LocalInvocationID, v_levels, v_479, residual_signs, k_levels);
    is_careful = false;
    for (;;)
    {
        uint param = part;
        sum_up(param, v_311, push, gl_LocalInvocationID, v_729, v_847, reduced, gl_SubgroupID, gl_NumSubgroups, first_row, group_size, head_kv, first_seen, last_seen, q_tile, v_1224, v_rows, largest, shrink, weight_sum, value_sum, weights, damaged, is_careful, v_1824, v_1844, v_2541);
        bool _2853;
        if (!is_careful)
        {
            bool _2851 = are_sums_damaged(reduced, gl_SubgroupID, gl_NumSubgroups, value_sum);
            _2853 = !_2851;
        }
        else
        {
            _2853 = is_careful;
        }
        if (_2853)
        {
            break;
        }
        is_careful = true;
        continue;
    }
    uint param_1 = part;
    store(param_1, push, gl_LocalInvocationID, reduced, gl_SubgroupID, gl_NumSubgroups, first_row, group_size, head_kv, largest, weight_sum, value_sum, weights, damaged, is_only_part, v_2094, v_2112, v_2148);
    if (kMerges && (!is_only_part))
    {
        uint param_2 = n_parts;
        merge(param_2, push, gl_LocalInvocationID, first_row, group_size, head_kv, v_2094, v_2112, v_2148, gl_WorkGroupID, gl_NumWorkGroups, n_done_before, v_2420);
    }
}

