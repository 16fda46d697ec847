package cli

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"muster/api"
)

// folderServer has one folder on two devices.
func folderServer(w http.ResponseWriter, r *http.Request) {
	answers := map[string]string{
		"/api/v1/folders/photos/devices": `[{"deviceID":"A","folder":"photos","state":"stopped",
			"reason":"folder marker missing\u001b[2J","next":"Mount the disk.","since":"2026-01-02T03:04:05Z","needBytes":0,
			"doneBetween":[],"peers":{"connected":1,"shared":2}},
			{"deviceID":"B","folder":"photos","state":"syncing","reason":"files come","needBytes":2048,"needItems":3,
			"needDeletes":1,"rate":1024,"doneBetween":["2026-01-02T03:04:05Z","2026-01-02T03:05:05Z"],"peers":{"connected":2,"shared":2}}]`,
		"/api/v1/folders/photos/state": `{"folder":"photos","label":"Photos","state":"stopped",
			"devices":{"all":2,"stopped":1,"syncing":1},"globalBytes":4096,"needBytes":2048,"needUnknown":1,"behind":[]}`,
		"/api/v1/devices": `[{"deviceID":"A","label":"nas"},{"deviceID":"B","label":"laptop"}]`,
	}
	if strings.HasSuffix(r.URL.Path, "/events") {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, answers[r.URL.Path])
}

func TestFolderWatchShowsWhyUntilCtrlC(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(folderServer))
	t.Cleanup(server.Close)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var errors bytes.Buffer
	out, printed := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- Run(ctx, []string{"folder", "watch", "photos", "--sort", "state", "--server", server.URL, "--token", "t"},
			Streams{In: strings.NewReader(""), Out: printed, Err: &errors}, "")
		_ = printed.Close()
	}()
	shown := make([]byte, 8<<10)
	n, err := out.Read(shown)
	if err != nil {
		t.Fatal(err)
	}
	interrupt()
	_, _ = io.Copy(io.Discard, out)
	<-ended
	text := string(shown[:n])
	for _, want := range []string{
		"photos (Photos): stopped. On devices: 2, 1 stopped, 1 syncing. Size 4.0 KiB, to go at least 2.0 KiB, " +
			"not known on 1 device.",
		"nas (A), stopped: folder marker missing", "  Mount the disk.", "2.0 KiB, 3 items, 1 to delete",
		"1.0 KiB/s", "1 of 2",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Errorf("what a daemon says reached the terminal: %q", text)
	}
}

func TestWhenAFolderIsDone(t *testing.T) {
	at := func(d time.Duration) api.Time {
		return api.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local).Add(d)}
	}
	for want, between := range map[string][]api.Time{
		"-":                                    {},
		"03:04 to 03:05":                       {at(0), at(time.Minute)},
		"2026-01-02 03:04 to 2026-01-03 03:04": {at(0), at(24 * time.Hour)},
	} {
		if got := doneOf(between); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestWhyAFileIsNotThere(t *testing.T) {
	for want, f := range map[string]api.FileOnDevice{
		"-":                                    {State: "present"},
		"it could not sync the file: no space": {State: "missing", Failed: "no space"},
		"it lacks the file; no device that has the newest version is connected to it": {State: "missing"},
		"it lacks the file":        {State: "missing", HeldBy: []string{"A"}},
		"its daemon is not online": {State: "unknown", Reason: "its daemon is not online"},
	} {
		if got := fileReason(f); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
