// Profiles as people write them: read as Amazon's own tools do, and what cannot be read is said.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "store/s3/credentials.hpp"
#include "store_kinds.hpp"

using namespace penstock;
using penstock::test::TemporaryDirectory;

namespace {

/// Variables of the environment, as they were before.
class Kept {
 public:
  ~Kept() {
    for (const auto& [name, value] : before_)
      if (value)
        ::setenv(name.c_str(), value->c_str(), 1);
      else
        ::unsetenv(name.c_str());
  }
  void set(const char* name, const char* value) {
    const char* const now = std::getenv(name);
    before_.try_emplace(name, now == nullptr ? std::nullopt : std::optional<std::string>(now));
    if (value == nullptr)
      ::unsetenv(name);
    else
      ::setenv(name, value, 1);
  }

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

class Credentials : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE",
                             "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"})
      environment_.set(name, nullptr);
    environment_.set("HOME", home_.path().c_str());
    std::filesystem::create_directory(home_.path() / ".aws");
  }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(home_.path() / ".aws" / name, std::ios::binary) << text;
  }
  Result<s3::Settings> find(const std::string& profile = "") {
    StoreOptions options;
    if (!profile.empty()) options.by_name["profile"] = profile;
    return s3::find_settings(options);
  }
  /// "ID SECRET" of a profile, or what is wrong.
  std::string pair(const std::string& profile = "") {
    const auto found = find(profile);
    if (!found) return found.error().message();
    return found->credentials->access_key_id + " " + found->credentials->secret_access_key;
  }

  const TemporaryDirectory home_;
  Kept environment_;
};

}  // namespace

TEST_F(Credentials, OddWhitespaceIsReadAsAmazonsToolsDo) {
  for (const char* text : {
           "[default]\naws_access_key_id=ID\naws_secret_access_key=a/b+c=\n",
           "\xef\xbb\xbf[default]\r\naws_access_key_id = ID\r\naws_secret_access_key = a/b+c=\r\n",
           "  [ default ]  \n\taws_access_key_id\t=\tID\t\n\taws_secret_access_key  =  a/b+c=  \n",
           "[default]\n  aws_access_key_id = ID\n\n  # of mine\n  aws_secret_access_key = a/b+c=",
           "[default] ; of mine\nAWS_ACCESS_KEY_ID: ID\nAws_Secret_Access_Key: a/b+c=\n",
           "[default]\ns3 =\n  region = no\n  aws_access_key_id = no\naws_access_key_id = ID\naws_secret_access_key = "
           "a/b+c=",
       }) {
    write("credentials", text);
    EXPECT_EQ(pair(), "ID a/b+c=") << text;
  }
}

TEST_F(Credentials, ASectionEndsWhereTheNextOneBegins) {
  for (const char* second : {"[other] # a comment", "[other]x", "[other", "[ other ]", "[]"}) {
    write("credentials", std::string("[default]\naws_access_key_id=ID\naws_secret_access_key=SECRET\n") + second +
                             "\naws_access_key_id=WRONG\naws_secret_access_key=WRONG\n");
    EXPECT_EQ(pair(), "ID SECRET") << second;
  }
}

TEST_F(Credentials, SectionsOfTheConfiguration) {
  const std::string members = "\naws_access_key_id=ID\naws_secret_access_key=SECRET\nregion = eu-central-1\n";
  for (const char* section :
       {"[profile lab]", "[profile  lab ]", "[profile\tlab]", "[profile \"lab\"]", "[profile 'lab']"}) {
    write("config", section + members);
    EXPECT_EQ(pair("lab"), "ID SECRET") << section;
    const auto found = find("lab");
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->region, "eu-central-1") << section;
  }
  for (const char* section : {"[lab]", "[profilelab]", "[profile]"}) {
    write("config", section + members);
    EXPECT_NE(pair("lab").find("there is no profile 'lab'"), std::string::npos) << section;
  }
}

TEST_F(Credentials, ABlankInsideIsAnError) {
  write("credentials", "[default]\naws_access_key_id=ID # mine\naws_secret_access_key=SECRET\n");
  const auto found = find();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(found.error().message().find("SECRET"), std::string::npos);
}

TEST_F(Credentials, AFileThatCannotBeReadIsNamed) {
  EXPECT_EQ(pair(), "S3: there are no credentials") << "files that need not be there";
  std::filesystem::create_directory(home_.path() / ".aws" / "credentials");
  EXPECT_EQ(pair(), "S3: there are no credentials; " + home_ / ".aws/credentials" + ": Is a directory");
  environment_.set("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent/keys");
  EXPECT_EQ(
      pair("lab"),
      "S3: there is no profile 'lab'; /nonexistent/keys (AWS_SHARED_CREDENTIALS_FILE): No such file or directory");
  environment_.set("AWS_SHARED_CREDENTIALS_FILE", "/dev/null");
  EXPECT_EQ(pair(), "S3: there are no credentials");
  environment_.set("AWS_ACCESS_KEY_ID", "ID");
  environment_.set("AWS_SECRET_ACCESS_KEY", "SECRET");
  environment_.set("AWS_CONFIG_FILE", "/nonexistent/config");
  EXPECT_EQ(pair(), "ID SECRET") << "nothing of the files is needed";
}
