package mirror

import (
	"testing"

	"muster/internal/fleet"
)

func TestConfigurationsThatWaitToBeTakenAreBounded(t *testing.T) {
	m := New(Options{})
	const many = 10
	for i := range many {
		m.announce(fleet.DeviceID(rune('a'+i)), fleet.ObservedConfig{JSON: make([]byte, maxHandedBytes/4)})
	}
	m.announce("far too large", fleet.ObservedConfig{JSON: make([]byte, 17<<20)})
	held := 0
	for i := range many {
		if id := fleet.DeviceID(rune('a' + i)); m.TakeConfig(id) != nil {
			held++
			if m.TakeConfig(id) != nil {
				t.Errorf("%s was given twice", id)
			}
		}
	}
	if held != 4 {
		t.Errorf("%d configurations waited, want 4", held)
	}
	if m.TakeConfig("far too large") != nil {
		t.Error("a configuration of 17 MiB waited in memory")
	}
	if m.announce("a", fleet.ObservedConfig{JSON: make([]byte, maxHandedBytes)}); m.TakeConfig("a") == nil {
		t.Error("the bytes of what was taken still count")
	}
}

func TestARemovedDeviceHandsNoConfigurationOver(t *testing.T) {
	m := New(Options{})
	m.Put(fleet.Registered{Device: fleet.Device{ID: "a"}}, true)
	m.announce("a", fleet.ObservedConfig{JSON: []byte("{}")})
	m.Remove("a")
	if m.TakeConfig("a") != nil {
		t.Error("the configuration of a device that was removed could be taken")
	}
}
