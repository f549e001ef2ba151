//===- Passes.td - from a model's tensors to fewer and better ones --------===//
include "mlir/Pass/PassBase.td"

def PropagateTransposes : Pass<"propagate-transposes", "::mlir::ModuleOp"> {
  let summary = "move transposes towards the outputs until they cancel";
  let description = [{
    One walk from the inputs to the outputs. A transpose is not an operation but
    a fact about a value, "this is that one with its dimensions permuted", which
    every operation either takes over (its axes, pads, windows are renamed) or
    refuses (a convolution is channels-last by definition); only a refusal leaves
    a transpose in the IR. Where operands disagree, the permutation that covers
    most elements wins. Constants, broadcasts and iotas take any permutation.

    A reshape lets a permutation pass when the dimensions that it joins or splits
    lie together. Rows of a constant matrix are reordered for a flattened image
    in front of a fully connected layer, so that this costs nothing at run time.
    What prepares an input (a mean to subtract, a conversion from bytes) goes
    behind the input's transpose, whose kernel it joins.

    Example: the transposes around the activation between two convolutions

    ```mlir
    %1 = lumen.transpose %0 [0, 3, 1, 2] : tensor<1x8x8x16xf32> -> tensor<1x16x8x8xf32>
    %2 = lumen.unary <relu> %1 : tensor<1x16x8x8xf32> -> tensor<1x16x8x8xf32>
    %3 = lumen.transpose %2 [0, 2, 3, 1] : tensor<1x16x8x8xf32> -> tensor<1x8x8x16xf32>
    ```

    vanish:

    ```mlir
    %2 = lumen.unary <relu> %0 : tensor<1x8x8x16xf32> -> tensor<1x8x8x16xf32>
    ```
  }];
}

def FoldAffine : Pass<"fold-affine", "::mlir::ModuleOp"> {
  let summary = "fold factors and offsets, such as batch normalisation, into weights";
  let description = [{
    With constants `c`, a constant weight `W`, and no other use of the inner value:

    - `(x + c1) * c2` is `x * c2 + c1*c2`, when `x` is a product or a contraction;
    - `(x * c1) * c2` is `x * (c1*c2)`, and `(x + c1) + c2` is `x + (c1+c2)`;
    - `conv(x, W) * c` is `conv(x, W*c)` for a factor per output channel, and so
      for `contract`;
    - `contract(x * c, y)` is `contract(x, y) * c` for a number c and an x that no
      kernel computes;
    - `x - c` is `x + -c`, and `x / c` is `x * (1/c)` where the reciprocal is a
      normal number.

    Constants are computed in double precision and rounded once. Floating point
    only.

    Example: `%2` and `%3` in

    ```mlir
    %1 = lumen.conv %x, %w {...} : tensor<1x8x8x3xf32>, tensor<1x1x3x4xf32> -> tensor<1x8x8x4xf32>
    %2 = lumen.binary <mul> %1, %scale : tensor<1x8x8x4xf32>
    %3 = lumen.binary <add> %2, %bias : tensor<1x8x8x4xf32>
    ```

    become one `add` of the bias behind a convolution with scaled weights.
  }];
}

def FoldConstants : Pass<"fold-constants", "::mlir::ModuleOp"> {
  let summary = "evaluate operations on constants of any size";
  let description = [{
    The folders of the dialect stop at a few thousand elements; this pass does
    elementwise operations, transposes, reshapes, slices and concatenations of
    any size. A repeated (broadcast) constant is never expanded: the operation is
    done before the repetition. What only rearranges the weight of a convolution
    or contraction is left alone, because `pack-weights` reads through it.
  }];
}

def FuseNormalization : Pass<"fuse-normalization", "::mlir::ModuleOp"> {
  let summary = "recognise softmax and layer normalisation that are spelled out";
  let description = [{
    - `exp(x - max(x)) / sum(exp(x - max(x)))` becomes `softmax`;
    - `(x - mean(x)) * rsqrt(var(x) + epsilon)` over trailing dimensions becomes
      `norm <layer>`, with the variance as `mean((x - mean)^2)` or as
      `mean(x^2) - mean^2`, the latter with or without `max(0, .)`;
    - `x * rsqrt(mean(x^2) + epsilon)` becomes `norm <rms>`.

    The fused operations are at least as accurate: they subtract the maximum or
    the mean first.
  }];
}

def FuseLookups : Pass<"fuse-lookups", "::mlir::ModuleOp"> {
  let summary = "turn products with a one-hot matrix into gathers";
  let description = [{
    `contract(convert(indices == iota), W)` picks rows of `W`, so it becomes
    `gather(W, indices)`, with zeros where an index names no row.
  }];
}

