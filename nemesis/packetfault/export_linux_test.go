package packetfault

import "github.com/picklock/picklock/internal/proc"

// Occupy keeps the open queue of a namespace as busy as the kernel's change of its rules does, until free is called. With slot,
// nobody else may open or close it either.
func (qs *Queues) Occupy(netns string, slot bool) (free func(), err error) {
	number, err := proc.NetNSNumber(netns)
	if err != nil {
		return nil, err
	}
	s := qs.lock(number)
	s.queue.changing.Lock()
	if slot {
		return func() { s.queue.changing.Unlock(); s.mu.Unlock() }, nil
	}
	s.mu.Unlock()
	return s.queue.changing.Unlock, nil
}

// Open says that the queue of a namespace is open.
func (qs *Queues) Open(netns string) bool {
	number, err := proc.NetNSNumber(netns)
	return err == nil && qs.at(number) != nil
}
