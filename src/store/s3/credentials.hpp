// Who signs requests to S3, and where that was said.
#pragma once
#include <optional>
#include <string>

#include "penstock/store_options.hpp"
#include "store/s3/sigv4.hpp"

namespace penstock::s3 {

/// How the store is reached, gathered from options, environment and profile.
struct Settings {
  std::optional<Credentials> credentials;  ///< nullopt: requests are not signed
  std::string credentials_from;            ///< for people: "environment", "profile default", "skip_signature"
  std::string region;                      ///< empty: nobody said
  std::string region_from;
  std::string endpoint;  ///< empty: Amazon's own
  std::string ca_file;   ///< empty: the system's certificates
};

/// Options first, then AWS_* of the environment, then the profile in ~/.aws (AWS_SHARED_CREDENTIALS_FILE,
/// AWS_CONFIG_FILE, AWS_PROFILE; option `profile`).
/// Errors: invalid_argument (half of a pair, a profile that is not there, no name of a region), permission_denied
/// (nobody says who signs).
Result<Settings> find_settings(const StoreOptions& options);

/// Sections of an INI file as ~/.aws holds them: names to their members.  What cannot be understood is left out.
using Profiles = std::map<std::string, std::map<std::string, std::string>, std::less<>>;
Profiles parse_profiles(std::string_view text);
/// Letters, digits, '-' and '_': it becomes a part of hosts and signatures.
bool is_region(std::string_view text);
/// "true", "1", "yes", "on" and their opposites.  Errors: invalid_argument.
Result<bool> parse_switch(std::string_view text, std::string_view name);

}  // namespace penstock::s3
