package revocation

import (
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

func only(ids ...fleet.DeviceID) []fleet.DeviceID { return ids }

// TestADeviceIsGoneWhenConfigurationAndConnectionsSaySo: each alone proves nothing.
func TestADeviceIsGoneWhenConfigurationAndConnectionsSaySo(t *testing.T) {
	in(t, func(w *world) {
		w.daemons[home].peers, w.daemons[home].connected = only(lost), only(lost)
		w.revoke(lost)
		p := w.run()
		w.later(time.Second)
		if row := w.row(p, home); row.State != There || row.Reason != "the device is being removed" {
			t.Errorf("got %+v", row)
		}
		if row := w.row(p, desk); row.State != Gone || row.Proof.ConfigAt.IsZero() || row.Proof.Digest == "" {
			t.Errorf("a daemon that never had it: %+v", row)
		}
		w.change(p, home, func(d *daemon) { d.peers = nil })
		w.later(time.Second)
		if row := w.row(p, home); row.State != Unproven || !strings.Contains(row.Reason, "still connected") {
			t.Errorf("the connection stands: %+v", row)
		}
		if c := w.certificate(p); c.Complete() || c.Percent() != 50 || !c.Since.IsZero() {
			t.Errorf("got %+v", c)
		}
		w.change(p, home, func(d *daemon) { d.connected = nil })
		w.later(mostPause)
		c := w.certificate(p)
		if !c.Complete() || c.Percent() != 100 || c.Since.IsZero() {
			t.Errorf("got %+v", c)
		}
		for _, row := range c.Rows {
			if row.Proof.ConfigAt.Before(c.Revocation.At) || row.Proof.ConnectionsAt.Before(row.Proof.ConfigAt) {
				t.Errorf("a proof is from before the revocation, or the readings are in the wrong order: %+v", row)
			}
		}
		before, _ := w.counted()
		w.later(time.Hour)
		if reads, _ := w.counted(); reads != before {
			t.Errorf("everything is proven, and daemons are read %d times more", reads-before)
		}
	})
}

// TestAReturnEndsTheProof: also one that lasts only a moment, and one behind Muster's back while the daemon was away.
func TestAReturnEndsTheProof(t *testing.T) {
	in(t, func(w *world) {
		w.revoke(lost)
		p := w.run()
		w.later(time.Second)
		if c := w.certificate(p); !c.Complete() {
			t.Fatalf("got %+v", c)
		}
		w.change(p, home, func(d *daemon) { d.peers = only(lost) })
		if row := w.row(p, home); row.State != There {
			t.Errorf("got %+v", row)
		}
		w.change(p, home, func(d *daemon) { d.peers = nil })
		w.later(time.Second)
		if row := w.row(p, home); row.State != Gone || row.Proof.Returns != 1 || row.Proof.ReturnedAt.IsZero() ||
			!row.Proof.ConfigAt.After(row.Proof.ReturnedAt) {
			t.Errorf("the return is not told, or the proof is older than it: %+v", row)
		}
		w.change(p, home, func(d *daemon) { d.away = true })
		w.later(time.Hour)
		if row := w.row(p, home); row.State != Gone {
			t.Errorf("a daemon that is away keeps what was proven: %+v", row)
		}
		w.change(p, home, func(d *daemon) { d.away, d.peers = false, only(lost) })
		w.later(time.Second)
		if row := w.row(p, home); row.State != There || row.Proof.Returns != 2 || w.certificate(p).Complete() {
			t.Errorf("got %+v", row)
		}
	})
}

// TestAReturnDuringTheReadingProvesNothing: the configuration was read without the device, which came a moment later.
func TestAReturnDuringTheReadingProvesNothing(t *testing.T) {
	in(t, func(w *world) {
		var p *Prover
		var seen time.Time
		w.daemons[home].during = func() {
			w.change(p, home, func(d *daemon) { d.peers = only(lost) })
			w.change(p, home, func(d *daemon) { d.peers = nil })
			seen = time.Now()
		}
		p = w.run()
		w.later(time.Second)
		w.revoke(lost)
		p.RegistryChanged()
		w.later(time.Second)
		if row := w.row(p, home); row.State != Gone || !row.Proof.ConfigAt.After(seen) {
			t.Errorf("seen at %s, got %+v", seen, row)
		}
	})
}

// TestNothingIsProvenWhileMusterWrites: a write from before the revocation could still bring the device there.
func TestNothingIsProvenWhileMusterWrites(t *testing.T) {
	in(t, func(w *world) {
		w.daemons[home].writing = true
		w.revoke(lost)
		p := w.run()
		w.later(time.Minute)
		if row := w.row(p, home); row.State != Unproven || row.Reason != "Muster is writing to the daemon" {
			t.Errorf("got %+v", row)
		}
		w.change(p, home, func(d *daemon) { d.writing = false })
		w.later(mostPause)
		if row := w.row(p, home); row.State != Gone {
			t.Errorf("got %+v", row)
		}
	})
}

// TestWhatIsProvenOutlivesTheServer: a daemon that is away keeps its proof, and one that was not read is counted later.
func TestWhatIsProvenOutlivesTheServer(t *testing.T) {
	in(t, func(w *world) {
		w.daemons[desk].away = true
		w.revoke(lost)
		w.run()
		w.later(time.Second)
		w.daemons[home].away = true
		p := w.run() // another server, after the first
		w.later(time.Second)
		if c := w.certificate(p); c.Gone != 1 || c.Total() != 2 || c.Complete() {
			t.Errorf("got %+v", c)
		}
		if row := w.row(p, desk); row.State != Unproven || !strings.HasPrefix(row.Reason, "it was not read since") {
			t.Errorf("got %+v", row)
		}
		w.change(p, desk, func(d *daemon) { d.away = false })
		w.later(time.Second)
		if c := w.certificate(p); !c.Complete() {
			t.Errorf("got %+v", c)
		}
	})
}

// TestAProofThatIsNotStoredIsNotCounted: and it is stored later.
func TestAProofThatIsNotStoredIsNotCounted(t *testing.T) {
	in(t, func(w *world) {
		w.failing = true
		w.revoke(lost)
		p := w.run()
		for range 600 {
			w.later(100 * time.Millisecond)
			w.change(p, desk, func(*daemon) {}) // It wakes no round.
		}
		if c := w.certificate(p); c.Gone != 0 {
			t.Errorf("got %+v", c)
		}
		if reads, _ := w.counted(); reads > 2*6 {
			t.Errorf("the daemons are read %d times in a minute of failures", reads)
		}
		if n := strings.Count(w.log.String(), "not kept yet"); n != 1 {
			t.Errorf("a failure that stays is logged %d times", n)
		}
		w.mu.Lock()
		w.failing = false
		w.mu.Unlock()
		w.later(time.Minute)
		if c := w.certificate(p); !c.Complete() {
			t.Errorf("got %+v", c)
		}
	})
}

// TestADeviceThatIsNotReadAnyMoreCostsNothing: its attempt was due for ever, and each millisecond had a round.
func TestADeviceThatIsNotReadAnyMoreCostsNothing(t *testing.T) {
	for name, test := range map[string]func(w *world, p *Prover){
		"it goes away": func(w *world, p *Prover) { w.change(p, home, func(d *daemon) { d.away = true }) },
		"it is revoked itself": func(w *world, p *Prover) {
			w.revoke(home)
			p.RegistryChanged()
		},
		"it is paused": func(w *world, p *Prover) {
			w.edit(func(r *fleet.Registry) {
				r.Devices[home] = &fleet.Registered{Device: r.Devices[home].Device,
					Settings: fleet.DeviceSettings{Mode: fleet.ModePaused}}
			})
			p.RegistryChanged()
		},
		"it is deleted": func(w *world, p *Prover) {
			w.edit(func(r *fleet.Registry) { delete(r.Devices, home) })
			p.RegistryChanged()
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.daemons[home].writing = true // so each reading proves nothing
				w.revoke(lost)
				p := w.run()
				w.later(time.Second)
				test(w, p)
				w.later(mostPause)
				before := w.rounds
				w.later(mostPause)
				if n := w.rounds - before; n > 0 {
					t.Errorf("%d rounds in a minute in which nothing happened", n)
				}
			})
		})
	}
}

