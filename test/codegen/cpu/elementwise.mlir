// RUN: lumen-opt %s --split-input-file --lumen-cpu-build=level=x86-64-v4 | FileCheck %s
// RUN: lumen-opt %s --split-input-file --lumen-cpu-build=level=x86-64-v3 \
// RUN:   | FileCheck %s --check-prefix=V3

// Dimensions that every access walks alike become one, and its tail is masked
// where the level masks for nothing; elsewhere the tail is a loop of scalars.

// CHECK-LABEL: func.func @"merged.x86-64-v4"
// CHECK-SAME: lumen.grid = 1
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[A:.*]] = vector.load %{{.*}} : memref<?xf32>, vector<16xf32>
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[A]]
// CHECK: vector.store
// CHECK: scf.if
// CHECK: vector.maskedload %{{.*}}, %[[MASK:.*]], %{{.*}} : memref<?xf32>, vector<16xi1>
// CHECK: vector.maskedstore
// V3-LABEL: func.func @"merged.x86-64-v3"
// V3: vector.load %{{.*}} : memref<?xf32>, vector<8xf32>
// V3-NOT: masked
// V3: memref.load
// V3: memref.store
dispatch.kernel @merged(%x: tensor<3x5x7xf32>) -> tensor<3x5x7xf32> {
  %0 = lumen.unary <relu> %x : tensor<3x5x7xf32> -> tensor<3x5x7xf32>
  dispatch.yield %0 : tensor<3x5x7xf32>
}

// -----

// A bias keeps rows apart from channels; whole vectors need no tail.

// CHECK-LABEL: func.func @"bias.x86-64-v4"
// CHECK-SAME: lumen.grid = 49
// CHECK: vector.load
// CHECK: vector.load
// CHECK: arith.addf {{.*}} : vector<16xf32>
// CHECK-NOT: masked
dispatch.kernel @bias(%x: tensor<1x7x7x64xf32>, %b: tensor<64xf32>) -> tensor<1x7x7x64xf32> {
  %0 = lumen.broadcast %b [3] : tensor<64xf32> -> tensor<1x7x7x64xf32>
  %1 = lumen.binary <add> %x, %0 : tensor<1x7x7x64xf32>
  dispatch.yield %1 : tensor<1x7x7x64xf32>
}

// -----

// What no lane distinguishes is computed once, as a scalar.

// CHECK-LABEL: func.func @"scalar.x86-64-v4"
// CHECK: %[[S:.*]] = memref.load
// CHECK: %[[E:.*]] = math.exp %[[S]] : f32
// CHECK: vector.broadcast %[[E]] : f32 to vector<16xf32>
dispatch.kernel @scalar(%x: tensor<32xf32>, %s: tensor<f32>) -> tensor<32xf32> {
  %0 = lumen.unary <exp> %s : tensor<f32> -> tensor<f32>
  %1 = lumen.broadcast %0 [] : tensor<f32> -> tensor<32xf32>
  %2 = lumen.binary <mul> %x, %1 : tensor<32xf32>
  dispatch.yield %2 : tensor<32xf32>
}

// -----

// A concatenation is one nest per input, without a branch inside.

// CHECK-LABEL: func.func @"concat.x86-64-v4"
// CHECK-SAME: lumen.grid = 8
// CHECK: vector.load
// CHECK: vector.store
// CHECK: vector.load
// CHECK: math.absf
// CHECK: vector.store
// CHECK-NOT: scf.if
dispatch.kernel @concat(%a: tensor<4x32xf32>, %b: tensor<4x16xf32>) -> tensor<4x48xf32> {
  %0 = lumen.unary <abs> %b : tensor<4x16xf32> -> tensor<4x16xf32>
  %1 = lumen.concat %a, %0 {axis = 1 : i64} : tensor<4x32xf32>, tensor<4x16xf32> -> tensor<4x48xf32>
  dispatch.yield %1 : tensor<4x48xf32>
}

// -----

// Constants that are not splats become tables.

// CHECK: memref.global "private" constant @constant.0 : memref<3xf32> = dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]>
// CHECK-LABEL: func.func @"table.x86-64-v4"
// CHECK: memref.get_global @constant.0
dispatch.kernel @table(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = lumen.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %1 = lumen.binary <add> %x, %0 : tensor<3xf32>
  dispatch.yield %1 : tensor<3xf32>
}
