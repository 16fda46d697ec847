package cli

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"filippo.io/age"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/daemon"
	"muster/test/wait"
)

const (
	exampleID   = "MZJU2GB-VHZXVXF-6OWRI3X-KYSAOIQ-5PVYMDQ-X4H6UMB-4BTKYQC-RLTFLQD"
	exampleNAS  = "P56IOI7-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2"
	passphrase  = "correct horse battery staple\n"
	aPassphrase = "etc/muster/backup-passphrase"
)

// must ends the test on an error.
func must[T any](r *reader) func(T, error) T {
	return func(value T, err error) T {
		r.Helper()
		if err != nil {
			r.Fatal(err)
		}
		return value
	}
}

// register registers a simulated daemon.
func (r *reader) register(d *stsim.Daemon, label string) {
	r.Helper()
	key, address, port := d.APIKey(), d.Host(), int64(d.Port())
	if _, _, err := r.PutDevice(r.Context(), string(d.ID()),
		api.PutDevice{APIKey: &key, APIAddress: &address, APIPort: &port, Label: &label}); err != nil {
		r.Fatal(err)
	}
	r.untilState(d.ID(), func(s api.DeviceState) bool { return s.Configuration == "unmanaged" })
}

// simulated is the daemon of the page with a label.
func (r *reader) simulated(label string) *stsim.Daemon {
	return r.farm.Daemon(slices.Index(r.devices, label))
}

func (r *reader) untilState(id fleet.DeviceID, is func(api.DeviceState) bool) {
	r.Helper()
	wait.Until(r, func() string {
		state, err := r.DeviceState(r.Context(), string(id))
		switch {
		case err != nil:
			return err.Error()
		case is(state):
			return ""
		}
		return fmt.Sprintf("%s is %s, %s: %s", id.Short(), state.Connection, state.Configuration, state.Reason)
	})
}

func (r *reader) untilInSync(label string) {
	r.Helper()
	all := must[[]api.Device](r)(r.Devices(r.Context(), client.List{Search: label}))
	if len(all) != 1 {
		r.Fatalf("%d devices are called %s", len(all), label)
	}
	r.untilState(fleet.DeviceID(all[0].DeviceID), func(s api.DeviceState) bool { return s.Configuration == "inSync" })
}

// withDaemon has a real Syncthing run on the machine of the reader.
func withDaemon(r *reader) {
	d := daemon.Start(r, daemon.Options{})
	if err := os.MkdirAll(filepath.Join(r.dir, ".local/state"), 0o700); err != nil {
		r.Fatal(err)
	}
	if err := os.Symlink(d.Home, filepath.Join(r.dir, ".local/state/syncthing")); err != nil {
		r.Fatal(err)
	}
	r.put(exampleID, string(d.ID), "MZJU2GB", d.ID.Short())
	if r.farm != nil {
		nas := r.farm.Daemon(0)
		r.put("3A:7F:…", colons(r, nas), exampleNAS, string(nas.ID()))
	}
}

// daemonAsks waits until the agent of the real daemon waits for a decision.
func (r *reader) daemonAsks() {
	r.Helper()
	wait.Until(r, func() string {
		all, err := r.Enrollments(r.Context(), client.List{})
		if err != nil || len(all) == 0 {
			return fmt.Sprint("no agent asks ", err)
		}
		return ""
	})
}

func (r *reader) agentAsks() {
	r.Helper()
	r.begin(r.agents, "Agent of")
	r.daemonAsks()
}

// agentAsksAgain has an administrator delete the device: its agent waits again.
func (r *reader) agentAsksAgain() {
	r.Helper()
	r.deleteDevices()
	r.daemonAsks()
}

func (r *reader) deleteDevices() {
	r.Helper()
	for _, device := range must[[]api.Device](r)(r.Devices(r.Context(), client.List{})) {
		if err := r.DeleteDevice(r.Context(), device.DeviceID); err != nil {
			r.Fatal(err)
		}
	}
}

// natOfThePage is the file of the page, which stands there with four blanks before each line.
func natOfThePage(r *reader) {
	r.write("nat.hjson", "# label: No NAT\n# priority: 50\n# op: set\n# key: options.natEnabled\n# tags: office\nfalse\n")
}

// daemonIsLaptop gives the device that registered itself the label of the page.
func (r *reader) daemonIsLaptop() {
	r.Helper()
	var all []api.Device
	wait.Until(r, func() (missing string) {
		if all = must[[]api.Device](r)(r.Devices(r.Context(), client.List{})); len(all) == 0 {
			return "the agent has registered no device"
		}
		return ""
	})
	r.typed("muster device edit "+fleet.DeviceID(all[0].DeviceID).Short()+" --label laptop", 0)
}

