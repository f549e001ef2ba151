//===- LumenAttributes.td - the lumen dialect and its attributes --------===//
#ifndef LUMEN_DIALECTS_LUMEN_ATTRIBUTES
#define LUMEN_DIALECTS_LUMEN_ATTRIBUTES

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
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let dependentDialects = [];
  let extraClassDeclaration = [{
    /// The bytes behind every `#lumen.blob` of this context.
    BlobTable &getBlobs() { return *blobs; }
  private:
    std::shared_ptr<BlobTable> blobs;
    void registerAttributes();
    void registerTypes();
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

#endif
