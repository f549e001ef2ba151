// Models that lumenc has compiled, run by the runtime that the sanitizers see: branches, loops,
// sizes that a run finds, and memory that the host does not see.
#include "test/unit/devices/DeviceTest.h"

#include <algorithm>
#include <cmath>
#include <dlfcn.h>
#include <filesystem>
#include <set>
#include <thread>

using namespace lumen::test;

namespace {

// One of the artifacts in the folder that LUMEN_ARTIFACTS names, with the runtime of this
// program in place of its own.
struct Artifact {
  explicit Artifact(const std::string &path) {
    lumen_status status = {};
    EXPECT_EQ(lumen_library_open(path.c_str(), &library, &status), LUMEN_OK) << status.message;
    if (library.module)
      module = {&lumen_runtime_api, library.module->model};
  }
  ~Artifact() { lumen_library_close(&library); }

  lumen_library library = {};
  lumen_module module = {};
};

// Inputs of all kinds that these models have; what is dynamic has this size.
struct Inputs {
  Inputs(const lumen_module &module, int64_t size) {
    uint32_t count;
    const lumen_value_info *infos = lumen_inputs(&module, &count);
    shapes.resize(count);
    data.resize(count);
    for (uint32_t i = 0; i < count; ++i) {
      int64_t elements = 1;
      for (int32_t d = 0; d < infos[i].rank; ++d) {
        int64_t extent = infos[i].dims[d].extent;
        shapes[i].push_back(extent < 0 ? size : extent);
        elements *= shapes[i].back();
      }
      data[i].resize(elements + 1); // eight bytes for each
      for (int64_t e = 0; e < elements; ++e)
        if (infos[i].dtype == LUMEN_F32)
          reinterpret_cast<float *>(data[i].data())[e] = static_cast<float>(e * 37 % 19) / 10 - 1;
        else if (infos[i].dtype == LUMEN_I64)
          data[i][e] = infos[i].rank ? 1 : size; // a scalar counts
        else
          reinterpret_cast<char *>(data[i].data())[e] = 1;
      values.push_back(lumen_tensor_value(data[i].data(), static_cast<lumen_dtype>(infos[i].dtype),
                                          infos[i].rank, shapes[i].data()));
    }
  }
  std::vector<std::vector<int64_t>> shapes, data;
  std::vector<lumen_value> values;
};

using Results = std::vector<std::vector<float>>;

// The outputs that are floats, of a run in this context.
Results run(lumen_context *context, const Inputs &inputs, uint32_t numOutputs) {
  lumen_status status = {};
  std::vector<lumen_value> outputs(numOutputs);
  EXPECT_EQ(lumen_run_async(context, inputs.values.data(), inputs.values.size(), outputs.data(),
                            numOutputs, &status),
            LUMEN_OK)
      << status.message;
  EXPECT_EQ(lumen_synchronize(context, &status), LUMEN_OK) << status.message;
  Results results;
  for (const lumen_value &output : outputs) {
    const lumen_tensor &tensor = output.u.tensor;
    int64_t elements = 1;
    for (int32_t d = 0; d < tensor.ndim; ++d)
      elements *= tensor.shape[d];
    auto *first = static_cast<const float *>(tensor.data);
    if (tensor.data && tensor.dtype.code == 2 && tensor.dtype.bits == 32)
      results.emplace_back(first, first + elements);
  }
  return results;
}

// Those of all sizes, twice over.
std::vector<Results> runAll(lumen_model *model, const lumen_module &module) {
  uint32_t numOutputs;
  (void)lumen_outputs(&module, &numOutputs);
  lumen_status status = {};
  lumen_context *context = nullptr;
  EXPECT_EQ(lumen_context_create(model, nullptr, &context, &status), LUMEN_OK) << status.message;
  std::vector<Results> results;
  for (int64_t size : {3, 5, 3, 5})
    results.push_back(run(context, Inputs(module, size), numOutputs));
  lumen_context_free(context);
  return results;
}

void expectNear(const std::vector<Results> &found, const std::vector<Results> &expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t run = 0; run < found.size(); ++run) {
    ASSERT_EQ(found[run].size(), expected[run].size());
    for (size_t o = 0; o < found[run].size(); ++o) {
      ASSERT_EQ(found[run][o].size(), expected[run][o].size());
      for (size_t i = 0; i < found[run][o].size(); ++i)
        ASSERT_NEAR(found[run][o][i], expected[run][o][i],
                    1e-4 + 1e-3 * std::fabs(expected[run][o][i]))
            << "run " << run << ", output " << o << ", element " << i;
    }
  }
}

bool hasCodeFor(const lumen_module &module, const DeviceKind &kind) {
  const auto &model = *static_cast<const lumen_abi_model *>(module.model);
  return std::any_of(model.levels, model.levels + model.num_levels,
                     [&](const lumen_abi_level &level) { return level.target == kind.target; });
}

struct ArtifactTest : DeviceTest {};

TEST_P(ArtifactTest, RunAsOnTheCpu) {
  const char *folder = std::getenv("LUMEN_ARTIFACTS");
  if (!folder)
    GTEST_SKIP() << "LUMEN_ARTIFACTS names no folder of artifacts";
  std::set<std::string> paths;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".so")
      paths.insert(entry.path());
  ASSERT_FALSE(paths.empty()) << folder;
  for (const std::string &path : paths) {
    SCOPED_TRACE(path);
    Artifact artifact(path);
    ASSERT_TRUE(artifact.module.model);
    if (!hasCodeFor(artifact.module, kind()))
      GTEST_SKIP() << "the artifacts have no code for " << name();
    OpenModel cpu(&artifact.module, "cpu");
    ASSERT_STREQ(cpu.status.message, "");
    std::vector<Results> expected = runAll(cpu.model, artifact.module);
    ASSERT_FALSE(expected[0].empty());
    for (bool isHidden : {false, true}) {
      Weak weak("", isHidden);
      OpenModel device(&artifact.module, name());
      ASSERT_STREQ(device.status.message, "");
      std::vector<Results> others;
      std::thread other([&] { others = runAll(device.model, artifact.module); });
      expectNear(runAll(device.model, artifact.module), expected);
      other.join();
      expectNear(others, expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ArtifactTest, testing::ValuesIn(deviceKinds()), kindName);

} // namespace
