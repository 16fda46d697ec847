package httpapi

import (
	"cmp"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"muster/api"
	"muster/internal/auth"
	"muster/internal/fleet"
	"muster/internal/health"
)

func (s *server) inventoryRoutes() []route {
	sorts := make([]string, 0, 2*len(inventorySorts))
	for _, by := range inventorySorts {
		sorts = append(sorts, by.name, "-"+by.name)
	}
	return []route{{
		method: http.MethodGet, path: Prefix + "/inventory", name: "getInventory", permission: auth.Read,
		summary: "Every device with what a table of the fleet shows, and how many have each value of each filter",
		query: append(inventoryFilters(),
			queryParam("sort", "The order; with - the other way round. What is not known comes last",
				&huma.Schema{Type: huma.TypeString, Enum: anyOf(sorts)}),
			limitParam,
			queryParam("offset", "Leave out so many; the Link header leads to the next page",
				&huma.Schema{Type: huma.TypeInteger, Minimum: new(0.0)})),
		reply: reflect.TypeFor[api.Inventory](), off: s.Inventory == nil, handle: s.getInventory,
	}}
}

// inventoryFilters are the parameters that pick devices.
func inventoryFilters() []*huma.Param {
	states := make([]string, 0, 2*len(configurations))
	for _, c := range fleet.Connections() {
		states = append(states, string(c))
	}
	for _, c := range configurations {
		states = append(states, string(c))
	}
	return []*huma.Param{
		queryParam("q", "Only devices with this text in label, ID or address, whatever its letter case", textSchema()),
		queryParam("tag", "Only devices with this tag; may be given several times: with all of them", listSchema(nil)),
		queryParam("state", "Only devices with this connection or configuration; may be given several times: "+
			"with one of the connections, and with one of the configurations", listSchema(states)),
		queryParam("version", "Only devices with this version; may be given several times: with one of them",
			listSchema(nil)),
		queryParam("os", "Only devices with this system; may be given several times: with one of them", listSchema(nil)),
		queryParam("waiting", "Only devices that wait for a person for this cause, for any, or for none; may be given "+
			"several times: for one of them", listSchema(waitingValues())),
	}
}

func textSchema() *huma.Schema { return &huma.Schema{Type: huma.TypeString} }

// listSchema is of a parameter that may be given several times; without values any text will do.
func listSchema(values []string) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString, Enum: anyOf(values)}}
}

func anyOf(values []string) []any {
	var all []any
	for _, value := range values {
		all = append(all, value)
	}
	return all
}

const (
	waitsAny  = "any"
	waitsNone = "none"
)

func waitingValues() []string {
	values := []string{waitsAny, waitsNone}
	for _, cause := range health.Causes {
		values = append(values, string(cause))
	}
	return values
}

