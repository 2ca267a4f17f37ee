// src/kernels/vulkan/matmul_gemm_dot.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
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

struct HalfRun
{
    uint4 codes;
    float4 scales;
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
#ifndef SPIRV_CROSS_CONSTANT_ID_0
#define SPIRV_CROSS_CONSTANT_ID_0 0u
#endif
constant uint kType = SPIRV_CROSS_CONSTANT_ID_0;
constant uint kBlockElements_tmp [[function_constant(2)]];
constant uint kBlockElements = is_function_constant_defined(kBlockElements_tmp) ? kBlockElements_tmp : 1u;
constant bool _1257 = (kBlockElements == 32u);
constant uint kBlockBytes_tmp [[function_constant(1)]];
constant uint kBlockBytes = is_function_constant_defined(kBlockBytes_tmp) ? kBlockBytes_tmp : 4u;

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

#ifndef SPIRV_CROSS_CONSTANT_ID_9
#define SPIRV_CROSS_CONSTANT_ID_9 8u
#endif
constant uint kRowLanes = SPIRV_CROSS_CONSTANT_ID_9;
constant uint blocks_beside = (kRowLanes / 8u);
#ifndef SPIRV_CROSS_CONSTANT_ID_10
#define SPIRV_CROSS_CONSTANT_ID_10 4u
#endif
constant uint kTokenLanes = SPIRV_CROSS_CONSTANT_ID_10;
constant uint kLanes = (kRowLanes * kTokenLanes);
constant uint kTileRows = (kRowLanes * 8u);
constant uint _1492 = (2u * kTileRows);
constant uint _1533 = (2u * kTileRows);
constant bool _1544 = (kType == 2u);
constant bool _1546 = (kType == 6u);
constant bool _1549 = (kType == 11u);
constant bool _1552 = (kType == 14u);
constant int _1554 = _1552 ? 538976288 : 0;
constant int _1555 = _1549 ? 67372036 : _1554;
constant int _1556 = _1546 ? 269488144 : _1555;
constant int _1557 = _1544 ? 134744072 : _1556;
constant uint kCentre = (uint(_1557) + 0u);
constant bool _1559 = (kCentre != 0u);
constant uint kRowsBeside = (kTileRows + 1u);
constant uint _1582 = (4u * kRowsBeside);
constant bool _1626 = (kType == 10u);
constant bool _1627 = (kType == 11u);
constant bool _1628 = (_1626 || _1627);
constant bool _1629 = (kType == 14u);
constant bool kStepsOfHalves = (_1628 || _1629);
constant int _1631 = kStepsOfHalves ? 2 : 1;
constant uint kParts = (uint(_1631) + 0u);
constant uint _1642 = (2u * kParts);
constant uint _1643 = (_1642 * kTileRows);
constant bool _1653 = (kType == 3u);
constant bool _1655 = (kType == 7u);
constant bool _1656 = (_1653 || _1655);
constant bool _1657 = (kType == 10u);
constant bool _1658 = (_1656 || _1657);
constant bool _1659 = (kType == 12u);
constant bool _1660 = (_1658 || _1659);
constant bool _1662 = (kType == 13u);
constant bool kHasMinimum = (_1660 || _1662);
constant uint _1666 = (2u * kParts);
constant uint _1667 = (_1666 * kTileRows);
constant uint _1668 = kHasMinimum ? _1667 : 1u;
constant uint kTileTokens = (kTokenLanes * 4u);
constant uint _1703 = (4u * kTileTokens);

struct XCodes
{
    uint4 x_codes[1];
};

struct XScales
{
    float4 x_scales[1];
};

constant uint _1755 = (4u * kTileTokens);
constant uint kTokensBeside = (kTileTokens + 1u);
constant uint _1771 = (4u * kTokensBeside);
constant uint _1789 = (2u * kTileTokens);
constant uint _1805 = (2u * kParts);
constant uint _1806 = (_1805 * kTileTokens);
constant uint _1807 = kHasMinimum ? _1806 : 1u;
constant uint _2119 = (2u * kTileRows);
constant uint _2120 = (_2119 + kLanes);
constant uint _2121 = (_2120 - 1u);
constant uint kRunsOfLane = (_2121 / kLanes);
constant uint _2144 = (4u * kTileTokens);
constant uint _2145 = (_2144 + kLanes);
constant uint _2146 = (_2145 - 1u);
constant uint kHalvesOfLane = (_2146 / kLanes);
constant uint _2313_tmp [[function_constant(8)]];
constant uint _2313 = is_function_constant_defined(_2313_tmp) ? _2313_tmp : 1u;
constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(_2313, 1u, 1u);
constant bool kWholeQuads_tmp [[function_constant(3)]];
constant bool kWholeQuads = is_function_constant_defined(kWholeQuads_tmp) ? kWholeQuads_tmp : false;
constant bool _2319 = (kType == 0u);
constant bool _2320 = (kType == 1u);
constant bool _2321 = (_2319 || _2320);
constant bool _2322 = (kType == 30u);
constant bool kIsFloat = (_2321 || _2322);

struct X
{
    float x[1];
};

struct XQuads
{
    float4 x_quads[1];
};

static inline __attribute__((always_inline))
uint2 place_of(thread const uint& lane)
{
    uint block = lane / 32u;
    uint row = ((lane >> uint(1)) & 1u) | ((lane >> uint(2)) & 6u);
    uint token = (lane & 1u) | ((lane >> uint(1)) & 2u);
    return uint2(row + (8u * (block % blocks_beside)), token + (4u * (block / blocks_beside)));
}

static inline __attribute__((always_inline))
uint row_address(thread const uint& row, constant Push& push)
{
    return push.weight_at + (min(row, (push.n_rows - 1u)) * push.row_bytes);
}

static inline __attribute__((always_inline))
uint half_at(thread const uint& at, const device WeightWords& v_237)
{
    return (v_237.weight_words[at >> uint(2)] >> (8u * (at & 2u))) & 65535u;
}

static inline __attribute__((always_inline))
float f32_from_f16(thread const uint& half_bits)
{
    uint _sign = (half_bits & 32768u) << uint(16);
    uint magnitude = half_bits & 32767u;
    uint subnormal = as_type<uint>(float(magnitude) * 5.9604644775390625e-08);
    uint exponent_offset = (magnitude < 31744u) ? 939524096u : 1879048192u;
    uint _219;
    if (magnitude < 1024u)
    {
        _219 = subnormal;
    }
    else
    {
        _219 = (magnitude << uint(13)) + exponent_offset;
    }
    return as_type<float>(_sign | _219);
}

static inline __attribute__((always_inline))
void load_8_words(thread const uint& at, thread spvUnsafeArray<uint, 8>& loaded, const device WeightQuads& v_294)
{
    spvUnsafeArray<uint, 12> w;
    for (uint i = 0u; i < 3u; i++)
    {
        uint4 quad = v_294.weight_quads[min(((at >> uint(4)) + i), ((at + 31u) >> uint(4)))];
        for (uint j = 0u; j < 4u; j++)
        {
            w[(4u * i) + j] = quad[j];
        }
    }
    uint _346;
    for (uint i_1 = 0u; i_1 < 10u; i_1++)
    {
        if ((at & 8u) != 0u)
        {
            _346 = w[i_1 + 2u];
        }
        else
        {
            _346 = w[i_1];
        }
        w[i_1] = _346;
    }
    uint _374;
    for (uint i_2 = 0u; i_2 < 9u; i_2++)
    {
        if ((at & 4u) != 0u)
        {
            _374 = w[i_2 + 1u];
        }
        else
        {
            _374 = w[i_2];
        }
        w[i_2] = _374;
    }
    uint _402;
    for (uint i_3 = 0u; i_3 < 8u; i_3++)
    {
        if ((at & 2u) != 0u)
        {
            _402 = (w[i_3] >> uint(16)) | (w[i_3 + 1u] << uint(16));
        }
        else
        {
            _402 = w[i_3];
        }
        loaded[i_3] = _402;
    }
}

static inline __attribute__((always_inline))
void load_4_words(thread const uint& at, thread spvUnsafeArray<uint, 4>& loaded, const device WeightWords& v_237)
{
    spvUnsafeArray<uint, 5> aligned;
    for (uint i = 0u; i < 4u; i++)
    {
        aligned[i] = v_237.weight_words[(at >> uint(2)) + i];
    }
    aligned[4] = v_237.weight_words[(at + 15u) >> uint(2)];
    bool straddles = (at & 2u) != 0u;
    uint _467;
    for (uint i_1 = 0u; i_1 < 4u; i_1++)
    {
        if (straddles)
        {
            _467 = (aligned[i_1] >> uint(16)) | (aligned[i_1 + 1u] << uint(16));
        }
        else
        {
            _467 = aligned[i_1];
        }
        loaded[i_1] = _467;
    }
}

static inline __attribute__((always_inline))
void unpack_nibbles(thread const uint& at, thread spvUnsafeArray<uint, 8>& codes, const device WeightWords& v_237)
{
    uint param = at;
    spvUnsafeArray<uint, 4> param_1;
    load_4_words(param, param_1, v_237);
    spvUnsafeArray<uint, 4> q;
    q = param_1;
    for (uint i = 0u; i < 4u; i++)
    {
        codes[i] = q[i] & 252645135u;
        codes[i + 4u] = (q[i] >> uint(4)) & 252645135u;
    }
}

static inline __attribute__((always_inline))
uint word_at(thread const uint& at, const device WeightWords& v_237)
{
    uint first = v_237.weight_words[at >> uint(2)];
    uint last = v_237.weight_words[(at + 3u) >> uint(2)];
    uint _269;
    if ((at & 2u) == 0u)
    {
        _269 = first;
    }
    else
    {
        _269 = (first >> uint(16)) | (last << uint(16));
    }
    return _269;
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
void load_blocks_of_32(thread const uint& at, thread Run& run, const device WeightWords& v_237, const device WeightQuads& v_294)
{
    uint param = at;
    uint param_1 = half_at(param, v_237);
    float d = f32_from_f16(param_1);
    run._step = float2(d);
    switch (kType)
    {
        case 8u:
        {
            uint param_2 = at + 2u;
            spvUnsafeArray<uint, 8> param_3;
            load_8_words(param_2, param_3, v_294);
            run.codes = param_3;
            run.minimum = float2(0.0);
            break;
        }
        case 2u:
        {
            uint param_4 = at + 2u;
            spvUnsafeArray<uint, 8> param_5;
            param_5 = run.codes;
            unpack_nibbles(param_4, param_5, v_237);
            run.codes = param_5;
            run.minimum = float2((-8.0) * d);
            break;
        }
        case 3u:
        {
            uint param_6 = at + 4u;
            spvUnsafeArray<uint, 8> param_7;
            param_7 = run.codes;
            unpack_nibbles(param_6, param_7, v_237);
            run.codes = param_7;
            uint param_8 = at + 2u;
            uint param_9 = half_at(param_8, v_237);
            run.minimum = float2(f32_from_f16(param_9));
            break;
        }
        case 6u:
        {
            uint param_10 = at + 6u;
            spvUnsafeArray<uint, 8> param_11;
            param_11 = run.codes;
            unpack_nibbles(param_10, param_11, v_237);
            run.codes = param_11;
            uint param_12 = at + 2u;
            uint param_13 = word_at(param_12, v_237);
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
            unpack_nibbles(param_15, param_16, v_237);
            run.codes = param_16;
            uint param_17 = at + 4u;
            uint param_18 = word_at(param_17, v_237);
            spvUnsafeArray<uint, 8> param_19;
            param_19 = run.codes;
            add_fifth_bits(param_18, param_19);
            run.codes = param_19;
            uint param_20 = at + 2u;
            uint param_21 = half_at(param_20, v_237);
            run.minimum = float2(f32_from_f16(param_21));
            break;
        }
        case 20u:
        {
            uint param_22 = at + 2u;
            spvUnsafeArray<uint, 8> param_23;
            param_23 = run.codes;
            unpack_nibbles(param_22, param_23, v_237);
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
void load_q2_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_237, const device WeightQuads& v_294)
{
    uint param = (at + 16u) + (32u * (r / 4u));
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_294);
    run.codes = param_1;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = (run.codes[i] >> (2u * (r % 4u))) & 50529027u;
    }
    uint param_2 = at + (2u * r);
    uint scales = half_at(param_2, v_237);
    uint param_3 = at + 80u;
    uint param_4 = half_at(param_3, v_237);
    run._step = float2(float(scales & 15u), float((scales >> uint(8)) & 15u)) * f32_from_f16(param_4);
    uint param_5 = at + 82u;
    uint param_6 = half_at(param_5, v_237);
    run.minimum = float2(float((scales >> uint(4)) & 15u), float(scales >> uint(12))) * (-f32_from_f16(param_6));
}

static inline __attribute__((always_inline))
void load_q3_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_237, const device WeightQuads& v_294)
{
    uint param = at;
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_294);
    spvUnsafeArray<uint, 8> high;
    high = param_1;
    uint param_2 = (at + 32u) + (32u * (r / 4u));
    spvUnsafeArray<uint, 8> param_3;
    load_8_words(param_2, param_3, v_294);
    run.codes = param_3;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = ((run.codes[i] >> (2u * (r % 4u))) & 50529027u) | (((high[i] >> r) & 16843009u) << uint(2));
    }
    uint param_4 = (at + 96u) + ((2u * r) % 8u);
    uint low_bits = half_at(param_4, v_237) >> (4u * (r / 4u));
    uint param_5 = (at + 104u) + ((2u * r) % 4u);
    uint high_bits = half_at(param_5, v_237) >> (2u * (r / 2u));
    uint scales = (low_bits & 3855u) | ((high_bits & 771u) << uint(4));
    uint param_6 = at + 108u;
    uint param_7 = half_at(param_6, v_237);
    run._step = (float2(float(scales & 255u), float(scales >> uint(8))) - float2(32.0)) * f32_from_f16(param_7);
    run.minimum = run._step * (-4.0);
}

