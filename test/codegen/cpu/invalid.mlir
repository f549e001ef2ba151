// RUN: not lumen-opt %s --split-input-file --lumen-cpu-build 2>&1 | FileCheck %s
// RUN: not lumen-opt %s --split-input-file --lumen-cpu-build=level=x86-64-v9 2>&1 \
// RUN:   | FileCheck %s --check-prefix=LEVEL

// LEVEL: unknown CPU level 'x86-64-v9', expected x86-64-v4+vnni, x86-64-v4, x86-64-v3, x86-64-v2

// CHECK: has a dynamic dimension without an expression
dispatch.kernel @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = lumen.unary <relu> %x : tensor<?xf32> -> tensor<?xf32>
  dispatch.yield %0 : tensor<?xf32>
}

// -----

// CHECK: reads the symbol 'n', which is none of its sizes
dispatch.kernel @unnamed(%x: tensor<?xf32, #lumen.dims<["n"]>>) -> tensor<?xf32, #lumen.dims<["n"]>>
    attributes {dispatch.sizes = ["m"]} {
  %0 = lumen.unary <relu> %x : tensor<?xf32, #lumen.dims<["n"]>> -> tensor<?xf32, #lumen.dims<["n"]>>
  dispatch.yield %0 : tensor<?xf32, #lumen.dims<["n"]>>
}

// -----

// CHECK: has a result of type 'tensor<1x2xf32>', expected the shape of its root, 'tensor<2xf32>'
dispatch.kernel @moved(%x: tensor<2x3xf32>) -> tensor<1x2xf32> {
  %0 = lumen.reduce <sum> %x [1] : tensor<2x3xf32> -> tensor<2xf32>
  %1 = lumen.reshape %0 : tensor<2xf32> -> tensor<1x2xf32>
  dispatch.yield %1 : tensor<1x2xf32>
}
