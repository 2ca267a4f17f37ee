// src/kernels/vulkan/segment_attention.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
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
[[clang::optnone]] T spvFSub(T l, T r)
{
    return fma(T(-1), r, l);
}

struct Push
{
    uint q_first;
    uint k_first;
    uint v_first;
    uint bounds_first;
    uint bias_first;
    uint out_first;
    uint n_tokens;
    uint n_head;
    uint n_head_kv;
    uint n_bounds;
    uint bias_width;
    uint head_dim;
    float scale;
};

struct Bounds
{
    int bounds[1];
};

#ifndef SPIRV_CROSS_CONSTANT_ID_0
#define SPIRV_CROSS_CONSTANT_ID_0 64u
#endif
constant uint kHeadDim = SPIRV_CROSS_CONSTANT_ID_0;
constant uint _291 = (8u * kHeadDim);
constant uint _298 = (8u * kHeadDim);

struct Q
{
    float q[1];
};

#ifndef SPIRV_CROSS_CONSTANT_ID_1
#define SPIRV_CROSS_CONSTANT_ID_1 1u
#endif
constant uint kDimsOfLane = SPIRV_CROSS_CONSTANT_ID_1;
constant uint _391 = (8u * kDimsOfLane);
constant uint _393 = (8u * kDimsOfLane);

struct K
{
    float k[1];
};

struct Bias
{
    float bias0[1];
};

struct V
{
    float v[1];
};

struct Out
{
    float result[1];
};

constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(64u, 1u, 1u);

