// src/kernels/vulkan/matmul_row.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
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

struct Run
{
    spvUnsafeArray<uint, 8> codes;
    float2 _step;
    float2 minimum;
};

#ifndef SPIRV_CROSS_CONSTANT_ID_10
#define SPIRV_CROSS_CONSTANT_ID_10 1u
#endif
constant uint kRows = SPIRV_CROSS_CONSTANT_ID_10;
#ifndef SPIRV_CROSS_CONSTANT_ID_12
#define SPIRV_CROSS_CONSTANT_ID_12 0u
#endif
constant uint kEnd = SPIRV_CROSS_CONSTANT_ID_12;
constant bool _211 = (kEnd == 2u);
constant int _214 = _211 ? 2 : 1;
constant uint kProducts = (uint(_214) + 0u);
constant uint kValues = (kRows * kProducts);

struct Product
{
    uint weight_at;
    uint bias_at;
    uint has_bias;
    uint n_out;
    uint out_at;
};

struct WeightWords
{
    uint weight_words[1];
};

struct WeightQuads
{
    uint4 weight_quads[1];
};

constant uint kIq4Values0_tmp [[function_constant(4)]];
constant uint kIq4Values0 = is_function_constant_defined(kIq4Values0_tmp) ? kIq4Values0_tmp : 0u;
constant uint kIq4Values1_tmp [[function_constant(5)]];
constant uint kIq4Values1 = is_function_constant_defined(kIq4Values1_tmp) ? kIq4Values1_tmp : 0u;
constant uint kIq4Values2_tmp [[function_constant(6)]];
constant uint kIq4Values2 = is_function_constant_defined(kIq4Values2_tmp) ? kIq4Values2_tmp : 0u;
constant uint kIq4Values3_tmp [[function_constant(7)]];
constant uint kIq4Values3 = is_function_constant_defined(kIq4Values3_tmp) ? kIq4Values3_tmp : 0u;
constant uint kType_tmp [[function_constant(0)]];
constant uint kType = is_function_constant_defined(kType_tmp) ? kType_tmp : 0u;
constant uint kBlockElements_tmp [[function_constant(2)]];
constant uint kBlockElements = is_function_constant_defined(kBlockElements_tmp) ? kBlockElements_tmp : 1u;
constant bool _1732 = (kBlockElements == 32u);
constant uint kBlockBytes_tmp [[function_constant(1)]];
constant uint kBlockBytes = is_function_constant_defined(kBlockBytes_tmp) ? kBlockBytes_tmp : 4u;
constant bool _1822 = (kType == 1u);
constant bool _1877 = (kType == 0u);
constant bool _1980 = (kType == 10u);
constant bool _1982 = (kType == 11u);
constant bool _1983 = (_1980 || _1982);
constant bool _1985 = (kType == 14u);
constant bool kStepsOfHalves = (_1983 || _1985);
#ifndef SPIRV_CROSS_CONSTANT_ID_8
#define SPIRV_CROSS_CONSTANT_ID_8 128u
#endif
constant uint kThreads = SPIRV_CROSS_CONSTANT_ID_8;
constant uint _2064 = (kThreads + 3u);
constant uint _2065 = (_2064 / 4u);
constant uint _2066 = (_2065 * kValues);

struct Product_1
{
    uint weight_at;
    uint bias_at;
    uint has_bias;
    uint n_out;
    uint out_at;
};

struct Push
{
    Product_1 products[4];
    uint n_products;
    uint row_bytes;
    uint n_in;
    uint x_at;
    uint norm_at;
    float eps;
    float smallest_magnitude;
    uint n_pieces;
};

struct X
{
    float x[1];
};

constant bool _2225 = (kType == 0u);
constant bool _2226 = (kType == 1u);
constant bool _2227 = (_2225 || _2226);
constant bool _2229 = (kType == 30u);
constant bool kIsFloat = (_2227 || _2229);
constant bool kIsNormed_tmp [[function_constant(11)]];
constant bool kIsNormed = is_function_constant_defined(kIsNormed_tmp) ? kIsNormed_tmp : false;

struct XQuads
{
    float4 x_quads[1];
};

struct NormQuads
{
    float4 norm_quads[1];
};

constant uint kLanes_tmp [[function_constant(9)]];
constant uint kLanes = is_function_constant_defined(kLanes_tmp) ? kLanes_tmp : 32u;
#ifndef SPIRV_CROSS_CONSTANT_ID_14
#define SPIRV_CROSS_CONSTANT_ID_14 2u
#endif
constant uint kHeld = SPIRV_CROSS_CONSTANT_ID_14;
#ifndef SPIRV_CROSS_CONSTANT_ID_13
#define SPIRV_CROSS_CONSTANT_ID_13 1u
#endif
constant uint kMostRuns = SPIRV_CROSS_CONSTANT_ID_13;
constant bool _2392 = (!kIsNormed);
constant uint _2414 = (2u * kMostRuns);
constant uint _2444 = (kHeld * kThreads);
constant bool _2569 = (kEnd == 2u);
constant uint kTeams = (kThreads / kLanes);
constant uint rows_of_piece = (kTeams * kRows);
constant bool _2599 = (kEnd == 2u);
constant bool _2670 = (kEnd == 1u);

struct Out
{
    float result[1];
};

constant uint _2696 = (kRows - 1u);
constant bool _2827 = (kMostRuns <= kLanes);
constant bool _3044 = (kEnd == 0u);
constant bool _3051 = (kEnd == 1u);
constant bool _3090 = (!kIsFloat);
constant bool _3098 = (!kIsFloat);
constant uint _3198_tmp [[function_constant(8)]];
constant uint _3198 = is_function_constant_defined(_3198_tmp) ? _3198_tmp : 1u;
constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(_3198, 1u, 1u);
constant bool kWholeQuads_tmp [[function_constant(3)]];
constant bool kWholeQuads = is_function_constant_defined(kWholeQuads_tmp) ? kWholeQuads_tmp : false;

struct Norm
{
    float norm[1];
};

static inline __attribute__((always_inline))
uint flat_group(thread uint3& gl_WorkGroupID, thread uint3& gl_NumWorkGroups)
{
    return (gl_WorkGroupID.y * gl_NumWorkGroups.x) + gl_WorkGroupID.x;
}

