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
constant uint _195 = (kKey + 2u);
constant uint kTeamValues = (_195 / 2u);

struct Item
{
    uint a;
    uint b;
    float2 angle;
    float2 q_norm;
    float2 k_norm;
};

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
constant bool _509 = (!kWholeQuads);

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
constant int _643 = kHasResidual ? 128 : 1;
#ifndef SPIRV_CROSS_CONSTANT_ID_6
#define SPIRV_CROSS_CONSTANT_ID_6 1u
#endif
constant uint kKLevels = SPIRV_CROSS_CONSTANT_ID_6;
constant bool _797 = (!kWholeQuads);

struct KvQuads
{
    uint4 kv_quads[1];
};

constant uint _1011 = (32u * kKey);

struct Seq
{
    int seqs[1];
};

struct Pos
{
    int positions[1];
};

struct First
{
    int firsts[1];
};

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
constant uint _1155 = (kKDims + kVDims);
constant uint _1774 = (32u * kTeamValues);
constant uint kPairs_tmp [[function_constant(14)]];
constant uint kPairs = is_function_constant_defined(kPairs_tmp) ? kPairs_tmp : 0u;
constant uint kAStride_tmp [[function_constant(15)]];
constant uint kAStride = is_function_constant_defined(kAStride_tmp) ? kAStride_tmp : 1u;
constant uint kBOffset_tmp [[function_constant(16)]];
constant uint kBOffset = is_function_constant_defined(kBOffset_tmp) ? kBOffset_tmp : 0u;

struct Q
{
    float q[1];
};

constant bool kHasQNorm_tmp [[function_constant(12)]];
constant bool kHasQNorm = is_function_constant_defined(kHasQNorm_tmp) ? kHasQNorm_tmp : false;

struct QNorm
{
    float q_norm[1];
};

constant bool kHasKNorm_tmp [[function_constant(13)]];
constant bool kHasKNorm = is_function_constant_defined(kHasKNorm_tmp) ? kHasKNorm_tmp : false;

struct KNorm
{
    float k_norm[1];
};

constant uint _2010 = (kKDims + 64u);
constant uint _2011 = (_2010 - 1u);
constant uint kDimsOfLane = (_2011 / 64u);
constant uint _2013 = (kTeamValues * kDimsOfLane);
constant uint _2052 = (kTeamValues * kDimsOfLane);
constant uint _2088 = (kVDims + 128u);
constant uint _2089 = (_2088 - 1u);
constant uint kValueDimsOfLane = (_2089 / 128u);
constant uint _2144 = (kKey * kKPieces);
constant uint _2145 = (_2144 * 4u);
constant uint _2198 = (kTeamValues * kDimsOfLane);

struct PageTable
{
    int page_table[1];
};

constant bool _2515 = (kKFormat == kVFormat);
constant bool _2568 = (kHasQNorm || kHasKNorm);
#ifndef SPIRV_CROSS_CONSTANT_ID_11
#define SPIRV_CROSS_CONSTANT_ID_11 1u
#endif
constant uint kPiecesAtOnce = SPIRV_CROSS_CONSTANT_ID_11;
constant uint _2792 = (kKPieces - 1u);
constant uint _3005 = (kVPairs + 128u);
constant uint _3006 = (_3005 - 1u);
constant uint kPairsOfLane = (_3006 / 128u);
constant uint _3009 = (kKey * kPairsOfLane);
constant uint _3027 = (128u * kKey);
constant uint _3028 = (_3027 / 2u);
constant uint _3029 = (_3028 * 2u);
constant bool _3174 = (kVPairs < 128u);
constant uint kPairsAtOnce = _3174 ? kVPairs : 128u;
#ifndef SPIRV_CROSS_CONSTANT_ID_9
#define SPIRV_CROSS_CONSTANT_ID_9 8u
#endif
constant uint kValuesAtOnce = SPIRV_CROSS_CONSTANT_ID_9;
constant uint kStride = (128u / kPairsAtOnce);
constant uint _3214 = (kStride * kPairsAtOnce);
constant uint _3375 = (kValuesAtOnce * kStride);
constant uint n = (kPairsAtOnce * 2u);
constant uint _3584 = (kKey * n);

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
constant uint _3789 = (kKey * 32u);
constant uint _3790 = kMerges ? _3789 : 1u;

struct Done
{
    uint n_done[1];
};

constant uint _4225 = (kKey * kPairsOfLane);
constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(128u, 1u, 1u);

static inline __attribute__((always_inline))
void find_rows(constant Push& push, thread uint& own_sequence, const device Seq& v_1081, thread int& own_position, const device Pos& v_1094)
{
    own_sequence = uint(v_1081.seqs[push.seq_at]);
    own_position = v_1094.positions[push.pos_at];
}

static inline __attribute__((always_inline))
uint head_of_team(thread const uint& i, thread uint3& gl_LocalInvocationID)
{
    return (i * 2u) + (gl_LocalInvocationID.x / 64u);
}

static inline __attribute__((always_inline))
uint vector_of(thread const uint& row, thread uint& head_kv, thread uint& group_size)
{
    return (head_kv * group_size) + row;
}

static inline __attribute__((always_inline))
bool exists(thread const uint& row, thread uint& group_size)
{
    return row < group_size;
}

static inline __attribute__((always_inline))
bool is_there(thread const uint& head, thread uint& group_size)
{
    bool _1869 = head == kKey;
    bool _1881;
    if (!_1869)
    {
        bool _1874 = head < kKey;
        bool _1880;
        if (_1874)
        {
            uint param = head;
            _1880 = exists(param, group_size);
        }
        else
        {
            _1880 = _1874;
        }
        _1881 = _1880;
    }
    else
    {
        _1881 = _1869;
    }
    return _1881;
}

static inline __attribute__((always_inline))
uint n_items(constant Push& push)
{
    return push.head_dim_k - kPairs;
}

static inline __attribute__((always_inline))
Item load_item(thread const uint& i, constant Push& push, const device Q& v_1926, const device QNorm& v_1953, const device KNorm& v_1978)
{
    bool is_pair = i < kPairs;
    uint _1895;
    if (is_pair)
    {
        _1895 = i * kAStride;
    }
    else
    {
        _1895 = kPairs + i;
    }
    Item item;
    item.a = _1895;
    uint _1907;
    if (is_pair)
    {
        _1907 = item.a + kBOffset;
    }
    else
    {
        _1907 = item.a;
    }
    item.b = _1907;
    float2 _1920;
    if (is_pair)
    {
        _1920 = float2(v_1926.q[push.angles_at + i], v_1926.q[(push.angles_at + kPairs) + i]);
    }
    else
    {
        _1920 = float2(1.0, 0.0);
    }
    item.angle = _1920;
    if (kHasQNorm)
    {
        item.q_norm = float2(v_1953.q_norm[push.q_norm_at + item.a], v_1953.q_norm[push.q_norm_at + item.b]);
    }
    if (kHasKNorm)
    {
        item.k_norm = float2(v_1978.k_norm[push.k_norm_at + item.a], v_1978.k_norm[push.k_norm_at + item.b]);
    }
    return item;
}

