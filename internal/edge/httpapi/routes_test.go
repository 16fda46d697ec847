package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

func TestEveryRouteDeclaresAPermission(t *testing.T) {
	w := newWorld(t)
	public := []string{"/healthz", "/readyz", Prefix + "/login", Prefix + "/login/device",
		Prefix + "/login/device/session", Prefix + "/login/code", Prefix + "/enroll/challenge", Prefix + "/enroll/renew"}
	for _, rt := range w.api.routes {
		switch {
		case rt.permission == auth.Public:
			if !slices.Contains(public, rt.path) {
				t.Errorf("%s %s is open to everybody", rt.method, rt.path)
			}
		case rt.permission == auth.Enroll: // of enrol keys, and of no role
		case rt.permission.Needs() == "":
			t.Errorf("%s %s asks for %q, which nobody holds", rt.method, rt.path, rt.permission)
		case rt.method != http.MethodGet && rt.permission == auth.Read:
			t.Errorf("%s %s writes, and only asks for reading", rt.method, rt.path)
		}
		if rt.name == "" || rt.summary == "" || rt.handle == nil {
			t.Errorf("%s %s is not described", rt.method, rt.path)
		}
	}
}

// fill makes a path of a pattern.
func fill(pattern string) string {
	return strings.NewReplacer("{deviceID}", string(idA), "{templateID}", "1", "{tag}", "x", "{folderID}", "f", "{name}",
		"n",
		"{rolloutID}", "1", "{orderID}", "1", "{generation}", "1", "{number}", "1", "{other}", "2", "{secret}", "s",
		"{pendingID}", "p", "{user}", "n",
		"{session}", "s", "{enrollKey}", "k", "{source}", "r", "{setting}", "soak").Replace(pattern)
}

func TestEveryRouteHoldsToItsPermission(t *testing.T) {
	w := newWorld(t)
	roles := []fleet.Role{fleet.RoleViewer, fleet.RoleOperator, fleet.RoleAuthor, fleet.RoleAdmin}
	for _, rt := range w.api.routes {
		if rt.permission == auth.Public && rt.method == http.MethodGet {
			w.want(http.StatusOK, call{method: rt.method, path: rt.path, token: "-"})
			continue
		}
		if rt.permission == auth.Public {
			continue // a body says who asks
		}
		w.problem(http.StatusUnauthorized, call{method: rt.method, path: fill(rt.path), token: "-"})
		for _, role := range roles {
			if role.Includes(rt.permission.Needs()) {
				continue
			}
			w.problem(http.StatusForbidden, call{method: rt.method, path: fill(rt.path), role: role})
		}
	}
}

func TestTheContractsRoutesAreThere(t *testing.T) {
	want := strings.Fields(`
		GET/devices GET/devices/{deviceID} PUT/devices/{deviceID} DELETE/devices/{deviceID}
		GET/devices/{deviceID}/status GET/devices/{deviceID}/version GET/devices/{deviceID}/tags
		PUT/devices/{deviceID}/tags/{tag} DELETE/devices/{deviceID}/tags/{tag}
		GET/templates POST/templates PUT/templates/{templateID} GET/templates/{templateID} DELETE/templates/{templateID}
		PUT/templates/{templateID}/tags/{tag} DELETE/templates/{templateID}/tags/{tag}
		GET/templates/{templateID}/evaluate POST/templates/evaluate
		GET/tags DELETE/tags/{tag} GET/tags/{tag}/devices GET/tags/{tag}/templates GET/folders GET/folders/{folderID}`)
	w := newWorld(t)
	var doc struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Content map[string]any `json:"content"`
			} `json:"responses"`
		} `json:"paths"`
	}
	if err := json.Unmarshal([]byte(w.get(Prefix+"/openapi.json")), &doc); err != nil {
		t.Fatal(err)
	}
	for _, route := range want {
		method, path, _ := strings.Cut(route, "/")
		operation, ok := doc.Paths[Prefix+"/"+path][strings.ToLower(method)]
		if !ok {
			t.Errorf("%s /%s is not in the document", method, path)
			continue
		}
		for status, response := range operation.Responses {
			for media := range response.Content {
				if isError := status >= "4"; isError != (media == "application/problem+json") {
					t.Errorf("%s /%s answers %s with %s", method, path, status, media)
				}
			}
		}
	}
}

func TestTheDocumentDescribesTheObjectsExactly(t *testing.T) {
	w := newWorld(t)
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Required   []string       `json:"required"`
				Properties map[string]any `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	text := w.get(Prefix + "/openapi.json")
	for _, never := range []string{"$schema", `"array","null"`} {
		if strings.Contains(text, never) {
			t.Errorf("%s is in the document", never)
		}
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	w.device(idA, "one")
	template := w.template(`{"op":"set","key":"","template":"{}"}`)
	w.fakes.status = map[fleet.DeviceID]fleet.Status{idA: {}}
	w.fakes.version = map[fleet.DeviceID]fleet.Version{idA: {}}
	w.fakes.states = map[fleet.DeviceID]fleet.State{idA: {}}
	device := Prefix + "/devices/" + string(idA)
	for schema, path := range map[string]string{
		"Device": device, "DeviceStatus": device + "/status", "DeviceVersion": device + "/version", "DeviceState": device +
			"/state",
		"DeviceSettings": device + "/settings", "Template": template, "TagSettings": Prefix + "/tags/t/settings",
		"FolderRoots":   Prefix + "/folder-roots",
		"AuthorKeys":    Prefix + "/author-keys",
		"TemplateSaver": template + "/saver",
	} {
		sent := fields(t, w.get(path))
		slices.Sort(sent)
		described := doc.Components.Schemas[schema]
		slices.Sort(described.Required)
		var properties []string
		for name := range described.Properties {
			properties = append(properties, name)
		}
		slices.Sort(properties)
		// No revoked device was brought back to the device, and it has no folders: then its state has no such members.
		properties = slices.DeleteFunc(properties, func(name string) bool {
			return schema == "DeviceState" && (name == "folders" || name == "broughtBack")
		})
		if !slices.Equal(sent, properties) || !slices.Equal(sent, described.Required) {
			t.Errorf("%s: sent %v, described %v, required %v", schema, sent, properties, described.Required)
		}
	}
}
