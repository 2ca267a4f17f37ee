// src/kernels/vulkan/rope_angles.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
#pragma clang diagnostic ignored "-Wmissing-prototypes"

#include <metal_stdlib>
#include <simd/simd.h>

using namespace metal;

struct ResType
{
    uint _m0;
    uint _m1;
};

struct Push
{
    uint n;
    uint pos_first;
    uint inverse_first;
    uint out_first;
    uint n_pairs;
    float magnitude;
    uint section_first;
    uint n_pos;
};

struct Inverse
{
    float _inverse[1];
};

constant bool kHasSections_tmp [[function_constant(0)]];
constant bool kHasSections = is_function_constant_defined(kHasSections_tmp) ? kHasSections_tmp : false;

struct Section
{
    uint section[1];
};

struct Pos
{
    uint pos[1];
};

struct Out
{
    float result[1];
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
uint2 negate(thread const uint2& a)
{
    return uint2((~a.x) + 1u, (~a.y) + uint(int(a.x == 0u)));
}

static inline __attribute__((always_inline))
uint2 fixed_of(thread const float& value)
{
    uint bits = as_type<uint>(value);
    int exponent = int((bits >> uint(23)) & 255u);
    uint _126;
    if (exponent == 0)
    {
        _126 = 0u;
    }
    else
    {
        _126 = (bits & 8388607u) | 8388608u;
    }
    uint mantissa = _126;
    int shift = (exponent - 150) + 56;
    uint2 magnitude = uint2(0u);
    if (shift >= 32)
    {
        magnitude.y = mantissa << uint(shift - 32);
    }
    else
    {
        if (shift > 0)
        {
            magnitude = uint2(mantissa << uint(shift), mantissa >> uint(32 - shift));
        }
        else
        {
            if (shift > (-24))
            {
                magnitude.x = mantissa >> uint(-shift);
            }
        }
    }
    uint2 _182;
    if ((bits >> uint(31)) != 0u)
    {
        uint2 param = magnitude;
        _182 = negate(param);
    }
    else
    {
        _182 = magnitude;
    }
    return _182;
}

static inline __attribute__((always_inline))
uint2 add(thread const uint2& a, thread const uint2& b)
{
    ResType _98;
    _98._m0 = a.x + b.x;
    _98._m1 = select(uint(1), uint(0), _98._m0 >= max(a.x, b.x));
    uint carry = _98._m1;
    uint low = _98._m0;
    return uint2(low, (a.y + b.y) + carry);
}

static inline __attribute__((always_inline))
uint2 turns_of_radians(thread const uint2& a)
{
    ResType _198;
    _198._m0 = a.y * 683565275u;
    _198._m1 = mulhi(a.y, 683565275u);
    uint rest = _198._m0;
    uint top = _198._m1;
    uint2 product = uint2(rest, top);
    ResType _210;
    _210._m0 = a.y * 2475754826u;
    _210._m1 = mulhi(a.y, 2475754826u);
    uint low = _210._m0;
    uint high = _210._m1;
    uint2 param = product;
    uint2 param_1 = uint2(high, 0u);
    product = add(param, param_1);
    ResType _221;
    _221._m0 = a.x * 683565275u;
    _221._m1 = mulhi(a.x, 683565275u);
    low = _221._m0;
    high = _221._m1;
    uint2 param_2 = product;
    uint2 param_3 = uint2(high, 0u);
    return add(param_2, param_3);
}

static inline __attribute__((always_inline))
uint fraction_of_product(thread const uint2& turns, thread const uint& count)
{
    ResType _237;
    _237._m0 = turns.x * count;
    _237._m1 = mulhi(turns.x, count);
    uint low = _237._m0;
    uint high = _237._m1;
    high += (turns.y * count);
    return (high << uint(8)) | (low >> uint(24));
}

static inline __attribute__((always_inline))
float cosine(thread const float& x)
{
    float y = x * x;
    float rest = 0.0416666679084300994873046875 + (y * ((-0.001388888922519981861114501953125) + (y * (2.4801587642286904156208038330078e-05 + (y * (-2.7557319981497130356729030609131e-07))))));
    return 1.0 + (y * ((-0.5) + (y * rest)));
}

static inline __attribute__((always_inline))
float sine(thread const float& x)
{
    float y = x * x;
    return x + ((x * y) * ((-0.16666667163372039794921875) + (y * (0.008333333767950534820556640625 + (y * ((-0.00019841270113829523324966430664062) + (y * 2.7557318844628753140568733215332e-06)))))));
}

kernel void rope_angles(constant Push& push [[buffer(30)]], const device Pos& _390 [[buffer(0)]], const device Inverse& _337 [[buffer(1)]], device Out& _481 [[buffer(2)]], const device Section& _368 [[buffer(3)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    uint i = flat_invocation(gl_WorkGroupID, gl_NumWorkGroups, gl_LocalInvocationID);
    if (i >= push.n)
    {
        return;
    }
    uint pair = i % push.n_pairs;
    uint token = i / push.n_pairs;
    float param = _337._inverse[push.inverse_first + pair];
    uint2 high = fixed_of(param);
    float param_1 = _337._inverse[(push.inverse_first + push.n_pairs) + pair];
    uint2 low = fixed_of(param_1);
    uint _362;
    if (kHasSections)
    {
        _362 = _368.section[push.section_first + pair];
    }
    else
    {
        _362 = 0u;
    }
    uint which = _362;
    uint2 param_2 = high;
    uint2 param_3 = low;
    uint2 param_4 = add(param_2, param_3);
    uint2 param_5 = turns_of_radians(param_4);
    uint param_6 = _390.pos[(push.pos_first + (token * push.n_pos)) + which];
    uint turn = fraction_of_product(param_5, param_6);
    uint quarter = (turn + 536870912u) >> uint(30);
    float angle = float(int(turn - (quarter << uint(30)))) * 1.4629181199765639576071407645941e-09;
    float param_7 = angle;
    float c = cosine(param_7);
    float param_8 = angle;
    float s = sine(param_8);
    bool is_odd = (quarter & 1u) != 0u;
    float _436;
    if (is_odd)
    {
        _436 = -s;
    }
    else
    {
        _436 = c;
    }
    float x = _436;
    float y = is_odd ? c : s;
    float _454;
    if ((quarter & 2u) != 0u)
    {
        _454 = -push.magnitude;
    }
    else
    {
        _454 = push.magnitude;
    }
    float _sign = _454;
    uint at = (push.out_first + ((token * 2u) * push.n_pairs)) + pair;
    _481.result[at] = _sign * x;
    _481.result[at + push.n_pairs] = _sign * y;
}

