package httpapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// A reply never holds the cause of an error, whatever failed below it.
func TestACauseIsInNoReply(t *testing.T) {
	const canary = "canary-in-a-cause"
	w := newWorld(t)
	device := Prefix + "/devices/" + string(idA)
	w.device(idA, "one")
	template := w.template(`{"op":"set","key":"","template":"{}"}`)
	for code := range statusOf {
		cause := errors.New(canary)
		for name, err := range map[string]error{
			"with a message":    &fleet.Error{Code: code, During: "test", Message: "what a person may read", Err: cause},
			"without a message": &fleet.Error{Code: code, Err: cause},
			"wrapped": fmt.Errorf(canary+": %w", &fleet.Error{Code: code, Message: "what a person may read",
				Err: cause}),
		} {
			w.fakes.applyErr = err
			w.fakes.check = func(fleet.Template) error { return err }
			w.fakes.evaluate = func(fleet.TaggedTemplate, fleet.DeviceID) (Evaluation, error) {
				return Evaluation{}, err
			}
			w.fakes.effects = func(_, _ *fleet.Registry) ([]plan.Effect, error) {
				return []plan.Effect{{Device: idA, Err: err}},
					nil
			}
			for _, c := range []call{
				{method: http.MethodPost, path: device + "/apply", body: `{"digest":"d"}`},
				{method: http.MethodPost, path: Prefix + "/templates", body: `{"op":"set","key":"","template":"{}"}`},
				{method: http.MethodGet, path: template + "/evaluate"},
				{method: http.MethodPost, path: Prefix + "/plan", body: `{"templates":{"deleted":[1]}}`},
			} {
				c.invented = true
				resp := w.do(c)
				body, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				if text := fmt.Sprint(resp.Header, string(body)); strings.Contains(text, canary) {
					t.Errorf("%s, %s: %s %s answers %s", code, name, c.method, c.path, text)
				}
			}
		}
	}
	if !strings.Contains(w.log.String(), canary) {
		t.Error("the log does not have the cause of an internal error")
	}
}
