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

struct KvWords
{
    uint kv_words[1];
};

constant bool kWholeQuads_tmp [[function_constant(5)]];
constant bool kWholeQuads = is_function_constant_defined(kWholeQuads_tmp) ? kWholeQuads_tmp : false;
constant bool _186 = (!kWholeQuads);

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
    uint part_positions;
    float scale;
};

constant uint kVFormat_tmp [[function_constant(1)]];
constant uint kVFormat = is_function_constant_defined(kVFormat_tmp) ? kVFormat_tmp : 0u;
constant bool _271 = (kVFormat != 3u);
constant uint kKFormat_tmp [[function_constant(0)]];
constant uint kKFormat = is_function_constant_defined(kKFormat_tmp) ? kKFormat_tmp : 0u;
constant bool _317 = (kKFormat == 3u);
constant bool _388 = (!kWholeQuads);
constant bool _439 = (kKFormat == 0u);

struct KvQuads
{
    uint4 kv_quads[1];
};

constant bool _490 = (kKFormat == 1u);
#ifndef SPIRV_CROSS_CONSTANT_ID_2
#define SPIRV_CROSS_CONSTANT_ID_2 4u
#endif
constant uint kRows = SPIRV_CROSS_CONSTANT_ID_2;
#ifndef SPIRV_CROSS_CONSTANT_ID_3
#define SPIRV_CROSS_CONSTANT_ID_3 1u
#endif
constant uint kKPieces = SPIRV_CROSS_CONSTANT_ID_3;
constant uint row_floats = (kKPieces * 16u);
constant uint _608 = (kRows * row_floats);

struct Q
{
    float q[1];
};

constant uint _661 = (kRows * kKPieces);
constant uint _662 = (_661 * 4u);

struct PageTable
{
    int page_table[1];
};

constant uint _899 = (32u * kRows);
#ifndef SPIRV_CROSS_CONSTANT_ID_4
#define SPIRV_CROSS_CONSTANT_ID_4 1u
#endif
constant uint kVPairs = SPIRV_CROSS_CONSTANT_ID_4;
constant uint _1005 = (kVPairs + 128u);
constant uint _1006 = (_1005 - 1u);
constant uint kPairsOfLane = (_1006 / 128u);
constant uint _1009 = (kRows * kPairsOfLane);
constant uint _1027 = (128u * kRows);
constant uint _1028 = (_1027 / 4u);
constant bool _1047 = (kVPairs < 128u);
constant uint kPairsAtOnce = _1047 ? kVPairs : 128u;
constant uint kStride = (128u / kPairsAtOnce);
constant uint _1050 = (kStride * kPairsAtOnce);
constant uint _1183 = (8u * kStride);

struct Pos
{
    int positions[1];
};

constant uint _1312 = (kRows * kPairsAtOnce);

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
void load_q_tile(constant Push& push, thread uint& first_row, thread uint& group_size, thread uint& head_kv, thread uint3& gl_LocalInvocationID, const device Q& v_632, threadgroup float4 (&q_tile)[_662])
{
    for (uint i = gl_LocalInvocationID.x; i < _608; i += 128u)
    {
        uint row = i / row_floats;
        uint dimension = i % row_floats;
        float value = 0.0;
        uint param = row;
        bool _619 = exists(param, push, first_row, group_size);
        bool _626;
        if (_619)
        {
            _626 = dimension < push.head_dim_k;
        }
        else
        {
            _626 = _619;
        }
        if (_626)
        {
            uint param_1 = row;
            uint param_2 = row;
            value = v_632.q[(push.q_at + (((token_of(param_1, first_row, group_size) * push.n_head) + head_of(param_2, first_row, group_size, head_kv)) * push.head_dim_k)) + dimension] * push.scale;
        }
        ((threadgroup float*)&q_tile[i / 4u])[i % 4u] = value;
    }
}

static inline __attribute__((always_inline))
uint half_at(thread const uint& at, const device KvWords& v_135)
{
    return (v_135.kv_words[at >> uint(2)] >> (8u * (at & 2u))) & 65535u;
}

