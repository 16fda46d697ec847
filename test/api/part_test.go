package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/reads"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

// parted is a fleet of which an operator's token is for a part: the devices tagged inside. Muster plans, and writes
// nothing.
type parted struct {
	*server.Server
	t               *testing.T
	farm            *stsim.Farm
	operator        string // token
	inside, outside []fleet.DeviceID
	labels          map[fleet.DeviceID]string
	templates       []int64
	secrets         []string // texts about devices outside that no sharing shows to a device inside; see hide
}

const insideTag = "inside"

// freeTags are on devices and templates of both sides.
var freeTags = []string{"a", "b", "c", "d"}

func newParted(t *testing.T, devices int, mode string) *parted {
	t.Helper()
	return partedBy(t, devices, mode, func(i int) bool { return i%2 == 0 })
}

// partedBy is a fleet whose part has the devices that isInside names.
func partedBy(t *testing.T, devices int, mode string, isInside func(i int) bool) *parted {
	t.Helper()
	return partedWith(t, server.Options{}, devices, mode, isInside)
}

func partedWith(t *testing.T, o server.Options, devices int, mode string, isInside func(i int) bool) *parted {
	t.Helper()
	farm := simulated.Start(t, stsim.Options{Count: devices, Seed: 5, Network: 116, Quiet: true,
		Timing: stsim.Timing{Scan: 20 * time.Millisecond}})
	p := &parted{t: t, farm: farm, Server: server.Start(t, o), labels: map[fleet.DeviceID]string{}}
	name, role, tags := "limited", string(fleet.RoleOperator), []string{insideTag}
	made, err := p.Client.CreateTokenWith(t.Context(), api.CreateToken{Name: &name, Role: &role, Tags: &tags})
	if err != nil {
		t.Fatal(err)
	}
	p.operator = made.Secret
	p.mustDo(http.MethodPut, "configurator", fmt.Sprintf(`{"mode":%q}`, mode))
	for i, d := range farm.Daemons() {
		label := fmt.Sprintf("machine-%02d", i)
		p.mustDo(http.MethodPut, "devices/"+string(d.ID()), fmt.Sprintf(
			`{"apiKey":%q,"apiAddress":%q,"apiPort":%d,"label":%q}`, d.APIKey(), d.Host(), d.Port(), label))
		p.labels[d.ID()] = label
		if isInside(i) {
			p.inside = append(p.inside, d.ID())
			p.mustDo(http.MethodPut, "devices/"+string(d.ID())+"/tags/"+insideTag, "")
		} else {
			p.outside = append(p.outside, d.ID())
		}
	}
	for _, d := range farm.Daemons() {
		p.WaitConnection(d.ID(), fleet.Online)
	}
	return p
}