static inline __attribute__((always_inline))
void ask_for_heads(constant Push& push, thread uint3& gl_LocalInvocationID, thread uint& head_kv, thread uint& group_size, const device Q& v_1926, const device QNorm& v_1953, const device KNorm& v_1978, thread spvUnsafeArray<float, _2052>& asked_heads, thread spvUnsafeArray<float, kValueDimsOfLane>& asked_value, thread Item& first_item)
{
    uint lane = gl_LocalInvocationID.x % 64u;
    uint _2029;
    float _2067;
    for (uint i = 0u; i < _2013; i++)
    {
        uint param = i / kDimsOfLane;
        uint head = head_of_team(param, gl_LocalInvocationID);
        uint d = lane + ((i % kDimsOfLane) * 64u);
        if (head == kKey)
        {
            _2029 = push.k_at + (head_kv * push.head_dim_k);
        }
        else
        {
            uint param_1 = head;
            _2029 = push.q_at + (vector_of(param_1, head_kv, group_size) * push.head_dim_k);
        }
        uint first = _2029;
        uint param_2 = head;
        bool _2059 = is_there(param_2, group_size);
        bool _2066;
        if (_2059)
        {
            _2066 = d < push.head_dim_k;
        }
        else
        {
            _2066 = _2059;
        }
        if (_2066)
        {
            _2067 = v_1926.q[first + d];
        }
        else
        {
            _2067 = 0.0;
        }
        asked_heads[i] = _2067;
    }
    for (uint i_1 = 0u; i_1 < kValueDimsOfLane; i_1++)
    {
        uint d_1 = gl_LocalInvocationID.x + (i_1 * 128u);
        asked_value[i_1] = v_1926.q[(push.v_at + (head_kv * push.head_dim_v)) + min(d_1, (push.head_dim_v - 1u))];
    }
    uint param_3 = min(lane, (n_items(push) - 1u));
    first_item = load_item(param_3, push, v_1926, v_1953, v_1978);
}

static inline __attribute__((always_inline))
uint token_of(thread const uint& row)
{
    return 0u;
}

static inline __attribute__((always_inline))
uint last_token_of_tile()
{
    return 0u;
}

static inline __attribute__((always_inline))
uint seq_of(thread const uint& token, thread uint& own_sequence)
{
    return own_sequence;
}

static inline __attribute__((always_inline))
int keys_of(thread const uint& seq, thread const uint& token, thread int& own_position)
{
    return own_position + 1;
}

static inline __attribute__((always_inline))
uint part_positions(thread const uint& n_1, constant Push& push)
{
    if (push.n_parts == 1u)
    {
        return 2147483647u;
    }
    uint _4133;
    if (n_1 <= 1u)
    {
        _4133 = 1u;
    }
    else
    {
        _4133 = 2u << uint(int(spvFindUMSB(n_1 - 1u)));
    }
    return max(128u, (_4133 / 32u));
}

static inline __attribute__((always_inline))
uint parts_of_tile(constant Push& push, thread uint& own_sequence, thread int& own_position)
{
    uint n_parts = 1u;
    uint param = 0u;
    uint _4182 = token_of(param);
    for (uint token = _4182; token <= last_token_of_tile(); token++)
    {
        uint param_1 = token;
        uint param_2 = seq_of(param_1, own_sequence);
        uint param_3 = token;
        uint n_keys = uint(max(keys_of(param_2, param_3, own_position), 1));
        uint param_4 = n_keys;
        n_parts = max(n_parts, (((n_keys - 1u) / part_positions(param_4, push)) + 1u));
    }
    return min(n_parts, push.n_parts);
}

static inline __attribute__((always_inline))
uint first_of(thread const uint& seq, thread const uint& token, constant Push& push, const device First& v_1136)
{
    uint _1130;
    if (push.has_first > 0u)
    {
        _1130 = uint(v_1136.firsts[push.first_at]);
    }
    else
    {
        _1130 = 0u;
    }
    return _1130;
}

static inline __attribute__((always_inline))
uint2 seen_positions(thread const uint& part, thread const uint& n_keys, thread const uint& first_position, constant Push& push)
{
    uint param = n_keys;
    uint n_positions = part_positions(param, push);
    uint first = part * n_positions;
    uint _4158;
    if (first_position > first)
    {
        _4158 = ((first_position - first) / 128u) * 128u;
    }
    else
    {
        _4158 = 0u;
    }
    uint left_out = _4158;
    return uint2(first + left_out, min(n_keys, (first + n_positions)));
}

static inline __attribute__((always_inline))
uint page_of(thread const uint& seq, thread const uint& key, constant Push& push)
{
    return key / push.page_tokens;
}

static inline __attribute__((always_inline))
void find_block(thread const uint& seq, thread const uint& first, thread const uint& end, constant Push& push, thread uint3& gl_LocalInvocationID, thread uint& head_kv, const device PageTable& v_2388, thread uint& key_row, threadgroup uint (&v_rows)[128])
{
    uint position = first + gl_LocalInvocationID.x;
    if (position >= end)
    {
        return;
    }
    uint param = seq;
    uint param_1 = position;
    uint page = uint(v_2388.page_table[(push.page_table_at + (seq * push.max_pages)) + page_of(param, param_1, push)]);
    uint keys = push.kv_at + (page * push.page_bytes);
    uint values = keys + ((push.n_head_kv * push.page_tokens) * push.k_row_bytes);
    uint slot = (head_kv * push.page_tokens) + (position % push.page_tokens);
    key_row = keys + (slot * push.k_row_bytes);
    v_rows[gl_LocalInvocationID.x] = values + (slot * push.v_row_bytes);
}

static inline __attribute__((always_inline))
float added_square(thread const float& sum, thread const float& value)
{
    float square = spvFMul(value, value);
    float added = spvFAdd(sum, square);
    return added;
}

static inline __attribute__((always_inline))
void put(thread const uint& head, thread const uint& d, thread const float& value, threadgroup uint (&head_bits)[_1155], threadgroup float4 (&q_tile)[_2145])
{
    uint i = (head * kKDims) + d;
    if (head == kKey)
    {
        head_bits[d] = as_type<uint>(value);
    }
    else
    {
        ((threadgroup float*)&q_tile[i / 4u])[i % 4u] = value;
    }
}

