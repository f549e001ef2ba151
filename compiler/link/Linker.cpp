//===- Linker.cpp - objcopy in process -------------------------------------===//

#include "compiler/link/Linker.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/Binary.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace lumen::link {

Expected<SmallVector<char, 0>> localizeSymbols(StringRef path, StringRef exported,
                                               bool keepSymbols) {
  auto object = object::createBinary(path);
  if (!object)
    return object.takeError();

  objcopy::ConfigManager config;
  config.Common.StripDebug = !keepSymbols;
  auto match = [](StringRef text) {
    return objcopy::NameOrPattern::create(text, objcopy::MatchStyle::Literal,
                                          [](Error error) { return error; });
  };
  if (Error error = config.Common.SymbolsToKeepGlobal.addMatcher(match(exported)))
    return error;
  // Names symbols by their index, which changes here.
  if (Error error = config.Common.ToRemove.addMatcher(match(".llvm_addrsig")))
    return error;

  SmallVector<char, 0> localized;
  raw_svector_ostream stream(localized);
  if (Error error = objcopy::executeObjcopyOnBinary(config, *object->getBinary(), stream))
    return error;
  return localized;
}

} // namespace lumen::link
