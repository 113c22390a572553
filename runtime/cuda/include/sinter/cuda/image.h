// Compiled kernels of one module in several forms, which of them suits a card and a driver, and
// which driver a form needs. Pure functions over borrowed bytes; any thread, no GPU needed.
//
// Rules, from NVIDIA's "CUDA C++ Programming Guide" (binary and PTX compatibility) and "CUDA
// Compatibility": a cubin runs on cards of its own major capability with the same or a later minor
// one; PTX is compiled by the driver for any later card; "a" forms run on their own card only and
// "f" forms on their family. A cubin needs the first driver of its toolkit's major version; PTX
// needs the driver of its ISA version or a later one.
#pragma once

#include "sinter/base/status.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sinter::rt {

struct CudaImage {
  enum class Kind { Cubin, Ptx, Fatbin };
  Kind kind = Kind::Ptx;
  std::string_view architecture; ///< "sm_90", "sm_90a"; empty for a fatbin, which holds several
  std::span<const std::byte> bytes;
  /// Version of the toolkit that made a cubin or fatbin, 1000 major + 10 minor; 0: not known.
  int toolkit = 0;
};

/// A card's compute capability, 10 major + minor: 90 for an H200.
struct CudaArchitecture {
  int capability = 0;
  char suffix = 0; ///< 'a', 'f' or 0
};
std::optional<CudaArchitecture> parseArchitecture(std::string_view text);

/// The index of the image to load: the cubin closest to the card, else a fatbin, else the newest
/// PTX. Only images that `driverVersion` can load are taken; the error lists what there is and
/// what card or driver is needed.
StatusOr<size_t> chooseImage(std::span<const CudaImage> images, int capability, int driverVersion);

/// The oldest driver (as cuDriverGetVersion tells it) that loads the image; 0 if it cannot be told.
int neededDriver(const CudaImage &image);

/// The text's ISA version, 10 major + minor ("`.version 7.8`" is 78); 0 if there is none.
int ptxVersion(std::string_view text);
/// First CUDA version whose driver compiles that PTX ISA version; 0 if not in the table.
int cudaOfPtx(int isa);

/// "PTX ISA 8.4", "cubin of CUDA 12.8 for sm_90"
std::string describeForm(const CudaImage &image);
std::string formatCudaVersion(int version); ///< 12040: "12.4"
/// The Linux driver branch that came with a CUDA version: "R550"; "a newer driver" if not known.
std::string_view driverBranch(int cudaVersion);

} // namespace sinter::rt
