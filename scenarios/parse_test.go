package scenarios

import (
	"strings"
	"testing"
)

// head is a scenario without steps and expectations; its last line is line 6.
const head = `name: x
about: y
locks: [redis, etcd]
fencing: [none, write]
clients: [A, B]
ttl: 1s
`

const tail = `expect:
  "*": valid
`

func TestMistakes(t *testing.T) {
	tests := []struct {
		name, text string
		want       string // of the error, after the file
	}{
		{"unknown step", head + "steps:\n  - A: acquire\n  - pasue: A\n" + tail, `9: unknown step "pasue": did you mean pause?`},
		{"unknown act", head + "steps:\n  - A: acqiure\n" + tail, `8: unknown step "acqiure": did you mean acquire?`},
		{"unknown act in a list", head + "steps:\n  - A: acquire, raed\n" + tail, `8: unknown step "raed": did you mean read?`},
		{"missing client", head + "steps:\n  - A: acquire\n  - C: acquire\n" + tail, `9: client C is not among the scenario's clients`},
		{"no clients", "name: x\nabout: y\nlocks: [redis]\nsteps:\n  - A: acquire\n" + tail, `5: client A is not among the scenario's clients (there are none: give clients`},
		{"missing client hit", head + "steps:\n  - A: acquire\n  - pause: C\n" + tail, `9: client C is not among`},
		{"missing client awaited", head + "steps:\n  - A: acquire\n  - await: C granted\n" + tail, `9: client C is not among`},
		{"write before acquire", head + "steps:\n  - B: acquire\n  - A: write\n" + tail, `9: A: write before it was granted the lock: acquire first`},
		{"write after release", head + "steps:\n  - A: acquire, release\n  - A: write\n" + tail, `9: A: write after its release in line 8: acquire first`},
		{"busy", head + "steps:\n  - A: acquire &\n  - A: read\n" + tail, `9: A may still be busy with line 8: await: A done first`},
		{"busy, perhaps", head + "steps:\n  - A: acquire &\n  - await: A granted or 1s\n  - A: read\n" + tail, `10: A may still be busy with line 8`},
		{"paused", head + "steps:\n  - A: acquire\n  - pause: A\n  - A: write\n" + tail, `10: A is paused since line 9 and would never answer: resume it first`},
		{"paused and awaited", head + "steps:\n  - A: acquire\n  - pause: A\n  - A: write &\n  - await: A done\n" + tail, `11: await: A is paused since line 9`},
		{"paused twice", head + "steps:\n  - A: acquire\n  - pause: A\n  - pause: A\n" + tail, `10: pause: A is paused since line 9: resume it first`},
		{"resumed unpaused", head + "steps:\n  - A: acquire\n  - resume: A\n" + tail, `9: resume: no pause of A is on`},
		{"killed", head + "steps:\n  - A: acquire\n  - kill: A\n  - A: write\n" + tail, `10: A was killed: start: A first`},
		{"killed and awaited", head + "steps:\n  - A: acquire &\n  - kill: A\n  - await: A done\n" + tail, `10: await: A was killed`},
		{"started unkilled", head + "steps:\n  - A: acquire\n  - start: redis\n" + tail, `9: start: no kill of redis is on`},
		{"healed uncut", head + "steps:\n  - A: acquire\n  - heal\n" + tail, `9: heal: nothing is cut, slow or lossy`},
		{"healed another cut", head + "steps:\n  - A: acquire\n  - cut: A from redis\n  - heal: B from redis\n" + tail, `10: heal: no cut, slow or loss reads "B from redis": repeat its words, or heal all`},
		{"one-sided hold", head + "steps:\n  - A: acquire\n  - hold: A\n" + tail, `9: hold: want two sides, as A to redis (what A sends waits)`},
		{"held twice", head + "steps:\n  - A: acquire\n  - hold: A to redis\n  - hold: A to redis\n" + tail, `10: hold: A to redis is held since line 9`},
		{"hold without a node", head + "steps:\n  - A: acquire\n  - hold: A to\n" + tail, `9: hold: want two sides`},
		{"held at nobody's door", head + "steps:\n  - A: acquire\n  - hold: C to redis\n" + tail, `9: client C is not among the scenario's clients`},
		{"delivered what is not held", head + "steps:\n  - A: acquire\n  - hold: A to redis\n  - deliver: B to redis\n" + tail, `10: deliver: no hold reads "B to redis": repeat the words of the hold`},
		{"delivered before a hold", head + "steps:\n  - A: acquire\n  - deliver: 1 from A to redis\n" + tail, `9: deliver: nothing is held: hold: A to redis first`},
		{"no messages delivered", head + "steps:\n  - A: acquire\n  - hold: A to redis\n  - deliver: 0 from A to redis\n" + tail, `10: deliver: "0" is no number of messages`},
		{"one-sided delivery", head + "steps:\n  - A: acquire\n  - hold: A to redis\n  - deliver: 1\n" + tail, `10: deliver: want two sides`},
		{"message before a hold", head + "steps:\n  - A: acquire\n  - await: message from A to redis\n" + tail, `9: await: nothing is held: hold: A to redis first`},
		{"no messages", head + "steps:\n  - A: acquire\n  - hold: A to redis\n  - await: 0 messages from A to redis\n" + tail, `10: await: "0" is no number of messages`},
		{"no messages of an act", head + "steps:\n  - A: acquire &\n  - await: 0 messages of A's acquire sent\n" + tail, `9: await: "0" is no number of messages`},
		{"messages of no act", head + "steps:\n  - A: acquire &\n  - await: message of A's acquir sent\n" + tail, `9: await: unknown act "acquir" of A: did you mean acquire?`},
		{"messages of nobody", head + "steps:\n  - A: acquire &\n  - await: message of C's acquire sent\n" + tail, `9: client C is not among the scenario's clients`},
		{"messages to nobody", head + "steps:\n  - A: acquire &\n  - await: message of A's acquire to C sent\n" + tail, `9: client C is not among the scenario's clients`},
		{"messages of an act, received", head + "steps:\n  - A: acquire &\n  - await: 2 messages of A's acquire received\n" + tail, `9: await: "of A's acquire received": want an act of a client and what became of it`},
		{"messages of an act that has ended", head + "steps:\n  - A: acquire\n  - await: message of A's acquire sent\n" + tail, `9: await: no acquire of A is under way: start it without waiting, as A: acquire &`},
		{"messages of another act", head + "steps:\n  - A: acquire &\n  - await: message of A's release sent\n" + tail, `9: await: no release of A is under way`},
		{"messages before it asks", head + "steps:\n  - B: acquire\n  - await: message of A's acquire sent\n" + tail, `9: await: A has not asked for the lock yet`},
		{"reset both ways", head + "steps:\n  - A: acquire\n  - reset: A from redis\n" + tail, `9: reset: a connection has both directions: write A to redis`},
		{"one-sided reset", head + "steps:\n  - A: acquire\n  - reset: A silently\n" + tail, `9: reset: want two sides`},
		{"cut twice", head + "steps:\n  - A: acquire\n  - cut: A to redis\n  - cut: A to redis\n" + tail, `10: cut: it is done to A to redis since line 9: heal: A to redis first`},
		{"one-sided slow link", head + "steps:\n  - A: acquire\n  - slow: A 50ms\n" + tail, `9: slow: want two sides and how slow, as A to redis 50ms`},
		{"slow by nothing", head + "steps:\n  - A: acquire\n  - slow: A to redis\n" + tail, `9: slow: want two sides and how slow, as A to redis 50ms`},
		{"slow by no time", head + "steps:\n  - A: acquire\n  - slow: A to redis 50\n" + tail, `9: slow: "50" is no delay: want one like 50ms or 50ms±10ms`},
		{"slow by less than no time", head + "steps:\n  - A: acquire\n  - slow: A to redis -50ms\n" + tail, `9: slow: want two sides and how slow`},
		{"slow by too much jitter", head + "steps:\n  - A: acquire\n  - slow: A to redis 50ms±60ms\n" + tail, `9: slow: "50ms±60ms": the jitter is a length of time, at most as long as the delay`},
		{"slow at no rate", head + "steps:\n  - A: acquire\n  - slow: A to redis 0kB/s\n" + tail, `9: slow: "0kB/s" is no rate: want one like 100kB/s`},
		{"two delays", head + "steps:\n  - A: acquire\n  - slow: A to redis 50ms 60ms\n" + tail, `9: slow: "60ms": a link has one delay and one rate`},
		{"slow at nobody's door", head + "steps:\n  - A: acquire\n  - slow: C to redis 50ms\n" + tail, `9: client C is not among the scenario's clients`},
		{"slow twice", head + "steps:\n  - A: acquire\n  - slow: A to redis 50ms\n  - slow: A to redis 90ms\n" + tail, `10: slow: it is done to A to redis since line 9: heal: A to redis first`},
		{"one-sided loss", head + "steps:\n  - A: acquire\n  - loss: A 20%\n" + tail, `9: loss: want two sides and how much, as A to redis 20%`},
		{"loss of nothing", head + "steps:\n  - A: acquire\n  - loss: A to redis\n" + tail, `9: loss: want two sides and how much, as A to redis 20%`},
		{"loss of too little", head + "steps:\n  - A: acquire\n  - loss: A to redis 0%\n" + tail, `9: loss: "0%" is no part of the packets: want one like 20%`},
		{"loss of too much", head + "steps:\n  - A: acquire\n  - loss: A to redis 101%\n" + tail, `9: loss: "101%" is no part of the packets: want one like 20%`},
		{"one-sided flap", head + "steps:\n  - A: acquire\n  - flap: A 200ms\n" + tail, `9: flap: want two sides and how long each time, as A to redis 200ms`},
		{"flap of no time", head + "steps:\n  - A: acquire\n  - flap: A to redis\n" + tail, `9: flap: want two sides and how long each time`},
		{"flap of less than no time", head + "steps:\n  - A: acquire\n  - flap: A to redis 0ms\n" + tail, `9: flap: "0ms" is no length of time`},
		{"flapping twice", head + "steps:\n  - A: acquire\n  - flap: A to redis 50ms\n  - flap: A to redis 90ms\n" + tail, `10: flap: it is done to A to redis since line 9: heal: A to redis first`},
		{"healed what is neither cut nor slow", head + "steps:\n  - A: acquire\n  - slow: A to redis 50ms\n  - heal: A from redis\n" + tail, `10: heal: no cut, slow or loss reads "A from redis"`},
		{"one-sided cut", head + "steps:\n  - A: acquire\n  - cut: A\n" + tail, `9: cut: want two sides`},
		{"power loss of a client", head + "steps:\n  - A: acquire\n  - powerloss: A\n" + tail, `9: powerloss: A is a client and keeps nothing: kill: A`},
		{"power loss of what is down", head + "steps:\n  - A: acquire\n  - powerloss: redis torn\n  - powerloss: redis\n" + tail, `10: powerloss: redis is down since line 9`},
		{"no disk fault", head + "steps:\n  - A: acquire\n  - disk: redis slow\n" + tail, `9: disk: want a server and what is wrong with its disk`},
		{"a full disk for a time", head + "steps:\n  - A: acquire\n  - disk: redis full 2s\n" + tail, `9: disk: want a server and what is wrong with its disk`},
		{"no time of a stall", head + "steps:\n  - A: acquire\n  - disk: redis stall long\n" + tail, `9: disk: "long" is no time that a sync takes: want one like 2s`},
		{"disk of a client", head + "steps:\n  - A: acquire\n  - disk: A full\n" + tail, `9: disk: A is a client and has no disk`},
		{"disk broken twice", head + "steps:\n  - A: acquire\n  - disk: redis full\n  - disk: redis eio\n" + tail, `10: disk: that of redis is broken since line 9: disk: redis well first`},
		{"disk that is well", head + "steps:\n  - A: acquire\n  - disk: redis well\n" + tail, `9: disk: no disk of redis is on`},
		{"clock without jump", head + "steps:\n  - A: acquire\n  - clock: redis\n" + tail, `9: clock: want a node and a jump`},
		{"clock at no rate", head + "steps:\n  - A: acquire\n  - clock: redis xfast\n" + tail, `9: clock: "xfast" is no wrong rate`},
		{"clock at the right rate", head + "steps:\n  - A: acquire\n  - clock: redis x1.0\n" + tail, `9: clock: "x1.0" is no wrong rate`},
		{"clock too fast", head + "steps:\n  - A: acquire\n  - clock: redis x101\n" + tail, `9: clock: "x101" is no wrong rate: want one like x1.1 or x0.5, between x0.01 and x100`},
		{"clock back in time", head + "steps:\n  - A: acquire\n  - clock: redis x-1\n" + tail, `9: clock: "x-1" is no wrong rate`},
		{"clock too far", head + "steps:\n  - A: acquire\n  - clock: redis +999999h\n" + tail, `9: clock: "+999999h" is no jump`},
		{"strobe by nothing", head + "steps:\n  - A: acquire\n  - clock: redis strobe\n" + tail, `9: clock: want a node and a jump`},
		{"strobe by no time", head + "steps:\n  - A: acquire\n  - clock: redis strobe soon\n" + tail, `9: clock: "soon" is no jump`},
		{"clock with two words", head + "steps:\n  - A: acquire\n  - clock: redis x1.1 +5s\n" + tail, `9: clock: want a node and a jump`},
		{"a clock that is right", head + "steps:\n  - A: acquire\n  - clock: redis x2\n  - clock: redis right\n  - clock: redis right\n" + tail, "11:"},
		{"clock by nothing", head + "steps:\n  - A: acquire\n  - clock: redis +0s\n" + tail, `9: clock: "+0s" is no jump`},
		{"a sleep", head + "steps:\n  - A: acquire\n  - await: 2s\n" + tail, `9: await: a time alone is no event: say from when on, as 2s after A granted`},
		{"unknown wait", head + "steps:\n  - A: acquire\n  - await: the end\n" + tail, `9: await: "the end" is nothing that can be awaited`},
		{"misspelt wait", head + "steps:\n  - A: acquire\n  - await: A grantd\n" + tail, `9: await: "grantd": did you mean granted?`},
		{"awaited before it asks", head + "steps:\n  - B: acquire\n  - await: A granted\n" + tail, `9: await: A has not asked for the lock yet`},
		{"nobody asks", head + "steps:\n  - pause: A\n" + tail, `8: steps: nobody asks for the lock`},
		{"counted, not counting", head + "steps:\n  - A: acquire\n  - counted: wake-ups\n" + tail, `9: counted: nothing counts wake-ups`},
		{"acquire in a chain", head + "steps:\n  - A: acquire, release, acquire\n" + tail, `8: A: acquire cannot follow release in one step`},
		{"step of two", head + "steps:\n  - {A: acquire, B: acquire}\n" + tail, `8: a step is one line`},
		{"unknown field", "naem: x\n" + head + "steps: [{A: acquire}]\n" + tail, `1: unknown field "naem": did you mean name?`},
		{"field twice", head + "name: z\nsteps: [{A: acquire}]\n" + tail, `7: "name" again: it is given in line 1 already`},
		{"bad length of time", strings.Replace(head, "1s", "1", 1) + "steps: [{A: acquire}]\n" + tail, `6: "1" is no length of time`},
		{"bad client", strings.Replace(head, "[A, B]", "[A, bob]", 1) + "steps: [{A: acquire}]\n" + tail, `5: client "bob": want a capital letter`},
		{"client twice", strings.Replace(head, "[A, B]", "[A, A]", 1) + "steps: [{A: acquire}]\n" + tail, `5: "A" is in the list twice`},
		{"unknown fencing", strings.Replace(head, "[none, write]", "[none, wirte]", 1) + "steps: [{A: acquire}]\n" + tail, `4: unknown fencing "wirte": did you mean write?`},
		{"unknown anomaly", head + "steps: [{A: acquire}]\nexpect:\n  redis: [stale-wirte]\n", `9: unknown anomaly "stale-wirte": did you mean stale-write?`},
		{"unknown lock", head + "steps: [{A: acquire}]\nexpect:\n  reddis: valid\n", `9: expect: "reddis" is not among the scenario's locks: did you mean redis?`},
		{"nothing expected", head + "steps: [{A: acquire}]\nexpect:\n  redis: valid\n", `8: nothing is expected of lock etcd with fencing none`},
		{"nothing expected of a discipline", head + "steps: [{A: acquire}]\nexpect:\n  \"*\": {none: valid}\n", `8: nothing is expected of lock redis with fencing write`},
		{"no steps", head + tail, `1: scenario x has neither steps nor a run`},
		{"both", head + "run: {duration: 5s}\nsteps: [{A: acquire}]\n" + tail, `1: scenario x has both steps and a run`},
		{"must and must not", head + "steps: [{A: acquire}]\nexpect:\n  redis: {must: [stale-write], not: [stale-write]}\n", `9: stale-write cannot be both what must appear and what must not`},
		{"may beside not", head + "steps: [{A: acquire}]\nexpect:\n  redis: {may: [stale-write], not: [deadlock]}\n", `9: leave out may: beside not, all anomalies that it does not name may appear`},
		{"not what", head + "steps: [{A: acquire}]\nexpect:\n  redis: {not: valid}\n", `9: not: name the anomalies that must not appear`},
		{"misspelt run", head + "run: {duratoin: 5s}\n" + tail, `7: unknown field "duratoin" of run: did you mean duration?`},
		{"not YAML", "name: [x\n", `did not find expected`},
		{"not a mapping", "- x\n", `1: a scenario is a mapping`},
		{"empty", "", `1: a scenario is a mapping`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("mine.yaml", []byte(tt.text))
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.HasPrefix(err.Error(), "mine.yaml:") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q\nwant it to hold %q", err, tt.want)
			}
		})
	}
}

