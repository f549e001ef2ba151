//===- VerifyTables.h - what the runtime takes for granted -------*- C++ -*-===//
#ifndef LUMEN_COMPILER_LINK_VERIFYTABLES_H
#define LUMEN_COMPILER_LINK_VERIFYTABLES_H

#include "compiler/link/Link.h"

namespace lumen::link {

/// The last verifier before the runtime, which follows every index and offset
/// unchecked. An error is a bug of the compiler and says which row is wrong.
llvm::Error verifyTables(const ModelTables &tables, uint64_t weightsSize);

} // namespace lumen::link

#endif // LUMEN_COMPILER_LINK_VERIFYTABLES_H
