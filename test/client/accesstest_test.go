package client

import (
	"fmt"
	"strings"
	"testing"

	"muster/internal/adapter/syncthing"
	"muster/internal/fleet"
	"muster/test/daemon"
)

func TestAccessIsTriedAtRealDaemons(t *testing.T) {
	d, other := daemon.Start(t, daemon.Options{TLS: true}), daemon.Start(t, daemon.Options{})
	private := daemon.Start(t, daemon.Options{GUIUser: "u", GUIPassword: "p"}) // It tells its ID to nobody without a key.
	elsewhere := target(d)
	elsewhere.Address = other.HostPort()
	otherKey := func(t *syncthing.Target) { t.APIKey = fleet.NewSecret(other.APIKey) }
	for name, test := range map[string]struct {
		from   syncthing.Target
		change func(t *syncthing.Target)
		want   fleet.AccessProblem
	}{
		"right":       {from: target(d)},
		"right pin":   {from: target(d), change: func(t *syncthing.Target) { t.Pin = d.Pin() }},
		"plain HTTP":  {from: target(other)},
		"wrong key":   {from: target(d), change: wrongKey, want: fleet.AccessKeyRefused},
		"GUI user":    {from: target(private), change: wrongKey, want: fleet.AccessKeyRefused},
		"other ID":    {from: elsewhere, want: fleet.AccessOtherDevice},
		"wrong pin":   {from: target(d), change: wrongPin, want: fleet.AccessOtherCertificate},
		"sync port":   {from: target(d), change: syncPort(d), want: fleet.AccessNotSyncthing},
		"dead port":   {from: target(d), change: deadPort(t), want: fleet.AccessRefused},
		"other's key": {from: target(d), change: otherKey, want: fleet.AccessKeyRefused},
	} {
		t.Run(name, func(t *testing.T) {
			if test.change != nil {
				test.change(&test.from)
			}
			found, err := syncthing.TestAccess(t.Context(), test.from, syncthing.Options{})
			if err != nil || found.Problem != test.want {
				t.Fatalf("got %q, %v, want %q", found.Problem, err, test.want)
			}
			if works := test.want == ""; works != strings.HasPrefix(found.Version, "v") {
				t.Errorf("the version is %q", found.Version)
			}
		})
	}
}

func wrongKey(t *syncthing.Target) { t.APIKey = fleet.NewSecret("wrong") }

func wrongPin(t *syncthing.Target) { t.Pin = "sha256:" + strings.Repeat("ab", 32) }

func syncPort(d *daemon.Daemon) func(*syncthing.Target) {
	return func(t *syncthing.Target) { t.Address = strings.TrimPrefix(d.SyncAddress(), "tcp://") }
}

func deadPort(t *testing.T) func(*syncthing.Target) {
	address := fmt.Sprintf("127.0.0.1:%d", daemon.FreePort(t))
	return func(target *syncthing.Target) { target.Address = address }
}
