package cli

import (
	"crypto"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"muster/api"
	"muster/client"
	"muster/internal/adapter/agent"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

// refusal is a request that the server refuses with a hint that names commands.
type refusal struct {
	what   string
	refuse func(f *causesFleet) string // makes the request and returns the hint
	words  []string                    // words in capital letters, and what is typed in the place of each
	types  map[string]string           // what a reader types at a terminal and a test gives by flags, by the beginning
	codes  map[string]int              // exit codes other than 0, by the beginning of the command
}

// refusals are in the order in which they are made: some end what others need.
var refusals = slices.Concat(refusalsOfPeople, refusalsOfSettings, refusalsOfDevices, refusalsOfEnrolment,
	refusalsOfTemplates, refusalsOfFiles, refusalsOfMany)

// notRun are commands that a refusal names and that cannot be typed here.
var notRun = map[string]string{
	"muster agent run": "it runs until it is stopped; the test of the manual runs it",
}

// undoneBy are the commands that take back what others do to the requests that come later.
var undoneBy = map[string]string{"muster login --": "muster logout", "muster stop": "muster resume"}

// A refused request says what can be done with a command that is typed as it stands there: no word is left to be filled
// in that its reader does not know, and no use is wrong. A device's certificate was to be pinned with `muster device
// trust`, which names no device.
func TestCommandsOfRefusalsRun(t *testing.T) {
	t.Parallel()
	f := newCausesFleet(t, 73, server.Options{ApprovalThreshold: "1", Soak: time.Hour})
	f.real = daemon.Start(t, daemon.Options{})
	if err := errors.Join(os.MkdirAll(filepath.Join(f.dir, ".local/state"), 0o700),
		os.Symlink(f.real.Home, filepath.Join(f.dir, ".local/state/syncthing"))); err != nil {
		t.Fatal(err)
	}
	f.write("password", passphrase)
	f.write("a.hjson", "# op: set, key: options.natEnabled\ntrue\n")
	f.user("anna", fleet.RoleAdmin)
	f.makes(refusals)
	f.muster.Stop()
	f.serves(server.Start(t, server.Options{Home: f.muster.Home, ApprovalThreshold: "1", FourEyes: true,
		BackupPassphrase: "correct horse battery staple"}))
	f.makes(refusalsOfFourEyes)
	f.eachHintWasGiven()
}

// makes makes the requests of refusals, and types the commands that each of them names.
func (f *causesFleet) makes(all []refusal) {
	f.Helper()
	for _, r := range all {
		hint := r.refuse(f)
		found := quotedCommand.FindAllStringSubmatch(hint, -1)
		if len(found) == 0 {
			f.Errorf("%s: the hint names no command: %s", r.what, hint)
		}
		for _, command := range found {
			f.typesOf(r, command[1])
		}
	}
}

func (f *causesFleet) typesOf(r refusal, command string) {
	f.Helper()
	if _, is := beginningOf(command, notRun); is {
		return
	}
	begins, _ := beginningOf(command, r.types)
	typed := strings.NewReplacer(r.words...).Replace(command) + r.types[begins]
	if left := unfilled.FindString(typed); left != "" {
		f.Errorf("%s: %s: the test has no value for %s", r.what, command, left)
	}
	f.stdin = strings.Repeat("y\n", 3)
	begins, _ = beginningOf(command, r.codes)
	out, errs, got := f.execute("EDITOR=true; export EDITOR; " + typed)
	if got != r.codes[begins] {
		f.Errorf("%s: %s ends with %d, not %d:\n%s%s", r.what, typed, got, r.codes[begins], out, errs)
	}
	if begins, is := beginningOf(typed, undoneBy); is {
		f.typed(undoneBy[begins], 0)
	}
}

// refused returns the hint of an error, and fails the test if there is no refusal.
func (f *causesFleet) refused(err error) string {
	f.Helper()
	var fault *fleet.Error
	var answer *client.Error
	if !errors.As(err, &fault) || !errors.As(err, &answer) || answer.Status < 400 {
		f.Fatalf("the request is not refused: %v", err)
	}
	f.hints = append(f.hints, fault.Hint)
	return fault.Hint
}

// says returns what a command prints that is refused with an exit code.
func (f *causesFleet) says(command string, code int) string {
	f.Helper()
	out, errs, got := f.execute(command)
	if got != code {
		f.Errorf("%s ends with %d, not %d:\n%s%s", command, got, code, out, errs)
	}
	f.hints = append(f.hints, errs)
	return errs
}

func (f *causesFleet) user(name string, role fleet.Role) {
	f.Helper()
	text, password := string(role), strings.TrimSpace(passphrase)
	must[api.User](f.reader)(f.CreateUser(f.Context(), api.CreateUser{Name: &name, Role: &text, Password: &password}))
}

// loggedIn is a session of a user.
func (f *causesFleet) loggedIn(name string) *client.Client {
	f.Helper()
	session, _, err := f.Login(f.Context(), name, strings.TrimSpace(passphrase), "")
	if err != nil {
		f.Fatal(err)
	}
	return f.muster.As(session.Token)
}

func (f *causesFleet) tokenOf(role fleet.Role, expiresInS int64) (name string, c *client.Client) {
	f.Helper()
	name = f.name("token")
	text, body := string(role), api.CreateToken{Name: &name}
	if body.Role = &text; expiresInS > 0 {
		body.ExpiresInS = &expiresInS
	}
	return name, f.muster.As(must[api.NewToken](f.reader)(f.CreateTokenWith(f.Context(), body)).Secret)
}

var byPasswordFile = map[string]string{
	"muster login": " --user anna --password-file password", "muster user password": " --password-file password",
	"muster user create": " --password-file password", "muster login-link": "",
}

var refusalsOfPeople = []refusal{
	{what: "a role lacks a permission", types: byPasswordFile, refuse: func(f *causesFleet) string {
		_, viewer := f.tokenOf(fleet.RoleViewer, 0)
		return f.refused(viewer.DeleteTemplate(f.Context(), 1))
	}},
	{what: "a wrong password", words: []string{"NAME", "anna"}, refuse: func(f *causesFleet) string {
		_, _, err := f.Login(f.Context(), "anna", "not the password", "")
		return f.refused(err)
	}},
	{what: "a user who is disabled", refuse: func(f *causesFleet) string {
		f.user("bert", fleet.RoleViewer)
		must[api.User](f.reader)(f.DisableUser(f.Context(), "bert"))
		_, _, err := f.Login(f.Context(), "bert", strings.TrimSpace(passphrase), "")
		return f.refused(err)
	}},
	{what: "the last administrator", types: byPasswordFile, words: []string{"NAME", "carla"},
		refuse: func(f *causesFleet) string { return f.refused(f.DeleteUser(f.Context(), "anna")) }},
	{what: "a token logs out", words: []string{"NAME", "token-to-delete"}, refuse: func(f *causesFleet) string {
		f.typed("muster token create --role viewer --name token-to-delete", 0)
		return f.refused(f.Logout(f.Context()))
	}},
	{what: "a token changes its password", types: byPasswordFile, words: []string{"NAME", "bert"},
		refuse: func(f *causesFleet) string {
			_, err := f.ChangePassword(f.Context(), "one", "another password")
			return f.refused(err)
		}},
	{what: "a wrong current password", refuse: func(f *causesFleet) string {
		_, err := f.loggedIn("anna").ChangePassword(f.Context(), "not the password", "another password")
		return f.refused(err)
	}},
	{what: "a token has expired", refuse: func(f *causesFleet) (hint string) {
		name, expiring := f.tokenOf(fleet.RoleAdmin, 1)
		wait.Until(f, func() string {
			err := expiring.DeleteToken(f.Context(), "no-token")
			if fleet.CodeOf(err) != fleet.CodeUnauthorized {
				return fmt.Sprintf("got %v", err)
			}
			hint = strings.ReplaceAll(f.refused(err), "NAME", name)
			return ""
		})
		return hint
	}},
}

var refusalsOfSettings = []refusal{
	{what: "a setting that there is not", refuse: func(f *causesFleet) string {
		_, err := f.PutSetting(f.Context(), "nonsense", "1")
		return f.refused(err)
	}},
	{what: "backups without a folder", refuse: func(f *causesFleet) string {
		_, err := f.PutSetting(f.Context(), string(fleet.SettingBackupEvery), "24h")
		return strings.ReplaceAll(f.refused(err), "DIR", f.backups)
	}},
	{what: "a policy of copies for a folder that no device has", refuse: func(f *causesFleet) string {
		_, err := f.PutSetting(f.Context(), string(fleet.SettingCopyPolicies), "nowhere=2")
		return f.refused(err)
	}},
	{what: "another mail server beside a stored password", words: []string{"FILE", "password"},
		refuse: func(f *causesFleet) string {
			f.typed("muster setting set smtpPassword --file password", 0)
			_, err := f.PutSetting(f.Context(), string(fleet.SettingSMTPServer), "mail.example.org:587")
			return f.refused(err)
		}},
	{what: "a route to a channel that there is not", refuse: func(f *causesFleet) string {
		_, err := f.PutRoute(f.Context(), "urgent", api.PutRoute{Channels: &[]string{"nowhere"}})
		return f.refused(err)
	}},
	{what: "the channel of flags and settings", words: []string{"FILE", "hooks"}, refuse: func(f *causesFleet) string {
		f.write("hooks", "https://hooks.example.org/muster\n")
		_, err := f.PutChannel(f.Context(), fleet.DefaultChannel, api.PutChannel{Type: new("webhook"),
			URL: new("https://hooks.example.org/x")})
		return f.refused(err)
	}},
	{what: "a sink that is not reached", refuse: func(f *causesFleet) string {
		f.typed("muster sink set siem --kind http --address https://127.0.0.1:1", 0)
		return f.refused(f.TestSink(f.Context(), "siem"))
	}},
	{what: "an enrol key while the setting enrollByKey is off", refuse: func(f *causesFleet) string {
		f.typed("muster setting set enrollByKey false", 0)
		_, err := f.CreateEnrollKey(f.Context(), api.CreateEnrollKey{})
		f.typed("muster setting reset enrollByKey", 0)
		return f.refused(err)
	}},
	{what: "a head of the audit that no server signed", refuse: func(f *causesFleet) string {
		_, err := f.VerifyAudit(f.Context(), []string{"nonsense"})
		return f.refused(err)
	}},
	{what: "a loss that there is not", refuse: func(f *causesFleet) string {
		code := must[[]byte](f.reader)(os.ReadFile(filepath.Join(f.muster.Home, "accept-code")))
		_, err := f.AcceptLoss(f.Context(), api.AcceptLoss{Entry: 1, Code: string(code)})
		return f.refused(err)
	}},
}

var refusalsOfDevices = []refusal{
	{what: "a device that is not revoked", refuse: func(f *causesFleet) string {
		d, _ := f.fresh(f.farm)
		return f.refused(f.DeleteRevocation(f.Context(), string(d.ID())))
	}},
	{what: "a key that there is not", refuse: func(f *causesFleet) string {
		d, _ := f.fresh(f.farm)
		_, err := f.DeviceWhy(f.Context(), string(d.ID()), "options.nonsense")
		return strings.ReplaceAll(f.refused(err), "DEVICE", d.ID().Short())
	}},
	{what: "an order for a daemon that is away", codes: map[string]int{"muster status": 3},
		refuse: func(f *causesFleet) string {
			d, _ := f.fresh(f.farm)
			d.Stop()
			f.muster.WaitConnection(d.ID(), fleet.Unreachable)
			_, err := f.OrderToDevice(f.Context(), string(d.ID()), client.OrderSpec{Type: client.OrderRescan})
			return f.refused(err)
		}},
	{what: "a pause that a template takes back", refuse: func(f *causesFleet) string {
		d, tag := f.fresh(f.farm)
		f.muster.Template("set", "folders."+d.FolderIDs()[0]+".paused", "false", tag)
		f.muster.WaitConfiguration(d.ID(), fleet.ConfigInSync)
		return f.says("muster folder pause "+d.FolderIDs()[0]+" --device "+d.ID().Short()+" --yes", 1)
	}},
	{what: "a stored key to another certificate", refuse: func(f *causesFleet) string {
		d, _ := f.fresh(f.overTLS)
		address, port, pin := d.Host(), int64(d.Port()), "sha256:"+strings.Repeat("0", 64)
		_, err := f.TestDevice(f.Context(), string(d.ID()), api.TestDevice{APIAddress: &address, APIPort: &port, Pin: &pin})
		return f.refused(err)
	}},
}

var refusalsOfTemplates = []refusal{
	{what: "nothing waits any more", refuse: func(f *causesFleet) string {
		return f.says("muster consent 3fd520971084 --yes", 3)
	}},
	{what: "another change than the one that was shown", refuse: func(f *causesFleet) string {
		device := string(f.held().devices[0])
		answer, other := string(fleet.AnswerConsent), strings.Repeat("0", 64)
		var err error
		wait.Until(f, func() string {
			for _, g := range must[[]api.HeldGroup](f.reader)(f.Consents(f.Context())) {
				if g.Changes[0].DeviceID == device {
					_, err = f.AnswerConsents(f.Context(), api.AnswerConsents{Digest: &g.Digest, Answer: &answer,
						Shown: []api.ShownChange{{DeviceID: device, Digest: other}}})
					return ""
				}
			}
			return "nothing waits"
		})
		return f.refused(err)
	}},
	{what: "to keep what a template changes", words: []string{"FILE", "a.hjson"}, refuse: func(f *causesFleet) string {
		d, tag := f.fresh(f.farm)
		f.muster.Template("set", "gui.user", `"guest"`, tag)
		f.muster.WaitConfiguration(d.ID(), fleet.ConfigHeld)
		plan := must[api.Plan](f.reader)(f.DevicePlan(f.Context(), string(d.ID())))
		_, err := f.ApplyPlan(f.Context(), string(d.ID()), api.ApplyPlan{Digest: &plan.Digest, Keep: []string{"gui.user"}})
		return f.refused(err)
	}},
}

// files writes a directory of files.
func (f *causesFleet) files(dir string, content map[string]string) {
	f.Helper()
	for name, text := range content {
		path := filepath.Join(f.dir, dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			f.Fatal(err)
		}
		f.write(path, text)
	}
}

// labelled is the template with a label.
func (f *causesFleet) labelled(label string) int64 {
	f.Helper()
	all := must[[]api.Template](f.reader)(f.Templates(f.Context(), client.List{Search: label}))
	if len(all) != 1 {
		f.Fatalf("%d templates are called %s", len(all), label)
	}
	return all[0].ID
}

func (f *causesFleet) edits(id int64, key, text string) error {
	op := "set"
	_, err := f.PutTemplate(f.Context(), id, api.PutTemplate{Label: &op, Op: &op, Key: &key, Template: &text})
	return err
}

// enrolKey is a new enrol key for one device.
func (f *causesFleet) enrolKey() string {
	f.Helper()
	return strings.TrimSpace(f.typed("muster enroll-key create", 0))
}

// accepts puts a device that waits into the place of the word for it.
func (f *causesFleet) accepts(hint string) string {
	f.Helper()
	id := string(f.enrollment().devices[0])
	f.untilAsks(id)
	return strings.ReplaceAll(hint, "DEVICE", id)
}

// claims registers the real device with an enrol key. Without a challenge it takes one of the server.
func (f *causesFleet) claims(key, challenge string, sign bool) error {
	f.Helper()
	if challenge == "" {
		challenge = must[api.Challenge](f.reader)(f.EnrollChallenge(f.Context())).Challenge
	}
	pair := must[tls.Certificate](f.reader)(tls.LoadX509KeyPair(filepath.Join(f.real.Home, "cert.pem"),
		filepath.Join(f.real.Home, "key.pem")))
	claim := fleet.DeviceClaim{Challenge: challenge, APIKey: fleet.NewSecret(f.real.APIKey), APIPort: f.real.Port}
	proof := must[fleet.DeviceProof](f.reader)(fleet.SignStatement(pair.Certificate[0],
		pair.PrivateKey.(crypto.Signer), claim.Statement(fleet.ClaimEnroll)))
	if !sign {
		proof.Signature = []byte("made up")
	}
	certificate := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: proof.Certificate}))
	signature, port := base64.StdEncoding.EncodeToString(proof.Signature), int64(f.real.Port)
	_, err := f.muster.As(key).Enroll(f.Context(), api.DeviceClaim{Challenge: &challenge, Certificate: &certificate,
		Signature: &signature, APIKey: &f.real.APIKey, APIPort: &port})
	return err
}