static inline __attribute__((always_inline))
void add_up(thread const spvUnsafeArray<float, kTeamValues>& values, thread const uint& n_values, thread const uint& n_lanes, thread uint& gl_SubgroupID, threadgroup float (&team_reduced)[_1774])
{
    spvUnsafeArray<float, kTeamValues> results;
    for (uint i = 0u; i < kTeamValues; i++)
    {
        if (i < n_values)
        {
            results[i] = simd_sum(values[i]);
        }
    }
    bool _1758 = simd_is_first();
    if (_1758)
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
void take_heads(thread uint3& gl_LocalInvocationID, thread uint& gl_SubgroupID, thread uint& group_size, threadgroup uint (&head_bits)[_1155], threadgroup float (&team_reduced)[_1774], thread spvUnsafeArray<float, _2052>& asked_heads, thread spvUnsafeArray<float, kValueDimsOfLane>& asked_value, threadgroup float4 (&q_tile)[_2145])
{
    spvUnsafeArray<float, kTeamValues> sums;
    for (uint i = 0u; i < kTeamValues; i++)
    {
        sums[i] = 0.0;
    }
    for (uint i_1 = 0u; i_1 < _2198; i_1++)
    {
        uint param = i_1 / kDimsOfLane;
        uint head = head_of_team(param, gl_LocalInvocationID);
        uint d = (gl_LocalInvocationID.x % 64u) + ((i_1 % kDimsOfLane) * 64u);
        float param_1 = sums[i_1 / kDimsOfLane];
        float param_2 = asked_heads[i_1];
        sums[i_1 / kDimsOfLane] = added_square(param_1, param_2);
        uint param_3 = head;
        if (is_there(param_3, group_size) && (d < kKDims))
        {
            uint param_4 = head;
            uint param_5 = d;
            float param_6 = asked_heads[i_1];
            put(param_4, param_5, param_6, head_bits, q_tile);
        }
    }
    for (uint i_2 = 0u; i_2 < kValueDimsOfLane; i_2++)
    {
        uint d_1 = gl_LocalInvocationID.x + (i_2 * 128u);
        if (d_1 < kVDims)
        {
            head_bits[kKDims + d_1] = as_type<uint>(asked_value[i_2]);
        }
    }
    spvUnsafeArray<float, kTeamValues> param_7;
    param_7 = sums;
    uint param_8 = kTeamValues;
    uint param_9 = 64u;
    add_up(param_7, param_8, param_9, gl_SubgroupID, team_reduced);
}

static inline __attribute__((always_inline))
float sum_of_team(thread const uint& team, thread const uint& i, thread const uint& n_lanes, thread uint& gl_NumSubgroups, threadgroup float (&team_reduced)[_1774])
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
float norm_scale(thread const float& sum_of_squares, thread const uint& n_1, thread const float& eps)
{
    return 1.0 / sqrt((sum_of_squares / float(n_1)) + eps);
}

static inline __attribute__((always_inline))
float waiting(thread const uint& head, thread const uint& d, threadgroup uint (&head_bits)[_1155], threadgroup float4 (&q_tile)[_2145])
{
    uint i = (head * kKDims) + d;
    float _2136;
    if (head == kKey)
    {
        _2136 = as_type<float>(head_bits[d]);
    }
    else
    {
        _2136 = ((threadgroup float*)&q_tile[i / 4u])[i % 4u];
    }
    return _2136;
}

static inline __attribute__((always_inline))
float normalised(thread const float& value, thread const float& scale, thread const float& weight)
{
    float scaled = spvFMul(value, scale);
    float weighed = spvFMul(scaled, weight);
    return weighed;
}

static inline __attribute__((always_inline))
float2 turned(thread const float2& pair, thread const float2& angle)
{
    float2 result = float2(spvFSub(spvFMul(pair.x, angle.x), spvFMul(pair.y, angle.y)), spvFAdd(spvFMul(pair.x, angle.y), spvFMul(pair.y, angle.x)));
    return result;
}

static inline __attribute__((always_inline))
void turn(thread const uint& head, thread const float& scale, thread const Item& item, constant Push& push, threadgroup uint (&head_bits)[_1155], threadgroup float4 (&q_tile)[_2145])
{
    uint param = head;
    uint param_1 = item.a;
    uint param_2 = head;
    uint param_3 = item.b;
    float2 pair = float2(waiting(param, param_1, head_bits, q_tile), waiting(param_2, param_3, head_bits, q_tile));
    bool has_norm = (head == kKey) ? kHasKNorm : kHasQNorm;
    if (has_norm)
    {
        float2 _2301;
        if (head == kKey)
        {
            _2301 = item.k_norm;
        }
        else
        {
            _2301 = item.q_norm;
        }
        float2 weight = _2301;
        float param_4 = pair.x;
        float param_5 = scale;
        float param_6 = weight.x;
        float param_7 = pair.y;
        float param_8 = scale;
        float param_9 = weight.y;
        pair = float2(normalised(param_4, param_5, param_6), normalised(param_7, param_8, param_9));
    }
    if (item.a != item.b)
    {
        float2 param_10 = pair;
        float2 param_11 = item.angle;
        pair = turned(param_10, param_11);
    }
    if (head != kKey)
    {
        pair *= push.scale;
    }
    uint param_12 = head;
    uint param_13 = item.a;
    float param_14 = pair.x;
    put(param_12, param_13, param_14, head_bits, q_tile);
    if (item.a != item.b)
    {
        uint param_15 = head;
        uint param_16 = item.b;
        float param_17 = pair.y;
        put(param_15, param_16, param_17, head_bits, q_tile);
    }
}

static inline __attribute__((always_inline))
uint unit_elements(thread const uint& format)
{
    int _1421;
    if (format == 0u)
    {
        _1421 = 1;
    }
    else
    {
        _1421 = (format == 3u) ? 32 : 2;
    }
    return uint(_1421);
}

static inline __attribute__((always_inline))
uint value_bits(thread const uint& i, threadgroup uint (&head_bits)[_1155], thread uint& first_bits)
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
    uint _1365;
    if (largest < 8388608u)
    {
        _1365 = 0u;
    }
    else
    {
        uint param = largest;
        uint param_1 = 1123942400u;
        _1365 = divide(param, param_1);
    }
    return _1365;
}

static inline __attribute__((always_inline))
float q8_0_inverse(thread const uint& _step)
{
    float _1379;
    if (_step == 0u)
    {
        _1379 = 0.0;
    }
    else
    {
        uint param = 1065353216u;
        uint param_1 = _step;
        _1379 = as_type<float>(divide(param, param_1));
    }
    return _1379;
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
    int _1406;
    if (scaled < 0.0)
    {
        _1406 = -code;
    }
    else
    {
        _1406 = code;
    }
    return uint(_1406 & 255);
}

static inline __attribute__((always_inline))
void store_half(thread const uint& at, thread const uint& bits, device KvWords& v_449)
{
    uint shift = (at & 1u) * 16u;
    uint _1178 = atomic_fetch_and_explicit((device atomic_uint*)&v_449.kv_words[at >> uint(1)], ~(65535u << shift), memory_order_relaxed);
    uint _1185 = atomic_fetch_or_explicit((device atomic_uint*)&v_449.kv_words[at >> uint(1)], bits << shift, memory_order_relaxed);
}

