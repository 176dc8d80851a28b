package conform

import "context"

// check is one thing that is asked of a program.
type check struct {
	name  string
	about string
	needs []string // the checks that have to be right before it can be tried
	// try returns a problem, a skip, or what kept this machine from trying. nil where
	// it reports only what the others have noticed.
	try func(context.Context, *checkRun) error
}

// checks are made in this order.
var checks = []check{
	{"open", "starts, and answers open", nil, opens},
	{"declares", "the answer to open says what the lock can do", []string{"open"}, declares},
	{"acquire", "a free lock is granted", []string{"open"}, acquires},
	{"release", "what it holds it can release, and then have again at once", []string{"acquire"}, releases},
	{"token", "tokens are there as declared, and rise", []string{"declares", "release"}, tokens},
	{"lease", "leases are there as declared", []string{"declares", "acquire"}, leases},
	{"since", "a lease says since when, on CLOCK_MONOTONIC in ns", []string{"acquire"}, since},
	{"renew", "a renewal is answered, and says how long the lease lasts from then on", []string{"declares", "acquire"}, renews},
	{"watchdog", "what it renews by itself stays its own for longer than the lease", []string{"declares", "release"}, watches},
	{"kind", "as many can hold it at once as its kind says", []string{"declares", "acquire"}, kinds},
	{"time-out", "who waits in vain says so when timeout_ms is over", []string{"kind"}, timesOut},
	{"cancel", "who waits and is cancelled says so, and keeps nothing", []string{"kind", "release"}, cancels},
	{"clock", "a jump of the wall clock moves neither leases nor time-outs", []string{"since"}, wallClock},
	{"confirms", "a release by one whose lock another has got is not confirmed", []string{"declares", "release"}, confirms},
	{"holds", "it says that it holds what it has, and does not say so of what another has got", []string{"declares", "acquire"}, holds},
	{"reopen", "opened once more, it begins anew, and drops what it held", []string{"declares", "release"}, reopens},
	{"several", "holding two keys, it gives each back alone", []string{"declares", "release"}, severalKeys},
	{"unknown", "an op that it does not know is answered", []string{"open"}, answersUnknown},
	{"close", "ends when it is asked to", []string{"open"}, closes},
	{"stdin", "ends when its standard input does", []string{"open"}, endsWithInput},
	{"group", "its processes stay in the client's process group", []string{"open"}, staysInGroup},
	{"children", "no process of it is left when it has ended, or was killed", []string{"open"}, leavesNobody},
	{"stdout", "standard output has the protocol's lines and nothing else", []string{"open"}, nil},
	{"id", "each answer has the id of its request, and each request one answer", []string{"open"}, nil},
	{"form", "what it writes has the protocol's form", []string{"open"}, nil},
	{"event", "events are those of the protocol", []string{"open"}, nil},
}
