//===- AccessAnalysis.cpp - how a loop nest reads its arguments -----------===//

#include "codegen/common/AccessAnalysis.h"

using namespace mlir;
using namespace lumen;

namespace {

/// The index along one dimension of a value: a linear form over the dimensions
/// of the iteration space. No stride depends on the constant, but reads that differ
/// in it are different reads.
struct Form {
  Sizes factors;
  bool bent = false;
  SymExpr constant = 0;

  bool operator==(const Form &other) const {
    return factors == other.factors && bent == other.bent && constant == other.constant;
  }
};

class Walker {
public:
  Walker(const Expression &expression, int64_t rank) : expression(expression), rank(rank) {
    result.fixed.resize(rank);
    result.bent.resize(rank);
  }

  void walk(Value value, ArrayRef<Form> forms);
  Form zero() const { return {Sizes(rank, 0)}; }
  AccessAnalysis takeResult();

private:
  void walkReshape(ReshapeOp op, ArrayRef<Form> forms);
  void read(Value value, const Access &access, ArrayRef<Form> forms);
  void fix(const Form &form) {
    for (int64_t i = 0; i < rank; ++i)
      if (form.factors[i] != SymExpr(0))
        result.fixed.set(i);
  }
  /// Lanes along the dimensions of `form` do not stay on a straight row.
  Form bend(const Form &form) {
    fix(form);
    for (int64_t i = 0; i < rank; ++i)
      if (form.factors[i] != SymExpr(0))
        result.bent.set(i);
    return {form.factors, true, form.constant};
  }

  const Expression &expression;
  int64_t rank;
  AccessAnalysis result;
  DenseMap<Value, SmallVector<SmallVector<Form>, 1>> visited;
  unsigned branches = 0; ///< that the walk is inside of
  /// Read inside of a branch, or under the name of a reshape.
  DenseSet<Value> pinned;
};

} // namespace

static RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

/// In additions; what matters is that a transcendental costs about twenty.
static double costOf(Operation *op) {
  if (auto unary = dyn_cast<UnaryOp>(op))
    switch (unary.getKind()) {
    case UnaryKind::Abs:
    case UnaryKind::Neg:
    case UnaryKind::Sign:
    case UnaryKind::Relu:
    case UnaryKind::Floor:
    case UnaryKind::Ceil:
    case UnaryKind::RoundEven:
    case UnaryKind::Not:
    case UnaryKind::IsNan:
    case UnaryKind::IsInf:
      return 1;
    case UnaryKind::Reciprocal:
    case UnaryKind::Sqrt:
    case UnaryKind::Rsqrt:
      return 6;
    default:
      return 20;
    }
  if (auto binary = dyn_cast<BinaryOp>(op))
    return llvm::is_contained({BinaryKind::Div, BinaryKind::Rem, BinaryKind::Mod, BinaryKind::Pow},
                              binary.getKind())
               ? 20
               : 1;
  return 1;
}

void Walker::read(Value value, const Access &access, ArrayRef<Form> forms) {
  if (branches > 0)
    pinned.insert(value);
  Sizes strides(rank, 0);
  for (auto [form, stride] : llvm::zip_equal(forms, access.strides))
    for (int64_t i = 0; i < rank; ++i)
      strides[i] += form.factors[i] * stride;
  if (llvm::any_of(forms, [](const Form &form) { return form.bent; })) {
    // No strides describe this read, so that none of its dimensions may be merged
    // with another one.
    for (const Form &form : forms)
      fix(form);
    return;
  }
  SmallVector<int64_t> dims(rank, -1);
  for (int64_t i = 0; i < rank; ++i) {
    int64_t moved = 0;
    for (auto [dim, form] : llvm::enumerate(forms))
      if (form.factors[i] != SymExpr(0)) {
        dims[i] = isOne(form.factors[i]) ? static_cast<int64_t>(dim) : -1;
        ++moved;
      }
    if (moved != 1)
      dims[i] = -1;
  }
  result.reads.push_back({value, access, std::move(strides), std::move(dims), false});
}

