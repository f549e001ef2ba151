//===- InPlace.cpp - see InPlace.h ----------------------------------------===//

#include "dialects/Dispatch/InPlace.h"

#include "dialects/Lumen/Lumen.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::dispatch;

static bool writesOnce(Operation *root) {
  return !root || traitsOf(cast<LumenOpInterface>(root).getFamily()).writesOnce;
}

/// By elementwise operations alone, behind the root if there is one. Builders load what an
/// epilogue reads when they store the result, each element once.
bool dispatch::mayOverwrite(KernelOp kernel, unsigned input) {
  Operation *root = kernel.getRoot();
  if (kernel.getResultTypes().size() != 1 || !writesOnce(root))
    return false;
  SmallVector<Value> reached = {kernel.getBody().getArgument(input)};
  for (size_t i = 0; i != reached.size(); ++i)
    for (Operation *user : reached[i].getUsers()) {
      if (user->hasTrait<OpTrait::IsTerminator>())
        continue;
      auto op = dyn_cast<LumenOpInterface>(user);
      if (user == root || isa<BroadcastOp>(user) || !op || op.getFamily() != Family::Elementwise)
        return false;
      llvm::append_range(reached, user->getResults());
    }
  return true;
}
