//===- Graph.h - graphs, functions and nodes ---------------------*- C++ -*-===//
#ifndef LUMEN_COMPILER_IMPORT_GRAPH_H
#define LUMEN_COMPILER_IMPORT_GRAPH_H

#include "compiler/import/Tensors.h"
#include "compiler/import/Types.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace lumen {

using Nodes = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

/// "com.foo" and "" for both names of the default domain.
llvm::StringRef normalizedDomain(llvm::StringRef domain);

/// How messages call a node: "Conv 'stem/conv1'", after its first output when
/// it has no name.
std::string nodeLabel(const ::onnx::NodeProto &node);

/// Whether any of the content fields is there.
bool hasValue(const ::onnx::AttributeProto &attr);

/// Builds the functions of a module. Goes on after an error, with values of
/// unknown type in the place of what failed, so that all errors are seen.
class GraphBuilder {
public:
  GraphBuilder(mlir::ModuleOp module, const ::onnx::ModelProto &model, Symbols &symbols,
               TensorReader &tensors, Diagnostics &diagnostics);

  void buildFunctions();
  void buildMain(const ImportOptions &options);

private:
  /// The values that a graph can name, and those of the graphs around it.
  struct Scope {
    explicit Scope(const Scope *outer) : outer(outer) {}
    mlir::Value find(llvm::StringRef name) const;

    const Scope *outer;
    llvm::StringMap<mlir::Value> values;
    llvm::StringMap<std::string> makers; ///< who made a value, for messages
    llvm::StringMap<mlir::Type> hints;
    const Nodes *nodes = nullptr;
  };
  using Domains = llvm::StringMap<int64_t>;

  // Graph.cpp
  void indexFunctions();
  void reportFunctionCycles();
  void buildFunction(const ::onnx::FunctionProto &function);
  void buildInitializers(const ::onnx::GraphProto &graph, Scope &scope);
  void checkDeclaredInitializer(const ::onnx::ValueInfoProto &input, Scope &scope);
  void buildBody(const ::onnx::GraphProto &graph, mlir::Region &region, const Scope &outer,
                 const std::string &what);
  mlir::Value output(llvm::StringRef name, Scope &scope, const llvm::Twine &what);
  bool define(llvm::StringRef name, mlir::Value value, const std::string &maker, Scope &scope);
  void readHints(const google::protobuf::RepeatedPtrField<::onnx::ValueInfoProto> &values,
                 Scope &scope);

  // Nodes.cpp
  void buildNodes(const Nodes &nodes, Scope &scope);
  void buildNode(const ::onnx::NodeProto &node, int index, Scope &scope);
  mlir::Value input(const ::onnx::NodeProto &node, int index, llvm::StringRef name,
                    const Scope &scope);
  void reportMissing(const ::onnx::NodeProto &node, int index, llvm::StringRef name,
                     const Scope &scope);
  mlir::Attribute attribute(const ::onnx::AttributeProto &attr, const std::string &what);
  mlir::DictionaryAttr
  attributes(const google::protobuf::RepeatedPtrField<::onnx::AttributeProto> &attrs,
             const std::string &what,
             llvm::SmallVectorImpl<const ::onnx::AttributeProto *> *graphs);
  mlir::Value absent();

  mlir::Location named(const llvm::Twine &name);
  mlir::Type unknown() { return onnx::UnknownType::get(context); }

  mlir::ModuleOp module;
  const ::onnx::ModelProto &model;
  Symbols &symbols;
  TensorReader &tensors;
  Diagnostics &diagnostics;
  mlir::MLIRContext *context;
  TypeReader types;
  mlir::OpBuilder builder;

  llvm::StringMap<const ::onnx::FunctionProto *> functions; ///< by symbol
  Domains modelDomains;
  // Of the function that is being built.
  const Domains *domains = nullptr;
  bool inFunction = false;
  mlir::Block *entry = nullptr;
  mlir::Value absentValue;
};

/// The symbol of a model's function: "domain::name" or "domain::name::overload".
std::string functionSymbol(llvm::StringRef domain, llvm::StringRef name, llvm::StringRef overload);

/// Checks imported operator sets and returns the version of each domain.
llvm::StringMap<int64_t>
readOpsets(const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto> &opsets,
           const llvm::Twine &what, Diagnostics &diagnostics);

/// The value of `onnx.opsets`.
mlir::DictionaryAttr opsetsAttr(mlir::MLIRContext *context, const llvm::StringMap<int64_t> &opsets);

} // namespace lumen

#endif // LUMEN_COMPILER_IMPORT_GRAPH_H
