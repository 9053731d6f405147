// Putting a directory that was written beside another into its place.
#pragma once
#include <optional>
#include <string>

#include "penstock/error.hpp"
#include "penstock/store_options.hpp"

namespace penstock {

/// A directory, and the one beside it that will take its place.
class DirectorySwap {
 public:
  /// nullopt where it cannot be: the parent directory may not be written to or is another file system, or this process
  /// works inside the directory.  Links are followed.
  static std::optional<DirectorySwap> of(const std::string& directory);
  /// `.penstock-new-NAME` in the same parent directory: always the same name, so that what was begun is found again.
  [[nodiscard]] const std::string& beside() const { return beside_; }
  /// Exchanges the two in one step: the directory holds all of the old or all of the new, whenever it is looked at.
  /// Where the file system has no exchange, the old one is renamed to `.penstock-old-NAME` first.  Unless `durable` is
  /// none, the exchange is on the disk afterwards. Errors: io_error.
  [[nodiscard]] Status exchange(Durable durable);
  /// Removes the old one; unless `durable` is none, on the disk too.
  [[nodiscard]] Status remove_old(Durable durable) const;

 private:
  [[nodiscard]] Status rename_both();

  std::string directory_, beside_, old_;
};

}  // namespace penstock
