package checker

import "fmt"

// judgeBelief: did more clients ever believe that they held the lock than may?
func judgeBelief(an *analysis, anomalies int) Property {
	switch {
	case an.stats.Grants == 0:
		return Property{Valid: Unknown, Why: "the lock was never granted"}
	case anomalies > 0:
		return Property{Why: fmt.Sprintf("%s: %s made while another client still believed that it held the lock", contention(an), of(anomalies, "grant"))}
	}
	if an.stats.Contested == 0 {
		return Property{Valid: Unknown, Why: contention(an) + ": " + whyUncontested(an, "nobody else wanted the lock") + ", so nothing was tried"}
	}
	return Property{Valid: True, Why: contention(an) + "; " + kept(an, "never did two clients believe at once that they held the lock",
		"never did more clients believe at once that they held it than this kind of lock allows")}
}
