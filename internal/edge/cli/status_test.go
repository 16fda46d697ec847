package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"muster/api"
)

const (
	idNAS    = "P56IOI7-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2"
	idLaptop = "AIR6LPZ-7K4PTTV-UXQSMUU-CPQ5YWH-OEDFIIQ-JUG777G-2YQXXR5-YD6AWQR"
)

// fleetOfTwo is a server whose second device waits for consent. sent is the last body that it got.
func fleetOfTwo(t *testing.T, stops ...api.ModeStop) (address string, sent func() api.ApplyPlan) {
	t.Helper()
	devices := []api.Device{{DeviceID: idNAS, Label: "nas"}, {DeviceID: idLaptop, Label: "laptop"},
		{DeviceID: "AIR6ABC", Label: "twin"}, {DeviceID: "ZZZ", Label: "twin"}}
	held := []api.PlannedChange{
		{Key: "folders.old", From: raw(`{}`), To: raw("null"), Class: "held", Reason: "the folder would go",
			Returns: true, Answers: []string{"consent", "remove", "keep"}},
		{Key: "gui.password", From: raw(`"[secret]"`), To: raw(`"[secret]"`), Class: "held", Reason: "it stays",
			Returns: true, Answers: []string{"keep"},
			Choices: []api.Choice{{Name: "no password", Does: "the daemon has no password then"}}},
		{Key: "options.natEnabled", From: raw("true"), To: raw("false"), Class: "free", Templates: []int64{3}},
		{Key: "gui.enabled", From: raw("true"), To: raw("false"), Class: "refused", Reason: "never"},
	}
	waiting := api.DeviceState{Connection: "online", Configuration: "held", Reason: "folders.old waits",
		Next: "Look at the plan."}
	good := api.DeviceState{Connection: "online", Configuration: "inSync", Reason: "all is well"}
	var body api.ApplyPlan
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		values := map[string]any{
			"/api/v1/devices":                       devices,
			"/api/v1/devices/" + idNAS:              devices[0],
			"/api/v1/devices/" + idLaptop:           devices[1],
			"/api/v1/devices/" + idNAS + "/state":   good,
			"/api/v1/devices/" + idNAS + "/plan":    api.Plan{Digest: "d0"},
			"/api/v1/devices/" + idLaptop + "/plan": api.Plan{Digest: "d1", Changes: held},
			"/api/v1/states": []api.ListedState{{DeviceID: idNAS, DeviceState: good},
				{DeviceID: idLaptop, DeviceState: waiting}},
			"/api/v1/devices/" + idLaptop + "/state": waiting,
			"/api/v1/consents":                       heldInTwoPlaces(),
		}
		values["/api/v1/overview"] = api.Overview{
			Mode: "observe", Stops: stops, StopCount: len(stops),
			Rollouts:  []api.Rollout{{ID: 7, Status: "halted", Reason: "a gate failed"}},
			Pending:   api.OverviewOfPending{Devices: 1, Folders: 2},
			Receivers: []api.Receiver{{Name: "hook", Waiting: 3, Trouble: "refused"}, {Name: "mail"}},
		}
		if r.URL.Query().Get("device") == idNAS {
			values["/api/v1/stops"] = stops[:min(len(stops), 3)]
		}
		values["/api/v1/devices/"+idNAS+"/settings"] = api.DeviceSettings{Mode: "on"}
		values["/api/v1/devices/"+idNAS+"/tags"] = []string{"a", "b"}
		if r.Method == http.MethodPost && r.URL.Path == "/api/v1/devices/"+idLaptop+"/apply" {
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Error(err)
			}
			_ = json.NewEncoder(w).Encode(api.AppliedPlan{DeviceState: good, Applied: held[:2], Waiting: held[3:]})
			return
		}
		_ = json.NewEncoder(w).Encode(values[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	return server.URL, func() api.ApplyPlan { return body }
}

// heldInTwoPlaces are a group of held changes on the laptop, and one on a device that no other answer has.
func heldInTwoPlaces() []api.HeldGroup {
	change := api.HeldChange{DeviceID: idLaptop, Label: "laptop", Digest: "d", Key: "devices." + idNAS, From: raw("null"),
		To: raw(`{}`), Reason: "it would be an introducer",
		Names: api.ChangeNames{Devices: []api.NamedDevice{{DeviceID: idNAS, Label: "nas"}}}}
	elsewhere := change
	elsewhere.DeviceID, elsewhere.Label = "ZZZ", "elsewhere"
	return []api.HeldGroup{
		{Digest: "g1", DeviceCount: 1, Templates: []int64{3}, Changes: []api.HeldChange{change}},
		{Digest: "g2", DeviceCount: 1, Changes: []api.HeldChange{elsewhere}},
	}
}

func TestStatusForProgramsHasWhatIsHeldAndWhomItNames(t *testing.T) {
	address, _ := fleetOfTwo(t)
	_, out, errs := run(t, "status", "--token", "x", "--server", address, "--output", "json")
	var got fleetStatus
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err, errs)
	}
	if len(got.Held) != 1 || got.Held[0].Changes[0].Names.Devices[0].Label != "nas" {
		t.Errorf("got %+v", got.Held)
	}
}

