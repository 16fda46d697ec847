package auth

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// recorded is the audit of one kind.
func (p *people) recorded(what string) []fleet.AuditEntry {
	p.t.Helper()
	entries, err := p.store.Audit(p.t.Context(), fleet.AuditQuery{What: what})
	if err != nil {
		p.t.Fatal(err)
	}
	return entries
}

// waits tells whether an attempt waits for the turn of another one.
func (p *people) waits(name string) bool {
	p.queues.mu.Lock()
	defer p.queues.mu.Unlock()
	return p.queues.of[hashOf(name)].attempts > 1
}

// A client that hung up during the hash got no row in the audit, and saw by the answer whether the password was right.
func TestAClientThatHungUpTriedPasswordsWithoutATrace(t *testing.T) {
	p := newPeople(t)
	p.user("anna", fleet.RoleViewer)
	hangingUp := func() context.Context {
		ctx, cancel := context.WithCancel(t.Context())
		p.store.hook = cancel
		return ctx
	}
	for password, want := range map[string]fleet.Code{"wrong password": fleet.CodeUnauthorized, goodPassword: ""} {
		_, err := p.LogIn(hangingUp(), "anna", password, Client{Address: "192.0.2.7"})
		if fleet.CodeOf(err) != want {
			t.Errorf("%q: got %v, want the code %q", password, err, want)
		}
	}
	if got := p.recorded("login.fail"); len(got) != 1 || got[0].Subject != "anna" {
		t.Errorf("got the failures %+v", got)
	}
	sessions, err := p.store.Sessions(t.Context(), "anna")
	if err != nil || len(sessions) != 1 {
		t.Fatalf("got the sessions %+v, %v", sessions, err)
	}
	who := Principal{Name: "anna", Role: fleet.RoleViewer, Session: sessions[0].ID}
	_, err = p.ChangePassword(hangingUp(), who, "wrong password", "another password", Client{})
	if fleet.CodeOf(err) != fleet.CodeForbidden {
		t.Errorf("got %v", err)
	}
	if got := p.recorded("login.fail"); len(got) != 2 {
		t.Errorf("got the failures %+v", got)
	}
}

// One viewer kept all others from logging in, by logging in all the time.
func TestAUserWhoLogsInAllTheTimeCostsFewHashes(t *testing.T) {
	p := newPeople(t)
	p.user("anna", fleet.RoleViewer)
	p.user("bert", fleet.RoleViewer)
	device := p.login("anna").Device
	logIn := func() error {
		_, err := p.LogIn(t.Context(), "anna", goodPassword, Client{Address: "192.0.2.7", Device: device})
		return err
	}
	for n := range 5 { // what others try does not count
		_, _ = p.LogIn(t.Context(), "anna", "wrong password", Client{Address: fmt.Sprint("203.0.113.", n)})
	}
	for n := range 9 {
		if err := logIn(); err != nil {
			t.Fatalf("log-in %d: %v", n, err)
		}
	}
	before := p.passwords.made.Load()
	for range 20 {
		if err := logIn(); fleet.CodeOf(err) != fleet.CodeTooMany || !strings.Contains(err.Error(), "too often") {
			t.Errorf("got %v", err)
		}
	}
	if made := p.passwords.made.Load() - before; made != 0 {
		t.Errorf("%d hashes were made for what is refused", made)
	}
	p.login("bert")
	p.move(p.now().Add(10 * time.Second))
	if err := logIn(); err != nil {
		t.Errorf("got %v after an interval", err)
	}
}

func TestAnAccountHasOneHashMadeAtATime(t *testing.T) {
	p := newPeople(t)
	p.user("anna", fleet.RoleViewer)
	p.user("bert", fleet.RoleViewer)
	leave, err := p.queues.enter(t.Context(), hashOf("anna"))
	if err != nil {
		t.Fatal(err)
	}
	before := p.passwords.made.Load()
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := p.LogIn(ctx, "Anna", goodPassword, Client{Address: "192.0.2.7"})
		failed <- err
	}()
	for !p.waits("anna") {
		select {
		case err := <-failed:
			t.Fatalf("the account has two hashes made at a time, %v", err)
		default:
			runtime.Gosched()
		}
	}
	p.login("bert")
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	leave()
	if made := p.passwords.made.Load() - before; made != 1 {
		t.Errorf("%d hashes were made, want that of bert", made)
	}
	p.login("anna")
	if len(p.queues.of) != 0 {
		t.Errorf("got %v: what is over is remembered", p.queues.of)
	}
}

func TestATurnIsWaitedForNoLongerThanAHash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queues := newAccountQueues()
		leave, err := queues.enter(t.Context(), "anna")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := queues.enter(t.Context(), "anna"); fleet.CodeOf(err) != fleet.CodeTooMany {
			t.Errorf("got %v", err)
		}
		if waited := time.Since(began); waited != hashWait {
			t.Errorf("waited %v", waited)
		}
		leave()
		if len(queues.of) != 0 {
			t.Errorf("got %v", queues.of)
		}
	})
}

// Guesses at one account filled the audit; each row of another account is there all the same.
func TestGuessesAtOneAccountFilledTheAudit(t *testing.T) {
	p := newPeople(t)
	p.user("anna", fleet.RoleViewer)
	p.user("bert", fleet.RoleViewer)
	for range 8 {
		_, _ = p.LogIn(t.Context(), "anna", "wrong password", Client{Address: "192.0.2.7"})
	}
	_, _ = p.LogIn(t.Context(), "bert", "wrong password", Client{Address: "192.0.2.7"})
	p.move(p.now().Add(2 * time.Minute))
	_, _ = p.LogIn(t.Context(), "anna", "wrong password", Client{Address: "192.0.2.7"})
	got := map[string]int{}
	for _, e := range p.recorded("login.fail") {
		got[e.Subject+" "+e.Detail]++
	}
	const detail = " wrong password, from 192.0.2.7"
	if len(got) != 3 || got["anna"+detail] != 6 || got["bert"+detail] != 1 || got["anna and 3 more"] != 1 {
		t.Errorf("got %v", got)
	}
}

// A clock that was set back by an hour kept every person out for that hour; one that was set forward forgot what was
// tried.
func TestAClockThatIsSetKeepsNobodyOutAndForgetsNoAttempt(t *testing.T) {
	p := newPeople(t)
	p.user("anna", fleet.RoleViewer)
	from := Client{Address: "192.0.2.7"}
	wrong := func() fleet.Code {
		_, err := p.LogIn(t.Context(), "anna", "wrong password", from)
		return fleet.CodeOf(err)
	}
	for n := range perAccount.burst {
		if code := wrong(); code != fleet.CodeUnauthorized {
			t.Fatalf("attempt %d: got %s", n, code)
		}
	}
	for _, by := range []time.Duration{-time.Hour, 24 * time.Hour, -24 * time.Hour} {
		p.set(p.now().Add(by))
		if code := wrong(); code != fleet.CodeTooMany {
			t.Errorf("the clock was set by %v: got %s, want the attempts to count", by, code)
		}
	}
	p.set(noon.Add(-time.Hour))
	p.move(p.now().Add(perAccount.interval))
	if _, err := p.LogIn(t.Context(), "anna", goodPassword, from); err != nil {
		t.Errorf("after an interval: got %v", err)
	}
}
