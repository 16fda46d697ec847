package fleet

import (
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// SinkKind says in which form a sink takes events.
type SinkKind string

// The kinds of sinks.
const (
	SinkHTTP    SinkKind = "http"          // JSON lines, by POST
	SinkElastic SinkKind = "elasticsearch" // the bulk interface of Elasticsearch and OpenSearch
	SinkSyslog  SinkKind = "syslog"        // RFC 5424 over TCP or TLS
	SinkOTLP    SinkKind = "otlp"          // logs of OpenTelemetry over HTTP, as JSON
	SinkFile    SinkKind = "file"          // JSON lines in the server's home, with rotation
)

// SinkKinds lists all kinds.
var SinkKinds = []SinkKind{SinkHTTP, SinkElastic, SinkSyslog, SinkOTLP, SinkFile}

// SinkStream is a part of what Muster records.
type SinkStream string

// The streams. Each entry of the event log is in one of them.
const (
	StreamAudit    SinkStream = "audit"    // acts of people and tokens in Muster
	StreamProblems SinkStream = "problems" // connections and configurations of devices
	StreamChanges  SinkStream = "changes"  // configurations that were read, and orders
	StreamSync     SinkStream = "sync"     // folders, conflicts and peers
)

// SinkStreams lists all streams.
var SinkStreams = []SinkStream{StreamAudit, StreamProblems, StreamChanges, StreamSync}

// StreamOf returns the stream of an entry of the event log.
func StreamOf(kind LogKind) SinkStream {
	switch kind {
	case LogConnection, LogConfiguration:
		return StreamProblems
	case LogFolder, LogConflict, LogPeers:
		return StreamSync
	}
	return StreamChanges
}

// Sink is a place outside of Muster that gets what Muster records.
type Sink struct {
	Name    string
	Kind    SinkKind
	Address string // URL; tcp://HOST:PORT or tls://HOST:PORT of a syslog server; "" of a file
	Streams []SinkStream
	Index   string            // Index of Elasticsearch, or a data stream. It is "" for other kinds.
	Headers map[string]Secret // sent with each request; a log-in is one of them
	By      string            // name of the person or token that saved it
	At      time.Time         // At is the time of the last change.
}

// SinkDefaultIndex is the index or data stream of Elasticsearch that gets the documents unless a sink names another.
const SinkDefaultIndex = "muster-events"

const (
	maxSinkName    = 40
	maxSinkAddress = 2048
	maxSinkHeaders = 20
	maxSinkHeader  = 8 << 10 // bytes of one value
)

// MaxSinks is how many sinks there may be.
const MaxSinks = 20

var (
	sinkName  = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)
	sinkIndex = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,199}$`)
	// Muster sets these itself.
	sinkOwnHeaders = []string{"Content-Encoding", "Content-Length", "Host", "Connection", "Transfer-Encoding"}
)

// Check returns the sink with its defaults, or an error of the code CodeInvalid that names the field.
func (s Sink) Check() (Sink, error) {
	switch {
	case len(s.Name) > maxSinkName || !sinkName.MatchString(s.Name):
		return s, Invalidf("name", "the name of a sink has at most %d lower-case letters, digits and hyphens", maxSinkName)
	case !slices.Contains(SinkKinds, s.Kind):
		return s, Invalidf("kind", "%q is no kind of sink: there are http, elasticsearch, syslog, otlp and file", s.Kind)
	case len(s.Streams) == 0:
		s.Streams = slices.Clone(SinkStreams)
	}
	for _, stream := range s.Streams {
		if !slices.Contains(SinkStreams, stream) {
			return s, Invalidf("streams", "%q is no stream: there are audit, problems, changes and sync", stream)
		}
	}
	slices.Sort(s.Streams)
	s.Streams = slices.Compact(s.Streams)
	if s.Kind == SinkElastic && s.Index == "" {
		s.Index = SinkDefaultIndex
	}
	if s.Kind != SinkElastic && s.Index != "" {
		return s, Invalidf("index", "only a sink of the kind elasticsearch has an index")
	}
	if s.Index != "" && !sinkIndex.MatchString(s.Index) {
		return s, Invalidf("index", "the index has lower-case letters, digits, dots, hyphens and underscores")
	}
	if err := s.checkAddress(); err != nil {
		return s, err
	}
	return s, s.checkHeaders()
}

func (s Sink) checkAddress() error {
	if s.Kind == SinkFile {
		if s.Address != "" {
			return Invalidf("address", "a sink of the kind file has no address: it writes into the server's home folder")
		}
		return nil
	}
	want, schemes := "https://HOST or http://HOST", []string{"https", "http"}
	if s.Kind == SinkSyslog {
		want, schemes = "tls://HOST:PORT or tcp://HOST:PORT", []string{"tls", "tcp"}
	}
	at, err := url.Parse(s.Address)
	if err != nil || at.Hostname() == "" || !slices.Contains(schemes, at.Scheme) || len(s.Address) > maxSinkAddress {
		return Invalidf("address", "the address of a sink of the kind %s is %s", s.Kind, want)
	}
	if at.User != nil {
		return Invalidf("address", "the address may hold no log-in, since it is shown: give a header Authorization instead")
	}
	if at.RawQuery != "" || at.Fragment != "" {
		return Invalidf("address", "the address may have no query, since it is shown: give a header instead")
	}
	if s.Kind != SinkSyslog {
		return nil
	}
	if _, _, err := net.SplitHostPort(at.Host); err != nil || at.Path != "" {
		return Invalidf("address", "the address of a sink of the kind syslog is %s", want)
	}
	return nil
}

func (s Sink) checkHeaders() error {
	if len(s.Headers) > 0 && (s.Kind == SinkFile || s.Kind == SinkSyslog) {
		return Invalidf("headers", "a sink of the kind %s sends no HTTP requests, so it has no headers", s.Kind)
	}
	if len(s.Headers) > maxSinkHeaders {
		return Invalidf("headers", "a sink has at most %d headers", maxSinkHeaders)
	}
	for name, value := range s.Headers {
		if !headerName.MatchString(name) || slices.Contains(sinkOwnHeaders, http.CanonicalHeaderKey(name)) {
			return Invalidf("headers", "%q is no header that a sink may set", name)
		}
		if text := value.Reveal(); text == "" || len(text) > maxSinkHeader || strings.ContainsFunc(text, isControl) {
			return Invalidf("headers", "the value of %s is empty, longer than %d bytes or more than a line", name, maxSinkHeader)
		}
	}
	return nil
}

var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$")

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// Host returns the scheme and host of the address, without its path, which may hold a secret; "" of a file.
func (s Sink) Host() string {
	at, err := url.Parse(s.Address)
	if err != nil || at.Host == "" {
		return ""
	}
	return at.Scheme + "://" + at.Host
}

// HasAudit reports whether the sink gets the audit.
func (s Sink) HasAudit() bool { return slices.Contains(s.Streams, StreamAudit) }

// Kinds returns the kinds of entries of the event log that the sink gets.
func (s Sink) Kinds() (kinds []LogKind) {
	for _, kind := range LogKinds {
		if slices.Contains(s.Streams, StreamOf(kind)) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// SinkCursor says how far a sink is. Entries with larger numbers are still to be sent.
type SinkCursor struct {
	Log   int64 // Number of the last entry of the event log that was taken or passed over
	Audit int64 // the same for IDs of audit entries
	Sent  int64 // entries that were taken since the sink was added
	Lost  int64 // entries that were deleted from the event log before they were sent, and are not reported yet
	Gaps  int64 // entries that were reported to the sink as lost
	Dead  int64 // entries that the sink refused
}

// SinkProgress is what a sink took in one round.
type SinkProgress struct {
	Log, Audit int64 // the cursor afterwards
	Sent       int64
	Reported   int64 // lost entries that the sink was told of
	Refused    []SinkRefusal
}

// SinkRefusal is an entry that a sink refused: a dead letter.
type SinkRefusal struct {
	Stream SinkStream
	Number int64 // Number of the entry in its stream.
	At     time.Time
	Reason string // Reason is the sink's answer.
}

// SinkState is a sink and how it stands.
type SinkState struct {
	Sink
	SinkCursor
	Waiting int64     // entries that are recorded and not sent yet, of all streams; at most, since some may be left out
	Trouble string    // why the last attempt failed; "" when it succeeded
	Since   time.Time // Since is the time of the first attempt that failed.
}
