// src/kernels/vulkan/matmul_gemm.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
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

struct Run
{
    spvUnsafeArray<uint, 8> codes;
    float2 _step;
    float2 minimum;
};

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
constant bool _1150 = (kBlockElements == 32u);
constant uint kBlockBytes_tmp [[function_constant(1)]];
constant uint kBlockBytes = is_function_constant_defined(kBlockBytes_tmp) ? kBlockBytes_tmp : 4u;
constant bool _1296 = (kType == 0u);

struct WeightQuads
{
    uint4 weight_quads[1];
};

constant bool _1331 = (kType == 1u);

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

constant bool _1495 = (kType == 0u);
constant bool _1496 = (kType == 1u);
constant bool _1497 = (_1495 || _1496);
constant bool _1499 = (kType == 30u);
constant bool kIsFloat = (_1497 || _1499);
constant bool _1501 = (!kIsFloat);
constant bool kWholeQuads_tmp [[function_constant(3)]];
constant bool kWholeQuads = is_function_constant_defined(kWholeQuads_tmp) ? kWholeQuads_tmp : false;
constant bool _1652 = (!kIsFloat);

struct XScales
{
    float4 x_scales[1];
};

struct XCodes
{
    uint4 x_codes[1];
};

struct XQuads
{
    float4 x_quads[1];
};

struct X
{
    float x[1];
};

constant bool _2040 = (kType == 10u);
constant bool _2041 = (kType == 11u);
constant bool _2042 = (_2040 || _2041);
constant bool _2043 = (kType == 14u);
constant bool kStepsOfHalves = (_2042 || _2043);
constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(128u, 1u, 1u);

static inline __attribute__((always_inline))
uint row_address(thread const uint& row, constant Push& push)
{
    return push.weight_at + (min(row, (push.n_rows - 1u)) * push.row_bytes);
}

static inline __attribute__((always_inline))
uint half_at(thread const uint& at, const device WeightWords& v_200)
{
    return (v_200.weight_words[at >> uint(2)] >> (8u * (at & 2u))) & 65535u;
}

static inline __attribute__((always_inline))
float f32_from_f16(thread const uint& half_bits)
{
    uint _sign = (half_bits & 32768u) << uint(16);
    uint magnitude = half_bits & 32767u;
    uint subnormal = as_type<uint>(float(magnitude) * 5.9604644775390625e-08);
    uint exponent_offset = (magnitude < 31744u) ? 939524096u : 1879048192u;
    uint _182;
    if (magnitude < 1024u)
    {
        _182 = subnormal;
    }
    else
    {
        _182 = (magnitude << uint(13)) + exponent_offset;
    }
    return as_type<float>(_sign | _182);
}

static inline __attribute__((always_inline))
void load_8_words(thread const uint& at, thread spvUnsafeArray<uint, 8>& loaded, const device WeightWords& v_200)
{
    spvUnsafeArray<uint, 9> aligned;
    for (uint i = 0u; i < 8u; i++)
    {
        aligned[i] = v_200.weight_words[(at >> uint(2)) + i];
    }
    aligned[8] = v_200.weight_words[(at + 31u) >> uint(2)];
    bool straddles = (at & 2u) != 0u;
    uint _292;
    for (uint i_1 = 0u; i_1 < 8u; i_1++)
    {
        if (straddles)
        {
            _292 = (aligned[i_1] >> uint(16)) | (aligned[i_1 + 1u] << uint(16));
        }
        else
        {
            _292 = aligned[i_1];
        }
        loaded[i_1] = _292;
    }
}

static inline __attribute__((always_inline))
void load_4_words(thread const uint& at, thread spvUnsafeArray<uint, 4>& loaded, const device WeightWords& v_200)
{
    spvUnsafeArray<uint, 5> aligned;
    for (uint i = 0u; i < 4u; i++)
    {
        aligned[i] = v_200.weight_words[(at >> uint(2)) + i];
    }
    aligned[4] = v_200.weight_words[(at + 15u) >> uint(2)];
    bool straddles = (at & 2u) != 0u;
    uint _358;
    for (uint i_1 = 0u; i_1 < 4u; i_1++)
    {
        if (straddles)
        {
            _358 = (aligned[i_1] >> uint(16)) | (aligned[i_1 + 1u] << uint(16));
        }
        else
        {
            _358 = aligned[i_1];
        }
        loaded[i_1] = _358;
    }
}

