// Models by hand, with kernels for the CPU and for a kind of device.
#ifndef LUMEN_TEST_DEVICEMODEL_H
#define LUMEN_TEST_DEVICEMODEL_H

#include "test/unit/devices/DeviceKind.h"
#include "test/unit/runtime/TableModel.h"

namespace lumen::test {

constexpr const char *deviceLevel = "device-test";

// All values are `n` floats; see DeviceKind::makeSum for what kernels compute.
class DeviceModel : public TableModel {
public:
  static constexpr uint32_t mostInputs = 100;

  explicit DeviceModel(int64_t n = 1000)
      : TableModel("made"), n(n),
        kind(*DeviceKind::current), levels{{deviceLevel, kind.target, 0, kind.levelFeatures},
                                           {lowLevel, LUMEN_ABI_CPU, 0, lowFeatures}} {
    for (uint32_t i = 0; i <= mostInputs; ++i)
      (void)constant(i);
    bytes = constant(n * sizeof(float));
  }

  uint32_t in(const char *name) { return sized(input(name, LUMEN_ABI_F32, {fixed(n)})); }
  uint32_t out(const char *name) { return sized(output(name, LUMEN_ABI_F32, {fixed(n)})); }
  uint32_t slot(uint32_t first, uint32_t last) { return arena(bytes, first, last); }
  // A buffer that is one value long.
  uint32_t sized(uint32_t buffer) {
    buffers[buffer].size_expr = bytes;
    return buffer;
  }

  // Gives the variant for devices, to be changed before the model is opened.
  lumen_abi_variant &sum(std::vector<uint32_t> inputs, uint32_t result, bool hasFaults = false) {
    auto numInputs = static_cast<uint32_t>(inputs.size());
    inputs.push_back(result);
    uint32_t row = launch(sumOnCpu, inputs, 1, {numInputs});
    lumen_abi_kernel &kernel = kernels[launches[row].kernel];
    Code &made = code.emplace_back(kind, kernel.name, numInputs, hasFaults);
    lumen_abi_variant &device = made.variants[0];
    device = {0, 0, made.bytes.data(), made.bytes.size(), nullptr, nullptr, n, 1, 0, &made.launch};
    made.variants[1] = kernel.variants[0];
    made.variants[1].level = 1;
    made.variants[1].grid = n;
    made.variants[1].scratch_size = LUMEN_ALIGNMENT;
    kernel.num_variants = 2;
    kernel.variants = made.variants;
    return device;
  }

  lumen_module *finish() {
    finishEntry();
    lumen_module *module = TableModel::finish();
    abi.num_levels = 2;
    abi.levels = levels;
    return module;
  }

  const int64_t n;

private:
  struct Code {
    Code(const DeviceKind &kind, const char *name, uint32_t numInputs, bool hasFaults)
        : bytes(kind.makeSum(name, numInputs, hasFaults)),
          launch{sumBlock, sumBlock, 0, hasFaults ? uint32_t(LUMEN_ABI_GPU_FAULTS) : 0, 0} {}
    std::string bytes;
    lumen_abi_gpu_launch launch;
    lumen_abi_variant variants[2];
  };

  static int sumOnCpu(void *const *args, const int64_t *sizes, int64_t begin, int64_t end, int32_t,
                      void *) {
    for (int64_t i = begin; i < end; ++i) {
      float sum = 1;
      for (int64_t k = sizes[0]; k-- > 0;)
        sum += static_cast<const float *>(args[k])[i];
      static_cast<float *>(args[sizes[0]])[i] = sum;
    }
    return LUMEN_ABI_OK;
  }

  uint32_t bytes;
  std::deque<Code> code; // that the tables point to
  const DeviceKind &kind;
  lumen_abi_level levels[2];
};

// Values of an input or output.
struct Values {
  explicit Values(const DeviceModel &model, float scale = 0) : shape{model.n}, data(model.n) {
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = scale * static_cast<float>(i % 50);
  }
  lumen_value value() const { return lumen_tensor_value(data.data(), LUMEN_F32, 1, shape); }

  int64_t shape[1];
  std::vector<float> data;
};

inline const float *floats(const lumen_value &value) {
  return static_cast<const float *>(value.u.tensor.data);
}

} // namespace lumen::test

#endif
