#include "Arrays.h"

#include "sinter/base/float16.h"
#include "sinter/base/text.h"
#include "sinter/core/npy.h"
#include "sinter/core/safetensors.h"

#include <charconv>
#include <random>

namespace sinter::tools {

std::pair<std::string, std::string> splitArgument(const std::string &argument) {
  size_t equals = argument.find('=');
  if (equals == argument.npos)
    return {"", argument};
  return {argument.substr(0, equals), argument.substr(equals + 1)};
}

StatusOr<std::map<std::string, int64_t>> parseSizes(const std::vector<std::string> &arguments) {
  std::map<std::string, int64_t> sizes;
  for (const std::string &argument : arguments) {
    auto [symbol, size] = splitArgument(argument);
    int64_t value = 0;
    auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), value);
    if (symbol.empty() || size.empty() || error != std::errc() ||
        end != size.data() + size.size() || value < 0)
      return makeError(Code::InvalidArgument, "--dim ", argument, " is not <symbol>=<size>");
    sizes[symbol] = value;
  }
  return sizes;
}

/// A copy: views into files may be unaligned, and are read only.
static StatusOr<rt::Array> copyOf(const rt::TensorView &view) {
  auto array = rt::Array::allocate(view.dtype, view.dims);
  if (array.ok())
    array->copyFrom(view.data, view.bytes);
  return array;
}

StatusOr<std::vector<NamedArray>> readArrays(const std::string &argument) {
  auto [name, path] = splitArgument(argument);
  std::vector<NamedArray> arrays;
  auto add = [&](const std::string &as, const rt::TensorView &view) {
    auto array = copyOf(view);
    if (array.ok())
      arrays.push_back({as, *std::move(array)});
    return array.status();
  };
  if (path.ends_with(".npy")) {
    auto npy = rt::readNpy(path);
    SINTER_RETURN_IF_ERROR(npy.status());
    SINTER_RETURN_IF_ERROR(add(name, npy->view));
    return arrays;
  }
  if (!path.ends_with(".safetensors"))
    return makeError(Code::InvalidArgument, path, " ends neither in .npy nor in .safetensors");
  auto file = rt::readSafetensors(path);
  SINTER_RETURN_IF_ERROR(file.status());
  if (!name.empty()) {
    const rt::TensorView *tensor = file->find(name);
    if (!tensor)
      return makeError(Code::NotFound, path, " holds no tensor '", name, "'");
    SINTER_RETURN_IF_ERROR(add(name, *tensor));
    return arrays;
  }
  for (const rt::TensorView &tensor : file->tensors)
    SINTER_RETURN_IF_ERROR(add(tensor.name, tensor));
  return arrays;
}

static rt::TensorView viewOf(const NamedArray &array) {
  return {array.name, array.value.dtype(), array.value.dims(),
          static_cast<const std::byte *>(array.value.data()), size_t(array.value.bytes())};
}

Status writeArrays(const std::string &path, const std::vector<NamedArray> &arrays) {
  if (path.ends_with(".npy"))
    return rt::writeNpy(path, viewOf(arrays.at(0)));
  if (!path.ends_with(".safetensors"))
    return makeError(Code::InvalidArgument, path, " ends neither in .npy nor in .safetensors");
  std::vector<rt::TensorView> views;
  for (const NamedArray &array : arrays)
    views.push_back(viewOf(array));
  return rt::writeSafetensors(path, std::move(views));
}

std::string portType(const sinter_port &port) {
  std::string text = concat(name(DType(port.dtype)), "[");
  for (int32_t i = 0; i < port.rank; ++i) {
    const sinter_dim &dim = port.dims[i];
    text += concat(i ? ", " : "", dim.symbol ? dim.symbol : std::to_string(dim.size));
  }
  return text + "]";
}

rt::Array randomArray(DType dtype, rt::Dims dims, uint64_t seed) {
  rt::Array array = rt::Array::empty(dtype, std::move(dims));
  std::mt19937_64 generator(seed);
  auto fill = [&]<class T>(T *to, auto make) {
    for (int64_t i = 0; i < array.elements(); ++i)
      to[i] = T(make(generator() >> 40));
  };
  auto fraction = [](uint64_t bits) { return float(bits) / float(1 << 24); };
  auto bit = [](uint64_t bits) { return bits & 1; };
  void *data = array.data();
  if (dtype == DType::F64)
    fill(static_cast<double *>(data), fraction);
  else if (dtype == DType::F32)
    fill(static_cast<float *>(data), fraction);
  else if (dtype == DType::F16)
    fill(static_cast<uint16_t *>(data), [&](uint64_t bits) { return floatToHalf(fraction(bits)); });
  else if (dtype == DType::BF16)
    fill(static_cast<uint16_t *>(data),
         [&](uint64_t bits) { return floatToBFloat16(fraction(bits)); });
  else if (byteSize(dtype) == 8)
    fill(static_cast<int64_t *>(data), bit);
  else if (byteSize(dtype) == 4)
    fill(static_cast<int32_t *>(data), bit);
  else if (byteSize(dtype) == 2)
    fill(static_cast<int16_t *>(data), bit);
  else
    fill(static_cast<int8_t *>(data), bit);
  return array;
}

} // namespace sinter::tools
