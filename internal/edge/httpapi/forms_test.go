package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
)

const teamForm = `"form":{"share":{"label":"Team folder","paths":{"":"~/Team"},"sendReceive":["team"],"hubs":["hub"]}}`

func (w *world) writeForm(body string) (out api.WrittenForm) {
	w.t.Helper()
	w.into(&out, w.want(http.StatusOK, post("/templates/form", body)))
	return out
}

// The change of a form is what /changes takes, and the stored template shows the form again.
func TestAFormIsStoredAndShownAgain(t *testing.T) {
	w := newWorld(t)
	written := w.writeForm("{" + teamForm + "}")
	if written.Key != "folders.team-folder" || written.Label != "Team folder" || len(written.Tags) != 1 {
		t.Fatalf("got %+v", written)
	}
	created := written.Change.Templates.New[0]
	path := w.template(string(mustJSON(t, api.PutTemplate{Label: created.Label, Op: created.Op, Key: created.Key,
		Template: created.Template})))
	if got := read[api.TemplateForm](w, path+"/form"); got.Form != nil {
		t.Errorf("without its tag it does something else, and is shown as %+v", got.Form.Share)
	}
	w.want(http.StatusOK, call{method: http.MethodPut, path: path + "/tags/team"})
	shown := read[api.TemplateForm](w, path+"/form")
	if shown.Form == nil || shown.Form.Share.Hubs[0] != "hub" || shown.Form.Share.Folder != "team-folder" {
		t.Fatalf("got %+v", shown.Form)
	}
	shown.Form.Share.SendReceive = []string{"office"}
	change := w.writeForm(string(mustJSON(t, api.WriteForm{Form: shown.Form, Template: new(int64(1))}))).Change
	if *change.Tags.Added[0].Tag != "office" || *change.Tags.Removed[0].Tag != "team" ||
		len(change.Templates.Changed) != 1 {
		t.Errorf("got %+v and %+v", change.Tags, change.Templates)
	}
	w.put(path, `{"op":"merge","key":"folders.team-folder","template":`+
		string(mustJSON(t, strings.Replace(written.Template, "sorted(members)", "list(members)", 1)))+`}`)
	if got := read[api.TemplateForm](w, path+"/form"); got.Form != nil || !got.Edited {
		t.Errorf("a text that was edited by hand is shown as %+v", got)
	}
}

func TestAFormSaysWithWhomNothingWouldBeShared(t *testing.T) {
	w := newWorld(t)
	body := "{" + teamForm + "}"
	warnings := func() string { return strings.Join(w.writeForm(body).Warnings, "; ") }
	if got := warnings(); got != `no device has the tag "team": the template applies to no device` {
		t.Errorf("got %q", got)
	}
	for i, want := range []string{"shared with nobody", "without a hub the folder is shared with nobody"} {
		id := fleet.DeviceIDOf([32]byte{byte(i + 1)})
		w.put(Prefix+"/devices/"+string(id), `{"apiKey":"k","apiAddress":"192.0.2.1","apiPort":8384}`)
		w.want(http.StatusOK, call{method: http.MethodPut, path: Prefix + "/devices/" + string(id) + "/tags/team"})
		if got := warnings(); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
		if i == 1 {
			w.want(http.StatusOK, call{method: http.MethodPut, path: Prefix + "/devices/" + string(id) + "/tags/hub"})
		}
	}
	if got := warnings(); got != "" {
		t.Errorf("got %q of two devices, one of them a hub", got)
	}
}

func TestAFormThatIsFilledInWrongSaysWhere(t *testing.T) {
	w := newWorld(t)
	for body, want := range map[string]string{
		`{}`: "which form is it?",
		`{"form":{"share":{"label":"","paths":{"":"~/x"},"sendReceive":["t"]}}}`:        "form.label",
		`{"form":{"share":{"label":"x","paths":{},"sendReceive":["t"]}}}`:               "form.paths",
		`{"form":{"share":{"label":"x","paths":{"os2":"x"},"sendReceive":["t"]}}}`:      "form.paths",
		`{"form":{"share":{"label":"x","paths":{"":"~/x"}}}}`:                           "form.sendReceive",
		`{"form":{"share":{"label":"x","paths":{"":"~/x"},"encrypted":["vault"]}}}`:     "form.secret",
		`{"form":{"share":{"label":"x","paths":{"":"~/x"},"sendReceive":["a\u0001"]}}}`: "tag",
	} {
		if got := w.want(http.StatusUnprocessableEntity, post("/templates/form", body)); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s in it", body, got, want)
		}
	}
	if got := w.want(http.StatusNotFound, post("/templates/form", `{"template":99,`+teamForm+"}")); got == "" {
		t.Error("an unknown template has no text")
	}
}

