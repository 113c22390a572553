// Call: one DSL function at work. It finds the trace (or opens an eager one), turns operands into
// values with the DSL's rules for types and shapes, makes ops, and hands out the results.
//
//   Tensor relu(const Operand &x) {
//     Call call("relu", {&x});
//     return call.done(call.emit("relu", call.floating(x)));
//   }
//
// DSL functions may call each other: within one, the others join its trace and take its line.
#pragma once

#include "tracing/Trace.h"

#include <initializer_list>
#include <optional>
#include <variant>

namespace sinter::detail {

struct Attr {
  using Content = std::variant<bool, int64_t, double, std::vector<int64_t>, std::string, DType>;
  Attr(const char *name, bool unit) : name(name), content(unit) {}
  Attr(const char *name, int64_t number) : name(name), content(number) {}
  Attr(const char *name, double number) : name(name), content(number) {}
  Attr(const char *name, std::vector<int64_t> list) : name(name), content(std::move(list)) {}
  Attr(const char *name, std::string text) : name(name), content(std::move(text)) {}
  Attr(const char *name, DType type) : name(name), content(type) {}
  const char *name;
  Content content;
};

class Call {
public:
  using Values = std::vector<mlir::Value>;

  /// `operands`: all of them, the first being the one whose line is the call's.
  Call(const char *op, std::initializer_list<const Operand *> operands);
  Call(const char *op, Where at);
  /// For callers that hold the session.
  Call(const char *op, Where at, const std::shared_ptr<SessionState> &session);
  ~Call();
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;

  /// The operand's value; a number is a scalar of i64, f32 or bool, or of `type`.
  mlir::Value value(const Operand &operand, mlir::Type type = {});
  /// Converted to a float type unless it has one (integers to f32).
  mlir::Value floating(const Operand &operand);
  /// As tensors of one element type (see promote) and shape.
  std::pair<mlir::Value, mlir::Value> matched(const Operand &a, const Operand &b,
                                              bool floating = false);
  mlir::Type commonType(const Operand &a, const Operand &b);

  mlir::Value cast(mlir::Value value, mlir::Type element);
  mlir::Value cast(mlir::Value value, DType dtype) {
    return cast(value, elementType(trace->session->context, dtype));
  }
  mlir::Value broadcast(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> dims);
  /// The shape both broadcast to.
  ir::Dims commonShape(mlir::Value a, mlir::Value b);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> dims);
  mlir::Value permute(mlir::Value value, std::vector<int64_t> order);
  /// Every element is `number`.
  mlir::Value filled(mlir::RankedTensorType type, double number);
  mlir::Value filled(mlir::RankedTensorType type, int64_t number);
  mlir::Value like(mlir::Value value, double number);
  ir::Dims dims(const Shape &shape) { return trace->symbols.dims(shape, false, at); }
  Shape shape(mlir::Value value) const { return trace->symbols.shape(value.getType()); }
  mlir::AffineExpr number(int64_t size) const {
    return ir::constantDim(size, &trace->session->context);
  }

  /// Makes op sinter.`op`; the result type is inferred unless given. Types and shapes that do not
  /// fit are an Error which names them, the user's line and where each operand was made.
  mlir::Value emit(const char *op, const Values &operands, const std::vector<Attr> &attributes = {},
                   mlir::Type result = {});
  mlir::Value emit(const char *op, mlir::Value operand, const std::vector<Attr> &attributes = {},
                   mlir::Type result = {}) {
    return emit(op, Values{operand}, attributes, result);
  }
  std::vector<mlir::Value> emitMany(const char *op, const Values &operands,
                                    const std::vector<Attr> &attributes,
                                    mlir::TypeRange results = {});
  [[noreturn]] void fail(const std::string &message, const Values &operands = {}) const;
  std::string type(mlir::Value value) const { return str(value.getType(), trace->symbols); }

  /// Ends the call; nothing may follow.
  Tensor done(mlir::Value result);
  std::vector<Tensor> done(const Values &results);

  mlir::OpBuilder &builder() { return trace->builder; }
  mlir::Location location() const { return trace->location(at); }

  Trace *trace;
  Where at; ///< the user's line
  const char *op;

private:
  void open(const std::shared_ptr<SessionState> &session);
  mlir::NamedAttribute attribute(const Attr &attr) const;
  std::string describe(const Values &operands) const;

  std::optional<Trace> own; ///< of an eager call
};

} // namespace sinter::detail
