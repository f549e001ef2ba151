// RUN: lumen-opt %s --split-input-file --lumen-gpu-print | FileCheck %s

// A binding is a parameter; arguments that share one are the same memory by another type.
// Memory of a workgroup, of a thread, and tables have their places.

// CHECK: __constant int [[TABLE:table[0-9]+]][3] = {1, (-2), (int)0x80000000U};
// CHECK: __kernel __attribute__((reqd_work_group_size(32, 1, 1))) void frame(__global float *b0, __global long *b1) {
// CHECK-NEXT: __global char *[[BYTES:b1_[0-9]+]] = (__global char *)b1;
// CHECK-NEXT: __local float [[SHARED:shared[0-9]+]][32];
// CHECK: const int [[THREAD:v[0-9]+]] = get_local_id(0);
// CHECK: const int [[GROUP:v[0-9]+]] = get_group_id(0);
// CHECK: short [[OWN:v[0-9]+]][4];
// CHECK: const float [[X:v[0-9]+]] = b0[[[THREAD]]];
// CHECK: [[SHARED]][[[THREAD]]] = [[X]];
// CHECK: barrier(CLK_LOCAL_MEM_FENCE);
// CHECK: const char [[BYTE:v[0-9]+]] = [[BYTES]][[[GROUP]]];
// CHECK: [[OWN]][3] = 7;
// CHECK: const int [[ENTRY:v[0-9]+]] = [[TABLE]][2];
// CHECK: atomic_add(&{{.*}}[0], [[ENTRY]]);
gpu.module @frame {
  memref.global "private" constant @table : memref<3xi32> = dense<[1, -2, -2147483648]>
  gpu.func @frame(%x: memref<?xf32> {lumen.binding = 0 : i32}, %a: memref<?xi64> {lumen.binding = 1 : i32}, %b: memref<?xi8> {lumen.binding = 1 : i32})
      workgroup(%shared: memref<32xf32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %three = arith.constant 3 : index
    %two = arith.constant 2 : index
    %seven = arith.constant 7 : i16
    %thread = gpu.thread_id x
    %group = gpu.block_id x
    %own = memref.alloca() : memref<4xi16>
    %v = memref.load %x[%thread] : memref<?xf32>
    memref.store %v, %shared[%thread] : memref<32xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %byte = memref.load %b[%group] : memref<?xi8>
    memref.store %seven, %own[%three] : memref<4xi16>
    %known = memref.get_global @table : memref<3xi32>
    %table = memref.cast %known : memref<3xi32> to memref<?xi32>
    %entry = memref.load %table[%two] : memref<?xi32>
    %counts = memref.alloca() : memref<1xi32>
    %zero = arith.constant 0 : index
    %was = memref.atomic_rmw addi %entry, %counts[%zero] : (i32, memref<1xi32>) -> i32
    gpu.return
  }
}

// -----

// What a loop carries are variables. Values that change places do so at once.

// CHECK-LABEL: void loops(
// CHECK: float [[A:v[0-9]+]] = 0x1p0f;
// CHECK: float [[B:v[0-9]+]] = 0x1p1f;
// CHECK: for (int [[I:i[0-9]+]] = 0; [[I]] < 9; [[I]] += 3) {
// CHECK-NEXT: const float [[KEPT:v[0-9]+]] = [[A]];
// CHECK-NEXT: [[A]] = [[B]];
// CHECK-NEXT: [[B]] = [[KEPT]];
// CHECK-NEXT: }
// CHECK: int [[N:v[0-9]+]] = 0;
// CHECK: int [[LAST:v[0-9]+]];
// CHECK: while (true) {
// CHECK: const bool [[MORE:v[0-9]+]] = [[N]] < 9;
// CHECK: [[LAST]] = [[N]];
// CHECK: if (![[MORE]])
// CHECK: break;
// CHECK: const int [[NEXT:v[0-9]+]] = [[LAST]] + 3;
// CHECK: [[N]] = [[NEXT]];
// CHECK: float [[R:v[0-9]+]];
// CHECK: if ([[C:v[0-9]+]]) {
// CHECK-NEXT: [[R]] = [[A]];
// CHECK-NEXT: } else {
// CHECK-NEXT: [[R]] = [[B]];
// CHECK-NEXT: }
// CHECK: if ([[C]]) {
// CHECK-NEXT: b0[0] = [[R]];
// CHECK-NEXT: }
gpu.module @loops {
  gpu.func @loops(%x: memref<?xf32> {lumen.binding = 0 : i32}) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %0 = arith.constant 0 : index
    %3 = arith.constant 3 : index
    %9 = arith.constant 9 : index
    %one = arith.constant 1.0 : f32
    %two = arith.constant 2.0 : f32
    %s:2 = scf.for %i = %0 to %9 step %3 iter_args(%a = %one, %b = %two) -> (f32, f32) {
      scf.yield %b, %a : f32, f32
    }
    %w = scf.while (%n = %0) : (index) -> index {
      %more = arith.cmpi slt, %n, %9 : index
      scf.condition(%more) %n : index
    } do {
    ^bb0(%n: index):
      %next = arith.addi %n, %3 : index
      scf.yield %next : index
    }
    %c = arith.cmpi eq, %w, %9 : index
    %r = scf.if %c -> f32 {
      scf.yield %s#0 : f32
    } else {
      scf.yield %s#1 : f32
    }
    scf.if %c {
      memref.store %r, %x[%0] : memref<?xf32>
    }
    gpu.return
  }
}

