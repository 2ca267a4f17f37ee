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

struct Eight
{
    uint4 low;
    uint4 high;
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
constant bool _1186 = (kBlockElements == 32u);
constant uint kBlockBytes_tmp [[function_constant(1)]];
constant uint kBlockBytes = is_function_constant_defined(kBlockBytes_tmp) ? kBlockBytes_tmp : 4u;
constant bool _1332 = (kType == 1u);

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
constant uint kTileRows = (kRowLanes * 8u);
constant uint kRowQuads = (kTileRows / 4u);
constant uint _1522 = (32u * kRowQuads);
#ifndef SPIRV_CROSS_CONSTANT_ID_10
#define SPIRV_CROSS_CONSTANT_ID_10 4u
#endif
constant uint kTokenLanes = SPIRV_CROSS_CONSTANT_ID_10;
constant uint kTileTokens = (kTokenLanes * 4u);
constant uint kTokenQuads = (kTileTokens / 4u);
constant uint _1557 = (32u * kTokenQuads);
constant uint kLanes = (kRowLanes * kTokenLanes);
constant bool kWholeQuads_tmp [[function_constant(3)]];
constant bool kWholeQuads = is_function_constant_defined(kWholeQuads_tmp) ? kWholeQuads_tmp : false;
constant bool _1608 = (kType != 0u);
constant bool kIsPairs = (kWholeQuads && _1608);

struct WeightQuads
{
    uint4 weight_quads[1];
};

constant bool _1847 = (kType == 0u);
constant bool _1848 = (kType == 1u);
constant bool _1849 = (_1847 || _1848);
constant bool _1851 = (kType == 30u);
constant bool kIsFloat = (_1849 || _1851);
constant bool _1853 = (!kIsFloat);

struct XCodes
{
    uint4 x_codes[1];
};

struct XScales
{
    float4 x_scales[1];
};

struct XQuads
{
    float4 x_quads[1];
};

struct X
{
    float x[1];
};

constant uint _1965 = (kTileTokens * 8u);
constant uint _2115 = (kTileRows * 4u);
constant uint _2116 = (_2115 + kLanes);
constant uint _2117 = (_2116 - 1u);
constant uint kWeightsOfLane = (_2117 / kLanes);
constant uint _2140 = (kTileTokens * 8u);
constant uint _2141 = (_2140 + kLanes);
constant uint _2142 = (_2141 - 1u);
constant uint kActivationsOfLane = (_2142 / kLanes);
constant uint _2349_tmp [[function_constant(8)]];
constant uint _2349 = is_function_constant_defined(_2349_tmp) ? _2349_tmp : 1u;
constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(_2349, 1u, 1u);
constant bool _2358 = (kType == 10u);
constant bool _2359 = (kType == 11u);
constant bool _2360 = (_2358 || _2359);
constant bool _2361 = (kType == 14u);
constant bool kStepsOfHalves = (_2360 || _2361);

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
uint half_at(thread const uint& at, const device WeightWords& v_236)
{
    return (v_236.weight_words[at >> uint(2)] >> (8u * (at & 2u))) & 65535u;
}

static inline __attribute__((always_inline))
float f32_from_f16(thread const uint& half_bits)
{
    uint _sign = (half_bits & 32768u) << uint(16);
    uint magnitude = half_bits & 32767u;
    uint subnormal = as_type<uint>(float(magnitude) * 5.9604644775390625e-08);
    uint exponent_offset = (magnitude < 31744u) ? 939524096u : 1879048192u;
    uint _218;
    if (magnitude < 1024u)
    {
        _218 = subnormal;
    }
    else
    {
        _218 = (magnitude << uint(13)) + exponent_offset;
    }
    return as_type<float>(_sign | _218);
}

static inline __attribute__((always_inline))
float load_float(thread const uint& row, thread const uint& i, const device WeightWords& v_236)
{
    switch (kType)
    {
        case 1u:
        {
            uint param = row + (2u * i);
            uint param_1 = half_at(param, v_236);
            return f32_from_f16(param_1);
        }
        case 30u:
        {
            uint param_2 = row + (2u * i);
            return as_type<float>(half_at(param_2, v_236) << uint(16));
        }
    }
    return as_type<float>(v_236.weight_words[(row / 4u) + i]);
}

static inline __attribute__((always_inline))
Eight load_weights(thread const uint& n, thread const uint& first_row, thread const uint& first, const device WeightWords& v_236, constant Push& push, thread uint3& gl_LocalInvocationID, const device WeightQuads& v_1622)
{
    uint piece = gl_LocalInvocationID.x + (n * kLanes);
    uint param = first_row + (piece / 4u);
    uint address = row_address(param, push);
    uint at = first + (8u * (piece % 4u));
    Eight values = Eight{ uint4(0u), uint4(0u) };
    if (kIsPairs)
    {
        if (at < push.n_in)
        {
            values.low = v_1622.weight_quads[(address / 16u) + (at / 8u)];
        }
    }
    else
    {
        if (kWholeQuads)
        {
            if (at < push.n_in)
            {
                values = Eight{ v_1622.weight_quads[(address / 16u) + (at / 4u)], v_1622.weight_quads[((address / 16u) + (at / 4u)) + 1u] };
            }
        }
        else
        {
            for (uint j = 0u; j < 4u; j++)
            {
                if ((at + j) < push.n_in)
                {
                    uint param_1 = address;
                    uint param_2 = at + j;
                    values.low[j] = as_type<uint>(load_float(param_1, param_2, v_236));
                }
                if (((at + 4u) + j) < push.n_in)
                {
                    uint param_3 = address;
                    uint param_4 = (at + 4u) + j;
                    values.high[j] = as_type<uint>(load_float(param_3, param_4, v_236));
                }
            }
        }
    }
    return values;
}

static inline __attribute__((always_inline))
uint token_or_last(thread const uint& token, constant Push& push)
{
    return min(token, (push.n_tokens - 1u));
}

static inline __attribute__((always_inline))
float4 load_activations(thread const uint& n, thread const uint& first_token, thread const uint& first, constant Push& push, thread uint3& gl_LocalInvocationID, const device XCodes& v_1863, const device XScales& v_1875, const device XQuads& v_1909, const device X& v_1943)
{
    uint piece = gl_LocalInvocationID.x + (n * kLanes);
    uint i = first + (4u * (piece % 8u));
    uint param = first_token + (piece / 8u);
    uint at = (token_or_last(param, push) * push.n_in) + i;
    if (_1853)
    {
        uint run = at / 32u;
        int codes = int(((device uint*)&v_1863.x_codes[at / 16u])[(at / 4u) % 4u]);
        return float4(int4(codes << 24, codes << 16, codes << 8, codes) >> int4(24)) * ((device float*)&v_1875.x_scales[push.x_scales_at + run])[0u];
    }
    if (kWholeQuads)
    {
        float4 _1903;
        if (i < push.n_in)
        {
            _1903 = v_1909.x_quads[(push.x_at + at) / 4u];
        }
        else
        {
            _1903 = float4(0.0);
        }
        return _1903;
    }
    float4 values = float4(0.0);
    for (uint j = 0u; j < 4u; j++)
    {
        if ((i + j) < push.n_in)
        {
            values[j] = v_1943.x[(push.x_at + at) + j];
        }
    }
    return values;
}

static inline __attribute__((always_inline))
void unpack_8_floats(thread const uint4& pairs, thread float4& first, thread float4& last)
{
    if (_1332)
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
uint place_in(thread const uint& quad, thread const uint& i)
{
    return quad ^ ((i / 4u) % 8u);
}

static inline __attribute__((always_inline))
void put_w(thread const uint& row, thread const uint& i, thread const float4& values, threadgroup float4 (&w_tile)[_1522])
{
    for (uint j = 0u; j < 4u; j++)
    {
        uint param = row / 4u;
        uint param_1 = i;
        ((threadgroup float*)&w_tile[((i + j) * kRowQuads) + place_in(param, param_1)])[row % 4u] = values[j];
    }
}

static inline __attribute__((always_inline))
void put_weights(thread const uint& n, thread const Eight& values, threadgroup float4 (&w_tile)[_1522], thread uint3& gl_LocalInvocationID)
{
    uint piece = gl_LocalInvocationID.x + (n * kLanes);
    uint row = piece / 4u;
    uint i = 8u * (piece % 4u);
    if (row >= kTileRows)
    {
        return;
    }
    float4 low = as_type<float4>(values.low);
    float4 high = as_type<float4>(values.high);
    if (kIsPairs)
    {
        uint4 param = values.low;
        float4 param_1;
        float4 param_2;
        unpack_8_floats(param, param_1, param_2);
        low = param_1;
        high = param_2;
    }
    uint param_3 = row;
    uint param_4 = i;
    float4 param_5 = low;
    put_w(param_3, param_4, param_5, w_tile);
    uint param_6 = row;
    uint param_7 = i + 4u;
    float4 param_8 = high;
    put_w(param_6, param_7, param_8, w_tile);
}

static inline __attribute__((always_inline))
void load_8_words(thread const uint& at, thread spvUnsafeArray<uint, 8>& loaded, const device WeightWords& v_236)
{
    spvUnsafeArray<uint, 9> aligned;
    for (uint i = 0u; i < 8u; i++)
    {
        aligned[i] = v_236.weight_words[(at >> uint(2)) + i];
    }
    aligned[8] = v_236.weight_words[(at + 31u) >> uint(2)];
    bool straddles = (at & 2u) != 0u;
    uint _328;
    for (uint i_1 = 0u; i_1 < 8u; i_1++)
    {
        if (straddles)
        {
            _328 = (aligned[i_1] >> uint(16)) | (aligned[i_1 + 1u] << uint(16));
        }
        else
        {
            _328 = aligned[i_1];
        }
        loaded[i_1] = _328;
    }
}

static inline __attribute__((always_inline))
void load_4_words(thread const uint& at, thread spvUnsafeArray<uint, 4>& loaded, const device WeightWords& v_236)
{
    spvUnsafeArray<uint, 5> aligned;
    for (uint i = 0u; i < 4u; i++)
    {
        aligned[i] = v_236.weight_words[(at >> uint(2)) + i];
    }
    aligned[4] = v_236.weight_words[(at + 15u) >> uint(2)];
    bool straddles = (at & 2u) != 0u;
    uint _394;
    for (uint i_1 = 0u; i_1 < 4u; i_1++)
    {
        if (straddles)
        {
            _394 = (aligned[i_1] >> uint(16)) | (aligned[i_1 + 1u] << uint(16));
        }
        else
        {
            _394 = aligned[i_1];
        }
        loaded[i_1] = _394;
    }
}

static inline __attribute__((always_inline))
void unpack_nibbles(thread const uint& at, thread spvUnsafeArray<uint, 8>& codes, const device WeightWords& v_236)
{
    uint param = at;
    spvUnsafeArray<uint, 4> param_1;
    load_4_words(param, param_1, v_236);
    spvUnsafeArray<uint, 4> q;
    q = param_1;
    for (uint i = 0u; i < 4u; i++)
    {
        codes[i] = q[i] & 252645135u;
        codes[i + 4u] = (q[i] >> uint(4)) & 252645135u;
    }
}

static inline __attribute__((always_inline))
uint word_at(thread const uint& at, const device WeightWords& v_236)
{
    uint first = v_236.weight_words[at >> uint(2)];
    uint last = v_236.weight_words[(at + 3u) >> uint(2)];
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
void load_blocks_of_32(thread const uint& at, thread Run& run, const device WeightWords& v_236)
{
    uint param = at;
    uint param_1 = half_at(param, v_236);
    float d = f32_from_f16(param_1);
    run._step = float2(d);
    switch (kType)
    {
        case 8u:
        {
            uint param_2 = at + 2u;
            spvUnsafeArray<uint, 8> param_3;
            load_8_words(param_2, param_3, v_236);
            run.codes = param_3;
            run.minimum = float2(0.0);
            break;
        }
        case 2u:
        {
            uint param_4 = at + 2u;
            spvUnsafeArray<uint, 8> param_5;
            param_5 = run.codes;
            unpack_nibbles(param_4, param_5, v_236);
            run.codes = param_5;
            run.minimum = float2((-8.0) * d);
            break;
        }
        case 3u:
        {
            uint param_6 = at + 4u;
            spvUnsafeArray<uint, 8> param_7;
            param_7 = run.codes;
            unpack_nibbles(param_6, param_7, v_236);
            run.codes = param_7;
            uint param_8 = at + 2u;
            uint param_9 = half_at(param_8, v_236);
            run.minimum = float2(f32_from_f16(param_9));
            break;
        }
        case 6u:
        {
            uint param_10 = at + 6u;
            spvUnsafeArray<uint, 8> param_11;
            param_11 = run.codes;
            unpack_nibbles(param_10, param_11, v_236);
            run.codes = param_11;
            uint param_12 = at + 2u;
            uint param_13 = word_at(param_12, v_236);
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
            unpack_nibbles(param_15, param_16, v_236);
            run.codes = param_16;
            uint param_17 = at + 4u;
            uint param_18 = word_at(param_17, v_236);
            spvUnsafeArray<uint, 8> param_19;
            param_19 = run.codes;
            add_fifth_bits(param_18, param_19);
            run.codes = param_19;
            uint param_20 = at + 2u;
            uint param_21 = half_at(param_20, v_236);
            run.minimum = float2(f32_from_f16(param_21));
            break;
        }
        case 20u:
        {
            uint param_22 = at + 2u;
            spvUnsafeArray<uint, 8> param_23;
            param_23 = run.codes;
            unpack_nibbles(param_22, param_23, v_236);
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
void load_q2_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_236)
{
    uint param = (at + 16u) + (32u * (r / 4u));
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_236);
    run.codes = param_1;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = (run.codes[i] >> (2u * (r % 4u))) & 50529027u;
    }
    uint param_2 = at + (2u * r);
    uint scales = half_at(param_2, v_236);
    uint param_3 = at + 80u;
    uint param_4 = half_at(param_3, v_236);
    run._step = float2(float(scales & 15u), float((scales >> uint(8)) & 15u)) * f32_from_f16(param_4);
    uint param_5 = at + 82u;
    uint param_6 = half_at(param_5, v_236);
    run.minimum = float2(float((scales >> uint(4)) & 15u), float(scales >> uint(12))) * (-f32_from_f16(param_6));
}

static inline __attribute__((always_inline))
void load_q3_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_236)
{
    uint param = at;
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_236);
    spvUnsafeArray<uint, 8> high;
    high = param_1;
    uint param_2 = (at + 32u) + (32u * (r / 4u));
    spvUnsafeArray<uint, 8> param_3;
    load_8_words(param_2, param_3, v_236);
    run.codes = param_3;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = ((run.codes[i] >> (2u * (r % 4u))) & 50529027u) | (((high[i] >> r) & 16843009u) << uint(2));
    }
    uint param_4 = (at + 96u) + ((2u * r) % 8u);
    uint low_bits = half_at(param_4, v_236) >> (4u * (r / 4u));
    uint param_5 = (at + 104u) + ((2u * r) % 4u);
    uint high_bits = half_at(param_5, v_236) >> (2u * (r / 2u));
    uint scales = (low_bits & 3855u) | ((high_bits & 771u) << uint(4));
    uint param_6 = at + 108u;
    uint param_7 = half_at(param_6, v_236);
    run._step = (float2(float(scales & 255u), float(scales >> uint(8))) - float2(32.0)) * f32_from_f16(param_7);
    run.minimum = run._step * (-4.0);
}

