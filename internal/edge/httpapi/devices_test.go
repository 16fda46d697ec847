package httpapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
)

// fields are the names of a JSON object's members in the order they are sent.
func fields(t *testing.T, object string) []string {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(object))
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	var names []string
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name.(string))
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func TestADeviceHasExactlyTheContractsFields(t *testing.T) {
	w := newWorld(t)
	path := Prefix + "/devices/" + string(idA)
	w.device(idA, "one")
	body := w.get(path)
	want := []string{"deviceID", "apiKey", "apiPort", "apiAddress", "label", "createdAt", "updatedAt"}
	if got := fields(t, body); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	got := decoded(t, body)
	if got["apiPort"] != 8384.0 || got["apiAddress"] != "" || got["label"] != "one" || got["apiKey"] != key ||
		got["deviceID"] != string(idA) {
		t.Errorf("got %s", body)
	}
	for _, name := range []string{"createdAt", "updatedAt"} {
		if form := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`); !form.MatchString(got[name].(string)) {
			t.Errorf("%s is %v", name, got[name])
		}
	}
	if all := w.get(Prefix + "/devices"); all != "["+body+"]" {
		t.Errorf("the list is %s, want the device in it", all)
	}
}

func TestPutDeviceCreatesThenReplaces(t *testing.T) {
	w := newWorld(t)
	path := Prefix + "/devices/" + string(idA)
	resp := w.do(call{method: http.MethodPut, path: path, body: `{"apiKey":"` + key + `","label":"one"}`})
	if resp.StatusCode != http.StatusCreated || resp.Header.Get("Location") != path {
		t.Fatalf("got %d, Location %q; want 201 and the path", resp.StatusCode, resp.Header.Get("Location"))
	}
	before := decoded(t, w.get(path))
	after := decoded(t, w.want(http.StatusOK, call{method: http.MethodPut, path: path, body: `{"deviceID":"` +
		string(idA) + `","apiPort":9000,"apiAddress":"host.example","label":"two"}`}))
	if after["apiKey"] != key {
		t.Errorf("a replace without key made it %v, want the stored one", after["apiKey"])
	}
	if after["createdAt"] != before["createdAt"] || after["updatedAt"].(string) <= before["updatedAt"].(string) {
		t.Errorf("times went from %v to %v", before, after)
	}
	if after["apiPort"] != 9000.0 || after["apiAddress"] != "host.example" || after["label"] != "two" {
		t.Errorf("got %v", after)
	}
}

// A body that says nothing about the device emptied its address and its label.
func TestABodyWithoutAnyFieldWipesNothing(t *testing.T) {
	w := newWorld(t)
	path := Prefix + "/devices/" + string(idA)
	w.put(path, `{"apiKey":"`+key+`","apiAddress":"host.example","label":"one"}`)
	before := w.get(path)
	for _, body := range []string{
		`{}`, `{"createdAt":"2026-01-01T00:00:00Z","updatedAt":"2026-01-01T00:00:00Z"}`, `{"deviceID":"` + string(idA) +
			`"}`,
		`{"label":null,"apiAddress":null}`,
	} {
		p := w.problem(http.StatusUnprocessableEntity, call{method: http.MethodPut, path: path, body: body})
		if !strings.Contains(p.Detail, "all missing") || !strings.Contains(p.Hint, "apiAddress") {
			t.Errorf("%s: got %+v", body, p)
		}
	}
	if after := w.get(path); after != before {
		t.Errorf("got %s, want %s", after, before)
	}
	w.put(Prefix+"/devices/"+string(idA), `{"label":""}`) // said, and so done
	w.want(http.StatusCreated, call{method: http.MethodPost, path: Prefix + "/templates",
		body: `{"op":"set","key":"options.natEnabled","template":"true"}`})
	for _, body := range []string{`{}`, `{"id":7,"createdAt":"2026-01-01T00:00:00Z"}`} {
		w.problem(http.StatusUnprocessableEntity, call{method: http.MethodPut, path: Prefix + "/templates/1", body: body})
	}
}

// Another label may move folders, where templates make paths of it: the answer names them.
func TestRenamingSaysWhichTemplatesUseTheLabel(t *testing.T) {
	w := newWorld(t)
	path := Prefix + "/devices/" + string(idA)
	w.device(idA, "one")
	for label, text := range map[string]string{"paths": "'/srv/' + device.label", "other": "device.label",
		"plain": "'x'"} {
		made := decoded(t, w.want(http.StatusCreated, call{method: http.MethodPost, path: Prefix + "/templates",
			body: `{"op":"set","key":"gui.theme","label":"` + label + `","template":"` + text + `"}`}))
		if label != "other" {
			w.put(fmt.Sprintf("%s/templates/%v/tags/x", Prefix, made["id"]), "")
		}
	}
	w.put(path+"/tags/x", "")
	rename := func(label string) string {
		resp := w.do(call{method: http.MethodPut, path: path, body: `{"label":"` + label + `"}`})
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("got %d", resp.StatusCode)
		}
		return resp.Header.Get(api.WarningHeader)
	}
	warning := rename("two")
	for _, want := range []string{"was one and is two", "device.label", "paths"} {
		if !strings.Contains(warning, want) {
			t.Errorf("%q lacks %q", warning, want)
		}
	}
	if strings.Contains(warning, "other") || strings.Contains(warning, "plain") {
		t.Errorf("%q names templates that do not apply or do not look at the label", warning)
	}
	if warning := rename("two"); warning != "" {
		t.Errorf("the same label: %q", warning)
	}
}

