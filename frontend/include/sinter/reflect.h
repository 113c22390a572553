// How jit sees arguments and results: trees of Tensors (or Arrays) in vectors, tuples, pairs,
// std::array and aggregates of up to 16 fields, with bools, integers, enums and floats between
// them. Nothing here keeps state.
#pragma once

#include "sinter/tensor.h"

#include <array>
#include <bit>
#include <tuple>
#include <utility>

namespace sinter::detail {

template <class T>
inline constexpr bool kIsLeaf = std::is_same_v<T, Tensor> || std::is_same_v<T, Array>;
template <class T> inline constexpr bool kIsStatic = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// The same tree with Arrays for Tensors: Digits<Tensor> becomes Digits<Array>.
template <class T> struct Mapped {
  using Type = T;
};
template <> struct Mapped<Tensor> {
  using Type = Array;
};
template <class T> using WithArrays = typename Mapped<std::remove_cvref_t<T>>::Type;
template <class T> struct Mapped<std::vector<T>> {
  using Type = std::vector<WithArrays<T>>;
};
template <class T, size_t N> struct Mapped<std::array<T, N>> {
  using Type = std::array<WithArrays<T>, N>;
};
template <class A, class B> struct Mapped<std::pair<A, B>> {
  using Type = std::pair<WithArrays<A>, WithArrays<B>>;
};
template <class... T> struct Mapped<std::tuple<T...>> {
  using Type = std::tuple<WithArrays<T>...>;
};
template <template <class> class T>
  requires std::is_aggregate_v<T<Tensor>>
struct Mapped<T<Tensor>> {
  using Type = T<Array>;
};

/// Stands for any field in counting them.
struct AnyField {
  template <class T> operator T() const;
};
template <size_t> using AnyFieldAt = AnyField;

template <class T, size_t... I> constexpr bool bracesTake(std::index_sequence<I...>) {
  return requires { T{AnyFieldAt<I>{}...}; };
}
template <class T, size_t N = 16> constexpr size_t fieldCount() {
  if constexpr (N == 0 || bracesTake<T>(std::make_index_sequence<N>()))
    return N;
  else
    return fieldCount<T, N - 1>();
}

/// References to the fields of an aggregate, in order.
template <class T> auto fieldsOf(T &v) {
  constexpr size_t count = fieldCount<std::remove_const_t<T>>();
  static_assert(!bracesTake<std::remove_const_t<T>>(std::make_index_sequence<17>()),
                "a struct of more than 16 fields: split it");
  if constexpr (count == 0) {
    return std::tie();
  } else if constexpr (count == 1) {
    auto &[a] = v;
    return std::tie(a);
  } else if constexpr (count == 2) {
    auto &[a, b] = v;
    return std::tie(a, b);
  } else if constexpr (count == 3) {
    auto &[a, b, c] = v;
    return std::tie(a, b, c);
  } else if constexpr (count == 4) {
    auto &[a, b, c, d] = v;
    return std::tie(a, b, c, d);
  } else if constexpr (count == 5) {
    auto &[a, b, c, d, e] = v;
    return std::tie(a, b, c, d, e);
  } else if constexpr (count == 6) {
    auto &[a, b, c, d, e, f] = v;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (count == 7) {
    auto &[a, b, c, d, e, f, g] = v;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (count == 8) {
    auto &[a, b, c, d, e, f, g, h] = v;
    return std::tie(a, b, c, d, e, f, g, h);
  } else if constexpr (count == 9) {
    auto &[a, b, c, d, e, f, g, h, i] = v;
    return std::tie(a, b, c, d, e, f, g, h, i);
  } else if constexpr (count == 10) {
    auto &[a, b, c, d, e, f, g, h, i, j] = v;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (count == 11) {
    auto &[a, b, c, d, e, f, g, h, i, j, k] = v;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (count == 12) {
    auto &[a, b, c, d, e, f, g, h, i, j, k, l] = v;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  } else if constexpr (count == 13) {
    auto &[a, b, c, d, e, f, g, h, i, j, k, l, m] = v;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m);
  } else if constexpr (count == 14) {
    auto &[a, b, c, d, e, f, g, h, i, j, k, l, m, n] = v;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
  } else if constexpr (count == 15) {
    auto &[a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = v;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
  } else {
    auto &[a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = v;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
  }
}

template <class T> inline constexpr bool kIsTupleLike = requires { std::tuple_size<T>::value; };
template <class T> inline constexpr bool kIsVector = false;
template <class T> inline constexpr bool kIsVector<std::vector<T>> = true;

/// Calls visit(node) on each leaf, static value and vector, in order.
template <class T, class Visit> void walk(T &value, Visit &&visit) {
  using Plain = std::remove_const_t<T>;
  if constexpr (kIsLeaf<Plain> || kIsStatic<Plain>) {
    visit(value);
  } else if constexpr (kIsVector<Plain>) {
    visit(value);
    for (auto &item : value)
      walk(item, visit);
  } else if constexpr (kIsTupleLike<Plain>) {
    std::apply([&](auto &...items) { (walk(items, visit), ...); }, value);
  } else {
    static_assert(std::is_aggregate_v<Plain>,
                  "jit takes Tensors, Arrays, numbers, enums, vectors, tuples and aggregates of "
                  "these; write a struct as a template of T, like template <class T> struct "
                  "Digits { T image, label; };");
    std::apply([&](auto &...items) { (walk(items, visit), ...); }, fieldsOf(value));
  }
}

/// Makes `to` a tree of the same structure as `from`, each leaf being leaf(from's leaf).
template <class From, class To, class Leaf> void mapTree(const From &from, To &to, Leaf &&leaf) {
  if constexpr (kIsLeaf<To>) {
    to = leaf(from);
  } else if constexpr (kIsStatic<To>) {
    to = from;
  } else if constexpr (kIsVector<To>) {
    to.resize(from.size());
    for (size_t i = 0; i < from.size(); ++i)
      mapTree(from[i], to[i], leaf);
  } else {
    auto pairUp = [&]<size_t... I>(auto &&a, auto &&b, std::index_sequence<I...>) {
      (mapTree(std::get<I>(a), std::get<I>(b), leaf), ...);
    };
    if constexpr (kIsTupleLike<To>)
      pairUp(from, to, std::make_index_sequence<std::tuple_size_v<To>>());
    else
      pairUp(fieldsOf(from), fieldsOf(to), std::make_index_sequence<fieldCount<To>()>());
  }
}

/// A static value as the bits that key a trace.
template <class T> int64_t staticBits(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<int64_t>(double(value));
  else
    return int64_t(value);
}

/// Parameter and result types of a function object that is not a template.
template <class F> struct Callable : Callable<decltype(&F::operator())> {};
template <class R, class C, class... Args> struct Callable<R (C::*)(Args...)> {
  using Signature = R(std::remove_cvref_t<Args>...);
};
template <class R, class C, class... Args>
struct Callable<R (C::*)(Args...) const> : Callable<R (C::*)(Args...)> {};
template <class R, class... Args> struct Callable<R (*)(Args...)> {
  using Signature = R(std::remove_cvref_t<Args>...);
};

} // namespace sinter::detail
