package scenarios

import (
	"strings"
	"testing"
)

// head is a scenario without clients, faults and expectations; its last line is line 5.
const head = `name: x
about: y
locks: [redis, etcd]
fencing: [none, write]
ttl: 1s
`

const tail = `expect:
  "*": valid
`

const oneClient = "clients: {A: acquire}\n"

// A fault that cannot be is refused with its line.
func TestFaultMistakes(t *testing.T) {
	for name, tt := range map[string][2]string{
		`unknown fault`:             {`pasue: A`, `9: unknown fault "pasue": did you mean pause?`},
		`missing client hit`:        {`pause: C`, `9: client C is not among`},
		`one-sided hold`:            {`hold: A`, `9: hold: want two sides, as A to redis (what A sends waits)`},
		`hold without a node`:       {`hold: A to`, `9: hold: want two sides`},
		`held in nobody's queue`:    {`hold: C to redis`, `9: client C is not among the scenario's clients`},
		`no messages delivered`:     {`deliver: 0 from A to redis`, `9: deliver: "0" is no number of messages`},
		`one-sided delivery`:        {`deliver: 1`, `9: deliver: want how many messages and two sides`},
		`a delivery of all`:         {`deliver: A to redis`, `9: deliver: want how many messages and two sides, as 1 from A to redis; all that a hold keeps are delivered when it is over`},
		`reset both ways`:           {`reset: A from redis`, `9: reset: a connection has both directions: write A to redis`},
		`one-sided reset`:           {`reset: A silently`, `9: reset: want two sides`},
		`one-sided slow link`:       {`slow: A 50ms`, `9: slow: want two sides and how slow, as A to redis 50ms`},
		`slow by nothing`:           {`slow: A to redis`, `9: slow: want two sides and how slow, as A to redis 50ms`},
		`slow by no time`:           {`slow: A to redis 50`, `9: slow: "50" is no delay: want one like 50ms or 50ms±10ms`},
		`slow by less than no time`: {`slow: A to redis -50ms`, `9: slow: want two sides and how slow`},
		`slow by too much jitter`:   {`slow: A to redis 50ms±60ms`, `9: slow: "50ms±60ms": the jitter is a length of time, at most as long as the delay`},
		`slow at no rate`:           {`slow: A to redis 0kB/s`, `9: slow: "0kB/s" is no rate: want one like 100kB/s`},
		`two delays`:                {`slow: A to redis 50ms 60ms`, `9: slow: "60ms": a link has one delay and one rate`},
		`a slow link of nobody`:     {`slow: C to redis 50ms`, `9: client C is not among the scenario's clients`},
		`one-sided loss`:            {`loss: A 20%`, `9: loss: want two sides and how much, as A to redis 20%`},
		`loss of nothing`:           {`loss: A to redis`, `9: loss: want two sides and how much, as A to redis 20%`},
		`loss of too little`:        {`loss: A to redis 0%`, `9: loss: "0%" is no part of the packets: want one like 20%`},
		`loss of too much`:          {`loss: A to redis 101%`, `9: loss: "101%" is no part of the packets: want one like 20%`},
		`one-sided flap`:            {`flap: A 200ms`, `9: flap: want two sides and how long each time, as A to redis 200ms`},
		`flap of no time`:           {`flap: A to redis`, `9: flap: want two sides and how long each time`},
		`flap of less than no time`: {`flap: A to redis 0ms`, `9: flap: "0ms" is no length of time`},
		`one-sided cut`:             {`cut: A`, `9: cut: want two sides`},
		`refusal of a client`:       {`refuse: A`, `9: refuse: A is a client, and refuses nothing: name servers`},
		`failover of two`:           {`failover: redis1, redis2`, `9: failover: want one server`},
		`power loss of a client`:    {`powerloss: A`, `9: powerloss: A is a client and keeps nothing: kill: A`},
		`no disk fault`:             {`disk: redis slow`, `9: disk: want a server and what is wrong with its disk`},
		`a full disk for a time`:    {`disk: redis full 2s`, `9: disk: want a server and what is wrong with its disk`},
		`a disk that is well`:       {`disk: redis well`, `9: disk: want a server and what is wrong with its disk`},
		`no time of a stall`:        {`disk: redis stall long`, `9: disk: "long" is no time that a sync takes: want one like 2s`},
		`disk of a client`:          {`disk: A full`, `9: disk: A is a client and has no disk`},
		`clock without jump`:        {`clock: redis`, `9: clock: want a node and a jump`},
		`clock at no rate`:          {`clock: redis xfast`, `9: clock: "xfast" is no wrong rate`},
		`clock at the right rate`:   {`clock: redis x1.0`, `9: clock: "x1.0" is no wrong rate`},
		`clock too fast`:            {`clock: redis x101`, `9: clock: "x101" is no wrong rate: want one like x1.1 or x0.5, between x0.01 and x100`},
		`clock back in time`:        {`clock: redis x-1`, `9: clock: "x-1" is no wrong rate`},
		`clock too far`:             {`clock: redis +999999h`, `9: clock: "+999999h" is no jump`},
		`strobe by nothing`:         {`clock: redis strobe`, `9: clock: want a node and a jump`},
		`strobe by no time`:         {`clock: redis strobe soon`, `9: clock: "soon" is no jump`},
		`clock with two words`:      {`clock: redis x1.1 +5s`, `9: clock: want a node and a jump`},
		`a right clock`:             {`clock: redis right`, `9: clock: want a node and a jump`},
		`clock by nothing`:          {`clock: redis +0s`, `9: clock: "+0s" is no jump`},
	} {
		text := head + "clients:\n  A: acquire, write\nfaults:\n  - " + tt[0] + "\n    when: start\n" + tail
		mistaken(t, name, text, tt[1])
	}
}

