// RUN: lumen-opt %s --expand-powers | FileCheck %s

// The power of local response normalisation is two square roots and a product.
// CHECK-LABEL: @three_quarters
// CHECK: %[[R:.*]] = lumen.unary <sqrt> %{{.*}}
// CHECK-NEXT: %[[Q:.*]] = lumen.unary <sqrt> %[[R]]
// CHECK-NEXT: %[[P:.*]] = lumen.binary <mul> %[[R]], %[[Q]]
// CHECK-NEXT: return %[[P]]
func.func @three_quarters(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c = lumen.constant dense<0.75> : tensor<8xf32>
  %0 = lumen.binary <pow> %x, %c : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// An exponent without a short form stays.
// CHECK-LABEL: @other
// CHECK: lumen.binary <pow>
func.func @other(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c = lumen.constant dense<0.6> : tensor<8xf32>
  %0 = lumen.binary <pow> %x, %c : tensor<8xf32>
  return %0 : tensor<8xf32>
}
