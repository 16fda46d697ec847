package tunnel

import (
	"fmt"
	"testing"
	"time"

	"muster/internal/fleet"
)

func TestAgentsThatComeAndGoDoNotFloodTheEvents(t *testing.T) {
	l, now := NewEventLimit(), time.Now()
	told, left := 0, 0
	for range 10_000 { // ten a second
		now = now.Add(100 * time.Millisecond)
		is, leftOut := l.Admit("FLAPPING", 2, now)
		left += leftOut
		if is {
			told++
		}
	}
	if told < 40 || told > 60 || left < 9_000 {
		t.Errorf("of one device %d were told, and %d were left out", told, left)
	}
	if is, _ := l.Admit("QUIET", 2, now); !is {
		t.Error("news of another device were left out")
	}
	told = 0
	for i := range 10_000 { // each time another certificate
		now = now.Add(time.Millisecond)
		if is, _ := l.Admit(fleet.DeviceID(fmt.Sprint(i)), 0, now); is {
			told++
		}
	}
	if told > eventsOfOthers+11 || len(l.ofDevice) > 2 {
		t.Errorf("of strangers %d were told, and %d are remembered", told, len(l.ofDevice))
	}
	for i := range 100 { // devices that were deleted since
		l.Admit(fleet.DeviceID(fmt.Sprint(i)), 2, now)
	}
	if len(l.ofDevice) > 3 {
		t.Errorf("%d devices are remembered", len(l.ofDevice))
	}
}
