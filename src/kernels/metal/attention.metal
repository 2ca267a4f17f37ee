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

struct KvWords
{
    uint kv_words[1];
};

constant bool kWholeQuads_tmp [[function_constant(5)]];
constant bool kWholeQuads = is_function_constant_defined(kWholeQuads_tmp) ? kWholeQuads_tmp : false;
constant bool _189 = (!kWholeQuads);

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
    float scale;
};

constant uint kVFormat_tmp [[function_constant(1)]];
constant uint kVFormat = is_function_constant_defined(kVFormat_tmp) ? kVFormat_tmp : 0u;
constant bool _274 = (kVFormat != 3u);
constant uint kKFormat_tmp [[function_constant(0)]];
constant uint kKFormat = is_function_constant_defined(kKFormat_tmp) ? kKFormat_tmp : 0u;
constant bool _320 = (kKFormat == 3u);
constant bool _391 = (!kWholeQuads);
constant bool _442 = (kKFormat == 0u);

struct KvQuads
{
    uint4 kv_quads[1];
};

constant bool _493 = (kKFormat == 1u);
#ifndef SPIRV_CROSS_CONSTANT_ID_2
#define SPIRV_CROSS_CONSTANT_ID_2 4u
#endif
constant uint kRows = SPIRV_CROSS_CONSTANT_ID_2;
#ifndef SPIRV_CROSS_CONSTANT_ID_3
#define SPIRV_CROSS_CONSTANT_ID_3 1u
#endif
constant uint kKPieces = SPIRV_CROSS_CONSTANT_ID_3;
constant uint row_floats = (kKPieces * 16u);
constant uint _611 = (kRows * row_floats);

struct Q
{
    float q[1];
};

constant uint _664 = (kRows * kKPieces);
constant uint _665 = (_664 * 4u);

struct PageTable
{
    int page_table[1];
};

constant uint _902 = (32u * kRows);
#ifndef SPIRV_CROSS_CONSTANT_ID_4
#define SPIRV_CROSS_CONSTANT_ID_4 1u
#endif
constant uint kVPairs = SPIRV_CROSS_CONSTANT_ID_4;
constant uint _1019 = (kVPairs + 128u);
constant uint _1020 = (_1019 - 1u);
constant uint kPairsOfLane = (_1020 / 128u);
constant uint _1023 = (kRows * kPairsOfLane);
constant uint _1041 = (128u * kRows);
constant uint _1042 = (_1041 / 4u);
constant bool _1061 = (kVPairs < 128u);
constant uint kPairsAtOnce = _1061 ? kVPairs : 128u;
constant uint kStride = (128u / kPairsAtOnce);
constant uint _1064 = (kStride * kPairsAtOnce);
constant uint _1197 = (8u * kStride);

struct Pos
{
    int positions[1];
};

constant uint _1326 = (kRows * kPairsAtOnce);

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
void load_q_tile(constant Push& push, thread uint& first_row, thread uint& group_size, thread uint& head_kv, thread uint3& gl_LocalInvocationID, const device Q& v_635, threadgroup float4 (&q_tile)[_665])
{
    for (uint i = gl_LocalInvocationID.x; i < _611; i += 128u)
    {
        uint row = i / row_floats;
        uint dimension = i % row_floats;
        float value = 0.0;
        uint param = row;
        bool _622 = exists(param, push, first_row, group_size);
        bool _629;
        if (_622)
        {
            _629 = dimension < push.head_dim_k;
        }
        else
        {
            _629 = _622;
        }
        if (_629)
        {
            uint param_1 = row;
            uint param_2 = row;
            value = v_635.q[(push.q_at + (((token_of(param_1, first_row, group_size) * push.n_head) + head_of(param_2, first_row, group_size, head_kv)) * push.head_dim_k)) + dimension] * push.scale;
        }
        ((threadgroup float*)&q_tile[i / 4u])[i % 4u] = value;
    }
}

static inline __attribute__((always_inline))
uint part_positions(thread const uint& n, constant Push& push)
{
    if (push.n_parts == 1u)
    {
        return 2147483647u;
    }
    uint _1550;
    if (n <= 1u)
    {
        _1550 = 1u;
    }
    else
    {
        _1550 = 2u << uint(int(spvFindUMSB(n - 1u)));
    }
    return max(128u, (_1550 / 32u));
}

