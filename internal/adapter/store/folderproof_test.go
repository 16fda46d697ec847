package store

import (
	"testing"
	"time"
)

func TestWhatIsProvenOfAFolderIsKeptForItAlone(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		if got := must(s.FolderProofs(t.Context(), "docs"))(t); got != nil {
			t.Fatalf("got %q of a folder that was never proven", got)
		}
		for _, proofs := range []string{"first", "second"} {
			if err := s.PutFolderProofs(t.Context(), "docs", []byte(proofs)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, options)
		if got := must(s.FolderProofs(t.Context(), "docs"))(t); string(got) != "second" {
			t.Errorf("got %q", got)
		}
		must(write(t.Context(), s, "forge", func(t *tx) (none struct{}, err error) {
			return none, t.exec(`UPDATE folder_proofs SET folder = 'music'`)
		}))(t)
		if got, err := s.FolderProofs(t.Context(), "music"); err == nil {
			t.Errorf("what was proven of another folder is read as %q", got)
		}
	})
}

func TestWhatIsProvenIsForgottenAfterHalfAYear(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		clock := &stoppedClock{at: time.Now()}
		options.Now = clock.now
		s := open(t, options)
		for _, folder := range []string{"docs", "music"} {
			if err := s.PutFolderProofs(t.Context(), folder, []byte(folder)); err != nil {
				t.Fatal(err)
			}
			clock.move(proofsKeptFor + time.Hour)
		}
		if got := must(s.FolderProofs(t.Context(), "docs"))(t); got != nil {
			t.Errorf("got %q", got)
		}
		if got := must(s.FolderProofs(t.Context(), "music"))(t); string(got) != "music" {
			t.Errorf("got %q", got)
		}
	})
}
