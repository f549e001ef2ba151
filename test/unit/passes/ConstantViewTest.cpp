// A view of a constant through any chain of movement operations holds the same
// elements as doing the operations one after the other.

#include "passes/graph/Constants.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace lumen;

namespace {

/// A tensor of floats whose elements are read by index, the plain way.
struct Plain {
  SmallVector<int64_t> shape;
  std::vector<float> values;

  int64_t at(ArrayRef<int64_t> index) const {
    int64_t place = 0;
    for (auto [size, i] : llvm::zip(shape, index))
      place = place * size + i;
    return place;
  }
  template <typename Source>
  static Plain make(ArrayRef<int64_t> shape, const Plain &from, Source source) {
    Plain result{SmallVector<int64_t>(shape), {}};
    int64_t count = 1;
    for (int64_t size : shape)
      count *= size;
    for (int64_t i = 0; i < count; ++i) {
      SmallVector<int64_t> index(shape.size());
      for (int64_t dim = shape.size() - 1, rest = i; dim >= 0; rest /= shape[dim--])
        index[dim] = rest % shape[dim];
      result.values.push_back(from.values[from.at(source(ArrayRef<int64_t>(index)))]);
    }
    return result;
  }
};

class ConstantViewTest : public testing::Test {
protected:
  ConstantViewTest() : builder(&context) {
    context.loadDialect<LumenDialect>();
    module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(module->getBody());
  }
  RankedTensorType typeOf(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getF32Type());
  }

  MLIRContext context;
  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
  Location loc = UnknownLoc::get(&context);
};

} // namespace

TEST_F(ConstantViewTest, FollowsRandomChains) {
  std::mt19937 random(7);
  auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  int viewed = 0;
  for (int round = 0; round < 400; ++round) {
    SmallVector<int64_t> shape;
    for (int64_t dim = 0, rank = 1 + below(4); dim < rank; ++dim)
      shape.push_back(1 + below(5));
    Plain plain{shape, {}};
    int64_t count = typeOf(shape).getNumElements();
    for (int64_t i = 0; i < count; ++i)
      plain.values.push_back(i + 1);
    Value value = makeConstant(builder, loc, typeOf(shape), [&](MutableArrayRef<char> bytes) {
      std::memcpy(bytes.data(), plain.values.data(), bytes.size());
    });
    for (int step = 0; step < 4; ++step) {
      int64_t rank = plain.shape.size();
      switch (below(4)) {
      case 0: { // transpose
        SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(0, rank)), to;
        std::shuffle(perm.begin(), perm.end(), random);
        for (int64_t dim : perm)
          to.push_back(plain.shape[dim]);
        plain = Plain::make(to, plain, [&](ArrayRef<int64_t> index) {
          SmallVector<int64_t> from(rank);
          for (auto [i, dim] : llvm::enumerate(perm))
            from[dim] = index[i];
          return from;
        });
        value = TransposeOp::create(builder, loc, typeOf(to), value, perm);
        break;
      }
      case 1: { // slice
        SmallVector<int64_t> to, offsets, strides;
        for (int64_t size : plain.shape) {
          to.push_back(1 + below(size));
          strides.push_back(to.back() > 1 ? (size - 1) / (to.back() - 1) : 1);
          offsets.push_back(below(size - (to.back() - 1) * strides.back()));
          if (below(2)) { // backwards
            offsets.back() += (to.back() - 1) * strides.back();
            strides.back() = -strides.back();
          }
        }
        plain = Plain::make(to, plain, [&](ArrayRef<int64_t> index) {
          SmallVector<int64_t> from;
          for (auto [dim, i] : llvm::enumerate(index))
            from.push_back(offsets[dim] + i * strides[dim]);
          return from;
        });
        value = SliceOp::create(builder, loc, typeOf(to), value, lumen::toSizes(offsets), strides);
        break;
      }
      case 2: { // broadcast along a new dimension
        int64_t fresh = below(rank + 1);
        SmallVector<int64_t> to = plain.shape, dims;
        to.insert(to.begin() + fresh, 1 + below(3));
        for (int64_t dim = 0; dim <= rank; ++dim)
          if (dim != fresh)
            dims.push_back(dim);
        if (typeOf(to).getNumElements() > 4000)
          break;
        plain = Plain::make(to, plain, [&](ArrayRef<int64_t> index) {
          SmallVector<int64_t> from(index);
          from.erase(from.begin() + fresh);
          return from;
        });
        value = BroadcastOp::create(builder, loc, typeOf(to), value, dims);
        break;
      }
      default: { // reshape to random factors
        int64_t rest = plain.values.size();
        SmallVector<int64_t> to;
        while (rest > 1 && to.size() < 4) {
          SmallVector<int64_t> divisors;
          for (int64_t d = 1; d <= rest; ++d)
            if (rest % d == 0)
              divisors.push_back(d);
          to.push_back(divisors[below(divisors.size())]);
          rest /= to.back();
        }
        to.push_back(rest);
        value = ReshapeOp::create(builder, loc, typeOf(to), value);
        plain.shape = to;
        break;
      }
      }
    }
    std::optional<ConstantView> view = viewConstant(value);
    if (!view)
      continue; // a reshape that no table describes
    ++viewed;
    std::vector<float> elements(plain.values.size());
    copyConstant(*view, reinterpret_cast<char *>(elements.data()));
    ASSERT_EQ(elements, plain.values) << "round " << round;
  }
  EXPECT_GT(viewed, 300);
}

