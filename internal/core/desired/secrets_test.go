package desired_test

import (
	"errors"
	"strings"
	"testing"

	"muster/internal/core/desired"
	"muster/internal/core/stconfig"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

const (
	peer  = "UAPHM7G-7QPB5KL-A5ZQHLL-LEO3TZS-OL36FBG-AGI4ON4-TMLKOSE-A7AJBQF"
	share = "folders.photos-x4kd.devices." + peer
)

// attempt is one template of somebody who is no admin, unless it says otherwise.
type attempt struct {
	op         fleet.Op // "": merge
	key, text  string
	scope      fleet.SecretScope
	tags       []fleet.Tag // of the device
	adminSaved bool
}

// fold lays the template over the sample, which has secrets of its own.
func (a attempt) fold(t *testing.T) (desired.Result, error) {
	t.Helper()
	program, err := template.Compile(a.text)
	if err != nil {
		return desired.Result{}, err
	}
	if a.op == "" {
		a.op = fleet.OpMerge
	}
	return desired.Fold(desired.Input{
		Device: stconfig.SampleID, Observed: sample(t),
		Templates: []fleet.Template{{ID: 7, Label: "sly", Op: a.op, Key: a.key}},
		Tags:      a.tags, AdminSaved: func(fleet.Template) bool { return a.adminSaved },
		Secret: func(name string) (fleet.SecretScope, bool) { return a.scope, name == "backup-pw" },
		Evaluate: func(_ fleet.Template, config stconfig.Value) (desired.Fragment, error) {
			made, err := program.Evaluate(template.Input{Config: config}, template.Limits{})
			return desired.Fragment{Value: made.Value, ReadsConfig: made.ReadsConfig}, err
		},
	})
}

// sample is a configuration with a share that has a password.
func sample(t *testing.T) stconfig.Value {
	t.Helper()
	text := `{"id":"photos-x4kd","devices":[{"deviceID":"` + peer + `","encryptionPassword":"of-the-share"}]}`
	folder, err := stconfig.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	doc, _, err := stconfig.Apply(stconfig.Sample(), fleet.OpMerge, stconfig.Key{}.Child("folders"),
		stconfig.List(folder), stconfig.SampleID)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	var known *fleet.Error
	if !errors.As(err, &known) || known.Code != fleet.CodeInvalid {
		t.Errorf("got %v, want an error of the template", err)
		return
	}
	for _, word := range append(words, "template 7") {
		if !strings.Contains(known.Error()+known.Hint, word) {
			t.Errorf("%q is not in %q, %q", word, known.Error(), known.Hint)
		}
	}
}

// A secret must not be put where people read it, whatever the way there. The lists would allow everything.
func TestASecretIsHiddenNowhere(t *testing.T) {
	anywhere := fleet.SecretScope{Keys: []string{"gui.password", "gui.apiKey", "folders.*.devices.*.encryptionPassword"}}
	for name, a := range map[string]attempt{
		"label":                 {key: "folders.photos-x4kd.label", text: `secret("backup-pw")`, op: fleet.OpSet},
		"label of every folder": {key: "folders.*.label", text: `"${secret:backup-pw}"`, op: fleet.OpSet},
		"inside a folder":       {key: "folders.photos-x4kd", text: `{label: "${secret:backup-pw}"}`},
		"in other letters":      {key: "FOLDERS.photos-x4kd.LABEL", text: `"${secret:backup-pw}"`, op: fleet.OpSet},
		"at the root":           {text: `{folders: [{id: "photos-x4kd", label: "${secret:backup-pw}"}]}`},
		"the root itself":       {text: `"${secret:backup-pw}"`},
		"a new folder":          {key: "folders.new", text: `{path: "~/new", label: "${secret:backup-pw}"}`},
		"a folder's ID":         {key: "folders", text: `[{id: "${secret:backup-pw}", path: "~/new"}]`},
		"a folder's path":       {key: "folders.photos-x4kd.path", text: `"${secret:backup-pw}"`, op: fleet.OpSet},
		"a folder's type":       {key: "folders.photos-x4kd.type", text: `"${secret:backup-pw}"`, op: fleet.OpSet},
		"defaults":              {key: "defaults.folder.label", text: `"${secret:backup-pw}"`, op: fleet.OpSet},
		"name of every device":  {key: "devices.*.name", text: `secret("backup-pw")`, op: fleet.OpSet},
		"address of a device":   {key: "devices.*.addresses", text: `["${secret:backup-pw}"]`, op: fleet.OpSet},
		"a device's ID":         {key: "devices", text: `[{deviceID: "${secret:backup-pw}"}]`},
		"introduced by":         {key: share + ".introducedBy", text: `"${secret:backup-pw}"`, op: fleet.OpSet},
		"ignored device": {key: "remoteIgnoredDevices", text: `[{deviceID: "` + peer +
			`", name: "${secret:backup-pw}"}]`},
		"a plain list": {key: "options.listenAddresses", text: `["tcp://:22000", "${secret:backup-pw}"]`,
			op: fleet.OpSet},
		"appended":       {key: "options.stunServers", text: `["${secret:backup-pw}"]`, op: fleet.OpAppend},
		"appended alone": {key: "options.stunServers", text: `"${secret:backup-pw}"`, op: fleet.OpAppend},
		"a folder appended": {key: "folders", text: `{id: "new", path: "~/n", label: "${secret:backup-pw}"}`,
			op: fleet.OpAppend},
		"removed from a list": {key: "options.stunServers", text: `["${secret:backup-pw}"]`, op: fleet.OpRemove},
		"a map":               {key: "folders.photos-x4kd.versioning.params", text: `{password: "${secret:backup-pw}"}`},
		"an object in a list": {key: "folders.photos-x4kd.xattrFilter.entries",
			text: `[{match: "${secret:backup-pw}", permit: true}]`, op: fleet.OpSet},
		"patterns":              {key: "ignores.photos-x4kd", text: `["${secret:backup-pw}"]`, op: fleet.OpSet},
		"patterns of all":       {key: "ignores.*", text: `["${secret:backup-pw}"]`, op: fleet.OpAppend},
		"default patterns":      {key: "defaults.ignores.lines", text: `["${secret:backup-pw}"]`, op: fleet.OpSet},
		"ldap":                  {key: "ldap.bindDN", text: `"${secret:backup-pw}"`, op: fleet.OpSet},
		"the name of a user":    {key: "gui.user", text: `"${secret:backup-pw}"`, op: fleet.OpSet},
		"an unknown field":      {key: "options", text: `{fooPassword: "${secret:backup-pw}"}`},
		"an unknown key":        {key: "gui.password.more", text: `"${secret:backup-pw}"`, op: fleet.OpSet},
		"a list for a password": {key: "gui.password", text: `["${secret:backup-pw}"]`, op: fleet.OpSet},
		"deep in the unknown":   {key: "options", text: `{a: {b: {encryptionPassword: "${secret:backup-pw}"}}}`},
		"encryptionPassword":    {key: "options", text: `{encryptionPassword: "${secret:backup-pw}"}`},
		"password at folders":   {key: "folders.photos-x4kd", text: `{password: "${secret:backup-pw}"}`},
		"every section":         {key: "gui.*", text: `"${secret:backup-pw}"`, op: fleet.OpSet},
		"the configuration's": {key: "folders.photos-x4kd.label",
			text: "def template(config):\n    return config.gui.apiKey", op: fleet.OpSet},
		"the configuration's, *": {key: "devices.*.name", text: "def template(config):\n    return config.gui.apiKey",
			op: fleet.OpSet},
		"the configuration's, removed": {key: "options.stunServers", op: fleet.OpRemove,
			text: "def template(config):\n    return [config.gui.apiKey]"},
	} {
		t.Run(name, func(t *testing.T) {
			a.scope, a.adminSaved = anywhere, true
			_, err := a.fold(t)
			refused(t, err)
		})
	}
}

// A program can do nothing with a secret but pass it on.
func TestAProgramCannotLookIntoASecret(t *testing.T) {
	for name, body := range map[string]string{
		"name of a field":  `{secret("backup-pw"): 1}`,
		"formatted":        `"pw is %s" % secret("backup-pw")`,
		"format":           `"{}".format(secret("backup-pw"))`,
		"joined":           `"".join([secret("backup-pw")])`,
		"added":            `"x" + secret("backup-pw")`,
		"text":             `str(secret("backup-pw"))`,
		"repr":             `repr(secret("backup-pw"))`,
		"length":           `str(len(secret("backup-pw")))`,
		"a letter":         `secret("backup-pw")[0]`,
		"json":             `json.encode(secret("backup-pw"))`,
		"json inside":      `json.encode({"a": [secret("backup-pw")]})`,
		"json of config":   `json.encode(config.gui)`,
		"text of config":   `str(config.gui)`,
		"its error":        `fail(secret("backup-pw"))`,
		"hash":             `str(hash(secret("backup-pw")))`,
		"equal":            `str(secret("backup-pw") == config.gui.apiKey)`,
		"less":             `str(sorted([secret("backup-pw"), config.gui.apiKey]))`,
		"in a list":        `str(config.gui.apiKey in [secret("backup-pw")])`,
		"equal to a guess": `str(config.gui.apiKey == "guess")`,
		"in a set":         `str(len(set([secret("backup-pw"), secret("backup-pw")])))`,
		"attributes":       `str(dir(secret("backup-pw")))`,
		"type":             `type(secret("backup-pw"))`,
		"truth":            `"yes" if secret("backup-pw") else "no"`,
		"printed":          `[print(secret("backup-pw"), config.gui.apiKey), "x"][1]`,
		"decoded":          `json.decode(json.encode("${secret:backup-pw}"))`,
	} {
		t.Run(name, func(t *testing.T) {
			config := sample(t)
			program, err := template.Compile("def template(config):\n    return " + body)
			if err != nil {
				t.Fatal(err)
			}
			made, err := program.Evaluate(template.Input{Config: config}, template.Limits{})
			said := string(made.Value.JSON()) + strings.Join(made.Output, "\n")
			if err != nil {
				said += err.Error()
			}
			if stconfig.HasHandle(made.Value) {
				t.Errorf("it is a secret still: %s", said)
			}
			for _, text := range []string{config.Get("gui").Get("apiKey").Str(), "of-the-share"} {
				if text == "" || strings.Contains(said, text) {
					t.Errorf("it tells the secret: %s", said)
				}
			}
		})
	}
}

// Lists say where a secret may go, whoever saved the template; without lists only what an admin saved may use it.
func TestASecretGoesOnlyWhereItIsFor(t *testing.T) {
	const password, name = share + ".encryptionPassword", "backup-pw"
	use := attempt{op: fleet.OpSet, key: password, text: `"${secret:backup-pw}"`}
	with := func(change func(*attempt)) attempt {
		a := use
		change(&a)
		return a
	}
	keys := fleet.SecretScope{Keys: []string{"folders.*.devices.*.encryptionPassword"}}
	for what, c := range map[string]struct {
		attempt
		refused []string // words of the error; none: it is taken
	}{
		"no lists, an author's": {use, []string{"sly", name, "admin",
			"muster secret allow 'backup-pw' --key 'folders.photos-x4kd.devices.*.encryptionPassword'"}},
		"no lists, an admin's": {with(func(a *attempt) { a.adminSaved = true }), nil},
		"the key, an author's": {with(func(a *attempt) { a.scope = keys }), nil},
		"another key": {with(func(a *attempt) { a.scope.Keys = []string{"gui.password"} }),
			[]string{name, "gui.password", password, "--key"}},
		"another key, an admin's": {with(func(a *attempt) { a.scope.Keys, a.adminSaved = []string{"gui.password"}, true }),
			[]string{name, "gui.password"}},
		"another folder": {with(func(a *attempt) { a.scope.Keys = []string{"folders.docs.devices.*.encryptionPassword"} }),
			[]string{name}},
		"all folders at once": {with(func(a *attempt) {
			a.key, a.scope.Keys = "folders.*.devices.*.encryptionPassword",
				[]string{"folders.docs.devices.*.encryptionPassword"}
		}), []string{name}},
		"the tag": {with(func(a *attempt) { a.scope.Tags, a.tags = []fleet.Tag{"vault"}, []fleet.Tag{"vault"} }), nil},
		"another tag": {with(func(a *attempt) { a.scope.Tags, a.tags = []fleet.Tag{"vault"}, []fleet.Tag{"lab"} }),
			[]string{name, "vault", "--tag"}},
		"no tag": {with(func(a *attempt) { a.scope.Tags = []fleet.Tag{"vault"} }), []string{name, "vault"}},
		"key, not tag": {with(func(a *attempt) { a.scope = keys; a.scope.Tags = []fleet.Tag{"vault"} }),
			[]string{name, "vault"}},
		"at the GUI": {attempt{key: "gui", text: `{user: "me", password: "${secret:backup-pw}"}`, scope: keys},
			[]string{name}},
		"at the root": {attempt{text: `{gui: {password: "${secret:backup-pw}"}}`, scope: keys}, []string{name}},
		"in defaults": {attempt{key: "defaults.folder.devices", text: `[{deviceID: "` + peer +
			`", encryptionPassword: "${secret:backup-pw}"}]`, scope: keys}, []string{name}},
		"not there": {attempt{key: password, op: fleet.OpSet, text: `"${secret:nope}"`, scope: keys}, []string{"nope"}},
		"skipped place": {attempt{key: "folders.nowhere.devices.*.encryptionPassword", op: fleet.OpSet,
			text: `"${secret:backup-pw}"`}, nil},
	} {
		t.Run(what, func(t *testing.T) {
			r, err := c.fold(t)
			if len(c.refused) > 0 {
				refused(t, err, c.refused...)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			key, err := stconfig.ParseKey(password)
			if err != nil {
				t.Fatal(err)
			}
			if got := stconfig.Lookup(r.Desired, key); what != "skipped place" &&
				got != stconfig.SecretHandle("secret:backup-pw") {
				t.Errorf("got %s", got.JSON())
			}
		})
	}
}

// A secret of the configuration has no lists: at another place it may stand only where an admin says so.
func TestAnAuthorMovesNoSecretOfTheConfiguration(t *testing.T) {
	const passOn = "def template(config):\n    share = [d for d in config.folders if d.id == " +
		"\"photos-x4kd\"][0].devices\n" +
		"    return [d for d in share if d.deviceID == \"" + peer + "\"][0].encryptionPassword"
	moved := attempt{op: fleet.OpSet, key: "gui.password", text: passOn}
	_, err := moved.fold(t)
	refused(t, err, "encryptionPassword", "gui.password", "admin")
	moved.adminSaved = true
	if _, err := moved.fold(t); err != nil {
		t.Errorf("an admin's: %v", err)
	}
	stays := attempt{key: "gui", text: "def template(config):\n    return config.gui | {\"theme\": \"dark\"}"}
	if _, err := stays.fold(t); err != nil {
		t.Errorf("one that stays where it is: %v", err)
	}
	same := attempt{op: fleet.OpSet, key: share + ".encryptionPassword", text: passOn}
	if _, err := same.fold(t); err != nil {
		t.Errorf("one at its own place: %v", err)
	}
	copied := attempt{key: "folders",
		text: "def template(config):\n    return [{\"id\": \"new\", \"path\": \"~/n\", \"devices\": f.devices} " +
			"for f in config.folders if f.id == \"photos-x4kd\"]"}
	_, err = copied.fold(t)
	refused(t, err, "folders.new.devices")
}