static inline __attribute__((always_inline))
bool find_rows(thread uint& piece, thread uint3& gl_LocalInvocationID, constant Push& push, thread uint& product, thread uint& first_row, thread spvUnsafeArray<uint, kValues>& rows_at)
{
    product = 0u;
    uint _2570;
    for (;;)
    {
        if (_2569)
        {
            _2570 = 1u;
        }
        else
        {
            _2570 = push.n_products;
        }
        if (product < _2570)
        {
            uint n_pieces = ((push.products[product].n_out + rows_of_piece) - 1u) / rows_of_piece;
            if (piece < n_pieces)
            {
                break;
            }
            piece -= n_pieces;
            product++;
            continue;
        }
        else
        {
            break;
        }
    }
    uint _2600;
    if (_2599)
    {
        _2600 = 1u;
    }
    else
    {
        _2600 = push.n_products;
    }
    if (product == _2600)
    {
        return false;
    }
    first_row = (piece * rows_of_piece) + ((gl_LocalInvocationID.x / kLanes) * kRows);
    Product of_row;
    for (uint i = 0u; i < kValues; i++)
    {
        uint _2632 = product + (i / kRows);
        of_row.weight_at = push.products[_2632].weight_at;
        of_row.bias_at = push.products[_2632].bias_at;
        of_row.has_bias = push.products[_2632].has_bias;
        of_row.n_out = push.products[_2632].n_out;
        of_row.out_at = push.products[_2632].out_at;
        rows_at[i] = of_row.weight_at + (min((first_row + (i % kRows)), (of_row.n_out - 1u)) * push.row_bytes);
    }
    return true;
}

static inline __attribute__((always_inline))
uint held_at(thread const uint& j, thread uint3& gl_LocalInvocationID)
{
    uint _2283;
    if (kIsFloat)
    {
        _2283 = (2u * (gl_LocalInvocationID.x % kLanes)) + j;
    }
    else
    {
        _2283 = gl_LocalInvocationID.x + (j * kThreads);
    }
    return _2283;
}

static inline __attribute__((always_inline))
void load_held(thread uint3& gl_LocalInvocationID, constant Push& push, const device XQuads& v_2252, const device NormQuads& v_2264, thread spvUnsafeArray<float4, kHeld>& held, thread spvUnsafeArray<float4, kHeld>& held_norm)
{
    for (uint j = 0u; j < kHeld; j++)
    {
        uint param = j;
        uint i = min(held_at(param, gl_LocalInvocationID), ((push.n_in / 4u) - 1u));
        held[j] = v_2252.x_quads[(push.x_at / 4u) + i];
        if (kIsNormed)
        {
            held_norm[j] = v_2264.norm_quads[(push.norm_at / 4u) + i];
        }
    }
}

static inline __attribute__((always_inline))
void unpack_8_floats(thread const uint4& pairs, thread float4& first, thread float4& last)
{
    if (_1822)
    {
        first = float4(float2(as_type<half2>(pairs.x)), float2(as_type<half2>(pairs.y)));
        last = float4(float2(as_type<half2>(pairs.z)), float2(as_type<half2>(pairs.w)));
    }
    else
    {
        first = as_type<float4>(uint4(pairs.x << uint(16), pairs.x & 4294901760u, pairs.y << uint(16), pairs.y & 4294901760u));
        last = as_type<float4>(uint4(pairs.z << uint(16), pairs.z & 4294901760u, pairs.w << uint(16), pairs.w & 4294901760u));
    }
}

static inline __attribute__((always_inline))
void load_8_floats(thread const uint& row, thread const uint& i, thread float4& first, thread float4& last, const device WeightQuads& v_773)
{
    if (_1877)
    {
        first = as_type<float4>(v_773.weight_quads[(row / 16u) + (2u * i)]);
        last = as_type<float4>(v_773.weight_quads[((row / 16u) + (2u * i)) + 1u]);
        return;
    }
    uint4 param = v_773.weight_quads[(row / 16u) + i];
    float4 param_1;
    float4 param_2;
    unpack_8_floats(param, param_1, param_2);
    first = param_1;
    last = param_2;
}

static inline __attribute__((always_inline))
uint n_runs(constant Push& push)
{
    return push.n_in / 32u;
}

static inline __attribute__((always_inline))
uint half_at(thread const uint& at, const device WeightWords& v_720)
{
    return (v_720.weight_words[at >> uint(2)] >> (8u * (at & 2u))) & 65535u;
}

static inline __attribute__((always_inline))
float f32_from_f16(thread const uint& half_bits)
{
    uint _sign = (half_bits & 32768u) << uint(16);
    uint magnitude = half_bits & 32767u;
    uint subnormal = as_type<uint>(float(magnitude) * 5.9604644775390625e-08);
    uint exponent_offset = (magnitude < 31744u) ? 939524096u : 1879048192u;
    uint _702;
    if (magnitude < 1024u)
    {
        _702 = subnormal;
    }
    else
    {
        _702 = (magnitude << uint(13)) + exponent_offset;
    }
    return as_type<float>(_sign | _702);
}

static inline __attribute__((always_inline))
void load_8_words(thread const uint& at, thread spvUnsafeArray<uint, 8>& loaded, const device WeightQuads& v_773)
{
    spvUnsafeArray<uint, 12> w;
    for (uint i = 0u; i < 3u; i++)
    {
        uint4 quad = v_773.weight_quads[min(((at >> uint(4)) + i), ((at + 31u) >> uint(4)))];
        for (uint j = 0u; j < 4u; j++)
        {
            w[(4u * i) + j] = quad[j];
        }
    }
    uint _824;
    for (uint i_1 = 0u; i_1 < 10u; i_1++)
    {
        if ((at & 8u) != 0u)
        {
            _824 = w[i_1 + 2u];
        }
        else
        {
            _824 = w[i_1];
        }
        w[i_1] = _824;
    }
    uint _852;
    for (uint i_2 = 0u; i_2 < 9u; i_2++)
    {
        if ((at & 4u) != 0u)
        {
            _852 = w[i_2 + 1u];
        }
        else
        {
            _852 = w[i_2];
        }
        w[i_2] = _852;
    }
    uint _879;
    for (uint i_3 = 0u; i_3 < 8u; i_3++)
    {
        if ((at & 2u) != 0u)
        {
            _879 = (w[i_3] >> uint(16)) | (w[i_3 + 1u] << uint(16));
        }
        else
        {
            _879 = w[i_3];
        }
        loaded[i_3] = _879;
    }
}

static inline __attribute__((always_inline))
void load_4_words(thread const uint& at, thread spvUnsafeArray<uint, 4>& loaded, const device WeightWords& v_720)
{
    spvUnsafeArray<uint, 5> aligned;
    for (uint i = 0u; i < 4u; i++)
    {
        aligned[i] = v_720.weight_words[(at >> uint(2)) + i];
    }
    aligned[4] = v_720.weight_words[(at + 15u) >> uint(2)];
    bool straddles = (at & 2u) != 0u;
    uint _944;
    for (uint i_1 = 0u; i_1 < 4u; i_1++)
    {
        if (straddles)
        {
            _944 = (aligned[i_1] >> uint(16)) | (aligned[i_1 + 1u] << uint(16));
        }
        else
        {
            _944 = aligned[i_1];
        }
        loaded[i_1] = _944;
    }
}

