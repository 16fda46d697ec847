package agent

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"muster/internal/adapter/tunnel"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	answerTime = 2 * time.Minute // limit for a request and its whole answer; a poll has its waiting time in addition
	copyBytes  = 32 << 10
)

// The headers that are passed on. All others are dropped, for example cookies, Origin, API keys and the headers of
// proxies.
var (
	requestHeaders = []string{"Accept", "Content-Type"}
	answerHeaders  = []string{"Content-Type", "X-Syncthing-Id", "X-Syncthing-Version"}
)

// forwarder passes the manager's requests to the daemon.
type forwarder struct {
	daemon  *daemon
	disks   *disks
	observe bool
	allow   []string                   // The tunnel.Switches that are on.
	hide    func(secret string) string // returns what replaces a secret when the manager may only observe
	log     *slog.Logger
	refused *logLimit
	writes  *logLimit
	// called after each request with the reason why the daemon did not answer, or "" when it did
	answered func(trouble string)
	changed  func(Change) // called after each request that changed something or may have
}

// Change is one request of the manager that may have changed something.
type Change struct {
	At     time.Time `json:"at"`
	Method string    `json:"method"`
	Path   string    `json:"path"`
	Status int       `json:"status"` // status of the daemon's answer; 0: no answer
}

func (f *forwarder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if number := f.disks.version(); number > 0 {
		w.Header().Set(tunnel.DisksHeader, strconv.FormatInt(number, 10))
	}
	p, err := tunnel.Admit(r.Method, r.RequestURI)
	switch {
	case err != nil:
		f.refuse(w, r, refusal{http.StatusForbidden, tunnel.ErrorForbidden, err.Error()})
		return
	case f.observe && p.Rule.Changes():
		f.refuse(w, r, refusal{http.StatusForbidden, tunnel.ErrorObserve,
			"the agent was started with --observe: it lets nothing change its daemon"})
		return
	case p.Rule.Switch != "" && !slices.Contains(f.allow, p.Rule.Switch):
		f.refuse(w, r, refusal{http.StatusForbidden, tunnel.ErrorSwitch,
			"the agent was started without --allow " + p.Rule.Switch})
		return
	case r.ContentLength > p.Rule.Body:
		f.refuse(w, r, refusal{http.StatusRequestEntityTooLarge, tunnel.ErrorTooLarge, "the request is too large"})
		return
	}
	began := time.Now()
	result := f.forward(w, r, p)
	if result.failed.code == tunnel.ErrorUnreachable && r.Context().Err() == nil || result.status != 0 {
		f.answered(result.failed.text)
	}
	f.record(r.Context(), p, result.status, time.Since(began))
	switch {
	case result.broken, r.Context().Err() != nil: // the second: the manager may have given up
		// resets the stream, so that the manager does not take a part of the answer for all of it
		panic(http.ErrAbortHandler)
	case result.failed.status != 0:
		f.refuse(w, r, result.failed)
	}
}

func (f *forwarder) record(ctx context.Context, p tunnel.Passage, status int, took time.Duration) {
	level := slog.LevelDebug
	if p.Rule.Changes() {
		level = slog.LevelInfo
		f.changed(Change{At: time.Now().UTC(), Method: p.Rule.Method, Path: p.Asked, Status: status})
		if !f.writes.room() {
			return
		}
	}
	f.log.Log(ctx, level, "the manager asked the daemon", logkey.Method, p.Rule.Method,
		logkey.Path, shortened(p.Asked), logkey.Status, status, logkey.Took, took)
}

// refusal is an answer that the agent itself gives.
type refusal struct {
	status int
	code   string // a code of tunnel.ErrorHeader
	text   string // sentence for people
}

func (f *forwarder) refuse(w http.ResponseWriter, r *http.Request, no refusal) {
	if f.refused.room() {
		f.log.Warn("a request of the manager was not answered by the daemon", logkey.Method, shortened(r.Method),
			logkey.Path, shortened(r.RequestURI), logkey.Reason, no.text)
	}
	w.Header().Set(tunnel.ErrorHeader, no.code)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(no.status)
	_, _ = io.WriteString(w, no.text+"\n")
}

// broken logs a request or other frame that breaks a rule of HTTP/2 and therefore reached no handler: an extended
// CONNECT, a path without a slash, too many streams.
func (f *forwarder) broken(rule string) {
	if ordinary := rule == "closed" || rule == "stream_went_down"; ordinary || !f.refused.room() {
		return // A late frame of a request that was given up is normal.
	}
	f.log.Warn("the manager broke a rule of HTTP/2, and was not answered by the daemon", logkey.Reason, rule)
}

// outcome is the result of a request that the list allows.
type outcome struct {
	status int     // status of the daemon's answer; 0: no answer
	failed refusal // sent instead of the daemon's answer
	broken bool    // the answer broke off or was too large
}

