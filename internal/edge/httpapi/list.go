package httpapi

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"muster/internal/engine/view"
	"muster/internal/fleet"
)

const maxListLimit = 100_000

// Answers gives again what was made of the same source; see view.View.
type Answers interface {
	Answer(from view.Source, key string, build func() (answer any, bytes int64, err error)) (any, error)
}

var (
	searchParam = textParam("q", "Only what holds this text, whatever its letter case")
	tagParam    = tagNamed("Only what carries this tag")
	limitParam  = numberParam("limit", "At most so many; the Link header leads to the next ones", 1, maxListLimit)
	afterParam  = textParam("after", "Only what comes after; take it from the Link header")
)

// listQuery is what a client asks of a list. The zero value is all of it.
type listQuery struct {
	search string // lower case
	tag    fleet.Tag
	limit  int // 0: none
	after  string
}

// listQuery reads the query parameters that lists know and ignores all others.
func (r *request) listQuery() (q listQuery, err error) {
	err = cmp.Or(searchParam.read(r, &q.search), tagParam.read(r, &q.tag), limitParam.read(r, &q.limit),
		afterParam.read(r, &q.after))
	q.search = strings.ToLower(q.search)
	return q, err
}

// ofList is the handler of a route that gives a list made from the registry.
func (s *base) ofList(handle func(*request, listQuery, *fleet.Registry) (reply, error)) func(*request) (reply, error) {
	return func(r *request) (reply, error) {
		q, registry, err := s.listAsked(r)
		if err != nil {
			return reply{}, err
		}
		return handle(r, q, registry)
	}
}

// listAsked is what a client asks of a list, and the registry that the list is made from.
func (s *base) listAsked(r *request) (q listQuery, registry *fleet.Registry, err error) {
	if q, err = r.listQuery(); err == nil {
		registry, err = s.Registry.Registry(r.Context())
	}
	return q, registry, err
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
	matches func(T) bool                                // nil: all are picked
	cursor  func(T) string                              // names a member's place, also when it is gone
	beyond  func(cursor string, member T) (bool, error) // whether the member comes after that place
	wire    func(T) Wire
	// complete adds to the members of a page what is read for all of them together; nil: nothing.
	complete func(page []T)
}

// showList encodes the part of a list that a client asked for.
func showList[T, Wire any](r *request, q listQuery, members []T, as listing[T, Wire]) (reply, error) {
	page, more := []T{}, false
	for _, member := range members {
		if as.matches != nil && !as.matches(member) {
			continue
		}
		if q.after != "" {
			beyond, err := as.beyond(q.after, member)
			if err != nil {
				return reply{}, noSuchPlace()
			}
			if !beyond {
				continue
			}
		}
		if more = q.limit > 0 && len(page) == q.limit; more {
			break
		}
		page = append(page, member)
	}
	if as.complete != nil {
		as.complete(page)
	}
	out, err := showPage(mapped(page, as.wire))
	if more {
		out.link = r.next(as.cursor(page[len(page)-1]))
	}
	return out, err
}

// newestFirst is a listing of numbered members, the highest number first.
func newestFirst[T, Wire any](number func(T) int64, wire func(T) Wire) listing[T, Wire] {
	return listing[T, Wire]{
		cursor: func(member T) string { return strconv.FormatInt(number(member), 10) },
		beyond: func(cursor string, member T) (bool, error) {
			last, err := strconv.ParseInt(cursor, 10, 64)
			return number(member) < last, err
		},
		wire: wire,
	}
}

func noSuchPlace() error {
	return requestf("query.after",
		"after is no place in this list: take it from the Link header of the page before")
}

// mapped is a list on the wire: empty, and not null, where there is nothing.
func mapped[T, Wire any](all []T, wire func(T) Wire) []Wire {
	out := make([]Wire, len(all))
	for i, one := range all {
		out[i] = wire(one)
	}
	return out
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

// answered gives what build makes of a source for the request: the same reply as before, as long as the source is the
// same. key tells apart what two people who ask the same see. A caller with a scope sees a part, which is made for each
// request.
func (s *base) answered(r *request, from view.Source, key string, build func() (reply, error)) (reply, error) {
	if !r.who.Scope.Whole() {
		return build()
	}
	key += " " + r.URL.EscapedPath() + "?" + r.URL.RawQuery
	answer, err := s.Answers.Answer(from, key, func() (any, int64, error) {
		out, err := build()
		out.etag = etagOf(out.body)
		return out, int64(len(out.body)), err
	})
	if err != nil {
		return reply{}, err
	}
	return answer.(reply), nil //nolint:forcetypeassert // it was built above
}
