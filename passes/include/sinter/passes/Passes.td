// The compiler's passes, in pipeline order, and why each exists.
#ifndef SINTER_PASSES_TD
#define SINTER_PASSES_TD

include "mlir/Pass/PassBase.td"

def SimplifyPass : Pass<"sinter-simplify", "::mlir::func::FuncOp"> {
  let summary = "Folds, removes what is computed twice or never used, and lets contractions read their operands transposed";
  let description = [{
    Runs between the other passes, so that each of them may build the plainest graph and leave the tidying to one place:
    gradients repeat parts of the forward pass, decompositions repeat each other's statistics, layouts leave pairs of
    transposes.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def GradientPass : Pass<"sinter-gradient", "::mlir::func::FuncOp"> {
  let summary = "Expands every gradients op by walking backwards from its value";
  let description = [{
    Differentiation happens on the graph, once, before anything is fused or laid out, so that forward and backward are
    optimised together. Requests are expanded in program order: a later one may differentiate what an earlier one built.
    An op that has no gradient of its own but can be decomposed is replaced by its parts first.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def DecomposePass : Pass<"sinter-decompose", "::mlir::func::FuncOp"> {
  let summary = "Writes softmax, normalisations, losses and the like in pointwise ops, reductions and contractions";
  let description = [{
    Fusion and code generation then know a handful of kinds of op, and join parts with whatever surrounds them. Runs after
    gradients, which prefer the compact formulas of the whole ops.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def LayoutPass : Pass<"sinter-layout", "::mlir::func::FuncOp"> {
  let summary = "Keeps images channels last from one convolution to the next";
  let description = [{
    Convolutions are fastest with channels along vector lanes. The pass follows values in program order: a convolution that
    prefers it works channels last, and whatever uses its result does so too where that saves moving data, through
    pointwise ops, reductions, padding and pooling. Transposes remain where the order of elements is visible: at
    arguments, results, variables and reshapes.
  }];
  let options = [Option<"report", "report", "bool", "false", "Remark on every transpose that remains">];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def FlattenPass : Pass<"sinter-flatten", "::mlir::func::FuncOp"> {
  let summary = "Flattens images as they lie in front of a linear layer, and permutes its weight instead";
  let description = [{
    Where images become the rows of a matrix, the order of their elements is visible, and the layout pass leaves a transpose
    of the whole batch, forward and backward. Permuting the weight, and its gradient back, moves far less.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def RecomputePass : Pass<"sinter-recompute", "::mlir::func::FuncOp"> {
  let summary = "Computes cheap values again in the backward pass instead of keeping them";
  let description = [{
    Masks, activations and normalised values are a few instructions away from values that are kept anyway. Keeping them too
    costs a write, a read and their memory between forward and backward; computing them again inside the kernel that uses
    them costs next to nothing. Runs after the last simplification, which would undo it, and before fusion, which makes it
    pay.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def FusionPass : Pass<"sinter-fusion", "::mlir::func::FuncOp"> {
  let summary = "Joins ops into groups that become one kernel each";
  let description = [{
    A training step is bound by memory traffic and launches more than by arithmetic: every value that stays inside a kernel is
    neither written nor read again. Groups are target-neutral; codegen decides how each is scheduled.
  }];
  let options = [
    Option<"fuse", "fuse", "bool", "true", "Join ops; false makes a group of each op">,
    Option<"collapse", "collapse", "bool", "true", "Join dimensions that a group treats alike">,
    Option<"report", "report", "bool", "false", "Print every group and every refusal to fuse, with its reason">,
  ];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

#endif
