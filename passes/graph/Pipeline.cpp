//===- Pipeline.cpp - the order of the graph passes -----------------------===//

#include "passes/graph/Passes.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;

void lumen::buildGraphPipeline(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // What is decided needs no region around it that patterns stop at.
  pm.addPass(createSimplifyControl());
  // Patterns are spelled in the model's own layout, without transposes inside.
  pm.addPass(createFuseLookups());
  pm.addPass(createFuseNormalization());
  // Behind the softmax that may be spelled out itself.
  pm.addPass(createFuseAttention());
  pm.addPass(createFuseRotations());
  pm.addPass(createPropagateTransposes());
  pm.addPass(createCanonicalizerPass());
  // Reshapes meet the operations they belong to once no transpose is between.
  pm.addPass(createSinkReshapes());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createDropUnitDims());
  pm.addPass(createExpandPowers());
  // Factors per channel meet their convolution only when no transpose is between.
  pm.addPass(createFoldAffine());
  pm.addPass(createFoldConstants());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // Last of those that touch weights: nothing looks into a packed one.
  pm.addPass(createPackWeights());
}
