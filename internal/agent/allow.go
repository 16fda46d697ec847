package agent

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rule is one kind of request that the manager may make of the daemon.
type rule struct {
	method string
	path   string   // "*" is one segment: the ID of a device or folder
	query  []string // the parameters that it may have, each once
	body   int64    // bytes of the request; 0: it has none
	answer int64    // bytes of the answer

	configuration bool // the answer holds all of it, or parts: with its secrets
}

const (
	small    = 1 << 20
	document = 16 << 20
	// A daemon keeps a thousand events, and each of a change of its configuration holds all of it. The manager reads past
	// those.
	events = 528 << 20
)

// rules are all requests that the agent lets through. A request that is not among them never reaches the daemon.
var rules = []rule{
	{method: http.MethodGet, path: "noauth/health", answer: small},
	{method: http.MethodGet, path: "system/status", answer: small},
	{method: http.MethodGet, path: "system/version", answer: small},
	{method: http.MethodGet, path: "system/paths", answer: small},
	{method: http.MethodGet, path: "system/upgrade", answer: small},
	{method: http.MethodGet, path: "system/discovery", answer: small},
	{method: http.MethodGet, path: "system/connections", answer: small},
	{method: http.MethodGet, path: "system/config", answer: document, configuration: true},
	{method: http.MethodGet, path: "config", answer: document, configuration: true},
	{method: http.MethodGet, path: "config/restart-required", answer: small},
	{method: http.MethodGet, path: "db/status", query: []string{"folder"}, answer: small},
	{method: http.MethodGet, path: "db/ignores", query: []string{"folder"}, answer: small},
	{method: http.MethodGet, path: "events", query: []string{"events", "since", "limit", waitParameter}, answer: events,
		configuration: true},
	{method: http.MethodGet, path: "cluster/pending/devices", answer: small},
	{method: http.MethodGet, path: "cluster/pending/folders", answer: small},

	{method: http.MethodPut, path: "config", body: document, answer: small},
	{method: http.MethodPut, path: "config/options", body: document, answer: small},
	{method: http.MethodPatch, path: "config/options", body: document, answer: small},
	{method: http.MethodPut, path: "config/ldap", body: document, answer: small},
	{method: http.MethodPatch, path: "config/ldap", body: document, answer: small},
	{method: http.MethodPut, path: "config/gui", body: document, answer: small},
	{method: http.MethodPatch, path: "config/gui", body: document, answer: small},
	{method: http.MethodPut, path: "config/devices", body: document, answer: small},
	{method: http.MethodPut, path: "config/devices/*", body: document, answer: small},
	{method: http.MethodPatch, path: "config/devices/*", body: document, answer: small},
	{method: http.MethodDelete, path: "config/devices/*", answer: small},
	{method: http.MethodPut, path: "config/folders", body: document, answer: small},
	{method: http.MethodPut, path: "config/folders/*", body: document, answer: small},
	{method: http.MethodPatch, path: "config/folders/*", body: document, answer: small},
	{method: http.MethodDelete, path: "config/folders/*", answer: small},
	{method: http.MethodPut, path: "config/defaults/device", body: document, answer: small},
	{method: http.MethodPatch, path: "config/defaults/device", body: document, answer: small},
	{method: http.MethodPut, path: "config/defaults/folder", body: document, answer: small},
	{method: http.MethodPatch, path: "config/defaults/folder", body: document, answer: small},
	{method: http.MethodPut, path: "config/defaults/ignores", body: document, answer: small},
	{method: http.MethodPost, path: "db/ignores", query: []string{"folder"}, body: small, answer: small},
	{method: http.MethodDelete, path: "cluster/pending/devices", query: []string{"device"}, answer: small},
	{method: http.MethodDelete, path: "cluster/pending/folders", query: []string{"folder", "device"}, answer: small},
	{method: http.MethodPost, path: "system/restart", answer: small},
	{method: http.MethodPost, path: "system/pause", answer: small},
	{method: http.MethodPost, path: "system/resume", answer: small},
	{method: http.MethodPost, path: "system/upgrade", answer: small},
	{method: http.MethodPost, path: "db/scan", query: []string{"folder"}, answer: small},
}

const (
	restPrefix    = "/rest/"
	waitParameter = "timeout" // of a poll, in whole seconds
	maxWait       = 10 * time.Minute
	maxTarget     = 8 << 10 // bytes of path and query
)

// changes tells whether requests of this kind change something on the daemon.
func (r *rule) changes() bool { return r.method != http.MethodGet }

// passage is a request that is let through.
type passage struct {
	rule  *rule
	path  string        // made anew from its parts, with its query
	asked string        // the path without the query, for logs
	wait  time.Duration // for which the daemon may hold back the answer
}

// admit finds the rule of a request. The path that goes to the daemon is made anew from the parts that were
// understood, so that agent and daemon cannot read one text in two ways.
func admit(method, target string) (passage, error) {
	if len(target) > maxTarget {
		return passage{}, fmt.Errorf("the path has more than %d bytes", maxTarget)
	}
	path, query, _ := strings.Cut(target, "?")
	segments, err := segmentsOf(path)
	if err != nil {
		return passage{}, err
	}
	for i := range rules {
		if rules[i].method != method || !rules[i].matches(segments) {
			continue
		}
		values, wait, err := rules[i].parameters(query)
		if err != nil {
			return passage{}, err
		}
		p := passage{rule: &rules[i], asked: restPrefix + joined(segments), wait: wait}
		p.path = p.asked
		if len(values) > 0 {
			p.path += "?" + values.Encode()
		}
		return p, nil
	}
	return passage{}, fmt.Errorf("%s of this path is not on the agent's list", shortened(method))
}

// Allowed says why a request of the manager would not be let through; nil: it would.
func Allowed(method, target string) error {
	_, err := admit(method, target)
	return err
}

// segmentsOf are the unescaped parts of a path below /rest/.
func segmentsOf(path string) ([]string, error) {
	below, ok := strings.CutPrefix(path, restPrefix)
	if !ok {
		return nil, fmt.Errorf("only paths below %s are let through", restPrefix)
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

func (r *rule) matches(segments []string) bool {
	return slices.EqualFunc(strings.Split(r.path, "/"), segments, func(part, segment string) bool {
		return part == "*" || part == segment
	})
}

// parameters reads a query that has only what the rule allows.
func (r *rule) parameters(query string) (url.Values, time.Duration, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, 0, fmt.Errorf("the query is not escaped as URLs are")
	}
	for name, given := range values {
		if !slices.Contains(r.query, name) || len(given) != 1 {
			return nil, 0, fmt.Errorf("the query has more than the agent's list allows")
		}
	}
	if !values.Has(waitParameter) {
		if slices.Contains(r.query, waitParameter) { // a daemon waits for a minute then
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

// shortened is what a log and an error text may hold of what the manager sent.
func shortened(text string) string {
	const most = 200
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
