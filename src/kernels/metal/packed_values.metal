// src/kernels/vulkan/packed_values.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
#pragma clang diagnostic ignored "-Wmissing-prototypes"

#include <metal_stdlib>
#include <simd/simd.h>

using namespace metal;

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

constant uint kFormat_tmp [[function_constant(0)]];
constant uint kFormat = is_function_constant_defined(kFormat_tmp) ? kFormat_tmp : 1u;

struct KvWords
{
    uint kv_words[1];
};

struct Push
{
    uint n;
    uint bytes_at;
    uint row_bytes;
    uint out_first;
    uint n_rows;
    uint n_head;
    uint n_head_kv;
    uint n_batch;
    uint is_causal;
    int q_pos_base;
    uint head_dim;
    uint head_dim_v;
};

#ifndef SPIRV_CROSS_CONSTANT_ID_3
#define SPIRV_CROSS_CONSTANT_ID_3 1u
#endif
constant uint kVLevels = SPIRV_CROSS_CONSTANT_ID_3;

struct Constants
{
    float constants[1];
};

#ifndef SPIRV_CROSS_CONSTANT_ID_4
#define SPIRV_CROSS_CONSTANT_ID_4 false
#endif
constant bool kHasResidual = SPIRV_CROSS_CONSTANT_ID_4;
constant int _387 = kHasResidual ? 128 : 1;
#ifndef SPIRV_CROSS_CONSTANT_ID_2
#define SPIRV_CROSS_CONSTANT_ID_2 128u
#endif
constant uint kStored = SPIRV_CROSS_CONSTANT_ID_2;

struct Sketch
{
    float sketch[1];
};

constant uint kTransform_tmp [[function_constant(1)]];
constant uint kTransform = is_function_constant_defined(kTransform_tmp) ? kTransform_tmp : 0u;
constant bool _1006 = (kTransform < 5u);
constant bool _1020 = (kTransform < 5u);
constant uint _1021 = _1020 ? kStored : 0u;

struct Scores
{
    float scores[1];
};

constant uint _1318 = (kStored + 1u);
constant uint _1319 = (_1318 / 2u);

struct Out
{
    float result[1];
};

constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(64u, 1u, 1u);

static inline __attribute__((always_inline))
uint flat_group(thread uint3& gl_WorkGroupID, thread uint3& gl_NumWorkGroups)
{
    return (gl_WorkGroupID.y * gl_NumWorkGroups.x) + gl_WorkGroupID.x;
}

