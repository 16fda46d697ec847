package httpapi

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"muster/internal/edge/auth"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// replyPolicy is for what is no page, should a browser show it as one.
const replyPolicy = "default-src 'none'; frame-ancestors 'none'"

// ServeHTTP answers a request, after the checks that hold for every path.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	r = withTicket(s.fromClient(r))
	rec := s.newRecorder(w)
	defer func() {
		if failure := recover(); failure != nil {
			if failure == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
				panic(failure)
			}
			s.fail(rec, r, fmt.Errorf("panic: %v\n%s", failure, debug.Stack()))
		}
		s.log.Debug("request", logkey.Method, r.Method, logkey.Path, r.URL.Path, logkey.Status, rec.status, logkey.Took,
			time.Since(began))
	}()
	header := rec.Header()
	header.Set("Cache-Control", "private, no-cache")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", replyPolicy)
	if r.TLS != nil { // browsers heed it where they trust the certificate, and for names only
		header.Set("Strict-Transport-Security", "max-age=31536000")
	}
	if err := s.acceptable(r); err != nil {
		s.traceRefusal(r, auth.Principal{}, "", err)
		s.fail(rec, r, err)
		return
	}
	// A literal path beside a wildcard (templates/evaluate, templates/{templateID}) takes only its own methods.
	if methods, literal := s.methods[r.URL.EscapedPath()]; literal && !takes(methods, r.Method) {
		s.unknown(rec, r)
		return
	}
	s.mux.ServeHTTP(rec, markLoneSlashes(r))
}

// acceptable checks Host, path and origin. A path that http.ServeMux would redirect to a cleaner one is unknown here:
// an API client that builds such a path has a bug, and a redirect hides it.
func (s *server) acceptable(r *http.Request) error {
	if !s.hostAllowed(r) {
		return &statusError{status: http.StatusMisdirectedRequest, says: fleet.Error{
			Message: fmt.Sprintf("this server is not called %q", r.Host),
			Hint: "Use the address it listens on, or start it with --allow-host NAME for every further name it is reached " +
				"by.",
		}}
	}
	path := r.URL.EscapedPath()
	if r.Method == http.MethodConnect || !strings.HasPrefix(path, "/") || unclean(path) {
		if _, err := s.Auth.Authenticate(r); err != nil {
			return err
		}
		return unknownPath()
	}
	if err := s.crossOrigin.Check(r); err != nil {
		return &fleet.Error{
			Code: fleet.CodeForbidden, Message: "a page of another site may not change anything here",
			Hint: "Send the request from a program, or from Muster's own pages.", Err: err,
		}
	}
	return nil
}

// loneSlash stands for a segment that is one slash: http.ServeMux, which decodes segments before it compares them,
// would take "%2F" for the end of the path. A tag or folder ID never begins with a zero byte.
const loneSlash = "\x00/"

// markLoneSlashes puts loneSlash in the place of every segment "%2F"; request.segment takes it back.
func markLoneSlashes(r *http.Request) *http.Request {
	segments := strings.Split(r.URL.EscapedPath(), "/")
	marked := false
	for i, segment := range segments {
		switch {
		case strings.EqualFold(segment, "%2F"):
			segments[i], marked = url.PathEscape(loneSlash), true
		case strings.EqualFold(segment, "%00%2F"): // what only looks like the mark must not become a slash
			segments[i], marked = "%00%00%2F", true
		}
	}
	if !marked {
		return r
	}
	moved := *r
	at := *r.URL
	moved.URL = &at
	at.RawPath = strings.Join(segments, "/")
	if path, err := url.PathUnescape(at.RawPath); err == nil {
		at.Path = path
	}
	return &moved
}

func takes(methods []string, method string) bool {
	return slices.Contains(methods, method) || method == http.MethodHead && slices.Contains(methods, http.MethodGet)
}

func unclean(path string) bool {
	return strings.Contains(path, "//") || strings.Contains(path+"/", "/./") || strings.Contains(path+"/", "/../")
}

func allowedHosts(names []string) map[string]bool {
	hosts := map[string]bool{"localhost": true}
	for _, name := range names {
		hosts[normalHost(name)] = true
	}
	return hosts
}

// hostAllowed guards against DNS rebinding: a name that an attacker points here is not in the list. An IP address in
// the Host header is fine when it is loopback or the one that the connection came in on.
func (s *server) hostAllowed(r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = normalHost(host)
	if s.hosts[host] {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	if ip = ip.Unmap().WithZone(""); ip.IsLoopback() {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	at, err := netip.ParseAddrPort(local.String())
	return err == nil && at.Addr().Unmap().WithZone("") == ip
}

func normalHost(host string) string {
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}
