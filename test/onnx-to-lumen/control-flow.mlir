// Bodies of If, Loop and Scan become regions; sizes that change become symbols.
// RUN: lumen-opt %s --split-input-file --convert-onnx-to-lumen | FileCheck %s

// A size that differs between the branches is a symbol; one that does not stays.
// CHECK-LABEL: func.func @main
// CHECK: lumen.if %arg0 symbols ["if$0"] : tensor<i1> -> tensor<?x4xf32, #lumen.dims<["if$0", "4"]>> {
// CHECK:   lumen.yield %{{.*}} sizes [2] : tensor<2x4xf32>
// CHECK: } else {
// CHECK:   lumen.yield %{{.*}} sizes [3] : tensor<3x4xf32>
module {
  func.func @main(%c: tensor<i1>, %x: tensor<2x4xf32>, %y: tensor<3x4xf32>) -> tensor<?x4xf32> {
    %0 = onnx.node "If"(%c) {} : (tensor<i1>) -> !onnx.unknown bodies ["else_branch", "then_branch"] {
      %1 = onnx.node "Neg"(%y) {} : (tensor<3x4xf32>) -> !onnx.unknown
      onnx.return %1 : !onnx.unknown
    }, {
      %1 = onnx.node "Relu"(%x) {} : (tensor<2x4xf32>) -> !onnx.unknown
      onnx.return %1 : !onnx.unknown
    }
    onnx.return %0 : !onnx.unknown
  }
}

// -----

// A condition that is known leaves one branch.
// CHECK-LABEL: func.func @main
// CHECK-NOT: lumen.if
// CHECK: lumen.unary <relu>
// CHECK-NOT: lumen.unary <neg>
module {
  func.func @main(%x: tensor<2x4xf32>) -> tensor<*xf32> {
    %c = onnx.constant dense<true> : tensor<i1>
    %0 = onnx.node "If"(%c) {} : (tensor<i1>) -> !onnx.unknown bodies ["else_branch", "then_branch"] {
      %1 = onnx.node "Neg"(%x) {} : (tensor<2x4xf32>) -> !onnx.unknown
      onnx.return %1 : !onnx.unknown
    }, {
      %1 = onnx.node "Relu"(%x) {} : (tensor<2x4xf32>) -> !onnx.unknown
      onnx.return %1 : !onnx.unknown
    }
    onnx.return %0 : !onnx.unknown
  }
}

// -----

// A state of fixed size stays static; with a constant limit and a condition that
// is always true the number of stacked outputs is known.
// CHECK-LABEL: func.func @main
// CHECK: lumen.loop(%arg0) trips "3" induction "trip$0" symbols [] init_sizes [] : (tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
// CHECK: ^bb0(%[[STATE:.*]]: tensor<4xf32>
// CHECK:   lumen.yield %{{.*}}, %{{.*}} sizes [] : tensor<4xf32>, tensor<4xf32>
module {
  func.func @main(%x: tensor<4xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
    %m = onnx.constant dense<3> : tensor<i64>
    %none = onnx.absent
    %0:2 = onnx.node "Loop"(%m, %none, %x) {} : (tensor<i64>, none, tensor<4xf32>) -> (!onnx.unknown, !onnx.unknown) bodies ["body"] {
    ^bb0(%i: tensor<i64>, %c: tensor<i1>, %s: tensor<4xf32>):
      %1 = onnx.node "Relu"(%s) {} : (tensor<4xf32>) -> !onnx.unknown
      onnx.return %c, %1, %s : tensor<i1>, !onnx.unknown, tensor<4xf32>
    }
    onnx.return %0#0, %0#1 : !onnx.unknown, !onnx.unknown
  }
}

// -----

