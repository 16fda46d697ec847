package view

import (
	"fmt"
	"testing"

	"muster/internal/fleet"
)

func TestTheBytesOfAnswersAreThoseThatAreKept(t *testing.T) {
	var a answers
	want := func(when string, answers int, bytes int64) {
		t.Helper()
		if len(a.kept) != answers || a.bytes != bytes {
			t.Errorf("%s: %d answers of %d bytes, want %d of %d", when, len(a.kept), a.bytes, answers, bytes)
		}
	}
	a.put(1, "a", "a", 10)
	a.put(1, "b", "b", 5)
	want("two answers", 2, 15)
	a.put(1, "a", "again", 30)
	want("one replaced", 2, 35)
	a.put(1, "a", "all that there is room for", maxAnswerBytes-5)
	want("replaced by a large one", 2, maxAnswerBytes)
	a.put(1, "b", "too large", 6)
	if answer, _ := a.get(1, "b"); answer != "b" {
		t.Errorf("got %v", answer)
	}
	a.put(2, "a", "a", 7)
	want("another state", 1, 7)
	for i := range maxAnswers + 3 {
		a.put(2, fmt.Sprint(i), i, 1)
	}
	want("too many", maxAnswers, 7+maxAnswers-1)
	a.clear()
	want("cleared", 0, 0)
}

func TestPagesGoWhenARowIsReplaced(t *testing.T) {
	w, registry := newWorld(), registryOf(idA)
	w.put(idA, fleet.State{Connection: fleet.Online}, fleet.Snapshot{})
	v := w.view()
	v.Wire = plainWire{}
	for range 2 { // the second one joins the page
		if _, err := v.Inventory(t.Context(), registry, Query{}); err != nil {
			t.Fatal(err)
		}
	}
	p := v.partOf(t.Context())
	if len(p.pages.kept) != 1 {
		t.Errorf("%d pages are kept", len(p.pages.kept))
	}
	w.put(idA, fleet.State{Connection: fleet.Unreachable}, fleet.Snapshot{})
	if _, err := v.Row(t.Context(), registry, idA); err != nil || len(p.pages.kept) != 0 {
		t.Errorf("%d pages are kept, %v", len(p.pages.kept), err)
	}
}
