// src/kernels/vulkan/attention_join.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
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

#ifndef SPIRV_CROSS_CONSTANT_ID_1
#define SPIRV_CROSS_CONSTANT_ID_1 128u
#endif
constant uint kStored = SPIRV_CROSS_CONSTANT_ID_1;

struct Constants
{
    float constants[1];
};

struct Sketch
{
    float sketch[1];
};

struct Push
{
    uint main_at;
    uint main_softmax_at;
    uint exact_at;
    uint exact_softmax_at;
    uint out_at;
    uint head_dim;
    uint n_vectors;
    uint n_parts;
    uint n_exact_parts;
    uint rotated_block;
    float root;
};

struct Softmax
{
    float2 softmax[1];
};

struct Parts
{
    float parts[1];
};

constant uint kTransform_tmp [[function_constant(0)]];
constant uint kTransform = is_function_constant_defined(kTransform_tmp) ? kTransform_tmp : 0u;
constant bool _520 = (kTransform < 5u);
constant uint _521 = _520 ? kStored : 0u;
constant bool _598 = (kTransform < 5u);

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
void multiply_signs(thread const uint& n, thread const uint& first, thread const uint& period, thread const float& factor, thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kStored], const device Constants& v_167)
{
    for (uint i = gl_LocalInvocationID.x; i < n; i += 64u)
    {
        x[i] = spvFMul(x[i], spvFMul(factor, v_167.constants[first + (i & (period - 1u))]));
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

static inline __attribute__((always_inline))
void to_stored(thread const uint& transform, thread const uint& n, thread const uint& block, thread const float& root, thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kStored], const device Constants& v_167)
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
            multiply_signs(param_4, param_5, param_6, param_7, gl_LocalInvocationID, x, v_167);
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
            multiply_signs(param_12, param_13, param_14, param_15, gl_LocalInvocationID, x, v_167);
            uint param_16 = n;
            uint param_17 = 128u;
            hadamard(param_16, param_17, gl_LocalInvocationID, x);
            uint param_18 = n;
            uint param_19 = 224u;
            uint param_20 = 128u;
            float param_21 = 0.088388346135616302490234375;
            multiply_signs(param_18, param_19, param_20, param_21, gl_LocalInvocationID, x, v_167);
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
void from_stored(thread const uint& transform, thread const uint& n, thread const uint& block, thread const float& root, thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kStored], const device Constants& v_167)
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
            multiply_signs(param_2, param_3, param_4, param_5, gl_LocalInvocationID, x, v_167);
            break;
        }
        case 3u:
        {
            uint param_6 = n;
            uint param_7 = 224u;
            uint param_8 = 128u;
            float param_9 = 1.0;
            multiply_signs(param_6, param_7, param_8, param_9, gl_LocalInvocationID, x, v_167);
            uint param_10 = n;
            uint param_11 = 128u;
            hadamard(param_10, param_11, gl_LocalInvocationID, x);
            uint param_12 = n;
            uint param_13 = 96u;
            uint param_14 = 128u;
            float param_15 = 0.088388346135616302490234375;
            multiply_signs(param_12, param_13, param_14, param_15, gl_LocalInvocationID, x, v_167);
            break;
        }
        default:
        {
            uint param_16 = transform;
            uint param_17 = n;
            uint param_18 = block;
            float param_19 = root;
            to_stored(param_16, param_17, param_18, param_19, gl_LocalInvocationID, x, v_167);
            break;
        }
    }
}

static inline __attribute__((always_inline))
float from_sketch(thread const uint& i, threadgroup float (&x)[kStored], const device Sketch& v_318)
{
    uint first = (i / 128u) * 256u;
    float sum = 0.0;
    for (uint j = 0u; j < 256u; j++)
    {
        sum += (v_318.sketch[((i % 128u) * 256u) + j] * x[first + j]);
    }
    return sum;
}

kernel void attention_join(constant Push& push [[buffer(30)]], const device Parts& _503 [[buffer(0)]], const device Softmax& _359 [[buffer(1)]], device Out& _654 [[buffer(2)]], const device Constants& v_167 [[buffer(3)]], const device Sketch& v_318 [[buffer(4)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    threadgroup float x[kStored];
    uint vector = flat_group(gl_WorkGroupID, gl_NumWorkGroups);
    if (vector >= push.n_vectors)
    {
        return;
    }
    float largest = ((device float*)&_359.softmax[push.main_softmax_at + vector])[0u];
    for (uint part = 1u; part < push.n_parts; part++)
    {
        largest = fast::max(largest, ((device float*)&_359.softmax[(push.main_softmax_at + (part * push.n_vectors)) + vector])[0u]);
    }
    for (uint part_1 = 0u; part_1 < push.n_exact_parts; part_1++)
    {
        largest = fast::max(largest, ((device float*)&_359.softmax[(push.exact_softmax_at + (part_1 * push.n_vectors)) + vector])[0u]);
    }
    float weight_sum = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < kStored; i += 64u)
    {
        x[i] = 0.0;
    }
    for (uint part_2 = 0u; part_2 < push.n_parts; part_2++)
    {
        float2 of_part = _359.softmax[(push.main_softmax_at + (part_2 * push.n_vectors)) + vector];
        if (as_type<uint>(of_part.y) == 0u)
        {
            continue;
        }
        float weight = exp(spvFSub(of_part.x, largest));
        weight_sum += (weight * of_part.y);
        uint at = push.main_at + (((part_2 * push.n_vectors) + vector) * kStored);
        for (uint i_1 = gl_LocalInvocationID.x; i_1 < kStored; i_1 += 64u)
        {
            x[i_1] = spvFAdd(x[i_1], spvFMul(weight, _503.parts[at + i_1]));
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint param = kTransform;
    uint param_1 = _521;
    uint param_2 = push.rotated_block;
    float param_3 = push.root;
    from_stored(param, param_1, param_2, param_3, gl_LocalInvocationID, x, v_167);
    spvUnsafeArray<float, 32> of_exact;
    float _563;
    for (uint part_3 = 0u; part_3 < push.n_exact_parts; part_3++)
    {
        float2 of_part_1 = _359.softmax[(push.exact_softmax_at + (part_3 * push.n_vectors)) + vector];
        if (of_part_1.y == 0.0)
        {
            _563 = 0.0;
        }
        else
        {
            _563 = exp(of_part_1.x - largest);
        }
        of_exact[part_3] = _563;
        weight_sum += (of_exact[part_3] * of_part_1.y);
    }
    float _599;
    for (uint i_2 = gl_LocalInvocationID.x; i_2 < push.head_dim; i_2 += 64u)
    {
        if (_598)
        {
            _599 = x[i_2];
        }
        else
        {
            uint param_4 = i_2;
            _599 = from_sketch(param_4, x, v_318);
        }
        float value = _599;
        for (uint part_4 = 0u; part_4 < push.n_exact_parts; part_4++)
        {
            if (of_exact[part_4] != 0.0)
            {
                value += (of_exact[part_4] * _503.parts[(push.exact_at + (((part_4 * push.n_vectors) + vector) * push.head_dim)) + i_2]);
            }
        }
        _654.result[(push.out_at + (vector * push.head_dim)) + i_2] = value / weight_sum;
    }
}

