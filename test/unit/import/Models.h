//===- Models.h - models made in memory for tests ----------------*- C++ -*-===//
#ifndef LUMEN_TEST_UNIT_IMPORT_MODELS_H
#define LUMEN_TEST_UNIT_IMPORT_MODELS_H

#include "compiler/import/Import.h"
#include "compiler/import/Schema.h"
#include "dialects/Lumen/Lumen.h"

#include "mlir/IR/MLIRContext.h"

#include <string>
#include <vector>

namespace lumen::test {

/// A model with no inputs, nodes or outputs yet, of operator set 17.
::onnx::ModelProto emptyModel();

/// One Relu 'r' from input 'x' (f32, Nx4) to output 'y'.
::onnx::ModelProto reluModel();

/// Something of everything that a model can hold.
::onnx::ModelProto richModel();

/// A size is a number, a symbol, or "" for neither.
void addValue(::onnx::ValueInfoProto *value, const std::string &name, int32_t type,
              const std::vector<std::string> &dims);
::onnx::NodeProto *addNode(::onnx::GraphProto *graph, const std::string &type,
                           const std::string &name, const std::vector<std::string> &inputs,
                           const std::vector<std::string> &outputs);
::onnx::TensorProto *addInitializer(::onnx::GraphProto *graph, const std::string &name,
                                    int32_t type, const std::vector<int64_t> &dims);

/// What came out of an import; the context lives as long as the module.
struct Imported {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string messages; ///< lines "m.onnx: ..."
  bool failed = false;  ///< whether an error is among them

  std::string text() const;
  BlobTable &blobs() const;
};

Imported importBytes(const std::string &bytes, const ImportOptions &options = {},
                     const std::string &path = "m.onnx");
Imported importModel(const ::onnx::ModelProto &model, const ImportOptions &options = {},
                     const std::string &path = "m.onnx");

} // namespace lumen::test

#endif // LUMEN_TEST_UNIT_IMPORT_MODELS_H
