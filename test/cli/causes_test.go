package cli

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

// causesFleet makes simulated daemons wait for a person, for one cause after the other.
type causesFleet struct {
	*printedFleet
	muster  *server.Server
	agents  string
	farm    *stsim.Farm
	overTLS *stsim.Farm
	next    map[*stsim.Farm]int // the first daemon that no cause had
	made    int
	newest  int64 // rollout

	real  *daemon.Daemon // on the machine of the reader; nil unless the test started one
	hints []string       // of refused requests
	early string         // an enrol key
}

// subject is what a cause was made for: devices, a rollout, or a part of the server.
type subject struct {
	devices []fleet.DeviceID
	rollout int64
}

// causes make something wait that did not wait before, each time anew. What is said about a failure, another
// daemon at an address and a refused key names no command.
var causes = []struct {
	cause fleet.WaitCause
	make  func(f *causesFleet) subject
	least int // commands that are printed about it, those about the machine and those that only show something included
}{
	{fleet.WaitEnrollment, (*causesFleet).enrollment, 2},
	{fleet.WaitPendingDevice, (*causesFleet).pendingDevice, 2},
	{fleet.WaitPendingFolder, (*causesFleet).pendingFolder, 2},
	{fleet.WaitFailed, (*causesFleet).failed, 0},
	{fleet.WaitContended, (*causesFleet).contended, 1},
	{fleet.WaitUnstable, (*causesFleet).unstable, 1},
	{fleet.WaitPinMismatch, (*causesFleet).pinMismatch, 3},
	{fleet.WaitIdentityMismatch, (*causesFleet).identityMismatch, 0},
	{fleet.WaitKeyRefused, (*causesFleet).keyRefused, 0},
	{fleet.WaitHeld, (*causesFleet).held, 3},
	{fleet.WaitRolloutApproval, (*causesFleet).rolloutApproval, 3},
	{fleet.WaitRolloutPaused, (*causesFleet).rolloutPaused, 2},
	{fleet.WaitRolloutHalted, (*causesFleet).rolloutHalted, 2},
	{fleet.WaitStop, (*causesFleet).stop, 2},
	{fleet.WaitStale, (*causesFleet).stale, 1},
	{fleet.WaitImpairment, (*causesFleet).impairment, 1},
}

// aboutTheMachine are commands that are typed on the machine of a daemon or of the server.
var aboutTheMachine = map[string]string{
	"muster enroll": "the simulated daemons have no home here; the manual's test runs it",
}

// mostCommands is more than are printed about one cause.
const mostCommands = 12

// names are what differs from one device, digest or number to the next in a command.
var names = regexp.MustCompile(`\b[A-Z2-7]{7}(-[A-Z2-7]{7}){7}\b|\b[A-Z2-7]{7}\b|\b[0-9a-f]{12,}\b|\b\d+\b`)

// Each command that is printed about a cause is typed while it waits. What one command answers waits anew for the next.
func TestCommandsOfEachCauseRun(t *testing.T) {
	t.Parallel()
	f := newCausesFleet(t, 71, server.Options{ApprovalThreshold: "1", Soak: time.Hour})
	for _, c := range causes {
		ran, printed := map[string]bool{}, map[string]bool{}
		command := "the first"
		for range mostCommands {
			if command = f.nextCommand(c.cause, c.make(f), ran); command != "" {
				f.typed(f.filled(command), 0)
			}
			for _, one := range f.todo {
				printed[names.ReplaceAllString(one, "X")] = true
			}
			if command == "" {
				break
			}
		}
		if command != "" {
			t.Errorf("%s: there are more than %d commands about it: %v", c.cause, mostCommands, ran)
		}
		if len(printed) < c.least {
			t.Errorf("%s: only these commands are printed about it: %v", c.cause, printed)
		}
	}
}