TEST_F(ConstantViewTest, ReadsUnalignedBytes) {
  // A weight in a model file may lie at any address.
  std::string bytes(1 + 6 * sizeof(float), '\0');
  float numbers[] = {1, 2, 3, 4, 5, 6};
  std::memcpy(&bytes[1], numbers, sizeof(numbers));
  uint64_t id = context.getLoadedDialect<LumenDialect>()->getBlobs().add(
      llvm::MemoryBuffer::getMemBufferCopy(bytes));
  auto type = typeOf({2, 3});
  Value value = ConstantOp::create(builder, loc,
                                   lumen::BlobAttr::get(&context, id, 1, sizeof(numbers), type));
  value = TransposeOp::create(builder, loc, typeOf({3, 2}), value, ArrayRef<int64_t>{1, 0});
  std::vector<float> elements(6);
  copyConstant(*viewConstant(value), reinterpret_cast<char *>(elements.data()));
  EXPECT_EQ(elements, (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST_F(ConstantViewTest, EvaluatesBeyondFolders) {
  // More than one chunk, in parallel, with an operand that repeats.
  constexpr int64_t rows = 700, columns = 900;
  auto type = typeOf({rows, columns});
  Value big = makeConstant(builder, loc, type, [&](MutableArrayRef<char> bytes) {
    auto *out = reinterpret_cast<float *>(bytes.data());
    for (int64_t i = 0; i < rows * columns; ++i)
      out[i] = i % 1013;
  });
  Value row = makeConstant(builder, loc, typeOf({columns}), [&](MutableArrayRef<char> bytes) {
    auto *out = reinterpret_cast<float *>(bytes.data());
    for (int64_t i = 0; i < columns; ++i)
      out[i] = i % 17;
  });
  Value repeated = BroadcastOp::create(builder, loc, type, row, ArrayRef<int64_t>{1});
  auto product = BinaryOp::create(builder, loc, type, BinaryKind::Mul, big, repeated);
  std::vector<float> elements(rows * columns);
  std::optional<ConstantView> view = viewConstant(evaluateElementwise(builder, product));
  ASSERT_TRUE(view);
  copyConstant(*view, reinterpret_cast<char *>(elements.data()));
  for (int64_t i = 0; i < rows * columns; ++i)
    ASSERT_EQ(elements[i], float(i % 1013) * float(i % columns % 17)) << i;
}