static inline __attribute__((always_inline))
uint segment_of(thread const uint& token, constant Push& push, const device Bounds& v_170)
{
    uint low = 0u;
    uint high = push.n_bounds;
    while ((high - low) > 1u)
    {
        uint middle = (low + high) / 2u;
        if (uint(v_170.bounds[push.bounds_first + middle]) <= token)
        {
            low = middle;
        }
        else
        {
            high = middle;
        }
    }
    return low;
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
float finite_or_nan(thread const float& value)
{
    float param = value;
    uint _53;
    if (is_finite(param))
    {
        _53 = as_type<uint>(value);
    }
    else
    {
        _53 = 2143289344u;
    }
    return as_type<float>(_53);
}

static inline __attribute__((always_inline))
float of_lanes(thread const uint& row, thread const uint& part, thread const bool& is_sum, threadgroup float (&weights)[512])
{
    float value = is_sum ? 0.0 : (-1000000015047466219876688855040.0);
    uint _199 = part * 8u;
    float _223;
    for (uint key = _199; key < ((part * 8u) + 8u); key++)
    {
        float own = weights[(key * 8u) + row];
        if (is_sum)
        {
            _223 = value + own;
        }
        else
        {
            _223 = fast::max(value, own);
        }
        value = _223;
    }
    return value;
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

kernel void segment_attention(constant Push& push [[buffer(30)]], const device Q& _312 [[buffer(0)]], const device K& _462 [[buffer(1)]], const device V& _715 [[buffer(2)]], const device Bounds& v_170 [[buffer(3)]], const device Bias& _533 [[buffer(4)]], device Out& _856 [[buffer(5)]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]])
{
    threadgroup float weights[512];
    threadgroup float q_tile[_298];
    threadgroup float largest[8];
    threadgroup float weight_sum[8];
    threadgroup float parts[64];
    threadgroup float shrink[8];
    uint lane = gl_LocalInvocationID.x;
    uint head = gl_WorkGroupID.y;
    uint first_token = gl_WorkGroupID.x * 8u;
    uint head_kv = head / (push.n_head / push.n_head_kv);
    uint stride = push.n_head_kv * kHeadDim;
    uint end_token = min((first_token + 8u), push.n_tokens);
    uint row = lane % 8u;
    uint part = lane / 8u;
    float _306;
    for (uint i = lane; i < _291; i += 64u)
    {
        uint token = first_token + (i / kHeadDim);
        if (token < end_token)
        {
            _306 = _312.q[(push.q_first + (((token * push.n_head) + head) * kHeadDim)) + (i % kHeadDim)];
        }
        else
        {
            _306 = 0.0;
        }
        q_tile[i] = _306;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint token_1 = first_token;
    spvUnsafeArray<float, _393> sums;
    spvUnsafeArray<float, 8> scores;
    float _625;
    spvUnsafeArray<float, 8> block_sums;
    while (token_1 < end_token)
    {
        uint param = token_1;
        uint segment = segment_of(param, push, v_170);
        uint first_key = uint(v_170.bounds[push.bounds_first + segment]);
        uint end_key = uint(v_170.bounds[(push.bounds_first + segment) + 1u]);
        uint last_token = min(end_token, end_key);
        if (lane < 8u)
        {
            largest[lane] = -1000000015047466219876688855040.0;
            weight_sum[lane] = 0.0;
        }
        for (uint i_1 = 0u; i_1 < _391; i_1++)
        {
            sums[i_1] = 0.0;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint block = first_key; block < end_key; block += 64u)
        {
            uint key = block + lane;
            uint n_keys = min(64u, (end_key - block));
            uint k_at = (push.k_first + (min(key, (end_key - 1u)) * stride)) + (head_kv * kHeadDim);
            for (uint r = 0u; r < 8u; r++)
            {
                scores[r] = 0.0;
            }
            for (uint i_2 = 0u; i_2 < push.head_dim; i_2++)
            {
                float own = _462.k[k_at + i_2];
                for (uint r_1 = 0u; r_1 < 8u; r_1++)
                {
                    scores[r_1] += (own * q_tile[(r_1 * kHeadDim) + i_2]);
                }
            }
            for (uint r_2 = 0u; r_2 < 8u; r_2++)
            {
                uint of_row = first_token + r_2;
                float param_1 = scores[r_2];
                float score = finite_or_nan(param_1) * push.scale;
                if (((push.bias_width > 0u) && (key < end_key)) && (of_row < end_token))
                {
                    score += _533.bias0[(push.bias_first + (of_row * push.bias_width)) + (key - first_key)];
                }
                weights[(lane * 8u) + r_2] = (key < end_key) ? score : (-1000000015047466219876688855040.0);
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
            uint param_2 = row;
            uint param_3 = part;
            bool param_4 = false;
            parts[lane] = of_lanes(param_2, param_3, param_4, weights);
            threadgroup_barrier(mem_flags::mem_threadgroup);
            if (lane < 8u)
            {
                float top = largest[lane];
                for (uint i_3 = 0u; i_3 < 8u; i_3++)
                {
                    top = fast::max(top, parts[(i_3 * 8u) + lane]);
                }
                float param_5 = largest[lane] - top;
                shrink[lane] = accurate_exp(param_5);
                largest[lane] = top;
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
            for (uint r_3 = 0u; r_3 < 8u; r_3++)
            {
                if (key < end_key)
                {
                    float param_6 = weights[(lane * 8u) + r_3] - largest[r_3];
                    _625 = accurate_exp(param_6);
                }
                else
                {
                    _625 = 0.0;
                }
                float weight = _625;
                weights[(lane * 8u) + r_3] = weight;
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
            uint param_7 = row;
            uint param_8 = part;
            bool param_9 = true;
            parts[lane] = of_lanes(param_7, param_8, param_9, weights);
            for (uint d = 0u; d < kDimsOfLane; d++)
            {
                uint dimension = (d * 64u) + lane;
                for (uint r_4 = 0u; r_4 < 8u; r_4++)
                {
                    block_sums[r_4] = 0.0;
                }
                if (dimension < kHeadDim)
                {
                    uint v_at = ((push.v_first + (block * stride)) + (head_kv * kHeadDim)) + dimension;
                    for (uint i_4 = 0u; i_4 < n_keys; i_4++)
                    {
                        float own_1 = _715.v[v_at + (i_4 * stride)];
                        for (uint r_5 = 0u; r_5 < 8u; r_5++)
                        {
                            block_sums[r_5] += (weights[(i_4 * 8u) + r_5] * own_1);
                        }
                    }
                }
                for (uint r_6 = 0u; r_6 < 8u; r_6++)
                {
                    sums[(r_6 * kDimsOfLane) + d] = (sums[(r_6 * kDimsOfLane) + d] * shrink[r_6]) + block_sums[r_6];
                }
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
            if (lane < 8u)
            {
                float sum = weight_sum[lane] * shrink[lane];
                for (uint i_5 = 0u; i_5 < 8u; i_5++)
                {
                    sum += parts[(i_5 * 8u) + lane];
                }
                weight_sum[lane] = sum;
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint r_7 = 0u; r_7 < 8u; r_7++)
        {
            uint of_row_1 = first_token + r_7;
            if ((of_row_1 < token_1) || (of_row_1 >= last_token))
            {
                continue;
            }
            for (uint d_1 = 0u; d_1 < kDimsOfLane; d_1++)
            {
                uint dimension_1 = (d_1 * 64u) + lane;
                if (dimension_1 < kHeadDim)
                {
                    _856.result[(push.out_first + (((of_row_1 * push.n_head) + head) * kHeadDim)) + dimension_1] = sums[(r_7 * kDimsOfLane) + d_1] / weight_sum[r_7];
                }
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        token_1 = last_token;
    }
}

