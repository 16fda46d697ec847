package tunnel

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ListVersion is the version of this program's list of requests that an agent allows. An agent reports its version in
// Hello, so the manager does not send requests that an older agent would refuse.
const ListVersion = 2

// addedIn says what each version added to the list.
var addedIn = map[int]string{
	2: "which files fail or are missing and who has them, versions, conflicts, the daemon's log and the disks",
}

// TooOldFor names what an agent with this version of the list does not allow; "" when it is as new as the server.
func TooOldFor(version int) string {
	var missing []string
	for v := max(version, 1) + 1; v <= ListVersion; v++ {
		missing = append(missing, addedIn[v])
	}
	return strings.Join(missing, "; ")
}

// Switches of an agent (`muster agent --allow`). Without its switch, the agent refuses a kind of write.
const (
	SwitchOverride = "override" // POST db/override: this device's files replace those of all other devices
	SwitchRevert   = "revert"   // POST db/revert: the local changes in a receive-only folder are lost
	SwitchVersions = "versions" // POST folder/versions: an older version of a file replaces it
)

// Switches lists all switches.
var Switches = []string{SwitchOverride, SwitchRevert, SwitchVersions}

// Rule is one kind of request that the manager may send to the daemon.
type Rule struct {
	Method string
	Path   string   // "*" matches one segment: the ID of a device or folder
	Query  []string // allowed parameters, each at most once
	Body   int64    // most bytes of the request's body; 0: no body
	Answer int64    // most bytes of the answer

	Configuration bool // the answer contains the configuration or a part of it, with its secrets
	// the query must request a page of at most mostPerPage items, because the whole list takes the daemon seconds
	Paged  bool
	Since  int    // version of the list that added the rule; 0: the first
	Switch string // the agent refuses the request unless this switch is on; "": no switch is needed
}

const (
	small    = 1 << 20
	page     = 8 << 20
	document = 16 << 20
	// A daemon stores a thousand events, and each event about a change of its configuration contains the whole
	// configuration. The manager skips those parts while it reads.
	events = 528 << 20

	mostPerPage = 1000
)