// What almost is a mistake is none.
func TestNoMistakes(t *testing.T) {
	tests := map[string]string{
		"write after a wait for the grant": "  - A: acquire &\n  - await: A granted\n  - A: read, check, write, release\n",
		"started while paused":             "  - A: acquire\n  - pause: A\n  - A: write &\n  - resume: A\n  - await: A done\n",
		"paused again":                     "  - A: acquire\n  - pause: A\n  - resume: A\n  - pause: A\n",
		"started again":                    "  - A: acquire &\n  - kill: A\n  - start: A\n  - A: acquire\n",
		"one cut healed of two":            "  - A: acquire\n  - cut: A from redis\n  - cut: B from redis\n  - heal: A from redis\n  - heal\n",
		"slow and lossy, then healed":      "  - A: acquire\n  - slow: A from redis 50ms+-10ms 100kB/s\n  - loss: A from redis 20%\n  - heal: A from redis\n  - slow: A from redis 50ms\n  - heal\n",
		"healed a silent reset":            "  - A: acquire\n  - reset: A to redis silently\n  - heal\n",
		"held again":                       "  - A: acquire\n  - hold: A to redis\n  - deliver: A to redis\n  - hold: A to redis\n  - reset: A to redis\n  - hold: A to redis\n",
		"a wait that may be in vain":       "  - A: acquire &\n  - await: A granted or 300ms\n  - await: A done\n  - A: read\n",
		"paused, and awaited in vain":      "  - A: acquire &\n  - pause: A\n  - await: A granted or 300ms\n",
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse("mine.yaml", []byte(head+"steps:\n"+steps+tail)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCatalogue(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"pause-holder", "delayed-write", "redlock-clock-jump", "redlock-clock-drift", "redlock-crash-restart", "redlock-pause-in-acquire",
		"redlock-delay-in-acquire", "client-clock-jump", "failover-lost-lock", "del-without-owner", "setnx-no-ttl",
		"aof-everysec-powerloss", "etcd-server-pause", "etcd-ghost-waiter", "zk-session-expiry-pause", "writes-only-tokens",
		"strict-boundary", "incr-then-set", "token-in-process", "token-after-failover", "lock-delay", "thundering-herd",
	} {
		if _, err := Lookup(name); err != nil {
			t.Error(err)
		}
	}
	for _, s := range all {
		if s.Name+".yaml" != s.File {
			t.Errorf("%s holds the scenario %s", s.File, s.Name)
		}
		if !strings.HasPrefix(s.Source, "https://") {
			t.Errorf("%s has no source", s.Name)
		}
	}
	if _, err := Lookup("pause-holdr"); err == nil || !strings.Contains(err.Error(), "did you mean pause-holder?") {
		t.Errorf("unknown name: %v", err)
	}
}
