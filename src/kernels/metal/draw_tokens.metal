// src/kernels/vulkan/draw_tokens.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
#pragma clang diagnostic ignored "-Wmissing-prototypes"
#pragma clang diagnostic ignored "-Wunused-variable"

#include <metal_stdlib>
#include <simd/simd.h>
#include <metal_atomic>

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
[[clang::optnone]] T spvFSub(T l, T r)
{
    return fma(T(-1), r, l);
}

struct Draws
{
    int draws[1];
};

struct Push
{
    uint n_rows;
    uint n_told;
    uint draws_of_all;
    uint told_first;
    uint draws_first;
    uint tokens_first;
};

struct Told
{
    int told[1];
};

struct Tokens
{
    int tokens[1];
};

constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(128u, 1u, 1u);

static inline __attribute__((always_inline))
uint flat_group(thread uint3& gl_WorkGroupID, thread uint3& gl_NumWorkGroups)
{
    return (gl_WorkGroupID.y * gl_NumWorkGroups.x) + gl_WorkGroupID.x;
}

static inline __attribute__((always_inline))
int draw(thread const uint& row, thread const uint& word, const device Draws& v_145, constant Push& push)
{
    return v_145.draws[(push.draws_first + (word * push.draws_of_all)) + row];
}

static inline __attribute__((always_inline))
float draw_float(thread const uint& row, thread const uint& word, const device Draws& v_145, constant Push& push)
{
    uint param = row;
    uint param_1 = word;
    return as_type<float>(draw(param, param_1, v_145, push));
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
void add_up(thread const float& weight, thread uint3& gl_LocalInvocationID, threadgroup float (&sums)[128])
{
    uint i = gl_LocalInvocationID.x;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sums[i] = weight;
    float _201;
    for (uint _distance = 1u; _distance < 128u; _distance *= 2u)
    {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (i >= _distance)
        {
            _201 = sums[i - _distance];
        }
        else
        {
            _201 = 0.0;
        }
        float before = _201;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        sums[i] += before;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

static inline __attribute__((always_inline))
uint count_until(thread const bool& is, thread uint3& gl_LocalInvocationID, threadgroup uint& n_before)
{
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (gl_LocalInvocationID.x == 0u)
    {
        n_before = 128u;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (!is)
    {
        uint _233 = atomic_fetch_min_explicit((threadgroup atomic_uint*)&n_before, gl_LocalInvocationID.x, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return n_before;
}

kernel void draw_tokens(constant Push& push [[buffer(30)]], const device Told& _289 [[buffer(0)]], const device Draws& v_145 [[buffer(1)]], device Tokens& _329 [[buffer(2)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    threadgroup float sums[128];
    threadgroup uint n_before;
    uint row = flat_group(gl_WorkGroupID, gl_NumWorkGroups);
    uint i = gl_LocalInvocationID.x;
    if (row >= push.n_rows)
    {
        return;
    }
    uint first = push.told_first + (row * push.n_told);
    uint param = row;
    uint param_1 = 0u;
    float temperature = draw_float(param, param_1, v_145, push);
    uint param_2 = row;
    uint param_3 = 1u;
    float top_p = draw_float(param_2, param_3, v_145, push);
    uint param_4 = row;
    uint param_5 = 2u;
    float min_p = draw_float(param_4, param_5, v_145, push);
    uint param_6 = row;
    uint param_7 = 3u;
    float random = draw_float(param_6, param_7, v_145, push);
    bool _282 = push.n_told == 1u;
    bool _294;
    if (!_282)
    {
        _294 = _289.told[first] < 0;
    }
    else
    {
        _294 = _282;
    }
    bool _301;
    if (!_294)
    {
        _301 = !(temperature > 0.0);
    }
    else
    {
        _301 = _294;
    }
    if (_301)
    {
        bool _309 = push.n_told == 1u;
        bool _317;
        if (!_309)
        {
            _317 = _289.told[first] < 0;
        }
        else
        {
            _317 = _309;
        }
        int token = _289.told[first + (_317 ? 0u : 2u)];
        if (i == 0u)
        {
            _329.tokens[push.tokens_first + row] = max(token, 0);
        }
        return;
    }
    uint k = (push.n_told / 2u) - 1u;
    uint param_8 = row;
    uint param_9 = 4u;
    uint top_k = uint(draw(param_8, param_9, v_145, push));
    uint _354;
    if (top_k > 0u)
    {
        _354 = min(top_k, k);
    }
    else
    {
        _354 = k;
    }
    uint n = _354;
    uint logits = (first + 2u) + k;
    float below = as_type<float>(_289.told[logits + min(i, (n - 1u))]) - as_type<float>(_289.told[logits]);
    float _387;
    if (i < n)
    {
        float param_10 = below;
        _387 = accurate_exp(param_10);
    }
    else
    {
        _387 = 0.0;
    }
    float weight = _387;
    float param_11 = weight;
    add_up(param_11, gl_LocalInvocationID, sums);
    bool _400 = top_p >= 1.0;
    bool _414;
    if (!_400)
    {
        _414 = (sums[i] - weight) < (top_p * sums[127]);
    }
    else
    {
        _414 = _400;
    }
    bool is_within = _414;
    bool _417 = i == 0u;
    bool _430;
    if (!_417)
    {
        _430 = ((i < n) && (weight >= min_p)) && is_within;
    }
    else
    {
        _430 = _417;
    }
    bool param_12 = _430;
    uint _432 = count_until(param_12, gl_LocalInvocationID, n_before);
    uint n_left = _432;
    float _436;
    if (i < n_left)
    {
        float param_13 = below / temperature;
        _436 = accurate_exp(param_13);
    }
    else
    {
        _436 = 0.0;
    }
    float param_14 = _436;
    add_up(param_14, gl_LocalInvocationID, sums);
    bool param_15 = !(sums[i] > (random * sums[127]));
    uint _459 = count_until(param_15, gl_LocalInvocationID, n_before);
    uint drawn = min(_459, (n_left - 1u));
    if (i == 0u)
    {
        _329.tokens[push.tokens_first + row] = _289.told[(first + 2u) + drawn];
    }
}

