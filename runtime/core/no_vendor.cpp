#include "sinter/core/library.h"

namespace sinter::rt {

const LibraryProvider *vendorLibrary() { return nullptr; }

} // namespace sinter::rt
