package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/internal/adapter/store"
	"muster/internal/engine/event"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// as does a call of a scoped token and checks that nothing outside shows in the answer.
func (w *roomy) as(role fleet.Role, status int, c call) string {
	w.t.Helper()
	c.token = w.scoped[role]
	got, header, body := w.ask(c)
	if got != status {
		w.t.Fatalf("%s %s: got %d %s, want %d", c.method, c.path, got, body, status)
	}
	w.wantHidden(c, header, body)
	return body
}

func (w *roomy) seen(path string) string {
	w.t.Helper()
	return w.as(fleet.RoleOperator, http.StatusOK, call{method: http.MethodGet, path: Prefix + path})
}

func TestAListThatAnAdminHadReadBeforeReachedAScopedToken(t *testing.T) {
	w := newRoomy(t)
	for _, path := range []string{"/devices", "/states", "/tags", "/folders", "/pending", "/rollouts",
		"/consents", "/consents/given", "/stops", "/overview", "/inventory", "/waiting", "/audit", "/audit/changes",
		"/events/log", "/folders/both",
		"/overview/folders", "/overview/tags",
		"/devices?q=" + hidden,
		"/states?tag=out-" + hidden, "/folders?q=" + hidden, "/tags/out-" + hidden + "/devices"} {
		for _, role := range []fleet.Role{fleet.RoleAdmin, fleet.RoleOperator} {
			if whole := w.want(http.StatusOK, call{method: http.MethodGet, path: Prefix + path, role: role}); !strings.Contains(
				whole, hidden) && !strings.Contains(whole, string(idB)) && path != "/stops" {
				t.Errorf("%s by an %s shows nothing of what is to be hidden: %s", path, role, whole)
			}
		}
		mine := w.seen(path)
		if strings.Contains(path, hidden) && strings.TrimSpace(mine) != "[]" {
			t.Errorf("%s: got %s", path, mine)
		}
	}
	if tags := w.seen("/tags"); tags != "[\"in\"]\n" {
		t.Errorf("got the tags %s", tags)
	}
}

func TestAnETagToldThatADeviceOutsideChanged(t *testing.T) {
	w := newRoomy(t)
	for _, path := range []string{"/devices", "/states", "/inventory", "/waiting", "/folders", "/overview",
		"/tags/in/devices",
		"/overview/folders", "/overview/tags"} {
		get := call{method: http.MethodGet, path: Prefix + path}
		_, whole, _ := w.ask(get)
		get.token, get.header = w.scoped[fleet.RoleViewer], http.Header{"If-None-Match": {whole.Get("ETag")}}
		status, mine, _ := w.ask(get)
		if status != http.StatusOK || mine.Get("ETag") == whole.Get("ETag") {
			t.Errorf("%s: the ETag of the whole fleet gives %d, %s", path, status, mine.Get("ETag"))
		}
		w.device(idB, hidden+path)
		get.header = http.Header{"If-None-Match": {mine.Get("ETag")}}
		if status, after, body := w.ask(get); status != http.StatusNotModified {
			t.Errorf("%s: after a change outside: got %d, %s, %s", path, status, after.Get("ETag"), body)
		}
	}
}

func TestAPageOfTheWholeFleetLedAScopedTokenOutside(t *testing.T) {
	w := newRoomy(t)
	_, header, _ := w.ask(call{method: http.MethodGet, path: Prefix + "/devices?limit=1"})
	next, _, _ := strings.Cut(strings.TrimPrefix(header.Get("Link"), "<"), ">")
	if next == "" {
		t.Fatal("the whole fleet is on one page")
	}
	c := call{method: http.MethodGet, path: next, token: w.scoped[fleet.RoleViewer]}
	_, header, body := w.ask(c)
	w.wantHidden(c, header, body)
	_, header, _ = w.ask(call{method: http.MethodGet, path: Prefix + "/devices?limit=1", token: c.token})
	if link := header.Get("Link"); link != "" {
		t.Errorf("a list of one device has another page: %s", link)
	}
}

