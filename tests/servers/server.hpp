// A server of serve.py for tests in C++, and how the object server is told to misbehave.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "store/http/call.hpp"

namespace penstock::test {

/// Ends with its owner; also with this process, whatever becomes of it.
class Server {
 public:
  explicit Server(std::vector<std::string> arguments) {
    int in[2], out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) return;
    arguments.insert(arguments.begin(), {PENSTOCK_PYTHON, PENSTOCK_SERVERS "/serve.py"});
    std::vector<char*> argv;
    for (std::string& one : arguments) argv.push_back(one.data());
    argv.push_back(nullptr);
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      ::execvp(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    keep_open_ = in[1];
    char c = 0;
    while (::read(out[0], &c, 1) == 1 && c != '\n') url_ += c;
    ::close(out[0]);
    EXPECT_TRUE(url_.starts_with("http")) << "the server did not start: " << arguments[2];
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    ::close(keep_open_);
    ::waitpid(child_, nullptr, 0);
  }
  [[nodiscard]] const std::string& url() const { return url_; }

 private:
  pid_t child_ = -1;
  int keep_open_ = -1;
  std::string url_;
};

/// The object server of this process.
class ObjectServer {
 public:
  using Json = nlohmann::json;
  static ObjectServer& get() {
    static ObjectServer server;
    return server;
  }
  [[nodiscard]] const std::string& url() const { return server_.url(); }
  /// A rule each: object_server.py says what there is.  Forgets the log.
  void rules(const Json& rules) { tell("PUT", "/-/rules", rules.dump()); }
  void options(const Json& options) { tell("PUT", "/-/options", options.dump()); }
  void clear() {
    tell("PUT", "/-/clear", "");
    rules(Json::array());
    options({{"delay_s", 0}, {"page", 1000}, {"etags", true}});
  }
  Json log() { return Json::parse(tell("GET", "/-/log", ""))["log"]; }
  std::size_t uploads() { return Json::parse(tell("GET", "/-/log", ""))["uploads"]; }

 private:
  std::string tell(const std::string& method, const std::string& path, const std::string& body) {
    http::Call call;
    call.request = [&]() -> Result<http::Request> {
      return http::Request{method, url() + path, {}, {as_bytes(body)}, ""};
    };
    call.judge = [](const http::Head&, const std::string&, http::Detour&) { return http::Next(); };
    return http::carry_out(call, CancelToken(), http::Patience()).value().body;
  }
  Server server_{{"objects"}};
};

/// Options by which the servers' buckets are reached.
inline StoreOptions s3_options_of(const std::string& endpoint) {
  StoreOptions options;
  options.by_name = {{"endpoint", endpoint},
                     {"access_key_id", "testkey"},
                     {"secret_access_key", "testsecret"},
                     {"region", "us-east-1"}};
  return options;
}

/// versitygw of this process, with the bucket `penstock`.
inline const Server& versitygw() {
  static const Server server({"versitygw"});
  return server;
}

}  // namespace penstock::test
