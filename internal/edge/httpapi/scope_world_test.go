package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/edge/auth"
	"muster/internal/engine/event"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// hidden stands in everything that is about the device outside.
const hidden = "hiddenplace"

// roomy is a world with one device inside the scope of its scoped tokens (idA), one outside (idB), and everything that
// a server can have. idC is not registered.
type roomy struct {
	*world
	scoped    map[fleet.Role]string      // tokens of viewer and operator
	sessions  map[fleet.Role]http.Header // of browsers
	programs  map[fleet.Role]string      // tokens of sessions
	visitors  map[fleet.Role]string      // tokens of sessions of users with the same scope
	refused   map[string]string          // texts that are no credential, by what they are
	enrollKey string
	consents  *consents
	rollouts  *rollouts
	pendings  *pendings
	hub       *event.Hub
	eventLog  *event.Log
	evaluated []fleet.DeviceID
}

// toldOfBoth is of a problem of each device.
var toldOfBoth = view.Notifications{Problems: []fleet.DeviceID{idA, idB},
	Receivers: []fleet.Receiver{{Name: hidden, Waiting: 7777}}}

func newRoomy(t *testing.T) *roomy {
	t.Helper()
	w := &roomy{world: newWorld(t), scoped: map[fleet.Role]string{}, refused: map[string]string{},
		sessions: map[fleet.Role]http.Header{}, programs: map[fleet.Role]string{}, visitors: map[fleet.Role]string{}}
	w.eventLog = openEventLog(w.world)
	w.hub = w.eventLog.Hub
	t.Cleanup(w.hub.Close)
	w.fill()
	w.lookAt(func(id fleet.DeviceID) *fleet.Snapshot {
		folder, known := map[fleet.DeviceID]string{idA: "mine", idB: hidden}[id]
		if !known {
			return nil
		}
		return &fleet.Snapshot{Device: id, Connection: fleet.Online,
			Folders: []fleet.FolderLabel{{Folder: "both", Label: folder}, {Folder: folder, Label: folder}}}
	})
	w.roll(w.rollouts)
	w.hold(w.consents)
	w.notified, w.visited = toldOfBoth, func() int { return 7777 }
	w.with(func(o *setup) {
		o.Pending, o.Events, o.Trust = w.pendings, w.hub, &trusting{Store: w.store}
		o.EventLog = w.eventLog
		o.Revisions, o.Secrets = &revisions{}, w.store
		o.Metrics = http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(out, hidden) })
		o.Health = impaired{{Part: fleet.PartDescriptors, Reason: hidden, Next: hidden}}
	})
	w.device(idA, "mine")
	w.device(idB, hidden)
	w.put(Prefix+"/devices/"+string(idA)+"/tags/in", "")
	w.put(Prefix+"/devices/"+string(idB)+"/tags/out-"+hidden, "")
	w.template(`{"op":"set","key":"","template":"{}"}`)
	w.put(Prefix+"/templates/1/tags/in", "")
	w.eventLog.Add(logEntry(idA, "mine", "docs"), logEntry(idB, hidden, hidden))
	w.issue(t)
	return w
}