func TestStatusShowsWhoNeedsSomebody(t *testing.T) {
	const (
		everywhere = "Observe only: nothing is written to any device: the server was started with " +
			"--configurator=observe. " +
			"Start it without that flag to end this.\n"
		fleetwide = "Observe only: nothing is written to any device, by anna. `muster resume` ends this.\n"
		tagged    = "Not watched: nothing is read from or written to the devices with the tag \"b\" (1). `muster " +
			"resume --tag 'b'` ends this.\n"
		whole = "Held until a person answers:\n" +
			"On 1 device:\n  laptop (AIR6LPZ)\n  + devices.nas (P56IOI7) {}\n      held: it would be an introducer " +
			"(template 3)\n      names nas (P56IOI7)\n`muster consent list` has the commands that answer.\n" +
			"`muster status DEVICE` has every key that is to change on a device, and what is held of it.\n" +
			"2 devices.\n  Connection:    2 online\n  Configuration: 1 held, 1 inSync\n" + everywhere + fleetwide +
			tagged +
			"Observe only: nothing is written to the devices with the tag \"c\" (0). `muster resume --tag 'c'` ends " +
			"this.\n" +
			"Observe only: nothing is written to device laptop (AIR6LPZ). `muster resume --device AIR6LPZ` ends this.\n" +
			"Rollout 7 is halted: a gate failed\n" +
			"To be let in or dismissed: 1 device, 2 folders (`muster pending list`).\nhook is not told of problems, 3 " +
			"messages waiting: refused\n"
		nas = "nas (P56IOI7): online, inSync\n  all is well\n  " + everywhere + "  " + fleetwide + "  " + tagged +
			"Nothing is to be changed.\n"
	)
	stops := []api.ModeStop{
		{Scope: "server", Mode: "observe", Devices: 2}, {Scope: "fleet", Mode: "observe", Devices: 2, By: "anna"},
		{Scope: "tag", Tag: "b", Mode: "paused", Devices: 1}, {Scope: "tag", Tag: "c", Mode: "observe"},
		{Scope: "device", DeviceID: idLaptop, Label: "laptop", Mode: "observe", Devices: 1},
	}
	address, _ := fleetOfTwo(t, stops...)
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"the fleet": {nil, exitRefused, "laptop (AIR6LPZ)  online  held  folders.old waits\n" + whole},
		"all of it": {[]string{"--all"}, exitRefused,
			"nas (P56IOI7)     online  inSync  all is well\nlaptop (AIR6LPZ)  online  held    folders.old waits\n" + whole},
		"by label":                   {[]string{"nas"}, exitDone, nas},
		"by the beginning of its ID": {[]string{"p56"}, exitDone, nas},
		"nobody": {[]string{"nowhere"}, exitRefused,
			"muster: no device has the label \"nowhere\", or an ID that begins so\n`muster device list` lists all of them.\n"},
		"more than one": {[]string{"twin"}, exitUsage,
			"muster: \"twin\" may be twin (AIR6ABC), twin (ZZZ)\nGive the letters before the first hyphen of its ID.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := run(t, append([]string{"status", "--token", "x", "--server", address}, test.args...)...)
			if code != test.code || out+errs != test.want {
				t.Errorf("got %d and\n%s%swant\n%s", code, out, errs, test.want)
			}
		})
	}
}

