// src/kernels/vulkan/attention.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
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
constant bool _348 = (!kWholeQuads);

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
constant int _483 = kHasResidual ? 128 : 1;
#ifndef SPIRV_CROSS_CONSTANT_ID_6
#define SPIRV_CROSS_CONSTANT_ID_6 1u
#endif
constant uint kKLevels = SPIRV_CROSS_CONSTANT_ID_6;
constant bool _636 = (!kWholeQuads);

struct KvQuads
{
    uint4 kv_quads[1];
};

struct MainPages
{
    int main_pages[1];
};

constant uint _971 = (32u * kValues);
#ifndef SPIRV_CROSS_CONSTANT_ID_3
#define SPIRV_CROSS_CONSTANT_ID_3 1u
#endif
constant uint kKPieces = SPIRV_CROSS_CONSTANT_ID_3;
constant uint row_floats = (kKPieces * 16u);
constant uint _1101 = (kValues * row_floats);

struct Q
{
    float q[1];
};

constant uint _1153 = (kValues * kKPieces);
constant uint _1154 = (_1153 * 4u);

struct PageTable
{
    int page_table[1];
};

#ifndef SPIRV_CROSS_CONSTANT_ID_4
#define SPIRV_CROSS_CONSTANT_ID_4 1u
#endif
constant uint kVPairs = SPIRV_CROSS_CONSTANT_ID_4;
constant uint _1457 = (kVPairs + 128u);
constant uint _1458 = (_1457 - 1u);
constant uint kPairsOfLane = (_1458 / 128u);
constant uint _1461 = (kValues * kPairsOfLane);
constant uint _1479 = (128u * kValues);
constant uint _1480 = (_1479 / 4u);
constant bool _1568 = (kVPairs < 128u);
constant uint kPairsAtOnce = _1568 ? kVPairs : 128u;
constant uint kStride = (128u / kPairsAtOnce);
constant uint _1571 = (kStride * kPairsAtOnce);
#ifndef SPIRV_CROSS_CONSTANT_ID_9
#define SPIRV_CROSS_CONSTANT_ID_9 8u
#endif
constant uint kValuesAtOnce = SPIRV_CROSS_CONSTANT_ID_9;
constant uint _1738 = (kValuesAtOnce * kStride);

struct First
{
    int firsts[1];
};

struct Pos
{
    int positions[1];
};

constant uint _1945 = (kValues * kPairsAtOnce);

struct Out
{
    float result[1];
};

struct Softmax
{
    float2 softmax[1];
};

