package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The hint of a refused plan names --allow-failing, which `muster plan` did not have.
func TestAPlanTakesTheFlagThatItsHintNames(t *testing.T) {
	var allowed []bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if !strings.HasSuffix(r.URL.Path, "/plan") {
			_, _ = w.Write([]byte("[]"))
			return
		}
		var body struct{ AllowFailing bool }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		allowed = append(allowed, body.AllowFailing)
		_, _ = w.Write([]byte(`{"generation":1,"digest":"abc"}`))
	}))
	defer server.Close()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, templatesDir), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, dir, fleetFileName, "{}\n")
	write(t, dir, "one.json", `{"tags":{}}`)
	write(t, dir, "two.json", `{"allowFailing":true}`)
	for _, c := range []struct {
		file string
		flag bool
		want bool
	}{
		{"", false, false}, {"", true, true}, {"one.json", false, false}, {"one.json", true, true},
		{"two.json", false, true},
	} {
		args := []string{"plan", "-f", filepath.Join(dir, c.file), "--server", server.URL, "--token", "x"}
		if c.flag {
			args = append(args, "--allow-failing")
		}
		allowed = nil
		if code, _, errs := run(t, args...); code != exitDone || len(allowed) != 1 || allowed[0] != c.want {
			t.Errorf("%q with the flag %t: got code %d, %v, %s, want %t", c.file, c.flag, code, allowed, errs, c.want)
		}
	}
}
