// Storages of branches and loops. The numbers of live ranges count launches, sizes
// read from memory, and the begins and ends of branches and loops.
// RUN: lumen-opt %s --place-views --plan-buffers --verify-no-tensors --split-input-file | FileCheck %s

!t = tensor<256xf32>

// Both branches write the same storage, and what only one of them needs shares bytes
// with what only the other one does. A value from outside that is returned is copied.
// CHECK: module attributes {lumen.arena_lower_bound = 3072 : i64, lumen.arena_size = 3072
// CHECK: %[[ARENA:[0-9]+]] = dispatch.storage <arena>[0] size 3072
// CHECK: %[[A:[0-9]+]] = dispatch.buffer %[[ARENA]] offset {{.*}} {first = 0 : i64, last = 8 : i64}
// CHECK: dispatch.launch @mix(%{{.*}}) outs(%[[A]])
// CHECK: dispatch.bind "if$0" = %{{.*}} : i1
// CHECK: %[[R:[0-9]+]] = dispatch.buffer %[[ARENA]] offset [[AT:.*]] size 1024
// CHECK: %[[E:[0-9]+]] = dispatch.buffer %[[ARENA]] offset [[AT]] size 1024
// CHECK: dispatch.branch "if$0" symbols [] {
// CHECK:   %[[T:[0-9]+]] = dispatch.buffer %[[ARENA]] offset [[OFFSET:.*]] size 1024 {first = 3 : i64, last = 4 : i64}
// CHECK:   dispatch.launch @mix(%[[A]]) outs(%[[T]])
// CHECK:   dispatch.launch @mix(%[[T]]) outs(%[[R]])
// CHECK:   dispatch.end sizes []
// CHECK: } else {
// CHECK:   dispatch.launch @copy_0(%[[A]]) outs(%[[E]])
// CHECK:   dispatch.end sizes []
// CHECK: }
// CHECK: %[[J:[0-9]+]] = dispatch.buffer %[[ARENA]] offset [[AT]] size 1024
// CHECK: dispatch.launch @join(%[[J]], %[[A]])
dispatch.kernel @mix(%x: !t) -> !t {
  %0 = lumen.softmax %x {axis = 0 : i64} : !t
  dispatch.yield %0 : !t
}
dispatch.kernel @join(%x: !t, %y: !t) -> !t {
  %0 = lumen.binary <add> %x, %y : !t
  %1 = lumen.softmax %0 {axis = 0 : i64} : !t
  dispatch.yield %1 : !t
}
func.func @main(%x: !t, %c: tensor<i1>) -> !t {
  %a = dispatch.launch @mix(%x) : (!t) -> !t
  %r = lumen.if %c symbols [] : tensor<i1> -> !t {
    %0 = dispatch.launch @mix(%a) : (!t) -> !t
    %1 = dispatch.launch @mix(%0) : (!t) -> !t
    lumen.yield %1 sizes [] : !t
  } else {
    lumen.yield %a sizes [] : !t
  }
  %2 = dispatch.launch @join(%r, %a) : (!t, !t) -> !t
  return %2 : !t
}

// -----

!t = tensor<256xf32>

// A value from outside lives to the loop's end, since the next trip reads it again.
// What the body makes of the carried value lies in a second storage, and the two are
// exchanged after a trip; both live as long as the loop and its result do.
// CHECK: %[[STATE:[0-9]+]] = dispatch.storage <arena>[0] size 1024 {first = 1 : i64, last = 5 : i64
// CHECK: %[[NEXT:[0-9]+]] = dispatch.storage <arena>[0] size 1024 {first = 1 : i64, last = 5 : i64
// CHECK: %[[OUTER:[0-9]+]] = dispatch.buffer %{{.*}} {first = 0 : i64, last = 4 : i64}
// CHECK: dispatch.launch @mix(%{{.*}}) outs(%[[OUTER]])
// CHECK: %[[INIT:[0-9]+]] = dispatch.buffer %[[STATE]] offset 0
// CHECK: dispatch.launch @mix(%{{.*}}) outs(%[[INIT]])
// CHECK: %[[A:[0-9]+]] = dispatch.buffer %[[STATE]] offset 0
// CHECK: dispatch.repeat trips "5" induction "i" symbols [] init_sizes [] {
// CHECK:   %[[B:[0-9]+]] = dispatch.buffer %[[NEXT]] offset 0
// CHECK:   dispatch.launch @join(%[[A]], %[[OUTER]]) outs(%[[B]])
// CHECK:   dispatch.swap %[[STATE]], %[[NEXT]]
// CHECK: }
// CHECK: %[[R:[0-9]+]] = dispatch.buffer %[[STATE]] offset 0
// CHECK: dispatch.launch @mix(%[[R]])
dispatch.kernel @mix(%x: !t) -> !t {
  %0 = lumen.softmax %x {axis = 0 : i64} : !t
  dispatch.yield %0 : !t
}
dispatch.kernel @join(%x: !t, %y: !t) -> !t {
  %0 = lumen.binary <add> %x, %y : !t
  %1 = lumen.softmax %0 {axis = 0 : i64} : !t
  dispatch.yield %1 : !t
}
func.func @main(%x: !t) -> !t {
  %outer = dispatch.launch @mix(%x) : (!t) -> !t
  %init = dispatch.launch @mix(%x) : (!t) -> !t
  %r = lumen.loop (%init) trips "5" induction "i" symbols [] init_sizes [] : (!t) -> !t {
  ^bb0(%a: !t):
    %0 = dispatch.launch @join(%a, %outer) : (!t, !t) -> !t
    lumen.yield %0 sizes [] : !t
  }
  %1 = dispatch.launch @mix(%r) : (!t) -> !t
  return %1 : !t
}

