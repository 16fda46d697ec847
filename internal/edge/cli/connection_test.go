package cli

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/adapter/listen"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAGeneratedCertificateIsTrustedWhereItsHomeIs(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer mine" {
			t.Errorf("got %q, want the token of the home", r.Header.Get("Authorization"))
		}
		_, _ = fmt.Fprint(w, `[{"name":"x","role":"admin","createdAt":"2026-11-20T21:11:55.670Z"}]`)
	}))
	server.Config.ErrorLog = log.New(&strings.Builder{}, "", 0) // of handshakes that are meant to fail
	server.StartTLS()
	defer server.Close()
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	key := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("of nobody's business")}))
	with, without := t.TempDir(), t.TempDir()
	write(t, with, auth.AdminTokenFile, "mine\n")
	write(t, with, listen.CertificateFile, text+key)
	write(t, without, auth.AdminTokenFile, "mine\n")
	certificate, nothing := write(t, without, "server.pem", text), write(t, without, "empty.pem", "")
	for name, test := range map[string]struct {
		flags []string
		code  int
		says  string
	}{
		"in its home":       {[]string{"--muster-home", with}, exitDone, "2026-11-20T21:11:55.670Z"},
		"elsewhere":         {[]string{"--muster-home", without}, exitUnreachable, "--ca"},
		"given":             {[]string{"--muster-home", without, "--ca", certificate}, exitDone, "admin"},
		"no such file":      {[]string{"--muster-home", with, "--ca", certificate + "x"}, exitUsage, "--ca"},
		"no certificate":    {[]string{"--muster-home", with, "--ca", nothing}, exitUsage, "no certificate"},
		"no token anywhere": {[]string{"--muster-home", t.TempDir()}, exitRefused, "MUSTER_TOKEN"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := run(t, append([]string{"token", "list", "--server", server.URL}, test.flags...)...)
			if code != test.code || !strings.Contains(out+errs, test.says) {
				t.Errorf("got %d and\n%s%swant %d and %q", code, out, errs, test.code, test.says)
			}
		})
	}
}

func TestTheOtherSchemeIsNamed(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(&strings.Builder{}, "", 0)
	secure.StartTLS()
	defer secure.Close()
	for server, want := range map[string]string{
		strings.Replace(plain.URL, "http:", "https:", 1):  "Write http://",
		strings.Replace(secure.URL, "https:", "http:", 1): "Write https://",
	} {
		if code, _, errs := run(t, "token", "list", "--token", "x", "--server", server); !refuses(code) ||
			!strings.Contains(errs, want) {
			t.Errorf("%s: got %d and\n%s", server, code, errs)
		}
	}
}

// answering is a server that answers each path with a value.
func answering(t *testing.T, values map[string]any) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		value, known := values[r.Method+" "+r.URL.Path]
		if !known {
			w.Header().Set("Content-Type", api.ProblemType)
			w.WriteHeader(http.StatusNotFound)
			value = api.Problem{Status: http.StatusNotFound, Detail: "there is nothing at " + r.Method + " " + r.URL.Path}
		}
		_ = json.NewEncoder(w).Encode(value)
	}))
	t.Cleanup(server.Close)
	return server
}

// A stop of a mistyped tag stops nothing: the operator has to see that, and so does a script.
func TestAStopOfAMistypedTagIsRefused(t *testing.T) {
	server := answering(t, map[string]any{
		"PUT /api/v1/tags/new/settings":  api.ModeSwitched{},
		"GET /api/v1/tags/ofice/devices": []api.Device{}, "GET /api/v1/tags/new/devices": []api.Device{},
		"GET /api/v1/tags/ofice/settings": api.ModeSetting{Mode: "on"},
		"GET /api/v1/tags/new/settings":   api.ModeSetting{Mode: "on"},
		"GET /api/v1/tags":                []string{"office", "server"},
	})
	connected := []string{"--token", "x", "--server", server.URL}
	for _, verb := range []string{"stop", "resume"} {
		code, out, errs := run(t, append([]string{verb, "--tag", "ofice"}, connected...)...)
		want := "muster: no device carries the tag \"ofice\"\nNothing was changed. Did you mean `muster " + verb +
			" --tag 'office'`?"
		if code != exitRefused || out != "" || !strings.HasPrefix(errs, want) {
			t.Errorf("%s: got %d and\n%s%swant\n%s", verb, code, out, errs, want)
		}
	}
	code, out, errs := run(t, append([]string{"stop", "--tag", "new", "--force"}, connected...)...)
	if code != exitDone || !strings.Contains(out, "`muster resume --tag 'new'`") || errs != "" {
		t.Errorf("got %d and\n%s%s", code, out, errs)
	}
}

