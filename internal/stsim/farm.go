// Package stsim simulates Syncthing daemons: real TLS on loopback addresses, the REST endpoints and events that a
// manager uses, configurations normalised as the real daemon does, and scripted faults. Thousands fit in one process.
// It imitates what a client can see and keeps no files: nothing is ever synchronised. What it claims is pinned against a
// real daemon by test/contract.
package stsim

import (
	"context"
	"log/slog"
	"time"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// Options say what farm to build. The zero value is one v2 daemon with one folder.
type Options struct {
	Count    int       // daemons; 0 means 1
	Seed     uint64    // names, folders and numbers follow from it; keys and certificates are random
	Versions []Version // daemon i imitates Versions[i%len]; empty: V2 and V1 in turn, V2 for a farm of one
	Folders  int       // per daemon; 0 means 1, negative none
	Group    int       // daemons that share their folders with one another; 0 means 3
	Port     int       // of every daemon's API; 0: each its own free one (or one free one for all, with Shared)
	Shared   bool      // one socket for all addresses: for farms that would run out of file descriptors
	Sync     bool      // a sync port per daemon that proves its identity by a TLS handshake (ALPN bep/1.0)
	UseTLS   bool      // gui.useTLS; https is answered whatever it says
	NoTLS    bool      // plain http only is offered by nobody real: for tests of the client's refusal
	Broken   []string  // folder paths with such a prefix bring the folder into state error; nil: /broken, /proc, /dev
	Timing   Timing
	Log      *slog.Logger // nil: no log
}

// Timing holds what a real daemon waits. Zero members are the real daemon's.
type Timing struct {
	SavedAgain time.Duration // from a change to the second ConfigSaved; 5 s
	Idle       time.Duration // until an idle connection is closed; 15 s
	Sniff      time.Duration // that a silent connection blocks the accept loop; 1 s
	Restart    time.Duration // that the API's listener is closed after a gui change; 100 ms
	Backoff    time.Duration // that it is closed after four gui changes within four seconds; 15 s
	Scan       time.Duration // per step of a folder that starts or scans; 200 ms
	Summary    time.Duration // from a change in a folder to its FolderSummary; 2 s
}

// Farm is a number of simulated daemons.
type Farm struct {
	daemons []*Daemon
}

// New makes the daemons with their keys. They answer after Start.
func New(o Options) (*Farm, error) { return &Farm{}, nil }

// Run starts the farm and keeps it until ctx ends.
func (f *Farm) Run(ctx context.Context) error { return nil }

// Start binds the addresses and answers. Close ends it.
func (f *Farm) Start() error { return nil }

// Close ends every daemon and waits for all goroutines. It may be called twice.
func (f *Farm) Close() error { return nil }

// Daemons are all daemons, in order of their number.
func (f *Farm) Daemons() []*Daemon { return f.daemons }

// Daemon is daemon i.
func (f *Farm) Daemon(i int) *Daemon { return f.daemons[i] }

// ByID is the daemon with this device ID, nil when the farm has none.
func (f *Farm) ByID(id fleet.DeviceID) *Daemon { return nil }

// Daemon is one simulated Syncthing daemon.
type Daemon struct{}

func (d *Daemon) ID() fleet.DeviceID       { return "" }
func (d *Daemon) Name() string             { return "" }
func (d *Daemon) Version() Version         { return V2 }
func (d *Daemon) APIKey() string           { return "" }
func (d *Daemon) Host() string             { return "" }
func (d *Daemon) Port() int                { return 0 }
func (d *Daemon) URL() string              { return "" } // https://HOST:PORT
func (d *Daemon) SyncAddress() string      { return "" } // HOST:PORT, "" without Options.Sync
func (d *Daemon) Pin() string              { return "" } // "sha256:<hex>" of the GUI certificate
func (d *Daemon) Config() stconfig.Value   { return stconfig.Value{} }
func (d *Daemon) Running() bool            { return false } // the process; its API may be off all the same
func (d *Daemon) Start() error             { return nil }   // after Stop or Crash
func (d *Daemon) Stop()                    {}               // as by a shutdown: connections end
func (d *Daemon) Crash()                   {}               // connections are reset, a change not saved yet is lost
func (d *Daemon) Restart() error           { return nil }   // events and start time begin anew
func (d *Daemon) RemakeCertificate() error { return nil }   // a new GUI certificate, at once
func (d *Daemon) Counters() Counters       { return Counters{} }
func (d *Daemon) ResetCounters()           {}
func (d *Daemon) Faults() Faults           { return Faults{} }
func (d *Daemon) SetFaults(f Faults)       {} // replaces all of them; Faults{} heals

// Edit is a person at the daemon's own GUI: the changed document is saved as a PUT /rest/config would.
func (d *Daemon) Edit(change func(stconfig.Value) stconfig.Value) error { return nil }

// SetSummary changes the numbers of a folder; FolderSummary follows.
func (d *Daemon) SetSummary(folder string, change func(*fleet.FolderSummary)) error { return nil }

// SetFolderError brings a folder into state error; "" heals it.
func (d *Daemon) SetFolderError(folder, text string) error { return nil }

// Summary are the numbers of a folder as /rest/db/status gives them.
func (d *Daemon) Summary(folder string) (fleet.FolderSummary, error) {
	return fleet.FolderSummary{}, nil
}

// AddPendingDevice and AddPendingFolder are somebody asking to be let in.
func (d *Daemon) AddPendingDevice(id fleet.DeviceID, name, address string)   {}
func (d *Daemon) AddPendingFolder(folder, label string, from fleet.DeviceID) {}

// Emit puts an event on the event stream.
func (d *Daemon) Emit(eventType string, data stconfig.Value) {}

// Counters count what a daemon was asked since its creation or ResetCounters.
type Counters struct {
	Accepted  int            // TCP connections
	Open      int            // of them, still open
	Silent    int            // connections that sent nothing while they blocked the accept loop
	Forbidden int            // answers 401 and 403
	Requests  int            // all requests
	Writes    int            // all but GET and HEAD
	ByRoute   map[string]int // "GET /rest/config" and so on; the path as it was asked, without its query
}

// Faults are a daemon's misbehaviour. They can be changed while it runs and hold from the next request on.
type Faults struct {
	Paths []string // only requests whose path has one of these prefixes; empty: all

	Delay       time.Duration  // before each answer
	Refuse      bool           // connections are closed as soon as they are accepted
	Hang        bool           // requests are never answered
	Drip        time.Duration  // between any two bytes of an answer
	Status      int            // instead of every answer
	WriteStatus int            // instead of answering (and doing) a write
	LoseAnswer  bool           // writes are done, and the connection ends before the answer
	Cut         int            // the connection ends after so many bytes of a body
	Redirect    string         // 307 to this address
	HugeBody    int64          // bytes of a body without end
	GzipBomb    int64          // unpacked bytes of a small compressed body
	Deep        int            // levels of nesting
	HTML        bool           // a page where JSON belongs
	MyID        fleet.DeviceID // another one in status and headers
	WrongTypes  bool           // strings for numbers, numbers for strings, lists for objects
	Negative    bool           // every counter below zero
	Script      bool           // HTML in every string
	Backwards   bool           // event ids fall
	Flood       int            // events that each poll finds at once
}
