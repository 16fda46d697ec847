package spine_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

// call sends a request and gives the answer with its warning.
func call(t *testing.T, s *server.Server, method, path string, body any) (status int, warning, text string) {
	t.Helper()
	sent, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+"/api/v1/"+path, bytes.NewReader(sent))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get(api.WarningHeader), string(answer)
}

// A daemon takes every one of these and makes nothing of it: without a word of Muster's nobody would find out.
func TestMistakesInTemplatesAreSaidOnSaveWhenEvaluatedAndInTheState(t *testing.T) {
	t.Parallel()
	s, d := server.Start(t, server.Options{}), daemon.Start(t, daemon.Options{TLS: true})
	d.AddFolder("x")
	enroll(t, s, d, "office")
	for _, mistake := range []struct{ op, key, text, want string }{
		{"merge", "folders.x", `{"labl": "y"}`,
			"folders.x.labl is a field of no daemon that Muster knows: did you mean label?"},
		{"set", "options.natEnabledd", `true`, "did you mean natEnabled?"},
		{"set", "gui.theme", `"drak"`, "did you mean dark?"},
		{"set", "folders.x.minDiskFree.unit", `"percent"`, "is no unit"},
		{"set", "options.listenAddresses", `["tcp://127.0.0.1:0", "foo"]`, `"foo"`},
	} {
		body := map[string]any{"op": mistake.op, "key": mistake.key, "template": mistake.text}
		status, warning, text := call(t, s, http.MethodPost, "templates", body)
		if status != http.StatusCreated || !strings.Contains(warning, mistake.want) {
			t.Fatalf("%s: got %d with the warning %q: %s", mistake.key, status, warning, text)
		}
		var made api.Template
		if err := json.Unmarshal([]byte(text), &made); err != nil {
			t.Fatal(err)
		}
		if _, _, text := call(t, s, http.MethodPost, "templates/evaluate", body); !strings.Contains(text,
			strings.ReplaceAll(mistake.want, `"`, `\"`)) {
			t.Errorf("%s: evaluated to %s", mistake.key, text)
		}
		if _, err := s.Client.TagTemplate(t.Context(), made.ID, "office"); err != nil {
			t.Fatal(err)
		}
		s.WaitState(d.ID, "the mistake", func(state api.DeviceState) bool {
			return strings.Contains(state.Reason, mistake.want) && strings.Contains(state.Next, "Mend template")
		})
		if err := s.Client.DeleteTemplate(t.Context(), made.ID); err != nil {
			t.Fatal(err)
		}
	}
	for key, text := range map[string]string{"folders.x.type": `"sendrecieve"`, "folders.x.order": `"newest"`} {
		status, _, answer := call(t, s, http.MethodPost, "templates",
			map[string]any{"op": "set", "key": key, "template": text})
		if status != http.StatusUnprocessableEntity || !strings.Contains(answer, key+" is one of") {
			t.Errorf("%s: got %d: %s", key, status, answer)
		}
	}
}

func TestWhoWinsIsSaidOnSaveWhenEvaluatedAndInTheState(t *testing.T) {
	t.Parallel()
	s, d := server.Start(t, server.Options{}), daemon.Start(t, daemon.Options{TLS: true})
	enroll(t, s, d, "office")
	s.WaitConnection(d.ID, fleet.Online)
	s.Template("set", "options.maxSendKbps", "5", "office")
	s.WaitConfiguration(d.ID, fleet.ConfigInSync)
	body := map[string]any{"op": "merge", "key": "options", "template": `{"maxSendKbps": 7}`, "priority": 20}
	const want = "options.maxSendKbps: template 2 (priority 20) has the last word over template 1 "
	if status, _, text := call(t, s, http.MethodPost, "templates", body); status != http.StatusCreated {
		t.Fatalf("got %d: %s", status, text)
	}
	if _, warning, _ := call(t, s, http.MethodPut, "templates/2/tags/office", nil); !strings.Contains(warning, want) {
		t.Errorf("tagged with the warning %q", warning)
	}
	if _, warning, _ := call(t, s, http.MethodPut, "templates/2", body); !strings.Contains(warning, want) {
		t.Errorf("saved with the warning %q", warning)
	}
	wait.Until(t, func() string { // the device is admitted to the second template a moment later
		if _, _, text := call(t, s, http.MethodGet, "templates/1/evaluate", nil); !strings.Contains(text, want) {
			return "evaluated to " + text
		}
		return ""
	})
	state := s.WaitState(d.ID, "who wins", func(state api.DeviceState) bool {
		return state.Configuration == string(fleet.ConfigInSync) && strings.Contains(state.Reason, want)
	})
	if state.Next != "" {
		t.Errorf("that is no alarm: %s", state.Next)
	}
}
