// The field that most methods sample: amplitudes in the directions of a half sphere, 16 bits each, a scale for each
// voxel; only voxels that were fitted have amplitudes.  What tracking is told, whatever the method.
#pragma once
#include <cstdint>
#include <type_traits>

#include "device/portable.hpp"
#include "device/team.hpp"
#include "tracto/math.hpp"

namespace penstock::tracto {

inline constexpr std::uint32_t kMaxAmplitudes = 1024;
inline constexpr std::uint32_t kNoNeighbour = 0xffff;
inline constexpr std::uint32_t kNeighbourSlots = 16;

/// What the bootstrap is told; the matrices are in TrackBuffers::fit, one behind the other.
struct BootParams {
  std::uint32_t weighted;       ///< signals of a voxel
  std::uint32_t coefficients;   ///< spherical harmonics
  std::uint32_t signal_stride;  ///< elements of a voxel's signals; the last is the mean unweighted one
  std::uint32_t row_stride;     ///< of matrices whose columns have `weighted` numbers
  std::uint32_t sh_stride;      ///< of matrices whose columns have a number for each coefficient, and one more
  std::uint32_t is_opdt;        ///< else CSA
  std::uint32_t retry;          ///< attempts go on until one gives a peak within the angle, not only a peak
  float min_signal;
};

/// What parallel transport is told; lengths in mm, curvatures per mm.
struct ProbeParams {
  float max_curvature;
  float step_mm;          ///< between two points at which an arc is probed
  float radius_mm;        ///< of the circle of probes about it
  std::uint32_t quality;  ///< points that are probed along an arc, its beginning included
  std::uint32_t count;    ///< probes at each; 1: on the arc itself
  float voxel_per_mm[3];
};

/// Everything that tracking is told, one flat block.  Voxel coordinates: whole numbers are centres.
struct TrackParams {
  std::uint32_t dims[3];
  std::uint32_t directions;  ///< of the half sphere
  std::uint32_t stride;      ///< elements of a voxel's amplitudes
  float step_voxel[3];       ///< one step along each axis, in voxels
  std::uint32_t substeps;    ///< steps between two points that are kept
  float cos_max_angle;
  float pmf_threshold;  ///< part of the largest amplitude
  float stop_below;
  float relative_peak;
  float cos_separation;
  std::uint32_t max_peaks;
  std::uint32_t max_points;  ///< of a streamline
  std::uint32_t random_seed[2];
  float world_from_voxel[12];
  BootParams boot;
  ProbeParams probe;
};

/// The buffers of a launch, as a list of bindings; each is flat.
struct TrackBuffers {
  const std::int32_t* row;         ///< (z, y, x): row of the voxel in `pmf` and `scale`, negative: none
  const std::uint16_t* pmf;        ///< (rows, stride)
  const float* scale;              ///< (rows): amplitude = pmf * scale
  const float* stop;               ///< (z, y, x): what `stop_below` is compared with
  const float* vertex;             ///< (3, stride): x of all directions, then y, then z
  const std::uint16_t* neighbour;  ///< (directions, kNeighbourSlots), filled up with kNoNeighbour
  const float* signal;             ///< (rows, boot.signal_stride)
  const float* fit;                ///< matrices of BootParams
  const std::uint16_t* nearest;    ///< a direction's cell -> the nearest of the half sphere (field/nearest.hpp)
  const float* disc;               ///< curvatures that are looked at, and their triangles (step/disc.hpp)
  const std::uint16_t* triangle;   ///< (kDiscTriangles, 3): corners among them
};

/// The eight voxels about a point, and their parts.  Beyond the outermost centres the nearest voxel counts.
struct Corners {
  std::uint32_t voxel[8];
  float part[8];
};

/// Whether a point lies in the volume: no further than half a voxel beyond a centre.
PENSTOCK_HD bool inside(const TrackParams& t, const Vec3& p) {
  return p.x >= -0.5f && p.x < static_cast<float>(t.dims[0]) - 0.5f && p.y >= -0.5f &&
         p.y < static_cast<float>(t.dims[1]) - 0.5f && p.z >= -0.5f && p.z < static_cast<float>(t.dims[2]) - 0.5f;
}

/// Of a point inside.
PENSTOCK_HD Corners corners_of(const TrackParams& t, const Vec3& p) {
  const float at[3] = {p.x, p.y, p.z};
  std::uint32_t low[3], high[3];
  float w[3];
  for (int d = 0; d < 3; ++d) {
    const std::int32_t floor = floor_int(at[d]), last = static_cast<std::int32_t>(t.dims[d]) - 1;
    w[d] = at[d] - static_cast<float>(floor);
    low[d] = static_cast<std::uint32_t>(floor < 0 ? 0 : floor);
    high[d] = static_cast<std::uint32_t>(floor + 1 > last ? last : floor + 1);
  }
  Corners c;
  for (int k = 0; k < 8; ++k) {
    const std::uint32_t x = (k & 1) != 0 ? high[0] : low[0], y = (k & 2) != 0 ? high[1] : low[1],
                        z = (k & 4) != 0 ? high[2] : low[2];
    c.voxel[k] = (z * t.dims[1] + y) * t.dims[0] + x;
    c.part[k] = ((k & 1) != 0 ? w[0] : 1 - w[0]) * ((k & 2) != 0 ? w[1] : 1 - w[1]) * ((k & 4) != 0 ? w[2] : 1 - w[2]);
  }
  return c;
}

/// A map at a point inside.
PENSTOCK_HD float sample_map(const float* map, const Corners& c) {
  float sum = 0;
  for (int k = 0; k < 8; ++k) sum += c.part[k] * map[c.voxel[k]];
  return sum;
}

/// The amplitudes of one corner, and what they are multiplied with; 0 where the voxel has none.
struct CornerRow {
  const std::uint16_t* pmf;
  float part;
};
PENSTOCK_HD CornerRow corner_row(const TrackParams& t, const TrackBuffers& in, const Corners& c, int k) {
  const std::int32_t row = in.row[c.voxel[k]];
  return {in.pmf + static_cast<std::uint64_t>(row < 0 ? 0 : row) * t.stride, row < 0 ? 0 : c.part[k] * in.scale[row]};
}

struct alignas(8) FourAmplitudes {
  std::uint16_t of[4];
};
PENSTOCK_HD FourAmplitudes load4(const CornerRow& row, std::uint32_t four) {
  return load_aligned<FourAmplitudes>(reinterpret_cast<const FourAmplitudes*>(row.pmf) +
                                      four);  // rows begin on 128 bytes
}
struct EightParts {
  float of[8];
};
/// Added from the first corner to the last, on every processor.
PENSTOCK_HD float blend(std::uint16_t a, std::uint16_t b, std::uint16_t c, std::uint16_t d, std::uint16_t e,
                        std::uint16_t f, std::uint16_t g, std::uint16_t h, const EightParts& part) {
  return part.of[0] * static_cast<float>(a) + part.of[1] * static_cast<float>(b) + part.of[2] * static_cast<float>(c) +
         part.of[3] * static_cast<float>(d) + part.of[4] * static_cast<float>(e) + part.of[5] * static_cast<float>(f) +
         part.of[6] * static_cast<float>(g) + part.of[7] * static_cast<float>(h);
}

/// The directions as a multiple of what vectors hold, for loops of the host: `stride` and a team's room are multiples
/// too.
inline std::uint32_t host_directions(const TrackParams& t) { return (t.directions + 15) / 16 * 16; }

/// The amplitudes at a point inside, into `out` (shared by the team).  They are not negative, so that their bits as
/// whole numbers are in the same order.
template <class Team>
PENSTOCK_HD void sample_pmf(const Team& team, const TrackParams& t, const TrackBuffers& in, const Corners& c,
                            float* out) {
  const CornerRow a = corner_row(t, in, c, 0), b = corner_row(t, in, c, 1), d = corner_row(t, in, c, 2),
                  e = corner_row(t, in, c, 3), f = corner_row(t, in, c, 4), g = corner_row(t, in, c, 5),
                  h = corner_row(t, in, c, 6), j = corner_row(t, in, c, 7);
  const EightParts parts = {{a.part, b.part, d.part, e.part, f.part, g.part, h.part, j.part}};
  if constexpr (std::is_same_v<Team, HostTeam<Team::lanes>>) {  // a compiler makes vectors of neighbours
    const std::uint32_t n = host_directions(t);
    for (std::uint32_t i = 0; i < n; ++i)
      out[i] = blend(a.pmf[i], b.pmf[i], d.pmf[i], e.pmf[i], f.pmf[i], g.pmf[i], h.pmf[i], j.pmf[i], parts);
  } else {  // a lane takes four with each load; `stride` has room for them
    team.for_each((t.directions + 3) / 4, [=](std::uint32_t four) {
      const FourAmplitudes a4 = load4(a, four), b4 = load4(b, four), d4 = load4(d, four), e4 = load4(e, four),
                           f4 = load4(f, four), g4 = load4(g, four), h4 = load4(h, four), j4 = load4(j, four);
      PENSTOCK_UNROLL
      for (int k = 0; k < 4; ++k)
        out[4 * four + static_cast<std::uint32_t>(k)] =
            blend(a4.of[k], b4.of[k], d4.of[k], e4.of[k], f4.of[k], g4.of[k], h4.of[k], j4.of[k], parts);
    });
  }
}

/// Largest of `n` numbers that are not negative; uniform.
template <class Team>
PENSTOCK_HD float team_largest(const Team& team, const float* values, std::uint32_t n) {
  auto most = team.map([&](std::uint32_t lane) {
    std::uint32_t bits = 0;
    for (std::uint32_t i = lane; i < n; i += Team::lanes) {
      const std::uint32_t b = float_bits(values[i]);
      bits = b > bits ? b : bits;
    }
    return bits;
  });
  return bits_float(team.largest(most));
}

/// The same without lanes, for a compiler to make vectors of.
template <int N>
float team_largest(const HostTeam<N>&, const float* values, std::uint32_t n) {
  std::int32_t most = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    const auto bits = static_cast<std::int32_t>(float_bits(values[i]));
    most = bits > most ? bits : most;
  }
  return bits_float(static_cast<std::uint32_t>(most));
}

