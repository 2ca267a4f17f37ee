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

struct Way
{
    uint first;
    uint seq;
    uint pos;
    uint end;
    uint from;
    uint to;
};

struct Seq
{
    int seqs[1];
};

struct Push
{
    uint n_tokens;
    uint n_channel;
    uint n_back;
    uint n_places;
    uint x_at;
    uint weight_at;
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

struct Kept
{
    float kept[1];
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
int seq_of(thread const uint& token, const device Seq& v_210, constant Push& push)
{
    return v_210.seqs[push.seq_at + token];
}

static inline __attribute__((always_inline))
bool starts_run(thread const uint& token, const device Seq& v_210, constant Push& push)
{
    bool _227 = token == 0u;
    bool _239;
    if (!_227)
    {
        uint param = token - 1u;
        uint param_1 = token;
        _239 = seq_of(param, v_210, push) != seq_of(param_1, v_210, push);
    }
    else
    {
        _239 = _227;
    }
    return _239;
}

static inline __attribute__((always_inline))
float weight_of(thread const uint& tap, constant Push& push, thread uint& channel, const device Weight& v_387)
{
    return v_387.weights[(push.weight_at + (channel * (push.n_back + 1u))) + tap];
}

static inline __attribute__((always_inline))
float x_of(thread const uint& token, constant Push& push, const device X& v_367, thread uint& channel)
{
    return v_367.x[(push.x_at + (token * push.n_channel)) + channel];
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
float silu(thread const float& x)
{
    float _166;
    if (x < (-88.0))
    {
        _166 = 0.0;
    }
    else
    {
        float param = -x;
        _166 = x / (1.0 + accurate_exp(param));
    }
    return _166;
}

static inline __attribute__((always_inline))
void store(thread const uint& token, thread const float& sum, constant Push& push, thread uint& channel, device Out& v_405)
{
    float param = sum;
    v_405.result[(push.out_at + (token * push.n_channel)) + channel] = silu(param);
}

static inline __attribute__((always_inline))
uint end_of_run(thread const uint& token, const device Seq& v_210, constant Push& push)
{
    uint inside = token;
    uint outside = push.n_tokens;
    while ((outside - inside) > 1u)
    {
        uint middle = (inside + outside) / 2u;
        uint param = middle;
        uint param_1 = token;
        if (seq_of(param, v_210, push) == seq_of(param_1, v_210, push))
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
Way way_of(thread const uint& first, const device Seq& v_210, constant Push& push, const device Pos& v_290, const device From& v_326, const device To& v_339)
{
    Way way;
    way.first = first;
    uint param = first;
    way.seq = uint(seq_of(param, v_210, push));
    way.pos = uint(v_290.positions[push.pos_at + first]);
    uint param_1 = first;
    way.end = (way.pos + end_of_run(param_1, v_210, push)) - first;
    way.from = way.pos;
    way.to = way.end;
    if (push.n_places > 0u)
    {
        way.from = uint(v_326.froms[push.from_at + first]);
        way.to = uint(v_339.tos[push.to_at + first]);
    }
    return way;
}

static inline __attribute__((always_inline))
uint place_of(thread const Way& way, thread const uint& p, constant Push& push)
{
    return (way.seq * push.n_places) + (p % push.n_places);
}

static inline __attribute__((always_inline))
uint kept_at(thread const Way& way, thread const uint& p, constant Push& push, thread uint& channel)
{
    Way param = way;
    uint param_1 = p;
    return (push.kept_at + (place_of(param, param_1, push) * push.n_channel)) + channel;
}

static inline __attribute__((always_inline))
uint state_at(thread const Way& way, thread const uint& i, constant Push& push, thread uint& channel)
{
    return (push.state_at + (((way.seq * push.n_back) + i) * push.n_channel)) + channel;
}

static inline __attribute__((always_inline))
float input_of_run(thread const Way& way, thread const uint& p, constant Push& push, const device X& v_367, thread uint& channel, device Kept& v_488, device State& v_510)
{
    if (p >= (way.pos + push.n_back))
    {
        uint param = ((way.first + p) - push.n_back) - way.pos;
        return x_of(param, push, v_367, channel);
    }
    if (p >= (way.from + push.n_back))
    {
        Way param_1 = way;
        uint param_2 = p - push.n_back;
        return v_488.kept[kept_at(param_1, param_2, push, channel)];
    }
    float _503;
    if (way.from == 0u)
    {
        _503 = 0.0;
    }
    else
    {
        Way param_3 = way;
        uint param_4 = p - way.from;
        _503 = v_510.state[state_at(param_3, param_4, push, channel)];
    }
    return _503;
}

static inline __attribute__((always_inline))
void begin_run(thread const uint& first, const device Seq& v_210, constant Push& push, const device Pos& v_290, const device From& v_326, const device To& v_339, const device X& v_367, thread uint& channel, const device Weight& v_387, device Out& v_405, device Kept& v_488, device State& v_510)
{
    uint param = first;
    Way way = way_of(param, v_210, push, v_290, v_326, v_339);
    for (uint p = way.pos; p < min(way.end, (way.pos + push.n_back)); p++)
    {
        float sum = 0.0;
        for (uint tap = 0u; tap <= push.n_back; tap++)
        {
            uint param_1 = tap;
            Way param_2 = way;
            uint param_3 = p + tap;
            sum += (weight_of(param_1, push, channel, v_387) * input_of_run(param_2, param_3, push, v_367, channel, v_488, v_510));
        }
        uint param_4 = (first + p) - way.pos;
        float param_5 = sum;
        store(param_4, param_5, push, channel, v_405);
    }
    for (uint i = 0u; i < push.n_back; i++)
    {
        Way param_6 = way;
        uint param_7 = i;
        Way param_8 = way;
        uint param_9 = way.to + i;
        v_510.state[state_at(param_6, param_7, push, channel)] = input_of_run(param_8, param_9, push, v_367, channel, v_488, v_510);
    }
    uint _615 = max(way.pos, way.to);
    for (uint p_1 = _615; p_1 < way.end; p_1++)
    {
        Way param_10 = way;
        uint param_11 = p_1;
        Way param_12 = way;
        uint param_13 = p_1 + push.n_back;
        v_488.kept[kept_at(param_10, param_11, push, channel)] = input_of_run(param_12, param_13, push, v_367, channel, v_488, v_510);
    }
}

kernel void short_conv(constant Push& push [[buffer(30)]], const device X& v_367 [[buffer(0)]], const device Weight& v_387 [[buffer(1)]], device State& v_510 [[buffer(2)]], const device Seq& v_210 [[buffer(3)]], const device Pos& v_290 [[buffer(4)]], device Out& v_405 [[buffer(5)]], device Kept& v_488 [[buffer(6)]], const device From& v_326 [[buffer(7)]], const device To& v_339 [[buffer(8)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
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
        bool _671 = n_before < push.n_back;
        bool _680;
        if (_671)
        {
            uint param = token - n_before;
            _680 = !starts_run(param, v_210, push);
        }
        else
        {
            _680 = _671;
        }
        if (_680)
        {
            n_before++;
            continue;
        }
        else
        {
            break;
        }
    }
    if (n_before == push.n_back)
    {
        float sum = 0.0;
        for (uint tap = 0u; tap <= push.n_back; tap++)
        {
            uint param_1 = tap;
            uint param_2 = (token - push.n_back) + tap;
            sum += (weight_of(param_1, push, channel, v_387) * x_of(param_2, push, v_367, channel));
        }
        uint param_3 = token;
        float param_4 = sum;
        store(param_3, param_4, push, channel, v_405);
    }
    else
    {
        if (n_before == 0u)
        {
            uint param_5 = token;
            begin_run(param_5, v_210, push, v_290, v_326, v_339, v_367, channel, v_387, v_405, v_488, v_510);
        }
    }
}

