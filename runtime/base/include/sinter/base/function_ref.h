// A borrowed callable: two words, no allocation. The callee must outlive the
// call it is passed to, so use it for parameters only.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace sinter {

template <class Signature> class FunctionRef;

template <class Result, class... Args> class FunctionRef<Result(Args...)> {
public:
  template <class Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef> &&
             std::is_invocable_r_v<Result, Callable &, Args...>)
  FunctionRef(Callable &&callable)
      : object(const_cast<void *>(static_cast<const void *>(std::addressof(callable)))),
        call([](void *object, Args... args) -> Result {
          return (*static_cast<std::remove_reference_t<Callable> *>(object))(
              std::forward<Args>(args)...);
        }) {}

  Result operator()(Args... args) const { return call(object, std::forward<Args>(args)...); }

private:
  void *object;
  Result (*call)(void *, Args...);
};

} // namespace sinter
