// src/kernels/vulkan/matmul_quantise.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
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
    uint4 codes[1];
};

struct Scales
{
    float4 scales[1];
};

constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(128u, 1u, 1u);

constant spvUnsafeArray<int, 2> _195 = spvUnsafeArray<int, 2>({ 0, 0 });

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
float upper_part(thread const float& value)
{
    return as_type<float>(as_type<uint>(value) & 4294963200u);
}

static inline __attribute__((always_inline))
float inverse_step(thread const float& magnitude)
{
    float quotient = 127.0 / magnitude;
    float param = quotient;
    float q = upper_part(param);
    float param_1 = magnitude;
    float m = upper_part(param_1);
    float q_rest = spvFSub(quotient, q);
    float m_rest = spvFSub(magnitude, m);
    float residual = spvFSub(spvFSub(spvFSub(spvFSub(127.0, spvFMul(q, m)), spvFMul(q, m_rest)), spvFMul(q_rest, m)), spvFMul(q_rest, m_rest));
    float corrected = spvFAdd(quotient, residual / magnitude);
    return corrected;
}

kernel void matmul_quantise(constant Push& push [[buffer(30)]], const device X& _138 [[buffer(0)]], device Codes& _264 [[buffer(1)]], device Scales& _307 [[buffer(2)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    uint run = flat_invocation(gl_WorkGroupID, gl_NumWorkGroups, gl_LocalInvocationID);
    if (run >= push.n_runs)
    {
        return;
    }
    float4 magnitudes = float4(0.0);
    spvUnsafeArray<float4, 8> values;
    for (uint i = 0u; i < 8u; i++)
    {
        values[i] = _138.x[(push.x_at + (8u * run)) + i];
        magnitudes = fast::max(magnitudes, abs(values[i]));
    }
    float magnitude = fast::max(fast::max(magnitudes.x, magnitudes.y), fast::max(magnitudes.z, magnitudes.w));
    bool is_zero = magnitude < push.smallest_magnitude;
    float _184;
    if (is_zero)
    {
        _184 = 0.0;
    }
    else
    {
        float param = magnitude;
        _184 = inverse_step(param);
    }
    float _inverse = _184;
    spvUnsafeArray<int, 2> sums = spvUnsafeArray<int, 2>({ 0, 0 });
    spvUnsafeArray<uint, 8> _packed;
    uint _245;
    for (uint i_1 = 0u; i_1 < 32u; i_1++)
    {
        float scaled = spvFMul(values[i_1 / 4u][i_1 % 4u], _inverse);
        int code = int(rint(scaled));
        uint _222 = i_1 / 16u;
        sums[_222] += code;
        uint bits = uint(code & 255) << (8u * (i_1 % 4u));
        if ((i_1 % 4u) == 0u)
        {
            _245 = bits;
        }
        else
        {
            _245 = _packed[i_1 / 4u] | bits;
        }
        _packed[i_1 / 4u] = _245;
    }
    _264.codes[2u * run] = uint4(_packed[0], _packed[1], _packed[2], _packed[3]);
    _264.codes[(2u * run) + 1u] = uint4(_packed[4], _packed[5], _packed[6], _packed[7]);
    float _297;
    if (is_zero)
    {
        _297 = 0.0;
    }
    else
    {
        _297 = magnitude / 127.0;
    }
    float _step = _297;
    _307.scales[push.scales_at + run] = float4(_step, float3(float(sums[0]), float(sums[1]), float(sums[0] + sums[1])) * _step);
}

