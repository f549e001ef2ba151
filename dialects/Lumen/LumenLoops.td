//===- LumenLoops.td - operations whose kernels have loops of their own ----===//
//
// Included by LumenOps.td. Such an operation is a kernel of its own: neighbours
// fuse into the kernels around it. Sizes that only the data decide are a result of
// their own next to a tensor of the largest size; see SymbolOp.
//
//===------------------------------------------------------------------------===//
#ifndef LUMEN_DIALECTS_LUMEN_LOOPS
#define LUMEN_DIALECTS_LUMEN_LOOPS

class LoopsOp<string mnemonic, list<Trait> traits = []> : LumenOp<mnemonic, "Loops", traits> {
  let hasVerifier = 1;
}

def ScatterKind : LumenKind<"ScatterKind", "what happens to an element that is written", [
  "Set", "Add", "Mul", "Max", "Min"]>;
def ScatterKindAttr : LumenKindAttr<ScatterKind, "scatter">;

def ScatterOp : LoopsOp<"scatter", [AllTypesMatch<["operand", "result"]>]> {
  let summary = "a copy of a tensor with elements changed at indices";
  let description = [{
    The reverse of `lumen.pick`: result dimension `d` is walked by dimension
    `dims[d]` of the updates, or, where that is -1, by the next of `indices`. The
    shape of an index tensor is the beginning of the updates' shape. Updates of one
    element take effect in their order. An index counts from the end when it is
    negative; one that lies outside ends the run with an error.

    Example: rows 5 and 0 of eight are replaced
    ```mlir
    %1 = lumen.scatter <set> %x, %u (%i) [-1, 1]
        : tensor<8x4xf32>, tensor<2x4xf32>, (tensor<2xi64>) -> tensor<8x4xf32>
    ```
  }];
  let arguments = (ins ScatterKindAttr:$kind, AnyRankedTensor:$operand, AnyRankedTensor:$updates,
                       Variadic<AnyRankedTensor>:$indices, DenseI64ArrayAttr:$dims);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $kind $operand `,` $updates `(` $indices `)` $dims attr-dict
    `:` type($operand) `,` type($updates) `,` `(` type($indices) `)` `->` type($result)
  }];
}

