package stconfig

import (
	"testing"

	"muster/internal/fleet"
)

var keySeeds = []string{
	"", " ", "options.natEnabled", "OPTIONS.NATENABLED", "folders.photos.devices." + other, `folders."a.b".label`,
	"folders.*.paused",
	`folders."*"`, `folders."\u00e4\ud83d\ude00\""`, "devices.abc", "a..b", ".", `"`, `""`, `"gui".theme`, `folders."a"b`,
	"version",
	"*", "folders.**", "ignores.x", "defaults.folder.versioning.params.Keep", "folders.a b.c", "folders. a",
	"folders.\x00", "folders.\xff",
	"options.max\u017fendKbps", "devices.p56ioi7mzjnu2yiqgdreydm2mgtimgl3bxnpq6w5bmtbbz4tjxzwicq2",
	"folders.x.devices.*.encryptionPassword",
}

func FuzzKey(f *testing.F) {
	for _, seed := range keySeeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkKey(t, text)
		key, err := ParseKey(text)
		if err != nil {
			if e, ok := err.(*fleet.Error); !ok || e.Code != fleet.CodeInvalid || e.Details[0].Column < 1 {
				t.Fatalf("%q: got %v, want an invalid error with its column", text, err)
			}
			return
		}
		SecretKey(key)
		for _, k := range Expand(Sample(), key) {
			if !Lookup(Sample(), k).Exists() || !k.Matches(key) && k.Len() == key.Len() {
				t.Fatalf("%s expands to %s", key, k)
			}
		}
	})
}

var docSeeds = []string{
	`{}`, `[]`, `{"folders":null}`, `{"folders":{},"devices":[1]}`, `{"folders":[{"id":"a"},{"id":"a"}]}`,
	`{"folders":[{"ID":"a","id":"b"}]}`,
	`{"options":{"a":1,"A":2},"OPTIONS":{"a":3}}`,
	`{"folders":[{"id":"photos","devices":[{"deviceID":"x"}],"versioning":{"params":{"A":"1","a":"2"}}}]}`,
	`{"devices":[{"deviceID":"` + other + `"}],"defaults":{"device":null,"folder":{"id":"","devices":[]}}}`,
	`{"ignores":{"a":["x"]}}`,
	`{"folders":[{"id":"a","devices":null,"minDiskFree":null}],"gui":{"apiKey":null}}`,
}

func FuzzOps(f *testing.F) {
	for _, doc := range docSeeds {
		for _, op := range ops {
			f.Add([]byte(doc), string(op), "folders.a.devices", []byte(`[{"deviceID":"`+other+`"}]`))
			f.Add([]byte(doc), string(op), "", []byte(doc))
			f.Add([]byte(doc), string(op), "folders.*", []byte(`{"versioning":{"params":{"b":"1"}},"devices":[]}`))
		}
	}
	f.Add(Sample().JSON(), "set", "folders.*.devices.*", []byte(`{"encryptionPassword":"x"}`))
	f.Add(Sample().JSON(), "remove", "folders.*.versioning.params.*", []byte(`true`))
	f.Fuzz(func(t *testing.T, docText []byte, op, keyText string, valueText []byte) {
		doc, err := Parse(docText)
		if err != nil {
			return
		}
		value, err := Parse(valueText)
		if err != nil {
			return
		}
		key, err := ParseKey(keyText)
		if err != nil {
			return
		}
		parsedOp, err := fleet.ParseOp(op)
		if err != nil {
			return
		}
		checkApply(t, doc, parsedOp, key, value)
	})
}

func FuzzDiff(f *testing.F) {
	for _, from := range docSeeds {
		for _, to := range docSeeds {
			f.Add([]byte(from), []byte(to))
		}
	}
	f.Add(Sample().JSON(), []byte(`{"version":52}`))
	f.Fuzz(func(t *testing.T, fromText, toText []byte) {
		from, err := Parse(fromText)
		if err != nil {
			return
		}
		to, err := Parse(toText)
		if err != nil {
			return
		}
		checkDiff(t, from, to)
		Mask(from)
		normal := Normalise(from)
		if again := Normalise(normal); string(again.JSON()) != string(normal.JSON()) {
			t.Fatalf("normalise is not stable: %s, then %s", normal.JSON(), again.JSON())
		}
	})
}
