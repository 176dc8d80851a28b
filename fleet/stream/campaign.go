package stream

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/picklock/picklock/fleet"
)

// The names on the server. Teams grant permissions by them.
const (
	workStream  = "PICKLOCK_WORK"      // items that are not done
	workSubject = "picklock.work."     // + campaign.job
	gainStream  = "PICKLOCK_GAINS"     // findings that guided searches share
	gainSubject = "picklock.gains."    // + campaign.job
	campaigns   = "picklock-campaigns" // bucket: the campaigns
	workers     = "picklock-workers"   // bucket: the workers
	bucket      = "picklock-"          // + campaign: bucket of its jobs and results, and its object store
)

// Attempts is how often workers try an item before it is dead-lettered.
const Attempts = 4

// ackWait is how long a worker may be silent before another worker gets its item.
const ackWait = 30 * time.Second

// mostWorkers is how many workers may wait for items of one job at once.
const mostWorkers = 16384

// gainsKept is longer than any campaign.
const gainsKept = 30 * 24 * time.Hour

// workerKept is how long a worker is listed after its last heartbeat.
const workerKept = 2 * time.Minute

// Campaign is one campaign on a queue.
type Campaign struct {
	ID string

	q       *Queue
	kv      jetstream.KeyValue
	objects jetstream.ObjectStore
}

// About describes a campaign without its jobs.
type About struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Version string    `json:"version"` // of the picklock that planned it
	Started time.Time `json:"started"`
	Jobs    int       `json:"jobs"`
	Ended   bool      `json:"ended,omitempty"`
}

var goodID = regexp.MustCompile(`^[a-zA-Z0-9-]{1,60}$`)

// Prepare makes the streams and buckets that all campaigns share.
func (q *Queue) Prepare(ctx context.Context) error {
	return retry(ctx, func(ctx context.Context) error {
		_, err := q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name: workStream, Subjects: []string{workSubject + ">"}, Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage,
			Description: "picklock: items of work", Duplicates: 2 * time.Minute,
		})
		if err == nil {
			_, err = q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
				Name: gainStream, Subjects: []string{gainSubject + ">"}, Retention: jetstream.LimitsPolicy, Storage: jetstream.FileStorage,
				Description: "picklock: findings that guided searches share", MaxAge: gainsKept, MaxMsgSize: 1 << 20,
			})
		}
		if err == nil {
			_, err = q.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: campaigns, Storage: jetstream.FileStorage})
		}
		if err == nil {
			_, err = q.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: workers, Storage: jetstream.MemoryStorage, TTL: workerKept})
		}
		if err != nil {
			return fmt.Errorf("prepare the queue: %w", err)
		}
		return nil
	})
}

// Create puts a campaign with its jobs onto the queue, or opens it if it exists.
func (q *Queue) Create(ctx context.Context, about About, jobs []fleet.Job) (*Campaign, error) {
	if !goodID.MatchString(about.ID) {
		return nil, fmt.Errorf("campaign %q: want letters, digits and hyphens", about.ID)
	}
	if err := q.Prepare(ctx); err != nil {
		return nil, err
	}
	c := &Campaign{ID: about.ID, q: q}
	err := retry(ctx, func(ctx context.Context) (err error) {
		if c.kv, err = q.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: bucket + c.ID, Storage: jetstream.FileStorage}); err != nil {
			return fmt.Errorf("make the campaign's bucket: %w", err)
		}
		if c.objects, err = q.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: bucket + c.ID, Storage: jetstream.FileStorage}); err != nil {
			return fmt.Errorf("make the campaign's object store: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, j := range jobs {
		if err := c.putJob(ctx, j); err != nil {
			return nil, err
		}
	}
	all, err := q.bucket(ctx, campaigns)
	if err != nil {
		return nil, err
	}
	return c, put(ctx, all, c.ID, about) // last: workers must see the campaign with all its jobs
}

func (c *Campaign) putJob(ctx context.Context, j fleet.Job) error {
	if err := put(ctx, c.kv, jobKey(j.Number), j); err != nil {
		return err
	}
	return retry(ctx, func(ctx context.Context) error {
		_, err := c.q.js.CreateOrUpdateConsumer(ctx, workStream, jetstream.ConsumerConfig{
			Durable: c.consumer(j.Number), FilterSubject: c.subject(j.Number), AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait,
			// Without a limit: the server drops an item at its limit without a word, and the coordinator
			// would wait for it. A worker that gets an item after its attempts dead-letters it.
			MaxDeliver: -1, MaxAckPending: -1, MaxWaiting: mostWorkers,
		})
		if err != nil {
			return fmt.Errorf("make the consumer of job %d: %w", j.Number, err)
		}
		return nil
	})
}

