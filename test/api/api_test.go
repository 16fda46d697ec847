// Package api_test tests the API paths beyond the contract, on a whole server with simulated daemons.
//
// Tests that send every request of the API, one after the other, run without the race detector.
//
//muster:needs daemons
//muster:test -skip=NoAnswer|NoDownload|NoOperation|NothingThat|OfAPartMade|OfAPartEnded
//muster:test -race=false -run=NoAnswer|NoDownload|NoOperation|NothingThat|OfAPartMade|OfAPartEnded
//muster:soak
package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

const (
	daemons = 4
	shared  = "price-list" // the folder that a template of the demo gives to each of so few
)

func TestMain(m *testing.M) {
	server.Main()
	os.Exit(m.Run())
}

// quiet is a Muster over simulated daemons that have all they are asked for.
func quiet(t *testing.T) (s *server.Server, ids []fleet.DeviceID) {
	t.Helper()
	s = server.Start(t, server.Options{Demo: daemons})
	devices, err := s.Client.Devices(t.Context(), client.List{})
	if err != nil || len(devices) != daemons {
		t.Fatalf("got %d devices, %v", len(devices), err)
	}
	for _, device := range devices {
		ids = append(ids, fleet.DeviceID(device.DeviceID))
		s.WaitConfiguration(fleet.DeviceID(device.DeviceID), fleet.ConfigInSync)
	}
	wait.Until(t, func() string { // what was read back is kept a moment later
		folders, err := s.Client.Folders(t.Context(), client.List{})
		if err != nil || !slices.ContainsFunc(folders, func(f api.Folder) bool { return f.Folder == shared }) {
			return fmt.Sprintf("the template's folder is not among %v, %v", folders, err)
		}
		sharers, err := s.Client.FolderSummaries(t.Context(), shared)
		if err != nil || len(sharers) != daemons {
			return fmt.Sprintf("%d devices share the template's folder, %v", len(sharers), err)
		}
		return ""
	})
	return s, ids
}

