// Values get places in one arena, the caller's buffers and the weights.
// RUN: lumen-opt %s --form-kernels --place-views --plan-buffers --verify-no-tensors --split-input-file | FileCheck %s

// A chain of layers needs two buffers, whatever its length; equal constants are
// stored once; the last value goes to the caller's buffer.
// CHECK: module attributes {lumen.arena_lower_bound = 512 : i64, lumen.arena_size = 512 : i64, lumen.bytes_without_sharing = 768 : i64
// CHECK-SAME: lumen.weights = [{offset = 0 : i64, size = 1024 : i64, value = dense<2.000000e+00> : tensor<16x16xf32>}]
// CHECK-LABEL: func.func @main(%arg0: tensor<4x16xf32> {onnx.name = "x"})
// CHECK-SAME: lumen.result_attrs = [{onnx.name = "y"}], lumen.result_types = [tensor<4x16xf32>]
// CHECK: %[[INPUT:.*]] = dispatch.storage <input>[0] size 256
// CHECK: %[[WEIGHTS:.*]] = dispatch.storage <weights>[0] size 1024
// CHECK: %[[ARENA:.*]] = dispatch.storage <arena>[0] size 512
// CHECK: %[[OUTPUT:.*]] = dispatch.storage <output>[0] size 256
// CHECK: %[[X:.*]] = dispatch.buffer %[[INPUT]] offset 0 size 256
// CHECK: %[[W:.*]] = dispatch.buffer %[[WEIGHTS]] offset 0 size 1024
// CHECK: %[[A:.*]] = dispatch.buffer %[[ARENA]] offset [[P:.*]] size 256 {first = 0 : i64, last = 1 : i64}
// CHECK: dispatch.launch @contract_0(%[[X]], %[[W]]) outs(%[[A]])
// CHECK: %[[B:.*]] = dispatch.buffer %[[ARENA]] offset [[Q:.*]] size 256 {first = 1 : i64, last = 2 : i64}
// CHECK: dispatch.launch @contract_1(%[[A]], %[[W]]) outs(%[[B]])
// CHECK: %[[C:.*]] = dispatch.buffer %[[ARENA]] offset [[P]] size 256 {first = 2 : i64, last = 3 : i64}
// CHECK: dispatch.launch @contract_2(%[[B]], %[[W]]) outs(%[[C]])
// CHECK: %[[D:.*]] = dispatch.buffer %[[OUTPUT]] offset 0 size 256
// CHECK: dispatch.launch @softmax_0(%[[C]]) outs(%[[D]])
func.func @main(%x: tensor<4x16xf32> {onnx.name = "x"}) -> (tensor<4x16xf32> {onnx.name = "y"}) {
  %w = lumen.constant dense<2.0> : tensor<16x16xf32>
  %v = lumen.constant dense<2.0> : tensor<16x16xf32>
  %0 = lumen.contract %x, %w : tensor<4x16xf32>, tensor<16x16xf32> -> tensor<4x16xf32>
  %1 = lumen.contract %0, %v : tensor<4x16xf32>, tensor<16x16xf32> -> tensor<4x16xf32>
  %2 = lumen.contract %1, %w : tensor<4x16xf32>, tensor<16x16xf32> -> tensor<4x16xf32>
  %3 = lumen.softmax %2 {axis = 1 : i64} : tensor<4x16xf32>
  %4 = lumen.binary <add> %2, %3 : tensor<4x16xf32>
  return %4 : tensor<4x16xf32>
}

// -----

// Constants have a storage each: a device may want them in several blocks.
// CHECK: %[[FIRST:.*]] = dispatch.storage <weights>[0] size 256{{$}}
// CHECK: %[[SECOND:.*]] = dispatch.storage <weights>[0] size 96 {offset = 256 : i64}
// CHECK: %[[THIRD:.*]] = dispatch.storage <weights>[0] size 12 {offset = 384 : i64}
// CHECK: dispatch.buffer %[[FIRST]] offset 0 size 256
// CHECK: dispatch.buffer %[[SECOND]] offset 0 size 96
// CHECK: dispatch.buffer %[[THIRD]] offset 0 size 12
func.func @main(%x: tensor<4x8xf32> {onnx.name = "x"}) -> (tensor<4x3xf32> {onnx.name = "y"}) {
  %w = lumen.constant dense<2.0> : tensor<8x8xf32>
  %v = lumen.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %u = lumen.constant dense<3.0> : tensor<8x3xf32>
  %0 = lumen.contract %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %1 = lumen.contract %0, %u : tensor<4x8xf32>, tensor<8x3xf32> -> tensor<4x3xf32>
  %2 = lumen.broadcast %v [1] : tensor<3xf32> -> tensor<4x3xf32>
  %3 = lumen.binary <add> %1, %2 : tensor<4x3xf32>
  return %3 : tensor<4x3xf32>
}

// -----

