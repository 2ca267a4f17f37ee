// src/kernels/vulkan/get_rows.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
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
constant bool _1136 = (kBlockElements == 32u);
constant uint kBlockBytes_tmp [[function_constant(1)]];
constant uint kBlockBytes = is_function_constant_defined(kBlockBytes_tmp) ? kBlockBytes_tmp : 4u;

struct Push
{
    uint table_at;
    uint row_bytes;
    uint rows_at;
    uint out_at;
    uint n;
    uint n_out;
    uint first_row;
    uint n_rows;
};

constant bool _1289 = (kType == 0u);
constant bool _1290 = (kType == 1u);
constant bool _1291 = (_1289 || _1290);
constant bool _1293 = (kType == 30u);
constant bool kIsFloat = (_1291 || _1293);
constant int _1296 = kIsFloat ? 1 : 32;
constant uint per_lane = (uint(_1296) + 0u);

struct Rows
{
    int rows[1];
};

struct Out
{
    float result[1];
};

constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(128u, 1u, 1u);
constant bool kWholeQuads_tmp [[function_constant(3)]];
constant bool kWholeQuads = is_function_constant_defined(kWholeQuads_tmp) ? kWholeQuads_tmp : false;
constant bool _1410 = (kType == 10u);
constant bool _1411 = (kType == 11u);
constant bool _1412 = (_1410 || _1411);
constant bool _1413 = (kType == 14u);
constant bool kStepsOfHalves = (_1412 || _1413);

struct WeightQuads
{
    uint4 weight_quads[1];
};

static inline __attribute__((always_inline))
uint flat_group(thread uint3& gl_WorkGroupID, thread uint3& gl_NumWorkGroups)
{
    return (gl_WorkGroupID.y * gl_NumWorkGroups.x) + gl_WorkGroupID.x;
}

static inline __attribute__((always_inline))
uint flat_invocation(thread uint3& gl_WorkGroupID, thread uint3& gl_NumWorkGroups, thread uint3& gl_LocalInvocationID)
{
    return (flat_group(gl_WorkGroupID, gl_NumWorkGroups) * 128u) + gl_LocalInvocationID.x;
}

static inline __attribute__((always_inline))
uint half_at(thread const uint& at, const device WeightWords& v_188)
{
    return (v_188.weight_words[at >> uint(2)] >> (8u * (at & 2u))) & 65535u;
}

static inline __attribute__((always_inline))
float f32_from_f16(thread const uint& half_bits)
{
    uint _sign = (half_bits & 32768u) << uint(16);
    uint magnitude = half_bits & 32767u;
    uint subnormal = as_type<uint>(float(magnitude) * 5.9604644775390625e-08);
    uint exponent_offset = (magnitude < 31744u) ? 939524096u : 1879048192u;
    uint _170;
    if (magnitude < 1024u)
    {
        _170 = subnormal;
    }
    else
    {
        _170 = (magnitude << uint(13)) + exponent_offset;
    }
    return as_type<float>(_sign | _170);
}

static inline __attribute__((always_inline))
float load_float(thread const uint& row, thread const uint& i, const device WeightWords& v_188)
{
    switch (kType)
    {
        case 1u:
        {
            uint param = row + (2u * i);
            uint param_1 = half_at(param, v_188);
            return f32_from_f16(param_1);
        }
        case 30u:
        {
            uint param_2 = row + (2u * i);
            return as_type<float>(half_at(param_2, v_188) << uint(16));
        }
    }
    return as_type<float>(v_188.weight_words[(row / 4u) + i]);
}

static inline __attribute__((always_inline))
void load_8_words(thread const uint& at, thread spvUnsafeArray<uint, 8>& loaded, const device WeightWords& v_188)
{
    spvUnsafeArray<uint, 9> aligned;
    for (uint i = 0u; i < 8u; i++)
    {
        aligned[i] = v_188.weight_words[(at >> uint(2)) + i];
    }
    aligned[8] = v_188.weight_words[(at + 31u) >> uint(2)];
    bool straddles = (at & 2u) != 0u;
    uint _279;
    for (uint i_1 = 0u; i_1 < 8u; i_1++)
    {
        if (straddles)
        {
            _279 = (aligned[i_1] >> uint(16)) | (aligned[i_1 + 1u] << uint(16));
        }
        else
        {
            _279 = aligned[i_1];
        }
        loaded[i_1] = _279;
    }
}

