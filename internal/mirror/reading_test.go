package mirror

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"muster/internal/fleet"
)

func document(folders string) []byte {
	return []byte(fmt.Sprintf(`{"version":36,"folders":[%s],"devices":[{"deviceID":%q,"name":"laptop"}],"gui":{"enabled":true,"apiKey":"k"}}`, folders, id(1)))
}

func TestReadConfig(t *testing.T) {
	r, err := ReadConfig(id(1), document(`{"id":"a","label":"A","path":"/a"},{"id":"b/ü","paused":true}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := []fleet.FolderLabel{{Folder: "a", Label: "A"}, {Folder: "b/ü"}}; !slices.Equal(r.Folders, want) {
		t.Fatalf("folders %v", r.Folders)
	}
	if r.Paused["a"] || !r.Paused["b/ü"] {
		t.Fatalf("paused %v", r.Paused)
	}
	spaced := strings.ReplaceAll(string(document(`{"path":"/a","label":"A","id":"a"},{"id":"b/ü","paused":true}`)), ",",
		" ,\n")
	same, err := ReadConfig(id(1), []byte(spaced))
	if err != nil || same.Digest != r.Digest {
		t.Fatalf("another digest for the same configuration written otherwise: %v", err)
	}
	if other, err := ReadConfig(id(1), document(`{"id":"a","label":"B","path":"/a"}`)); err != nil ||
		other.Digest == r.Digest {
		t.Fatalf("the same digest for another configuration: %v", err)
	}
}

func TestReadConfigLeavesOutFoldersThatNobodyNames(t *testing.T) {
	long := strings.Repeat("x", maxFolderBytes)
	r, err := ReadConfig(id(1), document(fmt.Sprintf(`{"id":%q,"paused":true},{"id":%q}`, long+"x", long)))
	if err != nil || len(r.Folders) != 1 || r.Folders[0].Folder != long || len(r.Paused) != 0 {
		t.Fatalf("read %d folders, %d of them paused, %v", len(r.Folders), len(r.Paused), err)
	}
}

func TestReadConfigBelievesNoNonsense(t *testing.T) {
	for name, doc := range map[string]string{
		"no JSON":               "<html>",
		"a list":                "[]",
		"empty":                 "{}",
		"no version":            strings.Replace(string(document("")), `"version":36,`, "", 1),
		"no own device":         strings.Replace(string(document("")), string(id(1)), string(id(2)), 1),
		"no API key":            strings.Replace(string(document("")), `"apiKey":"k"`, `"apiKey":""`, 1),
		"a folder without ID":   string(document(`{"label":"x"}`)),
		"a folder with a zero":  string(document(`{"id":"a\u0000b"}`)),
		"a label with a zero":   string(document(`{"id":"a","label":"\u0000"}`)),
		"a folder that is text": string(document(`"a"`)),
		"a folder twice":        string(document(`{"id":"a"},{"id":"a"}`)),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadConfig(id(1), []byte(doc))
			var e *fleet.Error
			if !errors.As(err, &e) || e.Code != fleet.CodeUnbelievable || e.Message == "" || e.Hint == "" {
				t.Fatalf("got %#v", err)
			}
		})
	}
}
