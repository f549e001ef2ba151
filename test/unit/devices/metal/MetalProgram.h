//===- MetalProgram.h - kernels in Metal's language on the host --*- C++ -*-===//
#ifndef LUMEN_TEST_UNIT_DEVICES_METAL_METALPROGRAM_H
#define LUMEN_TEST_UNIT_DEVICES_METAL_METALPROGRAM_H

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lumen::test {

class MetalProgram {
public:
  virtual ~MetalProgram() = default;
  /// Null, with the compiler's words.
  static std::shared_ptr<MetalProgram> compile(const std::string &text, std::string &error);
  virtual bool has(const std::string &kernel) const = 0;
  /// All workgroups of a launch, one after the other; what went wrong, or none.
  virtual std::string run(const std::string &kernel, const std::vector<void *> &bound,
                          uint32_t workgroups, uint32_t threads) = 0;
};

} // namespace lumen::test

#endif // LUMEN_TEST_UNIT_DEVICES_METAL_METALPROGRAM_H
