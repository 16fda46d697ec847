package api_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
)

// The inventory gave a cause of waiting that its schema did not have.
func TestEveryCauseOfADeviceThatWaitsIsInTheSchemas(t *testing.T) {
	for _, field := range []struct {
		of   reflect.Type
		name string
	}{
		{reflect.TypeFor[api.InventoryDevice](), "Waits"},
		{reflect.TypeFor[api.WaitingGroup](), "Cause"},
	} {
		f, there := field.of.FieldByName(field.name)
		if !there {
			t.Fatalf("%v has no field %s", field.of, field.name)
		}
		enum := strings.Split(f.Tag.Get("enum"), ",")
		for _, cause := range fleet.WaitCauses {
			if !slices.Contains(enum, string(cause)) {
				t.Errorf("%s of %v lacks %s", field.name, field.of, cause)
			}
		}
	}
}
