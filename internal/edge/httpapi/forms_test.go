package httpapi

import (
	"encoding/json"
	"net/http"
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

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
