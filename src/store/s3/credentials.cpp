#include "store/s3/credentials.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <vector>

#include "store/http/remote_store.hpp"
#include "store/key.hpp"

namespace penstock::s3 {
namespace {

using http::option_of;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(), [](unsigned char c) { return std::tolower(c); });
  return small;
}

/// As Amazon's tools take it: "profile  name" and `profile "name"` are "profile name".
std::string section_name(std::string_view text) {
  constexpr std::string_view kProfile = "profile";
  text = trimmed(text);
  if (!text.starts_with(kProfile) || text.size() == kProfile.size()) return std::string(text);
  std::string_view name = text.substr(kProfile.size());
  if (std::isspace(static_cast<unsigned char>(name.front())) == 0) return std::string(text);
  name = trimmed(name);
  const bool is_quoted =
      name.size() > 1 && (name.front() == '"' || name.front() == '\'') && name.front() == name.back();
  if (is_quoted) name = name.substr(1, name.size() - 2);
  return std::string(kProfile) + " " + std::string(name);
}

/// A file of profiles.
struct ProfileFile {
  Profiles profiles;
  std::string trouble;  ///< why it could not be read; empty also where it need not be there
};

/// The file that the environment names, which then has to be there, or the one in ~/.aws.
ProfileFile read_file(const char* variable, const char* file) {
  constexpr std::size_t kMaxBytes = 1 << 20;
  const std::string named = environment(variable);
  const std::string path = named.empty() ? environment("HOME") + "/.aws/" + file : named;
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  std::string text(kMaxBytes, '\0');
  if (stream) stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
  const int error = text.empty() ? errno : 0;
  ProfileFile out{parse_profiles(text), {}};
  const bool is_absent = error == ENOENT || error == ENOTDIR;
  if (error != 0 && !(is_absent && named.empty()))
    out.trouble = path + (named.empty() ? "" : std::string(" (") + variable + ")") + ": " +
                  std::generic_category().message(error);
  return out;
}

struct Profile {
  std::string name;
  std::map<std::string, std::string> members;
  std::vector<std::string> troubles;  ///< of the files
  [[nodiscard]] std::string member(const std::string& key) const {
    const auto found = members.find(key);
    return found == members.end() ? std::string() : found->second;
  }
  /// "; FILE: WHY" of each file that could not be read.
  [[nodiscard]] std::string told_troubles() const {
    std::string text;
    for (const std::string& one : troubles) text += "; " + one;
    return text;
  }
};

/// What ~/.aws/credentials and ~/.aws/config say of the profile; the former goes first.
Result<Profile> read_profile(const StoreOptions& options) {
  Profile profile;
  profile.name = option_of(options, "profile");
  const bool named = !profile.name.empty() || !environment("AWS_PROFILE").empty();
  if (profile.name.empty()) profile.name = environment("AWS_PROFILE");
  if (profile.name.empty()) profile.name = "default";
  bool found = false;
  const auto take = [&](const ProfileFile& file, const std::string& section) {
    const auto here = file.profiles.find(section);
    if (here == file.profiles.end()) return;
    found = true;
    profile.members.insert(here->second.begin(), here->second.end());
  };
  const ProfileFile credentials = read_file("AWS_SHARED_CREDENTIALS_FILE", "credentials");
  const ProfileFile config = read_file("AWS_CONFIG_FILE", "config");
  take(credentials, profile.name);
  take(config, "profile " + profile.name);
  if (profile.name == "default") take(config, "default");
  for (const ProfileFile* file : {&credentials, &config})
    if (!file->trouble.empty()) profile.troubles.push_back(file->trouble);
  if (!found && named)
    return Error(ErrorCode::invalid_argument,
                 "S3: there is no profile " + quoted_key(profile.name) + profile.told_troubles())
        .set_hint("profiles stand in ~/.aws/credentials and ~/.aws/config");
  return profile;
}

/// nullopt: neither of the two was given.  Errors: one of them.
Result<std::optional<Credentials>> pair_of(std::string id, std::string secret, std::string token,
                                           const std::string& from) {
  if (id.empty() && secret.empty()) return std::optional<Credentials>();
  if (id.empty() || secret.empty())
    return Error(ErrorCode::invalid_argument,
                 "S3: only one of access_key_id and secret_access_key is given by " + from);
  for (const std::string* text : {&id, &secret, &token})
    if (std::any_of(text->begin(), text->end(), [](unsigned char c) { return c <= ' ' || c == 0x7f; }))
      return Error(ErrorCode::invalid_argument, "S3: there is a blank or a line break in the credentials from " + from);
  return std::optional(Credentials{std::move(id), std::move(secret), std::move(token)});
}

Error nobody_signs(const Profile& profile) {
  return Error(ErrorCode::permission_denied, "S3: there are no credentials" + profile.told_troubles())
      .set_hint(
          "options access_key_id and secret_access_key, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile in "
          "~/.aws/credentials; public data: option skip_signature=true");
}

