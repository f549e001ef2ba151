// RUN: lumen-opt %s --split-input-file --lumen-gpu-build --lumen-spirv-lower | FileCheck %s

// One module for a kernel, with its bindings in set 0.

// CHECK-LABEL: spirv.module @__spv__add Logical GLSL450 requires #spirv.vce<v1.0, [Shader
// CHECK-DAG: bind(0, 0) {{.*}}!spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>
// CHECK-DAG: bind(0, 3) : !spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0])>, StorageBuffer>
// Drivers must not reassociate.
// CHECK: spirv.FAdd {{.*}}no_contraction
// CHECK: spirv.EntryPoint "GLCompute" @add
// CHECK: spirv.ExecutionMode @add "LocalSize", 64, 1, 1
dispatch.kernel @add(%x: tensor<64xf32>, %y: tensor<64xf32>) -> tensor<64xf32> {
  %0 = lumen.binary <add> %x, %y : tensor<64xf32>
  dispatch.yield %0 : tensor<64xf32>
}

// -----

// A module declares what its types need, which a device must have.

// CHECK-LABEL: spirv.module @__spv__narrow
// CHECK-SAME: StorageBuffer8BitAccess
dispatch.kernel @narrow(%x: tensor<64xi8>) -> tensor<64xi8> {
  %0 = lumen.unary <neg> %x : tensor<64xi8> -> tensor<64xi8>
  dispatch.yield %0 : tensor<64xi8>
}

// -----

// Vulkan does not define the remainder of negative numbers.

// CHECK-LABEL: spirv.module @__spv__rest
// CHECK-NOT: SRem
// CHECK: spirv.SDiv
// CHECK: spirv.IMul
// CHECK: spirv.ISub
dispatch.kernel @rest(%x: tensor<64xi32>, %y: tensor<64xi32>) -> tensor<64xi32> {
  %0 = lumen.binary <rem> %x, %y : tensor<64xi32>
  dispatch.yield %0 : tensor<64xi32>
}

// -----

// Shared memory is a variable of the workgroup.

// CHECK-LABEL: spirv.module @__spv__total
// CHECK: spirv.GlobalVariable {{.*}} : !spirv.ptr<!spirv.struct<(!spirv.array<64 x f32>)>, Workgroup>
// CHECK: spirv.ControlBarrier <Workgroup>, <Workgroup>
dispatch.kernel @total(%x: tensor<1000xf32>) -> tensor<f32> {
  %0 = lumen.reduce <sum> %x [0] : tensor<1000xf32> -> tensor<f32>
  dispatch.yield %0 : tensor<f32>
}

// -----

// A result may lie over an argument that is read where it is written, and the memory model
// takes variables for different memory unless they say otherwise.

// CHECK-LABEL: spirv.module @__spv__scale
// CHECK-DAG: bind(0, 0) {aliased} : {{.*}}f32
// CHECK-DAG: spirv.GlobalVariable {{.*}} bind(0, 1) :
// CHECK-DAG: bind(0, 2) {aliased} : {{.*}}f32
// CHECK-DAG: spirv.GlobalVariable {{.*}} bind(0, 3) :
dispatch.kernel @scale(%x: tensor<64xf32>, %y: tensor<1xf32>) -> tensor<64xf32> {
  %0 = lumen.broadcast %y [0] : tensor<1xf32> -> tensor<64xf32>
  %1 = lumen.binary <mul> %x, %0 : tensor<64xf32>
  dispatch.yield %1 : tensor<64xf32>
}

// -----

// One that is read elsewhere never does.

// CHECK-LABEL: spirv.module @__spv__turn
// CHECK-NOT: aliased
// CHECK: spirv.EntryPoint
dispatch.kernel @turn(%x: tensor<8x4xf32>) -> tensor<4x8xf32> {
  %0 = lumen.transpose %x [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
  dispatch.yield %0 : tensor<4x8xf32>
}

// -----

// What is converted to an integer lies in its range, on both sides; NaN does not pass either
// comparison, where Vulkan would leave the result undefined.

// CHECK-LABEL: spirv.module @__spv__whole
// CHECK-DAG: %[[LOW:.*]] = spirv.Constant 0.000000e+00 : f32
// CHECK-DAG: %[[HIGH:.*]] = spirv.Constant 4.29496704E+9 : f32
// CHECK: spirv.FOrdGreaterThanEqual %{{.*}}, %[[LOW]]
// CHECK: %[[ABOVE:.*]] = spirv.FOrdGreaterThanEqual %[[X:.*]], %[[LOW]]
// CHECK-NEXT: %[[RAISED:.*]] = spirv.Select %[[ABOVE]], %[[X]], %[[LOW]]
// CHECK-NEXT: %[[BELOW:.*]] = spirv.FOrdLessThanEqual %[[RAISED]], %[[HIGH]]
// CHECK-NEXT: %[[INSIDE:.*]] = spirv.Select %[[BELOW]], %[[RAISED]], %[[HIGH]]
// CHECK: spirv.ConvertFToU %[[INSIDE]]
dispatch.kernel @whole(%x: tensor<64xf32>) -> tensor<64xui32> {
  %0 = lumen.convert %x : tensor<64xf32> -> tensor<64xui32>
  dispatch.yield %0 : tensor<64xui32>
}

// -----

// Indices of 32 bits are checked without numbers of 64, which not all devices have.

// CHECK-LABEL: spirv.module @__spv__picks
// CHECK-SAME: requires #spirv.vce<v1.0, [Shader, Matrix],
// CHECK: spirv.AtomicIAdd
dispatch.kernel @picks(%x: tensor<9x2xf32>, %i: tensor<4xi32>) -> tensor<4x2xf32> {
  %0 = lumen.gather %x, %i {axis = 0 : i64} : tensor<9x2xf32>, tensor<4xi32> -> tensor<4x2xf32>
  dispatch.yield %0 : tensor<4x2xf32>
}
