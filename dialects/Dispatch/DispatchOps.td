//===- DispatchOps.td - kernels and the schedule that launches them -------===//
#ifndef LUMEN_DIALECTS_DISPATCH_OPS
#define LUMEN_DIALECTS_DISPATCH_OPS

include "dialects/Lumen/LumenAttributes.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def DispatchDialect : Dialect {
  let name = "dispatch";
  let cppNamespace = "::lumen::dispatch";
  let summary = "kernels, and the schedule that launches them";
  let description = [{
    A model after fusion: `dispatch.kernel`s whose bodies stay `lumen` until code
    generation, and one schedule (`func.func @main`) of launches. First the
    schedule is in SSA form over tensors; memory planning turns it into launches
    over `!dispatch.buffer`s.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    /// Argument and result attribute of a kernel: `#lumen.dims`, strides in
    /// elements, where they differ from those of a contiguous tensor.
    static constexpr llvm::StringLiteral kStrides = "dispatch.strides";
    /// Attribute of a kernel: an array of the names of its symbols; absent where
    /// all its sizes are constants.
    static constexpr llvm::StringLiteral kSizes = "dispatch.sizes";
  }];
}

def BufferType : TypeDef<DispatchDialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "bytes at a place that memory planning chose";
}

// The order is that of lumen_abi_region.
def Region : I32EnumAttr<"MemoryRegion", "where a buffer lives", [
    I32EnumAttrCase<"Arena", 0, "arena">, I32EnumAttrCase<"Weights", 1, "weights">,
    I32EnumAttrCase<"Input", 2, "input">, I32EnumAttrCase<"Output", 3, "output">,
    I32EnumAttrCase<"Init", 4, "init">, I32EnumAttrCase<"Heap", 5, "heap">]> {
  let cppNamespace = "::lumen::dispatch";
  let genSpecializedAttr = 0;
}
def RegionAttr : EnumAttr<DispatchDialect, Region, "region"> { let assemblyFormat = "`<` $value `>`"; }

def Affinity : I32EnumAttr<"Affinity", "where a launch may run", [
    I32EnumAttrCase<"Any", 0, "any">, I32EnumAttrCase<"Host", 1, "host">]> {
  let cppNamespace = "::lumen::dispatch";
  let genSpecializedAttr = 0;
}
def AffinityAttr : EnumAttr<DispatchDialect, Affinity, "affinity"> { let assemblyFormat = "`<` $value `>`"; }

class DispatchOp<string mnemonic, list<Trait> traits = []> : Op<DispatchDialect, mnemonic, traits>;

def KernelOp : DispatchOp<"kernel", [IsolatedFromAbove, Symbol, FunctionOpInterface]> {
  let summary = "a fused group of operations that runs as one launch";
  let description = [{
    The body holds at most one root (a `lumen` op that neither is elementwise nor
    moves data) and the ops fused before and behind it. Arguments are tensors in
    memory; a non-contiguous one has its strides, in elements, as attribute
    `dispatch.strides`. Each result is written to an output buffer.

    Example:
    ```mlir
    dispatch.kernel @conv_0(%x: tensor<1x8x8x64xf32>, %w: tensor<1x1x64x64xf32>) -> tensor<1x8x8x64xf32> {
      %0 = lumen.conv %x, %w {...}
      %1 = lumen.unary <relu> %0 : tensor<1x8x8x64xf32> -> tensor<1x8x8x64xf32>
      dispatch.yield %1 : tensor<1x8x8x64xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
      OptionalAttr<StrAttr>:$sym_visibility,
      OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type)>];
  let skipDefaultBuilders = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    /// The op that decides which builder makes the kernel: the root; else the
    /// last op that moves data; null for a purely elementwise kernel.
    ::mlir::Operation *getRoot();
    /// Strides in elements of an argument or result.
    ::lumen::Sizes getArgumentStrides(unsigned index);
    ::lumen::Sizes getResultStrides(unsigned index);
    /// The names of the kernel's symbols, in the order of a launch's sizes.
    ::llvm::SmallVector<::llvm::StringRef> getSizeNames();
  }];
}

def YieldOp : DispatchOp<"yield", [Pure, Terminator, ReturnLike, HasParent<"KernelOp">]> {
  let summary = "the results of a kernel";
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def LaunchOp : DispatchOp<"launch", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel";
  let description = [{
    Over tensors, before memory planning, the results are values; over buffers,
    after it, outputs are the buffers behind `outs` and there is no result. `sizes`
    are the values of the kernel's symbols, over the symbols of the schedule.

    Example:
    ```mlir
    %1 = dispatch.launch @conv_0(%x, %w) : (tensor<1x8x8x64xf32>, tensor<1x1x64x64xf32>) -> tensor<1x8x8x64xf32>
    dispatch.launch @conv_0(%b0, %b1) outs(%b2) : (!dispatch.buffer, !dispatch.buffer, !dispatch.buffer) -> ()
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyType>:$inputs,
      Variadic<BufferType>:$outs, DefaultValuedAttr<AffinityAttr, "Affinity::Any">:$affinity,
      OptionalAttr<DimsAttr>:$sizes);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$types, "::llvm::StringRef":$kernel,
      "::mlir::ValueRange":$inputs, CArg<"::mlir::ValueRange", "{}">:$outs,
      CArg<"::lumen::dispatch::Affinity", "Affinity::Any">:$affinity,
      CArg<"::lumen::DimsAttr", "{}">:$sizes), [{
    build($_builder, $_state, types,
          ::mlir::FlatSymbolRefAttr::get($_builder.getContext(), kernel), inputs, outs,
          AffinityAttr::get($_builder.getContext(), affinity), sizes);
  }]>];
  let assemblyFormat = [{
    $kernel `(` $inputs `)` (`outs` `(` $outs^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

def BufferOp : DispatchOp<"buffer", [Pure]> {
  let summary = "names bytes of a region";
  let description = [{
    `offset` and `size` in bytes; `first` and `last` are the launches between
    which the bytes hold a value, for arena buffers.

    Example: `%0 = dispatch.buffer <arena> [0] offset 1024 size 4096 {first = 3 : i64, last = 4 : i64}`
  }];
  let arguments = (ins RegionAttr:$region, IntAttr:$index, IntAttr:$offset, IntAttr:$size);
  let results = (outs BufferType:$result);
  let assemblyFormat = "$region `[` $index `]` `offset` $offset `size` $size attr-dict `:` type($result)";
}
#endif
