// RUN: lumen-opt %s --split-input-file --lumen-gpu-print --verify-diagnostics

// What has no word in the language is named.

gpu.module @function {
  gpu.func @function(%x: memref<?xf32> {lumen.binding = 0 : i32}) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %0 = arith.constant 0 : index
    %a = memref.load %x[%0] : memref<?xf32>
    // expected-error @+1 {{math.cbrt cannot be written in OpenCL C}}
    %b = math.cbrt %a : f32
    gpu.return
  }
}

// -----

gpu.module @width {
  gpu.func @width(%x: memref<?xi32> {lumen.binding = 0 : i32}) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %0 = arith.constant 0 : index
    %a = memref.load %x[%0] : memref<?xi32>
    // expected-error @+1 {{values of i128 cannot be written in OpenCL C}}
    %b = arith.extsi %a : i32 to i128
    gpu.return
  }
}

// -----

// f16 are converted, never computed with.

gpu.module @half {
  gpu.func @half(%x: memref<?xf16> {lumen.binding = 0 : i32}) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %0 = arith.constant 0 : index
    %a = memref.load %x[%0] : memref<?xf16>
    // expected-error @+1 {{arith.addf cannot be written in OpenCL C}}
    %b = arith.addf %a, %a : f16
    gpu.return
  }
}

// -----

gpu.module @bit {
  gpu.func @bit(%x: memref<?xi1> {lumen.binding = 0 : i32}) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %0 = arith.constant 0 : index
    %a = memref.load %x[%0] : memref<?xi1>
    // expected-error @+1 {{arith.addi cannot be written in OpenCL C}}
    %b = arith.addi %a, %a : i1
    gpu.return
  }
}

// -----

gpu.module @atomic {
  gpu.func @atomic(%x: memref<?xi32> {lumen.binding = 0 : i32}) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %0 = arith.constant 0 : index
    %a = memref.load %x[%0] : memref<?xi32>
    // expected-error @+1 {{memref.atomic_rmw cannot be written in OpenCL C}}
    %b = memref.atomic_rmw mins %a, %x[%0] : (i32, memref<?xi32>) -> i32
    gpu.return
  }
}

// -----

// expected-error@+2 {{values of i128 cannot be written in OpenCL C}}
gpu.module @memory {
  gpu.func @memory(%x: memref<?xi128> {lumen.binding = 0 : i32}) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    gpu.return
  }
}

// -----

gpu.module @long {
  gpu.func @long(%x: memref<?xf32> {lumen.binding = 0 : i32}) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %0 = arith.constant 0 : index
    %a = memref.load %x[%0] : memref<?xf32>
    // expected-error @+1 {{values of vector<8xf32> cannot be written in OpenCL C}}
    %b = vector.broadcast %a : f32 to vector<8xf32>
    gpu.return
  }
}
