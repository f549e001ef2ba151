//===- Blobs.h - constant data outside the IR --------------------*- C++ -*-===//
//
// Weights never enter MLIR or LLVM: a `#lumen.blob` names bytes in this table.
// An entry is either owned memory or a part of a mapped file, which the table
// keeps alive.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_DIALECTS_LUMEN_BLOBS_H
#define LUMEN_DIALECTS_LUMEN_BLOBS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace lumen {

class BlobAttr;

/// Thread-safe: ids are never reused, and bytes stay where they are until their
/// entry is released.
class BlobTable {
public:
  /// Takes ownership of `buffer` (a heap buffer or a mapped file) and returns
  /// the entry's id.
  uint64_t add(std::unique_ptr<llvm::MemoryBuffer> buffer);

  /// A new zero-filled entry of `size` bytes; `data` receives its memory.
  uint64_t allocate(uint64_t size, llvm::MutableArrayRef<char> &data);

  /// Frees the bytes of an entry that nothing names any more; it reads as empty.
  void release(uint64_t id);

  /// The bytes that `blob` names; an empty array when they lie outside the
  /// entry (a damaged dump).
  llvm::ArrayRef<char> bytes(BlobAttr blob) const;

  uint64_t size() const;
  llvm::ArrayRef<char> entry(uint64_t id) const;

  /// The path of the file that an entry is mapped from; empty for other entries.
  llvm::StringRef path(uint64_t id) const;

private:
  mutable std::mutex mutex;
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> entries;
};

} // namespace lumen

#endif // LUMEN_DIALECTS_LUMEN_BLOBS_H
