package history

import (
	"runtime"
	"sync"
)

// ordered runs a pipeline over batches: read makes them one after the other until emit
// wants no more, work is done on them on all CPUs, and take, on the caller's goroutine,
// gets them in the order in which they were made. worker is asked once for each CPU. All
// has ended when ordered returns; an error of take ends it early.
func ordered[B any](read func(emit func(B) bool), worker func() func(B), take func(B) error) error {
	type item struct {
		batch B
		done  chan struct{}
	}
	workers := runtime.GOMAXPROCS(0)
	todo := make(chan item, workers)
	inOrder := make(chan item, 2*workers)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)

	wg.Go(func() {
		defer close(todo)
		defer close(inOrder)
		read(func(b B) bool {
			it := item{b, make(chan struct{})}
			select {
			case inOrder <- it:
			case <-stop:
				return false
			}
			select {
			case todo <- it:
				return true
			case <-stop:
				return false
			}
		})
	})
	for range workers {
		wg.Go(func() {
			work := worker()
			for it := range todo {
				work(it.batch)
				close(it.done)
			}
		})
	}
	for it := range inOrder {
		<-it.done
		if err := take(it.batch); err != nil {
			return err
		}
	}
	return nil
}
