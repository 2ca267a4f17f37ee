// src/kernels/vulkan/attention_compressed.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
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
constant bool _388 = (!kWholeQuads);

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
constant int _523 = kHasResidual ? 128 : 1;
#ifndef SPIRV_CROSS_CONSTANT_ID_6
#define SPIRV_CROSS_CONSTANT_ID_6 1u
#endif
constant uint kKLevels = SPIRV_CROSS_CONSTANT_ID_6;
constant bool _1359 = (!kWholeQuads);

struct KvQuads
{
    uint4 kv_quads[1];
};

struct MainPages
{
    int main_pages[1];
};

constant uint _1690 = (32u * kValues);
#ifndef SPIRV_CROSS_CONSTANT_ID_3
#define SPIRV_CROSS_CONSTANT_ID_3 1u
#endif
constant uint kKPieces = SPIRV_CROSS_CONSTANT_ID_3;
constant uint row_floats = (kKPieces * 16u);
constant uint _1833 = (kValues * row_floats);

struct Q
{
    float q[1];
};

constant uint _1877 = (kValues * kKPieces);
constant uint _1878 = (_1877 * 4u);

struct PageTable
{
    int page_table[1];
};

#ifndef SPIRV_CROSS_CONSTANT_ID_11
#define SPIRV_CROSS_CONSTANT_ID_11 1u
#endif
constant uint kPiecesAtOnce = SPIRV_CROSS_CONSTANT_ID_11;
constant uint _2006 = (kKPieces - 1u);
#ifndef SPIRV_CROSS_CONSTANT_ID_4
#define SPIRV_CROSS_CONSTANT_ID_4 1u
#endif
constant uint kVPairs = SPIRV_CROSS_CONSTANT_ID_4;
constant uint _2221 = (kVPairs + 128u);
constant uint _2222 = (_2221 - 1u);
constant uint kPairsOfLane = (_2222 / 128u);
constant uint _2225 = (kValues * kPairsOfLane);
constant uint _2243 = (128u * kValues);
constant uint _2244 = (_2243 / 4u);
constant bool _2332 = (kVPairs < 128u);
constant uint kPairsAtOnce = _2332 ? kVPairs : 128u;
constant uint kStride = (128u / kPairsAtOnce);
constant uint _2335 = (kStride * kPairsAtOnce);
#ifndef SPIRV_CROSS_CONSTANT_ID_9
#define SPIRV_CROSS_CONSTANT_ID_9 8u
#endif
constant uint kValuesAtOnce = SPIRV_CROSS_CONSTANT_ID_9;
constant uint _2502 = (kValuesAtOnce * kStride);

struct First
{
    int firsts[1];
};

struct Pos
{
    int positions[1];
};

constant uint _2709 = (kValues * kPairsAtOnce);

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

constant uint _3285 = (kValues * kPairsOfLane);
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
int keys_before(thread const uint& seq, thread const int& position, constant Push& push, const device MainPages& v_1543)
{
    if (push.pages_of == 0u)
    {
        return position;
    }
    int first = v_1543.main_pages[push.main_pages_at + (2u * seq)] * int(push.page_tokens);
    int last = v_1543.main_pages[(push.main_pages_at + (2u * seq)) + 1u] * int(push.page_tokens);
    int n_main = min(max((position - first), 0), max((last - first), 0));
    int _1583;
    if (push.pages_of == 2u)
    {
        _1583 = position - n_main;
    }
    else
    {
        _1583 = n_main;
    }
    return _1583;
}

static inline __attribute__((always_inline))
int keys_of(thread const uint& seq, thread const uint& token, constant Push& push, const device MainPages& v_1543, const device Pos& v_2537)
{
    uint param = seq;
    int param_1 = v_2537.positions[push.pos_at + token] + 1;
    return keys_before(param, param_1, push, v_1543);
}

static inline __attribute__((always_inline))
uint part_positions(thread const uint& n, constant Push& push)
{
    if (push.n_parts == 1u)
    {
        return 2147483647u;
    }
    uint _3193;
    if (n <= 1u)
    {
        _3193 = 1u;
    }
    else
    {
        _3193 = 2u << uint(int(spvFindUMSB(n - 1u)));
    }
    return max(128u, (_3193 / 32u));
}

