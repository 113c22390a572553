// Lays a call out as tasks. `operands` are checked for number and types before;
// shapes are checked here. oneDNN's exceptions pass through.
#pragma once

#include "task_list.h"

namespace sinter::rt::onednn {

Status buildMatmul(const LibraryCall &call, const std::vector<Operand> &operands, TaskList &list);
/// Conv2d, Conv2dInputGrad and Conv2dWeightGrad. Activations have their
/// dimensions in the order of memory: [n, h, w, c] if channelsLast.
Status buildConvolution(const LibraryCall &call, const std::vector<Operand> &operands,
                        TaskList &list);

} // namespace sinter::rt::onednn
