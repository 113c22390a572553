// The interpreter itself: numbers, rounding, functions, variables, groups and its error messages.
#include "reference_support.h"

#include "sinter/ir/FiniteDifference.h"
#include "sinter/ir/Philox.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace sinter::ir;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(ReferenceTest, StoresRoundToNearestEven) {
  auto stored = [&](StringRef element, double value) {
    return tensor(element, {}, {value}).real(0);
  };
  EXPECT_EQ(stored("f16", 65519.9), 65504);
  EXPECT_EQ(stored("f16", 65520), INFINITY);
  EXPECT_EQ(stored("f16", 0x1p-25), 0);
  EXPECT_EQ(stored("f16", 0x1.0001p-25), 0x1p-24);
  EXPECT_EQ(stored("f16", -2049), -2048);
  EXPECT_EQ(stored("bf16", 1 + 0x1p-8), 1);
  EXPECT_EQ(stored("bf16", 1 + 3 * 0x1p-8), 1 + 0x1p-6);
  EXPECT_EQ(stored("bf16", 3.4e38), INFINITY);
  EXPECT_EQ(stored("bf16", 0x1p-133), 0x1p-133);
  EXPECT_EQ(stored("f32", 0x1.000001p0), 1);
  EXPECT_EQ(stored("f64", 0.1), 0.1);
  EXPECT_TRUE(std::isnan(stored("f16", NAN)));
  EXPECT_TRUE(std::signbit(stored("bf16", -1e-60)));
}

TEST_F(ReferenceTest, RoundingAgreesWithAPFloat) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-45, 40), mantissa(-2, 2);
  for (int i = 0; i < 20000; ++i) {
    double value = mantissa(random) * std::exp2(3 * exponent(random));
    for (auto [element, semantics] :
         {std::pair("f16", &APFloat::IEEEhalf()), std::pair("bf16", &APFloat::BFloat())}) {
      APFloat expected(value);
      bool losesInfo;
      expected.convert(*semantics, APFloat::rmNearestTiesToEven, &losesInfo);
      expected.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
      ASSERT_EQ(tensor(element, {}, {value}).real(0), expected.convertToDouble())
          << value << " as " << element;
    }
  }
}

TEST_F(ReferenceTest, LargeIntegersRoundOnce) {
  // 2^54 + 2^30 + 1 lies just above the middle of two f32; by way of double it would fall on it and
  // round down.
  ReferenceTensor y({}, type("f32"));
  y.setInt(0, (int64_t(1) << 54) + (int64_t(1) << 30) + 1);
  EXPECT_EQ(y.real(0), 0x1p54 + 0x1p31);
}

TEST_F(ReferenceTest, IntegersWrapWhenStored) {
  EXPECT_THAT(run(R"(func.func @f(%a: tensor<2xi8>, %b: tensor<2xi8>) -> tensor<2xi8> {
    %0 = sinter.add %a, %b : tensor<2xi8>
    return %0 : tensor<2xi8>
  })",
                  {tensor("i8", {2}, {127, -128}), tensor("i8", {2}, {1, -1})}),
              ElementsAre(-128, 127));
  EXPECT_THAT(run(R"(func.func @f(%a: tensor<2xui8>) -> tensor<2xui8> {
    %0 = sinter.mul %a, %a : tensor<2xui8>
    return %0 : tensor<2xui8>
  })",
                  {tensor("ui8", {2}, {16, 17})}),
              ElementsAre(0, 33));
  EXPECT_THAT(run(R"(func.func @f(%a: tensor<1xi8>) -> tensor<1xi8> {
    %0 = sinter.abs %a : tensor<1xi8>
    return %0 : tensor<1xi8>
  })",
                  {tensor("i8", {1}, {-128})}),
              ElementsAre(-128));
}

TEST_F(ReferenceTest, CastsSaturateAndTruncate) {
  auto x = tensor("f32", {6}, {-1.9, 300, -300, NAN, INFINITY, 0});
  auto castTo = [&](std::string element) {
    return run("func.func @f(%x: tensor<6xf32>) -> tensor<6x" + element +
                   "> {\n%0 = sinter.cast %x : tensor<6xf32> to tensor<6x" + element +
                   ">\nreturn %0 : tensor<6x" + element + ">\n}",
               {x});
  };
  EXPECT_THAT(castTo("i8"), ElementsAre(-1, 127, -128, 0, 127, 0));
  EXPECT_THAT(castTo("ui8"), ElementsAre(0, 255, 0, 0, 255, 0));
  EXPECT_THAT(castTo("i64"), ElementsAre(-1, 300, -300, 0, double(INT64_MAX), 0));
  EXPECT_THAT(castTo("i1"), ElementsAre(1, 1, 1, 1, 1, 0));
}

