package httpapi

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

var then = time.Date(2026, 11, 20, 21, 11, 55, 600e6, time.UTC)

func TestStatusAndVersionHaveExactlyTheContractsFields(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	w.fakes.status = map[fleet.DeviceID]fleet.Status{idA: {
		MyID: idA, Alloc: 1 << 60, CPUPercent: 0.5, DiscoveryEnabled: true, DiscoveryMethods: 5, GoRoutines: 42,
		PathSeparator: "/",
		Sys:           7, Tilde: "/home/\xff<b>", Uptime: 9, StartTime: "not shown", CreatedAt: then,
		UpdatedAt: then.Add(time.Second),
	}}
	w.fakes.version = map[fleet.DeviceID]fleet.Version{idA: {
		Device: idA, Arch: "amd64", Codename: "Fermium Flea", LongVersion: "syncthing v2.1.3", OS: "linux",
		Version: "v2.1.3", CreatedAt: then, UpdatedAt: then,
	}}
	const status = `{"myID":"` + string(idA) +
		`","alloc":1152921504606846976,"cpuPercent":0.5,"discoveryEnabled":true,"discoveryMethods":5,` +
		`"goRoutines":42,"pathSeparator":"/","sys":7,"tilde":"/home/` + "\uFFFD" + `<b>","uptime":9,` +
		`"createdAt":"2026-11-20T21:11:55.600Z","updatedAt":"2026-11-20T21:11:56.600Z"}`
	if got := w.get(Prefix + "/devices/" + string(idA) + "/status"); got != status {
		t.Errorf("got %s, want %s", got, status)
	}
	const version = `{"device":"` + string(idA) +
		`","arch":"amd64","codename":"Fermium Flea","longVersion":"syncthing v2.1.3","os":"linux",` +
		`"version":"v2.1.3","createdAt":"2026-11-20T21:11:55.600Z","updatedAt":"2026-11-20T21:11:55.600Z"}`
	if got := w.get(Prefix + "/devices/" + string(idA) + "/version"); got != version {
		t.Errorf("got %s, want %s", got, version)
	}
}