static inline __attribute__((always_inline))
void unpack_nibbles(thread const uint& at, thread spvUnsafeArray<uint, 8>& codes, const device WeightWords& v_720)
{
    uint param = at;
    spvUnsafeArray<uint, 4> param_1;
    load_4_words(param, param_1, v_720);
    spvUnsafeArray<uint, 4> q;
    q = param_1;
    for (uint i = 0u; i < 4u; i++)
    {
        codes[i] = q[i] & 252645135u;
        codes[i + 4u] = (q[i] >> uint(4)) & 252645135u;
    }
}

static inline __attribute__((always_inline))
uint word_at(thread const uint& at, const device WeightWords& v_720)
{
    uint first = v_720.weight_words[at >> uint(2)];
    uint last = v_720.weight_words[(at + 3u) >> uint(2)];
    uint _748;
    if ((at & 2u) == 0u)
    {
        _748 = first;
    }
    else
    {
        _748 = (first >> uint(16)) | (last << uint(16));
    }
    return _748;
}

static inline __attribute__((always_inline))
void add_fifth_bits(thread const uint& high, thread spvUnsafeArray<uint, 8>& codes)
{
    for (uint i = 0u; i < 8u; i++)
    {
        codes[i] |= ((((high >> (4u * i)) & 15u) * 33818640u) & 269488144u);
    }
}

static inline __attribute__((always_inline))
uint iq4_value(thread const uint& code)
{
    uint low = ((code & 4u) == 0u) ? kIq4Values0 : kIq4Values1;
    uint high = ((code & 4u) == 0u) ? kIq4Values2 : kIq4Values3;
    return ((((code & 8u) == 0u) ? low : high) >> (8u * (code & 3u))) & 255u;
}

static inline __attribute__((always_inline))
void look_up_iq4(thread spvUnsafeArray<uint, 8>& codes)
{
    for (uint i = 0u; i < 8u; i++)
    {
        uint param = codes[i] & 15u;
        uint param_1 = (codes[i] >> uint(8)) & 15u;
        uint param_2 = (codes[i] >> uint(16)) & 15u;
        uint param_3 = codes[i] >> uint(24);
        codes[i] = ((iq4_value(param) | (iq4_value(param_1) << uint(8))) | (iq4_value(param_2) << uint(16))) | (iq4_value(param_3) << uint(24));
    }
}

static inline __attribute__((always_inline))
void load_blocks_of_32(thread const uint& at, thread Run& run, const device WeightWords& v_720, const device WeightQuads& v_773)
{
    uint param = at;
    uint param_1 = half_at(param, v_720);
    float d = f32_from_f16(param_1);
    run._step = float2(d);
    switch (kType)
    {
        case 8u:
        {
            uint param_2 = at + 2u;
            spvUnsafeArray<uint, 8> param_3;
            load_8_words(param_2, param_3, v_773);
            run.codes = param_3;
            run.minimum = float2(0.0);
            break;
        }
        case 2u:
        {
            uint param_4 = at + 2u;
            spvUnsafeArray<uint, 8> param_5;
            param_5 = run.codes;
            unpack_nibbles(param_4, param_5, v_720);
            run.codes = param_5;
            run.minimum = float2((-8.0) * d);
            break;
        }
        case 3u:
        {
            uint param_6 = at + 4u;
            spvUnsafeArray<uint, 8> param_7;
            param_7 = run.codes;
            unpack_nibbles(param_6, param_7, v_720);
            run.codes = param_7;
            uint param_8 = at + 2u;
            uint param_9 = half_at(param_8, v_720);
            run.minimum = float2(f32_from_f16(param_9));
            break;
        }
        case 6u:
        {
            uint param_10 = at + 6u;
            spvUnsafeArray<uint, 8> param_11;
            param_11 = run.codes;
            unpack_nibbles(param_10, param_11, v_720);
            run.codes = param_11;
            uint param_12 = at + 2u;
            uint param_13 = word_at(param_12, v_720);
            spvUnsafeArray<uint, 8> param_14;
            param_14 = run.codes;
            add_fifth_bits(param_13, param_14);
            run.codes = param_14;
            run.minimum = float2((-16.0) * d);
            break;
        }
        case 7u:
        {
            uint param_15 = at + 8u;
            spvUnsafeArray<uint, 8> param_16;
            param_16 = run.codes;
            unpack_nibbles(param_15, param_16, v_720);
            run.codes = param_16;
            uint param_17 = at + 4u;
            uint param_18 = word_at(param_17, v_720);
            spvUnsafeArray<uint, 8> param_19;
            param_19 = run.codes;
            add_fifth_bits(param_18, param_19);
            run.codes = param_19;
            uint param_20 = at + 2u;
            uint param_21 = half_at(param_20, v_720);
            run.minimum = float2(f32_from_f16(param_21));
            break;
        }
        case 20u:
        {
            uint param_22 = at + 2u;
            spvUnsafeArray<uint, 8> param_23;
            param_23 = run.codes;
            unpack_nibbles(param_22, param_23, v_720);
            run.codes = param_23;
            spvUnsafeArray<uint, 8> param_24;
            param_24 = run.codes;
            look_up_iq4(param_24);
            run.codes = param_24;
            run.minimum = float2(0.0);
            break;
        }
    }
}

static inline __attribute__((always_inline))
void load_q2_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_720, const device WeightQuads& v_773)
{
    uint param = (at + 16u) + (32u * (r / 4u));
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_773);
    run.codes = param_1;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = (run.codes[i] >> (2u * (r % 4u))) & 50529027u;
    }
    uint param_2 = at + (2u * r);
    uint scales = half_at(param_2, v_720);
    uint param_3 = at + 80u;
    uint param_4 = half_at(param_3, v_720);
    run._step = float2(float(scales & 15u), float((scales >> uint(8)) & 15u)) * f32_from_f16(param_4);
    uint param_5 = at + 82u;
    uint param_6 = half_at(param_5, v_720);
    run.minimum = float2(float((scales >> uint(4)) & 15u), float(scales >> uint(12))) * (-f32_from_f16(param_6));
}

static inline __attribute__((always_inline))
void load_q3_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_720, const device WeightQuads& v_773)
{
    uint param = at;
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_773);
    spvUnsafeArray<uint, 8> high;
    high = param_1;
    uint param_2 = (at + 32u) + (32u * (r / 4u));
    spvUnsafeArray<uint, 8> param_3;
    load_8_words(param_2, param_3, v_773);
    run.codes = param_3;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = ((run.codes[i] >> (2u * (r % 4u))) & 50529027u) | (((high[i] >> r) & 16843009u) << uint(2));
    }
    uint param_4 = (at + 96u) + ((2u * r) % 8u);
    uint low_bits = half_at(param_4, v_720) >> (4u * (r / 4u));
    uint param_5 = (at + 104u) + ((2u * r) % 4u);
    uint high_bits = half_at(param_5, v_720) >> (2u * (r / 2u));
    uint scales = (low_bits & 3855u) | ((high_bits & 771u) << uint(4));
    uint param_6 = at + 108u;
    uint param_7 = half_at(param_6, v_720);
    run._step = (float2(float(scales & 255u), float(scales >> uint(8))) - float2(32.0)) * f32_from_f16(param_7);
    run.minimum = run._step * (-4.0);
}

