package stsim

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/test/wait"
)

// eventsSince gives the types of the events of a mask.
func eventsSince(t *testing.T, d *Daemon, mask string) []string {
	t.Helper()
	var names []string
	for e := range get(t, d, "/rest/events?timeout=0&events="+mask).Values() {
		names = append(names, e.Get("type").Str())
	}
	return names
}

func restart(d *Daemon) error {
	d.Stop()
	return d.Start()
}

func dial(d *Daemon) error {
	c, err := net.Dial("tcp", strings.TrimPrefix(d.URL(), "https://"))
	if err == nil {
		_ = c.Close()
	}
	return err
}

func TestAStoppedDaemonRefusesAndStartsWithWhatItHad(t *testing.T) {
	eachVersion(t, func(t *testing.T, d *Daemon) {
		call(t, d, "PATCH", "/rest/config/options", `{"maxSendKbps":3}`)
		started := get(t, d, "/rest/system/status").Get("startTime").Str()
		for _, stop := range []func(){d.Stop, d.Crash} {
			stop()
			stop() // twice is fine
			if d.Running() {
				t.Fatal("it runs")
			}
			if err := dial(d); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("dialling got %v, want refused", err)
			}
			if err := d.Start(); err != nil {
				t.Fatal(err)
			}
			if got := get(t, d, "/rest/config/options").Get("maxSendKbps").Str(); got != "3" {
				t.Errorf("maxSendKbps is %s, want 3", got)
			}
		}
		if got := get(t, d, "/rest/system/status").Get("startTime").Str(); got < started {
			t.Errorf("startTime went from %s to %s", started, got)
		}
	})
}

func TestACrashResetsConnections(t *testing.T) {
	d := startDaemon(t, V2)
	c, err := tls.Dial("tcp", strings.TrimPrefix(d.URL(), "https://"), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	d.Crash()
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v, want a reset", err)
	}
}

func TestADaemonRefusesToStartWithAConfigurationFromTheFuture(t *testing.T) {
	d := startDaemon(t, V2)
	if err := d.Edit(func(v stconfig.Value) stconfig.Value {
		return v.With("version",
			stconfig.Literal("999"))
	}); err != nil {
		t.Fatal(err)
	}
	err := restart(d)
	if err == nil || !strings.Contains(err.Error(), "newer than supported") || d.Running() {
		t.Errorf("got %v; running: %t", err, d.Running())
	}
}

func TestTwoRunsOfADaemonStartInDifferentSeconds(t *testing.T) {
	d := startDaemon(t, V2)
	started := map[string]bool{}
	for range 3 {
		started[get(t, d, "/rest/system/status").Get("startTime").Str()] = true
		if err := restart(d); err != nil {
			t.Fatal(err)
		}
	}
	if len(started) != 3 {
		t.Errorf("three runs started at %v", started)
	}
}

func TestARestartAskedForEndsADaemonThatMayNotRestart(t *testing.T) {
	f := startFarm(t, Options{NoRestart: true})
	if status, text := call(t, f.Daemon(0), "POST", "/rest/system/restart", ""); status != 200 {
		t.Fatal(status, text)
	}
	wait.For(t, "the daemon is down", func() bool { return !f.Daemon(0).Running() })
}

func TestAnAddressFromTheCommandLineStays(t *testing.T) {
	d := startFarm(t, Options{Fixed: true}).Daemon(0)
	if !get(t, d, "/rest/system/status").Get("guiAddressOverridden").IsTrue() {
		t.Error("status does not say that the address is overridden")
	}
	if status, text := call(t, d, "PATCH", "/rest/config/gui", `{"address":"127.0.0.1:1"}`); status != 200 {
		t.Fatal(status, text)
	}
	wait.For(t, "the API has restarted", func() bool {
		_, _, err := ask(t, d, "GET", "/rest/system/ping", "", time.Second)
		return err == nil && get(t, d, "/rest/config/gui").Get("address").Str() == "127.0.0.1:1"
	})
}

