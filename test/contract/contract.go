// Package contract contains Muster's assumptions about Syncthing daemons as checks. The checks run against both
// versions of the simulated daemon (stsim) and against Debian's real one, so that the simulator behaves as the real
// one does. When a check passes on only one of them, either the simulator or the assumption is wrong.
package contract

import (
	"testing"

	"muster/internal/fleet"
	"muster/internal/stsim"
)

// Target is a daemon with a configuration of its own, reached through its API only.
type Target interface {
	Version() stsim.Version
	ID() fleet.DeviceID
	HostPort() string // of the API
	Key() string      // that the daemon had when it started
	Pin() string      // of the API's certificate
	Folder(name string) string
	BadFolder() string // a path that cannot become a folder

	// AddFile puts a file into a folder, so that the daemon sees it.
	AddFile(folder, path string)

	// Knock makes a device ask to be let in, and gives its ID.
	Knock() fleet.DeviceID
}

// Check is one thing that is true of every daemon.
type Check struct {
	Name string
	Use  Use
	Run  func(*Probe)
}

// Use says what a check does to its daemon.
type Use uint8

const (
	Reads  Use = iota // nothing: may run beside others on one daemon
	Writes            // changes the configuration, which is put back afterwards
	Spoils            // leaves a daemon behind that is of no more use
	Opens             // spoils it, and lets it listen on its default port: no other daemon may be made meanwhile
)

// Run runs every check against daemons that start makes.
func Run(t *testing.T, start func(testing.TB) Target) {
	each(Opens, func(c Check) {
		t.Run("opens/"+c.Name, func(t *testing.T) { c.Run(newProbe(t, start(t))) })
	})
	t.Run("reads", func(t *testing.T) {
		t.Parallel()
		target := start(t)
		each(Reads, func(c Check) {
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				c.Run(newProbe(t, target))
			})
		})
	})
	t.Run("writes", func(t *testing.T) {
		t.Parallel()
		target := start(t)
		each(Writes, func(c Check) {
			t.Run(c.Name, func(t *testing.T) {
				p := newProbe(t, target)
				before := p.Get("/rest/config")
				c.Run(p)
				p.MustDo("PUT", "/rest/config", string(before.JSON()))
			})
		})
	})
	t.Run("spoils", func(t *testing.T) {
		each(Spoils, func(c Check) {
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				c.Run(newProbe(t, start(t)))
			})
		})
	})
}

func each(use Use, run func(Check)) {
	for _, checks := range [][]Check{reaching, documents, endpoints, events, folders, access, forced, patterns} {
		for _, c := range checks {
			if c.Use == use {
				run(c)
			}
		}
	}
}
