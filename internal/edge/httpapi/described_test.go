package httpapi_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"muster/internal/edge/httpapi"
)

// Who reads the reference has no source to look into: each property says what it is, nested ones and those of
// alternatives, too. A property with the schema of a type is described there, but for those of alternatives.
func TestEachPropertyOfTheDocumentIsDescribed(t *testing.T) {
	var document any
	if err := json.Unmarshal(httpapi.OpenAPIDocument(), &document); err != nil {
		t.Fatal(err)
	}
	found := 0
	eachProperties(document, "", func(path string, properties map[string]any, alternative bool) {
		for name, property := range properties {
			found++
			schema, _ := property.(map[string]any)
			if schema["$ref"] != nil && !alternative {
				continue
			}
			if text, _ := schema["description"].(string); text == "" {
				t.Errorf("%s.%s has no description", path, name)
			}
		}
	})
	if found < 900 {
		t.Errorf("found %d properties only", found)
	}
}

// eachProperties calls found with the properties of each schema of a document.
func eachProperties(of any, path string, found func(path string, properties map[string]any, alternative bool)) {
	switch of := of.(type) {
	case map[string]any:
		for name, member := range of {
			if name == "example" || name == "examples" {
				continue
			}
			eachProperties(member, path+"."+name, found)
			alternatives, _ := member.([]any)
			for i, one := range alternatives {
				schema, _ := one.(map[string]any)
				if properties, ok := schema["properties"].(map[string]any); ok && name == "oneOf" {
					found(fmt.Sprintf("%s.oneOf[%d]", path, i), properties, true)
				}
			}
		}
		if properties, ok := of["properties"].(map[string]any); ok && of["type"] == "object" {
			found(path, properties, false)
		}
	case []any:
		for i, member := range of {
			eachProperties(member, fmt.Sprintf("%s[%d]", path, i), found)
		}
	}
}
