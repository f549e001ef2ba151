//===- OffsetPacking.cpp - place live ranges in one arena -----------------===//

#include "passes/memory/OffsetPacking.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <map>

using namespace llvm;
using namespace lumen;

/// Gives each range, in `order`, the smallest gap between those placed before
/// that are live at the same time; the lowest one among equals.
static Packing packInOrder(ArrayRef<LiveRange> ranges, ArrayRef<size_t> order, int64_t alignment) {
  Packing result;
  result.offsets.assign(ranges.size(), 0);
  std::vector<size_t> placed; // by offset
  for (size_t index : order) {
    const LiveRange &range = ranges[index];
    int64_t size = alignTo(range.size, alignment);
    int64_t end = 0, best = -1, bestGap = std::numeric_limits<int64_t>::max();
    for (size_t other : placed) {
      const LiveRange &o = ranges[other];
      if (o.last < range.first || range.last < o.first)
        continue;
      int64_t gap = result.offsets[other] - end;
      if (gap >= size && gap < bestGap) {
        best = end;
        bestGap = gap;
      }
      end = std::max(end, result.offsets[other] + static_cast<int64_t>(alignTo(o.size, alignment)));
    }
    if (best < 0)
      best = end;
    result.offsets[index] = best;
    auto position = llvm::upper_bound(placed, best, [&](int64_t offset, size_t other) {
      return offset < result.offsets[other];
    });
    placed.insert(position, index);
    result.size = std::max(result.size, best + size);
  }
  return result;
}

int64_t lumen::peakLiveBytes(ArrayRef<LiveRange> ranges) {
  std::map<int64_t, int64_t> change;
  for (const LiveRange &range : ranges) {
    change[range.first] += range.size;
    change[range.last + 1] -= range.size;
  }
  int64_t live = 0, peak = 0;
  for (auto [step, delta] : change)
    peak = std::max(peak, live += delta);
  return peak;
}

Packing lumen::packOffsets(ArrayRef<LiveRange> ranges, int64_t alignment) {
  std::vector<LiveRange> aligned(ranges.begin(), ranges.end());
  for (LiveRange &range : aligned)
    range.size = alignTo(range.size, alignment);
  int64_t bound = peakLiveBytes(aligned);

  auto length = [&](size_t i) { return ranges[i].last - ranges[i].first; };
  auto bySize = [&](size_t a, size_t b) { return ranges[a].size > ranges[b].size; };
  auto byTime = [&](size_t a, size_t b) { return ranges[a].first < ranges[b].first; };
  auto byLength = [&](size_t a, size_t b) { return length(a) > length(b); };
  auto byArea = [&](size_t a, size_t b) {
    return static_cast<double>(ranges[a].size) * (length(a) + 1) >
           static_cast<double>(ranges[b].size) * (length(b) + 1);
  };
  // Long-lived first, large ones first among those of about the same length.
  auto byLengthClass = [&](size_t a, size_t b) {
    int64_t la = Log2_64(length(a) + 1), lb = Log2_64(length(b) + 1);
    return la != lb ? la > lb : ranges[a].size > ranges[b].size;
  };
  Packing best;
  auto attempt = [&](auto less) {
    if (!best.offsets.empty() && best.size <= bound)
      return;
    auto order = llvm::to_vector(llvm::seq<size_t>(0, ranges.size()));
    llvm::stable_sort(order, less);
    Packing packing = packInOrder(ranges, order, alignment);
    if (best.offsets.empty() || packing.size < best.size)
      best = std::move(packing);
  };
  attempt(bySize);
  attempt(byTime);
  attempt(byArea);
  attempt(byLength);
  attempt(byLengthClass);
  return best;
}
