#include "sinter/data/dataset.h"

#include "sinter/base/text.h"
#include "sinter/core/hash.h"
#include "sinter/data/idx.h"

#include <filesystem>

namespace sinter::rt::data {

StatusOr<std::shared_ptr<const ArrayDataset>> ArrayDataset::make(std::vector<Array> arrays) {
  if (arrays.empty())
    return makeError(Code::InvalidArgument, "a data set needs at least one array");
  for (const Array &array : arrays)
    if (!array || array.rank() == 0 || array.dim(0) != arrays.front().dim(0))
      return makeError(Code::InvalidArgument,
                       "the arrays of a data set must agree in their first "
                       "dimension, the number of samples: ",
                       arrays.front() ? arrays.front().type() : "none", " and ",
                       array ? array.type() : "none", " do not");
  return std::shared_ptr<const ArrayDataset>(new ArrayDataset(std::move(arrays)));
}

StatusOr<Sample> ArrayDataset::at(int64_t index) const {
  Sample sample;
  sample.reserve(fields.size());
  for (const Array &field : fields)
    sample.push_back(
        field.rows(index, index + 1).reshape({field.dims().begin() + 1, field.dims().end()}));
  return sample;
}

uint64_t ArrayDataset::fingerprint() const {
  uint64_t hash = 0;
  for (const Array &field : fields)
    hash =
        hashBytes(field.data(), static_cast<size_t>(field.bytes()), hashText(field.type(), hash));
  return hash;
}

static StatusOr<Array> readEither(const std::string &directory, const std::string &name) {
  std::string plain = (std::filesystem::path(directory) / name).string();
  std::error_code ignored;
  for (const std::string &path : {plain, plain + ".gz"})
    if (std::filesystem::exists(path, ignored))
      return readIdx(path);
  return makeError(Code::NotFound, "neither ", plain, " nor ", plain,
                   ".gz is there; give the directory that holds the four MNIST files");
}

static StatusOr<std::shared_ptr<const ArrayDataset>> readDigits(const std::string &directory,
                                                                const std::string &part) {
  std::string imageName = part + "-images-idx3-ubyte", labelName = part + "-labels-idx1-ubyte";
  StatusOr<Array> images = readEither(directory, imageName);
  if (!images.ok())
    return images.status();
  StatusOr<Array> labels = readEither(directory, labelName);
  if (!labels.ok())
    return labels.status();
  auto wrong = [&](const std::string &name, const std::string &what) {
    return makeError(Code::Corrupt, directory, "/", name, ": ", what, "; is this a file of MNIST?");
  };
  if (images->dtype() != DType::U8 || images->rank() != 3 || images->dim(1) != 28 ||
      images->dim(2) != 28)
    return wrong(imageName, "expected images u8[n, 28, 28], found " + images->type());
  if (labels->dtype() != DType::U8 || labels->rank() != 1 || labels->dim(0) != images->dim(0))
    return wrong(labelName,
                 concat("expected labels u8[", images->dim(0), "], found ", labels->type()));
  for (int64_t i = 0; i < labels->elements(); ++i)
    if (int64_t label = labels->integerAt(i); label > 9)
      return wrong(labelName, concat("label ", i, " is ", label, ", not a digit"));
  return ArrayDataset::make(
      {images->reshape({images->dim(0), 1, 28, 28}), labels->cast(DType::I64)});
}

StatusOr<Mnist> mnist(const std::string &directory) {
  auto train = readDigits(directory, "train");
  if (!train.ok())
    return train.status();
  auto test = readDigits(directory, "t10k");
  if (!test.ok())
    return test.status();
  return Mnist{*train, *test};
}

} // namespace sinter::rt::data
