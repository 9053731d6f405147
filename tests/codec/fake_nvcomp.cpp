// What a library shows to whoever loads it as nvCOMP: its version, and its functions unless WITHOUT_FUNCTIONS.  It
// decodes nothing.
extern "C" {

struct Properties {
  unsigned version, cudart_version;
};

int nvcompGetProperties(Properties* properties) {
  *properties = {FAKE_VERSION, 13000};
  return 0;
}

#ifndef WITHOUT_FUNCTIONS
int nvcompBatchedZstdDecompressGetTempSize() { return 11; }
int nvcompBatchedZstdDecompressAsync() { return 11; }
int nvcompBatchedLZ4DecompressGetTempSize() { return 11; }
int nvcompBatchedLZ4DecompressAsync() { return 11; }
int nvcompBatchedGzipDecompressGetTempSize() { return 11; }
int nvcompBatchedGzipDecompressAsync() { return 11; }
#endif
}
