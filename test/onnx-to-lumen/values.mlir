// Strings, sequences and optionals become calls of the runtime.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-no-onnx -verify-diagnostics | FileCheck %s

// Sizes that differ from item to item are symbols behind the call that takes one.
module attributes {onnx.opsets = {ai.onnx = 21 : i64}} {
  // CHECK-LABEL: func.func @main(%arg0: !lumen.seq<tensor<?x4xf32>>
  func.func @main(%s: !onnx.seq<tensor<?x4xf32, #lumen.dims<["n", "4"]>>> {onnx.name = "s"}, %i: tensor<i64> {onnx.name = "i"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: %[[ITEM:.*]]:2 = lumen.call "sequence_at"(%arg0, %arg1) symbols ["sequenceat$0", ""]
    // CHECK: lumen.unary <relu> %[[ITEM]]#0 : tensor<?x4xf32, #lumen.dims<["sequenceat$0", "4"]>>
    %0 = onnx.node "SequenceAt"(%s, %i) {} : (!onnx.seq<tensor<?x4xf32, #lumen.dims<["n", "4"]>>>, tensor<i64>) -> !onnx.unknown
    %1 = onnx.node "Relu"(%0) {} : (!onnx.unknown) -> !onnx.unknown
    onnx.return %1 : !onnx.unknown
  }
}

// -----

// Items of one shape have it when they are taken out again.
module attributes {onnx.opsets = {ai.onnx = 21 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%a: tensor<2x3xf32> {onnx.name = "a"}, %b: tensor<2x3xf32> {onnx.name = "b"}, %i: tensor<i64> {onnx.name = "i"}) -> (tensor<*xf32> {onnx.name = "y"}, !onnx.seq<tensor<*xf32>> {onnx.name = "s"}) {
    // CHECK: lumen.call "sequence_construct"(%arg0, %arg1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> !lumen.seq<tensor<2x3xf32>>
    // CHECK: lumen.call "sequence_at"({{.*}}) : (!lumen.seq<tensor<2x3xf32>>, tensor<i64>) -> tensor<2x3xf32>
    // CHECK: lumen.call "split_to_sequence"(%arg0) [1, 0] : (tensor<2x3xf32>) -> !lumen.seq<tensor<2xf32>>
    %0 = onnx.node "SequenceConstruct"(%a, %b) {} : (tensor<2x3xf32>, tensor<2x3xf32>) -> !onnx.unknown
    %1 = onnx.node "SequenceAt"(%0, %i) {} : (!onnx.unknown, tensor<i64>) -> !onnx.unknown
    %2 = onnx.node "SplitToSequence"(%a) {axis = -1 : i64, keepdims = 0 : i64} : (tensor<2x3xf32>) -> !onnx.unknown
    onnx.return %1, %2 : !onnx.unknown, !onnx.unknown
  }
}

// -----

// What moves strings is converted on their positions.
module attributes {onnx.opsets = {ai.onnx = 21 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<?x2x!onnx.string, #lumen.dims<["n", "2"]>> {onnx.name = "x"}) -> (tensor<*x!onnx.string> {onnx.name = "y"}, tensor<*x!onnx.string> {onnx.name = "z"}, tensor<*x!onnx.string> {onnx.name = "same"}) {
    // CHECK: %[[CONSTANT:.*]] = lumen.call "string_constant"() {{\[}}[2], ["a", "b"]] : () -> tensor<2x!lumen.string>
    // CHECK: %[[TURNED:.*]] = lumen.transpose %{{.*}} [1, 0]
    // CHECK: %[[PLACES:.*]] = lumen.convert %[[TURNED]] : {{.*}} -> tensor<2x?xi64
    // CHECK: %[[TAKEN:.*]] = lumen.call "string_take"(%[[PLACES]], %arg0)
    // CHECK: %[[JOINED:.*]] = lumen.call "string_concat"(%arg0, %[[CONSTANT]])
    // CHECK: return %[[TAKEN]], %[[JOINED]], %arg0
    %c = onnx.constant dense<["a", "b"]> : tensor<2x!onnx.string>
    %0 = onnx.node "Transpose"(%x) {} : (tensor<?x2x!onnx.string, #lumen.dims<["n", "2"]>>) -> !onnx.unknown
    %1 = onnx.node "StringConcat"(%x, %c) {} : (tensor<?x2x!onnx.string, #lumen.dims<["n", "2"]>>, tensor<2x!onnx.string>) -> !onnx.unknown
    %2 = onnx.node "Identity"(%x) {} : (tensor<?x2x!onnx.string, #lumen.dims<["n", "2"]>>) -> !onnx.unknown
    onnx.return %0, %1, %2 : !onnx.unknown, !onnx.unknown, !onnx.unknown
  }
}

// -----

// A sequence that begins empty gets its items' type from the body of the loop.
module attributes {onnx.opsets = {ai.onnx = 21 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<2xf32> {onnx.name = "x"}, %n: tensor<i64> {onnx.name = "n"}, %c: tensor<i1> {onnx.name = "c"}) -> (!onnx.seq<tensor<*xf32>> {onnx.name = "y"}) {
    // CHECK: %[[EMPTY:.*]] = lumen.call "sequence_construct"() : () -> !lumen.seq<f32>
    // CHECK: lumen.loop(%arg2, %[[EMPTY]]) {{.*}} -> !lumen.seq<tensor<2xf32>>
    // CHECK-NEXT: ^bb0(%[[IN:.*]]: !lumen.seq<tensor<2xf32>>):
    // CHECK: lumen.call "sequence_insert"(%[[IN]], %arg0)
    %e = onnx.node "SequenceEmpty"() {} : () -> !onnx.unknown
    %0 = onnx.node "Loop"(%n, %c, %e) {} : (tensor<i64>, tensor<i1>, !onnx.unknown) -> !onnx.unknown bodies ["body"] {
    ^bb0(%trip: tensor<i64>, %cond: tensor<i1>, %in: !onnx.seq<tensor<*xf32>>):
      %1 = onnx.node "SequenceInsert"(%in, %x) {} : (!onnx.seq<tensor<*xf32>>, tensor<2xf32>) -> !onnx.unknown
      onnx.return %cond, %1 : tensor<i1>, !onnx.unknown
    }
    onnx.return %0 : !onnx.unknown
  }
}

// -----

// SequenceMap is a loop over the sequence that carries what it makes.
module attributes {onnx.opsets = {ai.onnx = 21 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%s: !onnx.seq<tensor<?xf32>> {onnx.name = "s"}) -> (!onnx.seq<tensor<*xf32>> {onnx.name = "y"}) {
    // CHECK: %[[LENGTH:.*]] = lumen.call "sequence_length"(%arg0)
    // CHECK: lumen.symbol "[[COUNT:.*]]" = %[[LENGTH]]
    // CHECK: lumen.loop({{.*}}) trips "[[COUNT]]"
    // CHECK: lumen.call "sequence_at"(%arg0,
    // CHECK: lumen.unary <relu>
    // CHECK: lumen.call "sequence_insert"
    %0 = onnx.node "SequenceMap"(%s) {} : (!onnx.seq<tensor<?xf32>>) -> !onnx.unknown bodies ["body"] {
    ^bb0(%item: tensor<?xf32>):
      %1 = onnx.node "Relu"(%item) {} : (tensor<?xf32>) -> !onnx.unknown
      onnx.return %1 : !onnx.unknown
    }
    onnx.return %0 : !onnx.unknown
  }
}

// -----

// What is no optional holds itself.
module attributes {onnx.opsets = {ai.onnx = 18 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%o: !onnx.optional<tensor<?xf32>> {onnx.name = "o"}, %x: tensor<2xf32> {onnx.name = "x"}) -> (tensor<*xi1> {onnx.name = "a"}, tensor<*xi1> {onnx.name = "b"}, tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: %[[HAS:.*]] = lumen.call "optional_has_element"(%arg0)
    // CHECK: %[[TRUE:.*]] = lumen.constant dense<true>
    // CHECK: return %[[HAS]], %[[TRUE]], %arg1
    %0 = onnx.node "OptionalHasElement"(%o) {} : (!onnx.optional<tensor<?xf32>>) -> !onnx.unknown
    %1 = onnx.node "OptionalHasElement"(%x) {} : (tensor<2xf32>) -> !onnx.unknown
    %2 = onnx.node "OptionalGetElement"(%x) {} : (tensor<2xf32>) -> !onnx.unknown
    onnx.return %0, %1, %2 : !onnx.unknown, !onnx.unknown, !onnx.unknown
  }
}

// -----

// Texts are made and read by the runtime, of the widest numbers of their kind.
!t = tensor<2x!onnx.string>
module attributes {onnx.opsets = {ai.onnx = 21 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<3xi8> {onnx.name = "x"}, %t: !t {onnx.name = "t"}) -> (tensor<*x!onnx.string> {onnx.name = "a"}, tensor<*xf32> {onnx.name = "b"}) {
    // CHECK: %[[WIDE:.*]] = lumen.convert %arg0 : tensor<3xi8> -> tensor<3xi64>
    // CHECK: lumen.call "string_format"(%[[WIDE]]) {{.*}}-> tensor<3x!lumen.string>
    // CHECK: %[[READ:.*]] = lumen.call "string_parse"(%arg1) [11] {{.*}}-> tensor<2xf64>
    // CHECK: lumen.convert %[[READ]] : tensor<2xf64> -> tensor<2xf32>
    %0 = onnx.node "Cast"(%x) {to = 8 : i64} : (tensor<3xi8>) -> !onnx.unknown
    %1 = onnx.node "Cast"(%t) {to = 1 : i64} : (!t) -> !onnx.unknown
    onnx.return %0, %1 : !onnx.unknown, !onnx.unknown
  }
}

// -----

// Attributes are in the order that the runtime reads.
module attributes {onnx.opsets = {ai.onnx = 21 : i64, ai.onnx.ml = 4 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<?x!onnx.string, #lumen.dims<["n"]>> {onnx.name = "x"}) -> (tensor<*xi64> {onnx.name = "y"}, tensor<*x!onnx.string> {onnx.name = "p"}, tensor<*xi64> {onnx.name = "c"}) {
    // CHECK: lumen.call "label_encoder"(%arg0) [8, 7, ["a", "b"], [3, 5], 42]
    // CHECK: lumen.call "string_split"(%arg0) [",", 1] symbols ["", "stringsplit$0"] : {{.*}} -> (tensor<?x?x!lumen.string, #lumen.dims<["n", "stringsplit$0"]>>, tensor<2xi64>, tensor<?xi64, #lumen.dims<["n"]>>)
    %0 = onnx.node "LabelEncoder"(%x) domain("ai.onnx.ml") {keys_strings = ["a", "b"], values_int64s = array<i64: 3, 5>, default_int64 = 42 : i64} : (tensor<?x!onnx.string, #lumen.dims<["n"]>>) -> !onnx.unknown
    %p, %c = onnx.node "StringSplit"(%x) {delimiter = ",", maxsplit = 1 : i64} : (tensor<?x!onnx.string, #lumen.dims<["n"]>>) -> (!onnx.unknown, !onnx.unknown)
    onnx.return %0, %p, %c : !onnx.unknown, !onnx.unknown, !onnx.unknown
  }
}

// -----

module attributes {onnx.opsets = {ai.onnx = 21 : i64}} {
  func.func @main(%s: !onnx.seq<tensor<*xf32>> {onnx.name = "s"}, %i: tensor<i64> {onnx.name = "i"}, %x: tensor<3xi32> {onnx.name = "x"}, %t: tensor<2x!onnx.string> {onnx.name = "t"}) {
    // expected-error @below {{items of the sequence have a rank that only the run knows, which is not supported}}
    %0 = onnx.node "SequenceAt"(%s, %i) {} : (!onnx.seq<tensor<*xf32>>, tensor<i64>) -> !onnx.unknown
    // expected-error @below {{an item is of type i32[3], the sequence of type sequence of f32; expected the same element type}}
    %1 = onnx.node "SequenceInsert"(%s, %x) {} : (!onnx.seq<tensor<*xf32>>, tensor<3xi32>) -> !onnx.unknown
    // expected-error @below {{input 0 has element type '!lumen.string', expected f32, i8, i16, i32, i64, f16, f64 or bf16}}
    %2 = onnx.node "Neg"(%t) {} : (tensor<2x!onnx.string>) -> !onnx.unknown
    // expected-error @below {{input is of type sequence of f32, expected a tensor}}
    %6 = onnx.node "Cast"(%s) {to = 8 : i64} : (!onnx.seq<tensor<*xf32>>) -> !onnx.unknown
    // expected-error @below {{input 0 is of type sequence of f32, which is not supported}}
    %3 = onnx.node "Relu"(%s) {} : (!onnx.seq<tensor<*xf32>>) -> !onnx.unknown
    // expected-error @below {{input 0 is of type i32[3], expected a sequence}}
    %4 = onnx.node "SequenceLength"(%x) {} : (tensor<3xi32>) -> !onnx.unknown
    %e = onnx.node "SequenceEmpty"() {} : () -> !onnx.unknown
    // expected-error @below {{takes an item of a sequence that has none}}
    %5 = onnx.node "SequenceAt"(%e, %i) {} : (!onnx.unknown, tensor<i64>) -> !onnx.unknown
    onnx.return
  }
}
