//===- Linker.h - lld and objcopy in process ---------------------*- C++ -*-===//
#ifndef LUMEN_COMPILER_LINK_LINKER_H
#define LUMEN_COMPILER_LINK_LINKER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace lumen::link {

/// Runs lld's ELF driver with `arguments` (without the program's name). Thread-
/// safe: lld has global state, so calls take turns.
llvm::Error runLinker(llvm::ArrayRef<std::string> arguments);

/// The relocatable object at `path` with every defined symbol local but
/// `exported`.
llvm::Expected<llvm::SmallVector<char, 0>>
localizeSymbols(llvm::StringRef path, llvm::StringRef exported, bool keepSymbols);

} // namespace lumen::link

#endif // LUMEN_COMPILER_LINK_LINKER_H
