// The functions that kernels call; they forward to the runner of the thread's block.
#pragma once

#include "sinter/abi/emu.h"

namespace sinter::rt::emu {

extern const sinter_emu_services services;

} // namespace sinter::rt::emu
