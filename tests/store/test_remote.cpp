// Stores behind HTTP against a server that misbehaves: each fault of a network is a test.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <thread>

#include "in_child.hpp"
#include "penstock/store.hpp"
#include "remote.hpp"
#include "store/http/pace.hpp"
#include "store_kinds.hpp"

using namespace penstock;
using penstock::test::Collect;
using penstock::test::fetch_text;
using penstock::test::Json;
using penstock::test::kSecret;
using penstock::test::ObjectServer;
using penstock::test::Remote;
using penstock::test::rule;
using penstock::test::TemporaryDirectory;
using Clock = std::chrono::steady_clock;

TEST_F(Remote, AnObjectIsOneRequestWithoutALookBefore) {
  put("k", "0123456789");
  server_.rules(Json::array());
  EXPECT_EQ(text("k"), "0123456789");
  EXPECT_EQ(text("k", ByteRange::span(2, 3)), "234");
  EXPECT_EQ(text("k", ByteRange::last(3)), "789");
  EXPECT_EQ(text("absent"), "absent");
  const Json log = server_.log();
  ASSERT_EQ(log.size(), 4u);
  for (const Json& one : log) EXPECT_EQ(one["method"], "GET");
}

TEST_F(Remote, PassingRefusalsAreTriedAgain) {
  put("k", "value");
  for (const int status : {408, 429, 500, 502, 503, 504}) {
    server_.rules(rule("GET", {{"status", status}, {"times", 2}}));
    EXPECT_EQ(text("k"), "value") << status;
    EXPECT_EQ(requests(), 3u) << status;
  }
}

TEST_F(Remote, EachAttemptIsSignedAnew) {
  put("k", "value");
  server_.rules(rule("GET", {{"status", 503}, {"times", 1}, {"headers", {{"Retry-After", "1"}}}}));
  EXPECT_EQ(text("k"), "value");
  const Json log = server_.log();
  ASSERT_EQ(log.size(), 2u);
  EXPECT_NE(log[0]["headers"]["x-amz-date"], log[1]["headers"]["x-amz-date"]);
  EXPECT_NE(log[0]["headers"]["authorization"], log[1]["headers"]["authorization"]);
}

TEST_F(Remote, RetryAfterIsWaitedForOrGivenUpAtOnce) {
  put("k", "value");
  server_.rules(rule("GET", {{"status", 503}, {"headers", {{"Retry-After", "1"}}}}));
  const auto start = Clock::now();
  EXPECT_EQ(text("k"), "value");
  EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(950));

  server_.rules(rule("GET", {{"status", 503}, {"times", -1}, {"headers", {{"Retry-After", "3600"}}}}));
  const auto again = Clock::now();
  EXPECT_EQ(error("k").code(), ErrorCode::io_error);
  EXPECT_LT(Clock::now() - again, std::chrono::seconds(2)) << "longer than the deadline is not waited for";
}

TEST_F(Remote, ARetryAfterBeyondTheDeadlineIsTold) {
  put("k", "value");
  const auto store = open_with({{"deadline", "2s"}});
  for (const int passing : {0, 1}) {
    server_.rules(Json::array({{{"match", "GET"}, {"status", 503}, {"times", passing}},
                               {{"match", "GET"}, {"status", 503}, {"headers", {{"Retry-After", "120"}}}}}));
    const Error error = error_of(*store, {"k", {}});
    EXPECT_TRUE(error.message().starts_with(
        "s3://bucket/vol.zarr/k: the server answers 503; it asks to be left alone for 2 min 0 s, which goes beyond the "
        "deadline of 2.00 s"))
        << error.message();
    EXPECT_EQ(error.hint(), "option deadline gives a request more time (now 2.00 s)");
    EXPECT_EQ(error.message().find("given up after 2 attempts") != std::string::npos, passing == 1) << error.message();
    EXPECT_EQ(requests(), 1u + passing);
  }
}

TEST_F(Remote, TheDeadlineEndsWhatKeepsFailing) {
  put("k", "value");
  const auto store = open_with({{"deadline", "700ms"}});
  server_.rules(rule("GET", {{"status", 503}, {"times", -1}}));
  const auto start = Clock::now();
  const Error error = error_of(*store, {"k", {}});
  EXPECT_EQ(error.code(), ErrorCode::io_error);
  EXPECT_NE(error.message().find("given up after"), std::string::npos) << error.message();
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(2));
  EXPECT_GT(requests(), 1u);
}

