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
constant bool _192 = (!kWholeQuads);

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
};

constant uint kVFormat_tmp [[function_constant(1)]];
constant uint kVFormat = is_function_constant_defined(kVFormat_tmp) ? kVFormat_tmp : 0u;
constant bool _277 = (kVFormat != 3u);
constant uint kKFormat_tmp [[function_constant(0)]];
constant uint kKFormat = is_function_constant_defined(kKFormat_tmp) ? kKFormat_tmp : 0u;
constant bool _323 = (kKFormat == 3u);
constant bool _394 = (!kWholeQuads);
constant bool _445 = (kKFormat == 0u);

struct KvQuads
{
    uint4 kv_quads[1];
};

constant bool _496 = (kKFormat == 1u);
#ifndef SPIRV_CROSS_CONSTANT_ID_2
#define SPIRV_CROSS_CONSTANT_ID_2 4u
#endif
constant uint kRows = SPIRV_CROSS_CONSTANT_ID_2;
#ifndef SPIRV_CROSS_CONSTANT_ID_3
#define SPIRV_CROSS_CONSTANT_ID_3 1u
#endif
constant uint kKPieces = SPIRV_CROSS_CONSTANT_ID_3;
constant uint row_floats = (kKPieces * 16u);
constant uint _614 = (kRows * row_floats);

struct Q
{
    float q[1];
};

constant uint _667 = (kRows * kKPieces);
constant uint _668 = (_667 * 4u);

struct PageTable
{
    int page_table[1];
};

constant uint _915 = (32u * kRows);
#ifndef SPIRV_CROSS_CONSTANT_ID_4
#define SPIRV_CROSS_CONSTANT_ID_4 1u
#endif
constant uint kVPairs = SPIRV_CROSS_CONSTANT_ID_4;
constant uint _1032 = (kVPairs + 128u);
constant uint _1033 = (_1032 - 1u);
constant uint kPairsOfLane = (_1033 / 128u);
constant uint _1036 = (kRows * kPairsOfLane);
constant uint _1054 = (128u * kRows);
constant uint _1055 = (_1054 / 4u);
constant bool _1074 = (kVPairs < 128u);
constant uint kPairsAtOnce = _1074 ? kVPairs : 128u;
constant uint kStride = (128u / kPairsAtOnce);
constant uint _1077 = (kStride * kPairsAtOnce);
constant uint _1210 = (8u * kStride);

struct First
{
    int firsts[1];
};

struct Pos
{
    int positions[1];
};

