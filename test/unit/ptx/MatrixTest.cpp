//===- MatrixTest.cpp - mma.sync and ldmatrix of the machine --------------===//
//
// The places of elements are written down here as the manual's figures show them, lane by
// lane, independently of the machine's formulas.
//
//===----------------------------------------------------------------------===//

#include "PtxKernel.h"

#include "gmock/gmock.h"

using namespace lumen::ptx;

namespace {

/// Words of fragments A, B and C go in through x, D comes out in y: 4, 2, 4 and 4 a lane.
std::string product(const std::string &shape, const std::string &types, int numA, int numB,
                    int numC) {
  auto list = [](const char *name, int first, int count) {
    std::string text = "{";
    for (int i = 0; i < count; ++i)
      text += (i ? ", %" : "%") + std::string(name) + std::to_string(first + i);
    return text + "}";
  };
  auto load = [&](int first, int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += "ld.global.b32 %r" + std::to_string(first + i) + ", [%d1+" +
              std::to_string(4 * (first + i)) + "];\n";
    return text;
  };
  std::string text = "mul.wide.u32 %d0, %t, 40;\nadd.s64 %d1, %x, %d0;\n"
                     "mul.wide.u32 %d2, %t, 16;\nadd.s64 %d3, %y, %d2;\n" +
                     load(0, numA) + load(4, numB) + load(6, numC);
  text += "mma.sync.aligned." + shape + ".row.col." + types + " " + list("r", 10, numC) + ", " +
          list("r", 0, numA) + ", " + list("r", 4, numB) + ", " + list("r", 6, numC) + ";\n";
  for (int i = 0; i < numC; ++i)
    text +=
        "st.global.b32 [%d3+" + std::to_string(4 * i) + "], %r" + std::to_string(10 + i) + ";\n";
  return text;
}

struct Case {
  std::string shape, types;
  int rows, depth, bits; ///< of an element of A and B
  bool isInteger = false;
};

uint32_t encode(const Case &test, int value) {
  if (test.isInteger)
    return static_cast<uint8_t>(value);
  if (test.types.find("tf32") != std::string::npos)
    return bitsAs<uint32_t>(float(value));
  if (test.types.find("bf16") != std::string::npos)
    return bitsAs<uint32_t>(float(value)) >> 16;
  return std::vector<uint32_t>{0xC200, 0xC000, 0xBC00, 0, 0x3C00, 0x4000, 0x4200}[value + 3];
}

/// Integers from -3 to 3: all sums are exact.
void checkProduct(const Case &test) {
  std::mt19937 random(1);
  std::vector<std::vector<int>> a(16, std::vector<int>(32)), b(32, std::vector<int>(8)),
      c(16, std::vector<int>(8));
  for (auto *matrix : {&a, &b, &c})
    for (std::vector<int> &row : *matrix)
      for (int &value : row)
        value = int(random() % 7) - 3;
  int packed = 32 / test.bits;
  RunKernel run;
  run.x.assign(32 * 10, 0);
  run.y.assign(32 * 4, 0);
  // In each figure, rows of A are lanes of four; a lane's first register begins at column
  // packed * (lane % 4), the others are 8 rows below, or 4 * packed columns on.
  struct {
    int row, column;
  } corners[] = {{0, 0}, {8, 0}, {0, 4 * packed}, {8, 4 * packed}};
  int numA = test.rows * test.depth * test.bits / 32 / 32,
      numB = test.depth * 8 * test.bits / 32 / 32;
  for (int lane = 0; lane < 32; ++lane) {
    uint32_t *words = &run.x[lane * 10];
    for (int reg = 0; reg < numA; ++reg)
      for (int i = 0; i < packed; ++i)
        words[reg] |=
            encode(test,
                   a[lane / 4 + corners[reg].row][corners[reg].column + packed * (lane % 4) + i])
            << (test.bits * i);
    for (int reg = 0; reg < numB; ++reg)
      for (int i = 0; i < packed; ++i)
        words[4 + reg] |= encode(test, b[4 * packed * reg + packed * (lane % 4) + i][lane / 4])
                          << (test.bits * i);
    for (int i = 0; i < 4; ++i) {
      int value = c[lane / 4 + (i >= 2 ? 8 : 0)][2 * (lane % 4) + i % 2];
      words[6 + i] = test.isInteger ? uint32_t(value) : bitsAs<uint32_t>(float(value));
    }
  }
  int numC = test.rows == 8 ? 2 : 4;
  ASSERT_EQ(run(product(test.shape, test.types, numA, numB, numC)), "");
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < numC; ++i) {
      int row = lane / 4 + (i >= 2 ? 8 : 0), column = 2 * (lane % 4) + i % 2;
      int sum = c[row][column];
      for (int k = 0; k < test.depth; ++k)
        sum += a[row][k] * b[k][column];
      uint32_t got = run.y[lane * 4 + i];
      EXPECT_EQ(test.isInteger ? int(got) : int(bitsAs<float>(got)), sum)
          << test.shape << " " << test.types << ", lane " << lane << ", element " << i;
    }
}