// as is a client with a role's token.
func as(t *testing.T, s *server.Server, role fleet.Role) *client.Client {
	t.Helper()
	token, err := s.Client.CreateToken(t.Context(), "a "+string(role), string(role))
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(s.URL, token.Secret)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func wantCode(t *testing.T, err error, code fleet.Code) {
	t.Helper()
	var e *fleet.Error
	if !errors.As(err, &e) || e.Code != code || e.Message == "" || e.Hint == "" {
		t.Errorf("got %v (%s), want %s with a message and a hint", err, fleet.CodeOf(err), code)
	}
}

func TestAPersonConsentsToWhatIsHeld(t *testing.T) {
	s, ids := quiet(t)
	operator := as(t, s, fleet.RoleOperator)
	id := string(ids[0])
	if _, err := s.Client.TagDevice(t.Context(), id, "named"); err != nil {
		t.Fatal(err)
	}
	s.Template("set", "gui.user", `"somebody"`, "named")
	s.WaitConfiguration(ids[0], fleet.ConfigHeld)
	held, err := s.Client.DevicePlan(t.Context(), id)
	if err != nil || len(held.Changes) != 1 || held.Changes[0].Class != "held" {
		t.Fatalf("got %+v, %v", held, err)
	}
	answer := api.ApplyPlan{Digest: &held.Digest, Consent: []string{"GUI.user"}}
	_, err = operator.ApplyPlan(t.Context(), id, answer)
	wantCode(t, err, fleet.CodeForbidden)
	stale := held.Digest + "0"
	_, err = s.Client.ApplyPlan(t.Context(), id, api.ApplyPlan{Digest: &stale, Consent: answer.Consent})
	wantCode(t, err, fleet.CodeConflict)
	if _, err := s.Client.ApplyPlan(t.Context(), id, answer); err != nil {
		t.Fatal(err)
	}
	s.WaitConfiguration(ids[0], fleet.ConfigInSync) // a change of gui starts the daemon's API anew
	wait.Until(t, func() string {                   // what is seen is kept behind
		config, err := s.Client.DeviceConfig(t.Context(), id)
		if err == nil && strings.Contains(string(config), `"user":"somebody"`) {
			return ""
		}
		return "the user is not in the configuration seen last"
	})
	entries, err := operator.Audit(t.Context(), client.AuditSearch{})
	if err != nil || !slices.ContainsFunc(entries, func(e api.AuditEntry) bool {
		return e.What == "device.apply" && e.Subject == id && e.Detail == "consent to GUI.user" && e.Who != "muster"
	}) {
		t.Errorf("got %+v, %v", entries, err)
	}
}

func TestTheFleetInNumbers(t *testing.T) {
	s, ids := quiet(t)
	viewer := as(t, s, fleet.RoleViewer)
	var got api.Overview
	wait.Until(t, func() string {
		var err error
		if got, err = viewer.Overview(t.Context()); err != nil {
			return err.Error()
		}
		if got.Devices != daemons || got.Connections["online"] != daemons || got.Configurations["inSync"] != daemons ||
			got.Folders["unknown"] > 0 {
			return fmt.Sprintf("%+v", got)
		}
		return ""
	})
	folders, err := viewer.Folders(t.Context(), client.List{})
	if err != nil || len(folders) != got.Folders["all"] {
		t.Errorf("%d folders listed, %+v, %v", len(folders), got.Folders, err)
	}
	for _, folder := range folders {
		if summaries, err := viewer.FolderSummaries(t.Context(), folder.Folder); err != nil || len(summaries) == 0 {
			t.Errorf("%s: got %v, %v", folder.Folder, summaries, err)
		}
	}
	if err := s.Client.DeleteDevice(t.Context(), string(ids[0])); err != nil {
		t.Fatal(err)
	}
	if got, err = viewer.Overview(t.Context()); err != nil || got.Devices != daemons-1 ||
		got.Connections["online"] != daemons-1 {
		t.Errorf("got %+v, %v", got, err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-API-Key", s.Token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	for _, want := range []string{`muster_devices{connection="online"} 3`,
		`muster_daemon_request_seconds_count{call="write to the daemon",outcome="ok"} `,
		`muster_queue_depth{queue="devices"} `,
		`muster_worker_confinement{measure="systemCallFilter"} 1`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%v; %s is not in %s", err, want, text)
		}
	}
	if strings.Contains(string(text), ids[1].Short()) {
		t.Error("the metrics name a device")
	}
}

func TestAWhatIfTouchesNobody(t *testing.T) {
	s, ids := quiet(t)
	op, key, text := "set", "options.progressUpdateIntervalS", "7"
	body := api.WhatIf{Templates: &api.WhatIfTemplates{New: []api.WhatIfNew{{Op: &op, Key: &key, Template: &text,
		Tags: []string{"demo"}}}}}
	made, err := s.Client.WhatIf(t.Context(), body)
	if err != nil {
		t.Fatal(err)
	}
	if made.Touched.Devices != daemons || made.Touched.Keys != 1 || len(made.Devices) != daemons ||
		len(made.NewTemplates) != 1 {
		t.Errorf("got %+v", made)
	}
	if change := made.Devices[0].Changes[0]; change.Key != key || string(change.To) != "7" || change.Class != "free" ||
		change.Templates[0] != made.NewTemplates[0] {
		t.Errorf("got %+v", change)
	}
	for _, id := range ids {
		if plan, err := s.Client.DevicePlan(t.Context(), string(id)); err != nil || len(plan.Changes) > 0 {
			t.Errorf("got %+v, %v", plan, err)
		}
	}
	tag, one := "somewhere", string(ids[0])
	body = api.WhatIf{Tags: &api.WhatIfTags{Added: []api.WhatIfTag{{Tag: &tag, Device: &one}}}}
	if made, err = as(t, s, fleet.RoleOperator).WhatIf(t.Context(), body); err != nil || made.Touched.Devices != 0 {
		t.Errorf("got %+v, %v", made, err)
	}
	_, err = as(t, s, fleet.RoleViewer).WhatIf(t.Context(), body)
	wantCode(t, err, fleet.CodeForbidden)
}

func TestEventsTellWhatHappens(t *testing.T) {
	s, ids := quiet(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	viewer := as(t, s, fleet.RoleViewer)
	events := make(chan api.Event)
	ended := make(chan error, 1)
	go func() {
		_, err := viewer.Events(ctx, client.EventFilter{Devices: []string{string(ids[0])},
			Types: []string{"plan", "config", "device"}}, 1, func(e api.Event) error {
			select {
			case events <- e:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		ended <- err
	}()
	if first := <-events; first.Type != "missed" { // the stream is open
		t.Fatalf("got %+v", first)
	}
	if _, err := s.Client.TagDevice(t.Context(), string(ids[0]), "slow"); err != nil {
		t.Fatal(err)
	}
	s.Template("set", "options.maxSendKbps", "7", "slow")
	seen := map[string]bool{}
	for !seen["config"] || !seen["plan"] {
		select {
		case e := <-events:
			if e.Device != string(ids[0]) {
				t.Fatalf("got %+v", e)
			}
			seen[e.Type] = seen[e.Type] || e.Type != "plan" || strings.Contains(string(e.Data), `"configuration":"inSync"`)
		case err := <-ended:
			t.Fatalf("the stream ended: %v", err)
		}
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.Stop() // within ten seconds, although the stream is open
	}()
	for {
		select {
		case <-events:
		case err := <-ended:
			if err != nil {
				t.Errorf("the stream ended with %v", err)
			}
			<-stopped
			return
		}
	}
}

func TestWhatIsPendingIsLetIn(t *testing.T) {
	farm := simulated.Start(t, stsim.Options{Count: 2, Seed: 7, Folders: 1})
	s := server.Start(t, server.Options{})
	asked, asking := farm.Daemons()[0], farm.Daemons()[1]
	stranger := fleet.DeviceIDOf([32]byte{7})
	asked.AddPendingDevice(stranger, "a stranger", "192.0.2.7:22000")
	s.Register(asked.ID(), asked.APIKey(), asked.Host(), asked.Port())
	s.Register(asking.ID(), asking.APIKey(), asking.Host(), asking.Port())
	find := func(kind, folder string) (found api.Pending) {
		wait.Until(t, func() string {
			all, err := s.Client.Pending(t.Context(), client.List{})
			if err != nil {
				return err.Error()
			}
			for _, one := range all {
				if one.Kind == kind && one.Folder == folder && one.DeviceID == string(asked.ID()) {
					found = one
					return ""
				}
			}
			return fmt.Sprintf("no %s %s is pending: %+v", kind, folder, all)
		})
		return found
	}
	device := find("device", "")
	if device.From != string(stranger) || device.Name != "a stranger" || device.Registered {
		t.Errorf("got %+v", device)
	}
	if err := s.Client.AcceptPending(t.Context(), device.ID, api.AcceptPending{}); err != nil {
		t.Fatal(err)
	}
	asked.AddPendingFolder("offered/1", "Offered", stranger) // told by an event
	folder := find("folder", "offered/1")
	if folder.FolderLabel != "Offered" {
		t.Errorf("got %+v", folder)
	}
	wantCode(t, s.Client.AcceptPending(t.Context(), folder.ID, api.AcceptPending{}), fleet.CodeInvalid)
	path := "/srv/offered"
	if err := s.Client.AcceptPending(t.Context(), folder.ID, api.AcceptPending{Path: &path}); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, func() string {
		config, err := s.Client.DeviceConfig(t.Context(), string(asked.ID()))
		if err != nil {
			return err.Error()
		}
		if !strings.Contains(string(config), `"path":"/srv/offered"`) ||
			!strings.Contains(string(config), `"name":"a stranger"`) {
			return "what was let in is not in the configuration"
		}
		return ""
	})
	asked.AddPendingFolder("unwanted", "", stranger)
	unwanted := find("folder", "unwanted")
	if err := s.Client.DismissPending(t.Context(), unwanted.ID); err != nil {
		t.Fatal(err)
	}
	if all, err := s.Client.Pending(t.Context(), client.List{}); err != nil || len(all) > 0 {
		t.Errorf("got %+v, %v", all, err)
	}
	wantCode(t, s.Client.DismissPending(t.Context(), unwanted.ID), fleet.CodeNotFound)
}

func TestARevisionIsShownComparedAndRestored(t *testing.T) {
	s, ids := quiet(t)
	id, operator := string(ids[0]), as(t, s, fleet.RoleOperator)
	if _, err := s.Client.TagDevice(t.Context(), id, "slow"); err != nil {
		t.Fatal(err)
	}
	template := s.Template("set", "options.progressUpdateIntervalS", "7", "slow")
	number := s.WaitRevision(ids[0], "options.progressUpdateIntervalS", "7")
	all, err := operator.Revisions(t.Context(), id, client.List{})
	at := slices.IndexFunc(all, func(r api.Revision) bool { return r.Number == number })
	if err != nil || at < 0 || at+1 == len(all) || all[at].Cause != fleet.CauseTemplate {
		t.Fatalf("no revision that a template caused: %+v, %v", all, err)
	}
	now, was := all[at], all[at+1]
	diff, err := operator.CompareRevisions(t.Context(), id, was.Number, now.Number)
	if err != nil || len(diff.Changes) != 1 || diff.Changes[0].Key != "options.progressUpdateIntervalS" ||
		string(diff.Changes[0].To) != "7" {
		t.Errorf("got %+v, %v", diff, err)
	}
	shown, err := operator.Revision(t.Context(), id, now.Number)
	if err != nil || !strings.Contains(string(shown.Config), `"progressUpdateIntervalS":7`) ||
		!strings.Contains(string(shown.Config), `"apiKey":"[secret]"`) {
		t.Errorf("got %s, %v", shown.Config, err)
	}
	if _, err := s.Client.UntagDevice(t.Context(), id, "slow"); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, func() string { // back to base
		plan, err := operator.DevicePlan(t.Context(), id)
		if err != nil || len(plan.Changes) > 0 {
			return fmt.Sprintf("%+v, %v", plan, err)
		}
		all, err := operator.Revisions(t.Context(), id, client.List{})
		if err != nil || all[0].Number <= now.Number {
			return fmt.Sprintf("no newer revision without template %d: %v", template, err)
		}
		return ""
	})
	section := "options"
	restored, err := operator.RestoreRevision(t.Context(), id, now.Number, api.Restore{Section: &section})
	if err != nil || !restored.Done || len(restored.Plan.Changes) != 1 || string(restored.Plan.Changes[0].To) != "7" {
		t.Errorf("got %+v, %v", restored, err)
	}
	_, err = as(t, s, fleet.RoleViewer).RestoreRevision(t.Context(), id, now.Number, api.Restore{})
	wantCode(t, err, fleet.CodeForbidden)
	_, err = operator.Revision(t.Context(), id, 999)
	wantCode(t, err, fleet.CodeNotFound)
}

func TestASecretInClearIsWarnedOfWhenATemplateIsKept(t *testing.T) {
	s, _ := quiet(t)
	for text, want := range map[string]string{
		`"correct horse"`: "gui.password",
		`"${secret:gui}"`: "",
		"def template(device):\n    return \"correct \" + \"horse\"": "gui.password",
		"def template(device):\n    return secret(\"gui\")":          "",
	} {
		body, err := json.Marshal(map[string]string{"op": "set", "key": "gui.password", "template": text})
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/api/v1/templates", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-API-Key", s.Token)
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		warning := resp.Header.Get(api.WarningHeader)
		if resp.StatusCode != http.StatusCreated || !strings.HasPrefix(warning, want) || (want == "") != (warning == "") {
			t.Errorf("%s: got %d with %q, want a warning about %q", text, resp.StatusCode, warning, want)
		}
	}
}
