package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"muster/api"
)

// pagesOf serves the tags 0 to count-1, as many at a time as the query says, and keeps the queries.
func pagesOf(t *testing.T, count int, queries *[]string) *Client {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		*queries = append(*queries, r.URL.RawQuery)
		var from, limit int
		_, _ = fmt.Sscan(r.URL.Query().Get("limit"), &limit)
		_, _ = fmt.Sscan(r.URL.Query().Get("after"), &from)
		if from+limit < count {
			w.Header().
				Set("Link", fmt.Sprintf(`<http://elsewhere/api/v1/other?limit=%d&after=%d>; rel="next"`, limit, from+limit))
		}
		text := "["
		for i := from; i < min(from+limit, count); i++ {
			if i > from {
				text += ","
			}
			text += fmt.Sprintf(`"%d"`, i)
		}
		_, _ = fmt.Fprint(w, text+"]")
	})
}

func TestEachReadsPagesAsTheyAreNeeded(t *testing.T) {
	var queries, got []string
	c := pagesOf(t, 5, &queries)
	for tag, err := range Each(t.Context(), c.Tags, List{Page: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, tag)
	}
	if !slices.Equal(got, []string{"0", "1", "2", "3", "4"}) {
		t.Errorf("got %v", got)
	}
	if want := []string{"limit=2", "limit=2&after=2", "limit=2&after=4"}; !slices.Equal(queries, want) {
		t.Errorf("asked %v", queries)
	}
	queries = nil
	for range Each(t.Context(), c.Tags, List{Page: 2}) {
		break
	}
	if len(queries) != 1 {
		t.Errorf("a loop that was left asked %v", queries)
	}
}

func TestEachLoopMayBeRunTwice(t *testing.T) {
	var queries []string
	all := Each(t.Context(), pagesOf(t, 3, &queries).Tags, List{Page: 2})
	for range 2 {
		count := 0
		for range all {
			count++
		}
		if count != 3 {
			t.Errorf("the loop gave %d entries", count)
		}
	}
}

func TestEachEndsWithAnError(t *testing.T) {
	wrong, count := errors.New("wrong"), 0
	read := func(context.Context, List) ([]api.Device, error) { return nil, wrong }
	for _, err := range Each(t.Context(), read, List{}) {
		if count++; !errors.Is(err, wrong) || count > 1 {
			t.Fatalf("%d: got %v", count, err)
		}
	}
	if count != 1 {
		t.Errorf("the loop ran %d times", count)
	}
}

func TestEachEndsWhereReadHasNoPages(t *testing.T) {
	count := 0
	read := func(context.Context, List) ([]string, error) { return []string{"a", "b"}, nil }
	for range Each(t.Context(), read, List{}) {
		if count++; count > 2 {
			t.Fatal("the same entries came again")
		}
	}
	if count != 2 {
		t.Errorf("got %d entries", count)
	}
}