// getInventory costs little when no row changed since the last request: what was encoded then is sent.
func (s *server) getInventory(r *request) (reply, error) {
	q, err := r.inventoryQuery()
	if err != nil {
		return reply{}, err
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	answer, err := s.Inventory.answer(r.Context(), registry, q)
	if err != nil {
		return reply{}, err
	}
	out := reply{document: answer.document, length: answer.length, etag: answer.etag}
	if answer.next > 0 {
		values := r.URL.Query()
		values.Set("offset", strconv.Itoa(answer.next))
		out.link = "<" + r.URL.EscapedPath() + "?" + values.Encode() + `>; rel="next"`
	}
	return out, nil
}

// inventoryQuery is which rows a client asks for, and in which order.
type inventoryQuery struct {
	text           string // as it was asked
	search         string // lower case
	tags           []fleet.Tag
	connections    []string
	configurations []string
	versions       []string
	systems        []string
	waiting        []string
	sort           *inventorySort // nil: by label
	descending     bool
	limit, offset  int // limit 0: none
}

func (r *request) inventoryQuery() (q inventoryQuery, err error) {
	base, err := r.listQuery()
	if err != nil {
		return q, err
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return q, fleet.Invalidf("query", "the query is not percent-encoded properly: %s", err)
	}
	q = inventoryQuery{text: r.URL.RawQuery, search: base.search, limit: base.limit,
		versions: values["version"], systems: values["os"], waiting: values["waiting"]}
	if q.tags, err = each(values["tag"], "query.tag", fleet.ParseTag); err != nil {
		return q, err
	}
	for _, text := range slices.Concat(q.versions, q.systems) {
		if !utf8.ValidString(text) {
			return q, fleet.Invalidf("query", "version and os are UTF-8 text")
		}
	}
	if _, err := statesNamed("waiting", q.waiting, waitingValues()); err != nil {
		return q, err
	}
	if err := q.setStates(values["state"]); err != nil {
		return q, err
	}
	if err := q.setOrder(values.Get("sort")); err != nil {
		return q, err
	}
	if values.Has("offset") {
		if q.offset, err = strconv.Atoi(values.Get("offset")); err != nil || q.offset < 0 {
			return q, fleet.Invalidf("query.offset", "offset is a whole number, 0 or larger")
		}
	}
	return q, nil
}

func (q *inventoryQuery) setStates(states []string) error {
	for _, state := range states {
		switch {
		case slices.Contains(fleet.Connections(), fleet.Connection(state)):
			q.connections = append(q.connections, state)
		case slices.Contains(configurations, fleet.Configuration(state)):
			q.configurations = append(q.configurations, state)
		default:
			return fleet.Invalidf("query.state", "state is a connection (%s) or a configuration (%s)",
				orList(fleet.Connections()), orList(configurations))
		}
	}
	return nil
}

func (q *inventoryQuery) setOrder(text string) error {
	if text == "" {
		return nil
	}
	name, descending := strings.CutPrefix(text, "-")
	at := slices.IndexFunc(inventorySorts, func(by inventorySort) bool { return by.name == name })
	if at < 0 {
		names := make([]string, len(inventorySorts))
		for i, by := range inventorySorts {
			names[i] = by.name
		}
		return fleet.Invalidf("query.sort", "sort is %s, with - before it for the other way round", orList(names))
	}
	q.sort, q.descending = &inventorySorts[at], descending
	return nil
}

// inventorySort is an order of rows. Rows of which the value is not known come last either way.
type inventorySort struct {
	name    string
	compare func(a, b *api.InventoryDevice) int
	unknown func(*api.InventoryDevice) bool // nil: every row has a value
}

var inventorySorts = []inventorySort{
	{"label", func(a, b *api.InventoryDevice) int {
		return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.DeviceID, b.DeviceID))
	}, nil},
	{"connection", func(a, b *api.InventoryDevice) int {
		return cmp.Compare(placeOf(fleet.Connections(), a.Connection), placeOf(fleet.Connections(), b.Connection))
	}, nil},
	{"configuration", func(a, b *api.InventoryDevice) int {
		return cmp.Compare(placeOf(configurations, a.Configuration), placeOf(configurations, b.Configuration))
	}, nil},
	{"since", func(a, b *api.InventoryDevice) int { return a.Since.Compare(b.Since.Time) },
		func(d *api.InventoryDevice) bool { return d.Since == nil }},
	{"lastSeen", func(a, b *api.InventoryDevice) int { return a.LastSeen.Compare(b.LastSeen.Time) },
		func(d *api.InventoryDevice) bool { return d.LastSeen == nil }},
	{"version", func(a, b *api.InventoryDevice) int { return compareVersions(a.Version, b.Version) },
		func(d *api.InventoryDevice) bool { return d.Version == "" }},
	{"os", func(a, b *api.InventoryDevice) int {
		return cmp.Or(cmp.Compare(a.OS, b.OS), cmp.Compare(a.Arch, b.Arch))
	}, func(d *api.InventoryDevice) bool { return d.OS == "" }},
	{"foundBy", func(a, b *api.InventoryDevice) int { return cmp.Compare(a.FoundBy, b.FoundBy) },
		func(d *api.InventoryDevice) bool { return d.FoundBy == "" }},
	{"folders", func(a, b *api.InventoryDevice) int { return cmp.Compare(a.Folders.All, b.Folders.All) }, nil},
	{"outOfSync", func(a, b *api.InventoryDevice) int {
		return cmp.Compare(a.Folders.OutOfSync, b.Folders.OutOfSync)
	}, nil},
	{"inError", func(a, b *api.InventoryDevice) int { return cmp.Compare(a.Folders.InError, b.Folders.InError) }, nil},
	{"needBytes", func(a, b *api.InventoryDevice) int { return cmp.Compare(a.NeedBytes, b.NeedBytes) }, nil},
}

func placeOf[K ~string](known []K, value string) int { return slices.Index(known, K(value)) }

// compareVersions compares runs of digits as numbers: v1.9.0 is before v1.10.0.
func compareVersions(a, b string) int {
	for a != "" && b != "" {
		runA, runB := versionRun(a), versionRun(b)
		numA, errA := strconv.ParseUint(runA, 10, 64)
		numB, errB := strconv.ParseUint(runB, 10, 64)
		order := cmp.Compare(runA, runB)
		if errA == nil && errB == nil {
			order = cmp.Compare(numA, numB)
		}
		if order != 0 {
			return order
		}
		a, b = a[len(runA):], b[len(runB):]
	}
	return cmp.Compare(len(a), len(b))
}

// versionRun is the digits that a text begins with, or what is before its first digit.
func versionRun(text string) string {
	isDigit := func(r rune) bool { return '0' <= r && r <= '9' }
	end := strings.IndexFunc(text, func(r rune) bool { return isDigit(r) != isDigit(rune(text[0])) })
	if end < 0 {
		return text
	}
	return text[:end]
}

