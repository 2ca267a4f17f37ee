// src/kernels/vulkan/gated_delta_net.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
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

struct Sums
{
    float qq;
    float kk;
    float kq;
    float sq;
    float sk;
};

struct Seq
{
    int seqs[1];
};

struct Push
{
    uint n_tokens;
    uint window;
    uint head_dim;
    uint n_lanes;
    uint n_key_head;
    uint n_value_head;
    float eps;
    uint qkv_at;
    uint alpha_at;
    uint beta_at;
    uint a_at;
    uint dt_bias_at;
    uint state_at;
    uint seq_at;
    uint pos_at;
    uint out_at;
};

struct Pos
{
    int positions[1];
};

#ifndef SPIRV_CROSS_CONSTANT_ID_0
#define SPIRV_CROSS_CONSTANT_ID_0 32u
#endif
constant uint kKeys = SPIRV_CROSS_CONSTANT_ID_0;

struct Qkv
{
    float qkv[1];
};

struct Alpha
{
    float alphas[1];
};

struct DtBias
{
    float dt_bias[1];
};

struct A
{
    float a[1];
};

struct Beta
{
    float betas[1];
};

struct Out
{
    float result[1];
};

struct State
{
    float state[1];
};

constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(128u, 1u, 1u);

static inline __attribute__((always_inline))
int seq_of(thread const uint& token, const device Seq& v_152, constant Push& push)
{
    return v_152.seqs[push.seq_at + token];
}

static inline __attribute__((always_inline))
bool starts_run(thread const uint& token, const device Seq& v_152, constant Push& push)
{
    bool _169 = token == 0u;
    bool _182;
    if (!_169)
    {
        uint param = token - 1u;
        uint param_1 = token;
        _182 = seq_of(param, v_152, push) != seq_of(param_1, v_152, push);
    }
    else
    {
        _182 = _169;
    }
    return _182;
}

static inline __attribute__((always_inline))
uint end_of_run(thread const uint& token, const device Seq& v_152, constant Push& push)
{
    uint inside = token;
    uint outside = push.n_tokens;
    while ((outside - inside) > 1u)
    {
        uint middle = (inside + outside) / 2u;
        uint param = middle;
        uint param_1 = token;
        if (seq_of(param, v_152, push) == seq_of(param_1, v_152, push))
        {
            inside = middle;
        }
        else
        {
            outside = middle;
        }
    }
    return outside;
}

static inline __attribute__((always_inline))
uint row_at(thread const uint& token, const device Seq& v_152, constant Push& push, thread uint& head, thread uint& value)
{
    uint param = token;
    return push.state_at + (((((uint(seq_of(param, v_152, push)) * push.n_value_head) + head) * push.head_dim) + value) * push.head_dim);
}

static inline __attribute__((always_inline))
bool starts_sequence(thread const uint& first, constant Push& push, const device Pos& v_188)
{
    return v_188.positions[push.pos_at + first] == 0;
}

static inline __attribute__((always_inline))
uint q_at(thread const uint& token, constant Push& push, thread uint& head)
{
    uint first_head = token * ((2u * push.n_key_head) + push.n_value_head);
    return push.qkv_at + ((first_head + (head % push.n_key_head)) * push.head_dim);
}

static inline __attribute__((always_inline))
uint k_at(thread const uint& token, constant Push& push, thread uint& head)
{
    uint param = token;
    return q_at(param, push, head) + (push.n_key_head * push.head_dim);
}

static inline __attribute__((always_inline))
Sums sum_up(thread const Sums& own, thread uint& n_walked, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup Sums (&sums_of_lanes)[2][128])
{
    uint lane = gl_LocalInvocationID.x;
    uint first_lane = lane - (lane % push.n_lanes);
    uint _400 = n_walked;
    n_walked = _400 + uint(1);
    uint turn = _400 % 2u;
    sums_of_lanes[turn][lane] = own;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    Sums _all = sums_of_lanes[turn][first_lane];
    for (uint i = 1u; i < push.n_lanes; i++)
    {
        Sums other = sums_of_lanes[turn][first_lane + i];
        _all.qq += other.qq;
        _all.kk += other.kk;
        _all.kq += other.kq;
        _all.sq += other.sq;
        _all.sk += other.sk;
    }
    return _all;
}

