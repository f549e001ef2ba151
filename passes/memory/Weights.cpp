//===- Weights.cpp - the layout of the weights region ---------------------===//

#include "passes/memory/Weights.h"

#include "dialects/Dispatch/Dispatch.h"

#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace mlir;
using namespace lumen;

static constexpr int64_t kAlignment = 64; // LUMEN_ALIGNMENT

static void appendElement(const APInt &bits, int64_t bytes, SmallVectorImpl<char> &out) {
  for (int64_t i = 0; i < bytes; ++i)
    out.push_back(static_cast<char>(
        bits.extractBitsAsZExtValue(std::min<unsigned>(8, bits.getBitWidth() - 8 * i), 8 * i)));
}

ArrayRef<char> lumen::constantBytes(TypedAttr value, const BlobTable &blobs,
                                    SmallVectorImpl<char> &storage) {
  if (auto blob = dyn_cast<BlobAttr>(value))
    return blobs.bytes(blob);
  auto dense = cast<DenseElementsAttr>(value);
  int64_t bytes = dispatch::elementBytes(dense.getElementType());
  auto bitsOf = [&](auto element) {
    if constexpr (std::is_same_v<decltype(element), APFloat>)
      return element.bitcastToAPInt();
    else
      return element;
  };
  storage.clear();
  auto append = [&](auto values, auto splat) {
    if (dense.isSplat()) {
      SmallVector<char, 16> one;
      appendElement(bitsOf(splat), bytes, one);
      int64_t count = dense.getNumElements();
      storage.resize_for_overwrite(count * bytes);
      for (int64_t i = 0; i < count; ++i)
        std::memcpy(storage.data() + i * bytes, one.data(), bytes);
      return;
    }
    storage.reserve(dense.getNumElements() * bytes);
    for (auto element : values)
      appendElement(bitsOf(element), bytes, storage);
  };
  if (dense.getNumElements() == 0)
    return {};
  if (isa<FloatType>(dense.getElementType()))
    append(dense.getValues<APFloat>(), *dense.getValues<APFloat>().begin());
  else
    append(dense.getValues<APInt>(), *dense.getValues<APInt>().begin());
  return storage;
}

/// Equal for constants with equal bytes. A splat is known by one element, since
/// writing out hundreds of megabytes to hash them takes seconds.
static std::string contentKey(TypedAttr value, int64_t size, const BlobTable &blobs) {
  SmallVector<char, 0> storage;
  std::string key = std::to_string(size);
  if (auto splat = dyn_cast<SplatElementsAttr>(value)) {
    Type element = splat.getElementType();
    auto one = SplatElementsAttr::get(RankedTensorType::get({}, element), splat.getSplatValue<Attribute>());
    ArrayRef<char> bytes = constantBytes(one, blobs, storage);
    return key + "s" + std::string(bytes.data(), bytes.size());
  }
  ArrayRef<char> bytes = constantBytes(value, blobs, storage);
  auto digest = llvm::BLAKE3::hash<16>(
      llvm::ArrayRef<uint8_t>(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
  return key + "h" + std::string(reinterpret_cast<const char *>(digest.data()), digest.size());
}

int64_t WeightTable::place(TypedAttr value, const BlobTable &blobs) {
  auto [it, isNew] = offsetOf.try_emplace(value, 0);
  if (!isNew)
    return it->second;
  auto type = cast<RankedTensorType>(value.getType());
  int64_t size = dispatch::tensorBytes(type);
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
