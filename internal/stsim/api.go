package stsim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"muster/internal/core/stconfig"
)

// handler answers one request. id is what stands behind the path of a route that ends in a slash.
type handler func(e *endpoint, w http.ResponseWriter, r *http.Request, id string)

// route is one path and its methods.
type route map[string]handler

// routes are the paths of the API. One that ends in "/" takes one more segment.
var routes = map[string]route{
	"/rest/noauth/health":           {"GET": (*endpoint).health},
	"/rest/noauth/auth/password":    {"POST": (*endpoint).logIn},
	"/rest/system/status":           {"GET": (*endpoint).status},
	"/rest/system/version":          {"GET": (*endpoint).versionInfo},
	"/rest/system/paths":            {"GET": (*endpoint).paths},
	"/rest/system/ping":             {"GET": (*endpoint).ping, "POST": (*endpoint).ping},
	"/rest/system/connections":      {"GET": (*endpoint).connections},
	"/rest/system/discovery":        {"GET": (*endpoint).discovery},
	"/rest/system/restart":          {"POST": (*endpoint).restart},
	"/rest/system/pause":            {"POST": setPaused(true)},
	"/rest/system/resume":           {"POST": setPaused(false)},
	"/rest/system/upgrade":          {"GET": (*endpoint).release, "POST": (*endpoint).upgrade},
	"/rest/system/shutdown":         {"POST": (*endpoint).shutdown},
	"/rest/system/config":           {"GET": (*endpoint).getConfig, "POST": (*endpoint).putConfig},
	"/rest/system/config/insync":    {"GET": (*endpoint).inSync},
	"/rest/config":                  {"GET": (*endpoint).getConfig, "PUT": (*endpoint).putConfig},
	"/rest/config/insync":           {"GET": (*endpoint).inSync},
	"/rest/config/restart-required": {"GET": (*endpoint).restartRequired},
	"/rest/config/options":          section("options"),
	"/rest/config/gui":              section("gui"),
	"/rest/config/ldap":             section("ldap"),
	"/rest/config/defaults/folder":  section("defaults", "folder"),
	"/rest/config/defaults/device":  section("defaults", "device"),
	"/rest/config/defaults/ignores": {"GET": section("defaults", "ignores")["GET"],
		"PUT": section("defaults", "ignores")["PUT"]},
	"/rest/config/folders": {"GET": getMembers(folders), "PUT": putMembers(folders), "POST": putMember(folders)},
	"/rest/config/folders/": {"GET": getMember(folders), "PUT": putMember(folders), "PATCH": patchMember(folders),
		"DELETE": deleteMember(folders)},
	"/rest/config/devices": {"GET": getMembers(devices), "PUT": putMembers(devices), "POST": putMember(devices)},
	"/rest/config/devices/": {"GET": getMember(devices), "PUT": putMember(devices), "PATCH": patchMember(devices),
		"DELETE": deleteMember(devices)},
	"/rest/cluster/pending/devices": {"GET": (*endpoint).getPendingDevices, "DELETE": (*endpoint).deletePendingDevice},
	"/rest/cluster/pending/folders": {"GET": (*endpoint).getPendingFolders, "DELETE": (*endpoint).deletePendingFolder},
	"/rest/db/status":               {"GET": (*endpoint).dbStatus},
	"/rest/db/completion":           {"GET": (*endpoint).dbCompletion},
	"/rest/db/file":                 {"GET": (*endpoint).dbFile},
	"/rest/db/need":                 {"GET": (*endpoint).dbNeed},
	"/rest/db/remoteneed":           {"GET": (*endpoint).dbRemoteNeed},
	"/rest/db/localchanged":         {"GET": (*endpoint).dbLocalChanged},
	"/rest/db/override":             {"POST": changeFolder(override)},
	"/rest/db/revert":               {"POST": changeFolder(revert)},
	"/rest/db/ignores":              {"GET": (*endpoint).getIgnores, "POST": (*endpoint).postIgnores},
	"/rest/db/scan":                 {"POST": (*endpoint).scan},
	"/rest/folder/errors":           {"GET": (*endpoint).folderErrors},
	"/rest/stats/device":            {"GET": (*endpoint).deviceStats},
	"/rest/stats/folder":            {"GET": (*endpoint).folderStats},
	"/rest/system/log":              {"GET": (*endpoint).systemLog},
	"/rest/system/error":            {"GET": (*endpoint).systemErrors},
	"/rest/events":                  {"GET": (*endpoint).getEvents},
	"/rest/events/disk":             {"GET": (*endpoint).getDiskEvents},
}

