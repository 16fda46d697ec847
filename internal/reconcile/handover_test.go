package reconcile_test

import (
	"bytes"
	"testing"
	"testing/synctest"
)

func TestAConfigurationThatWasJustKeptIsNotReadAgain(t *testing.T) {
	for name, test := range map[string]struct{ padding, wantDocuments int }{
		"usual":                           {0, 0},
		"far too large to wait in memory": {17 << 20, 1},
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
				kept.JSON = append(bytes.Clone(kept.JSON), bytes.Repeat([]byte(" "), test.padding)...)
				before := b.store.documents
				b.engine.ConfigKept(b.id, kept)
				synctest.Wait()
				b.want("options.natEnabled", "false")
				if got := b.store.documents - before; got != test.wantDocuments {
					t.Errorf("%d documents were read from the store, want %d", got, test.wantDocuments)
				}
			})
		})
	}
}
