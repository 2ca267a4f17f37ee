// src/kernels/vulkan/matmul_gemv.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
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

#ifndef SPIRV_CROSS_CONSTANT_ID_9
#define SPIRV_CROSS_CONSTANT_ID_9 1u
#endif
constant uint kRows = SPIRV_CROSS_CONSTANT_ID_9;
#ifndef SPIRV_CROSS_CONSTANT_ID_10
#define SPIRV_CROSS_CONSTANT_ID_10 1u
#endif
constant uint kTokens = SPIRV_CROSS_CONSTANT_ID_10;
constant uint kValues = (kRows * kTokens);

struct WeightWords
{
    uint weight_words[1];
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
constant bool _1290 = (kBlockElements == 32u);
constant uint kBlockBytes_tmp [[function_constant(1)]];
constant uint kBlockBytes = is_function_constant_defined(kBlockBytes_tmp) ? kBlockBytes_tmp : 4u;
constant bool _1411 = (kType == 1u);
constant bool _1466 = (kType == 0u);

struct WeightQuads
{
    uint4 weight_quads[1];
};

struct Push
{
    uint weight_at;
    uint row_bytes;
    uint x_at;
    uint x_scales_at;
    uint bias_at;
    uint has_bias;
    uint out_at;
    uint n_in;
    uint n_out;
    uint first_row;
    uint n_rows;
    uint n_tokens;
    float smallest_magnitude;
};

struct Bias
{
    float bias0[1];
};

struct Out
{
    float result[1];
};

constant bool _1963 = (kType == 10u);
constant bool _1965 = (kType == 11u);
constant bool _1966 = (_1963 || _1965);
constant bool _1968 = (kType == 14u);
constant bool kStepsOfHalves = (_1966 || _1968);
constant uint _2046 = (32u * kValues);
constant bool kRoundsItself_tmp [[function_constant(11)]];
constant bool kRoundsItself = is_function_constant_defined(kRoundsItself_tmp) ? kRoundsItself_tmp : false;

struct XQuads
{
    float4 x_quads[1];
};

struct XCodes
{
    uint4 x_codes[1];
};

struct XScales
{
    float4 x_scales[1];
};

constant uint _2261_tmp [[function_constant(8)]];
constant uint _2261 = is_function_constant_defined(_2261_tmp) ? _2261_tmp : 1u;
constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(_2261, 1u, 1u);

struct X
{
    float x[1];
};

constant bool _2485 = (kType == 0u);
constant bool _2486 = (kType == 1u);
constant bool _2487 = (_2485 || _2486);
constant bool _2489 = (kType == 30u);
constant bool kIsFloat = (_2487 || _2489);
constant bool _2491 = (!kIsFloat);
constant bool kWholeQuads_tmp [[function_constant(3)]];
constant bool kWholeQuads = is_function_constant_defined(kWholeQuads_tmp) ? kWholeQuads_tmp : false;

constant spvUnsafeArray<int4, 2> _1812 = spvUnsafeArray<int4, 2>({ int4(0), int4(0) });

static inline __attribute__((always_inline))
uint flat_group(thread uint3& gl_WorkGroupID, thread uint3& gl_NumWorkGroups)
{
    return (gl_WorkGroupID.y * gl_NumWorkGroups.x) + gl_WorkGroupID.x;
}

static inline __attribute__((always_inline))
uint row_address(thread const uint& row, constant Push& push)
{
    return push.weight_at + (min(row, (push.n_rows - 1u)) * push.row_bytes);
}

static inline __attribute__((always_inline))
uint half_at(thread const uint& at, const device WeightWords& v_346)
{
    return (v_346.weight_words[at >> uint(2)] >> (8u * (at & 2u))) & 65535u;
}

static inline __attribute__((always_inline))
float f32_from_f16(thread const uint& half_bits)
{
    uint _sign = (half_bits & 32768u) << uint(16);
    uint magnitude = half_bits & 32767u;
    uint subnormal = as_type<uint>(float(magnitude) * 5.9604644775390625e-08);
    uint exponent_offset = (magnitude < 31744u) ? 939524096u : 1879048192u;
    uint _328;
    if (magnitude < 1024u)
    {
        _328 = subnormal;
    }
    else
    {
        _328 = (magnitude << uint(13)) + exponent_offset;
    }
    return as_type<float>(_sign | _328);
}

static inline __attribute__((always_inline))
void load_8_words(thread const uint& at, thread spvUnsafeArray<uint, 8>& loaded, const device WeightWords& v_346)
{
    spvUnsafeArray<uint, 9> aligned;
    for (uint i = 0u; i < 8u; i++)
    {
        aligned[i] = v_346.weight_words[(at >> uint(2)) + i];
    }
    aligned[8] = v_346.weight_words[(at + 31u) >> uint(2)];
    bool straddles = (at & 2u) != 0u;
    uint _434;
    for (uint i_1 = 0u; i_1 < 8u; i_1++)
    {
        if (straddles)
        {
            _434 = (aligned[i_1] >> uint(16)) | (aligned[i_1 + 1u] << uint(16));
        }
        else
        {
            _434 = aligned[i_1];
        }
        loaded[i_1] = _434;
    }
}

static inline __attribute__((always_inline))
void load_4_words(thread const uint& at, thread spvUnsafeArray<uint, 4>& loaded, const device WeightWords& v_346)
{
    spvUnsafeArray<uint, 5> aligned;
    for (uint i = 0u; i < 4u; i++)
    {
        aligned[i] = v_346.weight_words[(at >> uint(2)) + i];
    }
    aligned[4] = v_346.weight_words[(at + 15u) >> uint(2)];
    bool straddles = (at & 2u) != 0u;
    uint _499;
    for (uint i_1 = 0u; i_1 < 4u; i_1++)
    {
        if (straddles)
        {
            _499 = (aligned[i_1] >> uint(16)) | (aligned[i_1 + 1u] << uint(16));
        }
        else
        {
            _499 = aligned[i_1];
        }
        loaded[i_1] = _499;
    }
}

static inline __attribute__((always_inline))
void unpack_nibbles(thread const uint& at, thread spvUnsafeArray<uint, 8>& codes, const device WeightWords& v_346)
{
    uint param = at;
    spvUnsafeArray<uint, 4> param_1;
    load_4_words(param, param_1, v_346);
    spvUnsafeArray<uint, 4> q;
    q = param_1;
    for (uint i = 0u; i < 4u; i++)
    {
        codes[i] = q[i] & 252645135u;
        codes[i + 4u] = (q[i] >> uint(4)) & 252645135u;
    }
}

static inline __attribute__((always_inline))
uint word_at(thread const uint& at, const device WeightWords& v_346)
{
    uint first = v_346.weight_words[at >> uint(2)];
    uint last = v_346.weight_words[(at + 3u) >> uint(2)];
    uint _377;
    if ((at & 2u) == 0u)
    {
        _377 = first;
    }
    else
    {
        _377 = (first >> uint(16)) | (last << uint(16));
    }
    return _377;
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
void load_blocks_of_32(thread const uint& at, thread Run& run, const device WeightWords& v_346)
{
    uint param = at;
    uint param_1 = half_at(param, v_346);
    float d = f32_from_f16(param_1);
    run._step = float2(d);
    switch (kType)
    {
        case 8u:
        {
            uint param_2 = at + 2u;
            spvUnsafeArray<uint, 8> param_3;
            load_8_words(param_2, param_3, v_346);
            run.codes = param_3;
            run.minimum = float2(0.0);
            break;
        }
        case 2u:
        {
            uint param_4 = at + 2u;
            spvUnsafeArray<uint, 8> param_5;
            param_5 = run.codes;
            unpack_nibbles(param_4, param_5, v_346);
            run.codes = param_5;
            run.minimum = float2((-8.0) * d);
            break;
        }
        case 3u:
        {
            uint param_6 = at + 4u;
            spvUnsafeArray<uint, 8> param_7;
            param_7 = run.codes;
            unpack_nibbles(param_6, param_7, v_346);
            run.codes = param_7;
            uint param_8 = at + 2u;
            uint param_9 = half_at(param_8, v_346);
            run.minimum = float2(f32_from_f16(param_9));
            break;
        }
        case 6u:
        {
            uint param_10 = at + 6u;
            spvUnsafeArray<uint, 8> param_11;
            param_11 = run.codes;
            unpack_nibbles(param_10, param_11, v_346);
            run.codes = param_11;
            uint param_12 = at + 2u;
            uint param_13 = word_at(param_12, v_346);
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
            unpack_nibbles(param_15, param_16, v_346);
            run.codes = param_16;
            uint param_17 = at + 4u;
            uint param_18 = word_at(param_17, v_346);
            spvUnsafeArray<uint, 8> param_19;
            param_19 = run.codes;
            add_fifth_bits(param_18, param_19);
            run.codes = param_19;
            uint param_20 = at + 2u;
            uint param_21 = half_at(param_20, v_346);
            run.minimum = float2(f32_from_f16(param_21));
            break;
        }
        case 20u:
        {
            uint param_22 = at + 2u;
            spvUnsafeArray<uint, 8> param_23;
            param_23 = run.codes;
            unpack_nibbles(param_22, param_23, v_346);
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
void load_q2_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_346)
{
    uint param = (at + 16u) + (32u * (r / 4u));
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_346);
    run.codes = param_1;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = (run.codes[i] >> (2u * (r % 4u))) & 50529027u;
    }
    uint param_2 = at + (2u * r);
    uint scales = half_at(param_2, v_346);
    uint param_3 = at + 80u;
    uint param_4 = half_at(param_3, v_346);
    run._step = float2(float(scales & 15u), float((scales >> uint(8)) & 15u)) * f32_from_f16(param_4);
    uint param_5 = at + 82u;
    uint param_6 = half_at(param_5, v_346);
    run.minimum = float2(float((scales >> uint(4)) & 15u), float(scales >> uint(12))) * (-f32_from_f16(param_6));
}

static inline __attribute__((always_inline))
void load_q3_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_346)
{
    uint param = at;
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_346);
    spvUnsafeArray<uint, 8> high;
    high = param_1;
    uint param_2 = (at + 32u) + (32u * (r / 4u));
    spvUnsafeArray<uint, 8> param_3;
    load_8_words(param_2, param_3, v_346);
    run.codes = param_3;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = ((run.codes[i] >> (2u * (r % 4u))) & 50529027u) | (((high[i] >> r) & 16843009u) << uint(2));
    }
    uint param_4 = (at + 96u) + ((2u * r) % 8u);
    uint low_bits = half_at(param_4, v_346) >> (4u * (r / 4u));
    uint param_5 = (at + 104u) + ((2u * r) % 4u);
    uint high_bits = half_at(param_5, v_346) >> (2u * (r / 2u));
    uint scales = (low_bits & 3855u) | ((high_bits & 771u) << uint(4));
    uint param_6 = at + 108u;
    uint param_7 = half_at(param_6, v_346);
    run._step = (float2(float(scales & 255u), float(scales >> uint(8))) - float2(32.0)) * f32_from_f16(param_7);
    run.minimum = run._step * (-4.0);
}

