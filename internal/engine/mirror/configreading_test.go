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
	return []byte(
		fmt.Sprintf(
			`{"version":36,"folders":[%s],"devices":[{"deviceID":%q,"name":"laptop"}],"gui":{"enabled":true,"apiKey":"k"}}`,
			folders,
			id(1),
		),
	)
}

func TestReadConfig(t *testing.T) {
	r, err := ReadConfig(id(1), document(`{"id":"a","label":"A","path":"/a"},{"id":"b/ü","paused":true}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := []fleet.FolderLabel{{Folder: "a", Label: "A"}, {Folder: "b/ü"}}; !slices.Equal(r.Folders, want) {
		t.Fatalf("folders %v", r.Folders)
	}
	want := []fleet.SharedFolder{{Folder: "a", Path: "/a", Type: fleet.SendReceive},
		{Folder: "b/ü", Type: fleet.SendReceive, Paused: true}}
	if !slices.Equal(r.Shares, want) {
		t.Fatalf("shares %+v", r.Shares)
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
	if err != nil || len(r.Folders) != 1 || r.Folders[0].Folder != long || len(r.Shares) != 1 ||
		r.Shares[0].Paused {
		t.Fatalf("read %d folders, %d shares, %v", len(r.Folders), len(r.Shares), err)
	}
}

func TestReadConfigTellsHowFoldersAreShared(t *testing.T) {
	members := func(ids ...fleet.DeviceID) string {
		var all []string
		for _, id := range ids {
			all = append(all, fmt.Sprintf(`{"deviceID":%q}`, id))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	doc := strings.Replace(
		string(document(`{"id":"z","type":"sendonly","path":"/z","devices":`+members(id(3), id(1), id(2))+`},
		{"id":"a","type":"receiveencrypted","paused":true,"devices":`+members(id(1))+`},
		{"id":"odd","type":"x","path":"`+strings.Repeat("/", maxPathBytes+1)+`","devices":[{"deviceID":"x"},7]}`)),
		`"name":"laptop"}`,
		fmt.Sprintf(`"name":"laptop"},{"deviceID":%q,"paused":true}`, id(3)),
		1,
	)
	r, err := ReadConfig(id(1), []byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	if all := slices.Collect(r.ConfiguredPeers.All()); !slices.Contains(all, id(1)) || !slices.Contains(all, id(3)) {
		t.Errorf("it has the devices %v", all)
	}
	s := Snapshot{Device: id(1), Shares: r.Shares, PausedPeers: r.PausedPeers}
	if got, known := s.Share("z"); !known || got.Type != fleet.SendOnly || got.Path != "/z" || got.Paused ||
		got.With != fleet.PeersOf([]fleet.DeviceID{id(1), id(2), id(3)}) {
		t.Errorf("folder z: %+v, %v", got, known)
	}
	if got := slices.Sorted(s.Sharers("z")); len(got) != 2 || slices.Contains(got, id(1)) {
		t.Errorf("z is shared with %v", got)
	}
	if got, known := s.Share("a"); !known || got.Type != fleet.ReceiveEncrypted || !s.IsPaused("a") || s.IsPaused("z") {
		t.Errorf("folder a: %+v, %v", got, known)
	}
	if got, known := s.Share(
		"odd",
	); !known || got.Type != fleet.FolderTypeUnknown || got.Path != "" ||
		got.With.Len() != 0 {
		t.Errorf("folder odd: %+v, %v", got, known)
	}
	if _, known := s.Share("b"); known {
		t.Error("a folder that the device has not is shared")
	}
	if !s.PausesPeer(id(3)) || s.PausesPeer(id(2)) {
		t.Errorf("pauses %v", slices.Collect(s.PausedPeers.All()))
	}
}

// A daemon that names a million devices in its folders costs no more memory than others may.
func TestReadConfigBoundsHowFoldersAreShared(t *testing.T) {
	var folders []string
	for i := range 300 {
		var members []string
		for j := range 200 {
			members = append(members, fmt.Sprintf(`{"deviceID":%q}`, id(i*200+j)))
		}
		folders = append(folders, fmt.Sprintf(`{"id":"f%03d","devices":[%s]}`, i, strings.Join(members, ",")))
	}
	r, err := ReadConfig(id(1), document(strings.Join(folders, ",")))
	if err != nil || len(r.Folders) != 300 {
		t.Fatalf("%d folders, %v", len(r.Folders), err)
	}
	size := 0
	for _, share := range r.Shares {
		size += share.With.Size()
	}
	if size > maxShareBytes || size < maxShareBytes/2 {
		t.Errorf("%d bytes are kept", size)
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