// serve passes a request through the daemon's layers, outermost first (lib/api, service.Serve).
func (e *endpoint) serve(w http.ResponseWriter, r *http.Request) {
	if isLocal(e.address) && !e.gui.Get("insecureSkipHostcheck").IsTrue() && !isLocal(r.Host) {
		e.refuse(w, "Host check error", http.StatusForbidden)
		return
	}
	header := w.Header()
	if r.Method == http.MethodOptions {
		header.Set("Access-Control-Allow-Origin", "*")
		header.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE, OPTIONS")
		header.Set("Access-Control-Allow-Headers", "Content-Type, X-API-Key")
		header.Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if !e.gui.Get("insecureAllowFrameLoading").IsTrue() {
		header.Set("X-Frame-Options", "SAMEORIGIN")
	}
	header.Set("X-XSS-Protection", "1; mode=block")
	header.Set("X-Content-Type-Options", "nosniff")
	if r.TLS == nil && e.gui.Get("useTLS").IsTrue() {
		to := *r.URL
		to.Scheme, to.Host = "https", r.Host
		http.Redirect(w, r, to.String(), http.StatusTemporaryRedirect)
		return
	}
	keyed := e.hasKey(r)
	if !keyed && e.guarded() && !e.letIn(w, r) {
		return
	}
	header.Set("X-Syncthing-Version", string(e.daemon.Version()))
	header.Set("X-Syncthing-ID", string(e.claimedID(r)))
	if keyed {
		header.Set("Access-Control-Allow-Origin", "*")
	} else if (strings.HasPrefix(r.URL.Path, "/rest") || r.URL.Path == "/metrics") && !e.isOpen(r.URL.Path) {
		e.refuse(w, "CSRF Error", http.StatusForbidden)
		return
	}
	e.dispatch(w, r)
}

func (e *endpoint) refuse(w http.ResponseWriter, text string, status int) {
	e.daemon.counters.forbidden.Add(1)
	http.Error(w, text, status)
}

// guarded reports whether a GUI user and password are set.
func (e *endpoint) guarded() bool {
	return e.gui.Get("authMode").Str() == "ldap" || e.gui.Get("user").Str() != "" && e.gui.Get("password").Str() != ""
}

func (e *endpoint) hasKey(r *http.Request) bool {
	valid := func(key string) bool { return key != "" && key == e.gui.Get("apiKey").Str() }
	if valid(r.Header.Get("X-API-Key")) {
		return true
	}
	kind, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return e.daemon.Version() == V2 && strings.EqualFold(kind, "bearer") && valid(key)
}

// letIn decides about a request without a key while a user is set. It has answered when it says no.
func (e *endpoint) letIn(w http.ResponseWriter, r *http.Request) bool {
	user, password, basic := r.BasicAuth()
	if basic && e.knows(user, password) {
		return true
	}
	if e.daemon.Version() == V1 {
		w.Header().Set("WWW-Authenticate", `Basic realm="Authorization Required"`)
		e.refuse(w, "Not Authorized", http.StatusUnauthorized)
		return false
	}
	if e.isOpen(r.URL.Path) {
		return true
	}
	if e.gui.Get("sendBasicAuthPrompt").IsTrue() {
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Basic realm="Authorization Required (%s)"`, e.daemon.id.Short()))
		e.refuse(w, "Not Authorized", http.StatusUnauthorized)
		return false
	}
	e.refuse(w, "Forbidden", http.StatusForbidden)
	return false
}

func (e *endpoint) knows(user, password string) bool {
	return user == e.gui.Get("user").Str() && checkPassword(e.gui.Get("password").Str(), password)
}

// isOpen reports whether a path needs neither user nor key. Only v2 has such paths.
func (e *endpoint) isOpen(path string) bool {
	return e.daemon.Version() == V2 && (path == "/" || path == "/index.html" || path == "/rest/svc/lang" ||
		strings.HasPrefix(path, "/rest/noauth"))
}

// isLocal reports whether an address, with or without a port, is a loopback IP or localhost.
func isLocal(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	host = strings.ToLower(host)
	if host == "localhost" || host == "localhost." || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func (e *endpoint) dispatch(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.URL.Path, "/rest/") {
		if r.URL.Path == "/metrics" && e.daemon.Version() == V2 {
			e.metrics(w)
			return
		}
		e.page(w, r)
		return
	}
	header := w.Header()
	header.Set("Cache-Control", "max-age=0, no-cache, no-store")
	header.Set("Expires", time.Now().UTC().Format(http.TimeFormat))
	header.Set("Pragma", "no-cache")
	found, id := find(r.URL.Path)
	if without, slash := strings.CutSuffix(r.URL.Path, "/"); slash && routes[without] != nil {
		http.Redirect(w, r, without, http.StatusMovedPermanently)
		return
	}
	if found == nil || e.daemon.Version() == V1 && strings.HasPrefix(r.URL.Path, "/rest/noauth/") {
		http.NotFound(w, r)
		return
	}
	handle := found[r.Method]
	if handle == nil {
		header.Set("Allow", found.allow())
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
		return
	}
	handle(e, w, r, id)
}

// find takes the decoded path, as the daemon's router does: a folder ID with a slash is out of its reach.
func find(path string) (route, string) {
	if found := routes[path]; found != nil && !strings.HasSuffix(path, "/") {
		return found, ""
	}
	if i := strings.LastIndexByte(path, '/'); i > 0 && i+1 < len(path) {
		return routes[path[:i+1]], path[i+1:]
	}
	return nil, ""
}

func (m route) allow() string {
	methods := []string{http.MethodOptions}
	for method := range m {
		methods = append(methods, method)
	}
	slices.Sort(methods)
	return strings.Join(methods, ", ")
}

// page stands in for the GUI.
func (e *endpoint) page(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/" && r.URL.Path != "/index.html" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, "<!DOCTYPE html><title>Syncthing</title><p>A simulated daemon has no GUI.</p>\n")
}

// sendJSON writes what the daemon says, or what the faults make of it.
func (e *endpoint) sendJSON(w http.ResponseWriter, r *http.Request, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	text, err := indented(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(append(e.distort(r, text), '\n'))
}

// answerError is an error with the status that the daemon answers.
type answerError struct {
	status int
	err    error
}

func (a *answerError) Error() string { return a.err.Error() }
func (a *answerError) Unwrap() error { return a.err }

func answer(status int, err error) error {
	if err == nil {
		return nil
	}
	return &answerError{status: status, err: err}
}

func sendError(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if a, ok := errors.AsType[*answerError](err); ok {
		status = a.status
	}
	http.Error(w, err.Error(), status)
}

// readJSON reads a body. What is wrong with it is said in the words of encoding/json, as the daemon does.
func readJSON(r *http.Request) (stconfig.Value, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return stconfig.Value{}, answer(http.StatusBadRequest, err)
	}
	return parseJSON(text)
}

func parseJSON(text []byte) (stconfig.Value, error) {
	var raw json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return stconfig.Value{}, answer(http.StatusBadRequest, err)
	}
	v, err := stconfig.Parse(text)
	return v, answer(http.StatusBadRequest, err)
}

func query(r *http.Request) url.Values { return r.URL.Query() }
