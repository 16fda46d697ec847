package client

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// List says which part of a list to get. The zero value is all of it in one answer.
type List struct {
	Search string // text that an entry holds
	Tag    string // tag that an entry carries; not for tags, folders, rollouts and revisions

	Connection    []string // states, one of which a device is in; for States alone
	Configuration []string // states, one of which a device is in; for States alone

	Sort string // order, with - the other way round; for FolderDevices alone

	FolderState []string // states, one of which a folder is in; for FolderDevices and FolderOverviews alone

	Device string // ID of the device that an entry concerns; for Stops and FailedItems alone
	Path   string // path of a file; FileOnDevices alone uses it

	Page int // fetch so many at a time, 1 to 100,000; 0: all at once
}

func (l List) query() string {
	return query(
		url.Values{"q": {l.Search}, "tag": {l.Tag}, "device": {l.Device}, "path": {l.Path}, "connection": l.Connection,
			"configuration": l.Configuration, "state": l.FolderState, "sort": {l.Sort}, "limit": {positive(l.Page)}},
	)
}

// query is the query of a path. Parameters without a value are left out.
func query(values url.Values) string {
	maps.DeleteFunc(values, func(_ string, of []string) bool { return strings.Join(of, "") == "" })
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}

// positive is a number as a parameter, "" for 0 and less.
func positive[N int | int64](n N) string {
	if n <= 0 {
		return ""
	}
	return number(int64(n))
}

var nextLink = regexp.MustCompile(`<([^>]*)>;\s*rel="?next"?`)

// list gets a list, following the Link of each page to the next. Only the query of a Link counts: the token goes to no
// other path or server.
func list[T any](ctx context.Context, c *Client, at string, l List) ([]T, error) {
	all := []T{}
	for only := l.query(); ; {
		var page []T
		got, err := c.call(ctx, http.MethodGet, at+only, nil, &page)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		link := nextLink.FindStringSubmatch(got.header.Get("Link"))
		if link == nil {
			return all, nil
		}
		next, err := url.Parse(link[1])
		if err != nil || "?"+next.RawQuery == only || len(page) == 0 {
			return all, err
		}
		only = "?" + next.RawQuery
	}
}