TEST_F(ReferenceTest, NaNWinsAndNeverEquals) {
  Number nan{false, NAN, 0}, one{false, 1, 0};
  EXPECT_TRUE(std::isnan(max(nan, one).real) && std::isnan(max(one, nan).real));
  EXPECT_TRUE(std::isnan(min(nan, one).real) && std::isnan(min(one, nan).real));
  EXPECT_EQ(eq(nan, nan).integer, 0);
  EXPECT_EQ(ne(nan, nan).integer, 1);
  EXPECT_TRUE(std::isnan(sign(nan).real));
  EXPECT_EQ(round(Number{false, 2.5, 0}).real, 2);
}

// The known answers that the generator's authors publish with their library.
TEST(Philox, KnownAnswers) {
  using namespace philox;
  static_assert(generate({0, 0, 0, 0}, {0, 0}) ==
                philox::Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  EXPECT_EQ(generate({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (philox::Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(generate({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (philox::Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, ThresholdIsTheComparisonOfUniforms) {
  using namespace philox;
  for (double p : {-1.0, 0.0, 1e-9, 0.1, 0.5, 0x1p-24, 1 - 0x1p-24, 1.0, 2.0})
    for (uint32_t bits : {0u, 1u, 2u, 1677721u, 1677722u, 8388607u, 8388608u, 16777214u, 16777215u})
      EXPECT_EQ(bernoulli(bits << 8, p), uniform(bits << 8) < p) << p << " " << bits;
  EXPECT_EQ(bernoulliThreshold(NAN), 0u);
}

TEST_F(ReferenceTest, DropoutDropsWhereBernoulliIsTrue) {
  auto x = tensor("f32", {64}, std::vector<double>(64, 3));
  auto state = tensor("i64", {2}, {7, 2});
  auto y = run(R"(func.func @f(%x: tensor<64xf32>, %s: tensor<2xi64>) -> tensor<64xf32> {
    %0 = sinter.dropout %x, %s id 5 probability 0.25 : (tensor<64xf32>, tensor<2xi64>) -> tensor<64xf32>
    return %0 : tensor<64xf32>
  })",
               {x, state});
  ASSERT_EQ(y.size(), 64u);
  for (int64_t i = 0; i < 64; ++i)
    EXPECT_EQ(y[i], philox::bernoulli(philox::elementWords(7, 2, 5, i)[0], 0.25) ? 0 : 4);
}

static constexpr StringLiteral kCounter = R"(
  sinter.variable @w : tensor<2xf32>
  func.func @step(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
    %0 = sinter.read @w : tensor<2xf32>
    %1 = sinter.add %0, %x : tensor<2xf32>
    sinter.assign @w, %1 : tensor<2xf32>
    %2 = sinter.read @w : tensor<2xf32>
    sinter.probe %1, "sum" : tensor<2xf32>
    return %1, %2 : tensor<2xf32>, tensor<2xf32>
  })";

TEST_F(ReferenceTest, AssignmentsTakeEffectAtTheEnd) {
  Operation *step = parse(kCounter);
  ASSERT_TRUE(step);
  interpreter.variables["w"] = tensor("f32", {2}, {1, 2});
  std::vector<double> shown;
  interpreter.probe = [&](StringRef label, const ReferenceTensor &value) {
    EXPECT_EQ(label, "sum");
    shown = values(value);
  };
  auto x = tensor("f32", {2}, {10, 20});
  auto results = interpreter.run(step, {x});
  ASSERT_TRUE(succeeded(results)) << diagnostics;
  EXPECT_THAT(values((*results)[0]), ElementsAre(11, 22));
  EXPECT_THAT(values((*results)[1]), ElementsAre(1, 2));
  EXPECT_THAT(shown, ElementsAre(11, 22));
  EXPECT_THAT(values(interpreter.variables["w"]), ElementsAre(11, 22));
}

TEST_F(ReferenceTest, MissingVariableIsNamed) {
  EXPECT_THAT(failureOf(kCounter, {tensor("f32", {2}, {0, 0})}),
              HasSubstr("Interpreter::variables[\"w\"]"));
}

static constexpr StringLiteral kSymbolic = R"(
  module attributes {sinter.symbols = [{name = "n", lower = 1 : i64, upper = 4 : i64}]} {
    func.func @f(%x: tensor<?x2xf32, #sinter.dims<s0, 2>> {sinter.name = "image"},
                 %y: tensor<?xf32, #sinter.dims<s0 * 2>>) -> tensor<?xf32, #sinter.dims<s0 * 2>> {
      %0 = sinter.reshape %x : tensor<?x2xf32, #sinter.dims<s0, 2>> to tensor<?xf32, #sinter.dims<s0 * 2>>
      %1 = sinter.add %0, %y : tensor<?xf32, #sinter.dims<s0 * 2>>
      return %1 : tensor<?xf32, #sinter.dims<s0 * 2>>
    }
  })";

TEST_F(ReferenceTest, SymbolsComeFromArguments) {
  EXPECT_THAT(
      run(kSymbolic, {tensor("f32", {2, 2}, {1, 2, 3, 4}), tensor("f32", {4}, {10, 20, 30, 40})}),
      ElementsAre(11, 22, 33, 44));
}

TEST_F(ReferenceTest, DisagreeingSymbolsAreRefused) {
  EXPECT_THAT(
      failureOf(kSymbolic, {tensor("f32", {2, 2}, {1, 2, 3, 4}), tensor("f32", {3}, {0, 0, 0})}),
      HasSubstr("argument 1"));
}

TEST_F(ReferenceTest, SymbolsOutsideTheirRangeAreRefused) {
  EXPECT_THAT(failureOf(kSymbolic,
                        {ReferenceTensor({5, 2}, type("f32")), ReferenceTensor({10}, type("f32"))}),
              HasSubstr("symbol n = 5 is outside"));
}

TEST_F(ReferenceTest, WrongArgumentsAreRefused) {
  EXPECT_THAT(failureOf(kSymbolic, {}), HasSubstr("takes 2 arguments, got 0"));
  diagnostics.clear();
  EXPECT_THAT(
      failureOf(kSymbolic, {ReferenceTensor({2}, type("f32")), ReferenceTensor({4}, type("f32"))}),
      HasSubstr("argument 0 ('image'): expected"));
}

// 1 + 2^-9 is no bf16: between ops it survives only inside a group.
TEST_F(ReferenceTest, GroupsKeepValuesUnrounded) {
  StringRef text = R"(func.func @f(%x: tensor<bf16>, %y: tensor<bf16>) -> tensor<bf16> {
    %0 = sinter.group "pointwise"(%x, %y) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16> {
    ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
      %1 = sinter.add %a, %b : tensor<bf16>
      %2 = sinter.sub %1, %a : tensor<bf16>
      sinter.yield %2 : tensor<bf16>
    }
    return %0 : tensor<bf16>
  })";
  auto one = tensor("bf16", {}, {1}), little = tensor("bf16", {}, {0x1p-9});
  EXPECT_THAT(run(text, {one, little}), ElementsAre(0x1p-9));
  interpreter = Interpreter(Rounding::EveryOp);
  EXPECT_THAT(run(text, {one, little}), ElementsAre(0));
}

TEST_F(ReferenceTest, OpWithoutDefinitionIsNamed) {
  EXPECT_THAT(failureOf(R"(func.func @f(%x: tensor<f32>) -> tensor<f32> {
    %0 = sinter.gradients %x wrt %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  })",
                        {tensor("f32", {}, {1})}),
              HasSubstr("'sinter.gradients' op has no reference definition"));
}

TEST_F(ReferenceTest, FiniteDifferenceOfACube) {
  Operation *function = parse(R"(func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = sinter.mul %x, %x : tensor<2xf32>
    %1 = sinter.mul %0, %x : tensor<2xf32>
    return %1 : tensor<2xf32>
  })");
  ASSERT_TRUE(function);
  auto gradient = finiteDifference(function, {tensor("f32", {2}, {1, -2})}, 0);
  ASSERT_TRUE(succeeded(gradient)) << diagnostics;
  EXPECT_THAT(values(*gradient), nearly({3, 12}));
}
