package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"muster/internal/fleet"
)

func TestDeviceSettingsThatAreLeftOutStay(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	path := Prefix + "/devices/" + string(idA) + "/settings"
	pin := "sha256:" + strings.Repeat("ab", 32)
	for _, step := range []struct{ put, want string }{
		{`{}`, `{"mode":"on","allowPlain":false,"pin":"","quietAfter":0,"way":"auto","restart":false}`},
		{`{"pin":"` + strings.ToUpper(pin[7:]) + `"}`, ""},
		{`{"pin":"` + pin + `"}`, `{"mode":"on","allowPlain":false,"pin":"` + pin + `","quietAfter":0,"way":"auto","restart":false}`},
		{`{"mode":"observe"}`, `{"mode":"observe","allowPlain":false,"pin":"` + pin + `","quietAfter":0,"way":"auto","restart":false}`},
		{`{"allowPlain":true,"mode":null}`, `{"mode":"observe","allowPlain":true,"pin":"` + pin + `","quietAfter":0,"way":"auto","restart":false}`},
		{`{"restart":true}`, `{"mode":"observe","allowPlain":true,"pin":"` + pin + `","quietAfter":0,"way":"auto","restart":true}`},
		{`{"restart":false}`, `{"mode":"observe","allowPlain":true,"pin":"` + pin + `","quietAfter":0,"way":"auto","restart":false}`},
		{`{"way":"tunnel"}`, ""},
		{`{"way":"direct"}`, `{"mode":"observe","allowPlain":true,"pin":"` + pin + `","quietAfter":0,"way":"direct","restart":false}`},
		{`{"way":"auto"}`, `{"mode":"observe","allowPlain":true,"pin":"` + pin + `","quietAfter":0,"way":"auto","restart":false}`},
		{`{"pin":"","mode":"paused"}`, `{"mode":"paused","allowPlain":true,"pin":"","quietAfter":0,"way":"auto","restart":false}`},
	} {
		if step.want == "" {
			w.problem(http.StatusUnprocessableEntity, call{method: http.MethodPut, path: path, body: step.put})
			continue
		}
		if got := w.put(path, step.put); got != step.want {
			t.Errorf("%s gives %s, want %s", step.put, got, step.want)
		}
		if got := w.get(path); got != step.want {
			t.Errorf("then it is %s, want %s", got, step.want)
		}
	}
}

func TestModesOfFleetAndTags(t *testing.T) {
	w := newWorld(t)
	for path, rest := range map[string]string{"/configurator": "",
		"/tags/anything%2Fat%20all/settings": `,"folderRoots":[],"authorKeys":[],"quietAfter":0`} {
		if got := w.get(Prefix + path); got != `{"mode":"on"`+rest+`}` {
			t.Errorf("%s starts as %s", path, got)
		}
		for _, mode := range []string{"observe", "paused", "on"} {
			w.put(Prefix+path, `{"mode":"`+mode+`"}`)
			if got := w.get(Prefix + path); got != `{"mode":"`+mode+`"`+rest+`}` {
				t.Errorf("%s is %s, want %s", path, got, mode)
			}
		}
	}
}

// Whoever is there at night may stop Muster. To have it go on, watch again what is paused, or to change another
// setting, is for an admin.
func TestAnOperatorMayStopMusterAndNothingElse(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	device := Prefix + "/devices/" + string(idA) + "/settings"
	for _, path := range []string{Prefix + "/configurator", Prefix + "/tags/site/settings", device} {
		for _, step := range []struct {
			mode string
			want int
		}{{"on", 403}, {"observe", 200}, {"observe", 200}, {"on", 403}, {"paused", 200}, {"observe", 403}, {"on", 403},
			{"paused", 200}} {
			w.want(step.want, call{method: http.MethodPut, path: path, role: fleet.RoleOperator, body: `{"mode":"` + step.mode +
				`"}`})
		}
		if got := w.get(path); !strings.Contains(got, `"mode":"paused"`) {
			t.Errorf("%s: got %s after what was refused", path, got)
		}
		w.want(http.StatusForbidden, call{method: http.MethodPut, path: path, role: fleet.RoleViewer,
			body: `{"mode":"paused"}`})
		w.want(http.StatusOK, call{method: http.MethodPut, path: path, role: fleet.RoleAdmin, body: `{"mode":"on"}`})
	}
	for _, body := range []string{`{}`, `{"pin":""}`, `{"mode":"observe","allowPlain":true}`,
		`{"mode":"observe","restart":true}`} {
		w.want(http.StatusForbidden, call{method: http.MethodPut, path: device, role: fleet.RoleOperator, body: body})
	}
}

