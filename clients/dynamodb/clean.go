package dynamodb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/picklock/picklock/clients"
)

// keeper is how a run sees to the table of its locks.
type keeper struct {
	db    *dynamodb.Client
	table string
	mark  string
	own   bool // the table is the run's
}

// keep opens a way to the table of the run with this mark; close it in the end.
func keep(o clients.Options, mark string) (k keeper, done func() error, err error) {
	o.TTL = max(o.TTL, 5*time.Second)
	d, err := newDynamo("dynamodb", o)
	if err != nil {
		return keeper{}, nil, err
	}
	return keeper{d.db, tableOf(o, mark), mark, o.External == nil || o.External.Database == ""}, d.Close, nil
}

// prepare makes a table of the run's own, or looks whether the one that its user has named
// will do.
func prepare(ctx context.Context, o clients.Options, mark string) error {
	k, done, err := keep(o, mark)
	if err != nil {
		return err
	}
	if k.own {
		err = k.create(ctx)
	}
	return errors.Join(err, done())
}

func (k keeper) create(ctx context.Context) error {
	if _, err := k.db.CreateTable(ctx, newTable(k.table)); err != nil {
		return fmt.Errorf("dynamodb: make the table %s; PICKLOCK_DATABASE names one that is there: %w", k.table, err)
	}
	return k.await(ctx, func(t *types.TableDescription) bool {
		return t != nil && (t.TableStatus == types.TableStatusActive || t.TableStatus == "")
	})
}

// await looks at the table until it is as wanted; nil is one that is not there.
func (k keeper) await(ctx context.Context, as func(*types.TableDescription) bool) error {
	for {
		out, err := k.db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(k.table)})
		var none *types.ResourceNotFoundException
		switch {
		case errors.As(err, &none):
			out = new(dynamodb.DescribeTableOutput)
		case err != nil:
			return fmt.Errorf("dynamodb: look at the table %s: %w", k.table, err)
		}
		if as(out.Table) {
			return nil
		}
		select {
		case <-time.After(500 * time.Millisecond): // nobody tells
		case <-ctx.Done():
			return fmt.Errorf("dynamodb: wait for the table %s: %w", k.table, ctx.Err())
		}
	}
}

// clean deletes the run's table, or its items in the one that its user has named.
func clean(ctx context.Context, o clients.Options, mark string) (n int, err error) {
	k, done, err := keep(o, mark)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, done()) }()
	if !k.own {
		return k.deleteItems(ctx)
	}
	var none *types.ResourceNotFoundException
	_, err = k.db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String(k.table)})
	if errors.As(err, &none) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("dynamodb: delete the table %s: %w", k.table, err)
	}
	return 1, k.await(ctx, func(t *types.TableDescription) bool { return t == nil })
}

func (k keeper) deleteItems(ctx context.Context) (n int, err error) {
	fail := func(err error) (int, error) {
		return n, fmt.Errorf("dynamodb: remove the items with %s from the table %s: %w", k.mark, k.table, err)
	}
	out, err := k.db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(k.table)})
	if err != nil {
		return fail(err)
	}
	if schema := out.Table.KeySchema; len(schema) != 1 || aws.ToString(schema[0].AttributeName) != "id" {
		return fail(errors.New(`its key has to be one attribute, "id", a string`))
	}
	remove := func(id types.AttributeValue) error {
		_, err := k.db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: aws.String(k.table), Key: map[string]types.AttributeValue{"id": id}})
		return err
	}
	// Also where there are none: whoever may not delete is told so before anything is written.
	if err := remove(dynamoString(k.mark)); err != nil {
		return fail(err)
	}
	pages := dynamodb.NewScanPaginator(k.db, &dynamodb.ScanInput{
		TableName: aws.String(k.table), ConsistentRead: aws.Bool(true),
		FilterExpression: aws.String("begins_with(id, :mark)"), ExpressionAttributeValues: map[string]types.AttributeValue{":mark": dynamoString(k.mark)},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fail(err)
		}
		for _, item := range page.Items {
			if err := remove(item["id"]); err != nil {
				return fail(err)
			}
			n++
		}
	}
	return n, nil
}

// names are the tables, or the items of the table that its user has named, that may be a
// run's.
func names(ctx context.Context, o clients.Options) (out []string, err error) {
	k, done, err := keep(o, "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	if k.own {
		tables := dynamodb.NewListTablesPaginator(k.db, &dynamodb.ListTablesInput{})
		for tables.HasMorePages() {
			page, err := tables.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("dynamodb: list the tables: %w", err)
			}
			for _, name := range page.TableNames {
				out = append(out, name+"-") // which ends a mark
			}
		}
		return out, nil
	}
	pages := dynamodb.NewScanPaginator(k.db, &dynamodb.ScanInput{TableName: aws.String(k.table), ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("dynamodb: look for the items of runs in the table %s: %w", k.table, err)
		}
		for _, item := range page.Items {
			out = append(out, dynamoText(item, "id"))
		}
	}
	return out, nil
}
