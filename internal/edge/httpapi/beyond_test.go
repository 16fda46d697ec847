package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// with is the world with other options.
func (w *world) with(change func(*setup)) *world {
	change(&w.setup)
	summaries := w.summaries()
	w.setup.Summaries, w.setup.Stops = summaries, summaries
	w.api = w.setup.server()
	return w
}

// summaries are those of a view, with how telling people stands.
type summaries struct {
	*view.Summaries
	told view.Notifications
}

func (s summaries) Overview(ctx context.Context, picks func(*fleet.Registered) bool) (view.Overview, error) {
	return s.Summaries.Overview(ctx, picks, s.told)
}

func (s summaries) Waiting(ctx context.Context) (view.Waiting, error) {
	return s.Summaries.Waiting(ctx, s.told)
}

// summaries are those of what the options stand on.
func (w *world) summaries() summaries {
	from := w.setup
	o := view.SummaryOptions{
		Registry: w.setup.Registry.Registry, View: w.view, DatedStop: w.store.DatedStop, Visited: w.visited,
	}
	o.Rollouts, _ = from.Rollouts.(*view.Rollouts)
	if from.Consents != nil {
		o.Held = from.Consents.Held
	}
	if from.Pending != nil {
		o.Pending = from.Pending.Pending
	}
	if from.Trust != nil {
		o.Shown = func(id fleet.DeviceID) fleet.Shown {
			_, shown := from.Trust.Certificates(id)
			return shown
		}
	}
	if from.Health != nil {
		o.Impairments = from.Health.Impairments
	}
	o.Enrollments = w.enrollments.Requests
	return summaries{view.NewSummaries(o), w.notified}
}

// roll has the API follow and steer rollouts.
func (w *world) roll(f *rollouts) {
	w.with(func(o *setup) {
		o.Rollouts, o.Runner = view.NewRollouts(view.RolloutOptions{Source: f, Registry: w.setup.Registry.Registry}), f
	})
}

// hold has the API ask for consents.
func (w *world) hold(f *consents) {
	w.with(func(o *setup) {
		o.Consents = view.NewConsents(view.ConsentOptions{Source: f, Registry: w.setup.Registry.Registry})
	})
}

func read[T any](w *world, path string) (out T) {
	w.t.Helper()
	if err := json.Unmarshal([]byte(w.get(path)), &out); err != nil {
		w.t.Fatal(err)
	}
	return out
}

// told is of one problem, of which one receiver heard.
var told = view.Notifications{Problems: make([]fleet.DeviceID, 1), Receivers: []fleet.Receiver{{Name: "quiet"},
	{Name: "hook", Waiting: 3, Trouble: "refused", Since: time.Unix(1_700_000_000, 0)}}}

func TestOverviewNamesEveryState(t *testing.T) {
	w, rollouts := rolling(t)
	w.device(idA, "nas")
	w.fakes.states = map[fleet.DeviceID]fleet.State{idA: {Connection: fleet.Online, Configuration: fleet.ConfigHeld}}
	w.lookAt(func(fleet.DeviceID) *fleet.Snapshot {
		return &fleet.Snapshot{Connection: fleet.Online, Folders: []fleet.FolderLabel{{Folder: "p"}}}
	})
	w.with(func(o *setup) {
		o.Pending = &pendings{all: []fleet.Pending{{Device: idA, From: idB}, {Device: idA, From: idB, Folder: "p"},
			{Device: idA, From: idC}}}
	})
	w.template(`{"op":"set","key":"","template":"{}"}`)
	w.notified = told
	w.with(func(*setup) {})
	got := read[api.Overview](w, Prefix+"/overview")
	if got.Problems != 1 || len(got.Receivers) != 2 || got.Receivers[0] != (api.Receiver{Name: "quiet"}) ||
		got.Receivers[1].Waiting != 3 || got.Receivers[1].Trouble != "refused" || got.Receivers[1].Since == nil {
		t.Errorf("%d problems, receivers %+v", got.Problems, got.Receivers)
	}
	text := w.get(Prefix + "/overview")
	for range 5 { // maps have no order of their own
		if again := w.get(Prefix + "/overview"); again != text {
			t.Fatalf("the same is told in two ways: %s and %s", text, again)
		}
	}
	if got.Devices != 1 || got.Connections["online"] != 1 || got.Configurations["held"] != 1 ||
		!maps.Equal(got.Folders, api.FolderCounts{"all": 1, "unknown": 1}) {
		t.Errorf("got %+v", got)
	}
	if len(got.Connections) != len(fleet.Connections()) || len(got.Configurations) != 9 {
		t.Errorf("states without a device are left out: %+v", got)
	}
	if got.Pending != (api.OverviewOfPending{Devices: 2, Folders: 1}) || got.Mode != "on" || got.Templates != 1 {
		t.Errorf("got %+v", got)
	}
	w.view.Mode = fleet.ModeObserve
	if got := read[api.Overview](w, Prefix+"/overview"); got.Mode != "observe" {
		t.Errorf("got the mode %s, want the one that is in force", got.Mode)
	}
	if len(got.Rollouts) != len(rollouts.all)-1 || got.Rollouts[0].ID != 3 {
		t.Errorf("got rollouts %+v, want those that are not over", got.Rollouts)
	}
}

