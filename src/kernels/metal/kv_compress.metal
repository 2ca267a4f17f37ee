// src/kernels/vulkan/kv_compress.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
#pragma clang diagnostic ignored "-Wmissing-prototypes"
#pragma clang diagnostic ignored "-Wmissing-braces"
#pragma clang diagnostic ignored "-Wunused-variable"

#include <metal_stdlib>
#include <simd/simd.h>
#include <metal_atomic>

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

struct Pages
{
    uint pages[1];
};

#ifndef SPIRV_CROSS_CONSTANT_ID_1
#define SPIRV_CROSS_CONSTANT_ID_1 128u
#endif
constant uint kHeadDim = SPIRV_CROSS_CONSTANT_ID_1;

struct Constants
{
    float constants[1];
};

#ifndef SPIRV_CROSS_CONSTANT_ID_0
#define SPIRV_CROSS_CONSTANT_ID_0 1u
#endif
constant uint kFormat = SPIRV_CROSS_CONSTANT_ID_0;
constant bool _840 = (kFormat == 0u);
#ifndef SPIRV_CROSS_CONSTANT_ID_2
#define SPIRV_CROSS_CONSTANT_ID_2 128u
#endif
constant uint kRowHalves = SPIRV_CROSS_CONSTANT_ID_2;
constant bool _861 = (kFormat == 1u);
constant uint _885 = (kHeadDim / 32u);
#ifndef SPIRV_CROSS_CONSTANT_ID_3
#define SPIRV_CROSS_CONSTANT_ID_3 1u
#endif
constant uint kRoom = SPIRV_CROSS_CONSTANT_ID_3;
constant uint n_blocks = (kHeadDim / 32u);
constant uint _1092 = (kHeadDim / 32u);
constant uint _1093 = (_1092 + 1u);
constant bool kIsSearched_tmp [[function_constant(4)]];
constant bool kIsSearched = is_function_constant_defined(kIsSearched_tmp) ? kIsSearched_tmp : false;
constant uint _1115 = (n_blocks * 9u);
constant uint _1221 = (n_blocks * 9u);
constant bool _1318 = (kFormat == 5u);
constant uint first = _1318 ? 0u : 8u;
constant bool _1321 = (kFormat == 5u);
constant int _1322 = _1321 ? 8 : 16;
constant uint n = (uint(_1322) + 0u);
constant uint _1324 = (first + n);
constant uint _1325 = (_1324 - 1u);
constant uint _1331 = (n - 1u);
constant bool _1387 = (kFormat == 5u);
constant uint _1388 = _1387 ? 0u : 8u;
constant uint n_blocks_1 = (kHeadDim / 32u);
constant uint _1438 = (n_blocks_1 * 15u);
constant bool _1545 = (kFormat == 5u);
constant int _1548 = _1545 ? 7 : 9;
constant uint n_units = (uint(_1548) + 0u);
constant uint _1550 = (n_blocks_1 * n_units);
constant bool _1583 = (kFormat == 5u);
constant bool _1595 = (kFormat == 5u);
constant bool _1622 = (kFormat == 5u);
constant bool _1655 = (kFormat == 5u);
constant uint n_blocks_2 = (kHeadDim / 128u);
constant uint _1870 = (n_blocks_2 * 32u);

struct Projection
{
    float projection[1];
};

constant bool _2217 = (kFormat == 7u);
constant uint _2219 = _2217 ? 832u : 1u;
constant bool _2300 = (kFormat == 7u);
constant uint _2302 = _2300 ? 129u : 1u;
constant uint n_blocks_3 = (kHeadDim / 128u);
constant uint _2577 = (kHeadDim / 128u);
constant uint _2661 = (kRowHalves - 1u);

struct Push
{
    uint n;
    uint moves_first;
    uint rows_of_page;
    uint exact_page_halves;
    uint exact_first_half;
    uint page_halves;
    uint first_half;
    uint rotated_block;
    float root;
};

struct Moves
{
    int moves[1];
};

struct Exact
{
    uint exact[1];
};

constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(64u, 1u, 1u);

static inline __attribute__((always_inline))
uint flat_group(thread uint3& gl_WorkGroupID, thread uint3& gl_NumWorkGroups)
{
    return (gl_WorkGroupID.y * gl_NumWorkGroups.x) + gl_WorkGroupID.x;
}

static inline __attribute__((always_inline))
float f32_from_f16(thread const uint& half_bits)
{
    uint _sign = (half_bits & 32768u) << uint(16);
    uint magnitude = half_bits & 32767u;
    uint subnormal = as_type<uint>(float(magnitude) * 5.9604644775390625e-08);
    uint exponent_offset = (magnitude < 31744u) ? 939524096u : 1879048192u;
    uint _314;
    if (magnitude < 1024u)
    {
        _314 = subnormal;
    }
    else
    {
        _314 = (magnitude << uint(13)) + exponent_offset;
    }
    return as_type<float>(_sign | _314);
}

