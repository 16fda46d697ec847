package stsim

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Faults are a daemon's misbehaviour. They can be changed while it runs and hold from the next request on.
type Faults struct {
	Paths []string // affects requests whose path begins with a listed text; empty: all

	Delay       time.Duration  // delay before each answer
	Refuse      bool           // connections are closed as soon as they are accepted
	Hang        bool           // requests are never answered, nor polls for events that wait already
	Drip        time.Duration  // between any two bytes of a body
	Status      int            // instead of every answer
	WriteStatus int            // instead of doing and answering a write
	DiskFull    bool           // a write of the configuration holds until the next start, and is answered with 500
	LoseAnswer  bool           // writes are done, and the connection ends before the answer
	Cut         int            // the connection ends after so many bytes of a body
	Redirect    string         // 307 to this address
	HugeBody    int64          // bytes of a text that does not end
	GzipBomb    int64          // unpacked bytes of a small body that was not asked to be compressed
	Deep        int            // levels of nesting
	HTML        bool           // a page where JSON belongs
	MyID        fleet.DeviceID // another one in status and headers
	WrongTypes  bool           // texts for numbers, numbers for texts, lists for objects
	Negative    bool           // every number below zero
	Script      bool           // HTML in every text
	Backwards   bool           // the numbers of events fall
	Flood       int            // events that every poll finds at once
}

// SetFaults replaces all faults; Faults{} heals the daemon. What hangs already goes on hanging.
func (d *Daemon) SetFaults(f Faults) { d.faults.Store(&f) }

func (d *Daemon) diskFull() bool {
	f := d.faults.Load()
	return f != nil && f.DiskFull
}

// faultsFor are the faults that hold for a path; "" stands for the connection itself.
func (d *Daemon) faultsFor(path string) Faults {
	f := d.faults.Load()
	if f == nil {
		return Faults{}
	}
	if path == "" || len(f.Paths) == 0 {
		return *f
	}
	for _, prefix := range f.Paths {
		if strings.HasPrefix(path, prefix) {
			return *f
		}
	}
	return Faults{}
}

func (e *endpoint) claimedID(r *http.Request) fleet.DeviceID {
	if f := e.daemon.faultsFor(r.URL.Path); f.MyID != "" {
		return f.MyID
	}
	return e.daemon.id
}

// ServeHTTP counts the request and lets the faults have it first.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.daemon.counters.request(r)
	f := e.daemon.faultsFor(r.URL.Path)
	if f.Delay > 0 && !pause(r, f.Delay) {
		panic(http.ErrAbortHandler)
	}
	if f.Hang {
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
	if f.LoseAnswer && isWrite(r) {
		e.serve(&lost{header: http.Header{}}, r)
		panic(http.ErrAbortHandler)
	}
	if f.Cut > 0 {
		w = &cut{ResponseWriter: w, left: f.Cut}
	}
	if f.Drip > 0 {
		w = &drip{ResponseWriter: w, request: r, every: f.Drip}
	}
	if !f.answer(w, r) {
		e.serve(w, r)
	}
}

