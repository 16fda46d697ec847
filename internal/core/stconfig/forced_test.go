package stconfig

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestWhatADaemonWroteItKeeps(t *testing.T) {
	for name, doc := range map[string]Value{"v1": oldDoc(), "v2": Sample()} {
		for _, f := range Forces(doc) {
			t.Errorf("%s: %s would become %s", name, f.Key, f.Keep.JSON())
		}
	}
}

// edited is a document with other values at some keys.
func edited(t *testing.T, doc Value, values ...string) Value {
	t.Helper()
	for i := 0; i < len(values); i += 2 {
		key := mustKey(t, values[i])
		if !Lookup(doc, key).Exists() {
			t.Fatalf("there is no %s", key)
		}
		doc = Replace(doc, key, parsed(t, values[i+1]))
	}
	return doc
}

func TestWhatDaemonsForce(t *testing.T) {
	const folder, device = "folders.docs-7hq2", "devices.K4KRHSO-CKCSM2A-FW6WVO3-4B27H3A-62IDDET-2LWT2O6-UF2QV7Q-XDKPDAI"
	for _, c := range []struct {
		name   string
		asked  []string
		v1, v2 string // "KEY=VALUE by KEY", sorted
	}{
		{"encrypted", []string{folder + ".type", `"receiveencrypted"`},
			"F.disableTempIndexes=true by F.type, F.ignorePerms=true by F.type", "F.ignorePerms=true by F.type"},
		{"no delay", []string{folder + ".fsWatcherDelayS", "0"},
			"F.fsWatcherDelayS=10 by F.fsWatcherDelayS, F.fsWatcherEnabled=false by F.fsWatcherDelayS",
			"F.fsWatcherDelayS=10 by F.fsWatcherDelayS, F.fsWatcherEnabled=false by F.fsWatcherDelayS"},
		{"untrusted introducer", []string{device + ".untrusted", "true", device + ".introducer", "true", device +
			".autoAcceptFolders", "true"},
			"", "D.autoAcceptFolders=false by D.untrusted, D.introducer=false by D.untrusted"},
		{"no marker", []string{folder + ".markerName", `""`},
			`F.markerName=".stfolder" by F.markerName`, `F.markerName=".stfolder" by F.markerName`},
		{"writes", []string{folder + ".maxConcurrentWrites", "0", "defaults.folder.maxConcurrentWrites", "1000"},
			"defaults.folder.maxConcurrentWrites=64 by defaults.folder.maxConcurrentWrites, F.maxConcurrentWrites=2 by " +
				"F.maxConcurrentWrites",
			"defaults.folder.maxConcurrentWrites=256 by defaults.folder.maxConcurrentWrites, F.maxConcurrentWrites=16 by " +
				"F.maxConcurrentWrites"},
		{"intervals", []string{folder + ".rescanIntervalS", "-3", folder + ".versioning.cleanupIntervalS", "99999999",
			"options.reconnectionIntervalS", "1"},
			"F.rescanIntervalS=0 by F.rescanIntervalS, F.versioning.cleanupIntervalS=31536000 by " +
				"F.versioning.cleanupIntervalS, options.reconnectionIntervalS=5 by options.reconnectionIntervalS",
			"F.rescanIntervalS=0 by F.rescanIntervalS, F.versioning.cleanupIntervalS=31536000 by " +
				"F.versioning.cleanupIntervalS, options.reconnectionIntervalS=5 by options.reconnectionIntervalS"},
		{"lists", []string{"options.listenAddresses", `["tcp://127.0.0.1:1"," tcp://127.0.0.1:1","kcp://x"]`, device +
			".addresses", "[]"},
			`D.addresses=["dynamic"] by D.addresses, options.listenAddresses=["tcp://127.0.0.1:1"] by options.listenAddresses`,
			`D.addresses=["dynamic"] by D.addresses, options.listenAddresses=["tcp://127.0.0.1:1"] by options.listenAddresses`},
	} {
		for _, version := range []struct {
			doc  Value
			want string
		}{{oldDoc(), c.v1}, {Sample(), c.v2}} {
			asked := edited(t, version.doc, c.asked...)
			var got []string
			for _, f := range Forces(asked) {
				got = append(got, fmt.Sprintf("%s=%s by %s", f.Key, f.Keep.JSON(), f.By))
			}
			slices.Sort(got)
			text := strings.NewReplacer(folder, "F", device, "D").Replace(strings.Join(got, ", "))
			if text != version.want {
				t.Errorf("%s: got %s, want %s", c.name, text, version.want)
			}
			if kept := WithForced(asked); len(Forces(kept)) > 0 {
				t.Errorf("%s: what the daemon keeps it would change again", c.name)
			}
		}
	}
}

