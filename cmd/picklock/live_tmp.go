package main

import "github.com/picklock/picklock/history"

type liveT struct{ g int }

func (l *liveT) Observe(e history.Event) {
	if e.F == "acquire" && e.Type == "ok" {
		l.g++
	}
}
func (l *liveT) Grants() int       { return l.g }
func (l *liveT) Holders() []string { return nil }
func (l *liveT) Anomalies() int    { return 0 }
