// src/kernels/vulkan/layer_norm.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
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

struct Push
{
    uint n;
    uint n_rows;
    uint x_first;
    uint weight_first;
    uint bias_first;
    uint out_first;
    float eps;
};

struct X
{
    float x[1];
};

struct Out
{
    float result[1];
};

struct Weight
{
    float weight[1];
};

struct Bias
{
    float bias0[1];
};

constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(128u, 1u, 1u);

static inline __attribute__((always_inline))
uint flat_group(thread uint3& gl_WorkGroupID, thread uint3& gl_NumWorkGroups)
{
    return (gl_WorkGroupID.y * gl_NumWorkGroups.x) + gl_WorkGroupID.x;
}

static inline __attribute__((always_inline))
void reduce(thread const spvUnsafeArray<float, 1>& values, thread const bool& is_sum, threadgroup float (&reduced)[32], thread uint& gl_SubgroupID)
{
    spvUnsafeArray<float, 1> results;
    float _79;
    for (uint i = 0u; i < 1u; i++)
    {
        if (is_sum)
        {
            _79 = simd_sum(values[i]);
        }
        else
        {
            _79 = simd_max(values[i]);
        }
        results[i] = _79;
    }
    bool _98 = simd_is_first();
    if (_98)
    {
        for (uint i_1 = 0u; i_1 < 1u; i_1++)
        {
            reduced[(gl_SubgroupID * 1u) + i_1] = results[i_1];
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
float reduced_sum(thread const uint& i, threadgroup float (&reduced)[32], thread uint& gl_NumSubgroups)
{
    float sum = 0.0;
    for (uint part = 0u; part < n_reduced(gl_NumSubgroups); part++)
    {
        sum += reduced[(part * 1u) + i];
    }
    return sum;
}

static inline __attribute__((always_inline))
float sum_of_group(thread const float& value, threadgroup float (&reduced)[32], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups)
{
    spvUnsafeArray<float, 1> values;
    values[0] = value;
    spvUnsafeArray<float, 1> param;
    param = values;
    bool param_1 = true;
    reduce(param, param_1, reduced, gl_SubgroupID);
    uint param_2 = 0u;
    return reduced_sum(param_2, reduced, gl_NumSubgroups);
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
    bool _189 = value != 0.0;
    bool _195;
    if (_189)
    {
        float param = value;
        _195 = is_finite(param);
    }
    else
    {
        _195 = _189;
    }
    return _195;
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
    bool _205 = !is_ordinary(param);
    bool _213;
    if (!_205)
    {
        float param_1 = b;
        _213 = !is_ordinary(param_1);
    }
    else
    {
        _213 = _205;
    }
    if (_213)
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

kernel void layer_norm(constant Push& push [[buffer(30)]], const device X& _300 [[buffer(0)]], const device Weight& _406 [[buffer(1)]], const device Bias& _418 [[buffer(2)]], device Out& _390 [[buffer(3)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint gl_SubgroupID [[simdgroup_index_in_threadgroup]], uint gl_NumSubgroups [[simdgroups_per_threadgroup]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    threadgroup float reduced[32];
    uint row = flat_group(gl_WorkGroupID, gl_NumWorkGroups);
    if (row >= push.n_rows)
    {
        return;
    }
    uint x_first = push.x_first + (row * push.n);
    float sum = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < push.n; i += 128u)
    {
        sum += _300.x[x_first + i];
    }
    float param = sum;
    float _315 = sum_of_group(param, reduced, gl_SubgroupID, gl_NumSubgroups);
    float param_1 = _315;
    float param_2 = float(push.n);
    float mean = divided(param_1, param_2);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float squares = 0.0;
    for (uint i_1 = gl_LocalInvocationID.x; i_1 < push.n; i_1 += 128u)
    {
        float _distance = _300.x[x_first + i_1] - mean;
        squares += (_distance * _distance);
    }
    float param_3 = squares;
    float _354 = sum_of_group(param_3, reduced, gl_SubgroupID, gl_NumSubgroups);
    float scale = 1.0 / sqrt((_354 / float(push.n)) + push.eps);
    uint out_first = push.out_first + (row * push.n);
    for (uint i_2 = gl_LocalInvocationID.x; i_2 < push.n; i_2 += 128u)
    {
        _390.result[out_first + i_2] = (((_300.x[x_first + i_2] - mean) * scale) * _406.weight[push.weight_first + i_2]) + _418.bias0[push.bias_first + i_2];
    }
}