constant uint _1376 = (kRows * kPairsAtOnce);

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
void load_q_tile(constant Push& push, thread uint& first_row, thread uint& group_size, thread uint& head_kv, thread uint3& gl_LocalInvocationID, const device Q& v_638, threadgroup float4 (&q_tile)[_668])
{
    for (uint i = gl_LocalInvocationID.x; i < _614; i += 128u)
    {
        uint row = i / row_floats;
        uint dimension = i % row_floats;
        float value = 0.0;
        uint param = row;
        bool _625 = exists(param, push, first_row, group_size);
        bool _632;
        if (_625)
        {
            _632 = dimension < push.head_dim_k;
        }
        else
        {
            _632 = _625;
        }
        if (_632)
        {
            uint param_1 = row;
            uint param_2 = row;
            value = v_638.q[(push.q_at + (((token_of(param_1, first_row, group_size) * push.n_head) + head_of(param_2, first_row, group_size, head_kv)) * push.head_dim_k)) + dimension] * push.scale;
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
    uint _1600;
    if (n <= 1u)
    {
        _1600 = 1u;
    }
    else
    {
        _1600 = 2u << uint(int(spvFindUMSB(n - 1u)));
    }
    return max(128u, (_1600 / 32u));
}

static inline __attribute__((always_inline))
uint first_of(thread const uint& token, constant Push& push, const device First& v_1225)
{
    uint _1219;
    if (push.has_first > 0u)
    {
        _1219 = uint(v_1225.firsts[push.first_at + token]);
    }
    else
    {
        _1219 = 0u;
    }
    return _1219;
}

static inline __attribute__((always_inline))
uint half_at(thread const uint& at, const device KvWords& v_141)
{
    return (v_141.kv_words[at >> uint(2)] >> (8u * (at & 2u))) & 65535u;
}

static inline __attribute__((always_inline))
float f32_from_f16(thread const uint& half_bits)
{
    uint _sign = (half_bits & 32768u) << uint(16);
    uint magnitude = half_bits & 32767u;
    uint subnormal = as_type<uint>(float(magnitude) * 5.9604644775390625e-08);
    uint exponent_offset = (magnitude < 31744u) ? 939524096u : 1879048192u;
    uint _123;
    if (magnitude < 1024u)
    {
        _123 = subnormal;
    }
    else
    {
        _123 = (magnitude << uint(13)) + exponent_offset;
    }
    return as_type<float>(_sign | _123);
}

static inline __attribute__((always_inline))
float load_float(thread const uint& format, thread const uint& row, thread const uint& i, const device KvWords& v_141)
{
    switch (format)
    {
        case 1u:
        {
            uint param = row + (2u * i);
            uint param_1 = half_at(param, v_141);
            return f32_from_f16(param_1);
        }
        case 2u:
        {
            uint param_2 = row + (2u * i);
            return as_type<float>(half_at(param_2, v_141) << uint(16));
        }
    }
    return as_type<float>(v_141.kv_words[(row / 4u) + i]);
}

static inline __attribute__((always_inline))
void load_k(thread const uint& row, thread const uint& piece, thread spvUnsafeArray<float4, 4>& k, const device KvWords& v_141, constant Push& push, const device KvQuads& v_461)
{
    if (_323)
    {
        uint block = row + ((piece / 2u) * 34u);
        uint param = block;
        uint param_1 = half_at(param, v_141);
        float _step = f32_from_f16(param_1);
        uint first = (block + 2u) + (16u * (piece % 2u));
        for (uint i = 0u; i < 4u; i++)
        {
            uint param_2 = first + (4u * i);
            uint param_3 = (first + (4u * i)) + 2u;
            int codes = int(half_at(param_2, v_141) | (half_at(param_3, v_141) << uint(16)));
            k[i] = float4(float(extract_bits(codes, uint(0), uint(8))), float(extract_bits(codes, uint(8), uint(8))), float(extract_bits(codes, uint(16), uint(8))), float(extract_bits(codes, uint(24), uint(8)))) * _step;
        }
    }
    else
    {
        if (_394)
        {
            float _428;
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
                        _428 = load_float(param_4, param_5, param_6, v_141);
                    }
                    else
                    {
                        _428 = 0.0;
                    }
                    k[i_1][j] = _428;
                }
            }
        }
        else
        {
            if (_445)
            {
                for (uint i_2 = 0u; i_2 < 4u; i_2++)
                {
                    k[i_2] = as_type<float4>(v_461.kv_quads[((row / 16u) + (4u * piece)) + i_2]);
                }
            }
            else
            {
                for (uint i_3 = 0u; i_3 < 2u; i_3++)
                {
                    uint4 pairs = v_461.kv_quads[((row / 16u) + (2u * piece)) + i_3];
                    if (_496)
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
void weigh(thread const uint& seq, thread const uint& first, thread const uint& end, const device KvWords& v_141, constant Push& push, const device KvQuads& v_461, thread uint& head_kv, thread uint3& gl_LocalInvocationID, threadgroup float4 (&q_tile)[_668], const device PageTable& v_713, threadgroup uint (&v_rows)[128], threadgroup int (&first_seen)[kRows], threadgroup int (&last_seen)[kRows], threadgroup float (&of_subgroups)[_915], thread uint& gl_SubgroupID, threadgroup float (&largest)[kRows], thread uint& gl_NumSubgroups, threadgroup float (&shrink)[kRows], thread spvUnsafeArray<float, kRows>& weight_sum, thread spvUnsafeArray<float2, _1036>& value_sum, threadgroup float4 (&weights)[_1055])
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
        uint page = uint(v_713.page_table[(push.page_table_at + (seq * push.max_pages)) + (position / push.page_tokens)]);
        uint keys = push.kv_at + (page * push.page_bytes);
        uint values = keys + ((push.n_head_kv * push.page_tokens) * push.k_row_bytes);
        uint slot = (head_kv * push.page_tokens) + (position % push.page_tokens);
        v_rows[lane] = values + (slot * push.v_row_bytes);
        spvUnsafeArray<float4, 4> param_2;
        for (uint piece = 0u; piece < kKPieces; piece++)
        {
            uint param = keys + (slot * push.k_row_bytes);
            uint param_1 = piece;
            load_k(param, param_1, param_2, v_141, push, v_461);
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
        bool _863 = position < end;
        bool _876;
        if (_863)
        {
            _876 = int(position) >= first_seen[r_2];
        }
        else
        {
            _876 = _863;
        }
        bool _886;
        if (_876)
        {
            _886 = int(position) <= last_seen[r_2];
        }
        else
        {
            _886 = _876;
        }
        bool is_seen = _886;
        if (!is_seen)
        {
            scores[r_2] = -1000000015047466219876688855040.0;
        }
        tops[r_2] = simd_max(scores[r_2]);
    }
    bool _903 = simd_is_first();
    if (_903)
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
        float _968;
        if (largest[lane] == top)
        {
            _968 = 1.0;
        }
        else
        {
            _968 = exp(largest[lane] - top);
        }
        shrink[lane] = _968;
        largest[lane] = top;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float _997;
    for (uint r_4 = 0u; r_4 < kRows; r_4++)
    {
        if (scores[r_4] == (-1000000015047466219876688855040.0))
        {
            _997 = 0.0;
        }
        else
        {
            _997 = exp(scores[r_4] - largest[r_4]);
        }
        float weight = _997;
        weight_sum[r_4] = (weight_sum[r_4] * shrink[r_4]) + weight;
        for (uint p = 0u; p < kPairsOfLane; p++)
        {
            uint _1043 = (r_4 * kPairsOfLane) + p;
            value_sum[_1043] *= shrink[r_4];
        }
        ((threadgroup float*)&weights[((lane * kRows) + r_4) / 4u])[r_4 % 4u] = weight;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

static inline __attribute__((always_inline))
float2 load_pair_of_floats(thread const uint& format, thread const uint& row, thread const uint& pair, const device KvWords& v_141, constant Push& push)
{
    if (_192)
    {
        uint param = format;
        uint param_1 = row;
        uint param_2 = 2u * pair;
        float _215;
        if (((2u * pair) + 1u) < push.head_dim_v)
        {
            uint param_3 = format;
            uint param_4 = row;
            uint param_5 = (2u * pair) + 1u;
            _215 = load_float(param_3, param_4, param_5, v_141);
        }
        else
        {
            _215 = 0.0;
        }
        return float2(load_float(param, param_1, param_2, v_141), _215);
    }
    uint word = v_141.kv_words[(row / 4u) + pair];
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
    return as_type<float2>(uint2(v_141.kv_words[(row / 4u) + (2u * pair)], v_141.kv_words[((row / 4u) + (2u * pair)) + 1u]));
}

static inline __attribute__((always_inline))
float2 load_v(thread const uint& row, thread const uint& pair, const device KvWords& v_141, constant Push& push)
{
    if (_277)
    {
        uint param = kVFormat;
        uint param_1 = row;
        uint param_2 = pair;
        return load_pair_of_floats(param, param_1, param_2, v_141, push);
    }
    uint block = row + ((pair / 16u) * 34u);
    uint param_3 = (block + 2u) + (2u * (pair % 16u));
    int codes = int(half_at(param_3, v_141));
    uint param_4 = block;
    uint param_5 = half_at(param_4, v_141);
    return float2(float(extract_bits(codes, uint(0), uint(8))), float(extract_bits(codes, uint(8), uint(8)))) * f32_from_f16(param_5);
}

static inline __attribute__((always_inline))
void add_values(thread const uint& n, const device KvWords& v_141, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup uint (&v_rows)[128], thread spvUnsafeArray<float2, _1036>& value_sum, threadgroup float4 (&weights)[_1055])
{
    uint lane = gl_LocalInvocationID.x;
    if (lane >= _1077)
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
        uint _1106 = lane / kPairsAtOnce;
        for (uint first = _1106; first < n; first += _1210)
        {
            for (uint i = 0u; i < 8u; i++)
            {
                uint param = v_rows[min((first + (i * kStride)), (n - 1u))];
                uint param_1 = pair;
                v[i] = load_v(param, param_1, v_141, push);
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
                        uint _1192 = ((r + j) * kPairsOfLane) + p;
                        value_sum[_1192] += (v[i_1] * weight[j]);
                    }
                }
            }
        }
    }
}

static inline __attribute__((always_inline))
void attend(thread const uint& first_token, thread const uint& last_token, thread const uint& seq, thread const uint& first, thread const uint& end, const device KvWords& v_141, constant Push& push, const device KvQuads& v_461, thread uint& first_row, thread uint& group_size, thread uint& head_kv, thread uint3& gl_LocalInvocationID, threadgroup float4 (&q_tile)[_668], const device PageTable& v_713, threadgroup uint (&v_rows)[128], threadgroup int (&first_seen)[kRows], threadgroup int (&last_seen)[kRows], threadgroup float (&of_subgroups)[_915], thread uint& gl_SubgroupID, threadgroup float (&largest)[kRows], thread uint& gl_NumSubgroups, threadgroup float (&shrink)[kRows], thread spvUnsafeArray<float, kRows>& weight_sum, thread spvUnsafeArray<float2, _1036>& value_sum, threadgroup float4 (&weights)[_1055], const device First& v_1225, const device Pos& v_1273)
{
    uint lane = gl_LocalInvocationID.x;
    if (lane < kRows)
    {
        uint param = lane;
        bool _1248 = exists(param, push, first_row, group_size);
        bool _1256;
        if (_1248)
        {
            uint param_1 = lane;
            _1256 = token_of(param_1, first_row, group_size) >= first_token;
        }
        else
        {
            _1256 = _1248;
        }
        bool _1264;
        if (_1256)
        {
            uint param_2 = lane;
            _1264 = token_of(param_2, first_row, group_size) <= last_token;
        }
        else
        {
            _1264 = _1256;
        }
        bool is_among = _1264;
        int _1267;
        if (is_among)
        {
            uint param_3 = lane;
            _1267 = v_1273.positions[push.pos_at + token_of(param_3, first_row, group_size)];
        }
        else
        {
            _1267 = -1;
        }
        last_seen[lane] = _1267;
        int _1288;
        if (is_among)
        {
            uint param_4 = lane;
            uint param_5 = token_of(param_4, first_row, group_size);
            _1288 = int(first_of(param_5, push, v_1225));
        }
        else
        {
            _1288 = 0;
        }
        first_seen[lane] = _1288;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint block = first; block < end; block += 128u)
    {
        uint param_6 = seq;
        uint param_7 = block;
        uint param_8 = end;
        weigh(param_6, param_7, param_8, v_141, push, v_461, head_kv, gl_LocalInvocationID, q_tile, v_713, v_rows, first_seen, last_seen, of_subgroups, gl_SubgroupID, largest, gl_NumSubgroups, shrink, weight_sum, value_sum, weights);
        uint param_9 = min(128u, (end - block));
        add_values(param_9, v_141, push, gl_LocalInvocationID, v_rows, value_sum, weights);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

static inline __attribute__((always_inline))
void share_sums(thread const uint& p, thread const uint& component, thread uint3& gl_LocalInvocationID, thread spvUnsafeArray<float2, _1036>& value_sum, threadgroup float4 (&weights)[_1055])
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
void store_sums(thread const uint& p, thread const uint& component, thread const uint& part, constant Push& push, thread uint& first_row, thread uint& group_size, thread uint& head_kv, thread uint3& gl_LocalInvocationID, threadgroup float (&of_subgroups)[_915], threadgroup float (&largest)[kRows], thread uint& gl_NumSubgroups, threadgroup float4 (&weights)[_1055], device Out& v_1470, device Softmax& v_1506)
{
    float _1485;
    for (uint i = gl_LocalInvocationID.x; i < _1376; i += 128u)
    {
        uint row = i / kPairsAtOnce;
        uint dimension = (2u * ((i % kPairsAtOnce) + (p * 128u))) + component;
        uint param = row;
        bool _1393 = !exists(param, push, first_row, group_size);
        bool _1401;
        if (!_1393)
        {
            _1401 = dimension >= push.head_dim_v;
        }
        else
        {
            _1401 = _1393;
        }
        if (_1401)
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
            _1485 = sum / total;
        }
        else
        {
            _1485 = sum;
        }
        v_1470.result[(push.out_at + (vector * push.head_dim_v)) + dimension] = _1485;
        if ((push.n_parts > 1u) && (dimension == 0u))
        {
            v_1506.softmax[push.softmax_at + vector] = float2(largest[row], total);
        }
    }
}

static inline __attribute__((always_inline))
void store(thread const uint& part, constant Push& push, thread uint& first_row, thread uint& group_size, thread uint& head_kv, thread uint3& gl_LocalInvocationID, threadgroup float (&of_subgroups)[_915], thread uint& gl_SubgroupID, threadgroup float (&largest)[kRows], thread uint& gl_NumSubgroups, thread spvUnsafeArray<float, kRows>& weight_sum, thread spvUnsafeArray<float2, _1036>& value_sum, threadgroup float4 (&weights)[_1055], device Out& v_1470, device Softmax& v_1506)
{
    spvUnsafeArray<float, kRows> sums;
    for (uint r = 0u; r < kRows; r++)
    {
        sums[r] = simd_sum(weight_sum[r]);
    }
    bool _1538 = simd_is_first();
    if (_1538)
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
            store_sums(param_2, param_3, param_4, push, first_row, group_size, head_kv, gl_LocalInvocationID, of_subgroups, largest, gl_NumSubgroups, weights, v_1470, v_1506);
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
    }
}

kernel void attention(const device KvWords& v_141 [[buffer(0)]], constant Push& push [[buffer(30)]], const device KvQuads& v_461 [[buffer(1)]], const device PageTable& v_713 [[buffer(2)]], const device Seq& _1692 [[buffer(3)]], const device Pos& v_1273 [[buffer(4)]], const device Q& v_638 [[buffer(5)]], device Out& v_1470 [[buffer(6)]], device Softmax& v_1506 [[buffer(7)]], const device First& v_1225 [[buffer(8)]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]], uint gl_SubgroupID [[simdgroup_index_in_threadgroup]], uint gl_NumSubgroups [[simdgroups_per_threadgroup]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]])
{
    threadgroup float4 q_tile[_668];
    threadgroup uint v_rows[128];
    threadgroup int first_seen[kRows];
    threadgroup int last_seen[kRows];
    threadgroup float of_subgroups[_915];
    threadgroup float largest[kRows];
    threadgroup float shrink[kRows];
    threadgroup float4 weights[_1055];
    uint head_kv = gl_WorkGroupID.y;
    uint group_size = push.n_head / push.n_head_kv;
    uint first_row = gl_WorkGroupID.x * kRows;
    uint part = gl_WorkGroupID.z;
    spvUnsafeArray<float, kRows> weight_sum;
    spvUnsafeArray<float2, _1036> value_sum;
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
    load_q_tile(push, first_row, group_size, head_kv, gl_LocalInvocationID, v_638, q_tile);
    uint n_rows = min(kRows, ((push.n_tokens * group_size) - first_row));
    uint param = n_rows - 1u;
    uint last_of_tile = token_of(param, first_row, group_size);
    uint param_1 = 0u;
    uint token = token_of(param_1, first_row, group_size);
    uint _1775;
    while (token <= last_of_tile)
    {
        int seq = _1692.seqs[push.seq_at + token];
        int last_position = v_1273.positions[push.pos_at + token];
        uint param_2 = uint(last_position) + 1u;
        uint n_positions = part_positions(param_2, push);
        uint last_token = token;
        uint param_3 = token;
        uint first_position = first_of(param_3, push, v_1225);
        for (;;)
        {
            bool _1726 = last_token < last_of_tile;
            bool _1738;
            if (_1726)
            {
                _1738 = _1692.seqs[(push.seq_at + last_token) + 1u] == seq;
            }
            else
            {
                _1738 = _1726;
            }
            if (_1738)
            {
                int position = v_1273.positions[(push.pos_at + last_token) + 1u];
                uint param_4 = uint(position) + 1u;
                if (part_positions(param_4, push) != n_positions)
                {
                    break;
                }
                last_token++;
                last_position = max(last_position, position);
                uint param_5 = last_token;
                first_position = min(first_position, first_of(param_5, push, v_1225));
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
            _1775 = ((first_position - first) / 128u) * 128u;
        }
        else
        {
            _1775 = 0u;
        }
        uint left_out = _1775;
        uint param_6 = token;
        uint param_7 = last_token;
        uint param_8 = uint(seq);
        uint param_9 = first + left_out;
        uint param_10 = min(uint(last_position + 1), (first + n_positions));
        attend(param_6, param_7, param_8, param_9, param_10, v_141, push, v_461, first_row, group_size, head_kv, gl_LocalInvocationID, q_tile, v_713, v_rows, first_seen, last_seen, of_subgroups, gl_SubgroupID, largest, gl_NumSubgroups, shrink, weight_sum, value_sum, weights, v_1225, v_1273);
        token = last_token + 1u;
    }
    uint param_11 = part;
    store(param_11, push, first_row, group_size, head_kv, gl_LocalInvocationID, of_subgroups, gl_SubgroupID, largest, gl_NumSubgroups, weight_sum, value_sum, weights, v_1470, v_1506);
}

