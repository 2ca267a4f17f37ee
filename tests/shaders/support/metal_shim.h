// The part of Metal's shading language that the generated shaders use, as C++, so that their text can be
// compiled and run on a CPU: kernel_text.cpp prepares the text, workgroup.h runs its threads. What it says of
// Metal comes from Apple's specification of the language.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/half.h"

namespace metal_shim {

// What a kernel asks of the thread that runs it; the addresses lie in the program that has loaded it.
struct Host {
  void (*barrier)(int line);
  float (*simd_reduce)(float value, bool is_sum, int line);
  bool (*simd_is_first)(int line);
  void* (*threadgroup_memory)(size_t bytes, size_t alignment);
  void (*out_of_bounds)(const void* buffer, size_t end);
};

// One operand: `end` bytes may be touched.
struct Binding {
  void* data;
  size_t end;
};

struct Position {
  uint32_t thread[3], group[3], n_groups[3];
  uint32_t simdgroup, n_simdgroups;
};

inline const Host* host;
inline const Binding* bindings;
inline int n_bindings;

// An array at the end of a buffer, whose size only the launch knows.
template <class T>
struct Unbounded {
  T first;

  T& operator[](size_t i) {
    check(i);
    return (&first)[i];
  }
  const T& operator[](size_t i) const {
    check(i);
    return (&first)[i];
  }

 private:
  void check(size_t i) const {
    for (int b = 0; b < n_bindings; ++b) {
      if (bindings[b].data == this && (i + 1) * sizeof(T) <= bindings[b].end) return;
    }
    host->out_of_bounds(this, (i + 1) * sizeof(T));
  }
};

template <class T, int n>
struct vec;

template <class T>
struct vec<T, 2> {
  T x, y;
  vec() = default;
  template <class... A>
  explicit constexpr vec(const A&... parts);
  T& operator[](size_t i) { return (&x)[i]; }
  const T& operator[](size_t i) const { return (&x)[i]; }
};
template <class T>
struct vec<T, 3> {
  union {
    struct {
      T x, y, z;
    };
    struct {
      T before_yz;
      vec<T, 2> yz;
    };
  };
  vec() = default;
  template <class... A>
  explicit constexpr vec(const A&... parts);
  T& operator[](size_t i) { return (&x)[i]; }
  const T& operator[](size_t i) const { return (&x)[i]; }
};
template <class T>
struct vec<T, 4> {
  union {
    struct {
      T x, y, z, w;
    };
    struct {
      T before_yz;
      vec<T, 2> yz;
    };
    struct {
      T before_yzw;
      vec<T, 3> yzw;
    };
  };
  vec() = default;
  template <class... A>
  explicit constexpr vec(const A&... parts);
  T& operator[](size_t i) { return (&x)[i]; }
  const T& operator[](size_t i) const { return (&x)[i]; }
};

template <class T>
struct is_vec : std::false_type {};
template <class T, int n>
struct is_vec<vec<T, n>> : std::true_type {};
template <class T>
inline constexpr bool is_vec_v = is_vec<T>::value;
template <class T>
inline constexpr int size_of_v = 1;
template <class T, int n>
inline constexpr int size_of_v<vec<T, n>> = n;
template <class T>
struct element {
  using type = T;
};
template <class T, int n>
struct element<vec<T, n>> {
  using type = T;
};
template <class T>
using element_t = typename element<T>::type;

template <class T>
constexpr auto at(const T& value, int i) {
  if constexpr (is_vec_v<T>) {
    return value[static_cast<size_t>(i)];
  } else {
    (void)i;
    return value;
  }
}

// One value for all elements, or as many parts as fill them.
template <class T, int n, class... A>
constexpr void fill(T* out, const A&... parts) {
  constexpr int n_given = (0 + ... + size_of_v<A>);
  if constexpr (sizeof...(A) == 1 && n_given == 1) {
    for (int i = 0; i < n; ++i) ((out[i] = static_cast<T>(parts)), ...);
  } else {
    static_assert(n_given == n, "a vector is made of one value or of as many as it has");
    int k = 0;
    const auto put = [&](const auto& part) {
      for (int i = 0; i < size_of_v<std::remove_cvref_t<decltype(part)>>; ++i)
        out[k++] = static_cast<T>(at(part, i));
    };
    (put(parts), ...);
  }
}
template <class T>
template <class... A>
constexpr vec<T, 2>::vec(const A&... parts) {
  T all[2];
  fill<T, 2>(all, parts...);
  x = all[0], y = all[1];
}
template <class T>
template <class... A>
constexpr vec<T, 3>::vec(const A&... parts) : x(), y(), z() {
  T all[3];
  fill<T, 3>(all, parts...);
  x = all[0], y = all[1], z = all[2];
}
template <class T>
template <class... A>
constexpr vec<T, 4>::vec(const A&... parts) : x(), y(), z(), w() {
  T all[4];
  fill<T, 4>(all, parts...);
  x = all[0], y = all[1], z = all[2], w = all[3];
}

template <class R, class A, class F>
auto each(const A& a, const F& f) {
  vec<R, size_of_v<A>> out;
  for (int i = 0; i < size_of_v<A>; ++i) out[static_cast<size_t>(i)] = f(at(a, i));
  return out;
}
template <class A, class B>
inline constexpr bool is_pair_v = (is_vec_v<A> || is_vec_v<B>)&&(is_vec_v<A> ? size_of_v<A> : size_of_v<B>) ==
                                  (is_vec_v<B> ? size_of_v<B> : size_of_v<A>);
// A scalar takes the type of the vector that it meets.
template <class A, class B>
using common_t = std::conditional_t<is_vec_v<A>, element_t<A>, element_t<B>>;
template <class R, class A, class B, class F>
auto each(const A& a, const B& b, const F& f) {
  using T = common_t<A, B>;
  constexpr int n = is_vec_v<A> ? size_of_v<A> : size_of_v<B>;
  vec<R, n> out;
  for (int i = 0; i < n; ++i)
    out[static_cast<size_t>(i)] = static_cast<R>(f(static_cast<T>(at(a, i)), static_cast<T>(at(b, i))));
  return out;
}

#define METAL_SHIM_OPERATOR(op)                                                         \
  template <class A, class B, class = std::enable_if_t<is_pair_v<A, B>>>                \
  auto operator op(const A& a, const B& b) {                                            \
    return each<common_t<A, B>>(a, b, [](auto x, auto y) { return x op y; });           \
  }                                                                                     \
  template <class T, int n, class B, class = std::enable_if_t<is_pair_v<vec<T, n>, B>>> \
  vec<T, n>& operator op##=(vec<T, n>& a, const B& b) {                                 \
    return a = a op b;                                                                  \
  }