// TestASecondRevocationIsProvenAnew: what was proven of the first one is older than it.
func TestASecondRevocationIsProvenAnew(t *testing.T) {
	in(t, func(w *world) {
		w.revoke(lost)
		p := w.run()
		w.later(time.Second)
		w.readmit(lost)
		w.change(p, home, func(d *daemon) { d.peers, d.away = only(lost), true })
		p.RegistryChanged()
		w.later(time.Second)
		w.revoke(lost)
		p.RegistryChanged()
		w.later(time.Second)
		c := w.certificate(p)
		if c.Gone != 1 || c.Complete() {
			t.Errorf("got %+v", c)
		}
		if row := w.row(p, home); row.State != There || row.Proof.Proven() {
			t.Errorf("got %+v", row)
		}
	})
}

// TestAPausedDeviceIsNotRead: the certificate says why it is not proven.
func TestAPausedDeviceIsNotRead(t *testing.T) {
	in(t, func(w *world) {
		w.registry.Devices[home].Settings.Mode = fleet.ModePaused
		w.registry.Devices[desk].Settings.Mode = fleet.ModeObserve
		w.daemons[desk].peers = only(lost)
		w.revoke(lost)
		p := w.run()
		w.later(time.Minute)
		if row := w.row(p, home); row.State != Unproven || !strings.Contains(row.Reason, "mode paused") {
			t.Errorf("got %+v", row)
		}
		if row := w.row(p, desk); row.State != There || !strings.Contains(row.Reason, "its mode is observe") {
			t.Errorf("got %+v", row)
		}
		if reads, _ := w.counted(); reads > 0 {
			t.Errorf("%d readings", reads)
		}
	})
}

