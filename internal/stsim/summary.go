package stsim

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"muster/internal/core/stconfig"
)

// summaryValue is /rest/db/status. v1 sorts the members by name and leaves the error out where there is none.
// remote are the sequences of the peers, which only v2 gives.
func (d *Daemon) summaryValue(f *folder, config, remote stconfig.Value) stconfig.Value {
	s := f.shown()
	v2 := d.Version() == V2
	var m []stconfig.Member
	add := func(name string, n int64) { m = append(m, stconfig.Member{Name: name, Value: number(n)}) }
	say := func(name, text string) { m = append(m, stconfig.Member{Name: name, Value: stconfig.Text(text)}) }
	errors := int64(len(f.shownErrors()))
	add("errors", errors)
	add("pullErrors", errors)
	say("invalid", "")
	add("globalFiles", s.GlobalFiles)
	add("globalDirectories", s.GlobalDirectories)
	add("globalSymlinks", s.GlobalSymlinks)
	add("globalDeleted", s.GlobalDeleted)
	add("globalBytes", s.GlobalBytes)
	add("globalTotalItems", s.GlobalFiles+s.GlobalDirectories+s.GlobalSymlinks+s.GlobalDeleted)
	add("localFiles", s.LocalFiles)
	add("localDirectories", s.LocalDirectories)
	add("localSymlinks", s.LocalSymlinks)
	add("localDeleted", s.LocalDeleted)
	add("localBytes", s.LocalBytes)
	add("localTotalItems", s.LocalFiles+s.LocalDirectories+s.LocalSymlinks+s.LocalDeleted)
	add("needFiles", s.NeedFiles)
	add("needDirectories", s.NeedDirectories)
	add("needSymlinks", s.NeedSymlinks)
	add("needDeletes", s.NeedDeletes)
	add("needBytes", s.NeedBytes)
	add("needTotalItems", s.NeedFiles+s.NeedDirectories+s.NeedSymlinks+s.NeedDeletes)
	if receives := strings.HasPrefix(config.Get("type").Str(), "receive"); v2 || receives {
		local := f.local
		if s.State == stateOff {
			local = localChanges{}
		}
		add("receiveOnlyChangedFiles", local.files)
		for _, name := range []string{"Directories", "Symlinks", "Deletes"} {
			add("receiveOnlyChanged"+name, 0)
		}
		add("receiveOnlyChangedBytes", local.bytes)
		add("receiveOnlyTotalItems", local.files)
	}
	add("inSyncFiles", s.InSyncFiles)
	add("inSyncBytes", s.InSyncBytes)
	say("state", s.State)
	changed := f.changed
	if f.state == stateOff {
		changed = time.Time{}
	}
	say("stateChanged", changed.UTC().Format(time.RFC3339))
	if v2 || s.Error != "" {
		say("error", s.Error)
	}
	add("version", s.Version)
	add("sequence", s.Sequence)
	if v2 {
		if f.state == stateOff {
			remote = stconfig.NullValue
		}
		m = append(m, stconfig.Member{Name: "remoteSequence", Value: remote})
	}
	m = append(m, stconfig.Member{Name: "ignorePatterns", Value: stconfig.Boolean(s.IgnorePatterns)})
	if v2 {
		say("watchError", "")
	} else {
		slices.SortFunc(m, func(a, b stconfig.Member) int { return strings.Compare(a.Name, b.Name) })
	}
	return stconfig.Obj(m...)
}

// lookUp finds the folder that a request names.
func (e *endpoint) lookUp(r *http.Request, found func(f *folder, config stconfig.Value)) error {
	d := e.daemon
	id := query(r).Get("folder")
	d.mu.Lock()
	defer d.mu.Unlock()
	config, err := folders.find(d.doc, id)
	if f := d.folders[id]; err == nil && f != nil {
		found(f, config)
		return nil
	}
	return answer(http.StatusNotFound, errNoFolder)
}

func (e *endpoint) dbStatus(w http.ResponseWriter, r *http.Request, _ string) {
	remote := e.daemon.remoteSequences(query(r).Get("folder"))
	var says stconfig.Value
	if err := e.lookUp(r, func(f *folder, config stconfig.Value) {
		says = e.daemon.summaryValue(f, config, remote)
	}); err != nil {
		sendError(w, err)
		return
	}
	e.sendJSON(w, r, says)
}