static inline __attribute__((always_inline))
uint half_at(thread const uint& at, const device KvWords& v_138)
{
    return (v_138.kv_words[at >> uint(2)] >> (8u * (at & 2u))) & 65535u;
}

static inline __attribute__((always_inline))
float f32_from_f16(thread const uint& half_bits)
{
    uint _sign = (half_bits & 32768u) << uint(16);
    uint magnitude = half_bits & 32767u;
    uint subnormal = as_type<uint>(float(magnitude) * 5.9604644775390625e-08);
    uint exponent_offset = (magnitude < 31744u) ? 939524096u : 1879048192u;
    uint _120;
    if (magnitude < 1024u)
    {
        _120 = subnormal;
    }
    else
    {
        _120 = (magnitude << uint(13)) + exponent_offset;
    }
    return as_type<float>(_sign | _120);
}

static inline __attribute__((always_inline))
float load_float(thread const uint& format, thread const uint& row, thread const uint& i, const device KvWords& v_138)
{
    switch (format)
    {
        case 1u:
        {
            uint param = row + (2u * i);
            uint param_1 = half_at(param, v_138);
            return f32_from_f16(param_1);
        }
        case 2u:
        {
            uint param_2 = row + (2u * i);
            return as_type<float>(half_at(param_2, v_138) << uint(16));
        }
    }
    return as_type<float>(v_138.kv_words[(row / 4u) + i]);
}

