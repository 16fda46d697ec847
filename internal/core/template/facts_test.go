package template

import (
	"bytes"
	"slices"
	"testing"

	"muster/internal/fleet"
)

func TestDigestsTellFleetsApart(t *testing.T) {
	devices := someDevices()
	first := NewFleet(devices)
	slices.Reverse(devices)
	if again := NewFleet(devices); again.Digest() != first.Digest() || again.TagsDigest() != first.TagsDigest() {
		t.Error("the order of the devices changes the digest")
	}
	changes := map[string]func(*Facts){
		"deviceID": func(f *Facts) { f.DeviceID = "ZZZZ" }, "label": func(f *Facts) { f.Label += "x" },
		"tags":       func(f *Facts) { f.Tags = []fleet.Tag{"hub", "linux", "new"} },
		"apiAddress": func(f *Facts) { f.APIAddress = "x" },
		"apiPort":    func(f *Facts) { f.APIPort++ }, "os": func(f *Facts) { f.OS = "x" },
		"arch":    func(f *Facts) { f.Arch = "x" },
		"version": func(f *Facts) { f.Version = "x" },
	}
	for _, name := range factNames {
		changed := someDevices()
		changes[name](&changed[0])
		got := NewFleet(changed)
		if got.Digest() == first.Digest() {
			t.Errorf("another %s does not change the digest", name)
		}
		if sameTags := got.TagsDigest() == first.TagsDigest(); sameTags == (name == "tags") {
			t.Errorf("another %s: the same tags? %t", name, sameTags)
		}
		read := fleet.FactsNamed([]string{name})
		if before, after := someDevices()[0].AppendDigest(nil, read),
			changed[0].AppendDigest(nil, read); bytes.Equal(before, after) {
			t.Errorf("another %s does not change the digest of that fact", name)
		}
		for _, other := range factNames {
			read := fleet.FactsNamed([]string{other})
			if before, after := someDevices()[0].AppendDigest(nil, read), changed[0].AppendDigest(nil, read); other != name &&
				!bytes.Equal(before, after) {
				t.Errorf("another %s changes the digest of %s", name, other)
			}
		}
	}
	for name, peer := range map[string]*Peer{"vars": {Vars: `{"x":1}`}, "addresses": {Addresses: []string{"tcp://a"}}, "peer": {}} {
		changed := someDevices()
		changed[0].Peer = peer
		if NewFleet(changed).Digest() == first.Digest() {
			t.Errorf("another %s of a peer does not change the digest", name)
		}
	}
	if (*Fleet)(nil).Digest() == first.Digest() || (*Fleet)(nil).Devices() != nil {
		t.Error("no fleet is some fleet")
	}
}
