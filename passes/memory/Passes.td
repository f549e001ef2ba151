//===- Passes.td - where every value of the schedule lives ----------------===//
include "mlir/Pass/PassBase.td"

def PlaceViews : Pass<"place-views", "::mlir::ModuleOp"> {
  let summary = "turn reshape, slice and concat into views, or into copy kernels";
  let description = [{
    Decides for each reshape, slice and concat of the schedule whether its result
    can share memory with its operands: a reshape of a contiguous value is the
    same memory; a slice is a strided part of it; the operands of a concat are
    written in place into the result, when each is made by a kernel whose result
    may be strided and has no other fixed place. Kernels get the strides of what
    they read and write as `dispatch.strides`. Where sharing is impossible, a copy
    kernel is made.
  }];
  let dependentDialects = ["::lumen::dispatch::DispatchDialect"];
}

def PlanBuffers : Pass<"plan-buffers", "::mlir::ModuleOp"> {
  let summary = "give every value of the schedule a place in one arena";
  let description = [{
    Live ranges over the order of launches; values that share memory (views,
    in-place elementwise results) form one slot; slots are packed into one arena
    by the best of several orders. Constants are placed in the weights region,
    equal ones once. The schedule is rewritten from tensors to buffers.

    The module gets `lumen.arena_size`, `lumen.arena_lower_bound` (the peak of
    live bytes, which no plan can beat) and `lumen.bytes_without_sharing`.
  }];
  let dependentDialects = ["::lumen::dispatch::DispatchDialect"];
}

def VerifyNoTensors : Pass<"verify-no-tensors", "::mlir::ModuleOp"> {
  let summary = "check that the schedule works on buffers only";
}
