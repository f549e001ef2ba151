//===- ObjectiveC.cpp - see ObjectiveC.h ----------------------------------===//

#include "ObjectiveC.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <vector>

using namespace lumen::test::objc;

#define EXPORTED extern "C" __attribute__((visibility("default")))

//===----------------------------------------------------------------------===//
// What is seen
//===----------------------------------------------------------------------===//

weak_device_counts &lumen::test::objc::seen() {
  static weak_device_counts counts;
  return counts;
}

std::atomic<int> &lumen::test::objc::numCalls() {
  static std::atomic<int> count{0};
  return count;
}

std::atomic<int> &Object::live() {
  static std::atomic<int> count{0};
  return count;
}

void lumen::test::objc::tellMisuse(const std::string &what) {
  __atomic_add_fetch(&seen().misuses, 1, __ATOMIC_RELAXED);
  std::fprintf(stderr, "fake metal: misuse: %s\n", what.c_str());
}

long lumen::test::objc::weakness(const char *key, long otherwise) {
  const char *all = std::getenv("WEAK_DEVICE");
  const char *found = all ? std::strstr(all, key) : nullptr;
  return found ? std::strtol(found + std::strlen(key) + 1, nullptr, 10) : otherwise;
}

//===----------------------------------------------------------------------===//
// Objects
//===----------------------------------------------------------------------===//

void Object::release() {
  int left = --references;
  if (left == 0)
    delete this;
  else if (left < 0)
    tellMisuse(std::string(isa.name) + " is released too often");
}

static thread_local std::vector<std::vector<Object *>> pools;

Object *lumen::test::objc::autorelease(Object *object) {
  if (object && pools.empty())
    tellMisuse(std::string(object->isa.name) + " is there for ever: no pool is open");
  else if (object)
    pools.back().push_back(object);
  return object;
}

EXPORTED void *objc_autoreleasePoolPush() {
  pools.emplace_back();
  return reinterpret_cast<void *>(pools.size());
}

EXPORTED void objc_autoreleasePoolPop(void *pool) {
  if (reinterpret_cast<size_t>(pool) != pools.size())
    return tellMisuse("a pool is popped that is not the innermost one");
  std::vector<Object *> objects = std::move(pools.back());
  pools.pop_back();
  for (Object *object : objects)
    object->release();
}

EXPORTED Object *objc_retain(Object *object) {
  if (object)
    object->retain();
  return object;
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

EXPORTED Selector sel_registerName(const char *name) {
  static std::mutex mutex;
  static std::set<std::string> names;
  std::lock_guard<std::mutex> lock(mutex);
  return names.insert(name).first->c_str();
}

static void *answerNil(Object *, Selector) { return nullptr; }
static void releaseObject(Object *self, Selector) { self->release(); }

extern "C" __attribute__((used, visibility("hidden"))) Method lumen_find_method(Object *self,
                                                                                Selector selector) {
  if (!self)
    return method(answerNil);
  if (!std::strcmp(selector, "release"))
    return method(releaseObject);
  for (const Class::Row &row : self->isa.methods)
    if (!std::strcmp(row.selector, selector))
      return row.method;
  std::fprintf(stderr, "fake metal: %s does not understand %s\n", self->isa.name, selector);
  std::abort();
}

// Finds the method, and goes on there with the arguments as they came.
#if defined(__x86_64__)
asm(R"(
.globl objc_msgSend
.type objc_msgSend, @function
objc_msgSend:
  push %rdi
  push %rsi
  push %rdx
  push %rcx
  push %r8
  push %r9
  sub $8, %rsp
  call lumen_find_method
  add $8, %rsp
  pop %r9
  pop %r8
  pop %rcx
  pop %rdx
  pop %rsi
  pop %rdi
  jmp *%rax
.size objc_msgSend, . - objc_msgSend
)");
#elif defined(__aarch64__)
asm(R"(
.globl objc_msgSend
.type objc_msgSend, %function
objc_msgSend:
  stp x29, x30, [sp, #-80]!
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  bl lumen_find_method
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldp x2, x3, [sp, #32]
  ldp x4, x5, [sp, #48]
  ldp x6, x7, [sp, #64]
  ldp x29, x30, [sp], #80
  br x16
.size objc_msgSend, . - objc_msgSend
)");
#endif

//===----------------------------------------------------------------------===//
// Strings
//===----------------------------------------------------------------------===//

static const char *utf8Of(String *self, Selector) { return self->text.c_str(); }
static const Class kString = {"a string", {{"UTF8String", method(utf8Of)}}};

String::String(std::string text) : Object(kString), text(std::move(text)) {}

static Object *stringOf(Object *, Selector, const char *text) {
  return autorelease(new String(text));
}
static const Class kStrings = {"NSString", {{"stringWithUTF8String:", method(stringOf)}}};

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

static std::vector<Object *> &classes() {
  static Object strings(kStrings, /*isForEver=*/true);
  static std::vector<Object *> all{&strings};
  return all;
}

void lumen::test::objc::addClass(Object &object) { classes().push_back(&object); }

EXPORTED Object *objc_getClass(const char *name) {
  for (Object *object : classes())
    if (!std::strcmp(object->isa.name, name))
      return object;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

EXPORTED void weak_device_count(weak_device_counts *counts) {
  *counts = seen();
  counts->live = Object::live();
  seen() = {};
  numCalls() = 0;
}
