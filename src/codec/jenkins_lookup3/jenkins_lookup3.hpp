// The codec "numcodecs.jenkins_lookup3".
#pragma once
#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kJenkinsCodec;
}  // namespace penstock
