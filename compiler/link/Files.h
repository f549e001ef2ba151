//===- Files.h - outputs that appear whole or not at all ---------*- C++ -*-===//
#ifndef LUMEN_COMPILER_LINK_FILES_H
#define LUMEN_COMPILER_LINK_FILES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace lumen::link {

/// "cannot write 'model.so': No space left on device". Success if `error` is.
llvm::Error cannotWrite(llvm::StringRef path, llvm::Error error);

/// A hidden file in the folder of an output: an input of the linker, or the
/// output before it is complete. Removed on every way out, signals included,
/// unless it is kept.
class PendingFile {
public:
  /// `target` is the path of the output.
  static llvm::Expected<PendingFile> create(llvm::StringRef target);
  PendingFile(PendingFile &&) = default;
  ~PendingFile();

  llvm::StringRef path() const { return file.TmpName; }
  llvm::StringRef target() const { return targetPath; }

  /// Replaces the contents.
  llvm::Error write(llvm::function_ref<void(llvm::raw_fd_ostream &)> fill);

  /// Changes parts of what was written.
  llvm::Error patch(llvm::function_ref<void(llvm::raw_fd_ostream &)> change);

  /// Gives the file its name, over a file that has it.
  llvm::Error keep();

private:
  PendingFile(llvm::sys::fs::TempFile file, llvm::StringRef target)
      : file(std::move(file)), targetPath(target.str()) {}

  llvm::Error open(llvm::sys::fs::CreationDisposition disposition,
                   llvm::function_ref<void(llvm::raw_fd_ostream &)> use);

  llvm::sys::fs::TempFile file;
  std::string targetPath;
  bool kept = false;
};

} // namespace lumen::link

#endif // LUMEN_COMPILER_LINK_FILES_H
