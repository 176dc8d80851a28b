package hunt

import "github.com/picklock/picklock/scenarios"

// unanswered is the workload of a client whose library renews the lease, and gets no answer to one renewal: a library that renews no more lets the lease
// end. Its lease is long enough to connect anew, and to renew, before that. In the other workloads with such a client most
// connections are idle when they are reset, and an answer is kept back for too long.
const unanswered = "unanswered"

// oneLost are its programs, for a lock with a lease that its library keeps.
func oneLost(t Target) [][]string {
	if !t.Kept || t.Granted == 0 {
		return nil
	}
	return [][]string{{unanswered,
		"acquire, read, work 2.5 leases, write, release",
		"await A granted, acquire, read, write, release",
	}}
}

// secondRenewal is when the library of A has asked for the second time: before, it has renewed once, and how soon is known.
var secondRenewal = scenarios.Trigger{At: scenarios.Sent, Client: clientNames[0], Do: scenarios.Work, Nth: 1, N: 2}

// answerLost is that the answer to it is lost, at once or after a moment.
func answerLost(f fault, at scenarios.Trigger) bool {
	return at == secondRenewal && lostAnswer(f)
}

// lostAnswer is that what the servers answer A is lost.
func lostAnswer(f fault) bool {
	return f.text == "reset: "+clientNames[0]+" to "+scenarios.Servers || f.text == "withhold: "+scenarios.Servers+" to "+clientNames[0]
}

// aMoment is an end long before that of the lease.
var aMoment = []scenarios.Until{{Or: scenarios.Span{Leases: 0.1}}}
