#include "dialects/Lumen/Lumen.h"

using namespace lumen;

uint64_t BlobTable::add(std::unique_ptr<llvm::MemoryBuffer> buffer) {
  std::lock_guard<std::mutex> lock(mutex);
  entries.push_back(std::move(buffer));
  return entries.size() - 1;
}

uint64_t BlobTable::allocate(uint64_t size, llvm::MutableArrayRef<char> &data) {
  auto buffer = llvm::WritableMemoryBuffer::getNewMemBuffer(size);
  data = buffer->getBuffer();
  return add(std::move(buffer));
}

void BlobTable::release(uint64_t id) {
  std::lock_guard<std::mutex> lock(mutex);
  if (id < entries.size())
    entries[id].reset();
}

uint64_t BlobTable::size() const {
  std::lock_guard<std::mutex> lock(mutex);
  return entries.size();
}

llvm::ArrayRef<char> BlobTable::entry(uint64_t id) const {
  std::lock_guard<std::mutex> lock(mutex);
  if (id >= entries.size() || !entries[id])
    return {};
  llvm::StringRef bytes = entries[id]->getBuffer();
  return {bytes.data(), bytes.size()};
}

llvm::StringRef BlobTable::path(uint64_t id) const {
  std::lock_guard<std::mutex> lock(mutex);
  return id < entries.size() && entries[id] ? entries[id]->getBufferIdentifier() : "";
}

llvm::ArrayRef<char> BlobTable::bytes(BlobAttr blob) const {
  llvm::ArrayRef<char> all = entry(blob.getId());
  if (blob.getOffset() > all.size() || blob.getSize() > all.size() - blob.getOffset())
    return {};
  return all.slice(blob.getOffset(), blob.getSize());
}
