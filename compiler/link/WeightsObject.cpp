//===- WeightsObject.cpp - constants of a model, outside LLVM -------------===//

#include "compiler/link/WeightsObject.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/Alignment.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace llvm;
using namespace llvm::ELF;

namespace lumen::link {

static_assert(endianness::native == endianness::little, "ELF structs are written as they are");

namespace {
constexpr StringLiteral kSection = ".lrodata";
/// A page, so that the loader maps the section where it lies in the file.
constexpr uint64_t kAlignment = 4096;
} // namespace

SmallVector<char, 0> reserveWeights(StringRef symbol, uint64_t size) {
  enum Section { Null, Data, Symbols, Strings, Stack, NumSections };

  std::string strings(1, '\0');
  auto addString = [&](StringRef text) {
    uint32_t offset = strings.size();
    strings.append(text.begin(), text.end());
    strings.push_back('\0');
    return offset;
  };

  Elf64_Sym symbols[2] = {};
  symbols[1].st_name = addString(symbol);
  symbols[1].setBindingAndType(STB_GLOBAL, STT_OBJECT);
  symbols[1].st_other = STV_HIDDEN;
  symbols[1].st_shndx = Data;
  symbols[1].st_size = size;

  Elf64_Shdr sections[NumSections] = {};
  Elf64_Shdr &data = sections[Data];
  data.sh_name = addString(kSection);
  data.sh_type = SHT_NOBITS;
  data.sh_flags = SHF_ALLOC | SHF_X86_64_LARGE;
  data.sh_size = size;
  data.sh_addralign = kAlignment;
  data.sh_offset = sizeof(Elf64_Ehdr);

  Elf64_Shdr &symtab = sections[Symbols];
  symtab.sh_name = addString(".symtab");
  symtab.sh_type = SHT_SYMTAB;
  symtab.sh_offset = sizeof(Elf64_Ehdr);
  symtab.sh_size = sizeof(symbols);
  symtab.sh_link = Strings;
  symtab.sh_info = 1; // first global symbol
  symtab.sh_addralign = alignof(Elf64_Sym);
  symtab.sh_entsize = sizeof(Elf64_Sym);

  // Says that the object needs no executable stack.
  sections[Stack].sh_name = addString(".note.GNU-stack");
  sections[Stack].sh_type = SHT_PROGBITS;
  sections[Stack].sh_addralign = 1;

  Elf64_Shdr &strtab = sections[Strings];
  strtab.sh_name = addString(".strtab");
  strtab.sh_type = SHT_STRTAB;
  strtab.sh_offset = symtab.sh_offset + symtab.sh_size;
  strtab.sh_addralign = 1;
  strings.resize(alignTo(strings.size(), alignof(Elf64_Shdr)));
  strtab.sh_size = strings.size();
  sections[Stack].sh_offset = strtab.sh_offset + strtab.sh_size;

  Elf64_Ehdr header = {};
  memcpy(header.e_ident, ElfMagic, strlen(ElfMagic));
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shoff = strtab.sh_offset + strtab.sh_size;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = NumSections;
  header.e_shstrndx = Strings;

  SmallVector<char, 0> object;
  auto append = [&](const void *data, size_t size) {
    object.append(static_cast<const char *>(data), static_cast<const char *>(data) + size);
  };
  append(&header, sizeof(header));
  append(symbols, sizeof(symbols));
  append(strings.data(), strings.size());
  append(sections, sizeof(sections));
  return object;
}

/// Writes `bytes` `count` times, through a buffer of bounded size.
static void writeRepeated(raw_fd_ostream &stream, ArrayRef<char> bytes, uint64_t count) {
  constexpr uint64_t kChunk = 1 << 16;
  if (bytes.empty())
    return;
  SmallVector<char, 0> chunk;
  uint64_t perChunk = 1;
  if (count > 1 && bytes.size() < kChunk) {
    perChunk = std::min(count, kChunk / bytes.size());
    for (uint64_t i = 0; i < perChunk; ++i)
      chunk.append(bytes.begin(), bytes.end());
    bytes = chunk;
  }
  size_t one = bytes.size() / perChunk;
  // A full disk ends it at once, not after terabytes of refused writes.
  while (count && !stream.has_error()) {
    uint64_t now = std::min(count, perChunk);
    stream.write(bytes.data(), now * one);
    count -= now;
  }
}

/// Writes the region to `stream` from its current position on.
static void writeWeights(raw_fd_ostream &stream, const Weights &weights) {
  uint64_t start = stream.tell();
  for (const Weights::Piece &piece : weights.pieces) {
    assert(start + piece.offset >= stream.tell() && "pieces overlap");
    assert(piece.offset + piece.size() <= weights.size && "piece outside the region");
    stream.seek(start + piece.offset);
    writeRepeated(stream, piece.bytes, piece.count);
  }
  // A gap at the end must exist in the file too.
  uint64_t end = start + weights.size;
  if (stream.tell() < end) {
    stream.seek(end - 1);
    stream << '\0';
  }
}

void writeWeightsFile(raw_fd_ostream &stream, const Weights &weights, StringRef id) {
  lumen_abi_weights_header header = {};
  assert(id.size() == sizeof(header.id) && "identity of another length");
  memcpy(header.magic, LUMEN_ABI_WEIGHTS_MAGIC, sizeof(header.magic));
  header.version = LUMEN_ABI_WEIGHTS_VERSION;
  header.size = weights.size;
  memcpy(header.id, id.data(), sizeof(header.id));
  stream.write(reinterpret_cast<const char *>(&header), sizeof(header));
  writeWeights(stream, weights);
}

namespace {
/// The headers of a linked file that say where the reservation lies.
struct Reservation {
  uint64_t sectionHeader = 0; // file offsets of the headers
  Elf64_Shdr section = {};
  uint64_t segmentHeader = 0; // 0 in a relocatable object
  Elf64_Phdr segment = {};
};
} // namespace

static Expected<Reservation> findReservation(StringRef file) {
  auto damaged = [](const char *what) {
    return createStringError(inconvertibleErrorCode(), "linked file has %s", what);
  };
  auto read = [&](uint64_t offset, auto &value) {
    if (offset > file.size() || file.size() - offset < sizeof(value))
      return false;
    memcpy(&value, file.data() + offset, sizeof(value));
    return true;
  };
  Elf64_Ehdr header;
  Elf64_Shdr names;
  if (!read(0, header) || !read(header.e_shoff + header.e_shstrndx * sizeof(names), names))
    return damaged("no section table");

  Reservation found;
  for (unsigned i = 0; i != header.e_shnum && !found.sectionHeader; ++i) {
    uint64_t offset = header.e_shoff + i * sizeof(Elf64_Shdr);
    if (read(offset, found.section) &&
        file.drop_front(names.sh_offset + found.section.sh_name)
            .starts_with(StringRef(kSection.data(), kSection.size() + 1)))
      found.sectionHeader = offset;
  }
  if (!found.sectionHeader || found.section.sh_type != SHT_NOBITS)
    return damaged("no room for weights");
  for (unsigned i = 0; i != header.e_phnum && !found.segmentHeader; ++i) {
    uint64_t offset = header.e_phoff + i * sizeof(Elf64_Phdr);
    if (read(offset, found.segment) && found.segment.p_type == PT_LOAD &&
        found.segment.p_vaddr == found.section.sh_addr && found.segment.p_filesz == 0)
      found.segmentHeader = offset;
  }
  if (header.e_phnum && !found.segmentHeader)
    return damaged("weights in a segment with other data");
  return found;
}

Error fillWeights(StringRef path, uint64_t start, const Weights &weights) {
  auto file = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return errorCodeToError(file.getError());
  Expected<Reservation> reservation = findReservation((*file)->getBuffer().drop_front(start));
  if (!reservation)
    return reservation.takeError();
  assert(reservation->section.sh_size == weights.size && "reserved size differs");
  uint64_t offset = alignTo((*file)->getBufferSize() - start, kAlignment);

  std::error_code ec;
  raw_fd_ostream stream(path, ec, sys::fs::CD_OpenExisting, sys::fs::FA_Write, sys::fs::OF_None);
  if (ec)
    return errorCodeToError(ec);
  stream.seek(start + offset);
  writeWeights(stream, weights);

  reservation->section.sh_type = SHT_PROGBITS;
  reservation->section.sh_offset = offset;
  stream.seek(start + reservation->sectionHeader);
  stream.write(reinterpret_cast<const char *>(&reservation->section), sizeof(Elf64_Shdr));
  if (reservation->segmentHeader) {
    reservation->segment.p_offset = offset;
    reservation->segment.p_filesz = reservation->segment.p_memsz;
    stream.seek(start + reservation->segmentHeader);
    stream.write(reinterpret_cast<const char *>(&reservation->segment), sizeof(Elf64_Phdr));
  }
  stream.close();
  ec = stream.error();
  stream.clear_error(); // or the destructor would end the process
  return errorCodeToError(ec);
}

} // namespace lumen::link