static inline __attribute__((always_inline))
void load_4_words(thread const uint& at, thread spvUnsafeArray<uint, 4>& loaded, const device WeightWords& v_188)
{
    spvUnsafeArray<uint, 5> aligned;
    for (uint i = 0u; i < 4u; i++)
    {
        aligned[i] = v_188.weight_words[(at >> uint(2)) + i];
    }
    aligned[4] = v_188.weight_words[(at + 15u) >> uint(2)];
    bool straddles = (at & 2u) != 0u;
    uint _344;
    for (uint i_1 = 0u; i_1 < 4u; i_1++)
    {
        if (straddles)
        {
            _344 = (aligned[i_1] >> uint(16)) | (aligned[i_1 + 1u] << uint(16));
        }
        else
        {
            _344 = aligned[i_1];
        }
        loaded[i_1] = _344;
    }
}

static inline __attribute__((always_inline))
void unpack_nibbles(thread const uint& at, thread spvUnsafeArray<uint, 8>& codes, const device WeightWords& v_188)
{
    uint param = at;
    spvUnsafeArray<uint, 4> param_1;
    load_4_words(param, param_1, v_188);
    spvUnsafeArray<uint, 4> q;
    q = param_1;
    for (uint i = 0u; i < 4u; i++)
    {
        codes[i] = q[i] & 252645135u;
        codes[i + 4u] = (q[i] >> uint(4)) & 252645135u;
    }
}

static inline __attribute__((always_inline))
uint word_at(thread const uint& at, const device WeightWords& v_188)
{
    uint first = v_188.weight_words[at >> uint(2)];
    uint last = v_188.weight_words[(at + 3u) >> uint(2)];
    uint _220;
    if ((at & 2u) == 0u)
    {
        _220 = first;
    }
    else
    {
        _220 = (first >> uint(16)) | (last << uint(16));
    }
    return _220;
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
void load_blocks_of_32(thread const uint& at, thread Run& run, const device WeightWords& v_188)
{
    uint param = at;
    uint param_1 = half_at(param, v_188);
    float d = f32_from_f16(param_1);
    run._step = float2(d);
    switch (kType)
    {
        case 8u:
        {
            uint param_2 = at + 2u;
            spvUnsafeArray<uint, 8> param_3;
            load_8_words(param_2, param_3, v_188);
            run.codes = param_3;
            run.minimum = float2(0.0);
            break;
        }
        case 2u:
        {
            uint param_4 = at + 2u;
            spvUnsafeArray<uint, 8> param_5;
            param_5 = run.codes;
            unpack_nibbles(param_4, param_5, v_188);
            run.codes = param_5;
            run.minimum = float2((-8.0) * d);
            break;
        }
        case 3u:
        {
            uint param_6 = at + 4u;
            spvUnsafeArray<uint, 8> param_7;
            param_7 = run.codes;
            unpack_nibbles(param_6, param_7, v_188);
            run.codes = param_7;
            uint param_8 = at + 2u;
            uint param_9 = half_at(param_8, v_188);
            run.minimum = float2(f32_from_f16(param_9));
            break;
        }
        case 6u:
        {
            uint param_10 = at + 6u;
            spvUnsafeArray<uint, 8> param_11;
            param_11 = run.codes;
            unpack_nibbles(param_10, param_11, v_188);
            run.codes = param_11;
            uint param_12 = at + 2u;
            uint param_13 = word_at(param_12, v_188);
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
            unpack_nibbles(param_15, param_16, v_188);
            run.codes = param_16;
            uint param_17 = at + 4u;
            uint param_18 = word_at(param_17, v_188);
            spvUnsafeArray<uint, 8> param_19;
            param_19 = run.codes;
            add_fifth_bits(param_18, param_19);
            run.codes = param_19;
            uint param_20 = at + 2u;
            uint param_21 = half_at(param_20, v_188);
            run.minimum = float2(f32_from_f16(param_21));
            break;
        }
        case 20u:
        {
            uint param_22 = at + 2u;
            spvUnsafeArray<uint, 8> param_23;
            param_23 = run.codes;
            unpack_nibbles(param_22, param_23, v_188);
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
void load_q2_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_188)
{
    uint param = (at + 16u) + (32u * (r / 4u));
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_188);
    run.codes = param_1;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = (run.codes[i] >> (2u * (r % 4u))) & 50529027u;
    }
    uint param_2 = at + (2u * r);
    uint scales = half_at(param_2, v_188);
    uint param_3 = at + 80u;
    uint param_4 = half_at(param_3, v_188);
    run._step = float2(float(scales & 15u), float((scales >> uint(8)) & 15u)) * f32_from_f16(param_4);
    uint param_5 = at + 82u;
    uint param_6 = half_at(param_5, v_188);
    run.minimum = float2(float((scales >> uint(4)) & 15u), float(scales >> uint(12))) * (-f32_from_f16(param_6));
}

static inline __attribute__((always_inline))
void load_q3_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_188)
{
    uint param = at;
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_188);
    spvUnsafeArray<uint, 8> high;
    high = param_1;
    uint param_2 = (at + 32u) + (32u * (r / 4u));
    spvUnsafeArray<uint, 8> param_3;
    load_8_words(param_2, param_3, v_188);
    run.codes = param_3;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = ((run.codes[i] >> (2u * (r % 4u))) & 50529027u) | (((high[i] >> r) & 16843009u) << uint(2));
    }
    uint param_4 = (at + 96u) + ((2u * r) % 8u);
    uint low_bits = half_at(param_4, v_188) >> (4u * (r / 4u));
    uint param_5 = (at + 104u) + ((2u * r) % 4u);
    uint high_bits = half_at(param_5, v_188) >> (2u * (r / 2u));
    uint scales = (low_bits & 3855u) | ((high_bits & 771u) << uint(4));
    uint param_6 = at + 108u;
    uint param_7 = half_at(param_6, v_188);
    run._step = (float2(float(scales & 255u), float(scales >> uint(8))) - float2(32.0)) * f32_from_f16(param_7);
    run.minimum = run._step * (-4.0);
}