func TestApplyAsksForThePlanThatWasSeen(t *testing.T) {
	address, sent := fleetOfTwo(t)
	connected := []string{"apply", "laptop", "--token", "x", "--server", address}
	code, shown, errs := run(t, connected...)
	_, command, found := strings.Cut(shown, "\n  muster ")
	command, _, _ = strings.Cut(command, "\n")
	if code != exitDone || errs != "" || !found || !strings.Contains(shown, "--keep") ||
		!strings.Contains(shown, "refused: never") {
		t.Fatalf("got %d and\n%s%s", code, shown, errs)
	}
	if want := "apply AIR6LPZ --digest d1 --consent 'folders.old' --keep 'gui.password'"; command != want {
		t.Fatalf("got the command %q, want %q", command, want)
	}
	if code, _, errs := run(t, append(connected, "--consent", "folders.old")...); code != exitUsage ||
		!strings.Contains(errs, "digest") {
		t.Errorf("got %d and\n%s", code, errs)
	}
	for _, want := range []string{`may be chosen: "no password": the daemon has no password then`,
		"With --value 'gui.password=no password' the daemon has no password then."} {
		if !strings.Contains(shown, want) {
			t.Errorf("got\n%s\nwant %s", shown, want)
		}
	}
	code, out, errs := run(t, append(strings.Fields(strings.ReplaceAll(command, "'", "")), connected[2:]...)...)
	if code != exitDone || errs != "" || !strings.HasPrefix(out, "Done and read back:\n  - folders.old") ||
		!strings.Contains(out, "Not done:\n  ~ gui.enabled") || strings.Contains(out, "may be chosen") {
		t.Errorf("got %d and\n%s%s", code, out, errs)
	}
	if got := sent(); *got.Digest != "d1" || strings.Join(got.Consent, " ") != "folders.old" ||
		strings.Join(got.Keep, " ") != "gui.password" {
		t.Errorf("got %+v", got)
	}
}

func TestApplySendsTheValueThatAPersonChooses(t *testing.T) {
	address, sent := fleetOfTwo(t)
	with := func(value string) []string {
		return []string{"apply", "laptop", "--digest", "d1", "--value", value, "--token", "x", "--server", address}
	}
	for _, wrong := range []string{"gui.password", "gui.password=", "=no password"} {
		if code, _, errs := run(t, with(wrong)...); code != exitUsage || !strings.Contains(errs, "no KEY=NAME") {
			t.Errorf("%s: got %d and\n%s", wrong, code, errs)
		}
	}
	if code, _, errs := run(t, with(`folders."a=b".path=no password`)...); code != exitDone || errs != "" {
		t.Errorf("got %d and\n%s", code, errs)
	}
	if got := sent(); len(got.Values) != 1 || got.Values[`folders."a=b".path`] != "no password" {
		t.Errorf("sent %+v", got)
	}
	if code, _, errs := run(t, "apply", "laptop", "--value", "gui.password=no password", "--token", "x", "--server",
		address); code != exitUsage || !strings.Contains(errs, "digest") {
		t.Errorf("without the plan that was looked at: got %d and\n%s", code, errs)
	}
}

func TestADeviceIsStoppedByItsLabel(t *testing.T) {
	address, _ := fleetOfTwo(t)
	code, out, errs := run(t, "stop", "--device", "nas", "--token", "x", "--server", address)
	if want := "Stopped: nothing is written to device nas (P56IOI7). `muster resume --device 'nas'` goes " +
		"on.\n"; code != exitDone || out != want || errs != "" {
		t.Errorf("got %d and\n%s%swant\n%s", code, out, errs, want)
	}
	if code, _, errs := run(t, "stop", "--device", "twin", "--token", "x", "--server", address); code != exitUsage ||
		!strings.Contains(errs, "may be") {
		t.Errorf("got %d and\n%s", code, errs)
	}
}