static inline __attribute__((always_inline))
void load_k_scales(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_346)
{
    uint shift = 8u * (r % 4u);
    uint param = at + 4u;
    uint steps = word_at(param, v_346) >> shift;
    uint param_1 = at + 8u;
    uint minimums = word_at(param_1, v_346) >> shift;
    uint param_2 = at + 12u;
    uint low_bits = word_at(param_2, v_346) >> shift;
    bool is_whole = r < 4u;
    uint _815;
    if (is_whole)
    {
        _815 = steps & 63u;
    }
    else
    {
        _815 = (low_bits & 15u) | (((steps >> uint(6)) & 3u) << uint(4));
    }
    uint _step = _815;
    uint _833;
    if (is_whole)
    {
        _833 = minimums & 63u;
    }
    else
    {
        _833 = ((low_bits >> uint(4)) & 15u) | (((minimums >> uint(6)) & 3u) << uint(4));
    }
    uint minimum = _833;
    uint param_3 = at;
    uint block_steps = word_at(param_3, v_346);
    uint param_4 = block_steps & 65535u;
    run._step = float2(f32_from_f16(param_4) * float(_step));
    uint param_5 = block_steps >> uint(16);
    run.minimum = float2((-f32_from_f16(param_5)) * float(minimum));
}

static inline __attribute__((always_inline))
void load_q4_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_346)
{
    uint param = (at + 16u) + (32u * (r / 2u));
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_346);
    run.codes = param_1;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = (run.codes[i] >> (4u * (r % 2u))) & 252645135u;
    }
    uint param_2 = at;
    uint param_3 = r;
    Run param_4 = run;
    load_k_scales(param_2, param_3, param_4, v_346);
    run = param_4;
}

