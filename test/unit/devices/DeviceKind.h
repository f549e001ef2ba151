// The kinds of devices that one suite of tests runs on.
#ifndef LUMEN_TEST_DEVICEKIND_H
#define LUMEN_TEST_DEVICEKIND_H

#include "test/driver/Inputs/weak_device.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lumen::test {

constexpr uint32_t sumBlock = 64; // threads of a workgroup

// A kind of device, and the library before or in place of its driver, which is as weak as
// WEAK_DEVICE says.
struct DeviceKind {
  const char *name;       // of the runtime's driver
  uint32_t target;        // lumen_abi_target
  uint64_t levelFeatures; // of lumen_abi_level
  const char *library;    // "": it was not built
  bool isRecorded;        // batches are recorded once, with barriers, and submitted again
  bool isApart;           // its memory is never the host's, and parameters are copied there
  const char *lost;       // what a lost device is told as, behind the model's name

  // Code of a kernel: y[i] = 1 + sum of x_k[i] over floats, a thread for each i; where the first
  // x is negative and the kernel tells of faults, a fault about i and the number of units.
  std::string (*makeSum)(const std::string &name, uint32_t numInputs, bool hasFaults);
  // Makes ready what the library needs; "" or what is missing.
  std::string (*prepare)(const DeviceKind &kind);

  // That models are made for.
  static const DeviceKind *current;
};

// All there are.
const std::vector<DeviceKind> &deviceKinds();

} // namespace lumen::test

#endif
