package reconcile_test

import (
	"testing"
	"testing/synctest"
)

func TestAConfigurationThatWasJustKeptIsNotReadAgain(t *testing.T) {
	for name, test := range map[string]struct {
		handed        bool
		wantDocuments int
	}{
		"usual":                               {true, 0},
		"too much waited in memory before it": {false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b := newBench(t, noNAT)
				b.start()
				defer b.stop()
				b.daemon.edit("options.natEnabled", "true")
				kept, err := b.daemon.Config(t.Context(), b.id)
				if err != nil {
					t.Fatal(err)
				}
				if test.handed {
					b.daemon.mu.Lock()
					b.daemon.kept = &kept
					b.daemon.mu.Unlock()
				}
				before := b.store.documents
				b.engine.ConfigObserved(b.id)
				synctest.Wait()
				b.want("options.natEnabled", "false")
				if got := b.store.documents - before; got != test.wantDocuments {
					t.Errorf("%d documents were read from the store, want %d", got, test.wantDocuments)
				}
			})
		})
	}
}