def SortOp : LoopsOp<"sort"> {
  let summary = "the first elements of each row in order, and where they were";
  let description = [{
    Rows run along `axis`; the results' size there says how many elements are wanted.
    Ascending, or with `descending` the largest first. Equal elements keep their
    order; NaN is larger than every number.

    Example:
    ```mlir
    %values, %indices = lumen.sort %x {axis = 1 : i64, descending}
        : tensor<4x100xf32> -> tensor<4x5xf32>, tensor<4x5xi64>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$operand, IntAttr:$axis, UnitAttr:$descending);
  let results = (outs AnyRankedTensor:$values, TensorOf<[I64]>:$indices);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($values) `,` type($indices)";
}

def NonzeroOp : LoopsOp<"nonzero"> {
  let summary = "the places of what is true, and how many there are";
  let description = [{
    The first `count` elements of `indices` are the places, ascending; what follows
    is unspecified.

    Example: `%places, %count = lumen.nonzero %mask : tensor<64xi1> -> tensor<64xi64>, tensor<i64>`
  }];
  let arguments = (ins TensorOf<[I1]>:$operand);
  let results = (outs TensorOf<[I64]>:$indices, TensorOf<[I64]>:$count);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($indices) `,` type($count)";
}

def UniqueOp : LoopsOp<"unique"> {
  let summary = "the different rows of a matrix";
  let description = [{
    Different rows, with `sorted` in lexicographic order, else in the order in which
    they occur first. The first `count` elements of `first` say where each occurs
    first, and those of `counts` how often it occurs; `inverse` gives every row's
    number among the different ones. `order` is room to work in.

    Example:
    ```mlir
    %first, %inverse, %counts, %order, %count = lumen.unique %x sorted
        : tensor<9x1xf32> -> tensor<9xi64>, tensor<9xi64>, tensor<9xi64>, tensor<9xi64>, tensor<i64>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$operand, UnitAttr:$sorted);
  let results = (outs TensorOf<[I64]>:$first, TensorOf<[I64]>:$inverse, TensorOf<[I64]>:$counts,
                      TensorOf<[I64]>:$order, TensorOf<[I64]>:$count);
  let assemblyFormat = [{
    $operand (`sorted` $sorted^)? attr-dict `:` type($operand) `->` type($first) `,`
    type($inverse) `,` type($counts) `,` type($order) `,` type($count)
  }];
}

def NmsOp : LoopsOp<"nms"> {
  let summary = "selects boxes of which no two overlap much";
  let description = [{
    `boxes` is `[batch, n, 4]`, each box (y1, x1, y2, x2) with the smaller ordinates
    first; `scores` is `[batch, classes, n]`. For every batch and class, boxes whose
    score is above `score_threshold` are taken by falling score until there are
    `max_boxes`; one is left out if the intersection with a taken one, divided by
    their union, is above `iou_threshold`. Row by row, `selected` holds batch, class
    and box; its first `count` rows are valid. `order` is room to work in.

    Example:
    ```mlir
    %s, %order, %count = lumen.nms %boxes, %scores, %max, %iou, %threshold
        : tensor<1x100x4xf32>, tensor<1x2x100xf32>, tensor<i64>, tensor<f32>, tensor<f32>
        -> tensor<200x3xi64>, tensor<100xi64>, tensor<i64>
    ```
  }];
  let arguments = (ins TensorOf<[F32]>:$boxes, TensorOf<[F32]>:$scores, AnyRankedTensor:$max_boxes,
                       AnyRankedTensor:$iou_threshold, AnyRankedTensor:$score_threshold);
  let results = (outs TensorOf<[I64]>:$selected, TensorOf<[I64]>:$order, TensorOf<[I64]>:$count);
  let assemblyFormat = [{
    $boxes `,` $scores `,` $max_boxes `,` $iou_threshold `,` $score_threshold attr-dict
    `:` type($boxes) `,` type($scores) `,` type($max_boxes) `,` type($iou_threshold) `,`
    type($score_threshold) `->` type($selected) `,` type($order) `,` type($count)
  }];
}

def AccumulateKind : LumenKind<"AccumulateKind", "what a running combination does", ["Add", "Mul"]>;
def AccumulateKindAttr : LumenKindAttr<AccumulateKind, "accumulate">;

def AccumulateOp : LoopsOp<"accumulate", [SameOperandsAndResultType]> {
  let summary = "running sums or products along a dimension";
  let description = [{
    Element `i` combines elements 0 to `i`, or with `exclusive` those before `i`; with
    `reverse` from the end.

    Example: `%1 = lumen.accumulate <add> %0 {axis = 1 : i64} : tensor<4x8xf32>`
  }];
  let arguments = (ins AccumulateKindAttr:$kind, AnyRankedTensor:$operand, IntAttr:$axis,
                       UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $operand attr-dict `:` type($result)";
}

def TreesOp : LoopsOp<"trees"> {
  let summary = "what the leaves that decision trees lead each row to say together";
  let description = [{
    `input` is `[rows, features]`. From node `n` a row goes to node `links[n, 1]` where its
    feature `links[n, 0]` is at most `thresholds[n]` (with `strict`: below it), and to the node
    behind that one where it is not. NaN is not, unless `nan` is set and the feature is given as
    its complement, `-1 - feature`. A leaf leads to itself: its threshold is NaN, its feature 0
    and `links[n, 1]` is `n - 1`. A walk begins at a node of `roots`; nodes may share what they
    lead to, but no walk goes in circles.

    The weights of leaf `n` are those with numbers from `leaves[n]` to `leaves[n + 1]`, each for
    one of `targets`. Without `targets` a leaf has a row of `weights`, one for each target. The
    result, `[groups, rows, targets]`, combines them over the trees of each group: their sum, or
    the largest or smallest. Groups divide the roots evenly, and the result of none is 0, or an
    infinity.

    Example: one tree, whose root compares feature 2 with 0.5
    ```mlir
    %1 = lumen.trees <sum> %x, %thresholds, %links, %leaves, %roots, %weights
        : tensor<8x4xf32>, tensor<3xf32>, tensor<3x2xi32>, tensor<4xi32>, tensor<1xi32>,
          tensor<2x1xf32> -> tensor<1x8x1xf32>
    ```
  }];
  let arguments = (ins ReduceKindAttr:$kind, TensorOf<[F32, F64]>:$input,
                       TensorOf<[F32, F64]>:$thresholds, TensorOf<[I32]>:$links,
                       TensorOf<[I32]>:$leaves, TensorOf<[I32]>:$roots,
                       TensorOf<[F32, F64]>:$weights, Optional<TensorOf<[I32]>>:$targets,
                       UnitAttr:$strict, UnitAttr:$nan);
  let results = (outs TensorOf<[F32, F64]>:$result);
  let assemblyFormat = [{
    $kind $input `,` $thresholds `,` $links `,` $leaves `,` $roots `,` $weights
    (`targets` $targets^)? (`strict` $strict^)? (`nan` $nan^)? attr-dict
    `:` type($input) `,` type($thresholds) `,` type($links) `,` type($leaves) `,` type($roots)
    `,` type($weights) (`,` type($targets)^)? `->` type($result)
  }];
}

def RecurrenceOp : LoopsOp<"recurrence", [AttrSizedOperandSegments, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "runs a cell along a sequence, with states from step to step";
  let description = [{
    `input` is `[steps, rows, n]` and each of `states` `[rows, m]`; rows are
    independent. The cell maps one row of the input, the parameters and the states, in
    the order of the operands, to the next states; there are elementwise operations,
    slices of the input and of products, and products of one row with a parameter in
    the `packed` form of `lumen.contract`. A state is read at the place that is
    computed, but by products. `sequence`, `[steps, rows, m]`, holds the first state
    behind every step, `last` all states behind the last one.

    With `reverse` the steps run backwards. `lengths`, one per row, ends rows early: the rest
    of their sequence is 0.

    Example:
    ```mlir
    %y, %h = lumen.recurrence %x params(%r) states(%h0)
        : tensor<9x2x8xf32>, (tensor<1x8x64xf32>), (tensor<2x8xf32>)
        -> tensor<9x2x8xf32>, tensor<2x8xf32> {
    ^bb0(%a: tensor<8xf32>, %p: tensor<1x8x64xf32>, %h: tensor<8xf32>):
      %0 = lumen.reshape %h : tensor<8xf32> -> tensor<1x8xf32>
      %1 = lumen.contract %0, %p packed : tensor<1x8xf32>, tensor<1x8x64xf32> -> tensor<1x8xf32>
      %2 = lumen.reshape %1 : tensor<1x8xf32> -> tensor<8xf32>
      %3 = lumen.binary <add> %a, %2 : tensor<8xf32>
      %4 = lumen.unary <tanh> %3 : tensor<8xf32> -> tensor<8xf32>
      lumen.yield %4 sizes [] : tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, Variadic<AnyRankedTensor>:$params,
                       Variadic<AnyRankedTensor>:$states, Optional<AnyRankedTensor>:$lengths,
                       UnitAttr:$reverse);
  let regions = (region SizedRegion<1>:$cell);
  let results = (outs AnyRankedTensor:$sequence, Variadic<AnyRankedTensor>:$last);
  let assemblyFormat = [{
    $input `params` `(` $params `)` `states` `(` $states `)` (`lengths` $lengths^)? (`reverse` $reverse^)?
    attr-dict `:` type($input) `,` `(` type($params) `)` `,` `(` type($states) `)` (`,` type($lengths)^)?
    `->` type($sequence) `,` type($last) $cell
  }];
}

#endif
