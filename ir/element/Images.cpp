// Pooling windows, element by element.
#include "sinter/ir/Dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;

namespace sinter::ir {
namespace {

/// The attributes all pooling ops share.
struct Window {
  ArrayRef<int64_t> kernel, stride, padding, dilation;
  int64_t row, column; ///< dimension numbers of height and width

  template <class Op>
  explicit Window(Op op)
      : kernel(op.getKernel()), stride(op.getStride()), padding(op.getPadding()),
        dilation(op.getDilation()), row(op.getChannelsLast() ? 1 : 2), column(row + 1) {}
  int64_t size() const { return kernel[0] * kernel[1]; }
  bool padded() const {
    return llvm::any_of(padding, [](int64_t p) { return p != 0; });
  }
  /// No element of the input lies in two windows.
  bool disjoint() const {
    return kernel[0] <= stride[0] && kernel[1] <= stride[1] && dilation[0] == 1 && dilation[1] == 1;
  }
  /// Lanes may run over batch and channels; over space only without padding, where no range check
  /// is needed.
  std::optional<int64_t> laneDim(int64_t dim) const {
    if ((dim == row || dim == column) && padded())
      return std::nullopt;
    return dim;
  }
};

constexpr int64_t kUnrolledWindow = 16;

/// Runs `body(i, j, state)` over the window, row-major; unrolled when small. i, j are of type
/// index.
SmallVector<Value> forWindow(ElementSource &source, const Window &window, SmallVector<Value> state,
                             function_ref<SmallVector<Value>(Value, Value, ValueRange)> body) {
  OpBuilder &b = source.b;
  if (window.size() <= kUnrolledWindow) {
    for (int64_t i = 0; i < window.kernel[0]; ++i)
      for (int64_t j = 0; j < window.kernel[1]; ++j)
        state = body(source.index(i), source.index(j), state);
    return state;
  }
  auto rows = scf::ForOp::create(b, source.loc, source.index(0), source.index(window.kernel[0]),
                                 source.index(1), state);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(rows.getBody());
  auto columns = scf::ForOp::create(b, source.loc, source.index(0), source.index(window.kernel[1]),
                                    source.index(1), rows.getRegionIterArgs());
  b.setInsertionPointToStart(columns.getBody());
  auto next = body(rows.getInductionVar(), columns.getInductionVar(), columns.getRegionIterArgs());
  scf::YieldOp::create(b, source.loc, next);
  b.setInsertionPointAfter(columns);
  scf::YieldOp::create(b, source.loc, columns.getResults());
  return SmallVector<Value>(rows.getResults());
}

/// `inside` where `condition` (null: always), else `otherwise`.
Value guarded(ElementSource &source, Value condition, Value otherwise,
              function_ref<Value()> inside) {
  if (!condition)
    return inside();
  auto op =
      scf::IfOp::create(source.b, source.loc, TypeRange{otherwise.getType()}, condition, true);
  OpBuilder::InsertionGuard guard(source.b);
  source.b.setInsertionPointToStart(op.thenBlock());
  scf::YieldOp::create(source.b, source.loc, inside());
  source.b.setInsertionPointToStart(op.elseBlock());
  scf::YieldOp::create(source.b, source.loc, otherwise);
  return op.getResult(0);
}

Value both(ElementSource &source, Value a, Value b) {
  return a ? Value(arith::AndIOp::create(source.b, source.loc, a, b)) : b;
}

/// Reads operand 0 at position (i, j) of the window whose result index is `at`; `otherwise` in the
/// padding.
Value readWindow(ElementSource &source, const Window &window, ArrayRef<Index> at, Value i, Value j,
                 Value otherwise) {
  SmallVector<Index> inner(at);
  Value condition;
  Dims sizes = dimsOf(source.operandValue(0));
  for (auto [axis, offset] : {std::pair<int, Value>{0, i}, {1, j}}) {
    int64_t dim = axis == 0 ? window.row : window.column;
    Value base = source.add(source.mul(at[dim].base, source.index(window.stride[axis])),
                            source.mul(offset, source.index(window.dilation[axis])));
    base = source.add(base, source.index(-window.padding[axis]));
    inner[dim] = {base, at[dim].step * window.stride[axis]};
    if (window.padding[axis] || window.padding[axis + 2])
      condition = both(source, condition, source.inRange(base, source.dim(sizes[dim])));
  }
  return guarded(source, condition, otherwise, [&] { return source.element(0, inner); });
}

/// Calls `use(window index, i, j)` for each window position that covers input index `at`, summing
/// what it returns.
Value sumCovering(ElementSource &source, const Window &window, ArrayRef<Index> at, Dims windows,
                  Value zero, function_ref<Value(ArrayRef<Index>, Value, Value)> use) {
  OpBuilder &b = source.b;
  auto term = [&](Value i, Value j, bool exact) {
    // exact: (i, j) is the only candidate, by construction divisible.
    SmallVector<Index> inner(at);
    Value condition;
    for (auto [axis, offset] : {std::pair<int, Value>{0, i}, {1, j}}) {
      int64_t dim = axis == 0 ? window.row : window.column;
      Value shifted = source.add(at[dim].base, source.index(window.padding[axis]));
      Value stride = source.index(window.stride[axis]);
      if (exact) {
        condition =
            both(source, condition, source.inRange(offset, source.index(window.kernel[axis])));
      } else {
        shifted = arith::SubIOp::create(b, source.loc, shifted,
                                        source.mul(offset, source.index(window.dilation[axis])));
        if (window.stride[axis] != 1)
          condition =
              both(source, condition,
                   arith::CmpIOp::create(b, source.loc, arith::CmpIPredicate::eq,
                                         arith::RemSIOp::create(b, source.loc, shifted, stride),
                                         source.index(0)));
      }
      Value position = window.stride[axis] == 1
                           ? shifted
                           : Value(arith::FloorDivSIOp::create(b, source.loc, shifted, stride));
      condition = both(source, condition, source.inRange(position, source.dim(windows[dim])));
      inner[dim] = {position, at[dim].step};
    }
    return guarded(source, condition, zero, [&] { return use(inner, i, j); });
  };
  if (window.disjoint()) {
    auto offset = [&](int axis, int64_t dim) -> Value {
      Value shifted = source.add(at[dim].base, source.index(window.padding[axis]));
      return arith::RemUIOp::create(b, source.loc, shifted, source.index(window.stride[axis]));
    };
    return term(offset(0, window.row), offset(1, window.column), true);
  }
  return forWindow(source, window, {zero},
                   [&](Value i, Value j, ValueRange state) -> SmallVector<Value> {
                     ScalarExpr sum{b, source.loc, state[0]};
                     return {(sum + sum.with(term(i, j, false))).value};
                   })[0];
}

/// The position i * width + j as i32, in every lane.
Value windowPosition(ElementSource &source, const Window &window, Value i, Value j) {
  Value position = source.add(source.mul(i, source.index(window.kernel[1])), j);
  Value narrow = arith::IndexCastOp::create(source.b, source.loc, source.b.getI32Type(), position);
  return source.lanes() == 1
             ? narrow
             : Value(vector::BroadcastOp::create(source.b, source.loc,
                                                 source.laneType(source.b.getI32Type()), narrow));
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

} // namespace

Value MaxPool2dOp::emitElement(unsigned, ArrayRef<Index> at, ElementSource &source) {
  Window window(*this);
  Value lowest = source.number(-kInfinity, elementType(getX()));
  return forWindow(source, window, {lowest},
                   [&](Value i, Value j, ValueRange state) -> SmallVector<Value> {
                     ScalarExpr best{source.b, source.loc, state[0]};
                     ScalarExpr value = best.with(readWindow(source, window, at, i, j, lowest));
                     return {select((value > best) | ne(value, value), value, best).value};
                   })[0];
}
std::optional<int64_t> MaxPool2dOp::laneDim(unsigned, int64_t dim) {
  return Window(*this).laneDim(dim);
}
int64_t MaxPool2dOp::elementCost() { return 3 * Window(*this).size(); }

Value MaxPool2dIndexOp::emitElement(unsigned, ArrayRef<Index> at, ElementSource &source) {
  Window window(*this);
  Value lowest = source.number(-kInfinity, elementType(getX()));
  Value none = source.number(-1, source.b.getI32Type());
  auto state = forWindow(
      source, window, {lowest, none},
      [&](Value i, Value j, ValueRange state) -> SmallVector<Value> {
        ScalarExpr best{source.b, source.loc, state[0]}, where{source.b, source.loc, state[1]};
        ScalarExpr value = best.with(readWindow(source, window, at, i, j, lowest));
        // A later one must be strictly better; the first in-range element always beats the start.
        // NaN beats numbers only.
        ScalarExpr better = (value > best) | (ne(value, value) & eq(best, best)) | (where < 0.0);
        ScalarExpr position = where.with(windowPosition(source, window, i, j));
        return {select(better, value, best).value, select(better, position, where).value};
      });
  return state[1];
}
std::optional<int64_t> MaxPool2dIndexOp::laneDim(unsigned, int64_t dim) {
  return Window(*this).laneDim(dim);
}
int64_t MaxPool2dIndexOp::elementCost() { return 5 * Window(*this).size(); }

Value PoolGatherOp::emitElement(unsigned, ArrayRef<Index> at, ElementSource &source) {
  Window window(*this);
  Value zero = source.number(0, elementType(getX()));
  ScalarExpr wanted{source.b, source.loc, source.element(1, at)};
  return forWindow(
      source, window, {zero}, [&](Value i, Value j, ValueRange state) -> SmallVector<Value> {
        ScalarExpr value{source.b, source.loc, readWindow(source, window, at, i, j, zero)};
        return {select(eq(wanted, wanted.with(windowPosition(source, window, i, j))), value,
                       value.with(state[0]))
                    .value};
      })[0];
}
std::optional<int64_t> PoolGatherOp::laneDim(unsigned, int64_t dim) {
  return Window(*this).laneDim(dim);
}
int64_t PoolGatherOp::elementCost() { return 4 * Window(*this).size(); }

Value PoolScatterOp::emitElement(unsigned, ArrayRef<Index> at, ElementSource &source) {
  Window window(*this);
  Value zero = source.number(0, elementType(getDy()));
  return sumCovering(source, window, at, dimsOf(getDy()), zero,
                     [&](ArrayRef<Index> inner, Value i, Value j) {
                       ScalarExpr chosen{source.b, source.loc, source.element(1, inner)};
                       ScalarExpr value{source.b, source.loc, source.element(0, inner)};
                       return select(eq(chosen, chosen.with(windowPosition(source, window, i, j))),
                                     value, value.with(zero))
                           .value;
                     });
}
/// Over space neighbouring inputs lie in different windows: lanes run over batch and channels only.
static std::optional<int64_t> channelLanes(const Window &window, int64_t dim) {
  if (dim == window.row || dim == window.column)
    return std::nullopt;
  return dim;
}
std::optional<int64_t> PoolScatterOp::laneDim(unsigned, int64_t dim) {
  return channelLanes(Window(*this), dim);
}
int64_t PoolScatterOp::elementCost() {
  return Window(*this).disjoint() ? 8 : 6 * Window(*this).size();
}

Value AvgPool2dOp::emitElement(unsigned, ArrayRef<Index> at, ElementSource &source) {
  Window window(*this);
  Value zero = source.number(0, elementType(getX()));
  auto state = forWindow(
      source, window, {zero}, [&](Value i, Value j, ValueRange state) -> SmallVector<Value> {
        ScalarExpr sum{source.b, source.loc, state[0]};
        return {(sum + sum.with(readWindow(source, window, at, i, j, zero))).value};
      });
  return (ScalarExpr{source.b, source.loc, state[0]} / double(window.size())).value;
}
std::optional<int64_t> AvgPool2dOp::laneDim(unsigned, int64_t dim) {
  return Window(*this).laneDim(dim);
}
int64_t AvgPool2dOp::elementCost() { return 2 * Window(*this).size(); }

Value AvgPool2dGradOp::emitElement(unsigned, ArrayRef<Index> at, ElementSource &source) {
  Window window(*this);
  Value zero = source.number(0, elementType(getDy()));
  Value sum =
      sumCovering(source, window, at, dimsOf(getDy()), zero,
                  [&](ArrayRef<Index> inner, Value, Value) { return source.element(0, inner); });
  return (ScalarExpr{source.b, source.loc, sum} / double(window.size())).value;
}
std::optional<int64_t> AvgPool2dGradOp::laneDim(unsigned, int64_t dim) {
  return channelLanes(Window(*this), dim);
}
int64_t AvgPool2dGradOp::elementCost() {
  return Window(*this).disjoint() ? 6 : 4 * Window(*this).size();
}

} // namespace sinter::ir
