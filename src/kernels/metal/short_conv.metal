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
int seq_of(thread const uint& token, const device Seq& v_190, constant Push& push)
{
    return v_190.seqs[push.seq_at + token];
}

static inline __attribute__((always_inline))
bool starts_run(thread const uint& token, const device Seq& v_190, constant Push& push)
{
    bool _207 = token == 0u;
    bool _219;
    if (!_207)
    {
        uint param = token - 1u;
        uint param_1 = token;
        _219 = seq_of(param, v_190, push) != seq_of(param_1, v_190, push);
    }
    else
    {
        _219 = _207;
    }
    return _219;
}

static inline __attribute__((always_inline))
float weight_of(thread const uint& tap, constant Push& push, thread uint& channel, const device Weight& v_367)
{
    return v_367.weights[(push.weight_at + (channel * (push.n_back + 1u))) + tap];
}

static inline __attribute__((always_inline))
float x_of(thread const uint& token, constant Push& push, const device X& v_347, thread uint& channel)
{
    return v_347.x[(push.x_at + (token * push.n_channel)) + channel];
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
    float _146;
    if (x < (-88.0))
    {
        _146 = 0.0;
    }
    else
    {
        float param = -x;
        float _155 = accurate_exp(param);
        _146 = x / (1.0 + _155);
    }
    return _146;
}

static inline __attribute__((always_inline))
void store(thread const uint& token, thread const float& sum, constant Push& push, thread uint& channel, device Out& v_385)
{
    float param = sum;
    v_385.result[(push.out_at + (token * push.n_channel)) + channel] = silu(param);
}

static inline __attribute__((always_inline))
uint end_of_run(thread const uint& token, const device Seq& v_190, constant Push& push)
{
    uint inside = token;
    uint outside = push.n_tokens;
    while ((outside - inside) > 1u)
    {
        uint middle = (inside + outside) / 2u;
        uint param = middle;
        uint param_1 = token;
        if (seq_of(param, v_190, push) == seq_of(param_1, v_190, push))
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
Way way_of(thread const uint& first, const device Seq& v_190, constant Push& push, const device Pos& v_270, const device From& v_306, const device To& v_319)
{
    Way way;
    way.first = first;
    uint param = first;
    way.seq = uint(seq_of(param, v_190, push));
    way.pos = uint(v_270.positions[push.pos_at + first]);
    uint param_1 = first;
    way.end = (way.pos + end_of_run(param_1, v_190, push)) - first;
    way.from = way.pos;
    way.to = way.end;
    if (push.n_places > 0u)
    {
        way.from = uint(v_306.froms[push.from_at + first]);
        way.to = uint(v_319.tos[push.to_at + first]);
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
float input_of_run(thread const Way& way, thread const uint& p, constant Push& push, const device X& v_347, thread uint& channel, device Kept& v_468, device State& v_490)
{
    if (p >= (way.pos + push.n_back))
    {
        uint param = ((way.first + p) - push.n_back) - way.pos;
        return x_of(param, push, v_347, channel);
    }
    if (p >= (way.from + push.n_back))
    {
        Way param_1 = way;
        uint param_2 = p - push.n_back;
        return v_468.kept[kept_at(param_1, param_2, push, channel)];
    }
    float _483;
    if (way.from == 0u)
    {
        _483 = 0.0;
    }
    else
    {
        Way param_3 = way;
        uint param_4 = p - way.from;
        _483 = v_490.state[state_at(param_3, param_4, push, channel)];
    }
    return _483;
}

static inline __attribute__((always_inline))
void begin_run(thread const uint& first, const device Seq& v_190, constant Push& push, const device Pos& v_270, const device From& v_306, const device To& v_319, const device X& v_347, thread uint& channel, const device Weight& v_367, device Out& v_385, device Kept& v_468, device State& v_490)
{
    uint param = first;
    Way way = way_of(param, v_190, push, v_270, v_306, v_319);
    for (uint p = way.pos; p < min(way.end, (way.pos + push.n_back)); p++)
    {
        float sum = 0.0;
        for (uint tap = 0u; tap <= push.n_back; tap++)
        {
            uint param_1 = tap;
            Way param_2 = way;
            uint param_3 = p + tap;
            sum += (weight_of(param_1, push, channel, v_367) * input_of_run(param_2, param_3, push, v_347, channel, v_468, v_490));
        }
        uint param_4 = (first + p) - way.pos;
        float param_5 = sum;
        store(param_4, param_5, push, channel, v_385);
    }
    for (uint i = 0u; i < push.n_back; i++)
    {
        Way param_6 = way;
        uint param_7 = i;
        Way param_8 = way;
        uint param_9 = way.to + i;
        v_490.state[state_at(param_6, param_7, push, channel)] = input_of_run(param_8, param_9, push, v_347, channel, v_468, v_490);
    }
    uint _595 = max(way.pos, way.to);
    for (uint p_1 = _595; p_1 < way.end; p_1++)
    {
        Way param_10 = way;
        uint param_11 = p_1;
        Way param_12 = way;
        uint param_13 = p_1 + push.n_back;
        v_468.kept[kept_at(param_10, param_11, push, channel)] = input_of_run(param_12, param_13, push, v_347, channel, v_468, v_490);
    }
}

kernel void short_conv(constant Push& push [[buffer(30)]], const device X& v_347 [[buffer(0)]], const device Weight& v_367 [[buffer(1)]], device State& v_490 [[buffer(2)]], const device Seq& v_190 [[buffer(3)]], const device Pos& v_270 [[buffer(4)]], device Out& v_385 [[buffer(5)]], device Kept& v_468 [[buffer(6)]], const device From& v_306 [[buffer(7)]], const device To& v_319 [[buffer(8)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
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
        bool _651 = n_before < push.n_back;
        bool _660;
        if (_651)
        {
            uint param = token - n_before;
            _660 = !starts_run(param, v_190, push);
        }
        else
        {
            _660 = _651;
        }
        if (_660)
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
            sum += (weight_of(param_1, push, channel, v_367) * x_of(param_2, push, v_347, channel));
        }
        uint param_3 = token;
        float param_4 = sum;
        store(param_3, param_4, push, channel, v_385);
    }
    else
    {
        if (n_before == 0u)
        {
            uint param_5 = token;
            begin_run(param_5, v_190, push, v_270, v_306, v_319, v_347, channel, v_367, v_385, v_468, v_490);
        }
    }
}