func (f *causesFleet) deletesReal() {
	f.Helper()
	if err := f.DeleteDevice(f.Context(), string(f.real.ID)); err != nil {
		f.Fatal(err)
	}
}

// rejectsReal has an administrator reject the real device, whose agent asks.
func (f *causesFleet) rejectsReal() {
	f.Helper()
	block, _ := pem.Decode(must[[]byte](f.reader)(os.ReadFile(filepath.Join(f.muster.Home, "tls.pem"))))
	stop := server.StartAgent(f, agent.Options{Server: "https://" + f.agents, Home: f.real.Home,
		Fingerprints: []string{fmt.Sprintf("sha256:%x", sha256.Sum256(block.Bytes))}})
	f.untilAsks(string(f.real.ID))
	if err := f.RejectEnrollment(f.Context(), string(f.real.ID)); err != nil {
		f.Fatal(err)
	}
	stop()
}

func (f *causesFleet) untilAsks(id string) {
	f.Helper()
	wait.Until(f, func() string {
		all, err := f.Enrollments(f.Context(), client.List{})
		if !slices.ContainsFunc(all, func(e api.Enrollment) bool { return e.DeviceID == id }) {
			return fmt.Sprintf("%s does not ask to be accepted: %v", id, err)
		}
		return ""
	})
}

