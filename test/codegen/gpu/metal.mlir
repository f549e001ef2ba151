// RUN: lumen-opt %s --split-input-file --lumen-gpu-print=metal | FileCheck %s

// The words of Metal: what source.mlir shows is the same between them.

// CHECK: #include <metal_stdlib>
// CHECK-NEXT: using namespace metal;
// CHECK: constant int [[TABLE:table[0-9]+]][2] = {1, (-2)};
// CHECK: {{\[\[}}max_total_threads_per_threadgroup(32){{\]\]}} kernel void words(device float *b0 {{\[\[}}buffer(0){{\]\]}}, device short *b1 {{\[\[}}buffer(1){{\]\]}}, device int *b2 {{\[\[}}buffer(2){{\]\]}}, uint thread_id {{\[\[}}thread_index_in_threadgroup{{\]\]}}, uint group_id {{\[\[}}threadgroup_position_in_grid{{\]\]}}) {
// CHECK-NEXT: device char *[[BYTES:b2_[0-9]+]] = (device char *)b2;
// CHECK-NEXT: threadgroup float [[SHARED:shared[0-9]+]][32];
// CHECK: = thread_id;
// CHECK: = group_id;
// CHECK: threadgroup_barrier(mem_flags::mem_threadgroup);
// CHECK: const float [[X:v[0-9]+]] = b0[{{.*}}];
// CHECK: = as_type<int>([[X]]);
// CHECK: const short [[H:v[0-9]+]] = as_type<short>(half([[X]]));
// CHECK: = (float)float(as_type<half>([[H]]));
// CHECK: = atomic_fetch_add_explicit((device atomic_int *)&b2[0], {{.*}}, memory_order_relaxed);
gpu.module @words {
  memref.global "private" constant @table : memref<2xi32> = dense<[1, -2]>
  gpu.func @words(%x: memref<?xf32> {lumen.binding = 0 : i32}, %h: memref<?xf16> {lumen.binding = 1 : i32}, %a: memref<?xi32> {lumen.binding = 2 : i32}, %b: memref<?xi8> {lumen.binding = 2 : i32})
      workgroup(%shared: memref<32xf32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %0 = arith.constant 0 : index
    %thread = gpu.thread_id x
    %group = gpu.block_id x
    gpu.barrier
    %table = memref.get_global @table : memref<2xi32>
    %entry = memref.load %table[%0] : memref<2xi32>
    %v = memref.load %x[%thread] : memref<?xf32>
    %bits = arith.bitcast %v : f32 to i32
    %half = arith.truncf %v : f32 to f16
    %wide = arith.extf %half : f16 to f32
    %was = memref.atomic_rmw addi %entry, %a[%0] : (i32, memref<?xi32>) -> i32
    gpu.return
  }
}

// -----

// Vectors of up to four elements.

// CHECK: kernel void vectors(device float4 *b0
// CHECK: const float4 [[V:v[0-9]+]] = b0[0];
// CHECK: const float [[E:v[0-9]+]] = [[V]][2];
// CHECK: const float4 [[ALL:v[0-9]+]] = float4([[E]]);
// CHECK: const float2 [[MADE:v[0-9]+]] = float2([[E]], [[E]]);
// CHECK: = fma([[V]], [[ALL]], [[V]]);
gpu.module @vectors {
  gpu.func @vectors(%x: memref<?xvector<4xf32>> {lumen.binding = 0 : i32}) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %0 = arith.constant 0 : index
    %v = memref.load %x[%0] : memref<?xvector<4xf32>>
    %e = vector.extract %v[2] : f32 from vector<4xf32>
    %all = vector.broadcast %e : f32 to vector<4xf32>
    %made = vector.from_elements %e, %e : vector<2xf32>
    %fma = math.fma %v, %all, %v : vector<4xf32>
    gpu.return
  }
}
