package openapi

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// maxExampleDepth bounds the examples of types that hold themselves.
const maxExampleDepth = 6

// exampleTexts are what fields of these names hold in the examples of the document.
var exampleTexts = map[string]string{
	"address":       "192.0.2.7:8384",
	"apiAddress":    "192.0.2.7",
	"apiKey":        "<API_KEY>",
	"arch":          "amd64",
	"at":            "folders.photos",
	"by":            "anna",
	"cause":         "template",
	"client":        "192.0.2.20",
	"createdBy":     "anna",
	"detail":        "the key has no such field",
	"device":        exampleDevice,
	"deviceID":      exampleDevice,
	"digest":        "6c1f0a4be2d8",
	"directURL":     "https://192.0.2.7:8384",
	"field":         "body.key",
	"fingerprint":   examplePin,
	"folder":        "photos",
	"folderLabel":   "Photos",
	"foundBy":       "agent",
	"hint":          "Use a name that daemons have.",
	"id":            "photos",
	"key":           "options.natEnabled",
	"label":         "laptop",
	"location":      "body.key",
	"longVersion":   "syncthing v2.1.3 (go1.26 linux-amd64)",
	"myID":          exampleDevice,
	"name":          "night-shift",
	"next":          "Nothing is to be done.",
	"op":            "set",
	"os":            "linux",
	"path":          "~/photos",
	"pathSeparator": "/",
	"pin":           examplePin,
	"reason":        "the daemon has what its templates ask for",
	"savedBy":       "anna",
	"section":       "options",
	"source":        "office",
	"state":         "inSync",
	"subject":       "laptop",
	"tag":           "office",
	"template":      "false",
	"text":          "false",
	"tilde":         "/home/ann",
	"title":         "Unprocessable Entity",
	"type":          "urn:muster:problem:invalid",
	"url":           "https://muster.example:2525",
	"user":          "anna",
	"userID":        "anna",
	"version":       "v2.1.3",
	"who":           "anna",
	"what":          "template.save",
	"tags":          "office",
	"devices":       exampleDevice,
	"doneBetween":   exampleTime,
	"consent":       "folders.photos",
	"keep":          "folders.photos",
	"userid":        "anna",
	"password":      "correct horse battery",
}

var exampleNumbers = map[string]int{
	"apiPort": 8384, "port": 8384, "priority": 50, "status": http.StatusUnprocessableEntity,
}

const (
	exampleDevice = "P56IOI7-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2"
	examplePin    = "sha256:9d3c5ffc59e6ac1dd2c0b9b3f1d2d1a5b1a0a77cdfeb8de5d8d2e2a2ef6fd4a1"
	exampleTime   = "2026-11-22T17:20:11.482Z"
)

// exampler makes examples of schemas: of a request without what is ignored there, of a reply with all fields.
type exampler struct {
	types     huma.Registry
	inRequest bool
}

// of is an example of what a field of that name holds.
func (e exampler) of(name string, s *huma.Schema, depth int) any {
	if s.Ref != "" {
		s = e.types.SchemaFromRef(s.Ref)
	}
	switch {
	case len(s.OneOf) > 0:
		return e.of(name, s.OneOf[0], depth)
	case len(s.Examples) > 0:
		return s.Examples[0]
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Default != nil:
		return s.Default
	}
	switch s.Type {
	case huma.TypeString:
		return exampleText(name, s.Format)
	case huma.TypeInteger, huma.TypeNumber:
		if number, known := exampleNumbers[name]; known {
			return number
		}
		if s.Minimum != nil {
			return max(1, *s.Minimum)
		}
		return 1
	case huma.TypeBoolean:
		return true
	case huma.TypeArray:
		if depth >= maxExampleDepth {
			return []any{}
		}
		return []any{e.of(name, s.Items, depth+1)}
	case huma.TypeObject:
		return e.object(s, depth)
	}
	return "anything"
}

func (e exampler) object(s *huma.Schema, depth int) map[string]any {
	fields := map[string]any{}
	if values, isMap := s.AdditionalProperties.(*huma.Schema); isMap && depth < maxExampleDepth {
		fields["name"] = e.of("name", values, depth+1)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field := s.Properties[name]
		optional := !slices.Contains(s.Required, name)
		if e.inRequest && field.ReadOnly || optional && depth >= maxExampleDepth {
			continue
		}
		fields[name] = e.of(name, field, depth+1)
	}
	return fields
}

func exampleText(name, format string) string {
	if format == "date-time" {
		return exampleTime
	}
	if text, known := exampleTexts[name]; known {
		return text
	}
	if strings.HasSuffix(name, "At") {
		return exampleTime
	}
	return "text"
}
