//===- Embedded.h - files that every artifact needs --------------*- C++ -*-===//
//
// Part of the library's own data, so that lumenc is one file and needs no
// installation beside it.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_COMPILER_LINK_EMBEDDED_H
#define LUMEN_COMPILER_LINK_EMBEDDED_H

#include "llvm/ADT/StringRef.h"

namespace lumen::link::embedded {

llvm::StringRef runtimeArchive();  ///< runtime-lite, position-independent
llvm::StringRef callsArchive();    ///< operations on values that are no tensors
llvm::StringRef driversArchive();  ///< of devices other than the CPU
llvm::StringRef builtinsArchive(); ///< helpers that LLVM calls
llvm::StringRef libcInterface();   ///< versioned symbols of libc.so.6, no code
llvm::StringRef libmInterface();   ///< versioned symbols of libm.so.6, no code
llvm::StringRef userHeader();      ///< lumen.h

} // namespace lumen::link::embedded

#endif // LUMEN_COMPILER_LINK_EMBEDDED_H
