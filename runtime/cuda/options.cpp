// Options of CUDA devices as text.
#include "sinter/base/text.h"
#include "sinter/cuda/platform.h"

#include <array>
#include <charconv>
#include <optional>

namespace sinter::rt {
namespace {

/// "8G", "512M", "1048576"; nothing if it is no number of bytes.
std::optional<int64_t> parseBytes(std::string_view text) {
  int64_t value = 0;
  const char *end = text.data() + text.size();
  auto [next, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || value < 0)
    return std::nullopt;
  std::string_view unit(next, end);
  int shift = unit.empty()  ? 0
              : unit == "K" ? 10
              : unit == "M" ? 20
              : unit == "G" ? 30
              : unit == "T" ? 40
                            : -1;
  if (shift < 0 || value > (INT64_MAX >> shift))
    return std::nullopt;
  return value << shift;
}

Status refuse(std::string_view option, std::string_view value, std::string_view wanted) {
  return makeError(Code::InvalidArgument, option, "=", value, ": give ", wanted);
}

Status setMemory(CudaMemory &memory, std::string_view value) {
  if (value.find('.') != value.npos) {
    double fraction = 0;
    const char *end = value.data() + value.size();
    auto [next, error] = std::from_chars(value.data(), end, fraction);
    if (error != std::errc() || next != end || !(fraction > 0 && fraction <= 1))
      return refuse("--device-memory", value, "a share above 0 and up to 1.0, or bytes as in 8G");
    memory.limitBytes = 0;
    memory.fraction = fraction;
    return {};
  }
  std::optional<int64_t> bytes = parseBytes(value);
  if (!bytes || *bytes == 0)
    return refuse("--device-memory", value, "bytes as in 8G, or a share of the card as in 0.5");
  memory.limitBytes = *bytes;
  return {};
}

Status setFlag(bool &flag, std::string_view option, std::string_view value) {
  if (value != "on" && value != "off")
    return refuse(option, value, "on or off");
  flag = value == "on";
  return {};
}

/// "0:4G,4G"
Status setLogicalDevices(CudaOptions &options, std::string_view value) {
  constexpr std::string_view wanted = "a card and a limit for each of its devices, as in 0:4G,4G";
  size_t colon = value.find(':');
  int card = 0;
  if (colon == value.npos)
    return refuse("--logical-devices", value, wanted);
  auto [next, error] = std::from_chars(value.data(), value.data() + colon, card);
  if (error != std::errc() || next != value.data() + colon || card < 0)
    return refuse("--logical-devices", value, wanted);
  std::vector<CudaMemory> memories;
  for (std::string_view rest = value.substr(colon + 1);;) {
    size_t comma = std::min(rest.find(','), rest.size());
    std::optional<int64_t> bytes = parseBytes(rest.substr(0, comma));
    if (!bytes || *bytes == 0)
      return refuse("--logical-devices", value, wanted);
    memories.push_back({*bytes, options.memory.fraction, options.memory.grow});
    if (comma == rest.size())
      break;
    rest.remove_prefix(comma + 1);
  }
  options.logicalDevices[card] = std::move(memories);
  return {};
}

Status apply(CudaOptions &options, std::string_view option, std::string_view value) {
  if (option == "--device-memory")
    return setMemory(options.memory, value);
  if (option == "--device-memory-growth")
    return setFlag(options.memory.grow, option, value);
  if (option == "--device-sync")
    return setFlag(options.deviceSync, option, value);
  if (option == "--logical-devices")
    return setLogicalDevices(options, value);
  if (option == "--cuda-driver")
    options.driver = value;
  else if (option == "--cuda-libraries")
    options.libraries = value;
  else if (std::optional<int64_t> bytes = parseBytes(value); option != "--staging-memory")
    return makeError(Code::NotFound, "no option ", option,
                     " of CUDA devices: there are --device-memory, --device-memory-growth, "
                     "--device-sync, --staging-memory, --logical-devices, --cuda-driver and "
                     "--cuda-libraries");
  else if (!bytes || *bytes == 0)
    return refuse(option, value, "bytes, as in 64M");
  else
    options.stagingBytes = *bytes;
  return {};
}

} // namespace

Status CudaPlatform::setOption(std::string_view option) {
  std::lock_guard lock(mutex);
  size_t equals = std::min(option.find('='), option.size());
  std::string_view name = option.substr(0, equals);
  std::string_view value =
      equals == option.size() ? std::string_view("on") : option.substr(equals + 1);
  CudaOptions changed = current;
  SINTER_RETURN_IF_ERROR(apply(changed, name, value));
  if (changed == current)
    return {};
  SINTER_RETURN_IF_ERROR(refuseIfInUse(name));
  return configureLocked(changed);
}

} // namespace sinter::rt
