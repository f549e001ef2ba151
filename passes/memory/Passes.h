//===- Passes.h - passes of this folder, see Passes.td -----------*- C++ -*-===//
#ifndef LUMEN_PASSES_MEMORY_PASSES_H
#define LUMEN_PASSES_MEMORY_PASSES_H

#include "dialects/Dispatch/Dispatch.h"

#include "mlir/Pass/Pass.h"

namespace lumen {
#define GEN_PASS_DECL
#include "passes/memory/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/memory/Passes.h.inc"
} // namespace lumen

#endif // LUMEN_PASSES_MEMORY_PASSES_H
