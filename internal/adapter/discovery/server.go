package discovery

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"muster/internal/fleet"
)

const (
	lookupLimit      = 10 * time.Second // time limit of one look-up, connection included
	maxAnswerBytes   = 64 << 10
	maxHeaderBytes   = 16 << 10
	lookupsAtOnce    = 8 // look-ups at once on one server
	ownLookupsPerS   = 200
	publicLookupPerS = 20 // few, because the server is another operator's
	foundLife        = 2 * time.Minute
	defaultWait      = time.Minute // wait after an answer without a Retry-After
	maxWait          = 5 * time.Minute
	firstRest        = 15 * time.Second // pause after a server was not reached; doubles each time
)

// server is one discovery server.
type server struct {
	name       string // host, for people
	url        *url.URL
	client     *http.Client
	pace       *rate.Limiter
	slots      chan struct{}
	allowLocal bool
	unverified bool // An attacker on the way can answer in the server's place.
	now        func() time.Time

	mu        sync.Mutex // guards what follows
	restUntil time.Time  // The server was not reached, or said that it has too much to do. Until then it is not asked.
	restWhy   string
	restFor   time.Duration // pause after the next failure in a row
}

// finding is what one server said about one device.
type finding struct {
	addresses []syncAddress
	why       string    // tells a person why there is no address
	until     time.Time // The server is not asked about the device again before.
}

// parseServers reads the server URLs that a person gave.
func parseServers(texts []string) (servers []*server, off bool, err error) {
	if len(texts) == 1 && texts[0] == Off {
		return nil, true, nil
	}
	if len(texts) == 0 {
		texts = []string{PublicServer}
	}
	for _, text := range texts {
		s, err := parseServer(text)
		if err != nil {
			return nil, false, err
		}
		if s != nil {
			servers = append(servers, s)
		}
	}
	return servers, false, nil
}

// parseServer reads a URL in the form that Syncthing has in globalAnnounceServers. It gives nil for a server that
// takes no look-ups.
func parseServer(text string) (*server, error) {
	if text == Off {
		return nil, wrongServer(text, `"none" switches discovery off and stands alone`)
	}
	if text == "default" {
		text = PublicServer
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, wrongServer(text, "it is a URL such as https://discovery.example.org/?id=DEVICE-ID")
	}
	query := u.Query()
	var pin fleet.DeviceID
	if id := query.Get("id"); id != "" {
		if pin, err = fleet.ParseDeviceID(id); err != nil {
			return nil, wrongServer(text, "its ?id= is not a device ID")
		}
	}
	insecure := flag(query, "insecure")
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, wrongServer(text, "it begins with https://")
	case u.Scheme == "http" && pin != "":
		return nil, wrongServer(text, "a server without https shows no certificate that ?id= could be compared with")
	case u.Scheme == "http" && !insecure:
		return nil, wrongServer(text, "a server without https needs ?insecure: everybody on the way can change its answers")
	case flag(query, "nolookup"):
		return nil, nil
	}
	bare := *u
	bare.RawQuery, bare.ForceQuery, bare.Fragment = "", false, ""
	perSecond := rate.Limit(ownLookupsPerS)
	if text == PublicServer {
		perSecond = publicLookupPerS
	}
	return &server{
		name: u.Host, url: &bare, unverified: insecure && pin == "", client: newHTTPClient(pin, insecure), now: time.Now,
		pace: rate.NewLimiter(perSecond, max(1, int(perSecond)/4)), slots: make(chan struct{}, lookupsAtOnce),
	}, nil
}

// flag reads a boolean option as Syncthing does: it is true when it is there and not "false".
func flag(query url.Values, name string) bool {
	_, there := query[name]
	return there && query.Get(name) != "false"
}

func wrongServer(text, why string) error {
	return &fleet.Error{Code: fleet.CodeInvalid, During: "read the discovery servers",
		Message: fmt.Sprintf("discovery server %q: %s", text, why),
		Hint:    "Give --discovery-server once per server, or once as \"none\"."}
}