TEST(PtxMatrix, Products) {
  checkProduct({"m16n8k16", "f32.f16.f16.f32", 16, 16, 16});
  checkProduct({"m16n8k8", "f32.f16.f16.f32", 16, 8, 16});
  checkProduct({"m16n8k16", "f32.bf16.bf16.f32", 16, 16, 16});
  checkProduct({"m16n8k8", "f32.tf32.tf32.f32", 16, 8, 32});
  checkProduct({"m16n8k4", "f32.tf32.tf32.f32", 16, 4, 32});
  checkProduct({"m16n8k32", "s32.s8.s8.s32", 16, 32, 8, true});
  checkProduct({"m16n8k16", "s32.s8.s8.s32", 16, 16, 8, true});
  checkProduct({"m8n8k16", "s32.s8.s8.s32", 8, 16, 8, true});
}

TEST(PtxMatrix, NeedsAllLanes) {
  RunKernel run;
  run.x.resize(400);
  run.y.resize(400);
  const std::string body = product("m16n8k8", "f32.f16.f16.f32", 2, 1, 4);
  EXPECT_EQ(run(body), "");
  run.threads = 20;
  EXPECT_THAT(run(body), testing::HasSubstr("needs all lanes of the warp"));
}

// Lane i gets two elements of row i / 4; transposed, of column i / 4.
TEST(PtxMatrix, LoadsFragments) {
  for (bool isTransposed : {false, true}) {
    RunKernel run;
    run.y.assign(32 * 4, 0);
    // Each lane writes a row of a matrix: eight numbers, 8 * lane and on.
    std::string body = "mov.b64 %d0, s;\nmul.wide.u32 %d1, %t, 16;\nadd.s64 %d2, %d0, %d1;\n"
                       "shl.b32 %r0, %t, 3;\n";
    for (int i = 0; i < 8; ++i)
      body += "add.s32 %r1, %r0, " + std::to_string(i) +
              ";\ncvt.u16.u32 %h0, %r1;\n"
              "st.shared.b16 [%d2+" +
              std::to_string(2 * i) + "], %h0;\n";
    body += std::string("bar.sync 0;\nldmatrix.sync.aligned.m8n8.x4") +
            (isTransposed ? ".trans" : "") +
            ".shared.b16 {%r4, %r5, %r6, %r7}, [%d2];\n"
            "add.s64 %d3, %y, %d1;\nst.global.v4.b32 [%d3], {%r4, %r5, %r6, %r7};\n";
    ASSERT_EQ(run(body, ".shared .align 16 .b8 s[512];\n"), "");
    for (uint32_t lane = 0; lane < 32; ++lane)
      for (uint32_t matrix = 0; matrix < 4; ++matrix) {
        uint32_t i = lane / 4, k = 2 * (lane % 4),
                 first = 64 * matrix + (isTransposed ? 8 * k + i : 8 * i + k);
        uint32_t second = first + (isTransposed ? 8 : 1);
        EXPECT_EQ(run.y[4 * lane + matrix], first | second << 16) << lane;
      }
  }
}

} // namespace
