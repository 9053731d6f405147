// Arithmetic on elements: what a chain of it gives, in one pass and in several; the loops and what a device runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/chain.hpp"
#include "ops/element/element.hpp"

using namespace penstock;

namespace {

template <class T>
std::vector<double> applied(const std::vector<T>& values, const DType& dtype, const std::vector<OpCall>& calls) {
  std::vector<T> in = values;
  const TensorView view = TensorView::packed(in.data(), dtype, {in.size()}, {}).value();
  const auto made = apply_operators(calls, view, Options());
  EXPECT_TRUE(made) << made.error().message();
  std::vector<double> out(in.size());
  with_type(made->view().dtype, [&]<class Out>(TypeTag<Out>) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<double>(static_cast<const Out*>(made->view().data)[i]);
  });
  return out;
}

}  // namespace

TEST(Element, ArithmeticIsWhatItSays) {
  using Numbers = std::vector<double>;
  const std::vector<std::uint8_t> bytes = {0, 1, 3, 250};
  const auto one = [&](const char* name, const char* arguments) {
    return applied(bytes, DType::uint8(), {{name, arguments}});
  };
  EXPECT_EQ(one("add", R"({"value":10})"), Numbers({10, 11, 13, 260}));
  EXPECT_EQ(one("add", R"({"value":10,"output":"uint8"})"), Numbers({10, 11, 13, 255})) << "the nearest that fits";
  EXPECT_EQ(one("subtract", R"({"value":2})"), Numbers({-2, -1, 1, 248}));
  EXPECT_EQ(one("multiply", R"({"value":0.5})"), Numbers({0, 0.5, 1.5, 125}));
  EXPECT_EQ(one("divide", R"({"value":4})"), Numbers({0, 0.25, 0.75, 62.5}));
  EXPECT_EQ(one("clip", R"({"min":1,"max":200})"), Numbers({1, 1, 3, 200}));
  const Numbers scaled = one("scale", R"({"low":0,"high":250,"to_low":1,"to_high":2})");
  EXPECT_NEAR(scaled[2], 1 + 3 / 250.0, 1e-6);
  EXPECT_NEAR(scaled[3], 2, 1e-6);
  EXPECT_EQ(one("sqrt", "{}")[3], static_cast<double>(std::sqrt(250.0F)));
  EXPECT_EQ(one("cast", R"({"output":"int8"})"), Numbers({0, 1, 3, 127}));
  const std::vector<float> fractions = {-1.5F, -0.5F, 0.49F, 2.5F, NAN, INFINITY};
  EXPECT_EQ(applied(fractions, DType::float32(), {{"cast", R"({"output":"int16"})"}}),
            Numbers({-2, -1, 0, 3, 0, 32767}));
  const std::vector<std::int64_t> wide = {(std::int64_t{1} << 60) + 1};
  EXPECT_EQ(applied(wide, DType::int64(), {{"cast", R"({"output":"uint64"})"}, {"cast", R"({"output":"int32"})"}}),
            Numbers({std::numeric_limits<std::int32_t>::max()}));
}

TEST(Element, OnePassGivesWhatSeveralGive) {
  const std::vector<OpCall> calls = {{"subtract", R"({"value":3})"},
                                     {"multiply", R"({"value":1.3,"output":"int16"})"},
                                     {"absolute", "{}"},
                                     {"add", R"({"value":1})"},
                                     {"log", "{}"},
                                     {"clip", R"({"min":0.5,"max":3})"}};
  std::vector<std::uint8_t> values(5000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i * 7);
  const auto together = applied(values, DType::uint8(), calls);
  const Chain chain = Chain::make({DType::uint8(), {values.size()}}, calls).value();
  EXPECT_EQ(std::ranges::count(chain.text(), '\n'), 1) << chain.text();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double rounded = std::round((values[i] - 3.0) * 1.3);
    ASSERT_NEAR(together[i], std::clamp(std::log(std::abs(rounded) + 1), 0.5, 3.0), 1e-6) << i;
  }
}

TEST(Element, ADeviceRunsTheSame) {
  using namespace element;
  const std::vector<std::int16_t> in = {-300, -1, 0, 7, 32767};
  std::vector<std::uint8_t> out(in.size());
  ProgramJob<float> job;
  job.in = in.data();
  job.out = out.data();
  job.in_type = code_of(DType::int16());
  job.out_type = code_of(DType::uint8());
  job.steps = 2;
  job.step[0] = {Action::multiply, 2, 0};
  job.step[1] = {Action::add, 5.5, 0};
  for (std::size_t i = in.size(); i-- > 0;) job(i);
  EXPECT_EQ(out, std::vector<std::uint8_t>({0, 4, 6, 20, 255}));
  for (const DType& dtype : {DType::boolean(), DType::uint16(), DType::int32(), DType::uint64(), DType::float64()}) {
    std::uint64_t memory = 0;
    store(code_of(dtype), &memory, 0, 1.0);
    EXPECT_EQ(load<double>(code_of(dtype), &memory, 0), 1) << dtype.name();
  }
}

TEST(Element, MistakesAreNamed) {
  for (const auto& [name, arguments] :
       std::vector<std::pair<const char*, const char*>>{{"add", "{}"},
                                                        {"clip", R"({"min":2,"max":1})"},
                                                        {"scale", R"({"low":1,"high":1})"},
                                                        {"cast", "{}"},
                                                        {"add", R"({"value":1,"output":"complex64"})"},
                                                        {"log", R"({"base":2})"}})
    EXPECT_FALSE(Chain::make({DType::uint8(), {4}}, std::vector<OpCall>{{name, arguments}})) << name << arguments;
}