// newHTTPClient makes a client that sends nothing before the server has proven itself, and follows no redirects.
func newHTTPClient(pin fleet.DeviceID, insecure bool) *http.Client {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if pin != "" || insecure {
		config.InsecureSkipVerify = true // a pinned certificate is compared below, within the handshake
	}
	if pin != "" {
		config.VerifyConnection = func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 ||
				fleet.DeviceIDOf(sha256.Sum256(state.PeerCertificates[0].Raw)) != pin {
				return errWrongServer
			}
			return nil
		}
	}
	return &http.Client{
		Timeout: lookupLimit,
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, DisableCompression: true,
			TLSHandshakeTimeout: lookupLimit, MaxResponseHeaderBytes: maxHeaderBytes,
			MaxIdleConnsPerHost: lookupsAtOnce, MaxConnsPerHost: lookupsAtOnce, IdleConnTimeout: 30 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

var errWrongServer = errors.New("the server shows another certificate than its ?id= says")

// lookup asks the server about one device. When urgent is true it asks even while the server rests. Its only errors
// are those of ctx.
func (s *server) lookup(ctx context.Context, id fleet.DeviceID, urgent bool) (finding, error) {
	if rest, resting := s.resting(); resting && !urgent {
		return rest, nil
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return finding{}, ctx.Err()
	}
	if err := s.pace.Wait(ctx); err != nil {
		if ctx.Err() != nil {
			return finding{}, ctx.Err()
		}
		return s.nothing("has too many look-ups of ours before this one", 0), nil // The wait exceeds the time of the caller.
	}
	if rest, resting := s.resting(); resting && !urgent { // the server may rest since this look-up began to wait
		return rest, nil
	}
	answer, err := s.ask(ctx, id)
	if ctx.Err() != nil {
		return finding{}, ctx.Err()
	}
	if err != nil {
		return s.rest(0, unreached(err)), nil
	}
	defer answer.Body.Close()
	return s.read(answer), nil
}

func (s *server) ask(ctx context.Context, id fleet.DeviceID) (*http.Response, error) {
	u := *s.url
	u.RawQuery = url.Values{"device": {string(id)}}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "muster")
	return s.client.Do(request)
}

// read reads an answer, which may contain anything.
func (s *server) read(answer *http.Response) finding {
	wait := retryAfter(answer.Header.Get("Retry-After"), s.now())
	switch status := answer.StatusCode; {
	case status == http.StatusOK:
		s.recovered()
		return s.readAddresses(answer.Body)
	case status == http.StatusNotFound:
		s.recovered()
		return s.nothing("does not know it", wait)
	case status == http.StatusTooManyRequests, status == http.StatusForbidden, status >= 500:
		return s.rest(wait, fmt.Sprintf("asks to be left alone for now (%d)", status))
	case status >= 300 && status < 400:
		return s.nothing("sends us elsewhere, which is not followed", wait)
	default:
		return s.nothing(fmt.Sprintf("refuses the question (%d)", status), wait)
	}
}

func (s *server) readAddresses(body io.Reader) finding {
	text, err := io.ReadAll(io.LimitReader(body, maxAnswerBytes+1))
	switch {
	case err != nil:
		return s.nothing("breaks off its answer", 0)
	case len(text) > maxAnswerBytes:
		return s.nothing("answers with far too much", 0)
	}
	var answer struct {
		Addresses []string `json:"addresses"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return s.nothing("gives an answer that makes no sense", 0)
	}
	usable, refused := parseAddresses(answer.Addresses, netip.Addr{}, s.allowLocal)
	switch {
	case len(usable) > 0:
		return finding{addresses: usable, until: s.now().Add(foundLife)}
	case refused != "":
		return s.nothing("has no usable address of it: the first one is "+refused, 0)
	}
	return s.nothing("has no address of it", 0)
}

func (s *server) nothing(why string, wait time.Duration) finding {
	if wait == 0 {
		wait = defaultWait
	}
	return finding{why: why, until: s.now().Add(wait)}
}

// retryAfter reads the header Retry-After, in seconds or as a date; 0 without a usable one.
func retryAfter(header string, now time.Time) time.Duration {
	if header == "" {
		return 0
	}
	wait := time.Duration(0)
	if seconds, err := strconv.ParseInt(strings.TrimSpace(header), 10, 64); err == nil {
		wait = time.Duration(min(max(seconds, 0), int64(maxWait/time.Second))) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxWait)
}

// rest keeps look-ups from the server for a while. A server that was not reached rests longer each time.
func (s *server) rest(wait time.Duration, why string) finding {
	s.mu.Lock()
	defer s.mu.Unlock()
	if wait == 0 {
		wait = max(s.restFor, firstRest)
		s.restFor = min(2*wait, maxWait)
	}
	s.restUntil, s.restWhy = s.now().Add(wait), why
	return finding{why: why, until: s.restUntil}
}

func (s *server) recovered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restUntil, s.restFor = time.Time{}, 0
}

func (s *server) resting() (finding, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return finding{why: s.restWhy, until: s.restUntil}, s.now().Before(s.restUntil)
}

// unreached tells a person why a server was not reached, without the URL that net/http puts in front.
func unreached(err error) string {
	var unverified *tls.CertificateVerificationError
	switch {
	case errors.Is(err, errWrongServer):
		return errWrongServer.Error()
	case errors.As(err, &unverified):
		return "shows a certificate that nobody vouches for (pin it with ?id=)"
	}
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return "does not answer in time"
	}
	return "cannot be reached"
}
