// A folder that is written beside its place and comes into it whole, in one step.
#pragma once
#include <memory>
#include <string>

#include "penstock/store.hpp"
#include "store/posix.hpp"

namespace penstock::tracto {

/// Nobody else writes to the same place meanwhile: `.penstock-new-NAME` in the same parent is locked (flock) as long as
/// its writer lives, and holds what is written.  What a killed writer has left there is removed by the next.
class WholeFolder {
 public:
  /// Errors: already_exists (another writer is at work there), permission_denied, io_error.
  static Result<std::unique_ptr<WholeFolder>> begin(const std::string& path);
  WholeFolder(const WholeFolder&) = delete;
  WholeFolder& operator=(const WholeFolder&) = delete;
  /// Unless it was committed, nothing is left but what stood there before.
  ~WholeFolder();

  /// What comes into the folder.
  [[nodiscard]] Store& store() const { return *store_; }
  /// Takes the place of what stands there, which is removed: all of the old is there or all of the new.  Where the file
  /// system cannot exchange two names, neither for a moment.  Errors: io_error.
  Status commit();

 private:
  WholeFolder() = default;
  Status exchange();

  std::string path_, beside_;
  FileDescriptor lock_;
  std::shared_ptr<Store> store_;
};

}  // namespace penstock::tracto