static inline __attribute__((always_inline))
void unpack_nibbles(thread const uint& at, thread spvUnsafeArray<uint, 8>& codes, const device WeightWords& v_200)
{
    uint param = at;
    spvUnsafeArray<uint, 4> param_1;
    load_4_words(param, param_1, v_200);
    spvUnsafeArray<uint, 4> q;
    q = param_1;
    for (uint i = 0u; i < 4u; i++)
    {
        codes[i] = q[i] & 252645135u;
        codes[i + 4u] = (q[i] >> uint(4)) & 252645135u;
    }
}

static inline __attribute__((always_inline))
uint word_at(thread const uint& at, const device WeightWords& v_200)
{
    uint first = v_200.weight_words[at >> uint(2)];
    uint last = v_200.weight_words[(at + 3u) >> uint(2)];
    uint _233;
    if ((at & 2u) == 0u)
    {
        _233 = first;
    }
    else
    {
        _233 = (first >> uint(16)) | (last << uint(16));
    }
    return _233;
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
void load_blocks_of_32(thread const uint& at, thread Run& run, const device WeightWords& v_200)
{
    uint param = at;
    uint param_1 = half_at(param, v_200);
    float d = f32_from_f16(param_1);
    run._step = float2(d);
    switch (kType)
    {
        case 8u:
        {
            uint param_2 = at + 2u;
            spvUnsafeArray<uint, 8> param_3;
            load_8_words(param_2, param_3, v_200);
            run.codes = param_3;
            run.minimum = float2(0.0);
            break;
        }
        case 2u:
        {
            uint param_4 = at + 2u;
            spvUnsafeArray<uint, 8> param_5;
            param_5 = run.codes;
            unpack_nibbles(param_4, param_5, v_200);
            run.codes = param_5;
            run.minimum = float2((-8.0) * d);
            break;
        }
        case 3u:
        {
            uint param_6 = at + 4u;
            spvUnsafeArray<uint, 8> param_7;
            param_7 = run.codes;
            unpack_nibbles(param_6, param_7, v_200);
            run.codes = param_7;
            uint param_8 = at + 2u;
            uint param_9 = half_at(param_8, v_200);
            run.minimum = float2(f32_from_f16(param_9));
            break;
        }
        case 6u:
        {
            uint param_10 = at + 6u;
            spvUnsafeArray<uint, 8> param_11;
            param_11 = run.codes;
            unpack_nibbles(param_10, param_11, v_200);
            run.codes = param_11;
            uint param_12 = at + 2u;
            uint param_13 = word_at(param_12, v_200);
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
            unpack_nibbles(param_15, param_16, v_200);
            run.codes = param_16;
            uint param_17 = at + 4u;
            uint param_18 = word_at(param_17, v_200);
            spvUnsafeArray<uint, 8> param_19;
            param_19 = run.codes;
            add_fifth_bits(param_18, param_19);
            run.codes = param_19;
            uint param_20 = at + 2u;
            uint param_21 = half_at(param_20, v_200);
            run.minimum = float2(f32_from_f16(param_21));
            break;
        }
        case 20u:
        {
            uint param_22 = at + 2u;
            spvUnsafeArray<uint, 8> param_23;
            param_23 = run.codes;
            unpack_nibbles(param_22, param_23, v_200);
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
void load_q2_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_200)
{
    uint param = (at + 16u) + (32u * (r / 4u));
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_200);
    run.codes = param_1;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = (run.codes[i] >> (2u * (r % 4u))) & 50529027u;
    }
    uint param_2 = at + (2u * r);
    uint scales = half_at(param_2, v_200);
    uint param_3 = at + 80u;
    uint param_4 = half_at(param_3, v_200);
    run._step = float2(float(scales & 15u), float((scales >> uint(8)) & 15u)) * f32_from_f16(param_4);
    uint param_5 = at + 82u;
    uint param_6 = half_at(param_5, v_200);
    run.minimum = float2(float((scales >> uint(4)) & 15u), float(scales >> uint(12))) * (-f32_from_f16(param_6));
}

static inline __attribute__((always_inline))
void load_q3_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_200)
{
    uint param = at;
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_200);
    spvUnsafeArray<uint, 8> high;
    high = param_1;
    uint param_2 = (at + 32u) + (32u * (r / 4u));
    spvUnsafeArray<uint, 8> param_3;
    load_8_words(param_2, param_3, v_200);
    run.codes = param_3;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = ((run.codes[i] >> (2u * (r % 4u))) & 50529027u) | (((high[i] >> r) & 16843009u) << uint(2));
    }
    uint param_4 = (at + 96u) + ((2u * r) % 8u);
    uint low_bits = half_at(param_4, v_200) >> (4u * (r / 4u));
    uint param_5 = (at + 104u) + ((2u * r) % 4u);
    uint high_bits = half_at(param_5, v_200) >> (2u * (r / 2u));
    uint scales = (low_bits & 3855u) | ((high_bits & 771u) << uint(4));
    uint param_6 = at + 108u;
    uint param_7 = half_at(param_6, v_200);
    run._step = (float2(float(scales & 255u), float(scales >> uint(8))) - float2(32.0)) * f32_from_f16(param_7);
    run.minimum = run._step * (-4.0);
}

