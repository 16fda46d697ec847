// Package budget shares out what the operating system allows the process to have: descriptors, and memory. What may
// not fail (API, database, workers, logs) has a share that no daemon can take.
package budget

import (
	"fmt"

	"muster/internal/fleet"
)

// Descriptors says how many connections each part of the server may have open.
type Descriptors struct {
	Limit      int // of open files, of the process
	Reads      int // to the database, for reading
	API        int // of clients
	APIReserve int // of clients beyond API: for requests that end soon

	Kept     int // to daemons that are followed
	Visits   int // to daemons that are visited in turn
	Seconds  int // to daemons, beside the watcher's
	Openings int // of the last three that are being opened: each needs one descriptor more, for a name or a proof
}

const (
	leastLimit = 128
	mostLimit  = 1 << 20

	ownFiles    = 24 // standard streams, listener, kernel queues, locks, files that are read now and then
	lookupFiles = 32 // discovery and notifications
	workerFiles = 40 // pipes of as many evaluations as run at a time, and of one worker that starts
	readFiles   = 3  // of one connection to SQLite: the database, its log, a temporary file
)

// Share shares out a limit of open files on a machine with so many CPUs.
func Share(limit, cpus int) (Descriptors, error) {
	if limit < leastLimit {
		return Descriptors{}, &fleet.Error{
			Code:    fleet.CodeInvalid,
			Message: fmt.Sprintf("the limit of open files is %d, and Muster needs at least %d", limit, leastLimit),
			Hint:    raise(leastLimit),
		}
	}
	limit = min(limit, mostLimit)
	d := Descriptors{
		Limit: limit, Reads: min(max(8, 2*cpus), max(4, limit/32)),
		API: min(max(limit/8, 16), 2048), APIReserve: min(max(limit/32, 4), 32),
	}
	writing := 2 * readFiles // the writer, and a migration or a backup
	left := limit - ownFiles - lookupFiles - workerFiles - readFiles*d.Reads - writing - d.API - d.APIReserve
	left = max(left, 0)
	d.Visits = min(max(left/8, 2), 1024)
	d.Seconds, d.Openings = d.Visits, d.Visits
	d.Kept = max(left-d.Visits-d.Seconds-d.Openings, 0)
	return d, nil
}

// LimitFor is the lowest limit of open files with which so many daemons are followed.
func LimitFor(daemons, cpus int) int {
	low, high := leastLimit, mostLimit
	for low < high {
		middle := (low + high) / 2
		if d, err := Share(middle, cpus); err == nil && d.Kept >= daemons {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

func raise(limit int) string {
	const how = "Raise it and start Muster again: `ulimit -n %[1]d` in the shell that starts it, " +
		"or LimitNOFILE=%[1]d in its systemd unit."
	return fmt.Sprintf(how, limit)
}

// Reason says why a daemon is visited and not followed.
func (d Descriptors) Reason() string {
	const why = "visited once a minute instead of followed: the limit of %d open files is used up " +
		"(raise it with `ulimit -n` or LimitNOFILE)"
	return fmt.Sprintf(why, d.Limit)
}

// Shortage says what follows for the service when there are more daemons than it can follow.
func (d Descriptors) Shortage() string {
	const what = "the limit of %d open files is too low to follow every daemon: those beyond %d are visited once a minute"
	return fmt.Sprintf(what, d.Limit, d.Kept)
}

// Advice says what to do when so many daemons are to be followed.
func Advice(daemons, cpus int) string { return raise(LimitFor(daemons, cpus)) }