static inline __attribute__((always_inline))
void load_k_scales(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_236)
{
    uint shift = 8u * (r % 4u);
    uint param = at + 4u;
    uint steps = word_at(param, v_236) >> shift;
    uint param_1 = at + 8u;
    uint minimums = word_at(param_1, v_236) >> shift;
    uint param_2 = at + 12u;
    uint low_bits = word_at(param_2, v_236) >> shift;
    bool is_whole = r < 4u;
    uint _710;
    if (is_whole)
    {
        _710 = steps & 63u;
    }
    else
    {
        _710 = (low_bits & 15u) | (((steps >> uint(6)) & 3u) << uint(4));
    }
    uint _step = _710;
    uint _728;
    if (is_whole)
    {
        _728 = minimums & 63u;
    }
    else
    {
        _728 = ((low_bits >> uint(4)) & 15u) | (((minimums >> uint(6)) & 3u) << uint(4));
    }
    uint minimum = _728;
    uint param_3 = at;
    uint block_steps = word_at(param_3, v_236);
    uint param_4 = block_steps & 65535u;
    run._step = float2(f32_from_f16(param_4) * float(_step));
    uint param_5 = block_steps >> uint(16);
    run.minimum = float2((-f32_from_f16(param_5)) * float(minimum));
}

static inline __attribute__((always_inline))
void load_q4_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_236)
{
    uint param = (at + 16u) + (32u * (r / 2u));
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_236);
    run.codes = param_1;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = (run.codes[i] >> (4u * (r % 2u))) & 252645135u;
    }
    uint param_2 = at;
    uint param_3 = r;
    Run param_4 = run;
    load_k_scales(param_2, param_3, param_4, v_236);
    run = param_4;
}