// nextCommand waits until a subject waits for a person, and returns a command that is printed about it and that is not
// in ran in this form; "" for none.
func (f *causesFleet) nextCommand(cause fleet.WaitCause, about subject, ran map[string]bool) string {
	f.Helper()
	f.todo, f.known, f.devices = nil, map[string]string{}, nil
	for _, id := range about.devices {
		f.devices = append(f.devices, api.Device{DeviceID: string(id)})
	}
	wait.Until(f, func() string {
		waiting, err := f.Waiting(f.Context(), "")
		if err != nil {
			return err.Error()
		}
		for _, g := range waiting.Groups {
			if g.Cause != string(cause) || !about.is(g) {
				continue
			}
			g.Devices = slices.DeleteFunc(g.Devices, func(d api.WaitingDevice) bool { return !about.names(d.DeviceID) })
			f.readValue(string(cause), g)
		}
		if len(f.known) == 0 && !slices.ContainsFunc(waiting.Groups, func(g api.WaitingGroup) bool {
			return g.Cause == string(cause) && about.is(g)
		}) {
			return fmt.Sprintf("nothing waits because of %s for %v", cause, about)
		}
		return ""
	})
	for _, id := range about.devices {
		out, errs, code := f.execute("muster status " + id.Short())
		if registered := cause != fleet.WaitEnrollment; registered && code != 0 && code != 3 {
			f.Errorf("%s: muster status %s ends with %d:\n%s%s", cause, id.Short(), code, out, errs)
		}
		f.readText("muster status", out)
	}
	for _, command := range f.todo {
		_, isAway := aboutTheMachine[command]
		_, goes := beginningOf(command, goesOn)
		reads := strings.HasPrefix(command, "muster status") || strings.Contains(command, " list")
		if form := names.ReplaceAllString(command, "X"); !isAway && !goes && !reads && !ran[form] {
			ran[form] = true
			return command
		}
	}
	return ""
}

// readValue finds the commands in an answer.
func (f *causesFleet) readValue(where string, value any) {
	f.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		f.Fatal(err)
	}
	var read any
	if err := json.Unmarshal(text, &read); err != nil {
		f.Fatal(err)
	}
	f.readJSON(where, read)
}

func (s subject) is(g api.WaitingGroup) bool {
	if s.rollout != 0 && g.Cause != string(fleet.WaitHeld) {
		return g.Rollout == s.rollout
	}
	return len(s.devices) == 0 ||
		slices.ContainsFunc(g.Devices, func(d api.WaitingDevice) bool { return s.names(d.DeviceID) })
}

func (s subject) names(id string) bool { return slices.Contains(s.devices, fleet.DeviceID(id)) }

// newCausesFleet starts a server, and daemons that use a simulated network and the next one.
func newCausesFleet(t *testing.T, network int, o server.Options) *causesFleet {
	t.Helper()
	agents := fmt.Sprintf("127.0.0.1:%d", daemon.FreePort(t))
	o.AgentListen, o.BackupPassphrase = agents, "correct horse battery staple"
	muster := server.Start(t, o)
	f := &causesFleet{
		printedFleet: &printedFleet{
			reader: &reader{T: t, dir: t.TempDir()}, known: map[string]string{},
			backups: filepath.Join(muster.Home, "backups"), answered: map[string]bool{},
		},
		agents: agents, next: map[*stsim.Farm]int{},
		farm:    simulated.Start(t, stsim.Options{Count: 60, Folders: 1, Quiet: true, Network: network, Seed: 3}),
		overTLS: simulated.Start(t, stsim.Options{Count: 4, Quiet: true, Network: network + 1, Seed: 4, UseTLS: true}),
	}
	f.serves(muster)
	return f
}

// serves has the commands go to a server.
func (f *causesFleet) serves(muster *server.Server) {
	f.Helper()
	f.muster, f.Client, f.url, f.token = muster, muster.Client, muster.URL, muster.Token
	f.stdin = strings.Repeat("y\n", 3)
	home := filepath.Join(f.dir, ".local/share/muster")
	if err := os.MkdirAll(home, 0o700); err != nil {
		f.Fatal(err)
	}
	f.write(filepath.Join(home, "admin-token"), muster.Token+"\n")
}

// fresh is a daemon that no cause had before, registered with a tag of its own.
func (f *causesFleet) fresh(farm *stsim.Farm) (d *stsim.Daemon, tag string) {
	f.Helper()
	d = farm.Daemon(f.next[farm])
	f.next[farm]++
	f.register(d, d.Name())
	tag = f.name("tag")
	f.tag(d, tag)
	return d, tag
}

