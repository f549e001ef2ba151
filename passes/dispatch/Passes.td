//===- Passes.td - from tensors to kernels and a schedule -----------------===//
include "mlir/Pass/PassBase.td"

def FormKernels : Pass<"form-kernels", "::mlir::ModuleOp"> {
  let summary = "group operations into kernels and leave a schedule of launches";
  let description = [{
    Every group has at most one root: a contraction, convolution, window,
    reduction or normalisation. Elementwise operations join

    - the kernel of the root that produces their operand (epilogue), when they
      are its only use and have its result's shape, or
    - the kernel that consumes them (prologue), when they are its only use and
      the root reads each element about once (not a contraction or convolution).

    What remains elementwise forms kernels of its own. Reshape, concat and slice
    stay in the schedule: memory planning turns them into views where it can,
    and into copy kernels where it cannot. Transposes, pads and gathers are
    kernels, with elementwise consumers fused behind them.

    Constants that are not splats become arguments of their kernel.

    A kernel names its own symbols, `s0`, `s1`, ...; the launch gives their values in
    the schedule's. What the kernel sees as a whole only (`past + seq`) is one
    symbol. The schedule keeps its branches and loops; a group lies in one block and
    takes what it reads of outer ones as arguments.
  }];
  let dependentDialects = ["::lumen::dispatch::DispatchDialect"];
}

def DeduplicateKernels : Pass<"deduplicate-kernels", "::mlir::ModuleOp"> {
  let summary = "let equal kernels share one definition";
  let description = [{
    Kernels that differ only in name and locations are merged, so that a network
    with fifty equal layers compiles one kernel. Unused kernels are erased.
  }];
}

def VerifyDispatch : Pass<"verify-dispatch", "::mlir::ModuleOp"> {
  let summary = "check that only launches, views and control are left in the schedule";
  let description = [{
    A kernel names no symbols but its own.
  }];
}
