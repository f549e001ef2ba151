//===- Files.h - outputs that appear whole or not at all ---------*- C++ -*-===//
#ifndef LUMEN_COMPILER_LINK_FILES_H
#define LUMEN_COMPILER_LINK_FILES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
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
  /// `target` is the path of the output. A link there stays, and the file it
  /// leads to is the output; what is no regular file is refused.
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
  PendingFile(llvm::sys::fs::TempFile file, llvm::StringRef target, std::string destination)
      : file(std::move(file)), targetPath(target.str()), destination(std::move(destination)) {}

  llvm::Error open(llvm::sys::fs::CreationDisposition disposition,
                   llvm::function_ref<void(llvm::raw_fd_ostream &)> use);

  llvm::sys::fs::TempFile file;
  std::string targetPath;  ///< as the user named it
  std::string destination; ///< behind all links
  bool kept = false;
};

/// All files that one compilation writes. They appear together at the end, and
/// none replaces a file that is read or another output. Not thread-safe.
class OutputFiles {
public:
  /// Names a file that no output may replace; `what` says what it is, such as
  /// "the model". Fails where an output was claimed there.
  llvm::Error protect(llvm::StringRef path, llvm::StringRef what);

  /// Reserves the path of an output that will be added: what cannot be written
  /// is refused before any work is done for it.
  llvm::Error claim(llvm::StringRef path);

  /// What `claim` checks, for a file that appears on its own.
  llvm::Error check(llvm::StringRef path) const;

  /// `claim` for a text, which may also go to standard output ("-"), to a
  /// character device such as /dev/stdout, or into a FIFO.
  llvm::Error claimText(llvm::StringRef path);

  /// Adds a complete file.
  void add(PendingFile file) { files.push_back(std::move(file)); }
  llvm::Error addText(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write);

  /// Gives all files their names, in the order they were added.
  llvm::Error keep();

private:
  /// A place in the file system, under whatever name.
  struct Place {
    std::string path; ///< without links
    std::optional<llvm::sys::fs::UniqueID> id;
    std::string what;
    bool isSame(const Place &other) const { return path == other.path || (id && id == other.id); }
  };
  struct StreamText {
    std::string path, text;
  };
  static Place placeOf(llvm::StringRef path, llvm::StringRef what);

  std::vector<Place> inputs, outputs;
  std::vector<PendingFile> files;
  std::vector<StreamText> streamTexts;
};

} // namespace lumen::link

#endif // LUMEN_COMPILER_LINK_FILES_H
