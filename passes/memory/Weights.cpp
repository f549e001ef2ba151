//===- Weights.cpp - the layout of the weights region ---------------------===//

#include "passes/memory/Weights.h"

#include "dialects/Dispatch/Dispatch.h"

#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lumen;

static constexpr int64_t kAlignment = 64; // LUMEN_ALIGNMENT

static void appendElement(const APInt &bits, int64_t bytes, SmallVectorImpl<char> &out) {
  for (int64_t i = 0; i < bytes; ++i)
    out.push_back(static_cast<char>(
        bits.extractBitsAsZExtValue(std::min<unsigned>(8, bits.getBitWidth() - 8 * i), 8 * i)));
}

ConstantBytes lumen::constantBytes(TypedAttr value, const BlobTable &blobs,
                                   SmallVectorImpl<char> &storage) {
  if (auto blob = dyn_cast<BlobAttr>(value))
    return {blobs.bytes(blob), 1};
  auto dense = cast<DenseElementsAttr>(value);
  storage.clear();
  if (dense.getNumElements() == 0)
    return {{}, 1};
  int64_t bytes = dispatch::elementBytes(dense.getElementType());
  bool isSplat = dense.isSplat();
  auto append = [&](auto values, auto bitsOf) {
    storage.reserve((isSplat ? 1 : dense.getNumElements()) * bytes);
    for (auto element : values) {
      appendElement(bitsOf(element), bytes, storage);
      if (isSplat)
        break;
    }
  };
  if (isa<FloatType>(dense.getElementType()))
    append(dense.getValues<APFloat>(), [](const APFloat &x) { return x.bitcastToAPInt(); });
  else
    append(dense.getValues<APInt>(), [](const APInt &x) { return x; });
  return {storage, isSplat ? dense.getNumElements() : 1};
}

/// Equal for constants with equal bytes, but for a splat and the same bytes
/// written out.
static std::string contentKey(TypedAttr value, int64_t size, const BlobTable &blobs) {
  SmallVector<char, 0> storage;
  auto [bytes, count] = constantBytes(value, blobs, storage);
  auto digest = llvm::BLAKE3::hash<16>(
      llvm::ArrayRef<uint8_t>(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
  return std::to_string(size) + "x" + std::to_string(count) + "h" +
         std::string(reinterpret_cast<const char *>(digest.data()), digest.size());
}

int64_t WeightTable::place(TypedAttr value, const BlobTable &blobs) {
  auto [it, isNew] = offsetOf.try_emplace(value, 0);
  if (!isNew)
    return it->second;
  auto type = cast<RankedTensorType>(value.getType());
  int64_t size = *dispatch::tensorBytes(type).asConstant();
  // Nothing lies anywhere; at the end it would make the region longer than its bytes.
  if (size == 0)
    return 0;
  auto [content, isNewContent] = offsetOfContent.try_emplace(contentKey(value, size, blobs), end);
  it->second = content->second;
  if (!isNewContent)
    return it->second;
  weights.push_back({value, end, size});
  end = llvm::alignTo(end + size, kAlignment);
  return it->second;
}

Attribute WeightTable::toAttribute(MLIRContext *context) const {
  Builder builder(context);
  return builder.getArrayAttr(llvm::map_to_vector(weights, [&](const Weight &weight) -> Attribute {
    return builder.getDictionaryAttr(
        {builder.getNamedAttr("offset", builder.getI64IntegerAttr(weight.offset)),
         builder.getNamedAttr("size", builder.getI64IntegerAttr(weight.size)),
         builder.getNamedAttr("value", weight.value)});
  }));
}

std::vector<Weight> WeightTable::fromAttribute(Attribute attribute) {
  std::vector<Weight> weights;
  for (auto entry : cast<ArrayAttr>(attribute).getAsRange<DictionaryAttr>())
    weights.push_back({cast<TypedAttr>(entry.get("value")),
                       entry.getAs<IntegerAttr>("offset").getInt(),
                       entry.getAs<IntegerAttr>("size").getInt()});
  return weights;
}
