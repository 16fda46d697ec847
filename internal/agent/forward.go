package agent

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
	"muster/internal/stconfig"
	"muster/internal/tunnel"
)

const (
	answerTime = 2 * time.Minute // of a request and its answer as a whole, besides the wait of a poll
	copyBytes  = 32 << 10
)

// Headers that go through. All others stay on their side: cookies, the origin, keys, proxies' own.
var (
	requestHeaders = []string{"Accept", "Content-Type"}
	answerHeaders  = []string{"Content-Type", "X-Syncthing-Id", "X-Syncthing-Version"}
)

// forwarder hands the manager's requests to the daemon.
type forwarder struct {
	daemon   *daemon
	observe  bool
	hide     func(secret string) string // what the manager gets in place of a secret, where it may only observe
	log      *slog.Logger
	refused  *lines
	writes   *lines
	answered func(trouble string) // is told whether the daemon answered; "": it did
	changed  func(Change)         // is told of each request that changed something, or may have
}

// Change is one request of the manager that was to change something.
type Change struct {
	At     time.Time `json:"at"`
	Method string    `json:"method"`
	Path   string    `json:"path"`
	Status int       `json:"status"` // of the daemon's answer; 0: there was none
}

func (f *forwarder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p, err := admit(r.Method, r.RequestURI)
	switch {
	case err != nil:
		f.refuse(w, r, refusal{http.StatusForbidden, tunnel.ErrorForbidden, err.Error()})
		return
	case f.observe && p.rule.changes():
		f.refuse(w, r, refusal{http.StatusForbidden, tunnel.ErrorObserve,
			"the agent was started with --observe: it lets nothing change its daemon"})
		return
	case r.ContentLength > p.rule.body:
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
	case result.broken, r.Context().Err() != nil: // the manager may have given the request up
		panic(http.ErrAbortHandler) // resets the stream: the manager never takes a part for the whole
	case result.failed.status != 0:
		f.refuse(w, r, result.failed)
	}
}

func (f *forwarder) record(ctx context.Context, p passage, status int, took time.Duration) {
	level := slog.LevelDebug
	if p.rule.changes() {
		level = slog.LevelInfo
		f.changed(Change{At: time.Now().UTC(), Method: p.rule.method, Path: p.asked, Status: status})
		if !f.writes.room() {
			return
		}
	}
	f.log.Log(ctx, level, "the manager asked the daemon", logkey.Method, p.rule.method,
		logkey.Path, shortened(p.asked), logkey.Status, status, logkey.Took, took)
}

// refusal is an answer of the agent's own.
type refusal struct {
	status int
	code   string // of tunnel.ErrorHeader
	text   string // for a person
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

// broken logs a request, or another frame, that breaks a rule of HTTP/2: an extended CONNECT, a path without a slash,
// too many streams.
func (f *forwarder) broken(rule string) {
	if ordinary := rule == "closed" || rule == "stream_went_down"; ordinary || !f.refused.room() {
		return // a request was given up, and what belongs to it came later
	}
	f.log.Warn("the manager broke a rule of HTTP/2, and was not answered by the daemon", logkey.Reason, rule)
}

// outcome is what came of a request that was let through.
type outcome struct {
	status int     // of the daemon's answer; 0: there was none
	failed refusal // in its place
	broken bool    // the answer broke off, or was too large
}

func instead(status int, code, text string) outcome {
	return outcome{failed: refusal{status, code, text}}
}

// forward makes the request to the daemon, and hands its answer on.
func (f *forwarder) forward(w http.ResponseWriter, r *http.Request, p passage) outcome {
	way, err := f.daemon.reach()
	if err != nil {
		return unreachable(err)
	}
	ctx, cancel := context.WithTimeout(r.Context(), p.wait+answerTime)
	defer cancel()
	header := time.AfterFunc(p.wait+daemonHeader, cancel)
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
	case answer.ContentLength > p.rule.answer:
		return instead(http.StatusBadGateway, tunnel.ErrorTooLarge, "the daemon's answer is too large")
	}
	body := io.Reader(answer.Body)
	if f.observe && p.rule.configuration && answer.StatusCode == http.StatusOK {
		hidden := hiding(answer.Body, f.hide)
		defer hidden.Close()
		body = hidden
	}
	return outcome{status: answer.StatusCode, broken: !pass(w, answer, body, p.rule.answer)}
}

// hiding reads JSON without the secrets in it: the manager needs none of a daemon that it may only observe.
func hiding(body io.Reader, hide func(secret string) string) io.ReadCloser {
	reader, writer := io.Pipe()
	go func() {
		err := stconfig.HideTo(writer, body, hide)
		if err == nil {
			_, _ = io.CopyN(io.Discard, body, copyBytes) // to its end, so that the connection is used again
		}
		_ = writer.CloseWithError(err)
	}()
	return reader
}

// ask sends the request with the agent's own key, and follows no redirect.
func (w *way) ask(ctx context.Context, out http.ResponseWriter, r *http.Request, p passage) (*http.Response, error) {
	target, err := url.Parse("https://daemon" + p.path)
	if err != nil {
		return nil, err
	}
	ask := &http.Request{
		Method: p.rule.method, URL: target, Host: w.home.hostHeader(), Header: http.Header{}, Body: http.NoBody,
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
	if p.rule.body > 0 && r.ContentLength != 0 {
		ask.Body, ask.ContentLength = http.MaxBytesReader(out, r.Body, p.rule.body), r.ContentLength
	}
	transport := w.reads
	if p.rule.changes() {
		transport = w.writes
	}
	return transport.RoundTrip(ask.WithContext(ctx))
}

var copies = sync.Pool{New: func() any { return new([copyBytes]byte) }}

// pass hands the daemon's answer on, its header at once: of a poll it comes long before the body. It gives false where
// the answer broke off or is too large.
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
		clear(buffer[:]) // answers hold secrets
		copies.Put(buffer)
	}()
	n, err := io.CopyBuffer(struct{ io.Writer }{w}, io.LimitReader(body, most+1), buffer[:])
	return err == nil && n <= most
}

// unreachable answers in place of a daemon that does not. The text names no more than what the manager may know.
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