METAL_SHIM_OPERATOR(+)
METAL_SHIM_OPERATOR(-)
METAL_SHIM_OPERATOR(*)
METAL_SHIM_OPERATOR(/)
METAL_SHIM_OPERATOR(%)
METAL_SHIM_OPERATOR(&)
METAL_SHIM_OPERATOR(|)
METAL_SHIM_OPERATOR(^)
METAL_SHIM_OPERATOR(<<)
METAL_SHIM_OPERATOR(>>)
#undef METAL_SHIM_OPERATOR
#define METAL_SHIM_COMPARISON(op)                                        \
  template <class A, class B, class = std::enable_if_t<is_pair_v<A, B>>> \
  auto operator op(const A& a, const B& b) {                             \
    return each<bool>(a, b, [](auto x, auto y) { return x op y; });      \
  }
METAL_SHIM_COMPARISON(==)
METAL_SHIM_COMPARISON(!=)
METAL_SHIM_COMPARISON(<)
METAL_SHIM_COMPARISON(<=)
METAL_SHIM_COMPARISON(>)
METAL_SHIM_COMPARISON(>=)
#undef METAL_SHIM_COMPARISON
template <class T, int n>
auto operator-(const vec<T, n>& a) {
  return each<T>(a, [](auto x) { return static_cast<T>(-x); });
}
template <class T, int n>
auto operator~(const vec<T, n>& a) {
  return each<T>(a, [](auto x) { return static_cast<T>(~x); });
}

// Stored as Metal stores it; only conversions are asked of it.
struct half {
  uint16_t bits;
  operator float() const { return parlance::f32_from_f16(parlance::f16_bits{bits}); }
};

template <class T, size_t n>
struct spvUnsafeArray {
  T elements[n ? n : 1];
  T& operator[](size_t i) {
    check(i);
    return elements[i];
  }
  constexpr const T& operator[](size_t i) const {
    if (!std::is_constant_evaluated()) check(i);
    return elements[i];
  }

 private:
  constexpr void check(size_t i) const {
    if (i >= (n ? n : 1)) host->out_of_bounds(this, (i + 1) * sizeof(T));
  }
};

template <class T, int columns, int rows>
struct matrix {
  vec<T, rows> column[columns];
  const vec<T, rows>& operator[](size_t i) const { return column[i]; }
  vec<T, rows>& operator[](size_t i) { return column[i]; }
};

using uint = uint32_t;
using ushort = uint16_t;
using uchar = uint8_t;
using float2 = vec<float, 2>;
using float3 = vec<float, 3>;
using float4 = vec<float, 4>;
using uint2 = vec<uint, 2>;
using uint3 = vec<uint, 3>;
using uint4 = vec<uint, 4>;
using int2 = vec<int, 2>;
using int3 = vec<int, 3>;
using int4 = vec<int, 4>;
using half2 = vec<half, 2>;
using half4 = vec<half, 4>;
using bool2 = vec<bool, 2>;
using bool3 = vec<bool, 3>;
using bool4 = vec<bool, 4>;

