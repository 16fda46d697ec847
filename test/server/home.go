package server

import (
	"context"

	"muster/internal/adapter/seal"
	"muster/internal/adapter/store"
	"muster/internal/adapter/store/storetest"
)

// PreparedHome is a new home that has the key and the tables already, and nothing else: a server takes a second of
// computing to make them with the race detector.
var PreparedHome = storetest.Prepared(func(home string) error {
	keys, err := seal.Make(home)
	if err != nil {
		return err
	}
	made, err := store.Open(context.Background(), store.Options{Home: home, Seal: keys})
	if err != nil {
		return err
	}
	return made.Close()
})
