// Where samples come from.
//
// A Dataset is immutable: any number of loader threads call `at` at once. It is
// shared by pointer; samples may point into its storage.
#pragma once

#include "sinter/core/array.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sinter::rt::data {

/// The fields of one example, e.g. {image, label}.
using Sample = std::vector<Array>;

class Dataset {
public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  /// Sample `index` of [0, size()), the same each time. An error should name the
  /// file and the offset of what could not be read.
  virtual StatusOr<Sample> at(int64_t index) const = 0;
  /// Changes when the samples or their order change; kept in checkpoints, so
  /// that a run is not resumed on other data. May be slow.
  virtual uint64_t fingerprint() const = 0;
};

/// Arrays in memory that share their first dimension; sample i is row i of each, not copied.
class ArrayDataset : public Dataset {
public:
  /// An error unless all arrays have a first dimension, the same one.
  static StatusOr<std::shared_ptr<const ArrayDataset>> make(std::vector<Array> arrays);

  int64_t size() const override { return fields.front().dim(0); }
  StatusOr<Sample> at(int64_t index) const override;
  uint64_t fingerprint() const override;
  const std::vector<Array> &arrays() const { return fields; }

private:
  explicit ArrayDataset(std::vector<Array> arrays) : fields(std::move(arrays)) {}

  std::vector<Array> fields;
};

/// Samples {image u8[1, 28, 28], label i64[]}.
struct Mnist {
  std::shared_ptr<const ArrayDataset> train, test;
};

/// Reads the four files of MNIST (or of a data set in its form, e.g.
/// Fashion-MNIST) from `directory`, plain or with .gz; checks shapes and labels.
StatusOr<Mnist> mnist(const std::string &directory);

} // namespace sinter::rt::data
