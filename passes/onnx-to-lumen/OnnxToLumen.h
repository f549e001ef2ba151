//===- OnnxToLumen.h - from ONNX's operators to ours -------------*- C++ -*-===//
#ifndef LUMEN_PASSES_ONNXTOLUMEN_ONNXTOLUMEN_H
#define LUMEN_PASSES_ONNXTOLUMEN_ONNXTOLUMEN_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lumen {

/// An operator that `convert-onnx-to-lumen` takes.
struct SupportedOperator {
  llvm::StringRef domain; ///< "" is the default domain
  llvm::StringRef name;
  int64_t since;            ///< first version of the operator set
  int64_t until;            ///< last version
  llvm::StringRef lowering; ///< how it is computed: "elementwise"
  std::string types;        ///< element types of its main operand, in words; may be empty
  llvm::StringRef note;     ///< what is not supported; empty if nothing
};

/// All of them, by domain and name. Thread-safe.
std::vector<SupportedOperator> getSupportedOperators();

} // namespace lumen

#endif // LUMEN_PASSES_ONNXTOLUMEN_ONNXTOLUMEN_H
