//muster:needs daemons
//muster:test -race=false
package guard_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"muster/api"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/daemon"
	"muster/test/guard"
	"muster/test/server"
	"muster/test/simulated"
)

func TestMain(m *testing.M) {
	server.Main()
	os.Exit(m.Run())
}

// soaking tells whether `make soak` runs: full counts, no time limit.
func soaking() bool { return os.Getenv("MUSTER_SOAK") != "" }

// lanes is how many daemons of each version take turns with the cases.
const lanes = 4

// Every case against simulated daemons of both versions: Muster sends nothing, and afterwards each daemon answers to
// its key with everything it had.
func TestSimulatedDaemonsKeepWhatTheyHave(t *testing.T) {
	t.Parallel()
	farm := simulated.Start(t, stsim.Options{Count: 2 * lanes, Network: 83, Versions: []stsim.Version{stsim.V2, stsim.V1},
		Folders: 2, Quiet: true})
	s := server.Start(t, server.Options{})
	var work sync.WaitGroup
	tried := make([]int, 2*lanes)
	for i, d := range farm.Daemons() {
		work.Go(func() {
			l := newLane(t, s, fmt.Sprint("lane-", i), target{id: d.ID(), key: d.APIKey(), host: d.Host(), port: d.Port(),
				writes: func() int { return d.Counters().Writes }})
			l.proveThatItWrites()
			tried[i] = l.run(func(n int, _ guard.Case) bool { return n%lanes == i/2 })
		})
	}
	work.Wait()
	for version := range 2 {
		sum := 0
		for i := version; i < len(tried); i += 2 {
			sum += tried[i]
		}
		t.Logf("%s: %d cases", farm.Daemon(version).Version(), sum)
		if sum < 150 {
			t.Errorf("%s: only %d cases", farm.Daemon(version).Version(), sum)
		}
	}
}

// The same against a real daemon: every threat and every loss once, each in another spelling; all of them with
// MUSTER_SOAK=1.
func TestARealDaemonKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	d := daemon.Start(t, daemon.Options{})
	d.AddFolder("other")
	l := newLane(t, s, "real", target{id: d.ID, key: d.APIKey, host: d.Address, port: d.Port})
	l.proveThatItWrites()
	spellings := map[string]int{}
	tried := l.run(func(_ int, c guard.Case) bool {
		what, _, _ := strings.Cut(c.Name, "/")
		spellings[what]++
		return soaking() || spellings[what] == 1+3*len(spellings)%20
	})
	t.Logf("%d cases", tried)
	if tried < len(guard.Threats) {
		t.Errorf("only %d cases", tried)
	}
}

// target is one daemon.
type target struct {
	id     fleet.DeviceID
	key    string
	host   string
	port   int
	writes func() int // that arrived so far; nil when nobody counts
}

// lane is a daemon that gets one case after the other, by a tag of its own.
type lane struct {
	t      *testing.T
	s      *server.Server
	tag    string
	daemon target
	before stconfig.Value
}

// newLane makes the scene on a daemon and registers it.
func newLane(t *testing.T, s *server.Server, tag string, d target) *lane {
	t.Helper()
	d.must(t, http.MethodPut, "/rest/config/devices", fmt.Sprintf(`[{"deviceID": %q, "name": "peer"}]`, guard.Peer))
	d.must(t, http.MethodPut, "/rest/config/folders", fmt.Sprintf(
		`[{"id": %q, "path": "~/photos", "devices": [{"deviceID": %q}, {"deviceID": %q, "encryptionPassword": "old"}]}]`,
		guard.Folder, d.id, guard.Peer))
	s.Register(d.id, d.key, d.host, d.port, tag)
	s.WaitConfiguration(d.id, fleet.ConfigUnmanaged)
	return &lane{t: t, s: s, tag: tag, daemon: d, before: d.config(t)}
}

// proveThatItWrites shows that a template without harm does reach the daemon, and leaves it again.
func (l *lane) proveThatItWrites() {
	l.t.Helper()
	id := l.s.Template("set", "options.maxSendKbps", "4711", l.tag)
	l.s.WaitConfiguration(l.daemon.id, fleet.ConfigInSync)
	if got := l.daemon.config(l.t).Get("options").Get("maxSendKbps").Str(); got != "4711" {
		l.t.Fatalf("a harmless template does not reach the daemon: maxSendKbps is %s", got)
	}
	l.takeAway(id)
}