// issue makes the tokens.
func (w *roomy) issue(t *testing.T) {
	t.Helper()
	tokens := w.setup.Tokens
	create := func(name string, role fleet.Role, change func(*fleet.Token)) string {
		wanted := fleet.Token{Name: name, Role: role}
		change(&wanted)
		secret, _, err := tokens.Create(t.Context(), wanted)
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	for _, role := range []fleet.Role{fleet.RoleViewer, fleet.RoleOperator} {
		w.scoped[role] = create("scoped "+string(role), role, func(wanted *fleet.Token) {
			wanted.Scope = fleet.ScopeOf([]fleet.Tag{"in"})
		})
	}
	w.refused["none"], w.refused["wrong"] = "-", "muster_"+strings.Repeat("x", 52)
	w.refused["expired"] = create("expired", fleet.RoleAdmin, func(wanted *fleet.Token) {
		wanted.ExpiresAt = time.Now().Add(-time.Second)
	})
	w.refused["revoked"] = create("revoked", fleet.RoleAdmin, func(*fleet.Token) {})
	if err := tokens.Delete(t.Context(), "revoked"); err != nil {
		t.Fatal(err)
	}
	w.refused["rotated"] = create("rotated", fleet.RoleAdmin, func(*fleet.Token) {})
	if _, _, err := tokens.Rotate(t.Context(), "rotated", auth.Rotation{}); err != nil {
		t.Fatal(err)
	}
	w.issueEnrollKeys(t)
	for _, role := range everyRole {
		w.user(string(role)+"-user", role)
		w.enter(role)
	}
	for role := range w.scoped {
		w.visit(role)
	}
	w.refused["a cookie without its other half"] = cookieIn(w.sessions[fleet.RoleAdmin])
	w.refused["a session that ended"] = w.login("admin-user")
	w.want(http.StatusNoContent, call{method: http.MethodPost, path: Prefix + "/logout",
		token: w.refused["a session that ended"]})
}

// cookieIn gives the session's cookie of what a browser sends, as it goes to every port of the host.
func cookieIn(header http.Header) string {
	cookie, err := (&http.Request{Header: header}).Cookie(auth.HostPrefix + auth.SessionCookie)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// issueEnrollKeys makes one that registers a device, and those that do not any more.
func (w *roomy) issueEnrollKeys(t *testing.T) {
	t.Helper()
	create := func(change func(*fleet.EnrollKey)) (text string, key fleet.EnrollKey) {
		wanted := fleet.EnrollKey{Uses: 1, ExpiresAt: time.Now().Add(time.Hour)}
		change(&wanted)
		text, key, err := w.enrollments.CreateKey(t.Context(), wanted)
		if err != nil {
			t.Fatal(err)
		}
		return text, key
	}
	w.enrollKey, _ = create(func(*fleet.EnrollKey) {})
	w.refused["an unknown enrol key"] = fleet.EnrollKeyPrefix + strings.Repeat("x", 52)
	w.refused["the prefix of an enrol key"] = fleet.EnrollKeyPrefix
	text, revoked := create(func(*fleet.EnrollKey) {})
	if err := w.enrollments.RevokeKey(t.Context(), revoked.ID); err != nil {
		t.Fatal(err)
	}
	w.refused["a revoked enrol key"] = text
	text, used := create(func(*fleet.EnrollKey) {})
	other := fleet.Device{ID: fleet.DeviceIDOf([32]byte{99}), APIPort: 8384}
	for _, edit := range []fleet.Edit{
		{Enroll: &fleet.Enrollment{KeyHash: used.Hash, Device: other, Tags: used.Tags}}, {Remove: []fleet.DeviceID{other.ID}},
	} {
		if _, err := w.store.ApplyEdit(t.Context(), edit, fleet.Basis{}); err != nil {
			t.Fatal(err)
		}
	}
	w.refused["a used enrol key"] = text
}

// visit gives the user with a role and the scope a session.
func (w *roomy) visit(role fleet.Role) {
	w.t.Helper()
	name := "scoped-" + string(role)
	if w.visitors[role] == "" {
		w.want(http.StatusCreated, call{method: http.MethodPost, path: Prefix + "/users", body: fmt.Sprintf(
			`{"name":%q,"role":%q,"tags":["in"],"password":%q}`, name, role, goodPassword)})
	}
	w.visitors[role] = w.login(name)
}

// enter gives the user with a role a session in a browser and one of a program.
func (w *roomy) enter(role fleet.Role) {
	w.t.Helper()
	name := string(role) + "-user"
	w.sessions[role], w.programs[role] = w.world.enter(name), w.login(name)
}

// fill gives the engines something to say about both devices.
func (w *roomy) fill() {
	f := w.fakes
	f.status, f.version = map[fleet.DeviceID]fleet.Status{}, map[fleet.DeviceID]fleet.Version{}
	f.states, f.plans = map[fleet.DeviceID]fleet.State{}, map[fleet.DeviceID]plan.Plan{}
	f.config, f.summaries = map[fleet.DeviceID]stconfig.Value{}, map[string][]fleet.FolderSummary{}
	for id, text := range map[fleet.DeviceID]string{idA: "mine", idB: hidden} {
		f.status[id], f.version[id] = fleet.Status{MyID: id, Tilde: text}, fleet.Version{Device: id, OS: text}
		f.states[id] = fleet.State{Connection: fleet.Online, Configuration: fleet.ConfigInSync, Reason: text}
		f.plans[id] = plan.Plan{Digest: "d"}
		f.config[id] = stconfig.Obj(stconfig.Member{Name: text, Value: stconfig.Text(text)})
		for _, folder := range []string{"both", text} {
			f.summaries[folder] = append(f.summaries[folder], fleet.FolderSummary{Device: id, Folder: folder})
		}
	}
	f.evaluate = func(_ fleet.TaggedTemplate, id fleet.DeviceID) (Evaluation, error) {
		w.evaluated = append(w.evaluated, id)
		return Evaluation{Device: id, Output: []string{hidden}, Steps: 7777}, nil
	}
	f.effects = func(*fleet.Registry, *fleet.Registry) ([]plan.Effect, error) {
		return []plan.Effect{{Device: idA, Unread: true}, {Device: idB, Err: fleet.Invalidf("", hidden)}}, nil
	}
	f.approval = "7777 devices"
	w.pendings = &pendings{all: []fleet.Pending{{Device: idA, From: idC, Name: "new"},
		{Device: idB, From: idC, Name: hidden}}}
	w.consents = &consents{groups: []fleet.HeldGroup{
		{Digest: "both", Key: "folders.p", Consent: true, Removes: true, Rollout: 1, Changes: []fleet.HeldChange{
			{Device: idA, Digest: "a", Key: "folders.p", From: []byte(`"own"`), To: []byte("null"), Reason: "own"},
			{Device: idB, Digest: "b", Key: "folders.p", From: []byte(`"` + hidden + `"`), To: []byte("null"), Reason: hidden}}},
		{Digest: "theirs", Key: hidden, Consent: true, Removes: true, Changes: []fleet.HeldChange{{Device: idB, Digest: "c",
			Key: hidden, From: []byte("1"), To: []byte("2"), Reason: hidden}}},
	}, given: []fleet.GivenConsent{{Consent: fleet.Consent{ID: 2, Device: idB, Key: hidden}},
		{Consent: fleet.Consent{ID: 1, Device: idA, Key: "mine"}}}}
	member := func(ids ...fleet.DeviceID) (all []fleet.RolloutMember) {
		for i, id := range ids {
			all = append(all, fleet.RolloutMember{Device: id, Wave: i + 1, State: fleet.MemberGood,
				Reason: w.fakes.states[id].Reason})
		}
		return all
	}
	w.rollouts = &rollouts{all: []fleet.Rollout{
		{ID: 3, Status: fleet.RolloutRunning, Cause: hidden, Waves: []int{1}, Members: member(idB)},
		{ID: 2, Status: fleet.RolloutHalted, Cause: "device " + string(idB) + `: tag "x"`, Reason: hidden, Next: hidden,
			Waves: []int{1, 7777}, Members: member(idA, idB), Approval: &fleet.Approval{Reason: hidden},
			Halt: &fleet.RolloutHalt{By: "muster", Gate: fleet.GateFolders, Device: idB, Saw: hidden}},
		{ID: 1, Status: fleet.RolloutRunning, Cause: "mine", Reason: "wave 1", Waves: []int{1}, Members: member(idA)},
	}}
}

// ask does a call and gives the status, the headers that an answer is known by, and the body.
func (w *roomy) ask(c call) (status int, header http.Header, body string) {
	w.t.Helper()
	resp := w.do(c)
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

// wantHidden checks that an answer says nothing about the device outside.
func (w *roomy) wantHidden(c call, header http.Header, body string) {
	w.t.Helper()
	text := body + header.Get("Link") + header.Get("Location") + header.Get("Muster-Warning")
	for _, secret := range []string{hidden, string(idB), "7777"} {
		if strings.Contains(text, secret) && !strings.Contains(c.path+c.body, secret) {
			w.t.Errorf("%s %s by a token for tag in: %q is in %s", c.method, c.path, secret, text)
		}
	}
}

var everyRole = []fleet.Role{fleet.RoleViewer, fleet.RoleOperator, fleet.RoleAuthor, fleet.RoleAdmin}

// inOrder gives what a map holds by name.
func inOrder[V any](all map[string]V) []string {
	var names []string
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
