//===- Models.cpp - tiny models for the tests of linking ------------------===//

#include "test/unit/link/Models.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Triple.h"

#include <algorithm>
#include <cstring>

using namespace llvm;

namespace lumen::link::test {

Folder::Folder() {
  if (std::error_code ec = sys::fs::createUniqueDirectory("lumen-link", path))
    report_fatal_error(Twine("cannot make a folder: ") + ec.message());
}

Folder::~Folder() { sys::fs::remove_directories(path); }

std::string Folder::file(const Twine &name) const {
  SmallString<128> result = path;
  sys::path::append(result, name);
  return result.str().str();
}

std::vector<std::string> Folder::files() const {
  std::vector<std::string> names;
  std::error_code ec;
  for (sys::fs::directory_iterator it(path, ec), end; !ec && it != end; it.increment(ec))
    names.push_back(sys::path::filename(it->path()).str());
  llvm::sort(names);
  return names;
}

SmallVector<char, 0> compile(StringRef ir) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  LLVMContext context;
  SMDiagnostic diagnostic;
  std::unique_ptr<Module> module = parseAssemblyString(ir, diagnostic, context);
  if (!module)
    report_fatal_error(diagnostic.getMessage());
  Triple triple("x86_64-unknown-linux-gnu");
  std::string error;
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  std::unique_ptr<TargetMachine> machine(
      target->createTargetMachine(triple, "x86-64", "", TargetOptions(), Reloc::PIC_));
  module->setTargetTriple(triple);
  module->setDataLayout(machine->createDataLayout());
  SmallVector<char, 0> object;
  raw_svector_ostream stream(object);
  legacy::PassManager passes;
  machine->addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::ObjectFile);
  passes.run(*module);
  return object;
}

// tanhf and memcpy make the artifact need libm and libc.
static constexpr StringLiteral kScale = R"(
declare float @tanhf(float)
declare ptr @memcpy(ptr, ptr, i64)

define hidden i64 @grid(ptr %sizes) { ret i64 4 }

define hidden i32 @scale_v2(ptr %args, ptr %sizes, i64 %begin, i64 %end, i32 %worker, ptr %scratch) {
entry:
  %factor.at = load ptr, ptr %args
  %x.slot = getelementptr ptr, ptr %args, i64 1
  %x.at = load ptr, ptr %x.slot
  %y.slot = getelementptr ptr, ptr %args, i64 2
  %y.at = load ptr, ptr %y.slot
  %factor = load float, ptr %factor.at
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %x.ptr = getelementptr float, ptr %x.at, i64 %i
  %y.ptr = getelementptr float, ptr %y.at, i64 %i
  %x = load float, ptr %x.ptr
  %y = fmul float %x, %factor
  store float %y, ptr %y.ptr
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret i32 0
}

define hidden i32 @scale_v3(ptr %args, ptr %sizes, i64 %begin, i64 %end, i32 %worker, ptr %scratch) {
  %result = call i32 @scale_v2(ptr %args, ptr %sizes, i64 %begin, i64 %end, i32 %worker, ptr %scratch)
  ret i32 %result
}

define hidden i32 @start(ptr %args, ptr %sizes, i64 %begin, i64 %end, i32 %worker, ptr %scratch) {
  %to = load ptr, ptr %args
  %f = call float @tanhf(float 0.5)
  %unused = call ptr @memcpy(ptr %to, ptr %scratch, i64 64)
  store float %f, ptr %to
  ret i32 0
}
)";

