package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

// bucketName is the bucket of all locks: one object a lock.
const bucketName = "picklock"

// largestObject bounds what is read of an object, in bytes.
const largestObject = 64 << 10

// bucket is one client's access to the bucket. It sends each request once, and gives up a request that is not answered in the
// time that its lease would last.
type bucket struct {
	name    string // of the lock
	options clients.Options
	db      *s3.Client
	http    *http.Client
	turn    chan struct{} // one request at a time, so that wire watches the right one
	wire    adapter.Tap
}

// object is an object's content and its entity tag, as one answer has them. The zero object is not there.
type object struct {
	body []byte
	etag string
}

func newBucket(name string, o clients.Options) (*bucket, error) {
	if len(o.Servers) == 0 {
		return nil, fmt.Errorf("%s: no server given", name)
	}
	b := &bucket{name: name, options: o, turn: make(chan struct{}, 1)}
	b.http = &http.Client{Transport: &http.Transport{
		DialContext: b.wire.Dialer(min(b.patience(), 500*time.Millisecond)),
		// A request has to go out in one piece (see adapter.Tap).
		WriteBufferSize: 64 << 10,
	}}
	b.db = s3.New(s3.Options{
		BaseEndpoint: aws.String("http://" + o.Servers[0]),
		UsePathStyle: true, // no name of a bucket resolves here
		Region:       "us-east-1",
		HTTPClient:   b.http,
		Retryer:      aws.NopRetryer{},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "picklock", SecretAccessKey: "picklock"}, nil // as compose/s3.yml has them
		}),
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	})
	return b, nil
}

func (b *bucket) patience() time.Duration {
	return min(max(b.options.TTL, 100*time.Millisecond), 5*time.Second)
}

var (
	// errHeld: the condition of a write did not hold, or another client holds the lock.
	errHeld = errors.New("held by another")
	// errNoBucket: the bucket is not there.
	errNoBucket = errors.New("no bucket")
)

// acquire tries until it is granted or ctx ends. Errors of an attempt are definite unless they wrap ErrUnknown.
func (b *bucket) acquire(ctx context.Context, key string, attempt func(context.Context) (clients.Grant, error)) (clients.Grant, error) {
	grace, cancel := adapter.WithGrace(ctx, b.options.TTL)
	defer cancel()
	var last error
	for ctx.Err() == nil {
		g, err := attempt(grace)
		switch {
		case err == nil:
			return g, nil
		case errors.Is(err, clients.ErrUnknown):
			return clients.Grant{}, fmt.Errorf("%s: acquire %s: %w", b.name, key, err)
		case errors.Is(err, errHeld):
			last = nil
			b.options.TellWaiting()
		case errors.Is(err, errNoBucket):
			if err := b.create(grace); err != nil && ctx.Err() == nil {
				last = err
			}
			continue
		case ctx.Err() == nil:
			last = err // never sent, or refused by the service
		}
		adapter.Pause(ctx, b.options.TTL/50)
	}
	return clients.Grant{}, adapter.Timeout(ctx, b.name, key, last)
}

// do sends one request and returns when it went out, 0 if it did not. mark is a text that no other request carries, ""
// for one that changes nothing.
func (b *bucket) do(ctx context.Context, mark string, send func(context.Context) error) (int64, error) {
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, b.patience())
	defer cancel()
	b.wire.Watch(mark)
	err := send(ctx)
	sent := b.wire.Sent()
	var answer *awshttp.ResponseError
	if errors.As(err, &answer) && answer.HTTPStatusCode()/100 == 4 {
		return sent, refusal(answer.HTTPStatusCode(), err)
	}
	if err != nil && sent != 0 {
		err = fmt.Errorf("%w: %w", clients.ErrUnknown, err) // an internal error (5xx) too: the write may have been done
	}
	return sent, err
}

// refusal says what the service answered that did not do a request: 412 and 409 as
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html has them. An object that is not there
// fails the condition that it has a certain entity tag, too.
func refusal(status int, err error) error {
	var said smithy.APIError
	switch {
	case errors.As(err, &said) && said.ErrorCode() == "NoSuchBucket":
		return errNoBucket
	case status == http.StatusNotFound, status == http.StatusPreconditionFailed, status == http.StatusConflict:
		return fmt.Errorf("%w (%d)", errHeld, status)
	}
	return err
}

// put writes an object if it has this entity tag, or is not there (""). body contains mark.
func (b *bucket) put(ctx context.Context, key, etag, mark string, body []byte) (object, int64, error) {
	in := &s3.PutObjectInput{Bucket: aws.String(bucketName), Key: aws.String(key), Body: bytes.NewReader(body)}
	if etag == "" {
		in.IfNoneMatch = aws.String("*")
	} else {
		in.IfMatch = aws.String(etag)
	}
	var is object
	sent, err := b.do(ctx, mark, func(ctx context.Context) error {
		out, err := b.db.PutObject(ctx, in)
		if err == nil {
			is = object{body, aws.ToString(out.ETag)}
		}
		return err
	})
	return is, sent, err
}

// get reads an object, as it is after all writes that were answered.
func (b *bucket) get(ctx context.Context, key string) (object, error) {
	var is object
	_, err := b.do(ctx, "", func(ctx context.Context) error {
		out, err := b.db.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(bucketName), Key: aws.String(key)})
		if err != nil {
			return err
		}
		body, err := io.ReadAll(io.LimitReader(out.Body, largestObject))
		is = object{body, aws.ToString(out.ETag)}
		return errors.Join(err, out.Body.Close())
	})
	if errors.Is(err, errHeld) { // 404
		return object{}, nil
	}
	return is, err
}

// remove deletes an object, if it has this entity tag; "": whatever is there.
func (b *bucket) remove(ctx context.Context, key, etag string) error {
	in := &s3.DeleteObjectInput{Bucket: aws.String(bucketName), Key: aws.String(key)}
	if etag != "" {
		in.IfMatch = aws.String(etag)
	}
	_, err := b.do(ctx, "/"+key, func(ctx context.Context) error {
		_, err := b.db.DeleteObject(ctx, in)
		return err
	})
	return err
}

// create makes the bucket, unless another client is quicker.
func (b *bucket) create(ctx context.Context) error {
	_, err := b.do(ctx, "", func(ctx context.Context) error {
		_, err := b.db.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(bucketName)})
		return err
	})
	if errors.Is(err, errHeld) { // 409
		return nil
	}
	return err
}

// Close drops the connections.
func (b *bucket) Close() error {
	b.http.CloseIdleConnections()
	return nil
}

// look reads a lock's object for Info.Inspect.
func look(ctx context.Context, o clients.Options, key string) (object, error) {
	o.TTL = adapter.InspectWithin
	b, err := newBucket("s3", o)
	if err != nil {
		return object{}, err
	}
	defer b.Close()
	is, err := b.get(ctx, key)
	if errors.Is(err, errNoBucket) {
		return object{}, nil
	}
	if err != nil {
		return object{}, fmt.Errorf("look at %s: %w", o.Servers[0], err)
	}
	return is, nil
}
