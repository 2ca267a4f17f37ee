// src/kernels/vulkan/norm_rope_write.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
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

struct Q
{
    float q[1];
};

struct K
{
    float k[1];
};

struct Push
{
    uint n;
    uint q_first;
    uint k_first;
    uint q_norm_first;
    uint k_norm_first;
    uint angles_first;
    uint has_q_norm;
    uint has_k_norm;
    uint n_head;
    uint n_head_kv;
    uint head_dim;
    uint n_pairs;
    uint a_stride;
    uint b_offset;
    float eps;
    uint has_equaliser;
    uint k_shift_first;
    uint k_scale_first;
    uint q_scale_first;
};

struct QScale
{
    float q_scale[1];
};

struct KShift
{
    float k_shift[1];
};

struct KScale
{
    float k_scale[1];
};

struct QNorm
{
    float q_norm[1];
};

struct KNorm
{
    float k_norm[1];
};

struct Angles
{
    float angles[1];
};

constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(64u, 1u, 1u);

static inline __attribute__((always_inline))
uint flat_group(thread uint3& gl_WorkGroupID, thread uint3& gl_NumWorkGroups)
{
    return (gl_WorkGroupID.y * gl_NumWorkGroups.x) + gl_WorkGroupID.x;
}

static inline __attribute__((always_inline))
bool has_norm(thread bool& is_q, constant Push& push)
{
    uint _276;
    if (is_q)
    {
        _276 = push.has_q_norm;
    }
    else
    {
        _276 = push.has_k_norm;
    }
    return _276 != 0u;
}

static inline __attribute__((always_inline))
float stored(thread const uint& i, thread bool& is_q, device Q& v_174, thread uint& first, device K& v_187)
{
    float _168;
    if (is_q)
    {
        _168 = v_174.q[first + i];
    }
    else
    {
        _168 = v_187.k[first + i];
    }
    return _168;
}

static inline __attribute__((always_inline))
void reduce(thread const spvUnsafeArray<float, 1>& values, thread const bool& is_sum, threadgroup float (&reduced)[16], thread uint& gl_SubgroupID)
{
    spvUnsafeArray<float, 1> results;
    float _76;
    for (uint i = 0u; i < 1u; i++)
    {
        if (is_sum)
        {
            _76 = simd_sum(values[i]);
        }
        else
        {
            _76 = simd_max(values[i]);
        }
        results[i] = _76;
    }
    bool _95 = simd_is_first();
    if (_95)
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
float reduced_sum(thread const uint& i, threadgroup float (&reduced)[16], thread uint& gl_NumSubgroups)
{
    float sum = 0.0;
    for (uint part = 0u; part < n_reduced(gl_NumSubgroups); part++)
    {
        sum += reduced[(part * 1u) + i];
    }
    return sum;
}

static inline __attribute__((always_inline))
float sum_of_group(thread const float& value, threadgroup float (&reduced)[16], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups)
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
void find_scale(threadgroup float (&reduced)[16], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread bool& is_q, device Q& v_174, thread uint& first, device K& v_187, constant Push& push, thread float& scale, thread uint3& gl_LocalInvocationID)
{
    float sum = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < push.head_dim; i += 64u)
    {
        uint param = i;
        float value = stored(param, is_q, v_174, first, v_187);
        sum += (value * value);
    }
    float param_1 = sum;
    float _365 = sum_of_group(param_1, reduced, gl_SubgroupID, gl_NumSubgroups);
    sum = _365;
    scale = 1.0 / sqrt((sum / float(push.head_dim)) + push.eps);
}

static inline __attribute__((always_inline))
float normalised(thread const uint& i, thread bool& is_q, device Q& v_174, thread uint& first, device K& v_187, constant Push& push, thread float& scale, const device QNorm& v_312, const device KNorm& v_324)
{
    if (!has_norm(is_q, push))
    {
        uint param = i;
        return stored(param, is_q, v_174, first, v_187);
    }
    uint param_1 = i;
    float _306;
    if (is_q)
    {
        _306 = v_312.q_norm[push.q_norm_first + i];
    }
    else
    {
        _306 = v_324.k_norm[push.k_norm_first + i];
    }
    return (stored(param_1, is_q, v_174, first, v_187) * scale) * _306;
}