static inline __attribute__((always_inline))
void load_q5_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_346)
{
    uint param = at + 16u;
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_346);
    spvUnsafeArray<uint, 8> high;
    high = param_1;
    uint param_2 = (at + 48u) + (32u * (r / 2u));
    spvUnsafeArray<uint, 8> param_3;
    load_8_words(param_2, param_3, v_346);
    run.codes = param_3;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = ((run.codes[i] >> (4u * (r % 2u))) & 252645135u) | (((high[i] >> r) & 16843009u) << uint(4));
    }
    uint param_4 = at;
    uint param_5 = r;
    Run param_6 = run;
    load_k_scales(param_4, param_5, param_6, v_346);
    run = param_6;
}

static inline __attribute__((always_inline))
void load_q6_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_346)
{
    uint k = r % 4u;
    uint param = (at + 128u) + (32u * (r / 4u));
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_346);
    spvUnsafeArray<uint, 8> high;
    high = param_1;
    uint param_2 = (at + (64u * (r / 4u))) + (32u * (k % 2u));
    spvUnsafeArray<uint, 8> param_3;
    load_8_words(param_2, param_3, v_346);
    run.codes = param_3;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = ((run.codes[i] >> (4u * (k / 2u))) & 252645135u) | (((high[i] >> (2u * k)) & 50529027u) << uint(4));
    }
    uint param_4 = (at + 192u) + (2u * r);
    int scales = int(half_at(param_4, v_346));
    uint param_5 = at + 208u;
    uint param_6 = half_at(param_5, v_346);
    run._step = float2(float(extract_bits(scales, uint(0), uint(8))), float(extract_bits(scales, uint(8), uint(8)))) * f32_from_f16(param_6);
    run.minimum = run._step * (-32.0);
}