static inline __attribute__((always_inline))
void load_k_scales(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_237)
{
    uint shift = 8u * (r % 4u);
    uint param = at + 4u;
    uint steps = word_at(param, v_237) >> shift;
    uint param_1 = at + 8u;
    uint minimums = word_at(param_1, v_237) >> shift;
    uint param_2 = at + 12u;
    uint low_bits = word_at(param_2, v_237) >> shift;
    bool is_whole = r < 4u;
    uint _782;
    if (is_whole)
    {
        _782 = steps & 63u;
    }
    else
    {
        _782 = (low_bits & 15u) | (((steps >> uint(6)) & 3u) << uint(4));
    }
    uint _step = _782;
    uint _800;
    if (is_whole)
    {
        _800 = minimums & 63u;
    }
    else
    {
        _800 = ((low_bits >> uint(4)) & 15u) | (((minimums >> uint(6)) & 3u) << uint(4));
    }
    uint minimum = _800;
    uint param_3 = at;
    uint block_steps = word_at(param_3, v_237);
    uint param_4 = block_steps & 65535u;
    run._step = float2(f32_from_f16(param_4) * float(_step));
    uint param_5 = block_steps >> uint(16);
    run.minimum = float2((-f32_from_f16(param_5)) * float(minimum));
}

static inline __attribute__((always_inline))
void load_q4_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_237, const device WeightQuads& v_294)
{
    uint param = (at + 16u) + (32u * (r / 2u));
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_294);
    run.codes = param_1;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = (run.codes[i] >> (4u * (r % 2u))) & 252645135u;
    }
    uint param_2 = at;
    uint param_3 = r;
    Run param_4 = run;
    load_k_scales(param_2, param_3, param_4, v_237);
    run = param_4;
}

