//===- LumenBase.td - the lumen dialect, its attributes and kinds ---------===//
#ifndef LUMEN_DIALECTS_LUMEN_BASE
#define LUMEN_DIALECTS_LUMEN_BASE

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def LumenDialect : Dialect {
  let name = "lumen";
  let cppNamespace = "::lumen";
  let summary = "tensor operations of a model, one per family";
  let description = [{
    The device-independent form of a model. About 40 operations with value
    semantics, no opset variants, explicit broadcasting and channels-last
    convolution. Signed integers are signless types (`i64`), unsigned ones are
    `ui8`, `ui32`, booleans are `i1`.

    A dynamic dimension carries its expression in the type's encoding,
    `tensor<?x?xf32, #lumen.dims<[batch, 3*seq + 1]>>`, so that equal dimensions
    are equal types.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let dependentDialects = [];
  let extraClassDeclaration = [{
    /// The bytes behind every `#lumen.blob` of this context.
    BlobTable &getBlobs() { return *blobs; }
  private:
    std::shared_ptr<BlobTable> blobs;
    void registerAttributes();
  public:
  }];
}

def IntAttr : TypedSignlessIntegerAttrBase<I64, "int64_t", "64-bit integer">;

class LumenAttr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<LumenDialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def BlobAttr : LumenAttr<"Blob", "blob", [TypedAttrInterface]> {
  let summary = "constant data that lies outside the IR";
  let description = [{
    Names `size` bytes at `offset` in entry `id` of the context's `BlobTable`,
    little-endian, elements in row-major order of `type`. MLIR and LLVM never
    hold the bytes themselves.

    Example: `#lumen.blob<3, 0, 37632> : tensor<7x7x3x64xf32>`
  }];
  let parameters = (ins "uint64_t":$id, "uint64_t":$offset, "uint64_t":$size,
                        AttributeSelfTypeParameter<"">:$type);
  let assemblyFormat = "`<` $id `,` $offset `,` $size `>`";
}

def DimsAttr : LumenAttr<"Dims", "dims"> {
  let summary = "the sizes of a tensor's dimensions as expressions over symbols";
  let description = [{
    One normalised expression per dimension; see Symbols.h. Used as the
    encoding of tensors with at least one dynamic dimension.

    Example: `#lumen.dims<["batch", "3*seq + 1", "64"]>`
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$dims);
  let assemblyFormat = "`<` `[` $dims `]` `>`";
}

// A family's kinds: `RoundEven` in C++ is `roundeven` in the IR.
class LumenKind<string name, string what, list<string> cases>
    : I32EnumAttr<name, what, !foreach(i, !range(!size(cases)),
          I32EnumAttrCase<cases[i], i, !tolower(cases[i])>)> {
  let cppNamespace = "::lumen";
  let genSpecializedAttr = 0;
}
class LumenKindAttr<I32EnumAttr kind, string attrMnemonic>
    : EnumAttr<LumenDialect, kind, attrMnemonic> {
  let assemblyFormat = "`<` $value `>`";
}

def UnaryKind : LumenKind<"UnaryKind", "scalar function of one argument", [
  "Abs", "Neg", "Sign", "Relu", "Reciprocal", "Sqrt", "Rsqrt", "Exp", "Log",
  "Log1p", "Expm1", "Tanh", "Sigmoid", "Erf", "Sin", "Cos", "Tan", "Asin",
  "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Floor", "Ceil",
  "RoundEven", "Not", "IsNan", "IsInf"]>;
def UnaryKindAttr : LumenKindAttr<UnaryKind, "unary">;

def BinaryKind : LumenKind<"BinaryKind", "scalar function of two arguments", [
  "Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "Rem", "Mod", "And", "Or",
  "Xor", "ShiftLeft", "ShiftRight"]>;
def BinaryKindAttr : LumenKindAttr<BinaryKind, "binary">;

def CompareKind : LumenKind<"CompareKind", "comparison", [
  "Eq", "Ne", "Lt", "Le", "Gt", "Ge"]>;
def CompareKindAttr : LumenKindAttr<CompareKind, "compare">;

def ReduceKind : LumenKind<"ReduceKind", "associative combination", [
  "Sum", "Max", "Min", "Prod"]>;
def ReduceKindAttr : LumenKindAttr<ReduceKind, "reduction">;

// `average` divides by the number of elements that lie inside the input, or by
// the window's size with count_include_pad.
def WindowKind : LumenKind<"WindowKind", "combination of a window's elements", [
  "Max", "Sum", "Average"]>;
def WindowKindAttr : LumenKindAttr<WindowKind, "window">;

def NormKind : LumenKind<"NormKind", "normalisation", ["Layer", "Rms"]>;
def NormKindAttr : LumenKindAttr<NormKind, "norm">;

def PadKind : LumenKind<"PadKind", "what padding holds", [
  "Constant", "Edge", "Reflect", "Wrap"]>;
def PadKindAttr : LumenKindAttr<PadKind, "pad">;

#endif
