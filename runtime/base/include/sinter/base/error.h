// The one exception of the C++ interface: a caller's mistake in a function that
// has no Status to return, such as `array.item<float>()` on a matrix. The
// runtime's own failures are Status; nothing behind the C ABI throws this.
#pragma once

#include <stdexcept>
#include <string>

namespace sinter {

class Error : public std::runtime_error {
public:
  explicit Error(const std::string &message) : std::runtime_error(message) {}
};

} // namespace sinter
