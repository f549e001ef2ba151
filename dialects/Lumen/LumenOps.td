//===- LumenOps.td - operations of the lumen dialect ----------------------===//
#ifndef LUMEN_DIALECTS_LUMEN_OPS
#define LUMEN_DIALECTS_LUMEN_OPS

include "dialects/Lumen/LumenBase.td"
include "dialects/Lumen/LumenInterfaces.td"
include "dialects/Lumen/LumenTypes.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class LumenOp<string mnemonic, string family, list<Trait> traits = [], bit isPure = true>
    : Op<LumenDialect, mnemonic, !listconcat(traits, !if(isPure, [Pure], []), [
          DeclareOpInterfaceMethods<LumenOpInterface>])> {
  code extra = "";
  let extraClassDeclaration = extra;
  let extraClassDefinition = "::lumen::Family $cppClass::getFamily() { return ::lumen::Family::"
                             # family # "; }";
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

def ConstantOp : LumenOp<"constant", "Constant", [ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "a constant tensor";
  let description = [{
    Small constants are `dense<...>` and take part in folding; large ones are
    `#lumen.blob`. A splat of any size is `dense`.

    Example: `%0 = lumen.constant dense<1.0> : tensor<4xf32>`
  }];
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::TypedAttr":$value), [{
    build($_builder, $_state, value.getType(), value);
  }]>];
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

