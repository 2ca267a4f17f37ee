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
constant bool _873 = (kFormat == 0u);
#ifndef SPIRV_CROSS_CONSTANT_ID_2
#define SPIRV_CROSS_CONSTANT_ID_2 128u
#endif
constant uint kRowHalves = SPIRV_CROSS_CONSTANT_ID_2;
constant bool _894 = (kFormat == 1u);
constant uint _918 = (kHeadDim / 32u);
#ifndef SPIRV_CROSS_CONSTANT_ID_3
#define SPIRV_CROSS_CONSTANT_ID_3 1u
#endif
constant uint kRoom = SPIRV_CROSS_CONSTANT_ID_3;
constant uint n_blocks = (kHeadDim / 32u);
constant uint _1135 = (kHeadDim / 32u);
constant uint _1136 = (_1135 + 1u);
constant bool kIsSearched_tmp [[function_constant(4)]];
constant bool kIsSearched = is_function_constant_defined(kIsSearched_tmp) ? kIsSearched_tmp : false;
constant uint _1160 = (n_blocks * 9u);
constant uint _1266 = (n_blocks * 9u);
constant bool _1363 = (kFormat == 5u);
constant uint first = _1363 ? 0u : 8u;
constant bool _1366 = (kFormat == 5u);
constant int _1367 = _1366 ? 8 : 16;
constant uint n = (uint(_1367) + 0u);
constant uint _1369 = (first + n);
constant uint _1370 = (_1369 - 1u);
constant uint _1376 = (n - 1u);
constant bool _1432 = (kFormat == 5u);
constant uint _1433 = _1432 ? 0u : 8u;
constant uint n_blocks_1 = (kHeadDim / 32u);
constant uint _1483 = (n_blocks_1 * 15u);
constant bool _1590 = (kFormat == 5u);
constant int _1593 = _1590 ? 7 : 9;
constant uint n_units = (uint(_1593) + 0u);
constant uint _1595 = (n_blocks_1 * n_units);
constant bool _1628 = (kFormat == 5u);
constant bool _1640 = (kFormat == 5u);
constant bool _1667 = (kFormat == 5u);
constant bool _1700 = (kFormat == 5u);
constant uint n_blocks_2 = (kHeadDim / 128u);
constant uint _1915 = (n_blocks_2 * 32u);

struct Projection
{
    float projection[1];
};

constant bool _2262 = (kFormat == 7u);
constant uint _2264 = _2262 ? 832u : 1u;
constant bool _2345 = (kFormat == 7u);
constant uint _2347 = _2345 ? 129u : 1u;
constant uint n_blocks_3 = (kHeadDim / 128u);
constant uint _2622 = (kHeadDim / 128u);
constant uint _2706 = (kRowHalves - 1u);

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
    uint _344;
    if (magnitude < 1024u)
    {
        _344 = subnormal;
    }
    else
    {
        _344 = (magnitude << uint(13)) + exponent_offset;
    }
    return as_type<float>(_sign | _344);
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
void multiply_signs(thread const uint& n_1, thread const uint& first_1, thread const uint& period, thread const float& factor, thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kHeadDim], const device Constants& v_728)
{
    for (uint i = gl_LocalInvocationID.x; i < n_1; i += 64u)
    {
        x[i] = spvFMul(x[i], spvFMul(factor, v_728.constants[first_1 + (i & (period - 1u))]));
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

static inline __attribute__((always_inline))
void to_stored(thread const uint& transform, thread const uint& n_1, thread const uint& block, thread const float& root, thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kHeadDim], const device Constants& v_728)
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
            multiply_signs(param_4, param_5, param_6, param_7, gl_LocalInvocationID, x, v_728);
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
            multiply_signs(param_12, param_13, param_14, param_15, gl_LocalInvocationID, x, v_728);
            uint param_16 = n_1;
            uint param_17 = 128u;
            hadamard(param_16, param_17, gl_LocalInvocationID, x);
            uint param_18 = n_1;
            uint param_19 = 224u;
            uint param_20 = 128u;
            float param_21 = 0.088388346135616302490234375;
            multiply_signs(param_18, param_19, param_20, param_21, gl_LocalInvocationID, x, v_728);
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
    uint _895;
    for (uint i = gl_LocalInvocationID.x; i < kHeadDim; i += 64u)
    {
        uint bits = as_type<uint>(x[i]);
        if (_873)
        {
            encoded[2u * i] = bits & 65535u;
            encoded[(2u * i) + 1u] = bits >> uint(16);
        }
        else
        {
            if (_894)
            {
                uint param = bits;
                _895 = f16_bits(param);
            }
            else
            {
                uint param_1 = bits;
                _895 = bf16_bits(param_1);
            }
            encoded[i] = _895;
        }
    }
}

