#include "sinter/ir/Expr.h"

#include <cmath>
#include <limits>

namespace sinter::ir {

static Number real(double value) { return {false, value, 0}; }
static Number integer(uint64_t value) { return {true, 0, int64_t(value)}; }
static Number truth(bool value) { return integer(value); }
static bool bothIntegers(const Number &a, const Number &b) { return a.isInteger && b.isInteger; }
static bool isTrue(const Number &x) { return x.isInteger ? x.integer != 0 : x.real != 0; }
static bool isNaN(const Number &x) { return !x.isInteger && std::isnan(x.real); }

int64_t Number::toInt() const {
  if (isInteger)
    return integer;
  if (std::isnan(real))
    return 0;
  if (real >= 0x1p63)
    return std::numeric_limits<int64_t>::max();
  return real < -0x1p63 ? std::numeric_limits<int64_t>::min() : int64_t(real);
}

// Integers wrap: unsigned arithmetic is the same bits without the undefined overflow.
#define SINTER_ARITHMETIC(OP)                                                                      \
  Number operator OP(const Number &a, const Number &b) {                                           \
    return bothIntegers(a, b) ? integer(uint64_t(a.integer) OP uint64_t(b.integer))                \
                              : real(a.toDouble() OP b.toDouble());                                \
  }
#define SINTER_COMPARISON(NAME, OP)                                                                \
  Number NAME(const Number &a, const Number &b) {                                                  \
    return truth(bothIntegers(a, b) ? a.integer OP b.integer : a.toDouble() OP b.toDouble());      \
  }
#define SINTER_FUNCTION(NAME, VALUE)                                                               \
  Number NAME(const Number &number) {                                                              \
    double x = number.toDouble();                                                                  \
    return real(VALUE);                                                                            \
  }
SINTER_ARITHMETIC(+)
SINTER_ARITHMETIC(-)
SINTER_ARITHMETIC(*)
SINTER_COMPARISON(operator<, <)
SINTER_COMPARISON(operator<=, <=)
SINTER_COMPARISON(operator>, >)
SINTER_COMPARISON(operator>=, >=)
SINTER_COMPARISON(eq, ==)
SINTER_COMPARISON(ne, !=)
SINTER_FUNCTION(exp, std::exp(x))
SINTER_FUNCTION(expm1, std::expm1(x))
SINTER_FUNCTION(log, std::log(x))
SINTER_FUNCTION(log1p, std::log1p(x))
SINTER_FUNCTION(sqrt, std::sqrt(x))
SINTER_FUNCTION(rsqrt, 1 / std::sqrt(x))
SINTER_FUNCTION(sin, std::sin(x))
SINTER_FUNCTION(cos, std::cos(x))
SINTER_FUNCTION(tan, std::tan(x))
SINTER_FUNCTION(tanh, std::tanh(x))
SINTER_FUNCTION(erf, std::erf(x))
SINTER_FUNCTION(floor, std::floor(x))
SINTER_FUNCTION(ceil, std::ceil(x))
SINTER_FUNCTION(round, std::nearbyint(x)) // ties to even in the default mode
#undef SINTER_FUNCTION
#undef SINTER_COMPARISON
#undef SINTER_ARITHMETIC

Number operator/(const Number &a, const Number &b) {
  if (!bothIntegers(a, b))
    return real(a.toDouble() / b.toDouble());
  if (b.integer == 0)
    return integer(0);
  return b.integer == -1 ? -a : integer(a.integer / b.integer); // the least integer / -1 wraps
}

Number operator&(const Number &a, const Number &b) { return truth(isTrue(a) && isTrue(b)); }
Number operator|(const Number &a, const Number &b) { return truth(isTrue(a) || isTrue(b)); }
Number operator!(const Number &x) { return truth(!isTrue(x)); }
Number operator-(const Number &x) {
  return x.isInteger ? integer(-uint64_t(x.integer)) : real(-x.real);
}

Number max(const Number &a, const Number &b) { return isNaN(a) || isTrue(a >= b) ? a : b; }
Number min(const Number &a, const Number &b) { return isNaN(a) || isTrue(a <= b) ? a : b; }
Number pow(const Number &a, const Number &b) { return real(std::pow(a.toDouble(), b.toDouble())); }
Number atan2(const Number &a, const Number &b) {
  return real(std::atan2(a.toDouble(), b.toDouble()));
}

Number abs(const Number &x) {
  if (x.isInteger)
    return x.integer < 0 ? -x : x;
  return real(std::abs(x.real));
}

Number sign(const Number &x) {
  if (x.isInteger)
    return integer((x.integer > 0) - (x.integer < 0));
  return x.real > 0 ? real(1) : x.real < 0 ? real(-1) : x; // NaN and zeros stay
}

Number select(const Number &condition, const Number &a, const Number &b) {
  return isTrue(condition) ? a : b;
}

} // namespace sinter::ir