/// Smallest of `n` numbers that are not negative, as a loop for vectors.
template <int N>
float team_smallest(const HostTeam<N>&, const float* values, std::uint32_t n) {
  std::int32_t least = 0x7f800000;
  for (std::uint32_t i = 0; i < n; ++i) {
    const auto bits = static_cast<std::int32_t>(float_bits(values[i]));
    least = bits < least ? bits : least;
  }
  return bits_float(static_cast<std::uint32_t>(least));
}

/// Smallest of `n` numbers that are not negative; uniform.
template <class Team>
PENSTOCK_HD float team_smallest(const Team& team, const float* values, std::uint32_t n) {
  auto most = team.map([&](std::uint32_t lane) {
    std::uint32_t turned = 0;
    for (std::uint32_t i = lane; i < n; i += Team::lanes) {
      const std::uint32_t b = ~float_bits(values[i]);
      turned = b > turned ? b : turned;
    }
    return turned;
  });
  return bits_float(~team.largest(most));
}

/// The lowest number below `n` whose value is `wanted`, which one has; uniform.
template <class Team>
PENSTOCK_HD std::uint32_t lowest_equal(const Team& team, const float* values, std::uint32_t n, float wanted) {
  auto lowest = team.map([&](std::uint32_t lane) {
    std::uint32_t found = 0;  // counted from the end, so that the largest is the lowest number
    for (std::uint32_t i = lane; i < n && found == 0; i += Team::lanes)
      if (values[i] == wanted) found = n - i;
    return found;
  });
  return n - team.largest(lowest);
}

/// The same without lanes.
template <int N>
std::uint32_t lowest_equal(const HostTeam<N>&, const float* values, std::uint32_t n, float wanted) {
  std::uint32_t i = 0;
  while (i < n && values[i] != wanted) ++i;
  return i;
}

}  // namespace penstock::tracto