func TestAnEditIsSavedLikeAnyOther(t *testing.T) {
	eachVersion(t, func(t *testing.T, d *Daemon) {
		eventsSince(t, d, "ConfigSaved")
		err := d.Edit(func(v stconfig.Value) stconfig.Value {
			return v.With("options", v.Get("options").With("maxSendKbps", number(44)))
		})
		if err != nil {
			t.Fatal(err)
		}
		wait.For(t, "two ConfigSaved", func() bool { return len(eventsSince(t, d, "ConfigSaved")) == 2 })
		if got := get(t, d, "/rest/config/options").Get("maxSendKbps").Str(); got != "44" {
			t.Errorf("maxSendKbps is %s", got)
		}
		if err := d.Edit(func(stconfig.Value) stconfig.Value { return stconfig.List() }); err == nil {
			t.Error("a list was taken for a configuration")
		}
		d.Stop()
		if err := d.Edit(func(v stconfig.Value) stconfig.Value { return v }); err == nil {
			t.Error("a daemon that is down was edited")
		}
	})
}

func TestANewCertificateIsShownAtOnce(t *testing.T) {
	eachVersion(t, func(t *testing.T, d *Daemon) {
		before, err := d.Pin()
		if err != nil {
			t.Fatal(err)
		}
		if err := d.RemakeCertificate(); err != nil {
			t.Fatal(err)
		}
		after, err := d.Pin()
		if err != nil || after == before {
			t.Fatalf("the pin is %s still, %v", after, err)
		}
		wait.For(t, "the new certificate is shown", func() bool {
			c, err := tls.Dial("tcp", strings.TrimPrefix(d.URL(), "https://"), &tls.Config{InsecureSkipVerify: true})
			if err != nil {
				return false
			}
			defer c.Close()
			sum := sha256.Sum256(c.ConnectionState().PeerCertificates[0].Raw)
			return "sha256:"+hex.EncodeToString(sum[:]) == after
		})
	})
}

func TestTheSyncPortProvesTheDevice(t *testing.T) {
	for _, shared := range []bool{false, true} {
		f := startFarm(t, Options{Count: 2, Sync: true, Shared: shared})
		for _, d := range f.Daemons() {
			c, err := tls.Dial("tcp", d.syncAddress(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"bep/1.0"}})
			if err != nil {
				t.Fatal(err)
			}
			state := c.ConnectionState()
			_ = c.Close()
			if got := fleet.DeviceIDOf(sha256.Sum256(state.PeerCertificates[0].Raw)); got != d.ID() ||
				state.NegotiatedProtocol != "bep/1.0" {
				t.Errorf("got %s over %q, want %s", got, state.NegotiatedProtocol, d.ID())
			}
			want := "tcp://" + d.syncAddress()
			if got := get(t, d, "/rest/config/options").Get("listenAddresses").At(0).Str(); got != want {
				t.Errorf("listenAddresses says %s, want %s", got, want)
			}
		}
	}
}

func TestDaemonsOfAGroupAreConnectedWhileBothRun(t *testing.T) {
	f := startFarm(t, Options{Count: 4, Group: 2})
	a, b, stranger := f.Daemon(0), f.Daemon(1), f.Daemon(2)
	connected := func(d *Daemon, to fleet.DeviceID) bool {
		return get(t, d, "/rest/system/connections").Get("connections").Get(string(to)).Get("connected").IsTrue()
	}
	if !connected(a, b.ID()) || !connected(b, a.ID()) || connected(a, stranger.ID()) {
		t.Fatal("the wrong daemons are connected")
	}
	eventsSince(t, a, "DeviceConnected,DeviceDisconnected")
	b.Stop()
	if connected(a, b.ID()) {
		t.Error("connected to a daemon that is down")
	}
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	call(t, b, "PATCH", "/rest/config/devices/"+string(a.ID()), `{"paused":true}`)
	if connected(a, b.ID()) {
		t.Error("connected to a daemon that paused us")
	}
	got := strings.Join(eventsSince(t, a, "DeviceConnected,DeviceDisconnected"), " ")
	if got != "DeviceDisconnected DeviceConnected DeviceDisconnected" {
		t.Errorf("got %s", got)
	}
}

