// Real spherical harmonics of even degree.
#pragma once
#include <Eigen/Core>
#include <cstdint>
#include <span>

#include "penstock/tracto.hpp"
#include "tracto/sphere/sphere.hpp"

namespace penstock::tracto {

/// Coefficients of even degrees up to `order`.
constexpr std::uint32_t sh_count(std::uint32_t order) { return (order + 1) * (order + 2) / 2; }
/// Degree of coefficient number `index`.
std::uint32_t sh_degree(std::uint32_t index);

/// Values of the functions, a row for each direction (unit), a column for each coefficient: degree 0, 2, ..., order; in
/// each m = -degree to degree.
Eigen::MatrixXd sh_matrix(std::span<const Direction> directions, std::uint32_t order,
                          ShBasis basis = ShBasis::descoteaux07_legacy);

}  // namespace penstock::tracto