static inline __attribute__((always_inline))
void load_k_scales(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_720)
{
    uint shift = 8u * (r % 4u);
    uint param = at + 4u;
    uint steps = word_at(param, v_720) >> shift;
    uint param_1 = at + 8u;
    uint minimums = word_at(param_1, v_720) >> shift;
    uint param_2 = at + 12u;
    uint low_bits = word_at(param_2, v_720) >> shift;
    bool is_whole = r < 4u;
    uint _1258;
    if (is_whole)
    {
        _1258 = steps & 63u;
    }
    else
    {
        _1258 = (low_bits & 15u) | (((steps >> uint(6)) & 3u) << uint(4));
    }
    uint _step = _1258;
    uint _1276;
    if (is_whole)
    {
        _1276 = minimums & 63u;
    }
    else
    {
        _1276 = ((low_bits >> uint(4)) & 15u) | (((minimums >> uint(6)) & 3u) << uint(4));
    }
    uint minimum = _1276;
    uint param_3 = at;
    uint block_steps = word_at(param_3, v_720);
    uint param_4 = block_steps & 65535u;
    run._step = float2(f32_from_f16(param_4) * float(_step));
    uint param_5 = block_steps >> uint(16);
    run.minimum = float2((-f32_from_f16(param_5)) * float(minimum));
}

static inline __attribute__((always_inline))
void load_q4_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_720, const device WeightQuads& v_773)
{
    uint param = (at + 16u) + (32u * (r / 2u));
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_773);
    run.codes = param_1;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = (run.codes[i] >> (4u * (r % 2u))) & 252645135u;
    }
    uint param_2 = at;
    uint param_3 = r;
    Run param_4 = run;
    load_k_scales(param_2, param_3, param_4, v_720);
    run = param_4;
}

static inline __attribute__((always_inline))
void load_q5_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_720, const device WeightQuads& v_773)
{
    uint param = at + 16u;
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_773);
    spvUnsafeArray<uint, 8> high;
    high = param_1;
    uint param_2 = (at + 48u) + (32u * (r / 2u));
    spvUnsafeArray<uint, 8> param_3;
    load_8_words(param_2, param_3, v_773);
    run.codes = param_3;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = ((run.codes[i] >> (4u * (r % 2u))) & 252645135u) | (((high[i] >> r) & 16843009u) << uint(4));
    }
    uint param_4 = at;
    uint param_5 = r;
    Run param_6 = run;
    load_k_scales(param_4, param_5, param_6, v_720);
    run = param_6;
}

static inline __attribute__((always_inline))
void load_q6_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_720, const device WeightQuads& v_773)
{
    uint k = r % 4u;
    uint param = (at + 128u) + (32u * (r / 4u));
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_773);
    spvUnsafeArray<uint, 8> high;
    high = param_1;
    uint param_2 = (at + (64u * (r / 4u))) + (32u * (k % 2u));
    spvUnsafeArray<uint, 8> param_3;
    load_8_words(param_2, param_3, v_773);
    run.codes = param_3;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = ((run.codes[i] >> (4u * (k / 2u))) & 252645135u) | (((high[i] >> (2u * k)) & 50529027u) << uint(4));
    }
    uint param_4 = (at + 192u) + (2u * r);
    int scales = int(half_at(param_4, v_720));
    uint param_5 = at + 208u;
    uint param_6 = half_at(param_5, v_720);
    run._step = float2(float(extract_bits(scales, uint(0), uint(8))), float(extract_bits(scales, uint(8), uint(8)))) * f32_from_f16(param_6);
    run.minimum = run._step * (-32.0);
}

static inline __attribute__((always_inline))
void load_iq4_xs(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_720)
{
    uint param = (at + 8u) + (16u * r);
    spvUnsafeArray<uint, 8> param_1;
    param_1 = run.codes;
    unpack_nibbles(param, param_1, v_720);
    run.codes = param_1;
    spvUnsafeArray<uint, 8> param_2;
    param_2 = run.codes;
    look_up_iq4(param_2);
    run.codes = param_2;
    uint param_3 = at;
    uint head = word_at(param_3, v_720);
    uint param_4 = at + 4u;
    uint _step = ((word_at(param_4, v_720) >> (4u * r)) & 15u) | (((head >> (16u + (2u * r))) & 3u) << uint(4));
    uint param_5 = head & 65535u;
    run._step = float2(f32_from_f16(param_5) * (float(_step) - 32.0));
    run.minimum = float2(0.0);
}

static inline __attribute__((always_inline))
Run load_run(thread const uint& row, thread const uint& index, const device WeightWords& v_720, const device WeightQuads& v_773)
{
    Run run;
    if (_1732)
    {
        uint param = row + (index * kBlockBytes);
        Run param_1 = run;
        load_blocks_of_32(param, param_1, v_720, v_773);
        run = param_1;
        return run;
    }
    uint at = row + ((index / 8u) * kBlockBytes);
    uint r = index % 8u;
    switch (kType)
    {
        case 10u:
        {
            uint param_2 = at;
            uint param_3 = r;
            Run param_4 = run;
            load_q2_k(param_2, param_3, param_4, v_720, v_773);
            run = param_4;
            break;
        }
        case 11u:
        {
            uint param_5 = at;
            uint param_6 = r;
            Run param_7 = run;
            load_q3_k(param_5, param_6, param_7, v_720, v_773);
            run = param_7;
            break;
        }
        case 12u:
        {
            uint param_8 = at;
            uint param_9 = r;
            Run param_10 = run;
            load_q4_k(param_8, param_9, param_10, v_720, v_773);
            run = param_10;
            break;
        }
        case 13u:
        {
            uint param_11 = at;
            uint param_12 = r;
            Run param_13 = run;
            load_q5_k(param_11, param_12, param_13, v_720, v_773);
            run = param_13;
            break;
        }
        case 14u:
        {
            uint param_14 = at;
            uint param_15 = r;
            Run param_16 = run;
            load_q6_k(param_14, param_15, param_16, v_720, v_773);
            run = param_16;
            break;
        }
        case 23u:
        {
            uint param_17 = at;
            uint param_18 = r;
            Run param_19 = run;
            load_iq4_xs(param_17, param_18, param_19, v_720);
            run = param_19;
            break;
        }
    }
    return run;
}

