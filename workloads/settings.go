package workloads

import "time"

// Settings are the settings of a run: what the command line's flags set, what every client gets,
// and what run.json records. A field is added here and nowhere else.
type Settings struct {
	Lock     string   `json:"lock"`
	Cluster  string   `json:"cluster,omitempty"` // "" for the lock's own; "none" for no cluster
	Folder   string   `json:"folder,omitempty"`  // where an exec lock's program is started; "" for the working directory
	Workload string   `json:"workload"`          // "" if it depends on what the lock declares
	Faults   []string `json:"faults"`            // as requested, "pause:holder"
	// Fencing is the fencing mode of the protected resource (register.FencingMode), and
	// Register what that is made of (register.Backend); "" for picklock's own server.
	Fencing  string        `json:"fencing"`
	Register string        `json:"register,omitempty"`
	Clients  int           `json:"clients"`
	Keys     int           `json:"keys"` // how many locks, each with a register key of its own
	TTL      time.Duration `json:"ttl"`  // ns, like all durations here
	// WorkTime is how long a critical section lasts between the read and the write, 0.5 to 1.5 times;
	// 0: most last TTL/20, and some reach into the last part of the lease.
	WorkTime time.Duration `json:"work_time"`
	// Reach is the part of its lease at which a long critical section ends at the latest (see
	// linger.go), if the user did not set their length; 0: none is long.
	Reach float64 `json:"reach,omitempty"`
	// Overrun is how many leases the longest critical section lasts, if some exceed their lease
	// (see linger.go); 0: none does.
	Overrun    float64       `json:"overrun,omitempty"`
	Limit      time.Duration `json:"duration"`
	Rate       float64       `json:"rate,omitempty"`        // critical sections a second and client at most; 0: no limit
	Renew      bool          `json:"renew,omitempty"`       // a watchdog renews the lease every TTL/3
	IgnoreLost bool          `json:"ignore_lost,omitempty"` // never ask the client library whether the grant was lost
	CheckLease bool          `json:"check_lease,omitempty"` // check the remaining lease right before the write
	Require    []string      `json:"require,omitempty"`     // further properties that must hold
	Seed       uint64        `json:"seed"`
}
