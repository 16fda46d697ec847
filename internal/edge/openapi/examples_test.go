package openapi

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// An example of a type that holds itself would have no end.
func TestAnExampleOfATypeThatHoldsItselfEnds(t *testing.T) {
	type tree struct {
		Label    string `json:"label"`
		Children []tree `json:"children"`
	}
	types := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	schema := types.Schema(reflect.TypeFor[tree](), true, "")
	if text, err := json.Marshal(exampler{types: types}.of("", schema, 0)); err != nil || len(text) > 1000 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}