// takeAway deletes a template and waits until the daemon is as it was.
func (l *lane) takeAway(template int64) {
	l.t.Helper()
	if err := l.s.Client.DeleteTemplate(l.t.Context(), template); err != nil {
		l.t.Fatal(err)
	}
	l.s.WaitConfiguration(l.daemon.id, fleet.ConfigUnmanaged)
	if changes := stconfig.Diff(l.before, l.daemon.config(l.t)); len(changes) > 0 {
		l.t.Fatalf("without templates %s is not as before", changes[0].Key)
	}
}

// run tries every case that is picked and says how many.
func (l *lane) run(picked func(n int, c guard.Case) bool) (tried int) {
	l.t.Helper()
	cases, err := guard.Cases(guard.Scene{Own: l.daemon.id, Host: l.daemon.host, Port: strconv.Itoa(l.daemon.port),
		Doc: l.before})
	if err != nil {
		l.t.Fatal(err)
	}
	for n, c := range cases {
		if picked(n, c) && !l.t.Failed() {
			l.try(c)
			tried++
		}
	}
	return tried
}

// try gives the daemon one template that does harm, and takes it away again.
func (l *lane) try(c guard.Case) {
	l.t.Helper()
	written := l.written()
	id, saved := l.save(c)
	if !saved {
		l.checkDaemon(c)
		return
	}
	state := l.s.WaitState(l.daemon.id, "held or failed: "+c.Name, func(s api.DeviceState) bool {
		return s.Configuration == string(fleet.ConfigHeld) || s.Configuration == string(fleet.ConfigFailed)
	})
	if state.Reason == "" || state.Next == "" {
		l.t.Errorf("%s: nobody is told why: %+v", c.Name, state)
	}
	l.checkDaemon(c)
	if state.Configuration == string(fleet.ConfigHeld) {
		l.checkPlan(c)
	} else if !c.MayFail {
		l.t.Errorf("%s: failed: %s", c.Name, state.Reason)
	}
	if sent := l.written() - written; sent != 0 && !c.Harmless {
		l.t.Errorf("%s: %d writes", c.Name, sent)
	}
	l.takeAway(id)
}

// save makes the template; the key alone may be reason enough to refuse it.
func (l *lane) save(c guard.Case) (id int64, saved bool) {
	l.t.Helper()
	op := string(c.Op)
	made, err := l.s.Client.CreateTemplate(l.t.Context(), api.PutTemplate{Label: &c.Name, Op: &op, Key: &c.Key,
		Template: &c.Text})
	if c.MayFail && fleet.CodeOf(err) == fleet.CodeInvalid {
		return 0, false
	}
	if err != nil {
		l.t.Fatalf("%s: %v", c.Name, err)
	}
	if _, err := l.s.Client.TagTemplate(l.t.Context(), made.ID, l.tag); err != nil {
		l.t.Fatal(err)
	}
	return made.ID, true
}

func (l *lane) written() int {
	if l.daemon.writes == nil {
		return 0
	}
	return l.daemon.writes()
}

func (l *lane) checkDaemon(c guard.Case) {
	l.t.Helper()
	at, err := stconfig.ParseKey(c.At)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, change := range stconfig.Diff(l.before, l.daemon.config(l.t)) {
		if !c.Harmless || change.Key.HasPrefix(at) || at.HasPrefix(change.Key) {
			l.t.Errorf("%s: %s changed at the daemon", c.Name, change.Key)
		}
	}
}

func (l *lane) checkPlan(c guard.Case) {
	l.t.Helper()
	made, err := l.s.Client.DevicePlan(l.t.Context(), string(l.daemon.id))
	if err != nil {
		l.t.Fatal(err)
	}
	if len(made.Changes) == 0 {
		l.t.Errorf("%s: held, with an empty plan", c.Name)
	}
	for _, change := range made.Changes {
		if change.Class != string(plan.Held) && change.Class != string(plan.Refused) && !c.Harmless {
			l.t.Errorf("%s: %s is %s", c.Name, change.Key, change.Class)
		}
	}
}

// config is the daemon's configuration, read with its own key. That it can be read is half of what is tested.
func (d target) config(t *testing.T) stconfig.Value {
	t.Helper()
	doc, err := stconfig.Parse(d.must(t, http.MethodGet, "/rest/config", ""))
	if err != nil {
		t.Fatal(err)
	}
	var status struct{ MyID fleet.DeviceID }
	if err := json.Unmarshal(d.must(t, http.MethodGet, "/rest/system/status", ""), &status); err != nil ||
		status.MyID != d.id {
		t.Fatalf("%s answers as %q, %v", d.id.Short(), status.MyID, err)
	}
	return doc
}

func (d target) url(path string) string {
	return "https://" + net.JoinHostPort(d.host, strconv.Itoa(d.port)) + path
}
