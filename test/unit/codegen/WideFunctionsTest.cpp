//===- WideFunctionsTest.cpp - functions of f32 that are computed in f64 --===//
//
// Where they are hard: at huge and tiny arguments, near zeros and poles, at quotients of many
// bits. Compared with the machine's own functions of doubles.
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace lumen;
using namespace lumen::test;
using llvm::formatv;

namespace {

/// What a kernel for NVIDIA's devices makes of pairs of numbers; unary functions get the first.
std::vector<float> compute(const std::string &expression, std::vector<float> x,
                           std::vector<float> y) {
  std::string text = formatv(R"(
    dispatch.kernel @k(%x: tensor<{0}xf32>, %y: tensor<{0}xf32>) -> tensor<{0}xf32> {{
      %0 = {1}
      dispatch.yield %0 : tensor<{0}xf32>
    })",
                             x.size(), expression);
  std::vector<float> result(x.size());
  auto loaded = LoadedKernel::make(text, "sm_75");
  if (loaded)
    loaded->run({x.data(), y.data(), result.data()}, 0, loaded->grid());
  return result;
}

/// Units in the last place of f32 between a result and what it should be.
double distance(float got, double want) {
  float rounded = static_cast<float>(want);
  if (std::isnan(want) || std::isinf(rounded))
    return std::isnan(want) ? !std::isnan(got) : got != rounded;
  if (want == 0)
    return got != 0 || std::signbit(got) != std::signbit(want);
  double unit = std::ldexp(1.0, std::max(std::ilogb(want), -126) - 23);
  return std::fabs(got - want) / unit;
}

/// Of both signs, all exponents, and neighbours of multiples of pi / 2.
std::vector<float> hardNumbers() {
  std::vector<float> values{0, 1, HUGE_VALF, NAN, 16367173.0f * 4398046511104.0f};
  std::mt19937 random(1);
  for (int exponent = -149; exponent < 128; ++exponent)
    for (int i = 0; i < 4; ++i)
      values.push_back(std::ldexp(1 + std::ldexp(float(random() >> 9), -23), exponent));
  for (int i = 1; i < 200; ++i)
    for (float near : {float(i * M_PI_2), std::nextafter(float(i * M_PI_2), 0.0f)})
      values.push_back(near);
  for (float near : {0.99999994f, 1.0000001f, 0.9999f, 1.01f})
    values.push_back(near);
  for (size_t i = 0, count = values.size(); i < count; ++i)
    values.push_back(-values[i]);
  return values;
}

TEST(WideFunctionsTest, AreRightToTheLastBitsEverywhere) {
  struct Row {
    const char *name;
    double (*function)(double);
  };
  std::vector<float> x = hardNumbers();
  for (Row row : {Row{"sin", std::sin}, Row{"cos", std::cos}, Row{"tan", std::tan},
                  Row{"sinh", std::sinh}, Row{"cosh", std::cosh}, Row{"asinh", std::asinh},
                  Row{"acosh", std::acosh}, Row{"atanh", std::atanh}}) {
    std::vector<float> y = compute(
        formatv("lumen.unary <{0}> %x : tensor<{1}xf32> -> tensor<{1}xf32>", row.name, x.size()), x,
        x);
    for (auto [argument, result] : llvm::zip_equal(x, y))
      EXPECT_LE(distance(result, row.function(argument)), 1)
          << row.name << " of " << argument << " is " << result << ", expected "
          << row.function(argument);
  }
}

TEST(WideFunctionsTest, RemaindersAreExact) {
  std::vector<float> hard = hardNumbers(), x, y;
  std::mt19937 random(2);
  for (int i = 0; i < 4000; ++i) {
    x.push_back(hard[random() % hard.size()]);
    y.push_back(hard[random() % hard.size()]);
  }
  std::vector<float> rest = compute("lumen.binary <rem> %x, %y : tensor<4000xf32>", x, y);
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(distance(rest[i], std::fmod(x[i], y[i])), 0)
        << x[i] << " rem " << y[i] << " is " << rest[i] << ", expected " << std::fmod(x[i], y[i]);
}

} // namespace
