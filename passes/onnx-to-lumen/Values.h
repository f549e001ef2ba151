//===- Values.h - strings, sequences and optionals in the conversion -*- C++ -*-===//
#ifndef LUMEN_PASSES_ONNXTOLUMEN_VALUES_H
#define LUMEN_PASSES_ONNXTOLUMEN_VALUES_H

#include "passes/onnx-to-lumen/Converter.h"

namespace lumen {

/// The lumen type of what the file types as a sequence, an optional or a tensor of
/// strings; null where it is none of them, or holds what we do not support.
mlir::Type objectTypeOf(mlir::Type type);

/// What a sequence or an optional knows of a value that it holds: the sizes that are
/// fixed.
mlir::Type itemTypeOf(mlir::Type type);

/// A constant tensor of strings.
mlir::Value makeStrings(Emitter &emit, mlir::DenseElementsAttr value);
mlir::Value makeStrings(Emitter &emit, llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<llvm::StringRef> texts);

/// The strings at positions, which are integers, in tensors of strings, which are counted
/// through.
mlir::Value takeStrings(Emitter &emit, mlir::Value positions, mlir::ValueRange strings);

/// Cast to or from a tensor of strings.
mlir::Value castText(Emitter &emit, mlir::Value operand, mlir::Type elementType);

/// Sequences, one per input, of which `position` of each becomes an item.
mlir::FailureOr<mlir::Value> itemAt(Node &node, mlir::Value sequence, mlir::Value position);
mlir::FailureOr<mlir::Value> insertItem(Node &node, mlir::Value sequence, mlir::Value item,
                                        mlir::Value position = {});
/// The items of a sequence joined along `axis`, which `isNew` adds, to a tensor of what is
/// known of `type`. Without items it has the sizes `none`; if that is empty, the run ends.
mlir::Value concatItems(Node &node, mlir::Value sequence, mlir::RankedTensorType type, int64_t axis,
                        bool isNew, llvm::ArrayRef<int64_t> none = {});
mlir::Value sequenceLength(Emitter &emit, mlir::Value sequence);

/// Converters of operators that move elements see the positions of strings in their
/// place. Positions are ui64, which no other tensor is of an operator that has strings.
class StringPositions {
public:
  explicit StringPositions(Emitter &emit) : emit(emit) {}

  /// Puts positions in the place of tensors of strings.
  void replace(llvm::MutableArrayRef<mlir::Value> inputs);
  /// The strings at the positions that a result is; any other result stays.
  mlir::Value restore(mlir::Value result);

private:
  mlir::Type elementType() { return emit.builder.getIntegerType(64, /*isSigned=*/false); }

  Emitter &emit;
  llvm::SmallVector<mlir::Value> strings, positions;
};

} // namespace lumen

#endif // LUMEN_PASSES_ONNXTOLUMEN_VALUES_H
