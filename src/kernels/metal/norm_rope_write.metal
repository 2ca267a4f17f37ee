// src/kernels/vulkan/norm_rope_write.comp, translated by glslc (shaderc 2023.2-1, glslang 11.13.0-1) and spirv-cross (2021.01.15+1.3.239.0-1); do not edit.
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

#ifndef SPIRV_CROSS_CONSTANT_ID_3
#define SPIRV_CROSS_CONSTANT_ID_3 1u
#endif
constant uint kMostDims = SPIRV_CROSS_CONSTANT_ID_3;

struct Pages
{
    uint pages[1];
};

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
    uint v_first;
    uint q_norm_first;
    uint k_norm_first;
    uint angles_first;
    uint has_q_norm;
    uint has_k_norm;
    uint n_head;
    uint n_head_kv;
    uint head_dim;
    uint head_dim_v;
    uint n_pairs;
    uint a_stride;
    uint b_offset;
    float eps;
    uint has_equaliser;
    uint k_shift_first;
    uint k_scale_first;
    uint q_scale_first;
    uint pos_first;
    uint seq_first;
    uint table_first;
    uint max_pages;
    uint page_tokens;
    uint page_halves;
    uint k_first_half;
    uint v_first_half;
    uint k_row_halves;
    uint v_row_halves;
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

constant bool kWrites_tmp [[function_constant(0)]];
constant bool kWrites = is_function_constant_defined(kWrites_tmp) ? kWrites_tmp : false;

struct QNorm
{
    float q_norm[1];
};

