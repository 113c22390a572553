#include "Results.h"

#include "sinter/core/file.h"
#include "sinter/core/json.h"

#include <cerrno>
#include <cmath>

namespace sinter::gpucheck {

void Record::key(std::string_view name) {
  fields += (fields.empty() ? "" : ", ") + rt::jsonQuote(name) + ": ";
}

Record &Record::add(std::string_view name, std::string_view text) {
  key(name);
  fields += rt::jsonQuote(text);
  return *this;
}

Record &Record::add(std::string_view name, double number) {
  char text[32] = "null";
  if (std::isfinite(number))
    std::snprintf(text, sizeof text, "%.9g", number);
  key(name);
  fields += text;
  return *this;
}

Record &Record::add(std::string_view name, int64_t number) {
  key(name);
  fields += std::to_string(number);
  return *this;
}

Results::~Results() {
  if (file)
    std::fclose(file); // every record was flushed
}

Status Results::open(const std::string &name) {
  path = name;
  file = std::fopen(path.c_str(), "a");
  return file ? Status() : rt::ioError("open", path, errno);
}

Status Results::write(const Record &record) {
  if (!file)
    return {};
  std::string text = record.text();
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size() || std::fflush(file) != 0)
    return rt::ioError("write", path, errno);
  return {};
}

} // namespace sinter::gpucheck
