//===- Depthwise.cpp - depthwise convolution on the CPU -------------------===//

#include "codegen/cpu/MatrixProduct.h"
#include "codegen/cpu/ProductNest.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::cpu;

FailureOr<LaunchShape> cpu::buildDepthwise(CpuKernel &kernel) {
  return buildGenericConvolution(kernel);
}
