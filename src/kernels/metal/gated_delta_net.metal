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

struct Way
{
    uint first;
    uint seq;
    uint pos;
    uint end;
    uint from;
    uint to;
};

struct Inputs
{
    short is_kept;
    uint qkv_at;
    uint alpha_at;
    uint beta_at;
};

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
    uint n_places;
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
    uint kept_at;
    uint from_at;
    uint to_at;
};

struct Pos
{
    int positions[1];
};

struct From
{
    int froms[1];
};

struct To
{
    int tos[1];
};

struct Kept
{
    float kept[1];
};

struct Qkv
{
    float qkv[1];
};

struct Alpha
{
    float alphas[1];
};

struct Beta
{
    float betas[1];
};

#ifndef SPIRV_CROSS_CONSTANT_ID_0
#define SPIRV_CROSS_CONSTANT_ID_0 32u
#endif
constant uint kKeys = SPIRV_CROSS_CONSTANT_ID_0;

struct DtBias
{
    float dt_bias[1];
};

struct A
{
    float a[1];
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
int seq_of(thread const uint& token, const device Seq& v_205, constant Push& push)
{
    return v_205.seqs[push.seq_at + token];
}

static inline __attribute__((always_inline))
bool starts_run(thread const uint& token, const device Seq& v_205, constant Push& push)
{
    bool _222 = token == 0u;
    bool _235;
    if (!_222)
    {
        uint param = token - 1u;
        uint param_1 = token;
        _235 = seq_of(param, v_205, push) != seq_of(param_1, v_205, push);
    }
    else
    {
        _235 = _222;
    }
    return _235;
}

static inline __attribute__((always_inline))
uint end_of_run(thread const uint& token, const device Seq& v_205, constant Push& push)
{
    uint inside = token;
    uint outside = push.n_tokens;
    while ((outside - inside) > 1u)
    {
        uint middle = (inside + outside) / 2u;
        uint param = middle;
        uint param_1 = token;
        if (seq_of(param, v_205, push) == seq_of(param_1, v_205, push))
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
Way way_of(thread const uint& first, const device Seq& v_205, constant Push& push, const device Pos& v_286, const device From& v_323, const device To& v_336)
{
    Way way;
    way.first = first;
    uint param = first;
    way.seq = uint(seq_of(param, v_205, push));
    way.pos = uint(v_286.positions[push.pos_at + first]);
    uint param_1 = first;
    way.end = (way.pos + end_of_run(param_1, v_205, push)) - first;
    way.from = way.pos;
    way.to = way.end;
    if (push.n_places > 0u)
    {
        way.from = uint(v_323.froms[push.from_at + first]);
        way.to = uint(v_336.tos[push.to_at + first]);
    }
    return way;
}

static inline __attribute__((always_inline))
uint row_at(constant Push& push, thread uint& head, thread uint& value, thread Way& way)
{
    return push.state_at + (((((way.seq * push.n_value_head) + head) * push.head_dim) + value) * push.head_dim);
}

static inline __attribute__((always_inline))
uint place_of(thread const Way& way, thread const uint& p, constant Push& push)
{
    return (way.seq * push.n_places) + (p % push.n_places);
}

static inline __attribute__((always_inline))
uint n_qkv(constant Push& push)
{
    return ((2u * push.n_key_head) + push.n_value_head) * push.head_dim;
}

static inline __attribute__((always_inline))
uint kept_at(thread const uint& p, constant Push& push, thread Way& way)
{
    Way param = way;
    uint param_1 = p;
    return push.kept_at + (place_of(param, param_1, push) * (n_qkv(push) + (2u * push.n_value_head)));
}

static inline __attribute__((always_inline))
Inputs inputs_of(thread const uint& p, constant Push& push, thread uint& head, thread Way& way)
{
    if (p < way.pos)
    {
        uint param = p;
        uint at = kept_at(param, push, way);
        return Inputs{ true, at, (at + n_qkv(push)) + head, ((at + n_qkv(push)) + push.n_value_head) + head };
    }
    uint token = (way.first + p) - way.pos;
    uint gate = (token * push.n_value_head) + head;
    return Inputs{ false, push.qkv_at + (token * n_qkv(push)), push.alpha_at + gate, push.beta_at + gate };
}

static inline __attribute__((always_inline))
uint v_at(constant Push& push, thread uint& head, thread uint& value)
{
    return (((2u * push.n_key_head) + head) * push.head_dim) + value;
}

static inline __attribute__((always_inline))
float qkv_of(thread const Inputs& inputs, thread const uint& i, device Kept& v_516, const device Qkv& v_528)
{
    float _510;
    if (bool(inputs.is_kept))
    {
        _510 = v_516.kept[inputs.qkv_at + i];
    }
    else
    {
        _510 = v_528.qkv[inputs.qkv_at + i];
    }
    return _510;
}

static inline __attribute__((always_inline))
uint q_at(constant Push& push, thread uint& head)
{
    return (head % push.n_key_head) * push.head_dim;
}

static inline __attribute__((always_inline))
uint k_at(constant Push& push, thread uint& head)
{
    return q_at(push, head) + (push.n_key_head * push.head_dim);
}

static inline __attribute__((always_inline))
float alpha_of(thread const Inputs& inputs, device Kept& v_516, const device Alpha& v_551)
{
    float _540;
    if (bool(inputs.is_kept))
    {
        _540 = v_516.kept[inputs.alpha_at];
    }
    else
    {
        _540 = v_551.alphas[inputs.alpha_at];
    }
    return _540;
}

static inline __attribute__((always_inline))
float beta_of(thread const Inputs& inputs, device Kept& v_516, const device Beta& v_572)
{
    float _561;
    if (bool(inputs.is_kept))
    {
        _561 = v_516.kept[inputs.beta_at];
    }
    else
    {
        _561 = v_572.betas[inputs.beta_at];
    }
    return _561;
}

static inline __attribute__((always_inline))
void keep(thread const uint& p, thread const Inputs& inputs, constant Push& push, thread uint& head, thread uint& value, thread Way& way, device Kept& v_516, const device Qkv& v_528, const device Alpha& v_551, const device Beta& v_572, thread bool& exists, thread uint& first_key)
{
    bool _587 = (!exists) || (first_key != 0u);
    bool _598;
    if (!_587)
    {
        _598 = p < max(way.pos, way.to);
    }
    else
    {
        _598 = _587;
    }
    if (_598)
    {
        return;
    }
    uint param = p;
    uint at = kept_at(param, push, way);
    Inputs param_1 = inputs;
    uint param_2 = v_at(push, head, value);
    v_516.kept[at + v_at(push, head, value)] = qkv_of(param_1, param_2, v_516, v_528);
    if (head < push.n_key_head)
    {
        Inputs param_3 = inputs;
        uint param_4 = q_at(push, head) + value;
        v_516.kept[(at + q_at(push, head)) + value] = qkv_of(param_3, param_4, v_516, v_528);
        Inputs param_5 = inputs;
        uint param_6 = k_at(push, head) + value;
        v_516.kept[(at + k_at(push, head)) + value] = qkv_of(param_5, param_6, v_516, v_528);
    }
    if (value == 0u)
    {
        Inputs param_7 = inputs;
        v_516.kept[(at + n_qkv(push)) + head] = alpha_of(param_7, v_516, v_551);
        Inputs param_8 = inputs;
        v_516.kept[((at + n_qkv(push)) + push.n_value_head) + head] = beta_of(param_8, v_516, v_572);
    }
}

static inline __attribute__((always_inline))
Sums sum_up(thread const Sums& own, thread uint& n_walked, constant Push& push, thread uint3& gl_LocalInvocationID, threadgroup Sums (&sums_of_lanes)[2][128])
{
    uint lane = gl_LocalInvocationID.x;
    uint first_lane = lane - (lane % push.n_lanes);
    uint _748 = n_walked;
    n_walked = _748 + uint(1);
    uint turn = _748 % 2u;
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
float softplus(thread const float& x)
{
    float param = -abs(x);
    float y = accurate_exp(param);
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
    float _188;
    if (x < (-88.0))
    {
        _188 = 0.0;
    }
    else
    {
        float param = -x;
        _188 = 1.0 / (1.0 + accurate_exp(param));
    }
    return _188;
}

static inline __attribute__((always_inline))
void advance(thread const uint& p, thread uint& n_walked, constant Push& push, thread uint& head, thread uint& value, thread Way& way, device Kept& v_516, const device Qkv& v_528, const device Alpha& v_551, const device Beta& v_572, thread bool& exists, thread uint& first_key, thread uint3& gl_LocalInvocationID, threadgroup Sums (&sums_of_lanes)[2][128], thread spvUnsafeArray<float, kKeys>& row, const device DtBias& v_946, const device A& v_961, device Out& v_1075)
{
    uint param = p;
    Inputs inputs = inputs_of(param, push, head, way);
    uint param_1 = p;
    Inputs param_2 = inputs;
    keep(param_1, param_2, push, head, value, way, v_516, v_528, v_551, v_572, exists, first_key);
    Sums own = Sums{ 0.0, 0.0, 0.0, 0.0, 0.0 };
    spvUnsafeArray<float, kKeys> k;
    float _856;
    float _871;
    for (uint i = 0u; i < kKeys; i++)
    {
        uint key = first_key + (i * push.n_lanes);
        bool is_key = key < push.head_dim;
        if (is_key)
        {
            Inputs param_3 = inputs;
            uint param_4 = k_at(push, head) + key;
            _856 = qkv_of(param_3, param_4, v_516, v_528);
        }
        else
        {
            _856 = 0.0;
        }
        k[i] = _856;
        if (is_key)
        {
            Inputs param_5 = inputs;
            uint param_6 = q_at(push, head) + key;
            _871 = qkv_of(param_5, param_6, v_516, v_528);
        }
        else
        {
            _871 = 0.0;
        }
        float q = _871;
        own.qq += (q * q);
        own.kk += (k[i] * k[i]);
        own.kq += (k[i] * q);
        own.sq += (row[i] * q);
        own.sk += (row[i] * k[i]);
    }
    Sums param_7 = own;
    Sums _938 = sum_up(param_7, n_walked, push, gl_LocalInvocationID, sums_of_lanes);
    Sums sums = _938;
    Inputs param_8 = inputs;
    float param_9 = alpha_of(param_8, v_516, v_551) + v_946.dt_bias[push.dt_bias_at + head];
    float _step = softplus(param_9);
    float param_10 = v_961.a[push.a_at + head] * _step;
    float decay = accurate_exp(param_10);
    Inputs param_11 = inputs;
    float param_12 = beta_of(param_11, v_516, v_572);
    float beta = sigmoid(param_12);
    float k_scale = 1.0 / fast::max(sqrt(sums.kk), push.eps);
    float q_scale = 1.0 / (fast::max(sqrt(sums.qq), push.eps) * sqrt(float(push.head_dim)));
    float seen = (decay * k_scale) * sums.sk;
    Inputs param_13 = inputs;
    uint param_14 = v_at(push, head, value);
    float learned = (beta * (qkv_of(param_13, param_14, v_516, v_528) - seen)) * k_scale;
    for (uint i_1 = 0u; i_1 < kKeys; i_1++)
    {
        row[i_1] = (decay * row[i_1]) + (learned * k[i_1]);
    }
    bool _1047 = exists && (first_key == 0u);
    bool _1053;
    if (_1047)
    {
        _1053 = !bool(inputs.is_kept);
    }
    else
    {
        _1053 = _1047;
    }
    if (_1053)
    {
        uint head_at = ((((way.first + p) - way.pos) * push.n_value_head) + head) * push.head_dim;
        v_1075.result[(push.out_at + head_at) + value] = q_scale * ((decay * sums.sq) + (learned * sums.kq));
    }
}

static inline __attribute__((always_inline))
void walk_run(thread const uint& first, thread uint& n_walked, const device Seq& v_205, constant Push& push, const device Pos& v_286, const device From& v_323, const device To& v_336, thread uint& head, thread uint& value, thread Way& way, device Kept& v_516, const device Qkv& v_528, const device Alpha& v_551, const device Beta& v_572, thread bool& exists, thread uint& first_key, thread uint3& gl_LocalInvocationID, threadgroup Sums (&sums_of_lanes)[2][128], thread spvUnsafeArray<float, kKeys>& row, const device DtBias& v_946, const device A& v_961, device Out& v_1075, device State& v_1132)
{
    uint param = first;
    way = way_of(param, v_205, push, v_286, v_323, v_336);
    uint at = row_at(push, head, value, way);
    float _1126;
    for (uint i = 0u; i < kKeys; i++)
    {
        uint key = first_key + (i * push.n_lanes);
        bool _1119 = key < push.head_dim;
        bool _1125;
        if (_1119)
        {
            _1125 = way.from > 0u;
        }
        else
        {
            _1125 = _1119;
        }
        if (_1125)
        {
            _1126 = v_1132.state[at + key];
        }
        else
        {
            _1126 = 0.0;
        }
        row[i] = _1126;
    }
    for (uint p = way.from; p <= way.end; p++)
    {
        if (p == way.to)
        {
            for (uint i_1 = 0u; i_1 < kKeys; i_1++)
            {
                uint key_1 = first_key + (i_1 * push.n_lanes);
                bool _1183;
                if (exists)
                {
                    _1183 = key_1 < push.head_dim;
                }
                else
                {
                    _1183 = exists;
                }
                if (_1183)
                {
                    v_1132.state[at + key_1] = row[i_1];
                }
            }
        }
        if (p < way.end)
        {
            uint param_1 = p;
            advance(param_1, n_walked, push, head, value, way, v_516, v_528, v_551, v_572, exists, first_key, gl_LocalInvocationID, sums_of_lanes, row, v_946, v_961, v_1075);
        }
    }
}

kernel void gated_delta_net(constant Push& push [[buffer(30)]], const device Qkv& v_528 [[buffer(0)]], const device Alpha& v_551 [[buffer(1)]], const device Beta& v_572 [[buffer(2)]], const device A& v_961 [[buffer(3)]], const device DtBias& v_946 [[buffer(4)]], device State& v_1132 [[buffer(5)]], const device Seq& v_205 [[buffer(6)]], const device Pos& v_286 [[buffer(7)]], device Out& v_1075 [[buffer(8)]], device Kept& v_516 [[buffer(9)]], const device From& v_323 [[buffer(10)]], const device To& v_336 [[buffer(11)]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]])
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
    Way way;
    spvUnsafeArray<float, kKeys> row;
    for (uint token = first; token < min((first + push.window), push.n_tokens); token++)
    {
        uint param = token;
        if (starts_run(param, v_205, push))
        {
            uint param_1 = token;
            walk_run(param_1, n_walked, v_205, push, v_286, v_323, v_336, head, value, way, v_516, v_528, v_551, v_572, exists, first_key, gl_LocalInvocationID, sums_of_lanes, row, v_946, v_961, v_1075, v_1132);
        }
    }
}

