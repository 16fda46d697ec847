package httpapi

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"muster/internal/fleet"
)

const (
	maxListLimit   = 100_000
	maxCachedLists = 256
	maxCachedBytes = 64 << 20
)

var (
	searchParam = queryParam("q", "Only what holds this text, whatever its letter case",
		&huma.Schema{Type: huma.TypeString})
	tagParam   = queryParam("tag", "Only what carries this tag", &huma.Schema{Type: huma.TypeString})
	limitParam = queryParam("limit", "At most so many; the Link header leads to the next ones", &huma.Schema{
		Type: huma.TypeInteger, Minimum: new(1.0), Maximum: new(float64(maxListLimit)),
	})
	afterParam = queryParam("after", "Only what comes after; take it from the Link header",
		&huma.Schema{Type: huma.TypeString})
)

func queryParam(name, description string, schema *huma.Schema) *huma.Param {
	return &huma.Param{Name: name, In: "query", Description: description, Schema: schema}
}

// listQuery is what a client asks of a list. The zero value is all of it.
type listQuery struct {
	search string // lower case
	tag    fleet.Tag
	limit  int // 0: none
	after  string
}

// listQuery reads the query parameters that lists know and ignores all others.
func (r *request) listQuery() (listQuery, error) {
	var q listQuery
	if r.URL.RawQuery == "" {
		return q, nil
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return q, fleet.Invalidf("query", "the query is not percent-encoded properly: %s", err)
	}
	if !utf8.ValidString(values.Get("q")) {
		return q, fleet.Invalidf("query.q", "q is UTF-8 text")
	}
	q.search, q.after = strings.ToLower(values.Get("q")), values.Get("after")
	if values.Has("tag") {
		if q.tag, err = fleet.ParseTag(values.Get("tag")); err != nil {
			return q, at("query.tag", err)
		}
	}
	if values.Has("limit") {
		q.limit, err = strconv.Atoi(values.Get("limit"))
		if err != nil || q.limit < 1 || q.limit > maxListLimit {
			return q, fleet.Invalidf("query.limit", "limit is a whole number from 1 to %d", maxListLimit)
		}
	}
	return q, nil
}

// holds tells whether one of the texts holds what is searched for.
func (q listQuery) holds(texts ...string) bool {
	return q.search == "" || slices.ContainsFunc(texts, func(text string) bool {
		return strings.Contains(strings.ToLower(text), q.search)
	})
}

func (q listQuery) carries(tags []fleet.Tag) bool { return q.tag == "" || slices.Contains(tags, q.tag) }

// listing is how the members of a list are picked, paged and shown. They come in the list's order.
type listing[T, Wire any] struct {
	matches func(T) bool
	cursor  func(T) string                              // names a member's place, also when it is gone
	beyond  func(cursor string, member T) (bool, error) // whether the member comes after that place
	wire    func(T) Wire
}

// showList encodes the part of a list that a client asked for.
func showList[T, Wire any](r *request, q listQuery, members []T, as listing[T, Wire]) (reply, error) {
	page := []Wire{}
	var last T
	for _, member := range members {
		if !as.matches(member) {
			continue
		}
		if q.after != "" {
			beyond, err := as.beyond(q.after, member)
			if err != nil {
				return reply{}, fleet.Invalidf("query.after",
					"after is no place in this list: take it from the Link header of the page before")
			}
			if !beyond {
				continue
			}
		}
		if q.limit > 0 && len(page) == q.limit {
			out, err := showPage(page)
			out.link = r.next(as.cursor(last))
			return out, err
		}
		page = append(page, as.wire(member))
		last = member
	}
	return showPage(page)
}

// encoded is a member of a list that was encoded before.
type encoded []byte

// showPage is show; members that are encoded already are only joined.
func showPage[Wire any](page []Wire) (reply, error) {
	members, done := any(page).([]encoded)
	if !done {
		return show(page)
	}
	size := len("[]\n")
	for _, member := range members {
		size += len(member) + 1
	}
	body := append(make([]byte, 0, size), '[')
	for i, member := range members {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, member...)
	}
	return reply{body: append(body, "]\n"...)}, nil
}

// next is the Link to the members after a place.
func (r *request) next(after string) string {
	values := r.URL.Query()
	values.Set("after", after)
	return "<" + r.URL.EscapedPath() + "?" + values.Encode() + `>; rel="next"`
}

// listCache keeps encoded lists made from one source that never changes, like a registry: they are encoded once, not
// per request.
type listCache[Source comparable] struct {
	mu      sync.Mutex
	source  Source           // guarded by mu
	replies map[string]reply // guarded by mu
	size    int              // guarded by mu; bytes of the bodies
}

// cached gives the reply for the request from this source, made by build the first time. key tells apart what two
// people who ask the same see. A caller with a scope sees a part, which is made for each request.
func (c *listCache[Source]) cached(source Source, r *request, key string, build func() (reply, error)) (reply, error) {
	if !r.who.Scope.Whole() {
		return build()
	}
	key += " " + r.URL.EscapedPath() + "?" + r.URL.RawQuery
	c.mu.Lock()
	if c.source != source || c.replies == nil {
		c.source, c.replies, c.size = source, map[string]reply{}, 0
	}
	out, ok := c.replies[key]
	c.mu.Unlock()
	if ok {
		return out, nil
	}
	out, err := build()
	if err != nil {
		return reply{}, err
	}
	out.etag = etagOf(out.body)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.source == source && len(c.replies) < maxCachedLists && c.size+len(out.body) <= maxCachedBytes {
		c.replies[key] = out
		c.size += len(out.body)
	}
	return out, nil
}
