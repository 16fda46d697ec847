package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// answering is a daemon of which only the ignore patterns are asked for.
type answering struct {
	Daemon
	ignores func(ctx context.Context, folder string) ([]string, error)
}

func (a answering) Ignores(ctx context.Context, _ fleet.DeviceID, folder string) ([]string, error) {
	return a.ignores(ctx, folder)
}

// What a question reads has bounds, and what is not read is unknown, with the reason.
func TestPatternsThatAreNotReadSayWhy(t *testing.T) {
	const folders = maxPatternsRead + 10
	var all []stconfig.Value
	var names []string
	for i := range folders {
		names = append(names, fmt.Sprint(i))
		all = append(all, stconfig.Obj(stconfig.Member{Name: "id", Value: stconfig.Text(names[i])}))
	}
	doc := stconfig.Obj(stconfig.Member{Name: "folders", Value: stconfig.List(all...)})
	online := Known{Online: true}
	for name, c := range map[string]struct {
		in      input
		ignores func(context.Context, string) ([]string, error)
		read    int
		why     string // of the last folder
	}{
		"all answer": {input{known: online}, func(context.Context, string) ([]string, error) { return []string{"x"}, nil },
			maxPatternsRead, "200 folders were read already"},
		"none answers": {input{known: online}, func(ctx context.Context, _ string) ([]string,
			error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, 0, "asked before took 20s"},
		"an error": {input{known: online}, func(context.Context, string) ([]string, error) {
			return nil, errors.Join(&fleet.Error{Message: "a bad pattern"})
		}, 0, "200 folders were read already"},
		"offline": {input{}, nil, 0, "not online"},
		"paused":  {input{known: online, mode: fleet.ModePaused}, nil, 0, "paused"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := asking{Engine: &Engine{o: Options{Daemon: answering{ignores: c.ignores}}}}
				in := c.in
				in.id, in.doc = "x", doc
				began := time.Now()
				got, unread := a.patterns(t.Context(), in, append(names, "gone"), map[string][]string{"known": {"y"}})
				if len(got) != c.read+1 || len(unread) != folders-c.read ||
					!strings.Contains(unread[names[folders-1]], c.why) {
					t.Errorf("%d were read, %d not: %q", len(got), len(unread), unread[names[folders-1]])
				}
				if took := time.Since(began); took > patternsTime {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}
