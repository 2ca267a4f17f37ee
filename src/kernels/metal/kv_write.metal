// src/kernels/vulkan/kv_write.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
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

struct X
{
    uint x[1];
};

struct Pages
{
    uint pages[1];
};

struct Push
{
    uint n;
    uint x_first;
    uint pos_first;
    uint seq_first;
    uint table_first;
    uint n_head;
    uint head_dim;
    uint units_per_row;
    uint max_pages;
    uint page_tokens;
    uint page_halves;
    uint first_half;
    uint row_halves;
};

struct Pos
{
    int pos[1];
};

struct Seq
{
    int seq[1];
};

struct PageTable
{
    int page_table[1];
};

constant uint kFormat_tmp [[function_constant(0)]];
constant uint kFormat = is_function_constant_defined(kFormat_tmp) ? kFormat_tmp : 1u;
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
uint value_bits(thread const uint& i, const device X& v_87, thread uint& first_value)
{
    return v_87.x[first_value + i];
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
    uint _316;
    if (largest < 8388608u)
    {
        _316 = 0u;
    }
    else
    {
        uint param = largest;
        uint param_1 = 1123942400u;
        _316 = divide(param, param_1);
    }
    return _316;
}

static inline __attribute__((always_inline))
float q8_0_inverse(thread const uint& _step)
{
    float _330;
    if (_step == 0u)
    {
        _330 = 0.0;
    }
    else
    {
        uint param = 1065353216u;
        uint param_1 = _step;
        _330 = as_type<float>(divide(param, param_1));
    }
    return _330;
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
uint q8_0_code(thread const float& value, thread const float& _inverse)
{
    float scaled = spvFMul(value, _inverse);
    float moved = spvFAdd(abs(scaled), 0.4999999701976776123046875);
    int code = int(moved);
    int _358;
    if (scaled < 0.0)
    {
        _358 = -code;
    }
    else
    {
        _358 = code;
    }
    return uint(_358 & 255);
}

static inline __attribute__((always_inline))
void store_half(thread const uint& at, thread const uint& bits, device Pages& v_108)
{
    uint shift = (at & 1u) * 16u;
    uint _117 = atomic_fetch_and_explicit((device atomic_uint*)&v_108.pages[at >> uint(1)], ~(65535u << shift), memory_order_relaxed);
    uint _124 = atomic_fetch_or_explicit((device atomic_uint*)&v_108.pages[at >> uint(1)], bits << shift, memory_order_relaxed);
}

static inline __attribute__((always_inline))
void write_q8_0(thread const uint& from, thread const uint& at, const device X& v_87, thread uint& first_value, device Pages& v_108)
{
    uint largest = 0u;
    for (uint i = 0u; i < 32u; i++)
    {
        uint param = from + i;
        largest = max(largest, (value_bits(param, v_87, first_value) & 2147483647u));
    }
    uint param_1 = largest;
    uint d = q8_0_step(param_1);
    uint param_2 = d;
    float _inverse = q8_0_inverse(param_2);
    uint param_3 = d;
    spvUnsafeArray<uint, 17> halves;
    halves[0] = f16_bits(param_3);
    for (uint i_1 = 0u; i_1 < 16u; i_1++)
    {
        uint param_4 = from + (2u * i_1);
        float param_5 = as_type<float>(value_bits(param_4, v_87, first_value));
        float param_6 = _inverse;
        uint low = q8_0_code(param_5, param_6);
        uint param_7 = (from + (2u * i_1)) + 1u;
        float param_8 = as_type<float>(value_bits(param_7, v_87, first_value));
        float param_9 = _inverse;
        halves[1u + i_1] = low | (q8_0_code(param_8, param_9) << uint(8));
    }
    uint first = at & 1u;
    uint _454;
    if (first == 1u)
    {
        _454 = at;
    }
    else
    {
        _454 = at + 16u;
    }
    uint param_10 = _454;
    uint param_11 = halves[(first == 1u) ? 0 : 16];
    store_half(param_10, param_11, v_108);
    for (uint i_2 = 0u; i_2 < 8u; i_2++)
    {
        v_108.pages[((at + first) >> uint(1)) + i_2] = halves[first + (2u * i_2)] | (halves[(first + (2u * i_2)) + 1u] << uint(16));
    }
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
void write_unit(thread const uint& format, thread const uint& unit, thread const uint& head_dim, thread const uint& at, const device X& v_87, thread uint& first_value, device Pages& v_108)
{
    if (format == 0u)
    {
        uint param = unit;
        v_108.pages[(at >> uint(1)) + unit] = value_bits(param, v_87, first_value);
    }
    else
    {
        if (format == 3u)
        {
            uint param_1 = 32u * unit;
            uint param_2 = at + (17u * unit);
            write_q8_0(param_1, param_2, v_87, first_value, v_108);
        }
        else
        {
            uint element = 2u * unit;
            uint param_3 = element;
            uint a = value_bits(param_3, v_87, first_value);
            uint _541;
            if (format == 1u)
            {
                uint param_4 = a;
                _541 = f16_bits(param_4);
            }
            else
            {
                uint param_5 = a;
                _541 = bf16_bits(param_5);
            }
            uint first = _541;
            bool is_pair = (element + 1u) < head_dim;
            uint _560;
            if (is_pair)
            {
                uint param_6 = element + 1u;
                _560 = value_bits(param_6, v_87, first_value);
            }
            else
            {
                _560 = 0u;
            }
            uint b = _560;
            uint _572;
            if (format == 1u)
            {
                uint param_7 = b;
                _572 = f16_bits(param_7);
            }
            else
            {
                uint param_8 = b;
                _572 = bf16_bits(param_8);
            }
            uint second = _572;
            bool _589;
            if (is_pair)
            {
                _589 = (at & 1u) == 0u;
            }
            else
            {
                _589 = is_pair;
            }
            if (_589)
            {
                v_108.pages[(at >> uint(1)) + unit] = first | (second << uint(16));
            }
            else
            {
                uint param_9 = at + element;
                uint param_10 = first;
                store_half(param_9, param_10, v_108);
                if (is_pair)
                {
                    uint param_11 = (at + element) + 1u;
                    uint param_12 = second;
                    store_half(param_11, param_12, v_108);
                }
            }
        }
    }
}

kernel void kv_write(const device X& v_87 [[buffer(0)]], constant Push& push [[buffer(30)]], const device Pos& _659 [[buffer(1)]], const device Seq& _679 [[buffer(2)]], const device PageTable& _700 [[buffer(3)]], device Pages& v_108 [[buffer(4)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    uint i = flat_invocation(gl_WorkGroupID, gl_NumWorkGroups, gl_LocalInvocationID);
    uint first_value;
    if (i >= push.n)
    {
        return;
    }
    uint unit = i % push.units_per_row;
    uint row = i / push.units_per_row;
    uint head = row % push.n_head;
    uint token = row / push.n_head;
    uint position = uint(_659.pos[push.pos_first + token]);
    uint slot = position % push.page_tokens;
    uint entry = (uint(_679.seq[push.seq_first + token]) * push.max_pages) + (position / push.page_tokens);
    uint page = uint(_700.page_table[push.table_first + entry]);
    first_value = push.x_first + (row * push.head_dim);
    uint slot_of_page = (head * push.page_tokens) + slot;
    uint at = (push.first_half + (page * push.page_halves)) + (slot_of_page * push.row_halves);
    uint param = kFormat;
    uint param_1 = unit;
    uint param_2 = push.head_dim;
    uint param_3 = at;
    write_unit(param, param_1, param_2, param_3, v_87, first_value, v_108);
}

