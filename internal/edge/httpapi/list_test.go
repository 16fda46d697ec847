package httpapi

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"muster/internal/engine/view"
	"muster/internal/fleet"
)

var nextLink = regexp.MustCompile(`^<([^>]+)>; rel="next"$`)

// pages follows a list to its end, at most limit members at a time.
func (w *world) pages(path string) []string {
	w.t.Helper()
	var pages []string
	for path != "" {
		resp := w.do(call{method: http.MethodGet, path: path})
		body := new(strings.Builder)
		if err := resp.Write(body); err != nil || resp.StatusCode != http.StatusOK {
			w.t.Fatalf("GET %s: %s, %v", path, body, err)
		}
		_, content, _ := strings.Cut(body.String(), "\r\n\r\n")
		pages = append(pages, strings.TrimSpace(content))
		link := resp.Header.Get("Link")
		path = ""
		if link != "" {
			path = nextLink.FindStringSubmatch(link)[1]
		}
	}
	return pages
}

func TestPagesOfEveryListAddUpToTheWhole(t *testing.T) {
	w := newWorld(t)
	for i := range byte(7) {
		id := fleet.DeviceIDOf([32]byte{i})
		w.device(id, fmt.Sprintf("label %d, ä/%%", i/2))
		w.put(fmt.Sprintf("%s/devices/%s/tags/tag%%20%d", Prefix, id, i), "")
		w.put(fmt.Sprintf("%s/devices/%s/tags/all", Prefix, id), "")
		template := w.template(fmt.Sprintf(`{"label":"t%d","priority":%d,"op":"set","key":"","template":"{}"}`, i, int(i)-3))
		w.put(template+"/tags/all", "")
		w.fakes.folders = append(w.fakes.folders, fleet.FolderLabel{Folder: fmt.Sprintf("f/%d", i), Label: "x"})
	}
	w.fakes.states = map[fleet.DeviceID]fleet.State{}
	for i := range byte(7) {
		w.fakes.states[fleet.DeviceIDOf([32]byte{i})] = fleet.State{Connection: fleet.NeverSeen,
			Configuration: fleet.ConfigUnknown}
	}
	for _, path := range []string{"/devices", "/templates", "/tags", "/folders", "/states", "/tags/all/devices",
		"/tags/all/templates", "/devices?tag=all", "/templates?q=T"} {
		t.Run(path, func(t *testing.T) {
			w := w.in(t)
			whole := w.get(Prefix + path)
			for _, limit := range []int{1, 3, 7, 100} {
				mark := "?"
				if strings.Contains(path, "?") {
					mark = "&"
				}
				pages := w.pages(fmt.Sprintf("%s%s%slimit=%d", Prefix, path, mark, limit))
				if joined := "[" + strings.Join(trimmed(pages), ",") + "]"; joined != whole {
					t.Errorf("limit %d: got %s, want %s", limit, joined, whole)
				}
			}
			if whole == "[]" {
				t.Error("nothing was listed")
			}
		})
	}
}

func trimmed(pages []string) []string {
	for i, page := range pages {
		pages[i] = strings.TrimSuffix(strings.TrimPrefix(page, "["), "]")
	}
	return pages
}

func TestAPageIsFoundAfterItsLastDeviceWasDeleted(t *testing.T) {
	w := newWorld(t)
	ids := []fleet.DeviceID{idA, idB, idC}
	for i, id := range ids {
		w.device(id, string(rune('a'+i)))
	}
	resp := w.do(call{method: http.MethodGet, path: Prefix + "/devices?limit=1"})
	next := nextLink.FindStringSubmatch(resp.Header.Get("Link"))[1]
	w.want(http.StatusNoContent, call{method: http.MethodDelete, path: Prefix + "/devices/" + string(idA)})
	if got := idsOf(t, w.get(next)); !slices.Equal(got, []string{string(idB)}) {
		t.Errorf("got %v, want the second device", got)
	}
}

func TestListsCanBeSearched(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "Berlin office")
	w.device(idB, "Paris")
	w.put(Prefix+"/devices/"+string(idA)+"/tags/Site-B", "")
	w.template(`{"label":"No NAT","op":"set","key":"options.natEnabled","template":"false"}`)
	w.fakes.folders = []fleet.FolderLabel{{Folder: "abc", Label: "Photos"}, {Folder: "def", Label: "Music"}}
	for path, want := range map[string]string{
		"/devices?q=berlin":             string(idA),
		"/devices?q=" + string(idB)[:9]: string(idB),
		"/tags?q=site":                  "Site-B",
		"/templates?q=natenabled":       "No NAT",
		"/folders?q=photo":              "abc",
		"/folders?q=DEF":                "Music",
	} {
		if got := w.get(Prefix + path); !strings.Contains(got, want) || strings.Count(got, "{") > 1 {
			t.Errorf("%s gives %s, want only what holds %s", path, got, want)
		}
	}
	if got := w.get(Prefix + "/devices?q=nowhere&unknown=parameter"); got != "[]" {
		t.Errorf("got %s, want []", got)
	}
}

func TestEmptyListsAreListsNotNull(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/devices", "/templates", "/tags", "/folders", "/states"} {
		if got := w.get(Prefix + path); got != "[]" {
			t.Errorf("%s is %s, want []", path, got)
		}
	}
}

func TestAListIsEncodedOncePerRegistry(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	registry, err := w.store.Registry(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	built := 0
	list := func() reply {
		out, err := w.api.answered(newRequest(t, "/x"), view.OfRegistry(registry), "key", func() (reply, error) {
			built++
			return show([]string{"a"})
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if first, second := list(), list(); built != 1 || first.etag == "" || first.etag != second.etag {
		t.Errorf("built %d times, %+v and %+v", built, first, second)
	}
	w.device(idB, "two")
	if registry, err = w.store.Registry(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list(); built != 2 {
		t.Errorf("built %d times after a change, want 2", built)
	}
}

func newRequest(t *testing.T, path string) *request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &request{Request: r}
}