struct KNorm
{
    float k_norm[1];
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

struct V
{
    uint v[1];
};

constant uint kVFormat_tmp [[function_constant(2)]];
constant uint kVFormat = is_function_constant_defined(kVFormat_tmp) ? kVFormat_tmp : 0u;
constant int _1238 = kWrites ? 2 : 1;
constant uint _1239 = (uint(_1238) + 0u);

struct Angles
{
    float angles[1];
};

constant uint kKFormat_tmp [[function_constant(1)]];
constant uint kKFormat = is_function_constant_defined(kKFormat_tmp) ? kKFormat_tmp : 0u;
constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(64u, 1u, 1u);

static inline __attribute__((always_inline))
uint flat_group(thread uint3& gl_WorkGroupID, thread uint3& gl_NumWorkGroups)
{
    return (gl_WorkGroupID.y * gl_NumWorkGroups.x) + gl_WorkGroupID.x;
}

static inline __attribute__((always_inline))
uint unit_elements(thread const uint& format)
{
    int _587;
    if (format == 0u)
    {
        _587 = 1;
    }
    else
    {
        _587 = (format == 3u) ? 32 : 2;
    }
    return uint(_587);
}

static inline __attribute__((always_inline))
uint value_bits(thread const uint& i, threadgroup uint (&head_bits)[kMostDims])
{
    return head_bits[i];
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
    uint _531;
    if (largest < 8388608u)
    {
        _531 = 0u;
    }
    else
    {
        uint param = largest;
        uint param_1 = 1123942400u;
        _531 = divide(param, param_1);
    }
    return _531;
}

static inline __attribute__((always_inline))
float q8_0_inverse(thread const uint& _step)
{
    float _545;
    if (_step == 0u)
    {
        _545 = 0.0;
    }
    else
    {
        uint param = 1065353216u;
        uint param_1 = _step;
        _545 = as_type<float>(divide(param, param_1));
    }
    return _545;
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
    int _572;
    if (scaled < 0.0)
    {
        _572 = -code;
    }
    else
    {
        _572 = code;
    }
    return uint(_572 & 255);
}

static inline __attribute__((always_inline))
void store_half(thread const uint& at, thread const uint& bits, device Pages& v_324)
{
    uint shift = (at & 1u) * 16u;
    uint _333 = atomic_fetch_and_explicit((device atomic_uint*)&v_324.pages[at >> uint(1)], ~(65535u << shift), memory_order_relaxed);
    uint _340 = atomic_fetch_or_explicit((device atomic_uint*)&v_324.pages[at >> uint(1)], bits << shift, memory_order_relaxed);
}

static inline __attribute__((always_inline))
void write_q8_0(thread const uint& from, thread const uint& at, threadgroup uint (&head_bits)[kMostDims], device Pages& v_324)
{
    uint largest = 0u;
    for (uint i = 0u; i < 32u; i++)
    {
        uint param = from + i;
        largest = max(largest, (value_bits(param, head_bits) & 2147483647u));
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
        float param_5 = as_type<float>(value_bits(param_4, head_bits));
        float param_6 = _inverse;
        uint low = q8_0_code(param_5, param_6);
        uint param_7 = (from + (2u * i_1)) + 1u;
        float param_8 = as_type<float>(value_bits(param_7, head_bits));
        float param_9 = _inverse;
        halves[1u + i_1] = low | (q8_0_code(param_8, param_9) << uint(8));
    }
    uint first = at & 1u;
    uint _682;
    if (first == 1u)
    {
        _682 = at;
    }
    else
    {
        _682 = at + 16u;
    }
    uint param_10 = _682;
    uint param_11 = halves[(first == 1u) ? 0 : 16];
    store_half(param_10, param_11, v_324);
    for (uint i_2 = 0u; i_2 < 8u; i_2++)
    {
        v_324.pages[((at + first) >> uint(1)) + i_2] = halves[first + (2u * i_2)] | (halves[(first + (2u * i_2)) + 1u] << uint(16));
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
void write_unit(thread const uint& format, thread const uint& unit, thread const uint& head_dim, thread const uint& at, threadgroup uint (&head_bits)[kMostDims], device Pages& v_324)
{
    if (format == 0u)
    {
        uint param = unit;
        v_324.pages[(at >> uint(1)) + unit] = value_bits(param, head_bits);
    }
    else
    {
        if (format == 3u)
        {
            uint param_1 = 32u * unit;
            uint param_2 = at + (17u * unit);
            write_q8_0(param_1, param_2, head_bits, v_324);
        }
        else
        {
            uint element = 2u * unit;
            uint param_3 = element;
            uint a = value_bits(param_3, head_bits);
            uint _768;
            if (format == 1u)
            {
                uint param_4 = a;
                _768 = f16_bits(param_4);
            }
            else
            {
                uint param_5 = a;
                _768 = bf16_bits(param_5);
            }
            uint first = _768;
            bool is_pair = (element + 1u) < head_dim;
            uint _786;
            if (is_pair)
            {
                uint param_6 = element + 1u;
                _786 = value_bits(param_6, head_bits);
            }
            else
            {
                _786 = 0u;
            }
            uint b = _786;
            uint _798;
            if (format == 1u)
            {
                uint param_7 = b;
                _798 = f16_bits(param_7);
            }
            else
            {
                uint param_8 = b;
                _798 = bf16_bits(param_8);
            }
            uint second = _798;
            bool _815;
            if (is_pair)
            {
                _815 = (at & 1u) == 0u;
            }
            else
            {
                _815 = is_pair;
            }
            if (_815)
            {
                v_324.pages[(at >> uint(1)) + unit] = first | (second << uint(16));
            }
            else
            {
                uint param_9 = at + element;
                uint param_10 = first;
                store_half(param_9, param_10, v_324);
                if (is_pair)
                {
                    uint param_11 = (at + element) + 1u;
                    uint param_12 = second;
                    store_half(param_11, param_12, v_324);
                }
            }
        }
    }
}

static inline __attribute__((always_inline))
void encode(thread const uint& token, thread const uint& head, thread const uint& format, thread const uint& head_dim, thread const uint& first_half, thread const uint& row_halves, threadgroup uint (&head_bits)[kMostDims], device Pages& v_324, constant Push& push, thread uint3& gl_LocalInvocationID, const device Pos& v_1067, const device Seq& v_1081, const device PageTable& v_1103)
{
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint position = uint(v_1067.pos[push.pos_first + token]);
    uint entry = (uint(v_1081.seq[push.seq_first + token]) * push.max_pages) + (position / push.page_tokens);
    uint page = uint(v_1103.page_table[push.table_first + entry]);
    uint slot = (head * push.page_tokens) + (position % push.page_tokens);
    uint at = (first_half + (page * push.page_halves)) + (slot * row_halves);
    uint param = format;
    uint param_1 = format;
    uint n_units = ((head_dim + unit_elements(param)) - 1u) / unit_elements(param_1);
    for (uint unit = gl_LocalInvocationID.x; unit < n_units; unit += 64u)
    {
        uint param_2 = format;
        uint param_3 = unit;
        uint param_4 = head_dim;
        uint param_5 = at;
        write_unit(param_2, param_3, param_4, param_5, head_bits, v_324);
    }
}

static inline __attribute__((always_inline))
void write_value(thread const uint& token, thread const uint& head, threadgroup uint (&head_bits)[kMostDims], device Pages& v_324, constant Push& push, thread uint3& gl_LocalInvocationID, const device Pos& v_1067, const device Seq& v_1081, const device PageTable& v_1103, const device V& v_1198)
{
    uint v_first = push.v_first + (((token * push.n_head_kv) + head) * push.head_dim_v);
    for (uint i = gl_LocalInvocationID.x; i < push.head_dim_v; i += 64u)
    {
        head_bits[i] = v_1198.v[v_first + i];
    }
    uint param = token;
    uint param_1 = head;
    uint param_2 = kVFormat;
    uint param_3 = push.head_dim_v;
    uint param_4 = push.v_first_half;
    uint param_5 = push.v_row_halves;
    encode(param, param_1, param_2, param_3, param_4, param_5, head_bits, v_324, push, gl_LocalInvocationID, v_1067, v_1081, v_1103);
}

static inline __attribute__((always_inline))
bool has_norm(thread bool& is_q, constant Push& push)
{
    uint _965;
    if (is_q)
    {
        _965 = push.has_q_norm;
    }
    else
    {
        _965 = push.has_k_norm;
    }
    return _965 != 0u;
}

static inline __attribute__((always_inline))
float stored(thread const uint& i, thread bool& is_q, device Q& v_855, thread uint& first, device K& v_868)
{
    float _849;
    if (is_q)
    {
        _849 = v_855.q[first + i];
    }
    else
    {
        _849 = v_868.k[first + i];
    }
    return _849;
}

static inline __attribute__((always_inline))
float added_square(thread const float& sum, thread const float& value)
{
    float square = spvFMul(value, value);
    float added = spvFAdd(sum, square);
    return added;
}

static inline __attribute__((always_inline))
void reduce(thread const spvUnsafeArray<float, 1>& values, thread const bool& is_sum, threadgroup float (&reduced)[16], thread uint& gl_SubgroupID)
{
    spvUnsafeArray<float, 1> results;
    float _191;
    for (uint i = 0u; i < 1u; i++)
    {
        if (is_sum)
        {
            _191 = simd_sum(values[i]);
        }
        else
        {
            _191 = simd_max(values[i]);
        }
        results[i] = _191;
    }
    bool _210 = simd_is_first();
    if (_210)
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
float norm_scale(thread const float& sum_of_squares, thread const uint& n, thread const float& eps)
{
    return 1.0 / sqrt((sum_of_squares / float(n)) + eps);
}

static inline __attribute__((always_inline))
void find_scale(threadgroup float (&reduced)[16], thread uint& gl_SubgroupID, thread uint& gl_NumSubgroups, thread bool& is_q, device Q& v_855, thread uint& first, device K& v_868, constant Push& push, thread float& scale, thread uint3& gl_LocalInvocationID)
{
    float sum = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < push.head_dim; i += 64u)
    {
        uint param = i;
        float param_1 = sum;
        float param_2 = stored(param, is_q, v_855, first, v_868);
        sum = added_square(param_1, param_2);
    }
    float param_3 = sum;
    float _1052 = sum_of_group(param_3, reduced, gl_SubgroupID, gl_NumSubgroups);
    sum = _1052;
    float param_4 = sum;
    uint param_5 = push.head_dim;
    float param_6 = push.eps;
    scale = norm_scale(param_4, param_5, param_6);
}

static inline __attribute__((always_inline))
float normalised(thread const float& value, thread const float& scale, thread const float& weight)
{
    float scaled = spvFMul(value, scale);
    float weighed = spvFMul(scaled, weight);
    return weighed;
}

static inline __attribute__((always_inline))
float normalised(thread const uint& i, thread bool& is_q, device Q& v_855, thread uint& first, device K& v_868, constant Push& push, thread float& scale, const device QNorm& v_998, const device KNorm& v_1010)
{
    if (!has_norm(is_q, push))
    {
        uint param = i;
        return stored(param, is_q, v_855, first, v_868);
    }
    uint param_1 = i;
    float _992;
    if (is_q)
    {
        _992 = v_998.q_norm[push.q_norm_first + i];
    }
    else
    {
        _992 = v_1010.k_norm[push.k_norm_first + i];
    }
    float param_2 = stored(param_1, is_q, v_855, first, v_868);
    float param_3 = scale;
    float param_4 = _992;
    return normalised(param_2, param_3, param_4);
}

static inline __attribute__((always_inline))
float2 turned(thread const float2& pair, thread const float2& angle)
{
    float2 result = float2(spvFSub(spvFMul(pair.x, angle.x), spvFMul(pair.y, angle.y)), spvFAdd(spvFMul(pair.x, angle.y), spvFMul(pair.y, angle.x)));
    return result;
}

static inline __attribute__((always_inline))
void store(thread const uint& i, thread const float& value, threadgroup uint (&head_bits)[kMostDims], thread bool& is_q, device Q& v_855, thread uint& first, device K& v_868, thread uint& first_of_equaliser, constant Push& push, const device QScale& v_901, const device KShift& v_930, const device KScale& v_942)
{
    uint at = first_of_equaliser + i;
    if (is_q)
    {
        float _894;
        if (push.has_equaliser != 0u)
        {
            _894 = spvFMul(value, v_901.q_scale[push.q_scale_first + at]);
        }
        else
        {
            _894 = value;
        }
        float scaled = _894;
        v_855.q[first + i] = scaled;
    }
    else
    {
        float moved = value;
        if (push.has_equaliser != 0u)
        {
            moved = spvFMul(spvFSub(value, v_930.k_shift[push.k_shift_first + at]), v_942.k_scale[push.k_scale_first + at]);
        }
        if (kWrites)
        {
            head_bits[i] = as_type<uint>(moved);
        }
        else
        {
            v_868.k[first + i] = moved;
        }
    }
}

kernel void norm_rope_write(device Q& v_855 [[buffer(0)]], constant Push& push [[buffer(30)]], device K& v_868 [[buffer(1)]], const device QNorm& v_998 [[buffer(2)]], const device KNorm& v_1010 [[buffer(3)]], const device Angles& _1362 [[buffer(4)]], const device KShift& v_930 [[buffer(5)]], const device KScale& v_942 [[buffer(6)]], const device QScale& v_901 [[buffer(7)]], const device V& v_1198 [[buffer(8)]], const device Pos& v_1067 [[buffer(9)]], const device Seq& v_1081 [[buffer(10)]], const device PageTable& v_1103 [[buffer(11)]], device Pages& v_324 [[buffer(12)]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_NumWorkGroups [[threadgroups_per_grid]], uint gl_SubgroupID [[simdgroup_index_in_threadgroup]], uint gl_NumSubgroups [[simdgroups_per_threadgroup]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    threadgroup float reduced[16];
    threadgroup uint head_bits[kMostDims];
    uint index = flat_group(gl_WorkGroupID, gl_NumWorkGroups);
    bool is_q;
    uint first;
    uint first_of_equaliser;
    float scale;
    if (index >= push.n)
    {
        return;
    }
    uint n_heads = push.n_head + (_1239 * push.n_head_kv);
    uint token = index / n_heads;
    uint head = index % n_heads;
    if (head >= (push.n_head + push.n_head_kv))
    {
        uint param = token;
        uint param_1 = (head - push.n_head) - push.n_head_kv;
        write_value(param, param_1, head_bits, v_324, push, gl_LocalInvocationID, v_1067, v_1081, v_1103, v_1198);
        return;
    }
    is_q = head < push.n_head;
    uint _1278;
    if (is_q)
    {
        _1278 = push.q_first + (((token * push.n_head) + head) * push.head_dim);
    }
    else
    {
        _1278 = push.k_first + ((((token * push.n_head_kv) + head) - push.n_head) * push.head_dim);
    }
    first = _1278;
    uint _1312;
    if (is_q)
    {
        _1312 = head / (push.n_head / push.n_head_kv);
    }
    else
    {
        _1312 = head - push.n_head;
    }
    uint head_kv = _1312;
    first_of_equaliser = head_kv * push.head_dim;
    scale = 1.0;
    if (has_norm(is_q, push))
    {
        find_scale(reduced, gl_SubgroupID, gl_NumSubgroups, is_q, v_855, first, v_868, push, scale, gl_LocalInvocationID);
    }
    uint cosine_first = push.angles_first + ((token * 2u) * push.n_pairs);
    for (uint pair = gl_LocalInvocationID.x; pair < push.n_pairs; pair += 64u)
    {
        float cosine = _1362.angles[cosine_first + pair];
        float sine = _1362.angles[(cosine_first + push.n_pairs) + pair];
        uint a_at = pair * push.a_stride;
        uint param_2 = a_at;
        uint param_3 = a_at + push.b_offset;
        float2 param_4 = float2(normalised(param_2, is_q, v_855, first, v_868, push, scale, v_998, v_1010), normalised(param_3, is_q, v_855, first, v_868, push, scale, v_998, v_1010));
        float2 param_5 = float2(cosine, sine);
        float2 pair_turned = turned(param_4, param_5);
        uint param_6 = a_at;
        float param_7 = pair_turned.x;
        store(param_6, param_7, head_bits, is_q, v_855, first, v_868, first_of_equaliser, push, v_901, v_930, v_942);
        uint param_8 = a_at + push.b_offset;
        float param_9 = pair_turned.y;
        store(param_8, param_9, head_bits, is_q, v_855, first, v_868, first_of_equaliser, push, v_901, v_930, v_942);
    }
    uint _1424 = (2u * push.n_pairs) + gl_LocalInvocationID.x;
    for (uint i = _1424; i < push.head_dim; i += 64u)
    {
        uint param_10 = i;
        uint param_11 = i;
        float param_12 = normalised(param_10, is_q, v_855, first, v_868, push, scale, v_998, v_1010);
        store(param_11, param_12, head_bits, is_q, v_855, first, v_868, first_of_equaliser, push, v_901, v_930, v_942);
    }
    if (kWrites && (!is_q))
    {
        uint param_13 = token;
        uint param_14 = head - push.n_head;
        uint param_15 = kKFormat;
        uint param_16 = push.head_dim;
        uint param_17 = push.k_first_half;
        uint param_18 = push.k_row_halves;
        encode(param_13, param_14, param_15, param_16, param_17, param_18, head_bits, v_324, push, gl_LocalInvocationID, v_1067, v_1081, v_1103);
    }
}

