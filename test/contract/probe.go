package contract

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/stsim"
)

// patience is how long something may take that happens at all: an API that restarts is away for up to 18 seconds.
const patience = 60 * time.Second

// Probe asks one daemon and fails the test when the answer is another one.
type Probe struct {
	*testing.T
	Target
	key    string
	client *http.Client
}

func newProbe(t *testing.T, target Target) *Probe {
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	return &Probe{T: t, Target: target, key: target.Key(), client: &http.Client{
		Transport: transport, Timeout: patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// V1 tells which of two answers a version gives.
func (p *Probe) V1() bool { return p.Version() == stsim.V1 }

// byVersion picks what the daemon's version should say.
func byVersion[T any](p *Probe, v1, v2 T) T {
	if p.V1() {
		return v1
	}
	return v2
}

// Answer is what came back.
type Answer struct {
	Status int
	Header http.Header
	Text   string
}

// Request is one request before it is sent.
type Request struct {
	Method, Path, Body string
	Scheme             string // "https" when empty
	Host               string // header; the address when empty
	Header             map[string]string
}

// Send sends a request as it is, once: no key but those in Header.
func (p *Probe) Send(r Request) (Answer, error) {
	scheme := r.Scheme
	if scheme == "" {
		scheme = "https"
	}
	request, err := http.NewRequest(r.Method, scheme+"://"+p.HostPort()+r.Path, strings.NewReader(r.Body))
	if err != nil {
		return Answer{}, err
	}
	if r.Host != "" {
		request.Host = r.Host
	}
	for name, value := range r.Header {
		request.Header.Set(name, value)
	}
	response, err := p.client.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return Answer{Status: response.StatusCode, Header: response.Header, Text: string(text)}, err
}

// Do sends a request with the daemon's key. While the API restarts it tries again.
func (p *Probe) Do(method, path, body string) Answer {
	p.Helper()
	var answer Answer
	p.Until("the API answers "+method+" "+path, func() error {
		var err error
		answer, err = p.Send(Request{Method: method, Path: path, Body: body, Header: map[string]string{"X-API-Key": p.key}})
		return err
	})
	return answer
}

// MustDo wants 200.
func (p *Probe) MustDo(method, path, body string) string {
	p.Helper()
	answer := p.Do(method, path, body)
	if answer.Status != http.StatusOK {
		p.Fatalf("%s %s %s: got %d %s, want 200", method, path, body, answer.Status, answer.Text)
	}
	return answer.Text
}

// Once sends what takes the access away, one time. Its answer may be lost with the connections of an API that restarts.
func (p *Probe) Once(method, path, body string) {
	p.Helper()
	p.MustDo("GET", "/rest/system/ping", "")
	answer, err := p.Send(Request{Method: method, Path: path, Body: body, Header: map[string]string{"X-API-Key": p.key}})
	if err == nil && answer.Status != http.StatusOK {
		p.Fatalf("%s %s %s: got %d %s, want 200", method, path, body, answer.Status, answer.Text)
	}
}

// Refused wants that status, and the text where one is given.
func (p *Probe) Refused(method, path, body string, status int, text string) {
	p.Helper()
	answer := p.Do(method, path, body)
	if answer.Status != status || text != "" && !strings.Contains(answer.Text, text) {
		p.Errorf("%s %s %s: got %d %q, want %d %q", method, path, body, answer.Status, answer.Text, status, text)
	}
}

// Get reads a path as JSON.
func (p *Probe) Get(path string) stconfig.Value {
	p.Helper()
	v, err := stconfig.Parse([]byte(p.MustDo("GET", path, "")))
	if err != nil {
		p.Fatalf("GET %s: %v", path, err)
	}
	return v
}

// Config writes a whole document and gives what the daemon made of it. Version and gui are the present ones, or the
// daemon would be out of reach; it listens on a free port where the document does not say otherwise.
func (p *Probe) Config(body string) stconfig.Value {
	p.Helper()
	doc, err := stconfig.Parse([]byte(body))
	if err != nil {
		p.Fatal(err)
	}
	now := p.Get("/rest/config")
	doc = doc.With("version", now.Get("version")).With("gui", now.Get("gui"))
	if !at(doc, "options.listenAddresses").Exists() {
		options := doc.Get("options")
		if !options.Exists() {
			options = stconfig.Obj()
		}
		doc = doc.With("options", options.With("listenAddresses", stconfig.List(stconfig.Text("tcp://127.0.0.1:0"))))
	}
	p.MustDo("PUT", "/rest/config", string(doc.JSON()))
	return p.Get("/rest/config")
}

// Is compares the value at a path of member names with JSON text.
func (p *Probe) Is(v stconfig.Value, path, want string) {
	p.Helper()
	got := at(v, path)
	wanted, err := stconfig.Parse([]byte(want))
	if err != nil {
		p.Fatal(err)
	}
	if !got.Equal(wanted) {
		p.Errorf("%s: got %s, want %s", path, got.JSON(), want)
	}
}

// at follows names and, in lists, positions: "folders.0.id".
func at(v stconfig.Value, path string) stconfig.Value {
	for name := range strings.SplitSeq(path, ".") {
		if name == "" {
			continue
		}
		if v.Kind() != stconfig.Array {
			v = v.Get(name)
			continue
		}
		var i int
		if _, err := fmt.Sscan(name, &i); err != nil || i >= v.Len() {
			return stconfig.Value{}
		}
		v = v.At(i)
	}
	return v
}

// texts are the texts at a path of each member of a list.
func texts(list stconfig.Value, path string) []string {
	var all []string
	for member := range list.Values() {
		all = append(all, at(member, path).Str())
	}
	return all
}

// Until repeats something until it holds.
func (p *Probe) Until(what string, holds func() error) {
	p.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := holds()
		if err == nil {
			return
		}
		select {
		case <-deadline.C:
			p.Fatalf("after %s still not: %s: %v", patience, what, err)
		case <-tick.C:
		}
	}
}

// Gone wants that nobody listens at the API's address any more. "Refused" once may be a restart: it must stay so.
func (p *Probe) Gone() {
	p.Helper()
	const times = 20
	refused := 0
	p.Until("nobody listens at "+p.HostPort(), func() error {
		c, err := net.DialTimeout("tcp", p.HostPort(), time.Second)
		if err == nil {
			_ = c.Close()
			refused = 0
			return errors.New("somebody listens")
		}
		if refused++; refused < times {
			return errors.New("refused, but not for long")
		}
		return nil
	})
}

// Event is one event of the daemon.
type Event struct {
	ID, Global string
	Type       string
	Data       stconfig.Value
}

// Poll asks for events once.
func (p *Probe) Poll(mask, since string, more string) []Event {
	p.Helper()
	values := url.Values{"events": {mask}, "since": {since}}
	if mask == "" {
		values.Del("events")
	}
	list := p.Get("/rest/events?" + values.Encode() + more)
	var events []Event
	for e := range list.Values() {
		events = append(events, Event{ID: e.Get("id").Str(), Global: e.Get("globalID").Str(), Type: e.Get("type").Str(),
			Data: e.Get("data")})
	}
	return events
}

// Quiet waits until the second telling of every earlier change, which comes five seconds later, is over.
func (p *Probe) Quiet(mask string) {
	p.Helper()
	since := "0"
	p.Until("nothing more is told", func() error {
		got := p.Poll(mask, since, "&timeout=7")
		if len(got) == 0 {
			return nil
		}
		since = got[len(got)-1].ID
		return fmt.Errorf("told: %s", types(got))
	})
}

// Watch begins to record the events of a mask, and gives a function that waits for more of them until wanted is
// content with all so far.
func (p *Probe) Watch(mask string) func(what string, wanted func([]Event) bool) []Event {
	p.Helper()
	since := "0"
	for _, e := range p.Poll(mask, "0", "&timeout=0") {
		since = e.ID
	}
	var all []Event
	return func(what string, wanted func([]Event) bool) []Event {
		p.Helper()
		p.Until(what, func() error {
			for _, e := range p.Poll(mask, since, "&timeout=1") {
				since = e.ID
				all = append(all, e)
			}
			if !wanted(all) {
				return fmt.Errorf("events so far: %s", types(all))
			}
			return nil
		})
		return all
	}
}

func types(events []Event) []string {
	var names []string
	for _, e := range events {
		names = append(names, e.Type)
	}
	return names
}

// path escapes a folder ID for a narrow endpoint.
func path(collection, id string) string {
	return "/rest/config/" + collection + "/" + url.PathEscape(id)
}
