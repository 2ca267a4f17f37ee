// Arithmetic on sizes that come from outside: overflow is an answer, never a wrap.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>

namespace parlance {

template <std::integral T>
std::optional<T> checked_add(T a, T b) {
  T sum;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

template <std::integral T>
std::optional<T> checked_mul(T a, T b) {
  T product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// Smallest multiple of `alignment` (a power of two) that is not below `size`; empty on overflow.
template <std::unsigned_integral T>
std::optional<T> checked_align_up(T size, T alignment) {
  const std::optional<T> padded = checked_add<T>(size, alignment - 1);
  if (!padded) return std::nullopt;
  return *padded & ~(alignment - 1);
}

// For sizes that are known to be small.
template <std::integral T>
constexpr T align_up(T size, T alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

template <std::integral T>
constexpr T div_up(T a, T b) {
  return (a + b - 1) / b;
}

}  // namespace parlance
