//===- FakeDevice.h - a CUDA device that this machine plays ------*- C++ -*-===//
//
// Behind a libcuda.so.1 of its own; its kernels run on the machine of test/ptx. It is as lazy
// as CUDA may be: what goes to a stream happens when somebody waits for the stream. It is as
// strict as CUDA may be: the host faults where it touches the device's memory, and what is
// wrong is told on stderr and by every later call.
//
// WEAK_DEVICE says how it is, in words "KEY=NUMBER":
//   fail=N         the N-th call that can run out of memory does
//   lost=N         the N-th launch loses the device
//   wait=N         the N-th wait for a stream does
//   busy=N         a stream is not done when it is asked for the first N times
//   version=N      of the driver: 13000
//   capability=N   10 * major + minor: 90
//   ptx=N          the latest version of PTX that it reads: 90
//   devices=N      how many there are: 1
//   memory=N       bytes, at most 4 GiB, which are the default
//   shared=N, threads=N   of a workgroup: bytes, and how many
//   unified=1      its memory is the host's
//   checks=0       no look-out for races and writes to read-only memory, which take time
// At the end it says what was not released; and how much it did, where WEAK_DEVICE is set.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_TEST_FAKE_CUDA_FAKEDEVICE_H
#define LUMEN_TEST_FAKE_CUDA_FAKEDEVICE_H

#include "test/ptx/Machine.h"

#include "cuda.h"
#include "test/driver/Inputs/weak_device.h"

#include <functional>
#include <map>
#include <set>
#include <thread>

/// What the API's handles point to.
struct CUmod_st {
  std::unique_ptr<lumen::ptx::Program> program;
  std::map<std::string, std::unique_ptr<CUfunc_st>> functions;
};

struct CUfunc_st {
  CUmodule module;
  const lumen::ptx::Function *entry;
};

struct CUgraph_st {
  std::vector<std::function<CUresult()>> work;
};

struct CUgraphExec_st {
  std::vector<std::function<CUresult()>> work;
};

struct CUstream_st {
  std::vector<std::function<CUresult()>> work;
  CUgraph captured = nullptr; ///< what is captured goes here
  std::thread::id capturer;
  bool isCaptureBroken = false;
};

struct CUctx_st {};

namespace lumen::fake {

/// Errors that cuda.h does not need.
enum : CUresult {
  kInvalidValue = 1,
  kNotInitialized = 3,
  kInvalidDevice = 101,
  kInvalidContext = 201,
  kNoBinary = 209,
  kInvalidPtx = 218,
  kInvalidHandle = 400,
  kNotFound = 500,
  kIllegalAddress = 700,
  kOutOfResources = 701,
  kLaunchFailed = 719,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
};

/// What WEAK_DEVICE says of `key`.
uint64_t trait(const char *key, uint64_t otherwise);

/// What is current for the thread.
void pushContext();
/// False: nothing is.
bool popContext();

/// One call at a time: the API holds a lock.
class Device {
public:
  static Device &get();
  ~Device();

  /// Every call that may fail begins so: an error that stays, or one that is due.
  CUresult begin(bool canRunOut = false);
  /// The same of a call that needs a current context, which must not be captured unless
  /// `mayBeCaptured`.
  CUresult beginInContext(bool canRunOut = false, bool mayBeCaptured = false);
  /// `what` is told on stderr; it stays.
  CUresult fail(CUresult result, const std::string &what);
  CUresult lose() { return fail(kLaunchFailed, "the device is lost"); }
  /// The same of what the caller must not do, which stays only if it goes on unseen.
  CUresult misuse(CUresult result, const std::string &what);

  CUresult allocate(uint64_t size, void *&address);
  CUresult allocateOnHost(uint64_t size, void *&address);
  CUresult release(void *address, bool isOnHost);
  uint64_t getFree() const { return getTotal() - used; }
  uint64_t getTotal() const;

  CUresult load(const char *text, CUmodule &module);
  CUresult find(CUmodule module, const char *name, CUfunction &function);

  CUresult copy(void *to, void *from, uint64_t size, CUstream stream);
  CUresult set(void *to, uint32_t word, uint64_t count, CUstream stream);
  CUresult launch(CUfunction function, const uint32_t (&grid)[3], const uint32_t (&block)[3],
                  uint32_t shared, void **parameters, CUstream stream);
  /// Appends to a stream, or to what it captures.
  CUresult enqueue(CUstream stream, std::function<CUresult()> work);
  /// Does all of a stream's work.
  CUresult finish(CUstream stream);
  /// Of all streams.
  CUresult finishAll();

  /// Null is the default stream.
  CUstream resolve(CUstream stream) { return stream ? stream : &defaultStream; }
  /// Streams whose work this thread captures.
  std::vector<CUstream> captured() const;
  /// A reference to the primary context less; with the last one errors go.
  void releaseContext();
  /// Whether what the trait `key` numbers is due, at the `count`-th time.
  bool isDue(const char *key, uint32_t count) { return count == trait(key, 0); }

  /// What weak_device_count tells, and forgets.
  weak_device_counts count();

  bool isInitialized = false;
  uint32_t numContexts = 0; ///< references to the primary context
  uint32_t questions = 0;   ///< whether a stream is done
  uint32_t waits = 0;
  std::set<CUmodule> modules;
  std::set<CUstream> streams;
  std::set<CUgraph> graphs;
  std::set<CUgraphExec> graphExecs;
  uint32_t graphLaunches = 0;

private:
  Device();
  /// The host's view of bytes that may be the device's; null after an error.
  char *view(void *address, uint64_t size);
  bool isOfDevice(const void *address) const;
  CUresult runKernel(CUfunction function, const lumen::ptx::Launch &launch);

  char *reserved; ///< addresses that the host faults at
  uint64_t used = 0;
  lumen::ptx::Memory memory;
  std::map<uint64_t, std::vector<char>> storages;                     ///< of the device, by address
  std::map<uint64_t, std::unique_ptr<char, void (*)(void *)>> onHost; ///< by address
  CUstream_st defaultStream;
  CUresult error = CUDA_SUCCESS; ///< that stays
  uint32_t fallible = 0, launches = 0, copies = 0, submissions = 0, failed = 0, misuses = 0;
  uint32_t allLaunches = 0;
};

} // namespace lumen::fake

#endif // LUMEN_TEST_FAKE_CUDA_FAKEDEVICE_H
