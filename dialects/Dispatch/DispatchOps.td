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

//===----------------------------------------------------------------------===//
// The schedule over buffers
//===----------------------------------------------------------------------===//

// Launches, binds, and the begins and ends of branches and loops are numbered in the
// order of the text, from 0: these are the times of live ranges.

def StorageType : TypeDef<DispatchDialect, "Storage"> {
  let mnemonic = "storage";
  let summary = "memory with one base address";
}

def StorageOp : DispatchOp<"storage", [Pure]> {
  let summary = "memory with one base address";
  let description = [{
    `size` in bytes, an expression over the schedule's symbols. `index` is that of
    an input or output. `offset`, in bytes, is where memory of the arena or of the
    weights lies in it, if that is known. `first` and `last` are the times between
    which the memory of an arena of symbolic sizes holds a value.

    Example:
    ```mlir
    %arena = dispatch.storage <arena>[0] size 4096
    %slot = dispatch.storage <arena>[0] size "1024*batch" {first = 0 : i64, last = 2 : i64}
    ```
  }];
  let arguments = (ins RegionAttr:$region, IntAttr:$index, StrAttr:$size,
                       DefaultValuedAttr<IntAttr, "0">:$offset,
                       OptionalAttr<IntAttr>:$first, OptionalAttr<IntAttr>:$last);
  let results = (outs StorageType:$result);
  let assemblyFormat = "$region `[` $index `]` `size` custom<Size>($size) attr-dict";
  let extraClassDeclaration = [{
    ::lumen::SymExpr getBytes() { return ::lumen::toSize(getSize()); }
  }];
  let hasVerifier = 1;
}

def BufferOp : DispatchOp<"buffer", [Pure]> {
  let summary = "names bytes of a storage";
  let description = [{
    `offset` and `size` in bytes, expressions over the schedule's symbols. `first`
    and `last` are the times between which the bytes of an arena of static sizes
    hold a value.

    Example: `%0 = dispatch.buffer %arena offset 1024 size 4096 {first = 3 : i64, last = 4 : i64}`
  }];
  let arguments = (ins StorageType:$storage, StrAttr:$offset, StrAttr:$size,
                       OptionalAttr<IntAttr>:$first, OptionalAttr<IntAttr>:$last);
  let results = (outs BufferType:$result);
  let assemblyFormat = "$storage `offset` custom<Size>($offset) `size` custom<Size>($size) attr-dict";
  let builders = [OpBuilder<(ins "::mlir::Value":$storage, "const ::lumen::SymExpr &":$offset,
      "const ::lumen::SymExpr &":$size)>];
  let extraClassDeclaration = [{
    ::lumen::SymExpr getOffsetBytes() { return ::lumen::toSize(getOffset()); }
    ::lumen::SymExpr getBytes() { return ::lumen::toSize(getSize()); }
    StorageOp getStorageOp();
  }];
  let hasVerifier = 1;
}

def BindOp : DispatchOp<"bind"> {
  let summary = "gives a symbol the value that lies in a buffer";
  let description = [{
    An integer that is not negative, or a boolean.

    Example: `dispatch.bind "found" = %count : i64`
  }];
  let arguments = (ins StrAttr:$name, BufferType:$value, TypeAttr:$type);
  let assemblyFormat = "$name `=` $value attr-dict `:` $type";
}

def CallOp : DispatchOp<"call", [AttrSizedOperandSegments]> {
  let summary = "calls an operation of the runtime";
  let description = [{
    See `lumen.call`. `inputs` and `outs` are the buffers of what `types` lists: first
    the inputs. With `has_extents` the second output holds the extents of the first.

    Example: `dispatch.call "sequence_length"(%s) outs(%n) types [!lumen.seq<tensor<4xf32>>, tensor<i64>]`
  }];
  let arguments = (ins StrAttr:$callee, Variadic<BufferType>:$inputs, Variadic<BufferType>:$outs,
                       TypeArrayAttr:$types, OptionalAttr<ArrayAttr>:$data, UnitAttr:$has_extents);
  let assemblyFormat = [{
    $callee `(` $inputs `)` `outs` `(` $outs `)` ($data^)? (`has_extents` $has_extents^)?
    `types` $types attr-dict
  }];
}

