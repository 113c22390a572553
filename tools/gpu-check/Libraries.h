// cuBLASLt and cuDNN on a card: found, opened, and right on a small product and convolution.
#pragma once

#include "sinter/cuda/library.h"

#include <string>

namespace sinter::gpucheck {

struct LibraryVerdict {
  std::string version; ///< "cuBLASLt 13.1.0"; empty: not opened
  Status status;       ///< NotFound: it is not on this machine
  double worst = 0;    ///< largest error, as a share of the bound
};

/// A product of f32 matrices against the host's, all candidates.
LibraryVerdict checkMatmulLibrary(rt::CudaDevice &device, const rt::CudaLibraryOptions &options);
/// A convolution of f32 images against the host's, all candidates.
LibraryVerdict checkConvolutionLibrary(rt::CudaDevice &device,
                                       const rt::CudaLibraryOptions &options);

} // namespace sinter::gpucheck
