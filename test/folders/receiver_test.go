package folders_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"muster/internal/fleet"
	"muster/test/wait"
)

// receiver is told of problems by webhook.
type receiver struct {
	*httptest.Server

	mu   sync.Mutex // guards told
	told []fleet.Notice
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		text, err := io.ReadAll(request.Body)
		var notice fleet.Notice
		if err == nil {
			err = json.Unmarshal(text, &notice)
		}
		if err != nil {
			t.Errorf("a message cannot be read: %v", err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.told = append(r.told, notice)
	}))
	t.Cleanup(r.Close)
	return r
}

// about are the messages about a trouble of a device, the newest last.
func (r *receiver) about(id fleet.DeviceID, cause fleet.WaitCause, folder string) (notices []fleet.Notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.told), func(n fleet.Notice) bool {
		return n.DeviceID != id || n.Kind != cause || n.Folder != folder
	})
}

// waitTold waits until people were told of a trouble, with a part of the reason; or that it is over.
func (w *world) waitTold(t *testing.T, id fleet.DeviceID, cause fleet.WaitCause, folder, reason string, over bool) {
	t.Helper()
	want := fleet.NoticeProblem
	if over {
		want = fleet.NoticeResolved
	}
	wait.Until(t, func() string {
		told := w.receiver.about(id, cause, folder)
		if n := len(told); n > 0 && told[n-1].Type == want && strings.Contains(told[n-1].Reason, reason) {
			return ""
		}
		return fmt.Sprintf(
			"want a message of type %s about %s of folder %q with %q, got %+v",
			want,
			cause,
			folder,
			reason,
			told,
		)
	})
}
