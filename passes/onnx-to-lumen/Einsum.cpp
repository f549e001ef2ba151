//===- Einsum.cpp - sums of products over named dimensions ----------------===//
//
// Operands are joined from the left: what nobody names any more is summed up, so
// every step is a product of matrices, or elementwise where nothing is summed.
//
//===----------------------------------------------------------------------===//

#include "passes/onnx-to-lumen/Converter.h"

using namespace mlir;
using namespace lumen;

namespace {

/// Dimensions by name: letters, and numbers from 256 on for those of the ellipsis,
/// counted from the last one.
using Labels = SmallVector<int>;

/// A tensor whose dimensions are named, each name once.
struct Term {
  Value value;
  Labels labels;
};

/// One side of the equation as it is written.
struct TermPattern {
  Labels before, behind;
  bool hasEllipsis = false;
};

} // namespace

static FailureOr<TermPattern> parsePattern(Node &node, StringRef text) {
  TermPattern pattern;
  while (!text.empty()) {
    if (text.consume_front("...")) {
      if (pattern.hasEllipsis)
        return node.error() << "attribute 'equation' has two ellipses in one term";
      pattern.hasEllipsis = true;
      continue;
    }
    if (!llvm::isAlpha(text.front()))
      return node.error() << "attribute 'equation' has the character '" << text.take_front(1)
                          << "', expected letters";
    (pattern.hasEllipsis ? pattern.behind : pattern.before).push_back(text.front());
    text = text.drop_front();
  }
  return pattern;
}

/// The names of all dimensions where the ellipsis stands for `count`.
static Labels expand(const TermPattern &pattern, int64_t count) {
  Labels labels = pattern.before;
  for (int64_t i = count; i-- > 0;)
    labels.push_back(256 + i);
  llvm::append_range(labels, pattern.behind);
  return labels;
}

/// Leaves each name once: the diagonal.
static Term takeDiagonal(Emitter &emit, Value value, const Labels &labels) {
  Term term{value, {}};
  SmallVector<int64_t> dims;
  Sizes sizes;
  for (auto [i, label] : llvm::enumerate(labels)) {
    auto *known = llvm::find(term.labels, label);
    dims.push_back(known - term.labels.begin());
    if (known != term.labels.end())
      continue;
    term.labels.push_back(label);
    sizes.push_back(sizeOf(value, i));
  }
  if (term.labels.size() != labels.size())
    term.value = emit.create<PickOp>(tensorTypeOf(sizes, Emitter::typeOf(value).getElementType()),
                                     value, ValueRange{}, dims);
  return term;
}

static void sumAway(Emitter &emit, Term &term, function_ref<bool(int)> isKept) {
  SmallVector<int64_t> axes;
  Labels kept;
  for (auto [i, label] : llvm::enumerate(term.labels)) {
    if (isKept(label))
      kept.push_back(label);
    else
      axes.push_back(i);
  }
  if (!axes.empty())
    term.value = emit.reduce(ReduceKind::Sum, term.value, axes, /*keepDims=*/false);
  term.labels = kept;
}

/// Brings dimensions into the order of `labels`, a permutation of the term's.
static Value inOrder(Emitter &emit, const Term &term, ArrayRef<int> labels) {
  SmallVector<int64_t> perm;
  for (int label : labels)
    perm.push_back(llvm::find(term.labels, label) - term.labels.begin());
  return llvm::equal(perm, llvm::seq<int64_t>(0, perm.size())) ? term.value
                                                               : emit.transpose(term.value, perm);
}

/// The product of two terms, summed over what is not kept.
static Term multiply(Emitter &emit, const Term &lhs, const Term &rhs,
                     const std::map<int, SymExpr> &sizes, function_ref<bool(int)> isKept) {
  Labels batch, rows, columns, summed;
  for (int label : lhs.labels) {
    if (!llvm::is_contained(rhs.labels, label))
      rows.push_back(label);
    else
      (isKept(label) ? batch : summed).push_back(label);
  }
  for (int label : rhs.labels)
    if (!llvm::is_contained(lhs.labels, label))
      columns.push_back(label);
  auto join = [](ArrayRef<ArrayRef<int>> lists) {
    Labels all;
    for (ArrayRef<int> list : lists)
      llvm::append_range(all, list);
    return all;
  };
  auto sizesFor = [&](ArrayRef<int> labels) {
    Sizes result;
    for (int label : labels)
      result.push_back(sizes.at(label));
    return result;
  };
  Labels labels = join({batch, rows, columns});
  Type element = Emitter::typeOf(lhs.value).getElementType();
  if (summed.empty()) {
    // Both in the result's shape.
    auto spread = [&](const Term &term) {
      SmallVector<int64_t> dims;
      Labels own;
      for (auto [i, label] : llvm::enumerate(labels))
        if (llvm::is_contained(term.labels, label)) {
          own.push_back(label);
          dims.push_back(i);
        }
      return emit.broadcast(inOrder(emit, term, own), sizesFor(labels), dims);
    };
    return {emit.binary(BinaryKind::Mul, spread(lhs), spread(rhs)), labels};
  }
  SymExpr m = product(sizesFor(rows)), n = product(sizesFor(columns)),
          k = product(sizesFor(summed));
  Sizes outer = sizesFor(batch);
  auto matrix = [&](const Term &term, const Labels &order, SymExpr a, SymExpr b) {
    Sizes shape(outer);
    shape.append({a, b});
    return emit.reshape(inOrder(emit, term, order), shape);
  };
  Value left = matrix(lhs, join({batch, rows, summed}), m, k);
  Value right = matrix(rhs, join({batch, summed, columns}), k, n);
  Sizes shape(outer);
  shape.append({m, n});
  // Sums of narrow integers are wide; they wrap as the narrow ones would.
  Value result = emit.create<ContractOp>(
      tensorTypeOf(shape, productElementType(element, element)), left, right,
      /*transpose_lhs=*/false, /*transpose_rhs=*/false, /*packed=*/false);
  return {emit.reshape(emit.convert(result, element), sizesFor(labels)), labels};
}

