// Elementwise operations. Shapes broadcast as in NumPy; types promote as in PyTorch (integers
// with floats give the float, `/` and functions on integers give f32), save that f16 and bf16
// meet only by an explicit cast. Each function is the dialect op of the same name.
#pragma once

#include "sinter/tensor.h"

namespace sinter {

Tensor add(const Operand &a, const Operand &b);
Tensor sub(const Operand &a, const Operand &b);
Tensor mul(const Operand &a, const Operand &b);
Tensor div(const Operand &a, const Operand &b);
Tensor pow(const Operand &a, const Operand &b);
Tensor atan2(const Operand &a, const Operand &b);
Tensor maximum(const Operand &a, const Operand &b);
Tensor minimum(const Operand &a, const Operand &b);

Tensor neg(const Operand &x);
Tensor abs(const Operand &x);
Tensor sign(const Operand &x);
Tensor reciprocal(const Operand &x);
Tensor square(const Operand &x); ///< x * x
Tensor exp(const Operand &x);
Tensor expm1(const Operand &x);
Tensor log(const Operand &x);
Tensor log1p(const Operand &x);
Tensor sqrt(const Operand &x);
Tensor rsqrt(const Operand &x); ///< 1 / sqrt(x)
Tensor sin(const Operand &x);
Tensor cos(const Operand &x);
Tensor tan(const Operand &x);
Tensor erf(const Operand &x);
Tensor floor(const Operand &x);
Tensor ceil(const Operand &x);
Tensor round(const Operand &x); ///< ties to even
Tensor clamp(const Operand &x, double lower, double upper);

struct GeluOptions {
  bool tanh = false; ///< the tanh approximation instead of erf
};
Tensor relu(const Operand &x);
Tensor relu6(const Operand &x);
Tensor leaky_relu(const Operand &x, double slope = 0.01);
Tensor prelu(const Operand &x, const Operand &slope); ///< one slope, or one a channel (dimension 1)
Tensor elu(const Operand &x, double alpha = 1);
Tensor gelu(const Operand &x, GeluOptions options = {});
Tensor sigmoid(const Operand &x);
Tensor tanh(const Operand &x);
Tensor silu(const Operand &x);
Tensor softplus(const Operand &x);
Tensor mish(const Operand &x);
Tensor softsign(const Operand &x);
Tensor hardswish(const Operand &x);

Tensor eq(const Operand &a, const Operand &b);
Tensor ne(const Operand &a, const Operand &b);
Tensor lt(const Operand &a, const Operand &b);
Tensor le(const Operand &a, const Operand &b);
Tensor gt(const Operand &a, const Operand &b);
Tensor ge(const Operand &a, const Operand &b);
Tensor logical_and(const Operand &a, const Operand &b); ///< operands that are not bool: x != 0
Tensor logical_or(const Operand &a, const Operand &b);
Tensor logical_xor(const Operand &a, const Operand &b);
Tensor logical_not(const Operand &x);
Tensor where(const Operand &condition, const Operand &a, const Operand &b);

/// Floats become integers by truncation, saturating; NaN becomes 0. To bool: x != 0.
Tensor cast(const Operand &x, DType to);
Tensor stop_gradient(const Operand &x);

inline Tensor operator+(const Operand &a, const Operand &b) { return add(a, b); }
inline Tensor operator-(const Operand &a, const Operand &b) { return sub(a, b); }
inline Tensor operator*(const Operand &a, const Operand &b) { return mul(a, b); }
inline Tensor operator/(const Operand &a, const Operand &b) { return div(a, b); }
inline Tensor operator-(const Operand &x) { return neg(x); }
inline Tensor operator==(const Operand &a, const Operand &b) { return eq(a, b); }
inline Tensor operator!=(const Operand &a, const Operand &b) { return ne(a, b); }
inline Tensor operator<(const Operand &a, const Operand &b) { return lt(a, b); }
inline Tensor operator<=(const Operand &a, const Operand &b) { return le(a, b); }
inline Tensor operator>(const Operand &a, const Operand &b) { return gt(a, b); }
inline Tensor operator>=(const Operand &a, const Operand &b) { return ge(a, b); }
inline Tensor operator&(const Operand &a, const Operand &b) { return logical_and(a, b); }
inline Tensor operator|(const Operand &a, const Operand &b) { return logical_or(a, b); }
inline Tensor operator^(const Operand &a, const Operand &b) { return logical_xor(a, b); }
inline Tensor operator~(const Operand &x) { return logical_not(x); }
inline Tensor &operator+=(Tensor &a, const Operand &b) { return a = add({a, b.at}, b); }
inline Tensor &operator-=(Tensor &a, const Operand &b) { return a = sub({a, b.at}, b); }
inline Tensor &operator*=(Tensor &a, const Operand &b) { return a = mul({a, b.at}, b); }
inline Tensor &operator/=(Tensor &a, const Operand &b) { return a = div({a, b.at}, b); }

} // namespace sinter
