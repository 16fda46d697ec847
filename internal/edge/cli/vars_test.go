package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"muster/api"
)

// A var that a colleague wrote while the vars of many devices were read was put back without a word.
func TestVarsThatChangeWhileTheyAreReadAreNotPutBack(t *testing.T) {
	for _, args := range []string{"device vars --tag site a=1 -y", "device vars nas a=1 -y", "tag vars site a=1 -y"} {
		generation, applied := int64(3), false
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var answer any
			switch path := strings.TrimPrefix(r.URL.Path, "/api/v1/"); {
			case path == "inventory":
				answer = api.Inventory{Matched: 2, Devices: twoRows}
			case path == "devices":
				answer = []api.Device{{DeviceID: idNAS, Label: "nas"}}
			case strings.HasSuffix(path, "/vars"):
				generation++ // Somebody else changes vars.
				answer = map[string]any{"vars": map[string]int{"b": 1}}
			case path == "plan":
				answer = api.WhatIfPlan{Generation: generation}
			default:
				applied, answer = true, api.AppliedChanges{Generation: generation + 1}
			}
			if err := json.NewEncoder(w).Encode(answer); err != nil {
				t.Error(err)
			}
		}))
		code, out, errs := run(t, append(strings.Fields(args), "--server", server.URL, "--token", "x")...)
		server.Close()
		if code == exitDone || applied || !strings.Contains(errs, "were changed while the vars were read") {
			t.Errorf("%s: got %d, applied %t, %s%s", args, code, applied, out, errs)
		}
	}
}
