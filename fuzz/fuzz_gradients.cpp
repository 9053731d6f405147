// Text as b values, a zero byte, text as vectors: what is accepted has a number and a unit vector for each volume.
#include <algorithm>
#include <cmath>

#include "fuzz.hpp"
#include "tracto/gradients/gradients.hpp"

using namespace penstock;
using fuzz::demand;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = std::min(text.find('\0'), text.size());
  const std::string_view bval = text.substr(0, cut), bvec = text.substr(std::min(cut + 1, text.size()));
  for (const std::uint64_t volumes : {3u, 4u, 7u, 65u}) {
    const auto g = tracto::make_gradients(bval, bvec, volumes, 50);
    if (!g) {
      demand(!g.error().message().empty());
      continue;
    }
    demand(g->size() == volumes && g->vector.size() == volumes && g->unweighted.size() == volumes);
    demand(g->weighted() > 0 && g->weighted() < volumes);
    std::size_t in_shells = 0;
    for (const tracto::Shell& shell : tracto::shells(*g)) in_shells += shell.volumes.size();
    demand(in_shells == g->weighted());
    for (std::size_t i = 0; i < volumes; ++i) {
      const auto& v = g->vector[i];
      const double norm = std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
      demand(std::isfinite(g->b[i]) && g->b[i] >= 0);
      demand(g->unweighted[i] ? norm < 1.01 : std::abs(norm - 1) < 1e-6);
    }
  }
  return 0;
}
