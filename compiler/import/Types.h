//===- Types.h - ONNX types and symbolic sizes -------------------*- C++ -*-===//
#ifndef LUMEN_COMPILER_IMPORT_TYPES_H
#define LUMEN_COMPILER_IMPORT_TYPES_H

#include "compiler/import/Import.h"
#include "compiler/import/Schema.h"
#include "dialects/Lumen/Shapes.h"

#include "mlir/IR/BuiltinTypes.h"

#include <map>
#include <optional>

namespace lumen {

/// The field of TensorProto that holds a type's elements when they are not raw.
enum class TypedData { Float, Int32, Int64, Double, Uint64, String };

/// One row per TensorProto.DataType.
struct ElementKind {
  int32_t code;
  const char *name; ///< as in the IR: "f32"
  unsigned bits;    ///< of one element in raw data; 0 for strings
  TypedData typedData;
  mlir::Type (*type)(mlir::MLIRContext *);
};

/// Null for an unknown code.
const ElementKind *findElementKind(int32_t code);

/// Whether a tensor may have that many dimensions; an error if not.
bool checkRank(size_t rank, const llvm::Twine &what, Diagnostics &diagnostics);

/// The number of elements; nothing where a size is negative or the tensor would
/// not fit into the address space.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> shape);

/// Sizes of dimensions: what the file says of them, and what the user does.
///
/// A dimension's text in the file is an expression when all its symbols are
/// dimensions of inputs too, as in "past + 1"; else it is one symbol, whatever
/// characters it has.
class Symbols {
public:
  /// Takes the user's sizes over for the `inputs` of a graph. Reports names that
  /// the model does not have and sizes that contradict it.
  void bind(llvm::ArrayRef<const ::onnx::ValueInfoProto *> inputs, const ImportOptions &options,
            Diagnostics &diagnostics);

  /// The size of a dimension of value `value` after binding. Nothing where it
  /// is negative; then `fault` says what it is.
  std::optional<SymExpr> resolve(const ::onnx::TensorShapeProto::Dimension &dim,
                                 llvm::StringRef value, int axis, std::string &fault) const;

  /// Bounds of the symbols that no size was given to, by name.
  std::vector<std::pair<std::string, int64_t>> bounds() const;

  /// The whole shape that the user gave to an input, if any.
  const llvm::SmallVector<int64_t> *givenShape(llvm::StringRef input) const;

private:
  /// A size that the user gave for a dimension with an expression; it is
  /// compared when all symbols are bound.
  struct Pending {
    std::string flag, text;
    size_t axis;
    int64_t size;
  };
  void bindShape(const ::onnx::ValueInfoProto &input, llvm::ArrayRef<int64_t> shape,
                 std::vector<Pending> &pending, Diagnostics &diagnostics);
  void bindSize(const Pending &given, Diagnostics &diagnostics);
  void bindBounds(const ImportOptions &options, Diagnostics &diagnostics);
  void checkReported(const ImportOptions &options, Diagnostics &diagnostics) const;
  std::optional<SymExpr> expression(llvm::StringRef text) const;

  llvm::StringMap<int64_t> names; ///< symbols of the inputs, each with the value 1
  llvm::StringMap<int64_t> sizes; ///< of symbols, and of expressions as they stand in the file
  llvm::StringMap<llvm::SmallVector<int64_t>> shapes;
  llvm::StringMap<int64_t> upperBounds; ///< of symbols
};

class TypeReader {
public:
  TypeReader(mlir::MLIRContext *context, const Symbols &symbols, Diagnostics &diagnostics)
      : context(context), symbols(symbols), diagnostics(diagnostics) {}

  /// The type of an input or output of the graph, with the sizes that the file
  /// tells; null after an error. `what` is for messages: "input 'x'".
  mlir::Type signature(const ::onnx::ValueInfoProto &value, const llvm::Twine &what);

  /// What the file tells of a value inside a graph: its shape is left to
  /// inference.
  mlir::Type hint(const ::onnx::ValueInfoProto &value);

  /// A type in an attribute; null after an error.
  mlir::Type type(const ::onnx::TypeProto &proto, const llvm::Twine &what);

private:
  enum class Shapes { Keep, Drop };
  mlir::Type convert(const ::onnx::TypeProto &proto, llvm::StringRef value, const llvm::Twine &what,
                     Shapes shapes, bool outermost);
  mlir::Type tensor(int32_t elementCode, const ::onnx::TensorShapeProto *shape,
                    llvm::StringRef value, const llvm::Twine &what, Shapes shapes, bool outermost);

  mlir::MLIRContext *context;
  const Symbols &symbols;
  Diagnostics &diagnostics;
};

} // namespace lumen

#endif // LUMEN_COMPILER_IMPORT_TYPES_H
