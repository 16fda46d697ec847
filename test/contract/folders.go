package contract

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

var folders = []Check{
	{"numbers of a folder that is none", Reads, func(p *Probe) {
		p.Refused("GET", "/rest/db/status?folder=none", "", http.StatusNotFound, "no such folder")
		p.Refused("GET", "/rest/db/status", "", http.StatusNotFound, "no such folder")
	}},
	{"numbers of a folder", Writes, func(p *Probe) {
		id := "é/ü +%"
		p.MustDo("PUT", "/rest/config/folders", fmt.Sprintf(`[{"id":%q,"path":%q}]`, id, p.Folder("numbers")))
		where := "/rest/db/status?folder=%C3%A9%2F%C3%BC+%2B%25"
		p.state(where, "idle")
		s := p.Get(where)
		for _, name := range []string{
			"globalBytes", "globalDeleted", "globalDirectories", "globalFiles", "globalSymlinks", "globalTotalItems",
			"localBytes", "localDeleted", "localDirectories", "localFiles", "localSymlinks", "localTotalItems",
			"inSyncBytes", "inSyncFiles", "needBytes", "needDeletes", "needDirectories", "needFiles", "needSymlinks",
			"needTotalItems",
			"errors", "pullErrors", "sequence", "version",
		} {
			p.Is(s, name, "0")
		}
		p.Is(s, "ignorePatterns", "false")
		p.Is(s, "invalid", `""`)
		if s.Get("stateChanged").Str() == "" {
			p.Errorf("no stateChanged")
		}
		for _, name := range []string{"remoteSequence", "receiveOnlyTotalItems", "watchError", "error"} {
			if got := s.Get(name).Exists(); got == p.V1() {
				p.Errorf("%s is there: %t", name, got)
			}
		}
		var names []string
		for name := range s.Members() {
			names = append(names, name)
		}
		if got := slices.IsSorted(names); got != p.V1() {
			p.Errorf("members are sorted: %t", got)
		}
	}},
	{"a new folder goes through its states", Writes, func(p *Probe) {
		more := p.Watch("StateChanged")
		p.MustDo("PUT", path("folders", "f"), fmt.Sprintf(`{"id":"f","path":%q,"label":"L"}`, p.Folder("states")))
		all := more("the folder is idle", func(e []Event) bool {
			return slices.ContainsFunc(e, func(e Event) bool {
				return e.Data.Get("folder").Str() == "f" &&
					e.Data.Get("to").Str() == "idle"
			})
		})
		var states []string
		for _, e := range all {
			if e.Data.Get("folder").Str() == "f" {
				states = append(states, e.Data.Get("to").Str())
			}
		}
		want := byVersion(p, []string{"scan-waiting", "scanning", "idle"},
			[]string{"starting", "scan-waiting", "scanning", "idle"})
		if !slices.Equal(states, want) {
			p.Errorf("states were %v, want %v", states, want)
		}
		p.Is(all[0].Data, "from", `"idle"`)
	}},
	{"another label restarts nothing, another anything else does", Writes, func(p *Probe) {
		begun := p.Watch("StateChanged") // The state is idle before the first scan, too.
		p.MustDo("PUT", path("folders", "f"), fmt.Sprintf(`{"id":"f","path":%q}`, p.Folder("label")))
		begun("the folder was scanned", func(e []Event) bool {
			return len(e) > 1 && e[len(e)-1].Data.Get("to").Str() == "idle"
		})
		more := p.Watch("StateChanged,LoginAttempt")
		p.MustDo("PATCH", path("folders", "f"), `{"label":"new"}`)
		p.MustDo("PATCH", path("folders", "f"), `{"rescanIntervalS":70}`)
		all := more("the folder is idle again", func(e []Event) bool {
			return len(e) > 1 && e[len(e)-1].Data.Get("to").Str() == "idle"
		})
		scans := 0
		for _, e := range all {
			if e.Data.Get("to").Str() == "scanning" {
				scans++
			}
		}
		if scans != 1 {
			p.Errorf("the folder was scanned %d times, want once: it starts anew once", scans)
		}
	}},
	{"a bad path is taken, and the folder is in error", Writes, func(p *Probe) {
		more := p.Watch("StateChanged,FolderPaused")
		p.MustDo("PUT", path("folders", "f"), fmt.Sprintf(`{"id":"f","path":%q}`, p.BadFolder()))
		all := more("the folder is in error", func(e []Event) bool { return len(e) > 0 })
		p.Is(all[0].Data, "to", `"error"`)
		p.Is(all[0].Data, "error", `"folder path missing"`)
		s := p.Get("/rest/db/status?folder=f")
		p.Is(s, "state", `"error"`)
		p.Is(s, "error", `"folder path missing"`)
	}},
	{"a paused folder has no state and no numbers", Writes, func(p *Probe) {
		p.MustDo("PUT", path("folders", "f"), fmt.Sprintf(`{"id":"f","path":%q}`, p.Folder("paused")))
		p.state("/rest/db/status?folder=f", "idle")
		more := p.Watch("FolderPaused,FolderResumed")
		p.MustDo("PATCH", path("folders", "f"), `{"paused":true}`)
		p.state("/rest/db/status?folder=f", "")
		p.Is(p.Get("/rest/db/status?folder=f"), "globalFiles", "0")
		p.MustDo("PATCH", path("folders", "f"), `{"paused":false}`)
		p.state("/rest/db/status?folder=f", "idle")
		all := more("two events", func(e []Event) bool { return len(e) >= 2 })
		if got := types(all); !slices.Equal(got, []string{"FolderPaused", "FolderResumed"}) {
			p.Errorf("got %s", got)
		}
		p.Is(all[0].Data, "id", `"f"`)
	}},
	{"a summary follows, and is the whole status", Writes, func(p *Probe) {
		more := p.Watch("FolderSummary")
		p.MustDo("PUT", path("folders", "f"), fmt.Sprintf(`{"id":"f","path":%q}`, p.Folder("summary")))
		p.state("/rest/db/status?folder=f", "idle")
		p.AddFile("f", p.Folder("summary"))
		all := more("FolderSummary of the folder", func(e []Event) bool {
			return slices.ContainsFunc(e, func(e Event) bool { return e.Data.Get("folder").Str() == "f" })
		})
		i := slices.IndexFunc(all, func(e Event) bool { return e.Data.Get("folder").Str() == "f" })
		p.Is(all[i].Data, "summary.localFiles", "1")
		status := p.Get("/rest/db/status?folder=f")
		for name := range status.Members() {
			if !at(all[i].Data, "summary").Get(name).Exists() {
				p.Errorf("the summary has no %s", name)
			}
		}
	}},
	{"a folder that is removed is gone at once", Writes, func(p *Probe) {
		p.MustDo("PUT", path("folders", "f"), fmt.Sprintf(`{"id":"f","path":%q}`, p.Folder("removed")))
		p.Get("/rest/db/status?folder=f")
		p.MustDo("DELETE", path("folders", "f"), "")
		p.Refused("GET", "/rest/db/status?folder=f", "", http.StatusNotFound, "no such folder")
	}},
	{"connections name the devices", Writes, func(p *Probe) {
		p.MustDo("PUT", path("devices", stranger), `{"deviceID":"`+stranger+`","paused":true}`)
		c := p.Get("/rest/system/connections")
		p.Is(c, "connections."+stranger+".connected", "false")
		p.Is(c, "connections."+stranger+".paused", "true")
		if got := at(c, "connections."+string(p.ID())).Exists(); got != p.V1() {
			p.Errorf("the own device is there: %t", got)
		}
		if at(c, "total.at").Str() == "" || !strings.HasPrefix(at(c, "connections."+stranger+".at").Str(), "0001-") {
			p.Errorf("times are %s", c.JSON())
		}
	}},
}

// state waits until a folder is in that state.
func (p *Probe) state(where, want string) {
	p.Helper()
	p.Until("the folder's state is "+want, func() error {
		if got := p.Get(where).Get("state").Str(); got != want {
			return fmt.Errorf("state %q", got)
		}
		return nil
	})
}