// A stop must not depend on what is only asked to find typing errors.
func TestATagIsStoppedAlsoWhereItsDevicesCannotBeRead(t *testing.T) {
	server := answering(t, map[string]any{"PUT /api/v1/tags/office/settings": api.ModeSwitched{}})
	code, out, errs := run(t, "stop", "--tag", "office", "--token", "x", "--server", server.URL)
	if code != exitDone || !strings.HasPrefix(out, "Stopped") || !strings.HasPrefix(errs, "Warning: it is not known") {
		t.Errorf("got %d and\n%s%s", code, out, errs)
	}
}

func TestATagThatNoDeviceCarriesIsWarnedOf(t *testing.T) {
	server := answering(t, map[string]any{
		"GET /api/v1/tags/ofice/devices":   []api.Device{},
		"PUT /api/v1/tags/office/settings": api.ModeSwitched{}, "GET /api/v1/tags/office/devices": []api.Device{{}},
		"POST /api/v1/plan": api.WhatIfPlan{},
	})
	const warning = "no device carries the tag \"ofice\""
	connected := []string{"--token", "x", "--server", server.URL}
	t.Setenv("MUSTER_TAG", "office")
	t.Setenv("MUSTER_DEVICE", "x")
	if code, out, errs := run(t, append([]string{"stop"}, connected...)...); code != exitRefused ||
		!strings.Contains(errs, "PUT /api/v1/configurator") {
		t.Errorf("got %d and\n%s%swant the whole fleet stopped, whatever the environment says", code, out, errs)
	}
	if code, _, errs := run(t, append([]string{"stop", "--tag", "office"}, connected...)...); code != exitDone ||
		errs != "" {
		t.Errorf("got %d and\n%s", code, errs)
	}
	file := write(t, t.TempDir(), "plan.hjson", `{
		templates: {new: [{op: "set", key: "", template: "{}", tags: ["office", "ofice", "new", "ofice"]}]}
		tags: {added: [{tag: "new", device: "x"}]}
	}`)
	code, _, errs := run(t, append([]string{"plan", "-f", file}, connected...)...)
	if code != exitDone || strings.Count(errs, "Warning") != 1 || !strings.Contains(errs, warning) {
		t.Errorf("got %d and\n%s", code, errs)
	}
}

func TestAStopLeavesWhatIsPaused(t *testing.T) {
	paused, label := api.ModeSetting{Mode: "paused"}, []api.Device{{DeviceID: idNAS, Label: "nas"}}
	server := answering(t, map[string]any{ // and takes no PUT
		"GET /api/v1/configurator": paused, "GET /api/v1/tags/office/settings": paused,
		"GET /api/v1/tags/office/devices": label,
		"GET /api/v1/devices":             label, "GET /api/v1/devices/" + idNAS +
			"/settings": api.DeviceSettings{Mode: "paused"},
	})
	for args, who := range map[string]string{
		"stop": "any device", "stop --tag office": `devices with the tag "office"`,
		"stop --device nas": "device nas (P56IOI7)",
	} {
		code, out, errs := run(t, append(strings.Fields(args), "--token", "x", "--server", server.URL)...)
		if code != exitDone || errs != "" || !strings.HasPrefix(out,
			"Stopped before: the mode is paused (not watched) and stays so, nothing is written to "+who+". `muster resume") {
			t.Errorf("%s: got %d and\n%s%s", args, code, out, errs)
		}
	}
}

// `muster status --server URL` sent the administrator's token of this machine to any server, also to one that was
// logged out of.
func TestTheTokenOfTheHomeWentToAnyServer(t *testing.T) {
	file := configured(t)
	data := t.TempDir()
	t.Setenv("XDG_DATA_HOME", data)
	home := filepath.Join(data, "muster")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, home, auth.AdminTokenFile, "of the home\n")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Dir(file), filepath.Base(file), `{"servers":{"out":{"address":"https://muster.example"}}}`)
	for _, server := range []string{
		"https://192.0.2.1:2525", "out", "https://muster.example", "http://127.0.0.1@muster.example",
		"http://localhost.muster.example", "http://127.0.0.1.example",
	} {
		_, err := (&connection{Server: server}).client() // sends nothing
		var e *fleet.Error
		if !errors.As(err, &e) || e.Code != fleet.CodeUnauthorized || !strings.Contains(e.Hint, "muster login") {
			t.Errorf("%s: got %v, want an error that names the log-in", server, err)
		}
		if _, err := (&connection{Server: server, MusterHome: home}).client(); err != nil {
			t.Errorf("%s with a home that was given: got %v", server, err)
		}
		if _, err := (&connection{Server: server, Token: "t"}).client(); err != nil {
			t.Errorf("%s with a token: got %v", server, err)
		}
	}
	for _, server := range []string{"", "http://localhost:2525", "https://127.0.0.1:2525/", "http://[::1]:2525"} {
		if _, err := (&connection{Server: server}).client(); err != nil {
			t.Errorf("%s: got %v", server, err)
		}
	}
}
