// Command night simulates daemons as muster sim does, and has a bad night among them once a line comes in: 215 folders
// are behind, 3 are stopped, and 40 daemons are gone. It is for screenshots.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"

	"muster/internal/stsim"
)

const (
	behind  = 215
	stopped = 3
	gone    = 40
)

func main() {
	count := flag.Int("count", 2000, "number of daemons, at least 600")
	flag.Parse()
	if err := run(*count); err != nil {
		fmt.Fprintln(os.Stderr, "night:", err)
		os.Exit(1)
	}
}

func run(count int) (err error) {
	farm, err := stsim.New(stsim.Options{Count: count, Seed: 1, Folders: 2, Shared: true})
	if err != nil {
		return err
	}
	if err := farm.Start(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, farm.Close()) }()
	lines := json.NewEncoder(os.Stdout)
	for _, d := range farm.Daemons() {
		line := map[string]any{
			"deviceID": d.ID(), "label": d.Name(), "apiAddress": d.Host(), "apiPort": d.Port(), "apiKey": d.APIKey(),
		}
		for _, id := range d.FolderIDs() {
			err = errors.Join(err, d.HealFolder(id))
		}
		if err := errors.Join(err, lines.Encode(line)); err != nil {
			return err
		}
	}
	in := bufio.NewScanner(os.Stdin)
	in.Scan()
	if err := trouble(farm.Daemons()); err != nil {
		return err
	}
	for in.Scan() { // The daemons serve as long as the input is open.
	}
	return in.Err()
}

// trouble brings the daemons into the bad night. Each daemon has one trouble at most.
func trouble(daemons []*stsim.Daemon) (err error) {
	for i, d := range daemons[:2*(behind+stopped)+gone] {
		folder := d.FolderIDs()[0]
		switch {
		case i < gone:
			d.Stop()
		case i%2 == 1:
		case i < gone+2*stopped:
			err = errors.Join(err, d.StopFolder(folder, stsim.PathMissing))
		default:
			err = errors.Join(err, d.Lag(folder, int64(20+i), int64(i)<<20))
		}
	}
	return err
}