// refusalsOfEnrolment are in the order of what becomes of the real device.
var refusalsOfEnrolment = []refusal{
	{what: "an enrol key that is not known", refuse: func(f *causesFleet) string {
		f.early = f.enrolKey()
		return f.refused(f.claims(f.early[:20]+"nonsense", "", true))
	}},
	{what: "an enrol key does something else", types: byPasswordFile, refuse: func(f *causesFleet) string {
		return f.refused(f.muster.As(f.enrolKey()).DeleteToken(f.Context(), "no-token"))
	}},
	{what: "a challenge of another server", refuse: func(f *causesFleet) string {
		return f.refused(f.claims(f.enrolKey(), "nonsense", true))
	}},
	{
		what:   "a wrong signature",
		refuse: func(f *causesFleet) string { return f.refused(f.claims(f.enrolKey(), "", false)) },
	},
	{what: "a device that is registered", refuse: func(f *causesFleet) string {
		return f.refused(f.claims(f.early, "", true))
	}},
	{what: "a device that was deleted after the key was made", refuse: func(f *causesFleet) string {
		f.deletesReal()
		return f.accepts(f.refused(f.claims(f.early, "", true)))
	}},
	{what: "a device that is not registered", refuse: func(f *causesFleet) string {
		hint := f.says("muster enroll --renew", 3)
		f.early = f.enrolKey()
		return strings.ReplaceAll(hint, "KEY", f.early)
	}},
	{what: "an enrol key that is used up", refuse: func(f *causesFleet) string {
		return f.refused(f.claims(f.early, "", true))
	}},
	{what: "no device registers itself", refuse: func(f *causesFleet) string {
		key := f.enrolKey()
		f.typed("muster setting set enrollByKey false", 0)
		hint := f.refused(f.claims(key, "", true))
		f.typed("muster setting reset enrollByKey", 0)
		return f.accepts(hint)
	}},
	{what: "a device that was rejected", refuse: func(f *causesFleet) string {
		f.deletesReal()
		f.rejectsReal()
		return f.accepts(f.refused(f.claims(f.enrolKey(), "", true)))
	}},
}