static inline __attribute__((always_inline))
uint magnitude_bits(thread const float& value)
{
    return as_type<uint>(value) & 2147483647u;
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
    if (largest >= 2139095040u)
    {
        return 2143289344u;
    }
    uint _569;
    if (largest < 8388608u)
    {
        _569 = 0u;
    }
    else
    {
        uint param = largest;
        uint param_1 = 1123942400u;
        _569 = divide(param, param_1);
    }
    return _569;
}

static inline __attribute__((always_inline))
float q8_0_inverse(thread const uint& _step)
{
    float _583;
    if (_step == 0u)
    {
        _583 = 0.0;
    }
    else
    {
        uint param = 1065353216u;
        uint param_1 = _step;
        _583 = as_type<float>(divide(param, param_1));
    }
    return _583;
}

static inline __attribute__((always_inline))
uint q8_0_code(thread const float& value, thread const float& _inverse)
{
    float scaled = spvFMul(value, _inverse);
    float moved = spvFAdd(abs(scaled), 0.4999999701976776123046875);
    int code = int(moved);
    int _610;
    if (scaled < 0.0)
    {
        _610 = -code;
    }
    else
    {
        _610 = code;
    }
    return uint(_610 & 255);
}

static inline __attribute__((always_inline))
void encode_q8_0(thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kHeadDim], threadgroup uint (&encoded)[kRowHalves])
{
    for (uint block = gl_LocalInvocationID.x; block < _918; block += 64u)
    {
        uint largest = 0u;
        for (uint i = 0u; i < 32u; i++)
        {
            float param = x[(32u * block) + i];
            largest = max(largest, magnitude_bits(param));
        }
        uint param_1 = largest;
        uint d = q8_0_step(param_1);
        uint param_2 = d;
        float _inverse = q8_0_inverse(param_2);
        uint param_3 = d;
        encoded[17u * block] = f16_bits(param_3);
        for (uint i_1 = 0u; i_1 < 16u; i_1++)
        {
            uint at = (32u * block) + (2u * i_1);
            float param_4 = x[at];
            float param_5 = _inverse;
            float param_6 = x[at + 1u];
            float param_7 = _inverse;
            encoded[((17u * block) + 1u) + i_1] = q8_0_code(param_4, param_5) | (q8_0_code(param_6, param_7) << uint(8));
        }
    }
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
    uint _177;
    if (is_finite(param))
    {
        _177 = as_type<uint>(value);
    }
    else
    {
        _177 = 2143289344u;
    }
    return as_type<float>(_177);
}

static inline __attribute__((always_inline))
bool is_ordinary(thread const float& value)
{
    bool _197 = value != 0.0;
    bool _203;
    if (_197)
    {
        float param = value;
        _203 = is_finite(param);
    }
    else
    {
        _203 = _197;
    }
    return _203;
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
    bool _213 = !is_ordinary(param);
    bool _221;
    if (!_213)
    {
        float param_1 = b;
        _221 = !is_ordinary(param_1);
    }
    else
    {
        _221 = _213;
    }
    if (_221)
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
    float _1014;
    if (is_one)
    {
        float param = square;
        float param_1 = squares;
        _1014 = divided(param, param_1);
    }
    else
    {
        _1014 = 0.0;
    }
    room[at] = _1014;
    float _1028;
    if (is_one)
    {
        float param_2 = product;
        float param_3 = squares;
        _1028 = divided(param_2, param_3);
    }
    else
    {
        _1028 = 0.0;
    }
    room[at + 1u] = _1028;
}

