package cli

const (
	nextToSystemd = "no systemd runs here; the test of the package verifies the unit"
	packaging     = "make package and tools/package-check build and try packages and image"
	needsProvider = "a person confirms in a browser at a provider; test/signon runs it against one"
	needsPostgres = "PostgreSQL runs for the tests of the database only; test/backup restores onto it"
	ageOfItsOwn   = "it is a program of age; the recipient is made by the library of age"
)

// backupFlags say on the server's machine below which folder backups may be made, and what they are encrypted to.
// Nobody has the key to this recipient.
const backupFlags = ` --backup-root "$HOME/var/backups" --backup-recipient ` +
	"age13gpstmxmdh0wrhpq0rn74zs70x80nuf4rrznucxq4t7epp6smsls4g0f8z"

// pages are the pages of the manual that have commands.
func pages() []page {
	return []page{
		{name: "../README", setUp: withDaemon, before: map[string]func(*reader){
			"muster agent":             (*reader).deleteDevices,
			"muster enrollment accept": (*reader).daemonAsks,
			"muster template put":      natOfThePage,
			"muster status laptop":     (*reader).daemonIsLaptop,
		}, until: map[string]string{"muster agent": "Agent of"},
			not: map[string]string{"make ": "it builds everything and goes on; it is how these tests are run"}},
		{name: "install", not: map[string]string{
			"apt ": packaging, "nano ": "an editor", "systemctl ": nextToSystemd, "cp ": packaging,
			"podman ": packaging, "ssh-keygen ": packaging, "sha256sum ": packaging,
		}},
		{name: "reaching", devices: []string{"nas"}, setUp: withDaemon, before: map[string]func(*reader){
			"muster enroll ":    enrolKeyIn("enroll.key"),
			"muster device add": asNewDevice("nas"),
			"openssl": func(r *reader) {
				r.typed("cp .local/state/syncthing/https-cert.pem https-cert.pem", 0)
			},
		}, until: map[string]string{"muster serve": "Muster is ready"}},
		{name: "first-template", devices: []string{"office"}, setUp: firstTemplate, before: map[string]func(*reader){
			"muster enrollment list": (*reader).daemonAsks,
			"muster why":             func(r *reader) { r.untilInSync("laptop") },
			"muster folder get":      func(r *reader) { r.untilInSync("office") },
		}, until: map[string]string{"muster agent": "Agent of"}},
		{name: "files", devices: []string{"laptop", "desk"}, tags: map[string]string{"laptop": "team", "desk": "team"},
			before: map[string]func(*reader){
				"muster plan -f fleet -o markdown": fleetDiffers,
				"muster apply -f fleet --plan":     fleetDigest,
				"muster test -f fleet -v":          recordedConfig,
				"muster test -f fleet":             assertionOfThePage,
			},
			codes: map[string]int{"muster plan -f fleet": 5, "muster plan -f fleet --prune": 0}},
		{name: "agent", setUp: withDaemon, before: map[string]func(*reader){
			"muster agent --server https://muster.example:2525 --fingerprint sha256:2f7c… --key-file": func(r *reader) {
				r.stopLast()
				enrolKeyIn("enrol-key")(r)
			},
			"muster device settings laptop": (*reader).daemonIsLaptop,
		}, until: map[string]string{"muster agent --server": "Agent of"},
			not: map[string]string{"muster agent install": nextToSystemd}},
		{name: "operating", flags: " --approval-threshold 2 --soak 1h", devices: []string{"laptop", "nas", "attic", "shed"},
			tags: map[string]string{"laptop": "site:lima", "nas": "office"}, setUp: operating, before: map[string]func(*reader){
				"muster user password":                  (*reader).logIn,
				"muster login-link bert":                (*reader).logOut,
				"muster login-link bert --expires":      func(*reader) {}, // the token of the home is used already
				"muster device trust nas":               renewedCertificate,
				"muster device trust --tag office":      renewedCertificate,
				"muster rollout list":                   waitingRollout,
				"muster rollout pause":                  approvedRollout,
				"muster rollout waves":                  waitingRollout,
				"muster consent 3fd520971084 --rollout": heldInRollout,
				"muster consent 3fd520971084":           heldReturn("gone"),
				"muster consent 3fd520971084 --keep":    heldReturn("kept"),
				"muster consent 3fd520971084 --value":   withdrawnPassword,
				"muster revision diff":                  revisions,
				"muster device revocation laptop":       laptopIsGone,
				"muster pending list":                   askToBeLetIn,
				"muster pending accept ID --register":   askToBeLetIn,
				"muster pending dismiss":                askToBeLetIn,
			}, until: map[string]string{"muster serve": "Muster is ready"}, types: map[string]string{
				"muster login --server": " --user anna --password-file pw", "muster user password": " --password-file new " +
					"--current-file pw",
				"muster login --server https://muster.example:2525 --user anna": " --password-file pw",
			}, not: map[string]string{"muster login --server https://test.example": "a second server; the first one is run"}},
		{name: "upgrade", devices: []string{"laptop"}, tags: map[string]string{"laptop": "office"}, setUp: passphrases,
			codes: map[string]int{"muster doctor": 1 /* the server makes no backups by itself */}},
		{name: "coming-from", devices: []string{"hub"},
			not: map[string]string{"muster agent install": nextToSystemd}},
		{name: "settings", flags: backupFlags, until: map[string]string{"muster serve": "Muster is ready"}},
		{name: "backup", setUp: backups, flags: backupFlags, before: map[string]func(*reader){
			"muster backup": newBackupFile,
			"muster restore muster-today.backup --identity":   backupIn("--backup-recipient age1…"),
			"muster restore muster-today.backup --passphrase": backupIn("--backup-passphrase-file " + aPassphrase),
			"muster audit verify --head HEAD":                 signedHead,
		}, until: map[string]string{"muster serve --backup": "Muster is ready"},
			not: map[string]string{
				"age-keygen": ageOfItsOwn,
				"muster restore muster-today.backup --identity backup-key.txt --home /var/lib/muster --database": needsPostgres,
				"muster restore move.backup": needsPostgres,
				"muster serve --home":        needsPostgres,
			}},
		{name: "lasting"},
		{name: "where-are-my-files", devices: []string{"nas"}, setUp: photosOfThePage},
		{name: "audit", devices: []string{"nas"}, setUp: withDaemon, before: map[string]func(*reader){
			"muster audit verify --head": signedHead,
			"muster audit verify --file": signedExport,
			"muster device trust":        pinOfNas,
		}, codes: map[string]int{"muster audit accept-loss 1042": 3 /* nothing is lost: test/audit loses something */}},
		{name: "enrolment", setUp: withDaemon, before: map[string]func(*reader){
			"muster enrollment list":                                        (*reader).agentAsks,
			"muster enrollment reject":                                      (*reader).agentAsksAgain,
			"muster enroll-key revoke":                                      keyToRevoke,
			"muster enroll --server https://muster.example:2525 --key-file": enrolKeyIn("enroll.key"),
		}},
		{name: "sign-on", setUp: signOn, before: map[string]func(*reader){
			"muster admin": (*reader).stopServer,
		}, until: map[string]string{"muster serve": "Muster is ready"},
			codes: map[string]int{"muster setting test oidcIssuer": 1 /* no provider answers at the address of the test */},
			not:   map[string]string{"muster login": needsProvider, "systemctl ": nextToSystemd}},
		{name: "proxies", until: map[string]string{"muster serve": "Muster is ready"}, before: map[string]func(*reader){
			"muster serve --listen 127.0.0.1:2525 --agent-listen": (*reader).stopLast,
		}},
		{name: "notifications", setUp: notifications, until: map[string]string{"muster serve": "Muster is ready"},
			codes: map[string]int{ // nothing is sent to the server's own machine
				"muster setting test notifyMailTo": 3, "muster channel test night": 3,
			}},
		{name: "sinks", setUp: func(r *reader) {
			r.write("key.txt", "ApiKey of-the-sink\n")
			r.put("https://es.example.org:9200", "https://127.0.0.1:1", "tls://syslog.example.org:6514", "tls://127.0.0.1:1")
		}, codes: map[string]int{"muster sink test siem": 3 /* the same */}},
		{name: "forms", devices: []string{"laptop"}, tags: map[string]string{"laptop": "site:lima"}},
		{name: "templates", devices: []string{"laptop"}, tags: map[string]string{"laptop": "site:lima"},
			setUp: func(r *reader) { r.write("pw.txt", "correct horse battery\n") }},
	}
}
