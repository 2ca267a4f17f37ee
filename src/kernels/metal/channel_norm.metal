// src/kernels/vulkan/channel_norm.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
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
    uint n;
    uint n_channel;
    uint x_first;
    uint weight_first;
    uint bias_first;
    float eps;
};

struct X
{
    float x[1];
};

struct Weight
{
    float weight[1];
};

struct Bias
{
    float bias0[1];
};

constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(256u, 1u, 1u);

static inline __attribute__((always_inline))
uint flat_group(thread uint3& gl_WorkGroupID, thread uint3& gl_NumWorkGroups)
{
    return (gl_WorkGroupID.y * gl_NumWorkGroups.x) + gl_WorkGroupID.x;
}

static inline __attribute__((always_inline))
float2 added(thread const float2& sum, thread const float& value)
{
    float total = spvFAdd(sum.x, value);
    float part = spvFSub(total, sum.x);
    float rest = spvFAdd(spvFSub(sum.x, spvFSub(total, part)), spvFSub(value, part));
    return float2(total, sum.y + rest);
}

static inline __attribute__((always_inline))
float sum_of_slices(thread const float2& sum, thread const uint& channel_of_group, thread const uint& slice, threadgroup float2 (&parts)[256])
{
    threadgroup_barrier(mem_flags::mem_threadgroup);
    parts[(slice * 16u) + channel_of_group] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float2 total = float2(0.0);
    for (uint i = 0u; i < 16u; i++)
    {
        float2 part = parts[(i * 16u) + channel_of_group];
        float2 param = total;
        float param_1 = part.x;
        total = added(param, param_1);
        total.y += part.y;
    }
    return total.x + total.y;
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
    bool _86 = value != 0.0;
    bool _92;
    if (_86)
    {
        float param = value;
        _92 = is_finite(param);
    }
    else
    {
        _92 = _86;
    }
    return _92;
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
    bool _102 = !is_ordinary(param);
    bool _110;
    if (!_102)
    {
        float param_1 = b;
        _110 = !is_ordinary(param_1);
    }
    else
    {
        _110 = _102;
    }
    if (_110)
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

kernel void channel_norm(constant Push& push [[buffer(30)]], device X& _299 [[buffer(0)]], const device Weight& _395 [[buffer(1)]], const device Bias& _407 [[buffer(2)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    threadgroup float2 parts[256];
    uint group = flat_group(gl_WorkGroupID, gl_NumWorkGroups);
    if ((group * 16u) >= push.n_channel)
    {
        return;
    }
    uint own = gl_LocalInvocationID.x % 16u;
    uint slice = gl_LocalInvocationID.x / 16u;
    uint channel = (group * 16u) + own;
    bool exists = channel < push.n_channel;
    uint _277;
    if (exists)
    {
        _277 = push.n;
    }
    else
    {
        _277 = 0u;
    }
    uint n = _277;
    float2 sum = float2(0.0);
    for (uint i = slice; i < n; i += 16u)
    {
        float2 param = sum;
        float param_1 = _299.x[(push.x_first + (i * push.n_channel)) + channel];
        sum = added(param, param_1);
    }
    float2 param_2 = sum;
    uint param_3 = own;
    uint param_4 = slice;
    float _326 = sum_of_slices(param_2, param_3, param_4, parts);
    float param_5 = _326;
    float param_6 = float(push.n);
    float mean = divided(param_5, param_6);
    sum = float2(0.0);
    for (uint i_1 = slice; i_1 < n; i_1 += 16u)
    {
        float _distance = _299.x[(push.x_first + (i_1 * push.n_channel)) + channel] - mean;
        float2 param_7 = sum;
        float param_8 = _distance * _distance;
        sum = added(param_7, param_8);
    }
    float2 param_9 = sum;
    uint param_10 = own;
    uint param_11 = slice;
    float _374 = sum_of_slices(param_9, param_10, param_11, parts);
    float scale = 1.0 / sqrt((_374 / float(push.n)) + push.eps);
    if (!exists)
    {
        return;
    }
    float factor = _395.weight[push.weight_first + channel];
    float summand = _407.bias0[push.bias_first + channel];
    for (uint i_2 = slice; i_2 < n; i_2 += 16u)
    {
        uint at = (push.x_first + (i_2 * push.n_channel)) + channel;
        _299.x[at] = (((_299.x[at] - mean) * scale) * factor) + summand;
    }
}

