//===- Embedded.cpp - files that every artifact needs ---------------------===//

#include "compiler/link/Embedded.h"

// Defined in Embedded.c.
#define LUMEN_EMBEDDED(function, symbol)                                                           \
  extern "C" const char lumen_embedded_##symbol[], lumen_embedded_##symbol##_end[];                \
  llvm::StringRef lumen::link::embedded::function() {                                              \
    return {lumen_embedded_##symbol,                                                               \
            static_cast<size_t>(lumen_embedded_##symbol##_end - lumen_embedded_##symbol)};         \
  }

LUMEN_EMBEDDED(runtimeArchive, runtime)
LUMEN_EMBEDDED(callsArchive, calls)
LUMEN_EMBEDDED(driversArchive, drivers)
LUMEN_EMBEDDED(builtinsArchive, builtins)
LUMEN_EMBEDDED(libcInterface, libc)
LUMEN_EMBEDDED(libmInterface, libm)
LUMEN_EMBEDDED(userHeader, header)