func TestTheCountsOfTheOverviewWereThoseOfTheFleet(t *testing.T) {
	w := newRoomy(t)
	var got api.Overview
	if err := json.Unmarshal([]byte(w.seen("/overview")), &got); err != nil {
		t.Fatal(err)
	}
	if got.Devices != 1 || got.Connections["online"] != 1 || got.Configurations["inSync"] != 1 ||
		got.Folders["all"] != 2 || got.Pending.Devices != 1 || got.Problems != 1 || got.Tags != 1 || got.Visited != 0 ||
		len(got.Receivers) != 0 || len(got.Rollouts) != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestAFolderOfADeviceOutsideWasShown(t *testing.T) {
	w := newRoomy(t)
	folder := func(status int, id string) string {
		return w.as(fleet.RoleViewer, status, call{method: http.MethodGet, path: Prefix + "/folders/" + id})
	}
	var both []api.FolderSummary
	if err := json.Unmarshal([]byte(folder(http.StatusOK, "both")), &both); err != nil || len(both) != 1 ||
		both[0].Device != string(idA) {
		t.Errorf("got %+v, %v", both, err)
	}
	if outside, absent := folder(http.StatusNotFound, hidden), folder(http.StatusNotFound, "absent"); outside != absent {
		t.Errorf("a folder outside answers %s, one that is nowhere %s", outside, absent)
	}
	w.fakes.summaries["mine"] = nil
	if got := folder(http.StatusOK, "mine"); strings.TrimSpace(got) != "[]" {
		t.Errorf("a folder inside without numbers: got %s", got)
	}
}

func TestStopsCountedDevicesOutside(t *testing.T) {
	w := newRoomy(t)
	w.put(Prefix+"/configurator", `{"mode":"observe"}`)
	w.put(Prefix+"/tags/out-"+hidden+"/settings", `{"mode":"observe"}`)
	w.put(Prefix+"/devices/"+string(idB)+"/settings", `{"mode":"observe"}`)
	var stops []api.ModeStop
	if err := json.Unmarshal([]byte(w.seen("/stops")), &stops); err != nil || len(stops) != 1 || stops[0].Devices != 1 {
		t.Errorf("got %+v, %v", stops, err)
	}
	w.as(fleet.RoleOperator, http.StatusNotFound, call{method: http.MethodGet,
		path: Prefix + "/stops?device=" + string(idB)})
	if got := w.seen("/tags/out-" + hidden + "/settings"); !strings.Contains(got, `"mode":"on"`) {
		t.Errorf("the mode of a tag that only devices outside carry: %s", got)
	}
	w.as(fleet.RoleOperator, http.StatusForbidden, call{method: http.MethodPut, path: Prefix + "/configurator",
		body: `{"mode":"paused"}`})
	w.as(fleet.RoleOperator, http.StatusOK, call{method: http.MethodPut, body: `{"mode":"observe"}`,
		path: Prefix + "/devices/" + string(idA) + "/settings"})
}

func TestAWhatIfPlanShowedDevicesOutside(t *testing.T) {
	w := newRoomy(t)
	ask := func(body string) call {
		return call{method: http.MethodPost, path: Prefix + "/plan", body: body}
	}
	tagging := func(device fleet.DeviceID, tag string) string {
		return fmt.Sprintf(`{"tags":{"added":[{"tag":%q,"device":%q}]}}`, tag, device)
	}
	var got api.WhatIfPlan
	if err := json.Unmarshal([]byte(w.as(fleet.RoleOperator, http.StatusOK, ask(tagging(idA, "x")))), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Devices) != 1 || got.Touched.Failed != 0 || got.Touched.Unread != 1 || got.Approval == "" {
		t.Errorf("got %+v", got)
	}
	outside := w.as(fleet.RoleOperator, http.StatusUnprocessableEntity, ask(tagging(idB, "x")))
	absent := w.as(fleet.RoleOperator, http.StatusUnprocessableEntity, ask(tagging(idC, "x")))
	if outside != strings.ReplaceAll(absent, string(idC), string(idB)) {
		t.Errorf("a device outside answers %s, one that is not registered %s", outside, absent)
	}
	w.put(Prefix+"/tags/finance/protection", `{"protected":true}`)
	w.put(Prefix+"/templates/1/tags/finance", "")
	w.as(fleet.RoleOperator, http.StatusForbidden, ask(tagging(idA, "finance")))
	w.as(fleet.RoleOperator, http.StatusForbidden, ask(`{"templates":{"new":[{"op":"set","key":"","template":"`+
		string(idB)+`"}]}}`))
	w.as(fleet.RoleViewer, http.StatusForbidden, ask(tagging(idA, "x")))
}

func TestATemplateWasEvaluatedForADeviceOutside(t *testing.T) {
	w := newRoomy(t)
	evaluate := func(template int, query string) call {
		return call{method: http.MethodGet, path: fmt.Sprintf("%s/templates/%d/evaluate%s", Prefix, template, query)}
	}
	w.template(`{"op":"set","key":"","template":"{}"}`)
	w.put(Prefix+"/templates/2/tags/out-"+hidden, "")
	w.as(fleet.RoleViewer, http.StatusOK, evaluate(1, ""))
	w.as(fleet.RoleViewer, http.StatusOK, evaluate(1, "?device="+string(idA)))
	w.as(fleet.RoleViewer, http.StatusNotFound, evaluate(1, "?device="+string(idB)))
	w.as(fleet.RoleViewer, http.StatusNotFound, evaluate(2, ""))
	w.as(fleet.RoleViewer, http.StatusNotFound, evaluate(2, "?device="+string(idA)))
	if !slices.Equal(w.evaluated, []fleet.DeviceID{idA, idA}) {
		t.Errorf("evaluated for %v", w.evaluated)
	}
}

func TestAnAnswerOfAScopedOperatorCountedForDevicesOutside(t *testing.T) {
	w := newRoomy(t)
	answer := func(status int, body string) {
		t.Helper()
		w.as(fleet.RoleOperator, status, call{method: http.MethodPost, path: Prefix + "/consents", body: body})
	}
	shown := func(of ...string) string { // device and digest in turn
		var all []string
		for i := 0; i < len(of); i += 2 {
			all = append(all, fmt.Sprintf(`{"deviceID":%q,"digest":%q}`, of[i], of[i+1]))
		}
		return `"shown":[` + strings.Join(all, ",") + `]`
	}
	inside, outside := string(idA), string(idB)
	answer(http.StatusOK, `{"digest":"both","answer":"consent",`+shown(inside, "a")+`}`)
	answer(http.StatusOK, `{"digest":"both","answer":"consent",`+shown(inside, "a", outside, "b")+`}`)
	answer(http.StatusForbidden, `{"digest":"both","answer":"consent",`+shown(inside, "a")+
		`,"rollout":1,"wholeRollout":true}`)
	answer(http.StatusConflict, `{"digest":"both","answer":"consent",`+shown(outside, "b")+`}`)
	answer(http.StatusConflict, `{"digest":"theirs","answer":"consent",`+shown(outside, "c")+`}`)
	for _, given := range w.consents.answered {
		if !slices.Equal(given.Shown, []fleet.ShownChange{{Device: idA, Digest: "a"}}) {
			t.Errorf("the answer is for %v", given.Shown)
		}
	}
	if len(w.consents.answered) != 2 {
		t.Errorf("%d answers were recorded", len(w.consents.answered))
	}
	if groups := w.seen("/consents"); !strings.Contains(groups, `"from":"own"`) || strings.Contains(groups, "theirs") ||
		!strings.Contains(groups, `"deviceCount":1`) {
		t.Errorf("got %s", groups)
	}
}

func TestARolloutOfOtherDevicesWasSteered(t *testing.T) {
	w := newRoomy(t)
	for _, verb := range []string{"pause", "resume", "halt"} {
		for rollout, want := range map[string]int{"1": http.StatusOK, "2": http.StatusForbidden, "3": http.StatusNotFound,
			"9": http.StatusNotFound} {
			w.as(fleet.RoleOperator, want, call{method: http.MethodPost, path: Prefix + "/rollouts/" + rollout + "/" + verb})
		}
	}
	w.as(fleet.RoleOperator, http.StatusForbidden, call{method: http.MethodPut, path: Prefix + "/rollouts/2/waves",
		body: `{"waves":["rest"]}`})
	if len(w.rollouts.calls) != 3 {
		t.Errorf("steered: %v", w.rollouts.calls)
	}
	var mixed api.RolloutDetail
	if err := json.Unmarshal([]byte(w.seen("/rollouts/2")), &mixed); err != nil || len(mixed.Members) != 1 ||
		!slices.Equal(mixed.Waves, []int{1, 0}) || mixed.Reason != view.ElsewhereToo || mixed.Halt.Device != "" {
		t.Errorf("got %+v, %v", mixed, err)
	}
	if len(mixed.Vars) != 1 || mixed.Vars[0].DeviceID != string(idA) {
		t.Errorf("got %+v of vars", mixed.Vars)
	}
	for _, tag := range mixed.Tags {
		if tag.DeviceID != "" && tag.DeviceID != string(idA) {
			t.Errorf("it shows the tag %+v", tag)
		}
	}
	var own api.RolloutDetail
	if err := json.Unmarshal([]byte(w.seen("/rollouts/1")), &own); err != nil || own.Reason != "wave 1" {
		t.Errorf("a rollout of devices inside only is shortened: %+v, %v", own, err)
	}
	if found := w.seen("/rollouts?q=" + string(idB)); strings.TrimSpace(found) != "[]" {
		t.Errorf("a search finds %s", found)
	}
}

func TestSomethingPendingOnADeviceOutsideWasDismissed(t *testing.T) {
	w := newRoomy(t)
	w.pendings.all = append(w.pendings.all, fleet.Pending{Device: idA, From: idB, Name: "asks"})
	for _, asks := range w.pendings.all {
		want := http.StatusNoContent
		if asks.Device == idB {
			want = http.StatusNotFound
		}
		status, _, body := w.ask(call{method: http.MethodDelete, path: Prefix + "/pending/" + pendingID(asks),
			token: w.scoped[fleet.RoleOperator]})
		if status != want {
			t.Errorf("%+v: got %d %s", asks, status, body)
		}
	}
	_, _, list := w.ask(call{method: http.MethodGet, path: Prefix + "/pending", token: w.scoped[fleet.RoleViewer]})
	var all []api.Pending
	if err := json.Unmarshal([]byte(list), &all); err != nil || len(all) != 2 {
		t.Fatalf("got %s, %v", list, err)
	}
	for _, asks := range all { // the daemon inside told who asks it: more is not said
		if asks.Registered || asks.FromLabel != "" {
			t.Errorf("it shows that a device outside is registered: %+v", asks)
		}
	}
}

func TestTheAuditOfAScopedOperatorIsAboutDevicesInside(t *testing.T) {
	w := newRoomy(t)
	for i := range 3 {
		w.device(idA, fmt.Sprint("mine ", i))
		w.device(idB, fmt.Sprint(hidden, i))
	}
	var all []api.AuditEntry
	if err := json.Unmarshal([]byte(w.seen("/audit")), &all); err != nil || len(all) < 4 {
		t.Fatalf("got %+v, %v", all, err)
	}
	for _, e := range all {
		if e.Subject != string(idA) {
			t.Errorf("got %+v", e)
		}
	}
	c := call{method: http.MethodGet, path: Prefix + "/audit?limit=2", token: w.scoped[fleet.RoleOperator]}
	for page := 0; c.path != ""; page++ {
		_, header, body := w.ask(c)
		w.wantHidden(c, header, body)
		var entries []api.AuditEntry
		if err := json.Unmarshal([]byte(body), &entries); err != nil {
			t.Fatal(err)
		}
		all = all[len(entries):]
		next, _, _ := strings.Cut(strings.TrimPrefix(header.Get("Link"), "<"), ">")
		c.path = next
	}
	if len(all) != 0 {
		t.Errorf("the pages leave out %+v", all)
	}
}

func TestAScopedOperatorTookADeviceOfAnotherTeam(t *testing.T) {
	w := newRoomy(t)
	tag := func(method, path string) call { return call{method: method, path: Prefix + path} }
	inside, outside := "/devices/"+string(idA)+"/tags/", "/devices/"+string(idB)+"/tags/"
	w.as(fleet.RoleOperator, http.StatusNotFound, tag(http.MethodPut, outside+"in"))
	w.as(fleet.RoleOperator, http.StatusForbidden, tag(http.MethodDelete, inside+"in")) // a scope's tags are protected
	w.as(fleet.RoleOperator, http.StatusOK, tag(http.MethodPut, inside+"x"))
	w.as(fleet.RoleOperator, http.StatusOK, tag(http.MethodDelete, inside+"x"))
	w.as(fleet.RoleOperator, http.StatusForbidden, tag(http.MethodPut, "/templates/1/tags/x")) // its tag is protected
	w.as(fleet.RoleOperator, http.StatusNotFound, tag(http.MethodDelete, "/tags/x"))
	w.as(fleet.RoleOperator, http.StatusForbidden, tag(http.MethodPut, "/configurator"))
	w.problem(http.StatusForbidden, call{method: http.MethodPut, path: Prefix + outside + "in", role: fleet.RoleOperator})
}

// What changes a device outside is refused, whatever the kind of the change, and names none.
func TestAScopedOperatorChangedDevicesOutside(t *testing.T) {
	w := newRoomy(t)
	tag := func(method, path string) call { return call{method: method, path: Prefix + path} }
	inside := "/devices/" + string(idA) + "/tags/"
	w.as(fleet.RoleOperator, http.StatusOK, tag(http.MethodPut, inside+"x"))
	w.template(`{"op":"set","key":"options.natEnabled","template":"false"}`)
	w.put(Prefix+"/templates/2/tags/x", "")
	writes := []call{tag(http.MethodPut, inside+"y"), tag(http.MethodDelete, inside+"x"),
		tag(http.MethodPut, "/templates/2/tags/y"), tag(http.MethodDelete, "/tags/x"),
		{method: http.MethodPost, path: Prefix + "/changes",
			body: fmt.Sprintf(`{"tags":{"added":[{"tag":"y","device":%q}]}}`, idA)},
		{method: http.MethodPost, path: Prefix + "/plan",
			body: fmt.Sprintf(`{"tags":{"added":[{"tag":"y","device":%q}]}}`, idA)}}
	w.fakes.altered = []fleet.DeviceID{idA, idB}
	for _, c := range writes {
		w.as(fleet.RoleOperator, http.StatusForbidden, c)
	}
	w.fakes.altered = nil
	w.as(fleet.RoleOperator, http.StatusNotFound, tag(http.MethodDelete, "/tags/out-"+hidden))
	w.device(idB, hidden)
	w.put(Prefix+"/devices/"+string(idB)+"/tags/x", "")
	w.as(fleet.RoleOperator, http.StatusForbidden, tag(http.MethodDelete, "/tags/x")) // a device outside carries it, too
	w.as(fleet.RoleOperator, http.StatusOK, tag(http.MethodPut, inside+"y"))
}

// Templates that apply to nobody inside, and what is set for tags that only devices outside carry, are not shown.
func TestAScopedViewerReadTemplatesOfOthers(t *testing.T) {
	w := newRoomy(t)
	w.template(`{"op":"set","key":"options.natEnabled","template":"false"}`)
	w.put(Prefix+"/templates/2/tags/out-"+hidden, "")
	w.put(Prefix+"/templates/1/tags/out-"+hidden, "")
	w.put(Prefix+"/tags/out-"+hidden+"/vars", `{"vars":{"who":"`+hidden+`"}}`)
	w.put(Prefix+"/tags/out-"+hidden+"/settings", `{"folderRoots":["/`+hidden+`"]}`)
	if list := w.seen("/templates"); strings.Contains(list, `"id":2`) || !strings.Contains(list, `"id":1`) {
		t.Errorf("got %s", list)
	}
	for _, path := range []string{"/templates/1/tags", "/tags", "/fleet", "/tags/out-" + hidden + "/vars",
		"/tags/out-" + hidden + "/settings", "/tags/out-" + hidden + "/templates"} {
		w.seen(path)
	}
	for _, path := range []string{"/templates/2", "/templates/2/saver", "/templates/2/tags"} {
		w.as(fleet.RoleViewer, http.StatusNotFound, call{method: http.MethodGet, path: Prefix + path})
	}
	w.as(fleet.RoleOperator, http.StatusNotFound, call{method: http.MethodPut, path: Prefix + "/templates/2/tags/in"})
}

// stream opens the events for a scoped viewer.
func (w *roomy) stream(query string) *bufio.Reader {
	w.t.Helper()
	server := httptest.NewServer(w.api)
	w.t.Cleanup(server.Close)
	w.t.Cleanup(w.hub.Close) // first
	token := w.tokens[fleet.RoleViewer]
	w.tokens[fleet.RoleViewer] = w.scoped[fleet.RoleViewer]
	defer func() { w.tokens[fleet.RoleViewer] = token }()
	return bufio.NewReader(w.open(server, query, "").Body)
}

func TestAnEventOfADeviceOutsideReachedAScopedStream(t *testing.T) {
	w := newRoomy(t)
	lines := w.stream("?after=0")
	state := api.DeviceState{Reason: "waits for " + hidden}
	tell := func(kind event.Type, device fleet.DeviceID, tags []fleet.Tag, data any) {
		t.Helper()
		if err := w.hub.PublishTagged(kind, device, tags, data); err != nil {
			t.Fatal(err)
		}
	}
	out, in := []fleet.Tag{"out-" + hidden}, []fleet.Tag{"in"}
	for _, kind := range []event.Type{event.TypeDevice, event.TypeStatus, event.TypeFolder, event.TypeConfig,
		event.TypePlan, event.TypePending} {
		tell(kind, idB, out, hidden)
		tell(kind, "", nil, hidden) // nothing that is not known to be for everybody
	}
	for _, kind := range []event.Type{event.TypeStatus, event.TypePlan} {
		tell(kind, idB, in, hidden) // it was inside once
	}
	tell(event.TypeRollout, "", nil, api.Rollout{ID: 3, Cause: hidden})
	tell(event.TypeRollout, "", nil, api.Rollout{ID: 2, Cause: hidden, Waves: []int{7777}})
	tell(event.TypePlan, idA, in, api.DeviceEvent{State: &state})
	tell(event.TypeDevice, idB, append(in, out...), api.DeviceEvent{State: &state}) // it went out of scope
	tell(event.TypeStatus, idA, in, "the last one")
	var got []string
	for data := ""; !strings.Contains(data, "the last one"); {
		data = lineWith(t, lines, "data:")
		var e api.Event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		if e.Type == "missed" {
			continue
		}
		if strings.Contains(data, hidden) || strings.Contains(data, "7777") {
			t.Errorf("got %s", data)
		}
		got = append(got, e.Type+" "+e.Device)
		if e.Device == string(idB) &&
			(string(e.Data) != `{"deleted":true,"state":null}` || !slices.Equal(e.Tags, []string{"in"})) {
			t.Errorf("a device that went out of scope: got %s", data)
		}
	}
	want := []string{"rollout ", "plan " + string(idA), "device " + string(idB), "status " + string(idA)}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAStreamOutlivedItsExpiredToken(t *testing.T) {
	w := newRoomy(t)
	w.setup.events().streaming.heartbeat = 5 * time.Millisecond
	secret, _, err := w.setup.Tokens.Create(t.Context(), fleet.Token{Name: "brief", Role: fleet.RoleViewer,
		Scope: fleet.ScopeOf([]fleet.Tag{"in"}), ExpiresAt: time.Now().Add(500 * time.Millisecond)})
	if err != nil {
		t.Fatal(err)
	}
	w.scoped[fleet.RoleViewer] = secret
	lines := w.stream("")
	for {
		if _, err := lines.ReadString('\n'); err != nil {
			return // the stream ended; else the test's own time limit does
		}
	}
}

// countedAudit counts the entries that searches of the audit read.
type countedAudit struct {
	*store.Store
	entries int
}

func (c *countedAudit) Audit(ctx context.Context, q fleet.AuditQuery) ([]fleet.AuditEntry, error) {
	entries, err := c.Store.Audit(ctx, q)
	c.entries += len(entries)
	return entries, err
}

func TestASearchOfAScopedUserReadTheWholeAudit(t *testing.T) {
	t.Parallel()
	w := newRoomy(t)
	audit := &countedAudit{Store: w.store}
	w.with(func(o *setup) { o.Audit = audit })
	w.as(fleet.RoleOperator, http.StatusOK, call{method: http.MethodGet, path: Prefix + "/audit?limit=1&who=no-one"})
	if audit.entries != 0 {
		t.Errorf("to find nothing %d entries were read", audit.entries)
	}
	w.as(fleet.RoleOperator, http.StatusOK, call{method: http.MethodGet, path: Prefix + "/audit?limit=1"})
	if audit.entries != 2 { // one more tells that there is a next page
		t.Errorf("to show one entry %d were read", audit.entries)
	}
}
