//===- Passes.td - where every value of the schedule lives ----------------===//
include "mlir/Pass/PassBase.td"

def PlaceViews : Pass<"place-views", "::mlir::ModuleOp"> {
  let summary = "turn reshape, slice, concat and cast into views, or into copy kernels";
  let description = [{
    Decides for each reshape, slice and concat of the schedule whether its result
    can share memory with its operands: a reshape of a contiguous value is the
    same memory; a slice is a strided part of it; the operands of a concat are
    written in place into the result, when each is made in the same block by a kernel
    whose result may be strided and has no other fixed place. Kernels get the strides
    of what they read and write as `dispatch.strides`. Where sharing is impossible, a
    copy kernel is made. Offsets and strides are expressions where sizes are.

    What a branch or a trip of a loop yields, and what a loop begins with, fills a
    storage of its own, which is handed on; else it is copied. Each trip writes its
    part of a scan output in place where the number of trips is known before the
    loop.
  }];
  let dependentDialects = ["::lumen::dispatch::DispatchDialect"];
}

def PlanBuffers : Pass<"plan-buffers", "::mlir::ModuleOp"> {
  let summary = "give every value of the schedule a place in memory";
  let description = [{
    Live ranges over the order of the schedule; values that share memory (views,
    in-place elementwise results) form one slot. Slots of static sizes are packed
    into one arena by the best of several orders. Where a size depends on the
    inputs' shapes, each slot is a storage of its own with its live range, which the
    runtime packs for each shape. A size that only the run knows is planned at its
    bound over the inputs' shapes, or its memory comes from the heap: taken before
    the first writer, given back behind the last reader.

    What a loop reads of the values around it lives to the loop's end. Branches write
    their results into the same storage. A carried value has two storages that are
    exchanged after each trip, unless the body works in place; in the heap, the
    memory moves. Constants are placed in the weights region, equal ones once.

    The schedule is rewritten from tensors to buffers, with `dispatch.branch` and
    `dispatch.repeat` for `lumen.if` and `lumen.loop`. If all sizes are static, the
    module gets `lumen.arena_size`, `lumen.arena_lower_bound` (the peak of live bytes,
    which no plan can beat) and `lumen.bytes_without_sharing`.
  }];
  let dependentDialects = ["::lumen::dispatch::DispatchDialect"];
}

def VerifyNoTensors : Pass<"verify-no-tensors", "::mlir::ModuleOp"> {
  let summary = "check that the schedule works on buffers only";
}
