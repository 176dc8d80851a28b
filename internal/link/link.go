// Package link reads how bad a link is: how late, how slow, how lossy. Faults of a run and
// steps of a scenario are written with it; it knows neither.
package link

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Slow is how slow a link is.
type Slow struct {
	Delay, Jitter time.Duration
	Rate          int64 // bytes a second; 0: as many as there are
}

// Read reads one value into it: "50ms", "50ms±10ms" or "100kB/s". There is one delay, and
// one rate.
func (s *Slow) Read(value string) (err error) {
	kB, rate := strings.CutSuffix(value, "kB/s")
	if rate && s.Rate > 0 || !rate && s.Delay > 0 {
		return fmt.Errorf("%q: a link has one delay and one rate", value)
	}
	if rate {
		n, err := strconv.ParseFloat(kB, 64)
		if s.Rate = int64(n * 1000); err != nil || s.Rate <= 0 {
			return fmt.Errorf("%q is no rate: want one like 100kB/s", value)
		}
		return nil
	}
	delay, jitter, both := strings.Cut(strings.Replace(value, "+-", "±", 1), "±")
	if s.Delay, err = time.ParseDuration(delay); err != nil || s.Delay <= 0 {
		return fmt.Errorf("%q is no delay: want one like 50ms or 50ms±10ms", value)
	}
	if both {
		if s.Jitter, err = time.ParseDuration(jitter); err != nil || s.Jitter < 0 || s.Jitter > s.Delay {
			return fmt.Errorf("%q: the jitter is a length of time, at most as long as the delay", value)
		}
	}
	return nil
}

// Write gives the values from which Read makes it, with blanks between them; "" if the link is
// not slow.
func (s Slow) Write() string {
	var values []string
	if s.Delay > 0 {
		values = append(values, s.Delay.String())
		if s.Jitter > 0 {
			values[0] += "±" + s.Jitter.String()
		}
	}
	if s.Rate > 0 {
		values = append(values, strconv.FormatFloat(float64(s.Rate)/1000, 'f', -1, 64)+"kB/s")
	}
	return strings.Join(values, " ")
}

// Loss reads the part of the packets that is lost: "20%" is 0.2.
func Loss(value string) (float64, error) {
	percent, err := strconv.ParseFloat(strings.TrimSuffix(value, "%"), 64)
	if err == nil && !(percent > 0 && percent <= 100) {
		err = errors.New("out of range")
	}
	if err != nil {
		return 0, fmt.Errorf("%q is no part of the packets: want one like 20%%", value)
	}
	return percent / 100, nil
}