// An elementwise kernel writes over an operand that dies there.
// CHECK: dispatch.launch @softmax_0
// CHECK-NEXT: %[[A:.*]] = dispatch.buffer %{{.*}} offset 0 size 256 {first = 0 : i64, last = 2 : i64}
// CHECK-NEXT: %[[B:.*]] = dispatch.buffer %{{.*}} offset 0 size 256 {first = 0 : i64, last = 2 : i64}
// CHECK-NEXT: dispatch.launch @map_0(%[[A]]) outs(%[[B]])
func.func @main(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %0 = lumen.softmax %x {axis = 1 : i64} : tensor<4x16xf32>
  %1 = lumen.reshape %0 : tensor<4x16xf32> -> tensor<64xf32>
  %2 = lumen.unary <exp> %1 : tensor<64xf32> -> tensor<64xf32>
  %3 = lumen.reshape %2 : tensor<64xf32> -> tensor<4x16xf32>
  %4 = lumen.softmax %3 {axis = 1 : i64} : tensor<4x16xf32>
  return %4 : tensor<4x16xf32>
}

// -----

// A kernel that reads its operand through a broadcast must not write over it.
// CHECK: module attributes {lumen.arena_lower_bound = 128
// CHECK: dispatch.buffer %{{.*}} offset 0 size 64 {first
// CHECK: dispatch.buffer %{{.*}} offset 64 size 64 {first
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = lumen.softmax %x {axis = 1 : i64} : tensor<4x4xf32>
  %1 = lumen.reshape %0 : tensor<4x4xf32> -> tensor<16xf32>
  %2 = lumen.broadcast %1 [0] : tensor<16xf32> -> tensor<16xf32>
  %3 = lumen.unary <log> %2 : tensor<16xf32> -> tensor<16xf32>
  %4 = lumen.reshape %3 : tensor<16xf32> -> tensor<4x4xf32>
  %5 = lumen.softmax %4 {axis = 1 : i64} : tensor<4x4xf32>
  return %5 : tensor<4x4xf32>
}

// -----

// An epilogue writes over the operand that it adds: a residual block needs two
// buffers. The input of the root itself is never written over.
// CHECK: module attributes {lumen.arena_lower_bound = 512 : i64, lumen.arena_size = 512
// CHECK: %[[ARENA:.*]] = dispatch.storage <arena>
// CHECK: %[[A:.*]] = dispatch.buffer %[[ARENA]] offset [[P:.*]] size 256 {first = 0 : i64, last = 3 : i64}
// CHECK: dispatch.launch @contract_0({{.*}}) outs(%[[A]])
// CHECK: %[[B:.*]] = dispatch.buffer %{{.*}} offset [[Q:.*]] size 256 {first = 1 : i64, last = 2 : i64}
// CHECK: dispatch.launch @contract_1(%[[A]], {{.*}}) outs(%[[B]])
// CHECK: %[[C:.*]] = dispatch.buffer %{{.*}} offset [[P]] size 256
// CHECK: dispatch.launch @contract_2(%[[B]], {{.*}}%[[A]]) outs(%[[C]])
func.func @main(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %w = lumen.constant dense<2.0> : tensor<16x16xf32>
  %0 = lumen.contract %x, %w : tensor<4x16xf32>, tensor<16x16xf32> -> tensor<4x16xf32>
  %1 = lumen.contract %0, %w : tensor<4x16xf32>, tensor<16x16xf32> -> tensor<4x16xf32>
  %2 = lumen.contract %1, %w : tensor<4x16xf32>, tensor<16x16xf32> -> tensor<4x16xf32>
  %3 = lumen.binary <add> %2, %0 : tensor<4x16xf32>
  %4 = lumen.softmax %3 {axis = 1 : i64} : tensor<4x16xf32>
  return %4 : tensor<4x16xf32>
}

// -----

// A kernel must not write over an operand that it also reads through another view:
// here the root reads columns of what the epilogue adds.
// CHECK: module attributes {lumen.arena_lower_bound = 512
// CHECK: %[[ARENA:.*]] = dispatch.storage <arena>
// CHECK: %[[A:.*]] = dispatch.buffer %[[ARENA]] offset [[AT:.*]] size 256
// CHECK: %[[SLICE:.*]] = dispatch.buffer %[[ARENA]] offset [[AT]] size
// CHECK: %[[B:.*]] = dispatch.buffer %[[ARENA]]
// CHECK-NOT: offset [[AT]] size
// CHECK: dispatch.launch @contract_1(%[[SLICE]], %{{.*}}, %[[A]]) outs(%[[B]])
func.func @main(%x: tensor<4x16xf32>, %w: tensor<16x16xf32>, %v: tensor<8x16xf32>) -> tensor<4x16xf32> {
  %0 = lumen.contract %x, %w : tensor<4x16xf32>, tensor<16x16xf32> -> tensor<4x16xf32>
  %1 = lumen.slice %0 [0, 0] [1, 1] : tensor<4x16xf32> -> tensor<4x8xf32>
  %2 = lumen.contract %1, %v : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %3 = lumen.binary <add> %2, %0 : tensor<4x16xf32>
  %4 = lumen.softmax %3 {axis = 1 : i64} : tensor<4x16xf32>
  return %4 : tensor<4x16xf32>
}
