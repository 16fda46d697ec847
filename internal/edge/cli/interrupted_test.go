package cli

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"muster/api"
)

// A bulk command that was interrupted did not tell programs what it had done.
func TestAnInterruptedCommandPrintsWhatItDid(t *testing.T) {
	for _, args := range []string{"device delete nas laptop -y -o json",
		"device settings nas laptop --mode observe -y -o json"} {
		ctx, interrupt := context.WithCancel(t.Context())
		var requests atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var answer any = api.DeviceSettings{Mode: "observe", Way: "auto"}
			switch {
			case r.Method == http.MethodGet:
				answer = []api.Device{{DeviceID: idNAS, Label: "nas"}, {DeviceID: idLaptop, Label: "laptop"}}
			case requests.Add(1) == 2:
				_, _ = io.Copy(io.Discard, r.Body) // The server sees that the client is gone once the body is read.
				interrupt()
				<-r.Context().Done()
				return
			case r.Method == http.MethodDelete:
				w.WriteHeader(http.StatusNoContent)
				return
			}
			if err := json.NewEncoder(w).Encode(answer); err != nil {
				t.Error(err)
			}
		}))
		var out, errs strings.Builder
		code := Run(ctx, append(strings.Fields(args), "--server", server.URL, "--token", "x"),
			Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, "test")
		var done []struct{ DeviceID, ID string }
		if err := json.Unmarshal([]byte(out.String()), &done); code != exitInterrupted || err != nil || len(done) != 1 ||
			!strings.Contains(out.String(), idNAS) {
			t.Errorf("%s: got %d, %v, %s%s", args, code, err, out.String(), errs.String())
		}
		interrupt()
		server.Close()
	}
}

// What had failed before an interruption was printed nowhere.
func TestAnInterruptedCommandSaysWhatFailedBefore(t *testing.T) {
	for args, says := range map[string]string{
		"device delete nas laptop vault -y -o json":                  "1 of 3 devices were not deleted",
		"device delete nas laptop vault -y":                          "1 of 3 devices were not deleted",
		"device settings nas laptop vault --mode observe -y -o json": "1 of 3 devices keep their settings",
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		var requests atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodGet:
				_ = json.NewEncoder(w).Encode([]api.Device{{DeviceID: idNAS, Label: "nas"}, {DeviceID: idLaptop, Label: "laptop"},
					{DeviceID: idThird, Label: "vault"}})
			case requests.Add(1) == 1:
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusConflict)
				_, _ = io.WriteString(w, `{"status":409,"detail":"another server has the database"}`)
			default:
				_, _ = io.Copy(io.Discard, r.Body)
				interrupt()
				<-r.Context().Done()
			}
		}))
		var out, errs strings.Builder
		code := Run(ctx, append(strings.Fields(args), "--server", server.URL, "--token", "x"),
			Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, "test")
		if code != exitInterrupted || !strings.Contains(errs.String(), says) ||
			!strings.Contains(errs.String(), "another server has the database") {
			t.Errorf("%s: got %d, %s%s", args, code, out.String(), errs.String())
		}
		interrupt()
		server.Close()
	}
}
