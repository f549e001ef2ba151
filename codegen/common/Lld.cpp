//===- Lld.cpp - lld in process -------------------------------------------===//

#include "codegen/common/Lld.h"

#include "lld/Common/Driver.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace llvm;

Error lumen::runLinker(ArrayRef<std::string> arguments) {
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
