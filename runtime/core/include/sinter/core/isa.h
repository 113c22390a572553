// The named instruction sets that code is compiled for, and which of them this
// CPU (and its operating system) runs. Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sinter::rt {

/// From the smallest to the largest; each contains those before it.
std::span<const std::string_view> isaNames();
/// What the CPU lacks for `isa`: "avx512f, avx512bw"; "" if nothing. An unknown
/// name is lacking itself.
std::string missingForIsa(std::string_view isa);
/// Place in isaNames(), -1 if unknown.
int isaRank(std::string_view isa);
/// The largest this CPU runs; "" if not even the smallest.
std::string_view bestIsa();

} // namespace sinter::rt
