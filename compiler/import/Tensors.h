//===- Tensors.h - constant data ---------------------------------*- C++ -*-===//
#ifndef LUMEN_COMPILER_IMPORT_TENSORS_H
#define LUMEN_COMPILER_IMPORT_TENSORS_H

#include "compiler/Diagnostics.h"
#include "compiler/import/Types.h"
#include "dialects/Onnx/Onnx.h"

#include <map>

namespace lumen {

/// Bytes of a tensor in the raw layout, and where the BlobTable already has
/// them.
struct TensorBytes {
  llvm::StringRef bytes;
  std::optional<uint64_t> blob;
  uint64_t offset = 0;
};

/// Turns TensorProto into attributes: dense for small tensors and splats, a blob
/// for others. Files stay mapped and are never copied.
class TensorReader {
public:
  /// `file` is the mapped model, entry `fileBlob` of the context's BlobTable.
  TensorReader(mlir::MLIRContext *context, llvm::StringRef path, llvm::StringRef file,
               uint64_t fileBlob, Diagnostics &diagnostics);

  struct MappedFile {
    uint64_t blob;
    llvm::StringRef bytes;
    std::string sha1; ///< in hex, once it was asked for
  };
  /// By location, as the file spells it.
  const std::map<std::string, MappedFile, std::less<>> &externalFiles() const { return files; }

  /// Null after an error. `what` is for messages: "initializer 'w'".
  mlir::TypedAttr read(const ::onnx::TensorProto &tensor, const llvm::Twine &what);
  onnx::SparseTensorAttr read(const ::onnx::SparseTensorProto &tensor, const llvm::Twine &what);

private:
  mlir::TypedAttr strings(const ::onnx::TensorProto &tensor, mlir::RankedTensorType type,
                          int64_t count, const std::string &what);
  /// The bytes wherever they are; `storage` receives those of typed fields.
  std::optional<TensorBytes> locate(const ::onnx::TensorProto &tensor, const ElementKind &kind,
                                    int64_t count, const std::string &what, std::string &storage);
  std::optional<TensorBytes> external(const ::onnx::TensorProto &tensor, uint64_t expected,
                                      const std::string &what);
  bool typed(const ::onnx::TensorProto &tensor, const ElementKind &kind, int64_t count,
             const std::string &what, std::string &storage);
  mlir::DenseElementsAttr dense(llvm::StringRef bytes, const ElementKind &kind,
                                mlir::RankedTensorType type);
  bool isValid(const ::onnx::TensorProto &tensor, const std::string &what);

  MappedFile *openExternal(llvm::StringRef location, const std::string &what);

  mlir::MLIRContext *context;
  std::string folder;
  llvm::StringRef file;
  uint64_t fileBlob;
  BlobTable &blobs;
  Diagnostics &diagnostics;
  std::map<std::string, MappedFile, std::less<>> files;
};

} // namespace lumen

#endif // LUMEN_COMPILER_IMPORT_TENSORS_H