static inline __attribute__((always_inline))
void load_iq4_xs(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_346)
{
    uint param = (at + 8u) + (16u * r);
    spvUnsafeArray<uint, 8> param_1;
    param_1 = run.codes;
    unpack_nibbles(param, param_1, v_346);
    run.codes = param_1;
    spvUnsafeArray<uint, 8> param_2;
    param_2 = run.codes;
    look_up_iq4(param_2);
    run.codes = param_2;
    uint param_3 = at;
    uint head = word_at(param_3, v_346);
    uint param_4 = at + 4u;
    uint _step = ((word_at(param_4, v_346) >> (4u * r)) & 15u) | (((head >> (16u + (2u * r))) & 3u) << uint(4));
    uint param_5 = head & 65535u;
    run._step = float2(f32_from_f16(param_5) * (float(_step) - 32.0));
    run.minimum = float2(0.0);
}

static inline __attribute__((always_inline))
Run load_run(thread const uint& row, thread const uint& index, const device WeightWords& v_346)
{
    Run run;
    if (_1290)
    {
        uint param = row + (index * kBlockBytes);
        Run param_1 = run;
        load_blocks_of_32(param, param_1, v_346);
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
            load_q2_k(param_2, param_3, param_4, v_346);
            run = param_4;
            break;
        }
        case 11u:
        {
            uint param_5 = at;
            uint param_6 = r;
            Run param_7 = run;
            load_q3_k(param_5, param_6, param_7, v_346);
            run = param_7;
            break;
        }
        case 12u:
        {
            uint param_8 = at;
            uint param_9 = r;
            Run param_10 = run;
            load_q4_k(param_8, param_9, param_10, v_346);
            run = param_10;
            break;
        }
        case 13u:
        {
            uint param_11 = at;
            uint param_12 = r;
            Run param_13 = run;
            load_q5_k(param_11, param_12, param_13, v_346);
            run = param_13;
            break;
        }
        case 14u:
        {
            uint param_14 = at;
            uint param_15 = r;
            Run param_16 = run;
            load_q6_k(param_14, param_15, param_16, v_346);
            run = param_16;
            break;
        }
        case 23u:
        {
            uint param_17 = at;
            uint param_18 = r;
            Run param_19 = run;
            load_iq4_xs(param_17, param_18, param_19, v_346);
            run = param_19;
            break;
        }
    }
    return run;
}

