#include <algorithm>
#include <cstring>

#include "core/checked.hpp"
#include "ops/line/line.hpp"
#include "ops/line/types.hpp"
#include "ops/tuning.hpp"

#define PENSTOCK_ISA baseline
#include "ops/line/loops.hpp"
#ifdef PENSTOCK_HAVE_ISAS
PENSTOCK_BEGIN_AVX2
#define PENSTOCK_ISA avx2
#include "ops/line/loops.hpp"
PENSTOCK_END_ISA
PENSTOCK_BEGIN_AVX512
#define PENSTOCK_ISA avx512
#include "ops/line/loops.hpp"
PENSTOCK_END_ISA
#endif

namespace penstock::line {
namespace {

/// How a job is cut into pieces.
struct Pieces {
  std::size_t outer, inner, out;
  std::size_t width, strips, rows, segments;

  template <class C>
  static Pieces cut(const Shape3& shape, std::uint32_t taps, C) {
    Pieces p{shape.outer, shape.inner, shape.out, 0, 0, 0, 0};
    p.width = p.inner <= tuning::kLineWidth ? p.inner : tuning::kLineWidth;
    p.strips = div_up(p.inner, p.width);
    const std::size_t fit = tuning::kLineBytes / sizeof(C) / p.width;
    // At least as many rows as are read beside them, or most of the work would be reading.
    p.rows = std::clamp<std::size_t>(fit > taps ? fit - taps : 1, std::min<std::size_t>(taps, p.out), p.out);
    p.segments = div_up(p.out, p.rows);
    return p;
  }
  [[nodiscard]] std::size_t size() const { return outer * strips * segments; }
  [[nodiscard]] Piece operator[](std::size_t i) const {
    Piece piece;
    piece.first = i % segments * rows;
    piece.last = std::min(piece.first + rows, out);
    i /= segments;
    piece.column = i % strips * width;
    piece.width = std::min(width, inner - piece.column);
    piece.outer = i / strips;
    return piece;
  }
};

template <class T, class C>
void run_piece(const LineJob<T, C>& job, const Piece& piece, C* scratch, Isa isa) {
#ifdef PENSTOCK_HAVE_ISAS
  if (isa == Isa::avx512) return avx512::run_piece(job, piece, scratch);
  if (isa == Isa::avx2) return avx2::run_piece(job, piece, scratch);
#endif
  static_cast<void>(isa);
  baseline::run_piece(job, piece, scratch);
}

}  // namespace

template <class T, class C>
Status run_on_cpu(const LineJob<T, C>& job, Job& threads, Isa isa) {
  if (job.shape.outputs() == 0) return {};
  const Pieces pieces = Pieces::cut(job.shape, job.taps, C());
  const std::size_t scratch = (2 * pieces.rows + job.taps) * pieces.width * sizeof(C);
  const std::size_t each = pieces.rows * pieces.width;  // outputs
  const std::size_t together = std::max<std::size_t>(tuning::kTaskElements / each, 1);
  return threads.for_each(div_up(pieces.size(), together), true, [&](std::uint64_t task) -> Status {
    Bytes& memory = threads.worker().scratch.a;
    PENSTOCK_TRY(memory.resize_discard(scratch));
    const std::size_t last = std::min((task + 1) * together, pieces.size());
    for (std::size_t i = task * together; i < last; ++i)
      run_piece(job, pieces[i], reinterpret_cast<C*>(memory.data()), isa);
    return {};
  });
}

#define PENSTOCK_INSTANTIATE(T, C) template Status run_on_cpu(const LineJob<T, C>&, Job&, Isa);
PENSTOCK_LINE_TYPES(PENSTOCK_INSTANTIATE)

}  // namespace penstock::line
