package httpapi

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
)

func TestATemplateHasExactlyTheContractsFields(t *testing.T) {
	w := newWorld(t)
	path := w.template(`{"op":"SET","key":"options.natEnabled","template":"false\n","priority":9223372036854775807}`)
	body := w.get(path)
	want := []string{"id", "label", "priority", "op", "key", "template", "createdAt", "updatedAt"}
	if got := fields(t, body); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, part := range []string{`"label":""`, `"priority":9223372036854775807`, `"op":"set"`,
		`"key":"options.natEnabled"`, `"template":"false\n"`} {
		if !strings.Contains(body, part) {
			t.Errorf("got %s, want %s in it", body, part)
		}
	}
	if all := w.get(Prefix + "/templates"); all != "["+body+"]" {
		t.Errorf("the list is %s, want the template in it", all)
	}
}

func TestPutTemplateReplaces(t *testing.T) {
	w := newWorld(t)
	path := w.template(`{"label":"one","priority":5,"op":"set","key":"","template":"{}"}`)
	before := decoded(t, w.get(path))
	after := decoded(t, w.put(path,
		`{"id":99,"createdAt":"x","updatedAt":null,"op":"merge","key":"gui","template":"{a: 1}"}`))
	if after["id"] != before["id"] || after["label"] != "" || after["priority"] != 0.0 || after["op"] != "merge" ||
		after["createdAt"] != before["createdAt"] {
		t.Errorf("got %v after %v", after, before)
	}
}

func TestTemplateIDsAreNeverUsedAgain(t *testing.T) {
	w := newWorld(t)
	body := `{"op":"set","key":"","template":"{}"}`
	first := w.template(body)
	w.want(http.StatusNoContent, call{method: http.MethodDelete, path: first})
	w.problem(http.StatusNotFound, call{method: http.MethodDelete, path: first})
	w.problem(http.StatusNotFound, call{method: http.MethodPut, path: first, body: body})
	if second := w.template(body); second == first {
		t.Errorf("got %s again", second)
	}
}

func TestTemplatesAreInTheOrderOfTheFold(t *testing.T) {
	w := newWorld(t)
	for _, priority := range []string{"10", "-1", "10", "2"} {
		w.template(`{"label":"p` + priority + `","priority":` + priority + `,"op":"set","key":"","template":"{}"}`)
	}
	list := w.get(Prefix + "/templates")
	var at []int
	for _, id := range []string{`"id":2,`, `"id":4,`, `"id":1,`, `"id":3,`} {
		at = append(at, strings.Index(list, id))
	}
	if !slices.IsSorted(at) || at[0] < 0 {
		t.Errorf("got %s", list)
	}
}

func TestTemplateThatDoesNotCompileIsNotKept(t *testing.T) {
	w := newWorld(t)
	w.fakes.check = func(tmpl fleet.Template) error {
		if tmpl.Text != "def" {
			return nil
		}
		return &fleet.Error{
			Code: fleet.CodeInvalid, Message: "the text is no template", Hint: "Mend it.", Traceback: "trace",
			Details: []fleet.Detail{{Field: "template", Line: 3, Column: 7, Message: "got end of file"}},
		}
	}
	p := w.problem(http.StatusUnprocessableEntity, call{method: http.MethodPost, path: Prefix + "/templates",
		body: `{"op":"set","key":"","template":"def"}`})
	if len(p.Errors) != 1 || p.Errors[0].Field != "template" || p.Errors[0].Line != 3 || p.Errors[0].Column != 7 ||
		p.Traceback != "trace" {
		t.Errorf("got %+v", p)
	}
	if list := w.get(Prefix + "/templates"); list != "[]" {
		t.Errorf("it was kept: %s", list)
	}
}

func TestWhatIsProbablyAMistakeIsWarnedOfWhenATemplateIsKept(t *testing.T) {
	w := newWorld(t)
	w.fakes.warnings = func(t fleet.Template) []string {
		if t.Key == "gui.password" {
			return []string{"folders.Größe is in clear", `"2"`, "3", "4", `"5"`, "6", "7"}
		}
		return nil
	}
	for key, want := range map[string]string{"gui.theme": "",
		"gui.password": `folders.Gr\u00f6\u00dfe is in clear; "2"; 3; 4; "5"; and 2 more`} {
		body := `{"op":"set","key":"` + key + `","template":"\"x\""}`
		made := w.do(call{method: http.MethodPost, path: Prefix + "/templates", body: body})
		changed := w.do(call{method: http.MethodPut, path: made.Header.Get("Location"), body: body})
		for _, resp := range []*http.Response{made, changed} {
			if got := resp.Header.Get(api.WarningHeader); resp.StatusCode >= 300 || got != want {
				t.Errorf("%s: got %d and %q, want %q", key, resp.StatusCode, got, want)
			}
		}
	}
}

func TestATemplateThatOverrulesAnotherIsWarnedOfWhenItIsTagged(t *testing.T) {
	w := newWorld(t)
	path := w.template(`{"op":"set","key":"gui.theme","template":"\"x\""}`)
	w.fakes.contradictions = func(t fleet.TaggedTemplate) []string {
		if slices.Contains(t.Tags, "site") {
			return []string{"gui.theme: template 1 has the last word"}
		}
		return nil
	}
	for tag, want := range map[string]string{"other": "", "site": "gui.theme: template 1 has the last word"} {
		resp := w.do(call{method: http.MethodPut, path: path + "/tags/" + tag})
		if got := resp.Header.Get(api.WarningHeader); resp.StatusCode != http.StatusOK || got != want {
			t.Errorf("%s: got %d and %q, want %q", tag, resp.StatusCode, got, want)
		}
		w.want(http.StatusOK, call{method: http.MethodDelete, path: path + "/tags/" + tag})
	}
}

// The contract takes any text for a tag: one that looks like another is taken, and warned of.
func TestATagThatLooksLikeAnotherIsWarnedOf(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	template := w.template(`{"op":"set","key":"gui.theme","template":"\"x\""}`)
	for tag, want := range map[string]string{
		"site": "", "two%20words": "", "%20site": "begins or ends with a blank", "site%C2%A0": "begins or ends with a blank",
		"%20%20": "blanks only",
	} {
		for _, path := range []string{Prefix + "/devices/" + string(idA), template} {
			resp := w.do(call{method: http.MethodPut, path: path + "/tags/" + tag})
			got := resp.Header.Get(api.WarningHeader)
			if resp.StatusCode != http.StatusOK || (want == "") != (got == "") || !strings.Contains(got, want) {
				t.Errorf("%s at %s: got %d and %q, want %q", tag, path, resp.StatusCode, got, want)
			}
		}
	}
}

func TestTemplateTags(t *testing.T) {
	w := newWorld(t)
	path := w.template(`{"op":"set","key":"","template":"{}"}`)
	for _, step := range []struct{ method, tag, want string }{
		{http.MethodPut, "b", `["b"]`}, {http.MethodPut, "a", `["a","b"]`}, {http.MethodPut, "a", `["a","b"]`},
		{http.MethodDelete, "b", `["a"]`}, {http.MethodDelete, "b", `["a"]`}, {http.MethodDelete, "a", `[]`},
	} {
		if got := w.want(http.StatusOK, call{method: step.method, path: path + "/tags/" + step.tag}); got != step.want {
			t.Errorf("%s %s: got %s, want %s", step.method, step.tag, got, step.want)
		}
		if got := w.get(path + "/tags"); got != step.want {
			t.Errorf("then the tags are %s, want %s", got, step.want)
		}
	}
}