// A form with a description is written, stored, shown again and changed by the same operations as the one for folders.
func TestAFormWithADescriptionIsStoredAndShownAgain(t *testing.T) {
	w := newWorld(t)
	const slow = `"form":{"filled":{"name":"limits","fields":{"tags":["site:lima"],"send":["2 MB/s"],"lan":["off"]}}}`
	written := w.writeForm("{" + slow + "}")
	if written.Key != "options" || written.Label != "Limit bandwidth: site:lima" || written.Tags[0] != "site:lima" ||
		!strings.Contains(written.Template, "maxSendKbps: 1953") {
		t.Fatalf("got %+v", written)
	}
	path := w.template(string(mustJSON(t, api.PutTemplate{Label: &written.Label, Op: &written.Op, Key: &written.Key,
		Template: &written.Template})))
	w.want(http.StatusOK, call{method: http.MethodPut, path: path + "/tags/site:lima"})
	shown := read[api.TemplateForm](w, path+"/form")
	if shown.Form == nil || shown.Form.Filled == nil || shown.Form.Filled.Fields["send"][0] != "2 MB/s" ||
		shown.Form.Filled.Fields["tags"][0] != "site:lima" {
		t.Fatalf("got %+v", shown.Form)
	}
	shown.Form.Filled.Fields["receive"] = []string{"16 Mbit/s"}
	change := w.writeForm(string(mustJSON(t, api.WriteForm{Form: shown.Form, Template: new(int64(1))}))).Change
	if changed := change.Templates.Changed; len(changed) != 1 || *changed[0].Label != written.Label ||
		!strings.Contains(*changed[0].Template, "maxRecvKbps: 1953") || change.Tags != nil {
		t.Errorf("got %+v and %+v", change.Templates, change.Tags)
	}
	w.put(path, `{"op":"merge","key":"options","template":`+
		string(mustJSON(t, strings.Replace(written.Template, "1953", "1000", 1)))+`}`)
	if got := read[api.TemplateForm](w, path+"/form"); got.Form != nil || !got.Edited {
		t.Errorf("a text that was edited by hand is shown as %+v", got)
	}
}

func TestAMistakeInAFormWithADescriptionIsSaidAtItsField(t *testing.T) {
	w := newWorld(t)
	for filled, want := range map[string]string{
		`{"name":"limit","fields":{}}`:                                                      `form.name`,
		`{"name":"limits","fields":{"speed":["1"]}}`:                                        `form.speed`,
		`{"name":"limits","fields":{"tags":["a"],"send":["2"]}}`:                            `form.send`,
		`{"name":"setting","fields":{"tags":["a"],"key":["options.nat"],"value":["x"]}}`:    `form.key`,
		`{"name":"setting","fields":{"tags":["a"],"key":["gui.useTLS"],"value":["maybe"]}}`: `form.value`,
	} {
		got := w.want(http.StatusUnprocessableEntity, post("/templates/form", `{"form":{"filled":`+filled+`}}`))
		if !strings.Contains(got, `"`+want+`"`) {
			t.Errorf("%s: got %s, want %s in it", filled, got, want)
		}
	}
}

func TestFormsAndSettingsAreDescribed(t *testing.T) {
	w := newWorld(t)
	kinds := read[[]api.FormKind](w, Prefix+"/forms")
	if len(kinds) < 6 || kinds[0].Name != "limits" || kinds[0].Fields[1].Type != "rate" {
		t.Errorf("got %+v", kinds)
	}
	for _, s := range read[[]api.ConfigSetting](w, Prefix+"/config-settings") {
		if s.Key == "options.natEnabled" && (s.Type != "flag" || s.Default[0] != "true" || s.Help == "") {
			t.Errorf("got %+v", s)
		}
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Limits of a form were void because a template of a higher priority had the last word, and nobody said so.
func TestAFormSaysWhichTemplateHasTheLastWord(t *testing.T) {
	w := newWorld(t)
	w.fakes.contradictions = func(t fleet.TaggedTemplate) []string {
		return []string{fmt.Sprintf("%d %s %s", t.ID, t.Key, t.Tags)}
	}
	const form = `"form":{"filled":{"name":"limits","fields":{"tags":["team"],"send":["2 MB/s"]}}}`
	w.template(`{"op":"set","key":"gui.theme","template":"\"dark\""}`)
	for body, want := range map[string]string{"{" + form + "}": "0 options [team]",
		"{" + form + `,"template":1}`: "1 options [team]"} {
		if got := w.writeForm(body).Warnings; !slices.Contains(got, want) {
			t.Errorf("got %q, want %q among them", got, want)
		}
	}
}