static LogicalResult einsum(Node &node) {
  std::string equation;
  for (char c : node.string("equation", ""))
    if (c != ' ')
      equation += c;
  auto [inputs, output] = StringRef(equation).split("->");
  bool isExplicit = StringRef(equation).contains("->");
  SmallVector<StringRef> texts;
  inputs.split(texts, ',');
  if (texts.size() != node.getNumInputs())
    return node.error() << "attribute 'equation' has " << texts.size()
                        << " terms, but the node has " << node.getNumInputs() << " inputs";

  // Sizes by name; a dimension of 1 broadcasts.
  Emitter &emit = node.emit;
  std::map<int, SymExpr> sizes;
  std::map<int, unsigned> uses;
  SmallVector<Term> terms;
  int64_t ellipsis = 0;
  for (auto [i, text] : llvm::enumerate(texts)) {
    if (failed(node.expectSameElementType(0, i)))
      return failure();
    FailureOr<TermPattern> pattern = parsePattern(node, text);
    if (failed(pattern))
      return failure();
    int64_t rank = node.inputType(i).getRank();
    int64_t free = rank - int64_t(pattern->before.size() + pattern->behind.size());
    if (free < 0 || (free > 0 && !pattern->hasEllipsis))
      return node.error() << "term '" << text << "' of attribute 'equation' does not fit the shape "
                          << shapeText(sizesOf(node.input(i)));
    ellipsis = std::max(ellipsis, free);
    Labels labels = expand(*pattern, free);
    for (auto [dim, label] : llvm::enumerate(labels)) {
      SymExpr size = sizeOf(node.input(i), dim);
      auto [known, isNew] = sizes.try_emplace(label, size);
      ++uses[label];
      if (isOne(known->second))
        known->second = size;
      else if (!isOne(size) &&
               !node.ensureEqual(size, known->second,
                                 "dimensions of one name in the equation are {0} and {1}, "
                                 "expected equal ones"))
        return node.error() << "dimensions of one name in attribute 'equation' have the sizes "
                            << known->second.str() << " and " << size.str();
    }
    terms.push_back({node.input(i), labels});
  }
  Labels result;
  if (isExplicit) {
    FailureOr<TermPattern> pattern = parsePattern(node, output);
    if (failed(pattern))
      return failure();
    result = expand(*pattern, pattern->hasEllipsis ? ellipsis : 0);
    for (auto [i, label] : llvm::enumerate(result))
      if (!sizes.count(label) || llvm::is_contained(ArrayRef(result).take_front(i), label))
        return node.error() << "attribute 'equation' has the result '" << output
                            << "', expected names of the inputs, each once";
  } else {
    // The ellipsis, then in alphabetical order what occurs once.
    for (int64_t i = ellipsis; i-- > 0;)
      result.push_back(256 + i);
    for (auto [label, count] : uses)
      if (label < 256 && count == 1)
        result.push_back(label);
  }

  for (Term &term : terms) {
    // Dimensions of 1 become as long as the others of their name.
    Sizes shape, own = sizesOf(term.value);
    for (auto [label, size] : llvm::zip(term.labels, own)) {
      shape.push_back(sizes.at(label));
      if (!isOne(size))
        size = shape.back();
    }
    term.value = emit.broadcast(emit.cast(term.value, own), shape,
                                llvm::to_vector(llvm::seq<int64_t>(0, shape.size())));
    term = takeDiagonal(emit, term.value, term.labels);
  }
  Term joined = terms[0];
  for (size_t i = 0; i < terms.size(); ++i) {
    auto isKept = [&](int label) {
      return llvm::is_contained(result, label) ||
             llvm::any_of(ArrayRef(terms).drop_front(i + 1),
                          [&](const Term &term) { return llvm::is_contained(term.labels, label); });
    };
    if (i > 0) {
      // What only the new operand has, and nobody behind it, is summed at once.
      sumAway(emit, terms[i],
              [&](int label) { return isKept(label) || llvm::is_contained(joined.labels, label); });
      joined = multiply(emit, joined, terms[i], sizes, isKept);
    } else {
      sumAway(emit, joined, isKept);
    }
  }
  return node.yield(inOrder(emit, joined, result));
}

static const OperatorRow rows[] = {
    {"Einsum", 1, OperatorRow::kVariadic, einsum},
};

ArrayRef<OperatorRow> lumen::einsumRows() { return rows; }
