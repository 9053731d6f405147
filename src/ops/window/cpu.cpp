#include <algorithm>
#include <cstring>

#include "core/checked.hpp"
#include "ops/tuning.hpp"
#include "ops/window/window.hpp"

#define PENSTOCK_ISA baseline
#include "ops/window/loops.hpp"
#ifdef PENSTOCK_HAVE_ISAS
PENSTOCK_BEGIN_AVX2
#define PENSTOCK_ISA avx2
#include "ops/window/loops.hpp"
PENSTOCK_END_ISA
PENSTOCK_BEGIN_AVX512
#define PENSTOCK_ISA avx512
#include "ops/window/loops.hpp"
PENSTOCK_END_ISA
#endif

namespace penstock::window {
namespace {

template <class K>
void run_row(const RankJob<K>& job, std::uint64_t row, void* memory, Isa isa) {
#ifdef PENSTOCK_HAVE_ISAS
  if (isa == Isa::avx512) return avx512::run_row(job, row, memory);
  if (isa == Isa::avx2) return avx2::run_row(job, row, memory);
#endif
  static_cast<void>(isa);
  baseline::run_row(job, row, memory);
}

}  // namespace

template <class K>
Status run_on_cpu(const RankJob<K>& job, Job& threads, Isa isa) {
  if (job.rows * job.width == 0) return {};
  const std::uint64_t work = std::max<std::uint64_t>(job.width * job.count / 8, 1);
  const std::uint64_t together = std::max<std::uint64_t>(tuning::kTaskElements / work, 1);
  return threads.for_each(div_up(job.rows, together), true, [&](std::uint64_t task) -> Status {
    Bytes& memory = threads.worker().scratch.a;
    PENSTOCK_TRY(memory.resize_discard((std::uint64_t{job.count} + 2) * 64));
    const std::uint64_t last = std::min((task + 1) * together, job.rows);
    for (std::uint64_t row = task * together; row < last; ++row) run_row(job, row, memory.data(), isa);
    return {};
  });
}

template Status run_on_cpu(const RankJob<std::uint8_t>&, Job&, Isa);
template Status run_on_cpu(const RankJob<std::uint16_t>&, Job&, Isa);
template Status run_on_cpu(const RankJob<std::uint32_t>&, Job&, Isa);
template Status run_on_cpu(const RankJob<std::uint64_t>&, Job&, Isa);

}  // namespace penstock::window
