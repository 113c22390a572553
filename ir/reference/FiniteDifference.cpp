#include "sinter/ir/FiniteDifference.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace sinter::ir {

static FailureOr<double> sumOfFirstResult(Operation *function, ArrayRef<ReferenceTensor> arguments,
                                          const std::map<std::string, ReferenceTensor> &variables) {
  Interpreter interpreter(Rounding::None);
  interpreter.variables = variables;
  auto results = interpreter.run(function, arguments);
  if (failed(results))
    return failure();
  if (results->empty())
    return function->emitError("has no result to differentiate");
  double sum = 0;
  for (int64_t i = 0; i < results->front().size(); ++i)
    sum += results->front().real(i);
  return sum;
}

FailureOr<ReferenceTensor> finiteDifference(Operation *function,
                                            ArrayRef<ReferenceTensor> arguments, unsigned argument,
                                            const std::map<std::string, ReferenceTensor> &variables,
                                            double step) {
  if (argument >= arguments.size() || !arguments[argument].isFloat())
    return function->emitError() << "can't be differentiated with respect to argument " << argument
                                 << ": it is not an argument of floats";
  std::vector<ReferenceTensor> moved(arguments.begin(), arguments.end());
  ReferenceTensor &x = moved[argument] = arguments[argument].converted(/*exact=*/true);
  ReferenceTensor gradient(x.dims(), x.element(), /*exact=*/true);
  for (int64_t i = 0; i < x.size(); ++i) {
    double value = x.real(i), h = step * std::max(1.0, std::abs(value));
    x.set(i, value + h);
    double high = x.real(i);
    auto above = sumOfFirstResult(function, moved, variables);
    x.set(i, value - h);
    double low = x.real(i);
    auto below = sumOfFirstResult(function, moved, variables);
    if (failed(above) || failed(below))
      return failure();
    x.set(i, value);
    gradient.set(i, (*above - *below) / (high - low));
  }
  return gradient;
}

} // namespace sinter::ir
