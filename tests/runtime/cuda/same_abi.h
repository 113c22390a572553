// Compares our declarations of others' C functions and constants with the headers they come from.
#pragma once

#include <cstdint>
#include <type_traits>

namespace sinter::rt::cuda {

/// Passed the same way: both pointers, or both numbers (enums count) of one size and kind.
template <class Ours, class Theirs>
constexpr bool sameAbi = sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs) &&
                         std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
                         std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs> &&
                         std::is_class_v<Ours> == std::is_class_v<Theirs>;
/// Pointers to what is passed by address must agree too, so that results have room.
template <class Ours, class Theirs> constexpr bool samePointee = sameAbi<Ours, Theirs>;
template <class Ours, class Theirs>
constexpr bool samePointee<Ours *, Theirs *> = [] {
  using A = std::remove_cv_t<Ours>;
  using B = std::remove_cv_t<Theirs>;
  if constexpr (std::is_void_v<A> || std::is_void_v<B>)
    return std::is_void_v<A> && std::is_void_v<B>;
  else if constexpr (requires { sizeof(A); } && requires { sizeof(B); })
    return sameAbi<A, B> && std::is_const_v<Ours> == std::is_const_v<Theirs>;
  else
    return true; // handles
}();

template <class R, class S>
constexpr bool sameResult = [] {
  if constexpr (std::is_void_v<R> || std::is_void_v<S>)
    return std::is_void_v<R> && std::is_void_v<S>;
  else
    return sameAbi<R, S>;
}();

template <class Ours, class Theirs> constexpr bool sameSignature = false;
template <class R, class... Ours, class S, class... Theirs>
  requires(sizeof...(Ours) == sizeof...(Theirs))
constexpr bool sameSignature<R (*)(Ours...), S (*)(Theirs...)> =
    sameResult<R, S> && (samePointee<Ours, Theirs> && ...);

#define SAME(ours, theirs) static_assert(int64_t(ours) == int64_t(theirs))

} // namespace sinter::rt::cuda
