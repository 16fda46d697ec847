package syncthing

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

const (
	holderID = "P56IOI7-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2"
	fileOf2  = `{"availability":[{"id":"` + holderID + `","fromTemporary":false},{"id":"` + holderID + `","fromTemporary":true},
		{"id":"nobody"}],
		"global":{"deleted":false,"ignored":false,"invalid":false,"localFlags":0,"modified":"2026-03-14T15:09:26Z",
		"modifiedBy":"P56IOI7","name":"a/b","size":12,"version":["P56IOI7:2"],"type":"FILE_INFO_TYPE_FILE"},
		"local":{"name":"","modified":"1970-01-01T00:00:00Z","version":[],"size":0},"mtime":{"err":null}}`
)

func TestAFileIsRead(t *testing.T) {
	got, err := parseFile([]byte(fileOf2), &DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Global.Known || got.Global.Size != 12 || got.Global.ModifiedBy != "P56IOI7" || got.Local.Known ||
		!got.Global.Modified.Equal(time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)) ||
		!slices.Equal(got.HeldBy, []fleet.DeviceID{holderID}) || got.Global.Same(got.Local) || got.Local.Digest() != "" {
		t.Errorf("got %+v", got)
	}
}

func TestAFileOfALyingDaemonCostsLittle(t *testing.T) {
	many := func(one string) string { return strings.TrimSuffix(strings.Repeat(one+",", 5000), ",") }
	got, err := parseFile(
		fmt.Appendf(nil, `{"availability":[%s],"global":{"name":"a","size":-7,"modifiedBy":"%s","version":[%s]}}`,
			many(`{"id":"`+holderID+`"}`), strings.Repeat(`\u001b[31m`, 1000), many(`"X:1"`)),
		&DefaultLimits,
	)
	if err != nil || len(got.HeldBy) != maxHolders || len(got.Global.Vector) != maxVector || got.Global.Size != 0 ||
		len(got.Global.ModifiedBy) > 70 || strings.Contains(got.Global.ModifiedBy, "\x1b") {
		t.Errorf("got %d holders, %d members, %q, %v", len(got.HeldBy), len(got.Global.Vector), got.Global.ModifiedBy, err)
	}
	for _, text := range []string{"", "[]", `{"global":7}`, `{"global":{"size":1e300,"name":"a"}}`, `{"availability":{}}`} {
		if _, err := parseFile([]byte(text), &DefaultLimits); fleet.CodeOf(err) != fleet.CodeUnbelievable {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestFailedItemsComeInPages(t *testing.T) {
	items, more, err := parseFailedPage([]byte(`{"folder":"a","page":1,"perpage":2,"errors":[{"path":"x","error":"no"},
		{"path":"y\u001b[2J","error":"`+strings.Repeat("w", 1<<20)+`"},{"path":"z"}]}`), 2, &DefaultLimits)
	if err != nil || len(items) != 2 || !more || items[0] != (fleet.FailedItem{Path: "x", Text: "no"}) ||
		strings.Contains(items[1].Path, "\x1b") || len(items[1].Text) > maxItemText+8 {
		t.Errorf("got %d items, %v, %v", len(items), more, err)
	}
	if items, more, err := parseFailedPage(
		[]byte(`{"folder":"a","errors":null}`),
		2,
		&DefaultLimits,
	); err != nil ||
		more ||
		len(items) != 0 {
		t.Errorf("of a folder without any: %v, %v, %v", items, more, err)
	}
}

func TestTheLogsOfBothVersionsAreRead(t *testing.T) {
	for name, text := range map[string]string{
		"1.x": `{"messages":[{"when":"2026-03-14T15:09:26.1+01:00","message":"hello\u001b[0m","level":2},
			{"when":"2026-03-14T15:09:27+01:00","message":"ouch","level":3}]}`,
		"2.x": `{"messages":[{"when":"2026-03-14T14:09:26.1Z","message":"hello\u001b[0m","level":"INFO"},
			{"when":"2026-03-14T14:09:27Z","message":"ouch","level":"WARN"}]}`,
	} {
		lines, err := parseLog([]byte(text), &DefaultLimits)
		if err != nil || len(lines) != 2 || lines[0].Text != "hello [0m" || lines[0].Level != "info" ||
			lines[1].Level != "warning" || !lines[0].At.Equal(time.Date(2026, 3, 14, 14, 9, 26, 1e8, time.UTC)) {
			t.Errorf("%s: got %+v, %v", name, lines, err)
		}
	}
	long := `{"messages":[` + strings.Repeat(
		`{"message":"a"},`,
		3000,
	) + `{"message":"` + strings.Repeat(
		"w",
		1<<20,
	) + `"}]}`
	lines, err := parseLog([]byte(long), &DefaultLimits)
	if err != nil || len(lines) != maxLogLines || len(lines[maxLogLines-1].Text) > maxLogText+8 {
		t.Errorf("got %d lines, %v", len(lines), err)
	}
	for _, text := range []string{`{"messages":7}`, `null[`, ``} {
		if _, err := parseLog([]byte(text), &DefaultLimits); fleet.CodeOf(err) != fleet.CodeUnbelievable {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestADaemonIsAskedForFilesByTheirNames(t *testing.T) {
	f := newFake(t, fakeOptions{})
	var asked []string
	f.handle("/rest/db/file", func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("folder")+"|"+r.URL.Query().Get("file"))
		if len(asked) > 1 {
			http.Error(w, "No such object in the index", http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, fileOf2)
	})
	c := newClient(t, f.target(), Limits{})
	if _, err := c.File(t.Context(), "a&b", "x/y z?&file=q"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.File(t.Context(), "a", "gone"); fleet.CodeOf(err) != fleet.CodeNotFound {
		t.Errorf("a file that the daemon does not know: %v", err)
	}
	if !slices.Equal(asked, []string{"a&b|x/y z?&file=q", "a|gone"}) {
		t.Errorf("asked for %q", asked)
	}
}
