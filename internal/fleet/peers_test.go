package fleet

import (
	"fmt"
	"slices"
	"testing"
)

func TestPeers(t *testing.T) {
	id := func(n byte) DeviceID { return DeviceIDOf([32]byte{n}) }
	all := []DeviceID{id(3), id(1), id(200), id(2), id(1)}
	set := PeersOf(append(all, "no ID", ""))
	if set.Len() != 4 || set.Size() != 4*len(id(1)) || set != PeersOf([]DeviceID{id(200), id(3), id(2), id(1)}) {
		t.Fatalf("%d devices in %d bytes", set.Len(), set.Size())
	}
	if got := slices.Collect(set.All()); !slices.IsSorted(got) || len(got) != 4 {
		t.Errorf("all are %v", got)
	}
	for n := range byte(255) {
		if want := slices.Contains(all, id(n)); set.Has(id(n)) != want {
			t.Errorf("device %d is in it: %v", n, !want)
		}
	}
	if set.Has("") || set.Has("no ID") || (Peers{}).Has(id(1)) || (Peers{}).Len() != 0 || PeersOf(nil) != (Peers{}) {
		t.Error("what is in no set is in one")
	}
	with := set.With(id(9))
	if !with.Has(id(9)) || with.Without(id(9)) != set || set.With(id(1)) != set || set.Without(id(9)) != set ||
		(Peers{}).With(id(1)).Without(id(1)) != (Peers{}) || set.With("no ID") != set {
		t.Error("sets with and without a device are not what they are to be")
	}
}

func TestFolderTypes(t *testing.T) {
	for text, want := range map[string]FolderType{"sendreceive": SendReceive, "": SendReceive, "readwrite": SendReceive,
		"sendonly": SendOnly, "readonly": SendOnly, "receiveonly": ReceiveOnly, "receiveencrypted": ReceiveEncrypted,
		"other": FolderTypeUnknown} {
		if got := ParseFolderType(text); got != want {
			t.Errorf("%q is %q", text, fmt.Sprint(got))
		}
	}
	if SendOnly.String() != "sendonly" || FolderType(99).String() != "" {
		t.Error("types are not written as they are read")
	}
}
