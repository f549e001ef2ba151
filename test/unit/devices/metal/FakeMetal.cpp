//===- FakeMetal.cpp - libobjc.A.dylib and Metal without Apple's machine ---===//
//
// One device, whose kernels run on the host (MetalProgram). What is committed runs when
// somebody waits for it or has asked often enough, so that results which are read too early
// are wrong. WEAK_DEVICE has words "KEY=NUMBER":
//   fail=N      the N-th call that can run out of memory does
//   wait=N      the N-th batch fails while it runs
//   busy=N      work is not done when it is asked for the first N times
//   unified=0   the host does not see the device's memory
//   threads=N   of a workgroup, that pipelines can take
//   buffer=N    bytes of the largest buffer
//   devices=0   there are none
//
//===----------------------------------------------------------------------===//

#include "ObjectiveC.h"

#include "metal.h"
#include "test/unit/devices/metal/MetalProgram.h"

#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

using namespace lumen::test;
using namespace lumen::test::objc;

#define EXPORTED extern "C" __attribute__((visibility("default")))

static void count(int &number) { __atomic_add_fetch(&number, 1, __ATOMIC_RELAXED); }

static bool runsOut() {
  bool isDue = ++numCalls() == weakness("fail", 0);
  if (isDue)
    count(seen().failed);
  return isDue;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

namespace {
struct Error final : Object {
  Error(uint64_t code, const std::string &text);
  const uint64_t code;
  const std::string text;
};
} // namespace

static uint64_t codeOf(Error *self, Selector) { return self->code; }
static Object *descriptionOf(Error *self, Selector) { return autorelease(new String(self->text)); }
static const Class kError = {
    "NSError", {{"code", method(codeOf)}, {"localizedDescription", method(descriptionOf)}}};

Error::Error(uint64_t code, const std::string &text) : Object(kError), code(code), text(text) {}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {
struct Options final : Object {
  Options();
  bool fastMath = true;
  uint64_t language = 0;
};
struct Library final : Object {
  explicit Library(std::shared_ptr<MetalProgram> program);
  std::shared_ptr<MetalProgram> program;
};
struct Function final : Object {
  Function(std::shared_ptr<MetalProgram> program, std::string name);
  std::shared_ptr<MetalProgram> program;
  std::string name;
};
struct Pipeline final : Object {
  explicit Pipeline(const Function &function);
  std::shared_ptr<MetalProgram> program;
  std::string name;
};
} // namespace

static void setFastMath(Options *self, Selector, bool value) { self->fastMath = value; }
static void setLanguage(Options *self, Selector, uint64_t value) { self->language = value; }
static const Class kOptions = {
    "MTLCompileOptions",
    {{"setFastMathEnabled:", method(setFastMath)}, {"setLanguageVersion:", method(setLanguage)}}};
Options::Options() : Object(kOptions) {}

static Object *newFunction(Library *self, Selector, String *name) {
  return self->program->has(name->text) ? new Function(self->program, name->text) : nullptr;
}
static const Class kLibrary = {"MTLLibrary", {{"newFunctionWithName:", method(newFunction)}}};
Library::Library(std::shared_ptr<MetalProgram> program)
    : Object(kLibrary), program(std::move(program)) {}

static const Class kFunction = {"MTLFunction", {}};
Function::Function(std::shared_ptr<MetalProgram> program, std::string name)
    : Object(kFunction), program(std::move(program)), name(std::move(name)) {}

static uint64_t maxThreads(Pipeline *, Selector) { return weakness("threads", 1024); }
static const Class kPipeline = {"MTLComputePipelineState",
                                {{"maxTotalThreadsPerThreadgroup", method(maxThreads)}}};
Pipeline::Pipeline(const Function &function)
    : Object(kPipeline), program(function.program), name(function.name) {}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {
struct Buffer final : Object {
  Buffer(uint64_t size, uint64_t options);
  ~Buffer() override;
  char *data() { return memory.data() + kGap; }
  bool holds(uint64_t offset, uint64_t length) const {
    return offset <= size && length <= size - offset;
  }

  static constexpr size_t kGap = 256; ///< bytes before and behind that nobody may touch
  const uint64_t size;
  const bool isPrivate;

private:
  std::vector<char> memory;
};
} // namespace

static void *contentsOf(Buffer *self, Selector) { return self->isPrivate ? nullptr : self->data(); }
static const Class kBuffer = {"MTLBuffer", {{"contents", method(contentsOf)}}};

static constexpr char kPattern = 0x5A;

Buffer::Buffer(uint64_t size, uint64_t options)
    : Object(kBuffer), size(size), isPrivate(options == metal_storage_private),
      memory(size + 2 * kGap, kPattern) {}

Buffer::~Buffer() {
  for (size_t i = 0; i < kGap; ++i)
    if (memory[i] != kPattern || memory[kGap + size + i] != kPattern) {
      tellMisuse("something was written beside a buffer of " + std::to_string(size));
      break;
    }
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

namespace {
/// What was encoded, in order; an error's text, or none.
using Command = std::function<std::string()>;

struct CommandBuffer final : Object {
  CommandBuffer();
  ~CommandBuffer() override;
  void run();

  std::vector<Command> commands;
  std::vector<Object *> held; ///< until it has run
  bool isEncoding = false;
  uint64_t status = 0; ///< MTLCommandBufferStatus
  std::unique_ptr<Error> error;
};

struct Encoder final : Object {
  Encoder(const Class &isa, CommandBuffer &commands) : Object(isa), buffer(commands) {
    buffer.retain();
    if (buffer.isEncoding)
      tellMisuse("two encoders at a time");
    buffer.isEncoding = true;
  }
  ~Encoder() override {
    if (!hasEnded)
      tellMisuse("an encoder goes without endEncoding");
    buffer.release();
  }
  void hold(Object *object) {
    object->retain();
    buffer.held.push_back(object);
  }

  CommandBuffer &buffer;
  bool hasEnded = false;
  Pipeline *pipeline = nullptr;
  std::map<uint64_t, std::pair<Buffer *, uint64_t>> bound;
};
} // namespace

static void endEncoding(Encoder *self, Selector) {
  self->hasEnded = true;
  self->buffer.isEncoding = false;
}

static void setPipeline(Encoder *self, Selector, Pipeline *pipeline) {
  self->hold(pipeline);
  self->pipeline = pipeline;
}

static void setBuffer(Encoder *self, Selector, Buffer *buffer, uint64_t offset, uint64_t index) {
  if (!buffer->holds(offset, 0) || offset % 256 || index > 30)
    return tellMisuse("setBuffer: offset " + std::to_string(offset) + " of " +
                      std::to_string(buffer->size) + ", index " + std::to_string(index));
  self->hold(buffer);
  self->bound[index] = {buffer, offset};
}

static void dispatch(Encoder *self, Selector, metal_size groups, metal_size threads) {
  if (!self->pipeline || self->hasEnded)
    return tellMisuse("dispatchThreadgroups: without a pipeline, or after endEncoding");
  count(seen().dispatches);
  std::vector<void *> pointers;
  for (auto &[index, place] : self->bound) {
    if (index != pointers.size())
      break;
    pointers.push_back(place.first->data() + place.second);
  }
  Pipeline *pipeline = self->pipeline;
  self->buffer.commands.push_back([=] {
    return pipeline->program->run(pipeline->name, pointers, static_cast<uint32_t>(groups.width),
                                  static_cast<uint32_t>(threads.width));
  });
}

static void copy(Encoder *self, Selector, Buffer *from, uint64_t fromOffset, Buffer *to,
                 uint64_t toOffset, uint64_t size) {
  if (!from->holds(fromOffset, size) || !to->holds(toOffset, size) || self->hasEnded)
    return tellMisuse("a copy beyond a buffer, or after endEncoding");
  count(seen().copies);
  self->hold(from);
  self->hold(to);
  self->buffer.commands.push_back([=] {
    std::memmove(to->data() + toOffset, from->data() + fromOffset, size);
    return std::string();
  });
}

static void fill(Encoder *self, Selector, Buffer *to, metal_range range, uint8_t value) {
  if (!to->holds(range.begin, range.length) || self->hasEnded)
    return tellMisuse("a fill beyond a buffer, or after endEncoding");
  self->hold(to);
  self->buffer.commands.push_back([=] {
    std::memset(to->data() + range.begin, value, range.length);
    return std::string();
  });
}

static const Class kComputeEncoder = {
    "MTLComputeCommandEncoder",
    {{"setComputePipelineState:", method(setPipeline)},
     {"setBuffer:offset:atIndex:", method(setBuffer)},
     {"dispatchThreadgroups:threadsPerThreadgroup:", method(dispatch)},
     {"endEncoding", method(endEncoding)}}};
static const Class kBlitEncoder = {
    "MTLBlitCommandEncoder",
    {{"copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", method(copy)},
     {"fillBuffer:range:value:", method(fill)},
     {"endEncoding", method(endEncoding)}}};

static Object *computeEncoder(CommandBuffer *self, Selector) {
  return autorelease(new Encoder(kComputeEncoder, *self));
}
static Object *blitEncoder(CommandBuffer *self, Selector) {
  return autorelease(new Encoder(kBlitEncoder, *self));
}

static void commit(CommandBuffer *self, Selector) {
  if (self->isEncoding || self->status)
    tellMisuse("commit while something is encoded, or a second time");
  count(seen().submissions);
  self->status = 2; // committed
}

static void waitUntilCompleted(CommandBuffer *self, Selector) {
  if (!self->status)
    tellMisuse("a wait for what was not committed");
  self->run();
}

static uint64_t statusOf(CommandBuffer *self, Selector) {
  static std::atomic<long> asked{0};
  if (self->status != 2)
    return self->status;
  count(seen().questions);
  if (++asked > weakness("busy", 0)) {
    asked = 0;
    self->run();
  }
  return self->status;
}

static Object *errorOf(CommandBuffer *self, Selector) { return self->error.get(); }

static const Class kCommandBuffer = {"MTLCommandBuffer",
                                     {{"computeCommandEncoder", method(computeEncoder)},
                                      {"blitCommandEncoder", method(blitEncoder)},
                                      {"commit", method(commit)},
                                      {"waitUntilCompleted", method(waitUntilCompleted)},
                                      {"status", method(statusOf)},
                                      {"error", method(errorOf)}}};

CommandBuffer::CommandBuffer() : Object(kCommandBuffer) {}

CommandBuffer::~CommandBuffer() {
  for (Object *object : held)
    object->release();
}

void CommandBuffer::run() {
  if (status != 2)
    return;
  count(seen().waits);
  std::string problem = seen().waits == weakness("wait", 0) ? "the device is lost" : "";
  for (size_t i = 0; i < commands.size() && problem.empty(); ++i)
    problem = commands[i]();
  if (!problem.empty())
    error = std::make_unique<Error>(4, problem);
  status = error ? metal_status_error : metal_status_completed;
}

//===----------------------------------------------------------------------===//
// Queues and the device
//===----------------------------------------------------------------------===//

static Object *commandBuffer(Object *, Selector) {
  return runsOut() ? nullptr : autorelease(new CommandBuffer());
}
static const Class kQueue = {"MTLCommandQueue", {{"commandBuffer", method(commandBuffer)}}};

static Object *nameOf(Object *, Selector) { return autorelease(new String("Fake M1")); }
static bool isUnified(Object *, Selector) { return weakness("unified", 1); }
static uint64_t workingSet(Object *, Selector) { return 8ull << 30; }
static uint64_t allocated(Object *, Selector) { return 1ull << 30; }
static uint64_t maxBuffer(Object *, Selector) { return weakness("buffer", 4l << 30); }
static uint64_t maxShared(Object *, Selector) { return 32 << 10; }

static Object *newLibrary(Object *, Selector, String *source, Options *options, Object **error) {
  if (options->fastMath || options->language < metal_language_2_4)
    tellMisuse("kernels of exact arithmetic and Metal 2.4 are compiled otherwise");
  std::string reason;
  if (std::shared_ptr<MetalProgram> program = MetalProgram::compile(source->text, reason))
    return new Library(std::move(program));
  std::fprintf(stderr, "fake metal: %s\n", reason.c_str());
  *error = autorelease(new Error(3, reason));
  return nullptr;
}

static Object *newPipeline(Object *, Selector, Function *function, Object **error) {
  (void)error;
  return new Pipeline(*function);
}

static Object *newBuffer(Object *, Selector, uint64_t size, uint64_t options) {
  bool isTooLarge = size > static_cast<uint64_t>(weakness("buffer", 4l << 30));
  return isTooLarge || runsOut() ? nullptr : new Buffer(size, options);
}

static Object *newQueue(Object *, Selector) { return runsOut() ? nullptr : new Object(kQueue); }

static const Class kDevice = {"MTLDevice",
                              {{"name", method(nameOf)},
                               {"hasUnifiedMemory", method(isUnified)},
                               {"recommendedMaxWorkingSetSize", method(workingSet)},
                               {"currentAllocatedSize", method(allocated)},
                               {"maxBufferLength", method(maxBuffer)},
                               {"maxThreadgroupMemoryLength", method(maxShared)},
                               {"newLibraryWithSource:options:error:", method(newLibrary)},
                               {"newComputePipelineStateWithFunction:error:", method(newPipeline)},
                               {"newBufferWithLength:options:", method(newBuffer)},
                               {"newCommandQueue", method(newQueue)}}};

//===----------------------------------------------------------------------===//
// Functions and classes
//===----------------------------------------------------------------------===//

static Object *theDevice() {
  static Object device(kDevice, /*isForEver=*/true);
  return &device;
}

static uint64_t numDevices(Object *, Selector) { return weakness("devices", 1); }
static Object *deviceAt(Object *, Selector, uint64_t) { return theDevice(); }
static const Class kArray = {"NSArray",
                             {{"count", method(numDevices)}, {"objectAtIndex:", method(deviceAt)}}};

EXPORTED Object *MTLCopyAllDevices() {
  static Object devices(kArray, /*isForEver=*/true);
  return &devices;
}

EXPORTED Object *MTLCreateSystemDefaultDevice() { return theDevice(); }

static Object *newOptions(Object *, Selector) { return new Options(); }
static const Class kOptionsClass = {"MTLCompileOptions", {{"new", method(newOptions)}}};

__attribute__((constructor)) static void addClasses() {
  static Object options(kOptionsClass, /*isForEver=*/true);
  addClass(options);
}