Status find_credentials(const StoreOptions& options, const Profile& profile, Settings& settings) {
  PENSTOCK_ASSIGN(const bool skip, parse_switch(option_of(options, "skip_signature"), "skip_signature"));
  if (skip) {
    settings.credentials_from = "skip_signature";
    return {};
  }
  const auto take = [&](Result<std::optional<Credentials>> given, std::string from) -> Result<bool> {
    PENSTOCK_ASSIGN(settings.credentials, std::move(given));
    settings.credentials_from = std::move(from);
    return settings.credentials.has_value();
  };
  PENSTOCK_ASSIGN(const bool by_option,
                  take(pair_of(option_of(options, "access_key_id"), option_of(options, "secret_access_key"),
                               option_of(options, "session_token"), "the options"),
                       "options"));
  if (by_option) return {};
  const std::string profile_from = "the profile " + quoted_key(profile.name);
  const auto by_profile = [&] {
    return take(pair_of(profile.member("aws_access_key_id"), profile.member("aws_secret_access_key"),
                        profile.member("aws_session_token"), profile_from),
                "profile " + profile.name);
  };
  if (!option_of(options, "profile").empty()) {  // asked for by name: the environment does not go before it
    PENSTOCK_ASSIGN(const bool found, by_profile());
    if (found) return {};
    return nobody_signs(profile);
  }
  PENSTOCK_ASSIGN(const bool by_environment,
                  take(pair_of(environment("AWS_ACCESS_KEY_ID"), environment("AWS_SECRET_ACCESS_KEY"),
                               environment("AWS_SESSION_TOKEN"), "the environment (AWS_*)"),
                       "environment"));
  if (by_environment) return {};
  PENSTOCK_ASSIGN(const bool found, by_profile());
  if (found) return {};
  return nobody_signs(profile);
}

/// The first of these that says something.
struct Said {
  std::string value, from;
};
Said first_of(std::initializer_list<Said> all) {
  for (const Said& one : all)
    if (!one.value.empty()) return one;
  return {};
}

}  // namespace

bool is_region(std::string_view text) {
  constexpr std::size_t kMax = 64;
  return !text.empty() && text.size() <= kMax &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") ==
             std::string_view::npos;
}

Result<bool> parse_switch(std::string_view text, std::string_view name) {
  const std::string small = in_small_letters(text);
  if (small == "true" || small == "1" || small == "yes" || small == "on") return true;
  if (small.empty() || small == "false" || small == "0" || small == "no" || small == "off") return false;
  return Error(ErrorCode::invalid_argument, "option " + std::string(name) + ": true or false, not " + quoted_key(text));
}

Profiles parse_profiles(std::string_view text) {
  Profiles all;
  std::map<std::string, std::string>* section = nullptr;
  std::optional<std::size_t> member_indent;                     // of the last member of the section
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // Windows' mark of UTF-8
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view raw = text.substr(0, end), line = trimmed(raw);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    const auto indent = static_cast<std::size_t>(line.data() - raw.data());
    if (member_indent && indent > *member_indent) continue;  // "s3 =" and what belongs to it
    if (line.front() == '[') {  // a section whose name is not understood takes its members along
      const std::size_t close = line.find(']');
      section = close == std::string_view::npos ? nullptr : &all[section_name(line.substr(1, close - 1))];
      member_indent.reset();
      continue;
    }
    const std::size_t equals = line.find_first_of("=:");
    if (section == nullptr || equals == std::string_view::npos) continue;
    member_indent = indent;
    (*section)[in_small_letters(trimmed(line.substr(0, equals)))] = std::string(trimmed(line.substr(equals + 1)));
  }
  return all;
}

Result<Settings> find_settings(const StoreOptions& options) {
  PENSTOCK_ASSIGN(const Profile profile, read_profile(options));
  Settings settings;
  PENSTOCK_TRY(find_credentials(options, profile, settings));
  const std::string by_profile = "profile " + profile.name;
  const Said region = first_of({{option_of(options, "region"), "options"},
                                {environment("AWS_REGION"), "environment"},
                                {environment("AWS_DEFAULT_REGION"), "environment"},
                                {profile.member("region"), by_profile}});
  if (!region.value.empty() && !is_region(region.value))
    return Error(ErrorCode::invalid_argument,
                 "S3: no region has the name " + quoted_key(region.value) + " (" + region.from + ")");
  settings.region = region.value;
  settings.region_from = region.from;
  settings.endpoint = first_of({{option_of(options, "endpoint"), ""},
                                {environment("AWS_ENDPOINT_URL_S3"), ""},
                                {environment("AWS_ENDPOINT_URL"), ""},
                                {profile.member("endpoint_url"), ""}})
                          .value;
  settings.ca_file = first_of({{option_of(options, "ca_file"), ""}, {environment("AWS_CA_BUNDLE"), ""}}).value;
  return settings;
}

}  // namespace penstock::s3