TEST_F(Remote, AResetConnectionIsTriedAgain) {
  put("k", "value");
  server_.rules(rule("GET", {{"reset", true}, {"times", 2}}));
  EXPECT_EQ(text("k"), "value");
  EXPECT_EQ(requests(), 3u);
}

TEST_F(Remote, ASilentConnectionIsGivenUp) {
  const std::string value(100'000, 'v');
  put("k", value);
  const auto store = open_with({{"silence", "1s"}});
  for (const Json& fault : {Json{{"stall_after", 0}}, Json{{"stall_after", 1000}}, Json{{"delay_s", 30}}}) {
    server_.rules(rule("GET", fault));
    const auto start = Clock::now();
    EXPECT_EQ(fetch_text(*store, {"k", {}}), value) << fault;
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(6)) << fault;
  }
}

TEST_F(Remote, ACutBodyIsGoneOnWith) {
  std::string value;
  for (int i = 0; i < 100'000; ++i) value += static_cast<char>('a' + i % 26);
  put("k", value);
  server_.rules(rule("GET", {{"cut_after", 60'000}}));
  EXPECT_EQ(text("k"), value);
  Json log = server_.log();
  ASSERT_EQ(log.size(), 2u);
  EXPECT_TRUE(log[1]["headers"]["range"].get<std::string>().starts_with("bytes=60000-")) << log[1];
  EXPECT_TRUE(log[1]["headers"].contains("if-match")) << "of the same version";
  server_.rules(rule("GET", {{"cut_after", 10}}));
  EXPECT_EQ(text("k", ByteRange::span(1000, 500)), value.substr(1000, 500));
  log = server_.log();
  EXPECT_EQ(log[1]["headers"]["range"], "bytes=1010-1499");
}

TEST_F(Remote, ACutBodyOfAServerWithoutVersionsIsReadFromTheBegin) {
  const std::string value(100'000, 'v');
  put("k", value);
  server_.options({{"etags", false}});
  server_.rules(rule("GET", {{"cut_after", 60'000}}));
  EXPECT_EQ(text("k"), value);
  EXPECT_FALSE(server_.log()[1]["headers"].contains("range"));
}

TEST_F(Remote, AnObjectThatIsReplacedWhileItIsReadIsNotMixed) {
  put("k", std::string(100'000, 'a'));
  server_.rules(rule("GET", {{"cut_after", 60'000}, {"replace", std::string(100'000, 'b')}}));
  EXPECT_EQ(error("k").code(), ErrorCode::changed);
  EXPECT_EQ(text("k"), std::string(100'000, 'b'));
}

TEST_F(Remote, AnObjectThatIsReplacedBetweenRequestsIsNoticed) {
  put("k", "first version");
  ObjectVersion version;
  EXPECT_EQ(fetch_text(*store_, {"k", ByteRange::last(7)}, &version), "version");
  put("k", "other content");
  EXPECT_EQ(fetch_text(*store_, {"k", ByteRange::span(0, 5), &version}), "changed");
  const ObjectVersion by_number{version.number, nullptr};
  EXPECT_EQ(fetch_text(*store_, {"k", ByteRange::span(0, 5), &by_number}), "changed") << "also without the ETag itself";
}

TEST_F(Remote, AnotherRangeThanAskedIsAnError) {
  put("k", "0123456789");
  server_.rules(rule("GET", {{"other_range", true}, {"times", -1}}));
  const Error said = error("k", ByteRange::span(2, 3));
  EXPECT_EQ(said.code(), ErrorCode::io_error);
  EXPECT_NE(said.message().find("s3://bucket/vol.zarr/k"), std::string::npos) << said.message();
  EXPECT_EQ(requests(), 1u) << "it would answer so again";
}

TEST_F(Remote, AServerWithoutRangesIsToldFromOneWithThem) {
  put("k", "0123456789");
  server_.rules(rule("GET", {{"no_ranges", true}, {"times", -1}}));
  EXPECT_EQ(text("k"), "0123456789");
  EXPECT_EQ(text("k", ByteRange::span(0, 10)), "0123456789");
  EXPECT_EQ(store_->size_bytes("k").value(), 10u);
  EXPECT_EQ(error("k", ByteRange::span(2, 3)).code(), ErrorCode::unsupported);
  EXPECT_EQ(error("k", ByteRange::span(2, 30)).code(), ErrorCode::corrupt_data);
}

// A proxy that packs although it was asked not to: the bytes are not those of the object.
TEST_F(Remote, WhatIsPackedOnTheWayIsRefusedWhatIsStoredPackedIsNot) {
  const Json packed = {{"status", 200}, {"headers", {{"Content-Encoding", "gzip"}}}, {"body", "packed"}, {"times", -1}};
  server_.rules(rule("GET", packed));
  EXPECT_EQ(text("k"), "packed") << "with its size: as it is stored";
  Json on_the_way = packed;
  on_the_way["untold"] = true;
  server_.rules(rule("GET", on_the_way));
  for (const ByteRange& range : {ByteRange{}, ByteRange::span(0, 3)}) {
    const Error said = error("k", range);
    EXPECT_EQ(said.code(), ErrorCode::unsupported);
    EXPECT_NE(said.message().find("Content-Encoding: gzip"), std::string::npos) << said.message();
  }
  EXPECT_EQ(requests(), 2u) << "not tried again";
  on_the_way["headers"]["Content-Encoding"] = "identity";
  server_.rules(rule("GET", on_the_way));
  EXPECT_EQ(text("k"), "packed");
}

TEST_F(Remote, TheRegionIsTakenFromTheAnswer) {
  put("k", "value");
  server_.rules(rule("GET", {{"status", 301}, {"headers", {{"x-amz-bucket-region", "eu-central-1"}}}}));
  EXPECT_EQ(text("k"), "value");
  const Json log = server_.log();
  ASSERT_EQ(log.size(), 2u);
  EXPECT_NE(log[1]["headers"]["authorization"].get<std::string>().find("/eu-central-1/s3/"), std::string::npos);
  server_.rules(
      rule("GET", {{"status", 400},
                   {"body", "<Error><Code>AuthorizationHeaderMalformed</Code><Region>sa-east-1</Region></Error>"}}));
  EXPECT_EQ(text("k"), "value");
  EXPECT_NE(server_.log()[1]["headers"]["authorization"].get<std::string>().find("/sa-east-1/s3/"), std::string::npos);
  // A server that changes its mind for ever.
  server_.rules(
      Json::array({{{"match", "GET"}, {"status", 301}, {"times", -1}, {"headers", {{"x-amz-bucket-region", "x-1"}}}}}));
  EXPECT_EQ(error("k").code(), ErrorCode::io_error);
}

TEST_F(Remote, ExpiredAndWrongCredentialsSayWhatToDo) {
  const auto refusal = [](const std::string& code) {
    return "<Error><Code>" + code + "</Code><Message>no: testsecret</Message></Error>";
  };
  for (const auto& [status, code] :
       {std::pair(400, "ExpiredToken"), {403, "InvalidAccessKeyId"}, {403, "AccessDenied"}}) {
    server_.rules(rule("GET", {{"status", status}, {"body", refusal(code)}, {"times", -1}}));
    const Error said = error("k");
    EXPECT_EQ(said.code(), ErrorCode::permission_denied) << code;
    EXPECT_NE(said.message().find(code), std::string::npos) << said.message();
    EXPECT_FALSE(said.hint().empty()) << code;
    EXPECT_EQ(requests(), 1u) << "not tried again";
  }
}

TEST_F(Remote, AWrongClockIsSetByTheServers) {
  put("k", "value");
  server_.rules(rule("GET", {{"status", 403},
                             {"headers", {{"Date", "Wed, 01 Jan 2031 00:00:00 GMT"}}},
                             {"body", "<Error><Code>RequestTimeTooSkewed</Code></Error>"}}));
  EXPECT_EQ(text("k"), "value");
  EXPECT_TRUE(server_.log()[1]["headers"]["x-amz-date"].get<std::string>().starts_with("20310101T0000"));
}

TEST_F(Remote, AClockThatCannotBeSetIsSaid) {
  Json skewed = {{"status", 403}, {"times", -1}, {"body", "<Error><Code>RequestTimeTooSkewed</Code></Error>"}};
  server_.rules(rule("GET", skewed));
  Error said = error("k");
  EXPECT_EQ(said.code(), ErrorCode::permission_denied);
  EXPECT_NE(said.hint().find("the clock of this machine is wrong"), std::string::npos) << said.hint();
  EXPECT_NE(said.hint().find("does not tell its own"), std::string::npos) << said.hint();
  EXPECT_EQ(requests(), 1u);
  skewed["headers"] = {{"Date", "Wed, 01 Jan 2031 00:00:00 GMT"}};
  server_.rules(rule("GET", skewed));
  said = error("k");
  EXPECT_NE(said.hint().find("2031"), std::string::npos) << said.hint();
  EXPECT_LT(requests(), 10u) << "it is not set for ever";
}

TEST_F(Remote, MissingCredentialsAreSaidBeforeAnythingIsSent) {
  StoreOptions options;
  options.by_name = {{"endpoint", server_.url()}};
  ::setenv("HOME", "/nonexistent", 1);
  for (const char* name : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"}) ::unsetenv(name);
  const auto store = open_store("s3://bucket/vol.zarr", StoreMode::read, options);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code(), ErrorCode::permission_denied);
  EXPECT_NE(store.error().hint().find("skip_signature"), std::string::npos);
  options.by_name["skip_signature"] = "true";
  put("k", "value");
  server_.rules(Json::array());
  EXPECT_EQ(fetch_text(*open_store("s3://bucket/vol.zarr", StoreMode::read, options).value(), {"k", {}}), "value");
  EXPECT_FALSE(server_.log()[0]["headers"].contains("authorization"));
}

TEST_F(Remote, ASignedRequestFollowsNoRedirect) {
  put("k", "value");
  server_.rules(rule("GET", {{"status", 307}, {"headers", {{"Location", "http://localhost:1/other"}}}}));
  const Error said = error("k");
  EXPECT_EQ(said.code(), ErrorCode::io_error);
  EXPECT_NE(said.message().find("another host"), std::string::npos) << said.message();
}

TEST_F(Remote, RedirectsToAnotherHostCarryNoCredentials) {
  put("k", "value");
  StoreOptions options;
  options.by_name = {{"authorization", "Bearer testsecret"}};
  const auto store = open_store(server_.url() + "/bucket/vol.zarr?token=testsecret", StoreMode::read, options).value();
  EXPECT_EQ(store->url().find("testsecret"), std::string::npos);
  server_.rules(rule("/vol.zarr/", {{"status", 302}, {"headers", {{"Location", "/bucket/vol.zarr/k"}}}}));
  EXPECT_EQ(fetch_text(*store, {"other", {}}), "value");
  Json log = server_.log();
  ASSERT_EQ(log.size(), 2u);
  EXPECT_EQ(log[1]["headers"]["authorization"], "Bearer testsecret") << "the same host";
  const std::string elsewhere =
      "http://localhost" + server_.url().substr(server_.url().rfind(':')) + "/bucket/vol.zarr/k";
  server_.rules(rule("/vol.zarr/", {{"status", 302}, {"headers", {{"Location", elsewhere}}}}));
  EXPECT_EQ(fetch_text(*store, {"other", {}}), "value");
  log = server_.log();
  ASSERT_EQ(log.size(), 2u);
  EXPECT_TRUE(log[0]["headers"].contains("authorization"));
  EXPECT_FALSE(log[1]["headers"].contains("authorization"));
  server_.rules(rule("/", {{"status", 302}, {"headers", {{"Location", "/bucket/again"}}}, {"times", -1}}));
  EXPECT_EQ(error_of(*store, {"k", {}}).code(), ErrorCode::io_error) << "in a circle";
  server_.rules(rule("/", {{"status", 302}, {"headers", {{"Location", "file:///etc/passwd"}}}, {"times", -1}}));
  EXPECT_EQ(error_of(*store, {"k", {}}).code(), ErrorCode::io_error);
}

TEST_F(Remote, NoSecretIsInAnyError) {
  StoreOptions options;
  options.by_name = {{"deadline", "300ms"}};
  const auto store =
      open_store("http://user:testsecret@127.0.0.1:1/x?sig=testsecret", StoreMode::read, options).value();
  const Error said = error_of(*store, {"k", {}});
  EXPECT_NE(said.message().find("127.0.0.1:1"), std::string::npos) << said.message();
}

TEST_F(Remote, AUntrustedCertificateIsRefusedUnlessItIsNamed) {
  const TemporaryDirectory folder;
  const test::Server tls({"nginx-tls", folder.path().string()});
  const auto store = open_store(tls.url(), StoreMode::read).value();
  const Error said = error_of(*store, {"cert.pem", {}});
  EXPECT_EQ(said.code(), ErrorCode::io_error);
  EXPECT_NE(said.message().find("TLS"), std::string::npos) << said.message();
  StoreOptions options;
  options.by_name = {{"ca_file", folder / "cert.pem"}};
  EXPECT_NE(fetch_text(*open_store(tls.url(), StoreMode::read, options).value(), {"cert.pem", {}}).find("CERTIFICATE"),
            std::string::npos);
}

TEST_F(Remote, ARegionIsAName) {
  for (const char* region : {"eu\r\nx-amz-acl: public-read", "a/b", "a b", "evil.example/?"}) {
    StoreOptions options = test::s3_options_of(server_.url());
    options.by_name["region"] = region;
    EXPECT_EQ(open_store("s3://bucket/vol.zarr", StoreMode::read, options).error().code(), ErrorCode::invalid_argument)
        << region;
  }
}

TEST_F(Remote, CancellingEndsAWaitSoon) {
  put("k", "value");
  server_.rules(rule("GET", {{"delay_s", 30}}));
  const CancelToken cancel;
  Collect sink;
  const FetchRequest request{"k", {}};
  store_->fetch({&request, 1}, sink, {cancel});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  cancel.cancel();
  const auto start = Clock::now();
  ASSERT_TRUE(sink.wait(1));
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(1));
  EXPECT_EQ(sink.text(0), "cancelled");
}

TEST_F(Remote, WithoutDescriptorsRequestsFailAndLaterOnesDoNot) {
  put("k", "value");
  // A child has a client of its own: first there is none for want of descriptors, then no connection.
  const std::string said = test::in_child([&] {
    rlimit before{};
    if (::getrlimit(RLIMIT_NOFILE, &before) != 0) return std::string("no limits");
    const auto limited = [&](const std::function<std::string()>& work) {
      const rlimit few{3, before.rlim_max};
      (void)::setrlimit(RLIMIT_NOFILE, &few);
      const std::string text = work();
      (void)::setrlimit(RLIMIT_NOFILE, &before);
      return text + ", ";
    };
    const auto from = [&](const std::string& host) {
      const std::string port = server_.url().substr(server_.url().rfind(':'));
      const auto store = open_store("http://" + host + port + "/bucket/vol.zarr", StoreMode::read);
      return store ? fetch_text(**store, {"k", {}}) : store.error().message();
    };
    std::string all = limited([&] { return from("127.0.0.1"); });
    all += from("127.0.0.1") + ", ";
    all += limited([&] { return from("localhost"); });
    return all + from("localhost");
  });
  EXPECT_EQ(said, "io_error, value, io_error, value");
}

TEST_F(Remote, ManySmallObjectsAreUnderWayTogether) {
  put("k", std::string(1000, 'x'));
  server_.options({{"delay_s", 0.05}});
  std::vector<FetchRequest> requests(400, FetchRequest{"k", {}});
  Collect sink;
  const auto start = Clock::now();
  store_->fetch(requests, sink, {});
  ASSERT_TRUE(sink.wait(requests.size()));
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(3)) << "one after the other: 20 s";
  EXPECT_EQ(sink.repeated(), 0);
  for (std::size_t i = 0; i < requests.size(); ++i) ASSERT_TRUE(sink[i].status) << sink[i].status.error().message();
}

TEST(Pace, AServerThatAnswersAtOnceGetsFewLargeRequestsAtATime) {
  using std::chrono::microseconds;
  constexpr std::uint64_t kMiB = 1 << 20;
  const int near = 0, far = 0, whole = 0;
  http::Pace pace;
  const auto begun = [&](const void* server, std::optional<std::uint64_t> bytes) {
    std::vector<http::Pace::Ticket> tickets;
    while (tickets.size() < 64) {
      const auto ticket = pace.begin(server, bytes);
      if (!ticket) break;
      tickets.push_back(*ticket);
    }
    for (const auto& ticket : tickets) pace.end(ticket, std::nullopt, 0);
    return tickets.size();
  };
  const auto learn = [&](const void* server, microseconds first_byte, std::uint64_t bytes) {
    pace.end(*pace.begin(server, bytes), first_byte, bytes);
  };
  EXPECT_EQ(begun(&near, kMiB), 64u) << "nothing is known";
  learn(&near, microseconds(900), 300);
  EXPECT_EQ(begun(&near, kMiB), 16u);
  EXPECT_EQ(begun(&near, 100 * kMiB), 4u);
  EXPECT_EQ(begun(&near, 65536), 64u);
  learn(&near, microseconds(50'000), 300);  // one that came late
  EXPECT_EQ(begun(&near, kMiB), 16u);
  learn(&far, microseconds(30'000), 300);
  EXPECT_EQ(begun(&far, kMiB), 64u);
  for (int i = 0; i < 10; ++i) learn(&whole, microseconds(900), 2 * kMiB);
  EXPECT_EQ(begun(&whole, std::nullopt), 8u) << "as large as usual";
  for (int i = 0; i < 500; ++i) learn(&near, microseconds(30'000), kMiB);
  EXPECT_EQ(begun(&near, kMiB), 64u) << "it has moved away";
}

// HTTP lists nothing, and says so.
TEST_F(Remote, AWebServerIsReadAndListsNothing) {
  const TemporaryDirectory folder;
  std::filesystem::create_directories(folder.path() / "a b=c+");
  std::ofstream(folder / "a b=c+/k") << "0123456789";
  std::ofstream(folder / "a b=c+/empty") << "";
  const test::Server nginx({"nginx", folder.path().string()});
  const auto store = open_store(nginx.url() + "/a%20b=c+", StoreMode::read).value();
  EXPECT_EQ(fetch_text(*store, {"k", {}}), "0123456789");
  EXPECT_EQ(fetch_text(*store, {"k", ByteRange::span(3, 2)}), "34");
  EXPECT_EQ(fetch_text(*store, {"k", ByteRange::last(2)}), "89");
  EXPECT_EQ(fetch_text(*store, {"k", ByteRange::span(9, 2)}), "corrupt_data");
  EXPECT_EQ(fetch_text(*store, {"absent", {}}), "absent");
  EXPECT_EQ(fetch_text(*store, {"empty", ByteRange::last(2)}), "");
  EXPECT_EQ(store->size_bytes("empty").value(), 0u);
  EXPECT_EQ(store->size_bytes("k").value(), 10u);
  const auto listed = store->list_dir("");
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().code(), ErrorCode::unsupported);
  EXPECT_NE(listed.error().hint().find("consolidate"), std::string::npos);
  EXPECT_EQ(open_store(nginx.url(), StoreMode::create).error().code(), ErrorCode::unsupported);
}

// What signs wrongly would pass above; versitygw looks.
TEST_F(Remote, SignaturesAreAccepted) {
  const StoreOptions options = test::s3_options_of(test::versitygw().url());
  const auto store = open_store("s3://penstock/signed", StoreMode::create, options).value();
  for (const char* key : {"plain", "t=1/a b+c", "u\xc3\xbc/(x)'!*~", "%41"}) {
    const Status status = store->set(key, as_bytes(key));
    ASSERT_TRUE(status) << status.error().message();
    EXPECT_EQ(fetch_text(*store, {key, {}}), key);
  }
  EXPECT_EQ(store->list("").value().size(), 4u);
  ASSERT_TRUE(store->erase_prefix(""));
  StoreOptions wrong = options;
  wrong.by_name["secret_access_key"] = "other";
  const Error said = error_of(*open_store("s3://penstock/signed", StoreMode::read, wrong).value(), {"plain", {}});
  EXPECT_EQ(said.code(), ErrorCode::permission_denied);
  EXPECT_NE(said.message().find("SignatureDoesNotMatch"), std::string::npos) << said.message();
  const auto none = open_store("s3://no-such-bucket/x", StoreMode::read, options).value();
  EXPECT_EQ(error_of(*none, {"k", {}}).code(), ErrorCode::not_found);
}
