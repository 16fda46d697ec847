package store

import (
	"bytes"
	"context"
	"io"
	"testing"

	"muster/internal/engine/budget"
)

// tries is how often work is begun until it has the memory that it needs.
func tries(t *testing.T, memory *budget.WorkMemory, work func(context.Context) error) (n int) {
	t.Helper()
	err := memory.Do(t.Context(), func(ctx context.Context) error {
		n++
		return work(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A configuration that packs well takes a thousand times its place on disk, for each of those who read it.
func TestALargeConfigurationIsReadOnceThereIsMemory(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		memory := budget.NewWorkMemory()
		options.Memory = memory
		s := open(t, options)
		d := put(t, s, deviceN(1))
		text := []byte(`{"a":"` + string(bytes.Repeat([]byte("x"), 3<<20)) + `"}`)
		observe(t, s, fullObservation(d.ID, "small"))
		large := fullObservation(d.ID, "large")
		large.Config.JSON = text
		observe(t, s, large)
		for name, want := range map[string]struct {
			number int64
			tries  int
		}{"small": {1, 1}, "large": {2, 2}} {
			got := tries(t, memory, func(ctx context.Context) error {
				_, err := s.Revision(ctx, d.ID, want.number)
				return err
			})
			if got != want.tries {
				t.Errorf("the %s one is read in %d tries, want %d", name, got, want.tries)
			}
		}
		revision, err := s.Revision(t.Context(), d.ID, 2)
		if err != nil || !bytes.Equal(revision.JSON, text) {
			t.Errorf("%d bytes, %v; want %d", len(revision.JSON), err, len(text))
		}
		_, document, err := s.NewestDocument(t.Context(), d.ID)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got, err := io.ReadAll(document.Open()); err != nil || !bytes.Equal(got, text) {
				t.Errorf("%d bytes, %v; want %d", len(got), err, len(text))
			}
		}
	})
}