func TestARolloutsStatusIsSaidOnce(t *testing.T) {
	for reason, want := range map[string]string{
		"paused by night-shift":  "Rollout 3 is paused by night-shift",
		"paused: nobody is here": "Rollout 3 is paused: nobody is here",
		"somebody wants a look":  "Rollout 3 is paused: somebody wants a look",
	} {
		if got := statusLine(api.Rollout{ID: 3, Status: "paused", Reason: reason}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// What goes by itself needs no command, and a configuration that is not known is not said to be right.
func TestAPlanSaysWhatHasToBeDoneAndWhatDoesNot(t *testing.T) {
	free := api.PlannedChange{Key: "options.natEnabled", From: raw("true"), To: raw("false"), Class: "free"}
	held := api.PlannedChange{Key: "gui.theme", From: raw(`"a"`), To: raw(`"b"`), Class: "held", Reason: "so"}
	online := api.DeviceState{Connection: "online", Configuration: "pending"}
	away := api.DeviceState{Connection: "unreachable", Configuration: "unknown"}
	stop := []api.ModeStop{{Scope: "fleet", Mode: "observe"}}
	const command = "To have all of it done:\n  muster apply P56IOI7 --digest d --consent 'gui.theme'\n"
	for name, test := range map[string]struct {
		state   api.DeviceState
		stops   []api.ModeStop
		changes []api.PlannedChange
		want    string // its end
		command bool
	}{
		"nothing": {online, nil, nil, "Nothing is to be changed.\n", false},
		"nothing known": {away, nil, nil,
			"Nothing was to be changed when the daemon was last read. What it has now is not known.\n", false},
		"by itself": {online, nil, []api.PlannedChange{free},
			"It is sent by itself: nothing has to be done for it.\n", false},
		"by itself, later": {away, nil, []api.PlannedChange{free},
			"It is sent by itself as soon as the daemon can be reached.\n", false},
		"by itself, but stopped": {online, stop, []api.PlannedChange{free},
			"It is sent by itself once the stops above have ended.\n", false},
		"held": {online, nil, []api.PlannedChange{held}, command, true},
		"held, and away": {away, nil, []api.PlannedChange{held},
			"What is held waits for a person, who can consent to it as soon as the daemon can be reached.\n", false},
		"held, but stopped": {online, stop, []api.PlannedChange{held},
			"What is held waits for a person, who can consent to it once the stops above have ended.\n", false},
		"held and what goes by itself": {online, nil, []api.PlannedChange{free, held},
			command + "What is not held is sent by itself: nothing has to be done for it.\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			at := "GET /api/v1/devices/" + idNAS
			server := answering(t, map[string]any{
				at: api.Device{DeviceID: idNAS, Label: "nas"}, at + "/state": test.state, at + "/tags": []string{},
				at + "/folders":     []api.FolderStanding{},
				"GET /api/v1/stops": append([]api.ModeStop{}, test.stops...), at +
					"/plan": api.Plan{Digest: "d", Changes: test.changes},
			})
			for _, verb := range []string{"status", "apply"} {
				code, out, errs := run(t, verb, idNAS, "--token", "x", "--server", server.URL)
				want := exitDone
				if verb == "status" && test.state.Connection != "online" {
					want = exitRefused // a person should look
				}
				if code != want || !strings.HasSuffix(out, test.want) ||
					strings.Contains(out, "muster apply") != test.command {
					t.Errorf("%s: got %d and\n%s%swant the end\n%s", verb, code, out, errs, test.want)
				}
			}
		})
	}
}

// Devices in keys have names, except in what is copied.
func TestAKeyNamesItsDeviceByLabel(t *testing.T) {
	change := api.PlannedChange{Key: "folders.p.devices." + idLaptop, From: raw("null"), To: raw("{}"), Class: "held",
		Reason: "so"}
	at := "GET /api/v1/devices/" + idNAS
	devices := []api.Device{{DeviceID: idNAS, Label: "nas"}, {DeviceID: idLaptop, Label: "laptop"}}
	server := answering(t, map[string]any{
		at: devices[0], at + "/tags": []string{}, at + "/folders": []api.FolderStanding{},
		at + "/state":         api.DeviceState{Connection: "online", Configuration: "pending"},
		"GET /api/v1/devices": devices,
		"GET /api/v1/stops":   []api.ModeStop{}, at + "/plan": api.Plan{Digest: "d", Changes: []api.PlannedChange{change}},
	})
	code, out, errs := run(t, "status", idNAS, "--token", "x", "--server", server.URL)
	if code != exitDone || !strings.Contains(out, "+ folders.p.devices.laptop (AIR6LPZ) {}\n") ||
		!strings.HasSuffix(out, "--consent 'folders.p.devices."+idLaptop+"'\n") {
		t.Errorf("got %d and\n%s%s", code, out, errs)
	}
}

// A template that fails is the state's to say: no error of the command, which ends as a person should look.
func TestStatusOfADeviceWhoseTemplateFailsIsNoError(t *testing.T) {
	at := "/api/v1/devices/" + idNAS
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		values := map[string]any{
			at: api.Device{
				DeviceID: idNAS,
				Label:    "nas",
			},
			at + "/tags":    []string{},
			at + "/folders": []api.FolderStanding{},
			"/api/v1/stops": []api.ModeStop{},
			at + "/state": api.DeviceState{Connection: "online", Configuration: "failed", Reason: "template 4 fails",
				Next: "Correct it."},
		}
		value := values[r.URL.Path]
		if value == nil {
			w.Header().Set("Content-Type", api.ProblemType)
			w.WriteHeader(http.StatusUnprocessableEntity)
			value = api.Problem{Status: http.StatusUnprocessableEntity, Detail: "template 4 fails",
				Traceback: "Traceback:\n  line 2"}
		}
		_ = json.NewEncoder(w).Encode(value)
	}))
	defer server.Close()
	code, out, errs := run(t, "status", idNAS, "--token", "x", "--server", server.URL)
	const want = "nas (P56IOI7): online, failed\n  template 4 fails\n  Correct it.\nThere is no plan until that is " +
		"corrected.\n  Traceback:\n    line 2\n"
	if code != exitRefused || errs != "" || out != want {
		t.Errorf("got %d and\n%s%swant\n%s", code, out, errs, want)
	}
}

