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

// dialWithin is how long a server of somebody's own may take to take a connection.
const dialWithin = 5 * time.Second

// The variables of the SDK that clients read.
const (
	regionVariable = "AWS_REGION"
	keyVariable    = "AWS_ACCESS_KEY_ID"
	secretVariable = "AWS_SECRET_ACCESS_KEY" //nolint:gosec // the name of it
	tokenVariable  = "AWS_SESSION_TOKEN"     //nolint:gosec // the name of it
)

// fetch asks the SDK's own chain for credentials and a region: profiles, single sign-on, web
// identities and the metadata of machines are asked for over networks that clients have not.
func fetch(ctx context.Context, e clients.External) error {
	if e.Username != "" {
		return nil // it says as whom clients come
	}
	c, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return fmt.Errorf("dynamodb: read the SDK's configuration: %w", err)
	}
	who, err := c.Credentials.Retrieve(ctx)
	if err != nil {
		return fmt.Errorf("dynamodb: nobody says as whom to come, with AWS_PROFILE, AWS_ACCESS_KEY_ID or another way of the SDK's: %w", err)
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

// reach has requests made as a service of somebody's own wants them: for its name outside,
// which they are signed for, and by whom the environment says.
func (d *dynamo) reach(c *dynamodb.Options) error {
	o, e := d.options, d.options.External
	if e == nil {
		return nil
	}
	at := o.Called(o.Servers[0])
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

// region is the environment's, or the one in an address of Amazon's.
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

// tableOf is the table that has a key: on a service that others use, too, the run's own, or
// the one that its user has named.
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
