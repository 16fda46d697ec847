package client

import (
	"cmp"
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

	Mask bool // give no API keys, and leave no note in the audit that they were read; for Devices and TagDevices alone

	Device string // ID of the device that an entry concerns; for Stops and FailedItems alone
	Path   string // path of a file; FileOnDevices alone uses it

	Page int // fetch so many at a time, 1 to 100,000; 0: all at once

	cursor *cursor // set by Each: read one page, and say where the next one begins
}

func (l List) query() string {
	mask := ""
	if l.Mask {
		mask = "true"
	}
	return query(
		url.Values{"q": {l.Search}, "tag": {l.Tag}, "device": {l.Device}, "path": {l.Path}, "connection": l.Connection,
			"configuration": l.Configuration, "state": l.FolderState, "sort": {l.Sort}, "limit": {positive(l.Page)},
			"mask": {mask}},
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

// list gets a list, following the Link of each page to the next; only the page at the cursor of l when it has one.
func list[T any](ctx context.Context, c *Client, at string, l List) ([]T, error) {
	if l.cursor != nil {
		query := cmp.Or(l.cursor.query, l.query())
		page, next, err := onePage[T](ctx, c, at, query)
		l.cursor.query, l.cursor.ended = next, next == "" || err != nil
		return page, err
	}
	all := []T{}
	for query, first := l.query(), true; first || query != ""; first = false {
		page, next, err := onePage[T](ctx, c, at, query)
		if err != nil {
			return nil, err
		}
		all, query = append(all, page...), next
	}
	return all, nil
}

// onePage gets a page of a list and the query of the next page, "" after the last one. Only the query of a Link
// counts: the token goes to no other path or server.
func onePage[T any](ctx context.Context, c *Client, at, query string) (page []T, next string, err error) {
	got, err := c.call(ctx, http.MethodGet, at+query, nil, &page)
	if err != nil {
		return nil, "", err
	}
	link := nextLink.FindStringSubmatch(got.header.Get("Link"))
	if link == nil || len(page) == 0 {
		return page, "", nil
	}
	address, err := url.Parse(link[1])
	if err != nil {
		return nil, "", err
	}
	if next = "?" + address.RawQuery; next == query {
		next = "" // a server that names the same page again would be asked for ever
	}
	return page, next, nil
}
