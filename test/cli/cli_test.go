// Package cli runs the command line client against a server. The cases are scripts in testdata.
//
//muster:needs daemons
//muster:test -race=false
package cli

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"muster/api"
	"muster/internal/edge/cli"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/simulated"
)

var update = flag.Bool("update", false, "write what commands print into the scripts")

func TestMain(m *testing.M) {
	server.Main()
	testscript.Main(m, map[string]func(){"muster": func() {
		os.Exit(cli.Run(context.Background(), os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, "test"))
	}})
}

// The labels of the daemons that scripts find.
var labels = []string{"laptop", "office"}

func TestScripts(t *testing.T) { runScripts(t, "testdata", server.Options{}) }

// Files are planned against everything that there is: scripts about them have a server of their own.
func TestScriptsOfFiles(t *testing.T) { runScripts(t, "testdata/files", server.Options{}) }

// Vars change the same keys as other scripts.
func TestScriptsOfVars(t *testing.T) { runScripts(t, "testdata/vars", server.Options{}) }

// A plan that a person was shown is applied only while nothing else changes: no other script runs beside this one.
func TestScriptsOfEdits(t *testing.T) { runScripts(t, "testdata/edit", server.Options{}) }

// A template that waits for consent is shown by status, of all scripts of its server.
func TestScriptsOfRemovals(t *testing.T) { runScripts(t, "testdata/removal", server.Options{}) }

// A device that is revoked is taken off the others.
func TestScriptsOfRevocations(t *testing.T) { runScripts(t, "testdata/revocation", server.Options{}) }

// Muster is stopped for the whole fleet for a moment.
func TestScriptsOfEveryCommand(t *testing.T) { runScripts(t, "testdata/every", server.Options{}) }

// Daemons that restart are offline for a moment: scripts that order it have daemons of their own.
func TestScriptsOfOrders(t *testing.T) { runScripts(t, "testdata/orders", server.Options{}) }

// A rollout that is followed ends only where no other script changes its devices.
func TestScriptsOfRollouts(t *testing.T) {
	runScripts(t, "testdata/rollout", server.Options{ApprovalThreshold: "1", Soak: time.Millisecond})
}

// A repository changes real daemons. What is for both of them waits for approval.
func TestScriptsOfGit(t *testing.T) {
	t.Parallel()
	muster := server.Start(t, server.Options{Mode: fleet.ModeOn, ApprovalThreshold: "1", Soak: time.Millisecond})
	for _, label := range labels {
		d := daemon.Start(t, daemon.Options{})
		port := int64(d.Port)
		if _, _, err := muster.Client.PutDevice(t.Context(), string(d.ID),
			api.PutDevice{APIKey: &d.APIKey, APIAddress: &d.Address, APIPort: &port, Label: &label}); err != nil {
			t.Fatal(err)
		}
		muster.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
	}
	runWith(t, "testdata/git", muster, nil)
}

// runScripts runs the scripts of a folder against a server with the daemons.
func runScripts(t *testing.T, dir string, o server.Options) {
	t.Parallel()
	o.Mode = fleet.ModeOn
	muster := server.Start(t, o)
	farm := simulated.Start(t, stsim.Options{Count: len(labels), Folders: 1, Quiet: true, Network: 87, Seed: 7})
	ids := map[string]string{}
	for i, label := range labels {
		d := farm.Daemon(i)
		key, address, port := d.APIKey(), d.Host(), int64(d.Port())
		if _, _, err := muster.Client.PutDevice(t.Context(), string(d.ID()),
			api.PutDevice{APIKey: &key, APIAddress: &address, APIPort: &port, Label: &label}); err != nil {
			t.Fatal(err)
		}
		ids[label], ids[label+"_key"], ids[label+"_host"] = string(d.ID()), d.APIKey(), d.Host()
		ids[label+"_port"] = fmt.Sprint(d.Port())
		muster.WaitConfiguration(d.ID(), fleet.ConfigUnmanaged)
	}
	runWith(t, dir, muster, ids)
}

// inTurn runs scripts one after the other: what one changes between the plan and the answer of another is refused
// there.
type inTurn struct{ *testing.T }

func (inTurn) Parallel()     {}
func (inTurn) Verbose() bool { return testing.Verbose() }
func (t inTurn) Run(name string, f func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { f(inTurn{t}) })
}

// runWith runs the scripts of a folder against a server. The ID of each device is in a variable with its label, and
// how it is reached in LABEL_KEY, LABEL_HOST and LABEL_PORT.
func runWith(t *testing.T, dir string, muster *server.Server, ids map[string]string) {
	testscript.RunT(inTurn{t}, testscript.Params{Dir: dir, UpdateScripts: *update, Setup: func(env *testscript.Env) error {
		env.Setenv("MUSTER_SERVER", muster.URL)
		env.Setenv("MUSTER_TOKEN", muster.Token)
		env.Setenv("HOME", env.WorkDir)
		env.Setenv("BACKUPS", filepath.Join(muster.Home, "backups"))
		for label, id := range ids {
			env.Setenv(strings.ToUpper(label), id)
		}
		return nil
	}})
}
