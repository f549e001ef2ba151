//===- Files.cpp - outputs that appear whole or not at all ----------------===//

#include "compiler/link/Files.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"

#include <filesystem>
#include <system_error>

using namespace llvm;

namespace lumen::link {

Error cannotWrite(StringRef path, Error error) {
  if (!error)
    return Error::success();
  return createStringError("cannot write '" + path + "': " + toString(std::move(error)));
}

static Error fail(std::errc code) { return errorCodeToError(std::make_error_code(code)); }

/// The file that a chain of links ends at, whether it exists or not.
static Expected<std::string> followLinks(StringRef path) {
  constexpr int kMaxLinks = 40; // as in Linux
  std::filesystem::path current(path.str());
  std::error_code ec;
  for (int links = 0; std::filesystem::is_symlink(current, ec); ++links) {
    if (links == kMaxLinks)
      return fail(std::errc::too_many_symbolic_link_levels);
    std::filesystem::path target = std::filesystem::read_symlink(current, ec);
    if (ec)
      return errorCodeToError(ec);
    current = current.parent_path() / target; // an absolute target stands alone
  }
  return current.string();
}

static StringRef folderOf(StringRef path) {
  StringRef folder = sys::path::parent_path(path);
  return folder.empty() ? "." : folder;
}

/// What takes texts as they come and cannot be replaced by a file.
static bool isStream(StringRef path) {
  sys::fs::file_status status;
  return path == "-" ||
         (!sys::fs::status(path, status) && (status.type() == sys::fs::file_type::character_file ||
                                             status.type() == sys::fs::file_type::fifo_file));
}

/// Fails where `path` is something that a file must not replace.
static Error checkReplaceable(StringRef path) {
  sys::fs::file_status status;
  if (sys::fs::status(path, status))
    return Error::success(); // nothing there, or its folder's fault
  auto is = [](const char *what) {
    return createStringError(Twine("is ") + what + ", expected a regular file");
  };
  switch (status.type()) {
  case sys::fs::file_type::directory_file:
    return fail(std::errc::is_a_directory);
  case sys::fs::file_type::character_file:
    return is("a character device");
  case sys::fs::file_type::block_file:
    return is("a block device");
  case sys::fs::file_type::fifo_file:
    return is("a FIFO");
  case sys::fs::file_type::socket_file:
    return is("a socket");
  default:
    return Error::success();
  }
}

Expected<PendingFile> PendingFile::create(StringRef target) {
  Expected<std::string> destination = followLinks(target);
  if (!destination)
    return cannotWrite(target, destination.takeError());
  if (Error error = checkReplaceable(*destination))
    return cannotWrite(target, std::move(error));
  SmallString<128> model = sys::path::parent_path(*destination);
  sys::path::append(model, "." + sys::path::filename(*destination) + ".%%%%%%%%");
  auto file = sys::fs::TempFile::create(model);
  if (!file)
    return cannotWrite(target, file.takeError());
  return PendingFile(std::move(*file), target, std::move(*destination));
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
  if (Error error = file.keep(destination))
    return cannotWrite(targetPath, std::move(error));
  kept = true;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// OutputFiles
//===----------------------------------------------------------------------===//

OutputFiles::Place OutputFiles::placeOf(StringRef path, StringRef what) {
  Place place;
  place.what = what.str();
  Expected<std::string> destination = followLinks(path);
  place.path = destination ? *destination : path.str();
  consumeError(destination.takeError()); // `claim` tells it
  SmallString<256> real;
  if (!sys::fs::real_path(folderOf(place.path), real)) {
    sys::path::append(real, sys::path::filename(place.path));
    place.path = real.str().str();
  }
  sys::fs::UniqueID id;
  if (!sys::fs::getUniqueID(place.path, id))
    place.id = id;
  return place;
}

static Error collision(StringRef path, StringRef what) {
  return cannotWrite(path, createStringError("it is " + what + ", expected another file"));
}

Error OutputFiles::protect(StringRef path, StringRef what) {
  inputs.push_back(placeOf(path, what));
  for (const Place &output : outputs)
    if (output.isSame(inputs.back()))
      return collision(output.what, what);
  return Error::success();
}

Error OutputFiles::check(StringRef path) const {
  Expected<std::string> destination = followLinks(path);
  if (!destination)
    return cannotWrite(path, destination.takeError());
  if (Error error = checkReplaceable(*destination))
    return cannotWrite(path, std::move(error));
  if (std::error_code ec = sys::fs::access(folderOf(*destination), sys::fs::AccessMode::Write))
    return cannotWrite(path, errorCodeToError(ec));
  Place place = placeOf(path, path);
  for (const Place &input : inputs)
    if (input.isSame(place))
      return collision(path, input.what);
  for (const Place &output : outputs)
    if (output.isSame(place))
      return collision(path, "another output of this compilation");
  return Error::success();
}

Error OutputFiles::claim(StringRef path) {
  if (Error error = check(path))
    return error;
  outputs.push_back(placeOf(path, path));
  return Error::success();
}

Error OutputFiles::claimText(StringRef path) {
  return isStream(path) ? Error::success() : claim(path);
}

Error OutputFiles::addText(StringRef path, function_ref<void(raw_ostream &)> write) {
  if (isStream(path)) {
    StreamText &stream = streamTexts.emplace_back();
    stream.path = path.str();
    raw_string_ostream os(stream.text);
    write(os);
    return Error::success();
  }
  Expected<PendingFile> file = PendingFile::create(path);
  if (!file)
    return file.takeError();
  if (Error error = file->write([&](raw_fd_ostream &os) { write(os); }))
    return error;
  add(std::move(*file));
  return Error::success();
}

Error OutputFiles::keep() {
  for (const StreamText &stream : streamTexts) {
    std::error_code ec;
    raw_fd_ostream os(stream.path, ec, sys::fs::CD_OpenExisting, sys::fs::FA_Write,
                      sys::fs::OF_None); // "-" is standard output
    if (!ec) {
      os << stream.text;
      os.flush();
      ec = os.error();
      os.clear_error();
    }
    if (ec)
      return cannotWrite(stream.path, errorCodeToError(ec));
  }
  for (PendingFile &file : files)
    if (Error error = file.keep())
      return error;
  return Error::success();
}

} // namespace lumen::link