// -----

// Integers wrap at their own width; signs count where an operation says so.

// CHECK-LABEL: void integers(
// CHECK: const char [[A:v[0-9]+]] = b0[0];
// CHECK: const char [[B:v[0-9]+]] = b0[1];
// CHECK: = (char)((uint)[[A]] + (uint)[[B]]);
// CHECK: = (char)((uint)[[A]] - (uint)[[B]]);
// CHECK: = (char)((uint)[[A]] * (uint)[[B]]);
// CHECK: = (char)((uint)[[A]] << (uint)[[B]]);
// CHECK: = [[A]] / [[B]];
// CHECK: = [[A]] % [[B]];
// CHECK: = [[A]] >> [[B]];
// CHECK: = (char)((uchar)[[A]] / (uchar)[[B]]);
// CHECK: = (char)((uchar)[[A]] % (uchar)[[B]]);
// CHECK: = (char)((uchar)[[A]] >> (uchar)[[B]]);
// CHECK: = [[A]] & [[B]];
// CHECK: = [[A]] | [[B]];
// CHECK: = [[A]] ^ [[B]];
// CHECK: = [[A]] > [[B]] ? [[A]] : [[B]];
// CHECK: = [[A]] < [[B]] ? [[A]] : [[B]];
// CHECK: = (uchar)[[A]] > (uchar)[[B]] ? [[A]] : [[B]];
// CHECK: = (uchar)[[A]] < (uchar)[[B]] ? [[A]] : [[B]];
// CHECK: const bool [[SLT:v[0-9]+]] = [[A]] < [[B]];
// CHECK: const bool [[UGE:v[0-9]+]] = (uchar)[[A]] >= (uchar)[[B]];
// CHECK: = [[SLT]] ? [[A]] : [[B]];
// CHECK: = (char)([[A]] < 0 ? -(uchar)[[A]] : (uchar)[[A]]);
// CHECK: = clz([[A]]);
// CHECK: = popcount([[A]]);
// CHECK: = (long)((ulong)[[L:v[0-9]+]] + (ulong)(-5L));
gpu.module @integers {
  gpu.func @integers(%x: memref<?xi8> {lumen.binding = 0 : i32}, %y: memref<?xi64> {lumen.binding = 1 : i32}) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %minus = arith.constant -5 : i64
    %a = memref.load %x[%0] : memref<?xi8>
    %b = memref.load %x[%1] : memref<?xi8>
    %add = arith.addi %a, %b : i8
    %sub = arith.subi %a, %b : i8
    %mul = arith.muli %a, %b : i8
    %shl = arith.shli %a, %b : i8
    %divs = arith.divsi %a, %b : i8
    %rems = arith.remsi %a, %b : i8
    %shrs = arith.shrsi %a, %b : i8
    %divu = arith.divui %a, %b : i8
    %remu = arith.remui %a, %b : i8
    %shru = arith.shrui %a, %b : i8
    %and = arith.andi %a, %b : i8
    %or = arith.ori %a, %b : i8
    %xor = arith.xori %a, %b : i8
    %maxs = arith.maxsi %a, %b : i8
    %mins = arith.minsi %a, %b : i8
    %maxu = arith.maxui %a, %b : i8
    %minu = arith.minui %a, %b : i8
    %slt = arith.cmpi slt, %a, %b : i8
    %uge = arith.cmpi uge, %a, %b : i8
    %select = arith.select %slt, %a, %b : i8
    %abs = math.absi %a : i8
    %clz = math.ctlz %a : i8
    %pop = math.ctpop %a : i8
    %l = memref.load %y[%0] : memref<?xi64>
    %long = arith.addi %l, %minus : i64
    gpu.return
  }
}

// -----

// Numbers are written exactly; those that are none by their bits. A comparison says what it
// is with NaN.