static inline __attribute__((always_inline))
void load_k_scales(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_188)
{
    uint shift = 8u * (r % 4u);
    uint param = at + 4u;
    uint steps = word_at(param, v_188) >> shift;
    uint param_1 = at + 8u;
    uint minimums = word_at(param_1, v_188) >> shift;
    uint param_2 = at + 12u;
    uint low_bits = word_at(param_2, v_188) >> shift;
    bool is_whole = r < 4u;
    uint _661;
    if (is_whole)
    {
        _661 = steps & 63u;
    }
    else
    {
        _661 = (low_bits & 15u) | (((steps >> uint(6)) & 3u) << uint(4));
    }
    uint _step = _661;
    uint _679;
    if (is_whole)
    {
        _679 = minimums & 63u;
    }
    else
    {
        _679 = ((low_bits >> uint(4)) & 15u) | (((minimums >> uint(6)) & 3u) << uint(4));
    }
    uint minimum = _679;
    uint param_3 = at;
    uint block_steps = word_at(param_3, v_188);
    uint param_4 = block_steps & 65535u;
    run._step = float2(f32_from_f16(param_4) * float(_step));
    uint param_5 = block_steps >> uint(16);
    run.minimum = float2((-f32_from_f16(param_5)) * float(minimum));
}

static inline __attribute__((always_inline))
void load_q4_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_188)
{
    uint param = (at + 16u) + (32u * (r / 2u));
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_188);
    run.codes = param_1;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = (run.codes[i] >> (4u * (r % 2u))) & 252645135u;
    }
    uint param_2 = at;
    uint param_3 = r;
    Run param_4 = run;
    load_k_scales(param_2, param_3, param_4, v_188);
    run = param_4;
}

static inline __attribute__((always_inline))
void load_q5_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_188)
{
    uint param = at + 16u;
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_188);
    spvUnsafeArray<uint, 8> high;
    high = param_1;
    uint param_2 = (at + 48u) + (32u * (r / 2u));
    spvUnsafeArray<uint, 8> param_3;
    load_8_words(param_2, param_3, v_188);
    run.codes = param_3;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = ((run.codes[i] >> (4u * (r % 2u))) & 252645135u) | (((high[i] >> r) & 16843009u) << uint(4));
    }
    uint param_4 = at;
    uint param_5 = r;
    Run param_6 = run;
    load_k_scales(param_4, param_5, param_6, v_188);
    run = param_6;
}