var refusalsOfFiles = []refusal{
	{what: "a template of a source that is read-only elsewhere", words: []string{"DIR", "kept"},
		refuse: func(f *causesFleet) string {
			f.files("kept", map[string]string{"fleet.hjson": `{source: "kept", readOnly: true}`,
				"templates/kept.hjson": "# key: options.natEnabled\ntrue\n"})
			f.typed("muster apply -f kept --yes", 0)
			return f.refused(f.edits(f.labelled("kept"), "options.natEnabled", "false"))
		}},
	{what: "a change that breaks what is asserted", words: []string{"DIR", "asserted", "SOURCE", "asserted"},
		refuse: func(f *causesFleet) string {
			_, tag := f.fresh(f.farm)
			f.files("asserted", map[string]string{"fleet.hjson": `{source: "asserted", keepTests: true}`,
				"templates/asserted.hjson": "# key: options.maxSendKbps, tags: " + tag + "\n500\n",
				"tests/a.hjson":            `{name: "a limit", tag: "` + tag + `", expect: {"options.maxSendKbps": 500}}`})
			f.typed("muster apply -f asserted --yes", 0)
			return f.refused(f.edits(f.labelled("asserted"), "options.maxSendKbps", "600"))
		}},
	{what: "many templates without a file", words: []string{"DIR", "many"}, refuse: func(f *causesFleet) string {
		f.files("many", map[string]string{"fleet.hjson": `{source: "many"}`,
			"templates/one.hjson": "# key: options.natEnabled\ntrue\n",
			"templates/two.hjson": "# key: options.relaysEnabled\ntrue\n"})
		f.typed("muster apply -f many --yes", 0)
		if err := os.Remove(filepath.Join(f.dir, "many/templates/two.hjson")); err != nil {
			f.Fatal(err)
		}
		key, op, text := "options.natEnabled", "set", "true\n"
		body := api.PlanFleet{Source: "many", Prune: true,
			Templates: map[string]api.PlanFleetTemplate{"one": {Key: &key, Op: &op, Template: &text}}}
		planned := must[api.FleetPlan](f.reader)(f.PlanFleet(f.Context(), body))
		_, err := f.ApplyFleet(f.Context(), api.ApplyFleet{PlanFleet: body, Digest: &planned.Digest})
		return f.refused(err)
	}},
	{what: "a template of another source", refuse: func(f *causesFleet) string {
		return f.says("muster apply -f many --source others --yes", 3)
	}},
	{what: "files that cannot be read", refuse: func(f *causesFleet) string {
		f.files("broken", map[string]string{"fleet.hjson": "{"})
		return f.says("muster apply -f broken", 2)
	}},
	{what: "a device of the files that is not registered", refuse: func(f *causesFleet) string {
		id := string(fleet.DeviceIDOf([32]byte{77}))
		_, err := f.PlanFleet(f.Context(), api.PlanFleet{Source: "many", Devices: map[string]api.PlanFleetDevice{id: {}}})
		return f.refused(err)
	}},
}