// rules are all requests that the agent allows. No other request reaches the daemon.
var rules = []Rule{
	{Method: http.MethodGet, Path: "rest/noauth/health", Answer: small},
	{Method: http.MethodGet, Path: "rest/system/status", Answer: small},
	{Method: http.MethodGet, Path: "rest/system/version", Answer: small},
	{Method: http.MethodGet, Path: "rest/system/paths", Answer: small},
	{Method: http.MethodGet, Path: "rest/system/upgrade", Answer: small},
	{Method: http.MethodGet, Path: "rest/system/discovery", Answer: small},
	{Method: http.MethodGet, Path: "rest/system/connections", Answer: small},
	{Method: http.MethodGet, Path: "rest/system/config", Answer: document, Configuration: true},
	{Method: http.MethodGet, Path: "rest/config", Answer: document, Configuration: true},
	{Method: http.MethodGet, Path: "rest/config/restart-required", Answer: small},
	{Method: http.MethodGet, Path: "rest/db/status", Query: []string{"folder"}, Answer: small},
	{Method: http.MethodGet, Path: "rest/db/ignores", Query: []string{"folder"}, Answer: small},
	{
		Method:        http.MethodGet,
		Path:          "rest/events",
		Query:         []string{"events", "since", "limit", waitParameter},
		Answer:        events,
		Configuration: true,
	},
	{Method: http.MethodGet, Path: "rest/cluster/pending/devices", Answer: small},
	{Method: http.MethodGet, Path: "rest/cluster/pending/folders", Answer: small},

	{Method: http.MethodGet, Path: "metrics", Answer: document, Since: 2},
	{Method: http.MethodGet, Path: "rest/db/completion", Query: []string{"folder", "device"}, Answer: small, Since: 2},
	{Method: http.MethodGet, Path: "rest/db/file", Query: []string{"folder", "file"}, Answer: small, Since: 2},
	{Method: http.MethodGet, Path: "rest/db/need", Query: []string{"folder", "page", perPageParameter}, Answer: page,
		Paged: true, Since: 2},
	{Method: http.MethodGet, Path: "rest/db/remoteneed", Query: []string{"folder", "device", "page", perPageParameter},
		Answer: page, Paged: true, Since: 2},
	{Method: http.MethodGet, Path: "rest/db/localchanged", Query: []string{"folder", "page", perPageParameter},
		Answer: page, Paged: true, Since: 2},
	{Method: http.MethodGet, Path: "rest/folder/errors", Query: []string{"folder", "page", perPageParameter},
		Answer: page, Paged: true, Since: 2},
	{Method: http.MethodGet, Path: "rest/folder/versions", Query: []string{"folder"}, Answer: document, Since: 2},
	{Method: http.MethodGet, Path: "rest/events/disk", Query: []string{"since", "limit", waitParameter}, Answer: page,
		Since: 2},
	{Method: http.MethodGet, Path: "rest/stats/device", Answer: small, Since: 2},
	{Method: http.MethodGet, Path: "rest/stats/folder", Answer: small, Since: 2},
	{Method: http.MethodGet, Path: "rest/system/error", Answer: small, Since: 2},
	{Method: http.MethodGet, Path: "rest/system/log", Query: []string{"since"}, Answer: page, Since: 2},

	{Method: http.MethodPut, Path: "rest/config", Body: document, Answer: small},
	{Method: http.MethodPut, Path: "rest/config/options", Body: document, Answer: small},
	{Method: http.MethodPatch, Path: "rest/config/options", Body: document, Answer: small},
	{Method: http.MethodPut, Path: "rest/config/ldap", Body: document, Answer: small},
	{Method: http.MethodPatch, Path: "rest/config/ldap", Body: document, Answer: small},
	{Method: http.MethodPut, Path: "rest/config/gui", Body: document, Answer: small},
	{Method: http.MethodPatch, Path: "rest/config/gui", Body: document, Answer: small},
	{Method: http.MethodPut, Path: "rest/config/devices", Body: document, Answer: small},
	{Method: http.MethodPut, Path: "rest/config/devices/*", Body: document, Answer: small},
	{Method: http.MethodPatch, Path: "rest/config/devices/*", Body: document, Answer: small},
	{Method: http.MethodDelete, Path: "rest/config/devices/*", Answer: small},
	{Method: http.MethodPut, Path: "rest/config/folders", Body: document, Answer: small},
	{Method: http.MethodPut, Path: "rest/config/folders/*", Body: document, Answer: small},
	{Method: http.MethodPatch, Path: "rest/config/folders/*", Body: document, Answer: small},
	{Method: http.MethodDelete, Path: "rest/config/folders/*", Answer: small},
	{Method: http.MethodPut, Path: "rest/config/defaults/device", Body: document, Answer: small},
	{Method: http.MethodPatch, Path: "rest/config/defaults/device", Body: document, Answer: small},
	{Method: http.MethodPut, Path: "rest/config/defaults/folder", Body: document, Answer: small},
	{Method: http.MethodPatch, Path: "rest/config/defaults/folder", Body: document, Answer: small},
	{Method: http.MethodPut, Path: "rest/config/defaults/ignores", Body: document, Answer: small},
	{Method: http.MethodPost, Path: "rest/db/ignores", Query: []string{"folder"}, Body: small, Answer: small},
	{Method: http.MethodDelete, Path: "rest/cluster/pending/devices", Query: []string{"device"}, Answer: small},
	{Method: http.MethodDelete, Path: "rest/cluster/pending/folders", Query: []string{"folder", "device"}, Answer: small},
	{Method: http.MethodPost, Path: "rest/system/restart", Answer: small},
	{Method: http.MethodPost, Path: "rest/system/pause", Answer: small},
	{Method: http.MethodPost, Path: "rest/system/resume", Answer: small},
	{Method: http.MethodPost, Path: "rest/system/upgrade", Answer: small},
	{Method: http.MethodPost, Path: "rest/db/scan", Query: []string{"folder"}, Answer: small},

	{Method: http.MethodPost, Path: "rest/db/override", Query: []string{"folder"}, Answer: small, Since: 2,
		Switch: SwitchOverride},
	{Method: http.MethodPost, Path: "rest/db/revert", Query: []string{"folder"}, Answer: small, Since: 2,
		Switch: SwitchRevert},
	{Method: http.MethodPost, Path: "rest/folder/versions", Query: []string{"folder"}, Body: small, Answer: small,
		Since: 2, Switch: SwitchVersions},
}

