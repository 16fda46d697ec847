package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// playedFiles are daemons that answer about files and their log.
type playedFiles struct {
	files map[fleet.DeviceID]fleet.File
	items map[fleet.DeviceID][]fleet.FailedItem
	lines []fleet.LogLine
	asked chan string
}

var refusedFile = &fleet.Error{Code: fleet.CodeRejected, Message: "its agent is too old for that"}

func (p *playedFiles) File(_ context.Context, id fleet.DeviceID, _, path string) (fleet.File, error) {
	if p.asked != nil {
		p.asked <- path
	}
	switch file, known := p.files[id]; {
	case path == "gone":
		return fleet.File{}, fleet.NotFoundf("no such object in the index")
	case !known:
		return fleet.File{}, refusedFile
	default:
		return file, nil
	}
}

func (p *playedFiles) FailedItems(_ context.Context, id fleet.DeviceID, _ string, page, size int,
) ([]fleet.FailedItem, bool, error) {
	items, known := p.items[id]
	if !known {
		return nil, false, refusedFile
	}
	first := min((page-1)*size, len(items))
	end := min(first+size, len(items))
	return items[first:end], end < len(items), nil
}

func (p *playedFiles) Log(context.Context, fleet.DeviceID, time.Time) ([]fleet.LogLine, error) {
	return p.lines, nil
}

// askable is roomy with daemons that answer.
func askable(t *testing.T, p *playedFiles) *roomy {
	w := newRoomy(t)
	w.lookAt(func(id fleet.DeviceID) *fleet.Snapshot {
		if id == idC {
			return nil
		}
		return &fleet.Snapshot{Device: id, Connection: fleet.Online, Folders: []fleet.FolderLabel{{Folder: "both"}},
			FailedItems: map[string][]fleet.FailedItem{"both": {{Path: "a/b", Text: "no space"}, {Path: "c", Text: "denied"}}}}
	}, func(o *view.Options) { o.Files = p })
	w.with(func(o *setup) { o.Logs = p })
	return w
}

var heldFile = fleet.File{
	Global: fleet.FileVersion{Known: true, Size: 7, ModifiedBy: string(idB)[:7], Vector: []string{"X:2"}},
	HeldBy: []fleet.DeviceID{idA, idB},
}

func TestWhyAFileIsNotThere(t *testing.T) {
	w := askable(t, &playedFiles{files: map[fleet.DeviceID]fleet.File{idA: heldFile}})
	at := Prefix + "/folders/both/files?path=" + url.QueryEscape("a/b")
	got := read[[]api.FileOnDevice](w.world, at)
	if len(got) != 2 {
		t.Fatalf("got %+v", got)
	}
	if got[0].DeviceID != string(idA) {
		slices.Reverse(got)
	}
	mine, other := got[0], got[1]
	if mine.State != "missing" || mine.Failed != "no space" || mine.Newest == "" || mine.Version != "" ||
		mine.NewestSize != 7 || !slices.Equal(mine.HeldBy, []string{string(idA), string(idB)}) {
		t.Errorf("got %+v", mine)
	}
	if other.State != "unknown" || other.Reason != refusedFile.Message {
		t.Errorf("of a daemon that cannot be asked: got %+v", other)
	}
	if seen := w.seen("/folders/both/files?path=a"); strings.Count(seen, `"deviceID"`) != 1 ||
		!strings.Contains(seen, `"heldBy":["`+string(idA)+`"]`) || !strings.Contains(seen, `"modifiedBy":""`) {
		t.Errorf("a caller with a scope sees %s", seen)
	}
	for _, path := range []string{"", "?path=", "?path=" + strings.Repeat("x", maxFilePath+1), "?path=%00"} {
		w.problem(http.StatusUnprocessableEntity, call{method: http.MethodGet, path: Prefix + "/folders/both/files" + path})
	}
	w.problem(http.StatusNotFound, call{method: http.MethodGet, path: Prefix + "/folders/none/files?path=a"})
}

