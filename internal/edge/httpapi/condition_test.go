package httpapi

import (
	"net/http"
	"testing"

	"muster/internal/fleet"
)

func with(name, value string) http.Header { return http.Header{http.CanonicalHeaderKey(name): {value}} }

func TestUnchangedIsNotSentAgain(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	w.template(`{"op":"set","key":"","template":"{}"}`)
	w.put(Prefix+"/devices/"+string(idA)+"/tags/x", "")
	w.fakes.states = map[fleet.DeviceID]fleet.State{idA: {Connection: fleet.Online}}
	w.fakes.status = map[fleet.DeviceID]fleet.Status{idA: {MyID: idA}}
	for _, path := range []string{
		"/devices", "/devices/" + string(idA), "/devices/" + string(idA) + "/tags", "/devices/" + string(idA) + "/status",
		"/devices/" + string(idA) + "/state", "/devices/" + string(idA) + "/settings", "/states", "/templates",
		"/templates/1",
		"/templates/1/tags", "/tags", "/tags/x/devices", "/tags/x/templates", "/folders", "/configurator", "/tokens",
		"/openapi.json",
	} {
		t.Run(path, func(t *testing.T) {
			w := w.in(t)
			etag := w.do(call{method: http.MethodGet, path: Prefix + path}).Header.Get("ETag")
			if etag == "" {
				t.Fatal("no ETag")
			}
			for _, value := range []string{etag, "W/" + etag, `"other", ` + etag, "*"} {
				for _, method := range []string{http.MethodGet, http.MethodHead} {
					resp := w.do(call{method: method, path: Prefix + path, header: with("If-None-Match", value)})
					if resp.StatusCode != http.StatusNotModified || resp.Header.Get("ETag") != etag {
						t.Errorf("%s with %s: got %d, ETag %s", method, value, resp.StatusCode, resp.Header.Get("ETag"))
					}
				}
			}
			w.want(http.StatusOK, call{method: http.MethodGet, path: Prefix + path, header: with("If-None-Match", `"other"`)})
		})
	}
}

func TestAWriteHeedsWhatTheWriterHasRead(t *testing.T) {
	device := Prefix + "/devices/" + string(idA)
	for name, one := range map[string]struct {
		read  string // where the ETag is from
		move  call   // changes what was read
		write call
		ok    int
	}{
		"device": {device, call{method: http.MethodPut, path: device, body: `{"label":"moved"}`},
			call{method: http.MethodPut, path: device, body: `{"label":"mine"}`}, 200},
		"device, delete": {device, call{method: http.MethodPut, path: device, body: `{"label":"moved"}`},
			call{method: http.MethodDelete, path: device}, 204},
		"device's tags": {device + "/tags", call{method: http.MethodPut, path: device + "/tags/moved"},
			call{method: http.MethodPut, path: device + "/tags/mine", role: fleet.RoleOperator}, 200},
		"untag": {device + "/tags", call{method: http.MethodPut, path: device + "/tags/moved"},
			call{method: http.MethodDelete, path: device + "/tags/x"}, 200},
		"all tags": {Prefix + "/tags", call{method: http.MethodPut, path: device + "/tags/moved"},
			call{method: http.MethodDelete, path: Prefix + "/tags/x"}, 200},
		"settings": {device + "/settings", call{method: http.MethodPut, path: device + "/settings",
			body: `{"allowPlain":true}`}, call{method: http.MethodPut, path: device + "/settings", body: `{"mode":"observe"}`},
			200},
		"template": {Prefix + "/templates/1", call{method: http.MethodPut, path: Prefix + "/templates/1",
			body: `{"op":"set","key":"","template":"[]"}`}, call{method: http.MethodPut, path: Prefix + "/templates/1",
			body: `{"op":"merge","key":"","template":"{}"}`}, 200},
		"template, delete": {Prefix + "/templates/1", call{method: http.MethodPut, path: Prefix + "/templates/1",
			body: `{"op":"set","key":"","template":"[]"}`}, call{method: http.MethodDelete, path: Prefix + "/templates/1"},
			204},
		"template's tags": {Prefix + "/templates/1/tags", call{method: http.MethodPut, path: Prefix +
			"/templates/1/tags/moved"}, call{method: http.MethodDelete, path: Prefix + "/templates/1/tags/x"}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.device(idA, "one")
			w.template(`{"op":"set","key":"","template":"{}"}`)
			w.put(device+"/tags/x", "")
			etag := w.do(call{method: http.MethodGet, path: one.read, role: one.write.role}).Header.Get("ETag")
			if resp := w.do(one.move); resp.StatusCode != http.StatusOK {
				t.Fatalf("the other writer got %d", resp.StatusCode)
			}
			one.write.header = with("If-Match", etag)
			w.problem(http.StatusPreconditionFailed, one.write)
			etag = w.do(call{method: http.MethodGet, path: one.read, role: one.write.role}).Header.Get("ETag")
			one.write.header = with("If-Match", "W/"+etag)
			w.problem(http.StatusPreconditionFailed, one.write)
			one.write.header = with("If-Match", `"other", `+etag)
			w.want(one.ok, one.write)
		})
	}
}

func TestIfNoneMatchStarOnlyCreates(t *testing.T) {
	w := newWorld(t)
	create := call{method: http.MethodPut, path: Prefix + "/devices/" + string(idA), body: `{"apiKey":"k"}`,
		header: with("If-None-Match", "*")}
	w.want(http.StatusCreated, create)
	w.problem(http.StatusPreconditionFailed, create)
}

func TestAReplyToAWriteHasTheETagOfTheNextOne(t *testing.T) {
	w := newWorld(t)
	path := Prefix + "/devices/" + string(idA)
	etag := w.do(call{method: http.MethodPut, path: path, body: `{"apiKey":"k"}`}).Header.Get("ETag")
	if got := w.do(call{method: http.MethodGet, path: path}).Header.Get("ETag"); got != etag {
		t.Errorf("got %s, the write said %s", got, etag)
	}
	w.want(http.StatusOK, call{method: http.MethodPut, path: path, body: `{"label":"next"}`,
		header: with("If-Match", etag)})
}
