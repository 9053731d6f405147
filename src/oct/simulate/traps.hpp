// What may be odd about a made subject: what reconstructions stumble over.
#pragma once
#include <span>
#include <string_view>

#include "oct/simulate/subject.hpp"

namespace penstock::oct {

/// One oddity.
struct Trap {
  std::string_view name, what;
  void (*of_size)(SubjectSize& size);    ///< before the subject is made; may be nullptr
  void (*of_subject)(Subject& subject);  ///< of the subject; may be nullptr
};
std::span<const Trap> traps();

/// The subject of a size and a seed, with the traps that `names` lists with commas between them; empty: none.
/// Errors: invalid_argument (no such trap, with the nearest).
Result<Subject> make_subject(SubjectSize size, std::uint64_t seed, std::string_view names);

}  // namespace penstock::oct
