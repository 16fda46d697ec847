// The run with the race detector has one simulated version and few values: most checks ask one thing after another.
//
//muster:needs daemons
//muster:test -short -run=V2
//muster:test -race=false
//muster:soak
package contract

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/daemon"
	"muster/test/simulated"
)

func TestSimulatedV2(t *testing.T) {
	t.Parallel()
	Run(t, func(t testing.TB) Target { return simulate(t, stsim.V2) })
}

func TestSimulatedV1(t *testing.T) {
	t.Parallel()
	Run(t, func(t testing.TB) Target { return simulate(t, stsim.V1) })
}

func TestRealV1(t *testing.T) {
	t.Parallel()
	t.Run("normalises as the simulator", compareNormalised)
	Run(t, func(t testing.TB) Target { return real{t, daemon.Start(t, daemon.Options{Supervised: true})} })
}

// simulatedDaemon is a daemon of stsim, with the timings of a real one.
type simulatedDaemon struct{ *stsim.Daemon }

func simulate(t testing.TB, v stsim.Version) Target {
	t.Helper()
	farm := simulated.Start(t, stsim.Options{Versions: []stsim.Version{v}, Folders: -1, Quiet: true})
	return simulatedDaemon{farm.Daemon(0)}
}

func (s simulatedDaemon) Key() string { return s.APIKey() }

func (s simulatedDaemon) HostPort() string { return net.JoinHostPort(s.Host(), strconv.Itoa(s.Port())) }

func (s simulatedDaemon) Pin() string {
	pin, err := s.Daemon.Pin()
	if err != nil {
		return err.Error()
	}
	return pin
}

func (s simulatedDaemon) Folder(name string) string { return "/home/syncthing/" + name }
func (s simulatedDaemon) BadFolder() string         { return "/proc/nothing" }

func (s simulatedDaemon) AddFile(folder, _ string) {
	_ = s.SetSummary(folder, func(f *fleet.FolderSummary) { f.LocalFiles, f.GlobalFiles, f.InSyncFiles = 1, 1, 1 })
}

func (s simulatedDaemon) Knock() fleet.DeviceID {
	s.AddPendingDevice(another, "knocker", "127.0.0.1:22000")
	return another
}

// real is Debian's daemon.
type real struct {
	t testing.TB
	*daemon.Daemon
}

func (r real) Version() stsim.Version    { return stsim.V1 }
func (r real) ID() fleet.DeviceID        { return r.Daemon.ID }
func (r real) Key() string               { return r.APIKey }
func (r real) Folder(name string) string { return filepath.Join(r.Home, "folders", name) }
func (r real) BadFolder() string         { return "/proc/nothing" }

func (r real) AddFile(folder, path string) {
	if err := os.WriteFile(filepath.Join(path, "file"), []byte("content"), 0o600); err != nil {
		r.t.Fatal(err)
	}
	r.Post("/rest/db/scan?folder="+url.QueryEscape(folder), nil)
}

// Knock starts a second daemon that knows the first one.
func (r real) Knock() fleet.DeviceID {
	other := daemon.Start(r.t, daemon.Options{})
	other.Put("/rest/config/devices",
		[]any{map[string]any{"deviceID": r.Daemon.ID, "addresses": []string{r.SyncAddress()}}})
	return other.ID
}
