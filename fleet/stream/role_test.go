package stream

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/hunt"
)

const secret = "s3cret"

// guarded is a server with a secret, and connections to it by role.
func guarded(t *testing.T) (s *Server, by map[Role]*Queue) {
	t.Helper()
	s, err := Serve(ServerOptions{Dir: t.TempDir(), Listen: "127.0.0.1:0", Token: secret})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	by = map[Role]*Queue{}
	for _, r := range Roles() {
		by[r] = connect(t, Options{URL: s.URL(), Token: r.Token(secret)})
	}
	return s, by
}

// TestRoles: with the rights of their tokens a coordinator, a worker and a reader do all that they need.
func TestRoles(t *testing.T) {
	_, by := guarded(t)
	ctx := t.Context()
	led := campaign(t, by[Coordinator])
	items := []fleet.Item{{Job: 0, Kind: fleet.Run, Number: 0}, {Job: 0, Kind: fleet.Run, Number: 1}, {Job: 0, Kind: fleet.Run, Number: 2}}
	if err := led.Send(ctx, items); err != nil {
		t.Fatal(err)
	}
	worked, err := by[Worker].Open(ctx, about.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := worked.Job(ctx, 0); err != nil {
		t.Error(err)
	}
	follow, err := worked.FollowCounterexamples(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer follow.Close()
	gains, err := worked.Gains(ctx, 0, "w")
	if err != nil {
		t.Fatal(err)
	}
	defer gains.Close()
	first := take(t, worked, 0)
	ended := first.Keep()
	defer ended()
	if err := errors.Join(
		by[Worker].Heartbeat(ctx, fleet.Worker{Name: "w"}),
		worked.AddCounterexample(ctx, 0, hunt.Signature{Anomaly: "two-holders"}),
		first.Done(ctx, fleet.Result{Worker: "w"}, &fleet.Payload{}),
		take(t, worked, 0).Return(),
		take(t, worked, 0).Failed(ctx, "w", errors.New("no")),
	); err != nil {
		t.Error(err)
	}
	gains.Publish(hunt.Gain{Schedule: "x"})
	if err := by[Worker].nc.FlushTimeout(5 * time.Second); err != nil || by[Worker].nc.LastError() != nil {
		t.Error(err, by[Worker].nc.LastError())
	}
	if err := led.Report(ctx, &fleet.Report{ID: about.ID}); err != nil {
		t.Error(err)
	}

	read, err := by[Reader].Open(ctx, about.ID)
	if err != nil {
		t.Fatal(err)
	}
	all, err := by[Reader].Campaigns(ctx)
	workers, err2 := by[Reader].Workers(ctx)
	waiting, err3 := by[Reader].Waiting(ctx)
	results, err4 := read.ResultsNow(ctx)
	found, err5 := read.Counterexamples(ctx, 0)
	report, err6 := read.Reported(ctx)
	if err := errors.Join(err, err2, err3, err4, err5, err6); err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 || len(workers) != 1 || len(waiting) == 0 || len(results) != 1 || len(found) != 1 || report == nil {
		t.Errorf("a reader sees %d campaigns, %d workers, %d jobs, %d results, %d counterexamples, the report %v", len(all), len(workers), len(waiting), len(results), len(found), report)
	}
	if _, err := read.Payload(ctx, results[0].Object); err != nil {
		t.Error(err)
	}
	if err := by[Reader].nc.LastError(); err != nil {
		t.Error(err)
	}
	if err := led.End(ctx, about); err != nil {
		t.Error(err)
	}
}

// TestRights: the server refuses each request that the role of its client does not allow.
func TestRights(t *testing.T) {
	s, by := guarded(t)
	campaign(t, by[Coordinator])
	report := "$O.picklock-x-1.M." + objectName(reportObject)
	for subject, least := range map[string]Role{
		"picklock.work.x-1.0":                           Coordinator,
		"$JS.API.STREAM.CREATE.PICKLOCK_WORK":           Coordinator,
		"$JS.API.STREAM.UPDATE.PICKLOCK_WORK":           Coordinator,
		"$JS.API.STREAM.DELETE.PICKLOCK_WORK":           Coordinator,
		"$JS.API.STREAM.PURGE.PICKLOCK_WORK":            Coordinator,
		"$JS.API.STREAM.PURGE.OBJ_picklock-x-1":         Coordinator,
		"$JS.API.STREAM.MSG.DELETE.KV_picklock-x-1":     Coordinator,
		"$JS.API.CONSUMER.CREATE.PICKLOCK_WORK":         Coordinator,
		"$JS.API.CONSUMER.CREATE.PICKLOCK_WORK.x.y":     Coordinator,
		"$JS.API.CONSUMER.DURABLE.CREATE.PICKLOCK_WORK": Coordinator,
		"$JS.API.CONSUMER.DELETE.PICKLOCK_WORK.x-1_0":   Coordinator,
		"$KV.picklock-campaigns.x-1":                    Coordinator,
		"$KV.picklock-campaigns.done.x":                 Coordinator,
		"$KV.picklock-x-1.job.0":                        Coordinator,
		"$KV.picklock-x-1.mark.stop.0":                  Coordinator,
		"picklock.dismiss":                              Coordinator,
		report:                                          Coordinator,
		"$JS.API.CONSUMER.MSG.NEXT.PICKLOCK_WORK.x-1_0": Worker,
		"$JS.ACK.PICKLOCK_WORK.x-1_0.1.1.1.1.0":         Worker,
		"$KV.picklock-x-1.done.0.run.0":                 Worker,
		"$KV.picklock-workers.w":                        Worker,
		"$O.picklock-x-1.M.x":                           Worker,
		"picklock.gains.x-1.0":                          Worker,
		"$JS.API.STREAM.INFO.PICKLOCK_WORK":             Reader,
		"$JS.API.DIRECT.GET.KV_picklock-x-1.job.0":      Reader,
	} {
		for _, r := range Roles() {
			if r == Coordinator {
				continue // it may do all of that, and the campaign would suffer
			}
			nc, err := nats.Connect(s.URL(), nats.Token(r.Token(secret)), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(nc.Publish(subject, []byte("{}")), nc.FlushTimeout(10*time.Second)); err != nil {
				t.Error(err)
			}
			refused := errors.Is(nc.LastError(), nats.ErrPermissionViolation)
			if refused == r.May(least) {
				t.Errorf("a %s sends %s: refused %v", r, subject, refused)
			}
			nc.Close()
		}
	}
}

// TestTokens: a server takes the tokens that were made from its secret, and no others.
func TestTokens(t *testing.T) {
	s, _ := guarded(t)
	for name, token := range map[string]string{
		"none": "", "another secret": "other", "a worker of another secret": Worker.Token("other"), "cut": Worker.Token(secret)[:30], "a role's name": Worker.rolePrefix(),
	} {
		if q, err := Connect(t.Context(), Options{URL: s.URL(), Token: token}); !errors.Is(err, ErrUnreachable) {
			t.Errorf("%s: %v", name, err)
			if q != nil {
				q.Close()
			}
		}
	}
	if _, err := Serve(ServerOptions{Dir: t.TempDir(), Listen: "127.0.0.1:0", Token: Worker.Token(secret)}); err == nil || !strings.Contains(err.Error(), "token of a worker") {
		t.Errorf("a server with the token of a worker: %v", err)
	}
	if Worker.Token(secret) == Reader.Token(secret) || Coordinator.Token(secret) != secret || RoleOf(secret) != Coordinator || RoleOf(Reader.Token(secret)) != Reader || Worker.Token("") != "" {
		t.Error("the tokens are not those of their roles")
	}
}

// TestDeliverySubject: a consumer delivers to a subject that its maker chooses, and the server does not
// compare that with the maker's rights. It delivers only where a client listens, and no stream does.
func TestDeliverySubject(t *testing.T) {
	s, by := guarded(t)
	c := campaign(t, by[Coordinator])
	nc, err := nats.Connect(s.URL(), nats.Token(Reader.Token(secret)))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for _, subject := range []string{c.subject(0), "$KV.picklock-x-1.job.0"} {
		ask := `{"stream_name": "KV_picklock-campaigns", "config": {"deliver_subject": "` + subject + `", "ack_policy": "none", "deliver_policy": "all"}}`
		m, err := nc.Request("$JS.API.CONSUMER.CREATE.KV_picklock-campaigns", []byte(ask), 10*time.Second)
		if err != nil || !strings.Contains(string(m.Data), `"deliver_subject":"`+subject) {
			t.Fatalf("the server makes no such consumer: %v", err)
		}
	}
	if got, err := c.Take(t.Context(), 0, time.Second); err != nil || got != nil {
		t.Errorf("a reader put %+v onto the queue: %v", got, err)
	}
	if j, err := c.Job(t.Context(), 0); err != nil || j.Name != "one" {
		t.Errorf("a reader changed a job to %+v: %v", j, err)
	}
}
