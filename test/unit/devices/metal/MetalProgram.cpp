//===- MetalProgram.cpp - see MetalProgram.h ------------------------------===//

#include "MetalProgram.h"

#include "test/unit/codegen/Fibers.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <regex>
#include <sstream>

using namespace lumen::test;
namespace fs = std::filesystem;

namespace {

using Call = void(void *const *bound);

class Compiled final : public MetalProgram {
public:
  explicit Compiled(void *library) : library(library) {}
  ~Compiled() override { dlclose(library); }
  bool has(const std::string &kernel) const override { return calls.count(kernel); }
  std::string run(const std::string &kernel, const std::vector<void *> &bound, uint32_t workgroups,
                  uint32_t threads) override;

  void *library;
  std::map<std::string, Call *> calls;
};

/// A folder that goes with this.
struct TemporaryFolder {
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "lumen-metal-XXXXXX").string();
    if (mkdtemp(name.data()))
      path = name;
  }
  ~TemporaryFolder() { fs::remove_all(path); }
  fs::path path;
};

} // namespace

static std::string contentsOf(const fs::path &path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Lets what is loaded later call the functions of fibers, which this library has.
static void offerFibers() {
  Dl_info here;
  if (dladdr(reinterpret_cast<void *>(lumen_fiber_barrier), &here))
    dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

static std::shared_ptr<MetalProgram> build(const std::string &text, std::string &error) {
  static const std::regex declaration("kernel void (\\w+)\\(");
  TemporaryFolder folder;
  fs::path source = folder.path / "kernel.metal", file = folder.path / "kernel.so",
           log = folder.path / "log";
  std::vector<std::string> names;
  {
    std::ofstream os(source);
    os << text << "\n";
    for (auto at = std::sregex_iterator(text.begin(), text.end(), declaration);
         at != std::sregex_iterator(); ++at) {
      std::string name = names.emplace_back((*at)[1]);
      os << "extern \"C\" void lumen_call_" << name << "(void *const *bound) { lumen_test::call("
         << name << ", bound); }\n";
    }
  }
  std::string command = LUMEN_CXX_COMPILER " -x c++ -std=c++17 -O1 -fPIC -shared -nostdlib -w "
                                           "-fno-exceptions -fno-rtti -I" LUMEN_METAL_LIBRARY " " +
                        source.string() + " -o " + file.string() + " > " + log.string() + " 2>&1";
  offerFibers();
  void *library =
      std::system(command.c_str()) ? nullptr : dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    error = contentsOf(log);
    return nullptr;
  }
  auto result = std::make_shared<Compiled>(library);
  for (const std::string &name : names)
    result->calls[name] = reinterpret_cast<Call *>(dlsym(library, ("lumen_call_" + name).c_str()));
  return result;
}

std::shared_ptr<MetalProgram> MetalProgram::compile(const std::string &text, std::string &error) {
  // The same text comes again and again.
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<MetalProgram>> known;
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<MetalProgram> &program = known[text];
  if (!program)
    program = build(text, error);
  return program;
}

std::string Compiled::run(const std::string &kernel, const std::vector<void *> &bound,
                          uint32_t workgroups, uint32_t threads) {
  Call *call = calls.at(kernel);
  // A kernel has its workgroup memory once.
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  return runFibers(workgroups, threads, [&] { call(bound.data()); });
}
