package scenarios

// WakeUps is what can be counted: how often the service told a waiting client that
// something changed.
const WakeUps = "wake-ups"

// Woken takes a client's word that the service woke it up.
func (r *Runner) Woken(string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counter != "" {
		r.counts[r.counter]++
	}
	r.change()
}

// Counts is what was counted, by name.
func (r *Runner) Counts() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]int{}
	for k, v := range r.counts {
		out[k] = v
	}
	return out
}