func (f *causesFleet) name(kind string) string {
	f.made++
	return fmt.Sprintf("%s-%d", kind, f.made)
}

func (f *causesFleet) tag(d *stsim.Daemon, tag string) {
	f.Helper()
	if _, err := f.TagDevice(f.Context(), string(d.ID()), tag); err != nil {
		f.Fatal(err)
	}
}

func (f *causesFleet) edit(d *stsim.Daemon, change func(stconfig.Value) stconfig.Value) {
	f.Helper()
	if err := d.Edit(change); err != nil {
		f.Fatal(err)
	}
}

// option has a person at the daemon set a number.
func (f *causesFleet) option(d *stsim.Daemon, name, number string) {
	f.Helper()
	value := must[stconfig.Value](f.reader)(stconfig.Parse([]byte(number)))
	f.edit(d, func(doc stconfig.Value) stconfig.Value {
		return doc.With("options", doc.Get("options").With(name, value))
	})
}

// untilOption waits until a daemon has a number and its device is in a state.
func (f *causesFleet) untilOption(d *stsim.Daemon, name, want string, configuration fleet.Configuration) {
	f.Helper()
	f.untilState(d.ID(), func(s api.DeviceState) bool {
		return string(d.Config().Get("options").Get(name).JSON()) == want && s.Configuration == string(configuration)
	})
}

func of(daemons ...*stsim.Daemon) (s subject) {
	for _, d := range daemons {
		s.devices = append(s.devices, d.ID())
	}
	return s
}

func (f *causesFleet) enrollment() subject {
	d := f.farm.Daemon(f.next[f.farm])
	f.next[f.farm]++
	simulated.RunAgents(f, d.RunAgent, f.agents)
	return of(d)
}

func (f *causesFleet) pendingDevice() subject {
	d, _ := f.fresh(f.farm)
	d.AddPendingDevice(fleet.DeviceIDOf([32]byte{byte(f.made), 1}), f.name("guest"), "192.0.2.7:22000")
	return of(d)
}

func (f *causesFleet) pendingFolder() subject {
	d, _ := f.fresh(f.farm)
	for other := range d.Config().Get("devices").Values() {
		if from := other.Get("deviceID").Str(); from != string(d.ID()) {
			d.AddPendingFolder(f.name("offered"), "Offered", fleet.DeviceID(from))
			return of(d)
		}
	}
	f.Fatal("the daemon knows nobody who could offer a folder")
	return subject{}
}

func (f *causesFleet) failed() subject {
	d, tag := f.fresh(f.farm)
	f.muster.Template("set", "options.maxSendKbps", "def template(device):\n    fail(\"no rate\")\n", tag)
	return of(d)
}

// contended has a person set back a key three times.
func (f *causesFleet) contended() subject {
	d, tag := f.fresh(f.farm)
	f.muster.Template("set", "options.maxSendKbps", "1000", tag)
	for range 3 {
		f.untilOption(d, "maxSendKbps", "1000", fleet.ConfigInSync)
		f.option(d, "maxSendKbps", "55")
	}
	return of(d)
}

// unstable has a template make another value of what the daemon has, and then the first one.
func (f *causesFleet) unstable() subject {
	d, tag := f.fresh(f.farm)
	f.option(d, "maxRecvKbps", "0")
	f.muster.Template("set", "options.maxSendKbps",
		"def template(config):\n    return 100 if config['options']['maxRecvKbps'] == 0 else 200\n", tag)
	f.untilOption(d, "maxSendKbps", "100", fleet.ConfigInSync)
	f.option(d, "maxRecvKbps", "1")
	f.untilOption(d, "maxSendKbps", "200", fleet.ConfigInSync)
	f.option(d, "maxRecvKbps", "0")
	return of(d)
}

func (f *causesFleet) pinMismatch() subject {
	d, _ := f.fresh(f.overTLS)
	if err := d.RemakeCertificate(); err != nil {
		f.Fatal(err)
	}
	return of(d)
}

