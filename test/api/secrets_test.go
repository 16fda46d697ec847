package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
	"muster/test/server"
	"muster/test/wait"
)

const hidden = "correct-horse-battery"

// keep stores the secret, for shares that are under a password.
func keep(t *testing.T, s *server.Server, put api.PutSecret) {
	t.Helper()
	if put.Value == nil && put.Keys == nil && put.Tags == nil {
		put.Value = new(hidden)
	}
	if _, _, err := s.Client.PutSecret(t.Context(), "backup-pw", put); err != nil {
		t.Fatal(err)
	}
}

// save saves a template as somebody, and tags it.
func save(t *testing.T, c *client.Client, op, key, text string, tags ...string) (int64, error) {
	t.Helper()
	made, err := c.CreateTemplate(t.Context(), api.PutTemplate{Label: new("sly"), Op: &op, Key: &key, Template: &text})
	if err != nil {
		return 0, err
	}
	for _, tag := range tags {
		if _, err := c.TagTemplate(t.Context(), made.ID, tag); err != nil {
			t.Fatal(err)
		}
	}
	return made.ID, nil
}

// shown is all that a viewer can read of the fleet, as text.
func shown(t *testing.T, viewer *client.Client, ids []fleet.DeviceID) string {
	t.Helper()
	var all strings.Builder
	note := func(v any, err error) {
		text, _ := json.Marshal(v)
		fmt.Fprintf(&all, "%s %v\n", text, err)
	}
	for _, id := range ids {
		note(viewer.DevicePlan(t.Context(), string(id)))
		note(viewer.DeviceState(t.Context(), string(id)))
		note(viewer.DeviceConfig(t.Context(), string(id)))
		revisions, err := viewer.Revisions(t.Context(), string(id), client.List{})
		note(revisions, err)
		for _, r := range revisions {
			note(viewer.Revision(t.Context(), string(id), r.Number))
		}
	}
	note(viewer.Folders(t.Context(), client.List{}))
	note(viewer.Templates(t.Context(), client.List{}))
	note(viewer.Overview(t.Context()))
	return all.String()
}

func TestAnAuthorReadsNoSecret(t *testing.T) {
	s, ids := quiet(t)
	author, viewer := as(t, s, fleet.RoleAuthor), as(t, s, fleet.RoleViewer)
	keep(t, s, api.PutSecret{})
	for key, text := range map[string]string{
		"folders.*.label":         `secret("backup-pw")`,
		"folders.price-list":      `{label: "${secret:backup-pw}"}`,
		"devices.*.name":          `"${secret:backup-pw}"`,
		"options.listenAddresses": `["${secret:backup-pw}"]`,
		"ldap.bindDN":             `"${secret:backup-pw}"`,
		"ignores.price-list":      `["${secret:backup-pw}"]`,
		"gui.user":                "def template(config):\n    return config.gui.apiKey",
	} {
		if _, err := save(t, author, "merge", key, text, "demo"); fleet.CodeOf(err) != fleet.CodeInvalid {
			t.Errorf("%s: saved, or refused with %v", key, err)
		}
		body := api.WhatIf{Templates: &api.WhatIfTemplates{New: []api.WhatIfNew{{Op: new("merge"), Key: &key,
			Template: &text, Tags: []string{"demo"}}}}}
		if _, err := author.WhatIf(t.Context(), body); fleet.CodeOf(err) != fleet.CodeInvalid {
			t.Errorf("%s: tried, or refused with %v", key, err)
		}
	}
	// What only shows on a device is the plan's business.
	sly := "def template(device):\n    return secret(\"backup-pw\") if device.label != \"Sample\" else \"fine\""
	made, err := author.EvaluateNewTemplate(t.Context(), api.EvaluateTemplate{Op: new("set"), Key: new("folders.*.label"),
		Template: &sly}, "")
	if err != nil || strings.Contains(string(made.Value)+fmt.Sprint(made.Changes, made.Warnings), hidden) ||
		!strings.Contains(strings.Join(made.Warnings, " "), "backup-pw") {
		t.Errorf("evaluated: %+v, %v", made, err)
	}
	id, err := save(t, author, "set", "folders.*.label", sly, "demo")
	if err != nil {
		t.Fatal(err)
	}
	for _, device := range ids {
		state := s.WaitReason(device, string(fleet.ConfigFailed), fmt.Sprintf("template %d", id), "backup-pw")
		if state.Next == "" {
			t.Errorf("the state says %+v", state)
		}
	}
	if text := shown(t, viewer, ids); strings.Contains(text, hidden) {
		t.Error("a viewer reads the secret")
	}
}

