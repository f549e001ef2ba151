//===- Files.cpp - outputs that appear whole or not at all ----------------===//

#include "compiler/link/Files.h"

#include "llvm/Support/Errc.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace lumen::link {

Error cannotWrite(StringRef path, Error error) {
  if (!error)
    return Error::success();
  return createStringError("cannot write '" + path + "': " + toString(std::move(error)));
}

Expected<PendingFile> PendingFile::create(StringRef target) {
  if (sys::fs::is_directory(target))
    return cannotWrite(target, errorCodeToError(make_error_code(errc::is_a_directory)));
  SmallString<128> model = sys::path::parent_path(target);
  sys::path::append(model, "." + sys::path::filename(target) + ".%%%%%%%%");
  auto file = sys::fs::TempFile::create(model);
  if (!file)
    return cannotWrite(target, file.takeError());
  return PendingFile(std::move(*file), target);
}

PendingFile::~PendingFile() {
  // A moved-from file counts as done, and nothing can be said about one that
  // cannot be removed.
  if (!kept)
    consumeError(file.discard());
}

Error PendingFile::open(sys::fs::CreationDisposition disposition,
                        function_ref<void(raw_fd_ostream &)> use) {
  // Opened by name, since the linker replaces the file that it writes.
  std::error_code ec;
  raw_fd_ostream stream(file.TmpName, ec, disposition, sys::fs::FA_Write, sys::fs::OF_None);
  if (ec)
    return cannotWrite(targetPath, errorCodeToError(ec));
  use(stream);
  stream.close();
  ec = stream.error();
  stream.clear_error(); // or the destructor would end the process
  return cannotWrite(targetPath, errorCodeToError(ec));
}

Error PendingFile::write(function_ref<void(raw_fd_ostream &)> fill) {
  return open(sys::fs::CD_CreateAlways, fill);
}

Error PendingFile::patch(function_ref<void(raw_fd_ostream &)> change) {
  return open(sys::fs::CD_OpenExisting, change);
}

Error PendingFile::keep() {
  if (Error error = file.keep(targetPath))
    return cannotWrite(targetPath, std::move(error));
  kept = true;
  return Error::success();
}

} // namespace lumen::link