static inline __attribute__((always_inline))
float f32_from_f16(thread const uint& half_bits)
{
    uint _sign = (half_bits & 32768u) << uint(16);
    uint magnitude = half_bits & 32767u;
    uint subnormal = as_type<uint>(float(magnitude) * 5.9604644775390625e-08);
    uint exponent_offset = (magnitude < 31744u) ? 939524096u : 1879048192u;
    uint _117;
    if (magnitude < 1024u)
    {
        _117 = subnormal;
    }
    else
    {
        _117 = (magnitude << uint(13)) + exponent_offset;
    }
    return as_type<float>(_sign | _117);
}

static inline __attribute__((always_inline))
float load_float(thread const uint& format, thread const uint& row, thread const uint& i, const device KvWords& v_135)
{
    switch (format)
    {
        case 1u:
        {
            uint param = row + (2u * i);
            uint param_1 = half_at(param, v_135);
            return f32_from_f16(param_1);
        }
        case 2u:
        {
            uint param_2 = row + (2u * i);
            return as_type<float>(half_at(param_2, v_135) << uint(16));
        }
    }
    return as_type<float>(v_135.kv_words[(row / 4u) + i]);
}

static inline __attribute__((always_inline))
void load_k(thread const uint& row, thread const uint& piece, thread spvUnsafeArray<float4, 4>& k, const device KvWords& v_135, constant Push& push, const device KvQuads& v_455)
{
    if (_317)
    {
        uint block = row + ((piece / 2u) * 34u);
        uint param = block;
        uint param_1 = half_at(param, v_135);
        float _step = f32_from_f16(param_1);
        uint first = (block + 2u) + (16u * (piece % 2u));
        for (uint i = 0u; i < 4u; i++)
        {
            uint param_2 = first + (4u * i);
            uint param_3 = (first + (4u * i)) + 2u;
            int codes = int(half_at(param_2, v_135) | (half_at(param_3, v_135) << uint(16)));
            k[i] = float4(float(extract_bits(codes, uint(0), uint(8))), float(extract_bits(codes, uint(8), uint(8))), float(extract_bits(codes, uint(16), uint(8))), float(extract_bits(codes, uint(24), uint(8)))) * _step;
        }
    }
    else
    {
        if (_388)
        {
            float _422;
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
                        _422 = load_float(param_4, param_5, param_6, v_135);
                    }
                    else
                    {
                        _422 = 0.0;
                    }
                    k[i_1][j] = _422;
                }
            }
        }
        else
        {
            if (_439)
            {
                for (uint i_2 = 0u; i_2 < 4u; i_2++)
                {
                    k[i_2] = as_type<float4>(v_455.kv_quads[((row / 16u) + (4u * piece)) + i_2]);
                }
            }
            else
            {
                for (uint i_3 = 0u; i_3 < 2u; i_3++)
                {
                    uint4 pairs = v_455.kv_quads[((row / 16u) + (2u * piece)) + i_3];
                    if (_490)
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
void weigh(thread const uint& seq, thread const uint& first, thread const uint& end, const device KvWords& v_135, constant Push& push, const device KvQuads& v_455, thread uint& head_kv, thread uint3& gl_LocalInvocationID, threadgroup float4 (&q_tile)[_662], const device PageTable& v_707, threadgroup uint (&v_rows)[128], threadgroup int (&last_seen)[kRows], threadgroup float (&of_subgroups)[_899], thread uint& gl_SubgroupID, threadgroup float (&largest)[kRows], thread uint& gl_NumSubgroups, threadgroup float (&shrink)[kRows], thread spvUnsafeArray<float, kRows>& weight_sum, thread spvUnsafeArray<float2, _1009>& value_sum, threadgroup float4 (&weights)[_1028])
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
        uint page = uint(v_707.page_table[(push.page_table_at + (seq * push.max_pages)) + (position / push.page_tokens)]);
        uint keys = push.kv_at + (page * push.page_bytes);
        uint values = keys + ((push.n_head_kv * push.page_tokens) * push.k_row_bytes);
        uint slot = (head_kv * push.page_tokens) + (position % push.page_tokens);
        v_rows[lane] = values + (slot * push.v_row_bytes);
        spvUnsafeArray<float4, 4> param_2;
        for (uint piece = 0u; piece < kKPieces; piece++)
        {
            uint param = keys + (slot * push.k_row_bytes);
            uint param_1 = piece;
            load_k(param, param_1, param_2, v_135, push, v_455);
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
        bool _857 = position < end;
        bool _870;
        if (_857)
        {
            _870 = int(position) <= last_seen[r_2];
        }
        else
        {
            _870 = _857;
        }
        bool is_seen = _870;
        if (!is_seen)
        {
            scores[r_2] = -1000000015047466219876688855040.0;
        }
        tops[r_2] = simd_max(scores[r_2]);
    }
    bool _887 = simd_is_first();
    if (_887)
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
        shrink[lane] = exp(largest[lane] - top);
        largest[lane] = top;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float _970;
    for (uint r_4 = 0u; r_4 < kRows; r_4++)
    {
        if (scores[r_4] == (-1000000015047466219876688855040.0))
        {
            _970 = 0.0;
        }
        else
        {
            _970 = exp(scores[r_4] - largest[r_4]);
        }
        float weight = _970;
        weight_sum[r_4] = (weight_sum[r_4] * shrink[r_4]) + weight;
        for (uint p = 0u; p < kPairsOfLane; p++)
        {
            uint _1016 = (r_4 * kPairsOfLane) + p;
            value_sum[_1016] *= shrink[r_4];
        }
        ((threadgroup float*)&weights[((lane * kRows) + r_4) / 4u])[r_4 % 4u] = weight;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

static inline __attribute__((always_inline))
float2 load_pair_of_floats(thread const uint& format, thread const uint& row, thread const uint& pair, const device KvWords& v_135, constant Push& push)
{
    if (_186)
    {
        uint param = format;
        uint param_1 = row;
        uint param_2 = 2u * pair;
        float _209;
        if (((2u * pair) + 1u) < push.head_dim_v)
        {
            uint param_3 = format;
            uint param_4 = row;
            uint param_5 = (2u * pair) + 1u;
            _209 = load_float(param_3, param_4, param_5, v_135);
        }
        else
        {
            _209 = 0.0;
        }
        return float2(load_float(param, param_1, param_2, v_135), _209);
    }
    uint word = v_135.kv_words[(row / 4u) + pair];
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
    return as_type<float2>(uint2(v_135.kv_words[(row / 4u) + (2u * pair)], v_135.kv_words[((row / 4u) + (2u * pair)) + 1u]));
}

static inline __attribute__((always_inline))
float2 load_v(thread const uint& row, thread const uint& pair, const device KvWords& v_135, constant Push& push)
{
    if (_271)
    {
        uint param = kVFormat;
        uint param_1 = row;
        uint param_2 = pair;
        return load_pair_of_floats(param, param_1, param_2, v_135, push);
    }
    uint block = row + ((pair / 16u) * 34u);
    uint param_3 = (block + 2u) + (2u * (pair % 16u));
    int codes = int(half_at(param_3, v_135));
    uint param_4 = block;
    uint param_5 = half_at(param_4, v_135);
    return float2(float(extract_bits(codes, uint(0), uint(8))), float(extract_bits(codes, uint(8), uint(8)))) * f32_from_f16(param_5);
}

static inline __attribute__((always_inline))
void add_values(thread const uint& n, const device KvWords& v_135, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup uint (&v_rows)[128], thread spvUnsafeArray<float2, _1009>& value_sum, threadgroup float4 (&weights)[_1028])
{
    uint lane = gl_LocalInvocationID.x;
    if (lane >= _1050)
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
        uint _1079 = lane / kPairsAtOnce;
        for (uint first = _1079; first < n; first += _1183)
        {
            for (uint i = 0u; i < 8u; i++)
            {
                uint param = v_rows[min((first + (i * kStride)), (n - 1u))];
                uint param_1 = pair;
                v[i] = load_v(param, param_1, v_135, push);
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
                        uint _1165 = ((r + j) * kPairsOfLane) + p;
                        value_sum[_1165] += (v[i_1] * weight[j]);
                    }
                }
            }
        }
    }
}

static inline __attribute__((always_inline))
void attend(thread const uint& first_token, thread const uint& last_token, thread const uint& seq, thread const uint& first, thread const uint& end, const device KvWords& v_135, constant Push& push, const device KvQuads& v_455, thread uint& first_row, thread uint& group_size, thread uint& head_kv, thread uint3& gl_LocalInvocationID, threadgroup float4 (&q_tile)[_662], const device PageTable& v_707, threadgroup uint (&v_rows)[128], threadgroup int (&last_seen)[kRows], threadgroup float (&of_subgroups)[_899], thread uint& gl_SubgroupID, threadgroup float (&largest)[kRows], thread uint& gl_NumSubgroups, threadgroup float (&shrink)[kRows], thread spvUnsafeArray<float, kRows>& weight_sum, thread spvUnsafeArray<float2, _1009>& value_sum, threadgroup float4 (&weights)[_1028], const device Pos& v_1223)
{
    uint lane = gl_LocalInvocationID.x;
    if (lane < kRows)
    {
        uint param = lane;
        bool _1198 = exists(param, push, first_row, group_size);
        bool _1206;
        if (_1198)
        {
            uint param_1 = lane;
            _1206 = token_of(param_1, first_row, group_size) >= first_token;
        }
        else
        {
            _1206 = _1198;
        }
        bool _1214;
        if (_1206)
        {
            uint param_2 = lane;
            _1214 = token_of(param_2, first_row, group_size) <= last_token;
        }
        else
        {
            _1214 = _1206;
        }
        bool is_among = _1214;
        int _1217;
        if (is_among)
        {
            uint param_3 = lane;
            _1217 = v_1223.positions[push.pos_at + token_of(param_3, first_row, group_size)];
        }
        else
        {
            _1217 = -1;
        }
        last_seen[lane] = _1217;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint block = first; block < end; block += 128u)
    {
        uint param_4 = seq;
        uint param_5 = block;
        uint param_6 = end;
        weigh(param_4, param_5, param_6, v_135, push, v_455, head_kv, gl_LocalInvocationID, q_tile, v_707, v_rows, last_seen, of_subgroups, gl_SubgroupID, largest, gl_NumSubgroups, shrink, weight_sum, value_sum, weights);
        uint param_7 = min(128u, (end - block));
        add_values(param_7, v_135, push, gl_LocalInvocationID, v_rows, value_sum, weights);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

static inline __attribute__((always_inline))
void share_sums(thread const uint& p, thread const uint& component, thread uint3& gl_LocalInvocationID, thread spvUnsafeArray<float2, _1009>& value_sum, threadgroup float4 (&weights)[_1028])
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
void store_sums(thread const uint& p, thread const uint& component, thread const uint& part, constant Push& push, thread uint& first_row, thread uint& group_size, thread uint& head_kv, thread uint3& gl_LocalInvocationID, threadgroup float (&of_subgroups)[_899], threadgroup float (&largest)[kRows], thread uint& gl_NumSubgroups, threadgroup float4 (&weights)[_1028], device Out& v_1406, device Softmax& v_1442)
{
    float _1421;
    for (uint i = gl_LocalInvocationID.x; i < _1312; i += 128u)
    {
        uint row = i / kPairsAtOnce;
        uint dimension = (2u * ((i % kPairsAtOnce) + (p * 128u))) + component;
        uint param = row;
        bool _1329 = !exists(param, push, first_row, group_size);
        bool _1337;
        if (!_1329)
        {
            _1337 = dimension >= push.head_dim_v;
        }
        else
        {
            _1337 = _1329;
        }
        if (_1337)
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
            _1421 = sum / total;
        }
        else
        {
            _1421 = sum;
        }
        v_1406.result[(push.out_at + (vector * push.head_dim_v)) + dimension] = _1421;
        if ((push.n_parts > 1u) && (dimension == 0u))
        {
            v_1442.softmax[push.softmax_at + vector] = float2(largest[row], total);
        }
    }
}

static inline __attribute__((always_inline))
void store(thread const uint& part, constant Push& push, thread uint& first_row, thread uint& group_size, thread uint& head_kv, thread uint3& gl_LocalInvocationID, threadgroup float (&of_subgroups)[_899], thread uint& gl_SubgroupID, threadgroup float (&largest)[kRows], thread uint& gl_NumSubgroups, thread spvUnsafeArray<float, kRows>& weight_sum, thread spvUnsafeArray<float2, _1009>& value_sum, threadgroup float4 (&weights)[_1028], device Out& v_1406, device Softmax& v_1442)
{
    spvUnsafeArray<float, kRows> sums;
    for (uint r = 0u; r < kRows; r++)
    {
        sums[r] = simd_sum(weight_sum[r]);
    }
    bool _1474 = simd_is_first();
    if (_1474)
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
            store_sums(param_2, param_3, param_4, push, first_row, group_size, head_kv, gl_LocalInvocationID, of_subgroups, largest, gl_NumSubgroups, weights, v_1406, v_1442);
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
    }
}

kernel void attention(const device KvWords& v_135 [[buffer(0)]], constant Push& push [[buffer(30)]], const device KvQuads& v_455 [[buffer(1)]], const device PageTable& v_707 [[buffer(2)]], const device Seq& _1612 [[buffer(3)]], const device Pos& v_1223 [[buffer(4)]], const device Q& v_632 [[buffer(5)]], device Out& v_1406 [[buffer(6)]], device Softmax& v_1442 [[buffer(7)]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]], uint gl_SubgroupID [[simdgroup_index_in_threadgroup]], uint gl_NumSubgroups [[simdgroups_per_threadgroup]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]])
{
    threadgroup float4 q_tile[_662];
    threadgroup uint v_rows[128];
    threadgroup int last_seen[kRows];
    threadgroup float of_subgroups[_899];
    threadgroup float largest[kRows];
    threadgroup float shrink[kRows];
    threadgroup float4 weights[_1028];
    uint head_kv = gl_WorkGroupID.y;
    uint group_size = push.n_head / push.n_head_kv;
    uint first_row = gl_WorkGroupID.x * kRows;
    uint part = gl_WorkGroupID.z;
    spvUnsafeArray<float, kRows> weight_sum;
    spvUnsafeArray<float2, _1009> value_sum;
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
    load_q_tile(push, first_row, group_size, head_kv, gl_LocalInvocationID, v_632, q_tile);
    uint n_rows = min(kRows, ((push.n_tokens * group_size) - first_row));
    uint param = n_rows - 1u;
    uint last_of_tile = token_of(param, first_row, group_size);
    uint first = part * push.part_positions;
    uint param_1 = 0u;
    uint token = token_of(param_1, first_row, group_size);
    while (token <= last_of_tile)
    {
        int seq = _1612.seqs[push.seq_at + token];
        int last_position = v_1223.positions[push.pos_at + token];
        uint last_token = token;
        for (;;)
        {
            bool _1636 = last_token < last_of_tile;
            bool _1648;
            if (_1636)
            {
                _1648 = _1612.seqs[(push.seq_at + last_token) + 1u] == seq;
            }
            else
            {
                _1648 = _1636;
            }
            if (_1648)
            {
                last_token++;
                last_position = max(last_position, v_1223.positions[push.pos_at + last_token]);
                continue;
            }
            else
            {
                break;
            }
        }
        uint param_2 = token;
        uint param_3 = last_token;
        uint param_4 = uint(seq);
        uint param_5 = first;
        uint param_6 = min(uint(last_position + 1), (first + push.part_positions));
        attend(param_2, param_3, param_4, param_5, param_6, v_135, push, v_455, first_row, group_size, head_kv, gl_LocalInvocationID, q_tile, v_707, v_rows, last_seen, of_subgroups, gl_SubgroupID, largest, gl_NumSubgroups, shrink, weight_sum, value_sum, weights, v_1223);
        token = last_token + 1u;
    }
    uint param_7 = part;
    store(param_7, push, first_row, group_size, head_kv, gl_LocalInvocationID, of_subgroups, gl_SubgroupID, largest, gl_NumSubgroups, weight_sum, value_sum, weights, v_1406, v_1442);
}