// enrolKeyIn puts an enrol key into a file.
func enrolKeyIn(file string) func(*reader) {
	return func(r *reader) {
		r.Helper()
		for _, going := range r.atWork[1:] {
			going.stop()
		}
		r.write(file, r.typed("muster enroll-key create --uses 3", 0))
	}
}

func keyToRevoke(r *reader) {
	r.put("KEY", must[[]api.EnrollKey](r)(r.EnrollKeys(r.Context()))[0].ID)
}

// firstTemplate has the files of the page, which its reader writes.
func firstTemplate(r *reader) {
	withDaemon(r)
	text := must[[]byte](r)(os.ReadFile("../../docs/first-template.md"))
	files := fileOfPage.FindAllStringSubmatch(string(text), -1)
	if len(files) != 2 {
		r.Fatalf("the page has %d files", len(files))
	}
	for _, file := range files {
		r.write(file[1], file[2])
	}
}

var fileOfPage = regexp.MustCompile("(?s)`(\\w+\\.(?:hjson|star))`.*?\n```\\w+\n(.*?)```")

// asNewDevice has the device of the page be one that is not registered yet.
func asNewDevice(label string) func(*reader) {
	return func(r *reader) {
		r.Helper()
		d := r.simulated(label)
		if err := r.DeleteDevice(r.Context(), string(d.ID())); err != nil {
			r.Fatal(err)
		}
		r.write(label+".key", d.APIKey()+"\n")
		r.put("192.0.2.7", fmt.Sprintf("%s --port %d", d.Host(), d.Port()),
			"sha256:9d3c5ffc59e6ac1dd2c0b9b3f1d2d1a5b1a0a77cdfeb8de5d8d2e2a2ef6fd4a1", must[string](r)(d.Pin()))
	}
}

// colons is a fingerprint as openssl prints it.
func colons(r *reader, d *stsim.Daemon) string {
	pin := must[[]byte](r)(hex.DecodeString(strings.TrimPrefix(must[string](r)(d.Pin()), "sha256:")))
	var parts []string
	for _, b := range pin {
		parts = append(parts, fmt.Sprintf("%02X", b))
	}
	return strings.Join(parts, ":")
}

// fleetDiffers is an edit of the files.
func fleetDiffers(r *reader) {
	r.write("fleet/templates/limit.hjson", "# key: options.maxSendKbps, tags: team\n77\n")
}

func fleetDigest(r *reader) {
	lines := strings.Fields(r.typed("muster plan -f fleet", 5))
	r.put("5f3759df", lines[len(lines)-1])
}

func assertionOfThePage(r *reader) {
	r.typed("mkdir -p fleet/tests/configs", 0)
	r.write("fleet/tests/limit.hjson", `{name: "a limit", tag: "team", expect: {"options.maxSendKbps": 77}}`)
}

func recordedConfig(r *reader) {
	r.typed("muster device config laptop > fleet/tests/configs/laptop.json", 0)
}

// operating has people, keys and certificates that the page names.
func operating(r *reader) {
	name, role, password := "anna", "admin", strings.TrimSpace(passphrase)
	if _, err := r.CreateUser(r.Context(), api.CreateUser{Name: &name, Role: &role, Password: &password}); err != nil {
		r.Fatal(err)
	}
	r.write("pw", passphrase)
	r.write("new", "another "+passphrase)
	r.write("key.txt", "an-api-key\n")
	r.typed("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout etc/muster/key.pem "+
		"-out etc/muster/cert.pem -days 2 -subj /CN=muster.example -addext subjectAltName=DNS:muster.example 2>&1", 0)
	r.typed("chmod 600 etc/muster/key.pem", 0)
	backups(r)
	for label := range r.tags {
		r.tag(label, "all")
	}
	r.tag("attic", "all")
}

func (r *reader) tag(label, tag string) {
	r.Helper()
	if _, err := r.TagDevice(r.Context(), string(r.simulated(label).ID()), tag); err != nil {
		r.Fatal(err)
	}
}

func (r *reader) logIn()  { r.typed("muster login --user anna --password-file pw", 0) }
func (r *reader) logOut() { r.typed("muster logout", 0) }