func TestASecretReachesTheDaemonAndNobodyElse(t *testing.T) {
	s, ids := quiet(t)
	author, viewer := as(t, s, fleet.RoleAuthor), as(t, s, fleet.RoleViewer)
	keep(t, s, api.PutSecret{})
	keep(t, s, api.PutSecret{Keys: []string{"folders.*.devices.*.encryptionPassword"}})
	if _, err := s.Client.TagDevice(t.Context(), string(ids[0]), "vault"); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`{"devices": [{"deviceID": %q, "encryptionPassword": "${secret:backup-pw}"}]}`, ids[1])
	id, err := save(t, author, "merge", "folders."+shared, text, "vault")
	if err != nil {
		t.Fatal(err)
	}
	held := "folders." + shared + ".devices." + string(ids[1]) + ".encryptionPassword"
	s.WaitConfiguration(ids[0], fleet.ConfigHeld)
	plan, err := s.Client.DevicePlan(t.Context(), string(ids[0]))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Client.ApplyPlan(t.Context(), string(ids[0]),
		api.ApplyPlan{Digest: &plan.Digest, Consent: []string{held}}); err != nil {
		t.Fatal(err)
	}
	s.WaitConfiguration(ids[0], fleet.ConfigInSync)
	wait.Until(t, func() string { // what was read back is kept a moment later
		config, err := s.Client.DeviceConfig(t.Context(), string(ids[0]))
		if err == nil && strings.Contains(string(config), `"encryptionPassword":"[secret]"`) {
			return ""
		}
		return fmt.Sprintf("the secret did not reach the daemon: %v", err)
	})
	keep(t, s, api.PutSecret{Tags: []string{"another"}})
	s.WaitReason(ids[0], string(fleet.ConfigFailed), fmt.Sprintf("template %d", id), "backup-pw", "another")
	keep(t, s, api.PutSecret{Tags: []string{"another", "vault"}})
	s.WaitConfiguration(ids[0], fleet.ConfigInSync)
	if err := s.Client.DeleteSecret(t.Context(), "backup-pw"); err != nil {
		t.Fatal(err)
	}
	s.WaitReason(ids[0], string(fleet.ConfigFailed), "backup-pw")
	if text := shown(t, viewer, ids); strings.Contains(text, hidden) {
		t.Error("a viewer reads the secret")
	}
}

// Without lists a secret is for what an admin saved: whoever saves a template again makes it theirs.
func TestASecretWithoutListsIsForTemplatesOfAdmins(t *testing.T) {
	s, ids := quiet(t)
	author := as(t, s, fleet.RoleAuthor)
	keep(t, s, api.PutSecret{})
	if _, err := s.Client.TagDevice(t.Context(), string(ids[0]), "vault"); err != nil {
		t.Fatal(err)
	}
	op, key := "merge", "folders.crypt"
	text := fmt.Sprintf(`{"path": "~/crypt", "devices": [{"deviceID": %q, "encryptionPassword": "${secret:backup-pw}"}]}`,
		ids[1])
	id, err := save(t, author, op, key, text, "vault")
	if err != nil {
		t.Fatal(err)
	}
	state := s.WaitReason(ids[0], string(fleet.ConfigFailed), fmt.Sprintf("template %d", id), "backup-pw", "admin")
	if !strings.Contains(state.Next,
		"muster secret allow 'backup-pw' --key 'folders.crypt.devices.*.encryptionPassword'") {
		t.Errorf("what to type is not in %q", state.Next)
	}
	text += "\n" // an admin saves it as their own
	if _, err := s.Client.PutTemplate(t.Context(), id, api.PutTemplate{Op: &op, Key: &key, Template: &text}); err != nil {
		t.Fatal(err)
	}
	s.WaitConfiguration(ids[0], fleet.ConfigInSync)
}