static inline __attribute__((always_inline))
void load_q5_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_237, const device WeightQuads& v_294)
{
    uint param = at + 16u;
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_294);
    spvUnsafeArray<uint, 8> high;
    high = param_1;
    uint param_2 = (at + 48u) + (32u * (r / 2u));
    spvUnsafeArray<uint, 8> param_3;
    load_8_words(param_2, param_3, v_294);
    run.codes = param_3;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = ((run.codes[i] >> (4u * (r % 2u))) & 252645135u) | (((high[i] >> r) & 16843009u) << uint(4));
    }
    uint param_4 = at;
    uint param_5 = r;
    Run param_6 = run;
    load_k_scales(param_4, param_5, param_6, v_237);
    run = param_6;
}

static inline __attribute__((always_inline))
void load_q6_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_237, const device WeightQuads& v_294)
{
    uint k = r % 4u;
    uint param = (at + 128u) + (32u * (r / 4u));
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_294);
    spvUnsafeArray<uint, 8> high;
    high = param_1;
    uint param_2 = (at + (64u * (r / 4u))) + (32u * (k % 2u));
    spvUnsafeArray<uint, 8> param_3;
    load_8_words(param_2, param_3, v_294);
    run.codes = param_3;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = ((run.codes[i] >> (4u * (k / 2u))) & 252645135u) | (((high[i] >> (2u * k)) & 50529027u) << uint(4));
    }
    uint param_4 = (at + 192u) + (2u * r);
    int scales = int(half_at(param_4, v_237));
    uint param_5 = at + 208u;
    uint param_6 = half_at(param_5, v_237);
    run._step = float2(float(extract_bits(scales, uint(0), uint(8))), float(extract_bits(scales, uint(8), uint(8)))) * f32_from_f16(param_6);
    run.minimum = run._step * (-32.0);
}

