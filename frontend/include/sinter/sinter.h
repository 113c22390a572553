// The DSL of sinter, whole. Models compile against this header alone; it shows nothing of the
// compiler. Documented use: namespace sn = sinter; using sn::Tensor;
#pragma once

#include "sinter/array.h"
#include "sinter/data.h"
#include "sinter/jit.h"
#include "sinter/layers.h"
#include "sinter/losses.h"
#include "sinter/module.h"
#include "sinter/ops/elementwise.h"
#include "sinter/ops/math.h"
#include "sinter/ops/shape.h"
#include "sinter/optim.h"
#include "sinter/package.h"
#include "sinter/session.h"
#include "sinter/tensor.h"
#include "sinter/types.h"
