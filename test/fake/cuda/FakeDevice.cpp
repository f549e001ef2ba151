//===- FakeDevice.cpp - a CUDA device that this machine plays -------------===//

#include "FakeDevice.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <utility>

using namespace lumen;
using namespace lumen::fake;

uint64_t fake::trait(const char *key, uint64_t otherwise) {
  const char *all = std::getenv("WEAK_DEVICE");
  std::string word = std::string(key) + "=";
  for (const char *at = all; at && (at = std::strstr(at, word.c_str())); ++at)
    if (at == all || at[-1] == ' ')
      return std::strtoull(at + word.size(), nullptr, 10);
  return otherwise;
}

Device &Device::get() {
  static Device device;
  return device;
}

/// Of addresses of the device.
static constexpr uint64_t kReserved = 4ull << 30;

Device::Device() {
  reserved = static_cast<char *>(
      mmap(nullptr, kReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (reserved == MAP_FAILED)
    std::abort();
}

Device::~Device() {
  int live = count().live;
  if (live || (isInitialized && std::getenv("WEAK_DEVICE")))
    std::fprintf(stderr, "fake_cuda: %d objects are left, %u launches, %u graphs launched\n", live,
                 allLaunches, graphLaunches);
  munmap(reserved, kReserved);
}

uint64_t Device::getTotal() const { return std::min(trait("memory", kReserved), kReserved); }

weak_device_counts Device::count() {
  weak_device_counts result = {};
  result.live = static_cast<int>(numContexts + modules.size() + streams.size() + graphs.size() +
                                 graphExecs.size() + storages.size() + onHost.size());
  for (auto [to, from] : {std::pair(&result.failed, &failed),
                          {&result.misuses, &misuses},
                          {&result.dispatches, &launches},
                          {&result.copies, &copies},
                          {&result.submissions, &submissions},
                          {&result.waits, &waits},
                          {&result.questions, &questions}})
    *to = static_cast<int>(std::exchange(*from, 0));
  fallible = 0;
  return result;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

CUresult Device::fail(CUresult result, const std::string &what) {
  std::fprintf(stderr, "fake_cuda: %s\n", what.c_str());
  return error = result;
}

CUresult Device::misuse(CUresult result, const std::string &what) {
  ++misuses;
  return fail(result, what);
}

CUresult Device::begin(bool canRunOut) {
  if (!isInitialized)
    return kNotInitialized;
  if (error == CUDA_SUCCESS && canRunOut && isDue("fail", ++fallible)) {
    ++failed;
    std::fprintf(stderr, "fake_cuda: out of memory\n");
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  return error;
}

std::vector<CUstream> Device::captured() const {
  std::vector<CUstream> result;
  std::copy_if(streams.begin(), streams.end(), std::back_inserter(result), [](CUstream stream) {
    return stream->captured && stream->capturer == std::this_thread::get_id();
  });
  return result;
}

void Device::releaseContext() {
  if (--numContexts == 0)
    error = CUDA_SUCCESS;
}

/// Contexts that a thread has made current; there is one, so their number says all.
static thread_local uint32_t depth;

CUresult Device::beginInContext(bool canRunOut, bool mayBeCaptured) {
  if (!depth || !numContexts)
    return isInitialized ? kInvalidContext : kNotInitialized;
  std::vector<CUstream> broken = mayBeCaptured ? std::vector<CUstream>() : captured();
  for (CUstream stream : broken)
    stream->isCaptureBroken = true;
  if (!broken.empty())
    return misuse(kCaptureUnsupported, "a call that cannot be captured");
  return begin(canRunOut);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// What CUDA aligns to.
static constexpr uint64_t kAlignment = 256;

static uint64_t alignTo(uint64_t number, uint64_t alignment) {
  return (number + alignment - 1) / alignment * alignment;
}

bool Device::isOfDevice(const void *address) const {
  return address >= reserved && address < reserved + kReserved;
}

CUresult Device::allocate(uint64_t size, void *&address) {
  if (!size)
    return kInvalidValue;
  // The first gap that is large enough, with some bytes that are nobody's behind it.
  uint64_t begin = reinterpret_cast<uint64_t>(reserved), end = begin + kReserved;
  uint64_t wanted = alignTo(size, kAlignment) + kAlignment;
  for (const auto &[place, bytes] : storages) {
    if (begin + wanted <= place)
      break;
    begin = place + alignTo(bytes.size(), kAlignment) + kAlignment;
  }
  if (size > getFree() || wanted > end - begin)
    return CUDA_ERROR_OUT_OF_MEMORY;
  // Not zero by chance.
  std::vector<char> &bytes = storages[begin];
  bytes.assign(size, '\xA5');
  used += size;
  memory.add({begin, size, bytes.data(), "device memory"});
  address = reinterpret_cast<void *>(begin);
  return CUDA_SUCCESS;
}

CUresult Device::allocateOnHost(uint64_t size, void *&address) {
  if (!size)
    return kInvalidValue;
  auto *bytes = static_cast<char *>(std::aligned_alloc(4096, alignTo(size, 4096)));
  if (!bytes)
    return CUDA_ERROR_OUT_OF_MEMORY;
  std::memset(bytes, 0xA5, size);
  auto place = reinterpret_cast<uint64_t>(bytes);
  onHost.emplace(place, std::unique_ptr<char, void (*)(void *)>(bytes, std::free));
  memory.add({place, size, bytes, "host memory"});
  address = bytes;
  return CUDA_SUCCESS;
}

CUresult Device::release(void *address, bool isOnHost) {
  // Waits for the device, as the manual says.
  finishAll();
  auto place = reinterpret_cast<uint64_t>(address);
  auto found = storages.find(place);
  if (isOnHost ? !onHost.count(place) : found == storages.end())
    return misuse(kInvalidValue, "memory is released that was not allocated");
  memory.remove(place);
  if (isOnHost) {
    onHost.erase(place);
    return CUDA_SUCCESS;
  }
  used -= found->second.size();
  storages.erase(found);
  return CUDA_SUCCESS;
}

char *Device::view(void *address, uint64_t size) {
  auto place = reinterpret_cast<uint64_t>(address);
  if (const ptx::Allocation *found = memory.find(place, size))
    return found->data + (place - found->address);
  if (isOfDevice(address)) {
    misuse(kInvalidValue, "a copy reaches outside of the device's memory");
    return nullptr;
  }
  return static_cast<char *>(address);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

CUresult Device::load(const char *text, CUmodule &module) {
  std::string message;
  auto made = std::make_unique<CUmod_st>();
  made->program = ptx::Program::parse(text, message);
  if (!made->program) {
    std::fprintf(stderr, "fake_cuda: %s\n", message.c_str());
    return kInvalidPtx;
  }
  // "8.8" and "sm_90a".
  const std::string &version = made->program->version, &target = made->program->target;
  size_t dot = std::min(version.find('.'), version.size() - 1);
  uint64_t number = 10 * std::strtoull(version.c_str(), nullptr, 10) +
                    std::strtoull(version.c_str() + dot + 1, nullptr, 10);
  if (number > trait("ptx", 90))
    return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  uint64_t wanted = std::strtoull(target.c_str() + target.find('_') + 1, nullptr, 10);
  uint64_t capability = trait("capability", 90);
  if (target.back() == 'a' ? capability != wanted : capability < wanted)
    return kNoBinary;
  module = made.release();
  modules.insert(module);
  return CUDA_SUCCESS;
}

CUresult Device::find(CUmodule module, const char *name, CUfunction &function) {
  if (!modules.count(module))
    return kInvalidHandle;
  const ptx::Function *entry = module->program->findEntry(name);
  if (!entry)
    return kNotFound;
  std::unique_ptr<CUfunc_st> &made = module->functions[name];
  if (!made)
    made = std::make_unique<CUfunc_st>(CUfunc_st{module, entry});
  function = made.get();
  return CUDA_SUCCESS;
}

CUresult Device::runKernel(CUfunction function, const ptx::Launch &launch) {
  if (!modules.count(function->module))
    return misuse(kInvalidHandle, "a kernel is launched whose module was unloaded");
  ++launches;
  if (isDue("lost", ++allLaunches))
    return lose();
  std::string message = ptx::run(*function->module->program, launch, memory);
  return message.empty() ? CUDA_SUCCESS : misuse(kIllegalAddress, message);
}

CUresult Device::launch(CUfunction function, const uint32_t (&grid)[3], const uint32_t (&block)[3],
                        uint32_t shared, void **parameters, CUstream stream) {
  const ptx::Function &entry = *function->entry;
  uint64_t sharedSize = uint64_t{function->module->program->sharedSize} + shared;
  if (uint64_t{block[0]} * block[1] * block[2] > trait("threads", 1024) ||
      sharedSize > trait("shared", 48 << 10))
    return kOutOfResources;
  bool checks = trait("checks", 1);
  ptx::Launch made{
      &entry,          {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, shared, nullptr,
      {checks, checks}};
  // The parameters are those of now.
  std::vector<char> bytes(entry.parameterSize);
  for (size_t i = 0; i < entry.parameters.size(); ++i)
    std::memcpy(&bytes[entry.parameters[i].offset], parameters[i], entry.parameters[i].size);
  return enqueue(stream, [=]() mutable {
    made.parameters = bytes.data();
    return runKernel(function, made);
  });
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

CUresult Device::enqueue(CUstream stream, std::function<CUresult()> work) {
  stream = resolve(stream);
  if (stream != &defaultStream && !streams.count(stream))
    return kInvalidHandle;
  (stream->captured ? stream->captured->work : stream->work).push_back(std::move(work));
  return CUDA_SUCCESS;
}

CUresult Device::finish(CUstream stream) {
  std::vector<std::function<CUresult()>> work = std::move(resolve(stream)->work);
  resolve(stream)->work.clear();
  submissions += !work.empty() && stream;
  for (const std::function<CUresult()> &each : work)
    if (error == CUDA_SUCCESS)
      each();
  return error;
}

CUresult Device::finishAll() {
  finish(nullptr);
  for (CUstream stream : streams)
    finish(stream);
  return error;
}

CUresult Device::copy(void *to, void *from, uint64_t size, CUstream stream) {
  auto isPageable = [&](void *address) {
    return !isOfDevice(address) && !memory.find(reinterpret_cast<uint64_t>(address), 1);
  };
  stream = resolve(stream);
  // "API synchronization behavior": bytes of pageable memory are those of now, unless the
  // copy is captured; and they are written before the call returns.
  if (!stream->captured && isPageable(from)) {
    auto *bytes = static_cast<char *>(from);
    std::vector<char> now(bytes, bytes + size);
    return enqueue(stream, [=] {
      if (char *target = view(to, size))
        std::memcpy(target, now.data(), size);
      return error;
    });
  }
  CUresult result = enqueue(stream, [=] {
    char *target = view(to, size), *source = view(from, size);
    ++copies;
    if (target && source)
      std::memmove(target, source, size);
    return error;
  });
  bool isNow = result == CUDA_SUCCESS && !stream->captured && isPageable(to);
  return isNow ? finish(stream) : result;
}

CUresult Device::set(void *to, uint32_t word, uint64_t count, CUstream stream) {
  if (reinterpret_cast<uint64_t>(to) % sizeof(word))
    return kInvalidValue;
  return enqueue(stream, [=] {
    if (char *target = view(to, count * sizeof(word)))
      std::fill_n(reinterpret_cast<uint32_t *>(target), count, word);
    return error;
  });
}

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

void fake::pushContext() { ++depth; }
bool fake::popContext() { return depth && depth--; }
