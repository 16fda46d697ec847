package stsim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

const keptLines = 250 // A daemon's log has so many.

type level uint8

const (
	information level = 2
	warning     level = 3
)

// line is one line of a daemon's log.
type line struct {
	when  time.Time
	level level
	text  string
}

// print puts a line into the daemon's log.
func (p *process) print(l level, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.lines) == keptLines {
		p.lines = slices.Delete(p.lines, 0, 1)
	}
	p.lines = append(p.lines, line{time.Now(), l, text})
}

// lineValues are the lines from a level on, as the daemon's version writes them: v1 numbers levels, v2 names them.
// An empty list is null.
func (e *endpoint) lineValues(r *http.Request, least level) []any {
	p, d := e.process, e.daemon
	since, _ := time.Parse(time.RFC3339Nano, query(r).Get("since"))
	p.mu.Lock()
	lines := slices.Clone(p.lines)
	p.mu.Unlock()
	lines = append([]line{
		{p.started, information, "My ID: " + string(d.id)},
		{p.started, information, fmt.Sprintf("Device %s is %q at %s", d.id.Short(), d.name, "[dynamic]")},
		{p.started, information, "GUI and API listening on " + e.listener.Addr().String()},
	}, lines...)
	var values []any
	for _, l := range lines {
		if l.level < least || !l.when.After(since) {
			continue
		}
		value := map[string]any{"when": l.when.Format(time.RFC3339Nano), "message": l.text, "level": int(l.level)}
		if d.Version() == V2 {
			value["level"] = map[level]string{information: "INFO", warning: "WARN"}[l.level]
		}
		values = append(values, value)
	}
	return values
}

func (e *endpoint) systemLog(w http.ResponseWriter, r *http.Request, _ string) {
	e.sendJSON(w, r, map[string]any{"messages": e.lineValues(r, information)})
}

func (e *endpoint) systemErrors(w http.ResponseWriter, r *http.Request, _ string) {
	e.sendJSON(w, r, map[string]any{"errors": e.lineValues(r, warning)})
}

// deviceStats says of a device that was never connected that it was seen at the beginning of 1970.
func (e *endpoint) deviceStats(w http.ResponseWriter, r *http.Request, _ string) {
	d := e.daemon
	says := map[string]any{}
	for _, id := range idsOf(d.Config()) {
		seen, lasted := time.Unix(0, 0), time.Duration(0)
		if peer := d.farm.byID[id]; peer != nil && peer != d {
			begun, ended := d.farm.links.lastSeen(d, peer)
			switch {
			case !begun.IsZero():
				seen = begun
			case !ended.IsZero():
				seen = ended
			}
		}
		says[string(id)] = map[string]any{
			"lastSeen": seen.UTC().Format(time.RFC3339), "lastConnectionDurationS": lasted.Seconds(),
		}
	}
	e.sendJSON(w, r, says)
}

func (e *endpoint) folderStats(w http.ResponseWriter, r *http.Request, _ string) {
	d := e.daemon
	says := map[string]any{}
	d.mu.Lock()
	for id, f := range d.folders {
		last := map[string]any{"at": "0001-01-01T00:00:00Z", "filename": "", "deleted": false}
		if f.numbers.LocalFiles > 0 {
			last = map[string]any{"at": f.changed.UTC().Format(time.RFC3339), "filename": fileName(f.numbers.LocalFiles - 1),
				"deleted": false}
		}
		says[id] = map[string]any{"lastFile": last, "lastScan": f.changed.UTC().Format(time.RFC3339)}
	}
	d.mu.Unlock()
	e.sendJSON(w, r, says)
}

// metrics are some of the daemon's own, in the text format of Prometheus. v1 has none.
func (e *endpoint) metrics(w http.ResponseWriter) {
	d := e.daemon
	var text strings.Builder
	text.WriteString("# TYPE syncthing_model_folder_state gauge\n")
	each := func(write func(id string, f *folder)) {
		d.mu.Lock()
		defer d.mu.Unlock()
		for config := range d.doc.Get("folders").Values() {
			id := config.Get("id").Str()
			if f := d.folders[id]; f != nil {
				write(id, f)
			}
		}
	}
	each(func(id string, f *folder) {
		state := slices.Index(
			[]string{stateIdle, stateScanning, stateWaiting, stateSyncing, statePreparing, stateError},
			f.state,
		)
		fmt.Fprintf(&text, "syncthing_model_folder_state{folder=%q} %d\n", id, max(0, state))
	})
	text.WriteString("# TYPE syncthing_model_folder_conflicts_total counter\n")
	each(func(id string, f *folder) {
		fmt.Fprintf(&text, "syncthing_model_folder_conflicts_total{folder=%q} %d\n", id, f.conflicted)
	})
	text.WriteString("# TYPE syncthing_model_folder_summary gauge\n")
	each(func(id string, f *folder) {
		s := f.shown()
		for _, part := range []struct {
			scope, kind string
			n           int64
		}{
			{"global", "bytes", s.GlobalBytes}, {"global", "files", s.GlobalFiles}, {"local", "bytes", s.LocalBytes},
			{"local", "files", s.LocalFiles}, {"need", "bytes", s.NeedBytes}, {"need", "files", s.NeedFiles},
		} {
			fmt.Fprintf(
				&text,
				"syncthing_model_folder_summary{folder=%q,scope=%q,type=%q} %d\n",
				id,
				part.scope,
				part.kind,
				part.n,
			)
		}
	})
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8; escaping=underscores")
	_, _ = w.Write([]byte(text.String()))
}