// The mark of a device takes the shares in clear with it away, on daemons that do so.
func TestSharesThatGoWithAMarkAreConsequences(t *testing.T) {
	const storage = "K4KRHSO-CKCSM2A-FW6WVO3-4B27H3A-62IDDET-2LWT2O6-UF2QV7Q-XDKPDAI"
	marks := []Change{{Key: mustKey(t, "devices."+storage+".untrusted"), To: Boolean(true)}}
	shares := " folders.docs-7hq2.devices." + storage + " folders.photos-x4kd.devices." + storage
	for version, want := range map[string]string{"36": "", "52": shares} {
		got := ""
		for _, c := range Consequences(Sample().With("version", Literal(version)), marks) {
			got += " " + c.Key.String()
			if c.To.Exists() || !c.From.Exists() {
				t.Errorf("version %s: %s is not a removal", version, c.Key)
			}
		}
		if got != want {
			t.Errorf("version %s: got %q, want %q", version, got, want)
		}
	}
}

// A plan writes one field, and the daemon another beside it: its value before the write is its base.
func TestConsequencesAreTheLeavesBesideAWrite(t *testing.T) {
	before := edited(t, Sample(), "folders.docs-7hq2.fsWatcherEnabled", "true", "folders.docs-7hq2.ignorePerms", "false")
	beside := Consequences(before, []Change{
		{Key: mustKey(t, "folders.docs-7hq2.fsWatcherDelayS"), To: Literal("0")},
		{Key: mustKey(t, "folders.docs-7hq2.type"), To: Text("receiveencrypted")},
		{Key: mustKey(t, "options.maxSendKbps"), To: Literal("3")},
	})
	var got []string
	for _, c := range beside {
		got = append(got, fmt.Sprintf("%s %s->%s", c.Key, c.From.JSON(), c.To.JSON()))
	}
	want := []string{"folders.docs-7hq2.fsWatcherEnabled true->false", "folders.docs-7hq2.ignorePerms false->true"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if beside := Consequences(before,
		[]Change{{Key: mustKey(t, "folders.docs-7hq2.label"), To: Text("x")}}); len(beside) > 0 {
		t.Errorf("a label has the consequence %s", beside[0].Key)
	}
}

// What a daemon forces in one member is what it forces in the document, without what it forces elsewhere.
func TestForcesInAMemberAreThoseOfTheDocument(t *testing.T) {
	doc := Sample()
	folder, device := doc.Get("defaults").Get("folder"), doc.Get("defaults").Get("device")
	doc = doc.With("folders", List(folder.With("id", Text("a")).With("rescanIntervalS", Literal("-1")),
		folder.With("id", Text("b")).With("rescanIntervalS", Literal("-2")))).
		With("devices", List(device.With("deviceID", Text("A")).With("maxSendKbps", Literal("-3"))))
	found := 0
	for _, member := range []Key{Key{}.Child("folders").Child("a"), Key{}.Child("folders").Child("b"),
		Key{}.Child("devices").Child("A"), Key{}.Child("folders").Child("missing")} {
		want := slices.DeleteFunc(Forces(doc), func(f Forced) bool { return !f.Key.HasPrefix(member) })
		got := ForcesIn(doc, member)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v: got %v, want %v", member, got, want)
		}
		found += len(got)
	}
	if found == 0 {
		t.Error("the document has nothing that a daemon forces")
	}
}
