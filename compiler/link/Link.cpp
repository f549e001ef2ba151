//===- Link.cpp - objects, tables and weights to one artifact -------------===//

#include "compiler/link/Link.h"

#include "compiler/link/Embedded.h"
#include "compiler/link/Files.h"
#include "compiler/link/Header.h"
#include "compiler/link/Linker.h"
#include "compiler/link/Tables.h"
#include "compiler/link/VerifyTables.h"
#include "compiler/link/WeightsObject.h"

#include "codegen/common/Lld.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA1.h"

#include <deque>

using namespace llvm;

namespace lumen::link {

Expected<std::string> sanitizeName(StringRef name) {
  std::string result;
  for (char c : name)
    result.push_back(isAlnum(c) ? c : '_');
  if (none_of(name, isAlnum))
    return createStringError("model name '" + name +
                             "' has no letter or digit, expected one such as 'my_model'");
  if (isDigit(result.front()))
    result.insert(0, "model_");
  // Functions and constants of the header would have names of lumen.h.
  if (StringRef(result + "_").starts_with_insensitive("lumen_"))
    result.insert(0, "model_");
  return result;
}

namespace {

/// One run of the linking stage.
class Link {
public:
  Link(const ModelTables &tables, ArrayRef<MemoryBufferRef> objects, const Weights &weights,
       const LinkOptions &options, OutputFiles &outputs)
      : tables(tables), objects(objects), weights(weights), options(options), outputs(outputs) {}

  Error run();

private:
  bool weightsInside() const { return weights.size && !options.weightsInFile; }
  std::string beside(const Twine &fileName) const;
  /// Fails where the weights do not fit onto the disk, before writing gigabytes.
  Error checkSpace() const;

  /// A file for the linker to read, beside the output.
  Expected<std::string> input(StringRef contents);
  Error prepareObjects(const WeightsPlace &place);
  Error linkShared(PendingFile &artifact);
  /// The runtime refers to its drivers weakly, which takes no member of an archive.
  void pullDrivers(std::vector<std::string> &arguments);
  Error linkRelocatable(PendingFile &artifact);
  Error linkArchive(PendingFile &artifact);
  Error linkArtifact(PendingFile &artifact);
  /// Adds the weights, where they are inside, to the ELF file that starts at
  /// `start` of the artifact.
  Error fillArtifact(PendingFile &artifact, uint64_t start = 0);
  Error addHeaders();
  Error addOutput(const std::string &path, function_ref<void(raw_fd_ostream &)> fill);

  const ModelTables &tables;
  ArrayRef<MemoryBufferRef> objects;
  const Weights &weights;
  const LinkOptions &options;
  OutputFiles &outputs;

