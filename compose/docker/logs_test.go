package docker

import (
	"bytes"
	"os"
	"testing"

	"github.com/picklock/picklock/compose"
)

// Of what a server says, the ends are kept.
func TestLogsAreShort(t *testing.T) {
	e := needEngine(t)
	c, _, err := tryStart(t, e, load(t, "redis"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.openLog("redis") // as what the container writes comes to it
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(bytes.Repeat([]byte("some text of a server's\n"), 1<<19)); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(c.log("redis"))
	if err != nil || len(text) > 3*compose.LogEnds || !bytes.Contains(text, []byte(" bytes were left out here\n")) {
		t.Errorf("%d bytes are kept, %v", len(text), err)
	}
}
