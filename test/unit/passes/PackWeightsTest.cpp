// Every element of a weight lies where the panels have it, the rest is zero.

#include "passes/graph/Constants.h"
#include "passes/graph/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace lumen;

namespace {

class PackWeightsTest : public testing::Test {
protected:
  PackWeightsTest() : builder(&context) {
    context.loadDialect<LumenDialect, func::FuncDialect>();
    module = ModuleOp::create(builder.getUnknownLoc());
  }
  RankedTensorType typeOf(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getF32Type());
  }
  /// A function with one argument; the body is built behind it.
  Value startFunction(ArrayRef<int64_t> argument) {
    builder.setInsertionPointToEnd(module->getBody());
    auto func =
        func::FuncOp::create(builder, loc, "main", builder.getFunctionType({typeOf(argument)}, {}));
    Block *block = func.addEntryBlock();
    builder.setInsertionPointToStart(block);
    return block->getArgument(0);
  }
  Value counting(ArrayRef<int64_t> shape) {
    return makeConstant(builder, loc, typeOf(shape), [](MutableArrayRef<char> bytes) {
      auto *out = reinterpret_cast<float *>(bytes.data());
      for (size_t i = 0; i < bytes.size() / sizeof(float); ++i)
        out[i] = i + 1;
    });
  }
  /// Runs the pass and returns the weight's elements afterwards.
  std::vector<float> pack(Operation *op, ArrayRef<int64_t> expectedShape) {
    // Nothing uses the result: a call keeps it alive.
    auto func = op->getParentOfType<func::FuncOp>();
    func.setFunctionType(builder.getFunctionType(func.getArgumentTypes(), op->getResultTypes()));
    func::ReturnOp::create(builder, loc, op->getResults());
    PassManager pm(&context);
    pm.addPass(createPackWeights());
    EXPECT_TRUE(succeeded(pm.run(*module)));
    std::optional<ConstantView> view = viewConstant(op->getOperand(1));
    EXPECT_TRUE(op->hasAttr("packed") || op->getInherentAttr("packed"));
    EXPECT_EQ(view->type.getShape(), expectedShape);
    std::vector<float> elements(view->type.getNumElements());
    copyConstant(*view, reinterpret_cast<char *>(elements.data()));
    return elements;
  }

  MLIRContext context;
  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
  Location loc = UnknownLoc::get(&context);
};

struct Matrix {
  int64_t k, n;
  bool transposed;
};
class PackContract : public PackWeightsTest, public testing::WithParamInterface<Matrix> {};

} // namespace

TEST_P(PackContract, PutsColumnsIntoPanels) {
  auto [k, n, transposed] = GetParam();
  Value x = startFunction({3, k});
  Value w = counting(transposed ? ArrayRef<int64_t>{n, k} : ArrayRef<int64_t>{k, n});
  auto op = ContractOp::create(builder, loc, typeOf({3, n}), x, w, false, transposed, false);
  int64_t panels = llvm::divideCeil(n, 64);
  std::vector<float> packed = pack(op, {panels, k, 64});
  EXPECT_FALSE(op.getTransposeRhs());
  for (int64_t panel = 0; panel < panels; ++panel)
    for (int64_t row = 0; row < k; ++row)
      for (int64_t lane = 0; lane < 64; ++lane) {
        int64_t column = panel * 64 + lane;
        float expected = column >= n ? 0 : 1 + (transposed ? column * k + row : row * n + column);
        ASSERT_EQ(packed[(panel * k + row) * 64 + lane], expected) << row << " " << column;
      }
}

INSTANTIATE_TEST_SUITE_P(Sizes, PackContract,
                         testing::Values(Matrix{1, 1, false}, Matrix{3, 64, false},
                                         Matrix{65, 65, true}, Matrix{129, 200, true},
                                         Matrix{512, 1000, false}, Matrix{700, 300, true}));

TEST_F(PackWeightsTest, PacksGroupsOfAFilterInTheModelsOrder) {
  // [O, C/groups, taps] as ONNX has it, seen through a transpose.
  int64_t groups = 3, channels = 5, outputs = 70, taps = 3;
  Value x = startFunction({1, 9, groups * channels});
  Value w = counting({groups * outputs, channels, taps});
  w = TransposeOp::create(builder, loc, typeOf({taps, channels, groups * outputs}), w,
                          ArrayRef<int64_t>{2, 1, 0});
  auto op = ConvOp::create(builder, loc, typeOf({1, 7, groups * outputs}), x, w,
                           ArrayRef<int64_t>{taps}, ArrayRef<int64_t>{1}, ArrayRef<int64_t>{1},
                           ArrayRef<int64_t>{0}, ArrayRef<int64_t>{0}, groups, false);
  std::vector<float> packed = pack(op, {groups, 2, taps * channels, 64});
  size_t place = 0;
  for (int64_t group = 0; group < groups; ++group)
    for (int64_t panel = 0; panel < 2; ++panel)
      for (int64_t tap = 0; tap < taps; ++tap)
        for (int64_t channel = 0; channel < channels; ++channel)
          for (int64_t lane = 0; lane < 64; ++lane, ++place) {
            int64_t column = panel * 64 + lane;
            int64_t source = ((group * outputs + column) * channels + channel) * taps + tap;
            ASSERT_EQ(packed[place], column < outputs ? source + 1 : 0) << place;
          }
}

TEST_F(PackWeightsTest, ReleasesWhatIsNoLongerRead) {
  Value x = startFunction({3, 128});
  Value w = counting({128, 128});
  auto op = ContractOp::create(builder, loc, typeOf({3, 128}), x, w, false, true, false);
  uint64_t before = cast<lumen::BlobAttr>(w.getDefiningOp<ConstantOp>().getValue()).getId();
  pack(op, {2, 128, 64});
  BlobTable &blobs = context.getLoadedDialect<LumenDialect>()->getBlobs();
  EXPECT_TRUE(blobs.entry(before).empty());
  EXPECT_FALSE(blobs.entry(before + 1).empty());
}
