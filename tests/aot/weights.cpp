// Writes the weights of the test packages: fixed, of about the size that training leaves.
#include "sinter/core/array.h"
#include "sinter/core/safetensors.h"

#include <cmath>
#include <cstdio>

using namespace sinter;

namespace {

struct Variable {
  const char *name;
  rt::Dims dims;
};

int write(const std::string &path, const std::vector<Variable> &variables) {
  std::vector<rt::Array> values;
  std::vector<rt::TensorView> views;
  for (const Variable &variable : variables) {
    rt::Array value = rt::Array::empty(DType::F32, variable.dims);
    float scale = 1 / std::sqrt(float(value.elements() / variable.dims[0]));
    for (int64_t i = 0; i < value.elements(); ++i)
      value.data<float>()[i] = scale * float(std::sin(double(i) * 1.7 + double(values.size())));
    values.push_back(value);
    views.push_back({variable.name, DType::F32, variable.dims,
                     static_cast<const std::byte *>(value.data()), size_t(value.bytes())});
  }
  Status status = rt::writeSafetensors(path, views);
  if (!status.ok())
    std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  std::string folder = argc > 1 ? argv[1] : ".";
  return write(folder + "/mlp.safetensors", {{"hidden.weight", {16, 8}},
                                             {"hidden.bias", {16}},
                                             {"head.weight", {4, 16}},
                                             {"head.bias", {4}}}) |
         write(folder + "/digits.safetensors", {{"conv0.weight", {32, 1, 3, 3}},
                                                {"conv1.weight", {64, 32, 3, 3}},
                                                {"head.weight", {10, 3136}},
                                                {"head.bias", {10}}});
}
