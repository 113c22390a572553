// Array::str(): the layout NumPy prints by default (precision 8, threshold
// 1000, three edge items, 75 columns).
#include "sinter/core/array.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace sinter::rt {
namespace {

constexpr int64_t threshold = 1000, edge = 3;
constexpr size_t lineWidth = 75;
constexpr int precision = 8;

/// The shortest digits that read back as the same element, at most `precision`
/// of them behind the point.
std::string shortest(double value, DType dtype, std::chars_format format) {
  char buffer[400];
  auto end = dtype == DType::F64
                 ? std::to_chars(buffer, std::end(buffer), value, format).ptr
                 : std::to_chars(buffer, std::end(buffer), float(value), format).ptr;
  std::string text(buffer, end);
  size_t point = text.find('.'), exponent = std::min(text.find('e'), text.size());
  if (point != std::string::npos && exponent - point - 1 > size_t(precision)) {
    end = std::to_chars(buffer, std::end(buffer), value, format, precision).ptr;
    text.assign(buffer, end);
    exponent = std::min(text.find('e'), text.size());
    size_t kept = text.find_last_not_of('0', exponent - 1) + 1;
    text.erase(kept, exponent - kept);
  }
  if (point == std::string::npos)
    text.insert(exponent, ".");
  return text;
}

/// Turns the elements that will be seen into strings of one width.
class Formatter {
public:
  Formatter(const Array &array, const std::vector<int64_t> &positions) : array(array) {
    if (isFloat(array.dtype()))
      chooseFloatFormat(positions);
    size_t whole = 0; // the longest word without a point, e.g. "nan": it spans both sides
    for (int64_t position : positions) {
      std::string text = raw(position);
      size_t split = splitAt(text);
      if (split == text.size()) {
        whole = std::max(whole, text.size());
        continue;
      }
      left = std::max(left, split);
      right = std::max(right, text.size() - split);
    }
    left = std::max(left + right, whole) - right;
  }

  std::string operator()(int64_t position) const {
    std::string text = raw(position);
    size_t split = splitAt(text);
    bool whole = split == text.size();
    size_t before = whole ? left + right - text.size() : left - split;
    text.insert(0, before, ' ');
    text.resize(left + right, ' ');
    return text;
  }

private:
  /// Small and large values together are written with exponents.
  void chooseFloatFormat(const std::vector<int64_t> &positions) {
    double most = 0, least = std::numeric_limits<double>::infinity();
    for (int64_t position : positions)
      if (double value = std::abs(array.floatAt(position)); std::isfinite(value) && value != 0)
        most = std::max(most, value), least = std::min(least, value);
    exponents = most >= 1e8 || (most > 0 && (least < 1e-4 || most / least > 1000));
    if (!exponents)
      return;
    for (int64_t position : positions)
      if (std::isfinite(array.floatAt(position))) {
        std::string text = raw(position);
        digits = std::max(digits, text.find('e') - text.find('.') - 1);
      }
  }

  std::string raw(int64_t position) const {
    if (array.dtype() == DType::Bool)
      return array.integerAt(position) ? "True" : "False";
    if (!isFloat(array.dtype()))
      return std::to_string(array.integerAt(position));
    double value = array.floatAt(position);
    if (std::isnan(value))
      return "nan";
    if (std::isinf(value))
      return value < 0 ? "-inf" : "inf";
    if (!exponents)
      return shortest(value, array.dtype(), std::chars_format::fixed);
    std::string text = shortest(value, array.dtype(), std::chars_format::scientific);
    size_t end = text.find('e'), has = end - text.find('.') - 1;
    return text.insert(end, digits > has ? digits - has : 0, '0');
  }

  size_t splitAt(const std::string &text) const { return std::min(text.find('.'), text.size()); }

  const Array &array;
  bool exponents = false;
  size_t digits = 0;          ///< behind the point, when exponents are written
  size_t left = 0, right = 0; ///< widths before the point, and from it on
};

class Printer {
public:
  explicit Printer(const Array &array)
      : array(array), summarised(array.elements() > threshold), format(array, seen()) {}

  std::string print() {
    subArray(0, 0, "");
    return std::move(text);
  }

private:
  /// Calls `visit` with every index of the axis that is printed, and with -1
  /// for the dots between.
  template <class Visit> void indices(int64_t size, Visit visit) const {
    bool cut = summarised && size > 2 * edge;
    for (int64_t i = 0; i < size; ++i) {
      if (cut && i == edge) {
        visit(-1);
        i = size - edge;
      }
      visit(i);
    }
  }

  std::vector<int64_t> seen() const {
    std::vector<int64_t> positions = {0};
    for (int64_t dim : array.dims()) {
      std::vector<int64_t> next;
      for (int64_t outer : positions)
        indices(dim, [&](int64_t i) {
          if (i >= 0)
            next.push_back(outer * dim + i);
        });
      positions = std::move(next);
    }
    return positions;
  }

  void subArray(int64_t axis, int64_t position, const std::string &indent) {
    if (axis == array.rank()) {
      text += format(position);
      return;
    }
    int64_t dim = array.dims()[axis];
    text += '[';
    if (axis + 1 == array.rank()) {
      row(position, dim, indent + " ");
    } else {
      bool first = true;
      indices(dim, [&](int64_t i) {
        if (!first)
          text += std::string(array.rank() - axis - 1, '\n') + indent + " ";
        first = false;
        if (i < 0)
          text += "...";
        else
          subArray(axis + 1, position * dim + i, indent + " ");
      });
    }
    text += ']';
  }

  void row(int64_t position, int64_t dim, const std::string &indent) {
    size_t column = indent.size();
    bool first = true;
    indices(dim, [&](int64_t i) {
      std::string word = i < 0 ? "..." : format(position * dim + i);
      if (!first && column + 1 + word.size() > lineWidth - 1) {
        text += "\n" + indent;
        column = indent.size();
      } else if (!first) {
        text += ' ';
        ++column;
      }
      text += word;
      column += word.size();
      first = false;
    });
  }

  const Array &array;
  bool summarised;
  Formatter format;
  std::string text;
};

} // namespace

std::string Array::str() const {
  if (!storage)
    return "<no array>";
  return elements() == 0 ? "[]" : Printer(*this).print();
}

} // namespace sinter::rt
