#include "sinter/core/program.h"

#include <algorithm>
#include <functional>

namespace sinter::rt {
namespace {

size_t hashOf(const Expr &expr) {
  uint64_t hash = uint64_t(expr.op) * 0x9e3779b97f4a7c15;
  hash = (hash ^ uint64_t(expr.a)) * 0xff51afd7ed558ccd;
  return ((hash ^ hash >> 29 ^ uint64_t(expr.b)) * 0xc4ceb9fe1a85ec53) >> 17;
}
size_t hashOf(std::string_view text) { return std::hash<std::string_view>()(text); }

int64_t floorDiv(int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  if (b == -1)
    return int64_t(-uint64_t(a));
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

int64_t apply(Expr::Op op, int64_t a, int64_t b) {
  switch (op) {
  case Expr::Op::Add:
    return int64_t(uint64_t(a) + uint64_t(b));
  case Expr::Op::Mul:
    return int64_t(uint64_t(a) * uint64_t(b));
  case Expr::Op::FloorDiv:
    return floorDiv(a, b);
  case Expr::Op::CeilDiv: {
    int64_t quotient = floorDiv(a, b);
    bool exact = b == 0 || b == -1 || a % b == 0;
    return quotient + (exact ? 0 : 1);
  }
  case Expr::Op::Mod:
    return b == 0 ? 0 : int64_t(uint64_t(a) - uint64_t(floorDiv(a, b)) * uint64_t(b));
  case Expr::Op::Min:
    return std::min(a, b);
  case Expr::Op::Max:
    return std::max(a, b);
  case Expr::Op::Const:
  case Expr::Op::Symbol:
    break;
  }
  return a;
}

/// Position of `key` in `table`, added if need be. `index` may lag behind the
/// table, which others fill directly.
template <class Table, class Key>
Index intern(Table &table, std::unordered_multimap<size_t, Index> &index, const Key &key) {
  for (size_t i = index.size(); i < table.size(); ++i)
    index.emplace(hashOf(table[i]), Index(i));
  auto [first, last] = index.equal_range(hashOf(key));
  for (auto it = first; it != last; ++it)
    if (table[it->second] == key)
      return it->second;
  table.emplace_back(key);
  index.emplace(hashOf(key), Index(table.size() - 1));
  return Index(table.size() - 1);
}

} // namespace

Index Program::addExpr(Expr expr) {
  bool leaf = expr.op == Expr::Op::Const || expr.op == Expr::Op::Symbol;
  if (!leaf) {
    const Expr a = exprs[expr.a], b = exprs[expr.b];
    if (a.op == Expr::Op::Const && b.op == Expr::Op::Const)
      return constant(apply(expr.op, a.a, b.a));
  }
  return intern(exprs, exprsByHash, expr);
}

Index Program::addString(std::string_view text) { return intern(strings, stringsByHash, text); }

void evaluate(const Program &program, const int64_t *symbols, std::vector<int64_t> &values) {
  values.resize(program.exprs.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const Expr &expr = program.exprs[i];
    if (expr.op == Expr::Op::Const)
      values[i] = expr.a;
    else if (expr.op == Expr::Op::Symbol)
      values[i] = symbols[expr.a];
    else
      values[i] = apply(expr.op, values[expr.a], values[expr.b]);
  }
}

} // namespace sinter::rt
