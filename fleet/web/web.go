// Package web knows a page that lives: the campaigns below a folder and on a queue, who works
// on them, and every report. It only looks: nothing that it serves changes anything. It must
// not know how a campaign is led, nor how its items are carried out.
package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/picklock/picklock/fleet/stream"
)

// Options says what is shown, and to whom.
type Options struct {
	Dir   string        // folder whose campaigns and reports are shown; "" for none
	Queue *stream.Queue // queue whose campaigns are shown; nil for none
	// Loopback says that the page is for this machine: a request that names another host is
	// refused, for a site elsewhere may have given its own name this machine's address.
	Loopback bool
}

// Site is the page and what it shows.
type Site struct {
	o      Options
	folder *folder // nil: none
	queue  *queue  // nil: none
}

// New opens what is shown. The caller closes it.
func New(o Options) (*Site, error) {
	if o.Dir == "" && o.Queue == nil {
		return nil, errors.New("there is nothing to show: want a folder or a queue")
	}
	s := &Site{o: o}
	if o.Dir != "" {
		root, err := os.OpenRoot(o.Dir)
		if err != nil {
			return nil, fmt.Errorf("open the folder that is shown: %w", err)
		}
		s.folder = &folder{root: root}
	}
	if o.Queue != nil {
		s.queue = &queue{q: o.Queue, most: mostFollowed, following: map[string]*following{}}
	}
	return s, nil
}

// Close lets the folder go. The queue is the caller's.
func (s *Site) Close() error {
	if s.folder == nil {
		return nil
	}
	return s.folder.root.Close()
}

// How long a request may take: nobody keeps a connection for nothing.
const (
	headerWithin  = 5 * time.Second
	requestWithin = 10 * time.Second
	answerWithin  = time.Minute
	endWithin     = 3 * time.Second
)

// Serve answers on l, and follows the queue, until ctx ends. It closes l.
func (s *Site) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	if s.queue != nil {
		wg.Go(func() { s.queue.run(ctx) })
	}
	server := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: headerWithin, ReadTimeout: requestWithin, WriteTimeout: answerWithin, IdleTimeout: answerWithin,
		MaxHeaderBytes: 64 << 10, BaseContext: func(net.Listener) context.Context { return ctx },
	}
	wg.Go(func() {
		<-ctx.Done()
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
		defer cancel()
		if server.Shutdown(late) != nil {
			_ = server.Close() // whoever still reads has had its time
		}
	})
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the page: %w", err)
	}
	return nil
}
