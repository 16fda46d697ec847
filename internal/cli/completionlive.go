package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/alecthomas/kong"

	"muster/client"
)

const (
	// completeTime is how long a person who presses the tab key waits for the server, and the variable that changes it.
	completeTime     = time.Second
	completeVariable = "MUSTER_COMPLETION_TIMEOUT"
)

func completionTime() time.Duration {
	if given, err := time.ParseDuration(os.Getenv(completeVariable)); err == nil && given > 0 {
		return given
	}
	return completeTime
}

// liveValues asks the server for the values of a kind. Whatever keeps it from answering, there are none.
func liveValues(ctx context.Context, parser *kong.Kong, all *commands, given map[string][]string,
) func(kind string) []candidate {
	return func(kind string) []candidate {
		ask := lookups[kind]
		if ask == nil {
			return nil
		}
		server, err := clientFor(parser, all, given)
		if err != nil {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, completionTime())
		defer cancel()
		found, err := ask(ctx, server)
		if err != nil {
			return nil
		}
		return found
	}
}

// clientFor calls the server that the flags of a command line and the environment name.
func clientFor(parser *kong.Kong, all *commands, given map[string][]string) (*client.Client, error) {
	words := []string{"tag", "list"} // any command that calls the server
	for _, name := range []string{"server", "token", "token-file", "muster-home", "ca"} {
		for _, value := range given[name] {
			words = append(words, "--"+name+"="+value)
		}
	}
	parsed, err := parser.Parse(words)
	if err != nil {
		return nil, err
	}
	if err := fillSecrets(parsed.Flags()); err != nil {
		return nil, err
	}
	return all.Tag.List.client()
}

// lookup asks the server for the values of a kind.
type lookup func(ctx context.Context, server *client.Client) ([]candidate, error)

// listed makes candidates of what the server lists.
func listed[T any](list func(*client.Client, context.Context) ([]T, error), of func(T) candidate) lookup {
	return func(ctx context.Context, server *client.Client) (found []candidate, err error) {
		all, err := list(server, ctx)
		for _, one := range all {
			found = append(found, of(one))
		}
		return found, err
	}
}

// whole lists without a filter.
func whole[T any](list func(*client.Client, context.Context, client.List) ([]T, error),
) func(*client.Client, context.Context) ([]T, error) {
	return func(server *client.Client, ctx context.Context) ([]T, error) { return list(server, ctx, client.List{}) }
}

func sources(ctx context.Context, server *client.Client) (found []candidate, err error) {
	now, err := server.Fleet(ctx)
	for _, name := range slices.Sorted(maps.Keys(now.Sources)) {
		found = append(found, candidate{word: name})
	}
	return found, err
}

// numbered is a candidate that people know by its number.
func numbered(id int64, help ...any) candidate {
	return candidate{strconv.FormatInt(id, 10), fmt.Sprintln(help...)}
}
