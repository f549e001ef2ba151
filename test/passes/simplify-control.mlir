// Branches, loops and symbols that constants decide.
// RUN: lumen-opt %s --simplify-control --verify-symbols --split-input-file | FileCheck %s

// A constant condition leaves its region; the join symbol is what the region yields.
// CHECK-LABEL: func.func @constant_condition
// CHECK-SAME:  -> tensor<?xf32, #lumen.dims<["batch"]>>
// CHECK-NEXT:  %[[A:.*]] = lumen.unary <relu> %arg0
// CHECK-NEXT:  %[[B:.*]] = lumen.unary <exp> %[[A]] : {{.*}}["batch"]
// CHECK-NEXT:  return %[[B]]
func.func @constant_condition(%a: tensor<?xf32, #lumen.dims<["batch"]>>, %b: tensor<1xf32>) -> tensor<?xf32, #lumen.dims<["n"]>> {
  %c = lumen.constant dense<true> : tensor<i1>
  %0 = lumen.if %c symbols ["n"] : tensor<i1> -> tensor<?xf32, #lumen.dims<["n"]>> {
    %1 = lumen.unary <relu> %a : tensor<?xf32, #lumen.dims<["batch"]>> -> tensor<?xf32, #lumen.dims<["batch"]>>
    lumen.yield %1 sizes ["batch"] : tensor<?xf32, #lumen.dims<["batch"]>>
  } else {
    lumen.yield %b sizes [1] : tensor<1xf32>
  }
  %2 = lumen.unary <exp> %0 : tensor<?xf32, #lumen.dims<["n"]>> -> tensor<?xf32, #lumen.dims<["n"]>>
  return %2 : tensor<?xf32, #lumen.dims<["n"]>>
}

// -----

// What nothing reads of a branch goes, and with it its symbol.
// CHECK-LABEL: func.func @unused_result
// CHECK:       lumen.if %arg0 symbols [] : tensor<i1> -> tensor<f32>
// CHECK-NEXT:    %[[E:.*]] = lumen.unary <exp>
// CHECK-NEXT:    lumen.yield %[[E]] sizes []
func.func @unused_result(%c: tensor<i1>, %x: tensor<f32>, %a: tensor<?xf32, #lumen.dims<["batch"]>>, %b: tensor<1xf32>) -> tensor<f32> {
  %0:2 = lumen.if %c symbols ["n"] : tensor<i1> -> tensor<f32>, tensor<?xf32, #lumen.dims<["n"]>> {
    %1 = lumen.unary <exp> %x : tensor<f32> -> tensor<f32>
    %2 = lumen.unary <exp> %a : tensor<?xf32, #lumen.dims<["batch"]>> -> tensor<?xf32, #lumen.dims<["batch"]>>
    lumen.yield %1, %2 sizes ["batch"] : tensor<f32>, tensor<?xf32, #lumen.dims<["batch"]>>
  } else {
    lumen.yield %x, %b sizes [1] : tensor<f32>, tensor<1xf32>
  }
  return %0#0 : tensor<f32>
}

// -----

// No trip: the initial values, and nothing stacked.
// CHECK-LABEL: func.func @no_trip
// CHECK-DAG:   %[[E:.*]] = lumen.constant dense<{{.*}}> : tensor<0x4xf32>
// CHECK-DAG:   %[[N:.*]] = lumen.constant dense<0> : tensor<i64>
// CHECK:       return %arg0, %[[E]], %[[N]]
func.func @no_trip(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<0x4xf32>, tensor<i64>) {
  %n = lumen.sizes ["i"] : tensor<i64>
  %r, %all = lumen.loop (%a) trips "0" induction "i" symbols [] init_sizes [] : (tensor<4xf32>) -> (tensor<4xf32>, tensor<0x4xf32>) {
  ^bb0(%x: tensor<4xf32>):
    %y = lumen.unary <exp> %x : tensor<4xf32> -> tensor<4xf32>
    lumen.yield %y, %y sizes [] : tensor<4xf32>, tensor<4xf32>
  }
  %m = lumen.binary <max> %n, %n : tensor<i64>
  return %r, %all, %m : tensor<4xf32>, tensor<0x4xf32>, tensor<i64>
}

// -----

