package writer_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"muster/test/daemon"
)

// forAPerson is a daemon with the folders and devices that a person edits.
func forAPerson(t *testing.T) *daemon.Daemon {
	t.Helper()
	d := daemon.Start(t, daemon.Options{})
	d.Put("/rest/config/devices", fmt.Sprintf(`[{"deviceID": %q}, {"deviceID": %q}, {"deviceID": %q}]`, peerA, peerB,
		peerC))
	d.Put("/rest/config/folders", fmt.Sprintf(`[
		{"id": "managed", "path": "~/managed", "paused": true, "devices": [{"deviceID": %q}],
			"versioning": {"type": "simple", "params": {"keep": "5", "mine": "1"}}},
		{"id": "own", "path": "~/own", "paused": true}]`, peerA))
	return d
}

// unmanaged is the yardstick: a daemon without Muster, a person who edits it, and a plain program that writes to the
// same places by the narrowest call. What is lost there the daemon loses by itself.
type unmanaged struct {
	d      *daemon.Daemon
	person *person
	writes int // of the program
	lost   int // edits of the person
}

func newUnmanaged(t *testing.T, r *rand.Rand) *unmanaged {
	t.Helper()
	d := forAPerson(t)
	return &unmanaged{d: d, person: newPerson(t, d, r)}
}

// round has the person act beside so many writes, spread over the time that Muster's took.
func (u *unmanaged) round(acts, writes int, took time.Duration) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(took/time.Duration(writes+1) + time.Millisecond)
		defer tick.Stop()
		for range writes {
			<-tick.C
			u.write()
		}
	}()
	u.person.acts(acts)
	<-done
	lost, _ := u.person.check(&proxy{})
	u.lost += len(lost)
}

// write sends the next of the values that Muster's templates ask for in turn.
func (u *unmanaged) write() {
	u.writes++
	n := u.writes
	switch n % 5 {
	case 0:
		u.send("options", fmt.Sprintf(`{"maxSendKbps": %d}`, 100+n))
	case 1:
		u.send("folders/managed", fmt.Sprintf(`{"rescanIntervalS": %d}`, 100+n))
	case 2:
		u.send("devices/"+peerC, fmt.Sprintf(`{"compression": %q}`, []string{"always", "never"}[n%2]))
	case 3:
		u.send("defaults/folder", fmt.Sprintf(`{"rescanIntervalS": %d}`, 100+n))
	case 4:
		u.share()
	}
}

// share adds peerC to the managed folder's list, or takes it out, by what it reads right before.
func (u *unmanaged) share() {
	_, folder := u.d.Do("GET", "/rest/config/folders/managed", nil)
	list, _ := toggled(parse(u.person.t, folder).Get("devices"), peerC)
	u.send("folders/managed", fmt.Sprintf(`{"devices": %s}`, list.JSON()))
}

func (u *unmanaged) send(path, body string) {
	if status, answer := u.d.Do("PATCH", "/rest/config/"+path, body); status != 200 {
		u.person.t.Errorf("PATCH %s %s: %d %s", path, body, status, answer)
	}
}
