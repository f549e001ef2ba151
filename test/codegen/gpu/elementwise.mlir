// RUN: lumen-opt %s --split-input-file --lumen-gpu-build | FileCheck %s

// A thread computes an element; workgroups stride over the elements, and every access adds
// the offset that the parameters give for its argument.

// CHECK-LABEL: gpu.module @square
// CHECK-SAME: lumen.grid = "105"
// CHECK-SAME: lumen.units_per_workgroup = 64
// CHECK: gpu.func @square(
// The result may lie over the argument.
// CHECK-SAME: %[[X:.*]]: memref<?xf32> {lumen.aliased, lumen.binding = 0 : i32}
// CHECK-SAME: %[[Y:.*]]: memref<?xf32> {lumen.aliased, lumen.binding = 1 : i32}
// CHECK-SAME: %[[P:.*]]: memref<?xi32> {lumen.binding = 2 : i32}
// CHECK-SAME: kernel attributes {known_block_size = array<i32: 64, 1, 1>}
// CHECK: memref.load %[[P]][%{{.*}}] : memref<?xi32>
// CHECK: %[[BLOCK:.*]] = gpu.block_id
// CHECK: scf.for %[[UNIT:.*]] =
// CHECK: %[[FROM:.*]] = arith.addi %[[UNIT]], %{{.*}} : index
// CHECK: %[[V:.*]] = memref.load %[[X]][%[[FROM]]]
// CHECK: %[[S:.*]] = arith.mulf %[[V]], %[[V]] : f32
// CHECK: %[[TO:.*]] = arith.addi %[[UNIT]], %{{.*}} : index
// CHECK: memref.store %[[S]], %[[Y]][%[[TO]]]
dispatch.kernel @square(%x: tensor<3x5x7xf32>) -> tensor<3x5x7xf32> {
  %0 = lumen.binary <mul> %x, %x : tensor<3x5x7xf32>
  dispatch.yield %0 : tensor<3x5x7xf32>
}

// -----

// Sizes that the run knows come behind the offsets.

// CHECK-LABEL: gpu.module @open
// CHECK-SAME: lumen.grid = "4*n"
// CHECK-COUNT-2: arith.divui
// CHECK-NEXT: %[[FIRST:.*]] = arith.constant 4 : index
// CHECK-NEXT: %[[N:.*]] = memref.load %{{.*}}[%[[FIRST]]] : memref<?xi32>
dispatch.kernel @open(%x: tensor<?xf32, #lumen.dims<["n"]>>) -> tensor<?x4xf32, #lumen.dims<["n", "4"]>> attributes {dispatch.sizes = ["n"]} {
  %0 = lumen.broadcast %x [0] : tensor<?xf32, #lumen.dims<["n"]>> -> tensor<?x4xf32, #lumen.dims<["n", "4"]>>
  %1 = lumen.unary <neg> %0 : tensor<?x4xf32, #lumen.dims<["n", "4"]>> -> tensor<?x4xf32, #lumen.dims<["n", "4"]>>
  dispatch.yield %1 : tensor<?x4xf32, #lumen.dims<["n", "4"]>>
}

// -----

// What reads elements at indices of the model tells the host of one that lies outside: in
// the scratch memory of its thread first, then in the record of the run.

// CHECK-LABEL: gpu.module @picks
// CHECK-SAME: lumen.scratch = 4096
// CHECK: gpu.func @picks(
// CHECK-SAME: %[[FAULTS:[^:]*]]: memref<?xi32> {lumen.binding = 5 : i32}
// CHECK-SAME: memref<?xi32> {lumen.binding = 4 : i32})
// CHECK: memref.atomic_rmw addi %{{.*}}, %[[FAULTS]]
dispatch.kernel @picks(%x: tensor<9x2xf32>, %i: tensor<4xi64>) -> tensor<4x2xf32> {
  %0 = lumen.gather %x, %i {axis = 0 : i64} : tensor<9x2xf32>, tensor<4xi64> -> tensor<4x2xf32>
  dispatch.yield %0 : tensor<4x2xf32>
}

// -----

// Units may be few where elements are many: the grid fits 32 bits only where all that the
// kernel counts does.

// CHECK-LABEL: gpu.module @far
// CHECK-SAME: lumen.grid = "max(2, 2147483648*floordiv(m*n + 16384, 536870912))"
dispatch.kernel @far(%x: tensor<?x?x4xi8, #lumen.dims<["n", "m", "4"]>>, %i: tensor<2xi32>) -> tensor<2xi8> attributes {dispatch.sizes = ["n", "m"]} {
  %0 = lumen.reshape %x : tensor<?x?x4xi8, #lumen.dims<["n", "m", "4"]>> -> tensor<?xi8, #lumen.dims<["4*n*m"]>>
  %1 = lumen.gather %0, %i {axis = 0 : i64} : tensor<?xi8, #lumen.dims<["4*n*m"]>>, tensor<2xi32> -> tensor<2xi8>
  dispatch.yield %1 : tensor<2xi8>
}