static inline __attribute__((always_inline))
uint parts_of_tile(constant Push& push, const device MainPages& v_1543, thread uint& first_row, thread uint& group_size, const device Pos& v_2537, const device Seq& v_3234)
{
    uint n_parts = 1u;
    uint param = 0u;
    uint token = token_of(param, first_row, group_size);
    for (;;)
    {
        uint _3225 = rows_of_tile(push, first_row, group_size);
        uint _3226 = _3225 - 1u;
        uint param_1 = _3226;
        uint _3228 = token_of(param_1, first_row, group_size);
        if (token <= _3228)
        {
            uint param_2 = uint(v_3234.seqs[push.seq_at + token]);
            uint param_3 = token;
            uint n_keys = uint(max(keys_of(param_2, param_3, push, v_1543, v_2537), 1));
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
void load_q_tile(constant Push& push, thread uint3& gl_LocalInvocationID, thread uint& first_row, thread uint& group_size, thread uint& head_kv, const device Q& v_1857, threadgroup float4 (&q_tile)[_1878])
{
    for (uint i = gl_LocalInvocationID.x; i < _1833; i += 128u)
    {
        uint row = i / row_floats;
        uint dimension = i % row_floats;
        float value = 0.0;
        uint param = row;
        bool _1844 = exists(param, push, first_row, group_size);
        bool _1851;
        if (_1844)
        {
            _1851 = dimension < push.head_dim_k;
        }
        else
        {
            _1851 = _1844;
        }
        if (_1851)
        {
            uint param_1 = row;
            value = v_1857.q[(push.q_at + (vector_of(param_1, push, first_row, group_size, head_kv) * push.head_dim_k)) + dimension] * push.scale;
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
void load_v_levels(thread uint3& gl_LocalInvocationID, threadgroup float (&v_levels)[kVLevels], const device Constants& v_495, threadgroup float (&residual_signs)[_523])
{
    uint i = gl_LocalInvocationID.x;
    for (;;)
    {
        uint _483 = v_format();
        uint param = _483;
        uint _485 = n_levels(param);
        if (i < _485)
        {
            uint param_1 = v_format();
            v_levels[i] = v_495.constants[first_level(param_1) + i];
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
        residual_signs[i_1] = v_495.constants[352u + i_1];
    }
}

static inline __attribute__((always_inline))
uint k_format()
{
    return kKFormat;
}

static inline __attribute__((always_inline))
void load_levels(thread uint3& gl_LocalInvocationID, threadgroup float (&v_levels)[kVLevels], const device Constants& v_495, threadgroup float (&residual_signs)[_523], threadgroup float (&k_levels)[kKLevels])
{
    load_v_levels(gl_LocalInvocationID, v_levels, v_495, residual_signs);
    uint i = gl_LocalInvocationID.x;
    for (;;)
    {
        uint _888 = k_format();
        uint param = _888;
        uint _890 = n_levels(param);
        if (i < _890)
        {
            uint param_1 = k_format();
            k_levels[i] = v_495.constants[first_level(param_1) + i];
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
uint first_of(thread const uint& seq, thread const uint& token, constant Push& push, const device MainPages& v_1543, const device First& v_2517)
{
    uint _2511;
    if (push.has_first > 0u)
    {
        uint param = seq;
        int param_1 = v_2517.firsts[push.first_at + token];
        _2511 = uint(keys_before(param, param_1, push, v_1543));
    }
    else
    {
        _2511 = 0u;
    }
    return _2511;
}

static inline __attribute__((always_inline))
uint page_of(thread const uint& seq, thread const uint& key, constant Push& push, const device MainPages& v_1543)
{
    uint index = key / push.page_tokens;
    if (push.pages_of == 0u)
    {
        return index;
    }
    int first = v_1543.main_pages[push.main_pages_at + (2u * seq)];
    int last = v_1543.main_pages[(push.main_pages_at + (2u * seq)) + 1u];
    if (push.pages_of == 1u)
    {
        return index + uint(first);
    }
    uint _1637;
    if (index < uint(first))
    {
        _1637 = index;
    }
    else
    {
        _1637 = index + uint(max((last - first), 0));
    }
    return _1637;
}

static inline __attribute__((always_inline))
uint half_at(thread const uint& at, const device KvWords& v_327)
{
    return (v_327.kv_words[at >> uint(2)] >> (8u * (at & 2u))) & 65535u;
}

static inline __attribute__((always_inline))
float f32_from_f16(thread const uint& half_bits)
{
    uint _sign = (half_bits & 32768u) << uint(16);
    uint magnitude = half_bits & 32767u;
    uint subnormal = as_type<uint>(float(magnitude) * 5.9604644775390625e-08);
    uint exponent_offset = (magnitude < 31744u) ? 939524096u : 1879048192u;
    uint _309;
    if (magnitude < 1024u)
    {
        _309 = subnormal;
    }
    else
    {
        _309 = (magnitude << uint(13)) + exponent_offset;
    }
    return as_type<float>(_sign | _309);
}

static inline __attribute__((always_inline))
float residual_step(thread const uint& block, const device KvWords& v_327)
{
    uint param = block + 66u;
    return ((half_at(param, v_327) & 1u) != 0u) ? 0.0441941730678081512451171875 : (-0.0441941730678081512451171875);
}

static inline __attribute__((always_inline))
uint two_halves_at(thread const uint& at, const device KvWords& v_327)
{
    uint param = at;
    uint param_1 = at + 2u;
    return half_at(param, v_327) | (half_at(param_1, v_327) << uint(16));
}

static inline __attribute__((always_inline))
uint bits_from(thread const uint& low, thread const uint& high, thread const uint& at)
{
    uint _909;
    if (at == 0u)
    {
        _909 = low;
    }
    else
    {
        uint _916;
        if (at < 32u)
        {
            _916 = (low >> at) | (high << (32u - at));
        }
        else
        {
            _916 = high >> (at - 32u);
        }
        _909 = _916;
    }
    return _909;
}

static inline __attribute__((always_inline))
void load_compressed_k(thread const uint& format, thread const uint& row, thread const uint& piece, thread spvUnsafeArray<float4, 4>& k, const device KvWords& v_327, threadgroup float (&residual_signs)[_523], threadgroup float (&k_levels)[kKLevels])
{
    switch (format)
    {
        case 4u:
        case 6u:
        {
            uint block = row + ((piece / 2u) * 18u);
            uint shift = (piece % 2u) * 4u;
            uint param = block;
            uint param_1 = half_at(param, v_327);
            float _step = f32_from_f16(param_1);
            float4 _994;
            for (uint i = 0u; i < 4u; i++)
            {
                uint param_2 = (block + 2u) + (4u * i);
                uint codes = two_halves_at(param_2, v_327) >> shift;
                uint4 code = uint4(codes, codes >> uint(8), codes >> uint(16), codes >> uint(24)) & uint4(15u);
                if (format == 4u)
                {
                    _994 = (float4(code) - float4(8.0)) * _step;
                }
                else
                {
                    _994 = float4(k_levels[code.x], k_levels[code.y], k_levels[code.z], k_levels[code.w]) * _step;
                }
                k[i] = _994;
            }
            break;
        }
        case 5u:
        case 7u:
        {
            bool is_path = format == 7u;
            uint _1034;
            if (is_path)
            {
                _1034 = row + ((piece / 8u) * 52u);
            }
            else
            {
                _1034 = row + ((piece / 2u) * 14u);
            }
            uint block_1 = _1034;
            uint _1053;
            if (is_path)
            {
                _1053 = piece % 8u;
            }
            else
            {
                _1053 = piece % 2u;
            }
            uint at = (block_1 + 2u) + (_1053 * 6u);
            uint param_3 = at;
            uint low = two_halves_at(param_3, v_327);
            uint _1070;
            if (is_path)
            {
                uint param_4 = at + 4u;
                _1070 = two_halves_at(param_4, v_327);
            }
            else
            {
                uint param_5 = at + 4u;
                _1070 = half_at(param_5, v_327);
            }
            uint high = _1070;
            uint mask = uint(is_path ? 511 : 7);
            uint param_6 = block_1;
            uint param_7 = half_at(param_6, v_327);
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
            float norm = as_type<float>(half_at(param_11, v_327) << uint(16));
            uint param_12 = block_2 + ((piece % 16u) * 2u);
            uint signs = half_at(param_12, v_327);
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
            uint param_14 = half_at(param_13, v_327);
            float norm_1 = f32_from_f16(param_14);
            for (uint i_3 = 0u; i_3 < 4u; i_3++)
            {
                uint param_15 = ((block_3 + 2u) + (first / 2u)) + (2u * i_3);
                uint codes_1 = half_at(param_15, v_327);
                float4 levels = float4(k_levels[codes_1 & 15u], k_levels[(codes_1 >> uint(4)) & 15u], k_levels[(codes_1 >> uint(8)) & 15u], k_levels[codes_1 >> uint(12)]);
                if (format == 10u)
                {
                    uint at_1 = first + (4u * i_3);
                    uint param_16 = block_3;
                    levels += (float4(residual_signs[at_1], residual_signs[at_1 + 1u], residual_signs[at_1 + 2u], residual_signs[at_1 + 3u]) * residual_step(param_16, v_327));
                }
                k[i_3] = levels * norm_1;
            }
            break;
        }
    }
}

static inline __attribute__((always_inline))
float load_float(thread const uint& format, thread const uint& row, thread const uint& i, const device KvWords& v_327)
{
    switch (format)
    {
        case 1u:
        {
            uint param = row + (2u * i);
            uint param_1 = half_at(param, v_327);
            return f32_from_f16(param_1);
        }
        case 2u:
        {
            uint param_2 = row + (2u * i);
            return as_type<float>(half_at(param_2, v_327) << uint(16));
        }
    }
    return as_type<float>(v_327.kv_words[(row / 4u) + i]);
}

static inline __attribute__((always_inline))
void load_k(thread const uint& row, thread const uint& piece, thread spvUnsafeArray<float4, 4>& k, const device KvWords& v_327, constant Push& push, threadgroup float (&residual_signs)[_523], threadgroup float (&k_levels)[kKLevels], const device KvQuads& v_1426)
{
    uint format = k_format();
    if (format > 3u)
    {
        uint param = format;
        uint param_1 = row;
        uint param_2 = piece;
        spvUnsafeArray<float4, 4> param_3;
        load_compressed_k(param, param_1, param_2, param_3, v_327, residual_signs, k_levels);
        k = param_3;
        return;
    }
    if (format == 3u)
    {
        uint block = row + ((piece / 2u) * 34u);
        uint param_4 = block;
        uint param_5 = half_at(param_4, v_327);
        float _step = f32_from_f16(param_5);
        uint first = (block + 2u) + (16u * (piece % 2u));
        for (uint i = 0u; i < 4u; i++)
        {
            uint param_6 = first + (4u * i);
            int codes = int(two_halves_at(param_6, v_327));
            k[i] = float4(float(extract_bits(codes, uint(0), uint(8))), float(extract_bits(codes, uint(8), uint(8))), float(extract_bits(codes, uint(16), uint(8))), float(extract_bits(codes, uint(24), uint(8)))) * _step;
        }
    }
    else
    {
        if (_1359)
        {
            float _1392;
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
                        _1392 = load_float(param_7, param_8, param_9, v_327);
                    }
                    else
                    {
                        _1392 = 0.0;
                    }
                    k[i_1][j] = _1392;
                }
            }
        }
        else
        {
            if (format == 0u)
            {
                for (uint i_2 = 0u; i_2 < 4u; i_2++)
                {
                    k[i_2] = as_type<float4>(v_1426.kv_quads[((row / 16u) + (4u * piece)) + i_2]);
                }
            }
            else
            {
                for (uint i_3 = 0u; i_3 < 2u; i_3++)
                {
                    uint4 pairs = v_1426.kv_quads[((row / 16u) + (2u * piece)) + i_3];
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
    bool _1809 = int(position) >= first_seen[row];
    bool _1819;
    if (_1809)
    {
        _1819 = int(position) <= last_seen[row];
    }
    else
    {
        _1819 = _1809;
    }
    return _1819;
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
    uint _238;
    if (is_finite(param))
    {
        _238 = as_type<uint>(value);
    }
    else
    {
        _238 = 2143289344u;
    }
    return as_type<float>(_238);
}

static inline __attribute__((always_inline))
void reduce(thread const spvUnsafeArray<float, kValues>& values, thread const bool& is_sum, threadgroup float (&reduced)[_1690], thread uint& gl_SubgroupID)
{
    spvUnsafeArray<float, kValues> results;
    float _1663;
    for (uint i = 0u; i < kValues; i++)
    {
        if (is_sum)
        {
            _1663 = simd_sum(values[i]);
        }
        else
        {
            _1663 = simd_max(values[i]);
        }
        results[i] = _1663;
    }
    bool _1679 = simd_is_first();
    if (_1679)
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
float reduced_max(thread const uint& i, thread float& so_far, threadgroup float (&reduced)[_1690], thread uint& gl_NumSubgroups)
{
    for (uint part = 0u; part < n_reduced(gl_NumSubgroups); part++)
    {
        so_far = fast::max(so_far, reduced[(part * kValues) + i]);
    }
    return so_far;
}

static inline __attribute__((always_inline))
void weigh(thread const uint& seq, thread const uint& first, thread const uint& end, const device KvWords& v_327, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup float (&residual_signs)[_523], threadgroup float (&k_levels)[kKLevels], const device KvQuads& v_1426, const device MainPages& v_1543, threadgroup float (&reduced)[_1690], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& head_kv, threadgroup int (&first_seen)[kValues], threadgroup int (&last_seen)[kValues], threadgroup float4 (&q_tile)[_1878], const device PageTable& v_1919, threadgroup uint (&v_rows)[128], threadgroup float (&largest)[kValues], threadgroup float (&shrink)[kValues], thread spvUnsafeArray<float, kValues>& weight_sum, thread spvUnsafeArray<float2, _2225>& value_sum, threadgroup float4 (&weights)[_2244])
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
        uint page = uint(v_1919.page_table[(push.page_table_at + (seq * push.max_pages)) + page_of(param, param_1, push, v_1543)]);
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
                uint param_3 = min((first_piece + i), _2006);
                load_k(param_2, param_3, param_4, v_327, push, residual_signs, k_levels, v_1426);
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
    float _2117;
    for (uint r_2 = 0u; r_2 < kValues; r_2++)
    {
        bool _2108 = position < end;
        bool _2116;
        if (_2108)
        {
            uint param_5 = r_2;
            uint param_6 = position;
            _2116 = is_seen(param_5, param_6, first_seen, last_seen);
        }
        else
        {
            _2116 = _2108;
        }
        if (_2116)
        {
            float param_7 = scores[r_2];
            _2117 = finite_or_nan(param_7);
        }
        else
        {
            _2117 = -1000000015047466219876688855040.0;
        }
        scores[r_2] = _2117;
    }
    spvUnsafeArray<float, kValues> param_8;
    param_8 = scores;
    bool param_9 = false;
    reduce(param_8, param_9, reduced, gl_SubgroupID);
    if (lane < kValues)
    {
        uint param_10 = lane;
        float param_11 = largest[lane];
        float _2149 = reduced_max(param_10, param_11, reduced, gl_NumSubgroups);
        float top = _2149;
        float _2157;
        if (largest[lane] == top)
        {
            _2157 = 1.0;
        }
        else
        {
            _2157 = exp(largest[lane] - top);
        }
        shrink[lane] = _2157;
        largest[lane] = top;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float _2186;
    for (uint r_3 = 0u; r_3 < kValues; r_3++)
    {
        if (scores[r_3] == (-1000000015047466219876688855040.0))
        {
            _2186 = 0.0;
        }
        else
        {
            _2186 = exp(scores[r_3] - largest[r_3]);
        }
        float weight = _2186;
        weight_sum[r_3] = (weight_sum[r_3] * shrink[r_3]) + weight;
        for (uint p = 0u; p < kPairsOfLane; p++)
        {
            uint _2232 = (r_3 * kPairsOfLane) + p;
            value_sum[_2232] *= shrink[r_3];
        }
        ((threadgroup float*)&weights[((lane * kValues) + r_3) / 4u])[r_3 % 4u] = weight;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

static inline __attribute__((always_inline))
float2 load_pair_of_floats(thread const uint& format, thread const uint& row, thread const uint& pair, const device KvWords& v_327, constant Push& push)
{
    if (_388)
    {
        uint param = format;
        uint param_1 = row;
        uint param_2 = 2u * pair;
        float _410;
        if (((2u * pair) + 1u) < push.head_dim_v)
        {
            uint param_3 = format;
            uint param_4 = row;
            uint param_5 = (2u * pair) + 1u;
            _410 = load_float(param_3, param_4, param_5, v_327);
        }
        else
        {
            _410 = 0.0;
        }
        return float2(load_float(param, param_1, param_2, v_327), _410);
    }
    uint word = v_327.kv_words[(row / 4u) + pair];
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
    return as_type<float2>(uint2(v_327.kv_words[(row / 4u) + (2u * pair)], v_327.kv_words[((row / 4u) + (2u * pair)) + 1u]));
}

static inline __attribute__((always_inline))
float2 load_v(thread const uint& row, thread const uint& pair, const device KvWords& v_327, constant Push& push, threadgroup float (&v_levels)[kVLevels], threadgroup float (&residual_signs)[_523])
{
    uint format = v_format();
    switch (format)
    {
        case 3u:
        {
            uint block = row + ((pair / 16u) * 34u);
            uint param = (block + 2u) + (2u * (pair % 16u));
            int codes = int(half_at(param, v_327));
            uint param_1 = block;
            uint param_2 = half_at(param_1, v_327);
            return float2(float(extract_bits(codes, uint(0), uint(8))), float(extract_bits(codes, uint(8), uint(8)))) * f32_from_f16(param_2);
        }
        case 4u:
        case 6u:
        {
            uint block_1 = row + ((pair / 16u) * 18u);
            uint param_3 = (block_1 + 2u) + (2u * (pair % 8u));
            uint codes_1 = half_at(param_3, v_327) >> (((pair % 16u) / 8u) * 4u);
            uint param_4 = block_1;
            uint param_5 = half_at(param_4, v_327);
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
            uint _677;
            if ((bit % 16u) > 10u)
            {
                uint param_7 = at + 2u;
                _677 = half_at(param_7, v_327) << uint(16);
            }
            else
            {
                _677 = 0u;
            }
            uint bits = half_at(param_6, v_327) | _677;
            uint codes_2 = bits >> (bit % 16u);
            uint param_8 = block_2;
            uint param_9 = half_at(param_8, v_327);
            return float2(v_levels[codes_2 & 7u], v_levels[(codes_2 >> uint(3)) & 7u]) * f32_from_f16(param_9);
        }
        case 7u:
        {
            uint block_3 = row + ((pair / 64u) * 52u);
            uint bit_1 = 6u * (pair % 64u);
            uint param_10 = (block_3 + 2u) + ((bit_1 / 16u) * 2u);
            uint states = two_halves_at(param_10, v_327) >> (bit_1 % 16u);
            uint param_11 = block_3;
            uint param_12 = half_at(param_11, v_327);
            return float2(v_levels[states & 511u], v_levels[(states >> uint(3)) & 511u]) * f32_from_f16(param_12);
        }
        case 8u:
        {
            uint block_4 = row + ((pair / 128u) * 34u);
            uint param_13 = block_4 + 32u;
            float norm = as_type<float>(half_at(param_13, v_327) << uint(16));
            uint param_14 = block_4 + (((pair % 128u) / 8u) * 2u);
            uint signs = half_at(param_14, v_327) >> ((pair % 8u) * 2u);
            float _784;
            if ((signs & 1u) != 0u)
            {
                _784 = norm;
            }
            else
            {
                _784 = -norm;
            }
            float _795;
            if ((signs & 2u) != 0u)
            {
                _795 = norm;
            }
            else
            {
                _795 = -norm;
            }
            return float2(_784, _795);
        }
        case 9u:
        case 10u:
        {
            uint block_5 = row + ((pair / 64u) * 82u);
            uint i = pair % 64u;
            uint param_15 = (block_5 + 2u) + (i & 4294967294u);
            uint codes_3 = half_at(param_15, v_327) >> (8u * (i & 1u));
            float2 levels = float2(v_levels[codes_3 & 15u], v_levels[(codes_3 >> uint(4)) & 15u]);
            if (format == 10u)
            {
                uint param_16 = block_5;
                levels += (float2(residual_signs[2u * i], residual_signs[(2u * i) + 1u]) * residual_step(param_16, v_327));
            }
            uint param_17 = block_5;
            uint param_18 = half_at(param_17, v_327);
            return levels * f32_from_f16(param_18);
        }
    }
    uint param_19 = format;
    uint param_20 = row;
    uint param_21 = pair;
    return load_pair_of_floats(param_19, param_20, param_21, v_327, push);
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
    uint _2293;
    for (uint r = 0u; r < kValues; r++)
    {
        uint param_2 = r;
        uint param_3 = position;
        if (is_seen(param_2, param_3, first_seen, last_seen))
        {
            _2293 = 1u << r;
        }
        else
        {
            _2293 = 0u;
        }
        seeing |= _2293;
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
void add_values(thread const uint& block, thread const uint& n, const device KvWords& v_327, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup float (&v_levels)[kVLevels], threadgroup float (&residual_signs)[_523], threadgroup int (&first_seen)[kValues], threadgroup int (&last_seen)[kValues], threadgroup uint (&v_rows)[128], thread spvUnsafeArray<float2, _2225>& value_sum, threadgroup float4 (&weights)[_2244], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, thread bool& is_careful)
{
    uint lane = gl_LocalInvocationID.x;
    if (lane >= _2335)
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
        uint _2364 = lane / kPairsAtOnce;
        for (uint first = _2364; first < n; first += _2502)
        {
            for (uint i = 0u; i < kValuesAtOnce; i++)
            {
                uint param = v_rows[min((first + (i * kStride)), (n - 1u))];
                uint param_1 = pair;
                v[i] = load_v(param, param_1, v_327, push, v_levels, residual_signs);
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
                        uint _2484 = ((r + j) * kPairsOfLane) + p;
                        value_sum[_2484] += (v[i_2] * weight[j]);
                    }
                }
            }
        }
    }
}

static inline __attribute__((always_inline))
void attend(thread const uint& first_token, thread const uint& last_token, thread const uint& seq, thread const uint& first, thread const uint& end, const device KvWords& v_327, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup float (&v_levels)[kVLevels], threadgroup float (&residual_signs)[_523], threadgroup float (&k_levels)[kKLevels], const device KvQuads& v_1426, const device MainPages& v_1543, threadgroup float (&reduced)[_1690], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup int (&first_seen)[kValues], threadgroup int (&last_seen)[kValues], threadgroup float4 (&q_tile)[_1878], const device PageTable& v_1919, threadgroup uint (&v_rows)[128], threadgroup float (&largest)[kValues], threadgroup float (&shrink)[kValues], thread spvUnsafeArray<float, kValues>& weight_sum, thread spvUnsafeArray<float2, _2225>& value_sum, threadgroup float4 (&weights)[_2244], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, thread bool& is_careful, const device First& v_2517, const device Pos& v_2537)
{
    uint lane = gl_LocalInvocationID.x;
    if (lane < kValues)
    {
        uint param = lane;
        bool _2561 = exists(param, push, first_row, group_size);
        bool _2569;
        if (_2561)
        {
            uint param_1 = lane;
            _2569 = token_of(param_1, first_row, group_size) >= first_token;
        }
        else
        {
            _2569 = _2561;
        }
        bool _2577;
        if (_2569)
        {
            uint param_2 = lane;
            _2577 = token_of(param_2, first_row, group_size) <= last_token;
        }
        else
        {
            _2577 = _2569;
        }
        bool is_among = _2577;
        int _2580;
        if (is_among)
        {
            uint param_3 = lane;
            uint param_4 = seq;
            uint param_5 = token_of(param_3, first_row, group_size);
            _2580 = keys_of(param_4, param_5, push, v_1543, v_2537) - 1;
        }
        else
        {
            _2580 = -1;
        }
        last_seen[lane] = _2580;
        int _2597;
        if (is_among)
        {
            uint param_6 = lane;
            uint param_7 = seq;
            uint param_8 = token_of(param_6, first_row, group_size);
            _2597 = int(first_of(param_7, param_8, push, v_1543, v_2517));
        }
        else
        {
            _2597 = 0;
        }
        first_seen[lane] = _2597;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint block = first; block < end; block += 128u)
    {
        uint param_9 = seq;
        uint param_10 = block;
        uint param_11 = end;
        weigh(param_9, param_10, param_11, v_327, push, gl_LocalInvocationID, residual_signs, k_levels, v_1426, v_1543, reduced, gl_SubgroupID, gl_NumSubgroups, head_kv, first_seen, last_seen, q_tile, v_1919, v_rows, largest, shrink, weight_sum, value_sum, weights);
        uint param_12 = block;
        uint param_13 = min(128u, (end - block));
        add_values(param_12, param_13, v_327, push, gl_LocalInvocationID, v_levels, residual_signs, first_seen, last_seen, v_rows, value_sum, weights, damaged, is_careful);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

static inline __attribute__((always_inline))
void sum_up(thread const uint& part, const device KvWords& v_327, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup float (&v_levels)[kVLevels], threadgroup float (&residual_signs)[_523], threadgroup float (&k_levels)[kKLevels], const device KvQuads& v_1426, const device MainPages& v_1543, threadgroup float (&reduced)[_1690], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup int (&first_seen)[kValues], threadgroup int (&last_seen)[kValues], threadgroup float4 (&q_tile)[_1878], const device PageTable& v_1919, threadgroup uint (&v_rows)[128], threadgroup float (&largest)[kValues], threadgroup float (&shrink)[kValues], thread spvUnsafeArray<float, kValues>& weight_sum, thread spvUnsafeArray<float2, _2225>& value_sum, threadgroup float4 (&weights)[_2244], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, thread bool& is_careful, const device First& v_2517, const device Pos& v_2537, const device Seq& v_3234)
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
    uint _3456;
    while (token <= last_of_tile)
    {
        uint seq = uint(v_3234.seqs[push.seq_at + token]);
        uint param_2 = seq;
        uint param_3 = token;
        int n_keys = keys_of(param_2, param_3, push, v_1543, v_2537);
        uint param_4 = uint(n_keys);
        uint n_positions = part_positions(param_4, push);
        uint last_token = token;
        uint param_5 = seq;
        uint param_6 = token;
        uint first_position = first_of(param_5, param_6, push, v_1543, v_2517);
        for (;;)
        {
            bool _3406 = last_token < last_of_tile;
            bool _3419;
            if (_3406)
            {
                _3419 = uint(v_3234.seqs[(push.seq_at + last_token) + 1u]) == seq;
            }
            else
            {
                _3419 = _3406;
            }
            if (_3419)
            {
                uint param_7 = seq;
                uint param_8 = last_token + 1u;
                int keys_of_next = keys_of(param_7, param_8, push, v_1543, v_2537);
                uint param_9 = uint(keys_of_next);
                if (part_positions(param_9, push) != n_positions)
                {
                    break;
                }
                last_token++;
                n_keys = max(n_keys, keys_of_next);
                uint param_10 = seq;
                uint param_11 = last_token;
                first_position = min(first_position, first_of(param_10, param_11, push, v_1543, v_2517));
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
            _3456 = ((first_position - first) / 128u) * 128u;
        }
        else
        {
            _3456 = 0u;
        }
        uint left_out = _3456;
        uint param_12 = token;
        uint param_13 = last_token;
        uint param_14 = seq;
        uint param_15 = first + left_out;
        uint param_16 = min(uint(n_keys), (first + n_positions));
        attend(param_12, param_13, param_14, param_15, param_16, v_327, push, gl_LocalInvocationID, v_levels, residual_signs, k_levels, v_1426, v_1543, reduced, gl_SubgroupID, gl_NumSubgroups, first_row, group_size, head_kv, first_seen, last_seen, q_tile, v_1919, v_rows, largest, shrink, weight_sum, value_sum, weights, damaged, is_careful, v_2517, v_2537);
        token = last_token + 1u;
    }
}

static inline __attribute__((always_inline))
bool are_sums_damaged(threadgroup float (&reduced)[_1690], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread spvUnsafeArray<float2, _2225>& value_sum)
{
    spvUnsafeArray<float, kValues> found;
    for (uint r = 0u; r < kValues; r++)
    {
        found[r] = 0.0;
    }
    for (uint i = 0u; i < _3285; i++)
    {
        float param = value_sum[i].x;
        bool _3292 = !is_finite(param);
        bool _3302;
        if (!_3292)
        {
            float param_1 = value_sum[i].y;
            _3302 = !is_finite(param_1);
        }
        else
        {
            _3302 = _3292;
        }
        if (_3302)
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
    float _3315 = reduced_max(param_4, param_5, reduced, gl_NumSubgroups);
    bool are_damaged = _3315 > 0.0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return are_damaged;
}

static inline __attribute__((always_inline))
void share_sums(thread const uint& p, thread const uint& component, thread uint3& gl_LocalInvocationID, thread spvUnsafeArray<float2, _2225>& value_sum, threadgroup float4 (&weights)[_2244], thread spvUnsafeArray<uint, kPairsOfLane>& damaged)
{
    uint lane = gl_LocalInvocationID.x;
    float4 sums;
    float _2673;
    for (uint r = 0u; r < kValues; r += 4u)
    {
        for (uint j = 0u; j < 4u; j++)
        {
            bool is_damaged = ((damaged[p] >> ((r + j) + (component * 16u))) & 1u) != 0u;
            if (is_damaged)
            {
                _2673 = as_type<float>(2143289344u);
            }
            else
            {
                _2673 = value_sum[((r + j) * kPairsOfLane) + p][component];
            }
            sums[j] = _2673;
        }
        weights[((lane * kValues) + r) / 4u] = sums;
    }
}

static inline __attribute__((always_inline))
float reduced_sum(thread const uint& i, threadgroup float (&reduced)[_1690], thread uint& gl_NumSubgroups)
{
    float sum = 0.0;
    for (uint part = 0u; part < n_reduced(gl_NumSubgroups); part++)
    {
        sum += reduced[(part * kValues) + i];
    }
    return sum;
}

static inline __attribute__((always_inline))
void store_sums(thread const uint& p, thread const uint& component, thread const uint& part, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup float (&reduced)[_1690], thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup float (&largest)[kValues], threadgroup float4 (&weights)[_2244], thread bool& is_only_part, device Merged& v_2787, volatile device Out& v_2805, volatile device Softmax& v_2841)
{
    float _2820;
    for (uint i = gl_LocalInvocationID.x; i < _2709; i += 128u)
    {
        uint row = i / kPairsAtOnce;
        uint dimension = (2u * ((i % kPairsAtOnce) + (p * 128u))) + component;
        uint param = row;
        bool _2726 = !exists(param, push, first_row, group_size);
        bool _2734;
        if (!_2726)
        {
            _2734 = dimension >= push.head_dim_v;
        }
        else
        {
            _2734 = _2726;
        }
        if (_2734)
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
            v_2787.merged[(push.merged_at + (vector * push.head_dim_v)) + dimension] = sum / total;
            continue;
        }
        if (push.keeps_sums == 0u)
        {
            _2820 = sum / total;
        }
        else
        {
            _2820 = sum;
        }
        v_2805.result[(push.out_at + (vector * push.head_dim_v)) + dimension] = _2820;
        if ((push.keeps_sums != 0u) && (dimension == 0u))
        {
            v_2841.softmax[push.softmax_at + vector] = float2(largest[row], total);
        }
    }
}

static inline __attribute__((always_inline))
void store(thread const uint& part, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup float (&reduced)[_1690], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint& first_row, thread uint& group_size, thread uint& head_kv, threadgroup float (&largest)[kValues], thread spvUnsafeArray<float, kValues>& weight_sum, thread spvUnsafeArray<float2, _2225>& value_sum, threadgroup float4 (&weights)[_2244], thread spvUnsafeArray<uint, kPairsOfLane>& damaged, thread bool& is_only_part, device Merged& v_2787, volatile device Out& v_2805, volatile device Softmax& v_2841)
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
            store_sums(param_4, param_5, param_6, push, gl_LocalInvocationID, reduced, gl_NumSubgroups, first_row, group_size, head_kv, largest, weights, is_only_part, v_2787, v_2805, v_2841);
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
    }
}

static inline __attribute__((always_inline))
float2 softmax_of_part(thread const uint& part, thread const uint& vector, constant Push& push, volatile device Softmax& v_2841)
{
    return v_2841.softmax[(push.softmax_at + ((part * push.n_tokens) * push.n_head)) + vector];
}

static inline __attribute__((always_inline))
float sum_of_part(thread const uint& part, thread const uint& vector, thread const uint& dimension, constant Push& push, volatile device Out& v_2805)
{
    return v_2805.result[(push.out_at + ((((part * push.n_tokens) * push.n_head) + vector) * push.head_dim_v)) + dimension];
}

static inline __attribute__((always_inline))
float put_together(thread const uint& vector, thread const uint& dimension, thread const uint& n_parts, constant Push& push, volatile device Out& v_2805, volatile device Softmax& v_2841)
{
    uint param = 0u;
    uint param_1 = vector;
    float largest = softmax_of_part(param, param_1, push, v_2841).x;
    spvUnsafeArray<float, 8> scores;
    for (uint first = 1u; first < n_parts; first += 8u)
    {
        for (uint i = 0u; i < 8u; i++)
        {
            uint param_2 = min((first + i), (n_parts - 1u));
            uint param_3 = vector;
            scores[i] = softmax_of_part(param_2, param_3, push, v_2841).x;
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
    float _3058;
    for (uint first_1 = 0u; first_1 < n_parts; first_1 += 8u)
    {
        for (uint i_2 = 0u; i_2 < 8u; i_2++)
        {
            uint part = min((first_1 + i_2), (n_parts - 1u));
            uint param_4 = part;
            uint param_5 = vector;
            softmaxes[i_2] = softmax_of_part(param_4, param_5, push, v_2841);
            uint param_6 = part;
            uint param_7 = vector;
            uint param_8 = dimension;
            sums[i_2] = sum_of_part(param_6, param_7, param_8, push, v_2805);
        }
        for (uint i_3 = 0u; i_3 < 8u; i_3++)
        {
            if ((first_1 + i_3) >= n_parts)
            {
                break;
            }
            if (softmaxes[i_3].x == largest)
            {
                _3058 = 1.0;
            }
            else
            {
                _3058 = exp(softmaxes[i_3].x - largest);
            }
            float weight = _3058;
            sum += (weight * sums[i_3]);
            weight_sum += (weight * softmaxes[i_3].y);
        }
    }
    return sum / weight_sum;
}

static inline __attribute__((always_inline))
void merge(thread const uint& n_parts, constant Push& push, thread uint3& gl_LocalInvocationID, thread uint& first_row, thread uint& group_size, thread uint& head_kv, device Merged& v_2787, volatile device Out& v_2805, volatile device Softmax& v_2841, thread uint3& gl_WorkGroupID, thread uint3& gl_NumWorkGroups, threadgroup uint& n_done_before, volatile device Done& v_3113)
{
    threadgroup_barrier(mem_flags::mem_device);
    uint tile = (gl_WorkGroupID.y * gl_NumWorkGroups.x) + gl_WorkGroupID.x;
    if (gl_LocalInvocationID.x == 0u)
    {
        uint _3116 = atomic_fetch_add_explicit((volatile device atomic_uint*)&v_3113.n_done[tile], 1u, memory_order_relaxed);
        n_done_before = _3116;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if ((n_done_before + 1u) < n_parts)
    {
        return;
    }
    threadgroup_barrier(mem_flags::mem_device);
    if (gl_LocalInvocationID.x == 0u)
    {
        v_3113.n_done[tile] = 0u;
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
        v_2787.merged[(push.merged_at + (vector * push.head_dim_v)) + dimension] = put_together(param_2, param_3, param_4, push, v_2805, v_2841);
    }
}

kernel void attention_compressed(const device KvWords& v_327 [[buffer(0)]], constant Push& push [[buffer(30)]], const device KvQuads& v_1426 [[buffer(1)]], const device PageTable& v_1919 [[buffer(2)]], const device Seq& v_3234 [[buffer(3)]], const device Pos& v_2537 [[buffer(4)]], const device Q& v_1857 [[buffer(5)]], volatile device Out& v_2805 [[buffer(6)]], volatile device Softmax& v_2841 [[buffer(7)]], const device First& v_2517 [[buffer(8)]], const device Constants& v_495 [[buffer(9)]], const device MainPages& v_1543 [[buffer(10)]], volatile device Done& v_3113 [[buffer(11)]], device Merged& v_2787 [[buffer(12)]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]], uint gl_SubgroupID [[simdgroup_index_in_threadgroup]], uint gl_NumSubgroups [[simdgroups_per_threadgroup]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]])
{
    threadgroup float v_levels[kVLevels];
    threadgroup float residual_signs[_523];
    threadgroup float k_levels[kKLevels];
    threadgroup float reduced[_1690];
    threadgroup int first_seen[kValues];
    threadgroup int last_seen[kValues];
    threadgroup float4 q_tile[_1878];
    threadgroup uint v_rows[128];
    threadgroup float largest[kValues];
    threadgroup float shrink[kValues];
    threadgroup float4 weights[_2244];
    threadgroup uint n_done_before;
    uint head_kv = gl_WorkGroupID.y;
    uint group_size = push.n_head / push.n_head_kv;
    uint first_row = gl_WorkGroupID.x * kValues;
    uint part = gl_WorkGroupID.z;
    spvUnsafeArray<float, kValues> weight_sum;
    spvUnsafeArray<float2, _2225> value_sum;
    spvUnsafeArray<uint, kPairsOfLane> damaged;
    bool is_careful;
    bool is_only_part;
    uint _3501;
    if (kMerges)
    {
        _3501 = parts_of_tile(push, v_1543, first_row, group_size, v_2537, v_3234);
    }
    else
    {
        _3501 = push.n_parts;
    }
    uint n_parts = _3501;
    if (part >= n_parts)
    {
        return;
    }
    is_only_part = kMerges && (n_parts == 1u);
    for (uint p = 0u; p < kPairsOfLane; p++)
    {
        damaged[p] = 0u;
    }
    load_q_tile(push, gl_LocalInvocationID, first_row, group_size, head_kv, v_1857, q_tile);
    load_levels(gl_LocalInvocationID, v_levels, v_495, residual_signs, k_levels);
    is_careful = false;
    for (;;)
    {
        uint param = part;
        sum_up(param, v_327, push, gl_LocalInvocationID, v_levels, residual_signs, k_levels, v_1426, v_1543, reduced, gl_SubgroupID, gl_NumSubgroups, first_row, group_size, head_kv, first_seen, last_seen, q_tile, v_1919, v_rows, largest, shrink, weight_sum, value_sum, weights, damaged, is_careful, v_2517, v_2537, v_3234);
        bool _3545;
        if (!is_careful)
        {
            bool _3543 = are_sums_damaged(reduced, gl_SubgroupID, gl_NumSubgroups, value_sum);
            _3545 = !_3543;
        }
        else
        {
            _3545 = is_careful;
        }
        if (_3545)
        {
            break;
        }
        is_careful = true;
        continue;
    }
    uint param_1 = part;
    store(param_1, push, gl_LocalInvocationID, reduced, gl_SubgroupID, gl_NumSubgroups, first_row, group_size, head_kv, largest, weight_sum, value_sum, weights, damaged, is_only_part, v_2787, v_2805, v_2841);
    if (kMerges && (!is_only_part))
    {
        uint param_2 = n_parts;
        merge(param_2, push, gl_LocalInvocationID, first_row, group_size, head_kv, v_2787, v_2805, v_2841, gl_WorkGroupID, gl_NumWorkGroups, n_done_before, v_3113);
    }
}

