// Objects of the runtime lie in storages of the heap: calls make them, without ALLOC.
// RUN: lumen-opt %s -split-input-file -place-views -plan-buffers | FileCheck %s

// A sequence that a loop carries grows in place. The output is a copy of what the loop
// leaves; what a call returns is made in the output.
// CHECK-LABEL: func.func @main
// CHECK-SAME: lumen.result_types = [!lumen.seq<tensor<2xf32>>, tensor<i64>]
// CHECK: %[[SEQUENCE:.*]] = dispatch.storage <heap>[0] size 0
// CHECK-NOT: dispatch.alloc
// CHECK: %[[EMPTY:.*]] = dispatch.buffer %[[SEQUENCE]] offset 0 size 0
// CHECK: dispatch.call "sequence_construct"() outs(%[[EMPTY]]) types [!lumen.seq<tensor<2xf32>>]
// CHECK: %[[IN:.*]] = dispatch.buffer %[[SEQUENCE]]
// CHECK: %[[OUT:.*]] = dispatch.buffer %[[SEQUENCE]]
// CHECK: dispatch.repeat
// CHECK-NEXT: dispatch.call "sequence_insert"(%[[IN]], %{{.*}}) outs(%[[OUT]])
// CHECK-NEXT: dispatch.end
// CHECK: dispatch.call "sequence_length"
// CHECK: dispatch.call "identity"
// CHECK: dispatch.free %[[SEQUENCE]]
func.func @main(%x: tensor<2xf32>) -> (!lumen.seq<tensor<2xf32>>, tensor<i64>) {
  %e = lumen.call "sequence_construct"() : () -> !lumen.seq<tensor<2xf32>>
  %s = lumen.loop (%e) trips "7" induction "i" symbols [] init_sizes [] : (!lumen.seq<tensor<2xf32>>) -> !lumen.seq<tensor<2xf32>> {
  ^bb0(%in: !lumen.seq<tensor<2xf32>>):
    %out = lumen.call "sequence_insert"(%in, %x) : (!lumen.seq<tensor<2xf32>>, tensor<2xf32>) -> !lumen.seq<tensor<2xf32>>
    lumen.yield %out sizes [] : !lumen.seq<tensor<2xf32>>
  }
  %l = lumen.call "sequence_length"(%s) : (!lumen.seq<tensor<2xf32>>) -> tensor<i64>
  return %s, %l : !lumen.seq<tensor<2xf32>>, tensor<i64>
}

// -----

// One that is read afterwards is not changed in place.
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[FIRST:.*]] = dispatch.storage <heap>[0] size 0
// CHECK-DAG: %[[LONGER:.*]] = dispatch.storage <output>[0] size 0
// CHECK: %[[FROM:.*]] = dispatch.buffer %[[FIRST]]
// CHECK: %[[TO:.*]] = dispatch.buffer %[[LONGER]]
// CHECK: dispatch.call "sequence_insert"(%[[FROM]], %{{.*}}) outs(%[[TO]])
// CHECK: dispatch.call "sequence_length"(%[[FROM]])
func.func @main(%x: tensor<2xf32>) -> (!lumen.seq<tensor<2xf32>>, tensor<i64>) {
  %e = lumen.call "sequence_construct"(%x) : (tensor<2xf32>) -> !lumen.seq<tensor<2xf32>>
  %s = lumen.call "sequence_insert"(%e, %x) : (!lumen.seq<tensor<2xf32>>, tensor<2xf32>) -> !lumen.seq<tensor<2xf32>>
  %l = lumen.call "sequence_length"(%e) : (!lumen.seq<tensor<2xf32>>) -> tensor<i64>
  return %s, %l : !lumen.seq<tensor<2xf32>>, tensor<i64>
}

// -----

// Extents are bound behind the call, and the memory of a tensor that only the run can
// measure is the call's to take.
// CHECK-LABEL: func.func @main
// CHECK: %[[OUTPUT:.*]] = dispatch.storage <output>[0] size "16*m"
// CHECK-NOT: dispatch.alloc
// CHECK: %[[ITEM:.*]] = dispatch.buffer %[[OUTPUT]]
// CHECK: %[[EXTENTS:.*]] = dispatch.buffer %[[ARENA:.*]] offset 0 size 16
// CHECK: dispatch.call "sequence_at"(%{{.*}}, %{{.*}}) outs(%[[ITEM]], %[[EXTENTS]]) has_extents
// CHECK: %[[FIRST:.*]] = dispatch.buffer %[[ARENA]] offset 0 size 8
// CHECK: dispatch.bind "m" = %[[FIRST]] : i64
func.func @main(%s: !lumen.seq<tensor<?x4xf32>>, %p: tensor<i64>) -> tensor<?x4xf32, #lumen.dims<["m", "4"]>> {
  %y, %extents = lumen.call "sequence_at"(%s, %p) symbols ["m", ""] : (!lumen.seq<tensor<?x4xf32>>, tensor<i64>) -> (tensor<?x4xf32, #lumen.dims<["m", "4"]>>, tensor<2xi64>)
  return %y : tensor<?x4xf32, #lumen.dims<["m", "4"]>>
}

// -----

// Branches move what they make into the result.
// CHECK-LABEL: func.func @main
// CHECK: dispatch.branch
// CHECK: dispatch.call "sequence_construct"
// CHECK: dispatch.move %[[THEN:.*]] to %[[RESULT:.*]]
// CHECK: } else {
// CHECK: dispatch.call "identity"
// CHECK: dispatch.move %{{.*}} to %[[RESULT]]
func.func @main(%c: tensor<i1>, %x: tensor<2xf32>, %s: !lumen.seq<tensor<2xf32>>) -> !lumen.seq<tensor<2xf32>> {
  %r = lumen.if %c symbols [] : tensor<i1> -> !lumen.seq<tensor<2xf32>> {
    %n = lumen.call "sequence_construct"(%x) : (tensor<2xf32>) -> !lumen.seq<tensor<2xf32>>
    lumen.yield %n sizes [] : !lumen.seq<tensor<2xf32>>
  } else {
    lumen.yield %s sizes [] : !lumen.seq<tensor<2xf32>>
  }
  return %r : !lumen.seq<tensor<2xf32>>
}