static inline __attribute__((always_inline))
void load_q6_k(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_188)
{
    uint k = r % 4u;
    uint param = (at + 128u) + (32u * (r / 4u));
    spvUnsafeArray<uint, 8> param_1;
    load_8_words(param, param_1, v_188);
    spvUnsafeArray<uint, 8> high;
    high = param_1;
    uint param_2 = (at + (64u * (r / 4u))) + (32u * (k % 2u));
    spvUnsafeArray<uint, 8> param_3;
    load_8_words(param_2, param_3, v_188);
    run.codes = param_3;
    for (uint i = 0u; i < 8u; i++)
    {
        run.codes[i] = ((run.codes[i] >> (4u * (k / 2u))) & 252645135u) | (((high[i] >> (2u * k)) & 50529027u) << uint(4));
    }
    uint param_4 = (at + 192u) + (2u * r);
    int scales = int(half_at(param_4, v_188));
    uint param_5 = at + 208u;
    uint param_6 = half_at(param_5, v_188);
    run._step = float2(float(extract_bits(scales, uint(0), uint(8))), float(extract_bits(scales, uint(8), uint(8)))) * f32_from_f16(param_6);
    run.minimum = run._step * (-32.0);
}

static inline __attribute__((always_inline))
void load_iq4_xs(thread const uint& at, thread const uint& r, thread Run& run, const device WeightWords& v_188)
{
    uint param = (at + 8u) + (16u * r);
    spvUnsafeArray<uint, 8> param_1;
    param_1 = run.codes;
    unpack_nibbles(param, param_1, v_188);
    run.codes = param_1;
    spvUnsafeArray<uint, 8> param_2;
    param_2 = run.codes;
    look_up_iq4(param_2);
    run.codes = param_2;
    uint param_3 = at;
    uint head = word_at(param_3, v_188);
    uint param_4 = at + 4u;
    uint _step = ((word_at(param_4, v_188) >> (4u * r)) & 15u) | (((head >> (16u + (2u * r))) & 3u) << uint(4));
    uint param_5 = head & 65535u;
    run._step = float2(f32_from_f16(param_5) * (float(_step) - 32.0));
    run.minimum = float2(0.0);
}

static inline __attribute__((always_inline))
Run load_run(thread const uint& row, thread const uint& index, const device WeightWords& v_188)
{
    Run run;
    if (_1136)
    {
        uint param = row + (index * kBlockBytes);
        Run param_1 = run;
        load_blocks_of_32(param, param_1, v_188);
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
            load_q2_k(param_2, param_3, param_4, v_188);
            run = param_4;
            break;
        }
        case 11u:
        {
            uint param_5 = at;
            uint param_6 = r;
            Run param_7 = run;
            load_q3_k(param_5, param_6, param_7, v_188);
            run = param_7;
            break;
        }
        case 12u:
        {
            uint param_8 = at;
            uint param_9 = r;
            Run param_10 = run;
            load_q4_k(param_8, param_9, param_10, v_188);
            run = param_10;
            break;
        }
        case 13u:
        {
            uint param_11 = at;
            uint param_12 = r;
            Run param_13 = run;
            load_q5_k(param_11, param_12, param_13, v_188);
            run = param_13;
            break;
        }
        case 14u:
        {
            uint param_14 = at;
            uint param_15 = r;
            Run param_16 = run;
            load_q6_k(param_14, param_15, param_16, v_188);
            run = param_16;
            break;
        }
        case 23u:
        {
            uint param_17 = at;
            uint param_18 = r;
            Run param_19 = run;
            load_iq4_xs(param_17, param_18, param_19, v_188);
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

kernel void get_rows(const device WeightWords& v_188 [[buffer(0)]], constant Push& push [[buffer(30)]], const device Rows& _1321 [[buffer(2)]], device Out& _1366 [[buffer(3)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    uint lanes_of_row = push.n / per_lane;
    uint lane = flat_invocation(gl_WorkGroupID, gl_NumWorkGroups, gl_LocalInvocationID);
    uint i = lane / lanes_of_row;
    if (i >= push.n_out)
    {
        return;
    }
    uint part = lane % lanes_of_row;
    uint row_number = uint(_1321.rows[push.rows_at + i]) - push.first_row;
    if (row_number >= push.n_rows)
    {
        return;
    }
    uint row = push.table_at + (row_number * push.row_bytes);
    uint at = (push.out_at + (i * push.n)) + (part * per_lane);
    if (kIsFloat)
    {
        uint param = row;
        uint param_1 = part;
        _1366.result[at] = load_float(param, param_1, v_188);
        return;
    }
    uint param_2 = row;
    uint param_3 = part;
    Run run = load_run(param_2, param_3, v_188);
    for (uint v = 0u; v < 32u; v++)
    {
        Run param_4 = run;
        uint param_5 = v;
        _1366.result[at + v] = value_of(param_4, param_5);
    }
}

