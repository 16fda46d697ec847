package cli

import (
	"slices"
	"strings"
	"testing"
)

// changesNothing are the commands that change nothing of the fleet, by their beginnings: those that only read, and
// those about this machine or the caller's own session.
var changesNothing = []string{"admin", "agent", "audit changes", "audit export", "audit head", "audit list",
	"audit verify", "author-keys list", "channel list", "channel log", "channel test",
	"backup", "completion", "config", "consent list", "context", "device at-risk", "device check",
	"device config", "device disks", "device get", "device list", "device log", "doctor", "enroll-key list",
	"enrollment list", "events", "export", "file", "folder conflicts", "folder copies", "folder failed", "folder get",
	"folder history", "folder list", "folder one-sided", "folder watch", "folder who", "folder-roots list", "login",
	"logout", "order", "pending list", "plan", "ready", "restore", "revision diff", "revision list", "revision show",
	"device revocation",
	"revocation list", "route list", "silence list",
	"rollout list", "rollout show", "rollout watch", "seal show", "secret list",
	"sink list", "sink refusals", "sink test", "serve",
	"session list", "setting get", "setting list", "setting test", "sim", "source list", "status",
	"tag list", "template evaluate", "template form get", "template form list", "template form settings",
	"template get", "template list", "test", "token list", "user list", "version", "versions", "waiting", "whoami", "why"}

// Some commands that change the fleet had no --message, so that their audit entries had no reason.
func TestEveryCommandThatChangesTheFleetTakesATitle(t *testing.T) {
	for _, node := range shownIn(allNodes(t)) {
		for _, leaf := range leavesOf(node) {
			name := strings.TrimPrefix(leaf.FullPath(), "muster ")
			hasTitle := false
			for _, flag := range leaf.Flags {
				hasTitle = hasTitle || flag.Name == messageFlag
			}
			changes := !slices.ContainsFunc(changesNothing, func(one string) bool {
				return name == one || strings.HasPrefix(name, one+" ")
			})
			if changes != hasTitle {
				t.Errorf("%s: it changes the fleet: %t, it takes a title: %t", name, changes, hasTitle)
			}
		}
	}
}
