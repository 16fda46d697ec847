package stconfig

import (
	"os"
	"strings"
	"testing"

	"muster/internal/fleet"
)

func TestMistakesAreDoubted(t *testing.T) {
	for _, one := range []struct {
		op         fleet.Op
		key, value string
		want       string // what the mistakes say, "" for none
		never      bool
	}{
		{"merge", "folders.x", `{"labl": "y"}`,
			"folders.x.labl is a field of no daemon that Muster knows: did you mean label?", false},
		{"set", "options.natEnabledd", `true`,
			"options.natEnabledd is a field of no daemon that Muster knows: did you mean natEnabled?", false},
		{"set", "options.NATENABLED", `true`, "", false},
		// Daemons since 2.1 have these, and nobody was believed who named one.
		{"merge", "folders.x", `{"group": "home", "blockIndexing": false}`, "", false},
		{"merge", "defaults.folder", `{"group": "home", "blockIndexing": false}`, "", false},
		{"merge", "devices", `[{"deviceID": "` + string(SampleID) + `", "group": "home"}]`, "", false},
		{"merge", "defaults.device", `{"group": "home"}`, "", false},
		{"merge", "gui", `{"sessionCookieDurationS": 3600, "sessionCookiePath": "/sync"}`, "", false},
		{"merge", "", `{"options": {"natEnabledd": true}, "gui": {"theem": "x"}}`,
			"options.natEnabledd is a field of no daemon that Muster knows: did you mean natEnabled?\n" +
				"gui.theem is a field of no daemon that Muster knows: did you mean theme?", false},
		{"merge", "folders", `[{"id": "p", "path": "/p", "pathh": "/p"}]`,
			"folders.p.pathh is a field of no daemon", false},
		{"set", "folders.*.rescanInterval", `60`,
			"folders.*.rescanInterval is a field of no daemon that Muster knows: did you mean rescanIntervalS?", false},
		{"set", "folders.x.versioning.params.anything", `"1"`, "", false},
		{"set", "ignores.photos", `["a"]`, "", false},
		{"remove", "options.listenAddresses", `["foo"]`, "", false},
		{"remove", "folders.x.labl", `true`, "folders.x.labl is a field of no daemon", false},
		{"set", "gui.theme", `"drak"`,
			`gui.theme is no theme that Syncthing comes with (default, light, dark, black): "drak": did you mean dark?`,
			false},
		{"set", "gui.theme", `"dark"`, "", false},
		{"merge", "folders.x.minDiskFree", `{"value": 5, "unit": "percent"}`, `folders.x.minDiskFree.unit is no unit`,
			false},
		{"set", "options.minHomeDiskFree.unit", `"%"`, "", false},
		{"set", "options.minHomeDiskFree.unit", `"GiB"`, "", false},
		{"set", "options.listenAddresses", `["default", "tcp://:22000", "dynamic+https://relays.example/x", "foo"]`,
			`options.listenAddresses has an address that no daemon can use, as default, or ` +
				`tcp://0.0.0.0:22000 is one: "foo"`, false},
		{"append", "options.listenAddresses", `"nas:22000"`, `"nas:22000"`, false},
		{"append", "options.listenAddresses", `"quic6://[::]:22000"`, "", false},
		{"merge", "devices.*", `{"addresses": ["dynamic", "tcp://host", "relay://r:1/?id=x", "host:22000"]}`,
			`"host:22000"`, false},
		{"set", "options.globalAnnounceServers", `["default", "https://d.example/?id=x", "d.example"]`, `"d.example"`,
			false},
		{"set", "folders.x.type", `"sendrecieve"`, `did you mean sendreceive?`, true},
		{"merge", "folders.x", `{"order": "newest"}`, `folders.x.order is one of`, true},
		{"set", "options.natEnabled", `"yes"`, "options.natEnabled takes true or false, not a text", false},
		{"set", "options.maxSendKbps", `5`, "", false},
		{"merge", "", `{"future": {"a": 1}}`, "future is a field of no daemon that Muster knows", false},
	} {
		key := mustKey(t, one.key)
		v, err := Parse([]byte(one.value))
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		never := false
		for _, d := range Mistakes(one.op, key, v) {
			texts, never = append(texts, d.Text), never || d.Kind == RefusedValue
		}
		got := strings.Join(texts, "\n")
		if (one.want == "") != (got == "") || !strings.Contains(got, one.want) || never != one.never {
			t.Errorf("%s %s %s: got %q (%v), want %q (%v)", one.op, one.key, one.value, got, never, one.want, one.never)
		}
	}
}

// A unit is taken for bytes by every daemon; a theme may be one that a person installed.
func TestOnlyWordsThatEveryDaemonMisreadsAreWrongWords(t *testing.T) {
	for key, want := range map[string]MistakeKind{"folders.x.minDiskFree.unit": WrongWord,
		"options.minHomeDiskFree.unit": WrongWord, "gui.theme": StrangeValue, "folders.x.order": RefusedValue,
		"options.maxSendKbps": WrongType} {
		found := Mistakes("set", mustKey(t, key), Text("percent"))
		if len(found) != 1 || found[0].Kind != want {
			t.Errorf("%s: got %+v, want the kind %d", key, found, want)
		}
	}
}

// What daemons themselves write is never reported as a mistake.
func TestWhatDaemonsHaveIsNotDoubted(t *testing.T) {
	for _, file := range []string{"testdata/v1.19.json", "testdata/v2.1.json"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range Mistakes(fleet.OpMerge, Key{}, doc) {
			t.Errorf("%s: %s", file, d.Text)
		}
	}
}

func TestDoubtsAreBounded(t *testing.T) {
	members := make([]Member, 1000)
	for i := range members {
		members[i] = Member{strings.Repeat("x", i+20), Text("")}
	}
	if got := len(Mistakes(fleet.OpMerge, Key{}, Obj(members...))); got != maxMistakes {
		t.Errorf("got %d mistakes", got)
	}
}