static inline __attribute__((always_inline))
uint v_format()
{
    return kFormat;
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
void load_v_levels(thread uint3& gl_LocalInvocationID, threadgroup float (&v_levels)[kVLevels], const device Constants& v_358, threadgroup float (&residual_signs)[_387])
{
    uint i = gl_LocalInvocationID.x;
    for (;;)
    {
        uint _346 = v_format();
        uint param = _346;
        uint _348 = n_levels(param);
        if (i < _348)
        {
            uint param_1 = v_format();
            v_levels[i] = v_358.constants[first_level(param_1) + i];
            i += 64u;
            continue;
        }
        else
        {
            break;
        }
    }
    for (uint i_1 = gl_LocalInvocationID.x; kHasResidual && (i_1 < 128u); i_1 += 64u)
    {
        residual_signs[i_1] = v_358.constants[352u + i_1];
    }
}

static inline __attribute__((always_inline))
uint magnitude_bits(thread const float& value)
{
    return as_type<uint>(value) & 2147483647u;
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
uint half_at(thread const uint& at, const device KvWords& v_193)
{
    return (v_193.kv_words[at >> uint(2)] >> (8u * (at & 2u))) & 65535u;
}

static inline __attribute__((always_inline))
float f32_from_f16(thread const uint& half_bits)
{
    uint _sign = (half_bits & 32768u) << uint(16);
    uint magnitude = half_bits & 32767u;
    uint subnormal = as_type<uint>(float(magnitude) * 5.9604644775390625e-08);
    uint exponent_offset = (magnitude < 31744u) ? 939524096u : 1879048192u;
    uint _175;
    if (magnitude < 1024u)
    {
        _175 = subnormal;
    }
    else
    {
        _175 = (magnitude << uint(13)) + exponent_offset;
    }
    return as_type<float>(_sign | _175);
}

static inline __attribute__((always_inline))
uint two_halves_at(thread const uint& at, const device KvWords& v_193)
{
    uint param = at;
    uint param_1 = at + 2u;
    return half_at(param, v_193) | (half_at(param_1, v_193) << uint(16));
}

static inline __attribute__((always_inline))
float residual_step(thread const uint& block, const device KvWords& v_193)
{
    uint param = block + 66u;
    return ((half_at(param, v_193) & 1u) != 0u) ? 0.0441941730678081512451171875 : (-0.0441941730678081512451171875);
}

static inline __attribute__((always_inline))
float load_float(thread const uint& format, thread const uint& row, thread const uint& i, const device KvWords& v_193)
{
    switch (format)
    {
        case 1u:
        {
            uint param = row + (2u * i);
            uint param_1 = half_at(param, v_193);
            return f32_from_f16(param_1);
        }
        case 2u:
        {
            uint param_2 = row + (2u * i);
            return as_type<float>(half_at(param_2, v_193) << uint(16));
        }
    }
    return as_type<float>(v_193.kv_words[(row / 4u) + i]);
}

static inline __attribute__((always_inline))
float2 load_pair_of_floats(thread const uint& format, thread const uint& row, thread const uint& pair, const device KvWords& v_193, constant Push& push)
{
    if (true)
    {
        uint param = format;
        uint param_1 = row;
        uint param_2 = 2u * pair;
        float _276;
        if (((2u * pair) + 1u) < push.head_dim_v)
        {
            uint param_3 = format;
            uint param_4 = row;
            uint param_5 = (2u * pair) + 1u;
            _276 = load_float(param_3, param_4, param_5, v_193);
        }
        else
        {
            _276 = 0.0;
        }
        return float2(load_float(param, param_1, param_2, v_193), _276);
    }
    uint word = v_193.kv_words[(row / 4u) + pair];
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
    return as_type<float2>(uint2(v_193.kv_words[(row / 4u) + (2u * pair)], v_193.kv_words[((row / 4u) + (2u * pair)) + 1u]));
}

static inline __attribute__((always_inline))
float2 load_v(thread const uint& row, thread const uint& pair, const device KvWords& v_193, constant Push& push, threadgroup float (&v_levels)[kVLevels], threadgroup float (&residual_signs)[_387])
{
    uint format = v_format();
    switch (format)
    {
        case 3u:
        {
            uint block = row + ((pair / 16u) * 34u);
            uint param = (block + 2u) + (2u * (pair % 16u));
            int codes = int(half_at(param, v_193));
            uint param_1 = block;
            uint param_2 = half_at(param_1, v_193);
            return float2(float(extract_bits(codes, uint(0), uint(8))), float(extract_bits(codes, uint(8), uint(8)))) * f32_from_f16(param_2);
        }
        case 4u:
        case 6u:
        {
            uint block_1 = row + ((pair / 16u) * 18u);
            uint param_3 = (block_1 + 2u) + (2u * (pair % 8u));
            uint codes_1 = half_at(param_3, v_193) >> (((pair % 16u) / 8u) * 4u);
            uint param_4 = block_1;
            uint param_5 = half_at(param_4, v_193);
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
            uint _542;
            if ((bit % 16u) > 10u)
            {
                uint param_7 = at + 2u;
                _542 = half_at(param_7, v_193) << uint(16);
            }
            else
            {
                _542 = 0u;
            }
            uint bits = half_at(param_6, v_193) | _542;
            uint codes_2 = bits >> (bit % 16u);
            uint param_8 = block_2;
            uint param_9 = half_at(param_8, v_193);
            return float2(v_levels[codes_2 & 7u], v_levels[(codes_2 >> uint(3)) & 7u]) * f32_from_f16(param_9);
        }
        case 7u:
        {
            uint block_3 = row + ((pair / 64u) * 52u);
            uint bit_1 = 6u * (pair % 64u);
            uint param_10 = (block_3 + 2u) + ((bit_1 / 16u) * 2u);
            uint states = two_halves_at(param_10, v_193) >> (bit_1 % 16u);
            uint param_11 = block_3;
            uint param_12 = half_at(param_11, v_193);
            return float2(v_levels[states & 511u], v_levels[(states >> uint(3)) & 511u]) * f32_from_f16(param_12);
        }
        case 8u:
        {
            uint block_4 = row + ((pair / 128u) * 34u);
            uint param_13 = block_4 + 32u;
            float norm = as_type<float>(half_at(param_13, v_193) << uint(16));
            uint param_14 = block_4 + (((pair % 128u) / 8u) * 2u);
            uint signs = half_at(param_14, v_193) >> ((pair % 8u) * 2u);
            float _648;
            if ((signs & 1u) != 0u)
            {
                _648 = norm;
            }
            else
            {
                _648 = -norm;
            }
            float _659;
            if ((signs & 2u) != 0u)
            {
                _659 = norm;
            }
            else
            {
                _659 = -norm;
            }
            return float2(_648, _659);
        }
        case 9u:
        case 10u:
        {
            uint block_5 = row + ((pair / 64u) * 82u);
            uint i = pair % 64u;
            uint param_15 = (block_5 + 2u) + (i & 4294967294u);
            uint codes_3 = half_at(param_15, v_193) >> (8u * (i & 1u));
            float2 levels = float2(v_levels[codes_3 & 15u], v_levels[(codes_3 >> uint(4)) & 15u]);
            if (format == 10u)
            {
                uint param_16 = block_5;
                levels += (float2(residual_signs[2u * i], residual_signs[(2u * i) + 1u]) * residual_step(param_16, v_193));
            }
            uint param_17 = block_5;
            uint param_18 = half_at(param_17, v_193);
            return levels * f32_from_f16(param_18);
        }
    }
    uint param_19 = format;
    uint param_20 = row;
    uint param_21 = pair;
    return load_pair_of_floats(param_19, param_20, param_21, v_193, push);
}

static inline __attribute__((always_inline))
void hadamard(thread const uint& n, thread const uint& block, thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kStored])
{
    for (uint len = 1u; len < block; len *= 2u)
    {
        for (uint pair = gl_LocalInvocationID.x; pair < (n / 2u); pair += 64u)
        {
            uint first = ((pair & (~(len - 1u))) * 2u) + (pair & (len - 1u));
            float a = x[first];
            float b = x[first + len];
            x[first] = spvFAdd(a, b);
            x[first + len] = spvFSub(a, b);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

static inline __attribute__((always_inline))
void multiply(thread const uint& n, thread const float& factor, thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kStored])
{
    for (uint i = gl_LocalInvocationID.x; i < n; i += 64u)
    {
        x[i] = spvFMul(x[i], factor);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

static inline __attribute__((always_inline))
void multiply_signs(thread const uint& n, thread const uint& first, thread const uint& period, thread const float& factor, thread uint3& gl_LocalInvocationID, const device Constants& v_358, threadgroup float (&x)[kStored])
{
    for (uint i = gl_LocalInvocationID.x; i < n; i += 64u)
    {
        x[i] = spvFMul(x[i], spvFMul(factor, v_358.constants[first + (i & (period - 1u))]));
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

static inline __attribute__((always_inline))
void to_stored(thread const uint& transform, thread const uint& n, thread const uint& block, thread const float& root, thread uint3& gl_LocalInvocationID, const device Constants& v_358, threadgroup float (&x)[kStored])
{
    switch (transform)
    {
        case 1u:
        {
            if (block > 1u)
            {
                uint param = n;
                uint param_1 = block;
                hadamard(param, param_1, gl_LocalInvocationID, x);
                uint param_2 = n;
                float param_3 = root;
                multiply(param_2, param_3, gl_LocalInvocationID, x);
            }
            break;
        }
        case 2u:
        {
            uint param_4 = n;
            uint param_5 = 64u;
            uint param_6 = 32u;
            float param_7 = 1.0;
            multiply_signs(param_4, param_5, param_6, param_7, gl_LocalInvocationID, v_358, x);
            uint param_8 = n;
            uint param_9 = 32u;
            hadamard(param_8, param_9, gl_LocalInvocationID, x);
            uint param_10 = n;
            float param_11 = 0.17677669227123260498046875;
            multiply(param_10, param_11, gl_LocalInvocationID, x);
            break;
        }
        case 3u:
        {
            uint param_12 = n;
            uint param_13 = 96u;
            uint param_14 = 128u;
            float param_15 = 1.0;
            multiply_signs(param_12, param_13, param_14, param_15, gl_LocalInvocationID, v_358, x);
            uint param_16 = n;
            uint param_17 = 128u;
            hadamard(param_16, param_17, gl_LocalInvocationID, x);
            uint param_18 = n;
            uint param_19 = 224u;
            uint param_20 = 128u;
            float param_21 = 0.088388346135616302490234375;
            multiply_signs(param_18, param_19, param_20, param_21, gl_LocalInvocationID, v_358, x);
            break;
        }
        case 4u:
        {
            uint param_22 = n;
            uint param_23 = 128u;
            hadamard(param_22, param_23, gl_LocalInvocationID, x);
            uint param_24 = n;
            float param_25 = 0.0078125;
            multiply(param_24, param_25, gl_LocalInvocationID, x);
            break;
        }
    }
}

static inline __attribute__((always_inline))
void from_stored(thread const uint& transform, thread const uint& n, thread const uint& block, thread const float& root, thread uint3& gl_LocalInvocationID, const device Constants& v_358, threadgroup float (&x)[kStored])
{
    switch (transform)
    {
        case 2u:
        {
            uint param = n;
            uint param_1 = 32u;
            hadamard(param, param_1, gl_LocalInvocationID, x);
            uint param_2 = n;
            uint param_3 = 64u;
            uint param_4 = 32u;
            float param_5 = 0.17677669227123260498046875;
            multiply_signs(param_2, param_3, param_4, param_5, gl_LocalInvocationID, v_358, x);
            break;
        }
        case 3u:
        {
            uint param_6 = n;
            uint param_7 = 224u;
            uint param_8 = 128u;
            float param_9 = 1.0;
            multiply_signs(param_6, param_7, param_8, param_9, gl_LocalInvocationID, v_358, x);
            uint param_10 = n;
            uint param_11 = 128u;
            hadamard(param_10, param_11, gl_LocalInvocationID, x);
            uint param_12 = n;
            uint param_13 = 96u;
            uint param_14 = 128u;
            float param_15 = 0.088388346135616302490234375;
            multiply_signs(param_12, param_13, param_14, param_15, gl_LocalInvocationID, v_358, x);
            break;
        }
        default:
        {
            uint param_16 = transform;
            uint param_17 = n;
            uint param_18 = block;
            float param_19 = root;
            to_stored(param_16, param_17, param_18, param_19, gl_LocalInvocationID, v_358, x);
            break;
        }
    }
}

static inline __attribute__((always_inline))
void from_stored_values(thread uint3& gl_LocalInvocationID, const device Constants& v_358, threadgroup float (&x)[kStored])
{
    uint param = kTransform;
    uint param_1 = _1021;
    uint param_2 = 1u;
    float param_3 = 1.0;
    from_stored(param, param_1, param_2, param_3, gl_LocalInvocationID, v_358, x);
}

static inline __attribute__((always_inline))
float from_sketch(thread const uint& i, threadgroup float (&x)[kStored], const device Sketch& v_983)
{
    uint first = (i / 128u) * 256u;
    float sum = 0.0;
    for (uint j = 0u; j < 256u; j++)
    {
        sum += (v_983.sketch[((i % 128u) * 256u) + j] * x[first + j]);
    }
    return sum;
}

static inline __attribute__((always_inline))
float from_stored_value(thread const uint& i, threadgroup float (&x)[kStored], const device Sketch& v_983)
{
    float _1007;
    if (_1006)
    {
        _1007 = x[i];
    }
    else
    {
        uint param = i;
        _1007 = from_sketch(param, x, v_983);
    }
    return _1007;
}

kernel void packed_values(const device KvWords& v_193 [[buffer(0)]], constant Push& push [[buffer(30)]], const device Constants& v_358 [[buffer(1)]], const device Sketch& v_983 [[buffer(2)]], const device Scores& _1200 [[buffer(3)]], device Out& _1398 [[buffer(4)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    threadgroup float v_levels[kVLevels];
    threadgroup float residual_signs[_387];
    threadgroup float x[kStored];
    threadgroup float weights[64];
    uint vector = flat_group(gl_WorkGroupID, gl_NumWorkGroups);
    uint lane = gl_LocalInvocationID.x;
    if (vector >= push.n)
    {
        return;
    }
    load_v_levels(gl_LocalInvocationID, v_levels, v_358, residual_signs);
    int n_seen = (push.q_pos_base + int((vector / push.n_head) % push.n_batch)) + 1;
    uint _1143;
    if (push.is_causal != 0u)
    {
        _1143 = uint(clamp(n_seen, 0, int(push.n_rows)));
    }
    else
    {
        _1143 = push.n_rows;
    }
    uint n_visible = _1143;
    uint head_kv = (vector % push.n_head) / (push.n_head / push.n_head_kv);
    uint sequence = vector / (push.n_head * push.n_batch);
    uint first_row = ((sequence * push.n_head_kv) + head_kv) * push.n_rows;
    uint score_at = vector * push.n_rows;
    float _1194;
    if (n_visible > 0u)
    {
        _1194 = _1200.scores[score_at];
    }
    else
    {
        _1194 = 0.0;
    }
    float largest = _1194;
    for (uint row = 1u; row < n_visible; row++)
    {
        largest = fast::max(largest, _1200.scores[score_at + row]);
    }
    bool _1227 = n_visible > 0u;
    bool _1233;
    if (_1227)
    {
        _1233 = !isinf(largest);
    }
    else
    {
        _1233 = _1227;
    }
    bool _1239;
    if (_1233)
    {
        _1239 = !isnan(largest);
    }
    else
    {
        _1239 = _1233;
    }
    bool sees_any = _1239;
    for (uint i = lane; i < kStored; i += 64u)
    {
        x[i] = 0.0;
    }
    float sum = 0.0;
    float _1277;
    for (uint block = 0u; sees_any && (block < n_visible); block += 64u)
    {
        uint n = min(64u, (n_visible - block));
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (lane < n)
        {
            float param = spvFSub(_1200.scores[(score_at + block) + lane], largest);
            _1277 = accurate_exp(param);
        }
        else
        {
            _1277 = 0.0;
        }
        weights[lane] = _1277;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i_1 = 0u; i_1 < n; i_1++)
        {
            sum += weights[i_1];
        }
        for (uint pair = lane; pair < _1319; pair += 64u)
        {
            float2 sums = float2(0.0);
            for (uint i_2 = 0u; i_2 < n; i_2++)
            {
                uint param_1 = push.bytes_at + (((first_row + block) + i_2) * push.row_bytes);
                uint param_2 = pair;
                sums = spvFAdd(sums, load_v(param_1, param_2, v_193, push, v_levels, residual_signs) * weights[i_2]);
            }
            uint _1356 = 2u * pair;
            x[_1356] = spvFAdd(x[_1356], sums.x);
            if (((2u * pair) + 1u) < kStored)
            {
                uint _1371 = (2u * pair) + 1u;
                x[_1371] = spvFAdd(x[_1371], sums.y);
            }
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    from_stored_values(gl_LocalInvocationID, v_358, x);
    float _1409;
    for (uint i_3 = lane; i_3 < push.head_dim; i_3 += 64u)
    {
        if (sees_any)
        {
            uint param_3 = i_3;
            _1409 = from_stored_value(param_3, x, v_983) / sum;
        }
        else
        {
            _1409 = 0.0;
        }
        _1398.result[(push.out_first + (vector * push.head_dim)) + i_3] = _1409;
    }
}