def FuseAttention : Pass<"fuse-attention", "::mlir::ModuleOp"> {
  let summary = "fuse two products and the softmax between them into attention";
  let description = [{
    `softmax(scale * Q K' + mask) V`, as exporters write it, with a mask that is added or hides
    scores behind a very low number, and perhaps with zeros for rows of NaN. Sizes of heads must
    be known. A query of which every key is hidden by minus infinity gets zeros, not NaN.
  }];
}

def FuseRotations : Pass<"fuse-rotations", "::mlir::ModuleOp"> {
  let summary = "turn pairs of elements by rotary positions half by half";
  let description = [{
    `x * cos + concat(-x[n:], x[:n]) * sin`, as exporters write rotary positions, becomes
    `concat(x[:n] * cos[:n] - x[n:] * sin[:n], x[n:] * cos[n:] + x[:n] * sin[n:])`: each half is
    one pass, and the turned copy of x is not written.
  }];
}

def ExpandPowers : Pass<"expand-powers", "::mlir::ModuleOp"> {
  let summary = "write powers with simple exponents as products and roots";
  let description = [{
    For the exponents 1, 2, 3, -1, 0.5, -0.5 and 0.75 (local response
    normalisation), in f32. As ONNX Runtime, it takes the square root for 0.5,
    which differs from the power at minus infinity only.

    Example: `pow(x, 0.75)` is `sqrt(x) * sqrt(sqrt(x))`.
  }];
}

def SinkReshapes : Pass<"sink-reshapes", "::mlir::ModuleOp"> {
  let summary = "do elementwise operations before a reshape, not after it";
  let description = [{
    A reshape costs nothing but separates kernels: what follows it cannot join
    the kernel that made the value. So an elementwise operation moves in front of
    it, when its other operands are reshapes of the same kind, splats, or vectors
    along a last dimension that the reshape keeps.

    Example: scaling a global sum whose unit dimensions were kept

    ```mlir
    %0 = lumen.reduce <sum> %x [1, 2] : tensor<1x7x7x64xf32> -> tensor<1x64xf32>
    %1 = lumen.reshape %0 : tensor<1x64xf32> -> tensor<1x1x1x64xf32>
    %2 = lumen.binary <mul> %1, %c : tensor<1x1x1x64xf32>
    ```

    becomes

    ```mlir
    %1 = lumen.binary <mul> %0, %c : tensor<1x64xf32>
    %2 = lumen.reshape %1 : tensor<1x64xf32> -> tensor<1x1x1x64xf32>
    ```
  }];
}

def DropUnitDims : Pass<"drop-unit-dims", "::mlir::ModuleOp"> {
  let summary = "turn convolutions over images of one row into 1-D ones";
  let description = [{
    Exporters spell a 1-D convolution as a 2-D one between two reshapes. Where
    dropping the unit dimension makes both reshapes vanish, the convolution's
    neighbours can join its kernel.
  }];
}

def PackWeights : Pass<"pack-weights", "::mlir::ModuleOp"> {
  let summary = "bring constant weights into the layout that micro-kernels stream";
  let description = [{
    The f32 filter of a convolution and the f32 right operand of a contraction
    become panels of 64 columns, see `lumen.conv` and `lumen.contract`; a
    depthwise filter becomes `[taps, C]`. Transposes, reshapes and slices between
    the constant and its use are read through. Weights in several uses are packed
    once. Blobs that nothing uses any more are released at the end.

    Example: a 3x3 convolution from 64 to 128 channels has afterwards a filter of
    type `tensor<1x2x576x64xf32>`.
  }];
}

def SimplifyControl : Pass<"simplify-control", "::mlir::ModuleOp"> {
  let summary = "decide branches, loops and symbols that constants decide";
  let description = [{
    - A branch whose condition is a constant becomes its region, a loop of no trip its
      initial values, and one of a single trip its body; their symbols become the
      sizes that they stand for.
    - A symbol that is given an expression is replaced by it.
    - Results, carried values and symbols that nothing reads go, and so do carried
      values that every trip passes on unchanged, and conditions that always hold.
    - A check that an earlier one implies goes.

    Alternates with canonicalization until nothing changes.

    Example: with `%c` the constant true,

    ```mlir
    %1 = lumen.if %c symbols ["n"] : tensor<i1> -> tensor<?xf32, #lumen.dims<["n"]>> {
      lumen.yield %a sizes ["batch"] : tensor<?xf32, #lumen.dims<["batch"]>>
    } else {
      lumen.yield %b sizes [1] : tensor<1xf32>
    }
    ```

    is `%a`, and `n` is `batch` wherever it was named.
  }];
}

def VerifySymbols : Pass<"verify-symbols", "::mlir::ModuleOp"> {
  let summary = "check that every symbol has a value where it is named";
  let description = [{
    A symbol that a type or an expression names is one of the inputs', or an
    operation before it gives it a value. No symbol is defined twice, so passes
    may replace one everywhere.
  }];
}
