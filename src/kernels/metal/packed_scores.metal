// src/kernels/vulkan/packed_scores.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
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
    uint q_first;
    uint out_first;
    uint n_q;
    uint n_rows;
    uint n_head;
    uint n_head_kv;
    uint n_batch;
    uint is_stored;
    uint is_rounded;
    float factor;
    float scale;
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
constant int _390 = kHasResidual ? 128 : 1;
#ifndef SPIRV_CROSS_CONSTANT_ID_2
#define SPIRV_CROSS_CONSTANT_ID_2 128u
#endif
constant uint kStored = SPIRV_CROSS_CONSTANT_ID_2;

struct Sketch
{
    float sketch[1];
};

struct Q
{
    float q[1];
};

constant uint kTransform_tmp [[function_constant(1)]];
constant uint kTransform = is_function_constant_defined(kTransform_tmp) ? kTransform_tmp : 0u;
constant bool _1186 = (kTransform < 5u);
constant uint _1187 = _1186 ? kStored : 0u;
constant bool _1207 = (kTransform >= 5u);
constant uint _1293 = (kStored + 1u);
constant uint _1294 = (_1293 / 2u);
constant uint _1306 = (kStored - 1u);

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
void load_v_levels(thread uint3& gl_LocalInvocationID, threadgroup float (&v_levels)[kVLevels], const device Constants& v_361, threadgroup float (&residual_signs)[_390])
{
    uint i = gl_LocalInvocationID.x;
    for (;;)
    {
        uint _349 = v_format();
        uint param = _349;
        uint _351 = n_levels(param);
        if (i < _351)
        {
            uint param_1 = v_format();
            v_levels[i] = v_361.constants[first_level(param_1) + i];
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
        residual_signs[i_1] = v_361.constants[352u + i_1];
    }
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
void multiply_signs(thread const uint& n, thread const uint& first, thread const uint& period, thread const float& factor, thread uint3& gl_LocalInvocationID, const device Constants& v_361, threadgroup float (&x)[kStored])
{
    for (uint i = gl_LocalInvocationID.x; i < n; i += 64u)
    {
        x[i] = spvFMul(x[i], spvFMul(factor, v_361.constants[first + (i & (period - 1u))]));
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

static inline __attribute__((always_inline))
void to_stored(thread const uint& transform, thread const uint& n, thread const uint& block, thread const float& root, thread uint3& gl_LocalInvocationID, const device Constants& v_361, threadgroup float (&x)[kStored])
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
            multiply_signs(param_4, param_5, param_6, param_7, gl_LocalInvocationID, v_361, x);
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
            multiply_signs(param_12, param_13, param_14, param_15, gl_LocalInvocationID, v_361, x);
            uint param_16 = n;
            uint param_17 = 128u;
            hadamard(param_16, param_17, gl_LocalInvocationID, x);
            uint param_18 = n;
            uint param_19 = 224u;
            uint param_20 = 128u;
            float param_21 = 0.088388346135616302490234375;
            multiply_signs(param_18, param_19, param_20, param_21, gl_LocalInvocationID, v_361, x);
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
float to_sketch(thread const uint& j, threadgroup float (&x)[kStored], const device Sketch& v_949)
{
    uint first = (j / 256u) * 128u;
    float sum = 0.0;
    for (uint i = 0u; i < 128u; i++)
    {
        sum = spvFAdd(sum, spvFMul(x[first + i], v_949.sketch[(i * 256u) + (j % 256u)]));
    }
    return sum;
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
    bool _985 = value != 0.0;
    bool _991;
    if (_985)
    {
        float param = value;
        _991 = is_finite(param);
    }
    else
    {
        _991 = _985;
    }
    return _991;
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
    bool _1001 = !is_ordinary(param);
    bool _1009;
    if (!_1001)
    {
        float param_1 = b;
        _1009 = !is_ordinary(param_1);
    }
    else
    {
        _1009 = _1001;
    }
    if (_1009)
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
void round_query(thread uint3& gl_LocalInvocationID, threadgroup float (&query)[kStored])
{
    float _1089;
    for (uint first = 0u; (first + 256u) <= kStored; first += 256u)
    {
        float largest = 0.0;
        for (uint j = 0u; j < 256u; j++)
        {
            largest = fast::max(largest, abs(query[first + j]));
        }
        if (largest > 0.0)
        {
            float param = largest;
            float param_1 = 127.0;
            _1089 = divided(param, param_1);
        }
        else
        {
            _1089 = 1.0;
        }
        float scale = _1089;
        float param_2 = 1.0;
        float param_3 = scale;
        float _inverse = divided(param_2, param_3);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint j_1 = gl_LocalInvocationID.x; j_1 < 256u; j_1 += 64u)
        {
            float code = spvFMul(query[first + j_1], _inverse);
            query[first + j_1] = spvFMul(scale, fast::clamp(rint(code), -127.0, 127.0));
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

static inline __attribute__((always_inline))
uint half_at(thread const uint& at, const device KvWords& v_196)
{
    return (v_196.kv_words[at >> uint(2)] >> (8u * (at & 2u))) & 65535u;
}

static inline __attribute__((always_inline))
float f32_from_f16(thread const uint& half_bits)
{
    uint _sign = (half_bits & 32768u) << uint(16);
    uint magnitude = half_bits & 32767u;
    uint subnormal = as_type<uint>(float(magnitude) * 5.9604644775390625e-08);
    uint exponent_offset = (magnitude < 31744u) ? 939524096u : 1879048192u;
    uint _178;
    if (magnitude < 1024u)
    {
        _178 = subnormal;
    }
    else
    {
        _178 = (magnitude << uint(13)) + exponent_offset;
    }
    return as_type<float>(_sign | _178);
}

static inline __attribute__((always_inline))
uint two_halves_at(thread const uint& at, const device KvWords& v_196)
{
    uint param = at;
    uint param_1 = at + 2u;
    return half_at(param, v_196) | (half_at(param_1, v_196) << uint(16));
}

static inline __attribute__((always_inline))
float residual_step(thread const uint& block, const device KvWords& v_196)
{
    uint param = block + 66u;
    return ((half_at(param, v_196) & 1u) != 0u) ? 0.0441941730678081512451171875 : (-0.0441941730678081512451171875);
}

static inline __attribute__((always_inline))
float load_float(thread const uint& format, thread const uint& row, thread const uint& i, const device KvWords& v_196)
{
    switch (format)
    {
        case 1u:
        {
            uint param = row + (2u * i);
            uint param_1 = half_at(param, v_196);
            return f32_from_f16(param_1);
        }
        case 2u:
        {
            uint param_2 = row + (2u * i);
            return as_type<float>(half_at(param_2, v_196) << uint(16));
        }
    }
    return as_type<float>(v_196.kv_words[(row / 4u) + i]);
}

static inline __attribute__((always_inline))
float2 load_pair_of_floats(thread const uint& format, thread const uint& row, thread const uint& pair, const device KvWords& v_196, constant Push& push)
{
    if (true)
    {
        uint param = format;
        uint param_1 = row;
        uint param_2 = 2u * pair;
        float _279;
        if (((2u * pair) + 1u) < push.head_dim_v)
        {
            uint param_3 = format;
            uint param_4 = row;
            uint param_5 = (2u * pair) + 1u;
            _279 = load_float(param_3, param_4, param_5, v_196);
        }
        else
        {
            _279 = 0.0;
        }
        return float2(load_float(param, param_1, param_2, v_196), _279);
    }
    uint word = v_196.kv_words[(row / 4u) + pair];
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
    return as_type<float2>(uint2(v_196.kv_words[(row / 4u) + (2u * pair)], v_196.kv_words[((row / 4u) + (2u * pair)) + 1u]));
}

static inline __attribute__((always_inline))
float2 load_v(thread const uint& row, thread const uint& pair, const device KvWords& v_196, constant Push& push, threadgroup float (&v_levels)[kVLevels], threadgroup float (&residual_signs)[_390])
{
    uint format = v_format();
    switch (format)
    {
        case 3u:
        {
            uint block = row + ((pair / 16u) * 34u);
            uint param = (block + 2u) + (2u * (pair % 16u));
            int codes = int(half_at(param, v_196));
            uint param_1 = block;
            uint param_2 = half_at(param_1, v_196);
            return float2(float(extract_bits(codes, uint(0), uint(8))), float(extract_bits(codes, uint(8), uint(8)))) * f32_from_f16(param_2);
        }
        case 4u:
        case 6u:
        {
            uint block_1 = row + ((pair / 16u) * 18u);
            uint param_3 = (block_1 + 2u) + (2u * (pair % 8u));
            uint codes_1 = half_at(param_3, v_196) >> (((pair % 16u) / 8u) * 4u);
            uint param_4 = block_1;
            uint param_5 = half_at(param_4, v_196);
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
            uint _545;
            if ((bit % 16u) > 10u)
            {
                uint param_7 = at + 2u;
                _545 = half_at(param_7, v_196) << uint(16);
            }
            else
            {
                _545 = 0u;
            }
            uint bits = half_at(param_6, v_196) | _545;
            uint codes_2 = bits >> (bit % 16u);
            uint param_8 = block_2;
            uint param_9 = half_at(param_8, v_196);
            return float2(v_levels[codes_2 & 7u], v_levels[(codes_2 >> uint(3)) & 7u]) * f32_from_f16(param_9);
        }
        case 7u:
        {
            uint block_3 = row + ((pair / 64u) * 52u);
            uint bit_1 = 6u * (pair % 64u);
            uint param_10 = (block_3 + 2u) + ((bit_1 / 16u) * 2u);
            uint states = two_halves_at(param_10, v_196) >> (bit_1 % 16u);
            uint param_11 = block_3;
            uint param_12 = half_at(param_11, v_196);
            return float2(v_levels[states & 511u], v_levels[(states >> uint(3)) & 511u]) * f32_from_f16(param_12);
        }
        case 8u:
        {
            uint block_4 = row + ((pair / 128u) * 34u);
            uint param_13 = block_4 + 32u;
            float norm = as_type<float>(half_at(param_13, v_196) << uint(16));
            uint param_14 = block_4 + (((pair % 128u) / 8u) * 2u);
            uint signs = half_at(param_14, v_196) >> ((pair % 8u) * 2u);
            float _651;
            if ((signs & 1u) != 0u)
            {
                _651 = norm;
            }
            else
            {
                _651 = -norm;
            }
            float _662;
            if ((signs & 2u) != 0u)
            {
                _662 = norm;
            }
            else
            {
                _662 = -norm;
            }
            return float2(_651, _662);
        }
        case 9u:
        case 10u:
        {
            uint block_5 = row + ((pair / 64u) * 82u);
            uint i = pair % 64u;
            uint param_15 = (block_5 + 2u) + (i & 4294967294u);
            uint codes_3 = half_at(param_15, v_196) >> (8u * (i & 1u));
            float2 levels = float2(v_levels[codes_3 & 15u], v_levels[(codes_3 >> uint(4)) & 15u]);
            if (format == 10u)
            {
                uint param_16 = block_5;
                levels += (float2(residual_signs[2u * i], residual_signs[(2u * i) + 1u]) * residual_step(param_16, v_196));
            }
            uint param_17 = block_5;
            uint param_18 = half_at(param_17, v_196);
            return levels * f32_from_f16(param_18);
        }
    }
    uint param_19 = format;
    uint param_20 = row;
    uint param_21 = pair;
    return load_pair_of_floats(param_19, param_20, param_21, v_196, push);
}

kernel void packed_scores(const device KvWords& v_196 [[buffer(0)]], constant Push& push [[buffer(30)]], const device Constants& v_361 [[buffer(1)]], const device Sketch& v_949 [[buffer(2)]], const device Q& _1163 [[buffer(3)]], device Out& _1336 [[buffer(4)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    threadgroup float v_levels[kVLevels];
    threadgroup float residual_signs[_390];
    threadgroup float x[kStored];
    threadgroup float query[kStored];
    uint vector = flat_group(gl_WorkGroupID, gl_NumWorkGroups);
    if (vector >= push.n)
    {
        return;
    }
    load_v_levels(gl_LocalInvocationID, v_levels, v_361, residual_signs);
    for (uint i = gl_LocalInvocationID.x; i < push.n_q; i += 64u)
    {
        x[i] = _1163.q[(push.q_first + (vector * push.n_q)) + i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (push.is_stored == 0u)
    {
        uint param = kTransform;
        uint param_1 = _1187;
        uint param_2 = 1u;
        float param_3 = 1.0;
        to_stored(param, param_1, param_2, param_3, gl_LocalInvocationID, v_361, x);
    }
    float _1209;
    for (uint j = gl_LocalInvocationID.x; j < kStored; j += 64u)
    {
        if ((push.is_stored == 0u) && _1207)
        {
            uint param_4 = j;
            _1209 = to_sketch(param_4, x, v_949);
        }
        else
        {
            _1209 = x[j];
        }
        query[j] = _1209;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (push.is_rounded != 0u)
    {
        round_query(gl_LocalInvocationID, query);
    }
    uint head_kv = (vector % push.n_head) / (push.n_head / push.n_head_kv);
    uint sequence = vector / (push.n_head * push.n_batch);
    uint first_row = ((sequence * push.n_head_kv) + head_kv) * push.n_rows;
    for (uint row = gl_LocalInvocationID.x; row < push.n_rows; row += 64u)
    {
        uint at = push.bytes_at + ((first_row + row) * push.row_bytes);
        float2 sums = float2(0.0);
        for (uint pair = 0u; pair < _1294; pair++)
        {
            uint param_5 = at;
            uint param_6 = pair;
            float2 values = load_v(param_5, param_6, v_196, push, v_levels, residual_signs);
            uint second = min(((2u * pair) + 1u), _1306);
            sums = spvFAdd(sums, spvFMul(values, float2(query[2u * pair], query[second])));
        }
        float score = spvFMul(spvFAdd(sums.x, sums.y), push.factor);
        _1336.result[(push.out_first + (vector * push.n_rows)) + row] = score * push.scale;
    }
}

