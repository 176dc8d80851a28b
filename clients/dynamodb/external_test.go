package dynamodb

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers/dynamoserver"
	"github.com/picklock/picklock/internal/access"
)

const mark = "picklock-abcdefghij-"

// others are the options of a DynamoDB that is not the run's own.
func others(t *testing.T, table string) clients.Options {
	t.Helper()
	t.Setenv("AWS_REGION", "eu-central-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "x")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "y")
	addrs := contract.Addrs(dynamoserver.Start(t))
	return clients.Options{Servers: addrs, Client: "c1", TTL: time.Second, Log: slog.New(slog.DiscardHandler),
		External: &clients.External{Addresses: addrs, Access: access.Access{Database: table}}}
}

// open is a test's access to the table of a run.
func open(t *testing.T, o clients.Options) admin {
	t.Helper()
	d, err := newDynamo("dynamodb", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return admin{d.db, tableOf(o, mark), o.External.Database == ""}
}

func (a admin) ids(t *testing.T) (out []string) {
	t.Helper()
	page, err := a.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(a.table)})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range page.Items {
		out = append(out, dynamoText(item, "id"))
	}
	slices.Sort(out)
	return out
}

// Locks are in a table of the run's own, which clients do not make and clean deletes.
func TestTableOfItsOwn(t *testing.T) {
	o := others(t, "")
	ctx := contract.Within(t, 60*time.Second)
	s := service()
	l, err := dynamodbInfo().Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Acquire(contract.Within(t, 300*time.Millisecond), mark+"k0"); err == nil {
		t.Error("a client has made a table")
	}
	if n, err := s.Clean(ctx, o, mark); n != 0 || err != nil {
		t.Errorf("nothing is there: %d, %v", n, err)
	}
	if err := s.Prepare(ctx, o, mark); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Acquire(ctx, mark+"k0"); err != nil {
		t.Fatal(err)
	}
	a := open(t, o)
	if got := a.ids(t); a.table != "picklock-abcdefghij" || !slices.Equal(got, []string{mark + "k0"}) {
		t.Errorf("table %s has %q", a.table, got)
	}
	theirs := []string{"my-picklock-abcdefghij", "picklock-abcdefghij-mine"}
	for _, name := range theirs {
		if _, err := a.db.CreateTable(ctx, newTable(name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []int{1, 0} {
		if n, err := s.Clean(ctx, o, mark); n != want || err != nil {
			t.Errorf("clean: %d, %v; want %d", n, err, want)
		}
	}
	for _, name := range theirs {
		if _, err := a.db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// In a table that a user names, only items of the run are deleted. A table with another key is
// refused.
func TestTableOfOthers(t *testing.T) {
	o := others(t, "locks")
	ctx := contract.Within(t, 60*time.Second)
	s := service()
	a := open(t, o)
	if _, err := s.Clean(ctx, o, mark); err == nil {
		t.Error("there is no such table, and no error")
	}
	if _, err := a.db.CreateTable(ctx, newTable("locks")); err != nil {
		t.Fatal(err)
	}
	before := []string{"my-" + mark + "k0", "other", "picklock-k0"}
	for _, id := range before {
		if _, err := a.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("locks"), Item: dynamoKey(id)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, info := range Locks() {
		l, err := info.Open(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if _, err := l.Acquire(ctx, mark+info.Name); err != nil {
			t.Fatal(err)
		}
		if n, err := info.Inspect(ctx, o, mark+info.Name); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if all, err := s.Marks(ctx, o); err != nil || !slices.Equal(all, []string{mark}) {
		t.Errorf("%q, %v", all, err)
	}
	if n, err := s.Clean(ctx, o, mark); n != len(Locks()) || err != nil {
		t.Errorf("clean: %d, %v", n, err)
	}
	if after := a.ids(t); !slices.Equal(after, before) {
		t.Errorf("left are %q, there were %q", after, before)
	}
	table := newTable("odd")
	table.AttributeDefinitions[0].AttributeName, table.KeySchema[0].AttributeName = aws.String("key"), aws.String("key")
	if _, err := a.db.CreateTable(ctx, table); err != nil {
		t.Fatal(err)
	}
	o.External.Database = "odd"
	if _, err := s.Clean(ctx, o, mark); err == nil {
		t.Error("its key is another, and no error")
	}
}

func TestRegion(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	for at, want := range map[string]string{
		"dynamodb.eu-central-1.amazonaws.com:443":            "eu-central-1",
		"dynamodb.cn-north-1.amazonaws.com.cn:443":           "cn-north-1",
		"vpce-1-2.dynamodb.us-west-2.vpce.amazonaws.com:443": "us-west-2",
		"dynamodb.example.com:443":                           "",
		"127.0.0.1:8000":                                     "",
	} {
		if got, err := region(at); got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q, %v; want %q", at, got, err, want)
		}
	}
	t.Setenv("AWS_REGION", "sa-east-1")
	if got, err := region("dynamodb.eu-central-1.amazonaws.com:443"); got != "sa-east-1" || err != nil {
		t.Errorf("the environment says sa-east-1: %q, %v", got, err)
	}
}
