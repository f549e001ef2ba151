//===- OnnxOps.td - the onnx dialect: a model file as it is ---------------===//
#ifndef LUMEN_DIALECTS_ONNX_OPS
#define LUMEN_DIALECTS_ONNX_OPS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def OnnxDialect : Dialect {
  let name = "onnx";
  let cppNamespace = "::lumen::onnx";
  let summary = "an ONNX file as it is";
  let description = [{
    What the importer reads, before any meaning is given to an operator. Every
    node is the one generic `onnx.node`; the rules of operators live in the
    conversion to `lumen`.

    The graph is `func.func @main`; its arguments and results carry their ONNX
    names as `onnx.name`. Model-local functions are private functions, called by
    `onnx.call`. The module carries the imported operator sets as
    `onnx.opsets = {ai.onnx = 17 : i64, ai.onnx.ml = 3 : i64}`. A node of the
    default domain has the empty domain, whichever of its two names the file uses.

    Signed integers are signless types (`i64`), unsigned ones `ui8`, booleans
    `i1`. A dynamic dimension of an argument or result of `@main` has its symbol in
    `#lumen.dims`. Inside the graph no shape is known yet: a node's results are
    `tensor<*xf32>` where the file tells the type and `!onnx.unknown` elsewhere.

    A node's location is a `NameLoc` that names operator and node,
    `"Conv 'stem/conv1'"`; an unnamed node is called after its first output.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let dependentDialects = ["::lumen::LumenDialect"];
  let extraClassDeclaration = [{
    static ::llvm::StringRef getNameAttrName() { return "onnx.name"; }
    static ::llvm::StringRef getOpsetsAttrName() { return "onnx.opsets"; }
    /// On a function: the names of attributes that a call must give.
    static ::llvm::StringRef getParametersAttrName() { return "onnx.parameters"; }
    /// On a function: values of attributes that a call may leave out.
    static ::llvm::StringRef getDefaultsAttrName() { return "onnx.defaults"; }
  private:
    void registerTypes();
    void registerAttributes();
  public:
  }];
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

class OnnxType<string name, string typeMnemonic> : TypeDef<OnnxDialect, name> {
  let mnemonic = typeMnemonic;
}

def UnknownType : OnnxType<"Unknown", "unknown"> {
  let summary = "a value whose type the file does not tell";
}

def StringType : OnnxType<"String", "string"> {
  let summary = "a string, as the element of a tensor";
  let description = "Example: `tensor<4x!onnx.string>`";
}

def SeqType : OnnxType<"Seq", "seq"> {
  let summary = "a sequence of values of one type";
  let description = "Example: `!onnx.seq<tensor<?xf32, #lumen.dims<[\"n\"]>>>`";
  let parameters = (ins "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $elementType `>`";
}

def OptionalType : OnnxType<"Optional", "optional"> {
  let summary = "a value or nothing";
  let parameters = (ins "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $elementType `>`";
}

def MapType : OnnxType<"Map", "map"> {
  let summary = "a map from integers or strings";
  let description = "Example: `!onnx.map<i64, tensor<*xf32>>`";
  let parameters = (ins "::mlir::Type":$keyType, "::mlir::Type":$valueType);
  let assemblyFormat = "`<` $keyType `,` $valueType `>`";
}

def SparseType : OnnxType<"Sparse", "sparse"> {
  let summary = "a sparse tensor";
  let description = "The parameter is the dense tensor type that it stands for.";
  let parameters = (ins "::mlir::Type":$denseType);
  let assemblyFormat = "`<` $denseType `>`";
}

def OpaqueType : OnnxType<"Opaque", "opaque"> {
  let summary = "a type that only its domain knows";
  let parameters = (ins "::mlir::StringAttr":$domain, "::mlir::StringAttr":$name);
  let assemblyFormat = "`<` $domain `,` $name `>`";
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

class OnnxAttr<string name, string attrMnemonic> : AttrDef<OnnxDialect, name> {
  let mnemonic = attrMnemonic;
}

def RefAttr : OnnxAttr<"Ref", "ref"> {
  let summary = "an attribute that the call of the surrounding function gives";
  let description = "Example: `alpha = #onnx.ref<\"alpha\">`";
  let parameters = (ins "::mlir::StringAttr":$name);
  let assemblyFormat = "`<` $name `>`";
}

def SparseTensorAttr : OnnxAttr<"SparseTensor", "sparse"> {
  let summary = "a constant sparse tensor";
  let description = [{
    `values` is a list; `indices` has one linear index or one row of
    coordinates per value, as in the file.

    Example: `#onnx.sparse<dense<[1.0]> : tensor<1xf32>, dense<[3]> : tensor<1xi64> : tensor<2x4xf32>>`
  }];
  let parameters = (ins "::mlir::TypedAttr":$values, "::mlir::TypedAttr":$indices,
                        "::mlir::Type":$denseType);
  let assemblyFormat = "`<` $values `,` $indices `:` $denseType `>`";
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

class OnnxOp<string opMnemonic, list<Trait> traits = []> : Op<OnnxDialect, opMnemonic, traits>;

def NodeOp : OnnxOp<"node"> {
  let summary = "any ONNX operator";
  let description = [{
    An absent optional input in the middle is the result of `onnx.absent`;
    trailing ones are left out. An absent optional output has type `none`.

    `attrs` holds the attributes that the file gives, by name: `i64`, `f32`,
    strings, dense arrays of `i64` and `f32`, arrays of strings, tensors (dense up
    to 1024 elements, else `#lumen.blob`), `#onnx.sparse`, types; in functions
    also `#onnx.ref`. `version` is that of the operator set, where it differs from
    the module's because the node comes from a function. Graph attributes are regions, named in `body_names`; they
    see the values of the surrounding graph, as in ONNX, and end in `onnx.return`.

    Example:
    ```mlir
    %1 = onnx.node "Conv"(%x, %w) {group = 1 : i64, pads = array<i64: 1, 1, 1, 1>}
      : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<*xf32>
    %2 = onnx.node "If"(%c) {} : (tensor<i1>) -> !onnx.unknown bodies ["else_branch", "then_branch"] {
      onnx.return %x : tensor<1x3x8x8xf32>
    }, {
      onnx.return %y : tensor<1x3x8x8xf32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$op_type, DefaultValuedAttr<StrAttr, "\"\"">:$op_domain,
                       OptionalAttr<I64Attr>:$version, DictionaryAttr:$attrs,
                       DefaultValuedAttr<StrArrayAttr, "{}">:$body_names,
                       Variadic<AnyType>:$inputs);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region VariadicRegion<AnyRegion>:$bodies);
  let assemblyFormat = [{
    $op_type `(` $inputs `)` (`domain` `(` $op_domain^ `)`)? (`version` `(` $version^ `)`)? $attrs
    attr-dict-with-keyword `:` functional-type($inputs, $outputs) (`bodies` $body_names^ $bodies)?
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$outputs, "::llvm::StringRef":$opType,
      "::llvm::StringRef":$domain, "::mlir::ValueRange":$inputs, "::mlir::DictionaryAttr":$attrs,
      CArg<"::llvm::ArrayRef<::llvm::StringRef>", "{}">:$bodyNames)>];
  let extraClassDeclaration = [{
    /// The input, or null where it is absent.
    ::mlir::Value getInput(unsigned index);
    /// Whether the file asks for this output.
    bool hasOutput(unsigned index);

    /// The attribute of that name, or null.
    ::mlir::Attribute getNodeAttr(::llvm::StringRef name) { return getAttrs().get(name); }
    bool hasNodeAttr(::llvm::StringRef name) { return bool(getNodeAttr(name)); }
    /// The attribute's value. Nothing where it is absent or of another type.
    std::optional<int64_t> getInt(::llvm::StringRef name);
    std::optional<float> getFloat(::llvm::StringRef name);
    std::optional<::llvm::StringRef> getString(::llvm::StringRef name);
    std::optional<::llvm::ArrayRef<int64_t>> getInts(::llvm::StringRef name);
    std::optional<::llvm::ArrayRef<float>> getFloats(::llvm::StringRef name);
    /// The same, with ONNX's default for an absent attribute.
    int64_t getIntOr(::llvm::StringRef name, int64_t value) { return getInt(name).value_or(value); }
    float getFloatOr(::llvm::StringRef name, float value) { return getFloat(name).value_or(value); }
    ::llvm::StringRef getStringOr(::llvm::StringRef name, ::llvm::StringRef value) {
      return getString(name).value_or(value);
    }

    /// The body that the file calls `name`, or null.
    ::mlir::Region *getBody(::llvm::StringRef name);
  }];
}

def CallOp : OnnxOp<"call", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "calls a function of the model";
  let description = [{
    Inputs and attributes as in `onnx.node`; the `inline-onnx-functions` pass
    replaces the call by the function's body.

    Example: `%1 = onnx.call @"my.domain::Gelu"(%x) {alpha = 0.5 : f32} : (tensor<8xf32>) -> !onnx.unknown`
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, DictionaryAttr:$attrs, Variadic<AnyType>:$inputs);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = [{
    $callee `(` $inputs `)` $attrs attr-dict-with-keyword `:` functional-type($inputs, $outputs)
  }];
}

def AbsentOp : OnnxOp<"absent", [Pure]> {
  let summary = "stands for an optional input that a node leaves out";
  let description = "Example: `%none = onnx.absent`";
  let results = (outs NoneType:$result);
  let assemblyFormat = "attr-dict";
}

def ConstantOp : OnnxOp<"constant", [Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "an initializer";
  let description = [{
    Tensors of up to 1024 elements and splats are `dense`, larger ones lie outside
    the IR.

    Example: `%w = onnx.constant #lumen.blob<0, 4096, 37632> : tensor<64x3x7x7xf32>`
  }];
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$value attr-dict";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::TypedAttr":$value), [{
    build($_builder, $_state, value.getType(), value);
  }]>];
}

def SparseConstantOp : OnnxOp<"sparse_constant", [Pure]> {
  let summary = "a sparse initializer";
  let arguments = (ins SparseTensorAttr:$value);
  let results = (outs SparseType:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
}

def ReturnOp : OnnxOp<"return", [Pure, Terminator]> {
  let summary = "the outputs of a graph";
  let description = [{
    Ends `@main`, functions and bodies. The types of its operands need not be
    those that the surrounding op declares: before shape inference both are hints.

    Example: `onnx.return %1 : tensor<*xf32>`
  }];
  let arguments = (ins Variadic<AnyType>:$outputs);
  let assemblyFormat = "($outputs^ `:` type($outputs))? attr-dict";
  let hasVerifier = 1;
}

#endif
