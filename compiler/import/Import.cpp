//===- Import.cpp - reads a model file ------------------------------------===//

#include "compiler/import/Import.h"

#include "compiler/import/Graph.h"
#include "compiler/import/Schema.h"

#include "google/protobuf/io/coded_stream.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;

namespace lumen {

/// Names the parts of the model that this version must not pass over.
static void checkModel(const ::onnx::ModelProto &model, Diagnostics &diagnostics) {
  // Operator sets came with 3.
  constexpr int64_t kOldest = 3, kNewest = ::onnx::IR_VERSION;
  if (!model.has_ir_version())
    diagnostics.error("the model has no IR version");
  else if (model.ir_version() < kOldest || model.ir_version() > kNewest)
    diagnostics.error("the model has IR version " + Twine(model.ir_version()) + ", expected " +
                      Twine(kOldest) + " to " + Twine(kNewest));
  if (model.training_info_size())
    diagnostics.warning("the model's training information is left out");
}

/// What is wrong with a file that cannot be read; an empty string if nothing is.
static std::string parse(StringRef file, ::onnx::ModelProto &model) {
  StringRef noModel = "not an ONNX model: ";
  if (file.empty())
    return (noModel + "the file is empty").str();
  wire::Limits limits;
  llvm::Expected<std::string> skeleton = wire::cut(file, modelSchema(), limits);
  if (!skeleton) {
    std::string fault;
    llvm::handleAllErrors(skeleton.takeError(), [&](const llvm::StringError &error) {
      bool isLarge = error.convertToErrorCode() == make_error_code(wire::kExceedsLimit);
      fault = ((isLarge ? "too large to be read: " : noModel) + error.getMessage()).str();
    });
    return fault;
  }
  // The walk has checked everything that protobuf checks, and protobuf would
  // write to stderr by itself.
  google::protobuf::LogSilencer silencer;
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t *>(skeleton->data()),
                                                int(skeleton->size()));
  stream.SetRecursionLimit(int(limits.depth));
  if (!model.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage())
    return (noModel + "the message cannot be parsed").str();
  if (!model.has_graph())
    return (noModel + "it has no graph").str();
  return "";
}

/// BLAKE3 of the file, with that of every external file when there are any:
/// artifacts are told apart by it. SHA-256 would take half of the compile time of
/// a large model.
static std::string hashOf(StringRef file, const TensorReader &tensors) {
  auto digest = [](StringRef bytes) {
    auto hash = llvm::BLAKE3::hash(llvm::arrayRefFromStringRef(bytes));
    return llvm::toHex(hash, /*LowerCase=*/true);
  };
  std::string result = digest(file);
  std::string parts = result;
  for (const auto &[name, external] : tensors.externalFiles())
    parts += "\n" + digest(external.bytes) + " " + name;
  return tensors.externalFiles().empty() ? result : digest(parts);
}

OwningOpRef<ModuleOp> importOnnx(MLIRContext &context, std::unique_ptr<llvm::MemoryBuffer> buffer,
                                 StringRef path, const ImportOptions &options,
                                 Diagnostics &diagnostics) {
  size_t errorsBefore = diagnostics.errors();
  StringRef file = buffer->getBuffer();
  ::onnx::ModelProto model;
  std::string fault = parse(file, model);
  if (!fault.empty()) {
    diagnostics.error(fault);
    return {};
  }
  checkModel(model, diagnostics);

  context.loadDialect<func::FuncDialect, LumenDialect, onnx::OnnxDialect>();
  uint64_t fileBlob = context.getLoadedDialect<LumenDialect>()->getBlobs().add(std::move(buffer));

  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  Builder builder(&context);
  (*module)->setAttr("lumen.name", builder.getStringAttr(model.graph().name()));

  Symbols symbols;
  TensorReader tensors(&context, path, file, fileBlob, diagnostics);
  GraphBuilder graph(*module, model, symbols, tensors, diagnostics);
  graph.buildFunctions();
  graph.buildMain(options);
  if (diagnostics.errors() != errorsBefore)
    return {};
  SmallVector<NamedAttribute> bounds;
  for (const auto &[name, bound] : symbols.bounds())
    bounds.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(bound)));
  if (!bounds.empty())
    (*module)->setAttr("lumen.bounds", builder.getDictionaryAttr(bounds));
  (*module)->setAttr("lumen.source_hash", builder.getStringAttr(hashOf(file, tensors)));

  DiagnosticCapture capture(&context, diagnostics);
  if (failed(verify(*module))) {
    if (diagnostics.errors() == errorsBefore)
      diagnostics.error("the imported graph is not valid");
    return {};
  }
  return module;
}

OwningOpRef<ModuleOp> importOnnx(MLIRContext &context, StringRef path, const ImportOptions &options,
                                 Diagnostics &diagnostics) {
  // A directory or a pipe would fail in ways that name neither.
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(path, status)) {
    diagnostics.error(error.message());
    return {};
  }
  if (!llvm::sys::fs::is_regular_file(status)) {
    diagnostics.error("is not a regular file");
    return {};
  }
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer) {
    diagnostics.error(buffer.getError().message());
    return {};
  }
  return importOnnx(context, std::move(*buffer), path, options, diagnostics);
}

} // namespace lumen