// One trip: the body. Inside the trip's number is 0, behind it is 1; the carried
// size is what the trip made of it.
// CHECK-LABEL: func.func @one_trip
// CHECK-SAME:  -> (tensor<?xf32, #lumen.dims<["h + 1"]>>, tensor<1xi64>, tensor<i64>)
// CHECK-DAG:   %[[ONE:.*]] = lumen.constant dense<1> : tensor<i64>
// CHECK-DAG:   %[[ALL:.*]] = lumen.constant dense<0> : tensor<1xi64>
// CHECK:       %[[R:.*]] = lumen.concat %arg0, %arg1
// CHECK:       return %[[R]], %[[ALL]], %[[ONE]]
func.func @one_trip(%a: tensor<?xf32, #lumen.dims<["h"]>>, %b: tensor<1xf32>) -> (tensor<?xf32, #lumen.dims<["n"]>>, tensor<1xi64>, tensor<i64>) {
  %i = lumen.sizes ["i"] : tensor<i64>
  %r, %all = lumen.loop (%a) trips "1" induction "i" symbols ["n"] init_sizes ["h"] : (tensor<?xf32, #lumen.dims<["h"]>>) -> (tensor<?xf32, #lumen.dims<["n"]>>, tensor<1xi64>) {
  ^bb0(%x: tensor<?xf32, #lumen.dims<["n"]>>):
    %y = lumen.concat %x, %b {axis = 0 : i64} : tensor<?xf32, #lumen.dims<["n"]>>, tensor<1xf32> -> tensor<?xf32, #lumen.dims<["n + 1"]>>
    %z = lumen.binary <max> %i, %i : tensor<i64>
    lumen.yield %y, %z sizes ["n + 1"] : tensor<?xf32, #lumen.dims<["n + 1"]>>, tensor<i64>
  }
  %m = lumen.binary <max> %i, %i : tensor<i64>
  return %r, %all, %m : tensor<?xf32, #lumen.dims<["n"]>>, tensor<1xi64>, tensor<i64>
}

// -----

// What every trip passes on is an outer value; a condition that always holds and
// carried values that nothing reads go.
// CHECK-LABEL: func.func @invariants
// CHECK:       lumen.loop(%arg0) trips "n" induction "i" symbols [] init_sizes []
// CHECK-SAME:  : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  ^bb0(%[[X:.*]]: tensor<4xf32>):
// CHECK-NEXT:    %[[Y:.*]] = lumen.binary <add> %[[X]], %arg1
// CHECK-NEXT:    lumen.yield %[[Y]] sizes []
func.func @invariants(%a: tensor<4xf32>, %b: tensor<4xf32>, %s: tensor<?xf32, #lumen.dims<["n"]>>) -> tensor<4xf32> {
  %t = lumen.constant dense<true> : tensor<i1>
  %r:3 = lumen.loop (%t, %a, %b, %s) trips "n" induction "i" symbols ["k"] init_sizes ["n"] conditional
      : (tensor<i1>, tensor<4xf32>, tensor<4xf32>, tensor<?xf32, #lumen.dims<["n"]>>) -> (tensor<4xf32>, tensor<4xf32>, tensor<?xf32, #lumen.dims<["k"]>>) {
  ^bb0(%x: tensor<4xf32>, %w: tensor<4xf32>, %u: tensor<?xf32, #lumen.dims<["k"]>>):
    %y = lumen.binary <add> %x, %w : tensor<4xf32>
    %v = lumen.unary <exp> %u : tensor<?xf32, #lumen.dims<["k"]>> -> tensor<?xf32, #lumen.dims<["k"]>>
    lumen.yield %t, %y, %w, %u sizes ["k"] : tensor<i1>, tensor<4xf32>, tensor<4xf32>, tensor<?xf32, #lumen.dims<["k"]>>
  }
  return %r#0 : tensor<4xf32>
}

// -----

// A symbol with an expression is that expression, checked where that may be no size.
// One that nothing names goes, and so do checks that are proven or repeated.
// CHECK-LABEL: func.func @symbols
// CHECK-NEXT:  lumen.check <lessequal> "0", "seq - 1"
// CHECK-NEXT:  %[[R:.*]] = lumen.slice %arg0 [1] [1] : {{.*}} -> tensor<?xf32, #lumen.dims<["seq - 1"]>>
// CHECK-NEXT:  lumen.check <equal> "2*seq", "batch"
// CHECK-NEXT:  return %[[R]]
func.func @symbols(%a: tensor<?xf32, #lumen.dims<["seq"]>>, %b: tensor<?xf32, #lumen.dims<["batch"]>>, %c: tensor<i64>) -> tensor<?xf32, #lumen.dims<["n"]>> {
  %s = lumen.sizes ["seq - 1"] : tensor<i64>
  lumen.symbol "n" = %s at_most "seq" : tensor<i64>
  lumen.symbol "m" = %c : tensor<i64>
  %0 = lumen.slice %a [1] [1] : tensor<?xf32, #lumen.dims<["seq"]>> -> tensor<?xf32, #lumen.dims<["n"]>>
  lumen.check <equal> "2*seq", "batch", "two"
  lumen.check <equal> "2*seq", "batch", "two again"
  lumen.check <equal> "n + 1", "seq", "proven"
  lumen.check <lessequal> "n", "seq", "proven"
  lumen.check <broadcast> "1", "seq", "proven"
  return %0 : tensor<?xf32, #lumen.dims<["n"]>>
}
