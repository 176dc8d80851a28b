package builtin

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const (
	makeTable = `{"TableName":"t","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]}`
	count     = `{"TableName":"t","Key":{"id":{"S":"k"}},"UpdateExpression":"ADD n :one","ExpressionAttributeValues":{":one":{"N":"1"}},"ReturnValues":"ALL_NEW"}`
	look      = `{"TableName":"t","Key":{"id":{"S":"k"}},"ConsistentRead":true}`
)

func ask(t *testing.T, e http.Handler, op, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810."+op)
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func counted(t *testing.T, body string) string {
	t.Helper()
	var out struct {
		Item, Attributes struct{ N struct{ N string } }
	}
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return out.Item.N.N + out.Attributes.N.N
}

// TestEmulatorSurvivesACrash: what was answered is there after a new start, and a line
// that a crash cut off is not.
func TestEmulatorSurvivesACrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "writes.jsonl")
	e, err := newEmulator(path)
	if err != nil {
		t.Fatal(err)
	}
	if code, body := ask(t, e, "CreateTable", makeTable); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 10 {
				if code, body := ask(t, e, "UpdateItem", count); code != http.StatusOK {
					t.Errorf("%d %s", code, body)
				}
			}
		})
	}
	group.Wait()
	if code, _ := ask(t, e, "CreateTable", makeTable); code != http.StatusBadRequest {
		t.Errorf("a table of that name twice: %d", code)
	}
	if err := e.close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(whole, []byte("\n")); n != 81 {
		t.Errorf("%d lines in the log, want those of 81 writes and nothing that was refused or only read", n)
	}
	if err := os.WriteFile(path, append(whole, `{"target":"DynamoDB_20120810.UpdateItem","bo`...), 0o600); err != nil {
		t.Fatal(err)
	}
	if e, err = newEmulator(path); err != nil {
		t.Fatal(err)
	}
	if _, body := ask(t, e, "GetItem", look); counted(t, body) != "80" {
		t.Errorf("after a new start: %s, want 80", body)
	}
	if _, body := ask(t, e, "UpdateItem", count); counted(t, body) != "81" {
		t.Errorf("counted on: %s, want 81", body)
	}
	if err := e.close(); err != nil {
		t.Fatal(err)
	}
	if e, err = newEmulator(path); err != nil {
		t.Fatalf("the line that was cut off is still there: %v", err)
	}
	if _, body := ask(t, e, "GetItem", look); counted(t, body) != "81" {
		t.Errorf("after another new start: %s, want 81", body)
	}
	if err := e.close(); err != nil {
		t.Fatal(err)
	}
}

func TestEmulatorDamagedLog(t *testing.T) {
	for name, text := range map[string]string{
		"not JSON": "{\n", "refused": `{"target":"DynamoDB_20120810.UpdateItem","body":` + count + "}\n",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "writes.jsonl")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := newEmulator(path); err == nil || !strings.Contains(err.Error(), "line 1") {
				t.Errorf("%v; want an error that names the line", err)
			}
		})
	}
}

// TestEmulatorLogFails: what cannot be logged is an error, and so is all that could show it.
func TestEmulatorLogFails(t *testing.T) {
	e, err := newEmulator(filepath.Join(t.TempDir(), "writes.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	e.log.Close()
	if code, body := ask(t, e, "CreateTable", makeTable); code != http.StatusInternalServerError {
		t.Errorf("answered %d %q", code, body)
	}
	if code, body := ask(t, e, "DescribeTable", `{"TableName":"t"}`); code != http.StatusInternalServerError {
		t.Errorf("answered %d %q about a table that a new start will not have", code, body)
	}
	if err := <-e.failed; err == nil {
		t.Error("no error")
	}
}

func TestUnknownServer(t *testing.T) {
	if err := Run(t.Context(), "mysql", nil); err == nil || !strings.Contains(err.Error(), "dynamodb, etcd") {
		t.Errorf("%v; want an error that lists what there is", err)
	}
}