// pause reports whether the time passed before the client or the daemon went away.
func pause(r *http.Request, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// answer returns a wrong answer, if one is asked for.
func (f Faults) answer(w http.ResponseWriter, r *http.Request) bool {
	header := w.Header()
	header.Set("Content-Type", "application/json; charset=utf-8")
	switch {
	case f.Redirect != "":
		http.Redirect(w, r, f.Redirect, http.StatusTemporaryRedirect)
	case f.Status != 0:
		http.Error(w, "simulated failure", f.Status)
	case f.WriteStatus != 0 && isWrite(r):
		http.Error(w, "simulated failure", f.WriteStatus)
	case f.HTML:
		header.Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!DOCTYPE html><title>Router</title><p>Please log in.</p>\n")
	case f.HugeBody > 0:
		_, _ = io.WriteString(w, `{"x":"`)
		fill(w, f.HugeBody)
	case f.GzipBomb > 0:
		header.Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(w)
		fill(packed, f.GzipBomb)
		_ = packed.Close()
	case f.Deep > 0:
		_, _ = io.WriteString(w, strings.Repeat("[", f.Deep)+strings.Repeat("]", f.Deep))
	default:
		header.Del("Content-Type")
		return false
	}
	return true
}

// fill writes n bytes, or as many as the client takes.
func fill(w io.Writer, n int64) {
	chunk := bytes.Repeat([]byte("x"), 32<<10)
	for n > 0 {
		written, err := w.Write(chunk[:min(n, int64(len(chunk)))])
		if err != nil {
			return
		}
		n -= int64(written)
	}
}

// distort makes a true answer wrong.
func (e *endpoint) distort(r *http.Request, text []byte) []byte {
	f := e.daemon.faultsFor(r.URL.Path)
	if !f.WrongTypes && !f.Negative && !f.Script {
		return text
	}
	v, err := stconfig.Parse(text)
	if err != nil {
		return text
	}
	return f.twist(v).JSON()
}

func (f Faults) twist(v stconfig.Value) stconfig.Value {
	switch v.Kind() {
	case stconfig.Object:
		var members []stconfig.Member
		for name, member := range v.Members() {
			members = append(members, stconfig.Member{Name: name, Value: f.twist(member)})
		}
		return stconfig.Obj(members...)
	case stconfig.Array:
		var members []stconfig.Value
		for member := range v.Values() {
			members = append(members, f.twist(member))
		}
		return stconfig.List(members...)
	case stconfig.Number:
		if f.Negative {
			v = stconfig.Literal("-" + strings.TrimPrefix(v.Str(), "-"))
			if v.Str() == "-0" {
				v = number(-1)
			}
		}
		if f.WrongTypes {
			return stconfig.Text(v.Str())
		}
	case stconfig.String:
		if f.WrongTypes {
			return number(int64(len(v.Str())))
		}
		if f.Script {
			return stconfig.Text(v.Str() + `<script>alert("` + "\u202e" + `")</script>`)
		}
	case stconfig.Bool:
		if f.WrongTypes {
			return stconfig.List()
		}
	}
	return v
}

// flood makes up events without end.
func (e *endpoint) flood(r *http.Request, since int64) []numbered {
	n := e.daemon.faultsFor(r.URL.Path).Flood
	var found []numbered
	for i := range n {
		id := since + int64(i) + 1
		found = append(found, numbered{id: id, event: event{global: id, time: time.Now(), name: "StateChanged", data: entry(
			"folder", "flood", "from", stateIdle, "to", stateScanning)}})
	}
	return found
}

// lost takes an answer that no client gets.
type lost struct{ header http.Header }

func (l *lost) Header() http.Header         { return l.header }
func (l *lost) Write(b []byte) (int, error) { return len(b), nil }
func (l *lost) WriteHeader(int)             {}

// cut ends the connection inside a body.
type cut struct {
	http.ResponseWriter
	left int
}

func (c *cut) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *cut) Write(b []byte) (int, error) {
	if len(b) <= c.left {
		c.left -= len(b)
		return c.ResponseWriter.Write(b)
	}
	_, _ = c.ResponseWriter.Write(b[:c.left])
	_ = http.NewResponseController(c.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

// drip writes a byte at a time.
type drip struct {
	http.ResponseWriter
	request *http.Request
	every   time.Duration
}

func (d *drip) Unwrap() http.ResponseWriter { return d.ResponseWriter }

func (d *drip) Write(b []byte) (int, error) {
	control := http.NewResponseController(d.ResponseWriter)
	for i := range b {
		if _, err := d.ResponseWriter.Write(b[i : i+1]); err != nil {
			return i, err
		}
		if err := control.Flush(); err != nil {
			return i, err
		}
		if !pause(d.request, d.every) {
			panic(http.ErrAbortHandler)
		}
	}
	return len(b), nil
}