// So is a move, and what is awaited in one.
func TestMoveMistakes(t *testing.T) {
	for name, tt := range map[string][2]string{
		`unknown move`:                    {`acqiure`, `7: unknown move "acqiure": did you mean acquire?`},
		`unknown mode`:                    {`acquire shard`, `7: unknown move "acquire shard": did you mean acquire shared?`},
		`a mode of no acquire`:            {`acquire, read shared`, `7: unknown move "read shared"`},
		`no time of a reader`:             {`acquire shared within ever`, `7: acquire shared within: "ever"`},
		`an entry by name`:                {`acquire, acquire nested`, `7: "acquire nested": say acquire: who holds a reentrant lock enters it once more by that`},
		`unknown move in a list`:          {`acquire, raed`, `7: unknown move "raed": did you mean read?`},
		`missing client awaited`:          {`acquire, await C granted`, `7: client C is not among`},
		`a sleep`:                         {`acquire, await 2s`, `7: await: a time alone is no event: say from when on, as 2s after A granted`},
		`unknown event`:                   {`acquire, await the end`, `7: await: "the end" is nothing that can be awaited`},
		`misspelt event`:                  {`acquire, await A grantd`, `7: await: "grantd": did you mean granted?`},
		`no messages`:                     {`acquire, await 0 messages from A to redis`, `7: await: "0" is no number of messages`},
		`messages of a move`:              {`acquire, await message of A's acquire sent`, `7: await: "of A's acquire sent": messages of a move are a fault's trigger, as when: A's acquire has sent message 1`},
		`a point of a stranger's program`: {`acquire, await after C's write`, `7: client C is not among`},
		`a point of no program`:           {`acquire, await after B's renew`, `7: B's program has no renew`},
		`a misspelt point`:                {`acquire, await after B's writ`, `7: B's program has no writ: did you mean write?`},
		`a point too far`:                 {`acquire, await after B's 2nd write`, `7: B's program has 1 write, not 2`},
		`the point before the first`:      {`acquire, await after B's 0th write`, `7: await: count the moves of B from 1`},
		`no such fault`:                   {`acquire, await pause over`, `7: await: there is no pause among the faults`},
		`a misspelt fault`:                {`acquire, await puase over`, `7: await: no fault is called "puase": did you mean pause?`},
		`a fault of another`:              {`acquire, await cut of B over`, `7: await: there is no cut of B among the faults`},
		`one of two faults`:               {`acquire, await cut over`, `7: await: 2 faults are a cut: say which, as cut of A, or 2nd cut`},
		`the third of two faults`:         {`acquire, await 3rd cut over`, `7: await: there is no 3rd cut among the faults`},
	} {
		text := head + "clients:\n  A: " + tt[0] + "\n  B: acquire, write\nfaults:\n  - {when: start, cut: A to redis}\n  - {when: start, cut: A to etcd}\n" + tail
		mistaken(t, name, text, tt[1])
	}
}

