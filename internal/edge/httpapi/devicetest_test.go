package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
)

// tester remembers what was to be tested, and finds what a test makes up.
type tester struct {
	tried   []fleet.Target
	finds   fleet.AccessTest
	byAgent bool
}

func (t *tester) ProvenByAgent(fleet.DeviceID) bool { return t.byAgent }

func (t *tester) TestAccess(_ context.Context, target fleet.Target) (fleet.AccessTest, error) {
	t.tried = append(t.tried, target)
	return t.finds, nil
}

func testOf(id fleet.DeviceID, body string) call {
	return call{method: http.MethodPost, path: Prefix + "/devices/" + string(id) + "/test", body: body}
}

func (w *world) test(id fleet.DeviceID, body string) (out api.DeviceTest) {
	w.t.Helper()
	if err := json.Unmarshal([]byte(w.want(http.StatusOK, testOf(id, body))), &out); err != nil {
		w.t.Fatal(err)
	}
	return out
}

const address = `"apiAddress":"10.0.0.7","apiPort":8385`

func TestAccessIsTestedWithWhatWasGivenAndNothingIsStored(t *testing.T) {
	w, tester := newWorld(t), &tester{}
	w.with(func(o *setup) { o.Tester = tester })
	pin := "sha256:" + strings.Repeat("ab", 32)
	got := w.test(idA, `{`+address+`,"apiKey":" `+key+` ","pin":"`+pin+`"}`)
	if got != (api.DeviceTest{}) {
		t.Errorf("got %+v", got)
	}
	want := fleet.Target{Device: idA, APIKey: fleet.NewSecret(key), Address: "10.0.0.7:8385", Introduced: fleet.ByPerson,
		Pin: pin}
	if tried := tester.tried[0]; tried.Device != want.Device || tried.Address != want.Address || tried.Pin != want.Pin ||
		tried.Introduced != want.Introduced || tried.APIKey.Reveal() != key || tried.AllowPlain {
		t.Errorf("tried %+v, want %+v", tried, want)
	}
	w.problem(http.StatusNotFound, call{method: http.MethodGet, path: Prefix + "/devices/" + string(idA)})
	if got := w.traced("device.test"); len(got) != 1 || got[0].Subject != string(idA) ||
		got[0].Detail != "access at 10.0.0.7:8385" || strings.Contains(got[0].Detail, key) {
		t.Errorf("the audit has %+v", got)
	}
}

// The stored key goes to the pinned certificate alone, also at another address.
func TestAccessOfARegisteredDeviceIsTestedWithItsKeyAndPin(t *testing.T) {
	w, tester := newWorld(t), &tester{finds: fleet.AccessTest{Problem: fleet.AccessOtherDevice, Other: idB}}
	w.with(func(o *setup) { o.Tester = tester })
	w.device(idA, "one")
	w.device(idB, "two")
	pin := "sha256:" + strings.Repeat("ab", 32)
	w.put(Prefix+"/devices/"+string(idA)+"/settings", `{"pin":"`+pin+`","allowPlain":true}`)
	for _, sent := range []string{`,"apiKey":"<API_KEY>"`, ""} {
		got := w.test(idA, `{`+address+sent+`}`)
		if !got.Registered || got.Label != "one" || got.Field != "deviceID" || got.Next == "" ||
			got.Other != (api.TestedOther{DeviceID: string(idB), Registered: true, Label: "two"}) {
			t.Errorf("got %+v", got)
		}
		tried := tester.tried[len(tester.tried)-1]
		if tried.APIKey.Reveal() != key || tried.Pin != pin || !tried.AllowPlain {
			t.Errorf("tried %+v", tried)
		}
	}
}

// Saving the address would not send the key there, because the device's agent proved it: a test must not either.
func TestAStoredKeyIsNotSentWhereNothingProvesTheDevice(t *testing.T) {
	w, tester := newWorld(t), &tester{byAgent: true}
	w.with(func(o *setup) { o.Tester = tester })
	w.device(idA, "one")
	another := `,"pin":"sha256:` + strings.Repeat("cd", 32) + `"`
	for name, sent := range map[string]string{"no pin": "", "the caller's pin": another} {
		if got := w.problem(http.StatusUnprocessableEntity, testOf(idA, `{`+address+sent+`}`)); len(got.Errors) != 1 ||
			got.Errors[0].Field != "apiKey" || len(tester.tried) > 0 {
			t.Errorf("%s: got %+v, tried %+v", name, got, tester.tried)
		}
	}
	w.test(idA, `{`+address+`,"apiKey":"`+key+`"}`)
	tester.byAgent = false
	w.test(idA, `{`+address+`}`)
	if got := w.traced("device.test"); len(tester.tried) != 2 || len(got) != 2 ||
		!strings.Contains(got[0].Detail+got[1].Detail, "with the stored API key") {
		t.Errorf("tried %+v, the audit has %+v", tester.tried, got)
	}
}