static inline __attribute__((always_inline))
void load_k_scales(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_200)
{
    uint shift = 8u * (r % 4u);
    uint param = at + 4u;
    uint steps = word_at(param, v_200) >> shift;
    uint param_1 = at + 8u;
    uint minimums = word_at(param_1, v_200) >> shift;
    uint param_2 = at + 12u;
    uint low_bits = word_at(param_2, v_200) >> shift;
    bool is_whole = r < 4u;
    uint _674;
    if (is_whole)
    {
        _674 = steps & 63u;
    }
    else
    {
        _674 = (low_bits & 15u) | (((steps >> uint(6)) & 3u) << uint(4));
    }
    uint _step = _674;
    uint _692;
    if (is_whole)
    {
        _692 = minimums & 63u;
    }
    else
    {
        _692 = ((low_bits >> uint(4)) & 15u) | (((minimums >> uint(6)) & 3u) << uint(4));
    }
    uint minimum = _692;
    uint param_3 = at;
    uint block_steps = word_at(param_3, v_200);
    uint param_4 = block_steps & 65535u;
    run._step = float2(f32_from_f16(param_4) * float(_step));
    uint param_5 = block_steps >> uint(16);
    run.minimum = float2((-f32_from_f16(param_5)) * float(minimum));
}

static inline __attribute__((always_inline))
void load_q4_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_200)
{
    uint param = (at + 16u) + (32u * (r / 2u));
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_200);
    run.codes = param_1;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = (run.codes[i] >> (4u * (r % 2u))) & 252645135u;
    }
    uint param_2 = at;
    uint param_3 = r;
    Run param_4 = run;
    load_k_scales(param_2, param_3, param_4, v_200);
    run = param_4;
}

static inline __attribute__((always_inline))
void load_q5_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_200)
{
    uint param = at + 16u;
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_200);
    spvUnsafeArray<uint, 8> high;
    high = param_1;
    uint param_2 = (at + 48u) + (32u * (r / 2u));
    spvUnsafeArray<uint, 8> param_3;
    load_8_words(param_2, param_3, v_200);
    run.codes = param_3;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = ((run.codes[i] >> (4u * (r % 2u))) & 252645135u) | (((high[i] >> r) & 16843009u) << uint(4));
    }
    uint param_4 = at;
    uint param_5 = r;
    Run param_6 = run;
    load_k_scales(param_4, param_5, param_6, v_200);
    run = param_6;
}

static inline __attribute__((always_inline))
void load_q6_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_200)
{
    uint k = r % 4u;
    uint param = (at + 128u) + (32u * (r / 4u));
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_200);
    spvUnsafeArray<uint, 8> high;
    high = param_1;
    uint param_2 = (at + (64u * (r / 4u))) + (32u * (k % 2u));
    spvUnsafeArray<uint, 8> param_3;
    load_8_words(param_2, param_3, v_200);
    run.codes = param_3;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = ((run.codes[i] >> (4u * (k / 2u))) & 252645135u) | (((high[i] >> (2u * k)) & 50529027u) << uint(4));
    }
    uint param_4 = (at + 192u) + (2u * r);
    int scales = int(half_at(param_4, v_200));
    uint param_5 = at + 208u;
    uint param_6 = half_at(param_5, v_200);
    run._step = float2(float(extract_bits(scales, uint(0), uint(8))), float(extract_bits(scales, uint(8), uint(8)))) * f32_from_f16(param_6);
    run.minimum = run._step * (-32.0);
}

