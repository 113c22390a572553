#include "tracing/Types.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

#include <algorithm>

using namespace mlir;

namespace sinter {
using detail::DimNode;
using Node = std::shared_ptr<const DimNode>;

namespace {

Node nodeOf(const Dim &dim, const Node &node) {
  if (node)
    return node;
  auto number = std::make_shared<DimNode>();
  number->number = dim.value();
  return number;
}

Node combine(DimNode::Kind kind, Node a, Node b) {
  auto node = std::make_shared<DimNode>();
  node->kind = kind;
  node->a = std::move(a);
  node->b = std::move(b);
  return node;
}

bool equal(const DimNode &a, const DimNode &b) {
  if (a.kind != b.kind)
    return false;
  switch (a.kind) {
  case DimNode::Kind::Number:
    return a.number == b.number;
  case DimNode::Kind::Symbol:
    return a.name == b.name;
  default:
    return equal(*a.a, *b.a) && equal(*a.b, *b.b);
  }
}

std::string format(const DimNode &node, bool inside) {
  const char *sign = " + ";
  switch (node.kind) {
  case DimNode::Kind::Number:
    return std::to_string(node.number);
  case DimNode::Kind::Symbol:
    return node.name;
  case DimNode::Kind::Add:
    break;
  case DimNode::Kind::Mul:
    sign = " * ";
    break;
  case DimNode::Kind::FloorDiv:
    sign = " / ";
    break;
  case DimNode::Kind::CeilDiv:
    sign = " ceildiv ";
    break;
  case DimNode::Kind::Mod:
    sign = " mod ";
    break;
  }
  std::string body = format(*node.a, true) + sign + format(*node.b, true);
  return inside && node.kind != DimNode::Kind::Mul ? "(" + body + ")" : body;
}

} // namespace

Dim::Dim(const Dim &other) = default;
Dim &Dim::operator=(const Dim &other) = default;
Dim::~Dim() = default;

int64_t Dim::value() const {
  if (node)
    throw Error("the dimension " + str() +
                " is symbolic and has no number while the graph is "
                "recorded; compute with Dim, or export with a fixed size");
  return size;
}

std::string Dim::str() const { return node ? format(*node, false) : std::to_string(size); }

Dim operator+(const Dim &a, const Dim &b) {
  if (a.isStatic() && b.isStatic())
    return a.size + b.size;
  if (a.isStatic())
    return b + a;
  if (b.isStatic() && b.size == 0)
    return a;
  return Dim(combine(DimNode::Kind::Add, a.node, nodeOf(b, b.node)));
}

Dim operator-(const Dim &a, const Dim &b) { return a + b * -1; }

Dim operator*(const Dim &a, const Dim &b) {
  if (a.isStatic() && b.isStatic())
    return a.size * b.size;
  if (a.isStatic())
    return b * a;
  if (b.isStatic() && (b.size == 0 || b.size == 1))
    return b.size == 0 ? Dim(0) : a;
  return Dim(combine(DimNode::Kind::Mul, a.node, nodeOf(b, b.node)));
}

Dim operator/(const Dim &a, const Dim &b) {
  if (b.isStatic() && b.size == 0)
    throw Error("a dimension is divided by 0");
  if (a.isStatic() && b.isStatic())
    return a.size / b.size - (a.size % b.size != 0 && (a.size < 0) != (b.size < 0));
  if (b.isStatic() && b.size == 1)
    return a;
  return Dim(combine(DimNode::Kind::FloorDiv, nodeOf(a, a.node), nodeOf(b, b.node)));
}

bool operator==(const Dim &a, const Dim &b) {
  if (!a.node || !b.node)
    return !a.node && !b.node && a.size == b.size;
  return equal(*a.node, *b.node);
}

Dim dim(std::string name, int64_t lower, int64_t upper) {
  if (name.empty() || lower < 0 || (upper >= 0 && upper < lower))
    throw Error(detail::text("dim(\"", name, "\", ", lower, ", ", upper,
                             "): give a name and bounds 0 <= lower <= upper (or no upper bound)"));
  auto node = std::make_shared<DimNode>();
  node->kind = DimNode::Kind::Symbol;
  node->name = std::move(name);
  node->lower = lower;
  node->upper = upper;
  return Dim(std::move(node));
}

bool Shape::isStatic() const {
  return std::all_of(begin(), end(), [](const Dim &dim) { return dim.isStatic(); });
}

std::vector<int64_t> Shape::sizes() const {
  std::vector<int64_t> result;
  for (const Dim &dim : dims)
    result.push_back(dim.value());
  return result;
}

std::string Shape::str() const {
  std::string result = "[";
  for (const Dim &dim : dims)
    result += (result.size() > 1 ? ", " : "") + dim.str();
  return result + "]";
}

namespace detail {

AffineExpr Symbols::expr(const DimNode &node, bool declare, Where at) {
  auto operand = [&](const Node &part) { return expr(*part, declare, at); };
  switch (node.kind) {
  case DimNode::Kind::Number:
    return getAffineConstantExpr(node.number, &context);
  case DimNode::Kind::Add:
    return operand(node.a) + operand(node.b);
  case DimNode::Kind::Mul:
    return operand(node.a) * operand(node.b);
  case DimNode::Kind::FloorDiv:
    return operand(node.a).floorDiv(operand(node.b));
  case DimNode::Kind::CeilDiv:
    return operand(node.a).ceilDiv(operand(node.b));
  case DimNode::Kind::Mod:
    return operand(node.a) % operand(node.b);
  case DimNode::Kind::Symbol:
    break;
  }
  auto same = [&](const Node &known) { return known->name == node.name; };
  auto found = std::find_if(list.begin(), list.end(), same);
  if (found == list.end()) {
    if (!declare)
      fail(at, "the dimension ", node.name,
           " is none of this function's inputs'; use dim() of one");
    if (list.size() == ir::kMaxSymbols)
      fail(at, "more than ", ir::kMaxSymbols, " symbolic dimensions");
    found = list.insert(found, std::make_shared<DimNode>(node));
  } else if ((*found)->lower != node.lower || (*found)->upper != node.upper) {
    fail(at, "the dimension ", node.name, " is used with two different bounds; make it once");
  }
  return getAffineSymbolExpr(unsigned(found - list.begin()), &context);
}

AffineExpr Symbols::expr(const Dim &dim, bool declare, Where at) {
  if (dim.isStatic())
    return getAffineConstantExpr(dim.value(), &context);
  return ir::simplify(expr(*dim.expression(), declare, at));
}

ir::Dims Symbols::dims(const Shape &shape, bool declare, Where at) {
  ir::Dims result;
  for (const Dim &dim : shape)
    result.push_back(expr(dim, declare, at));
  return result;
}

Dim Symbols::dim(AffineExpr expr) const {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return Dim(list.at(symbol.getPosition()));
  auto binary = cast<AffineBinaryOpExpr>(expr);
  auto part = [&](AffineExpr side) {
    Dim operand = dim(side);
    if (!operand.isStatic())
      return Node(operand.expression(), [keep = operand](const DimNode *) {});
    auto number = std::make_shared<DimNode>();
    number->number = operand.value();
    return Node(number);
  };
  DimNode::Kind kind = DimNode::Kind::Add;
  switch (expr.getKind()) {
  case AffineExprKind::Mul:
    kind = DimNode::Kind::Mul;
    break;
  case AffineExprKind::FloorDiv:
    kind = DimNode::Kind::FloorDiv;
    break;
  case AffineExprKind::CeilDiv:
    kind = DimNode::Kind::CeilDiv;
    break;
  case AffineExprKind::Mod:
    kind = DimNode::Kind::Mod;
    break;
  default:
    break;
  }
  return Dim(combine(kind, part(binary.getLHS()), part(binary.getRHS())));
}

Shape Symbols::shape(Type type) const {
  Shape result;
  for (AffineExpr size : ir::dimsOf(type))
    result.push_back(dim(size));
  return result;
}

ArrayAttr Symbols::attribute() const {
  Builder builder(&context);
  SmallVector<Attribute> entries;
  for (const Node &symbol : list)
    entries.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("name", builder.getStringAttr(symbol->name)),
         builder.getNamedAttr("lower", builder.getI64IntegerAttr(symbol->lower)),
         builder.getNamedAttr("upper", builder.getI64IntegerAttr(symbol->upper))}));
  return builder.getArrayAttr(entries);
}

RankedTensorType tensorType(MLIRContext &context, DType dtype, const std::vector<int64_t> &dims) {
  return RankedTensorType::get(dims, elementType(context, dtype));
}

std::string placeOf(Where at) {
  std::string_view file = at.file_name();
  return text(file.substr(file.rfind('/') + 1), ':', at.line());
}

std::string str(Type type, const Symbols &symbols) {
  return text(name(dtypeOf(type)), symbols.shape(type).str());
}

int64_t axisOf(int64_t axis, int64_t rank, const char *op, Where at) {
  if (axis < -rank || axis >= rank)
    fail(at, op, ": there is no dimension ", axis, " in a tensor of rank ", rank,
         rank ? text("; it has ", -rank, " to ", rank - 1) : ", a scalar");
  return axis < 0 ? axis + rank : axis;
}

} // namespace detail
} // namespace sinter
