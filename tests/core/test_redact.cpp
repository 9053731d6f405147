#include <gtest/gtest.h>

#include "penstock/store_options.hpp"

using namespace penstock;

TEST(Redacted, UsersAndPasswords) {
  EXPECT_EQ(redacted("s3://user:secret@host/bucket/a"), "s3://***@host/bucket/a");
  EXPECT_EQ(redacted("https://token@host:8080/a"), "https://***@host:8080/a");
  EXPECT_EQ(redacted("https://u:p@w@host/a"), "https://***@host/a");
  EXPECT_EQ(redacted("https://u:se/cr?et#@host/a"), "https://***@host/a") << "unescaped, wrongly";
}

TEST(Redacted, WhatIsBehindTheQuestionMark) {
  EXPECT_EQ(redacted("https://h/a?X-Amz-Signature=abc&X-Amz-Date=2026"),
            "https://h/a?X-Amz-Signature=***&X-Amz-Date=***");
  EXPECT_EQ(redacted("https://h/a?sv=1&sig=a%2Fb/c?d=e"), "https://h/a?sv=***&sig=***?d=***");
  EXPECT_EQ(redacted("https://h/a?secret"), "https://h/a?***");
  EXPECT_EQ(redacted("https://h/a?empty=&#token=x"), "https://h/a?empty=&#token=***");
}

TEST(Redacted, InRunningText) {
  EXPECT_EQ(redacted("cannot open https://h/a?sig=abc: not found (https://u:p@h)"),
            "cannot open https://h/a?sig=***: not found (https://***@h)");
  EXPECT_EQ(redacted("'s3://u:p@b/a', \"s3://b/x?k=v\""), "'s3://***@b/a', \"s3://b/x?k=***\"");
}

TEST(Redacted, PlainTextStays) {
  for (const char* text : {"", "/data/what?/a=b", "://a:b@c", "https://host:8080/a/b@c", "http://[::1]:80/a@b",
                           "s3://b/a", "memory://x", "http://", "a://b://c"})
    EXPECT_EQ(redacted(text), text);
}

TEST(Redacted, TwiceIsOnce) {
  const std::string once = redacted("s3://u:p@h/a?b=c&d");
  EXPECT_EQ(redacted(once), once);
}

TEST(Redacted, ErrorsAndWhatIsPutBeforeThem) {
  Error error(ErrorCode::io_error, "https://h/a?sig=abc: gone");
  error.set_hint("see https://u:p@h/").set_errno(5);
  const Error safe = redacted(error);
  EXPECT_EQ(safe.message(), "https://h/a?sig=***: gone");
  EXPECT_EQ(safe.hint(), "see https://***@h/");
  EXPECT_EQ(safe.system_errno(), 5);
  EXPECT_EQ(Error(ErrorCode::io_error, "gone").add_context("s3://u:p@h/a").message(), "s3://***@h/a: gone");
}
