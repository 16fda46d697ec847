package httpapi

import (
	"fmt"
	"net/http"
	"testing"

	"muster/api"
	"muster/internal/fleet"
)

func TestTheTextsOfATemplateAreKeptAndReadByThoseWhoReadTheTemplate(t *testing.T) {
	w := newWorld(t)
	w.with(func(o *setup) { o.Versions = w.store })
	path := w.template(`{"label":"one","op":"set","key":"options.natEnabled","template":"true"}`)
	w.put(path, `{"label":"two","op":"set","key":"options.natEnabled","template":"false"}`)
	versions := read[[]api.TemplateVersion](w, path+"/history")
	if len(versions) != 2 || versions[0].Label != "two" || versions[0].By != "admin" || versions[1].Label != "one" ||
		versions[0].SavedRole != "admin" || versions[0].Generation <= versions[1].Generation {
		t.Fatalf("got %+v", versions)
	}
	for i, text := range []string{"false", "true"} {
		old := read[api.TemplateVersionText](w, fmt.Sprintf("%s/history/%d", path, versions[i].Generation))
		if old.Template != text || old.Label != versions[i].Label {
			t.Errorf("got %+v, want the text %s", old, text)
		}
	}
	w.want(http.StatusOK, call{method: http.MethodGet, path: path + "/history", role: fleet.RoleViewer})
	for _, absent := range []string{path + "/history/999", Prefix + "/templates/99/history",
		Prefix + "/templates/99/history/1"} {
		w.problem(http.StatusNotFound, call{method: http.MethodGet, path: absent})
	}
	w.problem(http.StatusUnprocessableEntity, call{method: http.MethodGet, path: path + "/history/x"})
}