// -----

!t = tensor<256xf32>

// An elementwise step of a loop works in place: nothing is exchanged. An initial
// value that others read is copied first. What no trip changes is only read.
// CHECK: func.func @main
// CHECK: %[[ARENA:[0-9]+]] = dispatch.storage <arena>
// CHECK: %[[INIT:[0-9]+]] = dispatch.buffer %[[ARENA]] offset [[AT:[0-9]+]] size 1024
// CHECK: dispatch.launch @copy_0(%[[X:[0-9]+]]) outs(%[[INIT]])
// CHECK: %[[A:[0-9]+]] = dispatch.buffer %[[ARENA]] offset [[AT]] size 1024
// CHECK: %[[B:[0-9]+]] = dispatch.buffer %[[ARENA]] offset [[AT]] size 1024
// CHECK: dispatch.repeat
// CHECK-NEXT: dispatch.launch @add(%[[A]], %[[X]]) outs(%[[B]])
// CHECK-NEXT: dispatch.end sizes []
dispatch.kernel @add(%x: !t, %y: !t) -> !t {
  %0 = lumen.binary <add> %x, %y : !t
  dispatch.yield %0 : !t
}
func.func @main(%x: !t) -> !t {
  %r:2 = lumen.loop (%x, %x) trips "5" induction "i" symbols [] init_sizes [] : (!t, !t) -> (!t, !t) {
  ^bb0(%a: !t, %same: !t):
    %0 = dispatch.launch @add(%a, %same) : (!t, !t) -> !t
    lumen.yield %0, %same sizes [] : !t, !t
  }
  %1 = dispatch.launch @add(%r#0, %r#1) : (!t, !t) -> !t
  return %1 : !t
}

// -----

!t = tensor<256xf32>
!all = tensor<?x256xf32, #lumen.dims<["n", "256"]>>

// Carried values that change places are copied: each must be read before it is
// overwritten. The condition is read before storages are exchanged.
// CHECK: dispatch.bind "while$0" = %{{.*}} : i1
// CHECK: dispatch.repeat while "while$0" induction "i" symbols [] init_sizes [] {
// CHECK:   dispatch.launch @copy_{{.*}}(%[[A:[0-9]+]]) outs(%[[A1:[0-9]+]])
// CHECK:   dispatch.launch @copy_{{.*}}(%[[B:[0-9]+]]) outs(%[[B1:[0-9]+]])
// CHECK:   dispatch.bind "while$0" = %{{.*}} : i1
// CHECK:   dispatch.swap
// CHECK:   dispatch.swap
// CHECK:   dispatch.end
dispatch.kernel @mix(%x: !t) -> (!t, tensor<i1>) {
  %0 = lumen.softmax %x {axis = 0 : i64} : !t
  %1 = lumen.constant dense<true> : tensor<i1>
  dispatch.yield %0, %1 : !t, tensor<i1>
}
func.func @main(%x: !t, %y: !t, %c: tensor<i1>) -> (!t, !t) {
  %r:2 = lumen.loop (%c, %x, %y) induction "i" symbols [] init_sizes [] conditional : (tensor<i1>, !t, !t) -> (!t, !t) {
  ^bb0(%a: !t, %b: !t):
    %0, %go = dispatch.launch @mix(%a) : (!t) -> (!t, tensor<i1>)
    lumen.yield %go, %b, %a sizes [] : tensor<i1>, !t, !t
  }
  return %r#0, %r#1 : !t, !t
}

// -----

!t = tensor<4xf32>
!known = tensor<?x4xf32, #lumen.dims<["n", "4"]>>
!unknown = tensor<?x4xf32, #lumen.dims<["i", "4"]>>

// With a known number of trips, each writes its row of a scan output in place, here
// in the caller's buffer. Without one, rows are appended in the heap.
// CHECK: %[[OUT:[0-9]+]] = dispatch.storage <output>[0] size "16*n"
// CHECK: %[[GROWN:[0-9]+]] = dispatch.storage <heap>[0] size 0
// CHECK: %[[OWNED:[0-9]+]] = dispatch.storage <output>[1] size "16*i"
// CHECK: %[[ROW:[0-9]+]] = dispatch.buffer %[[OUT]] offset "16*j" size 16
// CHECK: dispatch.repeat trips "n" induction "j" symbols [] init_sizes [] {
// CHECK:   dispatch.launch @mix(%{{.*}}) outs(%[[ROW]]
// CHECK: }
// CHECK: dispatch.alloc %[[GROWN]]
// CHECK: dispatch.repeat while "while$0" induction "i" symbols [] init_sizes [] {
// CHECK:   dispatch.launch @mix(%{{.*}}) outs(%[[PART:[0-9]+]], %{{.*}})
// CHECK:   dispatch.append %[[PART]] to %[[GROWN]]
// CHECK: }
// CHECK: dispatch.alloc %[[OWNED]]
// CHECK: dispatch.launch @copy_0(%{{.*}}) outs(%{{.*}}) {sizes = #lumen.dims<["i"]>}
// CHECK: dispatch.free %[[GROWN]]
dispatch.kernel @mix(%x: !t) -> (!t, tensor<i1>) {
  %0 = lumen.softmax %x {axis = 0 : i64} : !t
  %1 = lumen.constant dense<true> : tensor<i1>
  dispatch.yield %0, %1 : !t, tensor<i1>
}
func.func @main(%x: !t, %c: tensor<i1>, %s: tensor<?xf32, #lumen.dims<["n"]>>) -> (!known, !unknown) {
  %r = lumen.loop () trips "n" induction "j" symbols [] init_sizes [] : () -> !known {
    %0, %go = dispatch.launch @mix(%x) : (!t) -> (!t, tensor<i1>)
    lumen.yield %0 sizes [] : !t
  }
  %u = lumen.loop (%c) induction "i" symbols [] init_sizes [] conditional : (tensor<i1>) -> !unknown {
    %0, %go = dispatch.launch @mix(%x) : (!t) -> (!t, tensor<i1>)
    lumen.yield %go, %0 sizes [] : tensor<i1>, !t
  }
  return %r, %u : !known, !unknown
}

// -----

!k = tensor<?xi64, #lumen.dims<["s0"]>>
!tokens = tensor<?xi64, #lumen.dims<["len"]>>
!longer = tensor<?xi64, #lumen.dims<["len + 1"]>>

// A list that grows from trip to trip has memory of the heap, which moves on.
// CHECK: %[[TOKENS:[0-9]+]] = dispatch.storage <heap>[0] size 8
// CHECK: %[[LONGER:[0-9]+]] = dispatch.storage <heap>[0] size "8*len + 8"
// CHECK: %[[OUT:[0-9]+]] = dispatch.storage <output>[0] size "8*len"
// CHECK: dispatch.alloc %[[TOKENS]]
// CHECK: dispatch.launch @copy_{{.*}}
// CHECK: dispatch.repeat trips "n" induction "i" symbols ["len"] init_sizes [1] {
// CHECK:   dispatch.alloc %[[LONGER]]
// CHECK:   dispatch.buffer %[[LONGER]] offset "8*len" size 8
// CHECK:   dispatch.launch @next
// CHECK:   dispatch.buffer %[[LONGER]] offset 0 size "8*len"
// CHECK:   dispatch.launch @copy_{{.*}}
// CHECK:   dispatch.move %[[LONGER]] to %[[TOKENS]]
// CHECK:   dispatch.end sizes ["len + 1"]
// CHECK: }
// CHECK: dispatch.alloc %[[OUT]]
// CHECK: dispatch.launch @copy_{{.*}}
// CHECK: dispatch.free %[[TOKENS]]
dispatch.kernel @next(%x: !k) -> tensor<1xi64> attributes {dispatch.sizes = ["s0"]} {
  %0 = lumen.constant dense<7> : tensor<1xi64>
  dispatch.yield %0 : tensor<1xi64>
}
func.func @main(%first: tensor<1xi64>, %n: tensor<?xf32, #lumen.dims<["n"]>>) -> !tokens {
  %r = lumen.loop (%first) trips "n" induction "i" symbols ["len"] init_sizes [1] : (tensor<1xi64>) -> !tokens {
  ^bb0(%a: !tokens):
    %0 = dispatch.launch @next(%a) {sizes = #lumen.dims<["len"]>} : (!tokens) -> tensor<1xi64>
    %1 = lumen.concat %a, %0 {axis = 0 : i64} : !tokens, tensor<1xi64> -> !longer
    lumen.yield %1 sizes ["len + 1"] : !longer
  }
  return %r : !tokens
}

// -----

!k = tensor<?xf32, #lumen.dims<["s0"]>>
!a = tensor<?xf32, #lumen.dims<["n"]>>
!free = tensor<?xf32, #lumen.dims<["free"]>>
!r = tensor<?xf32, #lumen.dims<["m"]>>

// Where one branch has no bound, the result takes over the memory of either.
// CHECK: %[[R:[0-9]+]] = dispatch.storage <heap>[0] size "4*m"
// CHECK: dispatch.branch "if$0" symbols ["m"] {
// CHECK:   dispatch.alloc %[[A:[0-9]+]]
// CHECK:   dispatch.launch @mix
// CHECK:   dispatch.move %[[A]] to %[[R]]
// CHECK:   dispatch.end sizes ["n"]
// CHECK: } else {
// CHECK:   dispatch.bind "free" =
// CHECK:   dispatch.alloc %[[B:[0-9]+]]
// CHECK:   dispatch.launch @fill
// CHECK:   dispatch.move %[[B]] to %[[R]]
// CHECK:   dispatch.end sizes ["free"]
// CHECK: }
// CHECK: dispatch.launch @mix
// CHECK: dispatch.free %[[R]]
dispatch.kernel @mix(%x: !k) -> !k attributes {dispatch.sizes = ["s0"]} {
  %0 = lumen.softmax %x {axis = 0 : i64} : !k
  dispatch.yield %0 : !k
}
dispatch.kernel @fill() -> !k attributes {dispatch.sizes = ["s0"]} {
  %0 = lumen.constant dense<1.0> : tensor<f32>
  %1 = lumen.broadcast %0 [] : tensor<f32> -> !k
  dispatch.yield %1 : !k
}
func.func @main(%x: !a, %free: tensor<i64>, %c: tensor<i1>) -> !r {
  %r = lumen.if %c symbols ["m"] : tensor<i1> -> !r {
    %0 = dispatch.launch @mix(%x) {sizes = #lumen.dims<["n"]>} : (!a) -> !a
    lumen.yield %0 sizes ["n"] : !a
  } else {
    lumen.symbol "free" = %free : tensor<i64>
    %0 = dispatch.launch @fill() {sizes = #lumen.dims<["free"]>} : () -> !free
    lumen.yield %0 sizes ["free"] : !free
  }
  %1 = dispatch.launch @mix(%r) {sizes = #lumen.dims<["m"]>} : (!r) -> !r
  return %1 : !r
}

// -----

!t = tensor<256xf32>

// An initial value of another block is copied: it lives on. So are loops inside of
// branches, and what an inner loop reads of the outer one lives to its end.
// CHECK: dispatch.repeat trips "3" induction "i"
// CHECK:   dispatch.launch @mix(%{{.*}}) outs(%[[S:[0-9]+]])
// CHECK:   dispatch.launch @copy_{{.*}}(%[[S]]) outs(%{{.*}})
// CHECK:   dispatch.repeat trips "2" induction "j"
// CHECK:     dispatch.launch @join(%{{.*}}, %[[S]])
// CHECK:     dispatch.swap
// CHECK:   }
// CHECK:   dispatch.swap
// CHECK: }
dispatch.kernel @mix(%x: !t) -> !t {
  %0 = lumen.softmax %x {axis = 0 : i64} : !t
  dispatch.yield %0 : !t
}
dispatch.kernel @join(%x: !t, %y: !t) -> !t {
  %0 = lumen.binary <add> %x, %y : !t
  %1 = lumen.softmax %0 {axis = 0 : i64} : !t
  dispatch.yield %1 : !t
}
func.func @main(%x: !t) -> !t {
  %r = lumen.loop (%x) trips "3" induction "i" symbols [] init_sizes [] : (!t) -> !t {
  ^bb0(%a: !t):
    %s = dispatch.launch @mix(%a) : (!t) -> !t
    %q = lumen.loop (%s) trips "2" induction "j" symbols [] init_sizes [] : (!t) -> !t {
    ^bb0(%b: !t):
      %0 = dispatch.launch @join(%b, %s) : (!t, !t) -> !t
      lumen.yield %0 sizes [] : !t
    }
    lumen.yield %q sizes [] : !t
  }
  return %r : !t
}