func instead(status int, code, text string) outcome {
	return outcome{failed: refusal{status, code, text}}
}

// forward sends the request to the daemon and passes its answer on.
func (f *forwarder) forward(w http.ResponseWriter, r *http.Request, p tunnel.Passage) outcome {
	way, err := f.daemon.reach()
	if err != nil {
		return unreachable(err)
	}
	ctx, cancel := context.WithTimeout(r.Context(), p.Wait+answerTime)
	defer cancel()
	header := time.AfterFunc(p.Wait+daemonHeader, cancel)
	defer header.Stop()
	answer, err := way.ask(ctx, w, r, p)
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return instead(http.StatusRequestEntityTooLarge, tunnel.ErrorTooLarge, "the request is too large")
		}
		return unreachable(err)
	}
	defer answer.Body.Close()
	header.Stop()
	switch {
	case answer.StatusCode < http.StatusOK:
		return instead(http.StatusBadGateway, tunnel.ErrorUnreachable, "the daemon switches to another protocol")
	case answer.ContentLength > p.Rule.Answer:
		return instead(http.StatusBadGateway, tunnel.ErrorTooLarge, "the daemon's answer is too large")
	}
	body := io.Reader(answer.Body)
	if f.observe && p.Rule.Configuration && answer.StatusCode == http.StatusOK {
		hidden := hiding(answer.Body, f.hide)
		defer hidden.Close()
		body = hidden
	}
	w.Header().Set(tunnel.RunHeader, strconv.FormatInt(f.daemon.runs.current(), 10))
	return outcome{status: answer.StatusCode, broken: !pass(w, answer, body, p.Rule.Answer)}
}

// hiding returns a body of JSON without its secrets. It is used with --observe, where the manager needs no secrets.
func hiding(body io.Reader, hide func(secret string) string) io.ReadCloser {
	reader, writer := io.Pipe()
	go func() {
		err := stconfig.HideTo(writer, body, hide)
		if err == nil {
			// A body that was read to its end lets the connection be reused.
			_, _ = io.CopyN(io.Discard, body, copyBytes)
		}
		_ = writer.CloseWithError(err)
	}()
	return reader
}

// ask sends the request with the daemon's API key. It follows no redirect.
func (w *way) ask(
	ctx context.Context,
	out http.ResponseWriter,
	r *http.Request,
	p tunnel.Passage,
) (*http.Response, error) {
	target, err := url.Parse("https://daemon" + p.Path)
	if err != nil {
		return nil, err
	}
	ask := &http.Request{
		Method: p.Rule.Method, URL: target, Host: w.home.hostHeader(), Header: http.Header{}, Body: http.NoBody,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	for _, name := range requestHeaders {
		if value := r.Header.Get(name); value != "" {
			ask.Header.Set(name, value)
		}
	}
	ask.Header.Set("User-Agent", "muster-agent")
	ask.Header.Set("Accept-Encoding", "identity")
	ask.Header.Set("X-API-Key", w.home.APIKey.Reveal())
	if p.Rule.Body > 0 && r.ContentLength != 0 {
		ask.Body, ask.ContentLength = http.MaxBytesReader(out, r.Body, p.Rule.Body), r.ContentLength
	}
	transport := w.reads
	if p.Rule.Changes() {
		transport = w.writes
	}
	return transport.RoundTrip(ask.WithContext(ctx))
}

var copies = sync.Pool{New: func() any { return new([copyBytes]byte) }}

// pass passes the daemon's answer on. It sends the header at once, because the body of a poll may come much later. It
// returns false when the answer broke off or is too large.
func pass(w http.ResponseWriter, answer *http.Response, body io.Reader, most int64) bool {
	for _, name := range answerHeaders {
		if value := answer.Header.Get(name); value != "" {
			w.Header().Set(name, value)
		}
	}
	w.WriteHeader(answer.StatusCode)
	if http.NewResponseController(w).Flush() != nil {
		return false
	}
	buffer := copies.Get().(*[copyBytes]byte)
	defer func() {
		clear(buffer[:]) // Answers contain secrets.
		copies.Put(buffer)
	}()
	n, err := io.CopyBuffer(struct{ io.Writer }{w}, io.LimitReader(body, most+1), buffer[:])
	return err == nil && n <= most
}

// unreachable makes the outcome for a daemon that does not answer. Its text contains only what the manager may know.
func unreachable(err error) outcome {
	text := "the daemon does not answer on its machine"
	for _, known := range []error{errNotStarted, errOtherDaemon, errNotHere} {
		if errors.Is(err, known) {
			text = known.Error()
		}
	}
	var told *fleet.Error
	switch {
	case errors.As(err, &told):
		text = told.Message
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		text = "the daemon does not answer in time"
	}
	return instead(http.StatusBadGateway, tunnel.ErrorUnreachable, text)
}
