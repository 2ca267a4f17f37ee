// The numbers of the vector exponential. exp(x) = 2^n exp(r) with n = round(x / ln 2) and |r| <= ln(2) / 2,
// where
//   exp(r) = 1 + r + r^2 (kExp2 + kExp3 r + kExp4 r^2 + kExp5 r^3 + kExp6 r^4)
// and the polynomial is the minimax one: its own relative error is 3.1e-9, a twentieth of a rounding in f32.
// Every implementation is within 1 unit in the last place of the true value for every float
// (tests/kernels/exp_test.cpp), goes to infinity and to zero where the true value does, and keeps NaN.
#pragma once

namespace parlance::simd {

inline constexpr float kLog2E = 0x1.715476p+0f;
inline constexpr float kLn2High = 0x1.62e43p-1f;
inline constexpr float kLn2Low = -0x1.05c61p-29f;

inline constexpr float kExp2 = 0.49999993447796487f;
inline constexpr float kExp3 = 0.16666520631709497f;
inline constexpr float kExp4 = 0.041668388045313996f;
inline constexpr float kExp5 = 0.00836871687972814f;
inline constexpr float kExp6 = 0.0013814598646664034f;

// exp2(x) = 2^n (1 + f (kPower1 + kPower2 f + ... + kPower5 f^4)) with n = round(x) and f = x - n: minimax
// too, with a relative error of 9.2e-8. It is for attention's weights, x <= 0, and no less than 2^-126. The
// integer n is added to the exponent; of NaN it is one whose low bits are zero, so that any NaN is kept.
inline constexpr float kPower1 = 0.6931469775948481f;
inline constexpr float kPower2 = 0.24022242078913317f;
inline constexpr float kPower3 = 0.05550733746883271f;
inline constexpr float kPower4 = 0.009671513054238981f;
inline constexpr float kPower5 = 0.001326472728771886f;
inline constexpr float kPowerLowest = -126.0f;

// Beyond these the result is infinity, or zero.
inline constexpr float kExpHighest = 89.0f;
inline constexpr float kExpLowest = -104.0f;

}  // namespace parlance::simd
