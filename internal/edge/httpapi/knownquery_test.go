package httpapi

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// A misspelt filter was left out, and a script got the whole fleet.
func TestAnUnknownParameterIsRefusedBeyondTheContract(t *testing.T) {
	deviceRoute := route{method: "GET", path: Prefix + "/devices"}
	own := route{method: "GET", path: Prefix + "/events/log", query: []parameter{textParam("folder", "a folder")}}
	for name, test := range map[string]struct {
		of    route
		query string
		want  string // part of the message; "": it is taken
	}{
		"known":                    {own, "?folder=x", ""},
		"none":                     {own, "", ""},
		"misspelt":                 {own, "?floder=x", `no parameter "floder" (did you mean folder?)`},
		"unknown":                  {own, "?folder=x&verbose=1", `no parameter "verbose"`},
		"of the contract":          {deviceRoute, "?anything=x", ""},
		"a path that is not ours":  {route{method: "GET", path: "/metrics"}, "?x=1", ""},
		"long":                     {own, "?" + strings.Repeat("x", 5000), "…"},
		"another method than that": {route{method: "POST", path: Prefix + "/tags"}, "?x=1", "no parameter"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &request{Request: httptest.NewRequest("GET", "/"+test.query, nil)}
			err := r.knownQuery(test.of)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if err != nil && len(err.Error()) > 500 {
				t.Errorf("the message has %d bytes", len(err.Error()))
			}
		})
	}
}

// Every operation of the contract is one of ours, or it would refuse parameters that nobody refused before.
func TestEveryPathOfTheContractIsARoute(t *testing.T) {
	routes := map[string]bool{}
	for _, rt := range newWorld(t).api.routes {
		routes[rt.method+" "+strings.TrimPrefix(rt.path, Prefix)] = true
	}
	for path, methods := range contractPaths {
		for _, method := range methods {
			if !routes[method+" "+path] {
				t.Errorf("%s %s is no route", method, path)
			}
		}
	}
}
