package rollout_test

import (
	"fmt"
	"testing"

	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/wait"
)

// A member of a rollout was held because no template of an admin asked for the folder, and it stayed held after an
// admin had saved such a template. The hold has to end without an answer of a person.
func TestAHoldOfAMemberEndsOnceAnAdminAsksForTheFolder(t *testing.T) {
	t.Parallel()
	const plain = `{"label": "new", "path": "/srv/new"}`
	const changed = "# The reason of the hold asks for a change in the text.\n" + plain
	// The folder is there only with the option, which an author's template sets.
	const reads = `def template(config):
    return {"label": "new", "path": "/srv/new"} if config["options"]["maxSendKbps"] == 4000 else {}
`
	for name, c := range map[string]struct {
		hold   func(w *world, author *server.Server) int64 // returns the template that asks for the folder
		reason string
		save   func(w *world, id int64)
	}{
		"who saves the author's template": {
			func(_ *world, author *server.Server) int64 {
				return author.Template("merge", "folders.new", plain, "all")
			},
			"saves the template with a change in its text",
			func(w *world, id int64) { w.edit(id, "folders.new", changed) },
		},
		"who saves another template": {
			func(_ *world, author *server.Server) int64 {
				return author.Template("merge", "folders.new", plain, "all")
			},
			"was not last saved by an admin",
			func(w *world, _ int64) { w.template("folders.new", plain) },
		},
		"who saves a template that asks without the author's option": {
			func(w *world, author *server.Server) int64 {
				author.Template("set", "options.maxSendKbps", "4000", "all")
				w.comesTo(fleet.RolloutSucceeded)
				return w.template("folders.new", reads)
			},
			"no template of an admin asks for it by itself",
			func(w *world, id int64) { w.edit(id, "folders.new", plain) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 12, server.Options{})
			token, err := w.Client.CreateToken(t.Context(), "an author", string(fleet.RoleAuthor))
			if err != nil {
				t.Fatal(err)
			}
			author := *w.Server
			author.Client = w.As(token.Secret)
			id := c.hold(w, &author)
			held := w.heldMember(c.reason)
			c.save(w, id)
			w.comesTo(fleet.RolloutSucceeded)
			w.inSync(w.farm.Daemons()...)
			everyOne(t, w.farm.Daemons(), "with the folder", func(d *stsim.Daemon) bool { return folderPath(d) == "/srv/new" })
			w.groups(0)
			if given := w.given(); len(given) > 0 {
				t.Errorf("%s was held and went on after an answer: %+v", held, given)
			}
		})
	}
}

// heldMember waits until the first member of the newest rollout is held for a reason, and returns it.
func (w *world) heldMember(reason string) (device fleet.DeviceID) {
	w.t.Helper()
	wait.Until(w.t, func() string {
		r := w.newest()
		if len(r.Members) == 0 || r.Members[0].State != string(fleet.MemberHeld) {
			return fmt.Sprintf("want a rollout whose first member is held, got %+v", r)
		}
		device = fleet.DeviceID(r.Members[0].DeviceID)
		return ""
	})
	w.WaitReason(device, string(fleet.ConfigHeld), reason)
	return device
}
