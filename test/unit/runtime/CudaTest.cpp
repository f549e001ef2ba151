// The runtime's own declarations of CUDA are those of NVIDIA's header.
#include "cuda.h"

#include "ForeignHeader.h"

#include <gtest/gtest.h>

#ifdef LUMEN_CUDA_HEADER
// The header includes these, and they have no place in a namespace.
#include <stdint.h>
#include <stdlib.h>

// The same names twice: those of the header live in a namespace.
namespace header {
#include LUMEN_CUDA_HEADER
void none();
} // namespace header

namespace {

using lumen::test::signature;

// The driver computes with addresses of the device as with pointers.
std::string asPointers(std::string text) {
  for (size_t at; (at = text.find("number8")) != std::string::npos;)
    text.replace(at, 7, "pointer8");
  return text;
}

TEST(CudaTest, HasTheHeadersFunctions) {
#define X(result, name, cuda_symbol, hip_symbol, arguments)                                        \
  if (std::string(#cuda_symbol) != "none")                                                         \
    EXPECT_EQ(asPointers(signature(decltype(lumen_cuda::name){})),                                 \
              asPointers(signature(decltype (&header::cuda_symbol){})))                                         \
        << #name;
  LUMEN_CUDA_FUNCTIONS(X)
#undef X
}

TEST(CudaTest, HasTheHeadersNumbers) {
#define NUMBER(name) EXPECT_EQ(int64_t{::name}, int64_t{header::name}) << #name
  NUMBER(CUDA_SUCCESS);
  NUMBER(CUDA_ERROR_OUT_OF_MEMORY);
  NUMBER(CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  NUMBER(CUDA_ERROR_NOT_READY);
  NUMBER(CU_STREAM_NON_BLOCKING);
  NUMBER(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
#undef NUMBER
}
} // namespace
#else
TEST(CudaTest, HasTheHeadersFunctions) { GTEST_SKIP() << "there is no cuda.h"; }
#endif
