// Which certificates are trusted.
#pragma once
#include <string>

namespace penstock::http {

/// The file of SSL_CERT_FILE, else the first that systems are known to keep theirs in: a libcurl that came from another
/// system looks in the wrong place.  Empty: none was found, and libcurl's own place counts.
const std::string& certificate_file();

}  // namespace penstock::http