void Walker::walk(Value value, ArrayRef<Form> forms) {
  auto &places = visited[value];
  if (llvm::any_of(places, [&](const auto &place) { return llvm::equal(place, forms); }))
    return;
  places.push_back(llvm::to_vector(forms));
  if (expression.isSource(value)) {
    for (const Form &form : forms)
      fix(form);
    return;
  }
  if (const Access *access = expression.findMemory(value))
    return read(value, *access, forms);
  if (const Expression::Shift *shift = expression.findShifted(value)) {
    SmallVector<Form> shifted = llvm::to_vector(forms);
    shifted[shift->dim].constant += shift->offset;
    return walk(shift->other, shifted);
  }
  Operation *op = value.getDefiningOp();
  if (isa<ConstantOp>(op)) {
    // A table is read by its dimensions; a splat needs none.
    if (auto dense = cast<ConstantOp>(op).getValue(); !isa<SplatElementsAttr>(dense))
      for (const Form &form : forms)
        fix(form);
    return;
  }
  result.operations += costOf(op);
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](BroadcastOp op) {
        SmallVector<Form> operand;
        for (auto [i, dim] : llvm::enumerate(op.getDims())) {
          Form form = forms[dim];
          SymExpr factor = expression.broadcastFactor(op, i);
          for (SymExpr &each : form.factors)
            each *= factor;
          form.constant *= factor;
          operand.push_back(factor == SymExpr(0) ? zero() : std::move(form));
        }
        walk(op.getOperand(), operand);
      })
      .Case([&](IotaOp op) { fix(forms[op.getAxis()]); })
      .Case([&](SizesOp op) { llvm::for_each(forms, [&](const Form &form) { fix(form); }); })
      .Case([&](TransposeOp op) {
        SmallVector<Form> operand(forms.size());
        for (auto [i, dim] : llvm::enumerate(op.getPerm()))
          operand[dim] = forms[i];
        walk(op.getOperand(), operand);
      })
      .Case([&](ReshapeOp op) { walkReshape(op, forms); })
      .Case([&](SliceOp op) {
        SmallVector<Form> operand = llvm::to_vector(forms);
        for (auto [form, offset, stride] :
             llvm::zip_equal(operand, op.getOffsetSizes(), op.getStrides())) {
          for (SymExpr &factor : form.factors)
            factor *= stride;
          form.constant = form.constant * stride + offset;
        }
        walk(op.getOperand(), operand);
      })
      .Case([&](ConcatOp op) {
        fix(forms[op.getAxis()]);
        SmallVector<Form> part = llvm::to_vector(forms);
        ++branches;
        for (Value input : op.getInputs()) {
          walk(input, part);
          part[op.getAxis()].constant -= sizeOf(input, op.getAxis());
        }
        --branches;
      })
      .Case([&](PadOp op) {
        SmallVector<Form> operand = llvm::to_vector(forms);
        for (auto [i, form] : llvm::enumerate(operand)) {
          SymExpr low = op.getLowSizes()[i];
          if (low == SymExpr(0) && op.getHighSizes()[i] == SymExpr(0))
            continue;
          fix(form);
          form.constant -= low;
          if (op.getKind() != PadKind::Constant)
            form = bend(form);
        }
        walk(op.getOperand(), operand);
        walk(op.getValue(), {});
      })
      .Case([&](GatherOp op) {
        int64_t axis = op.getAxis(), count = tensorType(op.getIndices()).getRank();
        Form picked = zero();
        for (const Form &form : forms.slice(axis, count)) {
          Form bentForm = bend(form);
          for (int64_t i = 0; i < rank; ++i)
            if (bentForm.factors[i] != SymExpr(0))
              picked.factors[i] = 1;
        }
        picked.bent = true;
        walk(op.getIndices(), forms.slice(axis, count));
        SmallVector<Form> operand = llvm::to_vector(forms.take_front(axis));
        operand.push_back(picked);
        llvm::append_range(operand, forms.drop_front(axis + count));
        walk(op.getOperand(), operand);
      })
      .Case([&](PickOp op) {
        SmallVector<Form> operand;
        size_t next = 0;
        for (int64_t dim : op.getDims()) {
          if (dim >= 0) {
            operand.push_back(forms[dim]);
            continue;
          }
          Value indices = op.getIndices()[next++];
          Form picked = zero();
          picked.bent = true;
          ArrayRef<Form> where = forms.take_front(tensorType(indices).getRank());
          for (const Form &form : where) {
            Form bentForm = bend(form);
            for (int64_t i = 0; i < rank; ++i)
              if (bentForm.factors[i] != SymExpr(0))
                picked.factors[i] = 1;
          }
          walk(indices, where);
          operand.push_back(picked);
        }
        walk(op.getOperand(), operand);
      })
      .Default([&](Operation *op) {
        for (Value operand : op->getOperands())
          walk(operand, forms);
      });
}

void Walker::walkReshape(ReshapeOp op, ArrayRef<Form> forms) {
  Sizes from = sizesOf(op.getOperand()), to = sizesOf(op.getResult());
  if (std::optional<Access> access = expression.reshapedMemory(op)) {
    pinned.insert(op.getOperand());
    return read(op.getResult(), *access, forms);
  }
  // Groups with one operand dimension are linear; others need divisions.
  SmallVector<Form> operand(from.size(), zero());
  for (const DimGroup &group : indexGroups(from, to)) {
    Form linear = zero();
    SymExpr stride = 1;
    for (int64_t dim : llvm::reverse(group.to)) {
      for (int64_t i = 0; i < rank; ++i)
        linear.factors[i] += forms[dim].factors[i] * stride;
      linear.bent |= forms[dim].bent;
      linear.constant += forms[dim].constant * stride;
      stride *= to[dim];
    }
    if (group.from.size() == 1) {
      operand[group.from[0]] = linear;
      continue;
    }
    linear = bend(linear);
    for (int64_t dim : group.from)
      operand[dim] = linear;
  }
  walk(op.getOperand(), operand);
}

AccessAnalysis Walker::takeResult() {
  for (LinearRead &read : result.reads)
    read.isOnly = visited[read.value].size() == 1 && !pinned.contains(read.value);
  return std::move(result);
}

AccessAnalysis AccessAnalysis::of(const Expression &expression, ArrayRef<Value> values) {
  int64_t rank = tensorType(values.front()).getRank();
  Walker walker(expression, rank);
  SmallVector<Form> identity;
  for (int64_t i = 0; i < rank; ++i) {
    identity.push_back(walker.zero());
    identity.back().factors[i] = 1;
  }
  for (Value value : values)
    walker.walk(value, identity);
  return walker.takeResult();
}
