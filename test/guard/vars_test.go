package guard_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
)

// A template of an admin may put a folder anywhere. An author who set the vars that it reads chose the place, and
// reached what no template of an author reaches.
func TestAnAuthorReachedFurtherByVarsThanByATemplate(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	d := daemon.Start(t, daemon.Options{})
	s.Register(d.ID, d.APIKey, d.Address, d.Port, "office")
	author := as(t, s, fleet.RoleAuthor)
	outside := t.TempDir()
	vars := func(who *server.Server, names ...string) {
		values := map[string]json.RawMessage{}
		for _, name := range names {
			values[name] = json.RawMessage(fmt.Sprintf("%q", outside+"/"+name))
		}
		if _, err := who.Client.PutTagVars(t.Context(), "office", values); err != nil {
			t.Fatal(err)
		}
	}
	vars(s, "one")
	s.Template("merge", "folders", `def template(device):
    return [{"id": name, "path": device.vars[name]} for name in device.vars]`, "office")
	s.WaitConfiguration(d.ID, fleet.ConfigInSync)
	vars(author, "one", "two")
	s.WaitReason(d.ID, string(fleet.ConfigHeld), "folders.two")
	consented(t, author, d.ID, fleet.CodeForbidden)
	vars(s, "one", "two", "three")
	s.WaitConfiguration(d.ID, fleet.ConfigInSync)
}
