package compose

import (
	"context"
	"strings"
	"sync"
)

// Title is what a service's server is called: its image's name without registry,
// folder and tag.
func (s Service) Title() string {
	title, _, _ := strings.Cut(s.Image[strings.LastIndexByte(s.Image, '/')+1:], ":")
	title, _, _ = strings.Cut(title, "@")
	return title
}

// Versions asks the servers what they are (x-picklock.version) and returns their
// words by title; what did not answer, or cannot be asked, is left out.
func (m *Members) Versions(ctx context.Context) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	out := map[string]string{}
	asked := map[string]bool{}
	for _, s := range m.def.Members() {
		n, err := m.Find(s.Name)
		if s.Spec.Version == nil || err != nil || asked[s.Title()] {
			continue
		}
		asked[s.Title()] = true
		wg.Go(func() {
			if text, ok, err := m.reach.Ask(ctx, n, s.Spec.Version); ok && err == nil {
				mu.Lock()
				defer mu.Unlock()
				out[s.Title()] = text
			}
		})
	}
	wg.Wait()
	return out
}