func TestTheStatesOfAFile(t *testing.T) {
	newest := heldFile.Global
	older := fleet.FileVersion{Known: true, Vector: []string{"X:1"}}
	deleted := fleet.FileVersion{Known: true, Deleted: true, Vector: []string{"X:3"}}
	for want, file := range map[string]fleet.File{
		"present": {Global: newest, Local: newest},
		"older":   {Global: newest, Local: older},
		"missing": {Global: newest, Local: deleted},
		"deleted": {Global: deleted, Local: deleted},
		"ignored": {Global: newest, Local: fleet.FileVersion{Known: true, Ignored: true}},
		"unheard": {},
	} {
		w := askable(t, &playedFiles{files: map[fleet.DeviceID]fleet.File{idA: file}})
		got := read[[]api.FileOnDevice](w.world, Prefix+"/folders/both/files?path=x&tag=in")
		if len(got) != 1 || got[0].State != want {
			t.Errorf("%s: got %+v", want, got)
		}
	}
	w := askable(t, &playedFiles{})
	if got := read[[]api.FileOnDevice](w.world, Prefix+"/folders/both/files?path=gone&tag=in"); got[0].State != "unheard" {
		t.Errorf("of a daemon that does not know the file: %+v", got)
	}
}

func TestItemsThatFailed(t *testing.T) {
	p := &playedFiles{items: map[fleet.DeviceID][]fleet.FailedItem{idA: {{Path: "1"}, {Path: "2"}, {Path: "3"}}}}
	w := askable(t, p)
	if got := read[[]api.FailedItem](w.world, Prefix+"/folders/both/failed"); len(got) != 4 {
		t.Errorf("of all devices: %+v", got)
	}
	client, paths := Prefix+"/folders/both/failed?limit=2&device="+string(idA), []string{}
	for next := client; next != ""; {
		resp := w.do(call{method: http.MethodGet, path: next})
		for _, item := range read[[]api.FailedItem](w.world, next) {
			paths = append(paths, item.Path)
		}
		next, _, _ = strings.Cut(strings.TrimPrefix(resp.Header.Get("Link"), "<"), ">")
	}
	if !slices.Equal(paths, []string{"1", "2", "3"}) {
		t.Errorf("got %q", paths)
	}
	kept := read[[]api.FailedItem](w.world, Prefix+"/folders/both/failed?device="+string(idB))
	if len(kept) != 2 || kept[0].Text != "no space" {
		t.Errorf("of a daemon that cannot be asked: %+v", kept)
	}
	if seen := w.seen("/folders/both/failed"); strings.Count(seen, `"deviceID"`) != 2 {
		t.Errorf("a caller with a scope sees %s", seen)
	}
	w.as(fleet.RoleViewer, http.StatusUnprocessableEntity, call{method: http.MethodGet,
		path: Prefix + "/folders/both/failed?device=" + string(idB)})
	w.problem(http.StatusUnprocessableEntity, call{method: http.MethodGet,
		path: Prefix + "/folders/both/failed?after=x"})
}

func TestTheLogOfADaemon(t *testing.T) {
	w := askable(t, &playedFiles{lines: []fleet.LogLine{{At: time.Unix(0, 0), Level: "info", Text: "<b>hello"}}})
	if got := w.get(Prefix + "/devices/" + string(idA) + "/log"); got !=
		`[{"at":"1970-01-01T00:00:00.000Z","level":"info","text":"<b>hello"}]` {
		t.Errorf("got %s", got)
	}
	w.as(fleet.RoleViewer, http.StatusNotFound, call{method: http.MethodGet,
		path: Prefix + "/devices/" + string(idB) + "/log"})
	w.problem(http.StatusUnprocessableEntity, call{method: http.MethodGet,
		path: Prefix + "/devices/" + string(idA) + "/log?since=yesterday"})
}
