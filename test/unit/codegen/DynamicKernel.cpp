//===- DynamicKernel.cpp - kernels between constant and dynamic sizes -----===//

#include "DynamicKernel.h"

#include "mlir/IR/Builders.h"

#include <map>

using namespace lumen;
using namespace lumen::test;
using llvm::SmallVector;
using mlir::RankedTensorType;
using mlir::Type;

/// A copy of the kernel with every size of its types and attributes replaced.
/// Constants keep their types.
static mlir::OwningOpRef<mlir::ModuleOp>
replaceSizes(dispatch::KernelOp kernel, llvm::function_ref<SymExpr(const SymExpr &)> replace) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(kernel.getLoc());
  auto copy = llvm::cast<dispatch::KernelOp>(kernel->clone());
  module->push_back(copy);
  mlir::MLIRContext *context = copy.getContext();
  auto replaceAll = [&](Sizes sizes) {
    for (SymExpr &size : sizes)
      size = replace(size);
    return sizes;
  };
  auto retype = [&](Type type) -> Type {
    auto tensor = llvm::cast<RankedTensorType>(type);
    return tensorTypeOf(replaceAll(sizesOf(tensor)), tensor.getElementType());
  };
  auto replaceStrides = [&](mlir::ArrayAttr attrs) -> mlir::ArrayAttr {
    if (!attrs)
      return attrs;
    SmallVector<mlir::Attribute> result;
    for (auto each : attrs.getAsRange<mlir::DictionaryAttr>()) {
      mlir::NamedAttrList list(each);
      if (auto dims = each.getAs<DimsAttr>(dispatch::DispatchDialect::kStrides))
        list.set(dispatch::DispatchDialect::kStrides, toAttr(context, replaceAll(toSizes(dims))));
      result.push_back(list.getDictionary(context));
    }
    return mlir::ArrayAttr::get(context, result);
  };
  copy.setArgAttrsAttr(replaceStrides(copy.getArgAttrsAttr()));
  copy.setResAttrsAttr(replaceStrides(copy.getResAttrsAttr()));
  mlir::Block &body = copy.getBody().front();
  for (mlir::BlockArgument argument : body.getArguments())
    argument.setType(retype(argument.getType()));
  for (mlir::Operation &op : body.without_terminator()) {
    if (llvm::isa<ConstantOp>(op))
      continue;
    for (mlir::Value result : op.getResults())
      result.setType(retype(result.getType()));
    for (mlir::NamedAttribute attr : SmallVector<mlir::NamedAttribute>(op.getAttrs()))
      if (auto dims = llvm::dyn_cast<DimsAttr>(attr.getValue()))
        op.setAttr(attr.getName(), toAttr(context, replaceAll(toSizes(dims))));
  }
  SmallVector<Type> arguments, results;
  llvm::transform(copy.getArgumentTypes(), std::back_inserter(arguments), retype);
  llvm::transform(copy.getResultTypes(), std::back_inserter(results), retype);
  copy.setFunctionType(mlir::FunctionType::get(context, arguments, results));
  return module;
}

SizedKernel test::makeDynamic(dispatch::KernelOp kernel, std::mt19937 &random) {
  SizedKernel result;
  std::map<int64_t, SymExpr> symbols;
  SmallVector<mlir::Attribute> names;
  mlir::Builder builder(kernel.getContext());
  result.module = replaceSizes(kernel, [&](const SymExpr &size) {
    int64_t value = *size.asConstant();
    auto [it, isNew] = symbols.try_emplace(value, size);
    // 0 and negative numbers are offsets and paddings more often than sizes.
    if (isNew && value > 0 && random() % 4 != 0) {
      std::string name = "s" + std::to_string(names.size());
      it->second = SymExpr::symbol(name);
      names.push_back(builder.getStringAttr(name));
      result.sizes.push_back(value);
    }
    return it->second;
  });
  result.kernel()->setAttr(dispatch::DispatchDialect::kSizes, builder.getArrayAttr(names));
  return result;
}

mlir::OwningOpRef<mlir::ModuleOp> test::makeStatic(dispatch::KernelOp kernel,
                                                   llvm::ArrayRef<int64_t> sizes) {
  llvm::StringMap<int64_t> values;
  for (auto [name, value] : llvm::zip_equal(kernel.getSizeNames(), sizes))
    values[name] = value;
  auto module = replaceSizes(kernel, [&](const SymExpr &size) {
    std::optional<int64_t> value = size.evaluate(values);
    assert(value && "a size that has no value");
    return SymExpr(*value);
  });
  (*module->getOps<dispatch::KernelOp>().begin())->removeAttr(dispatch::DispatchDialect::kSizes);
  return module;
}
