//===- ParserTest.cpp - what the machine reads and refuses ----------------===//

#include "PtxKernel.h"

#include "gmock/gmock.h"

using namespace lumen::ptx;
using testing::HasSubstr;

namespace {

std::string errorOf(const std::string &text) {
  std::string error;
  EXPECT_EQ(Program::parse(text, error) == nullptr, !error.empty());
  return error;
}

TEST(PtxParser, Kernels) {
  std::string error;
  auto program = Program::parse(
      "// a comment\n.version 7.5\n.target sm_75, debug\n.address_size 64\n/* another\n */\n"
      ".visible .entry f(\n\t.param .u32 f_0,\n\t.param .u64 .ptr .global .align 16 f_1\n)\n"
      ".maxntid 128, 1, 1\n.minnctapersm 2\n{\n.reg .b32 %r<2>;\n.loc 1 2 3\n"
      ".shared .align 4 .b8 s[40];\n.pragma \"nounroll\";\nret;\n}\n",
      error);
  ASSERT_NE(program, nullptr) << error;
  EXPECT_EQ(program->version, "7.5");
  EXPECT_EQ(program->target, "sm_75");
  EXPECT_EQ(program->sharedSize, 40u);
  ASSERT_EQ(program->getEntries().size(), 1u);
  const Function &entry = *program->findEntry("f");
  ASSERT_EQ(entry.parameters.size(), 2u);
  EXPECT_EQ(entry.parameters[1].offset, 8u);
  EXPECT_EQ(entry.parameterSize, 16u);
  EXPECT_EQ(entry.maxThreads[0], 128u);
  EXPECT_EQ(program->findEntry("g"), nullptr);
}

TEST(PtxParser, Refusals) {
  auto refused = [](const std::string &body) { return errorOf(moduleOf(body)); };
  EXPECT_EQ(refused("wibble.f32 %r0, %r1;\n"), "line 17, 'wibble.f32': unknown instruction");
  EXPECT_THAT(refused("add.rn.b32 %r0, %r1, %r2;\n"), HasSubstr("'add.rn.b32': unknown"));
  EXPECT_THAT(refused("ld.global.v3.b32 %r0, [%x];\n"), HasSubstr("unknown instruction"));
  EXPECT_THAT(refused("cvt.f32.f64 %r0, %d0;\n"), HasSubstr("rounding"));
  EXPECT_THAT(refused("add.s32 %r0, %d1, %r2;\n"), HasSubstr("operand of 64 bits, expected 32"));
  EXPECT_THAT(refused("add.s32 %r0, %r1;\n"), HasSubstr("too few operands"));
  EXPECT_THAT(refused("add.s32 %r0, %r1, %r2, %r3;\n"), HasSubstr("too many operands"));
  EXPECT_THAT(refused("add.s32 %r0, %r1, %q;\n"), HasSubstr("'%q': unknown name"));
  EXPECT_THAT(refused("bra.uni NOWHERE;\n"), HasSubstr("there is no label 'NOWHERE'"));
  EXPECT_THAT(refused("add.s32 %r0, %r1, %r2\n"), HasSubstr("expected ','"));
  EXPECT_THAT(refused("{\n"), HasSubstr("expected '}'"));
  EXPECT_THAT(errorOf(""), HasSubstr("expected '.version'"));
  EXPECT_THAT(errorOf("\x7f"
                      "ELF"),
              HasSubstr("expected '.version'"));
}

TEST(PtxParser, Launches) {
  std::string error;
  auto program = Program::parse(moduleOf(""), error);
  uint64_t parameters[2] = {};
  Launch launch{
      program->findEntry("k"), {1, 1, 1}, {2048, 1, 1}, 0, reinterpret_cast<char *>(parameters)};
  EXPECT_THAT(run(*program, launch, Memory()), HasSubstr("2048 threads, at most 1024 fit"));
  launch.block[0] = 32;
  launch.grid[1] = 0;
  EXPECT_THAT(run(*program, launch, Memory()), HasSubstr("no threads"));
  launch.grid[1] = 1;
  launch.dynamicShared = 1 << 20;
  EXPECT_THAT(run(*program, launch, Memory()), HasSubstr("1048576 bytes of shared memory"));
}

} // namespace
