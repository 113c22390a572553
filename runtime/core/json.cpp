#include "sinter/core/json.h"

#include "sinter/base/text.h"

#include <charconv>

namespace sinter::rt {

void JsonReader::fail(Code code, std::string_view what, std::string_view remedy, size_t where) {
  if (error.ok())
    error = makeError(code, origin, ": byte ", where, ": ", what, "; ", remedy);
  at = text.size();
}

void JsonReader::skipSpace() {
  while (at < text.size() &&
         (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r'))
    ++at;
}

bool JsonReader::accept(char c) {
  skipSpace();
  if (!ok() || at >= text.size() || text[at] != c)
    return false;
  ++at;
  return true;
}

void JsonReader::expect(char c, std::string_view what) {
  if (!accept(c))
    fail("expected " + std::string(what), position());
}

bool JsonReader::begin(char bracket) {
  expect(bracket, bracket == '{' ? "an object" : "an array");
  first = true;
  return ok();
}

/// Steps to the next member of an object or array.
bool JsonReader::next(char closing) {
  bool wasFirst = std::exchange(first, false);
  if (!ok() || accept(closing))
    return false;
  if (!wasFirst)
    expect(',', closing == '}' ? "',' or '}'" : "',' or ']'");
  return ok();
}

bool JsonReader::nextKey(std::string &key) {
  if (!next('}'))
    return false;
  key = readString();
  expect(':', "':'");
  return ok();
}

bool JsonReader::nextElement() { return next(']'); }

uint32_t JsonReader::readHex4() {
  uint32_t value = 0;
  const char *begin = text.data() + at;
  if (text.size() - at < 4 || std::from_chars(begin, begin + 4, value, 16).ptr != begin + 4) {
    fail("\\u wants four hexadecimal digits", position());
    return 0;
  }
  at += 4;
  return value;
}

static void appendUtf8(std::string &out, uint32_t c) {
  auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((c >> shift) & 0x3f)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | (c >> 6)), tail(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | (c >> 12)), tail(6), tail(0);
  } else {
    out += static_cast<char>(0xf0 | (c >> 18)), tail(12), tail(6), tail(0);
  }
}

void JsonReader::readEscape(std::string &result) {
  static constexpr std::string_view kNames = "\"\\/bfnrt", kValues = "\"\\/\b\f\n\r\t";
  size_t start = position();
  char c = at < text.size() ? text[at++] : '\0';
  if (size_t index = kNames.find(c); index != std::string_view::npos) {
    result += kValues[index];
    return;
  }
  if (c != 'u')
    return fail("unknown escape in a string", start);
  uint32_t code = readHex4();
  if (code >= 0xd800 && code < 0xdc00 && text.substr(at, 2) == "\\u") { // first half of a pair
    at += 2;
    uint32_t low = readHex4();
    code =
        low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : 0xd800;
  }
  if (code >= 0xd800 && code < 0xe000)
    return fail("half a surrogate pair in a string", start);
  appendUtf8(result, code);
}

std::string JsonReader::readString() {
  std::string result;
  expect('"', "a string");
  size_t start = position();
  while (ok() && at < text.size()) {
    char c = text[at++];
    if (c == '"') {
      if (validUtf8(result) == result.size())
        return result;
      fail("a string is not UTF-8", start);
    } else if (c == '\\') {
      readEscape(result);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fail("control character in a string", position() - 1);
    } else {
      result += c;
    }
  }
  fail("a string without its closing quote", start);
  return {};
}

int64_t JsonReader::readInteger() {
  skipSpace();
  int64_t value = 0;
  const char *begin = text.data() + at, *end = text.data() + text.size();
  auto [stop, code] = std::from_chars(begin, end, value);
  const char *digits = begin < end && *begin == '-' ? begin + 1 : begin;
  bool leadingZero = stop - digits > 1 && *digits == '0';
  bool fraction = stop < end && (*stop == '.' || *stop == 'e' || *stop == 'E');
  if (!ok() || code != std::errc() || leadingZero || fraction) {
    fail("expected an integer of 64 bits", position());
    return 0;
  }
  at = static_cast<size_t>(stop - text.data());
  return value;
}

bool JsonReader::readBoolean() {
  skipSpace();
  for (bool value : {true, false}) {
    std::string_view word = value ? "true" : "false";
    if (ok() && text.substr(at, word.size()) == word) {
      at += word.size();
      return value;
    }
  }
  fail("expected true or false", position());
  return false;
}

Status JsonReader::finish() {
  skipSpace();
  if (at < text.size())
    fail("unexpected text behind the end", position());
  return error;
}

std::string jsonQuote(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\', result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += "\\u00", result += kDigits[c >> 4], result += kDigits[c & 15];
    } else {
      result += c;
    }
  }
  return result + '"';
}

size_t validUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    unsigned char lead = static_cast<unsigned char>(text[at]);
    size_t length = lead < 0x80   ? 1
                    : lead < 0xc2 ? 0
                    : lead < 0xe0 ? 2
                    : lead < 0xf0 ? 3
                    : lead < 0xf5 ? 4
                                  : 0;
    if (length == 0 || text.size() - at < length)
      return at;
    for (size_t i = 1; i < length; ++i)
      if ((static_cast<unsigned char>(text[at + i]) & 0xc0) != 0x80)
        return at;
    unsigned char second = length > 1 ? static_cast<unsigned char>(text[at + 1]) : 0;
    // Overlong forms, surrogates, and what lies above U+10FFFF.
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second >= 0xa0) ||
        (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second >= 0x90))
      return at;
    at += length;
  }
  return text.size();
}

} // namespace sinter::rt
