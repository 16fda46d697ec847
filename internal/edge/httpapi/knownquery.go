package httpapi

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"muster/internal/fleet"
)

// contractPaths are the operations of the interface contract. It says nothing of parameters, so these take any.
var contractPaths = map[string][]string{
	"/devices":                       {http.MethodGet},
	"/devices/{deviceID}":            {http.MethodGet, http.MethodPut, http.MethodDelete},
	"/devices/{deviceID}/status":     {http.MethodGet},
	"/devices/{deviceID}/version":    {http.MethodGet},
	"/devices/{deviceID}/tags":       {http.MethodGet},
	"/devices/{deviceID}/tags/{tag}": {http.MethodPut, http.MethodDelete},

	"/templates":                         {http.MethodGet, http.MethodPost},
	"/templates/{templateID}":            {http.MethodGet, http.MethodPut, http.MethodDelete},
	"/templates/{templateID}/tags/{tag}": {http.MethodPut, http.MethodDelete},
	"/templates/{templateID}/evaluate":   {http.MethodGet},
	"/templates/evaluate":                {http.MethodPost},

	"/tags":                 {http.MethodGet},
	"/tags/{tag}":           {http.MethodDelete},
	"/tags/{tag}/devices":   {http.MethodGet},
	"/tags/{tag}/templates": {http.MethodGet},

	"/folders":            {http.MethodGet},
	"/folders/{folderID}": {http.MethodGet},
}

// ofContract reports whether the interface contract has the operation.
func (rt route) ofContract() bool {
	path, isAPI := strings.CutPrefix(rt.path, Prefix)
	return isAPI && slices.Contains(contractPaths[path], rt.method)
}

// refusesParameters reports whether the operation takes no other parameters than its own.
func (rt route) refusesParameters() bool {
	return strings.HasPrefix(rt.path, Prefix+"/") && !rt.ofContract()
}

// knownQuery refuses a parameter that the operation does not have. A misspelt filter would have been left out, and the
// answer would have been of everything.
func (r *request) knownQuery(rt route) error {
	values, err := r.queryValues()
	if err != nil || len(values) == 0 || !rt.refusesParameters() {
		return err
	}
	var known []string
	for _, p := range rt.query {
		if is := p.document(); is.In == inQuery {
			known = append(known, is.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(known, name) {
			return unknownParameter(name, known)
		}
	}
	return nil
}

func unknownParameter(name string, known []string) error {
	hint := "It has none."
	if len(known) > 0 {
		hint = "It has " + strings.Join(known, ", ") + "."
	}
	meant := ""
	if near := fleet.Nearest(name, known); near != "" {
		meant = fmt.Sprintf(" (did you mean %s?)", near)
	}
	message := fmt.Sprintf("the operation has no parameter %q%s", cutText(name), meant)
	return &fleet.Error{Code: fleet.CodeInvalid, Message: message, Hint: hint, See: notOfAPI,
		Details: []fleet.Detail{{Field: "query." + cutText(name), Message: "unknown parameter"}}}
}

// cutText shortens what a client sent, since an answer repeats it.
func cutText(text string) string {
	const most = 64
	if text = strings.ToValidUTF8(text, "?"); len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
