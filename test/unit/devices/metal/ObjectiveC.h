//===- ObjectiveC.h - as much of the Objective-C runtime as Metal's driver uses -===//
//
// Objects count their references, messages are calls of C functions that a class has for
// selectors. What Apple's runtime leaves undefined is a misuse, and told.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_TEST_UNIT_DEVICES_METAL_OBJECTIVEC_H
#define LUMEN_TEST_UNIT_DEVICES_METAL_OBJECTIVEC_H

#include "test/driver/Inputs/weak_device.h"

#include <atomic>
#include <initializer_list>
#include <string>

namespace lumen::test::objc {

using Selector = const char *; // one address for each text
using Method = void (*)();

struct Class {
  struct Row {
    const char *selector;
    Method method;
  };
  const char *name;
  std::initializer_list<Row> methods;
};

/// A method as the table has it: a function of the object, the selector and the arguments.
template <typename Function> Method method(Function *function) {
  return reinterpret_cast<Method>(function);
}

class Object {
public:
  explicit Object(const Class &isa, bool isForEver = false) : isa(isa), isForEver(isForEver) {
    live() += !isForEver;
  }
  virtual ~Object() { live() -= !isForEver; }

  void retain() { ++references; }
  void release();

  static std::atomic<int> &live();

  const Class &isa;
  const bool isForEver; ///< is not counted as live

private:
  std::atomic<int> references{1};
};

/// Is released when the thread's innermost pool ends; null stays null.
Object *autorelease(Object *object);

void tellMisuse(const std::string &what);
/// What the library has seen; of all threads.
weak_device_counts &seen();
/// What WEAK_DEVICE says of a key.
long weakness(const char *key, long otherwise);

/// Makes one known to objc_getClass, by the name of its class; it stays the caller's.
void addClass(Object &object);

/// How often calls that can run out of memory were made since the counts were last asked for.
std::atomic<int> &numCalls();

/// A string of Objective-C.
class String final : public Object {
public:
  explicit String(std::string text);
  const std::string text;
};

} // namespace lumen::test::objc

#endif // LUMEN_TEST_UNIT_DEVICES_METAL_OBJECTIVEC_H
