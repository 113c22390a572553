// Between the DSL and the emulated device: a session whose next compiled function is recorded.
#pragma once

#include "Programs.h"

#include "sinter/session.h"

namespace sinter::mutation {

/// The function that `session` compiles next is compiled for CUDA, its first step recorded to
/// `step`, which must outlive it. Nothing was compiled by the session before.
void recordNext(Session &session, RecordedStep &step);

} // namespace sinter::mutation