func TestATestOfAccessIsRefusedBeforeAnythingIsTried(t *testing.T) {
	w, tester := newWorld(t), &tester{}
	w.with(func(o *setup) { o.Tester = tester })
	full := `{` + address + `,"apiKey":"` + key + `"}`
	for _, role := range []fleet.Role{fleet.RoleViewer, fleet.RoleOperator, fleet.RoleAuthor} {
		c := testOf(idA, full)
		c.role = role
		w.problem(http.StatusForbidden, c)
	}
	for body, field := range map[string]string{
		`{` + address + `}`: "apiKey", `{"apiAddress":"","apiKey":"k"}`: "apiAddress", `{"apiKey":"k"}`: "apiAddress",
		`{"apiAddress":"http://10.0.0.7/","apiKey":"k"}`:     "apiAddress",
		`{"apiAddress":"0.0.0.0","apiKey":"k"}`:              "apiAddress",
		`{"apiAddress":"h","apiPort":70000,"apiKey":"k"}`:    "apiPort",
		`{"apiAddress":"h","apiKey":"k","pin":"sha256:bad"}`: "pin",
	} {
		if got := w.problem(http.StatusUnprocessableEntity, testOf(idA, body)); len(got.Errors) != 1 ||
			got.Errors[0].Field != field {
			t.Errorf("%s: got %+v, want the field %s", body, got, field)
		}
	}
	w.problem(http.StatusUnprocessableEntity, testOf("nonsense", full))
	w.with(func(o *setup) { o.Audit = fullAudit{o.Audit} })
	w.problem(http.StatusServiceUnavailable, testOf(idA, full))
	if len(tester.tried) != 0 {
		t.Errorf("tried %+v", tester.tried)
	}
}

// fullAudit takes no entries.
type fullAudit struct{ audited }

func (fullAudit) Record(context.Context, string, string, string) error {
	return &fleet.Error{Code: fleet.CodeUnavailable, Message: "the disk is full"}
}

func TestOneCallerHasFewTestsOfAccessAtATime(t *testing.T) {
	w := newWorld(t)
	began, end := make(chan struct{}), make(chan struct{})
	w.with(func(o *setup) {
		o.Tester = &waitingTester{began, end}
	})
	full := `{` + address + `,"apiKey":"` + key + `"}`
	answers := make(chan int)
	for range maxTestsOfCaller {
		go func() {
			response := w.do(testOf(idA, full))
			_ = response.Body.Close()
			answers <- response.StatusCode
		}()
		<-began
	}
	w.problem(http.StatusTooManyRequests, testOf(idA, full))
	close(end)
	for range maxTestsOfCaller {
		if got := <-answers; got != http.StatusOK {
			t.Errorf("got %d", got)
		}
	}
}

type waitingTester struct{ began, end chan struct{} }

func (*waitingTester) ProvenByAgent(fleet.DeviceID) bool { return false }

func (w *waitingTester) TestAccess(ctx context.Context, _ fleet.Target) (fleet.AccessTest, error) {
	w.began <- struct{}{}
	select {
	case <-w.end:
		return fleet.AccessTest{}, nil
	case <-ctx.Done():
		return fleet.AccessTest{}, ctx.Err()
	}
}

func TestEveryProblemOfAccessHasAText(t *testing.T) {
	field, _ := reflect.TypeFor[api.DeviceTest]().FieldByName("Problem")
	listed := strings.Split(field.Tag.Get("enum"), ",")[1:] // The first is blank: no problem.
	for _, problem := range listed {
		text, known := fleet.AccessTexts[fleet.AccessProblem(problem)]
		if !known || text.Field == "" || text.Reason == "" || text.Next == "" {
			t.Errorf("%s has the text %+v", problem, text)
		}
	}
	if got, want := len(listed), len(fleet.AccessTexts); got != want {
		t.Errorf("the document has %d problems, and there are %d", got, want)
	}
}
