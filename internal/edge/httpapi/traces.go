package httpapi

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"muster/internal/edge/auth"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// What a request leaves in the audit although it changes nothing. All of it is bounded, see Audit.RecordBounded.
const (
	tracedRefusal = "request.refused" // 403
	tracedAltered = "token.refused"   // of a token whose row Muster did not write
	tracedReading = "device.readKey"  // API keys were shown
)

const (
	maxTracedPath = 200             // bytes
	traceLimit    = 2 * time.Second // that a request waits for the database
)

// traceRefusal leaves a refused request in the audit, also of a client that hung up. The answer does not wait for a
// database that is away.
func (s *base) traceRefusal(r *http.Request, who auth.Principal, operation string, err error) {
	what := tracedRefusal
	switch {
	case errors.Is(err, auth.ErrAltered):
		what = tracedAltered
		s.log.Error("a token was used whose row in the database was not written by Muster", logkey.Token, who.Name,
			"from", remoteHost(r))
	case fleet.CodeOf(err) != fleet.CodeForbidden:
		return
	}
	if s.Records == nil {
		return
	}
	name := who.Name
	if name == "" {
		name = fleet.Anonymous
	}
	path := r.URL.Path
	if len(path) > maxTracedPath {
		path = path[:maxTracedPath] + "…"
	}
	detail := r.Method + " " + path + " from " + remoteHost(r) + ": " + fleet.Reason(err)
	ctx, cancel := context.WithTimeout(fleet.WithActor(context.WithoutCancel(r.Context()), name), traceLimit)
	defer cancel()
	if err := s.Records.RecordBounded(ctx, what, operation, detail); err != nil {
		s.log.Warn("a refused request is not in the audit", logkey.Token, name, logkey.Method, r.Method, logkey.Path, path,
			logkey.Err(err))
	}
}

// traceReading leaves in the audit that API keys are shown. It tells whether it could.
func (s *base) traceReading(r *request, subject string) bool {
	if s.Records == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(r.Context(), traceLimit)
	defer cancel()
	err := s.Records.RecordBounded(ctx, tracedReading, subject, "from "+remoteHost(r.Request))
	if err != nil {
		s.log.Warn("API keys are masked: that they are read could not be kept in the audit", logkey.Token, r.who.Name,
			logkey.Err(err))
	}
	return err == nil
}

func remoteHost(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
