// src/kernels/vulkan/attention_row.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
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

template<typename T>
[[clang::optnone]] T spvFMul(T l, T r)
{
    return fma(l, r, T(0));
}

template<typename T, int Cols, int Rows>
[[clang::optnone]] vec<T, Cols> spvFMulVectorMatrix(vec<T, Rows> v, matrix<T, Cols, Rows> m)
{
    vec<T, Cols> res = vec<T, Cols>(0);
    for (uint i = Rows; i > 0; --i)
    {
        vec<T, Cols> tmp(0);
        for (uint j = 0; j < Cols; ++j)
        {
            tmp[j] = m[j][i - 1];
        }
        res = fma(tmp, vec<T, Cols>(v[i - 1]), res);
    }
    return res;
}

template<typename T, int Cols, int Rows>
[[clang::optnone]] vec<T, Rows> spvFMulMatrixVector(matrix<T, Cols, Rows> m, vec<T, Cols> v)
{
    vec<T, Rows> res = vec<T, Rows>(0);
    for (uint i = Cols; i > 0; --i)
    {
        res = fma(m[i - 1], vec<T, Rows>(v[i - 1]), res);
    }
    return res;
}

template<typename T, int LCols, int LRows, int RCols, int RRows>
[[clang::optnone]] matrix<T, RCols, LRows> spvFMulMatrixMatrix(matrix<T, LCols, LRows> l, matrix<T, RCols, RRows> r)
{
    matrix<T, RCols, LRows> res;
    for (uint i = 0; i < RCols; i++)
    {
        vec<T, RCols> tmp(0);
        for (uint j = 0; j < LCols; j++)
        {
            tmp = fma(vec<T, RCols>(r[i][j]), l[j], tmp);
        }
        res[i] = tmp;
    }
    return res;
}

template<typename T>
[[clang::optnone]] T spvFAdd(T l, T r)
{
    return fma(T(1), l, r);
}

template<typename T>
[[clang::optnone]] T spvFSub(T l, T r)
{
    return fma(T(-1), r, l);
}

#ifndef SPIRV_CROSS_CONSTANT_ID_2
#define SPIRV_CROSS_CONSTANT_ID_2 4u
#endif
constant uint kKey = SPIRV_CROSS_CONSTANT_ID_2;
constant uint kHeads = (kKey + 1u);
constant uint _195 = (kHeads + 2u);
constant uint _196 = (_195 - 1u);
constant uint kTeamValues = (_196 / 2u);
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
constant bool _486 = (!kWholeQuads);

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
    uint k_at;
    uint v_at;
    uint angles_at;
    uint q_norm_at;
    uint k_norm_at;
    float eps;
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
constant int _620 = kHasResidual ? 128 : 1;
#ifndef SPIRV_CROSS_CONSTANT_ID_6
#define SPIRV_CROSS_CONSTANT_ID_6 1u
#endif
constant uint kKLevels = SPIRV_CROSS_CONSTANT_ID_6;
constant bool _773 = (!kWholeQuads);

struct KvQuads
{
    uint4 kv_quads[1];
};

struct MainPages
{
    int main_pages[1];
};

constant uint _1108 = (32u * kKey);
#ifndef SPIRV_CROSS_CONSTANT_ID_3
#define SPIRV_CROSS_CONSTANT_ID_3 1u
#endif
constant uint kKPieces = SPIRV_CROSS_CONSTANT_ID_3;
constant uint kKDims = (kKPieces * 16u);
#ifndef SPIRV_CROSS_CONSTANT_ID_4
#define SPIRV_CROSS_CONSTANT_ID_4 1u
#endif
constant uint kVPairs = SPIRV_CROSS_CONSTANT_ID_4;
constant uint kVDims = (2u * kVPairs);
constant uint _1244 = (kKDims + kVDims);
constant uint _1862 = (32u * kTeamValues);
constant bool kHasKNorm_tmp [[function_constant(13)]];
constant bool kHasKNorm = is_function_constant_defined(kHasKNorm_tmp) ? kHasKNorm_tmp : false;
constant bool kHasQNorm_tmp [[function_constant(12)]];
constant bool kHasQNorm = is_function_constant_defined(kHasQNorm_tmp) ? kHasQNorm_tmp : false;

struct Q
{
    float q[1];
};

struct KNorm
{
    float k_norm[1];
};

struct QNorm
{
    float q_norm[1];
};

constant uint _2160 = (kKey * kKPieces);
constant uint _2161 = (_2160 * 4u);
constant uint kPairs_tmp [[function_constant(14)]];
constant uint kPairs = is_function_constant_defined(kPairs_tmp) ? kPairs_tmp : 0u;
constant uint kAStride_tmp [[function_constant(15)]];
constant uint kAStride = is_function_constant_defined(kAStride_tmp) ? kAStride_tmp : 1u;
constant uint kBOffset_tmp [[function_constant(16)]];
constant uint kBOffset = is_function_constant_defined(kBOffset_tmp) ? kBOffset_tmp : 0u;

struct PageTable
{
    int page_table[1];
};

struct Seq
{
    int seqs[1];
};

struct Pos
{
    int positions[1];
};

constant bool _2441 = (kHasQNorm || kHasKNorm);
constant uint row_floats = (kKPieces * 16u);
constant uint _2457 = (kKey * row_floats);
#ifndef SPIRV_CROSS_CONSTANT_ID_11
#define SPIRV_CROSS_CONSTANT_ID_11 1u
#endif
constant uint kPiecesAtOnce = SPIRV_CROSS_CONSTANT_ID_11;
constant uint _2639 = (kKPieces - 1u);
constant uint _2852 = (kVPairs + 128u);
constant uint _2853 = (_2852 - 1u);
constant uint kPairsOfLane = (_2853 / 128u);
constant uint _2856 = (kKey * kPairsOfLane);
constant uint _2874 = (128u * kKey);
constant uint _2875 = (_2874 / 4u);
constant bool _2963 = (kVPairs < 128u);
constant uint kPairsAtOnce = _2963 ? kVPairs : 128u;
constant uint kStride = (128u / kPairsAtOnce);
constant uint _2966 = (kStride * kPairsAtOnce);
#ifndef SPIRV_CROSS_CONSTANT_ID_9
#define SPIRV_CROSS_CONSTANT_ID_9 8u
#endif
constant uint kValuesAtOnce = SPIRV_CROSS_CONSTANT_ID_9;
constant uint _3133 = (kValuesAtOnce * kStride);

struct First
{
    int firsts[1];
};

constant uint _3336 = (kKey * kPairsAtOnce);

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

constant uint _3907 = (kKey * kPairsOfLane);
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
    return min(kKey, ((push.n_tokens * group_size) - first_row));
}

static inline __attribute__((always_inline))
int keys_before(thread const uint& seq, thread const int& position, constant Push& push, const device MainPages& v_960)
{
    if (push.pages_of == 0u)
    {
        return position;
    }
    int first = v_960.main_pages[push.main_pages_at + (2u * seq)] * int(push.page_tokens);
    int last = v_960.main_pages[(push.main_pages_at + (2u * seq)) + 1u] * int(push.page_tokens);
    int n_main = min(max((position - first), 0), max((last - first), 0));
    int _1000;
    if (push.pages_of == 2u)
    {
        _1000 = position - n_main;
    }
    else
    {
        _1000 = n_main;
    }
    return _1000;
}

static inline __attribute__((always_inline))
int keys_of(thread const uint& seq, thread const uint& token, constant Push& push, const device MainPages& v_960, const device Pos& v_2286)
{
    uint param = seq;
    int param_1 = v_2286.positions[push.pos_at + token] + 1;
    return keys_before(param, param_1, push, v_960);
}

static inline __attribute__((always_inline))
uint part_positions(thread const uint& n, constant Push& push)
{
    if (push.n_parts == 1u)
    {
        return 2147483647u;
    }
    uint _3819;
    if (n <= 1u)
    {
        _3819 = 1u;
    }
    else
    {
        _3819 = 2u << uint(int(spvFindUMSB(n - 1u)));
    }
    return max(128u, (_3819 / 32u));
}

