//===- GpuKernel.h - the frame in which a GPU kernel is built ----*- C++ -*-===//
//
// What SPIR-V, PTX, HIP and Metal share: one gpu.module of one gpu.func per kernel, in
// arith, math, memref, scf and gpu operations, from which each target goes its own way.
//
// A launch has `grid` work units and any number of workgroups; the workgroups stride over
// the units, so that no limit of a device on grids matters. The arguments of the function,
// each with its number in `lumen.binding`:
//
//   0..A-1  the kernel's arguments and results: memref<?xT>, T signless
//   A       memref<?xi32>: the units, the number of workgroups, per argument the bytes
//           before its first element, and the values of the kernel's sizes
//   A+1     memref<?xT>, one for each T that the kernel keeps there: scratch memory, where
//           there is any
//   next    memref<?xi32>: the record of the run's first fault, where one can happen
//
// lumen_abi_gpu_launch has the same from the driver's side.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_CODEGEN_GPU_GPUKERNEL_H
#define LUMEN_CODEGEN_GPU_GPUKERNEL_H

#include "codegen/loops/LoopEmitter.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace lumen::gpucode {

using loops::LoopEmitter;
using loops::Values;

/// The attribute of an argument with the number of its binding.
inline constexpr llvm::StringLiteral kBinding = "lumen.binding";
/// That of one whose memory others may be too: a result and the arguments that it may lie over.
inline constexpr llvm::StringLiteral kAliased = "lumen.aliased";

/// What builders may ask of a device.
struct Capabilities : loops::Capabilities {
  Capabilities() {
    vectorBytes = 0; // each thread works on single elements
    indexBits = 32;
    parallelUnits = 1 << 14;
  }

  bool hasDoubles = true;         ///< f64; without it functions of f32 are the device's own
  int64_t maxThreads = 128;       ///< of a workgroup
  int64_t sharedBytes = 16 << 10; ///< workgroup memory
  int64_t scratchBytes = 8 << 20; ///< of a workgroup: some must fit a device at a time
};

/// How a kernel is launched; see lumen_abi_gpu_launch.
struct GpuLaunch {
  /// Work units. More than 32 bits count where that holds for anything that the kernel
  /// counts, so that whoever launches it finds out by this number alone.
  SymExpr grid = 1;
  int64_t block = 1;
  int64_t unitsPerWorkgroup = 1;
  int64_t sharedSize = 0;
  int64_t scratchSize = 0; ///< of a workgroup
  bool hasFaults = false;

  /// The same, for whoever loads the kernel's code as data.
  void describe(KernelBinary &binary, LaunchShape &shape) const;
};

/// One kernel under construction.
struct GpuKernel : loops::LoopKernel {
  GpuKernel(dispatch::KernelOp op, const Capabilities &caps, mlir::gpu::GPUFuncOp function,
            mlir::OpBuilder builder, SizeValues &sizes)
      : LoopKernel(op, caps, builder, sizes), device(caps), function(function) {}

  const Capabilities &device;
  mlir::gpu::GPUFuncOp function;
  mlir::Value units, numWorkgroups; ///< index: of the launch
  mlir::Value workgroup, thread;    ///< index: which this is
  GpuLaunch launch;

  /// Memory that the threads of a workgroup share: memref<elements x type, workgroup>. A type
  /// may be a vector.
  mlir::Value allocateShared(mlir::Type type, int64_t elements);

  /// The memory of an argument as vectors of `lanes` elements, which accesses number: a
  /// memref<?xvector<lanes x T>>. Only where `isAligned` holds does one begin where the
  /// argument does.
  mlir::Value vectorsOf(const Access &argument, int64_t lanes);
  /// Whether the argument begins at a multiple of so many bytes, at most LUMEN_ALIGNMENT.
  mlir::Value isAligned(const Access &argument, int64_t bytes);

  /// Waits until all threads of the workgroup are here, and sees what they wrote to shared
  /// memory. All of them must come here, equally often.
  void barrier() { barrier(builder); }
  void barrier(mlir::OpBuilder &at) { mlir::gpu::BarrierOp::create(at, loc); }

  /// Calls `body` with the numbers below `count`, which the threads of the workgroup share out
  /// among them, neighbours to neighbours.
  void shareNumbers(LoopEmitter &emit, mlir::Value count,
                    llvm::function_ref<void(LoopEmitter &, mlir::Value number)> body);
  void shareNumbers(LoopEmitter &emit, int64_t count,
                    llvm::function_ref<void(LoopEmitter &, mlir::Value number)> body) {
    shareNumbers(emit, emit.constant(count), body);
  }

  /// Calls `body` with every unit of this thread, where each thread does units of its own.
  void emitThreadUnits(llvm::function_ref<void(LoopEmitter &, mlir::Value unit)> body);
  /// Calls `body` with every unit of this workgroup, whose threads work together.
  void emitWorkgroupUnits(llvm::function_ref<void(LoopEmitter &, mlir::Value unit)> body);

  /// Arguments of the function that are the memory of others, by whose number.
  llvm::SmallVector<std::pair<unsigned, mlir::BlockArgument>> vectorViews;

private:
  void emitUnits(mlir::Value first, mlir::Value step,
                 llvm::function_ref<void(LoopEmitter &, mlir::Value unit)> body);
};

/// Fills in the kernel's body, and `launch`. On failure a diagnostic was emitted. What a
/// builder may assume is said at loops::KernelBuilder.
using KernelBuilder = mlir::LogicalResult (*)(GpuKernel &);

// By family.
mlir::LogicalResult buildAttention(GpuKernel &);
mlir::LogicalResult buildElementwise(GpuKernel &); ///< and movement
mlir::LogicalResult buildWindow(GpuKernel &);
mlir::LogicalResult buildProduct(GpuKernel &); ///< contractions and convolutions
mlir::LogicalResult buildReduction(GpuKernel &);
mlir::LogicalResult buildNormalization(GpuKernel &);
// By operation.
mlir::LogicalResult buildAccumulate(GpuKernel &);
mlir::LogicalResult buildNonzero(GpuKernel &);
mlir::LogicalResult buildRecurrence(GpuKernel &);
mlir::LogicalResult buildSort(GpuKernel &);
/// By the loops that compute the family on a CPU: a unit for each thread.
mlir::LogicalResult buildThreads(GpuKernel &);

/// Makes the gpu.func of one kernel in a gpu.module of its name at the end of `module`, in
/// the form above. On failure a diagnostic was emitted at the kernel.
mlir::FailureOr<GpuLaunch> buildKernel(dispatch::KernelOp kernel, const Capabilities &caps,
                                       mlir::ModuleOp module);

/// Replaces views of scratch memory, and adds to every access the offset of its argument:
/// what is left are loads and stores of the function's arguments.
void flattenMemory(GpuKernel &kernel);

/// Loads the dialects that kernels are made of.
void prepareContext(mlir::MLIRContext &context);

} // namespace lumen::gpucode

#endif // LUMEN_CODEGEN_GPU_GPUKERNEL_H
