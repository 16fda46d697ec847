package stconfig

import (
	"os"
	"slices"
	"strings"
	"testing"

	"muster/internal/fleet"
)

// checkKnown fails for whatever the schema does not know, or knows otherwise.
func checkKnown(t *testing.T, v Value, s *shape, at string) {
	t.Helper()
	if s == nil {
		t.Errorf("%s is not in the schema", at)
		return
	}
	if s.kind != v.Kind() {
		t.Errorf("%s is %s, and the schema says %s", at, kindText(v.Kind()), kindText(s.kind))
		return
	}
	for i := range v.Len() {
		next := place{value: v, shape: s}.at(i)
		name := at + ".*"
		if v.Kind() == Object {
			name = at + "." + v.Name(i)
			if f, known := s.field(v.Name(i)); known && f.name != v.Name(i) {
				t.Errorf("%s is spelled %s in the schema", name, f.name)
			}
		}
		checkKnown(t, next.value, next.shape, name)
	}
}

func TestTheSchemaKnowsWhatDaemonsWrite(t *testing.T) {
	checkKnown(t, Sample(), configuration, "v2")
	checkKnown(t, oldDoc(), configuration, "v1")
	checkKnown(t, builtinDefaults(), configuration.below("defaults"), "builtin")
}

func TestWhatADaemonWroteIsNormalAlready(t *testing.T) {
	for name, doc := range map[string]Value{"v1": oldDoc(), "v2": Sample()} {
		if got, want := string(Normalise(doc).JSON()), string(doc.JSON()); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestJSONKeepsWhatWasRead(t *testing.T) {
	text := `{"b":1.50,"a":[1e3,-0,12345678901234567890],"ä":"\u0000\"<","x":{}}`
	if got := string(parsed(t, text).JSON()); got != text {
		t.Fatalf("got %s, want %s", got, text)
	}
}

func TestUsable(t *testing.T) {
	root := Key{}
	for name, c := range map[string]struct {
		doc  Value
		own  fleet.DeviceID
		says string
	}{
		"sample":       {Sample(), SampleID, ""},
		"another":      {Sample(), other, "own device"},
		"no own id":    {Sample(), "", "own device"},
		"no version":   {Replace(Sample(), root.Child("version"), Value{}), SampleID, "version"},
		"version text": {Replace(Sample(), root.Child("version"), Text("52")), SampleID, "version"},
		"no key":       {Replace(Sample(), mustKey(t, "gui.apiKey"), Text("")), SampleID, "API key"},
		"no gui":       {Replace(Sample(), mustKey(t, "gui"), Value{}), SampleID, "API key"},
		"no devices":   {Replace(Sample(), mustKey(t, "devices"), Value{}), SampleID, "own device"},
		"a list":       {List(), SampleID, "object"},
		"just version": {parsed(t, `{"version":52}`), SampleID, "own device"},
	} {
		err := Usable(c.doc, c.own)
		if c.says == "" && err != nil || c.says != "" && (fleet.CodeOf(err) != fleet.CodeUnbelievable ||
			!strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: got %v, want %q", name, err, c.says)
		}
	}
}

func TestDigestSeesEveryChangeButNoOrder(t *testing.T) {
	doc := parsed(t, `{"folders":[{"id":"a","paused":false},{"id":"b"}],"options":{"listenAddresses":["x","y"]}}`)
	for text, same := range map[string]bool{
		`{"options":{"LISTENADDRESSES":["x","y"]},"folders":[{"id":"b"},{"paused":false,"id":"a"}]}`: true,
		`{"folders":[{"id":"a","paused":false},{"id":"b"}],"options":{"listenAddresses":["y","x"]}}`: false,
		`{"folders":[{"id":"a","paused":true},{"id":"b"}],"options":{"listenAddresses":["x","y"]}}`:  false,
		`{"folders":[{"id":"a","paused":false}],"options":{"listenAddresses":["x","y"]}}`:            false,
	} {
		if (Digest(parsed(t, text)) == Digest(doc)) != same {
			t.Errorf("%s: want same %v", text, same)
		}
	}
}

func TestEqualNumbersHaveOneDigest(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"1", "1.0", true}, {"1", "10e-1", true}, {"100", "1E+2", true}, {"0.5", "5e-1", true}, {"-0", "0.000", true},
		{"0e999999", "0", true},
		{"-1.50", "-15e-1", true}, {"12345678901234567890", "12345678901234567890.00", true}, {"1e400", "10e399", true},
		{"1e-400", "0.1e-399", true},
		{"1", "2", false}, {"1", "-1", false}, {"1e400", "1e401", false},
		{"12345678901234567890", "12345678901234567891", false}, {"0.1", "0.10000000000000000001", false},
		{"1e99999999999", "1e99999999999", true}, {"1e99999999999", "1e99999999998", false},
	} {
		a, b := Obj(Member{"options", Obj(Member{"x", Literal(c.a)})}),
			Obj(Member{"options", Obj(Member{"x", Literal(c.b)})})
		if a.Equal(b) != c.same || (Digest(a) == Digest(b)) != c.same {
			t.Errorf("%s and %s: equal %v, same digest %v, want %v", c.a, c.b, a.Equal(b), Digest(a) == Digest(b), c.same)
		}
		if _, err := Parse(Normalise(a).JSON()); err != nil {
			t.Errorf("%s becomes %s: %v", c.a, Normalise(a).JSON(), err)
		}
	}
}

