package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

func aSink() fleet.Sink {
	return fleet.Sink{Name: "siem", Kind: fleet.SinkHTTP, Address: "https://siem.example/in",
		Headers: map[string]fleet.Secret{"Authorization": fleet.NewSecret("Bearer one")}}
}

func entryFor(number int64, kind fleet.LogKind) fleet.LogEntry {
	return fleet.LogEntry{Number: number, At: time.Unix(number, 0), Device: fleet.DeviceIDOf([32]byte{1}), Kind: kind,
		State: "stopped"}
}

func TestANewSinkBeginsNow(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		ctx := as(t, fleet.RoleAdmin)
		if err := s.PutLogEntries(ctx, []fleet.LogEntry{entryFor(7, fleet.LogFolder)}); err != nil {
			t.Fatal(err)
		}
		saved, created, err := s.PutSink(ctx, aSink())
		if err != nil || !created || len(saved.Streams) != 4 {
			t.Fatalf("got %+v, %v, %v", saved, created, err)
		}
		cursors := must(s.SinkCursors(ctx))(t)
		entries := must(s.Audit(ctx, fleet.AuditQuery{What: "sink.put"}))(t)
		if got := cursors["siem"]; got.Log != 7 || len(entries) != 1 || got.Audit != entries[0].ID-1 {
			t.Errorf("the cursor is %+v, the entry about the sink %+v", got, entries)
		}
		if strings.Contains(entries[0].Detail, "/in") || !strings.Contains(entries[0].Detail, "https://siem.example") {
			t.Errorf("the audit has %q", entries[0].Detail)
		}
		if err := s.DeleteSink(ctx, "siem"); err != nil {
			t.Fatal(err)
		}
		if left := must(s.SinkCursors(ctx))(t); len(left) != 0 || len(s.Sinks()) != 0 {
			t.Errorf("left are %v and %v", left, s.Sinks())
		}
		if err := s.DeleteSink(ctx, "siem"); fleet.CodeOf(err) != fleet.CodeNotFound {
			t.Error(err)
		}
	})
}

// A log-in that is stored for one server must not reach a server that somebody names later.
func TestHeadersOfASinkDoNotGoToAnotherAddress(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		ctx := as(t, fleet.RoleAdmin)
		putSink(t, s, aSink())
		same := aSink()
		same.Headers, same.Streams = nil, []fleet.SinkStream{fleet.StreamAudit}
		saved := putSink(t, s, same)
		if got := saved.Headers["Authorization"]; got.Reveal() != "Bearer one" {
			t.Errorf("the header is %q", got.Reveal())
		}
		same.Address = "https://thief.example/in"
		if _, _, err := s.PutSink(ctx, same); fleet.CodeOf(err) != fleet.CodeInvalid {
			t.Error("another address gets the header:", err)
		}
		same.Headers = map[string]fleet.Secret{}
		if saved := putSink(t, s, same); len(saved.Headers) != 0 {
			t.Errorf("the headers are %v", saved.Headers)
		}
	})
}

func putSink(t *testing.T, s *Store, sink fleet.Sink) fleet.Sink {
	t.Helper()
	saved, _, err := s.PutSink(as(t, fleet.RoleAdmin), sink)
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

func TestWhatIsDeletedBeforeASinkTookItIsCounted(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		ctx := as(t, fleet.RoleAdmin)
		sink := aSink()
		sink.Streams = []fleet.SinkStream{fleet.StreamSync}
		putSink(t, s, sink)
		var entries []fleet.LogEntry
		for i := range int64(10) {
			entries = append(entries, entryFor(i+1, []fleet.LogKind{fleet.LogFolder, fleet.LogOrder}[i%2]))
		}
		if err := s.PutLogEntries(ctx, entries); err != nil {
			t.Fatal(err)
		}
		from := must(s.SinkCursors(ctx))(t)["siem"]
		if err := s.AdvanceSink(ctx, "siem", from, fleet.SinkProgress{Log: 2, Audit: -1, Sent: 1}); err != nil {
			t.Fatal(err)
		}
		must(s.ForgetLogEntries(ctx, entries[0].Device, 4))(t)     // 3 is lost, 1, 2 and 4 are not
		must(s.ForgetOldLogEntries(ctx, time.Unix(7, 0), 1000))(t) // 5 is lost, 6 is not
		got := must(s.SinkCursors(ctx))(t)["siem"]
		if got.Lost != 2 || got.Sent != 1 || got.Audit != -1 {
			t.Errorf("the cursor is %+v", got)
		}
		refused := []fleet.SinkRefusal{{Stream: fleet.StreamSync, Number: 7, At: time.Unix(9, 0), Reason: "it answers 400"}}
		err := s.AdvanceSink(ctx, "siem", got, fleet.SinkProgress{Log: 7, Audit: -1, Reported: 2, Refused: refused})
		if err != nil {
			t.Fatal(err)
		}
		// A runner that read the cursor before does not move it.
		if err := s.AdvanceSink(ctx, "siem", got, fleet.SinkProgress{Log: 9, Audit: -1, Sent: 5}); err != nil {
			t.Fatal(err)
		}
		got = must(s.SinkCursors(ctx))(t)["siem"]
		if want := (fleet.SinkCursor{Log: 7, Audit: -1, Sent: 1, Gaps: 2, Dead: 1}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if letters := must(s.SinkRefusals(ctx, "siem"))(t); fmt.Sprint(letters) != fmt.Sprint(refused) {
			t.Errorf("the dead letters are %v", letters)
		}
		if waits := must(s.SinkWaits(ctx, 100))(t)["siem"]; waits != 1 {
			t.Errorf("%d entries wait, want that with the number 9", waits)
		}
		if waits := must(s.SinkWaits(ctx, 0))(t)["siem"]; waits != 0 {
			t.Errorf("%d entries wait, and none was to be counted", waits)
		}
		for since, want := range map[int64]int64{9: 7, 7: 6} { // A replay never skips what was not sent yet.
			if err := s.RewindSink(ctx, "siem", time.Unix(since, 0)); err != nil {
				t.Fatal(err)
			}
			if got := must(s.SinkCursors(ctx))(t)["siem"]; got.Log != want && since == 7 || got.Log > 7 {
				t.Errorf("after a replay since %d the cursor is %+v", since, got)
			}
		}
	})
}

func TestTheAuditIsNotCutBeforeEverySinkTookIt(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		clock := &stoppedClock{at: time.Now()}
		options = withEndFile(t, options)
		options.Now = clock.now
		s := filled(t, options)
		putSink(t, s.Store, aSink())
		taken := must(s.SinkCursors(t.Context()))(t)["siem"]
		s.token("old", fleet.RoleViewer)
		clock.move(48 * time.Hour)
		s.token("young", fleet.RoleViewer)
		must(s.CutAudit(t.Context(), 24*time.Hour))(t)
		if left := s.entries(); left[0].ID != taken.Audit+1 {
			t.Errorf("the audit begins with %+v, the sink took up to %d", left, taken.Audit)
		}
	})
}
