//===- LumenInterfaces.td - what fusion and codegen ask of an op ----------===//
#ifndef LUMEN_DIALECTS_LUMEN_INTERFACES
#define LUMEN_DIALECTS_LUMEN_INTERFACES

include "mlir/IR/OpBase.td"

def LumenOpInterface : OpInterface<"LumenOpInterface"> {
  let cppNamespace = "::lumen";
  let description = [{
    The little that fusion and code generation need to know of an operation.
  }];
  let methods = [
    InterfaceMethod<"The family, which decides how the op fuses and which builder makes it.",
      "::lumen::Family", "getFamily">
  ];
}
#endif
