package discovery

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"muster/internal/fleet"
)

// lookupServer is a discovery server that answers as a test says, with a certificate of its own.
type lookupServer struct {
	*httptest.Server
	asked  atomic.Int64
	answer atomic.Pointer[http.HandlerFunc]
	seen   sync.Map // header names
}

func newLookupServer(t *testing.T, answer http.HandlerFunc) *lookupServer {
	t.Helper()
	s := &lookupServer{}
	s.answer.Store(&answer)
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		for name := range r.Header {
			s.seen.Store(name, true)
		}
		(*s.answer.Load())(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *lookupServer) says(answer http.HandlerFunc) { s.answer.Store(&answer) }

func (s *lookupServer) id() fleet.DeviceID {
	return fleet.DeviceIDOf(sha256.Sum256(s.Certificate().Raw))
}

func (s *lookupServer) pinned() string { return s.URL + "/v2/?id=" + string(s.id()) }

func body(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

func addresses(all ...string) http.HandlerFunc {
	return body(`{"seen":"2026-11-20T21:11:55Z","addresses":["` + strings.Join(all, `","`) + `"]}`)
}

// clock is a time that moves only when a test says so.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(0, c.at.Load()).UTC() }
func (c *clock) forward(d time.Duration) { c.at.Add(int64(d)) }

func newClock() *clock {
	c := &clock{}
	c.at.Store(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func newDiscovery(t *testing.T, o Options) (*Discovery, *clock) {
	t.Helper()
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	c := newClock()
	d.now = c.now
	return d, c
}

func deviceOf(name string) fleet.Device {
	return fleet.Device{ID: fleet.DeviceIDOf(sha256.Sum256([]byte(name))), APIKey: fleet.NewSecret("the-api-key"),
		APIPort: 8384}
}

func mustResolve(t *testing.T, d *Discovery, device fleet.Device, others ...Neighbours) Candidate {
	t.Helper()
	c, err := d.Resolve(context.Background(), device, true, first(others))
	if err != nil {
		t.Fatalf("resolve: %v", err)
	}
	return c
}

// first is nil where there is none.
func first(others []Neighbours) Neighbours {
	if len(others) == 0 {
		return nil
	}
	return others[0]
}

func mustNotFind(t *testing.T, d *Discovery, device fleet.Device, others ...Neighbours) *fleet.Error {
	t.Helper()
	c, err := d.Resolve(context.Background(), device, true, first(others))
	var e *fleet.Error
	if !errors.As(err, &e) || e.Code != fleet.CodeNotFound {
		t.Fatalf("resolve gave %+v, %v; want a not_found error", c, err)
	}
	return e
}

func TestAServersAddressesBecomeCandidates(t *testing.T) {
	s := newLookupServer(t, func(w http.ResponseWriter, r *http.Request) {
		if got, want := r.URL.Query().Get("device"), string(deviceOf("a").ID); got != want || r.URL.Path != "/v2/" {
			http.Error(w, "wrong question "+r.URL.String(), http.StatusBadRequest)
			return
		}
		addresses("relay://192.0.2.9:443/?id=X", "tcp://192.0.2.1:22001", "quic://192.0.2.1:22001",
			"tcp://HOME.example.org:22000", "tcp6://[2001:db8::1]")(w, r)
	})
	d, _ := newDiscovery(t, Options{Servers: []string{s.pinned()}})
	got, err := d.find(context.Background(), deviceOf("a"), true, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []Candidate{
		{Host: "192.0.2.1", By: ByGlobal, Introduced: fleet.ByServer, SyncAddresses: []string{
			"quic://192.0.2.1:22001", "tcp://192.0.2.1:22001",
			"tcp6://[2001:db8::1]:22000", "tcp://home.example.org:22000"}},
		{Host: "home.example.org", By: ByGlobal, Introduced: fleet.ByServer, SyncAddresses: []string{
			"tcp://home.example.org:22000", "quic://192.0.2.1:22001",
			"tcp6://[2001:db8::1]:22000", "tcp://192.0.2.1:22001"}},
		{Host: "2001:db8::1", By: ByGlobal, Introduced: fleet.ByServer, SyncAddresses: []string{
			"tcp6://[2001:db8::1]:22000", "quic://192.0.2.1:22001",
			"tcp://192.0.2.1:22001", "tcp://home.example.org:22000"}},
	}
	if len(got) != len(want) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	for i := range want {
		if got[i].Host != want[i].Host || got[i].By != want[i].By ||
			!slices.Equal(got[i].SyncAddresses, want[i].SyncAddresses) {
			t.Errorf("candidate %d: got %+v, want %+v", i, got[i], want[i])
		}
	}
	if n := s.asked.Load(); n != 1 {
		t.Errorf("the server was asked %d times, want once", n)
	}
}

func TestADeviceWithAnAddressIsNeverAskedFor(t *testing.T) {
	s := newLookupServer(t, addresses("tcp://192.0.2.1:22000"))
	d, _ := newDiscovery(t, Options{Servers: []string{s.pinned()}})
	device := deviceOf("a")
	device.APIAddress = "nas.example.org"
	if got := mustResolve(t, d, device); got.Host != "nas.example.org" || got.By != ByRecord || got.SyncAddresses != nil {
		t.Errorf("got %+v", got)
	}
	if n := s.asked.Load(); n != 0 {
		t.Errorf("the server was asked %d times", n)
	}
}

func TestResolveGoesThroughAllCandidatesAndBackToTheProvenOne(t *testing.T) {
	s := newLookupServer(t, addresses("tcp://192.0.2.1:22000", "tcp://192.0.2.2:22000", "tcp://192.0.2.3:22000"))
	d, c := newDiscovery(t, Options{Servers: []string{s.pinned()}})
	device := deviceOf("a")
	var got []string
	for range 4 {
		got = append(got, mustResolve(t, d, device).Host)
		c.forward(time.Second)
	}
	if want := []string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.1"}; !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	d.Proven(device.ID, "192.0.2.3")
	got = nil
	for range 3 {
		got = append(got, mustResolve(t, d, device).Host)
		c.forward(time.Second)
	}
	if want := []string{"192.0.2.3", "192.0.2.2", "192.0.2.1"}; !slices.Equal(got, want) {
		t.Errorf("after a proof: got %v, want %v", got, want)
	}
}

func TestWhatWasFoundIsRememberedForAWhile(t *testing.T) {
	s := newLookupServer(t, addresses("tcp://192.0.2.1:22000"))
	d, c := newDiscovery(t, Options{Servers: []string{s.pinned()}})
	for _, step := range []struct {
		after time.Duration
		asked int64
	}{{0, 1}, {foundLife - time.Second, 1}, {2 * time.Second, 2}} {
		c.forward(step.after)
		mustResolve(t, d, deviceOf("a"))
		if got := s.asked.Load(); got != step.asked {
			t.Fatalf("%s later the server was asked %d times in all, want %d", step.after, got, step.asked)
		}
	}
}

func TestRetryAfterIsHonouredUpToFiveMinutesAndEndsWithForget(t *testing.T) {
	for name, c := range map[string]struct {
		header string
		wait   time.Duration
	}{
		"seconds":     {"90", 90 * time.Second},
		"an hour":     {"3600", maxWait},
		"absurd":      {"99999999999999999", maxWait},
		"overflowing": {strings.Repeat("9", 400), defaultWait},
		"negative":    {"-5", defaultWait},
		"a date":      {"Fri, 20 Nov 2026 12:02:00 GMT", 2 * time.Minute},
		"a past date": {"Fri, 20 Nov 2020 12:02:00 GMT", defaultWait},
		"nonsense":    {"soon", defaultWait},
		"missing":     {"", defaultWait},
	} {
		t.Run(name, func(t *testing.T) {
			s := newLookupServer(t, status(404, "Retry-After", c.header))
			d, clock := newDiscovery(t, Options{Servers: []string{s.pinned()}})
			device := deviceOf("a")
			expect := func(asked int64) {
				t.Helper()
				mustNotFind(t, d, device)
				if got := s.asked.Load(); got != asked {
					t.Fatalf("the server was asked %d times, want %d", got, asked)
				}
			}
			expect(1)
			clock.forward(c.wait - time.Second)
			expect(1)
			d.Forget(device.ID)
			expect(2)
			expect(2)
			clock.forward(c.wait)
			expect(3)
		})
	}
}

func TestOneDevicesWaitIsNotAnothers(t *testing.T) {
	s := newLookupServer(t, status(404, "Retry-After", "300"))
	d, _ := newDiscovery(t, Options{Servers: []string{s.pinned()}})
	mustNotFind(t, d, deviceOf("a"))
	s.says(addresses("tcp://192.0.2.1:22000"))
	mustNotFind(t, d, deviceOf("a"))
	if got := mustResolve(t, d, deviceOf("b")); got.Host != "192.0.2.1" {
		t.Errorf("got %+v", got)
	}
}

func TestAServerThatAsksForRestIsLeftAloneByAllButUrgentLookups(t *testing.T) {
	for _, code := range []int{429, 503, 403} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			s := newLookupServer(t, status(code, "Retry-After", "120"))
			d, clock := newDiscovery(t, Options{Servers: []string{s.pinned()}})
			for _, name := range []string{"a", "b", "c"} {
				e := mustNotFind(t, d, deviceOf(name))
				if !strings.Contains(e.Hint, "12:02:00 UTC") {
					t.Errorf("the hint does not name the next time: %q", e.Hint)
				}
			}
			if got := s.asked.Load(); got != 1 {
				t.Fatalf("asked %d times, want once", got)
			}
			d.Forget(deviceOf("b").ID)
			mustNotFind(t, d, deviceOf("b"))
			if got := s.asked.Load(); got != 2 {
				t.Fatalf("asked %d times after a PUT, want twice", got)
			}
			clock.forward(2*time.Minute + time.Second)
			s.says(addresses("tcp://192.0.2.1:22000"))
			mustResolve(t, d, deviceOf("a"))
		})
	}
}

func TestAnUnreachableServerGetsLongerRestsAndIsNamed(t *testing.T) {
	s := newLookupServer(t, body("{}"))
	url := s.pinned()
	s.Close()
	d, clock := newDiscovery(t, Options{Servers: []string{url}})
	e := mustNotFind(t, d, deviceOf("a"))
	if !strings.Contains(e.Message, "cannot be reached") {
		t.Errorf("message %q", e.Message)
	}
	want := firstRest
	for range 7 {
		rest, resting := d.servers[0].resting()
		if !resting || rest.until.Sub(clock.now()) != want {
			t.Fatalf("rests until %s, %s from now; want %s", rest.until, rest.until.Sub(clock.now()), want)
		}
		clock.forward(want)
		mustNotFind(t, d, deviceOf("a"))
		want = min(2*want, maxWait)
	}
}

func TestThePersonIsToldWhoWasAskedAndWhatHelps(t *testing.T) {
	unknown, relays := newLookupServer(t, status(404, "Retry-After", "100")),
		newLookupServer(t, addresses("relay://192.0.2.9:443/?id=X"))
	d, _ := newDiscovery(t, Options{Servers: []string{unknown.pinned(), relays.pinned()}, LocalPort: 21027})
	e := mustNotFind(t, d, deviceOf("a"), &neighbours{})
	for _, want := range []string{"does not know it", "a relay, not the device",
		"nobody announces it on the local network", "no other managed daemon is online"} {
		if !strings.Contains(e.Message, want) {
			t.Errorf("message %q lacks %q", e.Message, want)
		}
	}
	for _, want := range []string{"12:01:00 UTC", "apiAddress", "saved again"} {
		if !strings.Contains(e.Hint, want) {
			t.Errorf("hint %q lacks %q", e.Hint, want)
		}
	}
}

func TestOffMeansNobodyIsAsked(t *testing.T) {
	n := &neighbours{online: []fleet.DeviceID{deviceOf("n").ID}}
	d, _ := newDiscovery(t, Options{Servers: []string{"none"}, LocalPort: 21027})
	if e := mustNotFind(t, d, deviceOf("a"), n); !strings.Contains(e.Message, "discovery is off") {
		t.Errorf("message %q", e.Message)
	}
	if n.calls.Load() != 0 {
		t.Error("a neighbour was asked")
	}
}

func TestALookupEndsWithItsContext(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	s := newLookupServer(t, func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-release
	})
	defer close(release)
	d, _ := newDiscovery(t, Options{Servers: []string{s.pinned()}})
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-arrived; cancel() }()
	if _, err := d.Resolve(ctx, deviceOf("a"), true, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, resting := d.servers[0].resting(); resting {
		t.Error("the server rests because somebody gave up")
	}
}

func TestLookupsOfOneServerAreBounded(t *testing.T) {
	var now, most atomic.Int64
	s := newLookupServer(t, func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
		}
		addresses("tcp://192.0.2.1:22000")(w, r)
	})
	d, _ := newDiscovery(t, Options{Servers: []string{s.pinned()}})
	var all sync.WaitGroup
	var failed atomic.Int64
	for i := range 100 {
		all.Go(func() {
			if _, err := d.Resolve(context.Background(), deviceOf(fmt.Sprint(i)), true, nil); err != nil {
				failed.Add(1)
			}
		})
	}
	all.Wait()
	if failed.Load() != 0 || s.asked.Load() != 100 || most.Load() > lookupsAtOnce {
		t.Errorf("%d failed, %d asked, %d at once (limit %d)", failed.Load(), s.asked.Load(), most.Load(), lookupsAtOnce)
	}
}

func TestForgettingManyDevicesKeepsNothing(t *testing.T) {
	d, c := newDiscovery(t, Options{Servers: []string{"https://discovery.example.org/"}})
	for i := range 3 * maxUrgent {
		d.Forget(deviceOf(fmt.Sprint(i)).ID)
	}
	c.forward(2 * urgentLife)
	d.Forget(deviceOf("last").ID)
	if len(d.urgent) != 1 || len(d.devices) != 0 {
		t.Errorf("%d urgent, %d devices are kept", len(d.urgent), len(d.devices))
	}
}
