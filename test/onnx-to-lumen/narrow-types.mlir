// Elements of less than 16 bits that are no integers of 8 become bytes.
// RUN: lumen-opt --store-narrow-types --split-input-file --verify-diagnostics %s | FileCheck %s

// Moving needs nothing, and the interface keeps the type of a float of 8 bits.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %arg0: tensor<3x4xui8> {lumen.dtype = f8E5M2}
// CHECK-SAME: -> (tensor<4x3xui8> {lumen.dtype = f8E5M2})
// CHECK-NEXT: lumen.transpose %arg0 [1, 0] : tensor<3x4xui8> -> tensor<4x3xui8>
func.func @main(%x: tensor<3x4xf8E5M2>) -> tensor<4x3xf8E5M2> {
  %0 = lumen.transpose %x [1, 0] : tensor<3x4xf8E5M2> -> tensor<4x3xf8E5M2>
  return %0 : tensor<4x3xf8E5M2>
}

// -----

// Integers are stored by their value, floats by their code.
// CHECK-LABEL: func.func @main
// CHECK-DAG: lumen.constant dense<[-8, 7, -1]> : tensor<3xi8>
// CHECK-DAG: lumen.constant dense<[2, 15]> : tensor<2xui8>
func.func @main() -> (tensor<3xi4>, tensor<2xf4E2M1FN>) {
  %0 = lumen.constant dense<[-8, 7, -1]> : tensor<3xi4>
  %1 = lumen.constant dense<[1.0, -6.0]> : tensor<2xf4E2M1FN>
  return %0, %1 : tensor<3xi4>, tensor<2xf4E2M1FN>
}

// -----

// A float is looked up.
// CHECK-LABEL: func.func @main
// CHECK: %[[TABLE:.*]] = lumen.constant dense<[0.000000e+00, 5.000000e-01, 1.000000e+00, 1.500000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 6.000000e+00, -0.000000e+00, {{.*}}]> : tensor<16xf32>
// CHECK: lumen.pick %[[TABLE]]
func.func @main(%x: tensor<?xf4E2M1FN, #lumen.dims<["n"]>>) -> tensor<?xf32, #lumen.dims<["n"]>> {
  %0 = lumen.convert %x : tensor<?xf4E2M1FN, #lumen.dims<["n"]>> -> tensor<?xf32, #lumen.dims<["n"]>>
  return %0 : tensor<?xf32, #lumen.dims<["n"]>>
}

// -----

// Integers wrap to the bits that they have.
// CHECK-LABEL: func.func @main
// CHECK: lumen.binary <and>
// CHECK: lumen.binary <xor>
// CHECK: lumen.binary <sub>
func.func @main(%x: tensor<5xi32>) -> tensor<5xi4> {
  %0 = lumen.convert %x : tensor<5xi32> -> tensor<5xi4>
  return %0 : tensor<5xi4>
}

// -----

func.func @main(%x: tensor<5xf8E5M2>) -> tensor<5xf8E5M2> {
  // expected-error @below {{elements of type 'f8E5M2' are moved and converted only, and only in tensors}}
  %0 = lumen.unary <neg> %x : tensor<5xf8E5M2> -> tensor<5xf8E5M2>
  return %0 : tensor<5xf8E5M2>
}