static inline __attribute__((always_inline))
void load_q5_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_236)
{
    uint param = at + 16u;
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_236);
    spvUnsafeArray<uint, 8> high;
    high = param_1;
    uint param_2 = (at + 48u) + (32u * (r / 2u));
    spvUnsafeArray<uint, 8> param_3;
    load_8_words(param_2, param_3, v_236);
    run.codes = param_3;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = ((run.codes[i] >> (4u * (r % 2u))) & 252645135u) | (((high[i] >> r) & 16843009u) << uint(4));
    }
    uint param_4 = at;
    uint param_5 = r;
    Run param_6 = run;
    load_k_scales(param_4, param_5, param_6, v_236);
    run = param_6;
}

static inline __attribute__((always_inline))
void load_q6_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_236)
{
    uint k = r % 4u;
    uint param = (at + 128u) + (32u * (r / 4u));
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_236);
    spvUnsafeArray<uint, 8> high;
    high = param_1;
    uint param_2 = (at + (64u * (r / 4u))) + (32u * (k % 2u));
    spvUnsafeArray<uint, 8> param_3;
    load_8_words(param_2, param_3, v_236);
    run.codes = param_3;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = ((run.codes[i] >> (4u * (k / 2u))) & 252645135u) | (((high[i] >> (2u * k)) & 50529027u) << uint(4));
    }
    uint param_4 = (at + 192u) + (2u * r);
    int scales = int(half_at(param_4, v_236));
    uint param_5 = at + 208u;
    uint param_6 = half_at(param_5, v_236);
    run._step = float2(float(extract_bits(scales, uint(0), uint(8))), float(extract_bits(scales, uint(8), uint(8)))) * f32_from_f16(param_6);
    run.minimum = run._step * (-32.0);
}