// do sends a request with a token and gives status and body.
func (p *parted) do(token, method, path, body string) (int, string) {
	p.t.Helper()
	if !strings.HasPrefix(path, "/") {
		path = "/api/v1/" + path
	}
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.URL+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		p.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func (p *parted) mustDo(method, path, body string) {
	p.t.Helper()
	if status, text := p.do(p.Token, method, path, body); status >= http.StatusBadRequest {
		p.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
}

// showsPeers are the answers with what a device inside has in its own configuration, or gets from its templates: the
// devices that it shares with are named there, wherever they are.
var showsPeers = regexp.MustCompile(`/devices/[^/]+/(config|plan|why|folders|revisions/.*)(\?|$)|/folders/[^/]+/` +
	`(shares|devices)(\?|$)|/templates/\d+/evaluate(\?|$)|/(differences|overview/one-sided-shares)(\?|$)`)

// limited sends a request of the limited operator, and checks that the answer names nothing outside.
func (p *parted) limited(method, path, body string) int {
	p.t.Helper()
	status, text := p.do(p.operator, method, path, body)
	for _, secret := range p.secrets {
		if strings.Contains(text, secret) && !strings.Contains(path+body, secret) {
			p.t.Errorf("%s %s %s names %q: %s", method, path, body, secret, text)
		}
	}
	if method == http.MethodGet && showsPeers.MatchString(path) {
		return status
	}
	if method == http.MethodPost && path == "plan" {
		p.plansNothingOutside(body, text)
		return status
	}
	for _, id := range p.outside {
		own := strings.Contains(path+body, string(id)) // the answer repeats what was asked
		if strings.Contains(text, string(id)) && !own || strings.Contains(text, p.labels[id]) {
			p.t.Errorf("%s %s %s names %s: %s", method, path, body, p.labels[id], text)
		}
	}
	return status
}

// plansNothingOutside checks that a what-if plan has no device outside. Changes of devices inside name their peers.
func (p *parted) plansNothingOutside(body, text string) {
	p.t.Helper()
	var plan api.WhatIfPlan
	if err := json.Unmarshal([]byte(text), &plan); err != nil {
		p.t.Errorf("%s: %v", text, err)
	}
	for _, d := range plan.Devices {
		if slices.Contains(p.outside, fleet.DeviceID(d.DeviceID)) {
			p.t.Errorf("POST plan %s plans %s: %s", body, d.Label, text)
		}
	}
}

// plans gives what is planned for the devices outside, in the generation that is in force.
func (p *parted) plans() map[fleet.DeviceID]string {
	p.t.Helper()
	plans := map[fleet.DeviceID]string{}
	wait.Until(p.t, func() string {
		var now struct{ Generation int64 }
		if _, text := p.do(p.Token, http.MethodGet, "fleet", ""); json.Unmarshal([]byte(text), &now) != nil {
			return text
		}
		for _, id := range p.outside {
			status, text := p.do(p.Token, http.MethodGet, "devices/"+string(id)+"/plan", "")
			plans[id] = text // a reason why there is no plan
			var plan api.Plan
			if status != http.StatusOK {
				continue
			}
			if err := json.Unmarshal([]byte(text), &plan); err != nil || plan.Generation != now.Generation {
				return fmt.Sprintf("%s is planned in generation %d, not %d", p.labels[id], plan.Generation,
					now.Generation)
			}
			plans[id] = ""
			for _, c := range plan.Changes {
				plans[id] += fmt.Sprintf("%s: %s -> %s\n", c.Key, c.From, c.To)
			}
		}
		return ""
	})
	return plans
}

// A tag that only devices outside used, put on a device of the part, made three devices outside share their folder
// with it.
func TestAnOperatorOfAPartMadeDevicesOutsideShareTheirFolder(t *testing.T) {
	t.Parallel()
	p := newParted(t, 4, "observe")
	for _, id := range p.outside {
		p.mustDo(http.MethodPut, "devices/"+string(id)+"/tags/vault", "")
	}
	p.Template("merge", "folders", `def template(device):
    return [{"id": "vault", "label": "vault", "path": "~/vault",
             "devices": [{"deviceID": d.deviceID} for d in devices(tag = "vault")]}]`, "vault")
	before := p.plans()
	tag := "devices/" + string(p.inside[0]) + "/tags/vault"
	if status := p.limited(http.MethodPut, tag, ""); status != http.StatusForbidden {
		t.Errorf("PUT %s: got %d, want 403", tag, status)
	}
	if after := p.plans(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("devices outside are planned otherwise: %v, was %v", after, before)
	}
	if status := p.limited(http.MethodGet, "tags/vault/templates", ""); status != http.StatusOK {
		t.Errorf("got %d", status)
	}
	if _, list := p.do(p.operator, http.MethodGet, "templates", ""); strings.TrimSpace(list) != "[]" {
		t.Errorf("the templates of others are shown: %s", list)
	}
}

// A change that would end a rollout is a conflict where the rollout has members outside.
func TestAnOperatorOfAPartEndedARolloutOfOthers(t *testing.T) {
	t.Parallel()
	p := newParted(t, 12, "observe")
	for _, id := range slices.Concat(p.inside, p.outside) {
		p.mustDo(http.MethodPut, "devices/"+string(id)+"/tags/all", "")
	}
	p.Template("set", "options.natEnabled", "false", "all") // for more devices than are admitted at once
	p.Template("set", "options.relaysEnabled", "false", "mine")
	wait.Until(t, func() string {
		if _, list := p.do(p.Token, http.MethodGet, "rollouts", ""); strings.TrimSpace(list) == "[]" {
			return "there is no rollout"
		}
		return ""
	})
	tag := "devices/" + string(p.inside[0]) + "/tags/mine"
	if status := p.limited(http.MethodPut, tag, ""); status != http.StatusConflict {
		t.Errorf("PUT %s: got %d, want 409", tag, status)
	}
	if status := p.limited(http.MethodPut, "devices/"+string(p.inside[0])+"/tags/unused", ""); status != http.StatusOK {
		t.Errorf("a tag without templates: got %d", status)
	}
	p.mustDo(http.MethodPost, "rollouts/1/undo", "")
	wait.Until(t, func() string {
		if status := p.limited(http.MethodPut, tag, ""); status != http.StatusOK {
			return fmt.Sprintf("PUT %s: got %d after the undo", tag, status)
		}
		return ""
	})
}

// texts are templates whose value depends on other devices in every way that there is.
var texts = []struct{ op, key, text string }{
	{"set", "options.natEnabled", "false"},
	{"set", "options.maxSendKbps", "500"},
	{"merge", "folders", `def template(device):
    return [{"id": "by-%[1]s", "path": "~/by-%[1]s",
             "devices": [{"deviceID": d.deviceID} for d in devices(tag = "%[1]s")]}]`},
	{"set", "options.maxRecvKbps", `len(devices(tag = "%[1]s")) * 100`},
	{"set", "options.keepTemporariesH", `def template(): return 24 + len(tags())`},
	{"set", "options.reconnectionIntervalS", `def template(config): return 60 + len(config.devices)`},
	{
		"set",
		"options.progressUpdateIntervalS",
		`def template(config): return 5 + len(devices("%[1]s")) + len(config.folders)`,
	},
	{"merge", "folders", `def template(device):
    return [{"id": "named", "path": "~/named", "devices": [{"deviceID": d.deviceID} for d in devices()
             if "%[1]s" in d.tags and d.deviceID != device.deviceID]}]`},
	{"set", "options.minHomeDiskFree.value", `def template(device): return len(device.tags)`},
}

// refusals are answers to a request that cannot be carried out now. A busy server refuses requests, too.
var refusals = []int{http.StatusConflict, http.StatusNotFound, http.StatusUnprocessableEntity,
	http.StatusTooManyRequests, http.StatusServiceUnavailable}

// requests are what an operator can ask for besides tags. DEVICE, TAG and ROLLOUT are drawn.
var requests = []struct{ method, path, body string }{
	{http.MethodPut, "devices/DEVICE/settings", `{"mode":"observe"}`},
	{http.MethodPut, "tags/TAG/settings", `{"mode":"observe"}`},
	{http.MethodPost, "devices/DEVICE/apply", `{"digest":"` + strings.Repeat("0", 64) + `"}`},
	{http.MethodPost, "devices/DEVICE/revisions/1/restore", `{}`},
	{http.MethodPost, "consents", `{"digest":"` + strings.Repeat("0", 64) +
		`","answer":"consent","shown":[{"deviceID":"DEVICE","digest":"` + strings.Repeat("0", 64) + `"}]}`},
	{http.MethodPost, "rollouts/ROLLOUT/pause", ""},
	{http.MethodPost, "rollouts/ROLLOUT/resume", ""},
	{http.MethodPost, "rollouts/ROLLOUT/halt", ""},
	{http.MethodPost, "rollouts/ROLLOUT/undo", ""},
	{http.MethodPost, "devices/DEVICE/orders/rescan", ""},
	{http.MethodPost, "orders", `{"type": "rescan", "devices": ["DEVICE"]}`},
	{http.MethodPost, "tags/TAG/orders/rescan", ""},
	{http.MethodPost, "plan", `{"tags":{"added":[{"tag":"TAG","device":"DEVICE"}]}}`},
}

// readsNothingOutside has the operator read every answer of the API. None names a device outside, and those about one
// are as if it were not there.
func (p *parted) readsNothingOutside() {
	p.t.Helper()
	values := map[string][]string{"number": {"1"}, "other": {"2"}, "generation": {"1"}, "user": {"nobody"},
		"path": {"a.txt"}, "key": {"options.natEnabled"}, "setting": {"soak"}, "channel": {"chat"}, "sink": {"siem"},
		"orderID": {"1", "2", "3", "4"}, "rolloutID": {"1", "2", "3"},
		"tag": append([]string{insideTag}, freeTags...)}
	p.addRegistered(values)
	answered := 0
	for _, path := range reads.Paths(p.t, values) {
		status := p.limited(http.MethodGet, path, "")
		if status == http.StatusOK {
			answered++
		}
		for _, id := range p.outside {
			if strings.Contains(path, string(id)) && status != http.StatusNotFound {
				p.t.Errorf("%s: got %d", path, status)
			}
		}
	}
	if answered < 50 {
		p.t.Errorf("only %d answers were read", answered)
	}
}

// hide adds two devices outside that share with nobody: one that was read and cannot be reached any more, with a folder
// of its own, and one that was never read. Their IDs, labels, addresses and folders are in no answer at all. What a
// template makes of the first depends on who carries the tag "d".
func (p *parted) hide(stopped *stsim.Daemon) {
	p.t.Helper()
	const folder = "folder-outside"
	unread := fleet.DeviceIDOf([32]byte{24, 4})
	p.mustDo(http.MethodPut, "devices/"+string(unread),
		`{"apiKey":"k","apiAddress":"127.116.250.9","apiPort":1,"label":"never-read"}`)
	p.labels[unread] = "never-read"
	p.outside = append(p.outside, unread)
	p.mustDo(http.MethodPut, "devices/"+string(stopped.ID())+"/tags/hidden", "")
	p.mustDo(http.MethodPut, "configurator", `{"mode":"on"}`)
	p.Template("merge", "folders", fmt.Sprintf(`[{"id": %[1]q, "label": %[1]q, "path": "~/%[1]s"}]`, folder), "hidden")
	wait.Until(p.t, func() string {
		_, text := p.do(p.Token, http.MethodGet, "devices/"+string(stopped.ID())+"/config", "")
		if !strings.Contains(text, folder) {
			return "the device outside has no folder"
		}
		return ""
	})
	p.mustDo(http.MethodPut, "configurator", `{"mode":"observe"}`)
	stopped.Stop()
	p.WaitConnection(stopped.ID(), fleet.Unreachable)
	p.Template("set", "options.maxRecvKbps", `(1 + len(devices(tag = "d"))) * 100`, "hidden")
	if plan := p.plans()[stopped.ID()]; !strings.Contains(plan, "options.maxRecvKbps") {
		p.t.Fatalf("the device that cannot be reached has no plan with the template: %s", plan)
	}
	p.secrets = []string{string(unread), "never-read", "127.116.250.9", string(stopped.ID()), p.labels[stopped.ID()],
		stopped.Host() + `"`, fmt.Sprintf("%s:%d", stopped.Host(), stopped.Port()), folder}
}

// drawing gives the random numbers of a test: the same ones each time, others in a soak.
func drawing(t *testing.T, seed uint64) *rand.Rand {
	t.Helper()
	if os.Getenv("MUSTER_SOAK") != "" {
		seed = uint64(time.Now().UnixNano()) //nolint:gosec // any number
	}
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test
}

// Whatever an operator of a part does, what is planned for devices outside stays, and no answer names one. Each fleet
// is drawn.
func TestNothingThatAnOperatorOfAPartDoesChangesADeviceOutside(t *testing.T) {
	t.Parallel()
	const fleets = 2
	for seed := range uint64(fleets) {
		t.Run(fmt.Sprint("fleet ", seed+1), func(t *testing.T) { changesNothingOutside(t, drawing(t, seed+1)) })
	}
}

func changesNothingOutside(t *testing.T, draw *rand.Rand) {
	t.Helper()
	t.Parallel()
	devices := 4 + draw.IntN(3)
	part := draw.Perm(devices)[:1+draw.IntN(devices-1)]
	p := partedBy(t, devices+1, "observe", func(i int) bool { return slices.Contains(part, i) })
	reachable := slices.Clone(p.outside[:len(p.outside)-1])
	p.hide(p.farm.Daemon(devices))
	one := func(from []string) string { return from[draw.IntN(len(from))] }
	for range 8 {
		text := texts[draw.IntN(len(texts))]
		body := text.text
		if strings.Contains(body, "%") {
			body = fmt.Sprintf(body, one(freeTags))
		}
		p.templates = append(p.templates, p.Template(text.op, text.key, body, one(append(freeTags, insideTag))))
	}
	for _, id := range slices.Concat(p.inside, reachable) {
		p.mustDo(http.MethodPut, "devices/"+string(id)+"/tags/"+one(freeTags), "")
	}
	done, refused := 0, 0
	before := p.plans()
	for range 60 {
		device := func(of []fleet.DeviceID) string { return string(of[draw.IntN(len(of))]) }
		template := func() int64 { return p.templates[draw.IntN(len(p.templates))] }
		method := one([]string{http.MethodPut, http.MethodPut, http.MethodDelete})
		status := 0
		switch draw.IntN(12) {
		case 0, 1, 2:
			status = p.limited(method, "devices/"+device(p.inside)+"/tags/"+one(freeTags), "")
		case 3:
			status = p.limited(method, "devices/"+device(p.outside)+"/tags/"+one(freeTags), "")
		case 4:
			status = p.limited(method, fmt.Sprintf("templates/%d/tags/%s", template(), one(freeTags)), "")
		case 5:
			status = p.limited(http.MethodDelete, "tags/"+one(freeTags), "")
		case 6:
			status = p.limited(http.MethodPost, "changes", fmt.Sprintf(
				`{"tags":{"added":[{"tag":%q,"device":%q},{"tag":%q,"template":%d}],`+
					`"removed":[{"tag":%q,"device":%q}]}}`,
				one(freeTags), device(p.inside), one(freeTags), template(), one(freeTags), device(p.inside)))
		case 8, 9, 10, 11:
			drawn := requests[draw.IntN(len(requests))]
			put := strings.NewReplacer("DEVICE", device(slices.Concat(p.inside, p.outside)), "TAG", one(freeTags),
				"ROLLOUT", fmt.Sprint(1+draw.IntN(3)))
			status = p.limited(drawn.method, put.Replace(drawn.path), put.Replace(drawn.body))
		case 7: // an admin moves the fleet on
			p.do(p.Token, method, "devices/"+device(slices.Concat(p.inside, reachable))+"/tags/"+one(freeTags), "")
			before = p.plans()
			continue
		}
		if after := p.plans(); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Fatalf("after %d: devices outside are planned otherwise: %v, was %v", status, after, before)
		}
		switch {
		case status < http.StatusBadRequest:
			done++
		case status == http.StatusForbidden:
			refused++
		case !slices.Contains(refusals, status):
			t.Fatalf("got %d", status)
		}
	}
	t.Logf("a part of %d devices: %d writes were made, %d refused", len(part), done, refused)
	p.readsNothingOutside()
}