static inline __attribute__((always_inline))
void load_k(thread const uint& row, thread const uint& piece, thread spvUnsafeArray<float4, 4>& k, const device KvWords& v_138, constant Push& push, const device KvQuads& v_458)
{
    if (_320)
    {
        uint block = row + ((piece / 2u) * 34u);
        uint param = block;
        uint param_1 = half_at(param, v_138);
        float _step = f32_from_f16(param_1);
        uint first = (block + 2u) + (16u * (piece % 2u));
        for (uint i = 0u; i < 4u; i++)
        {
            uint param_2 = first + (4u * i);
            uint param_3 = (first + (4u * i)) + 2u;
            int codes = int(half_at(param_2, v_138) | (half_at(param_3, v_138) << uint(16)));
            k[i] = float4(float(extract_bits(codes, uint(0), uint(8))), float(extract_bits(codes, uint(8), uint(8))), float(extract_bits(codes, uint(16), uint(8))), float(extract_bits(codes, uint(24), uint(8)))) * _step;
        }
    }
    else
    {
        if (_391)
        {
            float _425;
            for (uint i_1 = 0u; i_1 < 4u; i_1++)
            {
                for (uint j = 0u; j < 4u; j++)
                {
                    uint dimension = ((16u * piece) + (4u * i_1)) + j;
                    if (dimension < push.head_dim_k)
                    {
                        uint param_4 = kKFormat;
                        uint param_5 = row;
                        uint param_6 = dimension;
                        _425 = load_float(param_4, param_5, param_6, v_138);
                    }
                    else
                    {
                        _425 = 0.0;
                    }
                    k[i_1][j] = _425;
                }
            }
        }
        else
        {
            if (_442)
            {
                for (uint i_2 = 0u; i_2 < 4u; i_2++)
                {
                    k[i_2] = as_type<float4>(v_458.kv_quads[((row / 16u) + (4u * piece)) + i_2]);
                }
            }
            else
            {
                for (uint i_3 = 0u; i_3 < 2u; i_3++)
                {
                    uint4 pairs = v_458.kv_quads[((row / 16u) + (2u * piece)) + i_3];
                    if (_493)
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
void weigh(thread const uint& seq, thread const uint& first, thread const uint& end, const device KvWords& v_138, constant Push& push, const device KvQuads& v_458, thread uint& head_kv, thread uint3& gl_LocalInvocationID, threadgroup float4 (&q_tile)[_665], const device PageTable& v_710, threadgroup uint (&v_rows)[128], threadgroup int (&last_seen)[kRows], threadgroup float (&of_subgroups)[_902], thread uint& gl_SubgroupID, threadgroup float (&largest)[kRows], thread uint& gl_NumSubgroups, threadgroup float (&shrink)[kRows], thread spvUnsafeArray<float, kRows>& weight_sum, thread spvUnsafeArray<float2, _1023>& value_sum, threadgroup float4 (&weights)[_1042])
{
    uint lane = gl_LocalInvocationID.x;
    uint position = first + lane;
    spvUnsafeArray<float, kRows> scores;
    for (uint r = 0u; r < kRows; r++)
    {
        scores[r] = 0.0;
    }
    if (position < end)
    {
        uint page = uint(v_710.page_table[(push.page_table_at + (seq * push.max_pages)) + (position / push.page_tokens)]);
        uint keys = push.kv_at + (page * push.page_bytes);
        uint values = keys + ((push.n_head_kv * push.page_tokens) * push.k_row_bytes);
        uint slot = (head_kv * push.page_tokens) + (position % push.page_tokens);
        v_rows[lane] = values + (slot * push.v_row_bytes);
        spvUnsafeArray<float4, 4> param_2;
        for (uint piece = 0u; piece < kKPieces; piece++)
        {
            uint param = keys + (slot * push.k_row_bytes);
            uint param_1 = piece;
            load_k(param, param_1, param_2, v_138, push, v_458);
            spvUnsafeArray<float4, 4> k;
            k = param_2;
            for (uint r_1 = 0u; r_1 < kRows; r_1++)
            {
                uint at = ((r_1 * kKPieces) + piece) * 4u;
                scores[r_1] += (((dot(q_tile[at], k[0]) + dot(q_tile[at + 1u], k[1])) + dot(q_tile[at + 2u], k[2])) + dot(q_tile[at + 3u], k[3]));
            }
        }
    }
    spvUnsafeArray<float, kRows> tops;
    for (uint r_2 = 0u; r_2 < kRows; r_2++)
    {
        bool _860 = position < end;
        bool _873;
        if (_860)
        {
            _873 = int(position) <= last_seen[r_2];
        }
        else
        {
            _873 = _860;
        }
        bool is_seen = _873;
        if (!is_seen)
        {
            scores[r_2] = -1000000015047466219876688855040.0;
        }
        tops[r_2] = simd_max(scores[r_2]);
    }
    bool _890 = simd_is_first();
    if (_890)
    {
        for (uint r_3 = 0u; r_3 < kRows; r_3++)
        {
            of_subgroups[(gl_SubgroupID * kRows) + r_3] = tops[r_3];
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane < kRows)
    {
        float top = largest[lane];
        for (uint g = 0u; g < gl_NumSubgroups; g++)
        {
            top = fast::max(top, of_subgroups[(g * kRows) + lane]);
        }
        float _955;
        if (largest[lane] == top)
        {
            _955 = 1.0;
        }
        else
        {
            _955 = exp(largest[lane] - top);
        }
        shrink[lane] = _955;
        largest[lane] = top;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float _984;
    for (uint r_4 = 0u; r_4 < kRows; r_4++)
    {
        if (scores[r_4] == (-1000000015047466219876688855040.0))
        {
            _984 = 0.0;
        }
        else
        {
            _984 = exp(scores[r_4] - largest[r_4]);
        }
        float weight = _984;
        weight_sum[r_4] = (weight_sum[r_4] * shrink[r_4]) + weight;
        for (uint p = 0u; p < kPairsOfLane; p++)
        {
            uint _1030 = (r_4 * kPairsOfLane) + p;
            value_sum[_1030] *= shrink[r_4];
        }
        ((threadgroup float*)&weights[((lane * kRows) + r_4) / 4u])[r_4 % 4u] = weight;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

static inline __attribute__((always_inline))
float2 load_pair_of_floats(thread const uint& format, thread const uint& row, thread const uint& pair, const device KvWords& v_138, constant Push& push)
{
    if (_189)
    {
        uint param = format;
        uint param_1 = row;
        uint param_2 = 2u * pair;
        float _212;
        if (((2u * pair) + 1u) < push.head_dim_v)
        {
            uint param_3 = format;
            uint param_4 = row;
            uint param_5 = (2u * pair) + 1u;
            _212 = load_float(param_3, param_4, param_5, v_138);
        }
        else
        {
            _212 = 0.0;
        }
        return float2(load_float(param, param_1, param_2, v_138), _212);
    }
    uint word = v_138.kv_words[(row / 4u) + pair];
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
    return as_type<float2>(uint2(v_138.kv_words[(row / 4u) + (2u * pair)], v_138.kv_words[((row / 4u) + (2u * pair)) + 1u]));
}

static inline __attribute__((always_inline))
float2 load_v(thread const uint& row, thread const uint& pair, const device KvWords& v_138, constant Push& push)
{
    if (_274)
    {
        uint param = kVFormat;
        uint param_1 = row;
        uint param_2 = pair;
        return load_pair_of_floats(param, param_1, param_2, v_138, push);
    }
    uint block = row + ((pair / 16u) * 34u);
    uint param_3 = (block + 2u) + (2u * (pair % 16u));
    int codes = int(half_at(param_3, v_138));
    uint param_4 = block;
    uint param_5 = half_at(param_4, v_138);
    return float2(float(extract_bits(codes, uint(0), uint(8))), float(extract_bits(codes, uint(8), uint(8)))) * f32_from_f16(param_5);
}

static inline __attribute__((always_inline))
void add_values(thread const uint& n, const device KvWords& v_138, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup uint (&v_rows)[128], thread spvUnsafeArray<float2, _1023>& value_sum, threadgroup float4 (&weights)[_1042])
{
    uint lane = gl_LocalInvocationID.x;
    if (lane >= _1064)
    {
        return;
    }
    spvUnsafeArray<float2, 8> v;
    for (uint p = 0u; p < kPairsOfLane; p++)
    {
        uint pair = (lane % kPairsAtOnce) + (p * 128u);
        if ((2u * pair) >= push.head_dim_v)
        {
            continue;
        }
        uint _1093 = lane / kPairsAtOnce;
        for (uint first = _1093; first < n; first += _1197)
        {
            for (uint i = 0u; i < 8u; i++)
            {
                uint param = v_rows[min((first + (i * kStride)), (n - 1u))];
                uint param_1 = pair;
                v[i] = load_v(param, param_1, v_138, push);
            }
            for (uint i_1 = 0u; i_1 < 8u; i_1++)
            {
                uint position = first + (i_1 * kStride);
                if (position >= n)
                {
                    break;
                }
                for (uint r = 0u; r < kRows; r += 4u)
                {
                    float4 weight = weights[((position * kRows) + r) / 4u];
                    for (uint j = 0u; j < 4u; j++)
                    {
                        uint _1179 = ((r + j) * kPairsOfLane) + p;
                        value_sum[_1179] += (v[i_1] * weight[j]);
                    }
                }
            }
        }
    }
}

static inline __attribute__((always_inline))
void attend(thread const uint& first_token, thread const uint& last_token, thread const uint& seq, thread const uint& first, thread const uint& end, const device KvWords& v_138, constant Push& push, const device KvQuads& v_458, thread uint& first_row, thread uint& group_size, thread uint& head_kv, thread uint3& gl_LocalInvocationID, threadgroup float4 (&q_tile)[_665], const device PageTable& v_710, threadgroup uint (&v_rows)[128], threadgroup int (&last_seen)[kRows], threadgroup float (&of_subgroups)[_902], thread uint& gl_SubgroupID, threadgroup float (&largest)[kRows], thread uint& gl_NumSubgroups, threadgroup float (&shrink)[kRows], thread spvUnsafeArray<float, kRows>& weight_sum, thread spvUnsafeArray<float2, _1023>& value_sum, threadgroup float4 (&weights)[_1042], const device Pos& v_1237)
{
    uint lane = gl_LocalInvocationID.x;
    if (lane < kRows)
    {
        uint param = lane;
        bool _1212 = exists(param, push, first_row, group_size);
        bool _1220;
        if (_1212)
        {
            uint param_1 = lane;
            _1220 = token_of(param_1, first_row, group_size) >= first_token;
        }
        else
        {
            _1220 = _1212;
        }
        bool _1228;
        if (_1220)
        {
            uint param_2 = lane;
            _1228 = token_of(param_2, first_row, group_size) <= last_token;
        }
        else
        {
            _1228 = _1220;
        }
        bool is_among = _1228;
        int _1231;
        if (is_among)
        {
            uint param_3 = lane;
            _1231 = v_1237.positions[push.pos_at + token_of(param_3, first_row, group_size)];
        }
        else
        {
            _1231 = -1;
        }
        last_seen[lane] = _1231;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint block = first; block < end; block += 128u)
    {
        uint param_4 = seq;
        uint param_5 = block;
        uint param_6 = end;
        weigh(param_4, param_5, param_6, v_138, push, v_458, head_kv, gl_LocalInvocationID, q_tile, v_710, v_rows, last_seen, of_subgroups, gl_SubgroupID, largest, gl_NumSubgroups, shrink, weight_sum, value_sum, weights);
        uint param_7 = min(128u, (end - block));
        add_values(param_7, v_138, push, gl_LocalInvocationID, v_rows, value_sum, weights);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

static inline __attribute__((always_inline))
void share_sums(thread const uint& p, thread const uint& component, thread uint3& gl_LocalInvocationID, thread spvUnsafeArray<float2, _1023>& value_sum, threadgroup float4 (&weights)[_1042])
{
    uint lane = gl_LocalInvocationID.x;
    float4 sums;
    for (uint r = 0u; r < kRows; r += 4u)
    {
        for (uint j = 0u; j < 4u; j++)
        {
            sums[j] = value_sum[((r + j) * kPairsOfLane) + p][component];
        }
        weights[((lane * kRows) + r) / 4u] = sums;
    }
}

static inline __attribute__((always_inline))
void store_sums(thread const uint& p, thread const uint& component, thread const uint& part, constant Push& push, thread uint& first_row, thread uint& group_size, thread uint& head_kv, thread uint3& gl_LocalInvocationID, threadgroup float (&of_subgroups)[_902], threadgroup float (&largest)[kRows], thread uint& gl_NumSubgroups, threadgroup float4 (&weights)[_1042], device Out& v_1420, device Softmax& v_1456)
{
    float _1435;
    for (uint i = gl_LocalInvocationID.x; i < _1326; i += 128u)
    {
        uint row = i / kPairsAtOnce;
        uint dimension = (2u * ((i % kPairsAtOnce) + (p * 128u))) + component;
        uint param = row;
        bool _1343 = !exists(param, push, first_row, group_size);
        bool _1351;
        if (!_1343)
        {
            _1351 = dimension >= push.head_dim_v;
        }
        else
        {
            _1351 = _1343;
        }
        if (_1351)
        {
            continue;
        }
        float sum = 0.0;
        for (uint n = 0u; n < kStride; n++)
        {
            sum += ((threadgroup float*)&weights[((((n * kPairsAtOnce) + (i % kPairsAtOnce)) * kRows) + row) / 4u])[row % 4u];
        }
        float total = 0.0;
        for (uint g = 0u; g < gl_NumSubgroups; g++)
        {
            total += of_subgroups[(g * kRows) + row];
        }
        uint param_1 = row;
        uint param_2 = row;
        uint vector = (((part * push.n_tokens) + token_of(param_1, first_row, group_size)) * push.n_head) + head_of(param_2, first_row, group_size, head_kv);
        if (push.n_parts == 1u)
        {
            _1435 = sum / total;
        }
        else
        {
            _1435 = sum;
        }
        v_1420.result[(push.out_at + (vector * push.head_dim_v)) + dimension] = _1435;
        if ((push.n_parts > 1u) && (dimension == 0u))
        {
            v_1456.softmax[push.softmax_at + vector] = float2(largest[row], total);
        }
    }
}

static inline __attribute__((always_inline))
void store(thread const uint& part, constant Push& push, thread uint& first_row, thread uint& group_size, thread uint& head_kv, thread uint3& gl_LocalInvocationID, threadgroup float (&of_subgroups)[_902], thread uint& gl_SubgroupID, threadgroup float (&largest)[kRows], thread uint& gl_NumSubgroups, thread spvUnsafeArray<float, kRows>& weight_sum, thread spvUnsafeArray<float2, _1023>& value_sum, threadgroup float4 (&weights)[_1042], device Out& v_1420, device Softmax& v_1456)
{
    spvUnsafeArray<float, kRows> sums;
    for (uint r = 0u; r < kRows; r++)
    {
        sums[r] = simd_sum(weight_sum[r]);
    }
    bool _1488 = simd_is_first();
    if (_1488)
    {
        for (uint r_1 = 0u; r_1 < kRows; r_1++)
        {
            of_subgroups[(gl_SubgroupID * kRows) + r_1] = sums[r_1];
        }
    }
    for (uint p = 0u; p < kPairsOfLane; p++)
    {
        for (uint component = 0u; component < 2u; component++)
        {
            uint param = p;
            uint param_1 = component;
            share_sums(param, param_1, gl_LocalInvocationID, value_sum, weights);
            threadgroup_barrier(mem_flags::mem_threadgroup);
            uint param_2 = p;
            uint param_3 = component;
            uint param_4 = part;
            store_sums(param_2, param_3, param_4, push, first_row, group_size, head_kv, gl_LocalInvocationID, of_subgroups, largest, gl_NumSubgroups, weights, v_1420, v_1456);
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
    }
}

kernel void attention(const device KvWords& v_138 [[buffer(0)]], constant Push& push [[buffer(30)]], const device KvQuads& v_458 [[buffer(1)]], const device PageTable& v_710 [[buffer(2)]], const device Seq& _1642 [[buffer(3)]], const device Pos& v_1237 [[buffer(4)]], const device Q& v_635 [[buffer(5)]], device Out& v_1420 [[buffer(6)]], device Softmax& v_1456 [[buffer(7)]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]], uint gl_SubgroupID [[simdgroup_index_in_threadgroup]], uint gl_NumSubgroups [[simdgroups_per_threadgroup]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]])
{
    threadgroup float4 q_tile[_665];
    threadgroup uint v_rows[128];
    threadgroup int last_seen[kRows];
    threadgroup float of_subgroups[_902];
    threadgroup float largest[kRows];
    threadgroup float shrink[kRows];
    threadgroup float4 weights[_1042];
    uint head_kv = gl_WorkGroupID.y;
    uint group_size = push.n_head / push.n_head_kv;
    uint first_row = gl_WorkGroupID.x * kRows;
    uint part = gl_WorkGroupID.z;
    spvUnsafeArray<float, kRows> weight_sum;
    spvUnsafeArray<float2, _1023> value_sum;
    for (uint r = 0u; r < kRows; r++)
    {
        weight_sum[r] = 0.0;
        for (uint p = 0u; p < kPairsOfLane; p++)
        {
            value_sum[(r * kPairsOfLane) + p] = float2(0.0);
        }
    }
    if (gl_LocalInvocationID.x < kRows)
    {
        largest[gl_LocalInvocationID.x] = -1000000015047466219876688855040.0;
    }
    load_q_tile(push, first_row, group_size, head_kv, gl_LocalInvocationID, v_635, q_tile);
    uint n_rows = min(kRows, ((push.n_tokens * group_size) - first_row));
    uint param = n_rows - 1u;
    uint last_of_tile = token_of(param, first_row, group_size);
    uint param_1 = 0u;
    uint token = token_of(param_1, first_row, group_size);
    while (token <= last_of_tile)
    {
        int seq = _1642.seqs[push.seq_at + token];
        int last_position = v_1237.positions[push.pos_at + token];
        uint param_2 = uint(last_position) + 1u;
        uint n_positions = part_positions(param_2, push);
        uint last_token = token;
        for (;;)
        {
            bool _1672 = last_token < last_of_tile;
            bool _1684;
            if (_1672)
            {
                _1684 = _1642.seqs[(push.seq_at + last_token) + 1u] == seq;
            }
            else
            {
                _1684 = _1672;
            }
            if (_1684)
            {
                int position = v_1237.positions[(push.pos_at + last_token) + 1u];
                uint param_3 = uint(position) + 1u;
                if (part_positions(param_3, push) != n_positions)
                {
                    break;
                }
                last_token++;
                last_position = max(last_position, position);
                continue;
            }
            else
            {
                break;
            }
        }
        uint first = part * n_positions;
        uint param_4 = token;
        uint param_5 = last_token;
        uint param_6 = uint(seq);
        uint param_7 = first;
        uint param_8 = min(uint(last_position + 1), (first + n_positions));
        attend(param_4, param_5, param_6, param_7, param_8, v_138, push, v_458, first_row, group_size, head_kv, gl_LocalInvocationID, q_tile, v_710, v_rows, last_seen, of_subgroups, gl_SubgroupID, largest, gl_NumSubgroups, shrink, weight_sum, value_sum, weights, v_1237);
        token = last_token + 1u;
    }
    uint param_9 = part;
    store(param_9, push, first_row, group_size, head_kv, gl_LocalInvocationID, of_subgroups, gl_SubgroupID, largest, gl_NumSubgroups, weight_sum, value_sum, weights, v_1420, v_1456);
}

