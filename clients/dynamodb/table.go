package dynamodb

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

// dynamoTable is the table of all locks, on a service that picklock has started: one item a
// lock, its key in "id".
const dynamoTable = "picklock"

// dynamo is one client's access to the table. It sends each request once, and gives up a request
// that is not answered in the time that its lease would last.
type dynamo struct {
	name    string // of the lock
	options clients.Options
	db      *dynamodb.Client
	http    *http.Client
	turn    chan struct{} // one request at a time, so that wire watches the right one
	wire    adapter.Tap
}

func newDynamo(name string, o clients.Options) (*dynamo, error) {
	if len(o.Servers) == 0 {
		return nil, fmt.Errorf("%s: no server given", name)
	}
	d := &dynamo{name: name, options: o, turn: make(chan struct{}, 1)}
	patience := d.patience()
	d.http = &http.Client{Transport: &http.Transport{
		DialContext: d.wire.Dialer(min(patience, 500*time.Millisecond)),
		// A request has to go out in one piece (see adapter.Tap).
		WriteBufferSize: 64 << 10,
	}}
	c := dynamodb.Options{
		BaseEndpoint: aws.String("http://" + o.Servers[0]),
		Region:       "us-east-1",
		HTTPClient:   d.http,
		Retryer:      aws.NopRetryer{},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "picklock", SecretAccessKey: "picklock"}, nil // the emulator checks none
		}),
	}
	if err := d.reach(&c); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	d.db = dynamodb.New(c)
	return d, nil
}

func (d *dynamo) patience() time.Duration {
	return min(max(d.options.TTL, 100*time.Millisecond), 5*time.Second)
}

// errDynamoHeld: the condition of a write did not hold.
var errDynamoHeld = errors.New("held by another")

// acquire tries until it is granted or ctx ends. Errors of an attempt are definite
// unless they wrap ErrUnknown.
func (d *dynamo) acquire(ctx context.Context, key string, attempt func(context.Context) (clients.Grant, error)) (clients.Grant, error) {
	grace, cancel := adapter.WithGrace(ctx, d.options.TTL)
	defer cancel()
	var last error
	for ctx.Err() == nil {
		g, err := attempt(grace)
		var none *types.ResourceNotFoundException
		switch {
		case err == nil:
			return g, nil
		case errors.Is(err, clients.ErrUnknown):
			return clients.Grant{}, fmt.Errorf("%s: acquire %s: %w", d.name, key, err)
		case errors.Is(err, errDynamoHeld):
			d.options.TellWaiting()
		case errors.As(err, &none) && d.options.External == nil: // else the run makes it
			if err := d.create(grace); err != nil && ctx.Err() == nil {
				last = err
			}
		case ctx.Err() == nil:
			last = err // never sent, or refused by the service
		}
		adapter.Pause(ctx, d.options.TTL/50)
	}
	return clients.Grant{}, adapter.Timeout(ctx, d.name, key, last)
}

// do sends one request and returns when it went out, 0 if it did not. mark is a text
// that no other request carries, "" for one that changes nothing.
func (d *dynamo) do(ctx context.Context, mark string, send func(context.Context) error) (int64, error) {
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, d.patience())
	defer cancel()
	d.wire.Watch(mark)
	err := send(ctx)
	sent := d.wire.Sent()
	if err != nil && sent != 0 && !dynamoRefused(err) {
		err = fmt.Errorf("%w: %w", clients.ErrUnknown, err)
	}
	return sent, err
}

// dynamoRefused says that the service answered that it did not do it. An internal error (5xx) is
// no such answer: the write may have been done.
func dynamoRefused(err error) bool {
	var answer *awshttp.ResponseError
	return errors.As(err, &answer) && answer.HTTPStatusCode()/100 == 4
}

// get reads the lock's item, nil if there is none, as it is after all writes that were
// answered (a consistent read).
func (d *dynamo) get(ctx context.Context, key string) (map[string]types.AttributeValue, error) {
	var item map[string]types.AttributeValue
	_, err := d.do(ctx, "", func(ctx context.Context) error {
		out, err := d.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(tableOf(d.options, key)), Key: dynamoKey(key), ConsistentRead: aws.Bool(true)})
		if err == nil {
			item = out.Item
		}
		return err
	})
	return item, err
}

// update changes the lock's item if the condition holds and returns it as it is then,
// and when the request was sent. mark is a text in the values that no other request
// carries.
func (d *dynamo) update(ctx context.Context, key, mark, condition, change string, values map[string]types.AttributeValue) (map[string]types.AttributeValue, int64, error) {
	var item map[string]types.AttributeValue
	sent, err := d.do(ctx, mark, func(ctx context.Context) error {
		out, err := d.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: aws.String(tableOf(d.options, key)), Key: dynamoKey(key),
			ConditionExpression: aws.String(condition), UpdateExpression: aws.String(change), ExpressionAttributeValues: values,
			ReturnValues: types.ReturnValueAllNew,
		})
		if err == nil {
			item = out.Attributes
		}
		return err
	})
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		err = errDynamoHeld
	}
	return item, sent, err
}

// create makes the table, unless another client is quicker.
func (d *dynamo) create(ctx context.Context) error {
	_, err := d.do(ctx, "", func(ctx context.Context) error {
		_, err := d.db.CreateTable(ctx, newTable(dynamoTable))
		return err
	})
	var there *types.ResourceInUseException
	if errors.As(err, &there) {
		return nil
	}
	return err
}

// newTable is a table as the locks need it, billed per request.
func newTable(name string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName: aws.String(name), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
	}
}

func dynamoKey(key string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"id": dynamoString(key)}
}

// Close drops the connections.
func (d *dynamo) Close() error {
	d.http.CloseIdleConnections()
	return nil
}

// lookDynamo counts the holder's mark.
func lookDynamo(ctx context.Context, o clients.Options, key string) (int, error) {
	server := o.Servers[0]
	o.TTL = adapter.InspectWithin
	d, err := newDynamo("dynamodb", o)
	if err != nil {
		return 0, err
	}
	defer d.Close()
	item, err := d.get(ctx, key)
	var none *types.ResourceNotFoundException
	switch {
	case errors.As(err, &none):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("look at %s: %w", server, err)
	case dynamoHeld(item):
		return 1, nil
	}
	return 0, nil
}
