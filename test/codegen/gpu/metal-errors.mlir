// RUN: lumen-opt %s --split-input-file --lumen-gpu-print=metal --verify-diagnostics

// There are no doubles, whose kernels the host runs, and fewer functions than elsewhere.

gpu.module @doubles {
  gpu.func @doubles(%x: memref<?xf32> {lumen.binding = 0 : i32}) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %0 = arith.constant 0 : index
    %a = memref.load %x[%0] : memref<?xf32>
    // expected-error @+1 {{values of f64 cannot be written in Metal}}
    %b = arith.extf %a : f32 to f64
    gpu.return
  }
}

// -----

gpu.module @function {
  gpu.func @function(%x: memref<?xf32> {lumen.binding = 0 : i32}) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %0 = arith.constant 0 : index
    %a = memref.load %x[%0] : memref<?xf32>
    // expected-error @+1 {{math.erf cannot be written in Metal}}
    %b = math.erf %a : f32
    gpu.return
  }
}
