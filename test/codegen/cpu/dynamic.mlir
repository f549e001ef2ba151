// Kernels of dynamic sizes: each symbol is read once, at the entry, and the grid is a
// function of them.

// RUN: lumen-opt %s --lumen-cpu-build | FileCheck %s

!x = tensor<?x?x768xf32, #lumen.dims<["batch", "seq", "768"]>>

// Contiguous dimensions are one loop, whatever their sizes, and its size is a whole
// number of vectors.
// CHECK-LABEL: func.func @"merged.x86-64-v4"
// CHECK-SAME: %[[ARGS:[a-z0-9]+]]: !llvm.ptr, %[[SIZES:[a-z0-9]+]]: !llvm.ptr
// CHECK-SAME: lumen.grid = "floordiv(3*batch*seq + 7, 8)"
// CHECK-COUNT-2: llvm.getelementptr %[[SIZES]]
// CHECK-NOT: llvm.getelementptr %[[SIZES]]
// CHECK: scf.for
// CHECK-NOT: arith.divui
// CHECK: scf.for
// CHECK: vector.load
// CHECK-NOT: maskedload
// CHECK: return
// CHECK: func.func @"merged.x86-64-v4.grid"(%{{.*}}: !llvm.ptr) -> i64
dispatch.kernel @merged(%x: !x) -> !x attributes {dispatch.sizes = ["batch", "seq"]} {
  %0 = lumen.unary <relu> %x : !x -> !x
  dispatch.yield %0 : !x
}

// An operand that may be repeated is read at a multiple of 0 or 1.
// CHECK-LABEL: func.func @"repeated.x86-64-v4"
// CHECK: arith.minsi
// CHECK: scf.for
// CHECK: vector.load
!a = tensor<?x64xf32, #lumen.dims<["m", "64"]>>
!r = tensor<?x64xf32, #lumen.dims<["n", "64"]>>
dispatch.kernel @repeated(%x: !a) -> !r attributes {dispatch.sizes = ["m", "n"]} {
  %0 = lumen.broadcast %x [0, 1] : !a -> !r
  dispatch.yield %0 : !r
}

// Along a vector, that is a row or one element: nothing is gathered.
// CHECK-LABEL: func.func @"row_or_element.x86-64-v4"
// CHECK-NOT: vector.gather
// CHECK: scf.for
// CHECK: %[[ROW:.*]] = arith.cmpi eq
// CHECK: scf.if %[[ROW]] -> (vector<{{[0-9]+}}xf32>)
// CHECK: vector.load
// CHECK: else
// CHECK: memref.load
// CHECK: vector.broadcast
// CHECK: return
!e = tensor<64x?xf32, #lumen.dims<["64", "m"]>>
!s = tensor<64x?xf32, #lumen.dims<["64", "n"]>>
dispatch.kernel @row_or_element(%x: !e) -> !s attributes {dispatch.sizes = ["m", "n"]} {
  %0 = lumen.broadcast %x [0, 1] : !e -> !s
  dispatch.yield %0 : !s
}
