package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"muster/api"
)

// secretServer keeps one secret.
func secretServer(t *testing.T, kept *api.Secret) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			_ = json.NewEncoder(w).Encode([]api.Secret{*kept})
			return
		}
		var put struct{ Keys, Tags []string }
		if err := json.NewDecoder(r.Body).Decode(&put); err != nil {
			t.Error(err)
		}
		if put.Keys != nil {
			kept.Keys = put.Keys
		}
		if put.Tags != nil {
			kept.Tags = put.Tags
		}
		_ = json.NewEncoder(w).Encode(kept)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestSecretAllowAddsToTheListsAndReplacesThemWhenAsked(t *testing.T) {
	kept := api.Secret{Name: "pw", Keys: []string{}, Tags: []string{}}
	url := secretServer(t, &kept)
	for _, step := range []struct{ flags, want string }{
		{"--key gui.password", "pw  gui.password on every device"},
		{"--tag vault --tag a,b", "pw  gui.password on devices tagged vault, a,b"},
		{"--key folders.*.devices.*.encryptionPassword",
			"pw  gui.password, folders.*.devices.*.encryptionPassword on devices tagged vault, a,b"},
		{"--replace --yes --tag vault", "pw  every secret field on devices tagged vault"},
		{"--replace -y", "pw  (only in templates that an admin saved)"},
	} {
		arguments := append([]string{"secret", "allow", "pw", "--token", "x", "--server", url},
			strings.Fields(step.flags)...)
		code, out, errs := run(t, arguments...)
		if code != 0 || strings.TrimSpace(out) != step.want {
			t.Errorf("%s: got %d, %q, %q; want %q", step.flags, code, out, errs, step.want)
		}
	}
	if code, _, errs := run(t, "secret", "allow", "pw", "--token", "x", "--server", url); code == 0 ||
		!strings.Contains(errs, "--key") {
		t.Errorf("got %d, %q without a list", code, errs)
	}
	if code, _, errs := run(t, "secret", "allow", "nope", "--key", "gui.password", "--token", "x", "--server",
		url); code == 0 || !strings.Contains(errs, "nope") {
		t.Errorf("got %d, %q for a secret that is not there", code, errs)
	}
	if code, out, errs := run(t, "secret", "list", "--token", "x", "--server", url); code != 0 ||
		!strings.Contains(out, "admin saved") {
		t.Errorf("got %d, %q, %q", code, out, errs)
	}
}

// A secret that a shared folder used was deleted with the words "No template names it."
func TestTheQuestionBeforeASecretGoesSaysWhichTemplatesUseIt(t *testing.T) {
	const constant = "SECRET = \"pw\"\n\ndef template():\n    return secret(SECRET)\n"
	const computed = "def template(device):\n    return secret(device.label)\n"
	answers := map[string]any{"secrets": []api.Secret{{Name: "pw"}}, "templates/1/tags": []string{"music"},
		"tags/music/devices": []api.Device{{DeviceID: idNAS}}}
	address, _ := serving(t, answers)
	for want, texts := range map[string][]string{
		`Forget the secret "pw"? 1 template names it, for 1 device: `: {constant},
		`Forget the secret "pw"? No template names it. The template "2" may need it: it computes the name.`: {"{a: 1}",
			computed},
		`Forget the secret "pw"? No template names it.`: {"{a: 1}"},
		`1 more may need it: they compute the name.`:    {computed, computed},
	} {
		templates := []api.Template{}
		for i, text := range texts {
			templates = append(templates, api.Template{ID: int64(i + 1), Template: text})
		}
		answers["templates"] = templates
		_, out, errs := run(t, "secret", "delete", "pw", "--server", address, "--token", "x")
		if !strings.Contains(out+errs, want) {
			t.Errorf("got %s%s, want %q in it", out, errs, want)
		}
	}
}
