package httpapi

import (
	"net/http"
	"testing"

	"muster/internal/fleet"
)

func TestAProtectedTagIsAnAdminsOnEveryRouteThatChangesTags(t *testing.T) {
	w := newWorld(t)
	device := Prefix + "/devices/" + string(idA)
	w.device(idA, "one")
	protection := Prefix + "/tags/nas%2F1/protection"
	if got := w.get(protection); got != `{"protected":false}` {
		t.Errorf("got %s of a tag that nothing carries", got)
	}
	if got := w.put(protection, `{"protected":true}`); got != `{"protected":true}` {
		t.Errorf("got %s", got)
	}
	w.put(device+"/tags/nas%2F1", "")
	for _, role := range []fleet.Role{fleet.RoleOperator, fleet.RoleAuthor} {
		for _, c := range []call{
			{method: http.MethodPut, path: protection, body: `{"protected":false}`},
			{method: http.MethodDelete, path: device + "/tags/nas%2F1"},
			{method: http.MethodDelete, path: Prefix + "/tags/nas%2F1"},
		} {
			c.role = role
			w.problem(http.StatusForbidden, c)
		}
	}
	w.problem(http.StatusUnprocessableEntity, call{method: http.MethodPut, path: protection, body: `{}`})
	if got := w.get(device + "/tags"); got != `["nas/1"]` {
		t.Errorf("the device has %s", got)
	}
	w.want(http.StatusOK, call{method: http.MethodDelete, path: device + "/tags/nas%2F1"})
	template := w.template(`{"op":"set","key":"options.a","template":"1"}`)
	w.put(template+"/tags/nas%2F1", "")
	w.problem(
		http.StatusForbidden,
		call{method: http.MethodDelete, path: Prefix + "/tags/nas%2F1", role: fleet.RoleAuthor},
	)
	w.put(protection, `{"protected":false}`)
	w.want(http.StatusOK, call{method: http.MethodPut, path: device + "/tags/nas%2F1", role: fleet.RoleOperator})
}