template <class To, class From>
To as_type(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

#define METAL_SHIM_FUNCTION(name, ...)                 \
  template <class T>                                   \
  auto name(const T& a) {                              \
    const auto f = [](auto x) { return __VA_ARGS__; }; \
    if constexpr (is_vec_v<T>) {                       \
      return each<decltype(f(at(a, 0)))>(a, f);        \
    } else {                                           \
      return f(a);                                     \
    }                                                  \
  }
METAL_SHIM_FUNCTION(sqrt, std::sqrt(x))
METAL_SHIM_FUNCTION(exp, std::exp(x))
METAL_SHIM_FUNCTION(rint, std::rint(x))
METAL_SHIM_FUNCTION(isinf, std::isinf(x))
METAL_SHIM_FUNCTION(isnan, std::isnan(x))
METAL_SHIM_FUNCTION(abs, (x < 0 ? decltype(x)(-x) : x == 0 ? decltype(x)(0) : x))
METAL_SHIM_FUNCTION(clz, (x == 0 ? decltype(x)(32) : decltype(x)(__builtin_clz(static_cast<unsigned>(x)))))
#undef METAL_SHIM_FUNCTION

#define METAL_SHIM_PAIR(name, ...)                             \
  template <class A, class B>                                  \
  auto name(const A& a, const B& b) {                          \
    const auto f = [](auto x, auto y) { return __VA_ARGS__; }; \
    if constexpr (is_vec_v<A> || is_vec_v<B>) {                \
      return each<common_t<A, B>>(a, b, f);                    \
    } else {                                                   \
      using T = std::common_type_t<A, B>;                      \
      return f(static_cast<T>(a), static_cast<T>(b));          \
    }                                                          \
  }
METAL_SHIM_PAIR(min, y < x ? y : x)
METAL_SHIM_PAIR(max, x < y ? y : x)
METAL_SHIM_PAIR(mulhi, static_cast<decltype(x)>(uint64_t{x} * uint64_t{y} >> 32))
#undef METAL_SHIM_PAIR

template <class T, class L, class H>
auto clamp(const T& value, const L& low, const H& high) {
  return min(max(value, low), high);
}
namespace fast {
using metal_shim::clamp;
using metal_shim::max;
using metal_shim::min;
}  // namespace fast

inline float fma(float a, float b, float c) {
  return std::fma(a, b, c);
}
template <int n>
vec<float, n> fma(const vec<float, n>& a, const vec<float, n>& b, const vec<float, n>& c) {
  vec<float, n> out;
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) out[i] = std::fma(a[i], b[i], c[i]);
  return out;
}
template <class T, int n>
T dot(const vec<T, n>& a, const vec<T, n>& b) {
  T sum = a[0] * b[0];
  for (size_t i = 1; i < static_cast<size_t>(n); ++i) sum += a[i] * b[i];
  return sum;
}
template <class T>
T select(const T& a, const T& b, bool takes_b) {
  return takes_b ? b : a;
}
template <class T, int n>
vec<T, n> select(const vec<T, n>& a, const vec<T, n>& b, const vec<bool, n>& takes_b) {
  vec<T, n> out;
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) out[i] = takes_b[i] ? b[i] : a[i];
  return out;
}

// Undefined where offset + bits exceed 32.
inline uint extract_bits(uint value, uint offset, uint bits) {
  return bits == 0 ? 0 : value << (32 - bits - offset) >> (32 - bits);
}
inline int extract_bits(int value, uint offset, uint bits) {
  return bits == 0 ? 0 : static_cast<int>(static_cast<uint>(value) << (32 - bits - offset)) >> (32 - bits);
}

using atomic_uint = uint;
enum memory_order { memory_order_relaxed };
inline uint atomic_fetch_and_explicit(uint* at, uint value, memory_order) {
  return std::exchange(*at, *at & value);
}
inline uint atomic_fetch_or_explicit(uint* at, uint value, memory_order) {
  return std::exchange(*at, *at | value);
}
inline uint atomic_fetch_add_explicit(uint* at, uint value, memory_order) {
  return std::exchange(*at, *at + value);
}
inline uint atomic_fetch_min_explicit(uint* at, uint value, memory_order) {
  return std::exchange(*at, std::min(*at, value));
}
inline uint atomic_fetch_max_explicit(uint* at, uint value, memory_order) {
  return std::exchange(*at, std::max(*at, value));
}

enum class mem_flags { mem_none, mem_device, mem_threadgroup };
inline void barrier(int line, mem_flags) {
  host->barrier(line);
}
inline float simd_reduce(int line, bool is_sum, float value) {
  return host->simd_reduce(value, is_sum, line);
}
inline bool simd_is_first(int line) {
  return host->simd_is_first(line);
}

template <class Array>
Array& threadgroup_array() {
  return *static_cast<Array*>(host->threadgroup_memory(sizeof(Array), alignof(Array)));
}

}  // namespace metal_shim