static inline __attribute__((always_inline))
void load_first(thread const uint& lane, const device WeightWords& v_720, const device WeightQuads& v_773, constant Push& push, thread uint& product, thread uint& first_row, thread spvUnsafeArray<uint, kValues>& rows_at, thread float& before, device Out& v_2691, thread spvUnsafeArray<float4, kValues>& first_low, thread spvUnsafeArray<float4, kValues>& first_high, thread spvUnsafeArray<Run, kValues>& first_runs)
{
    if (_2670)
    {
        Product of_row;
        of_row.weight_at = push.products[product].weight_at;
        of_row.bias_at = push.products[product].bias_at;
        of_row.has_bias = push.products[product].has_bias;
        of_row.n_out = push.products[product].n_out;
        of_row.out_at = push.products[product].out_at;
        before = v_2691.result[of_row.out_at + min((first_row + min(lane, _2696)), (of_row.n_out - 1u))];
    }
    float4 param_2;
    float4 param_3;
    for (uint r = 0u; r < kValues; r++)
    {
        if (kIsFloat)
        {
            uint param = rows_at[r];
            uint param_1 = min(lane, ((push.n_in / 8u) - 1u));
            load_8_floats(param, param_1, param_2, param_3, v_773);
            first_low[r] = param_2;
            first_high[r] = param_3;
        }
        else
        {
            uint param_4 = rows_at[r];
            uint param_5 = min(lane, (n_runs(push) - 1u));
            first_runs[r] = load_run(param_4, param_5, v_720, v_773);
        }
    }
}

