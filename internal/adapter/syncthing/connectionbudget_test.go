package syncthing

import (
	"context"
	"net/http"
	"sync"
	"testing"

	"muster/internal/fleet"
)

// counted has room for so many kept connections, and counts all places that are taken.
type counted struct {
	mu    sync.Mutex
	room  int
	taken map[string]int
	most  int // places at a time, without those for opening
}

func (p *counted) take(kind string) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken == nil {
		p.taken = map[string]int{}
	}
	p.taken[kind]++
	p.most = max(p.most, p.taken["keep"]+p.taken["visit"]+p.taken["second"])
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.taken[kind]--
	}
}

func (p *counted) Keep() (func(), bool) {
	if p.room == 0 {
		return nil, false
	}
	return p.take("keep"), true
}

func (p *counted) Visit(context.Context, bool) (func(), error) { return p.take("visit"), nil }
func (p *counted) Second(context.Context) (func(), error)      { return p.take("second"), nil }
func (p *counted) Open(context.Context, bool) (func(), error)  { return p.take("open"), nil }

func (p *counted) wantTaken(t *testing.T, kept, visits int) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken["keep"] != kept || p.taken["visit"] != visits || p.taken["second"] != 0 || p.taken["open"] != 0 {
		t.Errorf("taken are %v, want %d kept and %d visits", p.taken, kept, visits)
	}
}

func withPlaces(t *testing.T, f *fake, places Places) *Client {
	t.Helper()
	c := New(f.target(), Options{Places: places})
	t.Cleanup(c.Close)
	return c
}

// Connections to daemons that nothing bounds took every descriptor.
func TestEveryConnectionHasAPlace(t *testing.T) {
	f := newFake(t, fakeOptions{})
	places := &counted{}
	c := withPlaces(t, f, places)
	if c.Keep() {
		t.Fatal("a connection is kept without a place")
	}
	for range 3 {
		if _, err := c.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if f.dialled() != 3 {
		t.Errorf("%d connections for 3 calls without a place to keep one", f.dialled())
	}
	places.wantTaken(t, 0, 0)
	if err := c.Visit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := c.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	places.wantTaken(t, 0, 1)
	if err := c.Visit(t.Context()); err != nil { // again, as after a restart of the daemon: it must not wait for itself
		t.Fatal(err)
	}
	places.wantTaken(t, 0, 1)
	c.CloseIdle()
	places.wantTaken(t, 0, 0)
	if f.dialled() != 4 {
		t.Errorf("%d connections, want one more for the whole visit", f.dialled())
	}
	if places.most != 1 {
		t.Errorf("%d places at a time", places.most)
	}
}

func TestAVisitTurnsIntoAKeptConnection(t *testing.T) {
	f := newFake(t, fakeOptions{})
	places := &counted{}
	c := withPlaces(t, f, places)
	if err := c.Visit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c.Keep() {
		t.Fatal("a visit counts as kept")
	}
	if _, err := c.Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	places.room = 1
	if !c.Keep() {
		t.Fatal("there was room")
	}
	places.wantTaken(t, 1, 0)
	if _, err := c.Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f.dialled() != 1 {
		t.Errorf("%d connections", f.dialled())
	}
	c.CloseIdle()
	places.wantTaken(t, 0, 0)
	c.Close()
	if c.Keep() || c.Visit(t.Context()) == nil {
		t.Error("a closed client keeps a connection")
	}
	places.wantTaken(t, 0, 0)
}

// The place of a connection that is in use is free only when the call is done: else there is one connection too many.
func TestAPlaceIsHeldUntilItsConnectionIsClosed(t *testing.T) {
	f := newFake(t, fakeOptions{})
	asked, answer := make(chan struct{}), make(chan struct{})
	f.handle("/rest/system/version", func(w http.ResponseWriter, _ *http.Request) {
		close(asked)
		<-answer
		http.NotFound(w, nil)
	})
	places := &counted{room: 1}
	c := withPlaces(t, f, places)
	c.Keep()
	done := make(chan error)
	go func() {
		_, err := c.Version(t.Context())
		done <- err
	}()
	<-asked
	c.CloseIdle()
	places.wantTaken(t, 1, 0)
	close(answer)
	if err := <-done; fleet.CodeOf(err) != fleet.CodeNotFound {
		t.Error(err)
	}
	places.wantTaken(t, 0, 0)
}
