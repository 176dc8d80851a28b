package results

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestOnlyAFilesContentIsCalledDamaged(t *testing.T) {
	_, missing := os.Open(t.TempDir() + "/nowhere")
	for _, tt := range []struct {
		err  error
		says bool
	}{
		{errors.New("history.jsonl:7: unknown f"), true},
		{fmt.Errorf("sort the history: %w", syscall.ENOSPC), false},
		{fmt.Errorf("read: %w", missing), false},
		{context.Canceled, false},
	} {
		got := Damaged(tt.err)
		if !errors.Is(got, tt.err) || strings.Contains(got.Error(), "repair the line") != tt.says {
			t.Errorf("%v becomes %q", tt.err, got)
		}
	}
	if Damaged(nil) != nil {
		t.Error("nothing is wrong, and something is said")
	}
}