func TestFolders(t *testing.T) {
	w := newWorld(t)
	const odd = "a/b c%+?#ü"
	w.fakes.folders = []fleet.FolderLabel{{Folder: odd, Label: "Odd"}}
	w.fakes.summaries = map[string][]fleet.FolderSummary{odd: {{Device: idA, Folder: odd, GlobalBytes: 1 << 53,
		NeedDeletes: 3, IgnorePatterns: true, CreatedAt: then, UpdatedAt: then}}, "/": {}}
	if got, want := w.get(Prefix+"/folders"), `[{"folder":"`+odd+`","label":"Odd"}]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got := w.get(Prefix + "/folders/" + segment(odd))
	want := strings.Fields(
		`device folder createdAt updatedAt globalBytes globalDeleted globalDirectories globalFiles globalSymlinks
		localBytes localDeleted localDirectories localFiles localSymlinks inSyncBytes inSyncFiles
		needBytes needDeletes needDirectories needFiles needSymlinks ignorePatterns sequence version`,
	)
	if names := fields(t, strings.Trim(got, "[]")); !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
	if !strings.Contains(got, `"globalBytes":9007199254740992,`) || !strings.Contains(got, `"needDeletes":3,`) ||
		!strings.Contains(got, `"ignorePatterns":true,`) {
		t.Errorf("got %s", got)
	}
	if got := w.get(Prefix + "/folders/%2F"); got != "[]" {
		t.Errorf("the folder / gives %s", got)
	}
}

func TestState(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	w.fakes.states = map[fleet.DeviceID]fleet.State{idA: {
		Connection: fleet.KeyRefused, Configuration: fleet.ConfigUnknown, Address: "192.0.2.7:8384", FoundBy: "record",
		Since:  then,
		Reason: "the daemon does not take the API key", Next: "put the right one",
	}}
	const state = `"connection":"keyRefused","configuration":"unknown","address":"192.0.2.7:8384","foundBy":"record","lastSeen":null,` +
		`"since":"2026-11-20T21:11:55.600Z","reason":"the daemon does not take the API key","next":"put the right one"}`
	if got := w.get(Prefix + "/devices/" + string(idA) + "/state"); got != "{"+state {
		t.Errorf("got %s", got)
	}
	if got, want := w.get(Prefix+"/states"), `[{"deviceID":"`+string(idA)+`",`+state+"]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPlanAndConfig(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	nat, err := stconfig.ParseKey("options.natEnabled")
	if err != nil {
		t.Fatal(err)
	}
	password, err := stconfig.ParseKey("gui.password")
	if err != nil {
		t.Fatal(err)
	}
	w.fakes.plans = map[fleet.DeviceID]plan.Plan{idA: {Device: idA, Digest: "d", Generation: 3, Changes: []plan.Change{
		{Key: nat, From: stconfig.Boolean(true), Templates: []int64{2}, Class: plan.Free},
		{Key: password, From: stconfig.Text("hash"), To: stconfig.Text("in clear"), Class: plan.Held,
			Reason: "a person has to say yes"},
	}}}
	got := w.get(Prefix + "/devices/" + string(idA) + "/plan")
	const want = `{"digest":"d","generation":3,"changes":[{"key":"options.natEnabled","from":true,"to":null,"templates":[2],"class":"free","reason":""},{"key":"gui.password",`
	if !strings.HasPrefix(got, want) ||
		!strings.Contains(got, `"templates":[],"class":"held","reason":"a person has to say yes"`) {
		t.Errorf("got %s, want it to begin with %s", got, want)
	}
	if strings.Contains(got, "in clear") || strings.Contains(got, `"hash"`) {
		t.Errorf("a secret is shown: %s", got)
	}
	w.fakes.config = map[fleet.DeviceID]stconfig.Value{idA: stconfig.Obj(stconfig.Member{Name: "version",
		Value: stconfig.Literal("52")})}
	if got := w.get(Prefix + "/devices/" + string(idA) + "/config"); got != `{"version":52}` {
		t.Errorf("got %s", got)
	}
}

func TestEvaluate(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	template := w.template(`{"op":"set","key":"options.natEnabled","template":"false"}`)
	w.put(template+"/tags/x", "")
	nat, err := stconfig.ParseKey("options.natEnabled")
	if err != nil {
		t.Fatal(err)
	}
	var gotTemplate fleet.TaggedTemplate
	var gotDevice fleet.DeviceID
	w.fakes.evaluate = func(t fleet.TaggedTemplate, id fleet.DeviceID) (Evaluation, error) {
		gotTemplate, gotDevice = t, id
		return Evaluation{
			Device: idA, Language: "hjson", Value: stconfig.Boolean(false), Steps: 5, Took: 1500 * time.Millisecond,
			Changes: []stconfig.Change{{Key: nat, From: stconfig.Boolean(true), To: stconfig.Value{}}},
		}, nil
	}
	const want = `{"deviceID":"` + string(idA) +
		`","language":"hjson","value":false,"changes":[{"key":"options.natEnabled","from":true,"to":null}],` +
		`"warnings":[],"output":[],"steps":5,"durationMs":1500}`
	if got := w.get(template + "/evaluate"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if gotTemplate.ID != 1 || !slices.Equal(gotTemplate.Tags, []fleet.Tag{"x"}) || gotDevice != "" {
		t.Errorf("evaluated %+v for %q", gotTemplate, gotDevice)
	}
	if got := w.want(http.StatusOK, call{method: http.MethodPost, path: Prefix + "/templates/evaluate?device=" +
		strings.ToLower(string(idA)), body: `{"template":"[1]"}`}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if gotTemplate.Op != fleet.OpSet || gotTemplate.Key != "" || gotTemplate.Text != "[1]" || gotDevice != idA {
		t.Errorf("evaluated %+v for %q", gotTemplate, gotDevice)
	}
	// what was read
	w.want(http.StatusOK, call{method: http.MethodPost, path: Prefix + "/templates/evaluate", body: w.get(template)})
	if gotTemplate.Key != "options.natEnabled" {
		t.Errorf("evaluated %+v", gotTemplate)
	}
}

func TestStatesAreNeverOlderThanTheRequest(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	w.device(idB, "two")
	w.fakes.states = map[fleet.DeviceID]fleet.State{idA: {Connection: fleet.Online}, idB: {Connection: fleet.Online}}
	first := w.get(Prefix + "/states")
	if again := w.get(Prefix + "/states"); again != first {
		t.Errorf("got %s, then %s", first, again)
	}
	w.fakes.states[idB] = fleet.State{Connection: fleet.Unreachable, Reason: "<gone>"}
	got := read[[]api.ListedState](w, Prefix+"/states")
	if len(got) != 2 || got[0].Connection != "online" || got[1].Connection != "unreachable" || got[1].Reason != "<gone>" {
		t.Errorf("got %+v", got)
	}
	w.want(http.StatusNoContent, call{method: http.MethodDelete, path: Prefix + "/devices/" + string(idA)})
	if got = read[[]api.ListedState](w, Prefix+"/states"); len(got) != 1 || got[0].DeviceID != string(idB) {
		t.Errorf("got %+v", got)
	}
}

func TestFoldersFollowWhatDevicesHave(t *testing.T) {
	w := newWorld(t)
	for _, folders := range [][]fleet.FolderLabel{{}, {{Folder: "p", Label: "P"}},
		{{Folder: "p", Label: "Q"}, {Folder: "q"}}, nil} {
		w.fakes.folders = folders
		for range 2 {
			if got := read[[]api.Folder](w, Prefix+"/folders"); len(got) != len(folders) || len(got) > 0 &&
				got[0].Label != folders[0].Label {
				t.Errorf("got %+v, want %+v", got, folders)
			}
		}
	}
}
