//===- ControlFlow.h - what the conversions of bodies share ------*- C++ -*-===//
#ifndef LUMEN_PASSES_ONNXTOLUMEN_CONTROLFLOW_H
#define LUMEN_PASSES_ONNXTOLUMEN_CONTROLFLOW_H

#include "passes/onnx-to-lumen/Converter.h"

#include <set>

namespace lumen {

/// Attributes of operations that name sizes and symbols.
mlir::StringAttr textOf(Node &node, const SymExpr &size);
mlir::ArrayAttr namesOf(Node &node, llvm::ArrayRef<std::string> names);

/// The only element of `value` as a scalar; an error, which calls it `what`, if it
/// has more.
mlir::FailureOr<mlir::Value> scalarOf(Node &node, mlir::Value value, llvm::StringRef what);
mlir::FailureOr<mlir::Value> conditionOf(Node &node, mlir::Value value);

/// Symbols that are defined inside of a region, and so mean nothing outside.
std::set<std::string> symbolsDefinedIn(mlir::Region &region);
bool usesAny(const SymExpr &size, const std::set<std::string> &names);

/// The type of a value that leaves a body; an error if it is no tensor of known rank.
mlir::FailureOr<mlir::RankedTensorType> tensorLeaving(Node &node, mlir::Value value,
                                                      unsigned index);
/// The sizes of a tensor; none of what is none.
Sizes knownSizesOf(mlir::Value value);

/// Ends a converted body.
void endRegion(Node &node, mlir::Block *block, mlir::ValueRange values,
               llvm::ArrayRef<SymExpr> sizes);

/// Element `index` of dimension `axis`, without that dimension.
mlir::Value elementOf(Emitter &emit, mlir::Value operand, int64_t axis, const SymExpr &index);

/// What a trip gives: the next carried values, then what is stacked.
using TripBody = llvm::function_ref<mlir::FailureOr<llvm::SmallVector<mlir::Value>>(
    const SymExpr &trip, mlir::ValueRange carried)>;
/// A loop of as many trips, which a node of no own condition makes. The body may be asked
/// for several times. Results: carried values, then stacked ones along a new first dimension.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> emitTrips(Node &node, const SymExpr &trips,
                                                          mlir::ValueRange inits, TripBody body);

/// While it lives, what is to be said is kept instead: something is converted that
/// may turn out not to fit the model.
class Attempt {
public:
  struct Message {
    mlir::Location loc;
    mlir::DiagnosticSeverity severity;
    std::string text;
  };
  using Messages = llvm::SmallVector<Message>;

  Attempt(Node &node, Messages &messages)
      : node(node), handler(node.getLoc().getContext(), [&messages](mlir::Diagnostic &diagnostic) {
          messages.push_back(
              {diagnostic.getLocation(), diagnostic.getSeverity(), diagnostic.str()});
          return mlir::success();
        }) {
    messages.clear();
  }
  ~Attempt() { node.forgive(); }

  static void report(const Messages &messages) {
    for (const auto &[loc, severity, text] : messages)
      loc->getContext()->getDiagEngine().emit(loc, severity) << text;
  }

private:
  Node &node;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace lumen

#endif // LUMEN_PASSES_ONNXTOLUMEN_CONTROLFLOW_H