// unkept is a store whose database cannot be written: modes are in force, and not kept.
type unkept struct{ settings }

func (u unkept) err() error {
	return &fleet.Error{Code: fleet.CodeUnavailable, Message: "it is in force", Hint: "A restart forgets it.",
		Err: fleet.ErrNotKept}
}
func (u unkept) PutFleetMode(context.Context, fleet.Mode) error          { return u.err() }
func (u unkept) PutTagMode(context.Context, fleet.Tag, fleet.Mode) error { return u.err() }
func (u unkept) PutDeviceSettings(_ context.Context, _ fleet.DeviceID, settings fleet.DeviceSettings,
	_ func(*fleet.DeviceSettings) error) (fleet.DeviceSettings, error) {
	return settings, u.err()
}

func TestAModeThatIsInForceIsASuccessWithAWarning(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	w.with(func(o *setup) { o.Settings = unkept{} })
	device := "/devices/" + string(idA) + "/settings"
	for path, want := range map[string]string{
		"/configurator":       `{"mode":"observe","warning":"it is in force. A restart forgets it."}`,
		"/tags/site/settings": `{"mode":"observe","warning":"it is in force. A restart forgets it.","folderRoots":[],"authorKeys":[],"quietAfter":0}`,
		device:                `{"mode":"observe","allowPlain":false,"pin":"","quietAfter":0,"way":"auto","restart":false,"warning":"it is in force. A restart forgets it."}`,
	} {
		if got := w.want(http.StatusOK, call{method: http.MethodPut, path: Prefix + path,
			body: `{"mode":"observe"}`}); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

func TestAModeThatTheServerWasStartedAgainstIsWarnedOf(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	w.view.Mode = fleet.ModeObserve
	if got := w.get(Prefix + "/configurator"); !strings.HasPrefix(got, `{"mode":"on","warning":"`) {
		t.Errorf("got %s, want a warning that on is not in force", got)
	}
	for _, path := range []string{"/configurator", "/tags/site/settings", "/devices/" + string(idA) + "/settings"} {
		if got := w.put(Prefix+path, `{"mode":"on"}`); !strings.Contains(got, "--configurator=observe") {
			t.Errorf("%s: got %s, want a warning", path, got)
		}
		for _, mode := range []string{"observe", "paused"} {
			if got := w.put(Prefix+path, `{"mode":"`+mode+`"}`); strings.Contains(got, "warning") {
				t.Errorf("%s: got %s for %s", path, got, mode)
			}
		}
	}
}

func TestTokensComeAndGo(t *testing.T) {
	w := newWorld(t)
	body := w.want(http.StatusCreated, call{method: http.MethodPost, path: Prefix + "/tokens",
		body: `{"name":"ci / nightly","role":"viewer"}`})
	created := decoded(t, body)
	secret := created["token"].(string)
	if created["name"] != "ci / nightly" || created["role"] != "viewer" || secret == "" {
		t.Fatalf("got %s", body)
	}
	w.want(http.StatusOK, call{method: http.MethodGet, path: Prefix + "/devices", token: secret})
	w.want(http.StatusOK, call{method: http.MethodGet, path: Prefix + "/devices", token: "-",
		header: with("X-API-Key", secret)})
	if list := w.get(Prefix + "/tokens"); strings.Contains(list, secret) ||
		!strings.Contains(list, `"name":"ci / nightly"`) {
		t.Errorf("got %s", list)
	}
	w.want(http.StatusNoContent, call{method: http.MethodDelete, path: Prefix + "/tokens/ci%20%2F%20nightly"})
	w.problem(http.StatusUnauthorized, call{method: http.MethodGet, path: Prefix + "/devices", token: secret})
	w.problem(http.StatusNotFound, call{method: http.MethodDelete, path: Prefix + "/tokens/ci%20%2F%20nightly"})
}