static inline __attribute__((always_inline))
void load_iq4_xs(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_200)
{
    uint param = (at + 8u) + (16u * r);
    spvUnsafeArray<uint, 8> param_1;
    param_1 = run.codes;
    unpack_nibbles(param, param_1, v_200);
    run.codes = param_1;
    spvUnsafeArray<uint, 8> param_2;
    param_2 = run.codes;
    look_up_iq4(param_2);
    run.codes = param_2;
    uint param_3 = at;
    uint head = word_at(param_3, v_200);
    uint param_4 = at + 4u;
    uint _step = ((word_at(param_4, v_200) >> (4u * r)) & 15u) | (((head >> (16u + (2u * r))) & 3u) << uint(4));
    uint param_5 = head & 65535u;
    run._step = float2(f32_from_f16(param_5) * (float(_step) - 32.0));
    run.minimum = float2(0.0);
}

static inline __attribute__((always_inline))
Run load_run(thread const uint& row, thread const uint& index, const device WeightWords& v_200)
{
    Run run;
    if (_1150)
    {
        uint param = row + (index * kBlockBytes);
        Run param_1 = run;
        load_blocks_of_32(param, param_1, v_200);
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
            load_q2_k(param_2, param_3, param_4, v_200);
            run = param_4;
            break;
        }
        case 11u:
        {
            uint param_5 = at;
            uint param_6 = r;
            Run param_7 = run;
            load_q3_k(param_5, param_6, param_7, v_200);
            run = param_7;
            break;
        }
        case 12u:
        {
            uint param_8 = at;
            uint param_9 = r;
            Run param_10 = run;
            load_q4_k(param_8, param_9, param_10, v_200);
            run = param_10;
            break;
        }
        case 13u:
        {
            uint param_11 = at;
            uint param_12 = r;
            Run param_13 = run;
            load_q5_k(param_11, param_12, param_13, v_200);
            run = param_13;
            break;
        }
        case 14u:
        {
            uint param_14 = at;
            uint param_15 = r;
            Run param_16 = run;
            load_q6_k(param_14, param_15, param_16, v_200);
            run = param_16;
            break;
        }
        case 23u:
        {
            uint param_17 = at;
            uint param_18 = r;
            Run param_19 = run;
            load_iq4_xs(param_17, param_18, param_19, v_200);
            run = param_19;
            break;
        }
    }
    return run;
}

static inline __attribute__((always_inline))
float value_of(thread const Run& run, thread const uint& i)
{
    int code = extract_bits(int(run.codes[i / 4u]), uint(int(8u * (i % 4u))), uint(8));
    return (run._step[i / 16u] * float(code)) + run.minimum[i / 16u];
}

static inline __attribute__((always_inline))
void put_w(thread const uint& column, thread const uint& i, thread const float& value, threadgroup float4 (&w_tile)[32][16])
{
    ((threadgroup float*)&w_tile[i][column / 4u])[column % 4u] = value;
}

