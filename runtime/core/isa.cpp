#include "sinter/core/isa.h"

#include <algorithm>
#include <array>

namespace sinter::rt {
namespace {

constexpr std::array<std::string_view, 3> names = {"x86-64-v3", "x86-64-v4", "x86-64-v4-bf16"};

struct Feature {
  std::string_view name;
  int rank; ///< of the smallest set that has it
  bool present;
};

#if defined(__x86_64__)
#define SINTER_FEATURE(name, rank) {name, rank, bool(__builtin_cpu_supports(name))}
std::array<Feature, 13> features() {
  __builtin_cpu_init();
  return {{SINTER_FEATURE("avx", 0), SINTER_FEATURE("avx2", 0), SINTER_FEATURE("bmi", 0),
           SINTER_FEATURE("bmi2", 0), SINTER_FEATURE("f16c", 0), SINTER_FEATURE("fma", 0),
           SINTER_FEATURE("lzcnt", 0), SINTER_FEATURE("avx512f", 1), SINTER_FEATURE("avx512bw", 1),
           SINTER_FEATURE("avx512cd", 1), SINTER_FEATURE("avx512dq", 1),
           SINTER_FEATURE("avx512vl", 1), SINTER_FEATURE("avx512bf16", 2)}};
}
#undef SINTER_FEATURE
#else
std::array<Feature, 1> features() { return {{{"an x86-64 processor", 0, false}}}; }
#endif

} // namespace

std::span<const std::string_view> isaNames() { return names; }

int isaRank(std::string_view isa) {
  auto found = std::find(names.begin(), names.end(), isa);
  return found == names.end() ? -1 : int(found - names.begin());
}

std::string missingForIsa(std::string_view isa) {
  int rank = isaRank(isa);
  if (rank < 0)
    return std::string(isa);
  std::string missing;
  for (const Feature &feature : features())
    if (feature.rank <= rank && !feature.present)
      missing += (missing.empty() ? "" : ", ") + std::string(feature.name);
  return missing;
}

std::string_view bestIsa() {
  for (size_t i = names.size(); i-- > 0;)
    if (missingForIsa(names[i]).empty())
      return names[i];
  return "";
}

} // namespace sinter::rt