// TestACertificateNamesWhatCannotBeKnown: devices that nobody manages, revoked ones, and what the device knew.
func TestACertificateNamesWhatCannotBeKnown(t *testing.T) {
	in(t, func(w *world) {
		stranger, other := idOf(7), idOf(8)
		w.daemons[home].peers, w.daemons[desk].peers = only(stranger, lost), only(stranger)
		w.registry.Devices[other] = &fleet.Registered{Device: fleet.Device{ID: other}}
		w.daemons[other] = &daemon{}
		w.registry.Devices[desk].APIKey = w.registry.Devices[lost].APIKey
		w.registry.Devices[lost].Tags = []fleet.Tag{"team"}
		w.registry.Templates = []fleet.TaggedTemplate{{Template: fleet.Template{ID: 4, Op: fleet.OpMerge, Key: "gui",
			Text: `{password: "${secret:gui}"} # secret('other')`}, Tags: []fleet.Tag{"team"}}}
		w.configs[lost] = `{"folders": [{"id": "docs", "label": "Docs", "devices": [
			{"deviceID": "` + string(home) + `", "encryptionPassword": ""},
			{"deviceID": "` + string(stranger) + `", "encryptionPassword": "hush"}]}]}`
		w.revoke(lost)
		w.revoke(other)
		p := w.run()
		w.later(time.Second)
		c := w.certificate(p)
		if len(c.Unmanaged) != 1 || c.Unmanaged[0] != (Unmanaged{Device: stranger, KnownBy: 2}) {
			t.Errorf("unmanaged are %+v", c.Unmanaged)
		}
		if !slices.Equal(c.Revoked, only(other)) || c.Total() != 2 {
			t.Errorf("got %+v", c)
		}
		if len(c.Knew.Passwords) != 1 || c.Knew.Passwords[0] != (Password{Folder: "docs", Label: "Docs", With: stranger}) ||
			!slices.Equal(c.Knew.SameKey, only(desk)) || !slices.Equal(c.Knew.Secrets, []string{"gui", "other"}) {
			t.Errorf("it knew %+v", c.Knew)
		}
		says := strings.Join(c.Says(false), "\n")
		for _, want := range []string{"you may see", "1 device that Muster does not manage", "stay there", "audit verify"} {
			if !strings.Contains(says, want) {
				t.Errorf("nothing says %q:\n%s", want, says)
			}
		}
	})
}
