#include "sinter/cuda/image.h"

#include "sinter/base/text.h"

#include <algorithm>
#include <charconv>

namespace sinter::rt {
namespace {

/// PTX ISA version, CUDA release, Linux driver branch. The first two columns are the "Release
/// Notes" table of NVIDIA's PTX ISA reference, as its cuda-python package gives them too
/// (cuda.bindings.utils); the third is the branch of the driver in each toolkit's release notes.
struct Release {
  int isa, cuda;
  std::string_view branch;
};
constexpr Release releases[] = {
    {70, 11000, "R450"}, {71, 11010, "R455"}, {72, 11020, "R460"}, {73, 11030, "R465"},
    {74, 11040, "R470"}, {75, 11050, "R495"}, {76, 11060, "R510"}, {77, 11070, "R515"},
    {78, 11080, "R520"}, {80, 12000, "R525"}, {81, 12010, "R530"}, {82, 12020, "R535"},
    {83, 12030, "R545"}, {84, 12040, "R550"}, {85, 12050, "R555"}, {86, 12070, "R565"},
    {87, 12080, "R570"}, {88, 12090, "R575"}, {90, 13000, "R580"}, {91, 13010, "R590"},
};

std::string_view textOf(const CudaImage &image) {
  return {reinterpret_cast<const char *>(image.bytes.data()), image.bytes.size()};
}

std::string_view kindName(CudaImage::Kind kind) {
  switch (kind) {
  case CudaImage::Kind::Cubin:
    return "cubin";
  case CudaImage::Kind::Ptx:
    return "PTX";
  case CudaImage::Kind::Fatbin:
    return "fatbin";
  }
  return "image";
}

bool runsOn(const CudaImage &image, int capability) {
  if (image.kind == CudaImage::Kind::Fatbin)
    return true; // the driver looks into it
  std::optional<CudaArchitecture> made = parseArchitecture(image.architecture);
  if (!made)
    return false;
  bool sameMajor = made->capability / 10 == capability / 10;
  if (made->suffix == 'a')
    return made->capability == capability;
  if (made->suffix == 'f' || image.kind == CudaImage::Kind::Cubin)
    return sameMajor && made->capability <= capability;
  return made->capability <= capability;
}

/// What is tried first has the larger rank.
int rankOf(const CudaImage &image) {
  constexpr int kindStep = 10000;
  std::optional<CudaArchitecture> made = parseArchitecture(image.architecture);
  int closeness = made ? 2 * made->capability + (made->suffix != 0) : 0;
  switch (image.kind) {
  case CudaImage::Kind::Cubin:
    return 2 * kindStep + closeness;
  case CudaImage::Kind::Fatbin:
    return kindStep;
  case CudaImage::Kind::Ptx:
    return closeness;
  }
  return closeness;
}

std::string listImages(std::span<const CudaImage> images) {
  std::string text;
  for (const CudaImage &image : images)
    text += concat(text.empty() ? "" : ", ", kindName(image.kind),
                   image.architecture.empty() ? "" : " ", image.architecture);
  return text.empty() ? "nothing" : text;
}

std::string formatCapability(int capability) {
  return concat(capability / 10, ".", capability % 10);
}

Status refuseDriver(const CudaImage &image, int needed, int driverVersion) {
  return makeError(Code::Unsupported, "the kernels are ", describeForm(image),
                   ", which needs a driver for CUDA ", formatCudaVersion(needed), " (",
                   driverBranch(needed), ") or later, and this one supports CUDA ",
                   formatCudaVersion(driverVersion),
                   ": update the driver, or compile for an older one");
}

} // namespace

std::optional<CudaArchitecture> parseArchitecture(std::string_view text) {
  for (std::string_view prefix : {"sm_", "compute_"})
    if (text.starts_with(prefix)) {
      text.remove_prefix(prefix.size());
      CudaArchitecture result;
      const char *end = text.data() + text.size();
      auto [next, error] = std::from_chars(text.data(), end, result.capability);
      if (error != std::errc() || result.capability < 10 || result.capability > 999)
        return std::nullopt;
      if (next != end && (*next == 'a' || *next == 'f'))
        result.suffix = *next++;
      return next == end ? std::optional(result) : std::nullopt;
    }
  return std::nullopt;
}

StatusOr<size_t> chooseImage(std::span<const CudaImage> images, int capability, int driverVersion) {
  std::optional<size_t> best, tooNew;
  for (size_t i = 0; i < images.size(); ++i) {
    if (!runsOn(images[i], capability))
      continue;
    std::optional<size_t> &slot = neededDriver(images[i]) <= driverVersion ? best : tooNew;
    bool older = &slot == &tooNew; // of what no driver here loads, the least demanding is named
    if (!slot || (older ? neededDriver(images[i]) < neededDriver(images[*slot])
                        : rankOf(images[i]) > rankOf(images[*slot])))
      slot = i;
  }
  if (best)
    return *best;
  if (tooNew)
    return refuseDriver(images[*tooNew], neededDriver(images[*tooNew]), driverVersion);
  return makeError(Code::Unsupported, "the card is sm_", capability, " (compute capability ",
                   formatCapability(capability), ") and the kernels are compiled for ",
                   listImages(images), ": compile with --target=cuda:sm_", capability);
}

int neededDriver(const CudaImage &image) {
  if (image.kind == CudaImage::Kind::Ptx)
    return cudaOfPtx(ptxVersion(textOf(image)));
  return image.toolkit / 1000 * 1000; // minor versions are compatible both ways
}

int ptxVersion(std::string_view text) {
  constexpr std::string_view directive = ".version";
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (!line.starts_with(directive))
      continue;
    line.remove_prefix(directive.size());
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    int major = 0, minor = 0;
    const char *last = line.data() + line.size();
    auto [next, error] = std::from_chars(line.data(), last, major);
    if (error != std::errc() || next == last || *next != '.' || major > 99)
      return 0;
    error = std::from_chars(next + 1, last, minor).ec;
    return error == std::errc() && minor < 10 ? 10 * major + minor : 0;
  }
  return 0;
}

int cudaOfPtx(int isa) {
  for (const Release &release : releases)
    if (release.isa == isa)
      return release.cuda;
  return isa && isa < releases[0].isa ? releases[0].cuda : 0;
}

std::string describeForm(const CudaImage &image) {
  if (image.kind == CudaImage::Kind::Ptx)
    return concat("PTX ISA ", formatCapability(ptxVersion(textOf(image))));
  return concat(kindName(image.kind),
                image.toolkit ? concat(" of CUDA ", formatCudaVersion(image.toolkit)) : "",
                image.architecture.empty() ? "" : " for ", image.architecture);
}

std::string formatCudaVersion(int version) {
  return concat(version / 1000, ".", version % 1000 / 10);
}

std::string_view driverBranch(int cudaVersion) {
  for (const Release &release : releases)
    if (release.cuda >= cudaVersion)
      return release.branch;
  return "a newer driver";
}

} // namespace sinter::rt