const (
	waitParameter    = "timeout" // how long a poll may wait, in whole seconds
	perPageParameter = "perpage"
	maxWait          = 10 * time.Minute
	maxTarget        = 8 << 10 // bytes of path and query
)

// List returns a copy of the rules.
func List() []Rule { return slices.Clone(rules) }

// Changes reports whether requests of this kind change something on the daemon.
func (r *Rule) Changes() bool { return r.Method != http.MethodGet }

// Passage is a request that a rule allows.
type Passage struct {
	Rule  *Rule
	Path  string        // path and query, rebuilt from their parsed parts
	Asked string        // the path without the query, for logs
	Wait  time.Duration // how long the daemon may wait before it answers
}

// Admit finds the rule that allows a request. It rebuilds path and query from their parsed parts, so that agent and
// daemon cannot interpret one text in two ways.
func Admit(method, target string) (Passage, error) {
	if len(target) > maxTarget {
		return Passage{}, fmt.Errorf("the path has more than %d bytes", maxTarget)
	}
	path, query, _ := strings.Cut(target, "?")
	segments, err := segmentsOf(path)
	if err != nil {
		return Passage{}, err
	}
	for i := range rules {
		if rules[i].Method != method || !rules[i].matches(segments) {
			continue
		}
		values, wait, err := rules[i].parameters(query)
		if err != nil {
			return Passage{}, err
		}
		p := Passage{Rule: &rules[i], Asked: "/" + joined(segments), Wait: wait}
		p.Path = p.Asked
		if len(values) > 0 {
			p.Path += "?" + values.Encode()
		}
		return p, nil
	}
	return Passage{}, errors.New("this method and path are not on the agent's list")
}

// segmentsOf splits a path into its unescaped segments.
func segmentsOf(path string) ([]string, error) {
	below, ok := strings.CutPrefix(path, "/")
	if !ok {
		return nil, fmt.Errorf("the path does not begin with a slash")
	}
	segments := strings.Split(below, "/")
	for i, escaped := range segments {
		segment, err := url.PathUnescape(escaped)
		switch {
		case err != nil:
			return nil, fmt.Errorf("the path is not escaped as URLs are")
		case segment == "", segment == ".", segment == "..":
			return nil, fmt.Errorf("the path has an empty part, or one of dots")
		case strings.Contains(segment, "/"):
			return nil, fmt.Errorf("the path has an escaped slash")
		}
		segments[i] = segment
	}
	return segments, nil
}

func (r *Rule) matches(segments []string) bool {
	return slices.EqualFunc(strings.Split(r.Path, "/"), segments, func(part, segment string) bool {
		return part == "*" || part == segment
	})
}

// parameters parses a query. It returns an error for a parameter that the rule does not allow.
func (r *Rule) parameters(query string) (url.Values, time.Duration, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, 0, fmt.Errorf("the query is not escaped as URLs are")
	}
	for name, given := range values {
		if !slices.Contains(r.Query, name) || len(given) != 1 {
			return nil, 0, fmt.Errorf("the query has more than the agent's list allows")
		}
	}
	if perPage, err := strconv.Atoi(values.Get(perPageParameter)); r.Paged && (err != nil || perPage < 1 ||
		perPage > mostPerPage) {
		return nil, 0, fmt.Errorf("the query asks for no page of at most %d", mostPerPage)
	}
	if !values.Has(waitParameter) {
		if slices.Contains(r.Query, waitParameter) { // Without the parameter a daemon waits for a minute.
			return values, time.Minute, nil
		}
		return values, 0, nil
	}
	seconds, err := strconv.Atoi(values.Get(waitParameter))
	if err != nil || seconds < 0 || time.Duration(seconds) > maxWait/time.Second {
		return nil, 0, fmt.Errorf("the poll would wait longer than %v", maxWait)
	}
	return values, time.Duration(seconds) * time.Second, nil
}

func joined(segments []string) string {
	escaped := make([]string, len(segments))
	for i, segment := range segments {
		escaped[i] = url.PathEscape(segment)
	}
	return strings.Join(escaped, "/")
}
