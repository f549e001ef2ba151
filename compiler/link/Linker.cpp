//===- Linker.cpp - lld and objcopy in process ----------------------------===//

#include "compiler/link/Linker.h"

#include "lld/Common/Driver.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/Binary.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace llvm;

namespace lumen::link {

Error runLinker(ArrayRef<std::string> arguments) {
  static std::mutex mutex;
  static bool usable = true;
  std::lock_guard<std::mutex> lock(mutex);
  // After a crash inside lld its global state is lost for good.
  if (!usable)
    return createStringError("the linker failed earlier in this process");

  std::vector<const char *> argv = {"ld.lld"};
  for (const std::string &argument : arguments)
    argv.push_back(argument.c_str());
  std::string messages;
  raw_string_ostream stream(messages);
  lld::Result result = lld::lldMain(argv, stream, stream, {{lld::Gnu, &lld::elf::link}});
  usable = result.canRunAgain;
  if (result.retCode == 0)
    return Error::success();
  return createStringError("linker: " + StringRef(messages).trim());
}

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
