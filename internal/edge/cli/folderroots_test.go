package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"muster/api"
)

// rootsServer keeps the folder roots of the fleet, and those of the tag "nas".
func rootsServer(t *testing.T) (url string, roots map[string][]string) {
	t.Helper()
	roots = map[string][]string{"/api/v1/folder-roots": {"~"}, "/api/v1/tags/nas/settings": {}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/tags" {
			_ = json.NewEncoder(w).Encode([]string{"nas"})
			return
		}
		if strings.HasSuffix(r.URL.Path, "/devices") {
			_ = json.NewEncoder(w).Encode([]api.Device{{}})
			return
		}
		if r.Method == http.MethodPut {
			var body api.PutFolderRoots
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Error(err)
			}
			roots[r.URL.Path] = body.FolderRoots
		}
		_ = json.NewEncoder(w).Encode(api.FolderRoots{FolderRoots: roots[r.URL.Path]})
	}))
	t.Cleanup(server.Close)
	return server.URL, roots
}

func TestFolderRootsAreListedAddedAndRemoved(t *testing.T) {
	url, roots := rootsServer(t)
	for _, step := range []struct {
		args []string
		out  string
	}{
		{[]string{"list"}, "~\n"},
		{[]string{"add", "/srv/sync"}, "~\n/srv/sync\n"},
		{[]string{"add", `D:\Data`, "--tag", "nas"}, "D:\\Data\n"},
		{[]string{"list"}, "~\n/srv/sync\nD:\\Data  (on devices with the tag nas)\n"},
		{[]string{"list", "--tag", "nas"}, "D:\\Data\n"},
		{[]string{"remove", "--yes", "/srv/sync"}, "~\n"},
		{[]string{"remove", "-y", `D:\Data`, "--tag", "nas"}, ""},
	} {
		code, out, errs := run(t, append(append([]string{"folder-roots"}, step.args...), "--token", "x", "--server", url)...)
		if code != exitDone || out != step.out || errs != "" {
			t.Errorf("%q: got %d and\n%s%s", step.args, code, out, errs)
		}
	}
	if got := roots["/api/v1/folder-roots"]; !slices.Equal(got,
		[]string{"~"}) || len(roots["/api/v1/tags/nas/settings"]) != 0 {
		t.Errorf("in the end they are %q", roots)
	}
	code, _, errs := run(t, "folder-roots", "remove", "/srv", "--token", "x", "--server", url)
	if !refuses(code) || !strings.Contains(errs, "muster folder-roots list") {
		t.Errorf("removing what is no root gives %d and %s", code, errs)
	}
}

// TestARootOfEverythingIsWarnedOf covers a root that contains every path of the machine: authors put folders anywhere
// then.
func TestARootOfEverythingIsWarnedOf(t *testing.T) {
	url, _ := rootsServer(t)
	for root, warned := range map[string]bool{
		"/": true, "//": true, `C:\`: true, "d:/": true, "~": false, "/srv": false, `C:\Data`: false,
	} {
		code, _, errs := run(t, "folder-roots", "add", root, "--token", "x", "--server", url)
		if code != exitDone || strings.Contains(errs, "every directory") != warned {
			t.Errorf("%s: got %d and %s", root, code, errs)
		}
	}
}
