package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/internal/engine/revocation"
	"muster/internal/fleet"
)

// TestADeviceIsRevokedListedAndLetGo: registered or not, by an admin only, and the second time is a conflict.
func TestADeviceIsRevokedListedAndLetGo(t *testing.T) {
	w := newWorld(t)
	w.put(devicePath(idA), `{"apiKey":"k","label":"laptop"}`)
	revoke := func(id fleet.DeviceID, body string) call {
		return call{method: http.MethodPost, path: devicePath(id) + "/revoke", body: body}
	}
	byAuthor := revoke(idA, `{}`)
	byAuthor.role = fleet.RoleAuthor
	w.want(http.StatusForbidden, byAuthor)
	w.want(http.StatusUnprocessableEntity, revoke(idA, `{"reason":"two\nlines"}`))
	w.want(http.StatusPreconditionFailed, revoke(idA, `{"generation":4711}`))
	w.want(http.StatusOK, revoke(idA, `{"reason":"stolen"}`))
	again := w.want(http.StatusConflict, revoke(idA, `{"reason":"another"}`))
	if !strings.Contains(again, "is revoked already on 2") || !strings.Contains(again, "(stolen)") {
		t.Errorf("got %s", again)
	}
	w.want(http.StatusOK, revoke(idB, `{}`))
	all := read[[]api.Revocation](w, Prefix+"/revocations")
	if len(all) != 2 {
		t.Fatalf("got %+v", all)
	}
	for _, one := range all {
		if one.DeviceID == string(idA) && (one.Label != "laptop" || one.Reason != "stolen" || !one.Registered) ||
			one.DeviceID == string(idB) && (one.Label != "" || one.Registered) || one.RevokedAt.IsZero() {
			t.Errorf("got %+v", one)
		}
	}
	w.want(http.StatusNoContent, call{method: http.MethodDelete, path: Prefix + "/revocations/" + string(idA)})
	w.want(http.StatusNotFound, call{method: http.MethodDelete, path: Prefix + "/revocations/" + string(idA)})
}

// configuring plays the mirror: whether each daemon that was read has a device.
type configuring map[fleet.DeviceID]bool

func (c configuring) Configuring(fleet.DeviceID) map[fleet.DeviceID]bool { return c }

// TestTheListOfRevocationsSaysWhereTheDeviceStillIs: nobody could see when a revoked device was gone everywhere.
func TestTheListOfRevocationsSaysWhereTheDeviceStillIs(t *testing.T) {
	known := configuring{idA: true}
	w := newWorld(t).with(func(o *setup) { o.Configured = known })
	lost, server, away := idB, idA, idC
	w.put(devicePath(lost), `{"apiKey":"k","label":"laptop"}`)
	w.put(devicePath(server), `{"apiKey":"k","label":"server"}`)
	w.put(devicePath(away), `{"apiKey":"k","label":"away"}`)
	known[lost] = true // its own daemon has it, and keeps it
	w.want(http.StatusOK, call{method: http.MethodPost, path: devicePath(lost) + "/revoke", body: `{}`})
	all := read[[]api.Revocation](w, Prefix+"/revocations")
	if len(all) != 1 || len(all[0].StillOn) != 1 || all[0].StillOn[0].Label != "server" || all[0].Unknown != 1 {
		t.Fatalf("got %+v", all)
	}
	known[server], known[away] = false, false
	if all := read[[]api.Revocation](w, Prefix+"/revocations"); len(all[0].StillOn) > 0 || all[0].Unknown > 0 {
		t.Errorf("got %+v", all)
	}
}

// TestARevocationIsForAdminsInPlansToo: with tags in one body, an operator would have revoked by the way.
func TestARevocationIsForAdminsInPlansToo(t *testing.T) {
	w := newWorld(t)
	w.put(devicePath(idA), `{"apiKey":"k","label":"laptop"}`)
	body := `{"revocations":{"added":[{"device":"` + string(idA) + `","reason":"stolen"}]}}`
	for _, path := range []string{"/plan", "/changes"} {
		w.want(http.StatusForbidden, call{method: http.MethodPost, path: Prefix + path, body: body, role: fleet.RoleAuthor})
		w.want(http.StatusUnprocessableEntity, call{method: http.MethodPost, path: Prefix + path,
			body: strings.ReplaceAll(body, `"device":"`, `"device":"X`)})
	}
	w.want(http.StatusOK, call{method: http.MethodPost, path: Prefix + "/changes", body: body})
	if all := read[[]api.Revocation](w, Prefix+"/revocations"); len(all) != 1 || all[0].Reason != "stolen" {
		t.Errorf("got %+v", all)
	}
	w.want(http.StatusUnprocessableEntity, call{method: http.MethodPost, path: Prefix + "/changes",
		body: `{"revocations":{"removed":["` + string(idB) + `"]}}`})
}

