//===- Assemble.cpp - from PTX to machine code ----------------------------===//

#include "codegen/ptx/PtxTarget.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace lumen;

LogicalResult ptxcode::assemble(dispatch::KernelOp kernel, StringRef assembler, StringRef level,
                                SmallVectorImpl<char> &code) {
  SmallString<64> source, result, log;
  int file;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("lumen", "ptx", file, source))
    return kernel.emitError("no temporary file: ") << error.message();
  llvm::FileRemover removeSource(source);
  // The text ends with a zero.
  llvm::raw_fd_ostream(file, /*shouldClose=*/true) << StringRef(code.data(), code.size() - 1);
  for (auto [path, suffix] : {std::pair(&result, "cubin"), {&log, "txt"}})
    if (std::error_code error = llvm::sys::fs::createTemporaryFile("lumen", suffix, *path))
      return kernel.emitError("no temporary file: ") << error.message();
  llvm::FileRemover removeResult(result), removeLog(log);

  std::string architecture = ("-arch=" + level).str(), failed;
  StringRef arguments[] = {assembler, architecture, source, "-o", result};
  std::optional<StringRef> redirects[] = {"", StringRef(log), StringRef(log)};
  int status = llvm::sys::ExecuteAndWait(assembler, arguments, /*Env=*/std::nullopt, redirects,
                                         /*SecondsToWait=*/0, /*MemoryLimit=*/0, &failed);
  auto contents = [](StringRef path) {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : std::string();
  };
  std::string machine = contents(result);
  if (status != 0 || machine.empty()) {
    if (failed.empty())
      failed = StringRef(contents(log)).trim().split('\n').first.str();
    return kernel.emitError() << assembler << " makes no code for " << level << ", status "
                              << status << (failed.empty() ? "" : ": ") << failed;
  }
  code.assign(machine.begin(), machine.end());
  return success();
}
