//===- Passes.td - from ONNX's operators to ours --------------------------===//
include "mlir/Pass/PassBase.td"

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
    supported are reported together at the end. Inputs must have static shapes.

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

def VerifyNoOnnx : Pass<"verify-no-onnx", "::mlir::ModuleOp"> {
  let summary = "check that no operation of the onnx dialect is left";
}
