// Each test runs with the race detector on one simulated version: Muster does the same for the other daemons, which run
// without it.
//
//muster:needs daemons
//muster:test -run=/v2
//muster:test -race=false -skip=/v2
//muster:soak
package owner_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"muster/api"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

func TestMain(m *testing.M) {
	server.Main()
	os.Exit(m.Run())
}

// place is a daemon that Muster manages, and a person at it.
type place struct {
	t      *testing.T
	s      *server.Server
	client http.Client
	id     fleet.DeviceID
	key    string
	url    string
}

// Devices that are registered and switched off.
var (
	nora = fleet.DeviceIDOf([32]byte{1})
	otto = fleet.DeviceIDOf([32]byte{2})
)

type starting func(*testing.T) (id fleet.DeviceID, key, host string, port int)

// onEach runs a test on a real daemon and on both simulated versions.
func onEach(t *testing.T, test func(p *place)) {
	for name, start := range map[string]starting{
		"real": startReal, "simulated v1": startSimulated(stsim.V1), "simulated v2": startSimulated(stsim.V2),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on(t, start, test)
		})
	}
}

func on(t *testing.T, start starting, test func(p *place)) {
	id, key, host, port := start(t)
	p := &place{t: t, s: server.Start(t, server.Options{}), id: id, key: key,
		url:    fmt.Sprintf("http://%s:%d", host, port),
		client: http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}}
	p.s.Register(nora, "switched off", "127.0.0.1", 1)
	p.s.Register(otto, "switched off", "127.0.0.1", 1)
	p.s.Register(id, key, host, port, "it")
	p.s.WaitConfiguration(id, fleet.ConfigUnmanaged)
	test(p)
}

func startReal(t *testing.T) (fleet.DeviceID, string, string, int) {
	d := daemon.Start(t, daemon.Options{})
	return d.ID, d.APIKey, d.Address, d.Port
}

func startSimulated(version stsim.Version) starting {
	return func(t *testing.T) (fleet.DeviceID, string, string, int) {
		farm := simulated.Start(t, stsim.Options{Count: 1, Versions: []stsim.Version{version}, Folders: -1, Quiet: true})
		d := farm.Daemon(0)
		return d.ID(), d.APIKey(), d.Host(), d.Port()
	}
}

// call is a request of the person's own page. An API that restarts is waited for.
func (p *place) call(method, path string, body []byte) stconfig.Value {
	p.t.Helper()
	var status int
	var answer []byte
	wait.Until(p.t, func() string {
		request, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, bytes.NewReader(body))
		if err != nil {
			p.t.Fatal(err)
		}
		request.Header.Set("X-API-Key", p.key)
		response, err := p.client.Do(request)
		if err != nil {
			return err.Error()
		}
		defer response.Body.Close()
		status = response.StatusCode
		if answer, err = io.ReadAll(response.Body); err != nil {
			return err.Error()
		}
		return ""
	})
	if status != http.StatusOK {
		p.t.Fatalf("%s %s: %d %s", method, path, status, answer)
	}
	if len(bytes.TrimSpace(answer)) == 0 {
		return stconfig.Value{}
	}
	v, err := stconfig.Parse(answer)
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

func (p *place) doc() stconfig.Value { p.t.Helper(); return p.call("GET", "/rest/config", nil) }

func (p *place) patch(path, body string) {
	p.t.Helper()
	p.call("PATCH", "/rest/config/"+path, []byte(body))
}

// whole saves a whole document.
func (p *place) whole(doc stconfig.Value) { p.t.Helper(); p.call("PUT", "/rest/config", doc.JSON()) }

func (p *place) at(key string) string {
	p.t.Helper()
	parsed, err := stconfig.ParseKey(key)
	if err != nil {
		p.t.Fatal(err)
	}
	if v := stconfig.Lookup(p.doc(), parsed); v.Exists() {
		return string(v.JSON())
	}
	return "absent"
}

// becomes waits until the daemon has a value.
func (p *place) becomes(key, want string) {
	p.t.Helper()
	wait.Until(p.t, func() string {
		if got := p.at(key); got != want {
			plan, _ := p.s.Client.DevicePlan(p.t.Context(), string(p.id))
			state, _ := p.s.Client.DeviceState(p.t.Context(), string(p.id))
			return key + " is " + got + ", want " + want + "; " + state.Configuration + ": " + state.Reason + changes(plan)
		}
		return ""
	})
}

func changes(plan api.Plan) (text string) {
	for _, c := range plan.Changes {
		text += "; " + c.Class + " " + c.Key + " (" + c.Reason + ")"
	}
	return text
}

