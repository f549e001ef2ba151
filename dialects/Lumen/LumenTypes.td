//===- LumenTypes.td - values that are no tensors of numbers --------------===//
#ifndef LUMEN_DIALECTS_LUMEN_TYPES
#define LUMEN_DIALECTS_LUMEN_TYPES

include "dialects/Lumen/LumenAttributes.td"

class LumenType<string name, string typeMnemonic> : TypeDef<LumenDialect, name> {
  let mnemonic = typeMnemonic;
}

def StringType : LumenType<"String", "string"> {
  let summary = "a string, as the element of a tensor";
  let description = [{
    Only `lumen.call` and control flow take tensors of strings: what moves them moves
    their positions.

    Example: `tensor<?x!lumen.string, #lumen.dims<["n"]>>`
  }];
}

def SeqType : LumenType<"Seq", "seq"> {
  let summary = "a sequence of tensors";
  let description = [{
    A dimension without a size differs from item to item, as do all of `tensor<*xf32>`.
    `!lumen.seq<f32>` is a sequence without items that says what they would be; one of
    `none` does not.

    Example: `!lumen.seq<tensor<?x4xf32>>`
  }];
  let parameters = (ins "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $elementType `>`";
}

def OptionalType : LumenType<"Optional", "optional"> {
  let summary = "a tensor, a sequence or nothing";
  let description = "Example: `!lumen.optional<tensor<?xf32>>`";
  let parameters = (ins "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $elementType `>`";
}

#endif