func TestMistakes(t *testing.T) {
	for name, tt := range map[string][2]string{
		"clients that are a list":          {head + "clients: [A, B]\n" + tail, `6: clients: want a mapping of names to programs, as A: acquire, read, write, release`},
		"what is counted":                  {head + oneClient + "count: [{what: grants, when: start}]\n" + tail, `7: count: what can be counted is wake-ups, not "grants"`},
		"counted for ever":                 {head + oneClient + "count: [{wat: wake-ups, when: start}]\n" + tail, `7: unknown count "wat": did you mean what?`},
		"a loss that is neither heeded":    {head + "ignore-lost: perhaps\n" + oneClient + tail, `6: ignore-lost: want true or false, not "perhaps"`},
		"no time-out":                      {head + "timeout: never\n" + oneClient + tail, `6: "never" is no length of time`},
		"unknown field":                    {"naem: x\n" + head + oneClient + tail, `1: unknown field "naem": did you mean name?`},
		"steps":                            {head + "steps: [{A: acquire}]\n" + tail, `6: unknown field "steps"`},
		"field twice":                      {head + "name: z\n" + oneClient + tail, `6: "name" again: it is given in line 1 already`},
		"bad length of time":               {strings.Replace(head, "1s", "1", 1) + oneClient + tail, `5: "1" is no length of time`},
		"bad client":                       {head + "clients:\n  A: acquire\n  bob: acquire\n" + tail, `8: client "bob": want a capital letter`},
		"client twice":                     {head + "clients:\n  A: acquire\n  A: acquire\n" + tail, `8: client A again`},
		"unknown fencing":                  {strings.Replace(head, "[none, write]", "[none, wirte]", 1) + oneClient + tail, `4: unknown fencing "wirte": did you mean write?`},
		"unknown anomaly":                  {head + oneClient + "expect:\n  redis: [stale-wirte]\n", `8: unknown anomaly "stale-wirte": did you mean stale-write?`},
		"unknown lock":                     {head + oneClient + "expect:\n  reddis: valid\n", `8: expect: "reddis" is not among the scenario's locks: did you mean redis?`},
		"expected twice":                   {head + oneClient + "expect:\n  redis: {none: valid}\n  redis:\n    none: [stale-write]\n", `10: expect: lock redis with fencing none again: it has one expectation`},
		"nothing expected":                 {head + oneClient + "expect:\n  redis: valid\n", `7: nothing is expected of lock etcd with fencing none`},
		"nothing expected of a discipline": {head + oneClient + "expect:\n  \"*\": {none: valid}\n", `7: nothing is expected of lock redis with fencing write`},
		"no programs":                      {head + tail, `1: scenario x has neither clients that carry out programs nor a run`},
		"both":                             {head + "run: {duration: 5s}\n" + oneClient + tail, `1: scenario x has both clients that carry out programs and a run`},
		"must and must not":                {head + oneClient + "expect:\n  redis: {must: [stale-write], not: [stale-write]}\n", `8: stale-write cannot be both what must appear and what must not`},
		"may beside not":                   {head + oneClient + "expect:\n  redis: {may: [stale-write], not: [deadlock]}\n", `8: leave out may: beside not, all anomalies that it does not name may appear`},
		"not what":                         {head + oneClient + "expect:\n  redis: {not: valid}\n", `8: not: name the anomalies that must not appear`},
		"misspelt run":                     {head + "run: {duratoin: 5s}\n" + tail, `6: unknown field "duratoin" of run: did you mean duration?`},
		"not YAML":                         {"name: [x\n", `did not find expected`},
		"not a mapping":                    {"- x\n", `1: a scenario is a mapping`},
		"empty":                            {"", `1: a scenario is a mapping`},
	} {
		mistaken(t, name, tt[0], tt[1])
	}
}

// mistaken reads a scenario with a mistake.
func mistaken(t *testing.T, name, text, want string) {
	t.Run(name, func(t *testing.T) {
		_, err := Parse("mine.yaml", []byte(text))
		if err == nil {
			t.Fatal("no error")
		}
		if !strings.HasPrefix(err.Error(), "mine.yaml:") || !strings.Contains(err.Error(), want) {
			t.Errorf("error %q\nwant it to hold %q", err, want)
		}
	})
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
