package tunnel_test

import (
	"fmt"
	"testing"
	"time"

	"muster/internal/fleet"
	"muster/test/wait"
)

// frozenLimit is generous: a request other than the poll may wait for 15 s, and the poll alone for more than a minute.
const frozenLimit = 45 * time.Second

// A daemon that stands still behind an agent that runs is not online, and is online again as soon as it runs on.
func TestADaemonThatStandsStillBehindItsAgentIsNotOnline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.daemon.AddFolder("photos")
	w.Register(w.daemon.ID, w.daemon.APIKey, "", w.daemon.Port)
	w.startAgent(false)
	w.waitFoundBy(fleet.FoundByAgent)
	look := func() string {
		folders, err := w.Client.DeviceFolders(t.Context(), string(w.daemon.ID)) // A question for the folder is a look at it.
		if err != nil || len(folders) != 1 {
			return fmt.Sprintf("the folders are %+v, %v", folders, err)
		}
		return folders[0].State
	}
	wait.For(t, "the folder is known", func() bool { return look() == fleet.FolderUnshared.String() })
	w.daemon.Freeze()
	began := time.Now()
	wait.ForState(t, look, func() bool { return look() == fleet.FolderUnknown.String() })
	if took := time.Since(began); took > frozenLimit {
		t.Errorf("its folder was shown as if it were online for %v", took)
	}
	w.WaitConnection(w.daemon.ID, fleet.Unreachable)
	w.daemon.Thaw()
	w.waitFoundBy(fleet.FoundByAgent)
	wait.For(t, "the folder is known again", func() bool { return look() == fleet.FolderUnshared.String() })
}
