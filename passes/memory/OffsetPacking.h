//===- OffsetPacking.h - place live ranges in one arena ----------*- C++ -*-===//
//
// Offset calculation as in "Efficient Memory Management for Deep Neural Net
// Inference" (Pisarchyk and Lee, 2020): allocations are taken in some order and
// each goes to the smallest gap, among those that overlap it in time, that
// holds it. Several orders are tried and the smallest arena wins.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_PASSES_MEMORY_OFFSETPACKING_H
#define LUMEN_PASSES_MEMORY_OFFSETPACKING_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace lumen {

/// Bytes that are live from step `first` to step `last`, both included.
struct LiveRange {
  int64_t first, last;
  int64_t size; ///< bytes
};

struct Packing {
  std::vector<int64_t> offsets; ///< of each range, multiples of the alignment
  int64_t size = 0;             ///< bytes of the arena
};

/// Packs `ranges` such that no two that overlap in time overlap in memory.
Packing packOffsets(llvm::ArrayRef<LiveRange> ranges, int64_t alignment);

/// The peak of live bytes over time, which no packing can beat.
int64_t peakLiveBytes(llvm::ArrayRef<LiveRange> ranges);

} // namespace lumen

#endif // LUMEN_PASSES_MEMORY_OFFSETPACKING_H