func (f *causesFleet) identityMismatch() subject {
	d, _ := f.fresh(f.farm)
	d.SetFaults(stsim.Faults{MyID: fleet.DeviceIDOf([32]byte{9})})
	if err := simulated.Restart(d); err != nil {
		f.Fatal(err)
	}
	return of(d)
}

func (f *causesFleet) keyRefused() subject {
	d, _ := f.fresh(f.farm)
	f.edit(d, func(doc stconfig.Value) stconfig.Value {
		return doc.With("gui", doc.Get("gui").With("apiKey", stconfig.Text("another-key-0123456789")))
	})
	return of(d)
}

// rollout begins one over two devices, which waits for an approval.
func (f *causesFleet) rollout() subject {
	a, tag := f.fresh(f.farm)
	b, _ := f.fresh(f.farm)
	f.tag(b, tag)
	f.muster.Template("set", "options.reconnectionIntervalS", "77", tag)
	about := of(a, b)
	wait.Until(f, func() string {
		for _, r := range must[[]api.Rollout](f.reader)(f.Rollouts(f.Context(), client.List{})) {
			if r.ID > f.newest && strings.Contains(r.Reason, "approval") { // a rollout that undoes something needs none
				about.rollout, f.newest = r.ID, r.ID
				return ""
			}
		}
		return "no rollout waits for an approval"
	})
	return about
}

func (f *causesFleet) rolloutApproval() subject { return subject{rollout: f.rollout().rollout} }

func (f *causesFleet) running() subject {
	f.Helper()
	about := f.rollout()
	must[api.RolloutDetail](f.reader)(f.ApproveRollout(f.Context(), about.rollout))
	return about
}

func (f *causesFleet) held() subject {
	d, tag := f.fresh(f.farm)
	f.muster.Template("remove", "folders", fmt.Sprintf("[%q]", d.FolderIDs()[0]), tag)
	return of(d)
}

func (f *causesFleet) rolloutPaused() subject {
	about := f.running()
	must[api.RolloutDetail](f.reader)(f.PauseRollout(f.Context(), about.rollout))
	return subject{rollout: about.rollout}
}

func (f *causesFleet) rolloutHalted() subject {
	about := f.running()
	must[api.RolloutDetail](f.reader)(f.HaltRollout(f.Context(), about.rollout))
	return subject{rollout: about.rollout}
}

func (f *causesFleet) stop() subject {
	d, _ := f.fresh(f.farm)
	f.typed("muster stop --device "+d.ID().Short(), 0)
	return of(d)
}

// impairment takes away the place of the backups.
func (f *causesFleet) impairment() subject {
	o := server.Options{Home: f.muster.Home, AgentListen: f.agents, BackupPassphrase: "correct horse battery staple"}
	with := o
	with.BackupRoots = []string{f.TempDir()}
	f.muster.Stop()
	f.serves(server.Start(f, with))
	f.typed("muster setting set backupTo "+filepath.Join(with.BackupRoots[0], "muster"), 0)
	f.typed("muster setting set backupEvery 24h", 0)
	f.muster.Stop()
	f.serves(server.Start(f, o))
	return subject{}
}

// stale makes a device that was not seen for two days. The setting takes no time below one day.
func (f *causesFleet) stale() subject {
	d, _ := f.fresh(f.farm)
	d.Stop()
	f.muster.WaitConnection(d.ID(), fleet.Unreachable)
	f.typed("muster setting set staleAfter '*=1d'", 0)
	f.muster.Stop()
	db := must[*sql.DB](f.reader)(sql.Open("sqlite", "file:"+filepath.Join(f.muster.Home, "muster.db")))
	seen := time.Now().Add(-48 * time.Hour).UnixMilli()
	must[sql.Result](f.reader)(db.ExecContext(f.Context(), `UPDATE sightings SET last_seen_at = $1 WHERE device_id = $2`,
		seen, string(d.ID())))
	if err := db.Close(); err != nil {
		f.Fatal(err)
	}
	f.serves(server.Start(f, server.Options{Home: f.muster.Home, AgentListen: f.agents, TroubleAfter: time.Millisecond,
		BackupPassphrase: "correct horse battery staple"}))
	return of(d)
}