def UnaryOp : LumenOp<"unary", "Elementwise", [SameOperandsAndResultShape]> {
  let summary = "a scalar function of each element";
  let description = [{
    `isnan`, `isinf` and `not` on `i1` give `i1`; every other kind keeps the type.

    Example: `%1 = lumen.unary <relu> %0 : tensor<1x8xf32> -> tensor<1x8xf32>`
  }];
  let arguments = (ins UnaryKindAttr:$kind, AnyRankedTensor:$operand);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $operand attr-dict `:` type($operand) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def BinaryOp : LumenOp<"binary", "Elementwise", [SameOperandsAndResultType]> {
  let summary = "a scalar function of two elements";
  let description = [{
    Operands have the result's type: broadcasting is explicit. `div` truncates on
    integers; `mod` has the sign of the divisor, `rem` that of the dividend.

    Example: `%2 = lumen.binary <add> %0, %1 : tensor<1x8xf32>`
  }];
  let arguments = (ins BinaryKindAttr:$kind, AnyRankedTensor:$lhs, AnyRankedTensor:$rhs);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def CompareOp : LumenOp<"compare", "Elementwise", [SameOperandsAndResultShape, SameTypeOperands]> {
  let summary = "compares two tensors element by element";
  let description = [{
    Example: `%2 = lumen.compare <lt> %0, %1 : tensor<8xf32> -> tensor<8xi1>`
  }];
  let arguments = (ins CompareKindAttr:$kind, AnyRankedTensor:$lhs, AnyRankedTensor:$rhs);
  let results = (outs TensorOf<[I1]>:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
  let hasFolder = 1;
}

def SelectOp : LumenOp<"select", "Elementwise", [SameOperandsAndResultShape,
    AllTypesMatch<["on_true", "on_false", "result"]>]> {
  let summary = "picks from two tensors by a condition";
  let description = [{
    Example: `%3 = lumen.select %c, %0, %1 : tensor<8xf32>`
  }];
  let arguments = (ins TensorOf<[I1]>:$condition, AnyRankedTensor:$on_true, AnyRankedTensor:$on_false);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$condition `,` $on_true `,` $on_false attr-dict `:` type($condition) `,` type($result)";
  let hasFolder = 1;
}

def ConvertOp : LumenOp<"convert", "Elementwise", [SameOperandsAndResultShape]> {
  let summary = "changes the element type";
  let description = [{
    Float to integer truncates; to `i1` tests against zero; between integers
    wraps; float to float rounds to nearest even.

    Example: `%1 = lumen.convert %0 : tensor<8xi64> -> tensor<8xf32>`
  }];
  let arguments = (ins AnyRankedTensor:$operand);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasFolder = 1;
}

def BroadcastOp : LumenOp<"broadcast", "Elementwise"> {
  let summary = "repeats a tensor along new or unit dimensions";
  let description = [{
    Operand dimension `i` becomes result dimension `dims[i]`; `dims` is strictly
    increasing. An operand dimension of 1 is repeated to the result's size.

    Example: `%1 = lumen.broadcast %0 [3] : tensor<64xf32> -> tensor<1x7x7x64xf32>`
  }];
  let arguments = (ins AnyRankedTensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$operand $dims attr-dict `:` type($operand) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

//===----------------------------------------------------------------------===//
// Contractions and windows
//===----------------------------------------------------------------------===//

def ContractOp : LumenOp<"contract", "Contraction"> {
  let summary = "matrix product, batched";
  let description = [{
    `[B..., M, K] x [B..., K, N] -> [B..., M, N]` with equal batch dimensions; a
    transposed operand has its last two dimensions swapped. A 2-D rhs is shared
    by all batches. With `packed` the rhs is a constant of type
    `[ceil(N/64), K, 64]`: columns in panels of 64, padded with zeros.

    Integers of 8 bits, of either sign, are multiplied and summed in i32, which wraps.
    The rhs may also be i16, where a zero point was subtracted from it. In a packed rhs
    of 8 bits four rows lie together, `[ceil(N/64), ceil(K/4), 64, 4]`; in one of 16 the
    first and the third of four rows, then the second and the fourth,
    `[ceil(N/64), ceil(K/4), 2, 64, 2]`. Rows behind the last are zero.

    Example: `%2 = lumen.contract %a, %b : tensor<8x64xf32>, tensor<64x32xf32> -> tensor<8x32xf32>`
  }];
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs,
                       UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs, UnitAttr:$packed);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`transpose_lhs` $transpose_lhs^)? (`transpose_rhs` $transpose_rhs^)?
    (`packed` $packed^)? attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
  let hasVerifier = 1;
}

def ConvOp : LumenOp<"conv", "Convolution"> {
  let summary = "channels-last convolution";
  let description = [{
    Input `[N, spatial..., C]`, result `[N, spatial..., O]`, filter
    `[taps..., C/groups, O]`; the filter's O dimension is ordered by group. With
    `packed` the filter is a constant
    `[groups, ceil((O/groups)/64), product(taps) * C/groups, 64]`, columns in
    panels of 64 within their group, padded with zeros; a depthwise filter
    (`groups` = C = O) is packed as `[product(taps), C]`. Integers are those of
    `lumen.contract`, and four channels of a tap lie together where four rows do there.
    `window`, `strides`, `dilations`, `pad_low`, `pad_high` have one entry per
    spatial dimension; `pad_*` may be negative.

    Example:
    ```mlir
    %1 = lumen.conv %x, %w {window = array<i64: 3, 3>, strides = array<i64: 1, 1>,
      dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>,
      groups = 1 : i64} : tensor<1x56x56x64xf32>, tensor<3x3x64x64xf32> -> tensor<1x56x56x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$filter,
      DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
      DenseI64ArrayAttr:$pad_low, DenseI64ArrayAttr:$pad_high, IntAttr:$groups, UnitAttr:$packed);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `,` $filter attr-dict `:` type($input) `,` type($filter) `->` type($result)";
  let hasVerifier = 1;
  let extra = [{
    /// Number of input channels, and whether each group is one channel in and out.
    int64_t getChannels();
    int64_t getOutputChannels();
    bool isDepthwise() { return getGroups() > 1 && getGroups() == getChannels() && getGroups() == getOutputChannels(); }
  }];
}

def WindowOp : LumenOp<"window", "Window"> {
  let summary = "combines a sliding window";
  let description = [{
    All attributes have one entry per dimension of the operand, so a window may
    also run over channels (LRN). Elements outside the operand take no part.

    Example:
    ```mlir
    %1 = lumen.window <max> %x {window = array<i64: 1, 3, 3, 1>, strides = array<i64: 1, 2, 2, 1>,
      dilations = array<i64: 1, 1, 1, 1>, pad_low = array<i64: 0, 1, 1, 0>,
      pad_high = array<i64: 0, 1, 1, 0>} : tensor<1x112x112x64xf32> -> tensor<1x56x56x64xf32>
    ```
  }];
  let arguments = (ins WindowKindAttr:$kind, AnyRankedTensor:$operand,
      DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
      DenseI64ArrayAttr:$pad_low, DenseI64ArrayAttr:$pad_high, UnitAttr:$count_include_pad);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Reductions and normalisation
//===----------------------------------------------------------------------===//

def ReduceOp : LumenOp<"reduce", "Reduction"> {
  let summary = "combines all elements along some dimensions";
  let description = [{
    Reduced dimensions vanish. `axes` is strictly increasing.

    Example: `%1 = lumen.reduce <sum> %0 [1, 2] : tensor<1x7x7x64xf32> -> tensor<1x64xf32>`
  }];
  let arguments = (ins ReduceKindAttr:$kind, AnyRankedTensor:$operand, DenseI64ArrayAttr:$axes);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $operand $axes attr-dict `:` type($operand) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def SoftmaxOp : LumenOp<"softmax", "Normalization", [SameOperandsAndResultType]> {
  let summary = "exp(x - max) / sum over one dimension";
  let description = [{
    Kept whole: one pass per row, with the maximum subtracted. With `log` the
    logarithm of it.

    Example: `%1 = lumen.softmax %0 {axis = 1 : i64} : tensor<1x1000xf32>`
  }];
  let arguments = (ins AnyRankedTensor:$operand, IntAttr:$axis, UnitAttr:$log);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def NormOp : LumenOp<"norm", "Normalization", [SameOperandsAndResultType]> {
  let summary = "subtracts the mean and divides by the deviation over trailing dimensions";
  let description = [{
    Over dimensions `axis` and after: `layer` gives `(x - mean) / sqrt(var + epsilon)`,
    `rms` gives `x / sqrt(mean(x^2) + epsilon)`. Scale and bias are elementwise
    ops that fuse behind it. Kept whole: one pass over the data.

    Example: `%1 = lumen.norm <layer> %0 {axis = 2 : i64, epsilon = 1.0e-5 : f64} : tensor<1x128x768xf32>`
  }];
  let arguments = (ins NormKindAttr:$kind, AnyRankedTensor:$operand, IntAttr:$axis, F64Attr:$epsilon);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $operand attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def AttentionOp : LumenOp<"attention", "Attention", [AttrSizedOperandSegments]> {
  let summary = "softmax(scale * Q K' + mask) V, by heads";
  let description = [{
    Of every batch and head, each row of the query is compared with all keys; the softmax
    of the scores weighs the values. Nothing of the size rows x keys is in memory.

    `*_dims` say where the logical dimensions (batch, heads, rows, size) lie in a tensor,
    so that a split into heads needs no copy: `[0, 2, 1, 3]` is batch, rows, heads, size.
    The rows of key and value are the keys. Each of their heads serves heads / keyHeads
    heads of the query in a row.

    A score is `scale * q.k`, then bounded by `softcap * tanh(score / softcap)` unless
    `softcap` is 0. Then the mask is added, whose dimensions are those of the scores
    (batch, heads, rows, keys) or 1. A key is hidden where its score is minus infinity,
    and, where `first` is given, if it stands behind its query: row i of the query stands
    at `first` + i among the keys, of each batch where `first` has one number for each.
    A query that sees no key gets zeros.

    Example:
    ```mlir
    %1 = lumen.attention %q [0, 2, 1, 3], %k [0, 1, 2, 3], %v [0, 1, 2, 3] first(%p : tensor<i32>)
      to [0, 2, 1, 3] {scale = 0.125 : f64} : tensor<1x7x12x64xf32>, tensor<1x4x9x64xf32>,
      tensor<1x4x9x64xf32> -> tensor<1x7x12x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$query, AnyRankedTensor:$key, AnyRankedTensor:$value,
      Optional<AnyRankedTensor>:$mask, Optional<TensorOf<[I32]>>:$first,
      DenseI64ArrayAttr:$query_dims, DenseI64ArrayAttr:$key_dims, DenseI64ArrayAttr:$value_dims,
      DenseI64ArrayAttr:$result_dims, F64Attr:$scale, DefaultValuedAttr<F64Attr, "0.0">:$softcap);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $query $query_dims `,` $key $key_dims `,` $value $value_dims
    (`mask` `(` $mask^ `:` type($mask) `)`)? (`first` `(` $first^ `:` type($first) `)`)?
    `to` $result_dims attr-dict `:` type($query) `,` type($key) `,` type($value) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extra = [{
    /// (batch, heads, rows, keys), the logical shape of the scores.
    ::lumen::Sizes getScoreSizes();
    /// The logical sizes of a query, key, value or result that lies as `dims` say.
    static ::lumen::Sizes logicalSizes(::mlir::Value tensor, ::llvm::ArrayRef<int64_t> dims);
  }];
}

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

def TransposeOp : LumenOp<"transpose", "Movement"> {
  let summary = "permutes dimensions";
  let description = [{
    Result dimension `i` is operand dimension `perm[i]`.

    Example: `%1 = lumen.transpose %0 [0, 2, 3, 1] : tensor<1x3x8x8xf32> -> tensor<1x8x8x3xf32>`
  }];
  let arguments = (ins AnyRankedTensor:$operand, DenseI64ArrayAttr:$perm);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$operand $perm attr-dict `:` type($operand) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def ReshapeOp : LumenOp<"reshape", "Movement"> {
  let summary = "the same elements in another shape";
  let description = [{
    Example: `%1 = lumen.reshape %0 : tensor<1x6x6x256xf32> -> tensor<1x9216xf32>`
  }];
  let arguments = (ins AnyRankedTensor:$operand);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def SliceOp : LumenOp<"slice", "Movement"> {
  let summary = "a strided box of a tensor";
  let description = [{
    Element `i` of dimension `d` is operand element `offsets[d] + i * strides[d]`;
    strides may be negative. The result's shape gives the sizes. An offset may be
    an expression over symbols, as in `[0, "seq - 1"]`.

    Example: `%1 = lumen.slice %0 [0, 2] [1, 1] : tensor<4x8xf32> -> tensor<4x3xf32>`
  }];
  let arguments = (ins AnyRankedTensor:$operand, DimsAttr:$offsets, DenseI64ArrayAttr:$strides);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$operand custom<Sizes>($offsets) $strides attr-dict `:` type($operand) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$operand,
      "::llvm::ArrayRef<::lumen::SymExpr>":$offsets, "::llvm::ArrayRef<int64_t>":$strides), [{
    build($_builder, $_state, type, operand, ::lumen::toAttr($_builder.getContext(), offsets),
          $_builder.getDenseI64ArrayAttr(strides));
  }]>];
  let extra = [{
    ::lumen::Sizes getOffsetSizes() { return ::lumen::toSizes(getOffsets()); }
    /// The offsets, if all are constants.
    std::optional<::llvm::SmallVector<int64_t>> getConstantOffsets() { return ::lumen::asConstants(getOffsetSizes()); }
  }];
  let hasFolder = 1;
  let hasVerifier = 1;
}

def ConcatOp : LumenOp<"concat", "Movement"> {
  let summary = "joins tensors along one dimension";
  let description = [{
    Example: `%2 = lumen.concat %0, %1 {axis = 3 : i64} : tensor<1x7x7x8xf32>, tensor<1x7x7x4xf32> -> tensor<1x7x7x12xf32>`
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, IntAttr:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$inputs attr-dict `:` type($inputs) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def PadOp : LumenOp<"pad", "Movement"> {
  let summary = "surrounds a tensor with elements";
  let description = [{
    `value` is a 0-D tensor, used by `constant`. `low` may be negative, which crops.
    Amounts may be expressions over symbols; then their signs must be known.

    Example: `%1 = lumen.pad <constant> %0, %v [0, 1] [0, 1] : tensor<4x8xf32>, tensor<f32> -> tensor<4x10xf32>`
  }];
  let arguments = (ins PadKindAttr:$kind, AnyRankedTensor:$operand, AnyRankedTensor:$value,
                       DimsAttr:$low, DimsAttr:$high);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $operand `,` $value custom<Sizes>($low) custom<Sizes>($high) attr-dict `:` type($operand) `,` type($value) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::lumen::PadKind":$kind, "::mlir::Value":$operand,
      "::mlir::Value":$value, "::llvm::ArrayRef<::lumen::SymExpr>":$low,
      "::llvm::ArrayRef<::lumen::SymExpr>":$high), [{
    build($_builder, $_state, type, kind, operand, value,
          ::lumen::toAttr($_builder.getContext(), low), ::lumen::toAttr($_builder.getContext(), high));
  }]>];
  let extra = [{
    ::lumen::Sizes getLowSizes() { return ::lumen::toSizes(getLow()); }
    ::lumen::Sizes getHighSizes() { return ::lumen::toSizes(getHigh()); }
  }];
  let hasFolder = 1;
  let hasVerifier = 1;
}

def GatherOp : LumenOp<"gather", "Movement"> {
  let summary = "picks slices along one dimension by index";
  let description = [{
    `result[a..., i..., b...] = operand[a..., indices[i...], b...]`, as ONNX
    Gather. Indices count from the end when negative; one that lies outside of the
    dimension ends the run with an error that names it.

    Example: `%2 = lumen.gather %x, %i {axis = 0 : i64} : tensor<257x64xf32>, tensor<2048xi32> -> tensor<2048x64xf32>`
  }];
  let arguments = (ins AnyRankedTensor:$operand, AnyRankedTensor:$indices, IntAttr:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$operand `,` $indices attr-dict `:` type($operand) `,` type($indices) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def PickOp : LumenOp<"pick", "Movement"> {
  let summary = "picks elements by indices along several dimensions";
  let description = [{
    Operand dimension `d` is walked by result dimension `dims[d]`, or, where that is
    -1, by the next of `indices`. The shape of an index tensor is the beginning of the
    result's shape. Indices count from the end when negative. GatherElements,
    GatherND and everything that samples an image.

    Example: `result[i, j] = operand[i, indices[i, j]]`
    ```mlir
    %1 = lumen.pick %x (%i) [0, -1] : tensor<4x8xf32>, (tensor<4x3xi64>) -> tensor<4x3xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$operand, Variadic<AnyRankedTensor>:$indices,
                       DenseI64ArrayAttr:$dims);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $operand `(` $indices `)` $dims attr-dict `:` type($operand) `,` `(` type($indices) `)` `->`
    type($result)
  }];
  let hasVerifier = 1;
}

def IotaOp : LumenOp<"iota", "Elementwise"> {
  let summary = "the index along one dimension";
  let description = [{
    Example: `%0 = lumen.iota {axis = 1 : i64} : tensor<4x8xi64>`
  }];
  let arguments = (ins IntAttr:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Sizes that only the run knows
//===----------------------------------------------------------------------===//

def SizesOp : LumenOp<"sizes", "Elementwise", [ConstantLike]> {
  let summary = "expressions over symbols as the elements of a tensor";
  let description = [{
    What ONNX Shape and the arithmetic behind it become. The result is a 0-D or 1-D
    tensor of an integer type. Folders compute with it as with a constant, and like
    a constant it has no place in an order: it means the values of the symbols where
    it is used.

    Example: `%0 = lumen.sizes ["batch", "3*seq + 1", 64] : tensor<3xi64>`
  }];
  let arguments = (ins DimsAttr:$sizes);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "custom<Sizes>($sizes) attr-dict `:` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extra = [{
    ::lumen::Sizes getExpressions() { return ::lumen::toSizes(getSizes()); }
  }];
}

def SymbolOp : LumenOp<"symbol", "Control", [MemoryEffects<[MemWrite]>], /*isPure=*/false> {
  let summary = "gives a symbol the value of a tensor's only element";
  let description = [{
    From here on types may name the symbol. The value is a size: one that is
    negative, or above `at_most`, ends the run with an error that names the node.
    A bound over entry symbols lets memory be planned for what depends on it.

    Example: `lumen.symbol "found" = %count at_most "h*w" : tensor<i64>`
  }];
  let arguments = (ins StrAttr:$name, AnyRankedTensor:$value, OptionalAttr<StrAttr>:$at_most);
  let assemblyFormat = "$name `=` $value (`at_most` $at_most^)? attr-dict `:` type($value)";
  let hasVerifier = 1;
  let extra = [{
    /// What the value never exceeds, if the text says so.
    std::optional<::lumen::SymExpr> getBound() { return ::lumen::toSize(getAtMost()); }
  }];
}

def CheckKind : LumenKind<"CheckKind", "relation of two sizes", ["Equal", "Broadcast", "LessEqual"]>;
def CheckKindAttr : LumenKindAttr<CheckKind, "check">;

def CheckOp : LumenOp<"check", "Control", [MemoryEffects<[MemWrite]>], /*isPure=*/false> {
  let summary = "ends the run with an error where sizes do not agree";
  let description = [{
    What shape inference had to assume. `equal`: a == b; `broadcast`: a == b, or one of them
    is 1; `lessequal`: a <= b. The error says `what` a is, or a sentence about {0} and {1}.

    Example: `lumen.check <equal> "n*m", "batch*64", "the number of elements of the shape"`
  }];
  let arguments = (ins CheckKindAttr:$kind, StrAttr:$lhs, StrAttr:$rhs, StrAttr:$what);
  let assemblyFormat = "$kind $lhs `,` $rhs `,` $what attr-dict";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extra = [{
    ::lumen::SymExpr getLhsSize() { return ::lumen::toSize(getLhs()); }
    ::lumen::SymExpr getRhsSize() { return ::lumen::toSize(getRhs()); }
  }];
}

def CastOp : LumenOp<"cast", "Movement"> {
  let summary = "the same tensor with its sizes written as other expressions";
  let description = [{
    The sizes are equal at run time; a `lumen.check` or the definition of the
    symbols says why.

    Example: `%1 = lumen.cast %0 : tensor<?xf32, #lumen.dims<["n"]>> -> tensor<?xf32, #lumen.dims<["2*m"]>>`
  }];
  let arguments = (ins AnyRankedTensor:$operand);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

// What types and expressions name behind the operation is no use of a result, so
// it has an effect as long as it gives symbols.
def GivesSymbols : DeclareOpInterfaceMethods<MemoryEffectsOpInterface>;

def IfOp : LumenOp<"if", "Control", [RecursiveMemoryEffects, GivesSymbols, NoRegionArguments,
    SingleBlockImplicitTerminator<"YieldOp">], /*isPure=*/false> {
  let summary = "runs one of two regions";
  let description = [{
    `symbols` are made here: sizes of the results that differ between the branches.
    Each branch yields their values, so a type that names one holds behind the op.
    Regions use outer values.

    Example:
    ```mlir
    %1 = lumen.if %c symbols ["n"] : tensor<i1> -> tensor<?xf32, #lumen.dims<["n"]>> {
      lumen.yield %a sizes ["batch"] : tensor<?xf32, #lumen.dims<["batch"]>>
    } else {
      lumen.yield %b sizes [1] : tensor<1xf32>
    }
    ```
  }];
  let arguments = (ins TensorOf<[I1]>:$condition, StrArrayAttr:$symbols);
  let regions = (region SizedRegion<1>:$then_region, SizedRegion<1>:$else_region);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    $condition `symbols` $symbols attr-dict `:` type($condition) (`->` type($results)^)?
    $then_region `else` $else_region
  }];
  let hasVerifier = 1;
}

def LoopOp : LumenOp<"loop", "Control", [RecursiveMemoryEffects, GivesSymbols,
    SingleBlockImplicitTerminator<"YieldOp">], /*isPure=*/false> {
  let summary = "repeats a region";
  let description = [{
    Runs while the trip's number is below `trips` (absent: without limit) and, with
    `conditional`, while the carried condition holds. ONNX Loop and Scan.

    The symbol `induction` is the number of the trip, from 0; behind the loop it
    is the number of trips that were made. `symbols` are sizes of carried values that
    change from trip to trip: `init_sizes` on entry, what the yield says after each
    trip, and behind the loop what they were last.

    Operands: with `conditional` first the condition, tensor<i1>, then the carried
    values. Block arguments: the carried values. The region yields, with
    `conditional`, first the next condition, then the next carried values, then one
    value per scan output. Results: the carried values behind the last trip, then
    the scan outputs, stacked along a new first dimension of the size `induction`
    (or `trips`, where nothing can end the loop earlier).

    Example:
    ```mlir
    %r, %all = lumen.loop (%x) trips "n" induction "i" symbols [] init_sizes []
        : (tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32, #lumen.dims<["n", "4"]>>) {
    ^bb0(%a: tensor<4xf32>):
      %b = lumen.unary <relu> %a : tensor<4xf32> -> tensor<4xf32>
      lumen.yield %b, %b sizes [] : tensor<4xf32>, tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$inits, OptionalAttr<StrAttr>:$trips, StrAttr:$induction,
      StrArrayAttr:$symbols, DimsAttr:$init_sizes, UnitAttr:$conditional);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    `(` $inits `)` (`trips` $trips^)? `induction` $induction `symbols` $symbols
    `init_sizes` custom<Sizes>($init_sizes) (`conditional` $conditional^)? attr-dict
    `:` functional-type($inits, $results) $body
  }];
  let hasVerifier = 1;
  let extra = [{
    ::mlir::OperandRange getCarriedInits() { return getInits().drop_front(getConditional()); }
    /// The limit of trips; nothing where there is none.
    std::optional<::lumen::SymExpr> getTripCount() { return ::lumen::toSize(getTrips()); }
    unsigned getNumCarried() { return getInits().size() - getConditional(); }
  }];
}

def YieldOp : LumenOp<"yield", "Control", [Terminator, ReturnLike]> {
  let summary = "ends a region of if and loop";
  let arguments = (ins Variadic<AnyType>:$values, DimsAttr:$sizes);
  let assemblyFormat = "($values^)? `sizes` custom<Sizes>($sizes) attr-dict (`:` type($values)^)?";
  let builders = [OpBuilder<(ins), [{
    build($_builder, $_state, ::mlir::ValueRange{}, ::lumen::DimsAttr::get($_builder.getContext(), {}));
  }]>];
}

//===----------------------------------------------------------------------===//
// Values that are no tensors of numbers
//===----------------------------------------------------------------------===//

def CallOp : LumenOp<"call", "Control", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>],
                     /*isPure=*/false> {
  let summary = "an operation on strings, sequences and optionals that the runtime brings";
  let description = [{
    The runtime's function `lumen_call_<callee>`; lumen_calls.h says what each takes, and
    in which order `data` has its attributes: integers, floats, strings and lists.

    With `symbols` the extents of the first result are known after the call: the second
    result holds them, and each symbol that is not empty gets the one of its dimension,
    so that types name it from this operation on.

    Example:
    ```mlir
    %item, %extents = lumen.call "sequence_at"(%s, %i) symbols ["n", ""]
        : (!lumen.seq<tensor<?x4xf32>>, tensor<i64>) -> (tensor<?x4xf32, #lumen.dims<["n", "4"]>>, tensor<2xi64>)
    ```
  }];
  let arguments = (ins StrAttr:$callee, Variadic<AnyType>:$args, OptionalAttr<ArrayAttr>:$data,
                       OptionalAttr<StrArrayAttr>:$symbols);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    $callee `(` $args `)` ($data^)? (`symbols` $symbols^)? attr-dict
    `:` functional-type($args, $results)
  }];
  let hasVerifier = 1;
  let extra = [{
    /// The names of the symbols that it defines.
    ::llvm::SmallVector<::llvm::StringRef> getDefinedSymbols();
  }];
}

include "dialects/Lumen/LumenLoops.td"

#endif