static inline __attribute__((always_inline))
void load_iq4_xs(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_237)
{
    uint param = (at + 8u) + (16u * r);
    spvUnsafeArray<uint, 8> param_1;
    param_1 = run.codes;
    unpack_nibbles(param, param_1, v_237);
    run.codes = param_1;
    spvUnsafeArray<uint, 8> param_2;
    param_2 = run.codes;
    look_up_iq4(param_2);
    run.codes = param_2;
    uint param_3 = at;
    uint head = word_at(param_3, v_237);
    uint param_4 = at + 4u;
    uint _step = ((word_at(param_4, v_237) >> (4u * r)) & 15u) | (((head >> (16u + (2u * r))) & 3u) << uint(4));
    uint param_5 = head & 65535u;
    run._step = float2(f32_from_f16(param_5) * (float(_step) - 32.0));
    run.minimum = float2(0.0);
}

static inline __attribute__((always_inline))
Run load_run(thread const uint& row, thread const uint& index, const device WeightWords& v_237, const device WeightQuads& v_294)
{
    Run run;
    if (_1257)
    {
        uint param = row + (index * kBlockBytes);
        Run param_1 = run;
        load_blocks_of_32(param, param_1, v_237, v_294);
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
            load_q2_k(param_2, param_3, param_4, v_237, v_294);
            run = param_4;
            break;
        }
        case 11u:
        {
            uint param_5 = at;
            uint param_6 = r;
            Run param_7 = run;
            load_q3_k(param_5, param_6, param_7, v_237, v_294);
            run = param_7;
            break;
        }
        case 12u:
        {
            uint param_8 = at;
            uint param_9 = r;
            Run param_10 = run;
            load_q4_k(param_8, param_9, param_10, v_237, v_294);
            run = param_10;
            break;
        }
        case 13u:
        {
            uint param_11 = at;
            uint param_12 = r;
            Run param_13 = run;
            load_q5_k(param_11, param_12, param_13, v_237, v_294);
            run = param_13;
            break;
        }
        case 14u:
        {
            uint param_14 = at;
            uint param_15 = r;
            Run param_16 = run;
            load_q6_k(param_14, param_15, param_16, v_237, v_294);
            run = param_16;
            break;
        }
        case 23u:
        {
            uint param_17 = at;
            uint param_18 = r;
            Run param_19 = run;
            load_iq4_xs(param_17, param_18, param_19, v_237);
            run = param_19;
            break;
        }
    }
    return run;
}