func TestTheOverviewShowsTheCertificateOfTheAPI(t *testing.T) {
	w := newWorld(t)
	ends := time.Now().Add(36 * time.Hour).Truncate(time.Second)
	w.with(func(o *setup) {
		o.Certificate = func() *fleet.Served {
			return &fleet.Served{Certificate: fleet.Certificate{Fingerprint: "sha256:01", NotAfter: ends}, Stale: true}
		}
	})
	got := read[api.Overview](w, Prefix+"/overview").Certificate
	if got == nil || got.Fingerprint != "sha256:01" || got.Days != 1 || !got.Stale || !got.ExpiresAt.Equal(ends) {
		t.Errorf("got %+v", got)
	}
	w.with(func(o *setup) { o.Certificate = func() *fleet.Served { return nil } })
	if text := w.get(Prefix + "/overview"); strings.Contains(text, "certificate") {
		t.Errorf("got %s over plain HTTP", text)
	}
}

func TestTheManualKnowsEveryStateAndRole(t *testing.T) {
	manual, err := os.ReadFile("../../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range fleet.Connections() {
		names = append(names, string(c))
	}
	for _, c := range fleet.Configurations() {
		names = append(names, string(c))
	}
	for _, role := range []fleet.Role{fleet.RoleViewer, fleet.RoleOperator, fleet.RoleAuthor, fleet.RoleAdmin} {
		names = append(names, string(role))
	}
	for _, name := range names {
		if !strings.Contains(string(manual), "`"+name+"`") {
			t.Errorf("docs/operating.md does not say what %s means", name)
		}
	}
}

// pendings plays the inbox.
type pendings struct {
	all  []fleet.Pending
	done []string
}

func (f *pendings) Pending() []fleet.Pending { return f.all }
func (f *pendings) Accept(_ context.Context, asks fleet.Pending, name, path string) error {
	f.done = append(f.done, strings.Join([]string{"accept", string(asks.From.Short()), asks.Folder, name, path}, " "))
	return nil
}
func (f *pendings) Dismiss(_ context.Context, asks fleet.Pending) error {
	f.done = append(f.done, "dismiss "+asks.From.Short())
	return nil
}

