//===- PackedWeights.h - how weights lie in memory ---------------*- C++ -*-===//
#ifndef LUMEN_DIALECTS_LUMEN_PACKEDWEIGHTS_H
#define LUMEN_DIALECTS_LUMEN_PACKEDWEIGHTS_H

#include <cstdint>

namespace lumen {

/// Columns of a packed weight stand in panels of this many; see `lumen.contract`.
inline constexpr int64_t kPanelColumns = 64;

} // namespace lumen

#endif // LUMEN_DIALECTS_LUMEN_PACKEDWEIGHTS_H
