package spine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"muster/api"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

// Secrets that may go to a daemon arrive there, and stay: what its GUI makes of a password is no difference.
func TestSecretsReachARealDaemon(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	d, other := daemon.Start(t, daemon.Options{}), daemon.Start(t, daemon.Options{})
	d.AddPeer(other)
	enroll(t, s, d, "vault")
	for name, key := range map[string]string{"share": "folders.*.devices.*.encryptionPassword", "gui": "gui.password"} {
		put := api.PutSecret{Value: new("the " + name + "'s own"), Keys: []string{key}, Tags: []string{"vault"}}
		if _, _, err := s.Client.PutSecret(t.Context(), name, put); err != nil {
			t.Fatal(err)
		}
	}
	s.Template("merge", "folders.crypt",
		fmt.Sprintf(`{"path": "~/crypt", "devices": [{"deviceID": %q, "encryptionPassword": "${secret:share}"}]}`,
			other.ID), "vault")
	s.Template("set", "gui.password", `"${secret:gui}"`, "vault")
	wait.Until(t, func() string { // what is held waits for a person
		plan, err := s.Client.DevicePlan(t.Context(), string(d.ID))
		if err != nil {
			return err.Error()
		}
		var held []string
		for _, c := range plan.Changes {
			if c.Class == "held" {
				held = append(held, c.Key)
			}
		}
		state, err := s.Client.ApplyPlan(t.Context(), string(d.ID), api.ApplyPlan{Digest: &plan.Digest, Consent: held})
		if err == nil && state.Configuration == string(fleet.ConfigInSync) && len(state.Waiting) == 0 {
			return ""
		}
		return fmt.Sprintf("%+v, %v", state, err)
	})
	var config struct {
		GUI     struct{ Password string }
		Folders []struct {
			ID      string
			Devices []struct{ DeviceID, EncryptionPassword string }
		}
	}
	d.GetJSON("/rest/config", &config)
	if err := bcrypt.CompareHashAndPassword([]byte(config.GUI.Password), []byte("the gui's own")); err != nil {
		t.Errorf("the GUI's password: %v", err)
	}
	found := false
	for _, folder := range config.Folders {
		for _, share := range folder.Devices {
			found = found || folder.ID == "crypt" && share.DeviceID == string(other.ID) &&
				share.EncryptionPassword == "the share's own"
		}
	}
	if !found {
		t.Error("the share has another password")
	}
	shown, err := s.Client.DeviceConfig(t.Context(), string(d.ID))
	if text, _ := json.Marshal(shown); err != nil || strings.Contains(string(text), "the share's own") {
		t.Errorf("the secret is shown: %v", err)
	}
	if _, _, err := s.Client.PutSecret(t.Context(), "gui", api.PutSecret{Tags: []string{"another"}}); err != nil {
		t.Fatal(err)
	}
	s.WaitReason(d.ID, string(fleet.ConfigFailed), "gui", "another")
}
