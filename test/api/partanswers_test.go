package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/wait"
)

// waiting gives the held changes of all devices, as a caller of the whole fleet sees them.
func (p *parted) waiting() (changes []api.HeldChange, digest string) {
	p.t.Helper()
	groups, err := p.Client.Consents(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	for _, g := range groups {
		changes, digest = append(changes, g.Changes...), g.Digest
	}
	return changes, digest
}

// waitingOutside gives the digest of the change that waits on each device outside.
func (p *parted) waitingOutside() map[string]string {
	p.t.Helper()
	changes, _ := p.waiting()
	found := map[string]string{}
	for _, c := range changes {
		if slices.Contains(p.outside, fleet.DeviceID(c.DeviceID)) {
			found[c.DeviceID] = c.Digest
		}
	}
	return found
}

// answers sends an answer of the limited operator, and checks that the reply is for no device outside.
func (p *parted) answers(body api.AnswerConsents) int {
	p.t.Helper()
	sent, err := json.Marshal(body)
	if err != nil {
		p.t.Fatal(err)
	}
	p.limited(http.MethodGet, "consents", "")
	p.limited(http.MethodGet, "waiting", "")
	p.limited(http.MethodGet, "consents/given", "")
	status, text := p.do(p.operator, http.MethodPost, "consents", string(sent))
	for _, id := range p.outside {
		if strings.Contains(text, id.Short()) || strings.Contains(text, `"`+p.labels[id]+`"`) {
			p.t.Errorf("the answer %s names %s: %d %s", sent, p.labels[id], status, text)
		}
	}
	return status
}

// hasFolder tells whether the daemon of a device has the folder of the test.
func hasFolder(d *stsim.Daemon) bool {
	for folder := range d.Config().Get("folders").Values() {
		if folder.Get("id").Str() == "shared" {
			return true
		}
	}
	return false
}

// asked is a fleet on all of whose devices the removal of a folder waits for an answer, in rollout 2.
func asked(t *testing.T, isInside func(i int) bool) *parted {
	t.Helper()
	// These are more devices than are admitted at once, so each change is a rollout.
	const devices, soak = 12, 100 * time.Millisecond
	p := partedWith(t, server.Options{Waves: "rest", Soak: soak}, devices, "on", isInside)
	for id := range p.labels {
		p.mustDo(http.MethodPut, "devices/"+string(id)+"/tags/all", "")
	}
	made := p.Template("merge", "folders.shared", `{"path": "~/shared"}`, "all")
	wait.Until(t, func() string {
		for _, d := range p.farm.Daemons() {
			if !hasFolder(d) {
				return p.labels[d.ID()] + " has no folder"
			}
		}
		if r, err := p.Client.Rollout(t.Context(), 1); err != nil || r.Status != string(fleet.RolloutSucceeded) {
			return fmt.Sprintf("rollout 1 is %s, %v", r.Status, err)
		}
		return ""
	})
	if err := p.Client.DeleteTemplate(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, func() string {
		if changes, _ := p.waiting(); len(changes) != devices {
			return fmt.Sprintf("%d changes wait", len(changes))
		}
		return ""
	})
	return p
}

// An operator of a part knows the digests of all held changes, as somebody of the whole fleet may have told them, and
// answers for any devices and for whole rollouts. Devices outside keep what they have, and go on waiting.
func TestNoAnswerOfAnOperatorOfAPartIsForADeviceOutside(t *testing.T) {
	t.Parallel()
	draw := drawing(t, 1)
	part := draw.Perm(12)[:1+draw.IntN(8)]
	p := asked(t, func(i int) bool { return slices.Contains(part, i) })
	all, digest := p.waiting()
	before, statuses := p.waitingOutside(), map[int]int{}
	for range 60 {
		body := api.AnswerConsents{Digest: &digest, Answer: new(string)}
		*body.Answer = []string{"consent", "keep"}[draw.IntN(2)]
		for range 1 + draw.IntN(4) {
			device, of := all[draw.IntN(len(all))], all[draw.IntN(len(all))]
			if draw.IntN(4) > 0 {
				of = device
			}
			if outside := slices.Contains(p.outside, fleet.DeviceID(device.DeviceID)); outside || draw.IntN(4) == 0 {
				body.Shown = append(body.Shown, api.ShownChange{DeviceID: device.DeviceID, Digest: of.Digest})
			}
		}
		if draw.IntN(3) == 0 {
			body.WholeRollout, body.Rollout = true, 1+draw.Int64N(2)
		}
		if len(body.Shown) == 0 {
			continue
		}
		status := p.answers(body)
		if status != http.StatusOK && status != http.StatusForbidden && !slices.Contains(refusals, status) {
			t.Fatalf("got %d", status)
		}
		if body.WholeRollout && status == http.StatusOK {
			t.Errorf("%+v is answered for the whole rollout", body)
		}
		statuses[status]++
	}
	t.Logf("a part of %d devices: answers by status %v", len(part), statuses)
	everything := api.AnswerConsents{Digest: &digest, Answer: new(string)}
	*everything.Answer = "consent"
	for _, c := range all {
		everything.Shown = append(everything.Shown, api.ShownChange{DeviceID: c.DeviceID, Digest: c.Digest})
	}
	p.answers(everything)
	wait.Until(t, func() string {
		if changes, _ := p.waiting(); len(changes) != len(p.outside) {
			return fmt.Sprintf("%d changes wait, want those of the %d devices outside", len(changes), len(p.outside))
		}
		return ""
	})
	if after := p.waitingOutside(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("on devices outside waits %v, before %v", after, before)
	}
	for _, d := range p.farm.Daemons() {
		if slices.Contains(p.outside, d.ID()) && !hasFolder(d) {
			t.Errorf("%s, which is outside, has lost its folder", p.labels[d.ID()])
		}
	}
	if len(p.outside) == 0 {
		return
	}
	if _, err := p.Client.AnswerConsents(
		t.Context(),
		everything,
	); err != nil { // The same answer of the whole fleet counts.
		t.Fatal(err)
	}
	wait.Until(t, func() string {
		for _, d := range p.farm.Daemons() {
			if slices.Contains(p.outside, d.ID()) && hasFolder(d) {
				return p.labels[d.ID()] + " has its folder"
			}
		}
		return ""
	})
}
