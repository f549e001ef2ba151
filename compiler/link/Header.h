//===- Header.h - the C and C++ header of an artifact ------------*- C++ -*-===//
#ifndef LUMEN_COMPILER_LINK_HEADER_H
#define LUMEN_COMPILER_LINK_HEADER_H

#include "compiler/link/Link.h"

namespace lumen::link {

/// The text of `<stem>.h`: the signature as a comment and as constants, and the
/// artifact's entry point.
std::string modelHeader(const ModelTables &tables, llvm::StringRef artifactName);

} // namespace lumen::link

#endif // LUMEN_COMPILER_LINK_HEADER_H
