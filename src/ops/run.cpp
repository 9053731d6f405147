// Neighbouring operators that keep the rows of the first axis apart are run on a slab of them at a time: on the CPU
// what lies between then stays in the cache, and is no new memory, whose first touch costs as much as a filter does.
#include "ops/run.hpp"

#include <algorithm>

#include "core/checked.hpp"
#include "ops/tuning.hpp"

namespace penstock {
namespace {

constexpr std::uint64_t kCacheLine = 64;

/// Operators [first, last) that are run together.
struct Step {
  std::size_t first, last;
  std::uint64_t rows = 0;  ///< of a slab; 0: all of it at once
  bool in_place = false;   ///< what it makes may lie where its input does
};

/// Rows of the first axis of a box, from its row number `at`.
Region slab_of(const Region& box, std::uint64_t at, std::uint64_t rows) {
  Region slab = box;
  slab[0] = {box[0].start + at, std::min(rows, box[0].count - at), box[0].step};
  return slab;
}

/// Whether all of a slab is made of slabs of the input: of the same rows (`extra` 0), or with so many more beside.
bool keeps_rows(const Operator& op, const Region& in, const Region& out, std::uint64_t rows, std::uint64_t extra) {
  if (in.size() != out.size()) return false;
  for (std::uint64_t at = 0; at < out[0].count; at += rows) {
    const Region slab = slab_of(out, at, rows), needed = op.needs(slab);
    if (!std::equal(needed.begin() + 1, needed.end(), in.begin() + 1)) return false;
    if (extra == 0 ? needed[0] != slab[0] : needed[0].count > slab[0].count + extra) return false;
  }
  return true;
}

/// Rows of slabs between operators; 0: slabs are not worth it.
std::uint64_t rows_of_slabs(Operators operators, const std::vector<Region>& boxes, const Workspace& work) {
  if (work.on_device() || operators.size() < 2 || boxes.back().empty()) return 0;
  std::uint64_t row_bytes = 1;
  for (std::size_t i = 0; i < operators.size(); ++i)
    if (!boxes[i + 1].empty())
      row_bytes = std::max(row_bytes, bytes_of(operators[i]->output().dtype, slab_of(boxes[i + 1], 0, 1)));
  const std::uint64_t rows = tuning::kSlabBytes / row_bytes;
  return boxes.back()[0].count >= tuning::kMinSlabs * rows ? rows : 0;
}

std::vector<Step> steps_of(Operators operators, const std::vector<Region>& boxes, const Workspace& work) {
  const std::uint64_t rows = rows_of_slabs(operators, boxes, work);
  const auto keeps = [&](std::size_t i, std::uint64_t extra) {
    return rows > 0 && keeps_rows(*operators[i], boxes[i], boxes[i + 1], rows, extra);
  };
  std::vector<Step> steps;
  for (std::size_t i = 0; i < operators.size();) {
    Step step{i, i + 1};
    if (keeps(i, rows / 2))
      while (step.last < operators.size() && keeps(step.last, 0)) ++step.last;
    if (step.last > i + 1) {
      step.rows = rows;
      const Region &in = boxes[i], &out = boxes[step.last];
      step.in_place = keeps(i, 0) && std::equal(in.begin() + 1, in.end(), out.begin() + 1) &&
                      operators[i]->input().dtype.size_bytes == operators[step.last - 1]->output().dtype.size_bytes;
    }
    i = step.last;
    steps.push_back(step);
  }
  return steps;
}

/// Slab by slab; what is between two operators lies in the thread's own memory.
Status run_slabs(Operators operators, const std::vector<Region>& boxes, const Step& step, const Tile& in,
                 const Tile& out, const Workspace& work) {
  const std::size_t count = step.last - step.first;
  std::uint64_t half = 0;
  for (std::size_t i = step.first; i + 1 < step.last; ++i)
    half =
        std::max(half, div_up(bytes_of(operators[i]->output().dtype, slab_of(boxes[i + 1], 0, step.rows)), kCacheLine) *
                           kCacheLine);
  return work.job->for_each(div_up(out.box[0].count, step.rows), true, [&](std::uint64_t slab) -> Status {
    Bytes& memory = work.job->worker().scratch.b;  // operators use a
    PENSTOCK_TRY(memory.resize_discard((count > 2 ? 2 : 1) * half));
    const std::uint64_t at = slab * step.rows;
    Tile from{in.view, operators[step.first]->needs(slab_of(boxes[step.first + 1], at, step.rows))};
    PENSTOCK_ASSIGN(from.view, part_of(in, from.box));
    for (std::size_t k = 0; k < count; ++k) {
      const Operator& op = *operators[step.first + k];
      Tile to{out.view, slab_of(boxes[step.first + k + 1], at, step.rows)};
      if (k + 1 == count) {
        PENSTOCK_ASSIGN(to.view, part_of(out, to.box));
      } else {
        PENSTOCK_ASSIGN(to.view, TensorView::packed(memory.data() + k % 2 * half, op.output().dtype, shape_of(to.box),
                                                    work.stream));
      }
      PENSTOCK_TRY(op.run(from, to, work));
      from = std::move(to);
    }
    return {};
  });
}

}  // namespace

std::uint64_t bytes_of(const DType& dtype, const Region& box) {
  std::uint64_t bytes = dtype.size_bytes;
  for (const Range& r : box) bytes = saturating_mul(bytes, r.count);
  return bytes;
}

Result<TensorView> part_of(const Tile& tile, const Region& box) {
  std::vector<Index> part;
  for (std::size_t d = 0; d < box.size(); ++d) {
    const auto start = static_cast<std::int64_t>(box[d].start - tile.box[d].start);
    part.push_back(Slice{start, start + static_cast<std::int64_t>(box[d].count), 1});
  }
  return tile.view.slice(part);
}

Status run_operators(Operators operators, const std::vector<Region>& boxes, const Tile& in, const Tile& out,
                     const Workspace& work) {
  const std::vector<Step> steps = steps_of(operators, boxes, work);
  const auto made_by = [&](const Step& step) -> const DType& { return operators[step.last - 1]->output().dtype; };
  // What a step makes lies where the result will, or beside it: the next one reads it from there.
  std::vector<bool> in_result(steps.size(), true);
  const std::uint64_t room = bytes_of(made_by(steps.back()), out.box);
  for (std::size_t s = steps.size() - 1; s-- > 0;)
    in_result[s] = steps[s + 1].in_place ? in_result[s + 1]
                                         : !in_result[s + 1] && made_by(steps[s]) == made_by(steps.back()) &&
                                               bytes_of(made_by(steps[s]), boxes[steps[s].last]) <= room;
  Tile from = in;
  Buffer held;  // what `from` lies in, where that is neither the input nor the result
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const Step& step = steps[s];
    Tile to = out;
    Buffer made;
    if (s + 1 < steps.size()) {
      to.box = boxes[step.last];
      const bool stays = step.in_place && s > 0;
      if (!in_result[s] && !stays) {
        PENSTOCK_ASSIGN(made, work.scratch(bytes_of(made_by(step), to.box)));
      }
      void* const memory = in_result[s] ? out.view.data : stays ? from.view.data : made.data();
      PENSTOCK_ASSIGN(to.view, TensorView::packed(memory, made_by(step), shape_of(to.box), work.stream));
      if (stays) made = std::move(held);
    }
    PENSTOCK_TRY(step.rows > 0 ? run_slabs(operators, boxes, step, from, to, work)
                               : operators[step.first]->run(from, to, work));
    from = std::move(to);
    held = std::move(made);
  }
  return {};
}

}  // namespace penstock
