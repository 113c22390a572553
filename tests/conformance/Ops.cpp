#include "Ops.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace llvm;

namespace sinter::conformance {

static std::string text(const json::Object &record, StringRef field) {
  return record.getString(field).value_or("").str();
}

static std::pair<double, double> parseRange(StringRef range) {
  auto [low, high] = range.split(',');
  double lower = -2, upper = 2;
  low.trim().getAsDouble(lower);
  high.trim().getAsDouble(upper);
  return {lower, upper};
}

/// Whether a TableGen record is of that class.
static bool isA(const json::Object &record, StringRef superclass) {
  const json::Array *classes = record.getArray("!superclasses");
  return classes && llvm::any_of(*classes, [&](const json::Value &name) {
           return name.getAsString() == superclass;
         });
}

static OpInfo opInfo(const json::Object &record, const json::Object &records) {
  OpInfo info{text(record, "opName"),
              text(record, "family"),
              parseRange(text(record, "inputRange")),
              text(record, "kinks"),
              {},
              {}};
  const json::Object *arguments = record.getObject("arguments");
  const json::Array *list = arguments ? arguments->getArray("args") : nullptr;
  for (const json::Value &argument : list ? *list : json::Array()) {
    const json::Array &pair = *argument.getAsArray();
    std::string constraint = text(*pair[0].getAsObject(), "def");
    if (isA(*records.getObject(constraint), "TypeConstraint"))
      info.operands.push_back(constraint);
    else
      info.attributes.push_back(pair[1].getAsString().value_or("").str());
  }
  return info;
}

std::optional<std::vector<OpInfo>> readOps(const std::string &path) {
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer) {
    errs() << path << ": " << buffer.getError().message()
           << "; build the target sinter_conformance_ops\n";
    return std::nullopt;
  }
  auto parsed = json::parse((*buffer)->getBuffer());
  if (!parsed) {
    errs() << path << ": " << toString(parsed.takeError()) << "\n";
    return std::nullopt;
  }
  const json::Object &records = *parsed->getAsObject();
  std::vector<OpInfo> ops;
  for (const json::Value &name : *records.getObject("!instanceof")->getArray("Sinter_Op"))
    ops.push_back(opInfo(*records.getObject(*name.getAsString()), records));
  std::sort(ops.begin(), ops.end(),
            [](const OpInfo &a, const OpInfo &b) { return a.mnemonic < b.mnemonic; });
  return ops;
}

} // namespace sinter::conformance