static inline __attribute__((always_inline))
uint parts_of_tile(constant Push& push, const device MainPages& v_960, thread uint& first_row, thread uint& group_size, const device Seq& v_2271, const device Pos& v_2286)
{
    uint n_parts = 1u;
    uint param = 0u;
    uint token = token_of(param, first_row, group_size);
    for (;;)
    {
        uint _3851 = rows_of_tile(push, first_row, group_size);
        uint _3852 = _3851 - 1u;
        uint param_1 = _3852;
        uint _3854 = token_of(param_1, first_row, group_size);
        if (token <= _3854)
        {
            uint param_2 = uint(v_2271.seqs[push.seq_at + token]);
            uint param_3 = token;
            uint n_keys = uint(max(keys_of(param_2, param_3, push, v_960, v_2286), 1));
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
uint first_of_head(thread const uint& head, constant Push& push, thread uint& first_row, thread uint& group_size, thread uint& head_kv)
{
    uint _1957;
    if (head == kKey)
    {
        _1957 = push.k_at + (head_kv * push.head_dim_k);
    }
    else
    {
        uint param = head;
        _1957 = push.q_at + (vector_of(param, push, first_row, group_size, head_kv) * push.head_dim_k);
    }
    return _1957;
}

static inline __attribute__((always_inline))
float added_square(thread const float& sum, thread const float& value)
{
    float square = spvFMul(value, value);
    float added = spvFAdd(sum, square);
    return added;
}

static inline __attribute__((always_inline))
void add_up(thread const spvUnsafeArray<float, kTeamValues>& values, thread const uint& n_values, thread const uint& n_lanes, thread uint& gl_SubgroupID, threadgroup float (&team_reduced)[_1862])
{
    spvUnsafeArray<float, kTeamValues> results;
    for (uint i = 0u; i < kTeamValues; i++)
    {
        if (i < n_values)
        {
            results[i] = simd_sum(values[i]);
        }
    }
    bool _1846 = simd_is_first();
    if (_1846)
    {
        for (uint i_1 = 0u; i_1 < kTeamValues; i_1++)
        {
            if (i_1 < n_values)
            {
                team_reduced[(gl_SubgroupID * kTeamValues) + i_1] = results[i_1];
            }
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

static inline __attribute__((always_inline))
void find_scales(thread const bool& takes_key, constant Push& push, thread uint3& gl_LocalInvocationID, thread uint& gl_SubgroupID, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup float (&team_reduced)[_1862], const device Q& v_2069)
{
    uint team = gl_LocalInvocationID.x / 64u;
    spvUnsafeArray<float, kTeamValues> sums;
    bool _2036;
    for (uint i = 0u; i < kTeamValues; i++)
    {
        uint head = (i * 2u) + team;
        sums[i] = 0.0;
        bool _2030 = head > kKey;
        bool _2047;
        if (!_2030)
        {
            if (head == kKey)
            {
                _2036 = !takes_key;
            }
            else
            {
                uint param = head;
                _2036 = !exists(param, push, first_row, group_size);
            }
            _2047 = _2036;
        }
        else
        {
            _2047 = _2030;
        }
        if (_2047)
        {
            continue;
        }
        uint _2054 = gl_LocalInvocationID.x % 64u;
        for (uint d = _2054; d < push.head_dim_k; d += 64u)
        {
            uint param_1 = head;
            float param_2 = sums[i];
            float param_3 = v_2069.q[first_of_head(param_1, push, first_row, group_size, head_kv) + d];
            sums[i] = added_square(param_2, param_3);
        }
    }
    spvUnsafeArray<float, kTeamValues> param_4;
    param_4 = sums;
    uint param_5 = kTeamValues;
    uint param_6 = 64u;
    add_up(param_4, param_5, param_6, gl_SubgroupID, team_reduced);
}

static inline __attribute__((always_inline))
bool has_norm(thread const uint& head)
{
    return (head == kKey) ? kHasKNorm : kHasQNorm;
}

static inline __attribute__((always_inline))
float sum_of_team(thread const uint& team, thread const uint& i, thread const uint& n_lanes, thread uint& gl_NumSubgroups, threadgroup float (&team_reduced)[_1862])
{
    uint n_parts = (gl_NumSubgroups * n_lanes) / 128u;
    float sum = 0.0;
    spvUnsafeArray<float, 4> parts;
    for (uint first = 0u; first < n_parts; first += 4u)
    {
        for (uint j = 0u; j < 4u; j++)
        {
            parts[j] = team_reduced[(((team * n_parts) + min((first + j), (n_parts - 1u))) * kTeamValues) + i];
        }
        for (uint j_1 = 0u; j_1 < 4u; j_1++)
        {
            if ((first + j_1) < n_parts)
            {
                sum += parts[j_1];
            }
        }
    }
    return sum;
}

static inline __attribute__((always_inline))
float norm_scale(thread const float& sum_of_squares, thread const uint& n, thread const float& eps)
{
    return 1.0 / sqrt((sum_of_squares / float(n)) + eps);
}

static inline __attribute__((always_inline))
float scale_of(thread const uint& head, constant Push& push, thread uint& gl_NumSubgroups, threadgroup float (&team_reduced)[_1862])
{
    uint param = head;
    if (!has_norm(param))
    {
        return 1.0;
    }
    uint param_1 = head % 2u;
    uint param_2 = head / 2u;
    uint param_3 = 64u;
    float param_4 = sum_of_team(param_1, param_2, param_3, gl_NumSubgroups, team_reduced);
    uint param_5 = push.head_dim_k;
    float param_6 = push.eps;
    return norm_scale(param_4, param_5, param_6);
}

static inline __attribute__((always_inline))
float normalised(thread const float& value, thread const float& scale, thread const float& weight)
{
    float scaled = spvFMul(value, scale);
    float weighed = spvFMul(scaled, weight);
    return weighed;
}

static inline __attribute__((always_inline))
float normed(thread const uint& head, thread const float& scale, thread const uint& d, constant Push& push, thread uint& first_row, thread uint& group_size, thread uint& head_kv, const device Q& v_2069, const device KNorm& v_2116, const device QNorm& v_2128)
{
    uint param = head;
    float value = v_2069.q[first_of_head(param, push, first_row, group_size, head_kv) + d];
    uint param_1 = head;
    if (!has_norm(param_1))
    {
        return value;
    }
    float _2110;
    if (head == kKey)
    {
        _2110 = v_2116.k_norm[push.k_norm_at + d];
    }
    else
    {
        _2110 = v_2128.q_norm[push.q_norm_at + d];
    }
    float param_2 = value;
    float param_3 = scale;
    float param_4 = _2110;
    return normalised(param_2, param_3, param_4);
}

static inline __attribute__((always_inline))
void put(thread const uint& head, thread const uint& d, thread const float& value, constant Push& push, threadgroup uint (&head_bits)[_1244], threadgroup float4 (&q_tile)[_2161])
{
    if (head == kKey)
    {
        head_bits[d] = as_type<uint>(value);
    }
    else
    {
        uint i = ((head * kKPieces) * 16u) + d;
        ((threadgroup float*)&q_tile[i / 4u])[i % 4u] = value * push.scale;
    }
}

static inline __attribute__((always_inline))
float2 turned(thread const float2& pair, thread const float2& angle)
{
    float2 result = float2(spvFSub(spvFMul(pair.x, angle.x), spvFMul(pair.y, angle.y)), spvFAdd(spvFMul(pair.x, angle.y), spvFMul(pair.y, angle.x)));
    return result;
}

static inline __attribute__((always_inline))
void turn(thread const uint& head, thread const uint& item, constant Push& push, thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup uint (&head_bits)[_1244], threadgroup float (&team_reduced)[_1862], const device Q& v_2069, const device KNorm& v_2116, const device QNorm& v_2128, threadgroup float4 (&q_tile)[_2161])
{
    uint param = head;
    float scale = scale_of(param, push, gl_NumSubgroups, team_reduced);
    if (item >= kPairs)
    {
        uint param_1 = head;
        float param_2 = scale;
        uint param_3 = kPairs + item;
        uint param_4 = head;
        uint param_5 = kPairs + item;
        float param_6 = normed(param_1, param_2, param_3, push, first_row, group_size, head_kv, v_2069, v_2116, v_2128);
        put(param_4, param_5, param_6, push, head_bits, q_tile);
        return;
    }
    uint a = item * kAStride;
    uint b = a + kBOffset;
    float2 angle = float2(v_2069.q[push.angles_at + item], v_2069.q[(push.angles_at + kPairs) + item]);
    uint param_7 = head;
    float param_8 = scale;
    uint param_9 = a;
    uint param_10 = head;
    float param_11 = scale;
    uint param_12 = b;
    float2 param_13 = float2(normed(param_7, param_8, param_9, push, first_row, group_size, head_kv, v_2069, v_2116, v_2128), normed(param_10, param_11, param_12, push, first_row, group_size, head_kv, v_2069, v_2116, v_2128));
    float2 param_14 = angle;
    float2 pair = turned(param_13, param_14);
    uint param_15 = head;
    uint param_16 = a;
    float param_17 = pair.x;
    put(param_15, param_16, param_17, push, head_bits, q_tile);
    uint param_18 = head;
    uint param_19 = b;
    float param_20 = pair.y;
    put(param_18, param_19, param_20, push, head_bits, q_tile);
}

static inline __attribute__((always_inline))
uint unit_elements(thread const uint& format)
{
    int _1509;
    if (format == 0u)
    {
        _1509 = 1;
    }
    else
    {
        _1509 = (format == 3u) ? 32 : 2;
    }
    return uint(_1509);
}

static inline __attribute__((always_inline))
uint value_bits(thread const uint& i, threadgroup uint (&head_bits)[_1244], thread uint& first_bits)
{
    return head_bits[first_bits + i];
}

static inline __attribute__((always_inline))
uint divide(thread const uint& a, thread const uint& b)
{
    uint rest = (a & 8388607u) | 8388608u;
    uint divisor = (b & 8388607u) | 8388608u;
    int exponent = (int(a >> uint(23)) - int(b >> uint(23))) + 127;
    if (rest < divisor)
    {
        rest = rest << uint(1);
        exponent--;
    }
    if (exponent <= 0)
    {
        return 0u;
    }
    uint quotient = 0u;
    for (int i = 0; i < 24; i++)
    {
        quotient = quotient << uint(1);
        if (rest >= divisor)
        {
            rest -= divisor;
            quotient |= 1u;
        }
        rest = rest << uint(1);
    }
    if (rest > divisor)
    {
        quotient++;
    }
    return (uint(exponent) << uint(23)) + (quotient - 8388608u);
}

static inline __attribute__((always_inline))
uint q8_0_step(thread const uint& largest)
{
    if (largest >= 2139095040u)
    {
        return 2143289344u;
    }
    uint _1453;
    if (largest < 8388608u)
    {
        _1453 = 0u;
    }
    else
    {
        uint param = largest;
        uint param_1 = 1123942400u;
        _1453 = divide(param, param_1);
    }
    return _1453;
}

static inline __attribute__((always_inline))
float q8_0_inverse(thread const uint& _step)
{
    float _1467;
    if (_step == 0u)
    {
        _1467 = 0.0;
    }
    else
    {
        uint param = 1065353216u;
        uint param_1 = _step;
        _1467 = as_type<float>(divide(param, param_1));
    }
    return _1467;
}

static inline __attribute__((always_inline))
uint f16_bits(thread const uint& bits)
{
    uint _sign = (bits >> uint(16)) & 32768u;
    uint magnitude = bits & 2147483647u;
    if (magnitude > 2139095040u)
    {
        return (_sign | 32256u) | ((magnitude >> uint(13)) & 1023u);
    }
    if (magnitude >= 1199566848u)
    {
        return _sign | 31744u;
    }
    if (magnitude >= 947912704u)
    {
        return _sign | ((((magnitude - 939524096u) + 4095u) + ((magnitude >> uint(13)) & 1u)) >> uint(13));
    }
    if (magnitude < 855638016u)
    {
        return _sign;
    }
    uint mantissa = (magnitude & 8388607u) | 8388608u;
    uint shift = 126u - (magnitude >> uint(23));
    return _sign | (((mantissa + ((1u << (shift - 1u)) - 1u)) + ((mantissa >> shift) & 1u)) >> shift);
}

static inline __attribute__((always_inline))
uint q8_0_code(thread const float& value, thread const float& _inverse)
{
    float scaled = spvFMul(value, _inverse);
    float moved = spvFAdd(abs(scaled), 0.4999999701976776123046875);
    int code = int(moved);
    int _1494;
    if (scaled < 0.0)
    {
        _1494 = -code;
    }
    else
    {
        _1494 = code;
    }
    return uint(_1494 & 255);
}

static inline __attribute__((always_inline))
void store_half(thread const uint& at, thread const uint& bits, device KvWords& v_426)
{
    uint shift = (at & 1u) * 16u;
    uint _1267 = atomic_fetch_and_explicit((device atomic_uint*)&v_426.kv_words[at >> uint(1)], ~(65535u << shift), memory_order_relaxed);
    uint _1274 = atomic_fetch_or_explicit((device atomic_uint*)&v_426.kv_words[at >> uint(1)], bits << shift, memory_order_relaxed);
}

static inline __attribute__((always_inline))
void write_q8_0(thread const uint& from, thread const uint& at, device KvWords& v_426, threadgroup uint (&head_bits)[_1244], thread uint& first_bits)
{
    uint largest = 0u;
    for (uint i = 0u; i < 32u; i++)
    {
        uint param = from + i;
        largest = max(largest, (value_bits(param, head_bits, first_bits) & 2147483647u));
    }
    uint param_1 = largest;
    uint d = q8_0_step(param_1);
    uint param_2 = d;
    float _inverse = q8_0_inverse(param_2);
    uint param_3 = d;
    spvUnsafeArray<uint, 17> halves;
    halves[0] = f16_bits(param_3);
    for (uint i_1 = 0u; i_1 < 16u; i_1++)
    {
        uint param_4 = from + (2u * i_1);
        float param_5 = as_type<float>(value_bits(param_4, head_bits, first_bits));
        float param_6 = _inverse;
        uint low = q8_0_code(param_5, param_6);
        uint param_7 = (from + (2u * i_1)) + 1u;
        float param_8 = as_type<float>(value_bits(param_7, head_bits, first_bits));
        float param_9 = _inverse;
        halves[1u + i_1] = low | (q8_0_code(param_8, param_9) << uint(8));
    }
    uint first = at & 1u;
    uint _1601;
    if (first == 1u)
    {
        _1601 = at;
    }
    else
    {
        _1601 = at + 16u;
    }
    uint param_10 = _1601;
    uint param_11 = halves[(first == 1u) ? 0 : 16];
    store_half(param_10, param_11, v_426);
    for (uint i_2 = 0u; i_2 < 8u; i_2++)
    {
        v_426.kv_words[((at + first) >> uint(1)) + i_2] = halves[first + (2u * i_2)] | (halves[(first + (2u * i_2)) + 1u] << uint(16));
    }
}

static inline __attribute__((always_inline))
uint bf16_bits(thread const uint& bits)
{
    if ((bits & 2147483647u) > 2139095040u)
    {
        return (bits >> uint(16)) | 64u;
    }
    return (bits + (32767u + ((bits >> uint(16)) & 1u))) >> uint(16);
}

static inline __attribute__((always_inline))
void write_unit(thread const uint& format, thread const uint& unit, thread const uint& head_dim, thread const uint& at, device KvWords& v_426, threadgroup uint (&head_bits)[_1244], thread uint& first_bits)
{
    if (format == 0u)
    {
        uint param = unit;
        v_426.kv_words[(at >> uint(1)) + unit] = value_bits(param, head_bits, first_bits);
    }
    else
    {
        if (format == 3u)
        {
            uint param_1 = 32u * unit;
            uint param_2 = at + (17u * unit);
            write_q8_0(param_1, param_2, v_426, head_bits, first_bits);
        }
        else
        {
            uint element = 2u * unit;
            uint param_3 = element;
            uint a = value_bits(param_3, head_bits, first_bits);
            uint _1686;
            if (format == 1u)
            {
                uint param_4 = a;
                _1686 = f16_bits(param_4);
            }
            else
            {
                uint param_5 = a;
                _1686 = bf16_bits(param_5);
            }
            uint first = _1686;
            bool is_pair = (element + 1u) < head_dim;
            uint _1704;
            if (is_pair)
            {
                uint param_6 = element + 1u;
                _1704 = value_bits(param_6, head_bits, first_bits);
            }
            else
            {
                _1704 = 0u;
            }
            uint b = _1704;
            uint _1716;
            if (format == 1u)
            {
                uint param_7 = b;
                _1716 = f16_bits(param_7);
            }
            else
            {
                uint param_8 = b;
                _1716 = bf16_bits(param_8);
            }
            uint second = _1716;
            bool _1733;
            if (is_pair)
            {
                _1733 = (at & 1u) == 0u;
            }
            else
            {
                _1733 = is_pair;
            }
            if (_1733)
            {
                v_426.kv_words[(at >> uint(1)) + unit] = first | (second << uint(16));
            }
            else
            {
                uint param_9 = at + element;
                uint param_10 = first;
                store_half(param_9, param_10, v_426);
                if (is_pair)
                {
                    uint param_11 = (at + element) + 1u;
                    uint param_12 = second;
                    store_half(param_11, param_12, v_426);
                }
            }
        }
    }
}

static inline __attribute__((always_inline))
void write_key_and_value(device KvWords& v_426, constant Push& push, thread uint3& gl_LocalInvocationID, thread uint& head_kv, threadgroup uint (&head_bits)[_1244], thread uint& first_bits, const device PageTable& v_2264, const device Seq& v_2271, const device Pos& v_2286)
{
    uint page = uint(v_2264.page_table[(push.page_table_at + (uint(v_2271.seqs[push.seq_at]) * push.max_pages)) + (uint(v_2286.positions[push.pos_at]) / push.page_tokens)]);
    uint keys = push.kv_at + (page * push.page_bytes);
    uint values = keys + ((push.n_head_kv * push.page_tokens) * push.k_row_bytes);
    uint slot = (head_kv * push.page_tokens) + (uint(v_2286.positions[push.pos_at]) % push.page_tokens);
    uint param = kKFormat;
    uint param_1 = kKFormat;
    uint n_key_units = ((push.head_dim_k + unit_elements(param)) - 1u) / unit_elements(param_1);
    uint param_2 = kVFormat;
    uint param_3 = kVFormat;
    uint n_units = n_key_units + (((push.head_dim_v + unit_elements(param_2)) - 1u) / unit_elements(param_3));
    for (uint unit = gl_LocalInvocationID.x; unit < n_units; unit += 128u)
    {
        if (unit < n_key_units)
        {
            first_bits = 0u;
            uint param_4 = kKFormat;
            uint param_5 = unit;
            uint param_6 = push.head_dim_k;
            uint param_7 = (keys + (slot * push.k_row_bytes)) / 2u;
            write_unit(param_4, param_5, param_6, param_7, v_426, head_bits, first_bits);
        }
        else
        {
            first_bits = kKDims;
            uint param_8 = kVFormat;
            uint param_9 = unit - n_key_units;
            uint param_10 = push.head_dim_v;
            uint param_11 = (values + (slot * push.v_row_bytes)) / 2u;
            write_unit(param_8, param_9, param_10, param_11, v_426, head_bits, first_bits);
        }
    }
}

static inline __attribute__((always_inline))
void make_heads(thread const bool& takes_key, device KvWords& v_426, constant Push& push, thread uint3& gl_LocalInvocationID, thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup uint (&head_bits)[_1244], thread uint& first_bits, threadgroup float (&team_reduced)[_1862], const device Q& v_2069, const device KNorm& v_2116, const device QNorm& v_2128, threadgroup float4 (&q_tile)[_2161], const device PageTable& v_2264, const device Seq& v_2271, const device Pos& v_2286)
{
    if (takes_key)
    {
        for (uint i = gl_LocalInvocationID.x; i < push.head_dim_v; i += 128u)
        {
            head_bits[kKDims + i] = as_type<uint>(v_2069.q[(push.v_at + (head_kv * push.head_dim_v)) + i]);
        }
    }
    if (_2441)
    {
        bool param = takes_key;
        find_scales(param, push, gl_LocalInvocationID, gl_SubgroupID, first_row, group_size, head_kv, team_reduced, v_2069);
    }
    for (uint i_1 = gl_LocalInvocationID.x; i_1 < _2457; i_1 += 128u)
    {
        uint param_1 = i_1 / row_floats;
        bool _2463 = !exists(param_1, push, first_row, group_size);
        bool _2472;
        if (!_2463)
        {
            _2472 = (i_1 % row_floats) >= push.head_dim_k;
        }
        else
        {
            _2472 = _2463;
        }
        if (_2472)
        {
            ((threadgroup float*)&q_tile[i_1 / 4u])[i_1 % 4u] = 0.0;
        }
    }
    uint n_items = push.head_dim_k - kPairs;
    bool _2504;
    for (uint i_2 = gl_LocalInvocationID.x; i_2 < (kHeads * n_items); i_2 += 128u)
    {
        uint head = i_2 / n_items;
        if (head == kKey)
        {
            _2504 = takes_key;
        }
        else
        {
            uint param_2 = head;
            _2504 = exists(param_2, push, first_row, group_size);
        }
        if (_2504)
        {
            uint param_3 = head;
            uint param_4 = i_2 % n_items;
            turn(param_3, param_4, push, gl_NumSubgroups, first_row, group_size, head_kv, head_bits, team_reduced, v_2069, v_2116, v_2128, q_tile);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (!takes_key)
    {
        return;
    }
    write_key_and_value(v_426, push, gl_LocalInvocationID, head_kv, head_bits, first_bits, v_2264, v_2271, v_2286);
    threadgroup_barrier(mem_flags::mem_device);
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
void load_v_levels(thread uint3& gl_LocalInvocationID, threadgroup float (&v_levels)[kVLevels], const device Constants& v_592, threadgroup float (&residual_signs)[_620])
{
    uint i = gl_LocalInvocationID.x;
    for (;;)
    {
        uint _580 = v_format();
        uint param = _580;
        uint _582 = n_levels(param);
        if (i < _582)
        {
            uint param_1 = v_format();
            v_levels[i] = v_592.constants[first_level(param_1) + i];
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
        residual_signs[i_1] = v_592.constants[352u + i_1];
    }
}

static inline __attribute__((always_inline))
uint k_format()
{
    return kKFormat;
}

static inline __attribute__((always_inline))
void load_levels(thread uint3& gl_LocalInvocationID, threadgroup float (&v_levels)[kVLevels], const device Constants& v_592, threadgroup float (&residual_signs)[_620], threadgroup float (&k_levels)[kKLevels])
{
    load_v_levels(gl_LocalInvocationID, v_levels, v_592, residual_signs);
    uint i = gl_LocalInvocationID.x;
    for (;;)
    {
        uint _690 = k_format();
        uint param = _690;
        uint _692 = n_levels(param);
        if (i < _692)
        {
            uint param_1 = k_format();
            k_levels[i] = v_592.constants[first_level(param_1) + i];
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
uint first_of(thread const uint& seq, thread const uint& token, constant Push& push, const device MainPages& v_960, const device First& v_3148)
{
    uint _3142;
    if (push.has_first > 0u)
    {
        uint param = seq;
        int param_1 = v_3148.firsts[push.first_at + token];
        _3142 = uint(keys_before(param, param_1, push, v_960));
    }
    else
    {
        _3142 = 0u;
    }
    return _3142;
}

static inline __attribute__((always_inline))
uint page_of(thread const uint& seq, thread const uint& key, constant Push& push, const device MainPages& v_960)
{
    uint index = key / push.page_tokens;
    if (push.pages_of == 0u)
    {
        return index;
    }
    int first = v_960.main_pages[push.main_pages_at + (2u * seq)];
    int last = v_960.main_pages[(push.main_pages_at + (2u * seq)) + 1u];
    if (push.pages_of == 1u)
    {
        return index + uint(first);
    }
    uint _1054;
    if (index < uint(first))
    {
        _1054 = index;
    }
    else
    {
        _1054 = index + uint(max((last - first), 0));
    }
    return _1054;
}

static inline __attribute__((always_inline))
uint half_at(thread const uint& at, device KvWords& v_426)
{
    return (v_426.kv_words[at >> uint(2)] >> (8u * (at & 2u))) & 65535u;
}

static inline __attribute__((always_inline))
float f32_from_f16(thread const uint& half_bits)
{
    uint _sign = (half_bits & 32768u) << uint(16);
    uint magnitude = half_bits & 32767u;
    uint subnormal = as_type<uint>(float(magnitude) * 5.9604644775390625e-08);
    uint exponent_offset = (magnitude < 31744u) ? 939524096u : 1879048192u;
    uint _408;
    if (magnitude < 1024u)
    {
        _408 = subnormal;
    }
    else
    {
        _408 = (magnitude << uint(13)) + exponent_offset;
    }
    return as_type<float>(_sign | _408);
}

static inline __attribute__((always_inline))
uint two_halves_at(thread const uint& at, device KvWords& v_426)
{
    uint param = at;
    uint param_1 = at + 2u;
    return half_at(param, v_426) | (half_at(param_1, v_426) << uint(16));
}

static inline __attribute__((always_inline))
float load_float(thread const uint& format, thread const uint& row, thread const uint& i, device KvWords& v_426)
{
    switch (format)
    {
        case 1u:
        {
            uint param = row + (2u * i);
            uint param_1 = half_at(param, v_426);
            return f32_from_f16(param_1);
        }
        case 2u:
        {
            uint param_2 = row + (2u * i);
            return as_type<float>(half_at(param_2, v_426) << uint(16));
        }
    }
    return as_type<float>(v_426.kv_words[(row / 4u) + i]);
}

static inline __attribute__((always_inline))
void load_k(thread const uint& row, thread const uint& piece, thread spvUnsafeArray<float4, 4>& k, device KvWords& v_426, constant Push& push, device KvQuads& v_842)
{
    uint format = k_format();
    if (format == 3u)
    {
        uint block = row + ((piece / 2u) * 34u);
        uint param = block;
        uint param_1 = half_at(param, v_426);
        float _step = f32_from_f16(param_1);
        uint first = (block + 2u) + (16u * (piece % 2u));
        for (uint i = 0u; i < 4u; i++)
        {
            uint param_2 = first + (4u * i);
            int codes = int(two_halves_at(param_2, v_426));
            k[i] = float4(float(extract_bits(codes, uint(0), uint(8))), float(extract_bits(codes, uint(8), uint(8))), float(extract_bits(codes, uint(16), uint(8))), float(extract_bits(codes, uint(24), uint(8)))) * _step;
        }
    }
    else
    {
        if (_773)
        {
            float _807;
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
                        _807 = load_float(param_3, param_4, param_5, v_426);
                    }
                    else
                    {
                        _807 = 0.0;
                    }
                    k[i_1][j] = _807;
                }
            }
        }
        else
        {
            if (format == 0u)
            {
                for (uint i_2 = 0u; i_2 < 4u; i_2++)
                {
                    k[i_2] = as_type<float4>(v_842.kv_quads[((row / 16u) + (4u * piece)) + i_2]);
                }
            }
            else
            {
                for (uint i_3 = 0u; i_3 < 2u; i_3++)
                {
                    uint4 pairs = v_842.kv_quads[((row / 16u) + (2u * piece)) + i_3];
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
bool is_seen(thread const uint& row, thread const uint& position, threadgroup int (&first_seen)[kKey], threadgroup int (&last_seen)[kKey])
{
    bool _1227 = int(position) >= first_seen[row];
    bool _1237;
    if (_1227)
    {
        _1237 = int(position) <= last_seen[row];
    }
    else
    {
        _1237 = _1227;
    }
    return _1237;
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
    uint _337;
    if (is_finite(param))
    {
        _337 = as_type<uint>(value);
    }
    else
    {
        _337 = 2143289344u;
    }
    return as_type<float>(_337);
}

static inline __attribute__((always_inline))
void reduce(thread const spvUnsafeArray<float, kKey>& values, thread const bool& is_sum, threadgroup float (&reduced)[_1108], thread uint& gl_SubgroupID)
{
    spvUnsafeArray<float, kKey> results;
    float _1080;
    for (uint i = 0u; i < kKey; i++)
    {
        if (is_sum)
        {
            _1080 = simd_sum(values[i]);
        }
        else
        {
            _1080 = simd_max(values[i]);
        }
        results[i] = _1080;
    }
    bool _1096 = simd_is_first();
    if (_1096)
    {
        for (uint i_1 = 0u; i_1 < kKey; i_1++)
        {
            reduced[(gl_SubgroupID * kKey) + i_1] = results[i_1];
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
float reduced_max(thread const uint& i, thread float& so_far, threadgroup float (&reduced)[_1108], thread uint& gl_NumSubgroups)
{
    for (uint part = 0u; part < n_reduced(gl_NumSubgroups); part++)
    {
        so_far = fast::max(so_far, reduced[(part * kKey) + i]);
    }
    return so_far;
}

static inline __attribute__((always_inline))
void weigh(thread const uint& seq, thread const uint& first, thread const uint& end, device KvWords& v_426, constant Push& push, thread uint3& gl_LocalInvocationID, device KvQuads& v_842, const device MainPages& v_960, threadgroup float (&reduced)[_1108], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& head_kv, threadgroup int (&first_seen)[kKey], threadgroup int (&last_seen)[kKey], threadgroup float4 (&q_tile)[_2161], const device PageTable& v_2264, threadgroup uint (&v_rows)[128], threadgroup float (&largest)[kKey], threadgroup float (&shrink)[kKey], thread spvUnsafeArray<float, kKey>& weight_sum, thread spvUnsafeArray<float2, _2856>& value_sum, threadgroup float4 (&weights)[_2875])
{
    uint lane = gl_LocalInvocationID.x;
    uint position = first + lane;
    spvUnsafeArray<float, kKey> scores;
    for (uint r = 0u; r < kKey; r++)
    {
        scores[r] = 0.0;
    }
    if (position < end)
    {
        uint param = seq;
        uint param_1 = position;
        uint page = uint(v_2264.page_table[(push.page_table_at + (seq * push.max_pages)) + page_of(param, param_1, push, v_960)]);
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
                uint param_3 = min((first_piece + i), _2639);
                load_k(param_2, param_3, param_4, v_426, push, v_842);
                k[i] = param_4;
            }
            for (uint i_1 = 0u; i_1 < kPiecesAtOnce; i_1++)
            {
                uint piece = first_piece + i_1;
                if (piece >= kKPieces)
                {
                    break;
                }
                for (uint r_1 = 0u; r_1 < kKey; r_1++)
                {
                    uint at = ((r_1 * kKPieces) + piece) * 4u;
                    scores[r_1] += (((dot(q_tile[at], k[i_1][0]) + dot(q_tile[at + 1u], k[i_1][1])) + dot(q_tile[at + 2u], k[i_1][2])) + dot(q_tile[at + 3u], k[i_1][3]));
                }
            }
        }
    }
    float _2750;
    for (uint r_2 = 0u; r_2 < kKey; r_2++)
    {
        bool _2741 = position < end;
        bool _2749;
        if (_2741)
        {
            uint param_5 = r_2;
            uint param_6 = position;
            _2749 = is_seen(param_5, param_6, first_seen, last_seen);
        }
        else
        {
            _2749 = _2741;
        }
        if (_2749)
        {
            float param_7 = scores[r_2];
            _2750 = finite_or_nan(param_7);
        }
        else
        {
            _2750 = -1000000015047466219876688855040.0;
        }
        scores[r_2] = _2750;
    }
    spvUnsafeArray<float, kKey> param_8;
    param_8 = scores;
    bool param_9 = false;
    reduce(param_8, param_9, reduced, gl_SubgroupID);
    if (lane < kKey)
    {
        uint param_10 = lane;
        float param_11 = largest[lane];
        float _2782 = reduced_max(param_10, param_11, reduced, gl_NumSubgroups);
        float top = _2782;
        float _2790;
        if (largest[lane] == top)
        {
            _2790 = 1.0;
        }
        else
        {
            _2790 = exp(largest[lane] - top);
        }
        shrink[lane] = _2790;
        largest[lane] = top;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float _2818;
    for (uint r_3 = 0u; r_3 < kKey; r_3++)
    {
        if (scores[r_3] == (-1000000015047466219876688855040.0))
        {
            _2818 = 0.0;
        }
        else
        {
            _2818 = exp(scores[r_3] - largest[r_3]);
        }
        float weight = _2818;
        weight_sum[r_3] = (weight_sum[r_3] * shrink[r_3]) + weight;
        for (uint p = 0u; p < kPairsOfLane; p++)
        {
            uint _2863 = (r_3 * kPairsOfLane) + p;
            value_sum[_2863] *= shrink[r_3];
        }
        ((threadgroup float*)&weights[((lane * kKey) + r_3) / 4u])[r_3 % 4u] = weight;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

static inline __attribute__((always_inline))
float2 load_pair_of_floats(thread const uint& format, thread const uint& row, thread const uint& pair, device KvWords& v_426, constant Push& push)
{
    if (_486)
    {
        uint param = format;
        uint param_1 = row;
        uint param_2 = 2u * pair;
        float _507;
        if (((2u * pair) + 1u) < push.head_dim_v)
        {
            uint param_3 = format;
            uint param_4 = row;
            uint param_5 = (2u * pair) + 1u;
            _507 = load_float(param_3, param_4, param_5, v_426);
        }
        else
        {
            _507 = 0.0;
        }
        return float2(load_float(param, param_1, param_2, v_426), _507);
    }
    uint word = v_426.kv_words[(row / 4u) + pair];
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
    return as_type<float2>(uint2(v_426.kv_words[(row / 4u) + (2u * pair)], v_426.kv_words[((row / 4u) + (2u * pair)) + 1u]));
}

static inline __attribute__((always_inline))
float2 load_v(thread const uint& row, thread const uint& pair, device KvWords& v_426, constant Push& push)
{
    uint format = v_format();
    switch (format)
    {
        case 3u:
        {
            uint block = row + ((pair / 16u) * 34u);
            uint param = (block + 2u) + (2u * (pair % 16u));
            int codes = int(half_at(param, v_426));
            uint param_1 = block;
            uint param_2 = half_at(param_1, v_426);
            return float2(float(extract_bits(codes, uint(0), uint(8))), float(extract_bits(codes, uint(8), uint(8)))) * f32_from_f16(param_2);
        }
    }
    uint param_3 = format;
    uint param_4 = row;
    uint param_5 = pair;
    return load_pair_of_floats(param_3, param_4, param_5, v_426, push);
}

static inline __attribute__((always_inline))
void leave_out(thread const uint& position, thread const uint& p, thread float2& v, threadgroup int (&first_seen)[kKey], threadgroup int (&last_seen)[kKey], thread spvUnsafeArray<uint, kPairsOfLane>& damaged)
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
    uint _2924;
    for (uint r = 0u; r < kKey; r++)
    {
        uint param_2 = r;
        uint param_3 = position;
        if (is_seen(param_2, param_3, first_seen, last_seen))
        {
            _2924 = 1u << r;
        }
        else
        {
            _2924 = 0u;
        }
        seeing |= _2924;
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
void add_values(thread const uint& block, thread const uint& n, device KvWords& v_426, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup int (&first_seen)[kKey], threadgroup int (&last_seen)[kKey], threadgroup uint (&v_rows)[128], thread spvUnsafeArray<float2, _2856>& value_sum, threadgroup float4 (&weights)[_2875], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, thread bool& is_careful)
{
    uint lane = gl_LocalInvocationID.x;
    if (lane >= _2966)
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
        uint _2995 = lane / kPairsAtOnce;
        for (uint first = _2995; first < n; first += _3133)
        {
            for (uint i = 0u; i < kValuesAtOnce; i++)
            {
                uint param = v_rows[min((first + (i * kStride)), (n - 1u))];
                uint param_1 = pair;
                v[i] = load_v(param, param_1, v_426, push);
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
                for (uint r = 0u; r < kKey; r += 4u)
                {
                    float4 weight = weights[((position * kKey) + r) / 4u];
                    for (uint j = 0u; j < 4u; j++)
                    {
                        uint _3115 = ((r + j) * kPairsOfLane) + p;
                        value_sum[_3115] += (v[i_2] * weight[j]);
                    }
                }
            }
        }
    }
}

static inline __attribute__((always_inline))
void attend(thread const uint& first_token, thread const uint& last_token, thread const uint& seq, thread const uint& first, thread const uint& end, device KvWords& v_426, constant Push& push, thread uint3& gl_LocalInvocationID, device KvQuads& v_842, const device MainPages& v_960, threadgroup float (&reduced)[_1108], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup int (&first_seen)[kKey], threadgroup int (&last_seen)[kKey], threadgroup float4 (&q_tile)[_2161], const device PageTable& v_2264, const device Pos& v_2286, threadgroup uint (&v_rows)[128], threadgroup float (&largest)[kKey], threadgroup float (&shrink)[kKey], thread spvUnsafeArray<float, kKey>& weight_sum, thread spvUnsafeArray<float2, _2856>& value_sum, threadgroup float4 (&weights)[_2875], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, thread bool& is_careful, const device First& v_3148)
{
    uint lane = gl_LocalInvocationID.x;
    if (lane < kKey)
    {
        uint param = lane;
        bool _3188 = exists(param, push, first_row, group_size);
        bool _3196;
        if (_3188)
        {
            uint param_1 = lane;
            _3196 = token_of(param_1, first_row, group_size) >= first_token;
        }
        else
        {
            _3196 = _3188;
        }
        bool _3204;
        if (_3196)
        {
            uint param_2 = lane;
            _3204 = token_of(param_2, first_row, group_size) <= last_token;
        }
        else
        {
            _3204 = _3196;
        }
        bool is_among = _3204;
        int _3207;
        if (is_among)
        {
            uint param_3 = lane;
            uint param_4 = seq;
            uint param_5 = token_of(param_3, first_row, group_size);
            _3207 = keys_of(param_4, param_5, push, v_960, v_2286) - 1;
        }
        else
        {
            _3207 = -1;
        }
        last_seen[lane] = _3207;
        int _3224;
        if (is_among)
        {
            uint param_6 = lane;
            uint param_7 = seq;
            uint param_8 = token_of(param_6, first_row, group_size);
            _3224 = int(first_of(param_7, param_8, push, v_960, v_3148));
        }
        else
        {
            _3224 = 0;
        }
        first_seen[lane] = _3224;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint block = first; block < end; block += 128u)
    {
        uint param_9 = seq;
        uint param_10 = block;
        uint param_11 = end;
        weigh(param_9, param_10, param_11, v_426, push, gl_LocalInvocationID, v_842, v_960, reduced, gl_SubgroupID, gl_NumSubgroups, head_kv, first_seen, last_seen, q_tile, v_2264, v_rows, largest, shrink, weight_sum, value_sum, weights);
        uint param_12 = block;
        uint param_13 = min(128u, (end - block));
        add_values(param_12, param_13, v_426, push, gl_LocalInvocationID, first_seen, last_seen, v_rows, value_sum, weights, damaged, is_careful);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

static inline __attribute__((always_inline))
void sum_up(thread const uint& part, device KvWords& v_426, constant Push& push, thread uint3& gl_LocalInvocationID, device KvQuads& v_842, const device MainPages& v_960, threadgroup float (&reduced)[_1108], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup int (&first_seen)[kKey], threadgroup int (&last_seen)[kKey], threadgroup float4 (&q_tile)[_2161], const device PageTable& v_2264, const device Seq& v_2271, const device Pos& v_2286, threadgroup uint (&v_rows)[128], threadgroup float (&largest)[kKey], threadgroup float (&shrink)[kKey], thread spvUnsafeArray<float, kKey>& weight_sum, thread spvUnsafeArray<float2, _2856>& value_sum, threadgroup float4 (&weights)[_2875], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, thread bool& is_careful, const device First& v_3148)
{
    for (uint r = 0u; r < kKey; r++)
    {
        weight_sum[r] = 0.0;
        for (uint p = 0u; p < kPairsOfLane; p++)
        {
            value_sum[(r * kPairsOfLane) + p] = float2(0.0);
        }
    }
    if (gl_LocalInvocationID.x < kKey)
    {
        largest[gl_LocalInvocationID.x] = -1000000015047466219876688855040.0;
    }
    uint param = rows_of_tile(push, first_row, group_size) - 1u;
    uint last_of_tile = token_of(param, first_row, group_size);
    uint param_1 = 0u;
    uint token = token_of(param_1, first_row, group_size);
    uint _4078;
    while (token <= last_of_tile)
    {
        uint seq = uint(v_2271.seqs[push.seq_at + token]);
        uint param_2 = seq;
        uint param_3 = token;
        int n_keys = keys_of(param_2, param_3, push, v_960, v_2286);
        uint param_4 = uint(n_keys);
        uint n_positions = part_positions(param_4, push);
        uint last_token = token;
        uint param_5 = seq;
        uint param_6 = token;
        uint first_position = first_of(param_5, param_6, push, v_960, v_3148);
        for (;;)
        {
            bool _4028 = last_token < last_of_tile;
            bool _4041;
            if (_4028)
            {
                _4041 = uint(v_2271.seqs[(push.seq_at + last_token) + 1u]) == seq;
            }
            else
            {
                _4041 = _4028;
            }
            if (_4041)
            {
                uint param_7 = seq;
                uint param_8 = last_token + 1u;
                int keys_of_next = keys_of(param_7, param_8, push, v_960, v_2286);
                uint param_9 = uint(keys_of_next);
                if (part_positions(param_9, push) != n_positions)
                {
                    break;
                }
                last_token++;
                n_keys = max(n_keys, keys_of_next);
                uint param_10 = seq;
                uint param_11 = last_token;
                first_position = min(first_position, first_of(param_10, param_11, push, v_960, v_3148));
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
            _4078 = ((first_position - first) / 128u) * 128u;
        }
        else
        {
            _4078 = 0u;
        }
        uint left_out = _4078;
        uint param_12 = token;
        uint param_13 = last_token;
        uint param_14 = seq;
        uint param_15 = first + left_out;
        uint param_16 = min(uint(n_keys), (first + n_positions));
        attend(param_12, param_13, param_14, param_15, param_16, v_426, push, gl_LocalInvocationID, v_842, v_960, reduced, gl_SubgroupID, gl_NumSubgroups, first_row, group_size, head_kv, first_seen, last_seen, q_tile, v_2264, v_2286, v_rows, largest, shrink, weight_sum, value_sum, weights, damaged, is_careful, v_3148);
        token = last_token + 1u;
    }
}

static inline __attribute__((always_inline))
bool are_sums_damaged(threadgroup float (&reduced)[_1108], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread spvUnsafeArray<float2, _2856>& value_sum)
{
    spvUnsafeArray<float, kKey> found;
    for (uint r = 0u; r < kKey; r++)
    {
        found[r] = 0.0;
    }
    for (uint i = 0u; i < _3907; i++)
    {
        float param = value_sum[i].x;
        bool _3914 = !is_finite(param);
        bool _3924;
        if (!_3914)
        {
            float param_1 = value_sum[i].y;
            _3924 = !is_finite(param_1);
        }
        else
        {
            _3924 = _3914;
        }
        if (_3924)
        {
            found[0] = 1.0;
        }
    }
    spvUnsafeArray<float, kKey> param_2;
    param_2 = found;
    bool param_3 = false;
    reduce(param_2, param_3, reduced, gl_SubgroupID);
    uint param_4 = 0u;
    float param_5 = 0.0;
    float _3937 = reduced_max(param_4, param_5, reduced, gl_NumSubgroups);
    bool are_damaged = _3937 > 0.0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return are_damaged;
}

static inline __attribute__((always_inline))
void share_sums(thread const uint& p, thread const uint& component, thread uint3& gl_LocalInvocationID, thread spvUnsafeArray<float2, _2856>& value_sum, threadgroup float4 (&weights)[_2875], thread spvUnsafeArray<uint, kPairsOfLane>& damaged)
{
    uint lane = gl_LocalInvocationID.x;
    float4 sums;
    float _3300;
    for (uint r = 0u; r < kKey; r += 4u)
    {
        for (uint j = 0u; j < 4u; j++)
        {
            bool is_damaged = ((damaged[p] >> ((r + j) + (component * 16u))) & 1u) != 0u;
            if (is_damaged)
            {
                _3300 = as_type<float>(2143289344u);
            }
            else
            {
                _3300 = value_sum[((r + j) * kPairsOfLane) + p][component];
            }
            sums[j] = _3300;
        }
        weights[((lane * kKey) + r) / 4u] = sums;
    }
}

static inline __attribute__((always_inline))
float reduced_sum(thread const uint& i, threadgroup float (&reduced)[_1108], thread uint& gl_NumSubgroups)
{
    float sum = 0.0;
    for (uint part = 0u; part < n_reduced(gl_NumSubgroups); part++)
    {
        sum += reduced[(part * kKey) + i];
    }
    return sum;
}

static inline __attribute__((always_inline))
void store_sums(thread const uint& p, thread const uint& component, thread const uint& part, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup float (&reduced)[_1108], thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup float (&largest)[kKey], threadgroup float4 (&weights)[_2875], thread bool& is_only_part, device Merged& v_3414, volatile device Out& v_3432, volatile device Softmax& v_3468)
{
    float _3447;
    for (uint i = gl_LocalInvocationID.x; i < _3336; i += 128u)
    {
        uint row = i / kPairsAtOnce;
        uint dimension = (2u * ((i % kPairsAtOnce) + (p * 128u))) + component;
        uint param = row;
        bool _3353 = !exists(param, push, first_row, group_size);
        bool _3361;
        if (!_3353)
        {
            _3361 = dimension >= push.head_dim_v;
        }
        else
        {
            _3361 = _3353;
        }
        if (_3361)
        {
            continue;
        }
        float sum = 0.0;
        for (uint n = 0u; n < kStride; n++)
        {
            sum += ((threadgroup float*)&weights[((((n * kPairsAtOnce) + (i % kPairsAtOnce)) * kKey) + row) / 4u])[row % 4u];
        }
        uint param_1 = row;
        float total = reduced_sum(param_1, reduced, gl_NumSubgroups);
        uint param_2 = row;
        uint vector = ((part * push.n_tokens) * push.n_head) + vector_of(param_2, push, first_row, group_size, head_kv);
        if (is_only_part)
        {
            v_3414.merged[(push.merged_at + (vector * push.head_dim_v)) + dimension] = sum / total;
            continue;
        }
        if (push.keeps_sums == 0u)
        {
            _3447 = sum / total;
        }
        else
        {
            _3447 = sum;
        }
        v_3432.result[(push.out_at + (vector * push.head_dim_v)) + dimension] = _3447;
        if ((push.keeps_sums != 0u) && (dimension == 0u))
        {
            v_3468.softmax[push.softmax_at + vector] = float2(largest[row], total);
        }
    }
}

static inline __attribute__((always_inline))
void store(thread const uint& part, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup float (&reduced)[_1108], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup float (&largest)[kKey], thread spvUnsafeArray<float, kKey>& weight_sum, thread spvUnsafeArray<float2, _2856>& value_sum, threadgroup float4 (&weights)[_2875], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, thread bool& is_only_part, device Merged& v_3414, volatile device Out& v_3432, volatile device Softmax& v_3468)
{
    spvUnsafeArray<float, kKey> param;
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
            store_sums(param_4, param_5, param_6, push, gl_LocalInvocationID, reduced, gl_NumSubgroups, first_row, group_size, head_kv, largest, weights, is_only_part, v_3414, v_3432, v_3468);
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
    }
}

static inline __attribute__((always_inline))
float2 softmax_of_part(thread const uint& part, thread const uint& vector, constant Push& push, volatile device Softmax& v_3468)
{
    return v_3468.softmax[(push.softmax_at + ((part * push.n_tokens) * push.n_head)) + vector];
}

static inline __attribute__((always_inline))
float sum_of_part(thread const uint& part, thread const uint& vector, thread const uint& dimension, constant Push& push, volatile device Out& v_3432)
{
    return v_3432.result[(push.out_at + ((((part * push.n_tokens) * push.n_head) + vector) * push.head_dim_v)) + dimension];
}

static inline __attribute__((always_inline))
float put_together(thread const uint& vector, thread const uint& dimension, thread const uint& n_parts, constant Push& push, volatile device Out& v_3432, volatile device Softmax& v_3468)
{
    uint param = 0u;
    uint param_1 = vector;
    float largest = softmax_of_part(param, param_1, push, v_3468).x;
    spvUnsafeArray<float, 8> scores;
    for (uint first = 1u; first < n_parts; first += 8u)
    {
        for (uint i = 0u; i < 8u; i++)
        {
            uint param_2 = min((first + i), (n_parts - 1u));
            uint param_3 = vector;
            scores[i] = softmax_of_part(param_2, param_3, push, v_3468).x;
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
    float _3685;
    for (uint first_1 = 0u; first_1 < n_parts; first_1 += 8u)
    {
        for (uint i_2 = 0u; i_2 < 8u; i_2++)
        {
            uint part = min((first_1 + i_2), (n_parts - 1u));
            uint param_4 = part;
            uint param_5 = vector;
            softmaxes[i_2] = softmax_of_part(param_4, param_5, push, v_3468);
            uint param_6 = part;
            uint param_7 = vector;
            uint param_8 = dimension;
            sums[i_2] = sum_of_part(param_6, param_7, param_8, push, v_3432);
        }
        for (uint i_3 = 0u; i_3 < 8u; i_3++)
        {
            if ((first_1 + i_3) >= n_parts)
            {
                break;
            }
            if (softmaxes[i_3].x == largest)
            {
                _3685 = 1.0;
            }
            else
            {
                _3685 = exp(softmaxes[i_3].x - largest);
            }
            float weight = _3685;
            sum += (weight * sums[i_3]);
            weight_sum += (weight * softmaxes[i_3].y);
        }
    }
    return sum / weight_sum;
}

static inline __attribute__((always_inline))
void merge(thread const uint& n_parts, constant Push& push, thread uint3& gl_LocalInvocationID, thread uint& first_row, thread uint& group_size, thread uint& head_kv, device Merged& v_3414, volatile device Out& v_3432, volatile device Softmax& v_3468, thread uint3& gl_WorkGroupID, thread uint3& gl_NumWorkGroups, threadgroup uint& n_done_before, volatile device Done& v_3739)
{
    threadgroup_barrier(mem_flags::mem_device);
    uint tile = (gl_WorkGroupID.y * gl_NumWorkGroups.x) + gl_WorkGroupID.x;
    if (gl_LocalInvocationID.x == 0u)
    {
        uint _3742 = atomic_fetch_add_explicit((volatile device atomic_uint*)&v_3739.n_done[tile], 1u, memory_order_relaxed);
        n_done_before = _3742;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if ((n_done_before + 1u) < n_parts)
    {
        return;
    }
    threadgroup_barrier(mem_flags::mem_device);
    if (gl_LocalInvocationID.x == 0u)
    {
        v_3739.n_done[tile] = 0u;
    }
    for (uint i = gl_LocalInvocationID.x; i < (kKey * push.head_dim_v); i += 128u)
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
        v_3414.merged[(push.merged_at + (vector * push.head_dim_v)) + dimension] = put_together(param_2, param_3, param_4, push, v_3432, v_3468);
    }
}

kernel void attention_row(device KvWords& v_426 [[buffer(0)]], constant Push& push [[buffer(30)]], device KvQuads& v_842 [[buffer(1)]], const device PageTable& v_2264 [[buffer(2)]], const device Seq& v_2271 [[buffer(3)]], const device Pos& v_2286 [[buffer(4)]], const device Q& v_2069 [[buffer(5)]], volatile device Out& v_3432 [[buffer(6)]], volatile device Softmax& v_3468 [[buffer(7)]], const device First& v_3148 [[buffer(8)]], const device Constants& v_592 [[buffer(9)]], const device MainPages& v_960 [[buffer(10)]], volatile device Done& v_3739 [[buffer(11)]], device Merged& v_3414 [[buffer(12)]], const device QNorm& v_2128 [[buffer(13)]], const device KNorm& v_2116 [[buffer(14)]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]], uint gl_SubgroupID [[simdgroup_index_in_threadgroup]], uint gl_NumSubgroups [[simdgroups_per_threadgroup]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]])
{
    threadgroup float v_levels[kVLevels];
    threadgroup float residual_signs[_620];
    threadgroup float k_levels[kKLevels];
    threadgroup float reduced[_1108];
    threadgroup int first_seen[kKey];
    threadgroup int last_seen[kKey];
    threadgroup uint head_bits[_1244];
    threadgroup float team_reduced[_1862];
    threadgroup float4 q_tile[_2161];
    threadgroup uint v_rows[128];
    threadgroup float largest[kKey];
    threadgroup float shrink[kKey];
    threadgroup float4 weights[_2875];
    threadgroup uint n_done_before;
    uint head_kv = gl_WorkGroupID.y;
    uint group_size = push.n_head / push.n_head_kv;
    uint first_row = gl_WorkGroupID.x * kKey;
    uint part = gl_WorkGroupID.z;
    uint first_bits;
    spvUnsafeArray<float, kKey> weight_sum;
    spvUnsafeArray<float2, _2856> value_sum;
    spvUnsafeArray<uint, kPairsOfLane> damaged;
    bool is_careful;
    bool is_only_part;
    uint _4123;
    if (kMerges)
    {
        _4123 = parts_of_tile(push, v_960, first_row, group_size, v_2271, v_2286);
    }
    else
    {
        _4123 = push.n_parts;
    }
    uint n_parts = _4123;
    if (part >= n_parts)
    {
        return;
    }
    is_only_part = kMerges && (n_parts == 1u);
    for (uint p = 0u; p < kPairsOfLane; p++)
    {
        damaged[p] = 0u;
    }
    bool param = (part + 1u) == n_parts;
    make_heads(param, v_426, push, gl_LocalInvocationID, gl_SubgroupID, gl_NumSubgroups, first_row, group_size, head_kv, head_bits, first_bits, team_reduced, v_2069, v_2116, v_2128, q_tile, v_2264, v_2271, v_2286);
    load_levels(gl_LocalInvocationID, v_levels, v_592, residual_signs, k_levels);
    is_careful = false;
    for (;;)
    {
        uint param_1 = part;
        sum_up(param_1, v_426, push, gl_LocalInvocationID, v_842, v_960, reduced, gl_SubgroupID, gl_NumSubgroups, first_row, group_size, head_kv, first_seen, last_seen, q_tile, v_2264, v_2271, v_2286, v_rows, largest, shrink, weight_sum, value_sum, weights, damaged, is_careful, v_3148);
        bool _4172;
        if (!is_careful)
        {
            bool _4170 = are_sums_damaged(reduced, gl_SubgroupID, gl_NumSubgroups, value_sum);
            _4172 = !_4170;
        }
        else
        {
            _4172 = is_careful;
        }
        if (_4172)
        {
            break;
        }
        is_careful = true;
        continue;
    }
    uint param_2 = part;
    store(param_2, push, gl_LocalInvocationID, reduced, gl_SubgroupID, gl_NumSubgroups, first_row, group_size, head_kv, largest, weight_sum, value_sum, weights, damaged, is_only_part, v_3414, v_3432, v_3468);
    if (kMerges && (!is_only_part))
    {
        uint param_3 = n_parts;
        merge(param_3, push, gl_LocalInvocationID, first_row, group_size, head_kv, v_3414, v_3432, v_3468, gl_WorkGroupID, gl_NumWorkGroups, n_done_before, v_3739);
    }
}