func TestPendingIsListedLetInAndDismissed(t *testing.T) {
	inbox := &pendings{all: []fleet.Pending{
		{Device: idA, From: idC, Name: "new", Address: "192.0.2.7:22000"},
		{Device: idA, From: idB, Folder: "p", FolderLabel: "Photos"}, {Device: idC, From: idA},
	}}
	w := newWorld(t).with(func(o *setup) { o.Pending = inbox })
	w.device(idA, "one")
	w.device(idB, "two")
	w.want(http.StatusOK, call{method: http.MethodPut, path: Prefix + "/devices/" + string(idA) + "/tags/x"})
	all := read[[]api.Pending](w, Prefix+"/pending")
	if len(all) != 2 { // idC is not registered any more
		t.Fatalf("got %+v", all)
	}
	byKind := map[string]api.Pending{}
	for _, one := range all {
		byKind[one.Kind] = one
	}
	device, folder := byKind["device"], byKind["folder"]
	if device.Label != "one" || device.Registered || device.Name != "new" || folder.FromLabel != "two" ||
		!folder.Registered || folder.FolderLabel != "Photos" {
		t.Errorf("got %+v", all)
	}
	for query, want := range map[string]int{"?q=photos": 1, "?tag=x": 2, "?tag=y": 0, "?limit=1": 1,
		"?q=two&limit=1": 1} {
		if got := read[[]api.Pending](w, Prefix+"/pending"+query); len(got) != want {
			t.Errorf("%s: got %+v, want %d", query, got, want)
		}
	}
	first := w.do(call{method: http.MethodGet, path: Prefix + "/pending?limit=1"})
	link := strings.TrimSuffix(strings.TrimPrefix(first.Header.Get("Link"), "<"), `>; rel="next"`)
	if rest := read[[]api.Pending](w, link); len(rest) != 1 || rest[0] != all[1] {
		t.Errorf("after the first comes %+v, want %+v", rest, all[1])
	}
	post := func(id, body string, role fleet.Role) call {
		return call{method: http.MethodPost, path: Prefix + "/pending/" + id + "/accept", body: body, role: role}
	}
	w.problem(http.StatusForbidden, post(device.ID, `{}`, fleet.RoleAuthor))
	w.problem(http.StatusNotFound, post("x", `{}`, ""))
	w.want(http.StatusNoContent, post(folder.ID, `{"path":" /srv/p ","label":"L"}`, ""))
	w.problem(http.StatusUnprocessableEntity, post(folder.ID, `{"path":"/srv/p","register":{"apiKey":"k"}}`, ""))
	for _, body := range []string{`{"register":{}}`, `{"register":{"apiKey":"k","apiPort":0}}`,
		`{"register":{"apiKey":"k\nk"}}`} {
		w.problem(http.StatusUnprocessableEntity, post(device.ID, body, ""))
	}
	w.want(http.StatusNoContent, post(device.ID, `{}`, ""))
	pin, other := "sha256:"+strings.Repeat("ab", 32), "sha256:"+strings.Repeat("cd", 32)
	pinned := func(body, header string) call {
		c := post(device.ID, body, "")
		c.header = http.Header{api.PinHeader: {header}}
		return c
	}
	for _, wrong := range []call{
		pinned(`{}`, pin), pinned(`{"register":{"apiKey":"k"}}`, "x"),
		pinned(`{"register":{"apiKey":"k","pin":"`+other+`"}}`, pin),
		post(device.ID, `{"register":{"apiKey":"k","pin":"sha256:ab"}}`, ""),
	} {
		w.problem(http.StatusUnprocessableEntity, wrong)
	}
	w.want(http.StatusNoContent, pinned(`{"register":{"apiKey":"k","apiAddress":"192.0.2.1","pin":"`+pin+`"}}`, pin))
	if got := read[api.DeviceSettings](w, Prefix+"/devices/"+string(idC)+"/settings"); got.Pin != pin {
		t.Errorf("the settings are %+v", got)
	}
	if got := read[api.Device](w, Prefix+"/devices/"+string(idC)); got.Label != "new" || got.APIAddress != "192.0.2.1" ||
		got.APIPort != 8384 {
		t.Errorf("registered as %+v", got)
	}
	w.problem(http.StatusConflict, post(device.ID, `{"register":{"apiKey":"k"}}`, ""))
	w.want(http.StatusNoContent, call{method: http.MethodDelete, path: Prefix + "/pending/" + device.ID,
		role: fleet.RoleOperator})
	want := "accept " + idB.Short() + " p L /srv/p, accept " + idC.Short() + "   , accept " + idC.Short() +
		"   , dismiss " + idC.Short()
	if got := strings.Join(inbox.done, ", "); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSecretsAreWrittenAndNeverRead(t *testing.T) {
	w := newWorld(t)
	w.with(func(o *setup) { o.Secrets = w.store })
	put := call{method: http.MethodPut, path: Prefix + "/secrets/backup%2Fpw", body: `{"value":"hunter2"}`}
	if got := w.want(http.StatusCreated, put); got != `{"name":"backup/pw","keys":[],"tags":[]}` {
		t.Errorf("got %s", got)
	}
	w.want(http.StatusOK, put)
	if got := w.want(http.StatusOK, call{method: http.MethodGet, path: Prefix + "/secrets",
		role: fleet.RoleAuthor}); got != `[{"name":"backup/pw","keys":[],"tags":[]}]` {
		t.Errorf("got %s", got)
	}
	lists := call{method: put.method, path: put.path,
		body: `{"keys":["GUI.password","folders.*.devices.*.encryptionPassword"],"tags":["vault"]}`}
	want := `{"name":"backup/pw","keys":["folders.*.devices.*.encryptionPassword","gui.password"],"tags":["vault"]}`
	if got := w.want(http.StatusOK, lists); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := w.want(http.StatusOK, put); got != want { // the lists stay with a new value
		t.Errorf("got %s, want %s", got, want)
	}
	for _, body := range []string{`{"keys":["folders.x.label"]}`, `{"keys":["nope.x"]}`, `{"keys":[""]}`, `{"tags":[""]}`,
		`{"keys":["folders.x.versioning.params.password"]}`} {
		w.problem(http.StatusUnprocessableEntity, call{method: put.method, path: put.path, body: body})
	}
	w.problem(http.StatusForbidden, call{method: put.method, path: put.path, body: `{"keys":["gui.password"]}`,
		role: fleet.RoleAuthor})
	w.problem(http.StatusUnprocessableEntity, call{method: put.method, path: Prefix + "/secrets/new", body: lists.body})
	w.problem(http.StatusForbidden, call{method: http.MethodGet, path: Prefix + "/secrets", role: fleet.RoleOperator})
	w.problem(http.StatusForbidden, call{method: put.method, path: put.path, body: put.body, role: fleet.RoleAuthor})
	for _, body := range []string{`{}`, `{"value":""}`, `{"value":"` + strings.Repeat("x", 65<<10) + `"}`} {
		w.problem(http.StatusUnprocessableEntity, call{method: put.method, path: put.path, body: body})
	}
	w.problem(http.StatusUnprocessableEntity, call{method: put.method, path: Prefix + "/secrets/" +
		strings.Repeat("x", 129), body: put.body})
	w.want(http.StatusNoContent, call{method: http.MethodDelete, path: put.path})
	w.problem(http.StatusNotFound, call{method: http.MethodDelete, path: put.path})
	if log := w.log.String(); strings.Contains(log, "hunter2") {
		t.Errorf("the log has it: %s", log)
	}
}

func TestTheAuditSaysWhoDidWhat(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	w.want(http.StatusOK, call{method: http.MethodPut, path: Prefix + "/devices/" + string(idA) + "/tags/x",
		role: fleet.RoleOperator})
	w.template(`{"op":"set","key":"","template":"{}"}`)
	all := read[[]api.AuditEntry](w, Prefix+"/audit")
	var got []string
	for _, e := range all[:3] {
		got = append(got, e.Who+" "+e.What+" "+e.Subject)
	}
	want := []string{"admin template.create 1", "operator device.tag " + string(idA), "admin device.create " +
		string(idA)}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("got %q, want %q", got, want)
	}
	resp := w.do(call{method: http.MethodGet, path: Prefix + "/audit?limit=2"})
	link := strings.TrimSuffix(strings.TrimPrefix(resp.Header.Get("Link"), "<"), `>; rel="next"`)
	if rest := read[[]api.AuditEntry](w, link); len(rest) == 0 || rest[0] != all[2] {
		t.Errorf("after the first page comes %+v, want %+v", rest, all[2:])
	}
	w.problem(http.StatusForbidden, call{method: http.MethodGet, path: Prefix + "/audit", role: fleet.RoleViewer})
	w.problem(http.StatusUnprocessableEntity, call{method: http.MethodGet, path: Prefix + "/audit?after=x"})
}

