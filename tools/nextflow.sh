#!/bin/sh
# Nextflow from Maven Central, fetched once into .deps/nextflow: tools/nextflow.sh run workflows/oct/main.nf ...
# Needs Java 17 or later and, the first time, Maven (Debian: default-jre-headless, maven).
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
version=24.10.0
home=$here/.deps/nextflow/$version

if [ ! -e "$home/complete" ]; then
  command -v mvn > /dev/null || { echo "tools/nextflow.sh: Maven is not installed (Debian: apt-get install maven)" >&2; exit 69; }
  mkdir -p "$home"
  cat > "$home/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>penstock</groupId><artifactId>nextflow</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>io.nextflow</groupId><artifactId>nextflow</artifactId><version>$version</version></dependency>
  </dependencies>
</project>
POM
  mvn --quiet --batch-mode --file "$home/pom.xml" dependency:copy-dependencies -DoutputDirectory="$home/lib" >&2
  touch "$home/complete"
fi

opens=
for package in java.lang java.io java.nio java.nio.file.spi java.net java.util java.util.concurrent.locks \
  java.util.concurrent.atomic java.util.regex sun.nio.ch sun.nio.fs sun.net.www.protocol.http \
  sun.net.www.protocol.https sun.net.www.protocol.ftp sun.net.www.protocol.file jdk.internal.misc jdk.internal.vm; do
  opens="$opens --add-opens=java.base/$package=ALL-UNNAMED"
done
# Nothing is looked up or loaded besides what is here.
export NXF_OFFLINE=true NXF_PLUGINS_DEFAULT=false NXF_DISABLE_CHECK_LATEST=true NXF_ANSI_LOG="${NXF_ANSI_LOG:-false}"
# shellcheck disable=SC2086
exec java $opens -cp "$home/lib/*" nextflow.cli.Launcher "$@"
