// Instances and tensors of an artifact, for tests of what it offers in C. One thread an object.
#pragma once

#include "sinter/abi/artifact.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sinter::aot {

/// An array with its dims, as the C interface takes it.
template <class T> struct Tensor {
  Tensor(std::vector<int64_t> dims, T value = T()) : dims(std::move(dims)) {
    int64_t elements = 1;
    for (int64_t dim : this->dims)
      elements *= dim;
    values.assign(size_t(elements), value);
  }
  operator sinter_tensor() {
    constexpr int dtype = std::is_same_v<T, float> ? SINTER_F32 : SINTER_I64;
    return {values.data(), dims.data(), int32_t(dims.size()), dtype};
  }
  std::vector<int64_t> dims;
  std::vector<T> values;
};

class Instance {
public:
  explicit Instance(const sinter_artifact_api *api, int threads = 1, const char *isa = nullptr)
      : api(api) {
    sinter_options options = SINTER_OPTIONS_INIT;
    options.threads = threads;
    options.isa = isa;
    EXPECT_EQ(api->create(api, &options, &instance), SINTER_OK) << api->last_error();
  }
  ~Instance() { api->destroy(instance); }
  Instance(const Instance &) = delete;
  operator sinter_instance *() const { return instance; }

  int tryRun(const char *entry, std::vector<sinter_tensor> inputs,
             std::vector<sinter_tensor> outputs) {
    return api->run(instance, api->find_entry(api, entry), inputs.data(), int32_t(inputs.size()),
                    outputs.data(), int32_t(outputs.size()));
  }
  void run(const char *entry, std::vector<sinter_tensor> inputs,
           std::vector<sinter_tensor> outputs) {
    ASSERT_EQ(tryRun(entry, std::move(inputs), std::move(outputs)), SINTER_OK) << api->last_error();
  }
  std::vector<float> variable(const char *name) {
    sinter_tensor view{};
    EXPECT_EQ(api->get_variable(instance, api->find_variable(api, name), &view), SINTER_OK)
        << api->last_error();
    size_t count = 1;
    for (int32_t i = 0; i < view.rank; ++i)
      count *= size_t(view.dims[i]);
    auto *first = static_cast<const float *>(view.data);
    return std::vector<float>(first, first + count);
  }

private:
  const sinter_artifact_api *api;
  sinter_instance *instance = nullptr;
};

/// Points for the mlp packages: 8 coordinates a row.
inline Tensor<float> points(int64_t rows, int seed = 0) {
  Tensor<float> x({rows, 8});
  for (size_t i = 0; i < x.values.size(); ++i)
    x.values[i] = float((int(i) * 37 + seed * 11) % 101) / 50 - 1;
  return x;
}

inline Tensor<int64_t> labels() {
  Tensor<int64_t> label({12});
  for (size_t i = 0; i < label.values.size(); ++i)
    label.values[i] = int64_t(i % 4);
  return label;
}

inline void expectWords(const std::string &text, std::initializer_list<const char *> words) {
  for (const char *word : words)
    EXPECT_NE(text.find(word), std::string::npos) << "no '" << word << "' in: " << text;
}

} // namespace sinter::aot