func TestMetricsAreBehindAToken(t *testing.T) {
	w := newWorld(t).with(func(o *setup) {
		o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_,
				_ = w.Write([]byte("muster_devices 1\n"))
		})
	})
	w.problem(http.StatusUnauthorized, call{method: http.MethodGet, path: "/metrics", token: "-"})
	if got := w.want(http.StatusOK, call{method: http.MethodGet, path: "/metrics",
		role: fleet.RoleViewer}); got != "muster_devices 1" {
		t.Errorf("got %s", got)
	}
}

func TestRequestsAreMeasuredByOperation(t *testing.T) {
	var seen []string
	w := newWorld(t).with(func(o *setup) {
		o.Measured = func(operation string, status int, _ time.Duration) {
			seen = append(seen, fmt.Sprint(operation, " ", status))
		}
	})
	w.device(idA, "one")
	w.get(Prefix + "/devices/" + string(idA))
	w.problem(http.StatusNotFound, call{method: http.MethodGet, path: Prefix + "/devices/" + string(idB)})
	w.problem(http.StatusUnauthorized, call{method: http.MethodGet, path: Prefix + "/devices", token: "-"})
	if got := strings.Join(seen, ", "); got != "putDevice 201, getDevice 200, getDevice 404, listDevices 401" {
		t.Errorf("got %s", got)
	}
}