ScaleModel::ScaleModel(StringRef name, float factor) : object(compile(kScale)) {
  constants.resize(300);
  memcpy(constants.data(), &factor, sizeof(factor));
  for (size_t i = 64; i != constants.size(); ++i)
    constants[i] = static_cast<char>(i * 7);
  ArrayRef<char> bytes = constants;
  weights.size = 448;
  weights.pieces = {{0, bytes.take_front(4)}, {64, bytes.slice(64, 100)}, {192, bytes.slice(192)}};

  tables.name = name.str();
  tables.producer = "lumenc test";
  tables.sourceHash = "0123456789abcdef";
  tables.inputs = {
      {"x", LUMEN_ABI_TENSOR, LUMEN_ABI_F32, false, std::vector<Dim>{{1, 1, ""}, {4, 4, ""}}}};
  tables.outputs = {
      {"y", LUMEN_ABI_TENSOR, LUMEN_ABI_F32, false, std::vector<Dim>{{1, 1, ""}, {4, 4, ""}}}};
  tables.levels = {{"x86-64-v3", LUMEN_ABI_CPU, LUMEN_ABI_X86_V2 | LUMEN_ABI_X86_V3},
                   {"x86-64-v2", LUMEN_ABI_CPU, LUMEN_ABI_X86_V2}};
  Kernel scale{"scale_0", 3, {}};
  Variant v3, v2;
  v3.level = 0;
  v3.symbol = "scale_v3";
  v3.grid = 4;
  v3.grain = 2;
  v3.scratchSize = 128;
  v2.level = 1;
  v2.symbol = "scale_v2";
  v2.gridFunction = "grid";
  v2.grid = 4;
  v2.grain = 1;
  scale.variants = {v3, v2};
  Kernel start{"start_1", 1, {}};
  v2.symbol = "start";
  v2.gridFunction.clear();
  v2.grid = 1;
  v2.scratchSize = 64;
  start.variants = {v2};
  tables.kernels = {scale, start};
  tables.storages = {{LUMEN_ABI_WEIGHTS, 0, 0, 300, LUMEN_ABI_NONE, 0, 0, 0},
                     {LUMEN_ABI_INPUT, 0, 0, 16, LUMEN_ABI_NONE, 0, 0, 0},
                     {LUMEN_ABI_OUTPUT, 0, 0, 16, LUMEN_ABI_NONE, 0, 0, 0},
                     {LUMEN_ABI_INIT, 0, 0, 64, LUMEN_ABI_NONE, 0, 0, 0}};
  tables.buffers = {{0, LUMEN_ABI_NONE, 0, 4, LUMEN_ABI_NONE, 0},
                    {1, LUMEN_ABI_NONE, 0, 16, LUMEN_ABI_NONE, 0},
                    {2, LUMEN_ABI_NONE, 0, 16, LUMEN_ABI_NONE, 1},
                    {3, LUMEN_ABI_NONE, 0, 64, LUMEN_ABI_NONE, 0}};
  tables.flags = LUMEN_ABI_ROUTE;
  tables.argBuffers = {0, 1, 2, 3};
  Launch launch;
  launch.kernel = 0;
  launch.numOutputs = 1;
  launch.nodes = "Mul 'scale'";
  launch.flops = 4;
  launch.bytes = 36;
  tables.launches = {launch};
  Launch init;
  init.kernel = 1;
  init.affinity = LUMEN_ABI_HOST;
  init.firstArg = 3;
  init.numOutputs = 1;
  init.nodes = "start";
  tables.inits = {init};
  tables.initSize = 64;
  tables.arenaSize = 0;
  tables.arenaLowerBound = 11;
  tables.bytesWithoutSharing = 12;
}

void ScaleModel::dropWeights() {
  weights = {};
  tables.storages[0].region = LUMEN_ABI_HEAP;
}

void ScaleModel::addSteps() {
  tables.inputs.push_back({"n", LUMEN_ABI_TENSOR, LUMEN_ABI_I64, false,
                           std::vector<Dim>{{-1, 50, "batch", 0, LUMEN_ABI_NONE}}});
  tables.outputs.push_back(
      {"found", LUMEN_ABI_TENSOR, LUMEN_ABI_I64, false, std::vector<Dim>{{-1, 60, "found", 3, 1}}});
  tables.symbols = {"batch", ""};
  tables.numEntrySymbols = 1;
  tables.exprs = {{LUMEN_ABI_EXPR_SYMBOL, 0, 0, 0, 0},
                  {LUMEN_ABI_EXPR_CONSTANT, 0, 0, 0, 8},
                  {LUMEN_ABI_EXPR_MUL, 0, 1, 0, 0},
                  {LUMEN_ABI_EXPR_SYMBOL, 1, 0, 0, 0}};
  tables.numEntryExprs = 3;
  tables.checks = {{LUMEN_ABI_CHECK_LESS_EQUAL, 0, 1, "Reshape 'r'", "extents"},
                   {LUMEN_ABI_CHECK_EQUAL, 3, 1, "Loop 'l'", "trips"}};
  tables.numEntryChecks = 1;
  tables.sizeExprs = {2, 3};
  tables.launches[0].flopsExpr = 2;
  tables.launches[0].bytesExpr = 3;
  tables.storages.push_back({LUMEN_ABI_ARENA, 0, 0, 0, 2, 1, 2, 0});
  tables.storages.push_back({LUMEN_ABI_HEAP, 0, 0, 0, 3, 0, 4, 0});
  tables.buffers.push_back({5, 2, 0, 0, 3, 0});
  tables.calls = {{"start",
                   "StringConcat 'c'",
                   {'a', 'b'},
                   {{4, LUMEN_ABI_CALL_TENSOR, LUMEN_ABI_I64, 1}},
                   {{2, LUMEN_ABI_CALL_VALUE, LUMEN_ABI_STRING, 2}},
                   1,
                   1}};
  tables.steps = {{LUMEN_ABI_STEP_LAUNCH, 0, 0, 0}, {LUMEN_ABI_STEP_BIND, 1, 4, LUMEN_ABI_I64},
                  {LUMEN_ABI_STEP_EVAL, 3, 1, 0},   {LUMEN_ABI_STEP_CALL, 0, 0, 0},
                  {LUMEN_ABI_STEP_BRANCH, 3, 6, 0}, {LUMEN_ABI_STEP_JUMP, 0, 0, 0}};
}

Error ScaleModel::link(const LinkOptions &options) const {
  MemoryBufferRef objects[] = {{StringRef(object.data(), object.size()), "kernels.o"}};
  return linkModel(tables, objects, weights, options);
}

std::string readFile(const std::string &path) {
  auto buffer = MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

} // namespace lumen::link::test