func TestFoldersBreakAndHeal(t *testing.T) {
	eachVersion(t, func(t *testing.T, d *Daemon) {
		id := d.FolderIDs()[0]
		state := func() string { return get(t, d, "/rest/db/status?folder="+id).Get("state").Str() }
		eventsSince(t, d, "StateChanged,FolderErrors,FolderSummary")
		call(t, d, "PATCH", "/rest/config/folders/"+id, `{"path":"/broken/by/a/template"}`)
		wait.For(t, "the folder is in error", func() bool { return state() == stateError })
		call(t, d, "PATCH", "/rest/config/folders/"+id, `{"path":"/home/fine"}`)
		wait.For(t, "the folder is idle", func() bool { return state() == stateIdle })
		if err := d.setFolderError(id, "out of space"); err != nil {
			t.Fatal(err)
		}
		if got := get(t, d, "/rest/db/status?folder="+id); got.Get("error").Str() != "out of space" ||
			state() != stateError {
			t.Errorf("got %s", got.JSON())
		}
		if err := errors.Join(d.setFolderError(id, ""), d.setFileErrors(id,
			fileError{Path: "a", Error: "denied"})); err != nil {
			t.Fatal(err)
		}
		s := get(t, d, "/rest/db/status?folder="+id)
		if s.Get("errors").Str() != "1" || s.Get("state").Str() != stateIdle {
			t.Errorf("got %s", s.JSON())
		}
		if got := get(t, d, "/rest/folder/errors?folder="+id).Get("errors").At(0).Get("path").Str(); got != "a" {
			t.Errorf("the file in error is %q", got)
		}
		wait.For(t, "summary and errors are told", func() bool {
			got := strings.Join(eventsSince(t, d, "StateChanged,FolderErrors,FolderSummary"), " ")
			return strings.Contains(got, "FolderErrors") && strings.Contains(got, "FolderSummary")
		})
		if err := d.setFolderError("none", "x"); err == nil {
			t.Error("a folder that is none was broken")
		}
	})
}

func TestSummariesFollowTheirChange(t *testing.T) {
	eachVersion(t, func(t *testing.T, d *Daemon) {
		id := d.FolderIDs()[0]
		eventsSince(t, d, "FolderSummary")
		if err := d.SetSummary(id, func(s *fleet.FolderSummary) { s.NeedBytes = 4711 }); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Summary(id); err != nil || got.NeedBytes != 4711 || got.Folder != id || got.Device != d.ID() {
			t.Errorf("got %+v, %v", got, err)
		}
		e := get(t, d, "/rest/events?timeout=30&events=FolderSummary").At(0)
		if got := e.Get("data").Get("summary").Get("needBytes").Str(); got != "4711" {
			t.Errorf("the event says needBytes %s", got)
		}
	})
}

func TestPendingFoldersComeAndGo(t *testing.T) {
	f := startFarm(t, Options{Count: 2, Group: 2})
	d, peer := f.Daemon(0), f.Daemon(1)
	eventsSince(t, d, "PendingFoldersChanged")
	d.AddPendingFolder("offered", "Offered", peer.ID())
	offered := get(t, d, "/rest/cluster/pending/folders").Get("offered").Get("offeredBy")
	got := offered.Get(string(peer.ID())).Get("label").Str()
	if got != "Offered" {
		t.Errorf("the pending folder has label %q", got)
	}
	body := `[{"id":"offered","path":"/home/x","devices":[{"deviceID":"` + string(peer.ID()) + `"}]}]`
	if status, text := call(t, d, "PUT", "/rest/config/folders", body); status != 200 {
		t.Fatal(status, text)
	}
	if got := get(t, d, "/rest/cluster/pending/folders"); got.Len() != 0 {
		t.Errorf("still pending: %s", got.JSON())
	}
	if got := eventsSince(t, d, "PendingFoldersChanged"); len(got) != 2 {
		t.Errorf("got %v", got)
	}
}