static inline __attribute__((always_inline))
void hadamard(thread const uint& n_1, thread const uint& block, thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kHeadDim])
{
    for (uint len = 1u; len < block; len *= 2u)
    {
        for (uint pair = gl_LocalInvocationID.x; pair < (n_1 / 2u); pair += 64u)
        {
            uint first_1 = ((pair & (~(len - 1u))) * 2u) + (pair & (len - 1u));
            float a = x[first_1];
            float b = x[first_1 + len];
            x[first_1] = spvFAdd(a, b);
            x[first_1 + len] = spvFSub(a, b);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

static inline __attribute__((always_inline))
void multiply(thread const uint& n_1, thread const float& factor, thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kHeadDim])
{
    for (uint i = gl_LocalInvocationID.x; i < n_1; i += 64u)
    {
        x[i] = spvFMul(x[i], factor);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

static inline __attribute__((always_inline))
void multiply_signs(thread const uint& n_1, thread const uint& first_1, thread const uint& period, thread const float& factor, thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kHeadDim], const device Constants& v_695)
{
    for (uint i = gl_LocalInvocationID.x; i < n_1; i += 64u)
    {
        x[i] = spvFMul(x[i], spvFMul(factor, v_695.constants[first_1 + (i & (period - 1u))]));
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

static inline __attribute__((always_inline))
void to_stored(thread const uint& transform, thread const uint& n_1, thread const uint& block, thread const float& root, thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kHeadDim], const device Constants& v_695)
{
    switch (transform)
    {
        case 1u:
        {
            if (block > 1u)
            {
                uint param = n_1;
                uint param_1 = block;
                hadamard(param, param_1, gl_LocalInvocationID, x);
                uint param_2 = n_1;
                float param_3 = root;
                multiply(param_2, param_3, gl_LocalInvocationID, x);
            }
            break;
        }
        case 2u:
        {
            uint param_4 = n_1;
            uint param_5 = 64u;
            uint param_6 = 32u;
            float param_7 = 1.0;
            multiply_signs(param_4, param_5, param_6, param_7, gl_LocalInvocationID, x, v_695);
            uint param_8 = n_1;
            uint param_9 = 32u;
            hadamard(param_8, param_9, gl_LocalInvocationID, x);
            uint param_10 = n_1;
            float param_11 = 0.17677669227123260498046875;
            multiply(param_10, param_11, gl_LocalInvocationID, x);
            break;
        }
        case 3u:
        {
            uint param_12 = n_1;
            uint param_13 = 96u;
            uint param_14 = 128u;
            float param_15 = 1.0;
            multiply_signs(param_12, param_13, param_14, param_15, gl_LocalInvocationID, x, v_695);
            uint param_16 = n_1;
            uint param_17 = 128u;
            hadamard(param_16, param_17, gl_LocalInvocationID, x);
            uint param_18 = n_1;
            uint param_19 = 224u;
            uint param_20 = 128u;
            float param_21 = 0.088388346135616302490234375;
            multiply_signs(param_18, param_19, param_20, param_21, gl_LocalInvocationID, x, v_695);
            break;
        }
        case 4u:
        {
            uint param_22 = n_1;
            uint param_23 = 128u;
            hadamard(param_22, param_23, gl_LocalInvocationID, x);
            uint param_24 = n_1;
            float param_25 = 0.0078125;
            multiply(param_24, param_25, gl_LocalInvocationID, x);
            break;
        }
    }
}

static inline __attribute__((always_inline))
uint f16_bits(thread const uint& bits)
{
    uint _sign = (bits >> uint(16)) & 32768u;
    uint magnitude = bits & 2147483647u;
    if (magnitude > 2139095040u)
    {
        return (_sign | 32256u) | ((magnitude >> uint(13)) & 1023u);
    }
    if (magnitude >= 1199566848u)
    {
        return _sign | 31744u;
    }
    if (magnitude >= 947912704u)
    {
        return _sign | ((((magnitude - 939524096u) + 4095u) + ((magnitude >> uint(13)) & 1u)) >> uint(13));
    }
    if (magnitude < 855638016u)
    {
        return _sign;
    }
    uint mantissa = (magnitude & 8388607u) | 8388608u;
    uint shift = 126u - (magnitude >> uint(23));
    return _sign | (((mantissa + ((1u << (shift - 1u)) - 1u)) + ((mantissa >> shift) & 1u)) >> shift);
}

static inline __attribute__((always_inline))
uint bf16_bits(thread const uint& bits)
{
    if ((bits & 2147483647u) > 2139095040u)
    {
        return (bits >> uint(16)) | 64u;
    }
    return (bits + (32767u + ((bits >> uint(16)) & 1u))) >> uint(16);
}

static inline __attribute__((always_inline))
void encode_floats(thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kHeadDim], threadgroup uint (&encoded)[kRowHalves])
{
    uint _862;
    for (uint i = gl_LocalInvocationID.x; i < kHeadDim; i += 64u)
    {
        uint bits = as_type<uint>(x[i]);
        if (_840)
        {
            encoded[2u * i] = bits & 65535u;
            encoded[(2u * i) + 1u] = bits >> uint(16);
        }
        else
        {
            if (_861)
            {
                uint param = bits;
                _862 = f16_bits(param);
            }
            else
            {
                uint param_1 = bits;
                _862 = bf16_bits(param_1);
            }
            encoded[i] = _862;
        }
    }
}

static inline __attribute__((always_inline))
uint divide(thread const uint& a, thread const uint& b)
{
    uint rest = (a & 8388607u) | 8388608u;
    uint divisor = (b & 8388607u) | 8388608u;
    int exponent = (int(a >> uint(23)) - int(b >> uint(23))) + 127;
    if (rest < divisor)
    {
        rest = rest << uint(1);
        exponent--;
    }
    if (exponent <= 0)
    {
        return 0u;
    }
    uint quotient = 0u;
    for (int i = 0; i < 24; i++)
    {
        quotient = quotient << uint(1);
        if (rest >= divisor)
        {
            rest -= divisor;
            quotient |= 1u;
        }
        rest = rest << uint(1);
    }
    if (rest > divisor)
    {
        quotient++;
    }
    return (uint(exponent) << uint(23)) + (quotient - 8388608u);
}

static inline __attribute__((always_inline))
uint q8_0_step(thread const uint& largest)
{
    uint _536;
    if (largest < 8388608u)
    {
        _536 = 0u;
    }
    else
    {
        uint param = largest;
        uint param_1 = 1123942400u;
        _536 = divide(param, param_1);
    }
    return _536;
}

static inline __attribute__((always_inline))
float q8_0_inverse(thread const uint& _step)
{
    float _550;
    if (_step == 0u)
    {
        _550 = 0.0;
    }
    else
    {
        uint param = 1065353216u;
        uint param_1 = _step;
        _550 = as_type<float>(divide(param, param_1));
    }
    return _550;
}

static inline __attribute__((always_inline))
uint q8_0_code(thread const float& value, thread const float& _inverse)
{
    float scaled = spvFMul(value, _inverse);
    float moved = spvFAdd(abs(scaled), 0.4999999701976776123046875);
    int code = int(moved);
    int _577;
    if (scaled < 0.0)
    {
        _577 = -code;
    }
    else
    {
        _577 = code;
    }
    return uint(_577 & 255);
}

static inline __attribute__((always_inline))
void encode_q8_0(thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kHeadDim], threadgroup uint (&encoded)[kRowHalves])
{
    for (uint block = gl_LocalInvocationID.x; block < _885; block += 64u)
    {
        uint largest = 0u;
        for (uint i = 0u; i < 32u; i++)
        {
            largest = max(largest, (as_type<uint>(x[(32u * block) + i]) & 2147483647u));
        }
        uint param = largest;
        uint d = q8_0_step(param);
        uint param_1 = d;
        float _inverse = q8_0_inverse(param_1);
        uint param_2 = d;
        encoded[17u * block] = f16_bits(param_2);
        for (uint i_1 = 0u; i_1 < 16u; i_1++)
        {
            uint at = (32u * block) + (2u * i_1);
            float param_3 = x[at];
            float param_4 = _inverse;
            float param_5 = x[at + 1u];
            float param_6 = _inverse;
            encoded[((17u * block) + 1u) + i_1] = q8_0_code(param_3, param_4) | (q8_0_code(param_5, param_6) << uint(8));
        }
    }
}

static inline __attribute__((always_inline))
bool is_ordinary(thread const float& value)
{
    bool _161 = value != 0.0;
    bool _167;
    if (_161)
    {
        _167 = !isinf(value);
    }
    else
    {
        _167 = _161;
    }
    bool _173;
    if (_167)
    {
        _173 = !isnan(value);
    }
    else
    {
        _173 = _167;
    }
    return _173;
}

static inline __attribute__((always_inline))
float upper_part(thread const float& value)
{
    return as_type<float>(as_type<uint>(value) & 4294963200u);
}

static inline __attribute__((always_inline))
float divided(thread const float& a, thread const float& b)
{
    float quotient = a / b;
    float param = quotient;
    bool _183 = !is_ordinary(param);
    bool _191;
    if (!_183)
    {
        float param_1 = b;
        _191 = !is_ordinary(param_1);
    }
    else
    {
        _191 = _183;
    }
    if (_191)
    {
        return quotient;
    }
    float param_2 = quotient;
    float q = upper_part(param_2);
    float param_3 = b;
    float m = upper_part(param_3);
    float q_rest = spvFSub(quotient, q);
    float m_rest = spvFSub(b, m);
    float residual = spvFSub(spvFSub(spvFSub(spvFSub(a, spvFMul(q, m)), spvFMul(q, m_rest)), spvFMul(q_rest, m)), spvFMul(q_rest, m_rest));
    float corrected = spvFAdd(quotient, residual / b);
    return corrected;
}

static inline __attribute__((always_inline))
float q4_0_level(thread const float& value)
{
    return fast::clamp(rint(value), -8.0, 7.0);
}

static inline __attribute__((always_inline))
void put_candidate(thread const uint& block, thread const uint& candidate, thread const float& product, thread const float& squares, thread const bool& is_one, threadgroup float (&room)[kRoom])
{
    float square = spvFMul(product, product);
    uint at = 2u * ((block * 16u) + candidate);
    float _981;
    if (is_one)
    {
        float param = square;
        float param_1 = squares;
        _981 = divided(param, param_1);
    }
    else
    {
        _981 = 0.0;
    }
    room[at] = _981;
    float _995;
    if (is_one)
    {
        float param_2 = product;
        float param_3 = squares;
        _995 = divided(param_2, param_3);
    }
    else
    {
        _995 = 0.0;
    }
    room[at + 1u] = _995;
}

static inline __attribute__((always_inline))
float best_step(thread const uint& block, thread const uint& n_candidates, thread const float& fallback, threadgroup float (&room)[kRoom])
{
    float gain = 0.0;
    float _step = fallback;
    for (uint candidate = 0u; candidate < n_candidates; candidate++)
    {
        uint at = 2u * ((block * 16u) + candidate);
        if (room[at] > gain)
        {
            gain = room[at];
            _step = room[at + 1u];
        }
    }
    return _step;
}

static inline __attribute__((always_inline))
uint f16_of(thread const float& value)
{
    uint param = as_type<uint>(value);
    return f16_bits(param);
}

static inline __attribute__((always_inline))
float rounded_to_f16(thread const float& value)
{
    float param = value;
    uint param_1 = f16_of(param);
    return f32_from_f16(param_1);
}

static inline __attribute__((always_inline))
void encode_q4_0(thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kHeadDim], threadgroup uint (&encoded)[kRowHalves], threadgroup float (&room)[kRoom], threadgroup float (&steps)[_1093])
{
    uint lane = gl_LocalInvocationID.x;
    for (uint block = lane; block < n_blocks; block += 64u)
    {
        float largest = 0.0;
        for (uint i = 0u; i < 32u; i++)
        {
            if (abs(x[(32u * block) + i]) > abs(largest))
            {
                largest = x[(32u * block) + i];
            }
        }
        steps[block] = largest / (-8.0);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (kIsSearched)
    {
        for (uint task = lane; task < _1115; task += 64u)
        {
            uint block_1 = task / 9u;
            uint candidate = task % 9u;
            float factor = spvFAdd(0.699999988079071044921875, spvFMul(0.0500000007450580596923828125, float(candidate)));
            float _step = spvFMul(steps[block_1], factor);
            float product = 0.0;
            float squares = 0.0;
            for (uint i_1 = 0u; i_1 < 32u; i_1++)
            {
                float value = x[(32u * block_1) + i_1];
                float param = value;
                float param_1 = _step;
                float param_2 = divided(param, param_1);
                float level0 = q4_0_level(param_2);
                product = spvFAdd(product, spvFMul(value, level0));
                squares = spvFAdd(squares, spvFMul(level0, level0));
            }
            uint param_3 = block_1;
            uint param_4 = candidate;
            float param_5 = product;
            float param_6 = squares;
            bool param_7 = (_step != 0.0) && (squares > 0.0);
            put_candidate(param_3, param_4, param_5, param_6, param_7, room);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint block_2 = lane; block_2 < n_blocks; block_2 += 64u)
        {
            uint param_8 = block_2;
            uint param_9 = 9u;
            float param_10 = steps[block_2];
            float param_11 = best_step(param_8, param_9, param_10, room);
            steps[block_2] = rounded_to_f16(param_11);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    float _1244;
    int _1287;
    for (uint unit = lane; unit < _1221; unit += 64u)
    {
        uint block_3 = unit / 9u;
        uint part = unit % 9u;
        float d = steps[block_3];
        float param_12 = d;
        uint bits = f16_of(param_12);
        if (part > 0u)
        {
            if (d != 0.0)
            {
                float param_13 = 1.0;
                float param_14 = d;
                _1244 = divided(param_13, param_14);
            }
            else
            {
                _1244 = 0.0;
            }
            float _inverse = _1244;
            bits = 0u;
            for (uint i_2 = 0u; i_2 < 4u; i_2++)
            {
                float value_1 = x[(((32u * block_3) + (2u * (part - 1u))) + (i_2 / 2u)) + (16u * (i_2 % 2u))];
                float scaled = spvFMul(value_1, _inverse);
                float moved = spvFAdd(scaled, 8.5);
                if (kIsSearched)
                {
                    float param_15 = scaled;
                    _1287 = int(q4_0_level(param_15)) + 8;
                }
                else
                {
                    _1287 = min(15, int(moved));
                }
                int code = _1287;
                bits |= (uint(code & 15) << (4u * i_2));
            }
        }
        encoded[unit] = bits;
    }
}

static inline __attribute__((always_inline))
float sum_of_squares(thread const uint& first_1, thread const uint& n_1, threadgroup float (&x)[kHeadDim])
{
    float sum = 0.0;
    for (uint i = 0u; i < n_1; i++)
    {
        sum = spvFAdd(sum, spvFMul(x[first_1 + i], x[first_1 + i]));
    }
    return sum;
}

static inline __attribute__((always_inline))
float root(thread const float& high, thread const float& low)
{
    float s = sqrt(high);
    float param = s;
    if (!is_ordinary(param))
    {
        return s;
    }
    float param_1 = s;
    float h = upper_part(param_1);
    float rest = spvFSub(s, h);
    float residual = spvFAdd(spvFSub(spvFSub(spvFSub(high, spvFMul(h, h)), spvFMul(2.0, spvFMul(h, rest))), spvFMul(rest, rest)), low);
    float corrected = spvFAdd(s, residual / spvFMul(2.0, s));
    return corrected;
}

static inline __attribute__((always_inline))
uint nearest_code(thread const float& v, const device Constants& v_695)
{
    if (v >= v_695.constants[_1325])
    {
        return _1331;
    }
    uint low = 0u;
    for (uint i = 1u; (i + 1u) < n; i++)
    {
        if (v_695.constants[first + i] <= v)
        {
            low = i;
        }
    }
    float above = spvFSub(v_695.constants[(first + low) + 1u], v);
    float below = spvFSub(v, v_695.constants[first + low]);
    uint _1377;
    if ((v <= v_695.constants[first]) || (below <= above))
    {
        _1377 = low;
    }
    else
    {
        _1377 = low + 1u;
    }
    return _1377;
}

static inline __attribute__((always_inline))
float level_of(thread const uint& code, const device Constants& v_695)
{
    return v_695.constants[_1388 + code];
}

static inline __attribute__((always_inline))
void encode_tbq(thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kHeadDim], const device Constants& v_695, threadgroup uint (&encoded)[kRowHalves], threadgroup float (&room)[kRoom], threadgroup float (&steps)[_1093])
{
    uint param = 2u;
    uint param_1 = kHeadDim;
    uint param_2 = 1u;
    float param_3 = 1.0;
    to_stored(param, param_1, param_2, param_3, gl_LocalInvocationID, x, v_695);
    uint lane = gl_LocalInvocationID.x;
    for (uint block = lane; block < n_blocks_1; block += 64u)
    {
        uint param_4 = 32u * block;
        uint param_5 = 32u;
        float param_6 = sum_of_squares(param_4, param_5, x) / 32.0;
        float param_7 = 0.0;
        steps[block] = root(param_6, param_7);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (kIsSearched)
    {
        for (uint task = lane; task < _1438; task += 64u)
        {
            uint block_1 = task / 15u;
            uint candidate = task % 15u;
            float factor = spvFAdd(0.64999997615814208984375, spvFMul(0.0500000007450580596923828125, float(candidate)));
            float _step = spvFMul(steps[block_1], factor);
            float product = 0.0;
            float squares = 0.0;
            for (uint i = 0u; i < 32u; i++)
            {
                float value = x[(32u * block_1) + i];
                float param_8 = value;
                float param_9 = _step;
                float param_10 = divided(param_8, param_9);
                uint param_11 = nearest_code(param_10, v_695);
                float level0 = level_of(param_11, v_695);
                product = spvFAdd(product, spvFMul(value, level0));
                squares = spvFAdd(squares, spvFMul(level0, level0));
            }
            uint param_12 = block_1;
            uint param_13 = candidate;
            float param_14 = product;
            float param_15 = squares;
            bool param_16 = (_step > 0.0) && (product > 0.0);
            put_candidate(param_12, param_13, param_14, param_15, param_16, room);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint block_2 = lane; block_2 < n_blocks_1; block_2 += 64u)
        {
            uint param_17 = block_2;
            uint param_18 = 15u;
            float param_19 = steps[block_2];
            float param_20 = best_step(param_17, param_18, param_19, room);
            steps[block_2] = rounded_to_f16(param_20);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    float _1573;
    uint _1584;
    uint _1596;
    uint _1623;
    int _1656;
    uint _1674;
    for (uint unit = lane; unit < _1550; unit += 64u)
    {
        uint block_3 = unit / n_units;
        uint part = unit % n_units;
        float d = steps[block_3];
        float param_21 = d;
        uint bits = f16_of(param_21);
        if (part > 0u)
        {
            bits = 0u;
            if (d != 0.0)
            {
                float param_22 = 1.0;
                float param_23 = d;
                _1573 = divided(param_22, param_23);
            }
            else
            {
                _1573 = 0.0;
            }
            float _inverse = _1573;
            if (_1583)
            {
                _1584 = (16u * (part - 1u)) / 3u;
            }
            else
            {
                _1584 = 0u;
            }
            uint first_1 = _1584;
            if (_1595)
            {
                _1596 = ((((16u * (part - 1u)) + 15u) / 3u) - first_1) + 1u;
            }
            else
            {
                _1596 = 4u;
            }
            uint n_1 = _1596;
            for (uint i_1 = 0u; (i_1 < n_1) && (d != 0.0); i_1++)
            {
                if (_1622)
                {
                    _1623 = first_1 + i_1;
                }
                else
                {
                    _1623 = ((2u * (part - 1u)) + (i_1 / 2u)) + (16u * (i_1 % 2u));
                }
                uint element = _1623;
                float scaled = spvFMul(x[(32u * block_3) + element], _inverse);
                float param_24 = scaled;
                uint code = nearest_code(param_24, v_695);
                if (_1655)
                {
                    _1656 = int(3u * element) - int(16u * (part - 1u));
                }
                else
                {
                    _1656 = int(4u * i_1);
                }
                int shift = _1656;
                if (shift < 0)
                {
                    _1674 = code >> uint(-shift);
                }
                else
                {
                    _1674 = code << uint(shift);
                }
                bits |= _1674;
            }
        }
        encoded[unit] = bits & 65535u;
    }
}

static inline __attribute__((always_inline))
void find_path(thread const uint& block, thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kHeadDim], const device Constants& v_695, threadgroup float (&room)[kRoom], threadgroup uint (&came_from)[_2219], threadgroup uint (&symbols)[_2302])
{
    uint lane = gl_LocalInvocationID.x;
    spvUnsafeArray<float, 8> levels;
    for (uint s = 0u; s < 8u; s++)
    {
        levels[s] = v_695.constants[(512u + (s * 64u)) + lane];
    }
    for (uint s_1 = 0u; s_1 < 8u; s_1++)
    {
        room[(s_1 * 64u) + lane] = 0.0;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint word = 0u;
    for (uint t = 0u; t < 128u; t++)
    {
        uint from = 0u;
        float best = room[8u * lane];
        for (uint p = 1u; p < 8u; p++)
        {
            float cost = room[(8u * lane) + p];
            if (cost < best)
            {
                best = cost;
                from = p;
            }
        }
        word |= (from << (3u * (t % 10u)));
        if (((t % 10u) == 9u) || (t == 127u))
        {
            came_from[((t / 10u) * 64u) + lane] = word;
            word = 0u;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        float value = x[(128u * block) + t];
        for (uint s_2 = 0u; s_2 < 8u; s_2++)
        {
            float _distance = spvFSub(value, levels[s_2]);
            float cost_1 = spvFAdd(best, spvFMul(_distance, _distance));
            room[(s_2 * 64u) + lane] = cost_1;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (lane == 0u)
    {
        uint state = 0u;
        for (uint s_3 = 1u; s_3 < 512u; s_3++)
        {
            if (room[s_3] < room[state])
            {
                state = s_3;
            }
        }
        for (int t_1 = 127; t_1 >= 0; t_1--)
        {
            symbols[t_1] = state / 64u;
            uint _step = uint(t_1);
            uint at = ((_step / 10u) * 64u) + (state % 64u);
            state = ((state % 64u) * 8u) + ((came_from[at] >> (3u * (_step % 10u))) & 7u);
        }
        symbols[128] = state;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

static inline __attribute__((always_inline))
void encode_tcq(thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kHeadDim], const device Constants& v_695, threadgroup uint (&encoded)[kRowHalves], threadgroup float (&room)[kRoom], threadgroup float (&steps)[_1093], threadgroup uint (&came_from)[_2219], threadgroup uint (&symbols)[_2302])
{
    uint lane = gl_LocalInvocationID.x;
    for (uint block = lane; block < n_blocks_3; block += 64u)
    {
        uint param = 128u * block;
        uint param_1 = 128u;
        float param_2 = sum_of_squares(param, param_1, x);
        float param_3 = 0.0;
        steps[block] = root(param_2, param_3);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float _2379;
    for (uint i = lane; i < kHeadDim; i += 64u)
    {
        float _length = steps[i / 128u];
        if (_length > 1.0000000133514319600180897396058e-10)
        {
            float param_4 = 1.0;
            float param_5 = _length;
            _2379 = divided(param_4, param_5);
        }
        else
        {
            _2379 = 0.0;
        }
        x[i] = spvFMul(x[i], _2379);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint param_6 = 3u;
    uint param_7 = kHeadDim;
    uint param_8 = 1u;
    float param_9 = 1.0;
    to_stored(param_6, param_7, param_8, param_9, gl_LocalInvocationID, x, v_695);
    uint _2436;
    uint _2447;
    float _2527;
    for (uint block_1 = 0u; block_1 < n_blocks_3; block_1++)
    {
        uint param_10 = block_1;
        find_path(param_10, gl_LocalInvocationID, x, v_695, room, came_from, symbols);
        uint first_1 = symbols[128];
        if (lane < 25u)
        {
            uint bits = 0u;
            for (uint i_1 = 0u; i_1 < 16u; i_1++)
            {
                uint bit = (16u * lane) + i_1;
                if (bit < 6u)
                {
                    _2436 = first_1 >> (3u + bit);
                }
                else
                {
                    if (bit < 390u)
                    {
                        _2447 = symbols[(bit - 6u) / 3u] >> ((bit - 6u) % 3u);
                    }
                    else
                    {
                        _2447 = 0u;
                    }
                    _2436 = _2447;
                }
                uint value = _2436;
                bits |= ((value & 1u) << i_1);
            }
            encoded[((block_1 * 26u) + 1u) + lane] = bits;
        }
        if (lane == 32u)
        {
            uint state = first_1;
            float squares = 0.0;
            for (uint t = 0u; t < 128u; t++)
            {
                state = (state >> uint(3)) | (symbols[t] << uint(6));
                float level0 = v_695.constants[512u + state];
                squares = spvFAdd(squares, spvFMul(level0, level0));
            }
            float param_11 = squares;
            float param_12 = 0.0;
            float decoded = root(param_11, param_12);
            float _length_1 = steps[block_1];
            if (decoded > 1.0000000133514319600180897396058e-10)
            {
                float param_13 = _length_1;
                float param_14 = decoded;
                _2527 = divided(param_13, param_14);
            }
            else
            {
                _2527 = _length_1;
            }
            float param_15 = _2527;
            encoded[block_1 * 26u] = f16_of(param_15);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

static inline __attribute__((always_inline))
void encode_qjl(thread const uint& block, thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kHeadDim], threadgroup uint (&encoded)[kRowHalves], threadgroup float (&room)[kRoom], const device Projection& v_2051)
{
    uint lane = gl_LocalInvocationID.x;
    for (uint j = lane; j < 256u; j += 64u)
    {
        float sum = 0.0;
        for (uint i = 0u; i < 128u; i++)
        {
            sum = spvFAdd(sum, spvFMul(x[(128u * block) + i], v_2051.projection[(i * 256u) + j]));
        }
        room[j] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane < 16u)
    {
        uint bits = 0u;
        for (uint i_1 = 0u; i_1 < 16u; i_1++)
        {
            bits |= (uint(room[(16u * lane) + i_1] > 0.0) << i_1);
        }
        encoded[(17u * block) + lane] = bits;
    }
    if (lane == 16u)
    {
        uint param = 128u * block;
        uint param_1 = 128u;
        float param_2 = sum_of_squares(param, param_1, x);
        float param_3 = 0.0;
        uint param_4 = as_type<uint>(root(param_2, param_3));
        encoded[(17u * block) + 16u] = bf16_bits(param_4);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

static inline __attribute__((always_inline))
float length_of_block(thread const uint& first_1, threadgroup float (&x)[kHeadDim])
{
    float high = 0.0;
    float low = 0.0;
    for (uint i = 0u; i < 128u; i++)
    {
        float value = x[first_1 + i];
        float param = value;
        float h = upper_part(param);
        float rest = spvFSub(value, h);
        float square = spvFMul(value, value);
        float square_rest = spvFAdd(spvFAdd(spvFSub(spvFMul(h, h), square), spvFMul(2.0, spvFMul(h, rest))), spvFMul(rest, rest));
        float sum = spvFAdd(high, square);
        float part = spvFSub(sum, high);
        float sum_rest = spvFAdd(spvFSub(high, spvFSub(sum, part)), spvFSub(square, part));
        high = sum;
        low = spvFAdd(low, spvFAdd(sum_rest, square_rest));
    }
    float _1792;
    if (isinf(high))
    {
        _1792 = high;
    }
    else
    {
        float param_1 = high;
        float param_2 = low;
        _1792 = root(param_1, param_2);
    }
    return _1792;
}

static inline __attribute__((always_inline))
uint polar_code(thread const float& v, const device Constants& v_695)
{
    uint code = 0u;
    for (uint i = 0u; i < 15u; i++)
    {
        code += uint(int(v_695.constants[40u + i] < v));
    }
    return code;
}

static inline __attribute__((always_inline))
void encode_polar(thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kHeadDim], const device Constants& v_695, threadgroup uint (&encoded)[kRowHalves], threadgroup float (&steps)[_1093])
{
    uint lane = gl_LocalInvocationID.x;
    for (uint block = lane; block < n_blocks_2; block += 64u)
    {
        uint param = 128u * block;
        steps[block] = length_of_block(param, x);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float _1844;
    for (uint i = lane; i < kHeadDim; i += 64u)
    {
        float _length = steps[i / 128u];
        if (_length > 1.0000000133514319600180897396058e-10)
        {
            float param_1 = 1.0;
            float param_2 = _length;
            _1844 = divided(param_1, param_2);
        }
        else
        {
            _1844 = 0.0;
        }
        x[i] = spvFMul(x[i], _1844);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint param_3 = kHeadDim;
    uint param_4 = 128u;
    hadamard(param_3, param_4, gl_LocalInvocationID, x);
    for (uint unit = lane; unit < _1870; unit += 64u)
    {
        uint bits = 0u;
        for (uint i_1 = 0u; i_1 < 4u; i_1++)
        {
            float param_5 = x[(4u * unit) + i_1];
            bits |= (polar_code(param_5, v_695) << (4u * i_1));
        }
        encoded[(((unit / 32u) * 41u) + 1u) + (unit % 32u)] = bits;
    }
    float _1973;
    for (uint block_1 = lane; block_1 < n_blocks_2; block_1 += 64u)
    {
        float residual = 0.0;
        float product = 0.0;
        float squares = 0.0;
        for (uint i_2 = 0u; i_2 < 128u; i_2++)
        {
            float value = x[(128u * block_1) + i_2];
            float param_6 = value;
            float level0 = v_695.constants[24u + polar_code(param_6, v_695)];
            residual = spvFAdd(residual, spvFMul(spvFSub(value, level0), v_695.constants[352u + i_2]));
            product = spvFAdd(product, spvFMul(value, level0));
            squares = spvFAdd(squares, spvFMul(level0, level0));
        }
        float scaled = spvFMul(steps[block_1], product);
        if (kIsSearched)
        {
            float param_7 = scaled;
            float param_8 = squares;
            _1973 = divided(param_7, param_8);
        }
        else
        {
            _1973 = steps[block_1];
        }
        float _length_1 = _1973;
        float param_9 = _length_1;
        encoded[block_1 * 41u] = f16_of(param_9);
        encoded[(block_1 * 41u) + 33u] = uint(int(residual >= 0.0));
        for (uint i_3 = 34u; i_3 < 41u; i_3++)
        {
            encoded[(block_1 * 41u) + i_3] = 0u;
        }
    }
}

static inline __attribute__((always_inline))
void store_half(thread const uint& at, thread const uint& bits, device Pages& v_338)
{
    uint shift = (at & 1u) * 16u;
    uint _350 = atomic_fetch_and_explicit((device atomic_uint*)&v_338.pages[at >> uint(1)], ~(65535u << shift), memory_order_relaxed);
    uint _357 = atomic_fetch_or_explicit((device atomic_uint*)&v_338.pages[at >> uint(1)], bits << shift, memory_order_relaxed);
}

static inline __attribute__((always_inline))
void encode_row(thread const uint& at, thread const uint& rotated_block, thread const float& root_of_block, device Pages& v_338, thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kHeadDim], const device Constants& v_695, threadgroup uint (&encoded)[kRowHalves], threadgroup float (&room)[kRoom], threadgroup float (&steps)[_1093], const device Projection& v_2051, threadgroup uint (&came_from)[_2219], threadgroup uint (&symbols)[_2302])
{
    if (rotated_block > 1u)
    {
        uint param = 1u;
        uint param_1 = kHeadDim;
        uint param_2 = rotated_block;
        float param_3 = root_of_block;
        to_stored(param, param_1, param_2, param_3, gl_LocalInvocationID, x, v_695);
    }
    switch (kFormat)
    {
        case 3u:
        {
            encode_q8_0(gl_LocalInvocationID, x, encoded);
            break;
        }
        case 4u:
        {
            encode_q4_0(gl_LocalInvocationID, x, encoded, room, steps);
            break;
        }
        case 5u:
        case 6u:
        {
            encode_tbq(gl_LocalInvocationID, x, v_695, encoded, room, steps);
            break;
        }
        case 7u:
        {
            encode_tcq(gl_LocalInvocationID, x, v_695, encoded, room, steps, came_from, symbols);
            break;
        }
        case 8u:
        {
            for (uint block = 0u; block < _2577; block++)
            {
                uint param_4 = block;
                encode_qjl(param_4, gl_LocalInvocationID, x, encoded, room, v_2051);
            }
            break;
        }
        case 9u:
        case 10u:
        {
            encode_polar(gl_LocalInvocationID, x, v_695, encoded, steps);
            break;
        }
        default:
        {
            encode_floats(gl_LocalInvocationID, x, encoded);
            break;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint lane = gl_LocalInvocationID.x;
    uint first_1 = at & 1u;
    uint n_words = (kRowHalves - first_1) / 2u;
    for (uint i = lane; i < n_words; i += 64u)
    {
        v_338.pages[((at + first_1) >> uint(1)) + i] = encoded[first_1 + (2u * i)] | (encoded[(first_1 + (2u * i)) + 1u] << uint(16));
    }
    if ((lane == 0u) && (first_1 == 1u))
    {
        uint param_5 = at;
        uint param_6 = encoded[0];
        store_half(param_5, param_6, v_338);
    }
    bool _2647 = lane == 1u;
    bool _2655;
    if (_2647)
    {
        _2655 = (first_1 + (2u * n_words)) < kRowHalves;
    }
    else
    {
        _2655 = _2647;
    }
    if (_2655)
    {
        uint param_7 = (at + kRowHalves) - 1u;
        uint param_8 = encoded[_2661];
        store_half(param_7, param_8, v_338);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

kernel void kv_compress(constant Push& push [[buffer(30)]], const device Exact& _2745 [[buffer(0)]], const device Moves& _2714 [[buffer(1)]], device Pages& v_338 [[buffer(4)]], const device Constants& v_695 [[buffer(5)]], const device Projection& v_2051 [[buffer(6)]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]])
{
    threadgroup float x[kHeadDim];
    threadgroup uint encoded[kRowHalves];
    threadgroup float room[kRoom];
    threadgroup float steps[_1093];
    threadgroup uint came_from[_2219];
    threadgroup uint symbols[_2302];
    uint index = flat_group(gl_WorkGroupID, gl_NumWorkGroups);
    if (index >= push.n)
    {
        return;
    }
    uint move = push.moves_first + (2u * (index / push.rows_of_page));
    uint row = index % push.rows_of_page;
    uint from = (push.exact_first_half + (uint(_2714.moves[move]) * push.exact_page_halves)) + (row * kHeadDim);
    for (uint i = gl_LocalInvocationID.x; i < kHeadDim; i += 64u)
    {
        uint at = from + i;
        uint param = (_2745.exact[at >> uint(1)] >> ((at & 1u) * 16u)) & 65535u;
        x[i] = f32_from_f16(param);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint param_1 = (push.first_half + (uint(_2714.moves[move + 1u]) * push.page_halves)) + (row * kRowHalves);
    uint param_2 = push.rotated_block;
    float param_3 = push.root;
    encode_row(param_1, param_2, param_3, v_338, gl_LocalInvocationID, x, v_695, encoded, room, steps, v_2051, came_from, symbols);
}