// renewedCertificate has nas show another certificate.
func renewedCertificate(r *reader) {
	r.Helper()
	nas := r.simulated("nas")
	if err := nas.RemakeCertificate(); err != nil {
		r.Fatal(err)
	}
	pin := must[string](r)(nas.Pin())
	wait.Until(r, func() string {
		trust, err := r.DeviceTrust(r.Context(), string(nas.ID()))
		if err != nil || trust.Presented.Fingerprint != pin {
			return fmt.Sprint("the new certificate was not seen ", err)
		}
		return ""
	})
	r.put("3F:9A:…", colons(r, nas))
}

// waitingRollout is a change for more devices than the approval threshold.
func waitingRollout(r *reader) {
	r.Helper()
	for _, whose := range []string{"--tag site:lima", "--device nas"} {
		r.typed("muster resume "+whose, 0)
	}
	r.template("set", "options.maxRecvKbps", fmt.Sprint(1000+r.ran), "all")
	r.put(" 7", " "+fmt.Sprint(r.newestRollout()))
}

func (r *reader) newestRollout() (id int64) {
	r.Helper()
	wait.Until(r, func() string {
		all := must[[]api.Rollout](r)(r.Rollouts(r.Context(), client.List{}))
		if len(all) == 0 || all[0].Status != string(fleet.RolloutWaiting) {
			return "no rollout waits"
		}
		id = all[0].ID
		return ""
	})
	return id
}

func approvedRollout(r *reader) {
	r.Helper()
	id := r.newestRollout()
	must[api.RolloutDetail](r)(r.ApproveRollout(r.Context(), id))
	wait.Until(r, func() string {
		if now := must[api.RolloutDetail](r)(r.Rollout(r.Context(), id)); now.Status != string(fleet.RolloutRunning) {
			return "the rollout is " + now.Status
		}
		return ""
	})
}

func (r *reader) template(op, key, text, tag string) int64 {
	r.Helper()
	made := must[api.Template](r)(r.CreateTemplate(r.Context(), api.PutTemplate{Label: &key, Op: &op, Key: &key,
		Template: &text}))
	if _, err := r.TagTemplate(r.Context(), made.ID, tag); err != nil {
		r.Fatal(err)
	}
	return made.ID
}

// heldInRollout is a change that waits for consent on a device of a rollout.
func heldInRollout(r *reader) {
	r.Helper()
	r.template("set", "gui.insecureSkipHostcheck", "true", "all")
	id := r.newestRollout()
	must[api.RolloutDetail](r)(r.ApproveRollout(r.Context(), id))
	r.put(" 7", " "+fmt.Sprint(id))
	r.waits("gui.insecureSkipHostcheck")
}

// heldReturn is a folder that no template asks for any more, so that a person has to answer.
func heldReturn(folder string) func(*reader) {
	return func(r *reader) {
		r.Helper()
		r.tag("shed", "shed")
		id := r.template("merge", "folders."+folder, fmt.Sprintf(`{path: "~/%s"}`, folder), "shed")
		shed := r.simulated("shed")
		wait.Until(r, func() string {
			if !strings.Contains(string(shed.Config().JSON()), `"`+folder+`"`) {
				return "the folder is not there"
			}
			return ""
		})
		if err := r.DeleteTemplate(r.Context(), id); err != nil {
			r.Fatal(err)
		}
		r.waits("folders." + folder)
	}
}

// withdrawnPassword is the password of a daemon's web interface that no template asks for any more.
func withdrawnPassword(r *reader) {
	r.Helper()
	r.tag("shed", "shed")
	made := r.template("set", "gui.password", `"correct horse"`, "shed")
	shed := r.simulated("shed")
	id := string(shed.ID())
	wait.Until(r, func() string {
		// The answer of an apply is lost where the API of the daemon starts again.
		if shed.Config().Get("gui").Get("password").Str() != "" {
			return ""
		}
		plan, err := r.DevicePlan(r.Context(), id)
		if err != nil {
			return err.Error()
		}
		if _, err := r.ApplyPlan(r.Context(), id,
			api.ApplyPlan{Digest: &plan.Digest, Consent: []string{"gui.password"}}); err != nil {
			return err.Error()
		}
		return ""
	})
	if err := r.DeleteTemplate(r.Context(), made); err != nil {
		r.Fatal(err)
	}
	r.waits("gui.password")
}

// waits gives the digest of what waits at a key the place of that of the page.
func (r *reader) waits(key string) {
	r.Helper()
	wait.Until(r, func() string {
		for _, group := range must[[]api.HeldGroup](r)(r.Consents(r.Context())) {
			if group.Key == key {
				r.put("3fd520971084", group.Digest)
				return ""
			}
		}
		return "nothing waits at " + key
	})
}