  std::string objectsArchive, callsArchive, driversArchive, runtimeArchive,
      builtinsArchive; // paths
  std::string buildId;
  std::deque<PendingFile> inputs;
};

} // namespace

std::string Link::beside(const Twine &fileName) const {
  SmallString<128> path = sys::path::parent_path(options.output);
  sys::path::append(path, fileName);
  return path.str().str();
}

/// "4.4 TB"
static std::string sizeText(uint64_t bytes) {
  static constexpr const char *units[] = {"bytes", "KB", "MB", "GB", "TB", "PB", "EB"};
  double value = double(bytes);
  size_t unit = 0;
  for (; value >= 1000 && unit + 1 < std::size(units); ++unit)
    value /= 1000;
  return formatv(unit ? "{0:f1} {1}" : "{0:f0} {1}", value, units[unit]);
}

Error Link::checkSpace() const {
  uint64_t needed = 0;
  for (const Weights::Piece &piece : weights.pieces)
    needed += piece.size();
  std::string folder = beside("");
  if (folder.empty())
    folder = ".";
  ErrorOr<sys::fs::space_info> space = sys::fs::disk_space(folder);
  if (!space || needed <= space->available)
    return Error::success(); // where the system does not tell, writing will
  return cannotWrite(options.output,
                     createStringError("weights need " + sizeText(needed) +
                                       ", the file system of '" + folder + "' has " +
                                       sizeText(space->available) + " free"));
}

/// Tells files of weights apart: by the source, by what lies where, and by how
/// each constant begins, since flags may change constants in place. Hashing all
/// of them would cost more than writing them.
static std::string weightsId(const ModelTables &tables, const Weights &weights) {
  constexpr size_t kBeginning = 4096;
  BLAKE3 hash;
  hash.update(tables.sourceHash);
  for (const Weights::Piece &piece : weights.pieces) {
    uint64_t numbers[] = {piece.offset, piece.bytes.size(), piece.count};
    hash.update(StringRef(reinterpret_cast<const char *>(numbers), sizeof(numbers)));
    ArrayRef<char> beginning = piece.bytes.take_front(kBeginning);
    hash.update(StringRef(beginning.data(), beginning.size()));
  }
  return toHex(hash.final<sizeof(lumen_abi_weights_header::id) / 2>(), /*LowerCase=*/true);
}

Expected<std::string> Link::input(StringRef contents) {
  Expected<PendingFile> file = PendingFile::create(options.output);
  if (!file)
    return file.takeError();
  if (Error error = file->write([&](raw_fd_ostream &stream) { stream << contents; }))
    return error;
  inputs.push_back(std::move(*file));
  return inputs.back().path().str();
}

Error Link::addOutput(const std::string &path, function_ref<void(raw_fd_ostream &)> fill) {
  if (Error error = outputs.claim(path))
    return error;
  Expected<PendingFile> file = PendingFile::create(path);
  if (!file)
    return file.takeError();
  if (Error error = file->write(fill))
    return error;
  outputs.add(std::move(*file));
  return Error::success();
}

Error Link::prepareObjects(const WeightsPlace &place) {
  Expected<SmallVector<char, 0>> tablesObject = compileTables(tables, place);
  if (!tablesObject)
    return tablesObject.takeError();
  SmallVector<char, 0> weightsObject;
  if (weightsInside())
    weightsObject = reserveWeights(place.symbol, weights.size);

  // One archive instead of a file per object: a large model has thousands.
  std::vector<MemoryBufferRef> all = {
      {StringRef(tablesObject->data(), tablesObject->size()), "tables.o"}};
  if (weightsInside())
    all.push_back({StringRef(weightsObject.data(), weightsObject.size()), "weights.o"});
  append_range(all, objects);

  SHA1 hash;
  std::vector<NewArchiveMember> members;
  for (auto [i, object] : enumerate(all)) {
    hash.update(object.getBuffer());
    members.emplace_back(object);
  }
  auto archive = writeArchiveToBuffer(members, SymtabWritingMode::NoSymtab, object::Archive::K_GNU,
                                      /*Deterministic=*/true,
                                      /*Thin=*/false);
  if (!archive)
    return archive.takeError();
  // The weights themselves are named by the source's hash inside the tables.
  // Hashing gigabytes would cost more than all the rest.
  buildId = "0x" + toHex(hash.final(), /*LowerCase=*/true);

  struct {
    std::string &path;
    StringRef contents;
  } files[] = {{objectsArchive, (*archive)->getBuffer()},
               {callsArchive, embedded::callsArchive()},
               {driversArchive, embedded::driversArchive()},
               {runtimeArchive, embedded::runtimeArchive()},
               {builtinsArchive, embedded::builtinsArchive()}};
  for (auto &file : files) {
    Expected<std::string> path = input(file.contents);
    if (!path)
      return path.takeError();
    file.path = *path;
  }
  return Error::success();
}

Error Link::linkShared(PendingFile &artifact) {
  Expected<std::string> libc = input(embedded::libcInterface());
  if (!libc)
    return libc.takeError();
  Expected<std::string> libm = input(embedded::libmInterface());
  if (!libm)
    return libm.takeError();
  Expected<std::string> exports =
      input("{ global: " + moduleSymbol(tables.name) + "; local: *; };\n");
  if (!exports)
    return exports.takeError();

  // A program that links the file looks for it by this name; lumen_open finds the
  // module by the old hash table, which counts the symbols.
  std::string soname = sys::path::filename(options.output).str();
  std::vector<std::string> arguments = {
      "-shared", "-o", artifact.path().str(), "-soname=" + soname, "--version-script=" + *exports,
      "--hash-style=both", "--build-id=" + buildId, "-O1", "--gc-sections", "-zdefs", "-zrelro",
      "-znow", "-znoexecstack",
      // Behind everything else and in a segment of its own, as `fillWeights` expects.
      "-zlrodata-after-bss"};
  if (!options.keepSymbols)
    arguments.push_back("--strip-all");
  pullDrivers(arguments);
  if (options.threads)
    arguments.push_back("--threads=" + std::to_string(options.threads));
  arguments.insert(arguments.end(),
                   {"--whole-archive", objectsArchive, "--no-whole-archive", callsArchive,
                    driversArchive, runtimeArchive, builtinsArchive, "--as-needed", *libc, *libm});
  return runLinker(arguments);
}

void Link::pullDrivers(std::vector<std::string> &arguments) {
  for (const std::string &driver : tables.drivers)
    arguments.push_back("--undefined=" + driver);
}

Error Link::linkRelocatable(PendingFile &artifact) {
  std::vector<std::string> arguments = {"-r", "-o", artifact.path().str()};
  pullDrivers(arguments);
  if (options.threads)
    arguments.push_back("--threads=" + std::to_string(options.threads));
  arguments.insert(arguments.end(),
                   {"--whole-archive", objectsArchive, "--no-whole-archive", callsArchive,
                    driversArchive, runtimeArchive, builtinsArchive});
  if (Error error = runLinker(arguments))
    return error;
  Expected<SmallVector<char, 0>> object =
      localizeSymbols(artifact.path(), moduleSymbol(tables.name), options.keepSymbols);
  if (!object)
    return object.takeError();
  return artifact.write(
      [&](raw_fd_ostream &stream) { stream.write(object->data(), object->size()); });
}

Error Link::linkArchive(PendingFile &artifact) {
  if (Error error = linkRelocatable(artifact))
    return error;
  auto object = MemoryBuffer::getFile(artifact.path());
  if (!object)
    return cannotWrite(options.output, errorCodeToError(object.getError()));
  std::string name = tables.name + ".o";
  NewArchiveMember member(MemoryBufferRef((*object)->getBuffer(), name));
  auto archive = writeArchiveToBuffer(member, SymtabWritingMode::NormalSymtab,
                                      object::Archive::K_GNU, /*Deterministic=*/true,
                                      /*Thin=*/false);
  if (!archive)
    return archive.takeError();
  // The weights go behind the object, which is the last member and thus grows
  // with them. The archive pads members to even sizes.
  StringRef text = (*archive)->getBuffer();
  uint64_t start = text.size() - alignTo((*object)->getBufferSize(), 2);
  text = text.take_front(start + (*object)->getBufferSize());
  if (Error error = artifact.write([&](raw_fd_ostream &stream) { stream << text; }))
    return error;
  if (Error error = fillArtifact(artifact, start))
    return error;

  using Header = object::UnixArMemHdrType;
  uint64_t end;
  if (std::error_code ec = sys::fs::file_size(artifact.path(), end))
    return cannotWrite(options.output, errorCodeToError(ec));
  std::string size = std::to_string(end - start);
  if (size.size() > sizeof(Header::Size))
    return createStringError("cannot write '" + options.output + "': its object has " + size +
                             " bytes, expected at most 9999999999 in a static library");
  return artifact.patch([&](raw_fd_ostream &stream) {
    stream.seek(start - sizeof(Header) + offsetof(Header, Size));
    stream << left_justify(size, sizeof(Header::Size));
    if (end % 2) {
      stream.seek(end);
      stream << '\n';
    }
  });
}

Error Link::fillArtifact(PendingFile &artifact, uint64_t start) {
  if (!weightsInside())
    return Error::success();
  return cannotWrite(options.output, fillWeights(artifact.path(), start, weights));
}

Error Link::linkArtifact(PendingFile &artifact) {
  switch (options.emit) {
  case Emit::SharedObject:
    if (Error error = linkShared(artifact))
      return error;
    return fillArtifact(artifact);
  case Emit::Object:
    if (Error error = linkRelocatable(artifact))
      return error;
    return fillArtifact(artifact);
  case Emit::StaticLibrary:
    return linkArchive(artifact);
  }
  llvm_unreachable("form of artifact");
}

Error Link::addHeaders() {
  StringRef file = sys::path::stem(options.output);
  if (options.emit == Emit::StaticLibrary)
    file.consume_front("lib");
  std::string stem = file.str();
  if (stem == "lumen")
    return createStringError("cannot write '" + options.output +
                             "': its header would replace lumen.h, expected another name");
  std::string text = modelHeader(tables, sys::path::filename(options.output));
  if (Error error = addOutput(beside(stem + ".h"), [&](raw_fd_ostream &s) { s << text; }))
    return error;
  std::string path = beside("lumen.h");
  auto present = MemoryBuffer::getFile(path);
  if (present && (*present)->getBuffer() == embedded::userHeader())
    return Error::success();
  return addOutput(path, [&](raw_fd_ostream &stream) { stream << embedded::userHeader(); });
}

Error Link::run() {
  assert(sanitizeName(tables.name).get() == tables.name && "model name is no identifier");
  if (Error error = verifyTables(tables, weights.size))
    return error;
  WeightsPlace place;
  place.size = weights.size;
  if (weightsInside())
    place.symbol = "lumen_weights";
  else if (weights.size) {
    place.file = tables.name + ".weights";
    place.id = weightsId(tables, weights);
  }
  if (Error error = checkSpace())
    return error;

  Expected<PendingFile> artifact = PendingFile::create(options.output);
  if (!artifact)
    return artifact.takeError();
  if (Error error = prepareObjects(place))
    return error;
  if (Error error = linkArtifact(*artifact))
    return error;
  if (!place.file.empty())
    if (Error error = addOutput(beside(place.file), [&](raw_fd_ostream &stream) {
          writeWeightsFile(stream, weights, place.id);
        }))
      return error;
  if (options.writeHeaders)
    if (Error error = addHeaders())
      return error;
  outputs.add(std::move(*artifact));
  return Error::success();
}

Error linkModel(const ModelTables &tables, ArrayRef<MemoryBufferRef> objects,
                const Weights &weights, const LinkOptions &options, OutputFiles &outputs) {
  return Link(tables, objects, weights, options, outputs).run();
}

Error linkModel(const ModelTables &tables, ArrayRef<MemoryBufferRef> objects,
                const Weights &weights, const LinkOptions &options) {
  OutputFiles outputs;
  if (Error error = outputs.claim(options.output))
    return error;
  if (Error error = linkModel(tables, objects, weights, options, outputs))
    return error;
  return outputs.keep();
}

} // namespace lumen::link