func TestOneSocketServesAllAddresses(t *testing.T) {
	f := startFarm(t, Options{Count: 20, Shared: true})
	port := f.Daemon(0).Port()
	for _, d := range f.Daemons() {
		if got := get(t, d, "/rest/system/status").Get("myID").Str(); got != string(d.ID()) || d.Port() != port {
			t.Fatalf("at %s answers %s, want %s", d.URL(), got, d.ID())
		}
	}
	f.Daemon(3).Stop()
	if _, _, err := ask(t, f.Daemon(3), "GET", "/rest/system/ping", "", time.Minute); err == nil {
		t.Error("a daemon that is down answers")
	}
	if err := f.Daemon(3).Start(); err != nil {
		t.Fatal(err)
	}
	get(t, f.Daemon(3), "/rest/system/ping")
	if c, err := net.Dial("tcp", net.JoinHostPort("127.99.0.1", strings.Split(f.Daemon(0).URL(), ":")[2])); err == nil {
		_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("an address of nobody answers")
		}
		_ = c.Close()
	}
}

// TestAFarmInMemoryKeepsSimulatedTime also proves that Close leaves no goroutine: the bubble would not end.
func TestAFarmInMemoryKeepsSimulatedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, err := New(Options{Count: 3, Memory: true, Versions: []Version{V1}})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Start(); err != nil {
			t.Fatal(err)
		}
		d := f.Daemon(1)
		transport := &http.Transport{DialContext: f.Dial, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		c := &http.Client{Transport: transport}
		request := func(path string) {
			t.Helper()
			r, err := http.NewRequest("GET", d.URL()+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-API-Key", d.APIKey())
			response, err := c.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, response.Body); err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
		}
		for range 60 { // an hour of polls
			request("/rest/events?timeout=50&events=ConfigSaved")
			time.Sleep(10 * time.Second)
		}
		if got := d.Counters().Accepted; got != 1 {
			t.Errorf("%d connections, want one that never goes idle", got)
		}
		time.Sleep(16 * time.Second)
		request("/rest/system/ping")
		if got := d.Counters().Accepted; got != 2 {
			t.Errorf("%d connections, want a second one after 16 idle seconds", got)
		}
		silent, err := f.Dial(context.Background(), "tcp", strings.TrimPrefix(d.URL(), "https://"))
		if err != nil {
			t.Fatal(err)
		}
		transport.CloseIdleConnections()
		begun := time.Now()
		request("/rest/system/ping")
		if took := time.Since(begun); took != time.Second {
			t.Errorf("a silent connection held up the next one for %s, want 1 s", took)
		}
		_ = silent.Close()
		d.Stop()
		if _, err := f.Dial(context.Background(), "tcp", strings.TrimPrefix(d.URL(), "https://")); err == nil {
			t.Error("a daemon that is down takes connections")
		}
		transport.CloseIdleConnections()
		if err := errors.Join(f.Close(), f.Close()); err != nil {
			t.Error(err)
		}
	})
}

func TestPasswordsAreHashedSoThatTheyCanBeChecked(t *testing.T) {
	a, err := hashPassword("secret")
	b, errB := hashPassword("secret")
	if err != nil || errB != nil || a == b || len(a) != 60 || !bcryptLike.MatchString(a) || !checkPassword(a, "secret") ||
		!checkPassword(b, "secret") {
		t.Errorf("%q and %q are no hashes of one password", a, b)
	}
	if checkPassword(a, "Secret") || checkPassword("secret", "secret") {
		t.Error("a wrong password passes")
	}
	long := strings.Repeat("é", 40)
	if hash, err := hashPassword(long); err != nil || !checkPassword(hash, long) {
		t.Errorf("a long password does not pass: %v", err)
	}
}