static inline __attribute__((always_inline))
float best_step(thread const uint& block, thread const uint& n_candidates, thread const float& fallback, threadgroup float (&room)[kRoom])
{
    float param = fallback;
    if (!is_finite(param))
    {
        return fallback;
    }
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
void encode_q4_0(thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kHeadDim], threadgroup uint (&encoded)[kRowHalves], threadgroup float (&room)[kRoom], threadgroup float (&steps)[_1136])
{
    uint lane = gl_LocalInvocationID.x;
    for (uint block = lane; block < n_blocks; block += 64u)
    {
        float largest = 0.0;
        for (uint i = 0u; i < 32u; i++)
        {
            float param = x[(32u * block) + i];
            float param_1 = largest;
            if (magnitude_bits(param) > magnitude_bits(param_1))
            {
                largest = x[(32u * block) + i];
            }
        }
        float param_2 = largest / (-8.0);
        steps[block] = finite_or_nan(param_2);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (kIsSearched)
    {
        for (uint task = lane; task < _1160; task += 64u)
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
                float param_3 = value;
                float param_4 = _step;
                float param_5 = divided(param_3, param_4);
                float level0 = q4_0_level(param_5);
                product = spvFAdd(product, spvFMul(value, level0));
                squares = spvFAdd(squares, spvFMul(level0, level0));
            }
            uint param_6 = block_1;
            uint param_7 = candidate;
            float param_8 = product;
            float param_9 = squares;
            bool param_10 = (_step != 0.0) && (squares > 0.0);
            put_candidate(param_6, param_7, param_8, param_9, param_10, room);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint block_2 = lane; block_2 < n_blocks; block_2 += 64u)
        {
            uint param_11 = block_2;
            uint param_12 = 9u;
            float param_13 = steps[block_2];
            float param_14 = best_step(param_11, param_12, param_13, room);
            steps[block_2] = rounded_to_f16(param_14);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    float _1289;
    int _1332;
    for (uint unit = lane; unit < _1266; unit += 64u)
    {
        uint block_3 = unit / 9u;
        uint part = unit % 9u;
        float d = steps[block_3];
        float param_15 = d;
        uint bits = f16_of(param_15);
        if (part > 0u)
        {
            if (d != 0.0)
            {
                float param_16 = 1.0;
                float param_17 = d;
                _1289 = divided(param_16, param_17);
            }
            else
            {
                _1289 = 0.0;
            }
            float _inverse = _1289;
            bits = 0u;
            for (uint i_2 = 0u; i_2 < 4u; i_2++)
            {
                float value_1 = x[(((32u * block_3) + (2u * (part - 1u))) + (i_2 / 2u)) + (16u * (i_2 % 2u))];
                float scaled = spvFMul(value_1, _inverse);
                float moved = spvFAdd(scaled, 8.5);
                if (kIsSearched)
                {
                    float param_18 = scaled;
                    _1332 = int(q4_0_level(param_18)) + 8;
                }
                else
                {
                    _1332 = min(15, int(moved));
                }
                int code = _1332;
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
uint nearest_code(thread const float& v, const device Constants& v_728)
{
    if (v >= v_728.constants[_1370])
    {
        return _1376;
    }
    uint low = 0u;
    for (uint i = 1u; (i + 1u) < n; i++)
    {
        if (v_728.constants[first + i] <= v)
        {
            low = i;
        }
    }
    float above = spvFSub(v_728.constants[(first + low) + 1u], v);
    float below = spvFSub(v, v_728.constants[first + low]);
    uint _1422;
    if ((v <= v_728.constants[first]) || (below <= above))
    {
        _1422 = low;
    }
    else
    {
        _1422 = low + 1u;
    }
    return _1422;
}

static inline __attribute__((always_inline))
float level_of(thread const uint& code, const device Constants& v_728)
{
    return v_728.constants[_1433 + code];
}

static inline __attribute__((always_inline))
void encode_tbq(thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kHeadDim], const device Constants& v_728, threadgroup uint (&encoded)[kRowHalves], threadgroup float (&room)[kRoom], threadgroup float (&steps)[_1136])
{
    uint param = 2u;
    uint param_1 = kHeadDim;
    uint param_2 = 1u;
    float param_3 = 1.0;
    to_stored(param, param_1, param_2, param_3, gl_LocalInvocationID, x, v_728);
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
        for (uint task = lane; task < _1483; task += 64u)
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
                uint param_11 = nearest_code(param_10, v_728);
                float level0 = level_of(param_11, v_728);
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
    float _1618;
    uint _1629;
    uint _1641;
    uint _1668;
    int _1701;
    uint _1719;
    for (uint unit = lane; unit < _1595; unit += 64u)
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
                _1618 = divided(param_22, param_23);
            }
            else
            {
                _1618 = 0.0;
            }
            float _inverse = _1618;
            if (_1628)
            {
                _1629 = (16u * (part - 1u)) / 3u;
            }
            else
            {
                _1629 = 0u;
            }
            uint first_1 = _1629;
            if (_1640)
            {
                _1641 = ((((16u * (part - 1u)) + 15u) / 3u) - first_1) + 1u;
            }
            else
            {
                _1641 = 4u;
            }
            uint n_1 = _1641;
            for (uint i_1 = 0u; (i_1 < n_1) && (d != 0.0); i_1++)
            {
                if (_1667)
                {
                    _1668 = first_1 + i_1;
                }
                else
                {
                    _1668 = ((2u * (part - 1u)) + (i_1 / 2u)) + (16u * (i_1 % 2u));
                }
                uint element = _1668;
                float scaled = spvFMul(x[(32u * block_3) + element], _inverse);
                float param_24 = scaled;
                uint code = nearest_code(param_24, v_728);
                if (_1700)
                {
                    _1701 = int(3u * element) - int(16u * (part - 1u));
                }
                else
                {
                    _1701 = int(4u * i_1);
                }
                int shift = _1701;
                if (shift < 0)
                {
                    _1719 = code >> uint(-shift);
                }
                else
                {
                    _1719 = code << uint(shift);
                }
                bits |= _1719;
            }
        }
        encoded[unit] = bits & 65535u;
    }
}

static inline __attribute__((always_inline))
void find_path(thread const uint& block, thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kHeadDim], const device Constants& v_728, threadgroup float (&room)[kRoom], threadgroup uint (&came_from)[_2264], threadgroup uint (&symbols)[_2347])
{
    uint lane = gl_LocalInvocationID.x;
    spvUnsafeArray<float, 8> levels;
    for (uint s = 0u; s < 8u; s++)
    {
        levels[s] = v_728.constants[(512u + (s * 64u)) + lane];
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
void encode_tcq(thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kHeadDim], const device Constants& v_728, threadgroup uint (&encoded)[kRowHalves], threadgroup float (&room)[kRoom], threadgroup float (&steps)[_1136], threadgroup uint (&came_from)[_2264], threadgroup uint (&symbols)[_2347])
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
    float _2424;
    for (uint i = lane; i < kHeadDim; i += 64u)
    {
        float _length = steps[i / 128u];
        if (_length > 1.0000000133514319600180897396058e-10)
        {
            float param_4 = 1.0;
            float param_5 = _length;
            _2424 = divided(param_4, param_5);
        }
        else
        {
            _2424 = 0.0;
        }
        x[i] = spvFMul(x[i], _2424);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint param_6 = 3u;
    uint param_7 = kHeadDim;
    uint param_8 = 1u;
    float param_9 = 1.0;
    to_stored(param_6, param_7, param_8, param_9, gl_LocalInvocationID, x, v_728);
    uint _2481;
    uint _2492;
    float _2572;
    for (uint block_1 = 0u; block_1 < n_blocks_3; block_1++)
    {
        uint param_10 = block_1;
        find_path(param_10, gl_LocalInvocationID, x, v_728, room, came_from, symbols);
        uint first_1 = symbols[128];
        if (lane < 25u)
        {
            uint bits = 0u;
            for (uint i_1 = 0u; i_1 < 16u; i_1++)
            {
                uint bit = (16u * lane) + i_1;
                if (bit < 6u)
                {
                    _2481 = first_1 >> (3u + bit);
                }
                else
                {
                    if (bit < 390u)
                    {
                        _2492 = symbols[(bit - 6u) / 3u] >> ((bit - 6u) % 3u);
                    }
                    else
                    {
                        _2492 = 0u;
                    }
                    _2481 = _2492;
                }
                uint value = _2481;
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
                float level0 = v_728.constants[512u + state];
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
                _2572 = divided(param_13, param_14);
            }
            else
            {
                _2572 = _length_1;
            }
            float param_15 = _2572;
            encoded[block_1 * 26u] = f16_of(param_15);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

static inline __attribute__((always_inline))
void encode_qjl(thread const uint& block, thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kHeadDim], threadgroup uint (&encoded)[kRowHalves], threadgroup float (&room)[kRoom], const device Projection& v_2096)
{
    uint lane = gl_LocalInvocationID.x;
    for (uint j = lane; j < 256u; j += 64u)
    {
        float sum = 0.0;
        for (uint i = 0u; i < 128u; i++)
        {
            sum = spvFAdd(sum, spvFMul(x[(128u * block) + i], v_2096.projection[(i * 256u) + j]));
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
    float _1837;
    if (isinf(high))
    {
        _1837 = high;
    }
    else
    {
        float param_1 = high;
        float param_2 = low;
        _1837 = root(param_1, param_2);
    }
    return _1837;
}

static inline __attribute__((always_inline))
uint polar_code(thread const float& v, const device Constants& v_728)
{
    uint code = 0u;
    for (uint i = 0u; i < 15u; i++)
    {
        code += uint(int(v_728.constants[40u + i] < v));
    }
    return code;
}

static inline __attribute__((always_inline))
void encode_polar(thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kHeadDim], const device Constants& v_728, threadgroup uint (&encoded)[kRowHalves], threadgroup float (&steps)[_1136])
{
    uint lane = gl_LocalInvocationID.x;
    for (uint block = lane; block < n_blocks_2; block += 64u)
    {
        uint param = 128u * block;
        steps[block] = length_of_block(param, x);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float _1889;
    for (uint i = lane; i < kHeadDim; i += 64u)
    {
        float _length = steps[i / 128u];
        if (_length > 1.0000000133514319600180897396058e-10)
        {
            float param_1 = 1.0;
            float param_2 = _length;
            _1889 = divided(param_1, param_2);
        }
        else
        {
            _1889 = 0.0;
        }
        x[i] = spvFMul(x[i], _1889);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint param_3 = kHeadDim;
    uint param_4 = 128u;
    hadamard(param_3, param_4, gl_LocalInvocationID, x);
    for (uint unit = lane; unit < _1915; unit += 64u)
    {
        uint bits = 0u;
        for (uint i_1 = 0u; i_1 < 4u; i_1++)
        {
            float param_5 = x[(4u * unit) + i_1];
            bits |= (polar_code(param_5, v_728) << (4u * i_1));
        }
        encoded[(((unit / 32u) * 41u) + 1u) + (unit % 32u)] = bits;
    }
    float _2018;
    for (uint block_1 = lane; block_1 < n_blocks_2; block_1 += 64u)
    {
        float residual = 0.0;
        float product = 0.0;
        float squares = 0.0;
        for (uint i_2 = 0u; i_2 < 128u; i_2++)
        {
            float value = x[(128u * block_1) + i_2];
            float param_6 = value;
            float level0 = v_728.constants[24u + polar_code(param_6, v_728)];
            residual = spvFAdd(residual, spvFMul(spvFSub(value, level0), v_728.constants[352u + i_2]));
            product = spvFAdd(product, spvFMul(value, level0));
            squares = spvFAdd(squares, spvFMul(level0, level0));
        }
        float scaled = spvFMul(steps[block_1], product);
        if (kIsSearched)
        {
            float param_7 = scaled;
            float param_8 = squares;
            _2018 = divided(param_7, param_8);
        }
        else
        {
            _2018 = steps[block_1];
        }
        float _length_1 = _2018;
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
void store_half(thread const uint& at, thread const uint& bits, device Pages& v_368)
{
    uint shift = (at & 1u) * 16u;
    uint _380 = atomic_fetch_and_explicit((device atomic_uint*)&v_368.pages[at >> uint(1)], ~(65535u << shift), memory_order_relaxed);
    uint _387 = atomic_fetch_or_explicit((device atomic_uint*)&v_368.pages[at >> uint(1)], bits << shift, memory_order_relaxed);
}

static inline __attribute__((always_inline))
void encode_row(thread const uint& at, thread const uint& rotated_block, thread const float& root_of_block, device Pages& v_368, thread uint3& gl_LocalInvocationID, threadgroup float (&x)[kHeadDim], const device Constants& v_728, threadgroup uint (&encoded)[kRowHalves], threadgroup float (&room)[kRoom], threadgroup float (&steps)[_1136], const device Projection& v_2096, threadgroup uint (&came_from)[_2264], threadgroup uint (&symbols)[_2347])
{
    if (rotated_block > 1u)
    {
        uint param = 1u;
        uint param_1 = kHeadDim;
        uint param_2 = rotated_block;
        float param_3 = root_of_block;
        to_stored(param, param_1, param_2, param_3, gl_LocalInvocationID, x, v_728);
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
            encode_tbq(gl_LocalInvocationID, x, v_728, encoded, room, steps);
            break;
        }
        case 7u:
        {
            encode_tcq(gl_LocalInvocationID, x, v_728, encoded, room, steps, came_from, symbols);
            break;
        }
        case 8u:
        {
            for (uint block = 0u; block < _2622; block++)
            {
                uint param_4 = block;
                encode_qjl(param_4, gl_LocalInvocationID, x, encoded, room, v_2096);
            }
            break;
        }
        case 9u:
        case 10u:
        {
            encode_polar(gl_LocalInvocationID, x, v_728, encoded, steps);
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
        v_368.pages[((at + first_1) >> uint(1)) + i] = encoded[first_1 + (2u * i)] | (encoded[(first_1 + (2u * i)) + 1u] << uint(16));
    }
    if ((lane == 0u) && (first_1 == 1u))
    {
        uint param_5 = at;
        uint param_6 = encoded[0];
        store_half(param_5, param_6, v_368);
    }
    bool _2692 = lane == 1u;
    bool _2700;
    if (_2692)
    {
        _2700 = (first_1 + (2u * n_words)) < kRowHalves;
    }
    else
    {
        _2700 = _2692;
    }
    if (_2700)
    {
        uint param_7 = (at + kRowHalves) - 1u;
        uint param_8 = encoded[_2706];
        store_half(param_7, param_8, v_368);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

kernel void kv_compress(constant Push& push [[buffer(30)]], const device Exact& _2790 [[buffer(0)]], const device Moves& _2759 [[buffer(1)]], device Pages& v_368 [[buffer(4)]], const device Constants& v_728 [[buffer(5)]], const device Projection& v_2096 [[buffer(6)]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]])
{
    threadgroup float x[kHeadDim];
    threadgroup uint encoded[kRowHalves];
    threadgroup float room[kRoom];
    threadgroup float steps[_1136];
    threadgroup uint came_from[_2264];
    threadgroup uint symbols[_2347];
    uint index = flat_group(gl_WorkGroupID, gl_NumWorkGroups);
    if (index >= push.n)
    {
        return;
    }
    uint move = push.moves_first + (2u * (index / push.rows_of_page));
    uint row = index % push.rows_of_page;
    uint from = (push.exact_first_half + (uint(_2759.moves[move]) * push.exact_page_halves)) + (row * kHeadDim);
    for (uint i = gl_LocalInvocationID.x; i < kHeadDim; i += 64u)
    {
        uint at = from + i;
        uint param = (_2790.exact[at >> uint(1)] >> ((at & 1u) * 16u)) & 65535u;
        x[i] = f32_from_f16(param);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint param_1 = (push.first_half + (uint(_2759.moves[move + 1u]) * push.page_halves)) + (row * kRowHalves);
    uint param_2 = push.rotated_block;
    float param_3 = push.root;
    encode_row(param_1, param_2, param_3, v_368, gl_LocalInvocationID, x, v_728, encoded, room, steps, v_2096, came_from, symbols);
}