constant uint _2153 = (kValues * kPairsOfLane);

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
void load_q_tile(constant Push& push, thread uint3& gl_LocalInvocationID, thread uint& first_row, thread uint& group_size, thread uint& head_kv, const device Q& v_1125, threadgroup float4 (&q_tile)[_1154])
{
    for (uint i = gl_LocalInvocationID.x; i < _1101; i += 128u)
    {
        uint row = i / row_floats;
        uint dimension = i % row_floats;
        float value = 0.0;
        uint param = row;
        bool _1112 = exists(param, push, first_row, group_size);
        bool _1119;
        if (_1112)
        {
            _1119 = dimension < push.head_dim_k;
        }
        else
        {
            _1119 = _1112;
        }
        if (_1119)
        {
            uint param_1 = row;
            uint param_2 = row;
            value = v_1125.q[(push.q_at + (((token_of(param_1, first_row, group_size) * push.n_head) + head_of(param_2, first_row, group_size, head_kv)) * push.head_dim_k)) + dimension] * push.scale;
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
void load_v_levels(thread uint3& gl_LocalInvocationID, threadgroup float (&v_levels)[kVLevels], const device Constants& v_455, threadgroup float (&residual_signs)[_483])
{
    uint i = gl_LocalInvocationID.x;
    for (;;)
    {
        uint _443 = v_format();
        uint param = _443;
        uint _445 = n_levels(param);
        if (i < _445)
        {
            uint param_1 = v_format();
            v_levels[i] = v_455.constants[first_level(param_1) + i];
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
        residual_signs[i_1] = v_455.constants[352u + i_1];
    }
}

static inline __attribute__((always_inline))
uint k_format()
{
    return kKFormat;
}

static inline __attribute__((always_inline))
void load_levels(thread uint3& gl_LocalInvocationID, threadgroup float (&v_levels)[kVLevels], const device Constants& v_455, threadgroup float (&residual_signs)[_483], threadgroup float (&k_levels)[kKLevels])
{
    load_v_levels(gl_LocalInvocationID, v_levels, v_455, residual_signs);
    uint i = gl_LocalInvocationID.x;
    for (;;)
    {
        uint _553 = k_format();
        uint param = _553;
        uint _555 = n_levels(param);
        if (i < _555)
        {
            uint param_1 = k_format();
            k_levels[i] = v_455.constants[first_level(param_1) + i];
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
int keys_before(thread const uint& seq, thread const int& position, constant Push& push, const device MainPages& v_823)
{
    if (push.pages_of == 0u)
    {
        return position;
    }
    int first = v_823.main_pages[push.main_pages_at + (2u * seq)] * int(push.page_tokens);
    int last = v_823.main_pages[(push.main_pages_at + (2u * seq)) + 1u] * int(push.page_tokens);
    int n_main = min(max((position - first), 0), max((last - first), 0));
    int _863;
    if (push.pages_of == 2u)
    {
        _863 = position - n_main;
    }
    else
    {
        _863 = n_main;
    }
    return _863;
}

static inline __attribute__((always_inline))
int keys_of(thread const uint& seq, thread const uint& token, constant Push& push, const device MainPages& v_823, const device Pos& v_1773)
{
    uint param = seq;
    int param_1 = v_1773.positions[push.pos_at + token] + 1;
    return keys_before(param, param_1, push, v_823);
}

static inline __attribute__((always_inline))
uint part_positions(thread const uint& n, constant Push& push)
{
    if (push.n_parts == 1u)
    {
        return 2147483647u;
    }
    uint _2120;
    if (n <= 1u)
    {
        _2120 = 1u;
    }
    else
    {
        _2120 = 2u << uint(int(spvFindUMSB(n - 1u)));
    }
    return max(128u, (_2120 / 32u));
}

static inline __attribute__((always_inline))
uint first_of(thread const uint& seq, thread const uint& token, constant Push& push, const device MainPages& v_823, const device First& v_1753)
{
    uint _1747;
    if (push.has_first > 0u)
    {
        uint param = seq;
        int param_1 = v_1753.firsts[push.first_at + token];
        _1747 = uint(keys_before(param, param_1, push, v_823));
    }
    else
    {
        _1747 = 0u;
    }
    return _1747;
}

static inline __attribute__((always_inline))
uint page_of(thread const uint& seq, thread const uint& key, constant Push& push, const device MainPages& v_823)
{
    uint index = key / push.page_tokens;
    if (push.pages_of == 0u)
    {
        return index;
    }
    int first = v_823.main_pages[push.main_pages_at + (2u * seq)];
    int last = v_823.main_pages[(push.main_pages_at + (2u * seq)) + 1u];
    if (push.pages_of == 1u)
    {
        return index + uint(first);
    }
    uint _917;
    if (index < uint(first))
    {
        _917 = index;
    }
    else
    {
        _917 = index + uint(max((last - first), 0));
    }
    return _917;
}

static inline __attribute__((always_inline))
uint half_at(thread const uint& at, const device KvWords& v_287)
{
    return (v_287.kv_words[at >> uint(2)] >> (8u * (at & 2u))) & 65535u;
}

static inline __attribute__((always_inline))
float f32_from_f16(thread const uint& half_bits)
{
    uint _sign = (half_bits & 32768u) << uint(16);
    uint magnitude = half_bits & 32767u;
    uint subnormal = as_type<uint>(float(magnitude) * 5.9604644775390625e-08);
    uint exponent_offset = (magnitude < 31744u) ? 939524096u : 1879048192u;
    uint _269;
    if (magnitude < 1024u)
    {
        _269 = subnormal;
    }
    else
    {
        _269 = (magnitude << uint(13)) + exponent_offset;
    }
    return as_type<float>(_sign | _269);
}

static inline __attribute__((always_inline))
uint two_halves_at(thread const uint& at, const device KvWords& v_287)
{
    uint param = at;
    uint param_1 = at + 2u;
    return half_at(param, v_287) | (half_at(param_1, v_287) << uint(16));
}

static inline __attribute__((always_inline))
float load_float(thread const uint& format, thread const uint& row, thread const uint& i, const device KvWords& v_287)
{
    switch (format)
    {
        case 1u:
        {
            uint param = row + (2u * i);
            uint param_1 = half_at(param, v_287);
            return f32_from_f16(param_1);
        }
        case 2u:
        {
            uint param_2 = row + (2u * i);
            return as_type<float>(half_at(param_2, v_287) << uint(16));
        }
    }
    return as_type<float>(v_287.kv_words[(row / 4u) + i]);
}

static inline __attribute__((always_inline))
void load_k(thread const uint& row, thread const uint& piece, thread spvUnsafeArray<float4, 4>& k, const device KvWords& v_287, constant Push& push, const device KvQuads& v_705)
{
    uint format = k_format();
    if (format == 3u)
    {
        uint block = row + ((piece / 2u) * 34u);
        uint param = block;
        uint param_1 = half_at(param, v_287);
        float _step = f32_from_f16(param_1);
        uint first = (block + 2u) + (16u * (piece % 2u));
        for (uint i = 0u; i < 4u; i++)
        {
            uint param_2 = first + (4u * i);
            int codes = int(two_halves_at(param_2, v_287));
            k[i] = float4(float(extract_bits(codes, uint(0), uint(8))), float(extract_bits(codes, uint(8), uint(8))), float(extract_bits(codes, uint(16), uint(8))), float(extract_bits(codes, uint(24), uint(8)))) * _step;
        }
    }
    else
    {
        if (_636)
        {
            float _670;
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
                        _670 = load_float(param_3, param_4, param_5, v_287);
                    }
                    else
                    {
                        _670 = 0.0;
                    }
                    k[i_1][j] = _670;
                }
            }
        }
        else
        {
            if (format == 0u)
            {
                for (uint i_2 = 0u; i_2 < 4u; i_2++)
                {
                    k[i_2] = as_type<float4>(v_705.kv_quads[((row / 16u) + (4u * piece)) + i_2]);
                }
            }
            else
            {
                for (uint i_3 = 0u; i_3 < 2u; i_3++)
                {
                    uint4 pairs = v_705.kv_quads[((row / 16u) + (2u * piece)) + i_3];
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
    bool _1077 = int(position) >= first_seen[row];
    bool _1087;
    if (_1077)
    {
        _1087 = int(position) <= last_seen[row];
    }
    else
    {
        _1087 = _1077;
    }
    return _1087;
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
    uint _198;
    if (is_finite(param))
    {
        _198 = as_type<uint>(value);
    }
    else
    {
        _198 = 2143289344u;
    }
    return as_type<float>(_198);
}

static inline __attribute__((always_inline))
void reduce(thread const spvUnsafeArray<float, kValues>& values, thread const bool& is_sum, threadgroup float (&reduced)[_971], thread uint& gl_SubgroupID)
{
    spvUnsafeArray<float, kValues> results;
    float _943;
    for (uint i = 0u; i < kValues; i++)
    {
        if (is_sum)
        {
            _943 = simd_sum(values[i]);
        }
        else
        {
            _943 = simd_max(values[i]);
        }
        results[i] = _943;
    }
    bool _959 = simd_is_first();
    if (_959)
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
float reduced_max(thread const uint& i, thread float& so_far, threadgroup float (&reduced)[_971], thread uint& gl_NumSubgroups)
{
    for (uint part = 0u; part < n_reduced(gl_NumSubgroups); part++)
    {
        so_far = fast::max(so_far, reduced[(part * kValues) + i]);
    }
    return so_far;
}

static inline __attribute__((always_inline))
void weigh(thread const uint& seq, thread const uint& first, thread const uint& end, const device KvWords& v_287, constant Push& push, thread uint3& gl_LocalInvocationID, const device KvQuads& v_705, const device MainPages& v_823, threadgroup float (&reduced)[_971], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& head_kv, threadgroup int (&first_seen)[kValues], threadgroup int (&last_seen)[kValues], threadgroup float4 (&q_tile)[_1154], const device PageTable& v_1195, threadgroup uint (&v_rows)[128], threadgroup float (&largest)[kValues], threadgroup float (&shrink)[kValues], thread spvUnsafeArray<float, kValues>& weight_sum, thread spvUnsafeArray<float2, _1461>& value_sum, threadgroup float4 (&weights)[_1480])
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
        uint page = uint(v_1195.page_table[(push.page_table_at + (seq * push.max_pages)) + page_of(param, param_1, push, v_823)]);
        uint keys = push.kv_at + (page * push.page_bytes);
        uint values = keys + ((push.n_head_kv * push.page_tokens) * push.k_row_bytes);
        uint slot = (head_kv * push.page_tokens) + (position % push.page_tokens);
        v_rows[lane] = values + (slot * push.v_row_bytes);
        spvUnsafeArray<float4, 4> param_4;
        for (uint piece = 0u; piece < kKPieces; piece++)
        {
            uint param_2 = keys + (slot * push.k_row_bytes);
            uint param_3 = piece;
            load_k(param_2, param_3, param_4, v_287, push, v_705);
            spvUnsafeArray<float4, 4> k;
            k = param_4;
            for (uint r_1 = 0u; r_1 < kValues; r_1++)
            {
                uint at = ((r_1 * kKPieces) + piece) * 4u;
                scores[r_1] += (((dot(q_tile[at], k[0]) + dot(q_tile[at + 1u], k[1])) + dot(q_tile[at + 2u], k[2])) + dot(q_tile[at + 3u], k[3]));
            }
        }
    }
    float _1353;
    for (uint r_2 = 0u; r_2 < kValues; r_2++)
    {
        bool _1344 = position < end;
        bool _1352;
        if (_1344)
        {
            uint param_5 = r_2;
            uint param_6 = position;
            _1352 = is_seen(param_5, param_6, first_seen, last_seen);
        }
        else
        {
            _1352 = _1344;
        }
        if (_1352)
        {
            float param_7 = scores[r_2];
            _1353 = finite_or_nan(param_7);
        }
        else
        {
            _1353 = -1000000015047466219876688855040.0;
        }
        scores[r_2] = _1353;
    }
    spvUnsafeArray<float, kValues> param_8;
    param_8 = scores;
    bool param_9 = false;
    reduce(param_8, param_9, reduced, gl_SubgroupID);
    if (lane < kValues)
    {
        uint param_10 = lane;
        float param_11 = largest[lane];
        float _1385 = reduced_max(param_10, param_11, reduced, gl_NumSubgroups);
        float top = _1385;
        float _1393;
        if (largest[lane] == top)
        {
            _1393 = 1.0;
        }
        else
        {
            _1393 = exp(largest[lane] - top);
        }
        shrink[lane] = _1393;
        largest[lane] = top;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float _1422;
    for (uint r_3 = 0u; r_3 < kValues; r_3++)
    {
        if (scores[r_3] == (-1000000015047466219876688855040.0))
        {
            _1422 = 0.0;
        }
        else
        {
            _1422 = exp(scores[r_3] - largest[r_3]);
        }
        float weight = _1422;
        weight_sum[r_3] = (weight_sum[r_3] * shrink[r_3]) + weight;
        for (uint p = 0u; p < kPairsOfLane; p++)
        {
            uint _1468 = (r_3 * kPairsOfLane) + p;
            value_sum[_1468] *= shrink[r_3];
        }
        ((threadgroup float*)&weights[((lane * kValues) + r_3) / 4u])[r_3 % 4u] = weight;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

static inline __attribute__((always_inline))
float2 load_pair_of_floats(thread const uint& format, thread const uint& row, thread const uint& pair, const device KvWords& v_287, constant Push& push)
{
    if (_348)
    {
        uint param = format;
        uint param_1 = row;
        uint param_2 = 2u * pair;
        float _370;
        if (((2u * pair) + 1u) < push.head_dim_v)
        {
            uint param_3 = format;
            uint param_4 = row;
            uint param_5 = (2u * pair) + 1u;
            _370 = load_float(param_3, param_4, param_5, v_287);
        }
        else
        {
            _370 = 0.0;
        }
        return float2(load_float(param, param_1, param_2, v_287), _370);
    }
    uint word = v_287.kv_words[(row / 4u) + pair];
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
    return as_type<float2>(uint2(v_287.kv_words[(row / 4u) + (2u * pair)], v_287.kv_words[((row / 4u) + (2u * pair)) + 1u]));
}

static inline __attribute__((always_inline))
float2 load_v(thread const uint& row, thread const uint& pair, const device KvWords& v_287, constant Push& push)
{
    uint format = v_format();
    switch (format)
    {
        case 3u:
        {
            uint block = row + ((pair / 16u) * 34u);
            uint param = (block + 2u) + (2u * (pair % 16u));
            int codes = int(half_at(param, v_287));
            uint param_1 = block;
            uint param_2 = half_at(param_1, v_287);
            return float2(float(extract_bits(codes, uint(0), uint(8))), float(extract_bits(codes, uint(8), uint(8)))) * f32_from_f16(param_2);
        }
    }
    uint param_3 = format;
    uint param_4 = row;
    uint param_5 = pair;
    return load_pair_of_floats(param_3, param_4, param_5, v_287, push);
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
    uint _1529;
    for (uint r = 0u; r < kValues; r++)
    {
        uint param_2 = r;
        uint param_3 = position;
        if (is_seen(param_2, param_3, first_seen, last_seen))
        {
            _1529 = 1u << r;
        }
        else
        {
            _1529 = 0u;
        }
        seeing |= _1529;
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
void add_values(thread const uint& block, thread const uint& n, const device KvWords& v_287, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup int (&first_seen)[kValues], threadgroup int (&last_seen)[kValues], threadgroup uint (&v_rows)[128], thread spvUnsafeArray<float2, _1461>& value_sum, threadgroup float4 (&weights)[_1480], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, thread bool& is_careful)
{
    uint lane = gl_LocalInvocationID.x;
    if (lane >= _1571)
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
        uint _1600 = lane / kPairsAtOnce;
        for (uint first = _1600; first < n; first += _1738)
        {
            for (uint i = 0u; i < kValuesAtOnce; i++)
            {
                uint param = v_rows[min((first + (i * kStride)), (n - 1u))];
                uint param_1 = pair;
                v[i] = load_v(param, param_1, v_287, push);
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
                        uint _1720 = ((r + j) * kPairsOfLane) + p;
                        value_sum[_1720] += (v[i_2] * weight[j]);
                    }
                }
            }
        }
    }
}

static inline __attribute__((always_inline))
void attend(thread const uint& first_token, thread const uint& last_token, thread const uint& seq, thread const uint& first, thread const uint& end, const device KvWords& v_287, constant Push& push, thread uint3& gl_LocalInvocationID, const device KvQuads& v_705, const device MainPages& v_823, threadgroup float (&reduced)[_971], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup int (&first_seen)[kValues], threadgroup int (&last_seen)[kValues], threadgroup float4 (&q_tile)[_1154], const device PageTable& v_1195, threadgroup uint (&v_rows)[128], threadgroup float (&largest)[kValues], threadgroup float (&shrink)[kValues], thread spvUnsafeArray<float, kValues>& weight_sum, thread spvUnsafeArray<float2, _1461>& value_sum, threadgroup float4 (&weights)[_1480], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, thread bool& is_careful, const device First& v_1753, const device Pos& v_1773)
{
    uint lane = gl_LocalInvocationID.x;
    if (lane < kValues)
    {
        uint param = lane;
        bool _1797 = exists(param, push, first_row, group_size);
        bool _1805;
        if (_1797)
        {
            uint param_1 = lane;
            _1805 = token_of(param_1, first_row, group_size) >= first_token;
        }
        else
        {
            _1805 = _1797;
        }
        bool _1813;
        if (_1805)
        {
            uint param_2 = lane;
            _1813 = token_of(param_2, first_row, group_size) <= last_token;
        }
        else
        {
            _1813 = _1805;
        }
        bool is_among = _1813;
        int _1816;
        if (is_among)
        {
            uint param_3 = lane;
            uint param_4 = seq;
            uint param_5 = token_of(param_3, first_row, group_size);
            _1816 = keys_of(param_4, param_5, push, v_823, v_1773) - 1;
        }
        else
        {
            _1816 = -1;
        }
        last_seen[lane] = _1816;
        int _1833;
        if (is_among)
        {
            uint param_6 = lane;
            uint param_7 = seq;
            uint param_8 = token_of(param_6, first_row, group_size);
            _1833 = int(first_of(param_7, param_8, push, v_823, v_1753));
        }
        else
        {
            _1833 = 0;
        }
        first_seen[lane] = _1833;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint block = first; block < end; block += 128u)
    {
        uint param_9 = seq;
        uint param_10 = block;
        uint param_11 = end;
        weigh(param_9, param_10, param_11, v_287, push, gl_LocalInvocationID, v_705, v_823, reduced, gl_SubgroupID, gl_NumSubgroups, head_kv, first_seen, last_seen, q_tile, v_1195, v_rows, largest, shrink, weight_sum, value_sum, weights);
        uint param_12 = block;
        uint param_13 = min(128u, (end - block));
        add_values(param_12, param_13, v_287, push, gl_LocalInvocationID, first_seen, last_seen, v_rows, value_sum, weights, damaged, is_careful);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

static inline __attribute__((always_inline))
void sum_up(thread const uint& part, const device KvWords& v_287, constant Push& push, thread uint3& gl_LocalInvocationID, const device KvQuads& v_705, const device MainPages& v_823, threadgroup float (&reduced)[_971], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup int (&first_seen)[kValues], threadgroup int (&last_seen)[kValues], threadgroup float4 (&q_tile)[_1154], const device PageTable& v_1195, threadgroup uint (&v_rows)[128], threadgroup float (&largest)[kValues], threadgroup float (&shrink)[kValues], thread spvUnsafeArray<float, kValues>& weight_sum, thread spvUnsafeArray<float2, _1461>& value_sum, threadgroup float4 (&weights)[_1480], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, thread bool& is_careful, const device First& v_1753, const device Pos& v_1773, const device Seq& v_2252)
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
    uint _2337;
    while (token <= last_of_tile)
    {
        uint seq = uint(v_2252.seqs[push.seq_at + token]);
        uint param_2 = seq;
        uint param_3 = token;
        int n_keys = keys_of(param_2, param_3, push, v_823, v_1773);
        uint param_4 = uint(n_keys);
        uint n_positions = part_positions(param_4, push);
        uint last_token = token;
        uint param_5 = seq;
        uint param_6 = token;
        uint first_position = first_of(param_5, param_6, push, v_823, v_1753);
        for (;;)
        {
            bool _2287 = last_token < last_of_tile;
            bool _2300;
            if (_2287)
            {
                _2300 = uint(v_2252.seqs[(push.seq_at + last_token) + 1u]) == seq;
            }
            else
            {
                _2300 = _2287;
            }
            if (_2300)
            {
                uint param_7 = seq;
                uint param_8 = last_token + 1u;
                int keys_of_next = keys_of(param_7, param_8, push, v_823, v_1773);
                uint param_9 = uint(keys_of_next);
                if (part_positions(param_9, push) != n_positions)
                {
                    break;
                }
                last_token++;
                n_keys = max(n_keys, keys_of_next);
                uint param_10 = seq;
                uint param_11 = last_token;
                first_position = min(first_position, first_of(param_10, param_11, push, v_823, v_1753));
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
            _2337 = ((first_position - first) / 128u) * 128u;
        }
        else
        {
            _2337 = 0u;
        }
        uint left_out = _2337;
        uint param_12 = token;
        uint param_13 = last_token;
        uint param_14 = seq;
        uint param_15 = first + left_out;
        uint param_16 = min(uint(n_keys), (first + n_positions));
        attend(param_12, param_13, param_14, param_15, param_16, v_287, push, gl_LocalInvocationID, v_705, v_823, reduced, gl_SubgroupID, gl_NumSubgroups, first_row, group_size, head_kv, first_seen, last_seen, q_tile, v_1195, v_rows, largest, shrink, weight_sum, value_sum, weights, damaged, is_careful, v_1753, v_1773);
        token = last_token + 1u;
    }
}

static inline __attribute__((always_inline))
bool are_sums_damaged(threadgroup float (&reduced)[_971], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread spvUnsafeArray<float2, _1461>& value_sum)
{
    spvUnsafeArray<float, kValues> found;
    for (uint r = 0u; r < kValues; r++)
    {
        found[r] = 0.0;
    }
    for (uint i = 0u; i < _2153; i++)
    {
        float param = value_sum[i].x;
        bool _2160 = !is_finite(param);
        bool _2170;
        if (!_2160)
        {
            float param_1 = value_sum[i].y;
            _2170 = !is_finite(param_1);
        }
        else
        {
            _2170 = _2160;
        }
        if (_2170)
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
    float _2183 = reduced_max(param_4, param_5, reduced, gl_NumSubgroups);
    bool are_damaged = _2183 > 0.0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return are_damaged;
}

static inline __attribute__((always_inline))
void share_sums(thread const uint& p, thread const uint& component, thread uint3& gl_LocalInvocationID, thread spvUnsafeArray<float2, _1461>& value_sum, threadgroup float4 (&weights)[_1480], thread spvUnsafeArray<uint, kPairsOfLane>& damaged)
{
    uint lane = gl_LocalInvocationID.x;
    float4 sums;
    float _1909;
    for (uint r = 0u; r < kValues; r += 4u)
    {
        for (uint j = 0u; j < 4u; j++)
        {
            bool is_damaged = ((damaged[p] >> ((r + j) + (component * 16u))) & 1u) != 0u;
            if (is_damaged)
            {
                _1909 = as_type<float>(2143289344u);
            }
            else
            {
                _1909 = value_sum[((r + j) * kPairsOfLane) + p][component];
            }
            sums[j] = _1909;
        }
        weights[((lane * kValues) + r) / 4u] = sums;
    }
}

static inline __attribute__((always_inline))
float reduced_sum(thread const uint& i, threadgroup float (&reduced)[_971], thread uint& gl_NumSubgroups)
{
    float sum = 0.0;
    for (uint part = 0u; part < n_reduced(gl_NumSubgroups); part++)
    {
        sum += reduced[(part * kValues) + i];
    }
    return sum;
}

static inline __attribute__((always_inline))
void store_sums(thread const uint& p, thread const uint& component, thread const uint& part, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup float (&reduced)[_971], thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup float (&largest)[kValues], threadgroup float4 (&weights)[_1480], device Out& v_2023, device Softmax& v_2059)
{
    float _2038;
    for (uint i = gl_LocalInvocationID.x; i < _1945; i += 128u)
    {
        uint row = i / kPairsAtOnce;
        uint dimension = (2u * ((i % kPairsAtOnce) + (p * 128u))) + component;
        uint param = row;
        bool _1962 = !exists(param, push, first_row, group_size);
        bool _1970;
        if (!_1962)
        {
            _1970 = dimension >= push.head_dim_v;
        }
        else
        {
            _1970 = _1962;
        }
        if (_1970)
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
            _2038 = sum / total;
        }
        else
        {
            _2038 = sum;
        }
        v_2023.result[(push.out_at + (vector * push.head_dim_v)) + dimension] = _2038;
        if ((push.keeps_sums != 0u) && (dimension == 0u))
        {
            v_2059.softmax[push.softmax_at + vector] = float2(largest[row], total);
        }
    }
}

static inline __attribute__((always_inline))
void store(thread const uint& part, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup float (&reduced)[_971], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup float (&largest)[kValues], thread spvUnsafeArray<float, kValues>& weight_sum, thread spvUnsafeArray<float2, _1461>& value_sum, threadgroup float4 (&weights)[_1480], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, device Out& v_2023, device Softmax& v_2059)
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
            store_sums(param_4, param_5, param_6, push, gl_LocalInvocationID, reduced, gl_NumSubgroups, first_row, group_size, head_kv, largest, weights, v_2023, v_2059);
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
    }
}

kernel void attention(const device KvWords& v_287 [[buffer(0)]], constant Push& push [[buffer(30)]], const device KvQuads& v_705 [[buffer(1)]], const device PageTable& v_1195 [[buffer(2)]], const device Seq& v_2252 [[buffer(3)]], const device Pos& v_1773 [[buffer(4)]], const device Q& v_1125 [[buffer(5)]], device Out& v_2023 [[buffer(6)]], device Softmax& v_2059 [[buffer(7)]], const device First& v_1753 [[buffer(8)]], const device Constants& v_455 [[buffer(9)]], const device MainPages& v_823 [[buffer(10)]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]], uint gl_SubgroupID [[simdgroup_index_in_threadgroup]], uint gl_NumSubgroups [[simdgroups_per_threadgroup]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]])
{
    threadgroup float v_levels[kVLevels];
    threadgroup float residual_signs[_483];
    threadgroup float k_levels[kKLevels];
    threadgroup float reduced[_971];
    threadgroup int first_seen[kValues];
    threadgroup int last_seen[kValues];
    threadgroup float4 q_tile[_1154];
    threadgroup uint v_rows[128];
    threadgroup float largest[kValues];
    threadgroup float shrink[kValues];
    threadgroup float4 weights[_1480];
    uint head_kv = gl_WorkGroupID.y;
    uint group_size = push.n_head / push.n_head_kv;
    uint first_row = gl_WorkGroupID.x * kValues;
    uint part = gl_WorkGroupID.z;
    spvUnsafeArray<float, kValues> weight_sum;
    spvUnsafeArray<float2, _1461> value_sum;
    spvUnsafeArray<uint, kPairsOfLane> damaged;
    bool is_careful;
    for (uint p = 0u; p < kPairsOfLane; p++)
    {
        damaged[p] = 0u;
    }
    load_q_tile(push, gl_LocalInvocationID, first_row, group_size, head_kv, v_1125, q_tile);
    load_levels(gl_LocalInvocationID, v_levels, v_455, residual_signs, k_levels);
    is_careful = false;
    for (;;)
    {
        uint param = part;
        sum_up(param, v_287, push, gl_LocalInvocationID, v_705, v_823, reduced, gl_SubgroupID, gl_NumSubgroups, first_row, group_size, head_kv, first_seen, last_seen, q_tile, v_1195, v_rows, largest, shrink, weight_sum, value_sum, weights, damaged, is_careful, v_1753, v_1773, v_2252);
        bool _2408;
        if (!is_careful)
        {
            bool _2406 = are_sums_damaged(reduced, gl_SubgroupID, gl_NumSubgroups, value_sum);
            _2408 = !_2406;
        }
        else
        {
            _2408 = is_careful;
        }
        if (_2408)
        {
            break;
        }
        is_careful = true;
        continue;
    }
    uint param_1 = part;
    store(param_1, push, gl_LocalInvocationID, reduced, gl_SubgroupID, gl_NumSubgroups, first_row, group_size, head_kv, largest, weight_sum, value_sum, weights, damaged, v_2023, v_2059);
}

