// The fake model as an artifact. FAKE_WEIGHTS_FILE: its weights lie beside it.
// FAKE_NEWER: its runtime is of a version that does not exist yet.
#include "FakeModel.h"

namespace {

struct Artifact : lumen::test::FakeModel {
  Artifact() {
#ifdef FAKE_WEIGHTS_FILE
    abi.weights = nullptr;
    abi.weights_file = "fake.weights";
    abi.weights_id = lumen::test::weightsId;
#endif
#ifdef FAKE_NEWER
    newer = lumen_runtime_api;
    newer.version = LUMEN_API_VERSION + 1;
    module.api = &newer;
#endif
  }
  lumen_api newer = {};
} artifact;

} // namespace

extern "C" __attribute__((visibility("default"))) const lumen_module *lumen_module_fake(void) {
  return &artifact.module;
}