func TestSecretsOfAFragment(t *testing.T) {
	at, v := mustKey(t, "folders.*.devices"),
		parsed(t, `[{"deviceID":"<NAS>","ENCRYPTIONPASSWORD":"s3cret"},{"deviceID":"<PHONE>","encryptionPassword":""}]`)
	if got := MaskAt(at, v); strings.Contains(string(got.JSON()), "s3cret") ||
		!strings.Contains(string(got.JSON()), MaskedSecret) {
		t.Errorf("got %s", got.JSON())
	}
	found := SecretsIn(at, v)
	if len(found) != 1 || found[0].String() != "folders.*.devices."+nas+".encryptionPassword" {
		t.Errorf("got %v", found)
	}
	if got := SecretsIn(mustKey(t, "gui.password"), SecretHandle("secret:gui")); len(got) > 0 {
		t.Errorf("a handle is no secret in clear: %v", got)
	}
	for text, want := range map[string]bool{
		"gui.apiKey": true, "gui.password": true, "folders.*.devices.*.encryptionPassword": true, "gui.user": false,
		"": false,
		"defaults.folder.devices." + nas + ".encryptionPassword": true, "gui.futureToken": true, "options.future": false,
	} {
		if got := SecretKey(mustKey(t, text)); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

func TestResolveConfigRefusesWhatIsNoSecretOfTheDocument(t *testing.T) {
	for _, name := range []string{"config:gui.nothing", "config:folders", "config:x", "config:version"} {
		if _, err := ResolveConfig(List(SecretHandle(name)), Sample()); fleet.CodeOf(err) != fleet.CodeInvalid {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if got, err := ResolveConfig(SecretHandle("secret:x"), Sample()); err != nil || got != SecretHandle("secret:x") {
		t.Errorf("another handle: got %s, %v", got.JSON(), err)
	}
}

func TestLookupReplaceAndExpand(t *testing.T) {
	doc := Sample()
	if got := Lookup(doc, mustKey(t, "FOLDERS.docs-7hq2.DEVICES."+nas+".deviceid")).Str(); got != nas {
		t.Errorf("lookup: got %q", got)
	}
	for _, missing := range []string{"folders.none.path", "folders.*", "options.natEnabled.x",
		"options.listenAddresses.default"} {
		if got := Lookup(doc, mustKey(t, missing)); got.Exists() {
			t.Errorf("%s: got %s", missing, got.JSON())
		}
		if got := Replace(doc, mustKey(t, missing), Text("x")); got != doc {
			t.Errorf("%s: replaced something: %s", missing, diffText(doc, got))
		}
	}
	if got := Replace(doc, mustKey(t, "folders.none"), Obj(Member{"id", Text("other")})); got != doc {
		t.Errorf("a member of another name was added")
	}
	var keys []string
	for _, key := range Expand(doc, mustKey(t, "folders.*.devices.*.introducedBy")) {
		keys = append(keys, strings.NewReplacer(own, "OWN", nas, "NAS", phone, "PHONE").Replace(key.String()))
	}
	want := []string{
		"folders.docs-7hq2.devices.NAS.introducedBy", "folders.docs-7hq2.devices.OWN.introducedBy",
		"folders.photos-x4kd.devices.NAS.introducedBy", "folders.photos-x4kd.devices.OWN.introducedBy",
		"folders.photos-x4kd.devices.PHONE.introducedBy",
	}
	if !slices.Equal(keys, want) {
		t.Errorf("expand: got %q", keys)
	}
	if got := Expand(doc, mustKey(t, "options.listenAddresses.*")); len(got) != 1 ||
		got[0].String() != "options.listenAddresses" {
		t.Errorf("expand of a plain list: got %v", got)
	}
}

func TestDiffOfWhatNobodyNamed(t *testing.T) {
	from := parsed(
		t,
		`{"folders":[{"id":"a","devices":[{"deviceID":"<NAS>"},{"deviceID":"<PHONE>"}]},{"id":"b"}],"devices":null}`,
	)
	to := parsed(
		t,
		`{"folders":[{"id":"b"},{"id":"a","devices":[{"deviceID":"<PHONE>"},{"deviceID":"<NAS>"}]}],"devices":null}`,
	)
	if got := Diff(from, to); len(got) > 0 {
		t.Errorf("moved members: got %v", got)
	}
	twice := parsed(t, `{"folders":[{"id":"a"},{"id":"a"}]}`)
	if got := diffText(twice, parsed(t,
		`{"folders":[{"id":"a"}]}`)); got != `folders: [{"id":"a"},{"id":"a"}] -> [{"id":"a"}]`+"\n" {
		t.Errorf("members that are not told apart: got %s", got)
	}
}

func TestApplyWithoutAnOwnDeviceAddsNone(t *testing.T) {
	doc, _, err := Apply(Sample(), fleet.OpSet, mustKey(t, "folders.docs-7hq2.devices"),
		parsed(t, `[{"deviceID":"<NAS>"}]`), "")
	if err != nil || Lookup(doc, mustKey(t, "folders.docs-7hq2.devices")).Len() != 1 {
		t.Fatalf("got %s, %v", diffText(Sample(), doc), err)
	}
}

func TestTheWholeDocumentCanBeSet(t *testing.T) {
	value := Replace(Sample(), mustKey(t, "gui.theme"), Text("dark"))
	value = Replace(value, Key{}.Child("version"), Value{})
	doc, skips, err := Apply(Sample(), fleet.OpSet, Key{}, value, SampleID)
	if err != nil || len(skips) > 0 || diffText(Sample(), doc) != `gui.theme: "default" -> "dark"`+"\n" {
		t.Fatalf("got %s, %v, %v", diffText(Sample(), doc), skips, err)
	}
}

func TestLargeListsAreLinear(t *testing.T) {
	const n = 20_000 // quadratic work would take minutes
	members := make([]Value, n)
	for i := range members {
		sum := [32]byte{byte(i), byte(i >> 8), byte(i >> 16)}
		members[i] = Obj(Member{"deviceID", Text(string(fleet.DeviceIDOf(sum)))})
	}
	for _, c := range []struct {
		op  fleet.Op
		key string
	}{{fleet.OpAppend, "devices"}, {fleet.OpMerge, "folders.*.devices"}, {fleet.OpSet, "folders.docs-7hq2.devices"}} {
		key := mustKey(t, c.key)
		doc, _, err := Apply(Sample(), c.op, key, List(members...), SampleID)
		if err != nil || Lookup(doc, Expand(doc, key)[0]).Len() < n {
			t.Fatalf("%s %s: %v", c.op, c.key, err)
		}
		if back := len(Diff(doc, Sample())); back < n {
			t.Fatalf("%s %s: %d changes back", c.op, c.key, back)
		}
		if _, _, err = Apply(doc, fleet.OpRemove, Expand(doc, key)[0], List(members...), SampleID); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheSampleNamesNoRealDevice(t *testing.T) {
	for _, file := range []string{"testdata/v2.1.json", "testdata/v1.19.json"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := Usable(parsed(t, string(data)), SampleID); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if !strings.Contains(string(data), "of-no-daemon") {
			t.Errorf("%s holds an API key that may be somebody's", file)
		}
	}
}