static inline __attribute__((always_inline))
Run load_weights(thread const uint& n, thread const uint& first_row, thread const uint& first_run, const device WeightWords& v_237, const device WeightQuads& v_294, constant Push& push, thread uint3& gl_LocalInvocationID)
{
    uint i = gl_LocalInvocationID.x + (n * kLanes);
    uint run = first_run + (i % 2u);
    bool _1487 = run < (push.n_in / 32u);
    bool _1494;
    if (_1487)
    {
        _1494 = i < _1492;
    }
    else
    {
        _1494 = _1487;
    }
    if (_1494)
    {
        uint param = first_row + (i / 2u);
        uint param_1 = row_address(param, push);
        uint param_2 = run;
        return load_run(param_1, param_2, v_237, v_294);
    }
    Run zeros;
    for (uint j = 0u; j < 8u; j++)
    {
        zeros.codes[j] = 0u;
    }
    zeros.minimum = float2(0.0);
    zeros._step = float2(0.0);
    return zeros;
}

static inline __attribute__((always_inline))
uint token_or_last(thread const uint& token, constant Push& push)
{
    return min(token, (push.n_tokens - 1u));
}

static inline __attribute__((always_inline))
HalfRun load_activations(thread const uint& n, thread const uint& first_token, thread const uint& first_run, constant Push& push, thread uint3& gl_LocalInvocationID, const device XCodes& v_1726, const device XScales& v_1737)
{
    uint i = gl_LocalInvocationID.x + (n * kLanes);
    uint n_runs = push.n_in / 32u;
    uint run = first_run + ((i / 2u) % 2u);
    bool _1697 = run >= n_runs;
    bool _1705;
    if (!_1697)
    {
        _1705 = i >= _1703;
    }
    else
    {
        _1705 = _1697;
    }
    if (_1705)
    {
        return HalfRun{ uint4(0u), float4(0.0) };
    }
    uint param = first_token + (i / 4u);
    uint at = (token_or_last(param, push) * n_runs) + run;
    return HalfRun{ v_1726.x_codes[(2u * at) + (i % 2u)], v_1737.x_scales[push.x_scales_at + at] };
}