static inline __attribute__((always_inline))
void store(thread const uint& i, thread const float& value, thread bool& is_q, device Q& v_174, thread uint& first, device K& v_187, thread uint& first_of_equaliser, constant Push& push, const device QScale& v_220, const device KShift& v_249, const device KScale& v_261)
{
    uint at = first_of_equaliser + i;
    if (is_q)
    {
        float _213;
        if (push.has_equaliser != 0u)
        {
            _213 = spvFMul(value, v_220.q_scale[push.q_scale_first + at]);
        }
        else
        {
            _213 = value;
        }
        float scaled = _213;
        v_174.q[first + i] = scaled;
    }
    else
    {
        float moved = value;
        if (push.has_equaliser != 0u)
        {
            moved = spvFMul(spvFSub(value, v_249.k_shift[push.k_shift_first + at]), v_261.k_scale[push.k_scale_first + at]);
        }
        v_187.k[first + i] = moved;
    }
}

kernel void norm_rope_write(device Q& v_174 [[buffer(0)]], constant Push& push [[buffer(30)]], device K& v_187 [[buffer(1)]], const device QNorm& v_312 [[buffer(2)]], const device KNorm& v_324 [[buffer(3)]], const device Angles& _495 [[buffer(4)]], const device KShift& v_249 [[buffer(5)]], const device KScale& v_261 [[buffer(6)]], const device QScale& v_220 [[buffer(7)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint gl_SubgroupID [[simdgroup_index_in_threadgroup]], uint gl_NumSubgroups [[simdgroups_per_threadgroup]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    threadgroup float reduced[16];
    uint index = flat_group(gl_WorkGroupID, gl_NumWorkGroups);
    bool is_q;
    uint first;
    uint first_of_equaliser;
    float scale;
    if (index >= push.n)
    {
        return;
    }
    uint n_heads = push.n_head + push.n_head_kv;
    uint token = index / n_heads;
    uint head = index % n_heads;
    is_q = head < push.n_head;
    uint _409;
    if (is_q)
    {
        _409 = push.q_first + (((token * push.n_head) + head) * push.head_dim);
    }
    else
    {
        _409 = push.k_first + ((((token * push.n_head_kv) + head) - push.n_head) * push.head_dim);
    }
    first = _409;
    uint _444;
    if (is_q)
    {
        _444 = head / (push.n_head / push.n_head_kv);
    }
    else
    {
        _444 = head - push.n_head;
    }
    uint head_kv = _444;
    first_of_equaliser = head_kv * push.head_dim;
    scale = 1.0;
    if (has_norm(is_q, push))
    {
        find_scale(reduced, gl_SubgroupID, gl_NumSubgroups, is_q, v_174, first, v_187, push, scale, gl_LocalInvocationID);
    }
    uint cosine_first = push.angles_first + ((token * 2u) * push.n_pairs);
    for (uint pair = gl_LocalInvocationID.x; pair < push.n_pairs; pair += 64u)
    {
        float cosine = _495.angles[cosine_first + pair];
        float sine = _495.angles[(cosine_first + push.n_pairs) + pair];
        uint a_at = pair * push.a_stride;
        uint param = a_at;
        float a = normalised(param, is_q, v_174, first, v_187, push, scale, v_312, v_324);
        uint param_1 = a_at + push.b_offset;
        float b = normalised(param_1, is_q, v_174, first, v_187, push, scale, v_312, v_324);
        uint param_2 = a_at;
        float param_3 = (a * cosine) - (b * sine);
        store(param_2, param_3, is_q, v_174, first, v_187, first_of_equaliser, push, v_220, v_249, v_261);
        uint param_4 = a_at + push.b_offset;
        float param_5 = (a * sine) + (b * cosine);
        store(param_4, param_5, is_q, v_174, first, v_187, first_of_equaliser, push, v_220, v_249, v_261);
    }
    uint _561 = (2u * push.n_pairs) + gl_LocalInvocationID.x;
    for (uint i = _561; i < push.head_dim; i += 64u)
    {
        uint param_6 = i;
        uint param_7 = i;
        float param_8 = normalised(param_6, is_q, v_174, first, v_187, push, scale, v_312, v_324);
        store(param_7, param_8, is_q, v_174, first, v_187, first_of_equaliser, push, v_220, v_249, v_261);
    }
}