func TestStatusOfAMistypedTagIsWarnedOf(t *testing.T) {
	server := answering(t, map[string]any{
		"GET /api/v1/devices": []api.Device{}, "GET /api/v1/states": []api.ListedState{},
		"GET /api/v1/overview":           api.Overview{},
		"GET /api/v1/tags/ofice/devices": []api.Device{},
	})
	code, out, errs := run(t, "status", "--tag", "ofice", "--token", "x", "--server", server.URL)
	if code != exitDone || !strings.HasPrefix(out, "0 devices") ||
		errs != "Warning: no device carries the tag \"ofice\".\n" {
		t.Errorf("got %d and\n%s%s", code, out, errs)
	}
}

// An apply that a stop kept from the daemon was told that the plan had changed, and led to the same plan again.
func TestAnApplyThatAStopRefusesIsNoChangedPlan(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_ = json.NewEncoder(w).Encode(api.Device{DeviceID: idNAS, Label: "nas"})
			return
		}
		w.Header().Set("Content-Type", api.ProblemType)
		w.WriteHeader(http.StatusConflict)
		_ = json.NewEncoder(w).Encode(api.Problem{Status: http.StatusConflict, Detail: "Muster only observes this device"})
	}))
	defer server.Close()
	code, _, errs := run(t, "apply", idNAS, "--digest", "d", "--consent", "gui.theme", "--token", "x", "--server",
		server.URL)
	if code != exitRefused || !strings.HasPrefix(errs,
		"muster: Muster only observes this device: nothing was done\n`muster status ") {
		t.Errorf("got %d and\n%s", code, errs)
	}
}

// What the server says for those who send requests is said for those who type commands.
func TestHintsNameCommandsInsteadOfRequests(t *testing.T) {
	at := "/api/v1/devices/" + idNAS
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var value any = api.Device{DeviceID: idNAS, Label: "nas"}
		if r.URL.Path != at {
			w.Header().Set("Content-Type", api.ProblemType)
			problem := api.Problem{Status: http.StatusNotFound, Detail: "there is no rollout 7",
				Hint: "GET /api/v1/rollouts lists all.", See: &api.ProblemSubject{Subject: "rollouts"}}
			if r.Method == http.MethodPost {
				problem = api.Problem{Status: http.StatusConflict, Detail: "the plan is another by now", Hint: "GET " + at +
					"/plan, look at it."}
			}
			w.WriteHeader(problem.Status)
			value = problem
		}
		_ = json.NewEncoder(w).Encode(value)
	}))
	defer server.Close()
	for want, args := range map[string][]string{
		"`muster rollout list` lists all.\n":        {"rollout", "show", "7"},
		"`muster status '" + idNAS + "'` shows why": {"apply", idNAS, "--digest", "d"},
	} {
		code, out, errs := run(t, append(args, "--token", "x", "--server", server.URL)...)
		if code != exitRefused || out != "" || !strings.Contains(errs, want) || strings.Contains(errs, "GET ") {
			t.Errorf("got %d and\n%s%swant %s", code, out, errs, want)
		}
	}
}