static inline __attribute__((always_inline))
uint token_or_last(thread const uint& token, constant Push& push)
{
    return min(token, (push.n_tokens - 1u));
}

static inline __attribute__((always_inline))
uint4 magnitude_bits(thread const float4& values)
{
    return as_type<uint4>(values) & uint4(2147483647u);
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
    bool _1616 = value != 0.0;
    bool _1622;
    if (_1616)
    {
        float param = value;
        _1622 = is_finite(param);
    }
    else
    {
        _1622 = _1616;
    }
    return _1622;
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
    bool _1632 = !is_ordinary(param);
    bool _1640;
    if (!_1632)
    {
        float param_1 = b;
        _1640 = !is_ordinary(param_1);
    }
    else
    {
        _1640 = _1632;
    }
    if (_1640)
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
    float _1693;
    if (most < magnitude_bits(param))
    {
        _1693 = 0.0;
    }
    else
    {
        float param_1 = 127.0;
        float param_2 = as_type<float>(most);
        _1693 = divided(param_1, param_2);
    }
    return _1693;
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
float step_of(thread const uint& most, thread const float& smallest_magnitude)
{
    float param = smallest_magnitude;
    float _1711;
    if (most < magnitude_bits(param))
    {
        _1711 = 0.0;
    }
    else
    {
        _1711 = as_type<float>(most) / 127.0;
    }
    return _1711;
}

static inline __attribute__((always_inline))
float4 scales_of(thread const float& _step, thread const int& first, thread const int& last)
{
    return float4(_step, float3(float(first), float(last), float(first + last)) * _step);
}

static inline __attribute__((always_inline))
void round_run(thread const spvUnsafeArray<float4, 8>& values, thread const float& smallest_magnitude, thread uint4& low, thread uint4& high, thread float4& scales)
{
    uint4 magnitudes = uint4(0u);
    for (uint i = 0u; i < 8u; i++)
    {
        float4 param = values[i];
        magnitudes = max(magnitudes, magnitude_bits(param));
    }
    uint most = max(max(magnitudes.x, magnitudes.y), max(magnitudes.z, magnitudes.w));
    uint param_1 = most;
    float param_2 = smallest_magnitude;
    float _inverse = inverse_step(param_1, param_2);
    spvUnsafeArray<int4, 2> sums = spvUnsafeArray<int4, 2>({ int4(0), int4(0) });
    spvUnsafeArray<uint, 8> words;
    for (uint i_1 = 0u; i_1 < 8u; i_1++)
    {
        float4 param_3 = values[i_1];
        float param_4 = _inverse;
        int4 codes = codes_of(param_3, param_4);
        int4 param_5 = codes;
        words[i_1] = _packed(param_5);
        uint _1836 = i_1 / 4u;
        sums[_1836] += codes;
    }
    low = uint4(words[0], words[1], words[2], words[3]);
    high = uint4(words[4], words[5], words[6], words[7]);
    uint param_6 = most;
    float param_7 = smallest_magnitude;
    float param_8 = step_of(param_6, param_7);
    int param_9 = ((sums[0].x + sums[0].y) + sums[0].z) + sums[0].w;
    int param_10 = ((sums[1].x + sums[1].y) + sums[1].z) + sums[1].w;
    scales = scales_of(param_8, param_9, param_10);
}

static inline __attribute__((always_inline))
void load_activations(thread const uint& token, thread const uint& run, thread uint4& low, thread uint4& high, thread float4& scales, constant Push& push, const device XQuads& v_2114, const device XCodes& v_2146, const device XScales& v_2159)
{
    uint at = (token * (push.n_in / 32u)) + run;
    if (kRoundsItself)
    {
        spvUnsafeArray<float4, 8> values;
        for (uint i = 0u; i < 8u; i++)
        {
            values[i] = v_2114.x_quads[((push.x_at / 4u) + (8u * at)) + i];
        }
        spvUnsafeArray<float4, 8> param;
        param = values;
        float param_1 = push.smallest_magnitude;
        uint4 param_2;
        uint4 param_3;
        float4 param_4;
        round_run(param, param_1, param_2, param_3, param_4);
        low = param_2;
        high = param_3;
        scales = param_4;
    }
    else
    {
        low = v_2146.x_codes[2u * at];
        high = v_2146.x_codes[(2u * at) + 1u];
        scales = v_2159.x_scales[push.x_scales_at + at];
    }
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
void add_runs(thread const uint& first_row, thread const uint& first_token, thread spvUnsafeArray<spvUnsafeArray<float, kTokens>, kRows>& sums, const device WeightWords& v_346, constant Push& push, const device XQuads& v_2114, const device XCodes& v_2146, const device XScales& v_2159, thread uint3& gl_LocalInvocationID)
{
    uint n_runs = push.n_in / 32u;
    spvUnsafeArray<Run, kRows> runs;
    uint4 param_6;
    uint4 param_7;
    float4 param_8;
    for (uint i = gl_LocalInvocationID.x; i < n_runs; i += gl_WorkGroupSize.x)
    {
        for (uint r = 0u; r < kRows; r++)
        {
            uint param = first_row + r;
            uint param_1 = row_address(param, push);
            uint param_2 = i;
            runs[r] = load_run(param_1, param_2, v_346);
        }
        for (uint t = 0u; t < kTokens; t++)
        {
            uint param_3 = first_token + t;
            uint param_4 = token_or_last(param_3, push);
            uint param_5 = i;
            load_activations(param_4, param_5, param_6, param_7, param_8, push, v_2114, v_2146, v_2159);
            uint4 low = param_6;
            uint4 high = param_7;
            float4 scales = param_8;
            for (uint r_1 = 0u; r_1 < kRows; r_1++)
            {
                Run param_9 = runs[r_1];
                uint4 param_10 = low;
                uint4 param_11 = high;
                float4 param_12 = scales;
                sums[r_1][t] += run_product(param_9, param_10, param_11, param_12);
            }
        }
    }
}

static inline __attribute__((always_inline))
void unpack_8_floats(thread const uint4& pairs, thread float4& first, thread float4& last)
{
    if (_1411)
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
void load_8_floats(thread const uint& row, thread const uint& i, thread float4& first, thread float4& last, const device WeightQuads& v_1472)
{
    if (_1466)
    {
        first = as_type<float4>(v_1472.weight_quads[(row / 16u) + (2u * i)]);
        last = as_type<float4>(v_1472.weight_quads[((row / 16u) + (2u * i)) + 1u]);
        return;
    }
    uint4 param = v_1472.weight_quads[(row / 16u) + i];
    float4 param_1;
    float4 param_2;
    unpack_8_floats(param, param_1, param_2);
    first = param_1;
    last = param_2;
}

static inline __attribute__((always_inline))
void add_quads(thread const uint& first_row, thread const uint& first_token, thread spvUnsafeArray<spvUnsafeArray<float, kTokens>, kRows>& sums, const device WeightQuads& v_1472, constant Push& push, const device XQuads& v_2114, thread uint3& gl_LocalInvocationID)
{
    spvUnsafeArray<float4, kRows> low;
    spvUnsafeArray<float4, kRows> high;
    float4 param_3;
    float4 param_4;
    for (uint i = gl_LocalInvocationID.x; i < (push.n_in / 8u); i += gl_WorkGroupSize.x)
    {
        for (uint r = 0u; r < kRows; r++)
        {
            uint param = first_row + r;
            uint param_1 = row_address(param, push);
            uint param_2 = i;
            load_8_floats(param_1, param_2, param_3, param_4, v_1472);
            low[r] = param_3;
            high[r] = param_4;
        }
        for (uint t = 0u; t < kTokens; t++)
        {
            uint param_5 = first_token + t;
            uint at = ((push.x_at + (token_or_last(param_5, push) * push.n_in)) / 4u) + (2u * i);
            float4 x_low = v_2114.x_quads[at];
            float4 x_high = v_2114.x_quads[at + 1u];
            for (uint r_1 = 0u; r_1 < kRows; r_1++)
            {
                sums[r_1][t] += (dot(low[r_1], x_low) + dot(high[r_1], x_high));
            }
        }
    }
}

static inline __attribute__((always_inline))
float load_float(thread const uint& row, thread const uint& i, const device WeightWords& v_346)
{
    switch (kType)
    {
        case 1u:
        {
            uint param = row + (2u * i);
            uint param_1 = half_at(param, v_346);
            return f32_from_f16(param_1);
        }
        case 30u:
        {
            uint param_2 = row + (2u * i);
            return as_type<float>(half_at(param_2, v_346) << uint(16));
        }
    }
    return as_type<float>(v_346.weight_words[(row / 4u) + i]);
}

static inline __attribute__((always_inline))
void add_floats(thread const uint& first_row, thread const uint& first_token, thread spvUnsafeArray<spvUnsafeArray<float, kTokens>, kRows>& sums, const device WeightWords& v_346, constant Push& push, thread uint3& gl_LocalInvocationID, const device X& v_2419)
{
    for (uint i = gl_LocalInvocationID.x; i < push.n_in; i += gl_WorkGroupSize.x)
    {
        for (uint r = 0u; r < kRows; r++)
        {
            uint param = first_row + r;
            uint param_1 = row_address(param, push);
            uint param_2 = i;
            float w = load_float(param_1, param_2, v_346);
            for (uint t = 0u; t < kTokens; t++)
            {
                uint param_3 = first_token + t;
                sums[r][t] += (w * v_2419.x[(push.x_at + (token_or_last(param_3, push) * push.n_in)) + i]);
            }
        }
    }
}

static inline __attribute__((always_inline))
void reduce(thread const spvUnsafeArray<float, kValues>& values, thread const bool& is_sum, threadgroup float (&reduced)[_2046], thread uint& gl_SubgroupID)
{
    spvUnsafeArray<float, kValues> results;
    float _2019;
    for (uint i = 0u; i < kValues; i++)
    {
        if (is_sum)
        {
            _2019 = simd_sum(values[i]);
        }
        else
        {
            _2019 = simd_max(values[i]);
        }
        results[i] = _2019;
    }
    bool _2035 = simd_is_first();
    if (_2035)
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
float reduced_sum(thread const uint& i, threadgroup float (&reduced)[_2046], thread uint& gl_NumSubgroups)
{
    float sum = 0.0;
    for (uint part = 0u; part < n_reduced(gl_NumSubgroups); part++)
    {
        sum += reduced[(part * kValues) + i];
    }
    return sum;
}

static inline __attribute__((always_inline))
void store(thread const uint& row, thread const uint& token, thread const float& product, constant Push& push, const device Bias& v_1562, device Out& v_1575)
{
    bool _1533 = row >= push.n_rows;
    bool _1541;
    if (!_1533)
    {
        _1541 = token >= push.n_tokens;
    }
    else
    {
        _1541 = _1533;
    }
    if (_1541)
    {
        return;
    }
    uint out_row = push.first_row + row;
    float _1556;
    if (push.has_bias != 0u)
    {
        _1556 = v_1562.bias0[push.bias_at + out_row];
    }
    else
    {
        _1556 = 0.0;
    }
    float offset = _1556;
    v_1575.result[(push.out_at + (token * push.n_out)) + out_row] = product + offset;
}

kernel void matmul_gemv(const device WeightWords& v_346 [[buffer(0)]], constant Push& push [[buffer(30)]], const device WeightQuads& v_1472 [[buffer(1)]], const device X& v_2419 [[buffer(2)]], const device XQuads& v_2114 [[buffer(3)]], const device XCodes& v_2146 [[buffer(4)]], const device XScales& v_2159 [[buffer(5)]], const device Bias& v_1562 [[buffer(6)]], device Out& v_1575 [[buffer(7)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint gl_SubgroupID [[simdgroup_index_in_threadgroup]], uint gl_NumSubgroups [[simdgroups_per_threadgroup]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    threadgroup float reduced[_2046];
    uint first_row = flat_group(gl_WorkGroupID, gl_NumWorkGroups) * kRows;
    uint first_token = gl_WorkGroupID.z * kTokens;
    if (first_row >= push.n_rows)
    {
        return;
    }
    spvUnsafeArray<spvUnsafeArray<float, kTokens>, kRows> sums;
    for (uint r = 0u; r < kRows; r++)
    {
        for (uint t = 0u; t < kTokens; t++)
        {
            sums[r][t] = 0.0;
        }
    }
    if (_2491)
    {
        uint param = first_row;
        uint param_1 = first_token;
        spvUnsafeArray<spvUnsafeArray<float, kTokens>, kRows> param_2;
        param_2 = sums;
        add_runs(param, param_1, param_2, v_346, push, v_2114, v_2146, v_2159, gl_LocalInvocationID);
        sums = param_2;
    }
    else
    {
        if (kWholeQuads)
        {
            uint param_3 = first_row;
            uint param_4 = first_token;
            spvUnsafeArray<spvUnsafeArray<float, kTokens>, kRows> param_5;
            param_5 = sums;
            add_quads(param_3, param_4, param_5, v_1472, push, v_2114, gl_LocalInvocationID);
            sums = param_5;
        }
        else
        {
            uint param_6 = first_row;
            uint param_7 = first_token;
            spvUnsafeArray<spvUnsafeArray<float, kTokens>, kRows> param_8;
            param_8 = sums;
            add_floats(param_6, param_7, param_8, v_346, push, gl_LocalInvocationID, v_2419);
            sums = param_8;
        }
    }
    spvUnsafeArray<float, kValues> values;
    for (uint r_1 = 0u; r_1 < kRows; r_1++)
    {
        for (uint t_1 = 0u; t_1 < kTokens; t_1++)
        {
            values[(r_1 * kTokens) + t_1] = sums[r_1][t_1];
        }
    }
    spvUnsafeArray<float, kValues> param_9;
    param_9 = values;
    bool param_10 = true;
    reduce(param_9, param_10, reduced, gl_SubgroupID);
    for (uint i = gl_LocalInvocationID.x; i < kValues; i += gl_WorkGroupSize.x)
    {
        uint param_11 = i;
        uint param_12 = first_row + (i / kTokens);
        uint param_13 = first_token + (i % kTokens);
        float param_14 = reduced_sum(param_11, reduced, gl_NumSubgroups);
        store(param_12, param_13, param_14, push, v_1562, v_1575);
    }
}

