// A strict reader for the small JSON texts inside our files: RFC 8259, UTF-8
// checked, nothing allocated but the strings asked for, no recursion. It is
// pulled by whoever knows what must come next:
//
//   JsonReader json(text, "weights.safetensors", 8);
//   std::string key;
//   for (json.beginObject(); json.nextKey(key);)
//     ...
//   return json.finish();
//
// The first mistake sticks: from then on every call returns false or an empty
// value, and `finish` and `status` tell what it was and at which byte of the
// file. Reads a text it does not own; one thread.
#pragma once

#include "sinter/base/status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sinter::rt {

class JsonReader {
public:
  /// `origin` names the file in errors; `offset` is where `text` starts in it.
  JsonReader(std::string_view text, std::string_view origin, size_t offset = 0)
      : text(text), origin(origin), offset(offset) {}

  bool beginObject() { return begin('{'); }
  /// True with the next key, its value to be read next; false behind the last one.
  bool nextKey(std::string &key);
  bool beginArray() { return begin('['); }
  /// True when another element is to be read; false behind the last one.
  bool nextElement();

  std::string readString();
  int64_t readInteger(); ///< an error for fractions, exponents and what exceeds an int64_t
  bool readBoolean();

  /// Checks that nothing but white space follows.
  Status finish();
  bool ok() const { return error.ok(); }
  const Status &status() const { return error; }
  /// Makes `what` the error unless there is one; `at` is a value of `position`.
  void fail(std::string_view what, size_t at) { fail(Code::Corrupt, what, kDamaged, at); }
  /// As `fail`, for what is in order but not for us; `remedy` says what to do.
  void refuse(std::string_view what, std::string_view remedy, size_t at) {
    fail(Code::Unsupported, what, remedy, at);
  }
  /// Byte of the file that comes next.
  size_t position() const { return offset + at; }

private:
  static constexpr std::string_view kDamaged =
      "the file is damaged or was not written by a conforming program: write or copy it again";

  void fail(Code code, std::string_view what, std::string_view remedy, size_t at);
  bool begin(char bracket);
  bool next(char closing);
  bool accept(char c);
  void expect(char c, std::string_view what);
  void skipSpace();
  void readEscape(std::string &result);
  uint32_t readHex4();

  std::string_view text;
  std::string origin;
  size_t offset;
  size_t at = 0;
  bool first = false; ///< just behind an opening bracket
  Status error;
};

/// `text` as a JSON string, with its quotes.
std::string jsonQuote(std::string_view text);
/// Position of the first byte that is not UTF-8; text.size() if all is well.
size_t validUtf8(std::string_view text);

} // namespace sinter::rt
