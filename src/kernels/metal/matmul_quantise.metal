// src/kernels/vulkan/matmul_quantise.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
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

struct Push
{
    uint x_at;
    uint scales_at;
    uint n_runs;
    float smallest_magnitude;
};

struct X
{
    float4 x[1];
};

struct Codes
{
    uint codes[1];
};

struct Scales
{
    float4 scales[1];
};

constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(128u, 1u, 1u);

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
    bool _125 = value != 0.0;
    bool _131;
    if (_125)
    {
        float param = value;
        _131 = is_finite(param);
    }
    else
    {
        _131 = _125;
    }
    return _131;
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
    bool _141 = !is_ordinary(param);
    bool _149;
    if (!_141)
    {
        float param_1 = b;
        _149 = !is_ordinary(param_1);
    }
    else
    {
        _149 = _141;
    }
    if (_149)
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
    float _202;
    if (most < magnitude_bits(param))
    {
        _202 = 0.0;
    }
    else
    {
        float param_1 = 127.0;
        float param_2 = as_type<float>(most);
        _202 = divided(param_1, param_2);
    }
    return _202;
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
    float _220;
    if (most < magnitude_bits(param))
    {
        _220 = 0.0;
    }
    else
    {
        _220 = as_type<float>(most) / 127.0;
    }
    return _220;
}

static inline __attribute__((always_inline))
float4 scales_of(thread const float& _step, thread const int& first, thread const int& last)
{
    return float4(_step, float3(float(first), float(last), float(first + last)) * _step);
}

kernel void matmul_quantise(constant Push& push [[buffer(30)]], const device X& _315 [[buffer(0)]], device Codes& _410 [[buffer(1)]], device Scales& _458 [[buffer(2)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    threadgroup uint largest[128];
    threadgroup int sums[128];
    uint lane = gl_LocalInvocationID.x;
    uint first_lane = lane - (lane % 8u);
    uint run = flat_invocation(gl_WorkGroupID, gl_NumWorkGroups, gl_LocalInvocationID) / 8u;
    bool is_inside = run < push.n_runs;
    float4 _309;
    if (is_inside)
    {
        _309 = _315.x[(push.x_at + (8u * run)) + (lane % 8u)];
    }
    else
    {
        _309 = float4(0.0);
    }
    float4 values = _309;
    float4 param = values;
    uint4 magnitudes = magnitude_bits(param);
    largest[lane] = max(max(magnitudes.x, magnitudes.y), max(magnitudes.z, magnitudes.w));
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint most = 0u;
    for (uint i = 0u; i < 8u; i++)
    {
        most = max(most, largest[first_lane + i]);
    }
    uint param_1 = most;
    float param_2 = push.smallest_magnitude;
    float4 param_3 = values;
    float param_4 = inverse_step(param_1, param_2);
    int4 code = codes_of(param_3, param_4);
    sums[lane] = ((code.x + code.y) + code.z) + code.w;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (!is_inside)
    {
        return;
    }
    int4 param_5 = code;
    _410.codes[(8u * run) + (lane % 8u)] = _packed(param_5);
    if (lane != first_lane)
    {
        return;
    }
    int first_half = 0;
    int second_half = 0;
    for (uint i_1 = 0u; i_1 < 4u; i_1++)
    {
        first_half += sums[first_lane + i_1];
        second_half += sums[(first_lane + 4u) + i_1];
    }
    uint param_6 = most;
    float param_7 = push.smallest_magnitude;
    float param_8 = step_of(param_6, param_7);
    int param_9 = first_half;
    int param_10 = second_half;
    _458.scales[push.scales_at + run] = scales_of(param_8, param_9, param_10);
}

