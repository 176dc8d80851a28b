package hunt

import (
	"math"
	"math/rand/v2"
	"slices"
)

// bandit chooses among arms by what they brought: it draws from what is believed of each arm's rate
// of success, and takes the highest (W. R. Thompson, On the likelihood that one unknown
// probability exceeds another, 1933). An arm that brought nothing is tried less and less, and never
// not at all.
type bandit struct {
	rng  *rand.Rand
	arms map[string]*Rate
	made Rate // of the schedules that an operator made, each by one or several
}

func newBandit(rng *rand.Rand) *bandit { return &bandit{rng: rng, arms: map[string]*Rate{}} }

// choose takes one of some arms; n is how many there are, name names each.
func (b *bandit) choose(n int, name func(int) string) int {
	best, most := 0, -1.0
	drawn := map[string]float64{} // arms of one name are as good as each other: chance decides
	for i, from := 0, b.rng.IntN(n); i < n; i++ {
		at := (from + i) % n
		k := name(at)
		x, ok := drawn[k]
		if !ok {
			r := b.arms[k]
			if r == nil {
				r = &Rate{}
			}
			x = b.beta(float64(1+r.Hits), float64(1+r.Runs-r.Hits))
			drawn[k] = x
		}
		if x > most {
			best, most = at, x
		}
	}
	return best
}

// reward counts what arms brought: something new, or nothing.
func (b *bandit) reward(arms []string, brought bool) {
	if slices.ContainsFunc(arms, isOperator) {
		b.made.take(brought)
	}
	for _, k := range arms {
		if b.arms[k] == nil {
			b.arms[k] = &Rate{}
		}
		b.arms[k].take(brought)
	}
}

// regret is how many schedules fewer brought something new than if each had been made by the operator that is
// best by what is known now.
func (b *bandit) regret() float64 {
	best := 0.0
	for k, r := range b.arms {
		if isOperator(k) {
			best = max(best, r.hitRate())
		}
	}
	return max(0, best*float64(b.made.Runs)-float64(b.made.Hits))
}

// beta draws from a beta distribution, as the ratio of two gamma variates.
func (b *bandit) beta(alpha, beta float64) float64 {
	x, y := b.gamma(alpha), b.gamma(beta)
	return x / (x + y)
}

// gamma draws from a gamma distribution of a shape of at least 1 (G. Marsaglia, W. W. Tsang, A simple
// method for generating gamma variables, 2000).
func (b *bandit) gamma(shape float64) float64 {
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := b.rng.NormFloat64()
		v := (1 + c*x) * (1 + c*x) * (1 + c*x)
		if v > 0 && math.Log(1-b.rng.Float64()) < 0.5*x*x+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}
