// Locks of files against other processes, without files of their own: flock on the directory that holds the file.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "penstock/store.hpp"
#include "store/posix.hpp"

namespace penstock {

/// Locks the file `name` of an open directory: against every thread of the process by the directory's inode and the
/// name, whatever path it was opened by, and against other processes by the directory.  Processes that replace files
/// share the directory, one that changes a file in part has it for itself.  The lock ends with its process.
/// Where the file system has no such locks, only the process is excluded.
Result<std::unique_ptr<ObjectLock>> lock_file(FileDescriptor directory, FileName file, const std::string& name,
                                              LockUse use, const std::function<Status()>& check);

/// Whether an errno of flock says that the file system has no such locks.
bool means_no_locks(int errno_value);

/// Whether the file system of an open directory has locks against other processes.
bool has_directory_locks(int directory);

}  // namespace penstock