// CHECK-LABEL: void floats(
// CHECK: const float [[A:v[0-9]+]] = b0[0];
// CHECK: const float [[B:v[0-9]+]] = b0[1];
// CHECK: = [[A]] + 0x1.99999ap-4f;
// CHECK: = [[A]] - (-0x0p0f);
// CHECK: = [[A]] * as_float(0x7FC00000U);
// CHECK: = [[A]] / [[B]];
// CHECK: = -[[A]];
// CHECK: = fmod([[A]], [[B]]);
// CHECK: = [[A]] > [[B]] || [[A]] != [[A]] ? [[A]] : [[B]];
// CHECK: = [[A]] < [[B]] || [[A]] != [[A]] ? [[A]] : [[B]];
// CHECK: = fmax([[A]], [[B]]);
// CHECK: = fmin([[A]], [[B]]);
// CHECK: = [[A]] < [[B]] || [[A]] > [[B]];
// CHECK: = [[A]] == [[A]] && [[B]] == [[B]];
// CHECK: = !([[A]] >= [[B]]);
// CHECK: = [[A]] != [[A]] || [[B]] != [[B]];
// CHECK: = fma([[A]], [[B]], [[A]]);
// CHECK: = rint([[A]]);
// CHECK: = fabs([[A]]);
// CHECK: = exp([[A]]);
// CHECK: const double [[D:v[0-9]+]] = (double)[[A]];
// CHECK: = [[D]] + as_double(0x7FF0000000000000UL);
gpu.module @floats {
  gpu.func @floats(%x: memref<?xf32> {lumen.binding = 0 : i32}) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %tenth = arith.constant 0.1 : f32
    %minus = arith.constant -0.0 : f32
    %nan = arith.constant 0x7FC00000 : f32
    %infinity = arith.constant 0x7FF0000000000000 : f64
    %a = memref.load %x[%0] : memref<?xf32>
    %b = memref.load %x[%1] : memref<?xf32>
    %add = arith.addf %a, %tenth : f32
    %sub = arith.subf %a, %minus : f32
    %mul = arith.mulf %a, %nan : f32
    %div = arith.divf %a, %b : f32
    %neg = arith.negf %a : f32
    %rem = arith.remf %a, %b : f32
    %maximum = arith.maximumf %a, %b : f32
    %minimum = arith.minimumf %a, %b : f32
    %maxnum = arith.maxnumf %a, %b : f32
    %minnum = arith.minnumf %a, %b : f32
    %one = arith.cmpf one, %a, %b : f32
    %ord = arith.cmpf ord, %a, %b : f32
    %ult = arith.cmpf ult, %a, %b : f32
    %uno = arith.cmpf uno, %a, %b : f32
    %fma = math.fma %a, %b, %a : f32
    %even = math.roundeven %a : f32
    %abs = math.absf %a : f32
    %exp = math.exp %a : f32
    %d = arith.extf %a : f32 to f64
    %inf = arith.addf %d, %infinity : f64
    gpu.return
  }
}

// -----

// f16 are bits that are converted to float to compute with, bf16 are bits alone.

// CHECK-LABEL: void conversions(
// CHECK: const float [[F:v[0-9]+]] = b0[0];
// CHECK: const short [[H:v[0-9]+]] = b1[0];
// CHECK: const char [[I8:v[0-9]+]] = (char)[[F]];
// CHECK: = (int)(uint)[[F]];
// CHECK: = (int)from_half([[H]]);
// CHECK: = (float)from_half([[H]]);
// CHECK: = float_to_half([[F]]);
// CHECK: = float_to_half((float)[[I8]]);
// CHECK: = (float)(uchar)[[I8]];
// CHECK: = (int)[[I8]];
// CHECK: = (int)(uchar)[[I8]];
// CHECK: const bool [[BIT:v[0-9]+]] = ([[I8]] & 1) != 0;
// CHECK: = (int)-(int)[[BIT]];
// CHECK: = (int)(uint)[[BIT]];
// CHECK: = as_int([[F]]);
// CHECK: const short [[SAME:v[0-9]+]] = [[H]];
// CHECK: const short [[BACK:v[0-9]+]] = [[SAME]];
// CHECK: b1[0] = [[BACK]];
// CHECK: const short [[BF:v[0-9]+]] = b2[0];
// CHECK: = [[BF]];
// CHECK: = (long)0;
gpu.module @conversions {
  gpu.func @conversions(%x: memref<?xf32> {lumen.binding = 0 : i32}, %y: memref<?xf16> {lumen.binding = 1 : i32}, %z: memref<?xbf16> {lumen.binding = 2 : i32}) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %0 = arith.constant 0 : index
    %f = memref.load %x[%0] : memref<?xf32>
    %h = memref.load %y[%0] : memref<?xf16>
    %i8 = arith.fptosi %f : f32 to i8
    %u = arith.fptoui %f : f32 to i32
    %fromHalf = arith.fptosi %h : f16 to i32
    %wide = arith.extf %h : f16 to f32
    %half = arith.truncf %f : f32 to f16
    %halfOf = arith.sitofp %i8 : i8 to f16
    %float = arith.uitofp %i8 : i8 to f32
    %signed = arith.extsi %i8 : i8 to i32
    %unsigned = arith.extui %i8 : i8 to i32
    %bit = arith.trunci %i8 : i8 to i1
    %all = arith.extsi %bit : i1 to i32
    %one = arith.extui %bit : i1 to i32
    %bits = arith.bitcast %f : f32 to i32
    %same = arith.bitcast %h : f16 to i16
    %back = arith.bitcast %same : i16 to f16
    memref.store %back, %y[%0] : memref<?xf16>
    %bf = memref.load %z[%0] : memref<?xbf16>
    %moved = arith.bitcast %bf : bf16 to f16
    memref.store %moved, %y[%0] : memref<?xf16>
    %index = arith.index_cast %0 : index to i64
    gpu.return
  }
}