static inline __attribute__((always_inline))
void load_iq4_xs(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_236)
{
    uint param = (at + 8u) + (16u * r);
    spvUnsafeArray<uint, 8> param_1;
    param_1 = run.codes;
    unpack_nibbles(param, param_1, v_236);
    run.codes = param_1;
    spvUnsafeArray<uint, 8> param_2;
    param_2 = run.codes;
    look_up_iq4(param_2);
    run.codes = param_2;
    uint param_3 = at;
    uint head = word_at(param_3, v_236);
    uint param_4 = at + 4u;
    uint _step = ((word_at(param_4, v_236) >> (4u * r)) & 15u) | (((head >> (16u + (2u * r))) & 3u) << uint(4));
    uint param_5 = head & 65535u;
    run._step = float2(f32_from_f16(param_5) * (float(_step) - 32.0));
    run.minimum = float2(0.0);
}

static inline __attribute__((always_inline))
Run load_run(thread const uint& row, thread const uint& index, const device WeightWords& v_236)
{
    Run run;
    if (_1186)
    {
        uint param = row + (index * kBlockBytes);
        Run param_1 = run;
        load_blocks_of_32(param, param_1, v_236);
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
            load_q2_k(param_2, param_3, param_4, v_236);
            run = param_4;
            break;
        }
        case 11u:
        {
            uint param_5 = at;
            uint param_6 = r;
            Run param_7 = run;
            load_q3_k(param_5, param_6, param_7, v_236);
            run = param_7;
            break;
        }
        case 12u:
        {
            uint param_8 = at;
            uint param_9 = r;
            Run param_10 = run;
            load_q4_k(param_8, param_9, param_10, v_236);
            run = param_10;
            break;
        }
        case 13u:
        {
            uint param_11 = at;
            uint param_12 = r;
            Run param_13 = run;
            load_q5_k(param_11, param_12, param_13, v_236);
            run = param_13;
            break;
        }
        case 14u:
        {
            uint param_14 = at;
            uint param_15 = r;
            Run param_16 = run;
            load_q6_k(param_14, param_15, param_16, v_236);
            run = param_16;
            break;
        }
        case 23u:
        {
            uint param_17 = at;
            uint param_18 = r;
            Run param_19 = run;
            load_iq4_xs(param_17, param_18, param_19, v_236);
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
void unpack_weights(thread const uint& first_row, thread const uint& first, const device WeightWords& v_236, constant Push& push, threadgroup float4 (&w_tile)[_1522], thread uint3& gl_LocalInvocationID)
{
    for (uint row = gl_LocalInvocationID.x; row < kTileRows; row += kLanes)
    {
        uint param = first_row + row;
        uint param_1 = row_address(param, push);
        uint param_2 = first / 32u;
        Run run = load_run(param_1, param_2, v_236);
        for (uint i = 0u; i < 32u; i += 4u)
        {
            Run param_3 = run;
            uint param_4 = i;
            Run param_5 = run;
            uint param_6 = i + 1u;
            Run param_7 = run;
            uint param_8 = i + 2u;
            Run param_9 = run;
            uint param_10 = i + 3u;
            uint param_11 = row;
            uint param_12 = i;
            float4 param_13 = float4(value_of(param_3, param_4), value_of(param_5, param_6), value_of(param_7, param_8), value_of(param_9, param_10));
            put_w(param_11, param_12, param_13, w_tile);
        }
    }
}

static inline __attribute__((always_inline))
void put_x(thread const uint& token, thread const uint& i, thread const float4& values, threadgroup float4 (&x_tile)[_1557])
{
    for (uint j = 0u; j < 4u; j++)
    {
        uint param = token / 4u;
        uint param_1 = i;
        ((threadgroup float*)&x_tile[((i + j) * kTokenQuads) + place_in(param, param_1)])[token % 4u] = values[j];
    }
}

static inline __attribute__((always_inline))
void put_activations(thread const uint& n, thread const float4& values, threadgroup float4 (&x_tile)[_1557], thread uint3& gl_LocalInvocationID)
{
    uint piece = gl_LocalInvocationID.x + (n * kLanes);
    if (piece < _1965)
    {
        uint param = piece / 8u;
        uint param_1 = 4u * (piece % 8u);
        float4 param_2 = values;
        put_x(param, param_1, param_2, x_tile);
    }
}

static inline __attribute__((always_inline))
void multiply(thread const uint& i, thread const uint2& place, threadgroup float4 (&w_tile)[_1522], threadgroup float4 (&x_tile)[_1557], thread spvUnsafeArray<float4, 8>& sums)
{
    spvUnsafeArray<float4, 2> w4;
    for (uint r = 0u; r < 2u; r++)
    {
        uint param = place.x + (r * kRowLanes);
        uint param_1 = i;
        w4[r] = w_tile[(i * kRowQuads) + place_in(param, param_1)];
    }
    spvUnsafeArray<float4, 1> x4;
    for (uint t = 0u; t < 1u; t++)
    {
        uint param_2 = place.y + (t * kTokenLanes);
        uint param_3 = i;
        x4[t] = x_tile[(i * kTokenQuads) + place_in(param_2, param_3)];
    }
    for (uint t_1 = 0u; t_1 < 4u; t_1++)
    {
        for (uint r_1 = 0u; r_1 < 2u; r_1++)
        {
            uint _2060 = (t_1 * 2u) + r_1;
            sums[_2060] += (w4[r_1] * x4[t_1 / 4u][t_1 % 4u]);
        }
    }
}

static inline __attribute__((always_inline))
void store(thread const uint& row, thread const uint& token, thread const float& product, constant Push& push, const device Bias& v_1445, device Out& v_1458)
{
    bool _1416 = row >= push.n_rows;
    bool _1424;
    if (!_1416)
    {
        _1424 = token >= push.n_tokens;
    }
    else
    {
        _1424 = _1416;
    }
    if (_1424)
    {
        return;
    }
    uint out_row = push.first_row + row;
    float _1439;
    if (push.has_bias != 0u)
    {
        _1439 = v_1445.bias0[push.bias_at + out_row];
    }
    else
    {
        _1439 = 0.0;
    }
    float offset = _1439;
    v_1458.result[(push.out_at + (token * push.n_out)) + out_row] = product + offset;
}

kernel void matmul_gemm(const device WeightWords& v_236 [[buffer(0)]], constant Push& push [[buffer(30)]], const device WeightQuads& v_1622 [[buffer(1)]], const device X& v_1943 [[buffer(2)]], const device XQuads& v_1909 [[buffer(3)]], const device XCodes& v_1863 [[buffer(4)]], const device XScales& v_1875 [[buffer(5)]], const device Bias& v_1445 [[buffer(6)]], device Out& v_1458 [[buffer(7)]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]])
{
    threadgroup float4 w_tile[_1522];
    threadgroup float4 x_tile[_1557];
    uint first_row = gl_WorkGroupID.x * kTileRows;
    uint first_token = gl_WorkGroupID.y * kTileTokens;
    uint param = gl_LocalInvocationID.x;
    uint2 place = place_of(param);
    spvUnsafeArray<float4, 8> sums;
    for (uint i = 0u; i < 8u; i++)
    {
        sums[i] = float4(0.0);
    }
    spvUnsafeArray<Eight, kWeightsOfLane> w;
    if (kIsFloat)
    {
        for (uint n = 0u; n < kWeightsOfLane; n++)
        {
            uint param_1 = n;
            uint param_2 = first_row;
            uint param_3 = 0u;
            w[n] = load_weights(param_1, param_2, param_3, v_236, push, gl_LocalInvocationID, v_1622);
        }
    }
    spvUnsafeArray<float4, kActivationsOfLane> x;
    for (uint n_1 = 0u; n_1 < kActivationsOfLane; n_1++)
    {
        uint param_4 = n_1;
        uint param_5 = first_token;
        uint param_6 = 0u;
        x[n_1] = load_activations(param_4, param_5, param_6, push, gl_LocalInvocationID, v_1863, v_1875, v_1909, v_1943);
    }
    for (uint first = 0u; first < push.n_in; first += 32u)
    {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (kIsFloat)
        {
            for (uint n_2 = 0u; n_2 < kWeightsOfLane; n_2++)
            {
                uint param_7 = n_2;
                Eight param_8 = w[n_2];
                put_weights(param_7, param_8, w_tile, gl_LocalInvocationID);
            }
        }
        else
        {
            uint param_9 = first_row;
            uint param_10 = first;
            unpack_weights(param_9, param_10, v_236, push, w_tile, gl_LocalInvocationID);
        }
        for (uint n_3 = 0u; n_3 < kActivationsOfLane; n_3++)
        {
            uint param_11 = n_3;
            float4 param_12 = x[n_3];
            put_activations(param_11, param_12, x_tile, gl_LocalInvocationID);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        uint next = first + 32u;
        if (next < push.n_in)
        {
            if (kIsFloat)
            {
                for (uint n_4 = 0u; n_4 < kWeightsOfLane; n_4++)
                {
                    uint param_13 = n_4;
                    uint param_14 = first_row;
                    uint param_15 = next;
                    w[n_4] = load_weights(param_13, param_14, param_15, v_236, push, gl_LocalInvocationID, v_1622);
                }
            }
            for (uint n_5 = 0u; n_5 < kActivationsOfLane; n_5++)
            {
                uint param_16 = n_5;
                uint param_17 = first_token;
                uint param_18 = next;
                x[n_5] = load_activations(param_16, param_17, param_18, push, gl_LocalInvocationID, v_1863, v_1875, v_1909, v_1943);
            }
        }
        for (uint i_1 = 0u; i_1 < 32u; i_1 += 4u)
        {
            for (uint j = 0u; j < 4u; j++)
            {
                uint param_19 = i_1 + j;
                uint2 param_20 = place;
                multiply(param_19, param_20, w_tile, x_tile, sums);
            }
        }
    }
    for (uint t = 0u; t < 4u; t++)
    {
        uint token = (first_token + (4u * (place.y + ((t / 4u) * kTokenLanes)))) + (t % 4u);
        for (uint r = 0u; r < 8u; r++)
        {
            uint param_21 = (first_row + (4u * (place.x + ((r / 4u) * kRowLanes)))) + (r % 4u);
            uint param_22 = token;
            float param_23 = sums[(t * 2u) + (r / 4u)][r % 4u];
            store(param_21, param_22, param_23, push, v_1445, v_1458);
        }
    }
}

