//===- Dumps.cpp - a module and its constants on disk ---------------------===//

#include "compiler/Dumps.h"

#include "compiler/link/Files.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace lumen;

/// Dumps appear at once: they show how far a failed compilation came.
static llvm::Error writeNow(StringRef path, const link::OutputFiles &others,
                            llvm::function_ref<void(raw_ostream &)> write) {
  if (llvm::Error error = others.check(path))
    return error;
  auto file = link::PendingFile::create(path);
  if (!file)
    return file.takeError();
  if (llvm::Error error = file->write([&](llvm::raw_fd_ostream &os) { write(os); }))
    return error;
  return file->keep();
}

static void printBlobs(const BlobTable &blobs, raw_ostream &os) {
  auto number = [&](uint64_t value) {
    char bytes[8];
    llvm::support::endian::write64le(bytes, value);
    os.write(bytes, sizeof bytes);
  };
  number(blobs.size());
  for (uint64_t id = 0; id < blobs.size(); ++id)
    number(blobs.entry(id).size());
  for (uint64_t id = 0; id < blobs.size(); ++id)
    os.write(blobs.entry(id).data(), blobs.entry(id).size());
}

llvm::Error lumen::dumpStage(ModuleOp module, StringRef folder, unsigned number, StringRef name,
                             const link::OutputFiles &others) {
  if (std::error_code code = llvm::sys::fs::create_directories(folder))
    return llvm::createStringError(code, "cannot create " + folder + ": " + code.message());
  llvm::SmallString<128> path(folder);
  std::string file;
  llvm::raw_string_ostream(file) << llvm::format("%02u-", number) << name << ".mlir";
  llvm::sys::path::append(path, file);
  llvm::Error error = writeNow(path, others, [&](raw_ostream &os) {
    module->print(os, OpPrintingFlags().enableDebugInfo(true));
    os << '\n';
  });
  if (error)
    return error;
  const BlobTable &blobs = module.getContext()->getLoadedDialect<LumenDialect>()->getBlobs();
  if (blobs.size() == 0)
    return llvm::Error::success();
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, "blobs.bin");
  return writeNow(path, others, [&](raw_ostream &os) { printBlobs(blobs, os); });
}

llvm::Error lumen::readBlobs(BlobTable &blobs, StringRef path) {
  auto damaged = [&] {
    return llvm::createStringError(path + ": not a file of constants, or cut short");
  };
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return llvm::createStringError(file.getError(),
                                   "cannot read " + path + ": " + file.getError().message());
  StringRef data = (*file)->getBuffer();
  auto take = [&](uint64_t size) {
    StringRef part = data.take_front(size);
    data = data.drop_front(part.size());
    return part;
  };
  if (data.size() < 8)
    return damaged();
  uint64_t count = llvm::support::endian::read64le(take(8).data());
  if (count > data.size() / 8)
    return damaged();
  StringRef sizes = take(count * 8);
  for (uint64_t id = 0; id < count; ++id) {
    uint64_t size = llvm::support::endian::read64le(sizes.data() + 8 * id);
    if (size > data.size())
      return damaged();
    blobs.add(llvm::MemoryBuffer::getMemBufferCopy(take(size), "blob"));
  }
  return llvm::Error::success();
}