// TestAKnockOfARevokedDeviceSaysWhy: "Let in" was offered, and refused when one clicked it.
func TestAKnockOfARevokedDeviceSaysWhy(t *testing.T) {
	const why = "it is revoked on 2026-11-27 by root (stolen)"
	inbox := &pendings{all: []fleet.Pending{{Device: idA, From: idB, Name: "laptop", Revoked: why}}}
	w := newWorld(t).with(func(o *setup) { o.Pending = inbox })
	w.put(devicePath(idA), `{"apiKey":"k","label":"server"}`)
	all := read[[]api.Pending](w, Prefix+"/pending")
	if len(all) != 1 || all[0].Revoked != why {
		t.Fatalf("got %+v", all)
	}
	body := w.want(http.StatusConflict, call{method: http.MethodPost,
		path: Prefix + "/pending/" + all[0].ID + "/accept", body: `{}`})
	if text := body; !strings.Contains(text, "is not let in: "+why) || len(inbox.done) > 0 {
		t.Errorf("got %s, done is %v", text, inbox.done)
	}
}

// certified plays revocation.Prover: the row of each device that is in it.
type certified map[fleet.DeviceID]revocation.Row

func (c certified) Certificate(_ context.Context, registry *fleet.Registry, revoked fleet.Revocation,
	inside func(fleet.DeviceID) bool) (revocation.Certificate, error) {
	out := revocation.Certificate{Revocation: revoked, At: time.Now()}
	for id, row := range c {
		if registry.Devices[id] != nil && inside(id) {
			out.Rows = append(out.Rows, row)
		}
		if row.State == revocation.Gone && inside(id) {
			out.Gone++
		}
	}
	return out, nil
}

// TestTheCertificateOfARevocationCountsManagedDevices: and lists them by label, in pages, and by state.
func TestTheCertificateOfARevocationCountsManagedDevices(t *testing.T) {
	now := time.Now()
	w := newWorld(t).with(func(o *setup) {
		o.Revocations = certified{
			idB: {Device: idB, State: revocation.Gone, Proof: fleet.RevocationProof{ConfigAt: now, ConnectionsAt: now,
				Digest: "ab"}},
			idC: {Device: idC, State: revocation.There, Reason: "the device is being removed"}}
	})
	w.put(devicePath(idA), `{"apiKey":"k","label":"laptop"}`)
	w.put(devicePath(idB), `{"apiKey":"k","label":"server"}`)
	w.put(devicePath(idC), `{"apiKey":"k","label":"away"}`)
	one := Prefix + "/revocations/" + string(idA)
	w.want(http.StatusNotFound, call{path: one})
	w.want(http.StatusOK, call{method: http.MethodPost, path: devicePath(idA) + "/revoke", body: `{"reason":"stolen"}`})
	c := read[api.RevocationCertificate](w, one)
	if c.Label != "laptop" || c.Reason != "stolen" || c.Devices != 2 || c.Gone != 1 || c.There != 1 || c.Percent != 50 ||
		c.Complete || c.Since != nil || len(c.Says) < 4 {
		t.Errorf("got %+v", c)
	}
	all := read[[]api.RevocationProof](w, one+"/devices")
	if len(all) != 2 || all[0].Label != "away" || all[0].ConfigAt != nil || all[1].Label != "server" ||
		all[1].ConfigAt == nil || all[1].ConfigDigest != "ab" {
		t.Errorf("got %+v", all)
	}
	if some := read[[]api.RevocationProof](w, one+"/devices?state=gone"); len(some) != 1 || some[0].Label != "server" {
		t.Errorf("got %+v", some)
	}
	if some := read[[]api.RevocationProof](w, one+"/devices?limit=1"); len(some) != 1 || some[0].Label != "away" {
		t.Errorf("got %+v", some)
	}
	w.want(http.StatusUnprocessableEntity, call{path: one + "/devices?state=lost"})
}
