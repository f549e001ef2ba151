#include "dialects/Lumen/Lumen.h"
using namespace mlir;
using namespace lumen;
LogicalResult ConstantOp::verify() { return success(); }
LogicalResult UnaryOp::verify() { return success(); }
LogicalResult BroadcastOp::verify() { return success(); }
LogicalResult ContractOp::verify() { return success(); }
LogicalResult ConvOp::verify() { return success(); }
LogicalResult WindowOp::verify() { return success(); }
LogicalResult ReduceOp::verify() { return success(); }
LogicalResult SoftmaxOp::verify() { return success(); }
LogicalResult NormOp::verify() { return success(); }
LogicalResult TransposeOp::verify() { return success(); }
LogicalResult ReshapeOp::verify() { return success(); }
LogicalResult SliceOp::verify() { return success(); }
LogicalResult ConcatOp::verify() { return success(); }
LogicalResult PadOp::verify() { return success(); }
LogicalResult GatherOp::verify() { return success(); }
LogicalResult IotaOp::verify() { return success(); }