// scan runs the folder through a scan; without a folder, all.
func (e *endpoint) scan(w http.ResponseWriter, r *http.Request, _ string) {
	d := e.daemon
	wanted := query(r).Get("folder")
	d.mu.Lock()
	defer d.mu.Unlock()
	if wanted != "" && d.folders[wanted] == nil {
		http.Error(w, errNoFolder.Error(), http.StatusInternalServerError)
		return
	}
	for id, f := range d.folders {
		if wanted == "" || wanted == id {
			d.rescan(e.process, id, f)
		}
	}
}

func (e *endpoint) getIgnores(w http.ResponseWriter, r *http.Request, _ string) {
	id := query(r).Get("folder")
	says := map[string]any{"ignore": nil, "expanded": nil, "error": nil}
	err := e.lookUp(r, func(f *folder, _ stconfig.Value) {
		if len(f.ignores) == 0 {
			return
		}
		expanded, problem := expand(f.ignores)
		says["ignore"], says["expanded"] = slices.Clone(f.ignores), expanded
		if problem != "" {
			says["error"] = problem
		}
	})
	if err != nil {
		missing := "folder " + id + " does not exist"
		if e.daemon.Version() == V1 {
			http.Error(w, missing, http.StatusInternalServerError)
			return
		}
		says["error"] = missing
	}
	e.sendJSON(w, r, says)
}

func (e *endpoint) postIgnores(w http.ResponseWriter, r *http.Request, id string) {
	body, err := readJSON(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	lines, err := ignoreLines(body)
	if err == nil {
		err = e.daemon.SetIgnores(query(r).Get("folder"), lines...)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	e.getIgnores(w, r, id)
}

// ignoreLines reads a map of lists of texts, of which only the one called ignore counts.
func ignoreLines(body stconfig.Value) ([]string, error) {
	of := listOf(aText)
	var lines []string
	for name, value := range body.Members() {
		list, err := of.decode(nothing, value, "")
		if err != nil {
			return nil, err
		}
		if name != "ignore" {
			continue
		}
		for line := range list.Values() {
			lines = append(lines, line.Str())
		}
	}
	return lines, nil
}

// SetIgnores changes the ignore patterns of a folder, as POST /rest/db/ignores does.
func (d *Daemon) SetIgnores(id string, lines ...string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.folders[id]
	if f == nil {
		return errors.New("folder  does not exist") // sic: the daemon has lost the name here
	}
	f.ignores = slices.Clone(lines)
	config, err := folders.find(d.doc, id)
	if p := d.process; p != nil && err == nil && f.state != stateOff {
		if state, problem := d.health(f, config); state == stateError || f.state == stateError {
			f.run++
			d.setState(p, id, f, state, problem)
		} else {
			d.rescan(p, id, f)
		}
	}
	return nil
}

// rescan runs an idle folder through the states of a scan that finds nothing new: no FolderSummary follows. The caller
// holds mu.
func (d *Daemon) rescan(p *process, id string, f *folder) {
	if f.state == stateIdle {
		f.run++
		d.step(p, id, f.run, []string{stateWaiting, stateScanning, stateIdle}, "")
	}
}

// Ignores are the ignore patterns of a folder.
func (d *Daemon) Ignores(id string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.folders[id]; f != nil {
		return slices.Clone(f.ignores)
	}
	return nil
}

// unreadable is what the daemon says of patterns that it cannot read. There is no file to include.
func unreadable(lines []string) string {
	for _, line := range lines {
		if file, is := stconfig.IncludedFile(line); is && file != "" {
			return "parse error: failed to load include file " + file + ": file not found"
		}
		if why := stconfig.CheckIgnoreLine(line, "linux"); why != "" {
			return fmt.Sprintf("invalid pattern %q in ignore file: parse error: %s", line, why)
		}
	}
	return ""
}

// expand returns the patterns to which a daemon expands the lines of .stignore. It is exact for patterns without a
// slash and approximate for others. When a line cannot be read, it returns no patterns and the problem, because a
// daemon then ignores nothing.
func expand(lines []string) ([]string, string) {
	expanded := []string{}
	if problem := unreadable(lines); problem != "" {
		return expanded, problem
	}
	for _, line := range lines {
		if line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		flags, pattern := cutFlags(line)
		if rooted, ok := strings.CutPrefix(pattern, "/"); ok {
			expanded = append(expanded, flags+rooted, flags+rooted+"/**")
			continue
		}
		expanded = append(expanded, flags+pattern, flags+"**/"+pattern, flags+pattern+"/**", flags+"**/"+pattern+"/**")
	}
	return expanded, ""
}

func cutFlags(line string) (flags, pattern string) {
	for {
		i := strings.IndexByte(line, ')')
		if !strings.HasPrefix(line, "(?") || i < 0 {
			return flags, line
		}
		flags, line = flags+line[:i+1], line[i+1:]
	}
}
