#!/bin/sh
# Apache Curator's InterProcessMutex for picklock (Debian: libcurator-recipes-java and
# a JRE of 17 or newer, which brings the compiler with it):
#
#   sh docs/examples/curator_lock.sh compile /tmp/curator
#   picklock run --lock 'exec:sh docs/examples/curator_lock.sh /tmp/curator' --cluster zookeeper
#
# Without a directory the source is compiled at every start, which takes each client
# some seconds.
set -eu
jars=/usr/share/java
cp=
for j in curator-recipes curator-framework curator-client zookeeper zookeeper-jute \
	netty-common netty-buffer netty-transport netty-handler netty-resolver netty-codec netty-all \
	slf4j-api slf4j-nop guava failureaccess jackson-databind jackson-core jackson-annotations commons-lang; do
	cp=$cp:$jars/$j.jar
done
source=$(dirname "$0")/CuratorLock.java
if [ "${1:-}" = compile ]; then
	exec java -m jdk.compiler/com.sun.tools.javac.Main -cp "$cp" -d "$2" "$source"
fi
java="java -Xmx64m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Xshare:auto"
if [ $# -gt 0 ]; then
	exec $java -cp "$1$cp" CuratorLock
fi
exec $java -cp "$cp" "$source"