static inline __attribute__((always_inline))
void put_weights(thread const uint& n, thread Run& w, thread uint3& gl_LocalInvocationID, threadgroup uint4 (&w_tile)[_1582], threadgroup float (&w_steps)[_1643], threadgroup float (&w_minimums)[_1668])
{
    uint i = gl_LocalInvocationID.x + (n * kLanes);
    if (i >= _1533)
    {
        return;
    }
    uint row = i / 2u;
    uint run = i % 2u;
    if (_1559)
    {
        for (uint j = 0u; j < 8u; j++)
        {
            w.codes[j] = ((w.codes[j] | 2155905152u) - kCentre) ^ 2155905152u;
        }
    }
    w_tile[((2u * run) * kRowsBeside) + row] = uint4(w.codes[0], w.codes[1], w.codes[2], w.codes[3]);
    w_tile[(((2u * run) + 1u) * kRowsBeside) + row] = uint4(w.codes[4], w.codes[5], w.codes[6], w.codes[7]);
    for (uint part = 0u; part < kParts; part++)
    {
        uint at = (((run * kParts) + part) * kTileRows) + row;
        w_steps[at] = w._step[part];
        if (kHasMinimum)
        {
            w_minimums[at] = w.minimum[part];
        }
    }
}

static inline __attribute__((always_inline))
void put_activations(thread const uint& n, thread const HalfRun& x, thread uint3& gl_LocalInvocationID, threadgroup uint4 (&x_tile)[_1771], threadgroup float (&x_steps)[_1789], threadgroup float (&x_sums)[_1807])
{
    uint i = gl_LocalInvocationID.x + (n * kLanes);
    if (i >= _1755)
    {
        return;
    }
    uint token = i / 4u;
    uint run = (i / 2u) % 2u;
    uint part = i % 2u;
    x_tile[(((2u * run) + part) * kTokensBeside) + token] = x.codes;
    if (part == 0u)
    {
        x_steps[(run * kTileTokens) + token] = x.scales.x;
    }
    if (kHasMinimum && (part < kParts))
    {
        float _1818;
        if (kStepsOfHalves)
        {
            _1818 = x.scales[1u + part];
        }
        else
        {
            _1818 = x.scales.w;
        }
        x_sums[(((run * kParts) + part) * kTileTokens) + token] = _1818;
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
int dot16(thread const uint4& w, thread const uint4& x, thread int& sum)
{
    uint param = w.x;
    uint param_1 = x.x;
    sum = dot4(param, param_1) + sum;
    uint param_2 = w.y;
    uint param_3 = x.y;
    sum = dot4(param_2, param_3) + sum;
    uint param_4 = w.z;
    uint param_5 = x.z;
    sum = dot4(param_4, param_5) + sum;
    uint param_6 = w.w;
    uint param_7 = x.w;
    return dot4(param_6, param_7) + sum;
}

static inline __attribute__((always_inline))
void multiply(thread const uint& run, thread const uint2& place, threadgroup uint4 (&w_tile)[_1582], threadgroup float (&w_steps)[_1643], threadgroup float (&w_minimums)[_1668], threadgroup uint4 (&x_tile)[_1771], threadgroup float (&x_steps)[_1789], threadgroup float (&x_sums)[_1807], thread spvUnsafeArray<float, 32>& sums)
{
    spvUnsafeArray<uint4, 4> x_low;
    spvUnsafeArray<uint4, 4> x_high;
    spvUnsafeArray<float, 4> x_step;
    for (uint t = 0u; t < 4u; t++)
    {
        uint token = place.y + (t * kTokenLanes);
        x_low[t] = x_tile[((2u * run) * kTokensBeside) + token];
        x_high[t] = x_tile[(((2u * run) + 1u) * kTokensBeside) + token];
        x_step[t] = x_steps[(run * kTileTokens) + token];
    }
    for (uint r = 0u; r < 8u; r++)
    {
        uint row = place.x + (r * kRowLanes);
        uint4 w_low = w_tile[((2u * run) * kRowsBeside) + row];
        uint4 w_high = w_tile[(((2u * run) + 1u) * kRowsBeside) + row];
        uint w_at = ((run * kParts) * kTileRows) + row;
        for (uint t_1 = 0u; t_1 < 4u; t_1++)
        {
            float sum = sums[(r * 4u) + t_1];
            if (kStepsOfHalves)
            {
                uint4 param = w_low;
                uint4 param_1 = x_low[t_1];
                int param_2 = 0;
                int _1989 = dot16(param, param_1, param_2);
                uint4 param_3 = w_high;
                uint4 param_4 = x_high[t_1];
                int param_5 = 0;
                int _2003 = dot16(param_3, param_4, param_5);
                sum += (x_step[t_1] * ((w_steps[w_at] * float(_1989)) + (w_steps[w_at + kTileRows] * float(_2003))));
            }
            else
            {
                uint4 param_6 = w_low;
                uint4 param_7 = x_low[t_1];
                int param_8 = 0;
                int _2026 = dot16(param_6, param_7, param_8);
                uint4 param_9 = w_high;
                uint4 param_10 = x_high[t_1];
                int param_11 = _2026;
                int _2033 = dot16(param_9, param_10, param_11);
                sum += ((w_steps[w_at] * x_step[t_1]) * float(_2033));
            }
            if (kHasMinimum)
            {
                for (uint part = 0u; part < kParts; part++)
                {
                    sum += (w_minimums[w_at + (part * kTileRows)] * x_sums[((((run * kParts) + part) * kTileTokens) + place.y) + (t_1 * kTokenLanes)]);
                }
            }
            sums[(r * 4u) + t_1] = sum;
        }
    }
}

static inline __attribute__((always_inline))
void store(thread const uint& row, thread const uint& token, thread const float& product, constant Push& push, const device Bias& v_1405, device Out& v_1418)
{
    bool _1376 = row >= push.n_rows;
    bool _1384;
    if (!_1376)
    {
        _1384 = token >= push.n_tokens;
    }
    else
    {
        _1384 = _1376;
    }
    if (_1384)
    {
        return;
    }
    uint out_row = push.first_row + row;
    float _1399;
    if (push.has_bias != 0u)
    {
        _1399 = v_1405.bias0[push.bias_at + out_row];
    }
    else
    {
        _1399 = 0.0;
    }
    float offset = _1399;
    v_1418.result[(push.out_at + (token * push.n_out)) + out_row] = product + offset;
}

kernel void matmul_gemm_dot(const device WeightWords& v_237 [[buffer(0)]], constant Push& push [[buffer(30)]], const device WeightQuads& v_294 [[buffer(1)]], const device XCodes& v_1726 [[buffer(4)]], const device XScales& v_1737 [[buffer(5)]], const device Bias& v_1405 [[buffer(6)]], device Out& v_1418 [[buffer(7)]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]])
{
    threadgroup uint4 w_tile[_1582];
    threadgroup float w_steps[_1643];
    threadgroup float w_minimums[_1668];
    threadgroup uint4 x_tile[_1771];
    threadgroup float x_steps[_1789];
    threadgroup float x_sums[_1807];
    uint first_row = gl_WorkGroupID.x * kTileRows;
    uint first_token = gl_WorkGroupID.y * kTileTokens;
    uint n_runs = push.n_in / 32u;
    uint param = gl_LocalInvocationID.x;
    uint2 place = place_of(param);
    spvUnsafeArray<float, 32> sums;
    for (uint i = 0u; i < 32u; i++)
    {
        sums[i] = 0.0;
    }
    spvUnsafeArray<Run, kRunsOfLane> w;
    for (uint n = 0u; n < kRunsOfLane; n++)
    {
        uint param_1 = n;
        uint param_2 = first_row;
        uint param_3 = 0u;
        w[n] = load_weights(param_1, param_2, param_3, v_237, v_294, push, gl_LocalInvocationID);
    }
    spvUnsafeArray<HalfRun, kHalvesOfLane> x;
    for (uint n_1 = 0u; n_1 < kHalvesOfLane; n_1++)
    {
        uint param_4 = n_1;
        uint param_5 = first_token;
        uint param_6 = 0u;
        x[n_1] = load_activations(param_4, param_5, param_6, push, gl_LocalInvocationID, v_1726, v_1737);
    }
    for (uint first = 0u; first < n_runs; first += 2u)
    {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint n_2 = 0u; n_2 < kRunsOfLane; n_2++)
        {
            uint param_7 = n_2;
            Run param_8 = w[n_2];
            put_weights(param_7, param_8, gl_LocalInvocationID, w_tile, w_steps, w_minimums);
        }
        for (uint n_3 = 0u; n_3 < kHalvesOfLane; n_3++)
        {
            uint param_9 = n_3;
            HalfRun param_10 = x[n_3];
            put_activations(param_9, param_10, gl_LocalInvocationID, x_tile, x_steps, x_sums);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        uint next = first + 2u;
        if (next < n_runs)
        {
            for (uint n_4 = 0u; n_4 < kRunsOfLane; n_4++)
            {
                uint param_11 = n_4;
                uint param_12 = first_row;
                uint param_13 = next;
                w[n_4] = load_weights(param_11, param_12, param_13, v_237, v_294, push, gl_LocalInvocationID);
            }
            for (uint n_5 = 0u; n_5 < kHalvesOfLane; n_5++)
            {
                uint param_14 = n_5;
                uint param_15 = first_token;
                uint param_16 = next;
                x[n_5] = load_activations(param_14, param_15, param_16, push, gl_LocalInvocationID, v_1726, v_1737);
            }
        }
        for (uint run = 0u; run < 2u; run++)
        {
            uint param_17 = run;
            uint2 param_18 = place;
            multiply(param_17, param_18, w_tile, w_steps, w_minimums, x_tile, x_steps, x_sums, sums);
        }
    }
    for (uint t = 0u; t < 4u; t++)
    {
        for (uint r = 0u; r < 8u; r++)
        {
            uint param_19 = (first_row + place.x) + (r * kRowLanes);
            uint param_20 = (first_token + place.y) + (t * kTokenLanes);
            float param_21 = sums[(r * 4u) + t];
            store(param_19, param_20, param_21, push, v_1405, v_1418);
        }
    }
}

