//===- Diagnostics.h - messages to the user ----------------------*- C++ -*-===//
//
// What a user reads when a compilation fails: one line per fault,
// `model.onnx: Conv 'stem/conv1': weight has 4 input channels, expected 3`.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_COMPILER_DIAGNOSTICS_H
#define LUMEN_COMPILER_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/Twine.h"

#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace lumen {

/// Collects the messages about one model file. Thread-safe.
class Diagnostics {
public:
  enum class Severity { Error, Warning, Note };
  struct Message {
    Severity severity;
    std::string text; ///< without the file name
  };

  /// `file` is shown as given. Errors after the first `limit` are counted, but
  /// not kept: a damaged file can have millions.
  explicit Diagnostics(llvm::StringRef file, size_t limit = 20) : file(file), limit(limit) {}

  void report(Severity severity, const llvm::Twine &text);
  void error(const llvm::Twine &text) { report(Severity::Error, text); }
  void warning(const llvm::Twine &text) { report(Severity::Warning, text); }

  size_t errors() const;
  bool failed() const { return errors() != 0; }
  /// Whether more errors would only be counted; a reader may stop here.
  bool full() const { return errors() >= limit; }

  std::vector<Message> messages() const;
  /// One line per message; warnings and notes say what they are.
  void print(llvm::raw_ostream &os) const;

private:
  std::string file;
  size_t limit;
  mutable std::mutex mutex;
  size_t errorCount = 0;
  std::vector<Message> kept;
};

/// How a location is shown: the node names in it, "Conv 'a', Relu 'b'"; empty
/// when it has none.
std::string describe(mlir::Location loc);

/// While it lives, what MLIR reports goes into `diagnostics`.
class DiagnosticCapture : public mlir::ScopedDiagnosticHandler {
public:
  DiagnosticCapture(mlir::MLIRContext *context, Diagnostics &diagnostics);
};

} // namespace lumen

#endif // LUMEN_COMPILER_DIAGNOSTICS_H
