package agent

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"muster/internal/fleet"
)

const secretConfig = `{"version":52,"gui":{"apiKey":"key one","password":"$2a$10$hash","user":"ann"},
	"folders":[{"id":"a","devices":[{"deviceID":"x","encryptionPassword":"of the folder"},
	{"deviceID":"y","encryptionPassword":""}]}]}`

// With the API key in the configurations that it keeps, the manager of a daemon that may only be observed could change
// it wherever its API is reached.
func TestObserveHidesTheSecretsOfTheDaemon(t *testing.T) {
	answers := map[string]string{
		"/rest/config":        secretConfig,
		"/rest/system/config": secretConfig,
		"/rest/events": `[{"id":1,"type":"ConfigSaved","data":` + secretConfig + `},{"id":2,"type":"Failure",` +
			`"data":{"authToken":"of an event"}}]`,
	}
	d := newFakeDaemon(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, answers[r.URL.Path])
	})
	m := newFakeManager(t, "muster-agent/1")
	started(t, d, m, func(o *Options) { o.Observe = true })
	c := m.accept()
	seen := map[string]bool{}
	for path, plain := range answers {
		status, _, text := c.ask(http.MethodGet, path, nil, nil)
		if status != http.StatusOK || !json.Valid([]byte(text)) {
			t.Errorf("%s: %d %s", path, status, text)
		}
		for _, secret := range []string{"key one", "$2a$10$hash", "of the folder", "of an event"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s: %q is not hidden in %s", path, secret, text)
			}
		}
		var document any
		if err := json.Unmarshal([]byte(text), &document); err != nil {
			t.Fatal(err)
		}
		hidden := hiddenIn(document, seen)
		if hidden != strings.Count(plain, "key one")+strings.Count(plain, "hash")+strings.Count(plain, "of the folder")+
			strings.Count(plain, "of an event") {
			t.Errorf("%s: %d texts are hidden in %s", path, hidden, text)
		}
		if !strings.Contains(text, `"encryptionPassword":""`) || !strings.Contains(text, `"ann"`) &&
			strings.Contains(plain, "ann") {
			t.Errorf("%s: what is no secret is another: %s", path, text)
		}
	}
	if len(seen) != 4 {
		t.Errorf("four secrets became %d texts", len(seen))
	}
}

// hiddenIn counts the texts in place of secrets, and collects them.
func hiddenIn(v any, seen map[string]bool) (count int) {
	switch v := v.(type) {
	case string:
		if fleet.IsHidden(v) {
			seen[v] = true
			return 1
		}
	case []any:
		for _, member := range v {
			count += hiddenIn(member, seen)
		}
	case map[string]any:
		for _, member := range v {
			count += hiddenIn(member, seen)
		}
	}
	return count
}

func TestWithoutObserveTheConfigurationIsAsTheDaemonGivesIt(t *testing.T) {
	d := newFakeDaemon(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, secretConfig) })
	m := newFakeManager(t, "muster-agent/1")
	started(t, d, m, nil)
	if status, _, text := m.accept().ask(http.MethodGet, "/rest/config", nil, nil); status != 200 || text != secretConfig {
		t.Errorf("got %d %s", status, text)
	}
}

// The manager must never take a part of a configuration for the whole.
func TestAnAnswerThatBreaksOffIsResetUnderObserve(t *testing.T) {
	d := newFakeDaemon(t, func(w http.ResponseWriter, r *http.Request) {
		text := secretConfig[:len(secretConfig)-20]
		if r.URL.Path == "/rest/events" {
			text = "no JSON"
		}
		_, _ = io.WriteString(w, text)
	})
	m := newFakeManager(t, "muster-agent/1")
	started(t, d, m, func(o *Options) { o.Observe = true })
	c := m.accept()
	for _, path := range []string{"/rest/config", "/rest/events"} {
		if status, _, text := c.ask(http.MethodGet, path, nil, nil); status != 0 {
			t.Errorf("%s: got %d %s", path, status, text)
		}
	}
}