static inline __attribute__((always_inline))
float accurate_exp(thread float& x)
{
    x = fast::clamp(x, -87.0, 88.0);
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
    return sum * as_type<float>(uint(int(n) + 127) << uint(23));
}

static inline __attribute__((always_inline))
float softplus(thread const float& x)
{
    float param = -abs(x);
    float _328 = accurate_exp(param);
    float y = _328;
    float z = y / (2.0 + y);
    float z2 = z * z;
    float sum = 0.066666670143604278564453125;
    sum = (sum * z2) + 0.076923079788684844970703125;
    sum = (sum * z2) + 0.0909090936183929443359375;
    sum = (sum * z2) + 0.111111111938953399658203125;
    sum = (sum * z2) + 0.14285714924335479736328125;
    sum = (sum * z2) + 0.20000000298023223876953125;
    sum = (sum * z2) + 0.3333333432674407958984375;
    sum = (sum * z2) + 1.0;
    return fast::max(x, 0.0) + ((2.0 * z) * sum);
}

static inline __attribute__((always_inline))
float sigmoid(thread const float& x)
{
    float _135;
    if (x < (-88.0))
    {
        _135 = 0.0;
    }
    else
    {
        float param = -x;
        float _143 = accurate_exp(param);
        _135 = 1.0 / (1.0 + _143);
    }
    return _135;
}

static inline __attribute__((always_inline))
uint v_at(thread const uint& token, constant Push& push, thread uint& head, thread uint& value)
{
    uint first_head = token * ((2u * push.n_key_head) + push.n_value_head);
    return (push.qkv_at + (((first_head + (2u * push.n_key_head)) + head) * push.head_dim)) + value;
}

static inline __attribute__((always_inline))
void advance(thread const uint& token, thread uint& n_walked, constant Push& push, thread uint& head, thread uint& value, thread uint3& gl_LocalInvocationID, threadgroup Sums (&sums_of_lanes)[2][128], thread uint& first_key, const device Qkv& v_508, thread spvUnsafeArray<float, kKeys>& row, const device Alpha& v_601, const device DtBias& v_612, const device A& v_627, const device Beta& v_643, thread bool& exists, device Out& v_729)
{
    Sums own = Sums{ 0.0, 0.0, 0.0, 0.0, 0.0 };
    spvUnsafeArray<float, kKeys> k;
    float _502;
    float _522;
    for (uint i = 0u; i < kKeys; i++)
    {
        uint key = first_key + (i * push.n_lanes);
        bool is_key = key < push.head_dim;
        if (is_key)
        {
            uint param = token;
            _502 = v_508.qkv[k_at(param, push, head) + key];
        }
        else
        {
            _502 = 0.0;
        }
        k[i] = _502;
        if (is_key)
        {
            uint param_1 = token;
            _522 = v_508.qkv[q_at(param_1, push, head) + key];
        }
        else
        {
            _522 = 0.0;
        }
        float q = _522;
        own.qq += (q * q);
        own.kk += (k[i] * k[i]);
        own.kq += (k[i] * q);
        own.sq += (row[i] * q);
        own.sk += (row[i] * k[i]);
    }
    Sums param_2 = own;
    Sums _589 = sum_up(param_2, n_walked, push, gl_LocalInvocationID, sums_of_lanes);
    Sums sums = _589;
    uint gate = (token * push.n_value_head) + head;
    float param_3 = v_601.alphas[push.alpha_at + gate] + v_612.dt_bias[push.dt_bias_at + head];
    float _step = softplus(param_3);
    float param_4 = v_627.a[push.a_at + head] * _step;
    float _638 = accurate_exp(param_4);
    float decay = _638;
    float param_5 = v_643.betas[push.beta_at + gate];
    float beta = sigmoid(param_5);
    float k_scale = 1.0 / fast::max(sqrt(sums.kk), push.eps);
    float q_scale = 1.0 / (fast::max(sqrt(sums.qq), push.eps) * sqrt(float(push.head_dim)));
    float seen = (decay * k_scale) * sums.sk;
    uint param_6 = token;
    float learned = (beta * (v_508.qkv[v_at(param_6, push, head, value)] - seen)) * k_scale;
    for (uint i_1 = 0u; i_1 < kKeys; i_1++)
    {
        row[i_1] = (decay * row[i_1]) + (learned * k[i_1]);
    }
    if (exists && (first_key == 0u))
    {
        v_729.result[(push.out_at + (gate * push.head_dim)) + value] = q_scale * ((decay * sums.sq) + (learned * sums.kq));
    }
}