static inline __attribute__((always_inline))
void clear_magnitudes(thread uint3& gl_LocalInvocationID, threadgroup uint (&largest)[kMostRuns])
{
    for (uint i = gl_LocalInvocationID.x; i < kMostRuns; i += kThreads)
    {
        largest[i] = 0u;
    }
    if (_2392)
    {
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

static inline __attribute__((always_inline))
float added_square(thread const float& sum, thread const float& value)
{
    float square = spvFMul(value, value);
    float added = spvFAdd(sum, square);
    return added;
}

static inline __attribute__((always_inline))
void add_up(thread const spvUnsafeArray<float, kValues>& values, thread const uint& n_values, thread const uint& n_lanes, threadgroup float (&team_reduced)[_2066], thread uint& gl_SubgroupID)
{
    spvUnsafeArray<float, kValues> results;
    for (uint i = 0u; i < kValues; i++)
    {
        if (i < n_values)
        {
            results[i] = simd_sum(values[i]);
        }
    }
    bool _2047 = simd_is_first();
    if (_2047)
    {
        for (uint i_1 = 0u; i_1 < kValues; i_1++)
        {
            if (i_1 < n_values)
            {
                team_reduced[(gl_SubgroupID * kValues) + i_1] = results[i_1];
            }
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

static inline __attribute__((always_inline))
float sum_of_team(thread const uint& team, thread const uint& i, thread const uint& n_lanes, threadgroup float (&team_reduced)[_2066], thread uint& gl_NumSubgroups)
{
    uint n_parts = (gl_NumSubgroups * n_lanes) / kThreads;
    float sum = 0.0;
    spvUnsafeArray<float, 4> parts;
    for (uint first = 0u; first < n_parts; first += 4u)
    {
        for (uint j = 0u; j < 4u; j++)
        {
            parts[j] = team_reduced[(((team * n_parts) + min((first + j), (n_parts - 1u))) * kValues) + i];
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
void find_scale(thread float& scale, threadgroup float (&team_reduced)[_2066], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint3& gl_LocalInvocationID, constant Push& push, const device X& v_2191)
{
    spvUnsafeArray<float, kValues> values;
    for (uint i = 0u; i < kValues; i++)
    {
        values[i] = 0.0;
    }
    for (uint i_1 = gl_LocalInvocationID.x; i_1 < push.n_in; i_1 += kThreads)
    {
        float param = values[0];
        float param_1 = v_2191.x[push.x_at + i_1];
        values[0] = added_square(param, param_1);
    }
    spvUnsafeArray<float, kValues> param_2;
    param_2 = values;
    uint param_3 = 1u;
    uint param_4 = kThreads;
    add_up(param_2, param_3, param_4, team_reduced, gl_SubgroupID);
    uint param_5 = 0u;
    uint param_6 = 0u;
    uint param_7 = kThreads;
    float param_8 = sum_of_team(param_5, param_6, param_7, team_reduced, gl_NumSubgroups);
    uint param_9 = push.n_in;
    float param_10 = push.eps;
    scale = norm_scale(param_8, param_9, param_10);
    if (kIsFloat)
    {
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

static inline __attribute__((always_inline))
float4 normalised(thread const float4& values, thread const float& scale, thread const float4& weights)
{
    float4 scaled = values * scale;
    float4 weighed = spvFMul(scaled, weights);
    return weighed;
}

static inline __attribute__((always_inline))
float4 with_norm(thread const float4& quad, thread const float4& norm_quad, thread float& scale)
{
    float4 _2234;
    if (kIsNormed)
    {
        float4 param = quad;
        float param_1 = scale;
        float4 param_2 = norm_quad;
        _2234 = normalised(param, param_1, param_2);
    }
    else
    {
        _2234 = quad;
    }
    return _2234;
}

static inline __attribute__((always_inline))
void norm_held(thread float& scale, thread spvUnsafeArray<float4, kHeld>& held, thread spvUnsafeArray<float4, kHeld>& held_norm)
{
    for (uint j = 0u; j < kHeld; j++)
    {
        float4 param = held[j];
        float4 param_1 = held_norm[j];
        held[j] = with_norm(param, param_1, scale);
    }
}

static inline __attribute__((always_inline))
uint4 magnitude_bits(thread const float4& values)
{
    return as_type<uint4>(values) & uint4(2147483647u);
}

static inline __attribute__((always_inline))
void note_magnitude(thread const uint& i, thread const float4& quad, threadgroup uint (&largest)[kMostRuns])
{
    float4 param = quad;
    uint4 magnitudes = magnitude_bits(param);
    uint _2413 = atomic_fetch_max_explicit((threadgroup atomic_uint*)&largest[i / 8u], max(max(magnitudes.x, magnitudes.y), max(magnitudes.z, magnitudes.w)), memory_order_relaxed);
}

static inline __attribute__((always_inline))
float4 quad_of_token(thread const uint& i, thread float& scale, constant Push& push, const device XQuads& v_2252, const device NormQuads& v_2264)
{
    float4 _2258;
    if (kIsNormed)
    {
        _2258 = v_2264.norm_quads[(push.norm_at / 4u) + i];
    }
    else
    {
        _2258 = float4(0.0);
    }
    float4 param = v_2252.x_quads[(push.x_at / 4u) + i];
    float4 param_1 = _2258;
    return with_norm(param, param_1, scale);
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
bool is_ordinary(thread const float& value)
{
    bool _518 = value != 0.0;
    bool _524;
    if (_518)
    {
        float param = value;
        _524 = is_finite(param);
    }
    else
    {
        _524 = _518;
    }
    return _524;
}

static inline __attribute__((always_inline))
float upper_part(thread const float& value)
{
    return as_type<float>(as_type<uint>(value) & 4294963200u);
}

static inline __attribute__((always_inline))
float divided(thread const float& a, thread const float& b)
{
    float quotient = a / b;
    float param = quotient;
    bool _534 = !is_ordinary(param);
    bool _542;
    if (!_534)
    {
        float param_1 = b;
        _542 = !is_ordinary(param_1);
    }
    else
    {
        _542 = _534;
    }
    if (_542)
    {
        return quotient;
    }
    float param_2 = quotient;
    float q = upper_part(param_2);
    float param_3 = b;
    float m = upper_part(param_3);
    float q_rest = spvFSub(quotient, q);
    float m_rest = spvFSub(b, m);
    float residual = spvFSub(spvFSub(spvFSub(spvFSub(a, spvFMul(q, m)), spvFMul(q, m_rest)), spvFMul(q_rest, m)), spvFMul(q_rest, m_rest));
    float corrected = spvFAdd(quotient, residual / b);
    return corrected;
}

static inline __attribute__((always_inline))
float inverse_step(thread const uint& most, thread const float& smallest_magnitude)
{
    float param = smallest_magnitude;
    float _595;
    if (most < magnitude_bits(param))
    {
        _595 = 0.0;
    }
    else
    {
        float param_1 = 127.0;
        float param_2 = as_type<float>(most);
        _595 = divided(param_1, param_2);
    }
    return _595;
}

static inline __attribute__((always_inline))
int4 codes_of(thread const float4& values, thread const float& _inverse)
{
    float4 scaled = values * _inverse;
    return int4(rint(scaled));
}

static inline __attribute__((always_inline))
uint _packed(thread const int4& codes)
{
    uint4 bits = uint4(codes & int4(255)) << uint4(0u, 8u, 16u, 24u);
    return ((bits.x | bits.y) | bits.z) | bits.w;
}

static inline __attribute__((always_inline))
void put_codes(thread const uint& i, thread const float4& quad, constant Push& push, threadgroup uint (&largest)[kMostRuns], threadgroup uint4 (&codes)[_2414])
{
    uint param = largest[i / 8u];
    float param_1 = push.smallest_magnitude;
    float4 param_2 = quad;
    float param_3 = inverse_step(param, param_1);
    int4 param_4 = codes_of(param_2, param_3);
    ((threadgroup uint*)&codes[i / 4u])[i % 4u] = _packed(param_4);
}

static inline __attribute__((always_inline))
void round_token(thread float& scale, thread uint3& gl_LocalInvocationID, constant Push& push, const device XQuads& v_2252, const device NormQuads& v_2264, thread spvUnsafeArray<float4, kHeld>& held, threadgroup uint (&largest)[kMostRuns], threadgroup uint4 (&codes)[_2414])
{
    uint n_quads = 8u * n_runs(push);
    uint first_loaded = gl_LocalInvocationID.x + _2444;
    for (uint j = 0u; j < kHeld; j++)
    {
        uint param = j;
        if (held_at(param, gl_LocalInvocationID) < n_quads)
        {
            uint param_1 = j;
            uint param_2 = held_at(param_1, gl_LocalInvocationID);
            float4 param_3 = held[j];
            note_magnitude(param_2, param_3, largest);
        }
    }
    for (uint i = first_loaded; i < n_quads; i += kThreads)
    {
        uint param_4 = i;
        uint param_5 = i;
        float4 param_6 = quad_of_token(param_4, scale, push, v_2252, v_2264);
        note_magnitude(param_5, param_6, largest);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j_1 = 0u; j_1 < kHeld; j_1++)
    {
        uint param_7 = j_1;
        if (held_at(param_7, gl_LocalInvocationID) < n_quads)
        {
            uint param_8 = j_1;
            uint param_9 = held_at(param_8, gl_LocalInvocationID);
            float4 param_10 = held[j_1];
            put_codes(param_9, param_10, push, largest, codes);
        }
    }
    for (uint i_1 = first_loaded; i_1 < n_quads; i_1 += kThreads)
    {
        uint param_11 = i_1;
        uint param_12 = i_1;
        float4 param_13 = quad_of_token(param_11, scale, push, v_2252, v_2264);
        put_codes(param_12, param_13, push, largest, codes);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

static inline __attribute__((always_inline))
void make_token_ready(thread float& scale, threadgroup float (&team_reduced)[_2066], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread uint3& gl_LocalInvocationID, constant Push& push, const device X& v_2191, const device XQuads& v_2252, const device NormQuads& v_2264, thread spvUnsafeArray<float4, kHeld>& held, thread spvUnsafeArray<float4, kHeld>& held_norm, threadgroup uint (&largest)[kMostRuns], threadgroup uint4 (&codes)[_2414])
{
    if (_3090)
    {
        clear_magnitudes(gl_LocalInvocationID, largest);
    }
    if (kIsNormed)
    {
        find_scale(scale, team_reduced, gl_SubgroupID, gl_NumSubgroups, gl_LocalInvocationID, push, v_2191);
    }
    norm_held(scale, held, held_norm);
    if (_3098)
    {
        round_token(scale, gl_LocalInvocationID, push, v_2252, v_2264, held, largest, codes);
    }
}

static inline __attribute__((always_inline))
void add_quads(thread const float4& x_low, thread const float4& x_high, thread const spvUnsafeArray<float4, kValues>& low, thread const spvUnsafeArray<float4, kValues>& high, thread spvUnsafeArray<float, kValues>& sums)
{
    for (uint r = 0u; r < kValues; r++)
    {
        sums[r] += (dot(low[r], x_low) + dot(high[r], x_high));
    }
}

static inline __attribute__((always_inline))
void multiply_quads(thread const uint& lane, thread spvUnsafeArray<float, kValues>& sums, thread float& scale, const device WeightQuads& v_773, constant Push& push, const device XQuads& v_2252, const device NormQuads& v_2264, thread spvUnsafeArray<float4, kHeld>& held, thread spvUnsafeArray<uint, kValues>& rows_at, thread spvUnsafeArray<float4, kValues>& first_low, thread spvUnsafeArray<float4, kValues>& first_high)
{
    if (lane < (push.n_in / 8u))
    {
        float4 param = held[0];
        float4 param_1 = held[1];
        spvUnsafeArray<float4, kValues> param_2;
        param_2 = first_low;
        spvUnsafeArray<float4, kValues> param_3;
        param_3 = first_high;
        spvUnsafeArray<float, kValues> param_4;
        param_4 = sums;
        add_quads(param, param_1, param_2, param_3, param_4);
        sums = param_4;
    }
    uint _2921 = lane + kLanes;
    spvUnsafeArray<float4, kValues> low;
    spvUnsafeArray<float4, kValues> high;
    float4 param_7;
    float4 param_8;
    for (uint i = _2921; i < (push.n_in / 8u); i += kLanes)
    {
        for (uint r = 0u; r < kValues; r++)
        {
            uint param_5 = rows_at[r];
            uint param_6 = i;
            load_8_floats(param_5, param_6, param_7, param_8, v_773);
            low[r] = param_7;
            high[r] = param_8;
        }
        uint param_9 = 2u * i;
        uint param_10 = (2u * i) + 1u;
        float4 param_11 = quad_of_token(param_9, scale, push, v_2252, v_2264);
        float4 param_12 = quad_of_token(param_10, scale, push, v_2252, v_2264);
        spvUnsafeArray<float4, kValues> param_13;
        param_13 = low;
        spvUnsafeArray<float4, kValues> param_14;
        param_14 = high;
        spvUnsafeArray<float, kValues> param_15;
        param_15 = sums;
        add_quads(param_11, param_12, param_13, param_14, param_15);
        sums = param_15;
    }
}

static inline __attribute__((always_inline))
float step_of(thread const uint& most, thread const float& smallest_magnitude)
{
    float param = smallest_magnitude;
    float _613;
    if (most < magnitude_bits(param))
    {
        _613 = 0.0;
    }
    else
    {
        _613 = as_type<float>(most) / 127.0;
    }
    return _613;
}

static inline __attribute__((always_inline))
int dot4(thread const uint& a, thread const uint& b)
{
    int sum = 0;
    for (int shift = 0; shift < 32; shift += 8)
    {
        sum += (extract_bits(int(a), uint(shift), uint(8)) * extract_bits(int(b), uint(shift), uint(8)));
    }
    return sum;
}

static inline __attribute__((always_inline))
int sum_of_codes(thread const uint4& words)
{
    uint param = words.x;
    uint param_1 = 16843009u;
    uint param_2 = words.y;
    uint param_3 = 16843009u;
    uint param_4 = words.z;
    uint param_5 = 16843009u;
    uint param_6 = words.w;
    uint param_7 = 16843009u;
    return ((dot4(param, param_1) + dot4(param_2, param_3)) + dot4(param_4, param_5)) + dot4(param_6, param_7);
}

static inline __attribute__((always_inline))
float4 scales_of(thread const float& _step, thread const int& first, thread const int& last)
{
    return float4(_step, float3(float(first), float(last), float(first + last)) * _step);
}

static inline __attribute__((always_inline))
float run_product(thread const Run& run, thread const uint4& low, thread const uint4& high, thread const float4& scales)
{
    spvUnsafeArray<uint, 8> w;
    w = run.codes;
    uint param = w[0];
    uint param_1 = low.x;
    uint param_2 = w[1];
    uint param_3 = low.y;
    uint param_4 = w[2];
    uint param_5 = low.z;
    uint param_6 = w[3];
    uint param_7 = low.w;
    int first = ((dot4(param, param_1) + dot4(param_2, param_3)) + dot4(param_4, param_5)) + dot4(param_6, param_7);
    uint param_8 = w[4];
    uint param_9 = high.x;
    uint param_10 = w[5];
    uint param_11 = high.y;
    uint param_12 = w[6];
    uint param_13 = high.z;
    uint param_14 = w[7];
    uint param_15 = high.w;
    int last = ((dot4(param_8, param_9) + dot4(param_10, param_11)) + dot4(param_12, param_13)) + dot4(param_14, param_15);
    if (kStepsOfHalves)
    {
        return (scales.x * dot(run._step, float2(float(first), float(last)))) + dot(run.minimum, scales.yz);
    }
    return ((scales.x * run._step.x) * float(first + last)) + (run.minimum.x * scales.w);
}

static inline __attribute__((always_inline))
void add_runs(thread const uint& i, thread const spvUnsafeArray<Run, kValues>& runs, thread spvUnsafeArray<float, kValues>& sums, constant Push& push, threadgroup uint (&largest)[kMostRuns], threadgroup uint4 (&codes)[_2414])
{
    uint4 low = codes[2u * i];
    uint4 high = codes[(2u * i) + 1u];
    uint param = largest[i];
    float param_1 = push.smallest_magnitude;
    uint4 param_2 = low;
    uint4 param_3 = high;
    float param_4 = step_of(param, param_1);
    int param_5 = sum_of_codes(param_2);
    int param_6 = sum_of_codes(param_3);
    float4 scales = scales_of(param_4, param_5, param_6);
    for (uint r = 0u; r < kValues; r++)
    {
        Run param_7 = runs[r];
        uint4 param_8 = low;
        uint4 param_9 = high;
        float4 param_10 = scales;
        sums[r] += run_product(param_7, param_8, param_9, param_10);
    }
}

static inline __attribute__((always_inline))
void multiply_runs(thread const uint& lane, thread spvUnsafeArray<float, kValues>& sums, const device WeightWords& v_720, const device WeightQuads& v_773, constant Push& push, threadgroup uint (&largest)[kMostRuns], threadgroup uint4 (&codes)[_2414], thread spvUnsafeArray<uint, kValues>& rows_at, thread spvUnsafeArray<Run, kValues>& first_runs)
{
    if (lane < n_runs(push))
    {
        uint param = lane;
        spvUnsafeArray<Run, kValues> param_1;
        param_1 = first_runs;
        spvUnsafeArray<float, kValues> param_2;
        param_2 = sums;
        add_runs(param, param_1, param_2, push, largest, codes);
        sums = param_2;
    }
    if (_2827)
    {
        return;
    }
    uint _2833 = lane + kLanes;
    spvUnsafeArray<Run, kValues> runs;
    for (uint i = _2833; i < n_runs(push); i += kLanes)
    {
        for (uint r = 0u; r < kValues; r++)
        {
            uint param_3 = rows_at[r];
            uint param_4 = i;
            runs[r] = load_run(param_3, param_4, v_720, v_773);
        }
        uint param_5 = i;
        spvUnsafeArray<Run, kValues> param_6;
        param_6 = runs;
        spvUnsafeArray<float, kValues> param_7;
        param_7 = sums;
        add_runs(param_5, param_6, param_7, push, largest, codes);
        sums = param_7;
    }
}

static inline __attribute__((always_inline))
float with_bias(thread const Product& of_row, thread const uint& row, thread const float& sum, const device WeightWords& v_720)
{
    float _2984;
    if (of_row.has_bias != 0u)
    {
        _2984 = as_type<float>(v_720.weight_words[of_row.bias_at + row]);
    }
    else
    {
        _2984 = 0.0;
    }
    float offset = _2984;
    return sum + offset;
}

static inline __attribute__((always_inline))
float accurate_exp(thread const float& exponent)
{
    float x = fast::clamp(exponent, -87.0, 88.0);
    float n = rint(spvFMul(x, 1.44269502162933349609375));
    float r = spvFSub(spvFSub(x, spvFMul(n, 0.693145751953125)), spvFMul(n, 1.4286067653301870450377464294434e-06));
    float sum = 0.00019841270113829523324966430664062;
    sum = (sum * r) + 0.001388888922519981861114501953125;
    sum = (sum * r) + 0.008333333767950534820556640625;
    sum = (sum * r) + 0.0416666679084300994873046875;
    sum = (sum * r) + 0.16666667163372039794921875;
    sum = (sum * r) + 0.5;
    sum = (sum * r) + 1.0;
    sum = (sum * r) + 1.0;
    float power = sum * as_type<float>(uint(int(n) + 127) << uint(23));
    float param = exponent;
    return (magnitude_bits(param) > 2139095040u) ? exponent : power;
}

static inline __attribute__((always_inline))
float silu(thread const float& x)
{
    float _447;
    if (x < (-88.0))
    {
        _447 = 0.0;
    }
    else
    {
        float param = -x;
        _447 = x / (1.0 + accurate_exp(param));
    }
    return _447;
}

static inline __attribute__((always_inline))
void store(thread const uint& team, thread const uint& r, const device WeightWords& v_720, threadgroup float (&team_reduced)[_2066], thread uint& gl_NumSubgroups, constant Push& push, thread uint& product, thread uint& first_row, thread float& before, device Out& v_2691)
{
    Product of_row;
    of_row.weight_at = push.products[product].weight_at;
    of_row.bias_at = push.products[product].bias_at;
    of_row.has_bias = push.products[product].has_bias;
    of_row.n_out = push.products[product].n_out;
    of_row.out_at = push.products[product].out_at;
    uint row = first_row + r;
    if (row >= of_row.n_out)
    {
        return;
    }
    uint param = team;
    uint param_1 = r;
    uint param_2 = kLanes;
    Product param_3 = of_row;
    uint param_4 = row;
    float param_5 = sum_of_team(param, param_1, param_2, team_reduced, gl_NumSubgroups);
    float value = with_bias(param_3, param_4, param_5, v_720);
    uint at = of_row.out_at + row;
    if (_3044)
    {
        v_2691.result[at] = value;
    }
    else
    {
        if (_3051)
        {
            v_2691.result[at] = before + value;
        }
        else
        {
            float param_6 = value;
            uint param_7 = team;
            uint param_8 = kRows + r;
            uint param_9 = kLanes;
            Product param_10;
            param_10.weight_at = push.products[1].weight_at;
            param_10.bias_at = push.products[1].bias_at;
            param_10.has_bias = push.products[1].has_bias;
            param_10.n_out = push.products[1].n_out;
            param_10.out_at = push.products[1].out_at;
            uint param_11 = row;
            float param_12 = sum_of_team(param_7, param_8, param_9, team_reduced, gl_NumSubgroups);
            v_2691.result[at] = silu(param_6) * with_bias(param_10, param_11, param_12, v_720);
        }
    }
}

kernel void matmul_row(const device WeightWords& v_720 [[buffer(0)]], constant Push& push [[buffer(30)]], const device WeightQuads& v_773 [[buffer(1)]], const device X& v_2191 [[buffer(2)]], const device XQuads& v_2252 [[buffer(3)]], const device NormQuads& v_2264 [[buffer(5)]], device Out& v_2691 [[buffer(6)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint gl_SubgroupID [[simdgroup_index_in_threadgroup]], uint gl_NumSubgroups [[simdgroups_per_threadgroup]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    threadgroup float team_reduced[_2066];
    threadgroup uint largest[kMostRuns];
    threadgroup uint4 codes[_2414];
    float scale = 1.0;
    uint lane = gl_LocalInvocationID.x % kLanes;
    uint team = gl_LocalInvocationID.x / kLanes;
    uint first_piece = flat_group(gl_WorkGroupID, gl_NumWorkGroups) * push.n_pieces;
    uint param = first_piece;
    uint product;
    uint first_row;
    spvUnsafeArray<uint, kValues> rows_at;
    bool _3117 = find_rows(param, gl_LocalInvocationID, push, product, first_row, rows_at);
    spvUnsafeArray<float4, kHeld> held;
    spvUnsafeArray<float4, kHeld> held_norm;
    float before;
    spvUnsafeArray<float4, kValues> first_low;
    spvUnsafeArray<float4, kValues> first_high;
    spvUnsafeArray<Run, kValues> first_runs;
    if (!_3117)
    {
        return;
    }
    load_held(gl_LocalInvocationID, push, v_2252, v_2264, held, held_norm);
    uint piece = first_piece;
    spvUnsafeArray<float, kValues> sums;
    for (;;)
    {
        uint param_1 = lane;
        load_first(param_1, v_720, v_773, push, product, first_row, rows_at, before, v_2691, first_low, first_high, first_runs);
        if (piece == first_piece)
        {
            make_token_ready(scale, team_reduced, gl_SubgroupID, gl_NumSubgroups, gl_LocalInvocationID, push, v_2191, v_2252, v_2264, held, held_norm, largest, codes);
        }
        for (uint r = 0u; r < kValues; r++)
        {
            sums[r] = 0.0;
        }
        if (kIsFloat)
        {
            uint param_2 = lane;
            spvUnsafeArray<float, kValues> param_3;
            param_3 = sums;
            multiply_quads(param_2, param_3, scale, v_773, push, v_2252, v_2264, held, rows_at, first_low, first_high);
            sums = param_3;
        }
        else
        {
            uint param_4 = lane;
            spvUnsafeArray<float, kValues> param_5;
            param_5 = sums;
            multiply_runs(param_4, param_5, v_720, v_773, push, largest, codes, rows_at, first_runs);
            sums = param_5;
        }
        spvUnsafeArray<float, kValues> param_6;
        param_6 = sums;
        uint param_7 = kValues;
        uint param_8 = kLanes;
        add_up(param_6, param_7, param_8, team_reduced, gl_SubgroupID);
        if (lane < kRows)
        {
            uint param_9 = team;
            uint param_10 = lane;
            store(param_9, param_10, v_720, team_reduced, gl_NumSubgroups, push, product, first_row, before, v_2691);
        }
        uint _3180 = piece;
        uint _3181 = _3180 + uint(1);
        piece = _3181;
        bool _3186 = _3181 == (first_piece + push.n_pieces);
        bool _3194;
        if (!_3186)
        {
            uint param_11 = piece;
            bool _3192 = find_rows(param_11, gl_LocalInvocationID, push, product, first_row, rows_at);
            _3194 = !_3192;
        }
        else
        {
            _3194 = _3186;
        }
        if (_3194)
        {
            return;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        continue;
    }
}