// Open opens a campaign that exists.
func (q *Queue) Open(ctx context.Context, id string) (*Campaign, error) {
	if !goodID.MatchString(id) {
		return nil, fmt.Errorf("campaign %q: want letters, digits and hyphens", id)
	}
	c := &Campaign{ID: id, q: q}
	var err error
	if c.kv, err = q.bucket(ctx, bucket+id); err != nil {
		return nil, err
	}
	err = retry(ctx, func(ctx context.Context) (err error) {
		if c.objects, err = q.js.ObjectStore(ctx, bucket+id); err != nil {
			return fmt.Errorf("open the campaign's object store: %w", err)
		}
		return nil
	})
	return c, err
}

func (q *Queue) bucket(ctx context.Context, name string) (kv jetstream.KeyValue, err error) {
	err = retry(ctx, func(ctx context.Context) (err error) {
		if kv, err = q.js.KeyValue(ctx, name); err != nil {
			return fmt.Errorf("open the bucket %s: %w", name, err)
		}
		return nil
	})
	return kv, err
}

// About describes one campaign; false if it does not exist.
func (q *Queue) About(ctx context.Context, id string) (a About, there bool, err error) {
	if !goodID.MatchString(id) {
		return a, false, nil
	}
	kv, err := q.bucket(ctx, campaigns)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return a, false, nil
	}
	if err != nil {
		return a, false, err
	}
	there, err = get(ctx, kv, id, &a)
	return a, there, err
}

// Campaigns lists those on the queue, the oldest first. If some cannot be read, the error is
// ErrUnreadable, beside the others.
func (q *Queue) Campaigns(ctx context.Context) ([]About, error) {
	kv, err := q.bucket(ctx, campaigns)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out, err := all[About](ctx, kv, ">")
	slices.SortFunc(out, func(a, b About) int { return a.Started.Compare(b.Started) })
	return out, err
}

// End marks a campaign as finished and removes its items. Its results stay.
func (c *Campaign) End(ctx context.Context, about About) error {
	about.Ended = true
	kv, err := c.q.bucket(ctx, campaigns)
	if err != nil {
		return err
	}
	if err := put(ctx, kv, c.ID, about); err != nil {
		return err
	}
	for n := range about.Jobs {
		err := retry(ctx, func(ctx context.Context) error {
			if err := c.q.js.DeleteConsumer(ctx, workStream, c.consumer(n)); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
				return fmt.Errorf("end job %d: %w", n, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return retry(ctx, func(ctx context.Context) error {
		s, err := c.q.js.Stream(ctx, workStream)
		if err == nil {
			err = s.Purge(ctx, jetstream.WithPurgeSubject(workSubject+c.ID+".>"))
		}
		if err != nil {
			return fmt.Errorf("remove the items of the campaign: %w", err)
		}
		return nil
	})
}

// Jobs reads the campaign's jobs.
func (c *Campaign) Jobs(ctx context.Context) ([]fleet.Job, error) {
	out, err := all[fleet.Job](ctx, c.kv, "job.*")
	slices.SortFunc(out, func(a, b fleet.Job) int { return a.Number - b.Number })
	return out, err
}

// Job reads one job.
func (c *Campaign) Job(ctx context.Context, n int) (fleet.Job, error) {
	var j fleet.Job
	_, err := get(ctx, c.kv, jobKey(n), &j)
	return j, err
}

func jobKey(n int) string { return "job." + strconv.Itoa(n) }

func (c *Campaign) subject(job int) string { return workSubject + c.ID + "." + strconv.Itoa(job) }

// consumer is the name of a job's consumer; see ofConsumer.
func (c *Campaign) consumer(job int) string { return c.ID + "_" + strconv.Itoa(job) }

// ofConsumer is the campaign and the job of a consumer.
func ofConsumer(name string) (campaign string, job int, ok bool) {
	campaign, n, ok := strings.Cut(name, "_")
	job, err := strconv.Atoi(n)
	return campaign, job, ok && err == nil && goodID.MatchString(campaign)
}