static inline __attribute__((always_inline))
void write_q8_0(thread const uint& from, thread const uint& at, device KvWords& v_449, threadgroup uint (&head_bits)[_1155], thread uint& first_bits)
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
    uint _1513;
    if (first == 1u)
    {
        _1513 = at;
    }
    else
    {
        _1513 = at + 16u;
    }
    uint param_10 = _1513;
    uint param_11 = halves[(first == 1u) ? 0 : 16];
    store_half(param_10, param_11, v_449);
    for (uint i_2 = 0u; i_2 < 8u; i_2++)
    {
        v_449.kv_words[((at + first) >> uint(1)) + i_2] = halves[first + (2u * i_2)] | (halves[(first + (2u * i_2)) + 1u] << uint(16));
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
void write_unit(thread const uint& format, thread const uint& unit, thread const uint& head_dim, thread const uint& at, device KvWords& v_449, threadgroup uint (&head_bits)[_1155], thread uint& first_bits)
{
    if (format == 0u)
    {
        uint param = unit;
        v_449.kv_words[(at >> uint(1)) + unit] = value_bits(param, head_bits, first_bits);
    }
    else
    {
        if (format == 3u)
        {
            uint param_1 = 32u * unit;
            uint param_2 = at + (17u * unit);
            write_q8_0(param_1, param_2, v_449, head_bits, first_bits);
        }
        else
        {
            uint element = 2u * unit;
            uint param_3 = element;
            uint a = value_bits(param_3, head_bits, first_bits);
            uint _1598;
            if (format == 1u)
            {
                uint param_4 = a;
                _1598 = f16_bits(param_4);
            }
            else
            {
                uint param_5 = a;
                _1598 = bf16_bits(param_5);
            }
            uint first = _1598;
            bool is_pair = (element + 1u) < head_dim;
            uint _1616;
            if (is_pair)
            {
                uint param_6 = element + 1u;
                _1616 = value_bits(param_6, head_bits, first_bits);
            }
            else
            {
                _1616 = 0u;
            }
            uint b = _1616;
            uint _1628;
            if (format == 1u)
            {
                uint param_7 = b;
                _1628 = f16_bits(param_7);
            }
            else
            {
                uint param_8 = b;
                _1628 = bf16_bits(param_8);
            }
            uint second = _1628;
            bool _1645;
            if (is_pair)
            {
                _1645 = (at & 1u) == 0u;
            }
            else
            {
                _1645 = is_pair;
            }
            if (_1645)
            {
                v_449.kv_words[(at >> uint(1)) + unit] = first | (second << uint(16));
            }
            else
            {
                uint param_9 = at + element;
                uint param_10 = first;
                store_half(param_9, param_10, v_449);
                if (is_pair)
                {
                    uint param_11 = (at + element) + 1u;
                    uint param_12 = second;
                    store_half(param_11, param_12, v_449);
                }
            }
        }
    }
}

static inline __attribute__((always_inline))
void write_key_and_value(device KvWords& v_449, constant Push& push, thread uint3& gl_LocalInvocationID, thread uint& own_sequence, thread int& own_position, thread uint& head_kv, threadgroup uint (&head_bits)[_1155], thread uint& first_bits, const device PageTable& v_2388)
{
    uint param = own_sequence;
    uint param_1 = uint(own_position);
    uint index = page_of(param, param_1, push);
    uint page = uint(v_2388.page_table[(push.page_table_at + (own_sequence * push.max_pages)) + index]);
    uint keys = push.kv_at + (page * push.page_bytes);
    uint values = keys + ((push.n_head_kv * push.page_tokens) * push.k_row_bytes);
    uint slot = (head_kv * push.page_tokens) + (uint(own_position) % push.page_tokens);
    uint param_2 = kKFormat;
    uint param_3 = kKFormat;
    uint n_key_units = ((push.head_dim_k + unit_elements(param_2)) - 1u) / unit_elements(param_3);
    uint param_4 = kVFormat;
    uint param_5 = kVFormat;
    uint n_units = n_key_units + (((push.head_dim_v + unit_elements(param_4)) - 1u) / unit_elements(param_5));
    uint _2473;
    uint _2484;
    uint _2495;
    for (uint i = gl_LocalInvocationID.x; i < n_units; i += 128u)
    {
        bool is_key = i < n_key_units;
        if (is_key)
        {
            _2473 = i;
        }
        else
        {
            _2473 = i - n_key_units;
        }
        uint unit = _2473;
        if (is_key)
        {
            _2484 = push.head_dim_k;
        }
        else
        {
            _2484 = push.head_dim_v;
        }
        uint n_1 = _2484;
        if (is_key)
        {
            _2495 = keys + (slot * push.k_row_bytes);
        }
        else
        {
            _2495 = values + (slot * push.v_row_bytes);
        }
        uint at = _2495 / 2u;
        first_bits = is_key ? 0u : kKDims;
        if (_2515)
        {
            uint param_6 = kKFormat;
            uint param_7 = unit;
            uint param_8 = n_1;
            uint param_9 = at;
            write_unit(param_6, param_7, param_8, param_9, v_449, head_bits, first_bits);
        }
        else
        {
            if (is_key)
            {
                uint param_10 = kKFormat;
                uint param_11 = unit;
                uint param_12 = n_1;
                uint param_13 = at;
                write_unit(param_10, param_11, param_12, param_13, v_449, head_bits, first_bits);
            }
            else
            {
                uint param_14 = kVFormat;
                uint param_15 = unit;
                uint param_16 = n_1;
                uint param_17 = at;
                write_unit(param_14, param_15, param_16, param_17, v_449, head_bits, first_bits);
            }
        }
    }
}

static inline __attribute__((always_inline))
void make_heads(thread const bool& takes_key, device KvWords& v_449, constant Push& push, thread uint3& gl_LocalInvocationID, thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& own_sequence, thread int& own_position, thread uint& head_kv, thread uint& group_size, threadgroup uint (&head_bits)[_1155], thread uint& first_bits, threadgroup float (&team_reduced)[_1774], const device Q& v_1926, const device QNorm& v_1953, const device KNorm& v_1978, thread spvUnsafeArray<float, _2052>& asked_heads, thread spvUnsafeArray<float, kValueDimsOfLane>& asked_value, thread Item& first_item, threadgroup float4 (&q_tile)[_2145], const device PageTable& v_2388)
{
    uint lane = gl_LocalInvocationID.x % 64u;
    uint team = gl_LocalInvocationID.x / 64u;
    take_heads(gl_LocalInvocationID, gl_SubgroupID, group_size, head_bits, team_reduced, asked_heads, asked_value, q_tile);
    spvUnsafeArray<float, kTeamValues> scales;
    float _2569;
    for (uint i = 0u; i < kTeamValues; i++)
    {
        if (_2568)
        {
            uint param = team;
            uint param_1 = i;
            uint param_2 = 64u;
            float param_3 = sum_of_team(param, param_1, param_2, gl_NumSubgroups, team_reduced);
            uint param_4 = push.head_dim_k;
            float param_5 = push.eps;
            _2569 = norm_scale(param_3, param_4, param_5);
        }
        else
        {
            _2569 = 1.0;
        }
        scales[i] = _2569;
    }
    Item item = first_item;
    uint i_1 = lane;
    while (i_1 < n_items(push))
    {
        for (uint j = 0u; j < kTeamValues; j++)
        {
            uint param_6 = j;
            uint param_7 = head_of_team(param_6, gl_LocalInvocationID);
            if (is_there(param_7, group_size))
            {
                uint param_8 = j;
                uint param_9 = head_of_team(param_8, gl_LocalInvocationID);
                float param_10 = scales[j];
                Item param_11 = item;
                turn(param_9, param_10, param_11, push, head_bits, q_tile);
            }
        }
        i_1 += 64u;
        if (i_1 < n_items(push))
        {
            uint param_12 = i_1;
            item = load_item(param_12, push, v_1926, v_1953, v_1978);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (!takes_key)
    {
        return;
    }
    write_key_and_value(v_449, push, gl_LocalInvocationID, own_sequence, own_position, head_kv, head_bits, first_bits, v_2388);
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
void load_v_levels(thread uint3& gl_LocalInvocationID, threadgroup float (&v_levels)[kVLevels], const device Constants& v_615, threadgroup float (&residual_signs)[_643])
{
    uint i = gl_LocalInvocationID.x;
    for (;;)
    {
        uint _603 = v_format();
        uint param = _603;
        uint _605 = n_levels(param);
        if (i < _605)
        {
            uint param_1 = v_format();
            v_levels[i] = v_615.constants[first_level(param_1) + i];
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
        residual_signs[i_1] = v_615.constants[352u + i_1];
    }
}

static inline __attribute__((always_inline))
uint k_format()
{
    return kKFormat;
}

static inline __attribute__((always_inline))
void load_levels(thread uint3& gl_LocalInvocationID, threadgroup float (&v_levels)[kVLevels], const device Constants& v_615, threadgroup float (&residual_signs)[_643], threadgroup float (&k_levels)[kKLevels])
{
    load_v_levels(gl_LocalInvocationID, v_levels, v_615, residual_signs);
    uint i = gl_LocalInvocationID.x;
    for (;;)
    {
        uint _714 = k_format();
        uint param = _714;
        uint _716 = n_levels(param);
        if (i < _716)
        {
            uint param_1 = k_format();
            k_levels[i] = v_615.constants[first_level(param_1) + i];
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
uint half_at(thread const uint& at, device KvWords& v_449)
{
    return (v_449.kv_words[at >> uint(2)] >> (8u * (at & 2u))) & 65535u;
}

static inline __attribute__((always_inline))
float f32_from_f16(thread const uint& half_bits)
{
    uint _sign = (half_bits & 32768u) << uint(16);
    uint magnitude = half_bits & 32767u;
    uint subnormal = as_type<uint>(float(magnitude) * 5.9604644775390625e-08);
    uint exponent_offset = (magnitude < 31744u) ? 939524096u : 1879048192u;
    uint _431;
    if (magnitude < 1024u)
    {
        _431 = subnormal;
    }
    else
    {
        _431 = (magnitude << uint(13)) + exponent_offset;
    }
    return as_type<float>(_sign | _431);
}

static inline __attribute__((always_inline))
float load_float(thread const uint& format, thread const uint& row, thread const uint& i, device KvWords& v_449)
{
    switch (format)
    {
        case 1u:
        {
            uint param = row + (2u * i);
            uint param_1 = half_at(param, v_449);
            return f32_from_f16(param_1);
        }
        case 2u:
        {
            uint param_2 = row + (2u * i);
            return as_type<float>(half_at(param_2, v_449) << uint(16));
        }
    }
    return as_type<float>(v_449.kv_words[(row / 4u) + i]);
}

static inline __attribute__((always_inline))
float2 load_pair_of_floats(thread const uint& format, thread const uint& row, thread const uint& pair, device KvWords& v_449, constant Push& push)
{
    if (_509)
    {
        uint param = format;
        uint param_1 = row;
        uint param_2 = 2u * pair;
        float _531;
        if (((2u * pair) + 1u) < push.head_dim_v)
        {
            uint param_3 = format;
            uint param_4 = row;
            uint param_5 = (2u * pair) + 1u;
            _531 = load_float(param_3, param_4, param_5, v_449);
        }
        else
        {
            _531 = 0.0;
        }
        return float2(load_float(param, param_1, param_2, v_449), _531);
    }
    uint word = v_449.kv_words[(row / 4u) + pair];
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
    return as_type<float2>(uint2(v_449.kv_words[(row / 4u) + (2u * pair)], v_449.kv_words[((row / 4u) + (2u * pair)) + 1u]));
}

static inline __attribute__((always_inline))
float2 load_v(thread const uint& row, thread const uint& pair, device KvWords& v_449, constant Push& push)
{
    uint format = v_format();
    switch (format)
    {
        case 3u:
        {
            uint block = row + ((pair / 16u) * 34u);
            uint param = (block + 2u) + (2u * (pair % 16u));
            int codes = int(half_at(param, v_449));
            uint param_1 = block;
            uint param_2 = half_at(param_1, v_449);
            return float2(float(extract_bits(codes, uint(0), uint(8))), float(extract_bits(codes, uint(8), uint(8)))) * f32_from_f16(param_2);
        }
    }
    uint param_3 = format;
    uint param_4 = row;
    uint param_5 = pair;
    return load_pair_of_floats(param_3, param_4, param_5, v_449, push);
}

static inline __attribute__((always_inline))
float2 value_of(thread const uint& position, thread const uint& pair, thread const uint& n_1, device KvWords& v_449, constant Push& push, threadgroup uint (&v_rows)[128])
{
    uint param = v_rows[min(position, (n_1 - 1u))];
    uint param_1 = pair;
    return load_v(param, param_1, v_449, push);
}

static inline __attribute__((always_inline))
void ask_for_values(thread const uint& n_1, device KvWords& v_449, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup uint (&v_rows)[128], thread spvUnsafeArray<float2, kValuesAtOnce>& first_values)
{
    uint lane = gl_LocalInvocationID.x;
    uint pair = min((lane % kPairsAtOnce), ((push.head_dim_v - 1u) / 2u));
    for (uint i = 0u; i < kValuesAtOnce; i++)
    {
        uint param = (lane / kPairsAtOnce) + (i * kStride);
        uint param_1 = pair;
        uint param_2 = n_1;
        first_values[i] = value_of(param, param_1, param_2, v_449, push, v_rows);
    }
}

static inline __attribute__((always_inline))
uint two_halves_at(thread const uint& at, device KvWords& v_449)
{
    uint param = at;
    uint param_1 = at + 2u;
    return half_at(param, v_449) | (half_at(param_1, v_449) << uint(16));
}

static inline __attribute__((always_inline))
void load_k(thread const uint& row, thread const uint& piece, thread spvUnsafeArray<float4, 4>& k, device KvWords& v_449, constant Push& push, device KvQuads& v_866)
{
    uint format = k_format();
    if (format == 3u)
    {
        uint block = row + ((piece / 2u) * 34u);
        uint param = block;
        uint param_1 = half_at(param, v_449);
        float _step = f32_from_f16(param_1);
        uint first = (block + 2u) + (16u * (piece % 2u));
        for (uint i = 0u; i < 4u; i++)
        {
            uint param_2 = first + (4u * i);
            int codes = int(two_halves_at(param_2, v_449));
            k[i] = float4(float(extract_bits(codes, uint(0), uint(8))), float(extract_bits(codes, uint(8), uint(8))), float(extract_bits(codes, uint(16), uint(8))), float(extract_bits(codes, uint(24), uint(8)))) * _step;
        }
    }
    else
    {
        if (_797)
        {
            float _831;
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
                        _831 = load_float(param_3, param_4, param_5, v_449);
                    }
                    else
                    {
                        _831 = 0.0;
                    }
                    k[i_1][j] = _831;
                }
            }
        }
        else
        {
            if (format == 0u)
            {
                for (uint i_2 = 0u; i_2 < 4u; i_2++)
                {
                    k[i_2] = as_type<float4>(v_866.kv_quads[((row / 16u) + (4u * piece)) + i_2]);
                }
            }
            else
            {
                for (uint i_3 = 0u; i_3 < 2u; i_3++)
                {
                    uint4 pairs = v_866.kv_quads[((row / 16u) + (2u * piece)) + i_3];
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
    bool _2658 = int(position) >= first_seen[row];
    bool _2668;
    if (_2658)
    {
        _2668 = int(position) <= last_seen[row];
    }
    else
    {
        _2668 = _2658;
    }
    return _2668;
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
    uint _360;
    if (is_finite(param))
    {
        _360 = as_type<uint>(value);
    }
    else
    {
        _360 = 2143289344u;
    }
    return as_type<float>(_360);
}

static inline __attribute__((always_inline))
void reduce(thread const spvUnsafeArray<float, kKey>& values, thread const bool& is_sum, threadgroup float (&reduced)[_1011], thread uint& gl_SubgroupID)
{
    spvUnsafeArray<float, kKey> results;
    float _983;
    for (uint i = 0u; i < kKey; i++)
    {
        if (is_sum)
        {
            _983 = simd_sum(values[i]);
        }
        else
        {
            _983 = simd_max(values[i]);
        }
        results[i] = _983;
    }
    bool _999 = simd_is_first();
    if (_999)
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
float reduced_max(thread const uint& i, thread float& so_far, threadgroup float (&reduced)[_1011], thread uint& gl_NumSubgroups)
{
    for (uint part = 0u; part < n_reduced(gl_NumSubgroups); part++)
    {
        so_far = fast::max(so_far, reduced[(part * kKey) + i]);
    }
    return so_far;
}

static inline __attribute__((always_inline))
void weigh(thread const uint& first, thread const uint& end, device KvWords& v_449, constant Push& push, thread uint3& gl_LocalInvocationID, device KvQuads& v_866, threadgroup float (&reduced)[_1011], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, threadgroup float4 (&q_tile)[_2145], threadgroup int (&first_seen)[kKey], threadgroup int (&last_seen)[kKey], thread uint& key_row, threadgroup float (&largest)[kKey], threadgroup float (&shrink)[kKey], thread spvUnsafeArray<float, kKey>& weight_sum, thread spvUnsafeArray<float2, _3009>& value_sum, threadgroup float2 (&weights)[_3029])
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
        spvUnsafeArray<spvUnsafeArray<float4, 4>, kPiecesAtOnce> k;
        spvUnsafeArray<float4, 4> param_2;
        for (uint first_piece = 0u; first_piece < kKPieces; first_piece += kPiecesAtOnce)
        {
            for (uint i = 0u; i < kPiecesAtOnce; i++)
            {
                uint param = key_row;
                uint param_1 = min((first_piece + i), _2792);
                load_k(param, param_1, param_2, v_449, push, v_866);
                k[i] = param_2;
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
    float _2904;
    for (uint r_2 = 0u; r_2 < kKey; r_2++)
    {
        bool _2895 = position < end;
        bool _2903;
        if (_2895)
        {
            uint param_3 = r_2;
            uint param_4 = position;
            _2903 = is_seen(param_3, param_4, first_seen, last_seen);
        }
        else
        {
            _2903 = _2895;
        }
        if (_2903)
        {
            float param_5 = scores[r_2];
            _2904 = finite_or_nan(param_5);
        }
        else
        {
            _2904 = -1000000015047466219876688855040.0;
        }
        scores[r_2] = _2904;
    }
    spvUnsafeArray<float, kKey> param_6;
    param_6 = scores;
    bool param_7 = false;
    reduce(param_6, param_7, reduced, gl_SubgroupID);
    if (lane < kKey)
    {
        uint param_8 = lane;
        float param_9 = largest[lane];
        float _2936 = reduced_max(param_8, param_9, reduced, gl_NumSubgroups);
        float top = _2936;
        float _2944;
        if (largest[lane] == top)
        {
            _2944 = 1.0;
        }
        else
        {
            _2944 = exp(largest[lane] - top);
        }
        shrink[lane] = _2944;
        largest[lane] = top;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float _2972;
    for (uint r_3 = 0u; r_3 < kKey; r_3++)
    {
        if (scores[r_3] == (-1000000015047466219876688855040.0))
        {
            _2972 = 0.0;
        }
        else
        {
            _2972 = exp(scores[r_3] - largest[r_3]);
        }
        float weight = _2972;
        weight_sum[r_3] = (weight_sum[r_3] * shrink[r_3]) + weight;
        for (uint p = 0u; p < kPairsOfLane; p++)
        {
            uint _3016 = (r_3 * kPairsOfLane) + p;
            value_sum[_3016] *= shrink[r_3];
        }
        ((threadgroup float*)&weights[((lane * kKey) + r_3) / 2u])[r_3 % 2u] = weight;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
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
    uint _3078;
    for (uint r = 0u; r < kKey; r++)
    {
        uint param_2 = r;
        uint param_3 = position;
        if (is_seen(param_2, param_3, first_seen, last_seen))
        {
            _3078 = 1u << r;
        }
        else
        {
            _3078 = 0u;
        }
        seeing |= _3078;
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
void add_value(thread const uint& position, thread const uint& p, thread const float2& v, thread spvUnsafeArray<float2, _3009>& value_sum, threadgroup float2 (&weights)[_3029])
{
    for (uint r = 0u; r < kKey; r += 2u)
    {
        float2 weight = weights[((position * kKey) + r) / 2u];
        for (uint j = 0u; j < 2u; j++)
        {
            uint _3143 = ((r + j) * kPairsOfLane) + p;
            value_sum[_3143] += (v * weight[j]);
        }
    }
}

static inline __attribute__((always_inline))
void add_values(thread const uint& block, thread const uint& n_1, device KvWords& v_449, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup int (&first_seen)[kKey], threadgroup int (&last_seen)[kKey], threadgroup uint (&v_rows)[128], thread spvUnsafeArray<float2, _3009>& value_sum, threadgroup float2 (&weights)[_3029], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, thread spvUnsafeArray<float2, kValuesAtOnce>& first_values, thread bool& is_careful)
{
    uint lane = gl_LocalInvocationID.x;
    if (lane >= _3214)
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
            uint _3248 = lane / kPairsAtOnce;
            for (uint position = _3248; position < n_1; position += kStride)
            {
                uint param = v_rows[position];
                uint param_1 = pair;
                float2 value = load_v(param, param_1, v_449, push);
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
        uint _3287 = lane / kPairsAtOnce;
        for (uint first = _3287; first < n_1; first += _3375)
        {
            if ((true && (p == 0u)) && (first < kStride))
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
                    values[i_1] = value_of(param_8, param_9, param_10, v_449, push, v_rows);
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
void attend(thread const uint& first_token, thread const uint& last_token, thread const uint& seq, thread const uint& first, thread const uint& end, device KvWords& v_449, constant Push& push, thread uint3& gl_LocalInvocationID, device KvQuads& v_866, threadgroup float (&reduced)[_1011], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread int& own_position, thread uint& head_kv, thread uint& group_size, const device First& v_1136, threadgroup float4 (&q_tile)[_2145], const device PageTable& v_2388, threadgroup int (&first_seen)[kKey], threadgroup int (&last_seen)[kKey], thread uint& key_row, threadgroup uint (&v_rows)[128], threadgroup float (&largest)[kKey], threadgroup float (&shrink)[kKey], thread spvUnsafeArray<float, kKey>& weight_sum, thread spvUnsafeArray<float2, _3009>& value_sum, threadgroup float2 (&weights)[_3029], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, thread spvUnsafeArray<float2, kValuesAtOnce>& first_values, thread bool& is_careful)
{
    uint lane = gl_LocalInvocationID.x;
    if (lane < kKey)
    {
        uint param = lane;
        bool _3390 = exists(param, group_size);
        bool _3398;
        if (_3390)
        {
            uint param_1 = lane;
            _3398 = token_of(param_1) >= first_token;
        }
        else
        {
            _3398 = _3390;
        }
        bool _3406;
        if (_3398)
        {
            uint param_2 = lane;
            _3406 = token_of(param_2) <= last_token;
        }
        else
        {
            _3406 = _3398;
        }
        bool is_among = _3406;
        int _3409;
        if (is_among)
        {
            uint param_3 = lane;
            uint param_4 = seq;
            uint param_5 = token_of(param_3);
            _3409 = keys_of(param_4, param_5, own_position) - 1;
        }
        else
        {
            _3409 = -1;
        }
        last_seen[lane] = _3409;
        int _3426;
        if (is_among)
        {
            uint param_6 = lane;
            uint param_7 = seq;
            uint param_8 = token_of(param_6);
            _3426 = int(first_of(param_7, param_8, push, v_1136));
        }
        else
        {
            _3426 = 0;
        }
        first_seen[lane] = _3426;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint block = first; block < end; block += 128u)
    {
        uint n_1 = min(128u, (end - block));
        bool is_found = (true && (block == first)) && (!is_careful);
        if (!is_found)
        {
            uint param_9 = seq;
            uint param_10 = block;
            uint param_11 = end;
            find_block(param_9, param_10, param_11, push, gl_LocalInvocationID, head_kv, v_2388, key_row, v_rows);
        }
        if (true)
        {
            if (!is_found)
            {
                threadgroup_barrier(mem_flags::mem_threadgroup);
            }
            uint param_12 = n_1;
            ask_for_values(param_12, v_449, push, gl_LocalInvocationID, v_rows, first_values);
        }
        uint param_13 = block;
        uint param_14 = end;
        weigh(param_13, param_14, v_449, push, gl_LocalInvocationID, v_866, reduced, gl_SubgroupID, gl_NumSubgroups, q_tile, first_seen, last_seen, key_row, largest, shrink, weight_sum, value_sum, weights);
        uint param_15 = block;
        uint param_16 = n_1;
        add_values(param_15, param_16, v_449, push, gl_LocalInvocationID, first_seen, last_seen, v_rows, value_sum, weights, damaged, first_values, is_careful);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

static inline __attribute__((always_inline))
void sum_up(thread const uint& part, device KvWords& v_449, constant Push& push, thread uint3& gl_LocalInvocationID, device KvQuads& v_866, threadgroup float (&reduced)[_1011], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& own_sequence, thread int& own_position, thread uint& head_kv, thread uint& group_size, const device First& v_1136, threadgroup float4 (&q_tile)[_2145], const device PageTable& v_2388, threadgroup int (&first_seen)[kKey], threadgroup int (&last_seen)[kKey], thread uint& key_row, threadgroup uint (&v_rows)[128], threadgroup float (&largest)[kKey], threadgroup float (&shrink)[kKey], thread spvUnsafeArray<float, kKey>& weight_sum, thread spvUnsafeArray<float2, _3009>& value_sum, threadgroup float2 (&weights)[_3029], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, thread spvUnsafeArray<float2, kValuesAtOnce>& first_values, thread bool& is_careful)
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
    uint last_of_tile = last_token_of_tile();
    uint param = 0u;
    uint token = token_of(param);
    while (token <= last_of_tile)
    {
        uint param_1 = token;
        uint seq = seq_of(param_1, own_sequence);
        uint param_2 = seq;
        uint param_3 = token;
        int n_keys = keys_of(param_2, param_3, own_position);
        uint param_4 = uint(n_keys);
        uint n_positions = part_positions(param_4, push);
        uint last_token = token;
        uint param_5 = seq;
        uint param_6 = token;
        uint first_position = first_of(param_5, param_6, push, v_1136);
        for (;;)
        {
            bool _4328 = last_token < last_of_tile;
            bool _4337;
            if (_4328)
            {
                uint param_7 = last_token + 1u;
                _4337 = seq_of(param_7, own_sequence) == seq;
            }
            else
            {
                _4337 = _4328;
            }
            if (_4337)
            {
                uint param_8 = seq;
                uint param_9 = last_token + 1u;
                int keys_of_next = keys_of(param_8, param_9, own_position);
                uint param_10 = uint(keys_of_next);
                if (part_positions(param_10, push) != n_positions)
                {
                    break;
                }
                last_token++;
                n_keys = max(n_keys, keys_of_next);
                uint param_11 = seq;
                uint param_12 = last_token;
                first_position = min(first_position, first_of(param_11, param_12, push, v_1136));
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
        attend(param_16, param_17, param_18, param_19, param_20, v_449, push, gl_LocalInvocationID, v_866, reduced, gl_SubgroupID, gl_NumSubgroups, own_position, head_kv, group_size, v_1136, q_tile, v_2388, first_seen, last_seen, key_row, v_rows, largest, shrink, weight_sum, value_sum, weights, damaged, first_values, is_careful);
        token = last_token + 1u;
    }
}

static inline __attribute__((always_inline))
void note_damage(thread spvUnsafeArray<float2, _3009>& value_sum, threadgroup short& are_damaged)
{
    for (uint i = 0u; i < _4225; i++)
    {
        float param = value_sum[i].x;
        bool _4232 = !is_finite(param);
        bool _4242;
        if (!_4232)
        {
            float param_1 = value_sum[i].y;
            _4242 = !is_finite(param_1);
        }
        else
        {
            _4242 = _4232;
        }
        if (_4242)
        {
            are_damaged = short(true);
        }
    }
}

static inline __attribute__((always_inline))
void share_sums(thread const uint& p, thread const uint& first_component, thread uint3& gl_LocalInvocationID, thread spvUnsafeArray<float2, _3009>& value_sum, threadgroup float2 (&weights)[_3029], thread spvUnsafeArray<uint, kPairsOfLane>& damaged)
{
    uint lane = gl_LocalInvocationID.x;
    float2 sums;
    float _3542;
    for (uint c = 0u; c < 2u; c++)
    {
        uint component = first_component + c;
        for (uint r = 0u; r < kKey; r += 2u)
        {
            for (uint j = 0u; j < 2u; j++)
            {
                bool is_damaged = ((damaged[p] >> ((r + j) + (component * 16u))) & 1u) != 0u;
                if (is_damaged)
                {
                    _3542 = as_type<float>(2143289344u);
                }
                else
                {
                    _3542 = value_sum[((r + j) * kPairsOfLane) + p][component];
                }
                sums[j] = _3542;
            }
            weights[((((c * 128u) + lane) * kKey) + r) / 2u] = sums;
        }
    }
}

static inline __attribute__((always_inline))
float reduced_sum(thread const uint& i, threadgroup float (&reduced)[_1011], thread uint& gl_NumSubgroups)
{
    float sum = 0.0;
    for (uint part = 0u; part < n_reduced(gl_NumSubgroups); part++)
    {
        sum += reduced[(part * kKey) + i];
    }
    return sum;
}

static inline __attribute__((always_inline))
void store_sums(thread const uint& p, thread const uint& first_component, thread const uint& part, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup float (&reduced)[_1011], thread uint& gl_NumSubgroups, thread uint& head_kv, thread uint& group_size, threadgroup float (&largest)[kKey], threadgroup float2 (&weights)[_3029], thread bool& is_only_part, device Merged& v_3675, volatile device Out& v_3693, volatile device Softmax& v_3729)
{
    float _3708;
    for (uint i = gl_LocalInvocationID.x; i < _3584; i += 128u)
    {
        uint row = i / n;
        uint c = i % 2u;
        uint pair = (i % n) / 2u;
        uint dimension = ((2u * (pair + (p * 128u))) + first_component) + c;
        uint param = row;
        bool _3609 = !exists(param, group_size);
        bool _3617;
        if (!_3609)
        {
            _3617 = dimension >= push.head_dim_v;
        }
        else
        {
            _3617 = _3609;
        }
        if (_3617)
        {
            continue;
        }
        float sum = 0.0;
        for (uint j = 0u; j < kStride; j++)
        {
            uint lane = ((c * 128u) + (j * kPairsAtOnce)) + pair;
            sum += ((threadgroup float*)&weights[((lane * kKey) + row) / 2u])[row % 2u];
        }
        uint param_1 = row;
        float total = reduced_sum(param_1, reduced, gl_NumSubgroups);
        uint param_2 = row;
        uint vector = ((part * push.n_tokens) * push.n_head) + vector_of(param_2, head_kv, group_size);
        if (is_only_part)
        {
            v_3675.merged[(push.merged_at + (vector * push.head_dim_v)) + dimension] = sum / total;
            continue;
        }
        if (push.keeps_sums == 0u)
        {
            _3708 = sum / total;
        }
        else
        {
            _3708 = sum;
        }
        v_3693.result[(push.out_at + (vector * push.head_dim_v)) + dimension] = _3708;
        if ((push.keeps_sums != 0u) && (dimension == 0u))
        {
            v_3729.softmax[push.softmax_at + vector] = float2(largest[row], total);
        }
    }
}

static inline __attribute__((always_inline))
void store(thread const uint& part, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup float (&reduced)[_1011], thread uint& gl_NumSubgroups, thread uint& head_kv, thread uint& group_size, threadgroup float (&largest)[kKey], thread spvUnsafeArray<float2, _3009>& value_sum, threadgroup float2 (&weights)[_3029], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, thread bool& is_only_part, device Merged& v_3675, volatile device Out& v_3693, volatile device Softmax& v_3729)
{
    for (uint p = 0u; p < kPairsOfLane; p++)
    {
        for (uint component = 0u; component < 2u; component += 2u)
        {
            uint param = p;
            uint param_1 = component;
            share_sums(param, param_1, gl_LocalInvocationID, value_sum, weights, damaged);
            threadgroup_barrier(mem_flags::mem_threadgroup);
            uint param_2 = p;
            uint param_3 = component;
            uint param_4 = part;
            store_sums(param_2, param_3, param_4, push, gl_LocalInvocationID, reduced, gl_NumSubgroups, head_kv, group_size, largest, weights, is_only_part, v_3675, v_3693, v_3729);
            bool _3774 = (p + 1u) < kPairsOfLane;
            bool _3781;
            if (!_3774)
            {
                _3781 = (component + 2u) < 2u;
            }
            else
            {
                _3781 = _3774;
            }
            if (_3781)
            {
                threadgroup_barrier(mem_flags::mem_threadgroup);
            }
        }
    }
}

static inline __attribute__((always_inline))
float2 softmax_of_part(thread const uint& part, thread const uint& row, threadgroup float2 (&softmaxes)[_3790])
{
    return softmaxes[(row * 32u) + part];
}

static inline __attribute__((always_inline))
float sum_of_part(thread const uint& part, thread const uint& row, thread const uint& dimension, constant Push& push, thread uint& head_kv, thread uint& group_size, volatile device Out& v_3693)
{
    uint param = row;
    return v_3693.result[(push.out_at + ((((part * push.n_tokens) * push.n_head) + vector_of(param, head_kv, group_size)) * push.head_dim_v)) + dimension];
}

static inline __attribute__((always_inline))
float put_together(thread const uint& vector, thread const uint& dimension, thread const uint& n_parts, constant Push& push, thread uint& head_kv, thread uint& group_size, volatile device Out& v_3693, threadgroup float2 (&softmaxes)[_3790])
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
    float _3953;
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
            sums[i_2] = sum_of_part(param_6, param_7, param_8, push, head_kv, group_size, v_3693);
        }
        for (uint i_3 = 0u; i_3 < 8u; i_3++)
        {
            if ((first_1 + i_3) >= n_parts)
            {
                break;
            }
            if (softmaxes_1[i_3].x == largest)
            {
                _3953 = 1.0;
            }
            else
            {
                _3953 = exp(softmaxes_1[i_3].x - largest);
            }
            float weight = _3953;
            sum += (weight * sums[i_3]);
            weight_sum += (weight * softmaxes_1[i_3].y);
        }
    }
    return sum / weight_sum;
}

static inline __attribute__((always_inline))
void merge(thread const uint& n_parts, constant Push& push, thread uint3& gl_LocalInvocationID, thread uint& head_kv, thread uint& group_size, device Merged& v_3675, volatile device Out& v_3693, volatile device Softmax& v_3729, threadgroup float2 (&softmaxes)[_3790], thread uint3& gl_WorkGroupID, thread uint3& gl_NumWorkGroups, threadgroup uint& n_done_before, volatile device Done& v_4007)
{
    threadgroup_barrier(mem_flags::mem_device);
    uint tile = (gl_WorkGroupID.y * gl_NumWorkGroups.x) + gl_WorkGroupID.x;
    if (gl_LocalInvocationID.x == 0u)
    {
        uint _4010 = atomic_fetch_add_explicit((volatile device atomic_uint*)&v_4007.n_done[tile], 1u, memory_order_relaxed);
        n_done_before = _4010;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if ((n_done_before + 1u) < n_parts)
    {
        return;
    }
    threadgroup_barrier(mem_flags::mem_device);
    if (gl_LocalInvocationID.x == 0u)
    {
        v_4007.n_done[tile] = 0u;
    }
    for (uint i = gl_LocalInvocationID.x; i < (kKey * n_parts); i += 128u)
    {
        uint row = i / n_parts;
        uint part = i % n_parts;
        uint param = row;
        if (exists(param, group_size))
        {
            uint param_1 = row;
            softmaxes[(row * 32u) + part] = v_3729.softmax[(push.softmax_at + ((part * push.n_tokens) * push.n_head)) + vector_of(param_1, head_kv, group_size)];
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i_1 = gl_LocalInvocationID.x; i_1 < (kKey * push.head_dim_v); i_1 += 128u)
    {
        uint row_1 = i_1 / push.head_dim_v;
        uint dimension = i_1 % push.head_dim_v;
        uint param_2 = row_1;
        if (!exists(param_2, group_size))
        {
            continue;
        }
        uint param_3 = row_1;
        uint param_4 = row_1;
        uint param_5 = dimension;
        uint param_6 = n_parts;
        v_3675.merged[(push.merged_at + (vector_of(param_3, head_kv, group_size) * push.head_dim_v)) + dimension] = put_together(param_4, param_5, param_6, push, head_kv, group_size, v_3693, softmaxes);
    }
}

kernel void attention_row(device KvWords& v_449 [[buffer(0)]], constant Push& push [[buffer(30)]], device KvQuads& v_866 [[buffer(1)]], const device PageTable& v_2388 [[buffer(2)]], const device Seq& v_1081 [[buffer(3)]], const device Pos& v_1094 [[buffer(4)]], const device Q& v_1926 [[buffer(5)]], volatile device Out& v_3693 [[buffer(6)]], volatile device Softmax& v_3729 [[buffer(7)]], const device First& v_1136 [[buffer(8)]], const device Constants& v_615 [[buffer(9)]], volatile device Done& v_4007 [[buffer(11)]], device Merged& v_3675 [[buffer(12)]], const device QNorm& v_1953 [[buffer(13)]], const device KNorm& v_1978 [[buffer(14)]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]], uint gl_SubgroupID [[simdgroup_index_in_threadgroup]], uint gl_NumSubgroups [[simdgroups_per_threadgroup]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]])
{
    threadgroup float v_levels[kVLevels];
    threadgroup float residual_signs[_643];
    threadgroup float k_levels[kKLevels];
    threadgroup float reduced[_1011];
    threadgroup uint head_bits[_1155];
    threadgroup float team_reduced[_1774];
    threadgroup float4 q_tile[_2145];
    threadgroup int first_seen[kKey];
    threadgroup int last_seen[kKey];
    threadgroup uint v_rows[128];
    threadgroup float largest[kKey];
    threadgroup float shrink[kKey];
    threadgroup float2 weights[_3029];
    threadgroup float2 softmaxes[_3790];
    threadgroup uint n_done_before;
    threadgroup short are_damaged;
    uint head_kv = gl_WorkGroupID.y;
    uint group_size = push.n_head / push.n_head_kv;
    uint own_sequence;
    int own_position;
    find_rows(push, own_sequence, v_1081, own_position, v_1094);
    spvUnsafeArray<float, _2052> asked_heads;
    spvUnsafeArray<float, kValueDimsOfLane> asked_value;
    Item first_item;
    ask_for_heads(push, gl_LocalInvocationID, head_kv, group_size, v_1926, v_1953, v_1978, asked_heads, asked_value, first_item);
    uint part = gl_WorkGroupID.z;
    uint first_bits;
    uint key_row;
    spvUnsafeArray<float, kKey> weight_sum;
    spvUnsafeArray<float2, _3009> value_sum;
    spvUnsafeArray<uint, kPairsOfLane> damaged;
    spvUnsafeArray<float2, kValuesAtOnce> first_values;
    bool is_careful;
    bool is_only_part;
    uint _4404;
    if (kMerges)
    {
        _4404 = parts_of_tile(push, own_sequence, own_position);
    }
    else
    {
        _4404 = push.n_parts;
    }
    uint n_parts = _4404;
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
    uint param = own_sequence;
    uint param_1 = 0u;
    uint param_2 = part;
    uint param_3 = uint(own_position) + 1u;
    uint param_4 = first_of(param, param_1, push, v_1136);
    uint2 seen = seen_positions(param_2, param_3, param_4, push);
    uint param_5 = own_sequence;
    uint param_6 = seen.x;
    uint param_7 = seen.y;
    find_block(param_5, param_6, param_7, push, gl_LocalInvocationID, head_kv, v_2388, key_row, v_rows);
    bool param_8 = (part + 1u) == n_parts;
    make_heads(param_8, v_449, push, gl_LocalInvocationID, gl_SubgroupID, gl_NumSubgroups, own_sequence, own_position, head_kv, group_size, head_bits, first_bits, team_reduced, v_1926, v_1953, v_1978, asked_heads, asked_value, first_item, q_tile, v_2388);
    load_levels(gl_LocalInvocationID, v_levels, v_615, residual_signs, k_levels);
    is_careful = false;
    for (;;)
    {
        uint param_9 = part;
        sum_up(param_9, v_449, push, gl_LocalInvocationID, v_866, reduced, gl_SubgroupID, gl_NumSubgroups, own_sequence, own_position, head_kv, group_size, v_1136, q_tile, v_2388, first_seen, last_seen, key_row, v_rows, largest, shrink, weight_sum, value_sum, weights, damaged, first_values, is_careful);
        note_damage(value_sum, are_damaged);
        spvUnsafeArray<float, kKey> param_10;
        param_10 = weight_sum;
        bool param_11 = true;
        reduce(param_10, param_11, reduced, gl_SubgroupID);
        bool _4485;
        if (!is_careful)
        {
            _4485 = !bool(are_damaged);
        }
        else
        {
            _4485 = is_careful;
        }
        if (_4485)
        {
            break;
        }
        is_careful = true;
        continue;
    }
    uint param_12 = part;
    store(param_12, push, gl_LocalInvocationID, reduced, gl_NumSubgroups, head_kv, group_size, largest, value_sum, weights, damaged, is_only_part, v_3675, v_3693, v_3729);
    if (kMerges && (!is_only_part))
    {
        uint param_13 = n_parts;
        merge(param_13, push, gl_LocalInvocationID, head_kv, group_size, v_3675, v_3693, v_3729, softmaxes, gl_WorkGroupID, gl_NumWorkGroups, n_done_before, v_4007);
    }
}

