#include "store/http/certificates.hpp"

#include <unistd.h>

#include <cstdlib>

namespace penstock::http {

const std::string& certificate_file() {
  static const std::string file = []() -> std::string {
    if (const char* named = std::getenv("SSL_CERT_FILE"); named != nullptr && *named != '\0') return named;
    for (const char* known : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                              "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"})
      if (::access(known, R_OK) == 0) return known;
    return {};
  }();
  return file;
}

}  // namespace penstock::http
