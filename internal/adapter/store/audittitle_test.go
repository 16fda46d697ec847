package store

import (
	"testing"

	"muster/internal/fleet"
)

// What a person wrote about an act that is in no generation was nowhere.
func TestAnEntryEndsWithTheTitleOfItsAct(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Home: t.TempDir(), Seal: key(t, 1)})
	titled := fleet.WithMessage(t.Context(), `for the "night"`)
	if err := s.Record(titled, "device.apply", "x", "2 keys"); err != nil {
		t.Fatal(err)
	}
	if err := s.Record(titled, "device.apply", "x", ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Record(t.Context(), "device.apply", "x", "3 keys"); err != nil {
		t.Fatal(err)
	}
	got := must(s.Audit(t.Context(), fleet.AuditQuery{What: "device.apply", Oldest: true}))(t)
	want := []string{`2 keys; title: "for the \"night\""`, `title: "for the \"night\""`, "3 keys"}
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i := range want {
		if got[i].Detail != want[i] {
			t.Errorf("got %q, want %q", got[i].Detail, want[i])
		}
	}
}