def AllocOp : DispatchOp<"alloc"> {
  let summary = "takes memory for a storage of the heap, or for an output without a bound";
  let description = [{ Example: `dispatch.alloc %rows` }];
  let arguments = (ins StorageType:$storage);
  let assemblyFormat = "$storage attr-dict";
}

def FreeOp : DispatchOp<"free"> {
  let summary = "gives the memory of a storage of the heap back";
  let description = [{ Example: `dispatch.free %rows` }];
  let arguments = (ins StorageType:$storage);
  let assemblyFormat = "$storage attr-dict";
}

def SwapOp : DispatchOp<"swap"> {
  let summary = "lets two storages change places";
  let description = [{
    What one trip of a loop has made is what the next one reads.

    Example: `dispatch.swap %state, %next`
  }];
  let arguments = (ins StorageType:$lhs, StorageType:$rhs);
  let assemblyFormat = "$lhs `,` $rhs attr-dict";
}

def MoveOp : DispatchOp<"move"> {
  let summary = "lets a storage take over the memory of another one";
  let description = [{
    Example: `dispatch.move %from to %to`
  }];
  let arguments = (ins StorageType:$from, StorageType:$to);
  let assemblyFormat = "$from `to` $to attr-dict";
}

def AppendOp : DispatchOp<"append"> {
  let summary = "adds bytes at the end of a storage that grows";
  let description = [{ Example: `dispatch.append %part to %all` }];
  let arguments = (ins BufferType:$part, StorageType:$to);
  let assemblyFormat = "$part `to` $to attr-dict";
}

def BranchOp : DispatchOp<"branch", [NoRegionArguments, SingleBlock]> {
  let summary = "runs one of two regions";
  let description = [{
    The second one where `condition` is 0. The regions give `symbols` their values.

    Example:
    ```mlir
    dispatch.bind "flag" = %c : i1
    dispatch.branch "flag" symbols ["n"] {
      dispatch.launch @map_0(%x) outs(%y) : (!dispatch.buffer, !dispatch.buffer) -> ()
      dispatch.end sizes ["batch"]
    } else {
      dispatch.end sizes [1]
    }
    ```
  }];
  let arguments = (ins StrAttr:$condition, StrArrayAttr:$symbols);
  let regions = (region SizedRegion<1>:$then_region, SizedRegion<1>:$else_region);
  let assemblyFormat = "$condition `symbols` $symbols attr-dict-with-keyword $then_region `else` $else_region";
}

def RepeatOp : DispatchOp<"repeat", [NoRegionArguments, SingleBlock]> {
  let summary = "repeats a region";
  let description = [{
    While `induction`, from 0, is below `trips` and the symbol `condition` is not 0,
    each where it is given. `symbols` begin with `init_sizes` and get new values at
    the region's end.

    Example:
    ```mlir
    dispatch.repeat trips "n" induction "i" symbols [] init_sizes [] {
      dispatch.launch @map_0(%x) outs(%y) : (!dispatch.buffer, !dispatch.buffer) -> ()
      dispatch.swap %a, %b
      dispatch.end sizes []
    }
    ```
  }];
  let arguments = (ins OptionalAttr<StrAttr>:$trips, OptionalAttr<StrAttr>:$condition,
                       StrAttr:$induction, StrArrayAttr:$symbols, DimsAttr:$init_sizes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`trips` $trips^)? (`while` $condition^)? `induction` $induction
    `symbols` $symbols `init_sizes` custom<Sizes>($init_sizes) attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    std::optional<::lumen::SymExpr> getTripCount() { return ::lumen::toSize(getTrips()); }
  }];
}

def EndOp : DispatchOp<"end", [Terminator, ParentOneOf<["BranchOp", "RepeatOp"]>]> {
  let summary = "ends a region of branch and repeat";
  let arguments = (ins DimsAttr:$sizes);
  let assemblyFormat = "`sizes` custom<Sizes>($sizes) attr-dict";
}
#endif