// refusalsOfMany need many requests.
var refusalsOfMany = []refusal{
	{what: "a pause of a rollout that takes another back", refuse: func(f *causesFleet) string {
		about := f.running()
		var devices []*stsim.Daemon
		for _, d := range f.farm.Daemons() {
			if slices.Contains(about.devices, d.ID()) {
				devices = append(devices, d)
			}
		}
		wait.For(f, "a device of the rollout has the value", func() bool {
			return slices.ContainsFunc(devices, func(d *stsim.Daemon) bool {
				return string(d.Config().Get("options").Get("reconnectionIntervalS").JSON()) == "77"
			})
		})
		for _, d := range devices { // What is taken back stays under way.
			d.SetFaults(stsim.Faults{WriteStatus: http.StatusServiceUnavailable})
		}
		must[api.UndoneRollout](f.reader)(f.UndoRollout(f.Context(), about.rollout, nil))
		all := must[[]api.Rollout](f.reader)(f.Rollouts(f.Context(), client.List{}))
		i := slices.IndexFunc(all, func(r api.Rollout) bool { return r.Undoes == about.rollout })
		if i < 0 {
			f.Fatal("no rollout takes it back")
		}
		_, err := f.PauseRollout(f.Context(), all[i].ID)
		return f.refused(err)
	}},
	{what: "too many enrol keys", refuse: func(f *causesFleet) string {
		const most = 1000
		var group errgroup.Group
		group.SetLimit(8)
		for range most {
			group.Go(func() error {
				_, err := f.CreateEnrollKey(f.Context(), api.CreateEnrollKey{})
				return err
			})
		}
		err := group.Wait()
		if err == nil {
			_, err = f.CreateEnrollKey(f.Context(), api.CreateEnrollKey{})
		}
		return strings.ReplaceAll(f.refused(err), "KEY", must[[]api.EnrollKey](f.reader)(f.EnrollKeys(f.Context()))[0].ID)
	}},
	{what: "too many log-ins", refuse: func(f *causesFleet) string {
		for range 100 {
			_, _, err := f.Login(f.Context(), "mallory", "not the password", "")
			if fleet.CodeOf(err) == fleet.CodeTooMany {
				return f.refused(err)
			}
		}
		f.Fatal("a hundred log-ins with a wrong password are not too many")
		return ""
	}},
}

var refusalsOfFourEyes = []refusal{
	{what: "an approval with a token that belongs to no user", types: byPasswordFile, refuse: func(f *causesFleet) string {
		_, err := f.ApproveRollout(f.Context(), f.rollout().rollout)
		return f.refused(err)
	}},
	{what: "an approval of a change that a token without a user made", refuse: func(f *causesFleet) string {
		_, err := f.loggedIn("anna").ApproveRollout(f.Context(), f.newest)
		name, _ := f.tokenOf(fleet.RoleViewer, 0)
		return strings.ReplaceAll(f.refused(err), "NAME", name)
	}},
	{what: "an approval with a token of a disabled user", types: byPasswordFile, refuse: func(f *causesFleet) string {
		name, role := f.name("token"), string(fleet.RoleAdmin)
		made := must[api.NewToken](f.reader)(f.loggedIn("carla").CreateTokenWith(f.Context(),
			api.CreateToken{Name: &name, Role: &role}))
		must[api.User](f.reader)(f.DisableUser(f.Context(), "carla"))
		_, err := f.muster.As(made.Secret).ApproveRollout(f.Context(), f.newest)
		return f.refused(err)
	}},
}