// A list that grows has a symbol for its size, and without a limit the trips are
// counted by the induction; a run that never ends is stopped.
// CHECK-LABEL: func.func @main
// CHECK: lumen.loop(%{{.*}}, %arg0) induction "trip$0" symbols ["carried$0"] init_sizes [1] conditional
// CHECK-SAME: -> tensor<?xf32, #lumen.dims<["carried$0"]>>
// CHECK: lumen.check <lessequal> "trip$0", "2147483646"
// CHECK: lumen.yield %{{.*}}, %{{.*}} sizes ["carried$0 + 1"] : tensor<i1>, tensor<?xf32, #lumen.dims<["carried$0 + 1"]>>
module {
  func.func @main(%x: tensor<1xf32>, %y: tensor<1xf32>, %c: tensor<i1>) -> tensor<*xf32> {
    %none = onnx.absent
    %0 = onnx.node "Loop"(%none, %c, %x) {} : (none, tensor<i1>, tensor<1xf32>) -> !onnx.unknown bodies ["body"] {
    ^bb0(%i: tensor<i64>, %go: tensor<i1>, %s: tensor<?xf32>):
      %1 = onnx.node "Concat"(%s, %y) {axis = 0 : i64} : (tensor<?xf32>, tensor<1xf32>) -> !onnx.unknown
      %2 = onnx.node "Not"(%c) {} : (tensor<i1>) -> !onnx.unknown
      onnx.return %2, %1 : !onnx.unknown, !onnx.unknown
    }
    onnx.return %0 : !onnx.unknown
  }
}

// -----

// Strings are not stacked in memory: the loop carries a sequence that they are put into.
// CHECK-LABEL: func.func @main
// CHECK: %[[NONE:.*]] = lumen.call "sequence_construct"()
// CHECK: %[[ALL:.*]] = lumen.loop(%[[NONE]]) trips "3" {{.*}} : (!lumen.seq<tensor<2x!lumen.string>>) -> !lumen.seq<tensor<2x!lumen.string>> {
// CHECK: %[[MORE:.*]] = lumen.call "sequence_insert"(%{{.*}}, %arg0)
// CHECK: lumen.yield %[[MORE]]
// CHECK: lumen.call "concat_from_sequence"(%[[ALL]]) [0, 1, [0, 2]]
module {
  func.func @main(%t: tensor<2x!onnx.string>) -> tensor<*x!onnx.string> {
    %m = onnx.constant dense<3> : tensor<i64>
    %none = onnx.absent
    %0 = onnx.node "Loop"(%m, %none) {} : (tensor<i64>, none) -> !onnx.unknown bodies ["body"] {
    ^bb0(%i: tensor<i64>, %c: tensor<i1>):
      onnx.return %c, %t : tensor<i1>, tensor<2x!onnx.string>
    }
    onnx.return %0 : !onnx.unknown
  }
}

// -----

// Scan reads an element per trip, from the end where the direction says so, and
// stacks along the axis it is asked for.
// CHECK-LABEL: func.func @main
// CHECK: lumen.loop(%arg0) trips "5"
// CHECK: lumen.slice %arg1 ["-trip$0 + 4", 0] [1, 1] : tensor<5x4xf32> -> tensor<1x4xf32>
// CHECK: lumen.transpose %{{.*}} [1, 0] : tensor<5x4xf32> -> tensor<4x5xf32>
module {
  func.func @main(%s: tensor<4xf32>, %x: tensor<5x4xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
    %0:2 = onnx.node "Scan"(%s, %x) {num_scan_inputs = 1 : i64, scan_input_directions = array<i64: 1>, scan_output_axes = array<i64: 1>}
      : (tensor<4xf32>, tensor<5x4xf32>) -> (!onnx.unknown, !onnx.unknown) bodies ["body"] {
    ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
      %1 = onnx.node "Add"(%a, %b) {} : (tensor<4xf32>, tensor<4xf32>) -> !onnx.unknown
      onnx.return %1, %1 : !onnx.unknown, !onnx.unknown
    }
    onnx.return %0#0, %0#1 : !onnx.unknown, !onnx.unknown
  }
}

// -----

// A branch is needed where only the sizes of its result are.
// CHECK-LABEL: func.func @main
// CHECK: lumen.if %arg0 symbols ["if$0"]
// CHECK: lumen.sizes ["if$0", 4] : tensor<2xi64>
module {
  func.func @main(%c: tensor<i1>, %x: tensor<2x4xf32>, %y: tensor<3x4xf32>) -> tensor<2xi64> {
    %0 = onnx.node "If"(%c) {} : (tensor<i1>) -> !onnx.unknown bodies ["else_branch", "then_branch"] {
      %1 = onnx.node "Neg"(%y) {} : (tensor<3x4xf32>) -> !onnx.unknown
      onnx.return %1 : !onnx.unknown
    }, {
      %1 = onnx.node "Relu"(%x) {} : (tensor<2x4xf32>) -> !onnx.unknown
      onnx.return %1 : !onnx.unknown
    }
    %2 = onnx.node "Shape"(%0) {} : (!onnx.unknown) -> !onnx.unknown
    onnx.return %2 : !onnx.unknown
  }
}
