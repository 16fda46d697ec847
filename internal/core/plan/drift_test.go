package plan

import (
	"fmt"
	"testing"
	"time"

	"muster/internal/core/stconfig"
)

// drifting are changes at keys that somebody set back; revoked says that they take away a revoked device.
func drifting(t *testing.T, revoked bool, keys ...string) (changes []Change) {
	t.Helper()
	for _, text := range keys {
		key, err := stconfig.ParseKey(text)
		if err != nil {
			t.Fatal(err)
		}
		changes = append(changes, Change{Key: key, Class: Free, Drift: true, revoked: revoked})
	}
	return changes
}

// manyKeys are as many keys as Muster counts of a device, each with a number.
func manyKeys(format string, from int) (keys []string) {
	for n := range maxTracked {
		keys = append(keys, fmt.Sprintf(format, from+n))
	}
	return keys
}

// A daemon that showed shares with a revoked device in ever new folders had Muster count each of them, for ever.
func TestDriftsAreCountedOfAsManyKeysAsThereIsRoomFor(t *testing.T) {
	const nora = "P56IOI7-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2"
	now, stops := time.Unix(1e9, 0), NewStops()
	passes := 0
	count := func(changes []Change) {
		passes++
		stops.CountDrift(changes, fmt.Sprintf("document %d", passes), now)
		stops.CountUnmoved(Plan{Changes: changes}, Plan{}, nil, now) // They are corrected.
	}
	back := func(when string, want int) {
		t.Helper()
		told := stops.BroughtBack()
		if len(told) != 1 || told[0].Answers != want || !told[0].Since.Equal(now) {
			t.Errorf("%s: want told %d times, got %+v", when, want, told)
		}
	}
	for pass := range 2 {
		shares := manyKeys("folders.f%d.devices."+nora, pass*maxTracked)
		count(drifting(t, true, append(shares, "devices."+nora)...))
		back("with a thousand shares", pass+1)
	}
	if len(stops.drifts) != 1 {
		t.Errorf("counts are kept of %d keys, want that of the device", len(stops.drifts))
	}
	for pass := range 3 {
		count(drifting(t, false, manyKeys("folders.f%d.label", pass*maxTracked)...))
	}
	if len(stops.drifts) != maxTracked {
		t.Errorf("counts are kept of %d keys, want %d", len(stops.drifts), maxTracked)
	}
	const otto = "MFZWI3D-BONSGYC-YLTMRWG-C43ENR5-QXGZDMM-FZWI3DP-BONSGYY-LTMRWAD"
	count(drifting(t, true, "devices."+otto))
	if told := stops.BroughtBack(); len(told) != 2 {
		t.Errorf("when there is no more room, told are %+v", told)
	}
	now = now.Add(contendedWithin)
	count(nil)
	if len(stops.drifts) != 0 {
		t.Errorf("an hour later counts are kept of %d keys", len(stops.drifts))
	}
}
