//===- Tables.h - the model's tables as an object file -----------*- C++ -*-===//
#ifndef LUMEN_COMPILER_LINK_TABLES_H
#define LUMEN_COMPILER_LINK_TABLES_H

#include "compiler/link/Link.h"

#include "llvm/ADT/SmallVector.h"

namespace lumen::link {

/// Where the constants of an artifact are.
struct WeightsPlace {
  uint64_t size = 0;
  std::string symbol; ///< Defined by the weights object; empty when not inside.
  std::string file;   ///< File name beside the artifact; empty when inside.
  std::string id;     ///< What the file's header says that it is.
};

/// The symbol that the artifact exports.
std::string moduleSymbol(llvm::StringRef modelName);

/// Compiles an object that defines `lumen_module_<name>` and all tables behind it.
/// Everything else it defines is hidden.
llvm::Expected<llvm::SmallVector<char, 0>> compileTables(const ModelTables &tables,
                                                         const WeightsPlace &weights);

} // namespace lumen::link

#endif // LUMEN_COMPILER_LINK_TABLES_H
