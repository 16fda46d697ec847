package contract

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"

	"muster/internal/core/stconfig"
)

var access = []Check{
	{"a change of gui restarts the API, and the key goes on working", Spoils, func(p *Probe) {
		p.MustDo("PATCH", "/rest/config/gui", `{"theme":"black"}`)
		p.Is(p.Get("/rest/config"), "gui.theme", `"black"`)
		p.Is(p.Get("/rest/config"), "gui.apiKey", `"`+p.key+`"`)
	}},
	{"too many changes of gui close the API for a while", Spoils, func(p *Probe) {
		var begun time.Time
		for i := range 6 {
			begun = time.Now()
			p.MustDo("PATCH", "/rest/config/gui", fmt.Sprintf(`{"theme":"t%d"}`, i))
		}
		p.Until("the API answers again", func() error {
			_, err := p.Send(Request{Method: "GET", Path: "/rest/system/ping"})
			if err != nil {
				return err
			}
			if took := time.Since(begun); took < 10*time.Second {
				return fmt.Errorf("it answers after %s", took)
			}
			return nil
		})
	}},
	{"a new key is valid, the old one dead", Spoils, func(p *Probe) {
		old := p.key
		p.Once("PATCH", "/rest/config/gui", `{"apiKey":"another-key"}`)
		p.Until("the new key is valid", func() error { return p.tryKey("another-key", http.StatusOK) })
		p.Until("the old key is dead", func() error { return p.tryKey(old, http.StatusForbidden) })
	}},
	{"a key that is missing is made anew", Spoils, func(p *Probe) {
		p.Once("PATCH", "/rest/config/gui", `{"apiKey":""}`)
		p.Until("the old key is dead", func() error { return p.tryKey(p.key, http.StatusForbidden) })
		p.Until("an empty key is none", func() error { return p.tryKey("", http.StatusForbidden) })
	}},
	{"PUT of gui without a key locks out", Spoils, func(p *Probe) {
		p.Once("PUT", "/rest/config/gui", `{"address":"`+p.HostPort()+`"}`)
		p.Until("the old key is dead", func() error { return p.tryKey(p.key, http.StatusForbidden) })
	}},
	{"an empty document moves the API away", Opens, func(p *Probe) {
		p.Once("PUT", "/rest/config", `{}`)
		p.Gone()
	}},
	{"another address is used at once", Spoils, func(p *Probe) {
		p.Once("PATCH", "/rest/config/gui", `{"address":"203.0.113.7:8384"}`)
		p.Gone()
	}},
	{"gui.enabled false counts at the next start", Spoils, func(p *Probe) {
		p.MustDo("PATCH", "/rest/config/gui", `{"enabled":false}`)
		p.Is(p.Get("/rest/config"), "gui.enabled", "false")
		p.Is(p.Get("/rest/config/restart-required"), "requiresRestart", "false")
		p.MustDo("POST", "/rest/system/restart", "")
		p.Gone()
	}},
	{"with useTLS plain http is sent to https", Spoils, func(p *Probe) {
		p.MustDo("PATCH", "/rest/config/gui", `{"useTLS":true}`)
		p.Until("plain http is redirected", func() error {
			answer, err := p.Send(Request{Method: "GET", Path: "/rest/system/ping?x=1", Scheme: "http",
				Header: map[string]string{"X-API-Key": p.key}})
			if err != nil {
				return err
			}
			if want := "https://" + p.HostPort() + "/rest/system/ping?x=1"; answer.Status != http.StatusTemporaryRedirect ||
				answer.Header.Get("Location") != want {
				return fmt.Errorf("got %d to %s", answer.Status, answer.Header.Get("Location"))
			}
			return nil
		})
		p.Get("/rest/system/ping")
	}},
	{"a password is kept as a hash", Spoils, func(p *Probe) {
		p.MustDo("PATCH", "/rest/config/gui", `{"user":"u","password":"secret"}`)
		first := p.hash()
		if len(first) != 60 || !strings.HasPrefix(first, "$2a$") {
			p.Fatalf("got %q", first)
		}
		p.MustDo("PATCH", "/rest/config/gui", `{"password":"`+first+`"}`)
		if got := p.hash(); got != first {
			p.Errorf("the present hash became %q", got)
		}
		p.MustDo("PATCH", "/rest/config/gui", `{"password":"secret"}`)
		second := p.hash()
		if second == first {
			p.Errorf("the same password gave the same hash")
		}
		p.MustDo("PATCH", "/rest/config/gui", `{"password":"`+first+`"}`)
		if kept := p.hash() == first; kept == p.V1() {
			p.Errorf("an old hash is kept: %t", kept)
		}
	}},
	{"with a user, who comes without a key is told less", Spoils, func(p *Probe) {
		p.MustDo("PATCH", "/rest/config/gui", `{"user":"u","password":"secret"}`)
		var answer Answer
		p.Until("the user is asked for", func() error {
			var err error
			answer, err = p.Send(Request{Method: "GET", Path: "/rest/system/status"})
			if err == nil && strings.Contains(answer.Text, "CSRF") {
				return fmt.Errorf("got %d %q", answer.Status, answer.Text)
			}
			return err
		})
		if want := byVersion(p, 401, 403); answer.Status != want ||
			answer.Text != byVersion(p, "Not Authorized\n", "Forbidden\n") {
			p.Errorf("got %d %q", answer.Status, answer.Text)
		}
		if got := answer.Header.Get("X-Syncthing-Id"); got != "" {
			p.Errorf("the answer has X-Syncthing-Id %s", got)
		}
		p.Get("/rest/system/status")
		basic := func(password string) Answer {
			credentials := base64.StdEncoding.EncodeToString([]byte("u:" + password))
			answer, err := p.Send(Request{Method: "GET", Path: "/rest/system/status",
				Header: map[string]string{"Authorization": "Basic " + credentials}})
			if err != nil {
				p.Fatal(err)
			}
			return answer
		}
		if got := basic("secret"); got.Status != http.StatusForbidden || got.Text != "CSRF Error\n" {
			p.Errorf("the right password: got %d %q, want to be let in as far as the CSRF check", got.Status, got.Text)
		}
		if got, want := basic("wrong").Status, byVersion(p, 401, 403); got != want {
			p.Errorf("a wrong password: got %d, want %d", got, want)
		}
		for _, path := range []string{"/", "/rest/noauth/health"} {
			open, err := p.Send(Request{Method: "GET", Path: path})
			if err != nil {
				p.Fatal(err)
			}
			if want := byVersion(p, 401, 200); open.Status != want {
				p.Errorf("%s: got %d, want %d", path, open.Status, want)
			}
			if got := open.Header.Get("X-Syncthing-Id"); (got != "") == p.V1() {
				p.Errorf("%s: X-Syncthing-Id is %q", path, got)
			}
		}
		if got := texts(p.Get("/rest/config/options").Get("unackedNotificationIDs"),
			""); strings.Contains(strings.Join(got, " "), "authenticationUserAndPassword") {
			p.Errorf("the daemon still asks for a password: %v", got)
		}
	}},
}

// hash is what stands as the password.
func (p *Probe) hash() string {
	p.Helper()
	return p.Get("/rest/config/gui").Get("password").Str()
}

func (p *Probe) tryKey(key string, want int) error {
	answer, err := p.Send(Request{Method: "GET", Path: "/rest/config/gui", Header: map[string]string{"X-API-Key": key}})
	if err != nil {
		return err
	}
	if answer.Status != want {
		return fmt.Errorf("key %q: got %d, want %d", key, answer.Status, want)
	}
	if want == http.StatusOK {
		v, err := stconfig.Parse([]byte(answer.Text))
		if err != nil || v.Get("apiKey").Str() != key {
			return fmt.Errorf("gui.apiKey is %q, want %q", v.Get("apiKey").Str(), key)
		}
	}
	return nil
}
