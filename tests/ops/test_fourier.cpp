// Fourier transforms: by the loops of the CPU for every set of instructions, by the teams of a device and by its passes
// through memory, against the definition.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>

#include "device/teams.hpp"
#include "ops/fourier/fourier.hpp"

using namespace penstock;
using namespace penstock::fourier;

namespace {

template <class C>
struct Work {
  std::vector<Complex<C>> in, out, roots;
  LinesJob<C> job;

  Work(std::uint64_t outer, std::uint32_t n, std::uint64_t inner, bool inverse) {
    std::mt19937 random(n);
    in.resize(outer * n * inner), out.resize(in.size());
    for (Complex<C>& v : in) v = {static_cast<C>(random() % 200) / 100, static_cast<C>(random() % 200) / 100};
    for (std::uint32_t k = 0; k < n; ++k) {
      const double angle = -2 * M_PI * k / n;
      roots.push_back({static_cast<C>(std::cos(angle)), static_cast<C>(std::sin(angle))});
    }
    job.in = in.data(), job.out = out.data();
    job.plan.roots = roots.data();
    job.plan.n = n;
    job.plan.inverse = inverse;
    for (const std::uint32_t radix : factors(n)) job.plan.radix[job.plan.passes++] = radix;
    job.outer = outer, job.inner = inner;
  }

  void expect(const std::vector<Complex<C>>& made, const std::string& by) const {
    const std::uint64_t n = job.plan.n;
    for (std::uint64_t i = 0; i < made.size(); ++i) {
      const std::uint64_t x = i % job.inner, k = i / job.inner % n, outer = i / job.inner / n;
      std::complex<double> sum;
      for (std::uint64_t t = 0; t < n; ++t) {
        const Complex<C> v = in[(outer * n + t) * job.inner + x];
        const double turn = static_cast<double>(k * t % n) / static_cast<double>(n);
        sum += std::complex<double>(v.re, v.im) * std::polar(1.0, (job.plan.inverse ? 2 : -2) * M_PI * turn);
      }
      const double slack = (sizeof(C) == 4 ? 1e-5 : 1e-12) * static_cast<double>(n);
      ASSERT_NEAR(made[i].re, sum.real(), slack) << by << ", n " << n << ", element " << i;
      ASSERT_NEAR(made[i].im, sum.imag(), slack) << by << ", n " << n << ", element " << i;
    }
  }
};

template <class C>
void expect_transforms() {
  Options options;
  options.threads = 2;
  Job threads(options, "test", 0, 2);
  for (const std::uint32_t n : {1u, 2u, 3u, 4u, 8u, 12u, 13u, 30u, 64u, 98u})
    for (const auto& [outer, inner] : {std::pair{1u, 1u}, std::pair{19u, 1u}, std::pair{2u, 21u}})
      for (const bool inverse : {false, true}) {
        Work<C> work(outer, n, inner, inverse);
        for (int isa = 0; isa <= static_cast<int>(best_isa()); ++isa) {
          std::fill(work.out.begin(), work.out.end(), Complex<C>{9, 9});
          ASSERT_TRUE(transform_on_cpu(work.job, threads, static_cast<Isa>(isa)));
          work.expect(work.out, "instructions " + std::to_string(isa));
        }
        const auto on_team = [&](const auto& team, std::uint32_t width) {
          work.job.width = width;
          std::vector<Complex<C>> shared(work.job.elements());
          std::fill(work.out.begin(), work.out.end(), Complex<C>{9, 9});
          for (std::uint64_t t = work.job.tiles(); t-- > 0;) transform_tile(team, work.job, t, shared.data());
          work.expect(work.out, "a team, width " + std::to_string(width));
        };
        on_team(HostTeam<32>(), 1);
        on_team(PermTeam<32>(7), inner == 1 ? 1 : 4);
        std::vector<Complex<C>> a = work.in, b(a.size());
        Pass<C> pass;
        pass.plan = work.job.plan;
        pass.inner = inner;
        for (std::uint32_t i = 0; i < pass.plan.passes; ++i) {
          pass.in = a.data(), pass.out = b.data(), pass.radix = pass.plan.radix[i];
          for (std::uint64_t k = outer * inner * (n / pass.radix); k-- > 0;) pass(k);
          pass.done *= pass.radix;
          std::swap(a, b);
        }
        work.expect(a, "passes");
        if (testing::Test::HasFatalFailure()) return;
      }
}

}  // namespace

TEST(Fourier, EqualsItsDefinitionOnEveryExecutor) {
  expect_transforms<float>();
  expect_transforms<double>();
}

TEST(Fourier, TheSpectrumOfAPairIsThatOfBothImages) {
  const std::uint64_t shape[] = {3, 4, 5}, count = 60;
  std::mt19937 random(1);
  std::vector<double> a(count), b(count);
  for (double& v : a) v = static_cast<double>(random() % 100) / 10;
  for (double& v : b) v = static_cast<double>(random() % 100) / 10;
  const auto spectrum = [&](const std::vector<std::complex<double>>& of, std::uint64_t i) {
    std::complex<double> sum;
    for (std::uint64_t t = 0; t < count; ++t) {
      double turn = 0;
      std::uint64_t k = i, from = t;
      for (std::size_t d = 3; d-- > 0; k /= shape[d], from /= shape[d])
        turn += static_cast<double>((k % shape[d]) * (from % shape[d])) / static_cast<double>(shape[d]);
      sum += of[t] * std::polar(1.0, -2 * M_PI * turn);
    }
    return sum;
  };
  const double scale_a = 0.5, scale_b = 3;
  std::vector<std::complex<double>> only_a(count), only_b(count), both(count);
  std::vector<Complex<double>> in(count), out(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    only_a[i] = a[i], only_b[i] = b[i];
    Pair<double>{a.data(), b.data(), in.data(), scale_a, scale_b}(i);
    both[i] = {in[i].re, in[i].im};
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto z = spectrum(both, i);
    in[i] = {z.real(), z.imag()};
  }
  for (const bool whiten : {false, true})
    for (const std::uint64_t apart : {1u, 2u}) {
      CrossSpectrum<double> job{in.data(), out.data(), 3, {3, 4, 5}, apart, 0.25 / scale_a / scale_b, whiten, 1e-12};
      for (std::uint64_t lane = 3 * 4 * apart; lane-- > 0;) job(lane);
      for (std::uint64_t i = 0; i < count; ++i) {
        std::complex<double> wanted = spectrum(only_a, i) * std::conj(spectrum(only_b, i));
        if (whiten) wanted /= std::abs(wanted);
        ASSERT_NEAR(out[i].re, wanted.real(), 1e-8) << i;
        ASSERT_NEAR(out[i].im, wanted.imag(), 1e-8) << i;
      }
    }
}
