package dynamodb

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/internal/access"
)

func service() *clients.Service {
	return &clients.Service{Name: "dynamodb", Fetch: fetch, Prepare: prepare, Stores: stores}
}

// dialWithin is how long an external server may take to accept a connection.
const dialWithin = 5 * time.Second

// The variables of the SDK that clients read.
const (
	regionVariable = "AWS_REGION"
	keyVariable    = "AWS_ACCESS_KEY_ID"
	secretVariable = "AWS_SECRET_ACCESS_KEY" //nolint:gosec // the name of it
	tokenVariable  = "AWS_SESSION_TOKEN"     //nolint:gosec // the name of it
)

// fetch asks the SDK's own chain for credentials and a region. Single sign-on, web identities
// and a machine's metadata need networks that clients do not have.
func fetch(ctx context.Context, e clients.External) error {
	if e.Username != "" {
		return nil // the user has given an access key
	}
	c, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return fmt.Errorf("dynamodb: read the SDK's configuration: %w", err)
	}
	who, err := c.Credentials.Retrieve(ctx)
	if err != nil {
		return fmt.Errorf("dynamodb: no AWS credentials: set AWS_PROFILE, AWS_ACCESS_KEY_ID or another source that the SDK reads: %w", err)
	}
	all := map[string]string{keyVariable: who.AccessKeyID, secretVariable: who.SecretAccessKey, tokenVariable: who.SessionToken}
	if c.Region != "" {
		all[regionVariable] = c.Region
	}
	for name, value := range all {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}

// reach configures requests to an external service: they are signed for its public address, with
// the environment's credentials.
func (d *dynamo) reach(c *dynamodb.Options) error {
	o, e := d.options, d.options.External
	if e == nil {
		return nil
	}
	at := o.PublicAddr(o.Servers[0])
	scheme := "http://"
	if e.TLS {
		scheme = "https://"
	}
	c.BaseEndpoint = aws.String(scheme + at)
	var err error
	if c.Region, err = region(at); err != nil {
		return err
	}
	who := aws.Credentials{AccessKeyID: os.Getenv(keyVariable), SecretAccessKey: os.Getenv(secretVariable), SessionToken: os.Getenv(tokenVariable)}
	if e.Username != "" {
		_, password, err := o.Login()
		if err != nil {
			return err
		}
		who = aws.Credentials{AccessKeyID: e.Username, SecretAccessKey: password}
	}
	if !who.HasKeys() {
		return errors.New("the environment has neither AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY nor PICKLOCK_USERNAME and PICKLOCK_PASSWORD")
	}
	c.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return who, nil })
	dial := d.wire.DialerOf(o, dialWithin)
	t := d.http.Transport.(*http.Transport)
	t.DialContext, t.DialTLSContext = dial, dial
	return nil
}

// region is the environment's, or the one in Amazon's address.
func region(at string) (string, error) {
	for _, name := range []string{regionVariable, "AWS_DEFAULT_REGION"} {
		if r := os.Getenv(name); r != "" {
			return r, nil
		}
	}
	host := access.Host(at)
	if _, after, found := strings.Cut("."+host, ".dynamodb."); found && strings.Contains(after, "amazonaws.com") {
		r, _, _ := strings.Cut(after, ".")
		return r, nil
	}
	return "", fmt.Errorf("no region is in %s: name it in %s", host, regionVariable)
}

// tableOf is the table that has a key: on an external service the run's own, or the one that its
// user has named.
func tableOf(o clients.Options, key string) string {
	mark := clients.MarkIn(key)
	switch {
	case o.External == nil || mark == "" && o.External.Database == "":
		return dynamoTable
	case o.External.Database != "":
		return o.External.Database
	}
	return strings.TrimSuffix(mark, "-")
}
