// Package java has the sources of the clients in Java: one Maven module a library over adapter/Adapter.java.
// It knows nothing of the rest of picklock.
package java

import "embed"

// Sources are the files as they are in this folder.
//
//go:embed pom.xml */pom.xml */*.java
var Sources embed.FS