static inline __attribute__((always_inline))
void load_8_floats(thread const uint& row, thread const uint& i, thread float4& first, thread float4& last, const device WeightQuads& v_1303)
{
    if (_1296)
    {
        first = as_type<float4>(v_1303.weight_quads[(row / 16u) + (2u * i)]);
        last = as_type<float4>(v_1303.weight_quads[((row / 16u) + (2u * i)) + 1u]);
        return;
    }
    uint4 pairs = v_1303.weight_quads[(row / 16u) + i];
    if (_1331)
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
float load_float(thread const uint& row, thread const uint& i, const device WeightWords& v_200)
{
    switch (kType)
    {
        case 1u:
        {
            uint param = row + (2u * i);
            uint param_1 = half_at(param, v_200);
            return f32_from_f16(param_1);
        }
        case 30u:
        {
            uint param_2 = row + (2u * i);
            return as_type<float>(half_at(param_2, v_200) << uint(16));
        }
    }
    return as_type<float>(v_200.weight_words[(row / 4u) + i]);
}

static inline __attribute__((always_inline))
void load_weights(thread const uint& column, thread const uint& row, thread const uint& first, const device WeightWords& v_200, const device WeightQuads& v_1303, constant Push& push, threadgroup float4 (&w_tile)[32][16])
{
    uint param = row;
    uint address = row_address(param, push);
    if (_1501)
    {
        uint param_1 = address;
        uint param_2 = first / 32u;
        Run run = load_run(param_1, param_2, v_200);
        for (uint i = 0u; i < 32u; i++)
        {
            Run param_3 = run;
            uint param_4 = i;
            uint param_5 = column;
            uint param_6 = i;
            float param_7 = value_of(param_3, param_4);
            put_w(param_5, param_6, param_7, w_tile);
        }
    }
    else
    {
        if (kWholeQuads)
        {
            float4 param_10;
            float4 param_11;
            for (uint i_1 = 0u; i_1 < 32u; i_1 += 8u)
            {
                float4 low = float4(0.0);
                float4 high = float4(0.0);
                if ((first + i_1) < push.n_in)
                {
                    uint param_8 = address;
                    uint param_9 = (first + i_1) / 8u;
                    load_8_floats(param_8, param_9, param_10, param_11, v_1303);
                    low = param_10;
                    high = param_11;
                }
                for (uint j = 0u; j < 4u; j++)
                {
                    uint param_12 = column;
                    uint param_13 = i_1 + j;
                    float param_14 = low[j];
                    put_w(param_12, param_13, param_14, w_tile);
                }
                for (uint j_1 = 0u; j_1 < 4u; j_1++)
                {
                    uint param_15 = column;
                    uint param_16 = (i_1 + 4u) + j_1;
                    float param_17 = high[j_1];
                    put_w(param_15, param_16, param_17, w_tile);
                }
            }
        }
        else
        {
            float _1628;
            for (uint i_2 = 0u; i_2 < 32u; i_2++)
            {
                if ((first + i_2) < push.n_in)
                {
                    uint param_18 = address;
                    uint param_19 = first + i_2;
                    _1628 = load_float(param_18, param_19, v_200);
                }
                else
                {
                    _1628 = 0.0;
                }
                uint param_20 = column;
                uint param_21 = i_2;
                float param_22 = _1628;
                put_w(param_20, param_21, param_22, w_tile);
            }
        }
    }
}

static inline __attribute__((always_inline))
uint token_or_last(thread const uint& token, constant Push& push)
{
    return min(token, (push.n_tokens - 1u));
}

static inline __attribute__((always_inline))
void put_x(thread const uint& column, thread const uint& i, thread const float& value, threadgroup float4 (&x_tile)[32][16])
{
    ((threadgroup float*)&x_tile[i][column / 4u])[column % 4u] = value;
}

static inline __attribute__((always_inline))
void load_activations(thread const uint& column, thread const uint& token, thread const uint& first, constant Push& push, threadgroup float4 (&x_tile)[32][16], const device XScales& v_1667, const device XCodes& v_1687, const device XQuads& v_1751, const device X& v_1815)
{
    uint param = token;
    uint from = token_or_last(param, push);
    if (_1652)
    {
        uint run = ((from * push.n_in) + first) / 32u;
        float _step = ((device float*)&v_1667.x_scales[push.x_scales_at + run])[0u];
        for (uint i = 0u; i < 32u; i++)
        {
            int codes = int(((device uint*)&v_1687.x_codes[(2u * run) + (i / 16u)])[(i / 4u) % 4u]);
            uint param_1 = column;
            uint param_2 = i;
            float param_3 = _step * float(extract_bits(codes, uint(int(8u * (i % 4u))), uint(8)));
            put_x(param_1, param_2, param_3, x_tile);
        }
    }
    else
    {
        if (kWholeQuads)
        {
            uint at = ((push.x_at + (from * push.n_in)) + first) / 4u;
            float4 _1745;
            for (uint i_1 = 0u; i_1 < 32u; i_1 += 4u)
            {
                if ((first + i_1) < push.n_in)
                {
                    _1745 = v_1751.x_quads[at + (i_1 / 4u)];
                }
                else
                {
                    _1745 = float4(0.0);
                }
                float4 values = _1745;
                for (uint j = 0u; j < 4u; j++)
                {
                    uint param_4 = column;
                    uint param_5 = i_1 + j;
                    float param_6 = values[j];
                    put_x(param_4, param_5, param_6, x_tile);
                }
            }
        }
        else
        {
            uint at_1 = (push.x_at + (from * push.n_in)) + first;
            float _1809;
            for (uint i_2 = 0u; i_2 < 32u; i_2++)
            {
                if ((first + i_2) < push.n_in)
                {
                    _1809 = v_1815.x[at_1 + i_2];
                }
                else
                {
                    _1809 = 0.0;
                }
                uint param_7 = column;
                uint param_8 = i_2;
                float param_9 = _1809;
                put_x(param_7, param_8, param_9, x_tile);
            }
        }
    }
}

static inline __attribute__((always_inline))
void store(thread const uint& row, thread const uint& token, thread const float& product, constant Push& push, const device Bias& v_1444, device Out& v_1457)
{
    bool _1415 = row >= push.n_rows;
    bool _1423;
    if (!_1415)
    {
        _1423 = token >= push.n_tokens;
    }
    else
    {
        _1423 = _1415;
    }
    if (_1423)
    {
        return;
    }
    uint out_row = push.first_row + row;
    float _1438;
    if (push.has_bias != 0u)
    {
        _1438 = v_1444.bias0[push.bias_at + out_row];
    }
    else
    {
        _1438 = 0.0;
    }
    float offset = _1438;
    v_1457.result[(push.out_at + (token * push.n_out)) + out_row] = product + offset;
}

kernel void matmul_gemm(const device WeightWords& v_200 [[buffer(0)]], constant Push& push [[buffer(30)]], const device WeightQuads& v_1303 [[buffer(1)]], const device X& v_1815 [[buffer(2)]], const device XQuads& v_1751 [[buffer(3)]], const device XCodes& v_1687 [[buffer(4)]], const device XScales& v_1667 [[buffer(5)]], const device Bias& v_1444 [[buffer(6)]], device Out& v_1457 [[buffer(7)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    threadgroup float4 w_tile[32][16];
    threadgroup float4 x_tile[32][16];
    uint first_row = gl_WorkGroupID.x * 64u;
    uint first_token = gl_WorkGroupID.y * 64u;
    uint lane = gl_LocalInvocationID.x;
    uint row_block = lane % 8u;
    uint token_block = lane / 8u;
    spvUnsafeArray<float4, 4> sums_low;
    spvUnsafeArray<float4, 4> sums_high;
    for (uint t = 0u; t < 4u; t++)
    {
        sums_high[t] = float4(0.0);
        sums_low[t] = float4(0.0);
    }
    for (uint first = 0u; first < push.n_in; first += 32u)
    {
        if (lane < 64u)
        {
            uint param = lane;
            uint param_1 = first_row + lane;
            uint param_2 = first;
            load_weights(param, param_1, param_2, v_200, v_1303, push, w_tile);
        }
        else
        {
            uint param_3 = lane - 64u;
            uint param_4 = (first_token + lane) - 64u;
            uint param_5 = first;
            load_activations(param_3, param_4, param_5, push, x_tile, v_1667, v_1687, v_1751, v_1815);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = 0u; i < 32u; i++)
        {
            float4 w_low = w_tile[i][row_block];
            float4 w_high = w_tile[i][8u + row_block];
            float4 x4 = x_tile[i][token_block];
            for (uint t_1 = 0u; t_1 < 4u; t_1++)
            {
                sums_low[t_1] += (w_low * x4[t_1]);
                sums_high[t_1] += (w_high * x4[t_1]);
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (uint t_2 = 0u; t_2 < 4u; t_2++)
    {
        uint token = (first_token + (4u * token_block)) + t_2;
        uint row = first_row + (4u * row_block);
        for (uint i_1 = 0u; i_1 < 4u; i_1++)
        {
            uint param_6 = row + i_1;
            uint param_7 = token;
            float param_8 = sums_low[t_2][i_1];
            store(param_6, param_7, param_8, push, v_1444, v_1457);
        }
        for (uint i_2 = 0u; i_2 < 4u; i_2++)
        {
            uint param_9 = (row + 32u) + i_2;
            uint param_10 = token;
            float param_11 = sums_high[t_2][i_2];
            store(param_9, param_10, param_11, push, v_1444, v_1457);
        }
    }
}

