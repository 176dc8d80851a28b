package dynamodb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/picklock/picklock/clients"
)

// admin is a run's own access to the table of its locks, beside its clients'.
type admin struct {
	db    *dynamodb.Client
	table string
	own   bool // the table is the run's
}

// withAdmin opens that access for the run with this mark, until do returns.
func withAdmin(o clients.Options, mark string, do func(admin) error) error {
	o.TTL = max(o.TTL, 5*time.Second)
	d, err := newDynamo("dynamodb", o)
	if err != nil {
		return err
	}
	return errors.Join(do(admin{d.db, tableOf(o, mark), o.External == nil || o.External.Database == ""}), d.Close())
}

// prepare makes a table of the run's own, unless its user has named one.
func prepare(ctx context.Context, o clients.Options, mark string) error {
	return withAdmin(o, mark, func(a admin) error {
		if !a.own {
			return nil
		}
		return a.create(ctx)
	})
}

func (a admin) create(ctx context.Context) error {
	if _, err := a.db.CreateTable(ctx, newTable(a.table)); err != nil {
		return fmt.Errorf("dynamodb: make the table %s; PICKLOCK_DATABASE names one that is there: %w", a.table, err)
	}
	return a.await(ctx, a.table, func(t *types.TableDescription) bool {
		return t != nil && (t.TableStatus == types.TableStatusActive || t.TableStatus == "")
	})
}

// await looks at a table until it is as wanted; nil is one that is not there.
func (a admin) await(ctx context.Context, table string, as func(*types.TableDescription) bool) error {
	for {
		out, err := a.db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(table)})
		var none *types.ResourceNotFoundException
		switch {
		case errors.As(err, &none):
			out = new(dynamodb.DescribeTableOutput)
		case err != nil:
			return fmt.Errorf("dynamodb: look at the table %s: %w", table, err)
		}
		if as(out.Table) {
			return nil
		}
		select {
		case <-time.After(500 * time.Millisecond): // no event to await
		case <-ctx.Done():
			return fmt.Errorf("dynamodb: wait for the table %s: %w", table, ctx.Err())
		}
	}
}

func stores(ctx context.Context, o clients.Options, do func(clients.Store) error) error {
	return withAdmin(o, "", func(a admin) error {
		if a.own {
			return do(a.tables())
		}
		return do(a.items())
	})
}

// tables are the runs' own, under the names of their marks: a table's name and a dash.
func (a admin) tables() clients.Store {
	return clients.Store{
		Each: func(ctx context.Context, prefix string, do func(string) error) error {
			if clients.MarkIn(prefix) == prefix {
				return do(prefix) // it need not be there; to list all takes one more permission
			}
			pages := dynamodb.NewListTablesPaginator(a.db, &dynamodb.ListTablesInput{})
			for pages.HasMorePages() {
				page, err := pages.NextPage(ctx)
				if err != nil {
					return fmt.Errorf("list the tables: %w", err)
				}
				for _, name := range page.TableNames {
					if err := do(name + "-"); err != nil {
						return err
					}
				}
			}
			return nil
		},
		Delete: func(ctx context.Context, name string) (bool, error) {
			name = strings.TrimSuffix(name, "-")
			var none *types.ResourceNotFoundException
			_, err := a.db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String(name)})
			if errors.As(err, &none) {
				return false, nil
			}
			if err != nil {
				return false, fmt.Errorf("delete the table %s: %w", name, err)
			}
			return true, a.await(ctx, name, func(t *types.TableDescription) bool { return t == nil })
		},
	}
}

// items are those of the table that a user has named.
func (a admin) items() clients.Store {
	fail := func(err error) error {
		if err != nil {
			err = fmt.Errorf("items of the table %s: %w", a.table, err)
		}
		return err
	}
	return clients.Store{
		Each: func(ctx context.Context, prefix string, do func(string) error) error {
			out, err := a.db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(a.table)})
			if err != nil {
				return fail(err)
			}
			if schema := out.Table.KeySchema; len(schema) != 1 || aws.ToString(schema[0].AttributeName) != "id" {
				return fail(errors.New(`its key has to be one attribute, "id", a string`))
			}
			pages := dynamodb.NewScanPaginator(a.db, &dynamodb.ScanInput{
				TableName: aws.String(a.table), ConsistentRead: aws.Bool(true),
				FilterExpression: aws.String("begins_with(id, :prefix)"), ExpressionAttributeValues: map[string]types.AttributeValue{":prefix": dynamoString(prefix)},
			})
			for pages.HasMorePages() {
				page, err := pages.NextPage(ctx)
				if err != nil {
					return fail(err)
				}
				for _, item := range page.Items {
					if err := do(dynamoText(item, "id")); err != nil {
						return err
					}
				}
			}
			return nil
		},
		Delete: func(ctx context.Context, id string) (bool, error) {
			out, err := a.db.DeleteItem(ctx, &dynamodb.DeleteItemInput{
				TableName: aws.String(a.table), Key: dynamoKey(id), ReturnValues: types.ReturnValueAllOld,
			})
			return err == nil && len(out.Attributes) > 0, fail(err)
		},
	}
}
