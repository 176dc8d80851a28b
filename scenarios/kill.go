package scenarios

// forget drops what a killed client was doing.
func (r *Runner) forget(client string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.clients[client]; c != nil {
		if c.busy != nil {
			close(c.busy.killed)
		}
		*c = clientState{}
		r.change()
	}
}
