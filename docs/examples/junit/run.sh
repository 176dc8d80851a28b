#!/bin/sh
# Compiles the tests beside it and runs them, without Maven or Gradle (Debian: junit5 and a JRE of
# 17 or newer, which brings the compiler with it):
#
#   sh docs/examples/junit/run.sh [--select-class=NAME]
set -eu
junit=/usr/share/java/junit-platform-console-standalone.jar
classes=$(mktemp -d)
trap 'rm -rf "$classes"' EXIT
java -m jdk.compiler/com.sun.tools.javac.Main -cp "$junit" -d "$classes" "$(dirname "$0")"/*.java
java -cp "$classes:$junit" org.junit.platform.console.ConsoleLauncher --disable-banner "${@:---scan-classpath=$classes}"
