//===- Linker.h - objcopy in process -----------------------------*- C++ -*-===//
#ifndef LUMEN_COMPILER_LINK_LINKER_H
#define LUMEN_COMPILER_LINK_LINKER_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace lumen::link {

/// The relocatable object at `path` with every defined symbol local but
/// `exported`.
llvm::Expected<llvm::SmallVector<char, 0>>
localizeSymbols(llvm::StringRef path, llvm::StringRef exported, bool keepSymbols);

} // namespace lumen::link

#endif // LUMEN_COMPILER_LINK_LINKER_H
