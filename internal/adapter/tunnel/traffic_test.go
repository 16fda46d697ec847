package tunnel

import "testing"

// Each answer that ended left room for what was not read of it: an agent could send two megabytes of frames that meant
// nothing, which cost the server a quarter of a second.
func TestAnAnswerThatEndedLeavesNoRoomForFrames(t *testing.T) {
	t.Parallel()
	var m meter
	for range 100 {
		m.begin()
		if beyond := m.charge(400); beyond != 0 {
			t.Fatalf("%d bytes of an answer count as frames that nothing asked for", beyond)
		}
		m.finish()
	}
	if beyond := m.charge(1 << 20); beyond != 1<<20 {
		t.Errorf("%d bytes of 1 MiB count", beyond)
	}
	m.begin() // a poll
	for range 100 {
		m.begin()
		m.charge(400)
		m.finish()
	}
	if beyond := m.charge(requestBytes + 1); beyond != 1 {
		t.Errorf("beside other answers %d bytes of one count", beyond)
	}
}

// Of answers that are given up some bytes come afterwards.
func TestAnswersThatWereGivenUpAreAwaited(t *testing.T) {
	t.Parallel()
	var m meter
	for range maxStreams {
		m.begin() // and no end
	}
	m.begin()
	m.finish()
	if beyond := m.charge((maxStreams - 1) * requestBytes); beyond != 0 {
		t.Errorf("%d bytes count as frames that nothing asked for", beyond)
	}
}
