// src/kernels/vulkan/short_conv.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
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
[[clang::optnone]] T spvFSub(T l, T r)
{
    return fma(T(-1), r, l);
}

struct Seq
{
    int seqs[1];
};

struct Push
{
    uint n_tokens;
    uint n_channel;
    uint n_kept;
    uint x_at;
    uint weight_at;
    uint state_at;
    uint seq_at;
    uint pos_at;
    uint out_at;
};

struct Pos
{
    int positions[1];
};

struct X
{
    float x[1];
};

struct Weight
{
    float weights[1];
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
int seq_of(thread const uint& token, const device Seq& v_179, constant Push& push)
{
    return v_179.seqs[push.seq_at + token];
}

static inline __attribute__((always_inline))
bool starts_run(thread const uint& token, const device Seq& v_179, constant Push& push)
{
    bool _196 = token == 0u;
    bool _208;
    if (!_196)
    {
        uint param = token - 1u;
        uint param_1 = token;
        _208 = seq_of(param, v_179, push) != seq_of(param_1, v_179, push);
    }
    else
    {
        _208 = _196;
    }
    return _208;
}

static inline __attribute__((always_inline))
float weight_of(thread const uint& tap, constant Push& push, thread uint& channel, const device Weight& v_285)
{
    return v_285.weights[(push.weight_at + (channel * (push.n_kept + 1u))) + tap];
}

static inline __attribute__((always_inline))
float x_of(thread const uint& token, constant Push& push, const device X& v_263, thread uint& channel)
{
    return v_263.x[(push.x_at + (token * push.n_channel)) + channel];
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
float silu(thread const float& x)
{
    float _135;
    if (x < (-88.0))
    {
        _135 = 0.0;
    }
    else
    {
        float param = -x;
        float _144 = accurate_exp(param);
        _135 = x / (1.0 + _144);
    }
    return _135;
}

static inline __attribute__((always_inline))
void store(thread const uint& token, thread const float& sum, constant Push& push, thread uint& channel, device Out& v_305)
{
    float param = sum;
    v_305.result[(push.out_at + (token * push.n_channel)) + channel] = silu(param);
}

static inline __attribute__((always_inline))
uint end_of_run(thread const uint& token, const device Seq& v_179, constant Push& push)
{
    uint inside = token;
    uint outside = push.n_tokens;
    while ((outside - inside) > 1u)
    {
        uint middle = (inside + outside) / 2u;
        uint param = middle;
        uint param_1 = token;
        if (seq_of(param, v_179, push) == seq_of(param_1, v_179, push))
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
bool starts_sequence(thread const uint& first, constant Push& push, const device Pos& v_214)
{
    return v_214.positions[push.pos_at + first] == 0;
}

static inline __attribute__((always_inline))
uint kept_at(thread const uint& first, thread const uint& i, const device Seq& v_179, constant Push& push, thread uint& channel)
{
    uint param = first;
    return (push.state_at + (((uint(seq_of(param, v_179, push)) * push.n_kept) + i) * push.n_channel)) + channel;
}

static inline __attribute__((always_inline))
float input_of_run(thread const uint& first, thread const uint& i, const device Seq& v_179, constant Push& push, const device Pos& v_214, const device X& v_263, thread uint& channel, device State& v_365)
{
    if (i >= push.n_kept)
    {
        uint param = (first + i) - push.n_kept;
        return x_of(param, push, v_263, channel);
    }
    uint param_1 = first;
    float _358;
    if (starts_sequence(param_1, push, v_214))
    {
        _358 = 0.0;
    }
    else
    {
        uint param_2 = first;
        uint param_3 = i;
        _358 = v_365.state[kept_at(param_2, param_3, v_179, push, channel)];
    }
    return _358;
}

static inline __attribute__((always_inline))
void begin_run(thread const uint& first, const device Seq& v_179, constant Push& push, const device Pos& v_214, const device X& v_263, thread uint& channel, const device Weight& v_285, device Out& v_305, device State& v_365)
{
    uint param = first;
    uint end = end_of_run(param, v_179, push);
    for (uint token = first; token < min(end, (first + push.n_kept)); token++)
    {
        float sum = 0.0;
        for (uint tap = 0u; tap <= push.n_kept; tap++)
        {
            uint param_1 = tap;
            uint param_2 = first;
            uint param_3 = (token - first) + tap;
            sum += (weight_of(param_1, push, channel, v_285) * input_of_run(param_2, param_3, v_179, push, v_214, v_263, channel, v_365));
        }
        uint param_4 = token;
        float param_5 = sum;
        store(param_4, param_5, push, channel, v_305);
    }
    for (uint i = 0u; i < push.n_kept; i++)
    {
        uint param_6 = first;
        uint param_7 = i;
        uint param_8 = first;
        uint param_9 = (end - first) + i;
        v_365.state[kept_at(param_6, param_7, v_179, push, channel)] = input_of_run(param_8, param_9, v_179, push, v_214, v_263, channel, v_365);
    }
}

kernel void short_conv(constant Push& push [[buffer(30)]], const device X& v_263 [[buffer(0)]], const device Weight& v_285 [[buffer(1)]], device State& v_365 [[buffer(2)]], const device Seq& v_179 [[buffer(3)]], const device Pos& v_214 [[buffer(4)]], device Out& v_305 [[buffer(5)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    uint i = flat_invocation(gl_WorkGroupID, gl_NumWorkGroups, gl_LocalInvocationID);
    uint channel;
    if (i >= (push.n_tokens * push.n_channel))
    {
        return;
    }
    uint token = i / push.n_channel;
    channel = i % push.n_channel;
    uint n_before = 0u;
    for (;;)
    {
        bool _487 = n_before < push.n_kept;
        bool _496;
        if (_487)
        {
            uint param = token - n_before;
            _496 = !starts_run(param, v_179, push);
        }
        else
        {
            _496 = _487;
        }
        if (_496)
        {
            n_before++;
            continue;
        }
        else
        {
            break;
        }
    }
    if (n_before == push.n_kept)
    {
        float sum = 0.0;
        for (uint tap = 0u; tap <= push.n_kept; tap++)
        {
            uint param_1 = tap;
            uint param_2 = (token - push.n_kept) + tap;
            sum += (weight_of(param_1, push, channel, v_285) * x_of(param_2, push, v_263, channel));
        }
        uint param_3 = token;
        float param_4 = sum;
        store(param_3, param_4, push, channel, v_305);
    }
    else
    {
        if (n_before == 0u)
        {
            uint param_5 = token;
            begin_run(param_5, v_179, push, v_214, v_263, channel, v_285, v_305, v_365);
        }
    }
}

