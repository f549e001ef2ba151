//===- Lld.h - lld in process ------------------------------------*- C++ -*-===//
#ifndef LUMEN_CODEGEN_COMMON_LLD_H
#define LUMEN_CODEGEN_COMMON_LLD_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace lumen {

/// Runs lld's ELF driver with `arguments` (without the program's name). Thread-
/// safe: lld has global state, so calls take turns.
llvm::Error runLinker(llvm::ArrayRef<std::string> arguments);

} // namespace lumen

#endif // LUMEN_CODEGEN_COMMON_LLD_H
