package httpapi

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"muster/internal/fleet"
)

// awkward are tags that only come through when every segment of a path is decoded by itself, once.
var awkward = []string{
	"a/b", "a b", "100%", "%2F", "a+b", "größe", "日本", "😀", "a?b", "a#b", "a;b", "a&b=c", ".", "..", "/", "//", "a//b",
	`"quoted"`, "evaluate", "tags", "<b>", "A", "a", " a ", "{tag}", strings.Repeat("x", fleet.MaxTagBytes), "e\u0301",
}

// segment percent-encodes a tag for a path; a dot alone would be taken for a relative path.
func segment(text string) string {
	if text == "." || text == ".." {
		return strings.ReplaceAll(text, ".", "%2E")
	}
	return url.PathEscape(text)
}

func TestEveryTagComesThroughEveryPath(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	template := w.template(`{"op":"set","key":"","template":"{}"}`)
	device := Prefix + "/devices/" + string(idA)
	for _, tag := range awkward {
		t.Run(tag, func(t *testing.T) {
			w := w.in(t)
			set, err := encode([]string{tag})
			if err != nil {
				t.Fatal(err)
			}
			want := strings.TrimSpace(string(set))
			if got := w.put(device+"/tags/"+segment(tag), ""); got != want {
				t.Errorf("tagging gives %s, want %s", got, want)
			}
			w.put(template+"/tags/"+segment(tag), "")
			if got := w.get(Prefix + "/tags"); got != want {
				t.Errorf("all tags are %s, want %s", got, want)
			}
			if got := idsOf(t, w.get(Prefix+"/tags/"+segment(tag)+"/devices")); !slices.Equal(got, []string{string(idA)}) {
				t.Errorf("devices are %v", got)
			}
			if got := idsOf(t, w.get(Prefix+"/devices?tag="+url.QueryEscape(tag))); !slices.Equal(got, []string{string(idA)}) {
				t.Errorf("filtered devices are %v", got)
			}
			var templates []map[string]any
			if err := json.Unmarshal([]byte(w.get(Prefix+"/tags/"+segment(tag)+"/templates")), &templates); err != nil ||
				len(templates) != 1 {
				t.Errorf("templates are %v, %v", templates, err)
			}
			if got := w.put(Prefix+"/tags/"+segment(tag)+"/settings",
				`{"mode":"observe"}`); got != `{"mode":"observe","folderRoots":[],"authorKeys":[],"quietAfter":0}` {
				t.Errorf("settings are %s", got)
			}
			if got := w.want(http.StatusOK, call{method: http.MethodDelete, path: Prefix + "/tags/" +
				segment(tag)}); got != "[]" {
				t.Errorf("remaining tags are %s", got)
			}
			if got := w.get(device + "/tags"); got != "[]" {
				t.Errorf("the device still has %s", got)
			}
			if got := w.get(template + "/tags"); got != "[]" {
				t.Errorf("the template still has %s", got)
			}
		})
	}
}

func TestTagsOfADevice(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	tags := Prefix + "/devices/" + string(idA) + "/tags"
	for _, step := range []struct{ method, tag, want string }{
		{http.MethodDelete, "z", `[]`}, {http.MethodPut, "b", `["b"]`}, {http.MethodPut, "a", `["a","b"]`},
		{http.MethodPut, "b", `["a","b"]`}, {http.MethodDelete, "a", `["b"]`}, {http.MethodDelete, "a", `["b"]`},
		{http.MethodDelete, "b", `[]`},
	} {
		if got := w.want(http.StatusOK, call{method: step.method, path: tags + "/" + step.tag}); got != step.want {
			t.Errorf("%s %s: got %s, want %s", step.method, step.tag, got, step.want)
		}
		if got := w.get(tags); got != step.want {
			t.Errorf("then the tags are %s, want %s", got, step.want)
		}
	}
}

func TestATagThatNobodyCarries(t *testing.T) {
	w := newWorld(t)
	for _, of := range []string{"devices", "templates"} {
		if got := w.get(Prefix + "/tags/nobody/" + of); got != "[]" {
			t.Errorf("%s are %s, want []", of, got)
		}
	}
	w.problem(http.StatusNotFound, call{method: http.MethodDelete, path: Prefix + "/tags/nobody"})
}

func TestDeleteTagGivesTheRemainingOnes(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	for _, tag := range []string{"c", "a", "b"} {
		w.put(Prefix+"/devices/"+string(idA)+"/tags/"+tag, "")
	}
	if got := w.want(http.StatusOK, call{method: http.MethodDelete, path: Prefix + "/tags/b"}); got != `["a","c"]` {
		t.Errorf("got %s", got)
	}
}
