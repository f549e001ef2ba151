//===- Spaces.h - what an elementwise kernel walks ---------------*- C++ -*-===//
#ifndef LUMEN_CODEGEN_LOOPS_SPACES_H
#define LUMEN_CODEGEN_LOOPS_SPACES_H

#include "codegen/loops/Nest.h"

namespace lumen::loops {

/// Results of one shape, walked together.
struct Space {
  Sizes shape;
  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<Access> accesses;
};

/// A part of a space in which every concatenation has one input.
struct Box {
  Sizes offsets, sizes;
};

struct BoxOfSpace {
  const Space &space;
  const Box &box;
  const Expression &expression; ///< of the values in this box
  const AccessAnalysis &analysis;
  llvm::ArrayRef<Sizes> resultStrides;
};

/// Calls `body` for parts that make up all results of an elementwise kernel.
void forEachBox(LoopKernel &kernel, llvm::function_ref<void(const BoxOfSpace &)> body);

} // namespace lumen::loops

#endif // LUMEN_CODEGEN_LOOPS_SPACES_H