func revisions(r *reader) {
	laptop := r.simulated("laptop")
	all := must[[]api.Revision](r)(r.Revisions(r.Context(), string(laptop.ID()), client.List{}))
	first := all[len(all)-1].Number
	r.put("laptop 12 15", fmt.Sprintf("laptop %d %d", first, all[0].Number),
		"laptop 12 ", fmt.Sprintf("laptop %d ", first), "folders.photos", "folders."+firstFolder(laptop))
}

func firstFolder(d *stsim.Daemon) string {
	for folder := range d.Config().Get("folders").Values() {
		return folder.Get("id").Str()
	}
	return ""
}

// askToBeLetIn is a device that asks a managed daemon.
func askToBeLetIn(r *reader) {
	r.Helper()
	id := fleet.DeviceIDOf([32]byte{byte(r.ran)})
	r.simulated("laptop").AddPendingDevice(id, "phone", "192.0.2.9:22000")
	wait.Until(r, func() string {
		for _, p := range must[[]api.Pending](r)(r.Pending(r.Context(), client.List{})) {
			if p.From == string(id) {
				r.put("pending accept ID", "pending accept "+p.ID, "pending dismiss ID", "pending dismiss "+p.ID)
				return ""
			}
		}
		return "nothing is pending"
	})
}

func passphrases(r *reader) {
	r.write(aPassphrase, passphrase)
	r.write("passphrase", passphrase)
}

// backups has a key of age, which its own program makes elsewhere.
func backups(r *reader) {
	r.Helper()
	passphrases(r)
	identity := must[*age.X25519Identity](r)(age.GenerateX25519Identity())
	r.write("backup-key.txt", identity.String()+"\n")
	r.put("age1…", identity.Recipient().String(), "muster restore muster-today.backup", "muster restore "+
		filepath.Join(r.dir, "var/backups/muster-today.backup"))
}

// newBackupFile is another day: backups replace no file.
func newBackupFile(r *reader) {
	r.typed("rm -f var/backups/muster-today.backup", 0)
}

// backupIn has a backup that a key or passphrase opens, and a home that nothing was restored into.
func backupIn(flags string) func(*reader) {
	return func(r *reader) {
		newBackupFile(r)
		r.typed(strings.NewReplacer(r.puts...).Replace("muster backup var/backups/muster-today.backup "+flags), 0)
		r.typed("rm -rf var/lib/muster", 0)
	}
}

func signedHead(r *reader) {
	r.Helper()
	head := must[api.AuditHead](r)(r.SignAudit(r.Context()))
	r.put("HEAD", head.Head, "1042:1767323045678:9f86d0…:k3Jq…", head.Head)
}

func signedExport(r *reader) {
	r.Helper()
	r.typed("muster audit export > audit.jsonl", 0)
	head := must[api.AuditHead](r)(r.SignAudit(r.Context()))
	r.put("1042:…", head.Head, "5b2c…", head.Key)
}

func pinOfNas(r *reader) {
	r.put("3A:7F:…", colons(r, r.simulated("nas")))
}

func signOn(r *reader) {
	r.write("etc/muster/oidc-secret", "secret\n")
	r.put("https://id.example.org", "https://127.0.0.1:1")
}

func (r *reader) stopServer() { r.serving.stop() }

func notifications(r *reader) {
	r.write("etc/muster/webhooks", "https://hooks.example.org/muster\n")
	r.write("etc/muster/notify-secret", passphrase)
	r.write("etc/muster/smtp-password", passphrase)
	r.write("etc/muster/chat-url", "https://hooks.example.org/chat\n")
	r.write("etc/muster/chat-secret", passphrase)
	r.put("https://example.org/hook", "https://127.0.0.1:1/hook", "mail.example.org:587", "127.0.0.1:1")
}

// photosOfThePage has the reader name a folder that there is.
func photosOfThePage(r *reader) {
	r.Helper()
	r.put("photos=2", r.simulated("nas").FolderIDs()[0]+"=2")
}

// laptopIsGone waits until it is proven that the revoked laptop is gone.
func laptopIsGone(r *reader) {
	r.Helper()
	// Nobody ever reaches the phone that was let in, so its proof would not come.
	for _, phone := range must[[]api.Device](r)(r.Devices(r.Context(), client.List{Search: "phone"})) {
		if err := r.DeleteDevice(r.Context(), phone.DeviceID); err != nil {
			r.Fatal(err)
		}
	}
	r.typed("muster device revocation laptop --wait", 0)
}
