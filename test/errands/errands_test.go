// Package errands_test runs ten errands of people who look after a fleet, by commands, on the demo. Each names the
// commands that a person types, so that their number is seen, and what the answer has to say.
//
//muster:needs daemons
package errands_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"muster/internal/edge/cli"
	"muster/test/server"
	"muster/test/wait"
)

func TestMain(m *testing.M) {
	server.Main()
	m.Run()
}

// errand is a question, the commands that answer it, and what they have to print: each line is a regular expression
// that some line of theirs matches.
type errand struct {
	question string
	commands [][]string
	wants    []string
}

func command(line string) []string { return strings.Fields(line) }

// errands are asked on a demo of 40 devices, of which each kind of trouble has at least one.
var errands = []errand{
	{"is anything wrong, and what is worst", [][]string{command("status")}, []string{
		`^UNREACHABLE: 1 device`, `^FOLDER STOPPED: 5 devices`, `: the daemon stopped the folder: `,
		`^FAILED ITEMS: 2 devices`, `^ALONE: 1 device`, `^OUT OF SYNC: 1 device`, `^LOCAL CHANGES: 1 device`}},
	{"which folders are stopped, and why", [][]string{
		command("device list --stopped"), command("folder get scans-0000-1"), command("folder get invoices-0001-1"),
	}, []string{`^5 of 40 devices`, `^cedar-server-001 .*stopped: .*folder path missing`,
		`^lagoon-backup-004 .*stopped: .*folder marker missing`, `^karst-edge-005 .*stopped: .*permission denied`,
		`Do NOT put an empty folder in its place`, `Let the daemon's user read and write the folder`}},
	{"who is behind in a folder, by how much, and until when", [][]string{command("folder get scans-0003-1 --behind")},
		[]string{`^birch-backup-010 .* syncing .*59\.\d GiB, [\d,]+ items .*[56789]\.\d MiB/s +[^- ]`}},
	{"which files fail on the NAS, and why", [][]string{command("folder failed notes-0002-1 --device lagoon-nas-007")},
		[]string{`^lagoon-nas-007 .*2023/item-04748\.dat .*insufficient space`}},
	{"why is this file not on the NAS", [][]string{command("file notes-0002-1 2023/item-04748.dat")},
		[]string{`^fjord-laptop-006 .* present`, `^lagoon-nas-007 .* missing .*insufficient space`}},
	{
		"who cannot be reached, and who was not seen for a week",
		[][]string{command("device list --state unreachable"), command("device list --stale 7d")},
		[]string{`^cedar-laptop-034 .* unreachable `,
			`^1 of 40 devices`, `^0 of 40 devices`},
	},
	{
		"which disk is nearly full",
		[][]string{command("device list --disk-below 10%"), command("device disks delta-desk-002")},
		[]string{`^1 of 40 devices`, `^folder .*scans-0000-1 .*3\.0 GiB .*nearly full`},
	},
	{
		"who is connected with whom",
		[][]string{command("folder who invoices-0005-1")},
		[]string{
			`^birch-server-015 .*alone .* - +(iris-backup-016 .*, ember-laptop-017|ember-laptop-017 .*, iris-backup-016) `,
			`^ember-laptop-017 .* up to date .*iris-backup-016 .*birch-server-015`,
		},
	},
	{"where are conflicts, how many, and which is the newest", [][]string{
		command("device list --waiting conflicts"), command("folder conflicts invoices-0008-1"),
	}, []string{`^1 of 40 devices`, `: 1 conflict file`, ` 2016/budget\.sync-conflict-\d{8}-\d{6}-[A-Z0-9]{7}\.ods +`}},
	{"what happened on this device last night", [][]string{
		command("events --since 12h --device cedar-server-001"), command("device log cedar-server-001"),
	}, []string{`folder .*cedar-server-001 .*the daemon stopped the folder: folder path missing`,
		`warning Error on folder scans-0000-1: folder path missing`}},
	{"which devices run an old version", [][]string{command("versions"), command("device list --version <2")},
		[]string{`^v1\.19\.2 +20 `, `^20 of 40 devices`}},
}

func TestErrandsAreRunByAFewCommands(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{Demo: 40, TroubleAfter: time.Second})
	typed := 0
	for _, one := range errands {
		typed += len(one.commands)
		t.Run(one.question, func(t *testing.T) {
			t.Parallel()
			wait.Until(t, func() string { return one.missing(t, s) })
			var lines []string
			for _, args := range one.commands {
				lines = append(lines, "muster "+strings.Join(args, " "))
			}
			t.Logf("%d commands: %s", len(one.commands), strings.Join(lines, "; "))
		})
	}
	t.Logf("%d errands, %d commands", len(errands), typed)
}

// missing runs the commands, and says what the answer lacks.
func (e errand) missing(t *testing.T, s *server.Server) string {
	t.Helper()
	var all bytes.Buffer
	for _, args := range e.commands {
		args = append(args, "--server", s.URL, "--muster-home", s.Home)
		code := cli.Run(t.Context(), args, cli.Streams{Out: &all, Err: &all, In: strings.NewReader("")}, "test")
		if code != 0 && code != 3 {
			return fmt.Sprintf("%q ended with %d:\n%s", args, code, &all)
		}
	}
	for _, want := range e.wants {
		if !regexp.MustCompile("(?m)" + want).Match(all.Bytes()) {
			return fmt.Sprintf("no line matches %q:\n%s", want, &all)
		}
	}
	return ""
}
