package plan_test

import (
	"fmt"
	"testing"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/test/guard"
)

// peer is a device with which the scene's folder photos-x4kd is shared, with an encryption password.
const peer = nora

func guardScene(t *testing.T) *scene {
	c := newScene(t)
	c.edit(fleet.OpAppend, "devices", `[{"deviceID": "`+peer+`", "name": "peer"}]`)
	c.edit(fleet.OpAppend, "folders.photos-x4kd.devices", `[{"deviceID": "`+peer+`", "encryptionPassword": "old"}]`)
	return c
}

// guardCases are the cases that a whole Muster is tested with as well.
func guardCases(t *testing.T) []guard.Case {
	t.Helper()
	cases, err := guard.Cases(guard.Scene{Own: stconfig.SampleID, Host: "127.0.0.1", Port: "8384",
		Doc: guardScene(t).observed})
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// Whatever does harm, however spelled, is refused or held: none of its keys is among what would be sent.
func TestGuardMatrix(t *testing.T) {
	cases := guardCases(t)
	if len(cases) < 150 {
		t.Errorf("only %d cases", len(cases))
	}
	for _, tc := range cases {
		t.Run(tc.Name, func(t *testing.T) {
			c := guardScene(t)
			_, p, err := c.plan([]fleet.Template{{ID: 1, Op: tc.Op, Key: tc.Key, Text: tc.Text}})
			switch {
			case err != nil && !tc.MayFail:
				t.Fatalf("%s %q %s: %v", tc.Op, tc.Key, tc.Text, err)
			case err == nil && tc.Class == "":
				t.Errorf("%s %q %s gives a plan: %v", tc.Op, tc.Key, tc.Text, p.Changes)
			case err == nil:
				c.isKept(t, p, tc)
			}
		})
	}
}

// TestGuardMatrixOfAuthors covers what is held where authors ask for it and goes out where admins do.
func TestGuardMatrixOfAuthors(t *testing.T) {
	cases, err := guard.AuthorCases(guard.Scene{Own: stconfig.SampleID, Host: "127.0.0.1", Port: "8384",
		Doc: guardScene(t).observed})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range cases {
		for _, role := range []fleet.Role{fleet.RoleAuthor, fleet.RoleAdmin} {
			t.Run(tc.Name+"/"+string(role), func(t *testing.T) {
				c := guardScene(t)
				_, p, err := c.plan([]fleet.Template{{ID: 1, Op: tc.Op, Key: tc.Key, Text: tc.Text, SavedRole: role}})
				switch {
				case err != nil && !tc.MayFail:
					t.Fatal(err)
				case err == nil && role == fleet.RoleAuthor:
					c.isKept(t, p, tc)
				case err == nil && len(p.Sendable()) != len(p.Changes):
					t.Errorf("an admin's %s waits: %v", tc.At, p.Changes)
				}
			})
		}
	}
}

// TestJunctionsInAnAuthorsNewFolderAreHeld covers a folder that comes with junctions followed: the daemon's own
// defaults may say so, an author may not.
func TestJunctionsInAnAuthorsNewFolderAreHeld(t *testing.T) {
	plain := fleet.Template{ID: 1, Op: fleet.OpMerge, Key: "folders.new", SavedRole: fleet.RoleAuthor,
		Text: `{"path": "~/new"}`}
	asking := plain
	asking.Text = `{"path": "~/new", "junctionsAsDirs": true}`
	c := guardScene(t)
	for text, want := range map[fleet.Template]plan.Class{plain: plan.Free, asking: plan.Held} {
		if _, p, err := c.plan([]fleet.Template{text}); err != nil || p.Changes[0].Class != want {
			t.Errorf("%s: got %v, %v, want %s", text.Text, p.Changes, err, want)
		}
	}
	c.edit(fleet.OpSet, "defaults.folder.junctionsAsDirs", `true`)
	if _, p, err := c.plan([]fleet.Template{plain}); err != nil || p.Changes[0].Class != plan.Free {
		t.Errorf("with the daemon's own defaults: got %v, %v", p.Changes, err)
	}
}

// isKept checks that the change at the case's key is in the plan with its class, and that nothing of it is sent.
func (c *scene) isKept(t *testing.T, p plan.Plan, tc guard.Case) {
	t.Helper()
	key := keyOf(t, tc.At)
	found := false
	for _, change := range p.Changes {
		if !change.Key.HasPrefix(key) && !key.HasPrefix(change.Key) {
			continue
		}
		found = true
		if change.Class != tc.Class || change.Sendable() || change.Reason == "" {
			t.Errorf("%s is %s (%s), want %s", change.Key, change.Class, change.Reason, tc.Class)
		}
	}
	if !found {
		t.Errorf("no change at %s", tc.At)
	}
	for _, w := range plan.Writes(p, c.observed) {
		if !tc.Harmless {
			t.Errorf("%s %s would be sent", w.Method, w.Path)
		}
		for _, k := range w.Keys {
			if k.HasPrefix(key) || key.HasPrefix(k) {
				t.Errorf("%s %s carries %s", w.Method, w.Path, k)
			}
		}
	}
}

func TestGuardOfAddresses(t *testing.T) {
	for _, tc := range []struct {
		name    string
		facts   plan.Facts
		address string
		class   plan.Class
	}{
		{"the command line has the last word", plan.Facts{APIPort: 8384, APIAddress: "127.0.0.1", AddressFixed: true},
			"0.0.0.0:8384", plan.Refused},
		{"the same host", plan.Facts{APIPort: 8384, APIAddress: "10.1.2.3"}, "10.1.2.3:8384", plan.Held},
		{"the same host as a name", plan.Facts{APIPort: 8384, APIAddress: "nas.lan"}, "NAS.lan:8384", plan.Held},
		{"a name for an address", plan.Facts{APIPort: 8384, APIAddress: "10.1.2.3"}, "nas.lan:8384", plan.Refused},
		{"loopback while Muster is elsewhere", plan.Facts{APIPort: 8384, APIAddress: "10.1.2.3"}, "127.0.0.2:8384",
			plan.Refused},
		{"every address", plan.Facts{APIPort: 8384, APIAddress: "10.1.2.3"}, ":8384", plan.Held},
		{"loopback by its agent", plan.Facts{APIPort: 8384, ByAgent: true}, "127.0.0.2:9000", plan.Held},
		{"IPv6 loopback by its agent", plan.Facts{APIPort: 8384, ByAgent: true}, "[::1]:8384", plan.Held},
		{"localhost by its agent", plan.Facts{APIPort: 8384, ByAgent: true}, "localhost:8384", plan.Held},
		{"every address by its agent", plan.Facts{APIPort: 8384, ByAgent: true}, "0.0.0.0:8384", plan.Held},
		{"elsewhere by its agent", plan.Facts{APIPort: 8384, ByAgent: true}, "10.1.2.3:8384", plan.Refused},
		{"a name by its agent", plan.Facts{APIPort: 8384, ByAgent: true}, "nas.lan:8384", plan.Refused},
		{"every IPv6 address serves IPv4 too", plan.Facts{APIPort: 8384, APIAddress: "10.1.2.3"}, "[::]:8384", plan.Held},
		{"every IPv4 address serves no IPv6", plan.Facts{APIPort: 8384, APIAddress: "fd00::1"}, "0.0.0.0:8384",
			plan.Refused},
		{"mapped", plan.Facts{APIPort: 8384, APIAddress: "10.1.2.3"}, "[::ffff:10.1.2.3]:8384", plan.Held},
		{"no address known", plan.Facts{APIPort: 8384}, "10.1.2.3:8384", plan.Refused},
		{"no address known, every address", plan.Facts{APIPort: 8384}, "0.0.0.0:8384", plan.Held},
		{"another port", plan.Facts{APIPort: 8384, APIAddress: "10.1.2.3"}, "10.1.2.3:9000", plan.Held},
		{"another port at another host", plan.Facts{APIPort: 8384, APIAddress: "10.1.2.3"}, "10.1.2.4:9000", plan.Refused},
		{"where a forwarded port leads, to another", plan.Facts{APIPort: 9000, APIAddress: "10.1.2.3"}, "10.1.2.3:8385",
			plan.Refused},
		{"where a forwarded port leads, to its own", plan.Facts{APIPort: 9000, APIAddress: "10.1.2.3"}, "10.1.2.3:9000",
			plan.Refused},
		{"where a forwarded port leads", plan.Facts{APIPort: 9000, APIAddress: "10.1.2.3"}, "10.1.2.3:8384", plan.Held},
		{"a port beyond all", plan.Facts{APIPort: 8384, APIAddress: "10.1.2.3"}, "10.1.2.3:65536", plan.Refused},
		{"a port by name", plan.Facts{APIPort: 8384, APIAddress: "10.1.2.3"}, "10.1.2.3:http", plan.Refused},
		{"port 0", plan.Facts{APIPort: 8384, APIAddress: "10.1.2.3"}, "10.1.2.3:0", plan.Refused},
		{"with a scheme", plan.Facts{APIPort: 8384, APIAddress: "10.1.2.3"}, "tcp://10.1.2.3:8384", plan.Refused},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newScene(t)
			c.facts = tc.facts
			_, p, err := c.plan([]fleet.Template{{ID: 1, Op: fleet.OpSet, Key: "gui.address",
				Text: fmt.Sprintf("%q", tc.address)}})
			if err != nil || len(p.Changes) != 1 {
				t.Fatal(p.Changes, err)
			}
			if got := p.Changes[0]; got.Class != tc.class || !got.Access {
				t.Errorf("%s is %s (%s), want %s", tc.address, got.Class, got.Reason, tc.class)
			}
		})
	}
}

// TestMadeUpFilesAreRefusedInTheWordsOfOlderDaemons covers versioning.params.fsType, which daemons before configuration
// version 35 read in place of versioning.fsType.
func TestMadeUpFilesAreRefusedInTheWordsOfOlderDaemons(t *testing.T) {
	for _, at := range []string{"folders.photos-x4kd", "defaults.folder"} {
		for name, refused := range map[string]bool{"fsType": true, "FSTYPE": true, "other": false} {
			c := guardScene(t)
			_, p, err := c.plan([]fleet.Template{{ID: 1, Op: fleet.OpMerge, Key: at + ".versioning",
				Text: `{"params": {"` + name + `": "fake"}}`, SavedRole: admin}})
			if err != nil || len(p.Changes) != 1 || (p.Changes[0].Class == plan.Refused) != refused {
				t.Errorf("%s, %s: got %v, %v, want it refused: %t", at, name, p.Changes, err, refused)
			}
		}
	}
}
