package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
	"muster/test/reads"
)

// closed are the answers about a device outside; busy are those of a server that refuses any request for a while.
var (
	closed = []int{http.StatusForbidden, http.StatusNotFound}
	busy   = []int{http.StatusTooManyRequests, http.StatusServiceUnavailable}
)

// Each operation that writes is tried on a device outside by a token of each role that may be for a part of the fleet,
// viewer and operator. A new operation is tried as soon as the API has it.
func TestNoOperationOfACallerOfAPartReachesADeviceOutside(t *testing.T) {
	t.Parallel()
	p := newParted(t, 4, "observe")
	outside := string(p.outside[0])
	p.mustDo(http.MethodPut, "devices/"+outside+"/tags/theirs", "")
	template := p.Template("set", "options.natEnabled", "false", "theirs")
	values := map[string][]string{"deviceID": {outside}, "templateID": {fmt.Sprint(template)}, "tag": {"theirs"},
		"number": {"1"}, "other": {"2"}, "generation": {"1"}, "user": {"nobody"}, "path": {"a.txt"}, "orderID": {"1"},
		"key": {"options.natEnabled"}, "rolloutID": {"1"}, "folderID": {"theirs"},
		"secret": {"theirs"}, "name": {"nobody"}, "session": {"1"}, "pendingID": {"1"}, "source": {"theirs"},
		"setting": {"soak"}, "enrollKey": {"1"},
		"channel": {"chat"}, "route": {"urgent"}, "silence": {"1"}, "sink": {"siem"}}
	writes := reads.Writes(t, values)
	before, tried, refused := p.plans(), 0, 0
	for _, role := range []fleet.Role{fleet.RoleViewer, fleet.RoleOperator} {
		p.operator = p.tokenOfPart(role)
		for _, w := range writes {
			if strings.HasSuffix(w.Path, "/logout") {
				continue // It ends the caller's own session.
			}
			for _, body := range []string{"", "{}"} {
				status := p.limited(w.Method, w.Path, body)
				onDevice := strings.Contains(w.Path, "/devices/"+outside)
				if onDevice && slices.Contains(closed, status) {
					refused++
				}
				if onDevice && !slices.Contains(slices.Concat(closed, busy), status) ||
					status == http.StatusUnauthorized || status == http.StatusInternalServerError {
					t.Errorf("%s %s %s as %s: got %d", w.Method, w.Path, body, role, status)
				}
				tried++
			}
		}
	}
	if after := p.plans(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("devices outside are planned otherwise: %v, was %v", after, before)
	}
	for _, id := range p.outside {
		if _, err := p.Client.Device(t.Context(), string(id)); err != nil {
			t.Error(err)
		}
	}
	if tried < 300 || refused < 50 {
		t.Errorf("only %d requests were made, and %d about the device were refused", tried, refused)
	}
}

// tokenOfPart makes a token with this role for the devices inside.
func (p *parted) tokenOfPart(role fleet.Role) string {
	p.t.Helper()
	name, text, tags := "part-"+string(role), string(role), []string{insideTag}
	made, err := p.Client.CreateTokenWith(p.t.Context(), api.CreateToken{Name: &name, Role: &text, Tags: &tags})
	if err != nil {
		p.t.Fatal(err)
	}
	return made.Secret
}