func TestWhatWasReadCanBeSentBack(t *testing.T) {
	w := newWorld(t)
	path := Prefix + "/devices/" + string(idA)
	w.device(idA, "one")
	before := w.get(path)
	// the masked form
	w.put(path, w.want(http.StatusOK, call{method: http.MethodGet, path: path, role: fleet.RoleViewer}))
	after := decoded(t, w.get(path))
	if after["apiKey"] != key {
		t.Errorf("sending back <API_KEY> made the key %v", after["apiKey"])
	}
	after["updatedAt"] = decoded(t, before)["updatedAt"]
	if want := decoded(t, before); after["label"] != want["label"] || after["createdAt"] != want["createdAt"] ||
		after["apiPort"] != want["apiPort"] {
		t.Errorf("got %v, want %v", after, want)
	}
}

func TestAPIKeyIsShownOnlyToWhoMayWriteDevices(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	for role, want := range map[fleet.Role]string{
		fleet.RoleViewer: "<API_KEY>", fleet.RoleOperator: "<API_KEY>", fleet.RoleAuthor: "<API_KEY>", fleet.RoleAdmin: key,
	} {
		for _, path := range []string{"/devices/" + string(idA), "/devices", "/tags/x/devices"} {
			if path == "/tags/x/devices" {
				w.put(Prefix+"/devices/"+string(idA)+"/tags/x", "")
			}
			body := w.want(http.StatusOK, call{method: http.MethodGet, path: Prefix + path, role: role})
			if !strings.Contains(body, `"apiKey":"`+want+`"`) {
				t.Errorf("%s sees %s at %s, want the key %s", role, body, path, want)
			}
		}
	}
}

func TestBlanksAroundAnAPIKeyAreNotKept(t *testing.T) {
	w := newWorld(t)
	w.put(Prefix+"/devices/"+string(idA), `{"apiKey":" pasted\n"}`)
	if got := decoded(t, w.get(Prefix+"/devices/"+string(idA)))["apiKey"]; got != "pasted" {
		t.Errorf("got %q, want the key without blanks, which no header can carry", got)
	}
}

func TestADeviceIDMayBeSpelledAsSyncthingAllows(t *testing.T) {
	w := newWorld(t)
	spelled := strings.ToLower(strings.ReplaceAll(string(idA), "-", ""))
	body := w.put(Prefix+"/devices/"+spelled, `{"apiKey":"k","deviceID":"`+strings.ReplaceAll(string(idA), "O", "0")+`"}`)
	if got := decoded(t, body)["deviceID"]; got != string(idA) {
		t.Errorf("got %v, want the canonical form", got)
	}
	if w.get(Prefix+"/devices/"+string(idA)) != w.get(Prefix+"/devices/"+spelled) {
		t.Error("two spellings are two devices")
	}
}

func TestDeleteDevice(t *testing.T) {
	w := newWorld(t)
	path := Prefix + "/devices/" + string(idA)
	w.device(idA, "one")
	w.put(path+"/tags/x", "")
	if body := w.want(http.StatusNoContent, call{method: http.MethodDelete, path: path}); body != "" {
		t.Errorf("a 204 with the body %q", body)
	}
	w.problem(http.StatusNotFound, call{method: http.MethodDelete, path: path})
	w.problem(http.StatusNotFound, call{method: http.MethodGet, path: path})
	if tags := w.get(Prefix + "/tags"); tags != "[]" {
		t.Errorf("its tags stayed: %s", tags)
	}
	w.device(idA, "again")
	if tags := w.get(path + "/tags"); tags != "[]" {
		t.Errorf("a new device has old tags: %s", tags)
	}
}

func TestDevicesAreSortedByLabelThenID(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "b")
	w.device(idB, "a")
	w.device(idC, "b")
	want := []string{string(idB), min(string(idA), string(idC)), max(string(idA), string(idC))}
	if got := idsOf(t, w.get(Prefix+"/devices")); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func idsOf(t *testing.T, list string) []string {
	t.Helper()
	var devices []struct {
		DeviceID string `json:"deviceID"`
	}
	if err := json.Unmarshal([]byte(list), &devices); err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, d := range devices {
		ids = append(ids, d.DeviceID)
	}
	return ids
}

// The page of a device read the API key, which it never shows, and each visit was in the audit.
func TestARecordIsReadAndReplacedWithoutItsKey(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	path := Prefix + "/devices/" + string(idA) + "?mask=true"
	read := w.do(call{method: http.MethodGet, path: path})
	body, err := io.ReadAll(read.Body)
	if err != nil || strings.Contains(string(body), key) || !strings.Contains(string(body), `"apiKey":"<API_KEY>"`) {
		t.Fatalf("got %s, %v", body, err)
	}
	put := call{method: http.MethodPut, path: path, body: `{"label":"two"}`,
		header: http.Header{"If-Match": {read.Header.Get("ETag")}}}
	if got := w.want(http.StatusOK, put); strings.Contains(got, key) || !strings.Contains(got, `"label":"two"`) {
		t.Errorf("got %s", got)
	}
	w.problem(http.StatusPreconditionFailed, put)
	if got := w.get(Prefix + "/devices?mask=true"); strings.Contains(got, key) || !strings.Contains(got, `"label":"two"`) {
		t.Errorf("the list is %s", got)
	}
	if got := w.traced("device.readKey"); len(got) > 0 {
		t.Errorf("the audit has %+v", got)
	}
	if got := w.get(Prefix + "/devices/" + string(idA)); !strings.Contains(got, key) {
		t.Errorf("the key did not stay: %s", got)
	}
}
