//===- Passes.td - from ONNX's operators to ours --------------------------===//
include "mlir/Pass/PassBase.td"

def InlineOnnxFunctions : Pass<"inline-onnx-functions", "::mlir::ModuleOp"> {
  let summary = "replace calls of the model's functions by their bodies";
  let description = [{
    Afterwards `@main` is the only function. Attributes that a body takes from its
    call are put in; one that neither the call nor a default gives is left out.
    Nodes keep the version of the operator set that their function imports, and
    are called after the call too: `Mul 'y' in Scale 'node_3'`.

    Functions that double each other could fill any memory, so a limit holds for
    the number of nodes.
  }];
  let options = [Option<"limit", "limit", "uint64_t", /*default=*/"4000000",
                        "the most nodes that all calls together may become">];
}

def ConvertOnnxToLumen : Pass<"convert-onnx-to-lumen", "::mlir::ModuleOp"> {
  let summary = "give every node its meaning in lumen operations";
  let description = [{
    One walk over `@main` in order. When a node is reached, its inputs are lumen
    values of known type, and those that decide a shape (axes, target shapes,
    slices) have already folded to constants; so shape inference, folding and
    conversion are one step, and a Shape-Slice-Concat-Reshape chain leaves no
    operation behind.

    Differences between versions of the operator set end here. Convolutions and
    poolings become channels-last, with transposes around them.

    Mistakes of a model are reported at its nodes; operators that are not
    supported are reported together at the end. Inputs must have a
    rank; each dynamic dimension is a symbol.

    Sizes are expressions over symbols. Where two have to agree and it is not known
    whether they do, a `lumen.check` is left for the run; a number that only the run
    knows becomes a symbol by `lumen.symbol`. `lumen.bounds` of the module are upper
    bounds of symbols, which are checked as well.

    Example:
    ```mlir
    %0 = onnx.node "Add"(%x, %b) {} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<*xf32>
    // becomes
    %0 = lumen.broadcast %b [1] : tensor<3xf32> -> tensor<2x3xf32>
    %1 = lumen.binary <add> %x, %0 : tensor<2x3xf32>
    ```
  }];
  let dependentDialects = ["::lumen::LumenDialect", "::mlir::func::FuncDialect"];
}

def StoreNarrowTypes : Pass<"store-narrow-types", "::mlir::ModuleOp"> {
  let summary = "make bytes of elements of less than 16 bits that are no integers of 8";
  let description = [{
    An integer of 2 or 4 bits becomes its value in 8, a float of 4 to 8 bits its code in
    `ui8`. Elements are at most moved and converted: a float's code is looked up in a table
    of all values, and found for a number by bisection of the bounds between them, so that
    every type is rounded by the same few operations. Inputs and outputs keep the type of a
    float as `lumen.dtype`.

    Example:
    ```mlir
    %0 = lumen.convert %x : tensor<8xf8E5M2> -> tensor<8xf32>
    // becomes
    %0 = lumen.constant dense<...> : tensor<256xf32>
    %1 = lumen.convert %x : tensor<8xui8> -> tensor<8xi64>
    %2 = lumen.pick %0 (%1) [-1] : tensor<256xf32>, (tensor<8xi64>) -> tensor<8xf32>
    ```
  }];
  let dependentDialects = ["::lumen::LumenDialect"];
}

def VerifyNoOnnx : Pass<"verify-no-onnx", "::mlir::ModuleOp"> {
  let summary = "check that no operation of the onnx dialect is left";
}
