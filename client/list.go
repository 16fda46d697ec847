package client

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
)

// List is what to ask of a list. The zero value is all of it in one answer.
type List struct {
	Search string // only what holds this text
	Tag    string // only what carries this tag; not for tags, folders, rollouts and revisions

	Connection    []string // only in one of these states; for States alone
	Configuration []string // likewise

	Device string // only what concerns the device with this ID; for Stops alone

	Page int // fetch so many at a time, 1 to 100,000; 0: all at once
}

func (l List) query() string {
	values := url.Values{}
	if l.Search != "" {
		values.Set("q", l.Search)
	}
	if l.Tag != "" {
		values.Set("tag", l.Tag)
	}
	if l.Device != "" {
		values.Set("device", l.Device)
	}
	for name, states := range map[string][]string{"connection": l.Connection, "configuration": l.Configuration} {
		for _, state := range states {
			values.Add(name, state)
		}
	}
	if l.Page > 0 {
		values.Set("limit", strconv.Itoa(l.Page))
	}
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}

var nextLink = regexp.MustCompile(`<([^>]*)>;\s*rel="?next"?`)

// list gets a list, following the Link of each page to the next. Only the query of a Link counts: the token goes to no
// other path or server.
func list[T any](ctx context.Context, c *Client, at string, l List) ([]T, error) {
	all := []T{}
	for query := l.query(); ; {
		var page []T
		got, err := c.call(ctx, http.MethodGet, at+query, nil, &page)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		link := nextLink.FindStringSubmatch(got.header.Get("Link"))
		if link == nil {
			return all, nil
		}
		next, err := url.Parse(link[1])
		if err != nil || "?"+next.RawQuery == query || len(page) == 0 {
			return all, err
		}
		query = "?" + next.RawQuery
	}
}
