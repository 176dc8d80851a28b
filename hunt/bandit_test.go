package hunt

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// The bandit comes to choose what brings most, loses much less than even chances would, and goes on
// trying the others.
func TestBandit(t *testing.T) {
	const rounds = 2000
	rates := []float64{0.02, 0.05, 0.3, 0.1}
	name := func(i int) string { return fmt.Sprint(operatorPrefix, i) }
	rng := rand.New(rand.NewPCG(1, 2))
	b := newBandit(rng)
	chosen := make([]int, len(rates))
	lost := 0.0
	for range rounds {
		i := b.choose(len(rates), name)
		chosen[i]++
		lost += rates[2] - rates[i]
		b.reward([]string{name(i)}, rng.Float64() < rates[i])
	}
	even := 0.0
	for _, r := range rates {
		even += (rates[2] - r) * rounds / float64(len(rates))
	}
	if chosen[2] < rounds*8/10 || lost > even/4 || chosen[0] == 0 {
		t.Errorf("chosen %v; %.0f successes lost, with even chances %.0f", chosen, lost, even)
	}
	if got := b.regret(); math.Abs(got-lost) > 60 {
		t.Errorf("regret %.1f, truly %.1f", got, lost)
	}
}

// A schedule that several operators made counts once: no more can be lost than were made.
func TestRegretCountsSchedules(t *testing.T) {
	b := newBandit(rand.New(rand.NewPCG(1, 2)))
	b.reward([]string{addsFault}, true)
	b.reward([]string{addsFault, changesProgram, "fault: pause at write"}, false)
	b.reward([]string{changesEnd, changesProgram, dropsFault}, false)
	b.reward([]string{"fault: pause at write"}, true) // of none that an operator made
	if got := b.regret(); math.Abs(got-0.5) > 1e-9 {
		t.Errorf("regret %v of 3 schedules, of which one brought something; the best operator did in half of them", got)
	}
}

// The mean and the variance of the distribution that is drawn from.
func TestBeta(t *testing.T) {
	b := newBandit(rand.New(rand.NewPCG(3, 4)))
	for _, p := range [][2]float64{{1, 1}, {3, 1}, {2, 9}, {40, 60}} {
		const n = 20000
		sum, squares := 0.0, 0.0
		for range n {
			x := b.beta(p[0], p[1])
			sum, squares = sum+x, squares+x*x
		}
		all := p[0] + p[1]
		mean, variance := p[0]/all, p[0]*p[1]/(all*all*(all+1))
		if got := sum / n; math.Abs(got-mean) > 4*math.Sqrt(variance/n) {
			t.Errorf("beta(%v, %v): mean %v, want %v", p[0], p[1], got, mean)
		}
		if got := squares/n - (sum/n)*(sum/n); math.Abs(got-variance) > variance/10 {
			t.Errorf("beta(%v, %v): variance %v, want %v", p[0], p[1], got, variance)
		}
	}
}

// Guided schedules begin with the first faults, long before the space is run, and take their part of
// the runs.
func TestGuidedFromTheStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const runs = 600
	m := &model{after: func(n int) {
		if n == runs {
			cancel()
		}
	}}
	guided := 0
	h := New(Options{Target: target(1, 1), Depth: 1, Strategy: Guided, Seed: 5, Time: time.Minute, Record: func(r Ran) {
		if r.Guided {
			guided++
		}
	}})
	r, err := h.Run(ctx, []Runner{m})
	if err != nil {
		t.Fatal(err)
	}
	addsUp(t, r)
	if share := float64(guided) / runs; share < 0.2 || share > 0.4 || r.Guided != guided || r.Depths[1].Done {
		t.Errorf("%d of %d runs are guided (it says %d), and the space: %+v", guided, runs, r.Guided, r.Depths[1])
	}
}