// rests waits until Muster has read what the daemon has, and is in that state over it.
func (p *place) rests(want fleet.Configuration) api.Plan {
	p.t.Helper()
	var plan api.Plan
	wait.Until(p.t, func() string {
		read, err := p.s.Client.DeviceConfig(p.t.Context(), string(p.id))
		if err != nil {
			return err.Error()
		}
		shown, err := stconfig.Parse(read)
		if err != nil {
			return err.Error()
		}
		if diff := stconfig.Diff(shown, p.doc()); len(diff) > 0 &&
			!stconfig.MaskAt(diff[0].Key, diff[0].To).Equal(diff[0].From) {
			return diff[0].Key.String() + " was not read yet"
		}
		state, err := p.s.Client.DeviceState(p.t.Context(), string(p.id))
		if err != nil {
			return err.Error()
		}
		if plan, err = p.s.Client.DevicePlan(p.t.Context(), string(p.id)); err != nil {
			return err.Error()
		}
		if state.Configuration != string(want) {
			return "the device is " + state.Configuration + ", want " + string(want) + ": " + state.Reason + changes(plan)
		}
		return ""
	})
	return plan
}

// answer consents to what is held, or keeps what would go. An answer to a plan that is another by now is given again.
func (p *place) answer(consent, keep []string) {
	p.t.Helper()
	wait.Until(p.t, func() string {
		plan, err := p.s.Client.DevicePlan(p.t.Context(), string(p.id))
		if err != nil {
			return err.Error()
		}
		done := func(key string) bool { // by an apply whose answer was lost when the API restarted
			return !slices.ContainsFunc(plan.Changes, func(c api.PlannedChange) bool { return c.Key == key })
		}
		consent, keep = slices.DeleteFunc(consent, done), slices.DeleteFunc(keep, done)
		applied, err := p.s.Client.ApplyPlan(p.t.Context(), string(p.id),
			api.ApplyPlan{Digest: &plan.Digest, Consent: consent, Keep: keep})
		if err != nil {
			return err.Error() + changes(plan)
		}
		for _, c := range applied.Waiting {
			if slices.Contains(consent, c.Key) && !strings.HasPrefix(c.Reason, "left out together") {
				return c.Key + " waits still: " + c.Reason
			}
		}
		return ""
	})
}

// template makes one for the daemon; it can be changed with change and taken away with gone.
// passwordIsEmpty checks that the daemon has an empty password, of which it keeps a hash like of any other.
func (p *place) passwordIsEmpty() {
	p.t.Helper()
	hash := strings.Trim(p.at("gui.password"), `"`)
	if err := bcrypt.CompareHashAndPassword([]byte(hash), nil); err != nil {
		p.t.Errorf("the password is %q, and a person chose an empty password: %v", hash, err)
	}
}

// choose chooses a value by its name, with the plan as it is.
func (p *place) choose(key, name string) {
	p.t.Helper()
	wait.Until(p.t, func() string {
		plan, err := p.s.Client.DevicePlan(p.t.Context(), string(p.id))
		if err != nil {
			return err.Error()
		}
		if !slices.ContainsFunc(plan.Changes, func(c api.PlannedChange) bool { return c.Key == key }) {
			return "" // an apply did it whose answer was lost when the API restarted
		}
		_, err = p.s.Client.ApplyPlan(p.t.Context(), string(p.id),
			api.ApplyPlan{Digest: &plan.Digest, Values: map[string]string{key: name}})
		if err != nil {
			return err.Error() + changes(plan)
		}
		return ""
	})
}

func (p *place) template(priority int64, op, key, text string) int64 {
	p.t.Helper()
	label := op + " " + key
	made, err := p.s.Client.CreateTemplate(p.t.Context(), api.PutTemplate{Label: &label, Priority: &priority, Op: &op,
		Key: &key, Template: &text})
	if err == nil {
		_, err = p.s.Client.TagTemplate(p.t.Context(), made.ID, "it")
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return made.ID
}

func (p *place) change(id int64, op, key, text string) {
	p.t.Helper()
	was, err := p.s.Client.Template(p.t.Context(), id)
	if err == nil {
		_, err = p.s.Client.PutTemplate(p.t.Context(), id, api.PutTemplate{Label: &was.Label, Priority: &was.Priority,
			Op: &op, Key: &key, Template: &text})
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) gone(id int64) {
	p.t.Helper()
	if err := p.s.Client.DeleteTemplate(p.t.Context(), id); err != nil {
		p.t.Fatal(err)
	}
}