static inline __attribute__((always_inline))
void walk_run(thread const uint& first, thread uint& n_walked, const device Seq& v_152, constant Push& push, const device Pos& v_188, thread uint& head, thread uint& value, thread uint3& gl_LocalInvocationID, threadgroup Sums (&sums_of_lanes)[2][128], thread uint& first_key, const device Qkv& v_508, thread spvUnsafeArray<float, kKeys>& row, const device Alpha& v_601, const device DtBias& v_612, const device A& v_627, const device Beta& v_643, thread bool& exists, device Out& v_729, device State& v_793)
{
    uint param = first;
    uint end = end_of_run(param, v_152, push);
    uint param_1 = first;
    uint at = row_at(param_1, v_152, push, head, value);
    float _787;
    for (uint i = 0u; i < kKeys; i++)
    {
        uint key = first_key + (i * push.n_lanes);
        bool _779 = key < push.head_dim;
        bool _786;
        if (_779)
        {
            uint param_2 = first;
            _786 = !starts_sequence(param_2, push, v_188);
        }
        else
        {
            _786 = _779;
        }
        if (_786)
        {
            _787 = v_793.state[at + key];
        }
        else
        {
            _787 = 0.0;
        }
        row[i] = _787;
    }
    for (uint token = first; token < end; token++)
    {
        uint param_3 = token;
        advance(param_3, n_walked, push, head, value, gl_LocalInvocationID, sums_of_lanes, first_key, v_508, row, v_601, v_612, v_627, v_643, exists, v_729);
    }
    for (uint i_1 = 0u; i_1 < kKeys; i_1++)
    {
        uint key_1 = first_key + (i_1 * push.n_lanes);
        bool _841;
        if (exists)
        {
            _841 = key_1 < push.head_dim;
        }
        else
        {
            _841 = exists;
        }
        if (_841)
        {
            v_793.state[at + key_1] = row[i_1];
        }
    }
}

kernel void gated_delta_net(constant Push& push [[buffer(30)]], const device Qkv& v_508 [[buffer(0)]], const device Alpha& v_601 [[buffer(1)]], const device Beta& v_643 [[buffer(2)]], const device A& v_627 [[buffer(3)]], const device DtBias& v_612 [[buffer(4)]], device State& v_793 [[buffer(5)]], const device Seq& v_152 [[buffer(6)]], const device Pos& v_188 [[buffer(7)]], device Out& v_729 [[buffer(8)]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]])
{
    threadgroup Sums sums_of_lanes[2][128];
    uint n_walked = 0u;
    uint lane = gl_LocalInvocationID.x;
    uint head = gl_WorkGroupID.y;
    uint place = (gl_WorkGroupID.z * (128u / push.n_lanes)) + (lane / push.n_lanes);
    bool exists = place < push.head_dim;
    uint value = min(place, (push.head_dim - 1u));
    uint first_key = lane % push.n_lanes;
    uint first = gl_WorkGroupID.x * push.window;
    spvUnsafeArray<float, kKeys> row;
    for (uint token = first; token < min((first + push.window), push.n_tokens); token++)
    {
        uint param = token;
        if (starts_run(param, v_152, push))
        {
            uint param_1 = token;
            walk_run(param_1, n_walked, v_152, push, v_188, head, value, gl_LocalInvocationID, sums_of_lanes, first_key, v_508, row, v_601, v_612, v_627, v_643, exists, v_729, v_793);
        }
    }
}

