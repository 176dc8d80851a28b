package web

import (
	"io/fs"
	"net/http"
	"path"
	"path/filepath"
	"strings"
)

const filesPath = "/files/"

// types are the kinds of files that are shown.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".svg": "image/svg+xml", ".json": "application/json", ".jsonl": "text/plain; charset=utf-8",
	".md": "text/plain; charset=utf-8", ".txt": "text/plain; charset=utf-8", ".log": "text/plain; charset=utf-8", ".xml": "text/xml; charset=utf-8",
	".yaml": "text/plain; charset=utf-8", ".yml": "text/plain; charset=utf-8", ".csv": "text/plain; charset=utf-8",
}

// file serves a file below the folder. Nothing outside of it can be reached: root refuses paths
// and links that lead out.
func (s *Site) file(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, filesPath)
	kind, ok := types[strings.ToLower(path.Ext(name))]
	if s.folder == nil || !ok || !fs.ValidPath(name) || hidden(name) || s.folder.ofQueue(name) || !s.folder.has(name) {
		s.missing(w, "there is no such report")
		return
	}
	f, err := s.folder.root.Open(filepath.FromSlash(name))
	if err != nil {
		s.missing(w, "there is no such report")
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		s.missing(w, "there is no such report")
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Security-Policy", sandboxed)
	http.ServeContent(w, r, "", info.ModTime(), f)
}