// answer picks, counts and orders rows that come in the order of the device list.
func (q inventoryQuery) answer(rows []*inventoryRow) (*inventoryAnswer, error) {
	head := api.Inventory{Total: len(rows), Counts: newInventoryCounts()}
	picked := make([]*inventoryRow, 0, len(rows))
	for _, row := range rows {
		if !q.finds(row) {
			continue
		}
		misses := q.misses(&row.wire)
		if misses == 0 {
			picked = append(picked, row)
		}
		countRow(&head.Counts, &row.wire, misses)
	}
	head.Matched = len(picked)
	q.order(picked)
	page := picked[min(q.offset, len(picked)):]
	next := 0
	if q.limit > 0 && len(page) > q.limit {
		page, next = page[:q.limit], q.offset+q.limit
	}
	made, err := newInventoryAnswer(head, page)
	if err != nil {
		return nil, err
	}
	made.next = next
	return made, nil
}

// finds tells whether the search finds a row.
func (q inventoryQuery) finds(row *inventoryRow) bool {
	return q.search == "" || strings.Contains(row.search, q.search)
}

// picks tells whether the search and all filters pick a row.
func (q inventoryQuery) picks(row *inventoryRow) bool {
	return q.finds(row) && q.misses(&row.wire) == 0
}

func (q inventoryQuery) order(rows []*inventoryRow) {
	if q.sort == nil {
		return
	}
	slices.SortStableFunc(rows, func(a, b *inventoryRow) int {
		if q.sort.unknown != nil {
			switch lacks := q.sort.unknown(&a.wire); {
			case lacks != q.sort.unknown(&b.wire):
				if lacks {
					return 1
				}
				return -1
			case lacks:
				return 0
			}
		}
		order := q.sort.compare(&a.wire, &b.wire)
		if q.descending {
			return -order
		}
		return order
	})
}

// filters is a set of filters.
type filters uint8

const (
	byConnection filters = 1 << iota
	byConfiguration
	byVersion
	byOS
	byTag
	byWaiting
)

// misses are the filters that do not pick a row. The search is none of them.
func (q inventoryQuery) misses(row *api.InventoryDevice) (missed filters) {
	unless := func(picks bool, filter filters) {
		if !picks {
			missed |= filter
		}
	}
	unless(among(q.connections, row.Connection), byConnection)
	unless(among(q.configurations, row.Configuration), byConfiguration)
	unless(among(q.versions, row.Version), byVersion)
	unless(among(q.systems, row.OS), byOS)
	unless(q.picksTags(row.Tags), byTag)
	unless(q.picksWaiting(row.Waits), byWaiting)
	return missed
}

func (q inventoryQuery) picksTags(tags []string) bool {
	return !slices.ContainsFunc(q.tags, func(tag fleet.Tag) bool { return !slices.Contains(tags, string(tag)) })
}

func among(asked []string, value string) bool {
	return len(asked) == 0 || slices.Contains(asked, value)
}

func (q inventoryQuery) picksWaiting(causes []string) bool {
	return len(q.waiting) == 0 || slices.ContainsFunc(q.waiting, func(asked string) bool {
		switch asked {
		case waitsAny:
			return len(causes) > 0
		case waitsNone:
			return len(causes) == 0
		}
		return slices.Contains(causes, asked)
	})
}

func newInventoryCounts() api.InventoryCounts {
	return api.InventoryCounts{
		Connections: map[string]int{}, Configurations: map[string]int{}, Versions: map[string]int{},
		OS: map[string]int{}, Tags: map[string]int{}, Waiting: map[string]int{},
	}
}

// countRow counts a row for every filter that is the only one to miss it, or for all where none does. Several tags are
// one filter each, so tags are counted only of rows that carry all.
func countRow(counts *api.InventoryCounts, row *api.InventoryDevice, missed filters) {
	nothingBut := func(filter filters) bool { return missed&^filter == 0 }
	if nothingBut(byConnection) {
		counts.Connections[row.Connection]++
	}
	if nothingBut(byConfiguration) {
		counts.Configurations[row.Configuration]++
	}
	if nothingBut(byVersion) {
		counts.Versions[row.Version]++
	}
	if nothingBut(byOS) {
		counts.OS[row.OS]++
	}
	if nothingBut(byWaiting) {
		countWaiting(counts.Waiting, row.Waits)
	}
	if missed == 0 {
		for _, tag := range row.Tags {
			counts.Tags[tag]++
		}
	}
}

func countWaiting(counts map[string]int, causes []string) {
	if len(causes) == 0 {
		counts[waitsNone]++
		return
	}
	counts[waitsAny]++
	for _, cause := range causes {
		counts[cause]++
	}
}