func TestStatusOfManyStopsNamesHowManyAreLeft(t *testing.T) {
	stops := slices.Repeat([]api.ModeStop{{Scope: "tag", Tag: "b", Mode: "paused"}}, 102)
	server := answering(t, map[string]any{
		"GET /api/v1/devices": []api.Device{}, "GET /api/v1/states": []api.ListedState{},
		"GET /api/v1/overview": api.Overview{Stops: stops, StopCount: 1103},
	})
	code, out, errs := run(t, "status", "--token", "x", "--server", server.URL)
	if code != exitDone || errs != "" || strings.Count(out, "Not watched:") != 100 ||
		!strings.Contains(out, "\nand 1,003 stops more: `muster status DEVICE` shows those of a device.\n") {
		t.Errorf("got %d and\n%s%s", code, out, errs)
	}
}

func TestStatusSaysFirstWhatIsWrongWithFiles(t *testing.T) {
	trouble := []api.Trouble{
		{
			Cause:    "folderStopped",
			Severity: "critical",
			Devices:  2,
			Folders:  3,
			DeviceID: idNAS,
			Label:    "nas",
			Folder:   "photos",
			Reason:   "the daemon stopped the folder: folder path missing",
			Next:     "Mount the disk.",
		},
	}
	overview := api.Overview{Trouble: trouble, Folders: api.FolderCounts{"all": 4, "stopped": 3, "upToDate": 1}}
	states := []api.ListedState{{DeviceID: idNAS, DeviceState: api.DeviceState{Connection: "online",
		Configuration: "inSync", Reason: "all is well"}}}
	address, _ := serving(t, map[string]any{"overview": overview, "states": states, "consents": []api.HeldGroup{},
		"waiting": api.Waiting{},
		"devices": []api.Device{{DeviceID: idNAS, Label: "nas"}}})
	code, out, errs := run(t, "status", "--server", address, "--token", "x")
	const first = "FOLDER STOPPED: 2 devices\n  nas (P56IOI7), folder photos: the daemon stopped the folder: folder " +
		"path missing\n  Mount the disk.\n  `muster device list --waiting folderStopped` lists them.\n"
	if code != exitRefused || errs != "" || !strings.HasPrefix(out, first) ||
		!strings.Contains(out, "  Folders:       4, 3 stopped\n") {
		t.Errorf("got %d and\n%s%s", code, out, errs)
	}
}

func TestADeviceThatIsAwayIsTroubleOnceTheOverviewSaysSo(t *testing.T) {
	states := []api.ListedState{{DeviceID: idNAS, DeviceState: api.DeviceState{Connection: "unreachable",
		Configuration: "unknown", Reason: "no route"}}}
	for want, trouble := range map[int][]api.Trouble{exitDone: nil, exitRefused: {{Cause: "unreachable", Devices: 1}}} {
		address, _ := serving(t, map[string]any{"overview": api.Overview{Trouble: trouble}, "states": states,
			"devices": []api.Device{{DeviceID: idNAS, Label: "nas"}}})
		if code, out, errs := run(t, "status", "--server", address, "--token", "x"); code != want ||
			!strings.Contains(out, "no route") {
			t.Errorf("got %d, want %d: %s%s", code, want, out, errs)
		}
	}
}

// What was younger than the setting troubleAfter was left out without a word.
func TestStatusAndWaitingSayHowMuchTheyDoNotList(t *testing.T) {
	const want = "Not listed on 3 devices: what has not lasted as long as the settings troubleAfter and quietAfter " +
		"allow. `muster device list --waiting young` lists these devices.\n"
	address, _ := serving(t, map[string]any{"overview": api.Overview{Young: 3}, "states": []api.ListedState{},
		"devices": []api.Device{}, "waiting": api.Waiting{}})
	for _, command := range []string{"status", "waiting"} {
		if code, out, errs := run(t, command, "--server", address, "--token", "x"); code != exitDone ||
			!strings.Contains(out, want) {
			t.Errorf("%s: got %d and\n%s%s", command, code, out, errs)
		}
	}
}

// `muster status --tag` showed the trouble of the whole fleet.
func TestStatusOfATagShowedTheTroubleOfTheWholeFleet(t *testing.T) {
	address, asked := serving(t, map[string]any{"overview": api.Overview{}, "states": []api.ListedState{},
		"devices": []api.Device{{DeviceID: idNAS, Label: "nas"}}})
	for _, how := range [][]string{nil, {"-o", "json"}} {
		asked["overview"] = ""
		run(t, append([]string{"status", "--server", address, "--token", "x", "--tag", "home", "-q", "n"}, how...)...)
		if got := asked["overview"]; got != "q=n&tag=home" {
			t.Errorf("%v asked for the overview of %q", how, got)
		}
	}
}
